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
from densities import density_of_draw, grid_distribution

STATES = naive.all_partitions(5)
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
            np.testing.assert_allclose(chain.kept[chain.slots[k]], again.kept[again.slots[row]], rtol=1e-8, atol=1e-8)
