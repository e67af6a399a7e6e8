"""Couplings: their joint distributions, computed exactly from the compiled functions for every pair of states."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import copartition as cp
import distributions
import naive
import small
from copartition.chains.chain import chain_at
from copartition.core.steps import conditional_distribution
from copartition.couplings import check_coupling

NAIVE = {"independent": naive.independent, "common": naive.common, "maximal": naive.maximal}


def support(target, density):
    states, distribution = naive.distribution(density, target.n_points)
    return [state for state, p in zip(states, distribution, strict=True) if p > 0]


def cases_of(states, n_points, every, shifts=(0,)):
    """All pairs of states (in plain Python some), each with a point, or several, that changes from pair to pair."""
    pairs = subset_of(itertools.product(states, repeat=2), every)
    return [(x, y, (number + shift) % n_points) for number, (x, y) in enumerate(pairs) for shift in shifts]


@functools.cache
def marginal(target, state, n):
    """The distribution of the choices of point n in the order of creation, from the single-chain kernel."""
    chain = chain_at(target, np.array(state))
    total = conditional_distribution(target.model, target.hooks, chain, n)
    choices = target.model.palette or chain.n_clusters[0] + 1
    return chain.weights[:choices] / total


def mean_distance(target, joint, x, y, n, distance):
    """The mean distance after the update, given the joint distribution of the choices."""
    place = distributions.recolor if target.model.palette else distributions.move
    return sum(joint[i, j] * distance(place(x, n, i), place(y, n, j)) for i, j in zip(*np.nonzero(joint), strict=True))


def subset_of(pairs, every):
    """Every so-many-th pair where kernels run in plain Python, all of them otherwise."""
    from conftest import JIT_DISABLED

    return list(pairs)[:: every if JIT_DISABLED else 1]


@pytest.mark.plain
@pytest.mark.parametrize("name", ["scalar", "coloring", "bernoulli"])
@pytest.mark.parametrize("coupling", small.COUPLINGS)
def test_both_marginals_are_those_of_the_single_chain(name, coupling):
    """From every pair of partitions; two points of each, which change from pair to pair."""
    target, density = small.TARGETS[name]()
    cases = cases_of(support(target, density), target.n_points, 197, shifts=(0, 2))
    joints = distributions.coupled_distributions(target, small.COUPLINGS[coupling], cases)
    for (x, y, n), joint in zip(cases, joints, strict=True):
        p, q = marginal(target, x, n), marginal(target, y, n)
        assert np.abs(joint.sum(1)[: len(p)] - p).max() < 1e-12
        assert np.abs(joint.sum(0)[: len(q)] - q).max() < 1e-12
        assert abs(joint.sum() - 1.0) < 1e-12


@pytest.mark.plain
@pytest.mark.parametrize("coupling", NAIVE)
def test_label_couplings_have_the_joint_distribution_of_their_definition(coupling):
    target, density = small.scalar()
    cases = cases_of(support(target, density), target.n_points, 197, shifts=(0, 2))
    joints = distributions.coupled_distributions(target, small.COUPLINGS[coupling], cases)
    for (x, y, n), joint in zip(cases, joints, strict=True):
        p, q = marginal(target, x, n), marginal(target, y, n)
        assert np.abs(joint[: len(p), : len(q)] - NAIVE[coupling](p, q)).max() < 1e-12


@pytest.mark.plain
@pytest.mark.parametrize("name", ["scalar", "coloring"])
@pytest.mark.parametrize(
    ("coupling", "distance"), [("transport", naive.hamming), ("transport_vi", naive.variation_of_information)]
)
def test_transport_is_optimal_and_never_worse_than_the_others(name, coupling, distance):
    target, density = small.TARGETS[name]()
    place = distributions.recolor if target.model.palette else distributions.move
    cases = cases_of(support(target, density), target.n_points, 197)
    names = (coupling, "independent", "common", "maximal")
    joints = zip(
        *(distributions.coupled_distributions(target, small.COUPLINGS[other], cases) for other in names), strict=True
    )
    between = functools.cache(distance)
    for (x, y, n), distributions_of_all in zip(cases, joints, strict=True):
        p, q = marginal(target, x, n), marginal(target, y, n)
        of_x, of_y = (
            [place(state, n, k) for k in range(len(distribution))] for state, distribution in ((x, p), (y, q))
        )
        cost = np.array([[between(a, b) for b in of_y] for a in of_x], dtype=float)
        # The variation of information is optimised in units of 2^-40.
        achieved, *rivals = (np.sum(joint[: len(p), : len(q)] * cost) for joint in distributions_of_all)
        assert abs(achieved - naive.transport_cost(p, q, cost)) < 1e-11
        assert achieved <= min(rivals) + 1e-11


@pytest.mark.plain
def test_transport_reaches_the_optimum_of_a_linear_program(rng):
    target, density = small.diagonal()
    states = support(target, density)
    for _ in range(40):
        x, y = (states[rng.integers(len(states))] for _ in range(2))
        n = int(rng.integers(target.n_points))
        p, q = marginal(target, x, n), marginal(target, y, n)
        cost = np.array(
            [
                [naive.hamming(distributions.move(x, n, i), distributions.move(y, n, j)) for j in range(len(q))]
                for i in range(len(p))
            ]
        )
        rows = np.kron(np.eye(len(p)), np.ones(len(q)))
        columns = np.kron(np.ones(len(p)), np.eye(len(q)))
        best = linprog(cost.ravel(), A_eq=np.vstack([rows, columns])[:-1], b_eq=np.r_[p, q][:-1]).fun
        joint = distributions.coupled_distribution(target, cp.Transport(), x, y, n)
        assert mean_distance(target, joint, x, y, n, naive.hamming) == pytest.approx(best, abs=1e-9)


def larger_pairs(rng, count):
    """Pairs of partitions of 24 points with many clusters, close to each other and not."""
    for _ in range(count):
        x = rng.integers(0, rng.integers(1, 12), 24)
        y = np.where(rng.random(24) < rng.choice([0.05, 0.3, 1.0]), rng.integers(0, 8, 24), x)
        yield naive.canonical(x), naive.canonical(y)


@pytest.mark.plain
@pytest.mark.parametrize("metric", ["hamming", "vi"])
def test_transport_with_many_clusters_is_optimal(metric, rng):
    """Weights of every order of magnitude, and dominant cells beside cells that need the solver."""
    from conftest import JIT_DISABLED

    data = rng.normal(0, 1.5, (24, 1))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=2.0), cp.DirichletProcess(3.0))
    coupling = cp.Transport(metric=metric)
    gain = coupling.gains(24) / (1.0 if metric == "hamming" else 2.0**40)
    cases = [(x, y, int(rng.integers(24))) for x, y in larger_pairs(rng, 4 if JIT_DISABLED else 1500)]
    for (x, y, n), distribution in zip(
        cases, distributions.coupled_distributions(target, coupling, cases), strict=True
    ):
        p, q = marginal(target, x, n), marginal(target, y, n)
        joint = distribution[: len(p), : len(q)]
        assert np.abs(joint.sum(1) - p).max() < 1e-12
        assert np.abs(joint.sum(0) - q).max() < 1e-12
        a, b = naive.Labels(x), naive.Labels(y)
        a.take_out(n)
        b.take_out(n)
        shared = np.array([[len(c & d) for d in [*b.clusters, set()]] for c in [*a.clusters, set()]])
        best = -naive.transport_cost(p, q, -gain[shared])
        assert np.sum(joint * gain[shared]) == pytest.approx(best, abs=1e-10)


def test_gains_are_the_increments_of_the_metrics():
    c = np.arange(10.0)
    assert cp.Transport().gains(9).tolist() == list(range(10))  # (c + 1)^2 - c^2 = 2 c + 1, scaled and shifted
    increments = (c + 1) * np.log(c + 1) - np.where(c > 0, c * np.log(np.maximum(c, 1)), 0)
    np.testing.assert_allclose(cp.Transport(metric="vi").gains(9) / 2.0**40, increments, atol=1e-12)


def test_couplings_by_name_and_as_objects():
    assert [
        repr(check_coupling(name)) for name in ("path", "matched", "transport", "maximal", "common", "independent")
    ] == [
        "Path()",
        "Matched()",
        "Transport()",
        "Maximal()",
        "Common()",
        "Independent()",
    ]
    coupling = cp.Transport(metric="vi", nugget=0.1)
    assert check_coupling(coupling) is coupling
    assert repr(coupling) == "Transport(metric='vi', nugget=0.1)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: check_coupling("sinkhorn"), "coupling must be 'path', .* or an object such as"),
        (lambda: check_coupling(3), "coupling must be"),
        (lambda: cp.Transport(metric="euclid"), "metric must be 'hamming' or 'vi', got 'euclid'"),
        (lambda: cp.couplings.Maximal(nugget=1.5), "nugget must be a number from 0 to 1, got 1.5"),
        (lambda: cp.couplings.Common(nugget="little"), "nugget must be a number from 0 to 1, got 'little'"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
