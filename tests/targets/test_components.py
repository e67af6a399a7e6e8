"""Components: their distributions against densities written down independently, under every prior; hard numbers.

Densities.
"""

from __future__ import annotations

import math
import pickle
from functools import cache, partial
from itertools import combinations

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
from component_cases import (
    CASES,
    HARD,
    NAN,
    SDS,
    case_of,
    covariance,
    exact_gamma,
    exact_wishart,
    hard_data,
)
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at
from copartition.chains.start import check_start
from copartition.chains.step import objection_to_moves
from copartition.core.clusters import choices, put_in, reset, take_out, weigh
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.starts import begin_drawn, begin_signature
from copartition.core.state import Chain, Hooks, Model
from copartition.core.steps import log_weights
from copartition.core.types import DONE, Function, float2, int2, int64, uint1, void
from copartition.functionals.base import bind_all, evaluate_at
from densities import PRIORS, joint_distribution, log_merge_kernel
from plausible import chi_square_is_plausible

# --- components, each with its density -------------------------------------------------------------------------------


ALL_PRIORS = ["dp", "dp_gamma", "py", "py_gamma", "mfm", "mfm_geometric", "finite"]
STATES = naive.all_partitions(5)


@cache
def prior_distribution(name, n):
    return joint_distribution(PRIORS[name][1], n)


def log_densities(name, prior):
    """Log densities of all partitions of five points."""
    _, log_cluster = case_of(name)
    distribution = prior_distribution(prior, 5)
    clusters = {state: sum(log_cluster(tuple(c)) for c in naive.clusters(state)) for state in STATES}
    return {
        state: math.log(distribution[state]) + clusters[state] if distribution[state] > 0 else -math.inf
        for state in STATES
    }


# --- distributions ---------------------------------------------------------------------------------------------------


@kernel(void(Model, Hooks, Chain, int2, float2))
def conditional_distributions(model, hooks, chain, tasks, out):
    """Write the conditional distribution of a point for each row of tasks: the point, then the labels of all."""
    m, functions, c = model, hooks, chain
    for row in range(len(tasks)):
        reset(m, functions, c, tasks[row][1:])
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


@pytest.mark.plain
@pytest.mark.parametrize("prior", ALL_PRIORS)
@pytest.mark.parametrize("name", CASES)
def test_conditional_distributions_of_every_component_under_every_prior(name, prior):
    """For all partitions of five points and every point, which is alone or with others at first."""
    case, _ = case_of(name)
    target = cp.Mixture(case.rows, case.component, PRIORS[prior][0])
    logs = log_densities(name, prior)
    tasks = tasks_of(logs)
    found = np.zeros((len(tasks), 6))
    rows = np.array([[n, *arranged(state, n)] for state, n, _ in tasks])
    conditional_distributions(target.model, target.hooks, chain_at(target, np.zeros(5, dtype=np.int64)), rows, found)
    for (_, _, placed), distribution in zip(tasks, found, strict=True):
        after = np.array([logs[one] for one in placed])
        expected = np.exp(after - after.max())
        np.testing.assert_allclose(distribution[: len(placed)], expected / expected.sum(), rtol=2e-11, atol=1e-17)
        assert not distribution[len(placed) :].any()
    state, n, placed = tasks[len(tasks) // 2]
    np.testing.assert_allclose(
        cp.kernels.conditional(target, state, n), found[len(tasks) // 2, : len(placed)], rtol=1e-14
    )


def all_rows(name):
    """The five points and the three new ones."""
    case, _ = case_of(name)
    return [*list(case.rows), *list(case.grid)]


@pytest.mark.plain
@pytest.mark.parametrize("name", CASES)
def test_merges_have_the_ratio_of_densities_and_moves_are_possible(name, rng):
    """Pairs of clusters of random partitions of eight points."""
    rows = all_rows(name)
    case, _ = case_of(name)
    target = cp.Mixture(rows, case.component, cp.DirichletProcess(1.0))
    log_cluster = cache(case.log_cluster(np.array(rows) if isinstance(case.rows, np.ndarray) else rows))
    for _ in range(2 if JIT_DISABLED else 15):
        state = naive.canonical(rng.integers(0, 4, 8))
        chain = chain_at(target, np.array(state))
        for a, b in combinations(naive.clusters(state), 2):
            exact = log_cluster(tuple(sorted(a + b))) - log_cluster(tuple(a)) - log_cluster(tuple(b))
            found = log_merge_kernel(target.model, target.hooks, chain, state[a[0]], state[b[0]])
            assert found == pytest.approx(exact, abs=1e-9, rel=1e-12)
    assert objection_to_moves(target) == ""


@pytest.mark.parametrize("name", ["mixed", "nig_with_gaps"])
def test_functions_made_for_one_table_say_the_same(monkeypatch, name):
    """Where there are many points a function is compiled for the table; here for five."""
    case, _ = case_of(name)
    usual = cp.Mixture(case.rows, case.component, cp.DirichletProcess(0.7))
    monkeypatch.setattr("copartition.targets.column_groups.MANY_POINTS", 1)
    own = cp.Mixture(case.rows, case.component, cp.DirichletProcess(0.7))
    assert own.hooks.log_predictive is not usual.hooks.log_predictive
    for state in STATES[::3]:
        for n in range(5):
            np.testing.assert_allclose(
                cp.kernels.conditional(own, state, n), cp.kernels.conditional(usual, state, n), rtol=1e-12
            )


# --- hard numbers ----------------------------------------------------------------------------------------------------


@kernel(void(Model, Hooks, Chain, int2, float2))
def visit(model, hooks, chain, visits, out):
    """Take points out one after another and put each into a given cluster; write what is said of it in between."""
    m, functions, c = model, hooks, chain
    for row in range(len(visits)):
        n = visits[row, 0]
        take_out(m, c, n)
        n_choices = choices(m, c)
        hooks.log_predictive(m, c, n_choices, n)
        for k in range(n_choices):
            out[row, k] = chain.weights[k]
        put_in(m, functions, c, n, visits[row, 1])


def assert_visits_are_right(target, log_cluster, rng, error, often=(), relative=False):
    """Random moves of points, those of `often` every other time: log weights against the density of the members.

    With missing cells it is the weight relative to that of a new cluster that counts.
    """
    count, n_visits = target.n_points, 12 if JIT_DISABLED else 150
    start = np.zeros(count, dtype=np.int64)
    partition = naive.Labels(start)
    log_cluster = cache(log_cluster)

    def log_density(members):
        return log_cluster(tuple(sorted(members))) if members else 0.0

    visits, expected = [], []
    for visit_number in range(n_visits):
        n = int(rng.choice(often)) if len(often) and visit_number % 2 else int(rng.integers(count))
        partition.take_out(n)
        clusters = [*partition.clusters, set()]
        expected.append([log_density({*members, n}) - log_density(members) for members in clusters])
        visits.append((n, int(rng.integers(min(len(clusters), 4)))))
        partition.put_in(*visits[-1])
    found = np.zeros((n_visits, count + 1))
    visit(target.model, target.hooks, chain_at(target, np.array(start)), np.array(visits), found)
    for row, exact in zip(found, expected, strict=True):
        constant = exact[-1] - row[len(exact) - 1] if relative else target.log_constant
        np.testing.assert_allclose(row[: len(exact)] + constant, exact, rtol=0.0, atol=error)


@pytest.mark.plain
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("twice", [False, True])
def test_unknown_covariances_of_hard_data(kind, twice, rng):
    """Outliers 1e5 prior standard deviations away enter and leave.

    Alone, or as one of two column groups of `Columns`.
    """
    data = hard_data(kind, rng)
    half = np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.3, 0.8, 1.0]]) * SDS[:, None]
    mean, weight, degrees, scale = np.zeros(3), 0.125, 4.5, half @ half.T
    component = cp.NormalInverseWishart(mean, weight, degrees, scale)
    log_cluster = exact_wishart(data, mean, weight, degrees, scale)
    if twice:
        other = cp.NormalInverseWishart(mean[:2], weight, degrees, scale[:2, :2])
        log_cluster = naive.independent_parts(
            log_cluster, exact_wishart(data[::-1, :2], mean[:2], weight, degrees, scale[:2, :2])
        )
        data, component = np.hstack([data, data[::-1, :2]]), cp.Columns([([0, 1, 2], component), ([3, 4], other)])
    target = cp.Mixture(data, component, cp.DirichletProcess(1.0))
    often = [3, 7] if kind.startswith("outliers") else []
    assert_visits_are_right(target, log_cluster, rng, 1e-7, often)


@pytest.mark.plain
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("gaps", [False, True])
def test_unknown_variances_of_hard_data(kind, gaps, rng):
    """The same, column by column. A square of 1e10 that is added and taken away leaves an error of some 1e-6."""
    data = hard_data(kind, rng)
    if gaps:
        data[[0, 5, 5], [1, 0, 2]] = NAN
    mean, weight, shape, scale = np.zeros(3), 0.125, 1.5, 0.5 * SDS**2
    target = cp.Mixture(data, cp.NormalInverseGamma(mean, weight, shape, scale), cp.DirichletProcess(1.0))
    often = [3, 7] if kind.startswith("outliers") else []
    log_cluster = exact_gamma(data, mean, weight, shape, scale)
    assert_visits_are_right(target, log_cluster, rng, 1e-4 if often else 1e-9, often, relative=gaps)


@pytest.mark.plain
def test_fifty_columns_and_fewer_points(rng):
    data, scale = rng.normal(0, 1, (12, 50)), covariance(50)
    data[5] = data[6]
    for degrees in (50.0, 49.1):
        component = cp.NormalInverseWishart(0.2, 0.3, degrees, scale)
        target = cp.Mixture(data, component, cp.DirichletProcess(1.0))
        log_cluster = naive.wishart_cluster(data, np.full(50, 0.2), 0.3, degrees, scale)
        assert_visits_are_right(target, log_cluster, rng, 1e-8)
    columns = [partial(naive.gamma_column, mean=0.2, weight=0.3, shape=1.5, scale=2.0)] * 50
    target = cp.Mixture(data, cp.NormalInverseGamma(0.2, 0.3, 1.5, 2.0), cp.DirichletProcess(1.0))
    assert_visits_are_right(target, naive.independent_columns(data, columns), rng, 1e-9)


@pytest.mark.plain
def test_products_over_many_columns_do_not_overflow(rng):
    """Sixteen factors of 1e22 each are more than a number of the machine holds."""
    data, far = rng.normal(0, 1, (6, 20)), rng.normal(0, 1, (1, 20)) * 1e11
    columns = [partial(naive.gamma_column, mean=0.0, weight=0.3, shape=1.5, scale=0.5)] * 20
    log_cluster = naive.independent_columns(np.vstack([data, far]), columns)
    target = cp.Mixture(data, cp.NormalInverseGamma(0.0, 0.3, 1.5, 0.5), cp.DirichletProcess(1.0)).with_points(far)
    chain = chain_at(target, np.array([0, 0, 0, 1, 1, 1]))
    log_weights(target.model, target.hooks, chain, 3, 6)
    for k, members in enumerate(([0, 1, 2], [3, 4, 5], [])):
        exact = log_cluster([*members, 6]) - (log_cluster(members) if members else 0.0)
        assert chain.weights[k] + target.log_constant == pytest.approx(exact, rel=1e-12)


@pytest.mark.plain
def test_products_over_many_known_columns_do_not_overflow(rng):
    """A wide prior for the means: each of 32 factors is 1e12, and a new cluster is likelier than one far away."""
    data = rng.normal(0, 1, (4, 40))
    data[2:] += 1e4
    complete = cp.Mixture(data, cp.Gaussian(1.0, 1e6), cp.DirichletProcess(1.0))
    assert cp.kernels.conditional(complete, [0, 0, 0, 0], 2).tolist() == [0.0, 1.0]
    data[0, :5] = data[0, 7:] = data[1, 5] = NAN  # a cluster that is known by two cells leaves all else open
    columns = [partial(naive.known_column, noise_sd=1.0, mean_sd=1e6, mean=0.0)] * 40
    log_cluster = naive.independent_columns(data, columns)
    target = cp.Mixture(data, cp.Gaussian(1.0, 1e6), cp.DirichletProcess(1.0))
    chain = chain_at(target, np.array([0, -1, 1, 1]))
    log_weights(target.model, target.hooks, chain, 3, 1)
    near, alone = log_cluster([0, 1]) - log_cluster([0]), log_cluster([1])
    assert chain.weights[0] - chain.weights[2] == pytest.approx(near - alone, abs=1e-3)  # the twin inverts a matrix
    log_weights(target.model, target.hooks, chain, 3, 2)
    alone = log_cluster([2])
    assert chain.weights[2] + target.log_constant == pytest.approx(alone, rel=1e-12)
    part = cp.Mixture(
        np.nan_to_num(data[1:]), cp.Columns([(range(40), cp.Gaussian(1.0, 1e6))]), cp.DirichletProcess(1.0)
    )
    chain = chain_at(part, np.array([0, -1, 0]))
    log_weights(part.model, part.hooks, chain, 2, 1)
    assert chain.weights[1] + part.log_constant == pytest.approx(alone, rel=1e-12)
    assert cp.kernels.conditional(target, [0, 0, 0, 0], 2).tolist() == [0.0, 1.0]


@pytest.mark.plain
@pytest.mark.parametrize("concentration", [1e-60, 1e25])
@pytest.mark.parametrize("gaps", [False, True])
def test_products_over_many_categories_stay_in_range(concentration, gaps, rng):
    """Probabilities are those of a cluster that is all alike, or of one that takes no notice of its points."""
    rows = rng.integers(0, 2, (5, 20)).astype(object)
    rows[1] = rows[0]
    if gaps:
        rows[2, :18] = rows[1, 18:] = rows[4, 3] = None
    counts = [len({cell for cell in column if cell is not None}) for column in rows.T]
    of_one = partial(naive.categorical_column, concentration=concentration)
    log_cluster = naive.independent_columns(rows.tolist(), [partial(of_one, categories=n) for n in counts])
    target = cp.Mixture(rows, cp.Categorical(concentration), cp.DirichletProcess(1.0))
    if concentration < 1:
        assert_visits_are_right(target, log_cluster, rng, 1e-8)
    else:  # where the twin has no digits left
        distribution, prior = cp.kernels.conditional(target, [0, 0, 1, 0, 2], 0), np.array([2, 1, 1, 1]) / 5
        np.testing.assert_allclose(distribution, prior, rtol=1e-9)


@pytest.mark.plain
def test_counts_beyond_the_table_of_logarithms(rng):
    """Sums of counts of more than a million: log Gamma is computed, not looked up."""
    data = np.array([[5, 900_000], [3, 800_000], [2, 700_001], [0, 3], [7, 1_500_000]])
    columns = [partial(naive.poisson_column, shape=1.5, rate=0.5)] * 2
    target = cp.Mixture(data, cp.Poisson(1.5, 0.5), cp.DirichletProcess(1.0))
    assert_visits_are_right(target, naive.independent_columns(data, columns), rng, 1e-6)


COMPONENTS_OF_ONE_COLUMN = [
    (
        cp.NormalInverseWishart(0.0, 0.5, 2.0, [[1.0]]),
        partial(naive.gamma_column, mean=0, weight=0.5, shape=1, scale=0.5),
    ),
    (cp.NormalInverseGamma(0.0, 0.5, 1.0, 0.5), partial(naive.gamma_column, mean=0, weight=0.5, shape=1, scale=0.5)),
    (cp.Bernoulli(0.7, 2.0), partial(naive.bernoulli_column, a=0.7, b=2.0)),
    (cp.Categorical(0.7), partial(naive.categorical_column, concentration=0.7, categories=1)),
    (cp.Poisson(0.7, 2.0), partial(naive.poisson_column, shape=0.7, rate=2.0)),
    (cp.Gaussian(0.7, 2.0), partial(naive.known_column, noise_sd=0.7, mean_sd=2.0, mean=0.0)),
]


@pytest.mark.plain
@pytest.mark.parametrize(("component", "column"), COMPONENTS_OF_ONE_COLUMN)
def test_one_point_and_points_that_are_all_the_same(component, column):
    one = cp.Mixture([1], component)
    assert cp.kernels.conditional(one, [0], 0).tolist() == [1.0]
    assert cp.sample(one, cp.n_clusters(), sweeps=3, burn_in=0, chains=1, split_merge=1).draws.max() == 1.0
    density = naive.Mixture(naive.independent_columns([[1]] * 4, [column]), partial(naive.process, alpha=0.8))
    same = cp.Mixture([1] * 4, component, cp.DirichletProcess(0.8))
    for state in naive.all_partitions(4):
        for n in range(4):
            expected = naive.conditional(density, state, n)
            np.testing.assert_allclose(cp.kernels.conditional(same, state, n), expected, rtol=1e-11)


# --- defaults --------------------------------------------------------------------------------------------------------


def test_what_is_left_out_is_set_from_the_data(rng):
    data = rng.normal(0, 1, (30, 3)) @ covariance(3) + 5.0
    niw = cp.Mixture(data, cp.NormalInverseWishart()).component
    np.testing.assert_allclose(niw.mean, data.mean(axis=0))
    np.testing.assert_allclose(niw.scale, np.cov(data.T))
    assert (niw.mean_weight, niw.degrees_of_freedom) == (0.01, 5.0)
    data[[0, 3, 4], [1, 1, 2]] = NAN
    nig = cp.Mixture(data, cp.NormalInverseGamma()).component
    np.testing.assert_allclose(nig.mean, np.nanmean(data, axis=0))
    np.testing.assert_allclose(nig.scale, 0.5 * np.nanvar(data, axis=0, ddof=1))
    assert nig.mean_weight.tolist() == [0.01] * 3
    assert nig.shape.tolist() == [1.5] * 3
    # What is given stays, and the component that was handed over does not change.
    given = cp.NormalInverseWishart(mean=1.0, scale=[1.0, 2.0, 3.0])
    resolved = cp.Mixture(data[5:], given).component
    assert resolved.mean.tolist() == [1.0] * 3
    assert resolved.scale.tolist() == np.diag([1.0, 2.0, 3.0]).tolist()
    assert given.mean_weight is None
    assert given.degrees_of_freedom is None
    both = cp.Mixture(data[5:], cp.Columns([([2, 0], cp.NormalInverseWishart()), (1, cp.NormalInverseGamma())]))
    (names, first), (_, second) = both.component.parts
    assert names == ["2", "0"]
    np.testing.assert_allclose(first.scale, np.cov(data[5:, [2, 0]].T))
    np.testing.assert_allclose(second.scale, 0.5 * data[5:, 1].var(ddof=1))


@pytest.mark.plain
def test_one_column_of_unknown_covariance_is_one_of_unknown_variance(rng):
    data = rng.normal(3, 2, 7)
    of_both = [cp.Mixture(data, component) for component in (cp.NormalInverseWishart(), cp.NormalInverseGamma())]
    for state in ([0, 0, 1, 1, 1, 2, 0], [0] * 7, list(range(7))):
        for n in range(7):
            np.testing.assert_allclose(*[cp.kernels.conditional(target, state, n) for target in of_both], rtol=1e-11)


@pytest.mark.plain
def test_a_prior_that_is_left_out_learns_its_concentration():
    assert repr(cp.DirichletProcess()) == "DirichletProcess(alpha=Gamma(2, 4))"
    data = [0.0, 0.5, 3.0, 3.5]
    left_out = cp.Mixture(data, cp.NormalInverseGamma())
    given = cp.Mixture(data, cp.NormalInverseGamma(), cp.DirichletProcess(cp.Gamma(2, 4)))
    known = cp.Mixture(data, cp.NormalInverseGamma(), cp.DirichletProcess(0.5))
    assert repr(left_out.prior) == "DirichletProcess(alpha=Gamma(2, 4))"
    distribution = cp.kernels.conditional(left_out, [0, 0, 1, 1], 0)
    assert np.array_equal(distribution, cp.kernels.conditional(given, [0, 0, 1, 1], 0))
    assert not np.allclose(distribution, cp.kernels.conditional(known, [0, 0, 1, 1], 0), rtol=1e-3)


# --- densities of the next point -------------------------------------------------------------------------------------


def density_at(target, grid, state):
    bound, functionals = bind_all(target, [cp.predictive_density(grid)])
    return evaluate_at(bound.model, bound.hooks, functionals, chain_at(bound, np.array(state)))


@pytest.mark.plain
@pytest.mark.parametrize("prior", ["dp_gamma", "py", "mfm_geometric", "finite"])
@pytest.mark.parametrize("name", CASES)
def test_density_of_the_next_point(name, prior):
    """A sixth point joins each cluster by the prior of six points, with the ratio of the densities of its members."""
    case, _ = case_of(name)
    target = cp.Mixture(case.rows, case.component, PRIORS[prior][0])
    rows = all_rows(name)
    log_cluster = cache(case.log_cluster(np.array(rows) if isinstance(case.rows, np.ndarray) else rows))
    distribution = prior_distribution(prior, 6)
    for state in STATES[3::23]:
        if distribution[(*state, 0)] == 0.0:
            continue
        clusters = [*naive.clusters(state), []]
        weights = np.array([distribution[(*state, k)] for k in range(len(clusters))])
        for g, found in enumerate(density_at(target, np.array(case.grid, dtype=object), state)):
            logs = [log_cluster((*c, 5 + g)) - (log_cluster(tuple(c)) if c else 0.0) for c in clusters]
            assert found == pytest.approx(weights @ np.exp(logs) / weights.sum(), rel=1e-9)


@pytest.mark.plain
def test_densities_and_probabilities_sum_to_one():
    u = np.linspace(-14, 14, 300)
    step = u[1] - u[0]
    for component in (cp.NormalInverseWishart(0.2, 0.4, 2.3, [[1.5]]), cp.NormalInverseGamma(0.2, 0.4, 1.1, 0.8)):
        target = cp.Mixture([0.1, 0.4, 7.0], component, cp.DirichletProcess())
        total = density_at(target, np.sinh(u), [0, 0, 1]) @ np.cosh(u) * step
        assert total == pytest.approx(1.0, abs=1e-9)
    counts = cp.Mixture([3, 0, 7], cp.Poisson(1.5, 0.5), cp.MixtureOfFiniteMixtures())
    assert density_at(counts, np.arange(150), [0, 1, 0]).sum() == pytest.approx(1.0, abs=1e-12)
    words = cp.Mixture([["a", True], ["b", True], [None, False]], cp.Categorical(0.4))
    grid = [[word, answer] for word in "ab" for answer in (True, False)]
    assert density_at(words, np.array(grid, dtype=object), [0, 1, 1]).sum() == pytest.approx(1.0, abs=1e-13)


@pytest.mark.plain
def test_grids_may_be_lists_and_data_frames_as_data_may():
    """Lists of numbers and text stay what they are, and columns of a data frame go by their names."""
    pd = pytest.importorskip("pandas")
    rows = [[1.5, "a", True], [0.5, "b", False], [2.5, "a", False]]
    component = cp.Columns([(0, cp.NormalInverseGamma(0.0, 1.0, 1.0, 1.0)), ([1, 2], cp.Categorical())])
    frame = pd.DataFrame(rows, columns=["x", "y", "z"])
    target = cp.Mixture(rows, component)
    exact = density_at(target, np.array(rows, dtype=object), [0, 1, 0])
    assert np.array_equal(density_at(target, rows, [0, 1, 0]), exact)
    named = cp.Mixture(frame, component)
    assert np.array_equal(density_at(named, frame, [0, 1, 0]), exact)
    assert np.array_equal(density_at(named, frame[["z", "x", "y"]], [0, 1, 0]), exact)


# --- draws from the prior, other processes ---------------------------------------------------------------------------


@kernel(int64(Function(begin_signature), Model, Hooks, Chain, uint1, distributions.Trips, int64))
def draw_starts(begin, model, hooks, chain, random, trips, draws):
    """Count the partitions of starts that are drawn from the prior; return how many were."""
    done = 0
    for _ in range(draws):
        done += begin(model, hooks, chain, random, trips.start, trips.hyperparameters[: len(chain.labels)]) == DONE
        distributions.count_trip(chain, trips)
    return done


@pytest.mark.parametrize("prior", ["dp", "dp_gamma", "py_negative", "py_gamma", "mfm", "mfm_geometric", "finite"])
def test_starts_from_the_prior_have_its_distribution(prior):
    """200,000 draws of partitions of four points, with data that speak against most: false alarm 1e-5 each."""
    component = cp.NormalInverseWishart(0.0, 1.0, 3.0, [[0.01]])
    target = cp.Mixture([0.0, 0.1, 50.0, 90.0], component, PRIORS[prior][0])
    trips = distributions.trips_from(check_start(target, "prior").labels)
    chain = chain_at(target, np.zeros(4, dtype=np.int64))
    draws = 200_000
    assert draw_starts(begin_drawn, target.model, target.hooks, chain, stream(6, 1), trips, draws) == draws
    distribution = prior_distribution(prior, 4)
    counts = trips.counts[distributions.codes(list(distribution))]
    assert counts.sum() == draws
    assert chi_square_is_plausible(counts, np.array(list(distribution.values())) * draws, 1e-5)


class ByPoints:
    """A prior whose weight of a second cluster depends on the number of points, which it does not explain."""

    def __init__(self, depends):
        self.depends = depends

    def log_size(self, n_points):
        return np.log(np.arange(n_points + 1.0) + 1.0)

    def log_new(self, n_points):
        return np.log([n_points, n_points if self.depends else 3.0, *[2.0] * (n_points - 1)])


def test_starts_are_drawn_from_priors_that_can_be_only():
    of_both = [cp.Mixture([0.0, 1.0, 3.0], cp.Gaussian(1.0, 2.0), ByPoints(depends)) for depends in (False, True)]
    assert check_start(of_both[0], "prior").is_random
    with pytest.raises(
        ValueError, match=r"init 'prior' needs a method mixing\(\) of ByPoints, whose weights depend on"
    ):
        check_start(of_both[1], "prior")


def test_tables_of_n_points_are_no_distribution_of_the_next_one():
    """The mistake that the two tests above are there for: weights for n points used for n + 1."""
    prior, _ = PRIORS["mfm_geometric"]
    distribution = prior_distribution("mfm_geometric", 6)
    weights = np.exp([*prior.log_size(5)[[2, 3]], prior.log_new(5)[2]])
    exact = np.array([distribution[(0, 0, 1, 1, 1, k)] for k in range(3)])
    assert np.abs(weights / weights.sum() - exact / exact.sum()).max() > 1e-3


def test_components_go_to_other_processes(rng):
    data = np.column_stack([rng.normal(0, 1, (12, 2)), rng.integers(0, 2, 12)])
    parts = cp.Columns([([0, 1], cp.NormalInverseWishart()), (2, cp.Bernoulli())])
    for target in (cp.Mixture(data[:, :2], cp.NormalInverseWishart()), cp.Mixture(data, parts)):
        again = pickle.loads(pickle.dumps(target))
        assert again.fingerprint == target.fingerprint
        assert again.hooks.log_predictive is target.hooks.log_predictive
        run = {"replicates": 6, "burn_in": 1, "min_sweeps": 4, "lag": 2, "seed": 3}
        here, there = (cp.estimate(target, cp.n_clusters(), executor=e, **run) for e in (None, "processes"))
        assert np.array_equal(here.values, there.values)
