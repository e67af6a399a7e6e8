"""Distributions of long runs, where they are known in closed form."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import copartition as cp
import naive
import small


@cp.kernels.log_predictive
def no_data(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = 0.0


def stirling_first_kind(n):
    """Unsigned Stirling numbers of the first kind for n, k = 0..n."""
    row = [1]
    for m in range(n):
        row = [(m * row[k] if k < len(row) else 0) + (row[k - 1] if k > 0 else 0) for k in range(len(row) + 1)]
    return np.array(row, dtype=float)


def assert_means_agree(sample, expected):
    """Every component within 4.9 of its own standard errors: false alarm about 1e-6 a component."""
    error = np.abs(sample.mean - expected)
    assert np.all(error <= 4.9 * sample.stderr + 1e-12), (sample.mean, expected, sample.stderr)


LENGTHS = [4_000, pytest.param(30_000, marks=pytest.mark.long)]


@pytest.mark.parametrize("sweeps", LENGTHS)
@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_number_of_clusters_under_the_prior_follows_ewens(alpha, sweeps):
    """P(K = k) = |s(n, k)| alpha^k / (alpha (alpha + 1) ... (alpha + n - 1))."""
    n = 12
    target = cp.Target(np.zeros((n, 0)), no_data, cp.DirichletProcess(alpha))
    expected = stirling_first_kind(n) * alpha ** np.arange(n + 1.0)
    expected /= expected.sum()
    # The last cell takes all that is too rare for a standard error of its own.
    last = int(np.flatnonzero(expected > 1e-3)[-1])
    expected = np.r_[expected[1:last], expected[last:].sum()]
    indicator = cp.functional(lambda labels: np.bincount([min(labels.max(), last - 1)], minlength=last), size=last)
    sample = cp.sample(target, indicator, sweeps=sweeps, burn_in=100, chains=2, seed=5)
    assert_means_agree(sample, expected)


@pytest.mark.parametrize("sweeps", LENGTHS)
@pytest.mark.parametrize("alpha", [0.3, 2.0])
def test_cluster_sizes_under_the_prior_follow_ewens(alpha, sweeps):
    """Mean number of clusters of size j: alpha / j times n! / (n - j)! over (alpha + n - j) ... (alpha + n - 1)."""
    n = 15
    target = cp.Target(np.zeros((n, 0)), no_data, cp.DirichletProcess(alpha))

    def mean_count(j):
        ratio = math.exp(
            math.lgamma(n + 1) - math.lgamma(n - j + 1) + math.lgamma(alpha + n - j) - math.lgamma(alpha + n)
        )
        return alpha / j * ratio

    expected = np.array([mean_count(j) for j in range(1, n + 1)])
    counts = cp.functional(lambda labels: np.bincount(np.bincount(labels), minlength=n + 1)[1:], size=n)
    sample = cp.sample(target, counts, sweeps=sweeps, burn_in=100, chains=2, seed=6)
    assert_means_agree(sample, expected)


GRAPHS = {
    "path": (nx.path_graph(5), 3),
    "cycle": (nx.cycle_graph(6), 4),
    "complete": (nx.complete_graph(4), 6),
    "petersen": (nx.petersen_graph(), 5),
}


@pytest.mark.parametrize("sweeps", LENGTHS)
@pytest.mark.parametrize("name", GRAPHS)
def test_frequencies_of_colourings_agree_with_the_chromatic_polynomial(name, sweeps):
    """With q colours a share ``P(G, q - 1) / P(G, q)`` of all proper colourings avoids a given colour.

    A partition into k clusters leaves ``(q - k) / q`` of its colourings without that colour, so that the share is the
    mean of (q - k) / q over partitions. The same for two colours, and so on down to none.
    """
    graph, q = GRAPHS[name]
    target = cp.GraphColoring(graph, q)
    count = [naive.count_colorings(len(graph), list(graph.edges), colors) for colors in range(q + 1)]
    missing = range(1, q)
    expected = np.array([count[q - m] / count[q] for m in missing])

    def share_without(labels):
        free = q - (labels.max() + 1)
        return [math.comb(int(free), m) / math.comb(q, m) for m in missing]

    functional = cp.functional(share_without, size=len(missing))
    sample = cp.sample(target, functional, sweeps=sweeps, burn_in=100, chains=2, seed=7)
    assert_means_agree(sample, expected)


@pytest.mark.parametrize("name", small.TARGETS)
def test_long_chains_average_to_the_exact_expectation(name):
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    pairs = np.triu_indices(target.n_points, 1)
    together = np.array([[state[a] == state[b] for a, b in zip(*pairs, strict=True)] for state in states])
    sample = cp.sample(target, cp.co_clustering(range(target.n_points)), sweeps=100_000, burn_in=50, chains=2, seed=8)
    assert_means_agree(sample, distribution @ together)


def test_this_criterion_can_fail():
    # The expectation under a prior 10 % off is told apart.
    target, _ = small.scalar()
    wrong = naive.GaussianMixture(small.DATA_1D[:, None], np.eye(1) * 0.64, np.eye(1) * 1.7**2, np.array([0.3]), 0.99)
    states, distribution = naive.distribution(wrong, 5)
    expected = distribution @ np.array([len(set(state)) for state in states])
    sample = cp.sample(target, cp.n_clusters(), sweeps=100_000, burn_in=50, chains=2, seed=8)
    with pytest.raises(AssertionError):
        assert_means_agree(sample, np.array([expected]))
