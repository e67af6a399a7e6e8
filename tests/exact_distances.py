"""Distances of chains from small targets, from their transition matrices, and pairs that met."""

from __future__ import annotations

import numpy as np
import ot

import copartition as cp
import distributions
import naive
from made_up import pairs


def exact_distances(target, density, times):
    """Total variation and Wasserstein distance (Hamming) of a chain started in one cluster, at these times."""
    states, distribution = naive.distribution(density, target.n_points)
    states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    distribution = distribution[distribution > 0]
    matrix = distributions.sweep_matrix(target, states)
    start = tuple(target.start_labels(target.default_start).tolist())
    now = np.zeros(len(states))
    now[states.index(naive.canonical(start))] = 1.0
    costs = np.array([[naive.hamming(a, b) for b in states] for a in states], dtype=float)
    tv, w1 = [], []
    for _ in range(times):
        tv.append(0.5 * np.abs(now - distribution).sum())
        w1.append(ot.emd2(now / now.sum(), distribution / distribution.sum(), costs))
        now = now @ matrix
    return np.array(tv), np.array(w1)


def many_meeting_times(target, count, lag, seed):
    """Meeting times from replicates, which run in one kernel: much faster than `meeting_times` for tiny targets."""
    e = cp.estimate(
        target, cp.n_clusters(), replicates=count, burn_in=0, min_sweeps=0, lag=lag, coupling="transport", seed=seed
    )
    return pairs(e.meeting_times, lag)
