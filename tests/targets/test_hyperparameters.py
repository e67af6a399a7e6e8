"""Unknown hyperparameters: how they are drawn, in one chain and in two, against densities written down anew."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import naive
import small_hyperparameters
from component_cases import places
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at, with_hyperparameters
from copartition.chains.density import Density
from copartition.chains.start import Beginning, start_chain
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.steps import renew_model
from copartition.targets.kinds.column_group import COLUMN_GROUPS, FIELDS, HEADER, Place
from copartition.targets.kinds.wishart import WISHART, kept_width
from densities import density_of_draw, grid_distribution

STATES = naive.all_partitions(5)


def lasting(target, kept):
    """What is kept of a cluster from draw to draw: all but what is kept while a scale is drawn."""
    numbers = target.model.integers
    every = [Place(*numbers[HEADER + FIELDS * i :][:FIELDS]) for i in range(numbers[COLUMN_GROUPS] if len(kept) else 0)]
    return np.concatenate(
        [np.zeros(0), *[kept[one.kept :][: kept_width(one.width)] for one in every if one.kind == WISHART]]
    )


SOME = STATES[:: 17 if JIT_DISABLED else 5]


# --- densities -------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("name", small_hyperparameters.CASES)
def test_log_density_given_numbers_is_that_of_the_definition(name, rng):
    """Exact, for partitions and numbers alike: points, sums, tables and constants follow the numbers."""
    case = small_hyperparameters.CASES[name]()
    for hyperparameters in places(case.target, rng, 2 if JIT_DISABLED else 6):
        for labels in SOME:
            own = with_hyperparameters(case.target, hyperparameters)
            assert Density(own).of_data(chain_at(own, np.array(labels))) == pytest.approx(
                case.log_data(labels, hyperparameters), abs=1e-9
            )
        own = [cp.kernels.log_density(case.target, labels, hyperparameters) for labels in (STATES[3], STATES[20])]
        exact = [
            case.log_partition(labels, hyperparameters) + case.log_data(labels, hyperparameters)
            for labels in (STATES[3], STATES[20])
        ]
        assert own[1] - own[0] == pytest.approx(exact[1] - exact[0], abs=1e-9)


@pytest.mark.plain
@pytest.mark.parametrize("name", small_hyperparameters.CASES)
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_distributions_of_numbers_are_those_of_the_joint_density(name, power, rng):
    """Exact: for each group, against the joint density at several values, all else being the same."""
    case = small_hyperparameters.CASES[name]()
    target = case.target.tempered(power)

    def log_joint(labels, hyperparameters):
        of_data = case.log_data(labels, hyperparameters)
        return case.log_joint(labels, hyperparameters) - (1.0 - power) * of_data

    for hyperparameters in places(target, rng, 1 if JIT_DISABLED else 3):
        for labels in SOME[1::2]:
            own = with_hyperparameters(target, hyperparameters)
            chain = chain_at(own, np.array(labels))
            first = 0
            for g, group in enumerate(target.groups):
                last = first + len(group.names)
                if isinstance(group, cp.kernels.OnGrid):
                    total = grid_distribution(own.model, own.hooks, chain, g)
                    found = own.model.unknown.weights[: len(group.values)] / total
                    tried = [np.r_[hyperparameters[:first], value, hyperparameters[last:]] for value in group.values]
                    exact = np.array([log_joint(labels, one) for one in tried])
                    exact = np.exp(exact - exact.max())
                    np.testing.assert_allclose(found, exact / exact.sum(), atol=1e-10)
                else:
                    tried = [
                        np.r_[hyperparameters[:first], other[first:last], hyperparameters[last:]]
                        for other in places(target, rng, 4)
                    ]
                    found = [density_of_draw(own.model, own.hooks, chain, g, one[first:last].copy()) for one in tried]
                    exact = [log_joint(labels, one) for one in tried]
                    np.testing.assert_allclose(np.diff(found), np.diff(exact), atol=1e-8)
                first = last


@pytest.mark.plain
@pytest.mark.parametrize("name", small_hyperparameters.CASES)
def test_statistics_follow_the_hyperparameters_along_a_chain(name):
    """What is kept after many draws is what a fresh chain at the same numbers and partition has."""
    target = small_hyperparameters.CASES[name]().target.of_chain()
    random = stream(5, 5)
    chain = start_chain(target, Beginning(np.zeros(5, dtype=np.int64)), random)
    for _ in range(3 if JIT_DISABLED else 40):
        chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 2)), chain, random, 1)
        fresh = with_hyperparameters(target, target.model.hyperparameters.copy())
        again = chain_at(fresh, np.array(naive.canonical(chain.labels.tolist())))
        for field in ("points", "table", "parameters", "log_size", "log_new", "log_grown", "constant"):
            np.testing.assert_allclose(getattr(target.model, field), getattr(fresh.model, field), rtol=1e-9, atol=1e-9)
        for k in range(int(chain.n_clusters[0])):
            row = again.labels[list(chain.labels).index(k)]
            np.testing.assert_allclose(chain.sums[k], again.sums[row], atol=1e-9)
            found, exact = chain.kept[chain.slots[k]], again.kept[again.slots[row]]
            np.testing.assert_allclose(lasting(target, found), lasting(target, exact), rtol=1e-8, atol=1e-8)


# --- covariances of their own, in several columns --------------------------------------------------------------------


def separate(unknowns, n_points, columns, rng):
    """Points in three groups, a prior with unknown numbers, and the log density of the points as its twin has it."""
    data = rng.normal(0, 1, (n_points, columns)) @ rng.normal(0, 1, (columns, columns))
    data += 6.0 * rng.integers(0, 3, (n_points, 1))
    component = cp.NormalInverseWishart(
        **{"mean": 1.0, "mean_weight": 0.3, "scale": cp.LogUniform(1e-5, 1e4)} | unknowns,
        degrees_of_freedom=columns + 1.5,
    )
    target, covariance = cp.Mixture(data, component, cp.DirichletProcess(1.0)), np.cov(data.T).reshape(columns, columns)

    def log_data(labels, values):
        found = dict(zip(target.hyperparameters, values, strict=True))
        mean = [found.get("mean" if columns == 1 else f"mean[{j}]", 1.0) for j in range(columns)]
        weight, scale = found.get("mean_weight", 0.3), found["scale"] * covariance
        density = naive.wishart_cluster(data, np.array(mean), weight, columns + 1.5, scale)
        return sum(density(np.flatnonzero(labels == k)) for k in set(labels.tolist()))

    return target, log_data


ALL = {"mean": cp.Normal(1.0, 3.0), "mean_weight": cp.LogUniform(1e-3, 10.0), "scale": cp.LogUniform(1e-5, 1e4)}


@pytest.mark.plain
@pytest.mark.parametrize("scale", [cp.LogUniform(1e-5, 1e4), cp.Gamma(2, 3), cp.InverseGamma(0.5, 0.5)])
@pytest.mark.parametrize("columns", [1, 2, 5, 8])
def test_values_of_the_scale_that_are_not_computed_count_for_nothing(columns, scale, rng):
    """Exact, from wherever the number is now: many points, so that few values of the grid matter."""
    target, log_data = separate({"scale": scale}, 24 if JIT_DISABLED else 60, columns, rng)
    labels = naive.canonical(rng.integers(0, 5, target.n_points).tolist())
    values, log_prior = target.groups[0].values, target.groups[0].log_prior
    exact = np.array([log_data(np.array(labels), [value]) for value in values]) + log_prior
    exact = np.exp(exact - exact.max())
    for value in values[::9] if JIT_DISABLED else values:
        own = with_hyperparameters(target, [value])
        chain = chain_at(own, np.array(labels))
        total = grid_distribution(own.model, own.hooks, chain, 0)
        np.testing.assert_allclose(own.model.unknown.weights / total, exact / exact.sum(), rtol=1e-6, atol=1e-15)


@pytest.mark.plain
@pytest.mark.parametrize("columns", [1, 2, 3, 6])
def test_numbers_of_the_scale_weight_and_mean_are_right_one_after_another(columns, rng):
    """Exact, for every number while those before it have been drawn and nothing else has followed them yet."""
    target, log_data = separate(ALL, 12 if JIT_DISABLED else 40, columns, rng)
    labels = np.array(naive.canonical(rng.integers(0, 4, target.n_points).tolist()))
    numbers = next(places(target, rng, 1))
    own = with_hyperparameters(target, numbers)
    chain = chain_at(own, labels)
    for g, group in enumerate(target.groups):
        found = own.model.unknown.weights / grid_distribution(own.model, own.hooks, chain, g)
        some = rng.integers(0, len(group.values), 6)
        tried = [np.r_[numbers[:g], group.values[i], numbers[g + 1 :]] for i in some]
        exact = np.array([log_data(labels, one) + group.log_prior[i] for i, one in zip(some, tried, strict=True)])
        np.testing.assert_allclose(
            found[some] / found.max(), np.exp(exact - exact.max()) * found[some].max() / found.max(), atol=1e-9
        )
        numbers[g] = own.model.hyperparameters[g] = rng.choice(group.values)
    assert_all_follows(target, own, chain, labels, 1e-7)


def assert_all_follows(target, own, chain, labels, error):
    """After the numbers of a chain were changed: what depends on them is what a fresh chain has at these numbers."""
    renew_model(own.model, own.hooks, chain)
    fresh = with_hyperparameters(target, own.model.hyperparameters.copy())
    again = chain_at(fresh, labels)
    for field in ("points", "table", "parameters", "constant"):
        np.testing.assert_allclose(getattr(own.model, field), getattr(fresh.model, field), rtol=1e-9, atol=1e-9)
    for k in range(int(chain.n_clusters[0])):
        found, exact = (lasting(target, one.kept[one.slots[k]]) for one in (chain, again))
        np.testing.assert_allclose(found, exact, rtol=error, atol=error)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([1e-2, 1e4, 0.0], [1e-2, 1e-5, 0.0]),  # the scale becomes next to nothing where it was all that there is
        ([1e-2, 1e-5, 0.0], [1e-2, 1e4, 0.0]),
        ([10.0, 1e-5, 1e4], [1e-3, 1e-5, 0.0]),  # the prior mean was far away, and most of what is kept was about it
        ([10.0, 1e-5, 1e4], [1e-3, 1e-5, 1e4]),
        ([1e-3, 1e-5, 0.0], [10.0, 1e4, -1e4]),
    ],
)
def test_what_is_kept_follows_numbers_that_change_a_lot(before, after, rng):
    """Digits that would be lost are not: what is kept is computed anew from the points."""
    target, _ = separate(ALL, 12, 3, rng)
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 0, 3])
    own = with_hyperparameters(target, [*before, 1.0, 1.0])
    chain = chain_at(own, labels)
    own.model.hyperparameters[:] = [*after, 1.0, 1.0]
    assert_all_follows(target, own, chain, labels, 1e-9)


@pytest.mark.plain
def test_points_of_a_grid_follow_the_hyperparameters():
    """They come later than those of the data, to a target whose numbers have been drawn."""
    rng = np.random.default_rng(3)
    target, _ = separate(ALL, 12, 2, rng)
    own = with_hyperparameters(target, [0.3, 2.0, 0.5, -1.0])
    rows, more = target.component._shift + rng.normal(0, 3, (2, 4, 2))
    larger = own.with_points(rows)
    direct = with_hyperparameters(target.with_points(rows), [0.3, 2.0, 0.5, -1.0])
    np.testing.assert_allclose(larger.model.points, direct.model.points, atol=1e-12)
    again = own.with_points(more)
    np.testing.assert_allclose(again.model.points[:12], own.model.points, atol=1e-12)
