"""Figure 3: the predictive density comes closer to the truth as there are more data."""

from __future__ import annotations

from typing import Any

import numpy as np

import copartition as cp
from copartition import plots
from reproduction.density import GRID, Line
from reproduction.drawing import line_of
from reproduction.experiments import Reproduction
from reproduction.section import Claim, Section, picture, plus_minus


def settings_for(count: int) -> dict[str, int]:
    """Return settings that grow as meeting times do on these data, with the root of the number of points."""
    burn_in = round(12 * count**0.5)
    return {"burn_in": burn_in, "lag": burn_in, "min_sweeps": 3 * burn_in}


def figure3(reproduction: Reproduction) -> Section:
    """Return the section on Figure 3."""
    sizes = list(reproduction.scale.sizes)
    line = Line(reproduction.seed, max(sizes))
    truth = line.density(GRID)
    estimates = {
        count: reproduction.estimate(
            f"Figure 3, {count} points", line.posterior(count), cp.predictive_density(GRID),
            replicates=replicates, coupling="transport", **settings_for(count),
        )
        for count, replicates in reproduction.scale.sizes.items()
    }  # fmt: skip
    found = {count: distance(e, truth) for count, e in estimates.items()}
    reproduction.write_numbers(
        "figure3",
        ["x", "truth", *[f"mean, {count} points" for count in sizes]],
        zip(GRID, truth, *[e.mean for e in estimates.values()], strict=True),
    )
    rows = [
        [f"{count:,}", f"{len(estimates[count].values)}", plus_minus(*found[count]), f"{e.sweeps.mean():.0f}",
         f"{e.seconds.mean():.2g}"]
        for count, e in estimates.items()
    ]  # fmt: skip
    values = [found[count][0] for count in sizes]
    return Section(
        "Figure 3: more data",
        [
            "The data of Figure 2A, nested. Distance: the sum over the grid of |estimated predictive density - truth|. "
            "The authors averaged 400 replicates with time limits for 100, 200 and 300 points; here chains run until "
            "they meet, and larger data sets are added."
        ],
        pictures=[
            picture(
                reproduction, "figure3-densities", "Figure 3: predictive densities",
                "Truth: thick and grey.", lambda ax: _draw_densities(ax, estimates, truth), (6.0, 3.8),
            ),
            picture(
                reproduction, "figure3-distances", "Figure 3: distance from the truth",
                "Bars: two standard errors.", lambda ax: _draw_distances(ax, found),
            ),
        ],
        tables=[(["points", "replicates", "distance", "sweeps a replicate", "CPU seconds a replicate"], rows)],
        claims=[
            Claim(
                "Figure 3",
                "the predictive density comes closer to the truth as N grows",
                ", ".join(f"N = {count:,}: {plus_minus(*found[count])}" for count in sizes),
                bool(np.all(np.diff(values) < 0)),
            )
        ],
    )  # fmt: skip


def distance(e: cp.Estimate, truth: np.ndarray) -> tuple[float, float]:
    """Return the sum of absolute differences from the truth, and its standard error by the bootstrap."""
    rng = np.random.default_rng(0)
    resampled = [
        np.abs(e.values[rng.integers(0, len(e.values), len(e.values))].mean(axis=0) - truth).sum() for _ in range(200)
    ]
    return float(np.abs(e.mean - truth).sum()), float(np.std(resampled))


def _draw_densities(ax: Any, estimates: dict[int, cp.Estimate], truth: np.ndarray) -> None:
    ax.plot(GRID, truth, color=plots.MUTED, lw=4, alpha=0.5, label="truth")
    for number, (count, e) in enumerate(estimates.items()):
        ax.plot(GRID, e.mean, lw=1.4, label=f"N = {count:,}", **line_of(number))
    ax.set_ylim(bottom=0)
    _finish(ax, "value of the next point", "density")
    ax.legend(frameon=False)


def _draw_distances(ax: Any, found: dict[int, tuple[float, float]]) -> None:
    values, errors = (np.array(column) for column in zip(*found.values(), strict=True))
    ax.errorbar(list(found), values, 2 * errors, color=plots.INK, marker="o", capsize=3)
    ax.set_xscale("log")
    plots.plain_numbers(ax.xaxis)
    ax.set_ylim(bottom=0)
    _finish(ax, "points N", "sum of |estimate - truth|")


def _finish(ax: Any, x: str, y: str) -> None:
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
