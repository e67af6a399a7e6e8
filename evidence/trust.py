"""Can the package's advice be trusted: bounds, variances, settings, runs to a given precision, clusterings?"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from estimates import exact
from scipy.special import stdtrit

import cases
import copartition as cp
import distributions
import naive
import small
from copartition import datasets
from copartition.diagnostics.consensus import LOSSES
from copartition.diagnostics.efficiency import asymptotic_variance, relative_error
from copartition.diagnostics.search import climb as all_partitions
from copartition.diagnostics.search import from_similarity
from exact_distances import exact_distances, many_meeting_times


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
        states, distribution = naive.distribution(density, 5)
        states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
        distribution = distribution[distribution > 0]
        h = np.array([len(set(state)) for state in states], dtype=float)
        h -= distribution @ h
        fundamental = np.linalg.inv(
            np.eye(len(states)) - distributions.sweep_matrix(target, states) + distribution[None, :]
        )
        truth = float(distribution @ (2 * h * (fundamental @ h) - h * h))
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
    """Runs that stop at a standard error of 0.02 (`target_stderr`), or by themselves at 1 % of the mean; 1,000 of each.

    The bias that stopping leaves is in standard errors of one run.
    """
    rows = []
    kinds = {"0.02": {"target_stderr": 0.02}, "nothing": {}}
    for name in ("scalar", "coloring"):
        target, truth = exact(name)
        lengths = ({"burn_in": 3, "min_sweeps": 12, "lag": 3}, {"burn_in": 0, "min_sweeps": 0, "lag": 1})
        for (said, asked), settings in itertools.product(kinds.items(), lengths):
            covered, away, counts = 0, [], []
            for seed in range(1000):
                e = cp.estimate(target, cp.n_clusters(), seed=seed, **asked, **settings)
                low, high = e.interval(0.95)
                covered += bool(low[0] <= truth <= high[0])
                away.append((e.mean[0] - truth) / e.stderr[0])
                counts.append(len(e.values))
            k, m, lag = settings.values()
            bias = f"{np.mean(away):+.2f} +- {np.std(away) / np.sqrt(1000):.2f}"
            number = f"{np.mean(counts):.0f}"
            rows.append(f"| {name} | {said} | {k}, {m}, {lag} | {number} | {covered} | 930 to 970 | {bias} |")
    return table(
        "| target | asked for | burn_in, min_sweeps, lag | replicates | covered of 1,000 | goal | bias |", rows
    )


@dataclass
class Case:
    """A data set on which settings are compared."""

    name: str
    target: cp.Target
    functional: cp.kernels.Functional


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


BURN_INS, HORIZONS = (20, 100, 400), (5, 20)
TURNS = 10


def best_of_grid(case: Case) -> dict[str, int]:
    """Return the settings of a grid with the least CPU time times variance, by 100 replicates each."""
    grid = [{"burn_in": k, "lag": k, "min_sweeps": k * times} for k in BURN_INS for times in HORIZONS]
    work = []
    for settings in grid:
        e = cp.estimate(case.target, case.functional, replicates=100, executor=1, seed=2, **settings)
        work.append(e.seconds.mean() * e.values.var())
    return grid[int(np.argmin(work))]


def work_in_turns(case: Case, several: list[tuple[int, dict]]) -> list[tuple[float, float, float]]:
    """Return the inefficiency of estimates: in sweeps, its standard error, in CPU seconds.

    Of each, the number of replicates and the settings are given. Estimates and ordinary chains take turns on one
    thread, because the speed of a machine changes.
    """
    chains, seconds, runs = [], [], []
    for turn in range(TURNS):
        plain = {"split_merge": 0, "sweeps": 20_000, "burn_in": 1_000, "chains": 2}
        s = cp.sample(case.target, case.functional, executor=1, seed=1000 + turn, **plain)
        chains.append(s.draws)
        seconds.append(s.seconds.sum() / (2 * 21_000))
        runs.append(
            [
                cp.estimate(case.target, case.functional, replicates=n // TURNS, executor=1, seed=turn, **how)
                for n, how in several
            ]
        )
    draws = np.concatenate(chains)
    ordinary = asymptotic_variance(draws)[0]
    found = []
    for turns in zip(*runs, strict=True):
        values = np.concatenate([e.values[:, 0] for e in turns])
        error = np.hypot(
            ((values - values.mean()) ** 2).std() / values.var() / len(values) ** 0.5, relative_error(draws)
        )
        ratio = values.var(ddof=1) / ordinary
        sweeps = ratio * np.mean([e.sweeps.mean() for e in turns])
        cpu = ratio * np.median([e.seconds.mean() / a_sweep for e, a_sweep in zip(turns, seconds, strict=True)])
        found.append((sweeps, error * sweeps, cpu))
    return found


def tuning() -> list[str]:
    """Tuned settings against an ordinary chain, and against the best of a grid.

    Inefficiency: work for the same precision, in multiples of that of an ordinary Gibbs chain, without split-merge
    moves, whose burn-in is free; in sweeps, which are dearer with moves, and in CPU seconds, from 600 replicates and
    400,000 sweeps that take turns (the relative error of both columns is the same). Below 1: moves make averages more
    precise than those of the ordinary chain. Predicted: against a chain with the same moves. The grid: burn_in = lag in
    20, 100, 400; min_sweeps = 5 or 20 times that; the default step; 100 replicates each, and 200 more of the best.
    Pilot and run: CPU time of the pilot and 1,000 replicates, in multiples of what the best of the grid needs for the
    same standard error. RNA-seq: three seeds of the pilot.
    """
    rows = []
    for case in tuning_cases():
        seeds = (1, 2, 3) if case.name == "RNA-seq" else (1,)
        every = [cp.tune(case.target, case.functional, executor=1, seed=seed) for seed in seeds]
        grid = best_of_grid(case)
        *found, (_, _, best) = work_in_turns(case, [*((600, {"settings": t}) for t in every), (200, grid)])
        for t, seed, (sweeps, error, cpu) in zip(every, seeds, found, strict=True):
            share = t.pilot_seconds / (1000 * t.seconds)
            rows.append(
                f"| {case.name}{f', seed {seed}' if len(seeds) > 1 else ''} | {t.burn_in}, {t.min_sweeps} | "
                f"{t.split_merge} | {t.inefficiency:.2f} | {sweeps:.2f} +- {error:.2f} | {cpu:.2f} | "
                f"{best:.2f} at {grid['burn_in']}, {grid['min_sweeps']} | {100 * share:.0f} % | "
                f"{(1 + share) * cpu / best:.2f} |"
            )
            print(rows[-1], flush=True)
    head = (
        "| data | burn_in, min_sweeps | moves | predicted | inefficiency | in seconds (goal 1.2, RNA-seq 1.1) | "
        "best of the grid, in seconds | pilot against run | pilot and run (goal 1.5) |"
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
        distribution = rng.dirichlet(np.full(len(states), rng.choice([0.01, 0.05, 1.0])))
        similarity = np.clip(naive.similarity(states, distribution), 0, 1)
        for loss in LOSSES:
            least = min(naive.similarity_loss(loss, similarity, np.array(state)) for state in states)
            right[loss] += bool(from_similarity(similarity, loss, starts=16)[1][0] <= least + 1e-9)
    all_partitions.ALL_OF = before
    return table("| loss | exact minimiser found, of 300 |", [f"| {loss} | {count} |" for loss, count in right.items()])


def few_replicates() -> list[str]:
    """Coverage of 95 % intervals by Student's t from few replicates, by 1,000 runs of each size (500 of the largest).

    Replicates are corrected that met after the burn-in; the lag is as long as that. Coverage of the number of clusters
    / of the share of the largest / of whether two points are together, which is nearly sure. The truth is the mean of
    all 50,000 replicates. The package gives no interval below 100 replicates.
    """
    rng = np.random.default_rng(5)
    line = np.concatenate([rng.normal(-2, 1, 15), rng.normal(2, 1, 15)])

    def groups(columns: int, size: int, apart: float) -> cp.Mixture:
        centres = apart * np.eye(max(3, columns))[np.repeat(np.arange(3), size)][:, :columns]
        data = rng.normal(size=(3 * size, columns)) + centres
        return cp.Mixture(data, cp.NormalInverseWishart(), cp.DirichletProcess(1.0))

    known = cp.Mixture(line, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    two, five, close = groups(2, 20, 4.0), groups(5, 20, 4.0), groups(5, 30, 3.0)
    settings = [
        ("30 points on a line, known sd", known, 8, 10),
        ("60 x 2, full covariances", two, 10, 20),
        ("60 x 5, full covariances", five, 40, 40),
        ("60 x 5, full covariances", five, 60, 40),
        ("90 x 5, groups closer", close, 100, 100),
    ]
    functionals = [cp.n_clusters(), cp.largest_clusters(1), cp.co_clustering([0, 1])]
    rows = []
    for name, target, burn_in, length in settings:
        how = {"burn_in": burn_in, "lag": burn_in, "min_sweeps": burn_in + length}
        e = cp.estimate(target, functionals, replicates=50_000, seed=11, **how)
        late = e.sweeps_to_meet > burn_in
        shown = []
        for count in (10, 20, 50, 100):
            runs = min(1000, len(e.values) // count)
            values = e.values[: runs * count].reshape(runs, count, -1)
            half = stdtrit(count - 1, 0.975) * values.std(axis=1, ddof=1) / np.sqrt(count)
            covers = np.abs(values.mean(axis=1) - e.mean) <= half + 1e-12
            shown.append(" / ".join(f"{share:.2f}" for share in covers.mean(axis=0)))
        rows.append(f"| {name}, burn-in {burn_in} | {100 * late.mean():.1f} % | {' | '.join(shown)} |")
    return table("| target | corrected | 10 replicates | 20 | 50 | 100 |", rows)


def other_starts() -> list[str]:
    """What chains from other starts say of runs with the default settings, 100 replicates of the number of clusters.

    Small targets: how many of 200 seeds are doubted, though nothing is wrong (goal: none). Tables: what is said with
    full covariances, beside what `find_modes` finds with many times the work; pairs have 5,000 sweeps to meet.
    """
    rows = []
    for name in small.TARGETS:
        target, _ = small.TARGETS[name]()
        how = {"replicates": 100, "burn_in": 10, "min_sweeps": 60, "lag": 10}
        looks = [cp.estimate(target, cp.n_clusters(), seed=seed, **how).made_by.get("modes") for seed in range(200)]
        doubted = sum(look is not None and look["level"] == "doubt" for look in looks)
        rows.append(f"| {name} | {doubted} of {sum(look is not None for look in looks)} doubted | |")
    from sklearn.datasets import load_breast_cancer, load_iris, load_wine

    tables = {
        "galaxies": datasets.galaxies()[:, None],
        "Old Faithful": datasets.faithful(),
        "iris": load_iris().data,
        "wine, 13 columns": load_wine().data,
        "wine, 5 columns": load_wine().data[:, :5],
        "breast cancer, 10 columns": load_breast_cancer().data[:, :10],
    }
    for name, data in tables.items():
        scaled = (data - data.mean(axis=0)) / data.std(axis=0)
        target = cp.Mixture(scaled, cp.NormalInverseWishart())
        e = cp.estimate(target, cp.n_clusters(), replicates=100, seed=1, max_sweeps=5000)
        look = e.made_by.get("modes", {"title": f"{e.censored} of 100 pairs did not meet"})
        rows.append(f"| {name} | {look['title']} | {cp.find_modes(target, seed=1).finding.title} |")
    return table("| target | chains from other starts | find_modes |", rows)


PARTS = {
    "Bounds on the distance from the target": bounds,
    "Asymptotic variance": asymptotic_variances,
    "Coverage of intervals when a run stops at a given precision": precision,
    "Coverage of intervals from few replicates": few_replicates,
    "Chains from other starts": other_starts,
    "Tuned settings": tuning,
    "Consensus clusterings": clusterings,
}
