"""Theorem 1: the time of a coupled sweep, against the number of points and of clusters."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import copartition as cp
from copartition import plots
from reproduction.drawing import dots_of, line_of
from reproduction.experiments import Reproduction
from reproduction.section import Claim, Section, picture

CLUSTERS, POINTS = 8, 2_000
SWEEPS = 20


def planted(seed: int, n_points: int, n_clusters: int) -> tuple[cp.Mixture, np.ndarray]:
    """Return the posterior of overlapping components in the plane, and their true labels."""
    rng = np.random.default_rng([seed, n_points, n_clusters])
    labels = np.arange(n_points) % n_clusters
    data = rng.normal(0, 2.0 * np.sqrt(n_clusters), (n_clusters, 2))[labels] + rng.normal(0, 1, (n_points, 2))
    component = cp.Gaussian(noise_sd=1.0, mean_sd=2.0 * np.sqrt(n_clusters))
    return cp.Mixture(data, component, cp.DirichletProcess(n_clusters / 8)), labels


def timed(reproduction: Reproduction, n_points: int, n_clusters: int) -> dict[str, float]:
    """Return microseconds of a coupled and of two single sweeps, from the true labels, and the number of clusters."""
    target, labels = planted(reproduction.seed, n_points, n_clusters)
    single = cp.sample(
        target, cp.n_clusters(), sweeps=5 * SWEEPS, burn_in=0, chains=2, split_merge=0, init=labels, executor=1
    )
    m = cp.meeting_times(
        target,
        replicates=4,
        coupling="transport",
        lag=SWEEPS,
        max_sweeps=2 * SWEEPS,
        init=labels,
        seed=reproduction.seed,
        executor=1,
    )
    coupled = max(1, int((m.meeting_times - m.lag).sum()))
    return {
        "points": n_points,
        "clusters": float(single.mean[0]),
        "coupled": 1e6 * float(m.seconds.sum()) / coupled,
        "two single": 2e6 * float(single.seconds.min()) / (5 * SWEEPS),
    }


def complexity(reproduction: Reproduction) -> Section:
    """Return the section on Theorem 1."""
    points, clusters = reproduction.scale.complexity
    cases = [(n, CLUSTERS) for n in points] + [(max(POINTS if len(points) > 2 else 200, k), k) for k in clusters]
    results = []
    for number, (n, k) in enumerate(cases):  # one after another: they are timed
        reproduction.tell("Theorem 1, timing", number, len(cases))
        results.append(timed(reproduction, n, k))
    reproduction.tell("Theorem 1, timing", len(cases), len(cases))
    by_points, by_clusters = results[: len(points)], results[len(points) :]
    reproduction.write_numbers("complexity", list(results[0]), [list(result.values()) for result in results])
    in_n, in_k = _exponent(by_points, "points"), _exponent(by_clusters, "clusters")
    ratios = [result["coupled"] / result["two single"] for result in by_clusters]
    pictures = [
        picture(
            reproduction,
            f"complexity-{name}",
            f"Theorem 1: time of a sweep against {title}",
            text,
            partial(_draw, rows, name),
        )
        for name, title, text, rows in (
            ("points", "points", f"{CLUSTERS} components; both axes logarithmic.", by_points),
            ("clusters", "clusters", f"{by_clusters[0]['points']:,} points; both axes logarithmic.", by_clusters),
        )
    ]
    head = ["points", "clusters", "coupled sweep, µs", "two single sweeps, µs", "ratio"]
    rows = [
        [
            f"{r['points']:,.0f}",
            f"{r['clusters']:.1f}",
            f"{r['coupled']:.0f}",
            f"{r['two single']:.0f}",
            f"{r['coupled'] / r['two single']:.2f}",
        ]
        for r in results
    ]
    return Section(
        "Theorem 1: complexity",
        ["Overlapping components in the plane, chains from the true labels, so that the number of clusters is known."],
        pictures=pictures,
        tables=[(head, rows)],
        claims=[
            Claim(
                "Theorem 1",
                "a coupled sweep takes O(N K^3 log K): linear in N",
                f"time grows as N^{in_n:.2f}",
                in_n < 1.2,
            ),
            Claim(
                "Theorem 1",
                "a coupled sweep takes O(N K^3 log K): at most K^3 log K in K",
                f"time grows as K^{in_k:.2f}",
                in_k < 3.0,
            ),
            Claim(
                "Theorem 1",
                "a coupled sweep is no more than O(K^2 log K) times slower than a single one",
                f"{min(ratios):.1f} to {max(ratios):.1f} times two single sweeps",
                all(
                    ratio <= max(2.0, result["clusters"] ** 2)
                    for ratio, result in zip(ratios, by_clusters, strict=True)
                ),
            ),
        ],
    )


def _exponent(results: list[dict[str, float]], of: str) -> float:
    """Return the slope of log time against log size, by least squares."""
    x, y = (np.log([result[name] for result in results]) for name in (of, "coupled"))
    return float(np.polyfit(x, y, 1)[0])


def _draw(results: list[dict[str, float]], of: str, ax: Any) -> None:
    x = [result[of] for result in results]
    ax.plot(x, [result["coupled"] for result in results], label="coupled sweep", **line_of(0) | dots_of(0))
    label = "two single sweeps"
    ax.plot(x, [result["two single"] for result in results], label=label, **line_of(1) | dots_of(1))
    ax.set(xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        plots.plain_numbers(axis)
    ax.set_xlabel(of)
    ax.set_ylabel("CPU time, µs")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
