"""Densities of partitions, up to a constant, of targets that moves are tested on."""

from __future__ import annotations

import numpy as np

import copartition as cp


@cp.kernels.evaluation
def log_posterior(model, chain, hooks, parameters, out):
    """Log posterior of a Gaussian mixture with one kappa, up to a constant; its parameter is the number of columns."""
    kappa = model[0].parameters[0]
    log_size, log_new = model[0].log_size, model[0].log_new
    total = 0.0
    for k in range(chain[0].n_clusters[0]):
        size = chain[0].sizes[k]
        squares = 0.0
        for d in range(chain[0].sums.shape[1]):
            squares += chain[0].sums[k, d] ** 2
        total += 0.5 * squares / (kappa + size) - 0.5 * parameters[0] * np.log((kappa + size) / kappa)
        total += log_new[0]
        for smaller in range(1, size):
            total += log_size[smaller]
    out[0] = total
