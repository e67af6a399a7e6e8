"""Estimates of numbers that are drawn along with the partition, against exact expectations.

A part of ``evidence/run.py``; see there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

import copartition as cp
import naive
import small
from copartition.targets import distributions
from copartition.targets.data_prior import scale_grid, weight_grid
from exact_hyperparameters import EXACT, REPLICATES, expected, functionals

LAGS = (1, 3, 7)
LIMIT = 4.0
SEEDS = {coupling: seed for seed, coupling in enumerate(small.COUPLINGS)}


def of_numbers() -> list[str]:
    """Five points, numbers integrated out: every coupling, lags 1, 3 and 7, 20,000 replicates each.

    The models are those of `tests/small_hyperparameters.py`; their partitions are enumerated, and numbers are
    integrated in closed form, by quadrature, or summed over their grid. At lag 3 two split-merge moves follow every
    sweep. Cells: the largest of |estimate - exact| / standard error over the three lags and all components (the
    expected number of clusters, three probabilities of being together, the numbers). Every coupling has its own seed; a
    run before that one, in which all had the same, so that their deviations were alike, had 3.53 as its largest
    (discount).
    """
    lines = [
        f"| model | unknown | {' | '.join(small.COUPLINGS)} | above {LIMIT:g} |",
        "| --- " * (3 + len(small.COUPLINGS)) + "|",
    ]
    worst, beyond, count = 0.0, 0, 0
    for case in EXACT:
        target, exact = expected(case)
        cells, above = [], 0
        for key, coupling in small.COUPLINGS.items():
            scores = []
            for lag in LAGS:
                e = cp.estimate(
                    target,
                    functionals(),
                    replicates=REPLICATES,
                    burn_in=3,
                    min_sweeps=12,
                    lag=lag,
                    coupling=coupling,
                    split_merge=2 if lag == 3 else 0,
                    seed=SEEDS[key],  # else all couplings would share the first chains, and their deviations
                    executor=1,
                )
                scores += list(np.abs((e.mean - exact) / e.stderr))
            above += int(np.sum(np.array(scores) > LIMIT))
            count += len(scores)
            cells.append(f"{max(scores):.2f}")
            worst = max(worst, max(scores))
        beyond += above
        lines.append(f"| {case} | {', '.join(target.hyperparameters)} | {' | '.join(cells)} | {above} |")
        print(lines[-1], flush=True)
    return [
        *lines,
        "",
        f"Of {count} comparisons the largest deviation is {worst:.2f} standard errors, and {beyond} are above "
        f"{LIMIT:g}; a correct program has {count * 6.3e-5:.2f} of those on average.",
    ]


# --- grids -----------------------------------------------------------------------------------------------------------

SEVEN = np.array([-1.6, -1.3, -0.9, 0.2, 1.1, 1.4, 2.6])
PARTITIONS = naive.all_partitions(len(SEVEN))
FINE = 4096
WIDE = (cp.LogUniform(0.1, 10), cp.LogUniform(1e-2, 1e2), cp.LogUniform(1e-4, 1e4), cp.LogUniform(1e-8, 1e8))
DISTRIBUTIONS = (cp.Gamma(2, 3), cp.InverseGamma(2, 1), cp.Gamma(0.2, 0.1), *WIDE)


def _with_variances(cells: np.ndarray, weight: Any, scale: Any) -> np.ndarray:
    """Log density of a cluster of `NormalInverseGamma(0.3, weight, 2, scale)`, up to a constant for each size."""
    size, mean = len(cells), cells.mean()
    after = scale + 0.5 * np.sum((cells - mean) ** 2) + 0.5 * weight * size / (weight + size) * (mean - 0.3) ** 2
    of_size = gammaln(2.0 + 0.5 * size)
    return of_size + 2.0 * np.log(scale) - (2.0 + 0.5 * size) * np.log(after) + 0.5 * np.log(weight / (weight + size))


def _with_noise(cells: np.ndarray, noise: Any, spread: Any) -> np.ndarray:
    """Log density of a cluster of `Gaussian(noise, spread, 0.3)`."""
    size, mean = len(cells), cells.mean()
    of_mean = spread**2 + noise**2 / size
    within = (size - 1) * np.log(noise) + 0.5 * np.sum((cells - mean) ** 2) / noise**2 + 0.5 * np.log(size)
    return -within - 0.5 * np.log(of_mean) - 0.5 * (mean - 0.3) ** 2 / of_mean


UNKNOWN = {
    "scale, NormalInverseGamma": (lambda x, v: _with_variances(x, 0.4, v), 0.5 * SEVEN.var(ddof=1)),
    "mean_weight, NormalInverseGamma": (lambda x, v: _with_variances(x, v, 0.5), None),
    "noise_sd, Gaussian": (lambda x, v: _with_noise(x, v, 2.0), SEVEN.std()),
    "mean_sd, Gaussian": (lambda x, v: _with_noise(x, 0.6, v), SEVEN.std()),
}


def _posterior(grid: cp.kernels.OnGrid, log_cluster: Any) -> np.ndarray:
    """Return posterior mean and standard deviation of a number, the expected number of clusters, and the sd in logs."""
    values, found = grid.values, {}
    logs = np.empty((len(PARTITIONS), len(values)))
    for row, labels in zip(logs, PARTITIONS, strict=True):
        row[:] = grid.log_prior + np.log(naive.process(labels, 0.9))
        for members in map(tuple, naive.clusters(labels)):
            if members not in found:
                found[members] = log_cluster(SEVEN[list(members)], values)
            row += found[members]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    distribution, logarithms = weights.sum(axis=0), np.log(values)
    deviations = [np.sqrt(distribution @ (x - distribution @ x) ** 2) for x in (values, logarithms)]
    counts = np.array([max(labels) + 1 for labels in PARTITIONS])
    return np.array([distribution @ values, deviations[0], weights.sum(axis=1) @ counts, deviations[1]])


def of_grids() -> list[str]:
    """Seven points, all partitions enumerated: 64 cells against 4,096 that end at the same places.

    *Cell / sd*: the width of one of the 64 cells over the posterior standard deviation, both in logarithms.
    """
    columns = ["unknown", "distribution", "cell / sd", "mean", "error", "sd", "error", "E[n_clusters]", "error"]
    lines = [f"| {' | '.join(columns)} |", "| --- " * len(columns) + "|"]
    for name, (log_cluster, unit) in UNKNOWN.items():
        for distribution in DISTRIBUTIONS:
            results, grids = [], []
            for nodes in (FINE, distributions.NODES):
                distributions.NODES, before = nodes, distributions.NODES
                grids.append(weight_grid(distribution) if unit is None else scale_grid(name, distribution, unit))
                distributions.NODES = before
                results.append(_posterior(grids[-1], log_cluster))
            exact, coarse = results
            cell = np.log(grids[1].values[1] / grids[1].values[0])
            cells = [f"{exact[i]:.4g} | {coarse[i] - exact[i]:+.0e}" for i in range(3)]
            lines.append(f"| {name} | {distribution!r} | {cell / exact[3]:.2f} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


PARTS = {"Unknown hyperparameters": of_numbers, "Grids of unknown hyperparameters": of_grids}
