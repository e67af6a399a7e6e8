"""Weighted partitions: what thinning costs in precision, and keeping in time and bytes."""

from __future__ import annotations

import gc
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import cases
import copartition as cp
from copartition import datasets

KEPT = (8, 16, 32, 64)
REPLICATES, FEWER = 300, 100
MANY = 1_000  # points, of which fewer replicates are run
PAIRS_OF = 100  # points
TURNS = 5


def posteriors() -> dict[str, cp.Target]:
    """Return the data sets; the first only where its file is."""
    from sklearn.datasets import load_iris

    galaxies = cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0)
    full = cp.NormalInverseWishart()
    rna = {"RNA-seq": cases.rna_seq()} if cases.cells_available() else {}
    return {
        **rna,
        "galaxies": cp.Mixture(datasets.galaxies(), galaxies, cp.DirichletProcess(1.0)),
        "Old Faithful": cp.Mixture(datasets.faithful(), full, cp.DirichletProcess(cp.Gamma(2, 4))),
        "iris": cp.Mixture(load_iris().data, full, cp.DirichletProcess(cp.Gamma(2, 4))),
        "Figure 1A": cases.figure1a(1),
    }


def variance() -> list[str]:
    """How much larger the variance of an estimate is from some partitions of every replicate than from all sweeps.

    300 replicates each, settings as `tune` chooses them. Of pairs, those of 100 points at most:
    the sum of their variances, as they are looked up in the partitions and, in brackets, with the conditional
    distribution of every point, which is what `expect` does. Sweeps: how many a replicate averages over.
    """
    rows = [
        f"| data | sweeps | functional | {' | '.join(f'{count} kept' for count in KEPT)} |",
        f"| --- | --- | --- | {' | '.join('---' for _ in KEPT)} |",
    ]
    for name, target in posteriors().items():
        points = np.linspace(0, target.n_points - 1, min(target.n_points, PAIRS_OF)).astype(np.int64)
        wanted = [cp.n_clusters(), cp.largest_clusters(1), cp.co_clustering(points)]
        tuned = cp.tune(target, wanted[:2], seed=1)
        found = []
        for count in KEPT:
            d = cp.draw(target, wanted, replicates=REPLICATES, per_replicate=count, settings=tuned, seed=1)
            whole, plain, redrawn = (
                [part.values.var(axis=0, ddof=1).sum() for part in e.parts()]
                for e in (d.run, replace(d, target=None).expect(wanted), d.expect(wanted))
            )
            found.append([(a / c, b / c) for a, b, c in zip(plain, redrawn, whole, strict=True)])
        for f, ratios in zip(wanted, zip(*found, strict=True), strict=True):
            shown = " | ".join(f"{a:.1f} ({b:.1f})" if a != b else f"{a:.1f}" for a, b in ratios)
            rows.append(f"| {name} | {tuned.min_sweeps - tuned.burn_in + 1} | {f.name} | {shown} |")
            print(rows[-1], flush=True)
    return rows


def cost() -> list[str]:
    """CPU time of a run that keeps partitions in a store, against the same run that keeps none there.

    The number of clusters, defaults, 300 replicates (100 of 1,000 points); both runs take turns, five each, and the
    quickest counts. Bytes: labels in memory, and what they add to the file, a replicate.
    """
    rows = ["| data | 16 kept (goal 1.05) | 64 kept | bytes in memory, 16 | bytes in the file, 16 |"]
    rows.append("| --- | --- | --- | --- | --- |")
    for name, target in (posteriors() | {"1,000 points, 8 overlapping groups": cases.overlapping()}).items():
        count = FEWER if target.n_points >= MANY else REPLICATES
        best: dict[int, float] = {}
        sizes: dict[int, int] = {}
        for _ in range(TURNS):
            for kept in (0, 16, 64):
                with tempfile.TemporaryDirectory() as folder:
                    seconds, sizes[kept], labels = _timed(target, kept, count, Path(folder) / "run.db")
                best[kept] = min(seconds, best.get(kept, np.inf))
                if kept == 16:
                    in_memory = labels / count
        in_file = (sizes[16] - sizes[0]) / count
        row = f"| {name} | {best[16] / best[0]:.3f} | {best[64] / best[0]:.3f} | {in_memory:,.0f} | {in_file:,.0f} |"
        print(row, flush=True)
        rows.append(row)
    return rows


def _timed(target: cp.Target, kept: int, count: int, path: Path) -> tuple[float, int, int]:
    """Return the CPU seconds of a run, the size of its file, and of the labels that it has."""
    gc.collect()
    how = {"replicates": count, "seed": 1, "store": path, "executor": 1}
    begin = time.process_time()
    if kept:
        e = cp.draw(target, cp.n_clusters(), per_replicate=kept, settings=None, **how).run
    else:
        e = cp.estimate(target, cp.n_clusters(), **how)
    seconds = time.process_time() - begin
    return seconds, path.stat().st_size, 0 if e.partitions is None else e.partitions.labels.nbytes


PARTS = {"Weighted partitions: variance": variance, "Weighted partitions: cost": cost}
