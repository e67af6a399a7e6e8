"""Functionals of which only sums are kept, and clusterings straight from a posterior: are they right, on many runs?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import copartition as cp
import naive
import small

SHORT = {"burn_in": 1, "min_sweeps": 6, "lag": 2}


def exact_pairs(name: str) -> tuple[cp.Target, np.ndarray]:
    """Return a small target, and the exact probabilities that points are together."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    return target, naive.similarity(states, distribution)


def coverage() -> list[str]:
    """Intervals from sums over replicates: 1,000 independent runs of 100 replicates each, all components together.

    The reference of `memberships` is two clusters, the first three points and the others.
    """
    rows = ["| target | functional | components | covered | asked for |", "| --- | --- | --- | --- | --- |"]
    for name in ("scalar", "coloring", "mixed"):
        target, together = exact_pairs(name)
        n = target.n_points
        labels = np.array([0, 0, 0, *[1] * (n - 3)])
        members = np.eye(2)[labels]
        without_self = together - np.eye(n)
        shares = without_self @ members / np.maximum(np.bincount(labels) - members, 1)
        cases = {
            "co_clustering()": (cp.co_clustering(keep_values=False), together[np.triu_indices(n, 1)]),
            "co_clustering(pairs=...)": (
                cp.co_clustering(pairs=[[0, 1], [1, 3]], keep_values=False),
                together[[0, 1], [1, 3]],
            ),
            "memberships": (cp.memberships(labels, keep_values=False), shares.ravel()),
        }
        for title, (functional, truth) in cases.items():
            varies = (truth > 1e-12) & (truth < 1 - 1e-12)
            covered = np.zeros(len(truth))
            for seed in range(1000):
                e = cp.estimate(target, functional, replicates=100, seed=seed, **SHORT)
                low, high = e.interval(0.95)
                covered += (low <= truth) & (truth <= high)
            share = covered[varies].mean() / 10
            rows.append(f"| {name} | {title} | {varies.sum()} | {share:.1f} % | 93 to 97 % |")
            print(rows[-1], flush=True)
    return rows


def resident() -> float:
    """Return the memory of this process in megabytes; Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def soak() -> list[str]:
    """A million replicates of a streamed functional: against enumeration, and the memory that the process has."""
    rows = ["| target | largest distance, in standard errors | components | MB after 10 %, 50 %, 100 % |"]
    rows.append("| --- | --- | --- | --- |")
    for name in ("scalar", "coloring"):
        target, together = exact_pairs(name)
        truth = together[np.triu_indices(target.n_points, 1)]
        seen: dict[int, float] = {}

        def look(done: int, total: int, mean: np.ndarray, stderr: np.ndarray, seen: dict[int, float] = seen) -> None:
            for share in (10, 50, 100):
                if share not in seen and 100 * done >= share * total:
                    seen[share] = resident()

        wanted = [cp.n_clusters(), cp.co_clustering(keep_values=False)]
        e = cp.estimate(target, wanted, replicates=1_000_000, seed=7, progress=look, **SHORT).select("co_clustering")
        apart = np.abs(e.mean - truth) / np.maximum(e.stderr, 1e-300)
        varies = e.stderr > 0
        memory = ", ".join(f"{seen[share]:.0f}" for share in (10, 50, 100))
        rows.append(f"| {name} | {apart[varies].max():.2f} | {varies.sum()} | {memory} |")
        print(rows[-1], flush=True)
    return rows


def consensus() -> list[str]:
    """`consensus(posterior)` 200 times: how often it finds the best of all partitions, and how far off it is if not.

    The expected loss it reports is that of its own answer; its 95 % interval should cover the exact one.
    """
    rows = [
        "| target | loss | best of all found | excess loss, at most | intervals that cover |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ("scalar", "coloring", "mixed"):
        target, density = small.TARGETS[name]()
        states, distribution = naive.distribution(density, target.n_points)
        for loss, distance, unit in (("vi", naive.variation_of_information, 1.0), ("binder", naive.hamming, 2.0)):
            exact = {
                s: sum(p * distance(s, t) for t, p in zip(states, distribution, strict=True)) / unit for s in states
            }
            best, found, excess, covered = min(exact.values()), 0, 0.0, 0
            for seed in range(200):
                c = cp.consensus(target, loss, replicates=100, seed=seed)
                value = exact[tuple(c.labels.tolist())]
                found += value <= best + 1e-9
                excess = max(excess, value - best)
                covered += abs(c.expected_loss - value) <= 1.984 * c.expected_loss_stderr + 1e-12
            rows.append(f"| {name} | {loss} | {found} of 200 | {excess:.2g} | {covered} of 200 |")
            print(rows[-1], flush=True)
    return rows


PARTS = {
    "Streamed functionals: coverage": coverage,
    "Streamed functionals: a million replicates": soak,
    "Consensus straight from a posterior": consensus,
}
