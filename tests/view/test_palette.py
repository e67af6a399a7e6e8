"""Colours: in no picture do two series have the same, nor ones that look the same in grey or to the colour-blind."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot

from colors import least_step, lightness, nearest, series_of
from copartition import plots
from copartition.view.palette import (
    DARK_PAGE,
    DARK_SERIES,
    INK,
    LIGHT_PAGE,
    MUTED,
    PAPER,
    SERIES,
    color_of,
    dots_of,
    line_of,
)
from copartition.view.report.pictures import THEME, svg_of
from made_up import random_pairs

APART, STEP = 24.0, 9.0  # in CIELAB: of any two series, and of their lightness


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


@pytest.mark.parametrize("colors", [SERIES, DARK_SERIES], ids=["light", "dark"])
def test_series_are_apart_for_everybody_and_in_grey(colors):
    assert nearest(colors) > APART
    assert least_step(colors) > STEP


def test_series_are_seen_on_their_page():
    for colors, page in ((SERIES, LIGHT_PAGE), (DARK_SERIES, DARK_PAGE)):
        paper = lightness([page["paper"]])[0]
        assert np.abs(lightness(colors) - paper).min() > 24
        assert np.abs(lightness([page[name] for name in ("ink", "muted", "good", "caution", "bad")]) - paper).min() > 40


def test_a_colour_that_was_chosen_badly_would_be_found_out():
    """The two blues that one figure had, and red beside green of the same lightness."""
    assert nearest([INK, SERIES[1], SERIES[1]]) == 0.0
    assert nearest(["#c8553d", "#7a8a1f"]) < APART < nearest(["#c8553d", "#1f5f99"])
    assert least_step(["#c8553d", "#5f8f3f"]) < STEP


def test_no_colour_comes_twice_however_many_series_there_are():
    assert len({color_of(k) for k in range(200)}) == 200
    assert len({str(line_of(k)["linestyle"]) for k in range(7)}) == 7
    assert len({dots_of(k)["marker"] for k in range(11)}) == 11
    assert nearest([color_of(k) for k in range(11)]) > 15  # the largest blocks of a network
    assert MUTED not in {color_of(k) for k in range(200)}


PICTURES = {
    "meeting times": (6, lambda ax: plots.meeting_times(
        {str(k): random_pairs(np.random.default_rng(k), 5) for k in range(6)}, ax=ax)),
    "traces": (2, lambda ax: plots.traces(random_pairs(np.random.default_rng(1), 5), ax=ax)),
}  # fmt: skip


@pytest.mark.parametrize("name", PICTURES)
def test_series_of_a_picture_can_be_told_apart(name, ax):
    count, draw = PICTURES[name]
    draw(ax)
    series = series_of(ax)
    assert len(series) == count
    colors = [color for text, color, _ in series if text != "truth"]
    assert nearest(colors) > APART
    assert least_step(colors) > STEP
    patterns = [pattern for text, _, pattern in series if text not in ("truth", "single pairs")]
    assert len(set(patterns)) == len(patterns)


def test_pictures_of_pages_take_all_their_colours_from_the_page():
    svg = svg_of(lambda ax: [ax.plot([0, k], **line_of(k)) for k in range(6)], "p")
    for number, color in enumerate(SERIES):
        assert f"var(--series{number})" in svg
        assert color not in svg
    assert set(THEME) == {MUTED, PAPER, *SERIES}
