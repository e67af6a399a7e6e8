"""Components: their laws against densities written down independently, under every prior; hard numbers; densities."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from numba import types

import copartition as cp
import laws
import naive
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import Step, objection_to_moves
from copartition.core.clusters import choices, reset, take_out
from copartition.core.compiling import kernel, reference
from copartition.core.conditional import weigh
from copartition.core.random import stream
from copartition.core.starts import FROM_PRIOR, place_start
from copartition.core.steps import chain_type, law_type, log_weights, model_type
from copartition.core.types import float2, int1, int2, type_of, uint1
from copartition.functionals import bind_all, evaluate_at
from test_priors import PRIORS, joint_law
from test_split_merge import log_merge_kernel
from test_sweeps import chi_square_is_plausible

RNG = np.random.default_rng(11)
NUMBERS = RNG.normal(0, 2, (5, 24))
ANSWERS = RNG.integers(0, 2, (5, 20))
COUNTS = RNG.poisson(4, (5, 4))
WORDS = RNG.choice(["red", "green", "blue"], (5, 18)).tolist()
GRID = RNG.normal(0, 2, (3, 24))
NAN = math.nan
WITH_GAPS = np.array([[NAN, 0.3, 2.0], [1.0, 0.1, NAN], [-0.7, 0.9, NAN], [NAN, -2.0, 0.5], [0.2, 0.0, 1.5]])


def covariance(size):
    half = np.random.default_rng(size).normal(0, 1, (size, size))
    return half @ half.T + 0.5 * np.eye(size)


# --- components, each with its density -------------------------------------------------------------------------------


class Case(NamedTuple):
    """Five points, a component, the log density of a cluster of any rows, and three new rows."""

    rows: Any
    component: cp.Component
    log_cluster: Any
    grid: Any


def niw(size):
    mean, weight, degrees, scale = np.linspace(-0.5, 0.8, size), 0.3, size + 0.4, covariance(size)
    component = cp.NormalInverseWishart(mean, weight, degrees, scale)
    make = partial(naive.wishart_cluster, mean=mean, weight=weight, degrees=degrees, scale=scale)
    return Case(NUMBERS[:, :size], component, make, GRID[:, :size])


def nig():
    """Columns 0, 3 and the last ones are alike: blocks of 1, 1 and 20 columns."""
    mean = np.linspace(-1, 1, 22)
    weight, shape = np.full(22, 0.3), np.full(22, 1.7)
    weight[1], shape[2] = 2.0, 0.9
    scale = np.linspace(0.5, 3, 22)
    columns = [
        partial(naive.gamma_column, mean=m, weight=w, shape=a, scale=b)
        for m, w, a, b in zip(mean, weight, shape, scale, strict=True)
    ]
    component = cp.NormalInverseGamma(mean, weight, shape, scale)
    return Case(NUMBERS[:, :22], component, partial(naive.independent_columns, columns=columns), GRID[:, :22])


def nig_with_gaps():
    mean, weight, shape, scale = [0.2, -0.3, 0.0], [0.2, 0.7, 0.2], [1.5, 2.0, 1.5], [1.0, 0.6, 2.0]
    columns = [
        partial(naive.gamma_column, mean=m, weight=w, shape=a, scale=b)
        for m, w, a, b in zip(mean, weight, shape, scale, strict=True)
    ]
    component = cp.NormalInverseGamma(mean, weight, shape, scale)
    return Case(WITH_GAPS, component, partial(naive.independent_columns, columns=columns), GRID[:, :3])


def bernoulli():
    a, b = np.linspace(0.3, 2, 20), np.linspace(3, 0.5, 20)
    columns = [partial(naive.bernoulli_column, a=x, b=y) for x, y in zip(a, b, strict=True)]
    make = partial(naive.independent_columns, columns=columns)
    return Case(ANSWERS, cp.Bernoulli(a, b), make, ANSWERS[:3, ::-1])


def bernoulli_with_gaps():
    rows = [[1, 0, None, True], [0, 1, 1, False], [None, 1, None, False], [1, None, 0, True], [1, 0, 0, False]]
    columns = [partial(naive.bernoulli_column, a=0.6, b=1.3)] * 4
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Bernoulli(0.6, 1.3), make, [[0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 0, 1]])


def categorical():
    each = np.linspace(0.2, 3, 18)
    levels = [len({row[j] for row in WORDS}) for j in range(18)]
    columns = [
        partial(naive.categorical_column, concentration=c, categories=n) for c, n in zip(each, levels, strict=True)
    ]
    make = partial(naive.independent_columns, columns=columns)
    return Case(WORDS, cp.Categorical(each), make, [WORDS[2], WORDS[0], WORDS[4]])


def categorical_with_gaps():
    rows = [["a", 3, True], ["b", 7, None], [None, 3, False], ["a", None, False], ["c", 9, True]]
    columns = [partial(naive.categorical_column, concentration=c, categories=n) for c, n in ((0.5, 3), (2, 3), (1, 2))]
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Categorical([0.5, 2.0, 1.0]), make, [["b", 9, False], ["a", 3, True], ["c", 7, True]])


def poisson():
    """Columns 0 and 2 are alike. A new count is larger than all that were seen."""
    shape, rate = [1.5, 0.4, 1.5, 1.5], [0.3, 0.3, 0.3, 2.0]
    columns = [partial(naive.poisson_column, shape=a, rate=b) for a, b in zip(shape, rate, strict=True)]
    grid = [[0, 1, 2, 3], [4, 1000, 6, 0], [900, 3, 2, 1]]
    return Case(COUNTS, cp.Poisson(shape, rate), partial(naive.independent_columns, columns=columns), grid)


def poisson_with_gaps():
    rows = [[3, NAN, 0], [4, 1, 7], [NAN, 5, 2], [0, NAN, 1], [12, 0, 3]]
    columns = [partial(naive.poisson_column, shape=1.2, rate=0.7)] * 3
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Poisson(1.2, 0.7), make, [[0, 0, 0], [3, 2, 90], [5, 1, 1]])


def known_with_gaps():
    noise, spread, mean = [0.7, 1.2, 0.9], [2.0, 0.8, 1.5], [0.1, -0.4, 0.6]
    columns = [
        partial(naive.known_column, noise_sd=a, mean_sd=b, mean=m) for a, b, m in zip(noise, spread, mean, strict=True)
    ]
    component = cp.Gaussian(noise_sd=noise, mean_sd=spread, mean=mean)
    return Case(WITH_GAPS, component, partial(naive.independent_columns, columns=columns), GRID[:, :3])


def known_wide():
    """More columns than are multiplied at a time, cells missing in some."""
    rows = np.hstack([NUMBERS, NUMBERS[:, :12] + 0.5])
    rows[1, 3] = rows[4, 33] = NAN
    columns = [partial(naive.known_column, noise_sd=0.9, mean_sd=1.1, mean=0.2)] * 36
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Gaussian(0.9, 1.1, 0.2), make, np.hstack([GRID, GRID[:, :12]]))


def mixed():
    """All kinds in one table, cells missing in some, two blocks of unknown covariances; one column is not used."""
    noise, spread = covariance(2), 2.0 * covariance(2) + np.eye(2)
    first, second = niw(2), niw(1)
    component = cp.Columns(
        [
            ([0, 1], first.component),
            (2, cp.NormalInverseGamma(0.1, 0.4, 1.1, 0.8)),
            ([7, 6], cp.Gaussian(noise_cov=noise, mean_cov=spread, mean=[0.3, -0.2])),
            (3, cp.Categorical(0.7)),
            ([4], cp.Bernoulli(0.4, 0.9)),
            (8, second.component),
            (5, cp.Poisson(1.1, 0.4)),
            (9, cp.NormalInverseGamma(0.1, 0.4, 1.1, 0.8)),
            (11, cp.Gaussian(0.8, 1.9, 0.4)),
        ]
    )
    numbers = NUMBERS.tolist()
    gaps = [None, 0.3, -1.2, None, 0.8]
    words, answers, counts = ["x", "y", "x", None, "z"], [True, None, False, True, True], [3, 0, 1, None, 9]
    rows = [
        [
            *numbers[n][:2],
            gaps[n],
            words[n],
            answers[n],
            counts[n],
            *numbers[n][2:5],
            gaps[n - 1],
            "no use",
            gaps[n - 2],
        ]
        for n in range(5)
    ]
    return Case(
        rows,
        component,
        partial(mixed_cluster, noise=noise, spread=spread, niws=(first, second)),
        [
            [0.3, -0.2, 0.5, "y", False, 2, 1.0, 0.1, -0.6, 0.4, "no use", 0.2],
            [3.1, 0.7, -0.5, "z", True, 0, 0.1, 2.1, 1.6, 0.4, "no use", 0.9],
            [0.3, -1.2, 0.9, "x", True, 30, -1.0, 0.5, 0.6, -1.4, "no use", -0.3],
        ],
    )


def mixed_cluster(rows, noise, spread, niws):
    def numbers(*columns):
        return np.array([[row[j] for j in columns] for row in rows], dtype=float)

    gamma = partial(naive.gamma_column, mean=0.1, weight=0.4, shape=1.1, scale=0.8)
    columns = {
        2: gamma,
        3: partial(naive.categorical_column, concentration=0.7, categories=3),
        4: partial(naive.bernoulli_column, a=0.4, b=0.9),
        5: partial(naive.poisson_column, shape=1.1, rate=0.4),
        9: gamma,
        11: partial(naive.known_column, noise_sd=0.8, mean_sd=1.9, mean=0.4),
    }
    return naive.independent_parts(
        niws[0].log_cluster(numbers(0, 1)),
        niws[1].log_cluster(numbers(8)),
        naive.GaussianMixture(numbers(7, 6), noise, spread, np.array([0.3, -0.2]), 1.0).log_cluster,
        naive.independent_columns([[row[j] for j in columns] for row in rows], list(columns.values())),
    )


CASES = {
    "niw_1": partial(niw, 1),
    "niw_2": partial(niw, 2),
    "niw_3": partial(niw, 3),
    "niw_10": partial(niw, 10),
    "niw_21": partial(niw, 21),
    **{f.__name__: f for f in (nig, nig_with_gaps, bernoulli, bernoulli_with_gaps, categorical, categorical_with_gaps)},
    **{f.__name__: f for f in (poisson, poisson_with_gaps, known_with_gaps, known_wide, mixed)},
}
ALL_PRIORS = ["dp", "dp_gamma", "py", "py_gamma", "mfm", "mfm_geometric", "finite"]
STATES = naive.all_partitions(5)


@cache
def prior_law(name, n):
    return joint_law(PRIORS[name][1], n)


@cache
def case_of(name):
    case = CASES[name]()
    return case, cache(case.log_cluster(case.rows))


def log_densities(name, prior):
    """Log densities of all partitions of five points."""
    _, log_cluster = case_of(name)
    law = prior_law(prior, 5)
    clusters = {state: sum(log_cluster(tuple(c)) for c in naive.clusters(state)) for state in STATES}
    return {state: math.log(law[state]) + clusters[state] if law[state] > 0 else -math.inf for state in STATES}


# --- laws ------------------------------------------------------------------------------------------------------------


@kernel(types.void(model_type, law_type, chain_type, int2, float2))
def conditional_laws(model, law, chain, tasks, out):
    """Write the conditional law of a point for each row of tasks: the point, then the labels of all."""
    m, functions, c = reference(model), reference(law), reference(chain)
    for row in range(len(tasks)):
        reset(m, functions, c, tasks[row, 1:])
        take_out(m, c, tasks[row, 0])
        n_choices = choices(m, c)
        total = weigh(m, functions, c, n_choices, tasks[row, 0])
        for k in range(n_choices):
            out[row, k] = chain.weights[k] / total


def arranged(state, n):
    """Labels by which the clusters of the other points come in the order of their first points."""
    order = [*[m for m in range(len(state)) if m != n], n]
    labels = naive.canonical([state[m] for m in order])
    return [labels[order.index(m)] for m in range(len(state))]


def tasks_of(logs):
    """All partitions and points that are possible, and the partitions that the update may lead to."""
    every = [(state, n, naive.placements(state, n)) for state in STATES for n in range(5)]
    return [task for task in every if max(logs[placed] for placed in task[2]) > -math.inf][:: 11 if JIT_DISABLED else 1]


@pytest.mark.parametrize("prior", ALL_PRIORS)
@pytest.mark.parametrize("name", CASES)
def test_conditional_laws_of_every_component_under_every_prior(name, prior):
    """For all partitions of five points and every point, which is alone or with others at first."""
    case, _ = case_of(name)
    target = cp.Mixture(case.rows, case.component, PRIORS[prior][0])
    logs = log_densities(name, prior)
    tasks = tasks_of(logs)
    found = np.zeros((len(tasks), 6))
    rows = np.array([[n, *arranged(state, n)] for state, n, _ in tasks])
    conditional_laws(target.model, target.law, chain_at(target, np.zeros(5, dtype=np.int64)), rows, found)
    for (state, n, placed), law in zip(tasks, found, strict=True):
        after = np.array([logs[one] for one in placed])
        expected = np.exp(after - after.max())
        np.testing.assert_allclose(law[: len(placed)], expected / expected.sum(), rtol=2e-11, atol=1e-17)
        assert not law[len(placed) :].any()
    state, n, placed = tasks[len(tasks) // 2]
    np.testing.assert_allclose(cp.conditional(target, state, n), found[len(tasks) // 2, : len(placed)], rtol=1e-14)
