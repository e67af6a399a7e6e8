"""The transport solver against POT, on problems of every awkward kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from copartition.core.room import empty_workspace
from copartition.couplings.simplex import optimal_plan, plan_kernel


def random_problem(rng, largest=(60, 80)):
    """A problem of random size and kind: marginals and gains each smooth, tied, uniform, sparse or tiny."""
    # Sizes spread over orders of magnitude: most problems of real chains are small.
    m, n = (int(np.exp(rng.uniform(0, np.log(limit + 0.999)))) for limit in largest)
    p, q = (random_marginal(rng, size) for size in (m, n))
    kind = rng.integers(5)
    if kind == 0:
        gains = rng.normal(size=(m, n))
    elif kind == 1:
        gains = rng.integers(0, 3, (m, n)).astype(float)
    elif kind == 2:
        gains = rng.poisson(0.3, (m, n)) * rng.integers(0, 200, (m, n)).astype(float)
    elif kind == 3:
        gains = np.zeros((m, n))
    else:
        gains = rng.integers(0, 5, (m, 1)) * rng.integers(0, 5, (1, n)).astype(float)
    return p, q, gains


def random_marginal(rng, size):
    kind = rng.integers(5)
    if kind == 0:
        weights = rng.random(size) + 1e-3
    elif kind == 1:
        weights = np.ones(size)
    elif kind == 2:
        weights = rng.integers(0, 4, size).astype(float)
    elif kind == 3:
        weights = np.exp(rng.uniform(-700, 0, size))
        weights[rng.integers(size)] = 1.0
    else:
        weights = np.where(rng.random(size) < 0.5, 1e-300, rng.integers(1, 3, size))
    if not weights.sum() > 1e-290:
        weights[0] = 1.0
    return weights / weights.sum()


def check(p, q, gains):
    plan = optimal_plan(p, q, gains)
    assert np.all(plan >= 0)
    assert np.abs(plan.sum(1) - p).max() <= 1e-14
    assert np.abs(plan.sum(0) - q).max() <= 1e-14
    best = -naive.transport_cost(p, q, -gains)
    assert np.sum(plan * gains) == pytest.approx(best, rel=1e-12, abs=1e-12 * max(1.0, np.abs(gains).max()))


@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.long) for block in (1, 2, 3))])
def test_twenty_thousand_problems_against_pot(block):
    rng = np.random.default_rng(block)
    for _ in range(5_000):
        check(*random_problem(rng))


@pytest.mark.plain
def test_a_few_small_problems_against_pot(rng):
    for _ in range(60):
        check(*random_problem(rng, largest=(6, 7)))


masses = st.lists(st.sampled_from([0.0, 1e-300, 1e-17, 0.25, 0.5, 1.0, 3.0]), min_size=1, max_size=7)


@pytest.mark.plain
@given(st.data(), masses.filter(any), masses.filter(any))
def test_any_problem_of_awkward_masses_and_tied_gains(data, p, q):
    cells = st.lists(st.integers(-2, 2), min_size=len(p) * len(q), max_size=len(p) * len(q))
    gains = np.array(data.draw(cells), dtype=float).reshape(len(p), len(q))
    p, q = np.array(p), np.array(q)
    check(p / p.sum(), q / q.sum(), gains)


@pytest.mark.plain
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
def test_one_row_or_one_column_has_one_plan(shape, rng):
    p, q = (rng.random(size) for size in shape)
    plan = optimal_plan(p, q, rng.normal(size=shape))
    np.testing.assert_allclose(plan, np.outer(p / p.sum(), q / q.sum()), atol=1e-15)


@pytest.mark.plain
def test_marginals_whose_sums_differ_by_rounding_are_accepted():
    # ot.emd raises or warns here; conditional distributions computed in floating point never sum to exactly 1.
    p, q = np.full(3, 1 / 3), np.full(10, 0.1 * (1 + 1e-7))
    plan = optimal_plan(p, q, np.arange(30.0).reshape(3, 10))
    np.testing.assert_allclose(plan.sum(1), p, atol=1e-14)


def test_large_problems_stay_exact():
    # The paper's first code turned to Sinkhorn iterations from 100 clusters on: marginals off by 2e-3.
    rng = np.random.default_rng(0)
    for size in (100, 150, 300):
        p, q = (rng.dirichlet(np.ones(size)) for _ in range(2))
        check(p, q, rng.integers(0, 40, (size, size)).astype(float))


def test_nothing_makes_it_cycle():
    """Fully degenerate problems (assignment, all marginals equal), where simplex methods without a rule do cycle.

    Every pivot must raise the total gain, so the number of pivots is bounded by it: gains of 0 and 1 on an m x m
    assignment earn at most m units F of mass, and the perturbation at most m times m pivots more. In practice there
    are a few per row; the bound here is one that a cycle breaks.
    """
    rng = np.random.default_rng(1)
    for _ in range(3_000):
        m = int(rng.integers(2, 30))
        n = m if rng.random() < 0.7 else m * int(rng.integers(1, 4))
        gains = rng.integers(0, 2, (m, n)).astype(float)
        if rng.random() < 0.3:
            gains = np.add.outer(np.arange(m), -np.arange(n)).astype(float) ** 2  # Monge-like, ties on diagonals
        plan = np.zeros((m, n))
        steps = plan_kernel(empty_workspace(m, n, m * n), np.ones(m), np.ones(n), gains, 1.0, plan)
        assert steps <= m * n
        assert np.sum(plan * gains) == pytest.approx(
            -naive.transport_cost(np.full(m, 1 / m), np.full(n, 1 / n), -gains), rel=1e-11
        )


@pytest.mark.plain
def test_classical_cycling_example():
    # Degenerate at every vertex of the first plan: supplies and demands equal in pairs (after Gassner 1964).
    gains = -np.array([[3.0, 5, 5, 11], [9, 7, 9, 15], [7, 7, 11, 13], [13, 13, 13, 17]])
    check(np.full(4, 0.25), np.full(4, 0.25), gains)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [1.0], [[1.0]]), "supplies must be non-negative and not all zero"),
        (([1.0], [1.0, -1.0], [[1.0, 1.0]]), "demands must be non-negative"),
        (([1.0], [1.0, 1.0], [[1.0]]), r"gains must have shape \(1, 2\)"),
        (([1.0], [np.inf], [[1.0]]), "demands must be finite"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        optimal_plan(*arguments)
