"""Colours: in no picture do two series have the same, nor ones that look the same in grey or to the colour-blind."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot
from matplotlib.collections import LineCollection

from colors import least_step, lightness, nearest
from copartition import plots
from copartition.paper import complexity, figure1, figure2b, figure3
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
from test_bounds import random_pairs
from test_diagnostics import estimate_from

APART, STEP = 24.0, 9.0  # in CIELAB: of any two series, and of their lightness


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def series_of(ax):
    """What the legend tells apart, each with its colour and with what is left of it in grey."""
    found = []
    for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
        line = handle.lines[0] if hasattr(handle, "lines") else handle  # of an errorbar
        color = line.get_color() if hasattr(line, "get_color") else line.get_edgecolor()
        if isinstance(handle, LineCollection):
            color = handle.get_color()[0]
        dashes = getattr(line, "_unscaled_dash_pattern", line.get_linestyle())  # lines call all of their own "--"
        pattern = str(dashes), str(line.get_marker() if hasattr(line, "get_marker") else "")
        found.append((text, color, pattern))
    return found


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


def made_up_meetings():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(8):
        traces = {arm: rng.integers(1, 90, rng.integers(3, 30)) for arm in figure1.ARMS}
        found.append({arm: {"trace": [*trace.tolist(), 0], "sweeps": len(trace)} for arm, trace in traces.items()})
    return found


def made_up_densities():
    values = np.random.default_rng(1).normal(0.02, 0.001, (20, len(figure3.GRID)))
    return {count: estimate_from(values * scale) for scale, count in enumerate((100, 200, 300, 1_000, 10_000), 1)}


ARMS = [figure2b.Arm(name, np.random.default_rng(1).normal(0.4, 0.1, 300)) for name in figure2b.ARMS]
TIMES = [{"points": n, "clusters": n, "coupled": 2.0 * n, "two single": 1.0 * n} for n in (2, 4, 8)]
PICTURES = {
    "figure 1, traces": (4, lambda ax: figure1._draw_traces(ax, made_up_meetings())),
    "figure 1, histogram": (4, lambda ax: figure1._draw_histogram(
        ax, {arm: np.array([one[arm]["sweeps"] for one in made_up_meetings()]) for arm in figure1.ARMS})),
    "figure 2B, estimates": (3, lambda ax: figure2b._draw_estimates(ax, ARMS, [10, 100], 0.4)),
    "figure 2B, errors": (3, lambda ax: figure2b._draw_errors(
        ax, {(name, size): 1.0 / size for name in figure2b.ARMS for size in (10, 100)}, [10, 100], 0.001)),
    "figure 3": (6, lambda ax: figure3._draw_densities(ax, made_up_densities(), np.full(len(figure3.GRID), 0.02))),
    "theorem 1": (2, lambda ax: complexity._draw(TIMES, "points", ax)),
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


def test_single_pairs_do_not_hide_medians(ax):
    figure1._draw_traces(ax, made_up_meetings())
    named = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    single = [line for line in ax.get_lines() if line.get_label().startswith("_")]
    assert len(named) == 4
    assert min(line.get_linewidth() for line in named) > 5 * max(line.get_linewidth() for line in single)
    assert min(line.get_zorder() for line in named) > max(line.get_zorder() for line in single)
    assert max(line.get_alpha() for line in single) < 0.5


def test_pictures_of_pages_take_all_their_colours_from_the_page():
    svg = svg_of(lambda ax: [ax.plot([0, k], **line_of(k)) for k in range(6)], "p")
    for number, color in enumerate(SERIES):
        assert f"var(--series{number})" in svg
        assert color not in svg
    assert set(THEME) == {MUTED, PAPER, *SERIES}
