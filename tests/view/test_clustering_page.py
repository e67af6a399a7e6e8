"""Clusterings as people see them: words, page, display in notebooks; in a real browser with 3 and with 40 clusters."""

from __future__ import annotations

import re
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("agg")

from matplotlib import pyplot

import clusterings
import copartition as cp
from browser import assert_quiet, luminance, needs_browser, opened
from copartition.diagnostics.findings import BAD, Finding
from copartition.view.clusterings import GRADES, distinguishing, doubtful, is_clustering, profile_of
from copartition.view.report import write_clustering
from made_up import NASTY
from pages import parsed, words

TABLES = [name for name in clusterings.ALL if name != "network"]


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in clusterings.ALL.items()}


def text_of(path):
    return words(" ".join(parsed(path).text))


# --- what distinguishes a cluster ------------------------------------------------------------------------------------


def from_columns(columns, sizes=(60, 40), separates=0.9, missing=None):
    """A clustering with given profiles: estimates, deviations and means of all rows of each column, and data like it.

    `missing` has, for some columns, from which row of each cluster on cells were not observed.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    c = clusterings.made_up(data_of(columns, sizes, missing or {}), labels, np.ones(len(labels)))
    rows, keys, separation = [], [], {}
    for name, levels in columns.items():
        for level, (estimates, sds, of_all) in levels.items():
            for r, (estimate, sd) in enumerate(zip(estimates, sds, strict=True)):
                rows.append([estimate, 0.01, sd, 0.01, of_all])
                keys.append((r, name, level))
        one = separates[name] if isinstance(separates, dict) else separates
        separation[name] = [one, 0.1, *[one, 0.1] * len(sizes)]
    index = pd.MultiIndex.from_tuples(keys, names=["cluster", "column", "category"])
    profile = pd.DataFrame(rows, index, ["estimate", "stderr", "sd", "sd_stderr", "all_rows"])
    heads = ["separation", "stderr", *[f"cluster {r}{more}" for r in range(len(sizes)) for more in ("", " stderr")]]
    frame = pd.DataFrame.from_dict(separation, orient="index", columns=heads)

    class Given(type(c)):
        def profile(self):
            return profile.sort_index(level="cluster", sort_remaining=False, kind="stable")

        def separation(self):
            return frame

    return Given(**c.__dict__)


def data_of(columns, sizes, missing):
    table = {}
    for name, levels in columns.items():
        cells = []
        for r, size in enumerate(sizes):
            if "" in levels:
                means, sds, _ = levels[""]
                scores = np.linspace(-1.0, 1.0, size)
                own = means[r] + sds[r] * scores / (scores.std() or 1.0)
            else:
                own = np.repeat(
                    list(levels), np.round(size * np.array([levels[key][0][r] for key in levels])).astype(int)
                )
                own = np.resize(own, size).astype(object)
            own[missing[name][r] if name in missing else size :] = np.nan
            cells.append(own)
        table[name] = np.concatenate(cells)
    return pd.DataFrame(table)


def test_means_are_said_with_their_errors_against_those_of_all_rows_with_digits_that_matter():
    c = from_columns({"mass": {"": ([4712.31, 3333.0], [300.0, 300.0], 4160.56)}})
    # 300 / sqrt(59), 300 / sqrt(39)
    assert distinguishing(c) == [
        "mass is high: 4712 ± 39 against 4161 in all rows",
        "mass is low: 3333 ± 48 against 4161 in all rows",
    ]
    years = from_columns({"year": {"": ([2008.9, 2007.2], [0.2, 0.2], 2008.22)}})
    assert distinguishing(years)[0] == "year is high: 2008.90 ± 0.03 against 2008.22 in all rows"
    sure = from_columns({"x": {"": ([1000.0, -1000.0], [0.3, 0.0], 200.0)}})
    assert distinguishing(sure) == [
        "x is high: 1000.00 ± 0.04 against 200 in all rows",
        "x is low: -1000 against 200 in all rows",
    ]
    both = from_columns({name: {"": ([3.0, -3.0], [1.0, 1.0], 0.6)} for name in "ab"})
    assert distinguishing(both)[0] == "a is high: 3.0 ± 0.1 against 0.6 in all rows; b is high: 3.0 ± 0.1 against 0.6"


def test_a_cluster_in_the_middle_is_told_by_its_spread():
    c = from_columns({"x": {"": ([0.1, -0.1], [4.0, 0.3], 0.0)}}, sizes=(50, 50))
    assert distinguishing(c) == [
        "x varies much: standard deviation 4.0 against 2.8 in all rows",
        "x varies little: standard deviation 0.30 against 2.8 in all rows",
    ]
    same = from_columns({"x": {"": ([0.1, -0.2], [1.0, 1.1], 0.0)}})
    assert distinguishing(same)[0] == "x is near the average: 0.1 ± 0.1 against 0.0 in all rows"


def test_spreads_are_those_of_the_data_not_of_the_model():
    """The model expects anything of a cluster with few observed cells; what was observed of the others is narrow."""
    columns = {"x": {"": ([0.6, -0.6, 0.0], [1.0, 1.0, 1.0], 0.0)}, "y": {"": ([1.0, -1.0, 5.0], [1.0, 1.0, 1.0], 0.2)}}
    c = from_columns(columns, (40, 40, 20), missing={"x": (40, 40, 0), "y": (40, 40, 20)})
    wide = c.profile()
    wide.loc[(2, "x", ""), ["estimate", "sd"]] = 30.0, 90.0
    wide.loc[(0, "x", ""), "sd"] = 50.0
    type(c).profile = lambda self: wide
    x = next(column for column in profile_of(c) if column.name == "x")
    assert x.spread == pytest.approx(np.sqrt(1.0 + 0.36))
    np.testing.assert_allclose(x.sd, [1.0, 1.0, np.nan])
    assert x.observed.tolist() == [40, 40, 0]
    assert distinguishing(c)[0].startswith("x is high: 0.6 ± 0.2 against 0.0 in all rows")
    assert "x" not in distinguishing(c)[2]


def test_columns_with_hardly_any_observed_cells_distinguish_nothing():
    columns = {name: {"": ([5.0, -5.0], [1.0, 1.0], 1.0)} for name in "ab"}
    said = distinguishing(from_columns(columns, missing={"a": (2, 3)}))
    assert [one.split(";")[0][0] for one in said] == ["b", "a"]
    assert "a is" not in said[0]
    categories = {"kind": {"A": ([1.0, 0.0], [np.nan] * 2, 0.6), "B": ([0.0, 1.0], [np.nan] * 2, 0.4)}}
    assert distinguishing(from_columns(categories, missing={"kind": (2, 3)}))[0] == ""
    # Of a cluster of one or two rows all is known that there is to know, but for an error.
    small = {"a": {"": ([5.0, -5.0], [1.0, 0.0], 1.0)}, "b": {"": ([5.0, -5.0], [1.0, 0.0], 1.0)}}
    few = distinguishing(from_columns(small, (60, 2), missing={"a": (60, 1)}))
    assert few[1] == "b is low: -5.0 against 1.0 in all rows"


def test_tables_with_many_missing_cells_are_told_by_what_was_observed():
    """As of votes or of traits of plants: half of the cells, and whole columns of some clusters, were not observed."""
    rng = np.random.default_rng(7)
    labels = np.repeat([0, 1, 2], [60, 40, 6])
    table = pd.DataFrame(rng.normal(0.0, 3.0, (3, 6))[labels] + rng.normal(size=(106, 6)), columns=[*"abcdef"])
    table["way"] = np.array(["wind", "insect", "self"], dtype=object)[labels]
    table = table.mask((rng.random(table.shape) < 0.5) & (table.columns != "f"))
    table.loc[labels == 2, ["a", "b", "way"]] = np.nan
    table.loc[100, "b"] = 50.0
    c = cp.cluster(table, component="diagonal", effort=0.05, seed=1)
    columns = {column.name: column for column in profile_of(c)}
    for name, column in columns.items():
        np.testing.assert_array_equal(
            column.observed, [table[name][c.labels == r].notna().sum() for r in range(len(c.sizes))]
        )
        if not column.levels:
            assert column.spread == pytest.approx(table[name].std(ddof=0))
    for r, said in enumerate(distinguishing(c)):
        for part in filter(None, said.split("; ")):
            assert columns[part.split()[0]].observed[r] >= min(3, c.sizes[r])


def test_categories_are_told_by_what_is_there_unless_what_lacks_tells_more():
    nan = [np.nan, np.nan]
    there = from_columns({"species": {"A": ([0.99, 0.1], nan, 0.6), "B": ([0.01, 0.9], nan, 0.4)}})
    assert distinguishing(there) == [
        "species is A: 99 % against 60 % in all rows",
        "species is B: 90 % against 40 % in all rows",
    ]
    parts = {"A": ([0.0, 0.5], nan, 0.3), "B": ([0.5, 0.25], nan, 0.35), "C": ([0.5, 0.25], nan, 0.35)}
    assert distinguishing(from_columns({"kind": parts}))[0] == "kind is never A: 0 % against 30 % in all rows"
    parts["A"] = [0.04, 0.5], nan, 0.3
    assert distinguishing(from_columns({"kind": parts}))[0] == "kind is rarely A: 4 % against 30 % in all rows"


def test_columns_that_say_little_are_not_named_nor_more_than_three():
    levels = {"": ([1.0, -1.0], [0.1, 0.1], 0.2)}
    columns = dict.fromkeys("abcdef", levels)
    strong = {"a": 0.9, "b": 0.5, "c": 0.8, "d": 0.7, "e": 0.25, "f": 0.15}
    assert [part.split()[0] for part in distinguishing(from_columns(columns, separates=strong))[0].split("; ")] == [
        *"acd"
    ]
    # 0.26 is less than a third of 0.9; 0.15 is not two standard errors from nothing.
    few = from_columns(dict.fromkeys("aef", levels), separates=strong)
    assert distinguishing(few)[0].count(";") == 0
    assert distinguishing(from_columns({"f": levels}, separates=strong)) == ["", ""]


def test_nothing_distinguishes_a_single_cluster_nor_blocks_of_a_network(made, monkeypatch):
    assert distinguishing(made["network"]) == ["", ""]
    assert distinguishing(from_columns({"x": {"": ([1.0], [1.0], 0.0)}}, sizes=(9,))) == [""]
    monkeypatch.setattr(clusterings.MadeUp, "profile", lambda self: needs_pandas())
    assert distinguishing(clusterings.penguins()) == ["", "", ""]


def needs_pandas():
    from copartition.extras import MissingPackageError

    raise MissingPackageError("profile() needs the package pandas")


def test_profiles_are_those_of_the_table_most_separating_first(made):
    c = made["penguins"]
    columns = profile_of(c)
    assert [column.name for column in columns] == c.separation().index.tolist()
    flipper = next(column for column in columns if column.name == "flipper_length_mm")
    numbers = c.table["flipper_length_mm"]
    np.testing.assert_allclose(flipper.mean[:, 0], [numbers[c.labels == r].mean() for r in range(3)])
    assert flipper.spread == pytest.approx(numbers.std(ddof=0), rel=0.01)
    species = next(column for column in columns if column.name == "species")
    np.testing.assert_allclose(species.mean.sum(axis=1), 1.0)
    assert species.levels == ["Adelie", "Chinstrap", "Gentoo"]


# --- the least certain rows ------------------------------------------------------------------------------------------


def test_rows_in_doubt_come_with_the_next_most_probable_cluster(tmp_path):
    certainty = [1.0, 0.4, 0.94, 0.96, 0.7, 1.0]
    c = clusterings.made_up(pd.DataFrame({"x": range(6)}, index=[*"abcdef"]), [0, 0, 0, 1, 1, 2], certainty)
    rows = doubtful(c)
    assert [row.name for row in rows] == ["b", "e", "c"]
    assert [row.undecided for row in rows] == [True, False, False]
    assert [(row.cluster, row.other) for row in rows] == [(0, 1), (1, 2), (0, 1)]
    assert rows[0].probability == pytest.approx(0.4)
    c.report(tmp_path / "page.html")
    assert "of one that is a cluster of its own, that it is alone." in text_of(tmp_path / "page.html")
    assert [row.name for row in doubtful(c, 1)] == ["b"]
    alone = clusterings.made_up(pd.DataFrame({"x": [1.0, 2.0]}), [0, 0], [0.9, 1.0])
    assert doubtful(alone)[0].other is None


def test_what_is_a_clustering_is_told_without_computing_anything(made, monkeypatch):
    assert is_clustering(made["penguins"])
    assert not is_clustering(made["penguins"].consensus)
    with pytest.raises(TypeError, match=r"c must be what cluster returns, got 1\."):
        write_clustering(1, "page.html")


# --- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", clusterings.ALL)
def test_page_has_everything_in_order_and_needs_nothing_else(made, tmp_path, name):
    c, path = made[name], tmp_path / "page.html"
    c.report(path)
    found, text = parsed(path), text_of(path)
    many = "vertices" if name == "network" else "rows"
    heads = [c.headline, c.reason, "The clusters", "How many clusters", f"Which {many} are together",
             f"The least certain {many}", "The model", "How it was computed"]  # fmt: skip
    if name == "network":
        assert not re.search(r"\brows?\b", text[text.index(words(c.reason)) : text.index("The model")])
    places = [text.index(words(head)) for head in heads]
    assert places == sorted(places)
    assert "script" not in found.tags
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert found.tags.count("svg") == (3 if name == "network" else 4)
    assert ("What the clusters are like" in text) == (name != "network")
    assert ("The network" in text) == (name == "network")
    for said in distinguishing(c):
        assert said in text
    assert c.posterior.fingerprint in text


@pytest.mark.parametrize("grade", GRADES)
def test_page_begins_with_the_grade_and_what_it_means(tmp_path, grade):
    c, path = clusterings.one_number(grade=grade, reason="Because."), tmp_path / "page.html"
    c.report(path, title="A title")
    text = text_of(path)
    assert words(f"A title {GRADES[grade].word} {c.headline} {GRADES[grade].meaning}") in text
    assert "Why this grade Because. The clusters" in text
    assert f'class="verdict grade {GRADES[grade].level}"' in path.read_text(encoding="utf-8")
    if grade != "unbiased":
        before, _, _ = text.partition("How it was computed")
        assert "unbiased" not in before.lower()


def test_page_lists_sizes_certainties_doubts_scores_and_findings(made, tmp_path):
    c, path = made["penguins"], tmp_path / "page.html"
    c.report(path)
    text = text_of(path)
    for r, size in enumerate(c.sizes):
        own = c.labels == r
        assert (
            f"{r} {size} ({c.undecided[own].sum()} undecided) {c.certainty[own].mean():.2f} {distinguishing(c)[r]}"
            in text
        )
    assert len(re.findall(r"bird \d+", text)) == 20
    least = c.names[int(np.argmin(c.certainty))]
    assert re.search(rf"{least} \d, undecided {c.certainty.min():.2f} \d 0\.\d\d", text)
    assert "full -4.120 0.05 chosen diagonal -4.870 0.06" in text
    assert "Heavy tails: Rows lie farther out than the model has it. Try component='full'." in text
    assert "Read this before you rely on it: Heavy tails ." in text  # of what is no warning nothing is said at the top
    assert c.notes[0] in text
    assert "Clusters of 344 rows" in text


def test_page_of_sure_rows_says_that_none_is_in_doubt(tmp_path):
    c = clusterings.made_up(pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1]}), [0, 0, 1, 1], np.ones(4))
    c.report(tmp_path / "page.html")
    assert "No row is in doubt" in text_of(tmp_path / "page.html")
    assert "next likely" not in text_of(tmp_path / "page.html")


def test_rows_that_fit_into_no_other_cluster_have_no_next_one(tmp_path):
    labels = np.repeat([0, 1], 4)
    c = clusterings.made_up(pd.DataFrame({"x": 9.0 * labels}), labels, np.full(8, 0.7))
    nowhere = "there is no other among these that a row is likely to belong to"
    c.report(tmp_path / "page.html")
    assert "0 0 0.70 1 0.30" in text_of(tmp_path / "page.html")
    assert nowhere not in text_of(tmp_path / "page.html")
    c.probabilities[0, 1] = 0.001
    c.report(tmp_path / "page.html")
    assert "0 0 0.70 1 0 0.70 1 0.30" in text_of(tmp_path / "page.html")
    assert nowhere in text_of(tmp_path / "page.html")


def test_page_of_one_cluster_speaks_of_no_others(tmp_path):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    c = clusterings.made_up(table, np.zeros(20, dtype=int), np.full(20, 0.7), n_clusters={1: 1.0})
    c.report(tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")
    assert "Each mark is a row, in two columns." in text
    assert "separate" not in text
    assert "that it is alone" not in text
    assert "next likely cluster" not in text


def test_page_of_a_table_with_many_missing_cells_says_what_dashes_are(made, tmp_path):
    columns = {name: {"": ([5.0, -5.0], [1.0, 1.0], 1.0)} for name in "ab"}
    from_columns(columns, missing={"a": (2, 3)}).report(tmp_path / "page.html")
    assert "A dash means that fewer than three cells were observed." in text_of(tmp_path / "page.html")
    made["penguins"].report(tmp_path / "page.html")
    assert "A dash" not in text_of(tmp_path / "page.html")


def test_page_of_forty_clusters_lists_twenty_at_once(made, tmp_path):
    made["forty"].report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "20 smaller clusters" in page
    assert page.count('class="swatch"') == 40
    assert len(set(re.findall(r'class="swatch" style="([^"]*)"', page))) == 40


def test_same_clustering_same_page(made, tmp_path):
    for name in ("a.html", "b.html"):
        made["penguins"].report(tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def nasty():
    table = pd.DataFrame({NASTY: [0.0, 0.1, 0.2, 5.0, 5.1], f"$b^{NASTY}$": [NASTY, NASTY, "a", "b", "b"]})
    table.index = [f"{NASTY}{n}" for n in range(5)]
    more = {"reason": NASTY, "notes": [NASTY], "findings": [Finding(BAD, NASTY, NASTY, NASTY)]}
    return clusterings.made_up(table, [0, 0, 0, 1, 1], [0.4, 0.5, 0.9, 0.9, 0.9], **more)


def test_text_is_escaped_everywhere(tmp_path):
    path = tmp_path / "page.html"
    nasty().report(path, title=NASTY)
    assert "<script" not in path.read_text(encoding="utf-8")
    assert " ".join(parsed(path).text).count("alert('<b>&\"$x$')") >= 15
    assert "<script" not in nasty()._repr_html_()


@pytest.mark.parametrize("title", ["", 3])
def test_titles_that_are_none_are_refused(made, tmp_path, title):
    with pytest.raises(TypeError, match="title must be a text"):
        made["one_number"].report(tmp_path / "page.html", title=title)


# --- in notebooks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", clusterings.ALL)
def test_notebooks_show_grade_headline_clusters_and_rows(made, name, monkeypatch):
    c = made[name]
    html = c._repr_html_()
    assert f"<strong>{GRADES[c.grade].word}: {c.headline}</strong>" in html
    assert html.index(c.headline) < html.index("<th>certainty</th>") < html.index("<svg") < html.index("<details>")
    assert html.count("<svg") == 1
    assert ("what distinguishes it" in html) == (name != "network")
    assert ("… and 20 more" in html) == (name == "forty")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "<svg" not in c._repr_html_()


# --- in a real browser -----------------------------------------------------------------------------------------------


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["penguins", "forty"])
def test_page_in_a_browser(made, tmp_path, name, width, scheme):
    path = tmp_path / "page.html"
    made[name].report(path)
    with opened(path, width, scheme) as (page, seen):
        assert_quiet(seen, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not page.locator(".diagnostics dl").is_visible()
        page.locator(".diagnostics summary").click()
        assert page.locator(".diagnostics dl").is_visible()
        page.eval_on_selector_all("details", "all => all.forEach(e => { e.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # What distinguishes a cluster can be read without scrolling sideways.
        ends = page.evaluate(
            "[...document.querySelectorAll('.clusters td:nth-child(4)')].map(e => e.getBoundingClientRect().right)"
        )
        assert max(ends) <= width
        paper, ink = luminance(page, "body", "backgroundColor"), luminance(page, "body", "color")
        assert (paper > 0.9 and ink < 0.2) if scheme == "light" else (paper < 0.1 and ink > 0.8)
        fills = page.evaluate("[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)")
        plain = {page.eval_on_selector(at, "e => getComputedStyle(e).color") for at in ("body", "figcaption")}
        assert set(fills) <= plain
        heights = page.evaluate("[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)")
        assert min(heights) >= 6


@needs_browser
@pytest.mark.parametrize("width", [400, 1400])
def test_what_is_wider_than_the_page_scrolls_and_says_so(made, tmp_path, width):
    path = tmp_path / "page.html"
    made["penguins"].report(path)
    with opened(path, width) as (page, _):
        frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        page.evaluate(frame)  # in which the browser sees what scrolls
        told = page.evaluate(
            """[...document.querySelectorAll(".scroll")].map(e => [
                e.scrollWidth > e.clientWidth, getComputedStyle(e, "::before").display != "none",
                getComputedStyle(e).backgroundImage.split("linear-gradient").length - 1, e.tabIndex])"""
        )
        assert len(told) >= 4
        assert all(scrolls == says for scrolls, says, _, _ in told)
        assert all(rest == [4, 0] for _, _, *rest in told)
        assert any(scrolls for scrolls, *_ in told) == (width == 400)
        # The picture scrolls under its title.
        assert page.locator("figure.wide .scroll svg").count() == 1
        lefts = page.evaluate("[...document.querySelectorAll('figure')].map(e => e.getBoundingClientRect().left)")
        assert len({round(left) for left in lefts}) == (1 if width == 400 else 2)


@needs_browser
def test_the_matrix_takes_the_background_of_the_page(made, tmp_path):
    path = tmp_path / "page.html"
    made["penguins"].report(path)
    for scheme in ("light", "dark"):
        with opened(path, 1000, scheme) as (page, _):
            figure = page.locator("figure", has_text="Which rows are together")
            figure.screenshot(path=tmp_path / f"{scheme}.png")
            box, outer = figure.locator("image").first.bounding_box(), figure.bounding_box()
            pixels = (255 * pyplot.imread(tmp_path / f"{scheme}.png")[:, :, :3]).round()
            left, top = box["x"] - outer["x"], box["y"] - outer["y"]
            corner = pixels[int(top + 0.1 * box["height"]), int(left + 0.9 * box["width"])]  # of two clusters, apart
            square = pixels[int(top + 0.2 * box["height"]), int(left + 0.3 * box["width"])]  # within the largest one
            card = pixels[3, 3]
            assert np.abs(corner - card).max() < 40
            assert np.abs(square - card).min() > 120


@needs_browser
def test_nasty_text_does_nothing_in_a_browser(tmp_path):
    path = tmp_path / "page.html"
    nasty().report(path, title=NASTY)
    with opened(path) as (page, seen):
        assert_quiet(seen, path)
        assert page.inner_text("h1") == NASTY


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_displays_in_a_browser(made, tmp_path, scheme):
    """Two of them on a page, whose pictures do not take each other's parts, in the colour of the text around them."""
    path = tmp_path / "shown.html"
    head = '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    shown = "".join(made[name]._repr_html_() for name in ("penguins", "one_number"))
    path.write_text(f"{head}<body>{shown}", encoding="utf-8")
    with opened(path, 700, scheme) as (page, seen):
        assert_quiet(seen, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        # What pictures refer to is in themselves; axes are numbered in each, and nothing refers to them.
        ids = page.evaluate("[...document.querySelectorAll('svg [id]')].map(e => e.id)")
        ids = [name for name in ids if not name.startswith("matplotlib.")]
        assert len(set(ids)) == len(ids) > 0
        ink = page.eval_on_selector("body", "e => getComputedStyle(e).color")
        fills = page.evaluate("[...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)")
        assert ink in fills
        assert len(set(fills)) <= 2  # notes are grey


# --- of real ones ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real():
    """A table as it is, with numbers, categories and missing cells, at little effort."""
    rng = np.random.default_rng(1)
    means = np.array([[0.0, 20.0], [6.0, 20.0], [0.0, 31.0]])[np.arange(60) % 3]
    table = pd.DataFrame(means + rng.normal(size=(60, 2)), columns=["width", 7], index=[f"r{n}" for n in range(60)])
    table["shop"] = np.where(rng.random(60) < 0.9, np.array(["A", "B", "C"])[np.arange(60) % 3], "A")
    table.iloc[3, 0] = np.nan
    return cp.cluster(table, component="diagonal", effort=0.05, seed=1)


def test_page_and_display_of_a_real_clustering(real, tmp_path):
    real.report(tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")
    said = distinguishing(real)
    assert len(said) == len(real.sizes) == 3
    assert all(words(one) in text for one in [*said, real.headline, real.reason, *real.kinds, *real.assumptions])
    assert any("column 7 is high" in one for one in said)
    for words_of_one in said:
        assert words_of_one in str(real)
    assert real.headline in real._repr_html_()


def test_rows_of_a_real_clustering_are_drawn_where_they_are(real):
    ax = real.plot()
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"width", "column 7"}
    drawn = np.concatenate([c.get_offsets() for c in ax.collections if str(c.get_gid()).startswith("cluster")])
    given = real.given[[name if name != "column 7" else 7 for name in (ax.get_xlabel(), ax.get_ylabel())]].dropna()
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(given.to_numpy(), axis=0))
    pyplot.close(ax.figure)


def test_real_networks_have_pages(tmp_path):
    edges = [(a, b) for s in (0, 5) for a in range(s, s + 5) for b in range(a + 1, s + 5)]
    c = cp.cluster(cp.BlockModel([*edges, (0, 5)], rate=2.0), effort=0.05, seed=1)
    c.report(tmp_path / "page.html")
    assert "Clusters of 10 vertices" in text_of(tmp_path / "page.html")
    assert "The network" in text_of(tmp_path / "page.html")
    assert c.headline in c._repr_html_()
    pyplot.close(c.plot().figure)
