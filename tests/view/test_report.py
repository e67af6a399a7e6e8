"""The page about a run: what it says, and what it does in a real browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import copartition as cp
import small
from browser import assert_quiet, luminance, needs_browser, opened
from copartition.diagnostics.findings import BAD, CAUTION, GOOD, NOTE, verdict_of
from copartition.display import rounded
from made_up import NASTY, described, estimate_from, good_estimate, made_up, nasty_estimate, of_draws
from pages import parsed, words


@pytest.fixture(scope="module")
def full_estimate():
    """A run with everything that a page shows."""
    data = np.concatenate([np.linspace(-4, -3, 6), np.linspace(3, 4, 6)])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=3.0), cp.DirichletProcess(1.0))
    wanted = [cp.n_clusters(), cp.predictive_density(np.linspace(-6, 6, 30)), cp.co_clustering()]
    return cp.estimate(target, wanted, replicates=300, burn_in=20, min_sweeps=100, lag=20, seed=1)


# --- the verdict -----------------------------------------------------------------------------------------------------


def test_a_good_run_is_called_good_and_nothing_is_to_be_changed():
    verdict = verdict_of(good_estimate())
    assert verdict.level == GOOD
    assert verdict.advice == []
    assert verdict.headline == "Monte Carlo error is under control for this model."
    assert "All 500 pairs" in verdict.findings[0].text
    assert re.search(r"mean of h is (2|1\.99)", verdict.answers[0])


def test_pairs_that_did_not_meet_make_it_biased():
    e = good_estimate()
    met = e.met.copy()
    met[:3] = False
    verdict = verdict_of(type(e)(**{**e.__dict__, "met": met}))
    assert verdict.level == BAD
    assert "biased" in verdict.headline
    assert "3 of 500" in verdict.findings[0].text
    assert any("max_sweeps" in advice for advice in verdict.advice)


def test_a_short_burn_in_is_told_with_a_better_one():
    e = good_estimate()
    coupled = np.where(np.arange(500) % 4 == 0, 60, 3)
    verdict = verdict_of(type(e)(**{**e.__dict__, "meeting_times": 10 + coupled}))
    assert verdict.level == CAUTION
    assert any("burn_in and a lag of about 60" in advice for advice in verdict.advice)


def test_advice_does_not_contradict_itself():
    """A longer burn-in changes the horizon too, so that is one piece of advice, not two."""
    e = good_estimate()
    coupled = np.where(np.arange(500) % 4 == 0, 60, 3)
    both = type(e)(**{**e.__dict__, "meeting_times": 10 + coupled, "sweeps": np.full(500, 900)})
    assert len([advice for advice in verdict_of(both).advice if "min_sweeps" in advice]) == 1


def test_a_biased_page_does_not_call_itself_unbiased(tmp_path):
    e = good_estimate()
    met = e.met.copy()
    met[0] = False
    cp.write_report(type(e)(**{**e.__dict__, "met": met}), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "do not rely on them" in text
    assert "unbiased value" not in text


def test_stopping_at_a_precision_is_told(tmp_path):
    target, _ = small.scalar()
    call = {"burn_in": 2, "min_sweeps": 8, "lag": 2, "target_stderr": 0.05, "store": tmp_path / "run.db"}
    cp.estimate(target, cp.n_clusters(), **call)
    (finding, *_) = verdict_of(cp.Estimate.load(tmp_path / "run.db")).findings
    assert "stopping at a given precision" in finding.text


def test_a_spread_posterior_is_in_the_verdict():
    agree = {"level": "good", "title": "Other starts", "text": "They agree."}
    e = described(of_draws([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]] * 50), modes=agree)
    verdict = verdict_of(e, [cp.consensus(e)])
    assert verdict.level == NOTE
    assert "no single clustering" in verdict.headline


def test_a_short_horizon_heavy_tails_and_few_replicates_are_told():
    e = good_estimate()
    wasteful = type(e)(**{**e.__dict__, "sweeps": np.full(500, 900)})
    assert any("larger min_sweeps" in advice for advice in verdict_of(wasteful).advice)
    values = e.values.copy()
    values[0] = 1e3
    heavy = verdict_of(type(e)(**{**e.__dict__, "values": values}))
    assert any("1 % of the replicates have" in finding.text for finding in heavy.findings)
    assert any("take more replicates" in advice for advice in heavy.advice)
    few = described(estimate_from(np.random.default_rng(1).normal(size=(10, 1))))
    assert "Run at least 100 replicates." in verdict_of(few).advice
    missed = described(estimate_from(e.values), precision={"reached": False})
    assert any("precision that was asked for was not reached" in f.text for f in verdict_of(missed).findings)
    assert "Raise replicates." in verdict_of(missed).advice


def test_heavy_tails_of_late_pairs_lead_to_a_larger_burn_in():
    values = np.random.default_rng(1).normal(size=(500, 1))
    values[:2] *= 200
    coupled = np.full(500, 3)
    coupled[:2] = 90
    advice = verdict_of(described(estimate_from(values, coupled=coupled))).advice
    assert any("burn_in and lag" in text for text in advice)


# --- the page --------------------------------------------------------------------------------------------------------


class Items(HTMLParser):
    """Collects the items of lists, with their class, by the heading above them; the class of the verdict."""

    def __init__(self):
        super().__init__()
        self.heading, self.level, self.items, self._into = "", "", [], None

    def handle_starttag(self, tag, attributes):
        kind = dict(attributes).get("class") or ""
        if tag == "section":
            self.level = kind
        if tag == "h2":
            self.heading, self._into = "", "heading"
        if tag == "li":
            self.items.append([self.heading, kind, ""])
            self._into = "item"

    def handle_endtag(self, tag):
        if tag in {"h2", "li"}:
            self._into = None

    def handle_data(self, data):
        if self._into == "heading":
            self.heading += data
        if self._into == "item":
            self.items[-1][2] += data


@pytest.mark.parametrize("name", [name for name in made_up() if name != "ordinary"])
def test_page_holds_against_an_estimate_what_it_warns_of_itself_and_nothing_else(name, tmp_path):
    """Read from the page, without the package's help; what has no page is in `test_diagnostics`."""
    e = described(made_up()[name][0])
    cp.write_report(e, tmp_path / "report.html")
    page = Items()
    page.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    against = [words(text) for heading, kind, text in page.items if not heading and kind in {"caution", "bad"}]
    advice = [words(text) for heading, _, text in page.items if heading == "What to change"]
    said = [words(warning).partition(": ")[2] for warning in e.warnings]
    # A warning is its title, a finding of the page, and what the page advises.
    assert len(said) == len(against)
    for warning, finding in zip(said, against, strict=True):
        assert warning.startswith(finding)
        assert warning.removeprefix(finding).strip() in advice
    assert all(any(warning.endswith(one) for warning in said) for one in advice)
    biased = any(", BIASED: " in warning for warning in e.warnings)
    assert page.level == f"verdict {'bad' if biased else 'caution' if said else 'good'}"


def test_page_holds_all_and_refers_to_nothing_outside(full_estimate, tmp_path):
    page = tmp_path / "report.html"
    cp.write_report(full_estimate, page)
    found = parsed(page)
    text = " ".join(" ".join(found.text).split())
    assert rounded(full_estimate.mean[0], full_estimate.stderr[0]) in text
    assert "Predictive density" in text
    assert "Which points are together" in text
    assert "Convergence of an ordinary chain" in text
    assert full_estimate.made_by["fingerprint"] in text
    assert found.tags.count("svg") == 7
    assert "script" not in found.tags
    assert all(link.startswith(("#", "data:")) for link in found.links)


def test_same_estimate_same_page(tmp_path):
    for name in ("a.html", "b.html"):
        cp.write_report(good_estimate(), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_text_is_escaped_everywhere(tmp_path):
    page = tmp_path / "report.html"
    cp.write_report(nasty_estimate(), page, title=NASTY)
    assert "<script" not in page.read_text(encoding="utf-8")
    found = parsed(page)
    assert "script" not in found.tags
    assert " ".join(found.text).count("alert('<b>&\"$x$')") >= 6


def test_page_says_what_was_assumed(full_estimate, tmp_path):
    cp.write_report(full_estimate, tmp_path / "report.html")
    page = Items()
    page.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    said = [words(text) for heading, _, text in page.items if heading == "What was assumed"]
    assert said == full_estimate.made_by["assumptions"]
    assert any("0.8 (noise_sd)" in sentence for sentence in said)
    cp.write_report(described(good_estimate(), assumptions=[NASTY]), tmp_path / "report.html")
    assert "<script" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert NASTY in " ".join(parsed(tmp_path / "report.html").text)


def test_pages_without_a_distance_or_a_heat_map(tmp_path):
    e = good_estimate()
    met = e.met.copy()
    met[0] = False
    cp.write_report(type(e)(**{**e.__dict__, "met": met}), tmp_path / "censored.html")
    assert "Convergence of" not in (tmp_path / "censored.html").read_text(encoding="utf-8")
    clusters = described(of_draws([[0, 0, 1, 1, 2]] * 40))
    cp.write_report(clusters, tmp_path / "clusters.html")
    assert "3 cluster(s) of 2, 2, 1 points" in (tmp_path / "clusters.html").read_text(encoding="utf-8")


def test_estimates_under_a_deadline_have_no_page(tmp_path):
    target, _ = small.scalar()
    e = cp.estimate_within(target, cp.n_clusters(), workers=3, deadline=cp.Sweeps(5), burn_in=0, min_sweeps=1, lag=1)
    with pytest.raises(ValueError, match="made under a deadline"):
        cp.write_report(e, tmp_path / "report.html")


# --- in a real browser -----------------------------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1100])
def test_page_in_a_browser(full_estimate, tmp_path, width, scheme):
    path = tmp_path / "report.html"
    cp.write_report(full_estimate, path)
    with opened(path, width, scheme) as (page, seen):
        assert_quiet(seen, path)
        assert page.inner_text("h1") == "Posterior expectations"
        assert page.inner_text(".verdict strong") != ""
        # Nothing sticks out sideways, and text is large enough to read, also that of plots.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.evaluate(
            "[...document.querySelectorAll('p, li, td, figcaption')].map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(sizes) >= 13
        heights = page.evaluate("[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)")
        assert len(heights) > 20
        assert min(heights) >= 6
        boxes = page.evaluate("[...document.querySelectorAll('figure svg')].map(e => e.getBoundingClientRect().width)")
        assert len(boxes) == 7
        assert all(200 < box <= width for box in boxes)
        paper, ink = luminance(page, "body", "backgroundColor"), luminance(page, "body", "color")
        assert (paper > 0.9 and ink < 0.2) if scheme == "light" else (paper < 0.1 and ink > 0.8)
        # Lines and text of plots take the colour of the page.
        fills = page.evaluate("[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)")
        assert set(fills) == {page.eval_on_selector("body", "e => getComputedStyle(e).color")}


@needs_browser
def test_nasty_text_does_nothing_in_a_browser(tmp_path):
    path = tmp_path / f"report {json.dumps('<b>')[1:-1]}.html"
    cp.write_report(nasty_estimate(), path, title=NASTY)
    with opened(path) as (page, seen):
        assert_quiet(seen, path)
        assert page.inner_text("h1") == NASTY


# --- pages of runs that kept sums only -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def streamed_estimate():
    data = np.concatenate([np.linspace(-4, -3, 6), np.linspace(3, 4, 6)])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=3.0), cp.DirichletProcess(1.0))
    settings = {"replicates": 100, "burn_in": 2, "min_sweeps": 10, "lag": 2, "seed": 1}
    return cp.estimate(target, cp.co_clustering(keep_values=False), **settings)


def test_page_of_sums_has_all_but_single_replicates(streamed_estimate, tmp_path):
    cp.write_report(streamed_estimate, tmp_path / "report.html")
    found = parsed(tmp_path / "report.html")
    text = " ".join(" ".join(found.text).split())
    assert "Which points are together" in text
    assert "Certainty by cluster" in text
    assert "… and 63 more" in text
    assert "Running estimate" not in text
    assert rounded(streamed_estimate.mean[0], streamed_estimate.stderr[0]) in text
    assert found.tags.count("svg") == 4


@needs_browser
def test_page_of_sums_in_a_browser(streamed_estimate, tmp_path):
    path = tmp_path / "report.html"
    cp.write_report(streamed_estimate, path)
    with opened(path) as (page, seen):
        assert_quiet(seen, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1100
        assert page.evaluate("document.querySelectorAll('figure svg').length") == 4


def test_page_of_a_consensus(tmp_path):
    target = cp.Mixture([-3.0, -2.9, 3.0, 3.1], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    c = cp.consensus(target, replicates=4, seed=1)
    cp.write_report(c.estimate, tmp_path / "report.html")
    text = " ".join(" ".join(parsed(tmp_path / "report.html").text).split())
    assert "2 cluster(s) of 2, 2 points" in text
    assert "Certainty by cluster" in text


def test_page_of_many_points_stays_small(tmp_path):
    """Three thousand points: less than 3 MB, the points that are sure are counted and not listed."""
    labels = np.arange(3000) % 3
    data = 20.0 * labels + np.random.default_rng(1).normal(0, 1, 3000)
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=30.0), cp.DirichletProcess(0.01))
    settings = {"replicates": 4, "burn_in": 1, "min_sweeps": 2, "lag": 1, "init": labels, "seed": 1}
    e = cp.estimate(target, cp.co_clustering(), **settings)
    assert e.streamed
    cp.write_report(e, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3e6
    text = " ".join(" ".join(parsed(tmp_path / "report.html").text).split())
    assert "1,000 others" in text
