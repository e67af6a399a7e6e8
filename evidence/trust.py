"""Can the package's advice be trusted: bounds, variances, settings, runs to a given precision, clusterings?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from estimates import exact

import cases
import copartition as cp
import laws
import naive
import small
from copartition import datasets
from copartition.diagnostics.consensus import LOSSES
from copartition.diagnostics.search import exact as all_partitions
from copartition.diagnostics.search import from_similarity
from test_bounds import exact_distances, many_meeting_times


def table(head: str, rows: list[str]) -> list[str]:
    """Return the lines of a table, and print its rows."""
    print("\n".join(rows), flush=True)
    return [head, "|" + " --- |" * (head.count("|") - 1), *rows]


def bounds() -> list[str]:
    """Exact total variation distance after t sweeps, and its bound from 200,000 pairs with lag 30.

    Chains start in one cluster, colourings with the greedy one.
    """
    rows = []
    for name in small.TARGETS:
        target, density = small.TARGETS[name]()
        t = np.arange(12)
        tv, _ = exact_distances(target, density, len(t))
        bound = cp.tv_bound(many_meeting_times(target, 200_000, 30, 1), t)
        above = bool(np.all(tv <= bound.value + 4 * (bound.high - bound.low) / 3.92))
        shown = [f"{tv[s]:.3f} / {bound.value[s]:.3f}" for s in (1, 2, 3)]
        clear = tv > 0.05
        factor = np.max(bound.value[clear] / tv[clear])
        rows.append(f"| {name} | {' | '.join(shown)} | {'yes' if above else 'NO'} | {factor:.2f} |")
    head = (
        "| target | t = 1: exact / bound | t = 2 | t = 3 | bound above at t = 0 to 11 | largest ratio, exact > 0.05 |"
    )
    return table(head, rows)


def asymptotic_variances() -> list[str]:
    """Asymptotic variance of the number of clusters, exact and estimated.

    Exact: from the transition matrix of a sweep. Estimated: from 4 chains of 250,000 sweeps, with ten different seeds.
    """
    rows = []
    for name in small.TARGETS:
        target, density = small.TARGETS[name]()
        states, law = naive.law(density, 5)
        states = [state for state, p in zip(states, law, strict=True) if p > 0]
        law = law[law > 0]
        h = np.array([len(set(state)) for state in states], dtype=float)
        h -= law @ h
        fundamental = np.linalg.inv(np.eye(len(states)) - laws.sweep_matrix(target, states) + law[None, :])
        truth = float(law @ (2 * h * (fundamental @ h) - h * h))
        errors = [
            cp.sample(
                target, cp.n_clusters(), sweeps=250_000, burn_in=100, chains=4, split_merge=0, seed=seed
            ).variance[0]
            / truth
            - 1
            for seed in range(10)
        ]
        rows.append(
            f"| {name} | {truth:.4f} | {100 * np.mean(errors):+.1f} % | {100 * np.max(np.abs(errors)):.1f} % | 5 % |"
        )
    return table("| target | exact | mean error | largest error of ten | goal |", rows)


def precision() -> list[str]:
    """Runs that stop at a standard error of 0.02 (`target_stderr`), 1,000 of each.

    The bias that stopping leaves is in standard errors of one run.
    """
    rows = []
    for name in ("scalar", "coloring"):
        target, truth = exact(name)
        for settings in ({"burn_in": 3, "min_sweeps": 12, "lag": 3}, {"burn_in": 0, "min_sweeps": 0, "lag": 1}):
            covered, away, counts = 0, [], []
            for seed in range(1000):
                e = cp.estimate(target, cp.n_clusters(), target_stderr=0.02, seed=seed, **settings)
                low, high = e.interval(0.95)
                covered += bool(low[0] <= truth <= high[0])
                away.append((e.mean[0] - truth) / e.stderr[0])
                counts.append(len(e.values))
            k, m, lag = settings.values()
            bias = f"{np.mean(away):+.2f} +- {np.std(away) / np.sqrt(1000):.2f}"
            rows.append(f"| {name} | {k}, {m}, {lag} | {np.mean(counts):.0f} | {covered} | 930 to 970 | {bias} |")
    return table("| target | burn_in, min_sweeps, lag | replicates | covered of 1,000 | goal | bias |", rows)


@dataclass
class Case:
    """A data set on which settings are compared."""

    name: str
    target: cp.Target
    functional: cp.Functional


def colouring(n_vertices: int, more: int) -> cp.GraphColoring:
    """A random graph with mean degree 5 and so many colours more than its greedy colouring needs."""
    rng = np.random.default_rng(n_vertices)
    edges = np.argwhere(np.triu(rng.random((n_vertices, n_vertices)) < 5 / (n_vertices - 1), 1))
    greedy = cp.GraphColoring(edges, n_vertices, n_vertices=n_vertices).start_labels("greedy")
    return cp.GraphColoring(edges, int(greedy.max()) + 1 + more, n_vertices=n_vertices)


def tuning_cases() -> list[Case]:
    """Return the data sets; the first only where its file is."""
    galaxies = cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0)
    rna = [Case("RNA-seq", cases.rna_seq(), cp.largest_clusters(1))] if cases.cells_available() else []
    return [
        *rna,
        Case("Figure 1A", cases.figure1a(1), cp.largest_clusters(1)),
        Case("galaxies", cp.Mixture(datasets.galaxies(), galaxies, cp.DirichletProcess(1.0)), cp.n_clusters()),
        Case("colouring, 25 vertices, greedy + 1", colouring(25, 1), cp.largest_clusters(1)),
        Case("colouring, 100 vertices, greedy + 2", colouring(100, 2), cp.largest_clusters(1)),
    ]


BURN_INS = (10, 20, 50, 100, 200, 400)
HORIZONS = (2, 5, 10, 20)


def tuning() -> list[str]:
    """Tuned settings against the best of a grid.

    The grid: burn_in = lag in 10, 20, 50, 100, 200, 400; min_sweeps = 2, 5, 10, 20 times that; 400 replicates each.
    Inefficiency: work for the same precision, in multiples of that of an ordinary Gibbs chain, without split-merge
    moves, whose burn-in is free; in sweeps, which are dearer with moves, and in CPU seconds. Pilot and run: the work
    of the pilot and 1,000 replicates, in multiples of what the best of the grid needs for the same standard error.
    """
    rows = []
    for case in tuning_cases():
        s = cp.sample(case.target, case.functional, split_merge=0, sweeps=60_000, burn_in=2_000, chains=4, seed=9)
        t = cp.tune(case.target, case.functional, seed=1)
        e = cp.estimate(case.target, case.functional, settings=t, replicates=1000, seed=1)
        tuned = e.inefficiency(s)
        best, best_settings = np.inf, (0, 0)
        for burn_in in BURN_INS:
            for horizon in HORIZONS:
                grid = cp.estimate(
                    case.target,
                    case.functional,
                    burn_in=burn_in,
                    lag=burn_in,
                    min_sweeps=horizon * burn_in,
                    replicates=400,
                    seed=2,
                ).inefficiency(s)
                if grid.sweeps[0] < best:
                    best, best_settings = float(grid.sweeps[0]), (burn_in, horizon * burn_in)
        total = (1 + t.pilot_sweeps / e.sweeps.sum()) * tuned.sweeps[0] / best
        row = (
            f"| {case.name} | {t.burn_in}, {t.min_sweeps} | {t.inefficiency:.2f} | {tuned.sweeps[0]:.2f} +- "
            f"{tuned.stderr[0]:.2f} | {tuned.seconds[0]:.2f} | {best:.2f} at {best_settings[0]}, {best_settings[1]} | "
            f"{100 * t.pilot_sweeps / e.sweeps.sum():.0f} % | {total:.2f} |"
        )
        print(row, flush=True)
        rows.append(row)
    head = (
        "| data | burn_in, min_sweeps | predicted | inefficiency | in seconds (goal 1.15) | best of the grid | "
        "pilot against run | pilot and run (goal 1.5) |"
    )
    return table(head, rows)


def clusterings() -> list[str]:
    """Consensus by search against all partitions, on 300 random posteriors of 3 to 7 points.

    This is the search alone, without the table of all partitions that it tries for up to 10 points.
    """
    all_partitions.ALL_OF, before = 0, all_partitions.ALL_OF
    rng = np.random.default_rng(0)
    right = dict.fromkeys(LOSSES, 0)
    for _ in range(300):
        states = naive.all_partitions(int(rng.integers(3, 8)))
        law = rng.dirichlet(np.full(len(states), rng.choice([0.01, 0.05, 1.0])))
        similarity = np.clip(naive.similarity(states, law), 0, 1)
        for loss in LOSSES:
            least = min(naive.similarity_loss(loss, similarity, np.array(state)) for state in states)
            right[loss] += bool(from_similarity(similarity, loss, starts=16)[1][0] <= least + 1e-9)
    all_partitions.ALL_OF = before
    return table("| loss | exact minimiser found, of 300 |", [f"| {loss} | {count} |" for loss, count in right.items()])


PARTS = {
    "Bounds on the distance from the target": bounds,
    "Asymptotic variance": asymptotic_variances,
    "Coverage of intervals when a run stops at a given precision": precision,
    "Tuned settings": tuning,
    "Consensus clusterings": clusterings,
}
