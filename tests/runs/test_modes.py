"""A look for hidden modes: tempered chains by exact enumeration, the rule, and verdicts on posteriors made for it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.density import Density
from copartition.chains.start import check_start
from copartition.chains.step import BoundStep
from copartition.chains.tempering import (
    MOST_LEVELS,
    State,
    Tempered,
    choose_ladder,
    swap_probability,
    tempered_stepper,
)
from copartition.core.clusters import choices, take_out, weigh
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.state import Chain, Hooks, Model
from copartition.core.types import float64, int64
from copartition.diagnostics import modes as rule
from copartition.runs.modes import different_starts, k_means, look_for_modes
from plausible import MIXTURES, assert_chain_is_right, chi_square_is_plausible, move_kernel, room_for

BETA = 0.5


@kernel(float64(Model, Hooks, Chain, int64))
def tempered_distribution(model, hooks, chain, n):
    m, functions, c = model, hooks, chain
    take_out(m, c, n)
    return weigh(m, functions, c, choices(m, c), n)


# --- densities -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MIXTURES)
def test_log_density_is_that_of_the_definition(name):
    """Exact, up to one constant for all 52 partitions of five points."""
    target, density = small.TARGETS[name]()
    states = naive.all_partitions(5)
    differences = [cp.kernels.log_density(target, state) - density.log_density(state) for state in states]
    np.testing.assert_allclose(differences, differences[0], atol=1e-9)


@pytest.mark.parametrize("name", ["scalar", "full", "wishart"])
def test_log_density_of_the_data_leaves_nothing_out(name):
    target, density = small.TARGETS[name]()
    for state in naive.all_partitions(5)[::7]:
        chain = chain_at(target, np.array(state))
        exact = sum(density.log_cluster(members) for members in naive.clusters(state))
        assert Density(target).of_data(chain) == pytest.approx(exact, abs=1e-9)


def test_log_density_does_not_depend_on_how_clusters_are_numbered():
    target, _ = small.scalar()
    assert cp.kernels.log_density(target, [3, 3, 0, 3, 0]) == cp.kernels.log_density(target, [0, 0, 1, 0, 1])


@pytest.mark.parametrize("call", [cp.find_modes, lambda target: cp.kernels.log_density(target, [0, 1, 0, 1, 0])])
def test_colourings_have_no_density_of_growing_clusters(call):
    with pytest.raises(ValueError, match="knows no log density of GraphColoring"):
        call(small.coloring()[0])


def test_chains_far_below_have_not_arrived():
    """By more than 30, and five standard deviations along a chain: of the highest one, or of the median of others."""
    noise = np.tile([-1.0, 1.0], (4, 10))  # standard deviation 1.03
    levels = np.array([[0.0], [-34.0], [-36.0], [-3.0]])
    assert rule.not_arrived(levels + noise).tolist() == [False, False, True, False]
    others = np.array([[10.0], [0.5], [0.5]]) + noise[:3]
    assert rule.not_arrived(levels + noise, others).tolist() == [False, False, True, False]
    assert rule.not_arrived(levels + noise, others + 3.0).tolist() == [False, True, True, False]


# --- tempered chains -------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("name", MIXTURES)
def test_tempered_conditional_distributions_are_those_of_the_definition(name):
    """Exact, from all partitions and for all points: so every update leaves the tempered distribution as it is."""
    target, density = small.TARGETS[name]()
    tempered = naive.Tempered(density, BETA)
    for state, n in product(naive.all_partitions(5)[:: 13 if JIT_DISABLED else 1], range(5)):
        exact = naive.conditional(tempered, state, n)
        order = [m for m in range(5) if m != n] + [n]  # the clusters of the others in the order of the twin
        arranged = np.empty(5, dtype=np.int64)
        arranged[order] = naive.canonical([state[m] for m in order])
        chain = chain_at(target, arranged)
        total = tempered_distribution(target.tempered(BETA).model, target.hooks, chain, n)
        np.testing.assert_allclose(chain.weights[: len(exact)] / total, exact, atol=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("name", ["scalar", "bernoulli", "wishart", "mixed"])
def test_tempered_moves_are_those_of_the_twin(name, rng):
    """The same random numbers lead to the same partition; the twin is reversible for its density by enumeration."""
    target, density = small.TARGETS[name]()
    tempered = naive.Tempered(density, BETA)
    states = naive.all_partitions(5)
    room = room_for(target)
    for count in range(40 if JIT_DISABLED else 400):
        state = states[count % len(states)]
        i, j = (int(n) for n in rng.choice(5, 2, replace=False))
        u, key = rng.random(), rng.integers(0, 2**64, dtype=np.uint64)
        room.order[:] = rng.permutation(5)
        chain = chain_at(target, np.array(state))
        move_kernel(target.tempered(BETA).model, target.hooks, chain, room, i, j, u, key)
        uniforms = [naive.uniform_of(key, n) for n in range(5)]
        expected = naive.split_merge(tempered, state, i, j, u, room.order.tolist(), uniforms)
        assert naive.canonical(chain.labels.tolist()) == expected
        assert_chain_is_right(target, chain)


def test_only_the_power_makes_a_step_a_tempered_one():
    target, _ = small.wishart()
    stepper = BoundStep(cp.Step(cp.couplings.Independent(), 2)).stepper(target)

    def course(target):
        chain, random = chain_at(target, np.zeros(5, dtype=np.int64)), stream(1, 0)
        return [advance_chain(target, stepper, chain, random, 1).labels.tolist() for _ in range(20)]

    assert course(target) == course(target.tempered(1.0)) != course(target.tempered(0.1))


@pytest.mark.parametrize("moves", [0, 2])
def test_tempered_steps_have_the_tempered_distribution(moves):
    """Independent chains after 12 steps; false alarm 1e-6."""
    target, density = small.wishart()
    states, distribution = naive.distribution(naive.Tempered(density, BETA), 5)
    number = {state: s for s, state in enumerate(states)}
    stepper, random, draws = (
        tempered_stepper(target, BoundStep(cp.Step(cp.couplings.Independent(), moves)), BETA),
        stream(3, moves),
        4000,
    )
    counts = np.zeros(len(states))
    chain = chain_at(target, np.zeros(5, dtype=np.int64))
    for _ in range(draws):
        chain = advance_chain(target.tempered(BETA), stepper, chain, random, 12)
        counts[number[naive.canonical(chain.labels.tolist())]] += 1
    assert chi_square_is_plausible(counts, draws * distribution, 1e-6)
    assert not chi_square_is_plausible(counts, draws * naive.distribution(density, 5)[1], 1e-6)


def test_swaps_leave_the_product_of_the_distributions():
    """Exact: the flow from every pair of partitions to the swapped one is the flow back."""
    _, density = small.scalar()
    states = naive.all_partitions(5)
    powers = (0.9, 0.4)
    distributions = [naive.distribution(naive.Tempered(density, beta), 5)[1] for beta in powers]
    of_data = [sum(density.log_cluster(members) for members in naive.clusters(state)) for state in states]
    flow = np.array(
        [
            [
                distributions[0][a] * distributions[1][b] * swap_probability(*powers, of_data[a], of_data[b])
                for b in range(len(states))
            ]
            for a in range(len(states))
        ]
    )
    assert np.abs(flow - flow.T).max() < 1e-14
    assert flow.sum() < 1.0


def test_the_first_of_tempered_chains_has_the_distribution_of_the_target():
    """False alarm 1e-6; rounds are some way apart."""
    target, density = small.scalar()
    states, distribution = naive.distribution(density, 5)
    number = {state: s for s, state in enumerate(states)}
    ladder = np.array([1.0, 0.6, 0.2])
    tempered = Tempered(
        target,
        BoundStep(cp.Step(cp.couplings.Independent(), 0)),
        ladder,
        State(np.zeros((3, 5), dtype=np.int64), np.zeros((3, 0)), stream(4, 0)),
    )
    counts, draws = np.zeros(len(states)), 1500
    for t in range(4 * draws):
        log_density, chain = tempered.advance(t % 2 == 1)
        if t < 20:
            assert log_density == pytest.approx(cp.kernels.log_density(target, chain.labels.tolist()))
        if t % 4 == 3:
            counts[number[naive.canonical(chain.labels.tolist())]] += 1
    assert chi_square_is_plausible(counts, draws * distribution, 1e-6)
    assert np.all(tempered.tried > 0)
    assert np.all(tempered.accepted / tempered.tried > 0.1)


def test_a_ladder_goes_down_from_one():
    target, _ = small.scalar()
    starts = check_start(target, None), check_start(target, "sequential")
    ladder = choose_ladder(target, BoundStep(cp.Step(cp.couplings.Independent(), 1)), starts, stream(5, 0))
    assert ladder[0] == 1.0
    assert ladder[-1] <= 0.7
    assert 2 <= len(ladder) <= MOST_LEVELS
    assert np.all(np.diff(ladder) < 0.0)
    np.testing.assert_array_equal(
        ladder, choose_ladder(target, BoundStep(cp.Step(cp.couplings.Independent(), 1)), starts, stream(5, 0))
    )


# --- starts ----------------------------------------------------------------------------------------------------------


def test_k_means_finds_groups_and_bears_equal_points(rng):
    points = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 900.0]], 20, axis=0)
    labels = k_means(points + rng.normal(0, 0.1, points.shape), 3, np.random.default_rng(1))
    assert naive.canonical(labels.tolist()) == tuple(np.repeat([0, 1, 2], 20))
    assert k_means(np.ones((5, 2)), 3, np.random.default_rng(1)).tolist() == [0] * 5


@pytest.mark.plain
def test_starts_have_no_more_clusters_than_the_prior_allows():
    target = cp.Mixture(small.DATA_1D, cp.Gaussian(noise_sd=1, mean_sd=2), cp.FiniteMixture(2))
    starts = different_starts(target, 0)
    assert set(starts) == {"one cluster", "sequential", "k-means", "singletons"}
    assert starts["singletons"].labels.max() == 1
    assert cp.find_modes(target, sweeps=30, chains=2).best.max() <= 1


# --- the rule --------------------------------------------------------------------------------------------------------


def chains_at(rng, places, times=100, jump=1.0):
    """Chains whose log density is normal around a place, each with its own clustering of ten points."""
    density = np.array(places, dtype=float)[:, None] + jump * rng.normal(size=(len(places), times))
    members = np.zeros((len(places), times, 10), dtype=np.int32)
    for chain, place in zip(members, places, strict=True):
        chain[:, int(place) % 10 :] = 1
        chain[rng.random(chain.shape) < 0.05] = 2
    return rule.Seen(density, np.full(density.shape, 3.0), members)


@pytest.mark.parametrize(
    ("ordinary", "tempered", "verdict"),
    [
        ([5, 5, 5, 5], [5, 5, 5, 5], "none"),
        ([3, 3, 3, 3], [5, 5, 5, 5], "hidden"),
        ([3, 5, 3, 5], [3, 5, 3, 5], "apart"),
        ([3, 5, 3, 5], [5, 5, 5, 5], "hidden"),
        ([5, 5, 5, 5], [3, 5, 3, 5], "unsettled"),
        ([3, 3, 3, 3], [3, 5, 3, 3], "hidden"),
    ],
)
def test_verdicts_follow_from_where_chains_are(rng, ordinary, tempered, verdict):
    seen = chains_at(rng, ordinary), chains_at(rng, tempered)
    gaps = rule.log_density_gaps(*seen), rule.co_clustering_gaps(*seen)
    assert rule.verdict_on(*seen, *gaps) == verdict


def test_co_clustering_is_counted_right(rng):
    members = rng.integers(0, 3, (2, 7, 6))
    for row, of_chain in zip(rule.shares_together(members), members, strict=True):
        exact = [np.mean([t[a] == t[b] for t in of_chain]) for a in range(6) for b in range(a + 1, 6)]
        np.testing.assert_allclose(row, exact)


# --- the look --------------------------------------------------------------------------------------------------------


def two_groups(per_group=40):
    """Two groups of which a chain that moves one point at a time sees but one cluster, if it starts there."""
    data = np.random.default_rng(1).normal(size=(2 * per_group, 6))
    data[per_group:] += 5.0
    return cp.Mixture(data, cp.NormalInverseWishart(), cp.DirichletProcess(1.0))


def test_it_warns_where_chains_stay_in_one_cluster_and_is_silent_where_they_do_not():
    """Without moves a chain cannot split a cluster that should be two; with them it does."""
    target = two_groups()
    stuck = cp.find_modes(target, split_merge=0, sweeps=150, seed=1)
    assert stuck.is_hidden
    assert stuck.finding.level == "doubt"
    assert stuck.finding.title == "Hidden mode"
    assert "never saw a mode" in str(stuck)
    assert "init=modes.best" in str(stuck)
    assert stuck.best.tolist() == [0] * 40 + [1] * 40
    assert stuck.best_log_density > stuck.ordinary_best_log_density + 40
    easy = cp.find_modes(target, sweeps=150, seed=1)
    assert not easy.is_hidden
    assert easy.verdict == "none"
    assert easy.finding.level == "good"
    # From the best partition ordinary chains are right, but tempered ones from one cluster are still stuck.
    again = cp.find_modes(target, split_merge=0, init=stuck.best, sweeps=150, seed=1)
    assert again.verdict == "unsettled"
    assert not again.is_hidden
    assert again.finding.level == "caution"
    assert again.sweeps > stuck.sweeps  # it looked longer before it gave up


def test_pairs_of_the_same_chains_meet_at_once():
    """What the look is for: meeting times tell nothing of the other mode."""
    pairs = cp.meeting_times(two_groups(), coupling="transport", replicates=30, lag=50, seed=1)
    assert pairs.met.all()
    assert (pairs.meeting_times - pairs.lag).mean() < 5


def test_the_best_partition_has_the_density_that_is_said():
    target, _ = small.scalar()
    modes = cp.find_modes(target, sweeps=30, chains=2, seed=3)
    assert modes.best_log_density == pytest.approx(cp.kernels.log_density(target, modes.best))
    assert modes.best_log_density == pytest.approx(
        max(cp.kernels.log_density(target, s) for s in naive.all_partitions(5))
    )
    assert modes.ordinary_log_densities.shape == (2, 5)
    assert modes.tempered_n_clusters.shape[0] == 4
    assert len(modes.swap_rates) == len(modes.ladder) - 1
    assert modes.sweeps > 0
    assert modes.seconds > 0.0
    assert modes.seed == 3
    assert modes.starts == ["one cluster", "sequential", "k-means", "singletons"]
    assert f"cost: {modes.sweeps} sweeps" in modes.summary()


def test_bits_are_the_same_wherever_chains_run():
    target, _ = small.wishart()
    step, start = BoundStep(cp.Step(cp.couplings.Independent(), 1)), check_start(target, None)
    looks = [
        look_for_modes(target, step, start, sweeps=48, chains=3, seed=7, executor=executor)
        for executor in (None, 2, "processes")
    ]
    for name in ("ordinary_log_densities", "tempered_log_densities", "best", "ladder", "swap_rates"):
        first, *others = (getattr(look, name) for look in looks)
        assert all(np.array_equal(first, other) for other in others)
    assert len({look.verdict for look in looks}) == 1
    other = look_for_modes(target, step, start, sweeps=48, chains=3, seed=8)
    assert not np.array_equal(other.ordinary_log_densities, looks[0].ordinary_log_densities)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sweeps": 5}, "sweeps must be a whole number of at least 24, got 5"),
        ({"chains": 1}, "chains must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"init": "none"}, "init must be"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cp.find_modes(small.scalar()[0], **arguments)


def test_it_takes_a_target():
    with pytest.raises(TypeError, match="target must be a target"):
        cp.find_modes([1.0, 2.0])
