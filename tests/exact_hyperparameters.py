"""Expectations of small targets with unknown hyperparameters, by enumeration."""

from __future__ import annotations

import numpy as np

import copartition as cp
import small_hyperparameters

EXACT = ("spherical", "full", "gaussian_mean", "gaussian_gaps", "gamma_scale", "discount")


REPLICATES = 20_000


def functionals():
    return [cp.n_clusters(), cp.co_clustering([0, 1, 4]), cp.hyperparameters()]


def expected(name):
    """The exact expectations of these functionals."""
    case, states, distribution, means = small_hyperparameters.integrated(name)
    together = [[state[i] == state[j] for i, j in ((0, 1), (0, 4), (1, 4))] for state in states]
    values = np.column_stack([[max(state) + 1 for state in states], together, means])
    return case.target, distribution @ values
