"""Asymptotic variances of small targets from their transition matrices."""

from __future__ import annotations

from functools import cache

import numpy as np

import copartition as cp
import distributions
import naive
import small
import small_hyperparameters
from copartition.runs.differences import States

POINTS = 4  # where a hyperparameter is unknown


def functionals():
    return [cp.n_clusters(), cp.largest_clusters(1)]


def values_of(states):
    return np.array([[max(state) + 1, max(np.bincount(state)) / len(state)] for state in states])


def solved(matrix, distribution, h):
    """The solution of the Poisson equation with mean 0, and the asymptotic variance."""
    h = h - distribution @ h
    g = np.linalg.inv(np.eye(len(distribution)) - matrix + distribution[None, :]) @ h
    return g, distribution @ (2 * h * g - h * h)


@cache
def exact(name):
    """A target, its partitions, and for the number of clusters and the largest share: g, and the variance."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    return (
        target,
        states,
        *solved(distributions.sweep_matrix(target, states), distribution[distribution > 0], values_of(states)),
    )


@cache
def exact_with_number(name):
    """The same for four points, where a state is a partition and a hyperparameter on a grid; its own g comes last."""
    case = small_hyperparameters.CASES[name](small.DATA_1D[:POINTS])
    (group,) = case.target.groups
    partitions = naive.all_partitions(POINTS)
    logs = np.array([[case.log_joint(state, [value]) for value in group.values] for state in partitions])
    distribution = np.exp(logs - logs.max())
    distribution /= distribution.sum()
    count, given = len(partitions), distribution / distribution.sum(axis=1, keepdims=True)
    matrix = np.zeros((count, len(group.values), count, len(group.values)))
    for k, value in enumerate(group.values):
        sweep = np.eye(count)
        for n in range(POINTS):
            sweep = sweep @ distributions.update_matrix(case.target, partitions, n, [value])
        matrix[:, k] = sweep[:, :, None] * given  # the partition moves, then the number is drawn given it
    size = count * len(group.values)
    h = np.column_stack(
        [np.repeat(values_of(partitions), len(group.values), axis=0), np.tile(group.values, count)],
    )
    g, variance = solved(matrix.reshape(size, size), distribution.reshape(size), h)
    states = States(np.repeat(partitions, len(group.values), axis=0), np.tile(group.values, count)[:, None])
    return case.target, states, g, variance
