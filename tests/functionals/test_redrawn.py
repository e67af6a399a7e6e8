"""Values with every point drawn anew: against their definition, and their expectations by enumeration."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import copartition as cp
import naive
import small
import small_hyperparameters
import small_networks
from component_cases import coloring, mixture, network
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at, with_hyperparameters
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.functionals import redrawn
from copartition.functionals.base import bind_all, evaluate_at
from copartition.functionals.redrawn import SHARE, evaluate_redrawn


class Given:
    """The density of partitions given hyperparameters."""

    def __init__(self, case, hyperparameters):
        self.case, self.hyperparameters = case, hyperparameters

    def log_density(self, labels):
        return self.case.log_partition(labels, self.hyperparameters) + self.case.log_data(labels, self.hyperparameters)


def of_numbers(name, seed):
    """A target whose hyperparameters have some values, and its density given these."""
    case, rng = small_hyperparameters.CASES[name](), np.random.default_rng(seed)
    values = np.concatenate(
        [
            [rng.choice(group.values)]
            if isinstance(group, cp.kernels.OnGrid)
            else rng.uniform(0.3, 1.5, len(group.names))
            for group in case.target.groups
        ]
    )
    return with_hyperparameters(case.target, values), Given(case, values)


TARGETS = {
    **small.TARGETS,
    **{f"network, {name}": lambda make=make: make()[:2] for name, make in small_networks.SMALL.items()},
    **{f"hyperparameters, {name}": lambda name=name: of_numbers(name, 5) for name in ("spherical", "discount")},
    "known clusters": lambda: mixture(known=[0, -1, 1, -1, -1]),
    "kinds": lambda: mixture(kinds=[0, 1, 0, 1, 0]),
    "known colours": lambda: coloring(known=[0, -1, 1, -1, -1]),
    "known blocks": lambda: network(known=[0, -1, -1, 1, -1, 0]),
}


@cache
def case(name):
    """A target, its density, all its partitions with their probabilities."""
    target, density = TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    possible = distribution > 0
    return target, density, [s for s, p in zip(states, possible, strict=True) if p], distribution[possible]


def wanted(count):
    """Functionals of so many points that have a form, each with its definition."""
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    some = [(3, 1), (0, 4), (2, 3)]
    partition = [0, 1, 0, 2, 0, 1][:count]
    return [
        (cp.co_clustering(), lambda labels: naive.together(labels, pairs)),
        (cp.co_clustering(pairs=some), lambda labels: naive.together(labels, some)),
        (cp.memberships(partition), lambda labels: naive.memberships(labels, partition)),
        (cp.functionals.cluster_similarity(partition), lambda labels: naive.cluster_similarity(labels, partition)),
        (cp.n_clusters(), lambda labels: [len(set(labels))]),
    ]


def values(evaluate, target, functionals, states):
    """What the compiled functions give at partitions."""
    target, bound = bind_all(target, functionals)
    return np.array([evaluate(target.model, target.hooks, bound, chain_at(target, np.array(s))) for s in states])


@pytest.mark.plain
@pytest.mark.parametrize("name", TARGETS)
def test_values_are_those_of_the_definition(name):
    target, density, states, _ = case(name)
    chosen = states[:: 11 if JIT_DISABLED else 3]
    free = np.flatnonzero(target.constraint.labels < 0)  # points whose cluster is known stay where they are
    functionals, definitions = zip(*wanted(target.n_points), strict=True)
    found = values(evaluate_redrawn, target, functionals, chosen)
    for labels, row in zip(chosen, found, strict=True):
        exact = [naive.redrawn(density, labels, value, SHARE, free) for value in definitions]
        np.testing.assert_allclose(row, np.concatenate(exact), atol=1e-9)


@pytest.mark.parametrize("name", TARGETS)
def test_expectations_are_those_of_the_functionals(name):
    """Exact: over all partitions, with their probabilities; given the hyperparameters, where there are some."""
    target, _, states, distribution = case(name)
    functionals = [functional for functional, _ in wanted(target.n_points)]
    plain, drawn = (values(evaluate, target, functionals, states) for evaluate in (evaluate_at, evaluate_redrawn))
    assert np.abs(drawn - plain).max() > 0.1
    np.testing.assert_allclose(distribution @ drawn, distribution @ plain, atol=1e-11)


@pytest.mark.parametrize("name", TARGETS)
def test_pairs_never_vary_more(name):
    """Exact, and proved at the top of `copartition.functionals.redrawn`."""
    target, _, states, distribution = case(name)
    plain, drawn = (
        values(evaluate, target, [cp.co_clustering()], states) for evaluate in (evaluate_at, evaluate_redrawn)
    )
    before, after = (distribution @ (h - distribution @ h) ** 2 for h in (plain, drawn))
    assert np.all(after <= before + 1e-12)
    assert after.sum() < 0.9 * before.sum()


def test_partitions_stay_and_others_are_as_they_were():
    """Also among functionals that have a form: in the order in which they were given."""
    target, _, states, _ = case("wishart")
    others = [cp.largest_clusters(2), cp.n_clusters(most=3), cp.functional(lambda labels: labels.sum())]
    mixed = [others[0], cp.n_clusters(), others[1], cp.co_clustering(), others[2]]
    for labels in states:
        chain = chain_at(target, np.array(labels))
        target_of_all, bound = bind_all(target, mixed)
        found = evaluate_redrawn(target_of_all.model, target_of_all.hooks, bound, chain)
        assert tuple(cp.partition.canonical(chain.labels)) == tuple(labels)
        assert chain.holder[0] == -1
        np.testing.assert_array_equal(found[[0, 1, 3, 4, 5, 6, -1]], values(evaluate_at, target, others, [labels])[0])
        np.testing.assert_array_equal(
            np.delete(found, [0, 1, 3, 4, 5, 6, 17]),
            values(evaluate_redrawn, target, [cp.n_clusters(), cp.co_clustering()], [labels])[0],
        )
    alone = values(evaluate_redrawn, target, others, states)
    np.testing.assert_array_equal(alone, values(evaluate_at, target, others, states))


def test_chains_that_have_run():
    """Whose clusters stand in other slots than in those of their rows: against a chain that was put there."""
    target = cp.Mixture(np.arange(30.0) % 7, cp.NormalInverseGamma(), cp.DirichletProcess(3.0))
    chain, random = chain_at(target, np.arange(30) % 5), stream(3, 1)
    target, bound = bind_all(target, [cp.co_clustering(), cp.memberships(np.arange(30) % 3), cp.n_clusters()])
    moved = 0
    for _ in range(20):
        chain = advance_chain(target, BoundStep(), chain, random, 3)
        moved += bool(np.any(chain.slots != np.arange(len(chain.slots))))
        fresh = chain_at(target, cp.partition.canonical(chain.labels))
        here, there = (evaluate_redrawn(target.model, target.hooks, bound, one) for one in (chain, fresh))
        np.testing.assert_allclose(here, there, atol=1e-9)
    assert moved > 10


def test_a_target_without_a_distribution_is_refused():
    @cp.kernels.log_predictive
    def nothing(model, chain, n_choices, n):
        for k in range(n_choices):
            chain.weights[k] = np.nan if n == 2 else 0.0

    target = cp.Target(np.zeros((4, 1)), nothing, prior=cp.DirichletProcess(1.0))
    chain = chain_at(target, np.zeros(4, dtype=np.int64))
    with pytest.raises(ValueError, match="for point 2 it did not"):
        redrawn.redraw(target.model, target.hooks, chain)
