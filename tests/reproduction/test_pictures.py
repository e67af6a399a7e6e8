"""Colours of the reproduction: in no figure do two series look the same, in grey and to the colour-blind neither."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot

from colors import least_step, nearest, series_of
from made_up import estimate_from
from reproduction import complexity, figure1, figure2b, figure3

APART, STEP = 24.0, 9.0  # in CIELAB: of any two series, and of their lightness


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


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
