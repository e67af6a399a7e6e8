"""What notebooks show: the HTML of every result, in a browser in light and dark, and a whole notebook in a kernel."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest

import copartition as cp
from browser import assert_quiet, needs_browser, opened
from copartition.display import rounded
from made_up import (
    NASTY,
    Text,
    consensus_with,
    described,
    estimate_from,
    good_estimate,
    made_up,
    nasty_estimate,
    of_draws,
)

HOW = {"burn_in": 2, "min_sweeps": 8, "lag": 2, "seed": 1}
TWO = [-3.2, -3.1, -3.0, -2.9, 2.9, 3.0, 3.1, 3.2]


def posterior():
    return cp.Mixture(TWO, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))


@pytest.fixture(scope="module")
def shown():
    """One of every kind that a notebook shows."""
    count, target = 100, posterior()
    wanted = [cp.n_clusters(most=4), cp.co_clustering()]
    e = cp.estimate(target, wanted, replicates=count, **HOW)
    return {
        "Mixture": target,
        "BlockModel": cp.BlockModel([(0, 1), (1, 2)], rate=1.0),
        "GraphColoring": cp.GraphColoring([(0, 1), (1, 2)], colors=3),
        "Estimate": e,
        "Consensus": cp.consensus(e),
        "MeetingTimes": cp.meeting_times(target, replicates=count, lag=2, seed=1),
        "Sample": cp.sample(target, cp.largest_clusters(2), sweeps=50, chains=2, seed=1),
        "Tuned": cp.tune(target, cp.n_clusters(), pairs=count, seed=1),
    }


def read(html):
    parser = Text()
    parser.feed(html)
    return parser, " ".join(" ".join(parser.text).split())


FIRST = {  # what is said first of each
    "Mixture": "Mixture of 8 points x 1 Points of a cluster scatter normally",
    "BlockModel": "Block model of 3 vertices and 2 edges Edges of the network",
    "GraphColoring": "GraphColoring(3 vertices, 2 edges, colors=3) All proper colourings",
    "Estimate": "Monte Carlo error is under control for this model. quantity mean 95 % interval",
    "Consensus": "2 cluster(s) of 4, 4 points, by vi loss. A clustering from the posterior disagrees",
    "MeetingTimes": "All 100 pairs met. 98 % of the pairs met within 2 sweeps of being coupled.",
    "Sample": "Averages of ordinary chains: 2 of 50 sweeps each, after 1,000 of burn-in They are biased if",
    "Tuned": "lag = {0.lag}, burn_in = {0.burn_in}, min_sweeps = {0.min_sweeps} A replicate costs about",
}


@pytest.mark.parametrize("name", FIRST)
def test_html_says_what_it_is_and_text_is_short(shown, name):
    thing = shown[name]
    parser, _ = read(thing._repr_html_())
    assert "script" not in parser.tags
    assert parser.links == []
    assert "details" in parser.tags
    assert name in repr(thing)
    assert "\n" not in repr(thing)
    assert len(repr(thing)) < 160
    _, text = read(re.sub(r"<style>.*?</style>", "", thing._repr_html_(), flags=re.DOTALL))
    assert text.startswith(FIRST[name].format(thing))


def test_models_with_many_numbers_are_short_but_known_in_full():
    wide = cp.Mixture(np.random.default_rng(1).normal(size=(30, 8)), cp.NormalInverseWishart())
    assert len(repr(wide)) < 300
    assert len(wide.in_full) > 1000
    assert cp.Mixture(TWO, cp.Gaussian(noise_sd=1, mean_sd=3)).in_full == repr(
        cp.Mixture(TWO, cp.Gaussian(noise_sd=1, mean_sd=3))
    )


def test_html_of_an_estimate_has_verdict_means_and_how_it_was_made(shown):
    e = shown["Estimate"]
    parser, text = read(e._repr_html_())
    for mean, error in zip(e.mean[:5], e.stderr, strict=False):
        assert rounded(mean, error) in text
    assert "… and 25 more" in text  # of 28 pairs
    assert e.made_by["fingerprint"] in text
    assert "P(2 clusters)" in text
    assert parser.tags.count("table") == 1


def test_html_of_a_biased_estimate_says_so_first():
    e = good_estimate()
    met = e.met.copy()
    met[:3] = False
    html = type(e)(**{**e.__dict__, "met": met})._repr_html_()
    assert html.index("do not rely on them") < html.index("truncated estimate") < html.index("<details")
    assert 'class="verdict bad"' in html


@pytest.mark.parametrize("name", made_up())
def test_every_estimate_has_html(name):
    """With what it warns of outside of what has to be opened."""
    e = described(made_up()[name][0])
    html = e._repr_html_()
    visible = " ".join(read(html.split("<details>")[0])[1].split())
    for finding in e.findings:
        if finding.is_warning:
            assert " ".join(finding.text.split()) in visible


def test_estimates_without_replicates_and_under_deadlines_have_html():
    empty = estimate_from(np.zeros((0, 1)))
    assert "no replicate yet" in empty._repr_html_()
    within = cp.estimate_within(posterior(), cp.n_clusters(), workers=3, deadline=cp.Sweeps(20), **HOW)
    assert "95 % interval" in within._repr_html_()
    assert "do not rely" in made_up()["ordinary"][0]._repr_html_()


def test_names_of_the_users_data_are_escaped():
    labels = [0, 0, 1]
    graph = pytest.importorskip("networkx").Graph([(NASTY, "b"), ("b", "c")])
    c = consensus_with(labels, [0.1, 1.0, 1.0])
    full = type(c)(**{**c.__dict__, "nodes": [NASTY, "b", "c"], "cohesion": np.ones(2), "cohesion_stderr": np.zeros(2)})
    sample = cp.answers.Sample(**{**shown_sample().__dict__, "components": [NASTY, "b"]})
    for thing in (nasty_estimate(), full, cp.BlockModel(graph, rate=1.0), sample):
        html = thing._repr_html_()
        assert "<script" not in html
        assert "script" not in read(html)[0].tags
    assert "alert(" in full._repr_html_()
    assert "alert(" in sample._repr_html_()


def shown_sample():
    return cp.answers.Sample(np.random.default_rng(1).random((2, 30, 2)), np.ones(2), "h", 30, 0, 0)


def test_where_jinja2_is_missing_notebooks_show_the_text(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert all(thing._repr_html_() is None for thing in shown.values() if thing is not None)


def test_meeting_times_that_are_worth_nothing_say_so():
    m = cp.meeting_times(posterior(), coupling="independent", replicates=3, lag=1, max_sweeps=2, seed=1)
    text = read(m._repr_html_())[1]
    assert f"{m.censored} of 3 pairs did not meet within 2 sweeps" in text
    assert f"{m.censored} not met" in repr(m)


def test_models_and_modes_have_html():
    def found(mean, warnings=()):
        values = np.full(20, mean)
        return cp.answers.Evidence(
            mean, 0.1, "smc", values, np.zeros(0), 19.0, 100, 1.0, 6, 1, 0.1, None, 10, list(warnings)
        )

    one, other = found(-10.0, ["too few particles"]), found(-14.0)
    assert "too few particles" in read(one._repr_html_())[1]
    text = read(cp.answers.Comparison({"<b>": one, "second": other})._repr_html_())[1]
    assert "-4.00 ± 0.14" in text
    assert "<b>" in text


# --- as data frames --------------------------------------------------------------------------------------------------


def test_summaries_as_data_frames(shown):
    pytest.importorskip("pandas")
    e = shown["Estimate"]
    frame = e.summary(as_frame=True)
    assert list(frame.index) == list(e.components)
    np.testing.assert_array_equal(frame["mean"], e.mean)
    np.testing.assert_array_equal(frame["high"], e.interval()[1])
    assert e.summary() == str(e)
    s = shown["Sample"]
    np.testing.assert_allclose(s.summary(as_frame=True)["stderr"], s.stderr)
    c = shown["Consensus"]
    assert c.summary(as_frame=True)["points"].tolist() == sorted(c.sizes, reverse=True)
    m = shown["MeetingTimes"]
    row = m.summary(as_frame=True).iloc[0]
    assert row["sweeps_mean"] == (m.meeting_times - m.lag).mean()
    assert row["pairs"] == len(m.met)


def test_a_missing_pandas_is_named(shown, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match='as_frame=True needs the package pandas: pip install "copartition'):
        shown["Estimate"].summary(as_frame=True)


# --- in a real browser -----------------------------------------------------------------------------------------------

# How notebooks make their pages dark: by the system's scheme, and whatever that is, by themes of their own.
LAB_DARK = '<body data-jp-theme-light="false" style="background: #111111; color: rgba(255, 255, 255, 0.87)">'
CODE_DARK = '<body class="vscode-dark" style="background: #1e1e1e; color: #cccccc">'
PAGES = {
    "light": ("light", "<body>"),
    "dark": ("dark", "<body>"),
    "JupyterLab, dark": ("light", LAB_DARK),
    "VS Code, dark": ("light", CODE_DARK),
    "light in a dark system": ("dark", '<body style="background: white; color: black">'),
}
TABLES = """
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { text-align: right; white-space: nowrap; max-width: none }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5 }
"""
CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = color => { canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(x => x / 255); };
  const light = color => { const part = rgb(color).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2]; };
  const scheme = matchMedia('(prefers-color-scheme: dark)').matches ? '#121212' : '#ffffff';
  const own = getComputedStyle(document.body).backgroundColor;
  const paper = light(own === 'rgba(0, 0, 0, 0)' ? scheme : own);
  return [...document.querySelectorAll('.copartition strong, .copartition td, .copartition p, .copartition li, ' +
    '.copartition th, .copartition summary, .copartition dt')].map(e => {
      const ink = light(getComputedStyle(e).color);
      return (Math.max(paper, ink) + 0.05) / (Math.min(paper, ink) + 0.05); });
}"""


@needs_browser
@pytest.mark.parametrize("page_kind", PAGES)
def test_displays_can_be_read_on_every_page(shown, tmp_path, page_kind):
    scheme, body = PAGES[page_kind]
    e = good_estimate()
    biased = type(e)(**{**e.__dict__, "met": np.arange(500) > 3})
    spread = cp.consensus(of_draws([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]] * 20))
    things = [thing for thing in (*shown.values(), biased, spread) if thing is not None]
    html = "".join(f'<div class="jp-RenderedHTMLCommon">{thing._repr_html_()}</div>' for thing in things)
    path = tmp_path / "shown.html"
    head = '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    path.write_text(f"{head}<style>{TABLES}</style>{body}{html}", encoding="utf-8")
    with opened(path, 700, scheme) as (page, seen):
        assert_quiet(seen, path)
        assert page.locator("details[open]").count() == 0
        page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")
        contrasts = page.evaluate(CONTRAST)
        assert len(contrasts) > 40
        assert min(contrasts) > 4.5  # what WCAG asks of text
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        # Rules of the notebook for tables do not reach those of a display.
        aligned = page.evaluate("[...document.querySelectorAll('td')].map(e => getComputedStyle(e).textAlign)")
        assert set(aligned) == {"left"}
        lines = "[...document.querySelectorAll('.verdict')].map(e => getComputedStyle(e).borderLeftColor)"
        levels = page.evaluate(lines)
        assert len(set(levels)) >= 3  # good, biased, and without a verdict


# --- in a real kernel ------------------------------------------------------------------------------------------------

NOTEBOOK = """
import json, sys
import nbclient, nbformat
hides = sys.argv[1] == "without"
cells = json.loads(sys.stdin.read())
first = "import sys\\n" + ("sys.modules['ipywidgets'] = None\\n" if hides else "import ipywidgets\\n")
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in [first, *cells]])
nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.validate(book)
print("OUTPUTS" + json.dumps([cell.outputs for cell in book.cells[1:]]))
"""
SETUP = """import copartition as cp
posterior = cp.Mixture([-3.1, -3.0, -2.9, 2.9, 3.0, 3.1], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
how = {"burn_in": 20, "min_sweeps": 400, "lag": 20, "seed": 1}"""
CELLS = [
    SETUP,
    "posterior",
    "tuned = cp.tune(posterior, cp.n_clusters(), seed=1, progress=True)\ntuned",
    "e = cp.estimate(posterior, [cp.n_clusters(most=3), cp.co_clustering()], replicates=300, progress=True, **how)\ne",
    "c = cp.consensus(posterior, replicates=20, seed=1, progress=True)\nc",
    "m = cp.meeting_times(posterior, replicates=40, lag=5, seed=1, progress=True)\nm",
    "s = cp.sample(posterior, cp.n_clusters(), sweeps=200, seed=1, progress=True)\ns",
    "ax = e.plot('n_clusters', posterior=posterior)",
    "try:\n    cp.estimate(posterior, cp.functional(lambda labels: 1 / 0), replicates=4, progress=True, **how)\n"
    "except Exception as error:\n    print(type(error).__name__)",
]


@pytest.mark.parametrize("widgets", ["with", "without"])
def test_a_notebook_in_a_kernel(widgets):
    if widgets == "with":
        pytest.importorskip("ipywidgets")
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, widgets], input=json.dumps(CELLS), capture_output=True, text=True, timeout=400,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    outputs = json.loads(done.stdout.partition("OUTPUTS")[2])
    # That it compiles is said on standard error, where it does.
    outputs = [[o for o in cell if o.get("name") != "stderr"] for cell in outputs]
    setup, model, tuned, e, c, m, s, plotted, failed = outputs
    assert setup == []
    for (*before, last), kind in zip((model, tuned, e, c, m, s), ("Mixture", "Tuned", "Estimate", "Consensus",
                                                                 "MeetingTimes", "Sample"), strict=True):  # fmt: skip
        assert last["output_type"] == "execute_result"
        assert 'class="copartition' in last["data"]["text/html"]
        assert kind in last["data"]["text/plain"]
        # At most one line of progress, however many bars there were, without a bar that would still seem to move.
        assert len(before) == (kind != "Mixture")
        for line in before:
            assert line["output_type"] == "display_data"
            assert "<progress" not in line["data"]["text/html"]
            done_of = re.search(r": ([\d,]+) of ([\d,]+), ", line["data"]["text/plain"])
            assert done_of[1] == done_of[2]
            assert set(line["data"]) == {"text/plain", "text/html"}  # no widgets, whose state a file does not have
    assert "image/png" in plotted[-1]["data"]
    assert failed[-1]["text"].strip() == "ZeroDivisionError" or "Error" in failed[-1]["text"]
    assert len(failed) == 2
