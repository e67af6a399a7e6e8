"""Sweeps: invariance by exact enumeration, the kernels against naive sweeps, overlap counts against recounting."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import advance_pair, check_start, start_pair
from copartition.chains.step import BoundStep
from copartition.core.clusters import SWEEPS_BETWEEN_REBUILDS
from copartition.core.random import stream
from copartition.core.steps import reset_chain
from plausible import (
    assert_overlap_counts_are_right,
    chi_square_is_plausible,
    mixture,
)

SWEEP = BoundStep()


@pytest.mark.plain
@pytest.mark.parametrize("name", small.TARGETS)
def test_target_is_invariant_under_a_sweep(name):
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    distribution = distribution[distribution > 0]
    matrix = distributions.sweep_matrix(target, states)
    assert np.abs(matrix.sum(1) - 1).max() < 1e-12
    assert np.abs(distribution @ matrix - distribution).max() < 1e-12


@pytest.mark.plain
def test_invariance_test_can_fail():
    # The conditional distribution of a slightly different model is not that of this one.
    target, _ = small.scalar()
    wrong = naive.GaussianMixture(small.DATA_1D[:, None], np.eye(1) * 0.64, np.eye(1) * 1.7**2, np.array([0.3]), 0.91)
    states, distribution = naive.distribution(wrong, 5)
    assert np.abs(distribution @ distributions.sweep_matrix(target, states) - distribution).max() > 1e-4


@pytest.mark.parametrize("name", ["scalar", "coloring"])
def test_sweep_kernel_draws_from_the_exact_transition_matrix(name):
    """Chi-square of 100,000 sweeps from one state against its row: false alarm 1e-5 each."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    matrix = distributions.sweep_matrix(target, states)
    number = {state: s for s, state in enumerate(states)}
    start = number[naive.canonical([0, 1, 0, 2, 1])]
    draws = 100_000
    counts = distributions.counted_steps(target, states[start], SWEEP, stream(3, 0), draws)[distributions.codes(states)]
    assert counts.sum() == draws
    assert chi_square_is_plausible(counts, matrix[start] * draws, 1e-5)


@pytest.mark.plain
@pytest.mark.parametrize("start", ["one_cluster", "singletons"])
def test_single_sweeps_follow_the_naive_chain_step_by_step(rng, start):
    n_points, sweeps = (8, 3) if JIT_DISABLED else (30, 60)
    target, model = mixture(rng, n_points)
    labels = target.start_labels(start)
    random = stream(11, 0)
    twin = naive.Xoshiro(random)
    partition = naive.Labels(labels.tolist())
    chain = chain_at(target, labels)
    for _ in range(sweeps):
        chain = advance_chain(target, SWEEP, chain, random, 1)
        naive.sweep(model, partition, twin)
        assert chain.labels.tolist() == partition.labels()  # labels too: clusters in order of creation


@pytest.mark.plain
@pytest.mark.parametrize("coupling", small.COUPLINGS)
@pytest.mark.parametrize("kind", ["mixture", "coloring"])
def test_overlaps_distance_and_sums_stay_right(coupling, kind, rng):
    n_points, sweeps = (8, 2) if JIT_DISABLED else (40, 40)
    if kind == "mixture":
        target, _ = mixture(rng, n_points, alpha=5.0)  # many births and deaths
        start = check_start(target, "singletons")
    else:
        edges = np.argwhere(np.triu(rng.random((n_points, n_points)) < 0.1, 1))
        target = cp.GraphColoring(edges, colors=7, n_vertices=n_points)
        start = check_start(target, "greedy")
    random = stream(2, 1)
    step = BoundStep(cp.Step(small.COUPLINGS[coupling], 0))
    pair = start_pair(target, step, start, 2, random)
    assert_overlap_counts_are_right(target, pair)
    for _ in range(sweeps):
        pair, _ = advance_pair(target, step, pair, random, 1)
        assert_overlap_counts_are_right(target, pair)


@pytest.mark.plain
def test_first_chain_of_a_pair_moves_like_a_single_chain(rng):
    """With the independent coupling x uses every other uniform number, in the order of a chain on its own."""
    target, model = mixture(rng, 8 if JIT_DISABLED else 25)
    labels = target.start_labels("singletons")
    random = stream(4, 0)
    twin = naive.Xoshiro(random)
    step = BoundStep(cp.Step(cp.couplings.Independent(), 0))
    pair = start_pair(target, step, check_start(target, labels), 1, random)
    partition = naive.Labels(labels.tolist())
    naive.sweep(model, partition, twin)

    class EveryOther:
        def uniform(self):
            value = twin.uniform()
            twin.uniform()
            return value

    pair, _ = advance_pair(target, step, pair, random, 1)
    naive.sweep(model, partition, EveryOther())
    assert pair.x.labels.tolist() == partition.labels()


@pytest.mark.plain
def test_chains_grow_in_the_middle_of_a_sweep(rng):
    """From one cluster to dozens: the arrays are replaced while a sweep is under way, and nothing changes."""
    n_points = 40
    data = np.arange(n_points) * 100.0
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1000.0), cp.DirichletProcess(1.0))
    random = stream(9, 9)
    chain = advance_chain(target, SWEEP, chain_at(target, np.zeros(n_points, dtype=np.int64)), random, 1)
    assert chain.n_clusters[0] > 16  # more than the first capacity
    roomy = chain_at(target, np.arange(n_points))
    reset_chain(target.model, target.hooks, roomy, np.zeros(n_points, dtype=np.int64))
    roomy = advance_chain(target, SWEEP, roomy, stream(9, 9), 1)
    assert chain.labels.tolist() == roomy.labels.tolist()
    step = BoundStep(cp.Step(cp.Transport(), 0))
    pair = start_pair(target, step, check_start(target, "one_cluster"), 1, random)
    pair, _ = advance_pair(target, step, pair, random, 1)
    assert_overlap_counts_are_right(target, pair)


@pytest.mark.plain
def test_sums_do_not_drift(rng):
    """A thousand sweeps of data with a large offset leave the sums right to a few units in the last place."""
    data = rng.normal(0, 1, 12) + 1e6
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1e6), cp.DirichletProcess(2.0))
    chain = chain_at(target, np.zeros(12, dtype=np.int64))
    chain = advance_chain(target, SWEEP, chain, stream(0, 0), 3 if JIT_DISABLED else 1000)
    sums = np.zeros_like(chain.sums)
    np.add.at(sums, chain.labels, target.model.points)
    np.testing.assert_allclose(chain.sums, sums, rtol=1e-13)


@pytest.mark.plain
def test_sums_are_rebuilt_at_a_fixed_rhythm(rng):
    target, _ = mixture(rng, 6)
    chain = chain_at(target, np.zeros(6, dtype=np.int64))
    chain.age[0] = SWEEPS_BETWEEN_REBUILDS - 1
    chain.sums[0] += 1e-3  # a drift, much exaggerated
    chain = advance_chain(target, SWEEP, chain, stream(0, 0), 1)
    sums = np.zeros_like(chain.sums)
    np.add.at(sums, chain.labels, target.model.points)
    np.testing.assert_allclose(chain.sums, sums, atol=1e-12)
    assert chain.age[0] == 0
