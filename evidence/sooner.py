"""Do split-merge moves leave the posterior as it is, on real data and by enumeration?"""

from __future__ import annotations

from itertools import permutations

import numpy as np

import cases
import copartition as cp
import distributions
import naive
import small
from copartition.core.random import stream
from exact_moves import log_posterior
from plausible import chi_square_is_plausible


def real_data() -> list[str]:
    """Ordinary chains on the RNA-seq data, plain Gibbs sampling against sweeps with ten split-merge moves.

    Four chains of 250,000 sweeps each, after 5,000 that are thrown away.
    """
    rows = ["| what | Gibbs | with moves | standard errors apart (goal: 4) |", "| --- | --- | --- | --- |"]
    if not cases.cells_available():
        return [*rows, "| not run: the data are not there | | | |"]
    target = cases.rna_seq()
    functionals = [cp.largest_clusters(5), cp.n_clusters(), cp.kernels.Functional("log posterior", log_posterior, 1)]
    for h in functionals:
        plain, moved = (
            cp.sample(target, h, split_merge=count, sweeps=250_000, burn_in=5_000, chains=4, seed=count)
            for count in (0, 10)
        )
        apart = (moved.mean - plain.mean) / np.hypot(moved.stderr, plain.stderr)
        for c, name in enumerate(plain.components):
            shown = (f"{s.mean[c]:.5f} +- {s.stderr[c]:.5f}" for s in (plain, moved))
            rows.append(f"| {name} | {' | '.join(shown)} | {apart[c]:+.2f} |")
            print(rows[-1], flush=True)
    return rows


def whole_steps() -> list[str]:
    """Five million steps (a sweep and two moves) of five points, from ten partitions, against their exact distribution.

    Chi-square tests, false alarm 1e-5 each.
    """
    rows = ["| target | largest deviation from invariance (exact) | tests that passed, of 10 |", "| --- | --- | --- |"]
    for name in ("scalar", "full", "bernoulli"):
        target, density = small.TARGETS[name]()
        states, distribution = naive.distribution(density, 5)
        orders = list(permutations(range(5)))
        moved = sum(np.linalg.matrix_power(naive.split_merge_matrix(density, states, order), 2) for order in orders)
        matrix = distributions.sweep_matrix(target, states) @ (moved / len(orders))
        passed = 0
        for s in range(0, 50, 5):
            draws = 500_000
            counts = distributions.counted_steps(target, states[s], 2, stream(17, s), draws)[
                distributions.codes(states)
            ]
            passed += bool(chi_square_is_plausible(counts, matrix[s] * draws, 1e-5))
        rows.append(f"| {name} | {np.abs(distribution @ matrix - distribution).max():.1e} | {passed} |")
        print(rows[-1], flush=True)
    return rows


PARTS = {
    "Split-merge moves on real data": real_data,
    "Split-merge moves by enumeration": whole_steps,
}
