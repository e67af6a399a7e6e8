"""The code in the documents runs, and the example does what it says."""

from __future__ import annotations

import doctest
import inspect
import re

import numpy as np
import pytest

import bernoulli
import copartition as cp
import large
import meeting
import pictures
import planted
from component_cases import ROOT, blocks
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.datasets import faithful
from public import public_names


def shown_lines(text):
    """Return what must be printed of a block that shows output: whole lines, or their beginnings up to an ellipsis."""
    return [line.partition("…")[0].rstrip() for line in text.splitlines() if line.partition("…")[0].strip()]


def run_and_compare(name, capsys, changes=None):
    """Run the code of a page, and look up what it shows; with changes to the code, only run it."""
    text, scope = (ROOT / name).read_text(), {}
    for kind, block in re.findall(r"```(python|text)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "python":
            for old, new in (changes or {}).items():
                block = block.replace(old, new)
            capsys.readouterr()
            exec(compile(block, name, "exec"), scope)
            said = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        elif not changes:
            missing = [line for line in shown_lines(block) if not any(one.startswith(line) for one in said)]
            assert not missing, "\n".join([*missing, "is not in:", *said])
    return scope


def test_example_in_the_readme_prints_what_it_shows(capsys):
    pytest.importorskip("palmerpenguins")
    scope = run_and_compare("README.md", capsys)
    assert scope["c"].grade == "unbiased"


def test_page_on_clustering_a_table_runs(capsys):
    """With little effort, and so other numbers than on the page."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    pytest.importorskip("palmerpenguins")
    changes = {
        "cp.cluster(birds)": "cp.cluster(birds, effort=0.02)",
        "cp.cluster(wide)": "cp.cluster(wide, 'diagonal')",
    }
    scope = run_and_compare("docs/cluster-a-table.md", capsys, changes)
    assert scope["c"].effort == 0.02
    assert scope["c"].predict_proba(scope["new"])[2, -1] > 0.9
    mpl.pyplot.close("all")


@pytest.mark.long
def test_page_on_clustering_a_table_prints_what_it_shows(capsys):
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    pytest.importorskip("palmerpenguins")
    run_and_compare("docs/cluster-a-table.md", capsys)
    mpl.pyplot.close("all")


def test_first_page_runs(capsys, tmp_path, monkeypatch):
    """With little effort."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("docs/index.md")
    shorter = code.replace("cp.cluster(faithful())", "cp.cluster(faithful(), effort=0.01)")
    assert shorter != code
    scope: dict = {}
    exec(compile(shorter, "docs/index.md", "exec"), scope)
    assert capsys.readouterr().out.startswith(scope["c"].grade.upper())
    assert (tmp_path / "page.html").exists()
    mpl.pyplot.close("all")


def test_comparison_runs(capsys):
    """With few replicates."""
    (code,) = blocks("docs/comparison.md")
    shorter = code.replace("replicates=200, ", "").replace('settings="auto"', 'settings="auto", replicates=10')
    assert shorter.count("replicates=10") == 1
    exec(compile(shorter, "docs/comparison.md", "exec"), {})
    assert "P(3 clusters)" in capsys.readouterr().out


def test_page_on_estimates_runs(capsys, tmp_path):
    scope: dict = {}
    file = tmp_path / "page.py"  # a compiled function of a page is compiled like that of any file
    file.write_text("\n".join(blocks("docs/estimates.md")))
    exec(compile(file.read_text(), str(file), "exec"), scope)
    assert "largest_clusters(3)[2]" in capsys.readouterr().out
    assert len(scope["e"].values) == 100
    cp, target = scope["cp"], scope["posterior"]
    by_python = cp.functional(lambda labels: np.mean(np.bincount(labels) == 1))
    settings = {"sweeps": 100, "burn_in": 0, "chains": 1, "init": "singletons", "seed": 1}
    draws = [cp.sample(target, h, **settings).draws for h in (scope["singletons"], by_python)]
    assert np.array_equal(*draws)
    assert np.ptp(draws[0]) > 0


def test_page_on_asking_later_runs(capsys):
    code = "\n".join(blocks("docs/ask-later.md")).replace("replicates=200", "replicates=100")
    scope: dict = {}
    exec(compile(code, "docs/ask-later.md", "exec"), scope)
    out = capsys.readouterr().out
    assert "P(8 clusters)" in out
    assert "<lambda>" in out
    assert "points, by vi loss" in out
    assert scope["matrix"].shape == (1600, 82)


def test_page_on_modes_runs(capsys):
    (code,) = blocks("docs/modes.md")
    scope: dict = {}
    exec(compile(code, "docs/modes.md", "exec"), scope)
    out = capsys.readouterr().out
    assert scope["pairs"].met.all()
    assert "True hidden\nHIDDEN MODE: " in out
    assert out.endswith("on average.\n")
    assert scope["better"].verdict == "none"


def run_page(name):
    scope: dict = {}
    for code in blocks(name):
        exec(compile(code, name, "exec"), scope)
    return scope


def test_page_on_trust_runs(capsys):
    scope = run_page("docs/trust.md")
    out = capsys.readouterr().out
    assert len(scope["clusters"].sizes) >= 1
    assert "STARTS DISAGREE" in out
    assert "cluster(s) of" in out


def test_page_on_settings_runs(capsys):
    scope = run_page("docs/settings.md")
    out = capsys.readouterr().out
    assert "times the burn_in: up to 25 processors" in out
    assert "total variation at most 0.01 after" in out
    assert scope["v"].mean[0] > 0


def test_page_on_pairs_that_do_not_meet_runs(capsys):
    scope = run_page("docs/pairs-do-not-meet.md")
    assert "TRUNCATED AT 60 SWEEPS, BIASED" in capsys.readouterr().out
    assert scope["capped"].censored > 0


def test_page_on_many_points_runs(capsys):
    scope: dict = {}
    for code in blocks("docs/large.md"):
        exec(compile(code, "docs/large.md", "exec"), scope)
    assert "cluster(s) of" in capsys.readouterr().out
    clusters, certainty = scope["clusters"], scope["certainty"]
    assert clusters.expected_loss_stderr > 0
    # Two runs that have nothing in common but the clustering.
    own = certainty[np.arange(len(certainty)), clusters.labels]
    several = clusters.sizes[clusters.labels] > 1
    assert np.abs(own - clusters.belongs)[several].max() < 0.15


def test_example_of_many_points_draws_its_picture(tmp_path, capsys):
    large.main(400, str(tmp_path / "large.png"))
    matrix, certainty, colors = pictures.drawn(tmp_path / "large.png")
    assert (matrix, certainty, colors) == ("points, in the order of the consensus", "probability of being together", "")
    assert "expected variation of information" in capsys.readouterr().out


def test_example_on_meeting_writes_its_picture(tmp_path, capsys):
    meeting.main(tmp_path, pairs=20)
    assert pictures.drawn(tmp_path / "meeting.png") == [
        "slowest of 3 pairs: transport, Gibbs alone",
        "slowest of 3 pairs: path, 10 split-merge moves",
        "probability to meet in the next sweep",
        "pairs that are still apart",
    ]
    assert "meeting.png" in capsys.readouterr().out


def test_own_target_page_is_the_example(tmp_path):
    """The page's code, put together into a file, gives the same distribution as `examples/bernoulli.py`."""
    function, component, direct, merge, *_, check = blocks("docs/own-target.md")
    answers = np.random.default_rng(1).integers(0, 2, (6, 3)).astype(float)
    file = tmp_path / "page.py"
    file.write_text(
        "\n".join(
            [function, "import numpy as np\n" + f"answers = np.array({answers.tolist()})", component, direct, merge]
        )
    )
    scope: dict = {"labels": [0, 0, 1, 1, 2, 2], "n": 3}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    distribution = eval(check.split("#")[0], scope)
    cp = scope["cp"]
    reference = cp.Mixture(answers, bernoulli.Bernoulli(0.5, 0.5), cp.DirichletProcess(1.0))
    np.testing.assert_allclose(distribution, cp.kernels.conditional(reference, scope["labels"], 3), rtol=1e-12)
    np.testing.assert_allclose(distribution, cp.kernels.conditional(scope["target"], scope["labels"], 3), rtol=1e-12)
    # The page's log_merge changes how fast moves are made and not where they lead, but for rounding.
    faster = cp.Target(
        answers, scope["log_predictive"], cp.DirichletProcess(1.0), parameters=[0.5, 0.5], log_merge=scope["log_merge"]
    )
    settings = {"split_merge": 5, "sweeps": 500, "burn_in": 0, "chains": 1, "seed": 1}
    draws = [cp.sample(t, cp.n_clusters(), **settings).draws for t in (faster, reference)]
    assert np.array_equal(*draws)
    assert np.ptp(draws[0]) > 0


def test_bernoulli_refuses_what_is_not_yes_or_no():
    with pytest.raises(ValueError, match="zeros and ones"):
        bernoulli.Bernoulli().prepare(np.array([[0.5]]))
    with pytest.raises(ValueError, match="positive"):
        bernoulli.Bernoulli(a=0)


def test_links_in_the_documents_lead_somewhere():
    made = ("gallery/index.rst", "api/generated")  # by the build of the site
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith(("http", *made)):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_contents_name_what_there_is():
    """Rows of the tables are many, and what they call exists."""
    text = (ROOT / "docs/contents.md").read_text()
    rows = re.findall(r"^\| (?!you want|---)", text, flags=re.MULTILINE)
    assert len(rows) >= 36
    for name in re.findall(r"\bcp\.(\w+(?:\.\w+)?)", text):
        found = cp
        for part in name.split("."):
            found = getattr(found, part)


PUBLIC = public_names()
DECORATORS = [name for name, thing in PUBLIC.items() if "Decorator of" in (inspect.getdoc(thing) or "")]


def test_every_public_name_has_an_example_and_is_listed_once():
    listed = re.findall(r"^   (\w[\w.]*)$", (ROOT / "docs/api/index.md").read_text(), flags=re.MULTILINE)
    assert len(set(listed)) == len(listed)
    elsewhere = ("plots.", "datasets.", "sklearn.", "anndata.")
    assert {name for name in listed if not name.startswith(elsewhere)} == set(PUBLIC)
    drawn = {f"plots.{name}" for name, f in vars(cp.plots).items() if is_plot(name, f)}
    assert {name for name in listed if name.startswith("plots.")} == drawn
    for name, thing in PUBLIC.items():
        assert ">>>" in inspect.getdoc(thing), name


def is_plot(name, f):
    return not name.startswith("_") and inspect.isfunction(f) and inspect.signature(f).return_annotation == "Axes"


@pytest.mark.parametrize("name", DECORATORS)
def test_examples_of_decorators_run(name):
    """Decorators are all made by one function, so that doctest does not find them by itself."""
    example = doctest.DocTestParser().get_doctest(PUBLIC[name].__doc__, {}, name, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0


def test_there_are_twelve_decorators():
    assert len(DECORATORS) == 12


def test_what_the_page_on_own_targets_keeps_is_the_range_of_every_cluster(tmp_path):
    function, _, _, _, keeping, *_ = blocks("docs/own-target.md")
    file = tmp_path / "page.py"
    given = (
        "import numpy as np\npoints, prior = np.array([[1.0], [0.0], [1.0], [0.0], [1.0]]), cp.DirichletProcess(1.0)"
    )
    file.write_text("\n".join([function, given, keeping.replace("keeping=", "parameters=[1.0, 1.0], keeping=")]))
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    target = scope["target"]
    labels = np.array([0, 1, 0, 0, 1])
    chain = advance_chain(target, BoundStep(), chain_at(target, labels), stream(1, 0), 20)
    for k in range(int(chain.n_clusters[0])):
        values = target.model.points[chain.labels == k, 0]
        assert chain.kept[chain.slots[k]].tolist() == [values.min(), values.max()]


def test_counts_between_clusters_on_the_page_on_own_targets(capsys, tmp_path):
    """The model of the page, whose moves are made in the chain itself, against its density written down once more."""
    *_, counts, moves, _, _, _ = blocks("docs/own-target.md")
    file = tmp_path / "page.py"
    file.write_text(counts + moves)
    scope: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    first, second = (float(text) for text in capsys.readouterr().out.splitlines()[0].split())
    assert first == pytest.approx(second)
    cp, target = scope["cp"], scope["target"]
    edges = np.array(scope["graph"].edges)
    labels = np.arange(34) % 3
    inside = np.sum(labels[edges[:, 0]] == labels[edges[:, 1]])
    pairs = sum(size * (size - 1) / 2 for size in np.bincount(labels))
    assert cp.kernels.log_density(target, labels) == pytest.approx(2.0 * (inside - 0.1 * pairs))
    assert cp.meeting_times(target, split_merge=2, replicates=2, lag=5).met.all()


def test_page_on_networks_runs(capsys):
    """With fewer and shorter replicates than on the page."""
    code = "\n".join(blocks("docs/networks.md"))
    for long, short in (('"burn_in": 500', '"burn_in": 50'), ("1500", "150"), ('"lag": 500', '"lag": 50')):
        assert long in code
        code = code.replace(long, short)
    for long in ('"replicates": 40', '"replicates": 50', '"replicates": 20'):
        assert long in code
        code = code.replace(long, '"replicates": 4')
    exec(compile(code, "docs/networks.md", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("Block model of 77 vertices and 820 edges")
    assert "hidden above never:" in out
    assert "E7" in out
    assert "of 32 as they went" in out


def test_example_of_planted_blocks_runs(capsys, tmp_path):
    e = planted.main(300, replicates=2, folder=tmp_path)
    assert pictures.drawn(tmp_path / "planted.png") == [
        "As they came",
        "By block",
        "How sure is each vertex of its block?",
    ]
    assert e.select("n_clusters").mean[0] >= 1
    assert "of the vertices are in the block of their group" in capsys.readouterr().out


def test_page_on_models_runs(capsys):
    """A precision that takes no time; the plot is drawn, and the distribution of the prior sums to 1."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    pytest.importorskip("palmerpenguins")
    first, penguins, prior, afterwards = blocks("docs/models.md")
    scope: dict = {"data": faithful()}
    for code in (first, "import copartition as cp\n" + penguins, prior, afterwards.replace("0.002", "0.05")):
        exec(compile(code, "docs/models.md", "exec"), scope)
        if code is first:
            assert capsys.readouterr().out.startswith("Mixture of 272 points x 2")
    assert scope["distribution"].sum() == pytest.approx(1.0)
    assert scope["e"].components[-1] == "concentration"


def test_page_on_which_model_runs(capsys):
    """Two models and a precision that takes little time; scales so far apart that the order is certain."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    (code,) = blocks("docs/which-model.md")
    scope: dict = {}
    shorter = code.replace("(1, 4, 16, 64, 256)", "(1, 16)").replace("target_stderr=0.1", "target_stderr=1.0")
    shorter = shorter.replace("data = galaxies()", "data = galaxies()[::2]")
    assert shorter.count("[::2]") == 1
    exec(compile(shorter, "docs/which-model.md", "exec"), scope)
    assert scope["found"].names == ["scale / 16", "scale / 1"]
    assert "scale / 16 " in capsys.readouterr().out


def test_page_on_hyperparameters_runs(capsys):
    """A pilot of few pairs, and a precision that takes little time."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    code = "\n".join(blocks("docs/hyperparameters.md")).replace("target_stderr=0.05", "target_stderr=0.5")
    assert 'settings="auto"' in code
    code = code.replace('settings="auto"', "settings=cp.tune(posterior, pairs=60, modes=False, seed=1)")
    scope: dict = {}
    exec(compile(code.replace("replicates=200", "replicates=20"), "docs/hyperparameters.md", "exec"), scope)
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "['mean_weight', 'mean', 'variance']"
    assert float(out[-1]) == pytest.approx(0.13, abs=0.03)  # as the page says
    assert scope["e"].components[0] == "n_clusters"


def test_page_on_scikit_learn_runs(capsys):
    """With fewer flowers than on the page."""
    of_flowers, of_cells = blocks("docs/scikit-learn.md")
    scope: dict = {}
    exec(compile(of_flowers.replace(".data\n", ".data[::3]\n"), "docs/scikit-learn.md", "exec"), scope)
    out = capsys.readouterr().out
    assert out.startswith(f"{scope['clusterer'].n_clusters_} clusters: unbiased\n")
    assert "petal width (cm)" in out
    assert "UNBIASED: " in out
    exec(compile(of_cells, "docs/scikit-learn.md", "exec"), scope)
    assert scope["adata"].obs["copartition"].value_counts().tolist() == [20, 10]


def test_page_on_notebooks_runs():
    """With fewer replicates than on the page."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    pytest.importorskip("pandas")
    code = "\n".join(blocks("docs/notebooks.md")).replace("replicates=200", "replicates=6")
    scope: dict = {}
    exec(compile(code, "docs/notebooks.md", "exec"), scope)
    e = scope["e"]
    assert len(e.values) == 6
    assert [ax.get_ylabel() for ax in e.plot()] == ["probability", "share of all points", "density"]
    mpl.pyplot.close("all")
