"""Figure 2A: unbiased estimates of a predictive density."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import copartition as cp
from copartition import plots
from reproduction.density import GRID, Line
from reproduction.experiments import Reproduction
from reproduction.section import Claim, Section, picture

POINTS = 100


def add_predictive_density(reproduction: Reproduction, section: Section) -> None:
    """Add Figure 2A to the section on Figure 2."""
    line = Line(reproduction.seed, POINTS)
    posterior, truth = line.posterior(POINTS), line.density(GRID)
    functional = cp.predictive_density(GRID)
    authors = reproduction.estimate(
        "Figure 2A, authors' settings", posterior, functional,
        replicates=reproduction.scale.density, burn_in=10, min_sweeps=100, lag=1, coupling="transport",
    )  # fmt: skip
    reproduction.tell("Figure 2A, tuning", 0, 1)
    tuned = cp.tune(posterior, functional, pairs=reproduction.scale.pilot, seed=reproduction.seed)
    ours = reproduction.estimate(
        "Figure 2A, tuned settings", posterior, functional, replicates=reproduction.scale.density_tuned, settings=tuned
    )
    reproduction.write_numbers(
        "figure2a",
        ["x", "truth", "authors' mean", "authors' stderr", "tuned mean", "tuned stderr"],
        zip(GRID, truth, authors.mean, authors.stderr, ours.mean, ours.stderr, strict=True),
    )
    runs = {"authors": (authors, "the authors' settings"), "tuned": (ours, "tuned settings")}
    for name, (e, title) in runs.items():
        s = e.made_by["settings"]
        section.pictures.append(
            picture(
                reproduction,
                f"figure2a-{name}",
                f"Figure 2A: predictive density, {title}",
                f"{len(e.values):,} replicates, burn-in {s['burn_in']}, minimum {s['min_sweeps']} sweeps, lag "
                f"{s['lag']}; pointwise 95 % band, truth dashed, data in grey.",
                partial(_draw, e, line, truth),
            )
        )
    apart = (authors.mean - ours.mean) / np.hypot(authors.stderr, ours.stderr)
    work = [e.sweeps.sum() * float(np.mean(e.stderr**2)) for e in (authors, ours)]
    section.notes.append(
        f"2A: {POINTS} points from ten components. As the authors: both chains from one cluster, burn-in 10, at least "
        "100 sweeps, lag 1; beside it settings that cp.tune chose."
    )
    section.claims += [
        Claim(
            "Figure 2A",
            "estimates are unbiased, whatever the settings: both agree",
            f"at most {np.abs(apart).max():.1f} standard errors apart at {len(GRID)} points",
            bool(np.abs(apart).max() < 4.5),
        ),
        Claim(
            "Figure 2A (ours)",
            "tuned settings give more precision for the same work",
            f"variance x sweeps: {work[0] / work[1]:.3g} times that of tuned settings",
            work[0] > work[1],
        ),
    ]


def _draw(e: cp.Estimate, line: Line, truth: np.ndarray, ax: Any) -> Any:
    return plots.density(e, ax=ax, data=line.points, truth=truth)
