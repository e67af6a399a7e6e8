"""Joint updates: reversible by exact enumeration, ways of dealing against their twin, distributions of updates."""

from __future__ import annotations

from dataclasses import asdict
from itertools import permutations

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains import moves
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.moves import nearest, partners_of, plan_updates
from copartition.chains.start import advance_pair, couple
from copartition.chains.step import BoundStep
from copartition.core import joint_updates as kernels
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.room import room_for_updates
from copartition.core.state import Chain, Hooks, JointUpdates, Model
from copartition.core.steps import conditional_distribution, count_pair
from copartition.core.types import int1, int64, uint64
from copartition.runs.defaults import bind, resolve
from plausible import assert_chain_is_right, chi_square_is_plausible, four_points

MIXTURES = ["scalar", "full", "bernoulli", "wishart", "gaps", "mixed"]


@kernel(int64(Model, Hooks, Chain, JointUpdates, int1, uint64, int64))
def deal_kernel(model, hooks, chain, room, back, key, naming):
    """Deal the points that are written into the room, in all ways; 1 if all weights are defined."""
    kernels.take_points_out(model, hooks, chain, room, room.of_x)
    return int(kernels.deal_all(model, hooks, chain, back, room, room.of_x, key, naming))


ALONE = cp.Step(cp.couplings.Independent(), 0)


def only_updates(target, updates, step=ALONE):
    """A step of joint updates and nothing else."""
    return distributions.OnlyMoves(step, only=(moves.joint_updates(plan_updates(target, updates)),))


def growing(target, density):
    return naive.Growing(density, target.model.log_size.tolist(), target.model.log_new.tolist())


def lists_of(target, blocks):
    return [[n for n in row if n >= 0] for row in plan_updates(target, blocks).near.tolist()]


def update_matrix(target, density, states, blocks):
    """The exact distribution of an update: over all blocks, sizes and orders."""
    near = lists_of(target, blocks)
    sizes = np.arange(blocks.least, blocks.most + 1)
    edges = np.log(np.append(sizes, blocks.most + 1.0) / blocks.least)
    shares = np.diff(edges) / edges[-1]
    matrix = np.zeros((len(states), len(states)))
    for anchor in range(target.n_points):
        for size, share in zip(sizes, shares, strict=True):
            block = [anchor, *near[anchor][: size - 1]]
            orders = list(permutations(block))
            for order in orders:
                one = naive.block_matrix(growing(target, density), states, list(order), near, blocks.tries)
                matrix += one * share / (len(orders) * target.n_points)
    return matrix


# --- the update itself -----------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("name", ["scalar", "bernoulli", "mixed"])
def test_joint_updates_are_reversible(name):
    """Exact: the flow from each partition of five points to each other is the flow back."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    near = lists_of(target, cp.JointUpdates(1, most=5))
    for order in ([0, 1], [3, 1, 2], [4, 2, 0, 1]):
        matrix = naive.block_matrix(growing(target, density), states, order, near, tries=2 if len(order) < 4 else 1)
        flow = distribution[:, None] * matrix
        assert np.abs(flow.sum(axis=1) - distribution).max() < 1e-12
        assert np.abs(flow - flow.T).max() < 1e-12


@pytest.mark.plain
def test_a_wrong_weight_is_not_reversible():
    target, density = small.scalar()
    states, distribution = naive.distribution(density, 5)
    near = lists_of(target, cp.JointUpdates(1, most=5))
    matrix = naive.block_matrix(growing(target, density), states, [3, 1, 2], near, tries=2, log_error=0.05)
    assert np.abs(distribution @ matrix - distribution).max() > 1e-5


@pytest.mark.plain
@pytest.mark.parametrize("naming", [kernels.ALONE, kernels.FIRST, kernels.SECOND])
@pytest.mark.parametrize("name", MIXTURES)
def test_compiled_ways_are_those_of_the_twin(name, naming, rng):
    """The same bits lead to the same clusters and weights, from all partitions and any block."""
    target, density = small.TARGETS[name]()
    states = naive.all_partitions(5)
    plan = cp.JointUpdates(1, tries=3, least=1, most=5)
    near, weights = lists_of(target, plan), growing(target, density)
    room, opened = room_for_updates(target.model, plan_updates(target, plan)), set()
    for count in range(30 if JIT_DISABLED else 300):
        state = states[count % len(states)]
        order = rng.permutation(5)[: 1 + count % 5].tolist()
        key = rng.integers(0, 2**64, dtype=np.uint64)
        chain = chain_at(target, np.array(state))
        room.size[0] = len(order)
        room.points[: len(order)] = order
        room.place[:] = -1
        room.place[order] = np.arange(len(order))
        outside = list(dict.fromkeys(chain.labels[n] for n in range(5) if n not in order))
        back = np.array([-1, 3, 0, -1, 1, -1])
        names = {
            kernels.ALONE: None,
            kernels.FIRST: [3 * k for k in range(5)],
            kernels.SECOND: [3 * b if b >= 0 else 3 * k + 1 for k, b in enumerate(back.tolist())],
        }[naming]
        assert deal_kernel(target.model, target.hooks, chain, room, back, key, naming) == 1
        deals = room.of_x
        rows = sorted(outside)  # clusters of points outside of the block keep their order
        assert chain.n_clusters[0] == len(rows)
        expected = []
        for way in range(plan.tries + 1):
            bits = naive.bits_of(key, way)
            arranged = naive_state(state, order, rows)
            if way == 0:
                expected_rows, expected_weight = forced(weights, arranged, order, near, plan)
            else:
                found, expected_weight = naive.joint_deal(weights, arranged, order, near, bits, names)
                expected_rows = [next(k for k, c in enumerate(found) if n in c) for n in order]
            assert deals.rows[way, : len(order)].tolist() == expected_rows
            expected.append(expected_weight)
            opened.add(max(expected_rows) >= len(rows))
        # Compiled densities leave out what is the same for all ways.
        relative = deals.log_weights - deals.log_weights[0]
        np.testing.assert_allclose(relative, np.array(expected) - expected[0], rtol=1e-9, atol=1e-9)
    assert opened == {True, False}


def naive_state(state, order, rows):
    """The same partition, its clusters numbered as the chain numbers those that are left, the others after them."""
    gone = [label for label in dict.fromkeys(state[n] for n in order) if label not in rows]
    number = {label: k for k, label in enumerate([*rows, *gone])}
    return tuple(number[label] for label in state)


def forced(weights, state, order, near, plan):
    """The rows and the log weight of the present way."""
    ways = naive.joint_ways(weights, state, order, near)
    weight = next(w for partition, _, w in ways if partition == naive.canonical(state))
    left = len({label for n, label in enumerate(state) if n not in order})
    hyperparameters = {}
    for n in order:
        if state[n] >= left:
            hyperparameters.setdefault(state[n], left + len(hyperparameters))
    return [hyperparameters.get(state[n], state[n]) for n in order], np.log(weight)


# --- distributions of updates ----------------------------------------------------------------------------------------

UPDATES = cp.JointUpdates(1, tries=2, least=2, most=3)


@pytest.mark.parametrize("name", ["scalar", "bernoulli", "wishart"])
def test_an_update_has_its_exact_distribution(name):
    """100,000 updates from each of four partitions of four points: false alarm 1e-5 each."""
    target, density = four_points(name)
    states, distribution = naive.distribution(density, 4)
    matrix = update_matrix(target, density, states, UPDATES)
    assert np.abs(distribution @ matrix - distribution).max() < 1e-12
    step = only_updates(target, UPDATES)
    for s in (0, 3, 8, 14):
        counts = distributions.counted_steps(target, states[s], step, stream(5, s), 100_000)[
            distributions.codes(states)
        ]
        assert counts.sum() == 100_000
        assert chi_square_is_plausible(counts, matrix[s] * 100_000, 1e-5)


def test_the_test_of_updates_fails_with_another_number_of_tries():
    target, density = four_points("scalar")
    states, _ = naive.distribution(density, 4)
    matrix = update_matrix(target, density, states, UPDATES)
    other = cp.JointUpdates(1, tries=1, least=2, most=3)
    step = only_updates(target, other)
    counts = distributions.counted_steps(target, states[3], step, stream(5, 3), 100_000)[distributions.codes(states)]
    assert not chi_square_is_plausible(counts, matrix[3] * 100_000, 1e-5)


@pytest.mark.parametrize("name", ["scalar", "wishart"])
def test_two_chains_each_have_the_distribution_of_one_from_every_pair(name):
    """2,000 updates from each of 225 pairs of partitions of four points; false alarm 1e-7 for each of 450 counts."""
    target, density = four_points(name)
    states, _ = naive.distribution(density, 4)
    matrix = update_matrix(target, density, states, UPDATES)
    step = only_updates(target, UPDATES, cp.Step(cp.couplings.Path(), 0))
    codes, met = distributions.codes(states), 0
    for a, x in enumerate(states):
        for b, y in enumerate(states):
            of_x, of_y, together = distributions.counted_pair_steps(target, step, x, y, stream(7, a, b), 2_000)
            assert chi_square_is_plausible(of_x[codes], matrix[a] * 2_000, 1e-7)
            assert chi_square_is_plausible(of_y[codes], matrix[b] * 2_000, 1e-7)
            assert a != b or together == 2_000  # chains that are equal stay equal
            met += together if a != b else 0
    assert met > 0


@pytest.mark.parametrize("name", ["scalar", "wishart", "mixed"])
def test_estimates_with_joint_updates_are_unbiased(name):
    """20,000 replicates against enumeration: 4 standard errors for each of five probabilities."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    step = cp.Step(split_merge=1, joint_updates=cp.JointUpdates(2, tries=2, least=2, most=4))
    e = cp.estimate(target, cp.n_clusters(), replicates=20_000, burn_in=1, min_sweeps=4, lag=2, step=step, seed=1)
    exact = sum(p * (max(state) + 1) for state, p in zip(states, distribution, strict=True))
    assert abs(e.mean[0] - exact) < 4 * e.stderr[0]


# --- pairs, overlaps, room -------------------------------------------------------------------------------------------


def crowd(n_points=60, n_columns=2):
    data = np.random.default_rng(3).normal(0, 4, (n_points, n_columns))
    return cp.Mixture(data, cp.Gaussian(noise_sd=0.5, mean_sd=4.0), cp.DirichletProcess(5.0))


@pytest.mark.plain
@pytest.mark.parametrize("component", ["known", "wishart"])
def test_overlaps_are_right_after_updates_and_chains_grow(component):
    target = crowd()
    if component == "wishart":
        target = cp.Mixture(crowd().model.points[:, :2], cp.NormalInverseWishart(), cp.DirichletProcess(5.0))
    step = BoundStep(
        cp.Step(cp.couplings.Path(), 2), partners=partners_of(target), plan=plan_updates(target, cp.JointUpdates(5))
    )
    random = stream(1, 2)
    chain = chain_at(target, np.zeros(60, dtype=np.int64))
    small_capacity = len(chain.sizes)
    for _ in range(3 if JIT_DISABLED else 30):
        chain = advance_chain(target, step, chain, random, 1)
        assert_chain_is_right(target, chain)
    assert len(chain.sizes) > small_capacity
    pair = couple(target, step.coupling, chain, chain_at(target, np.arange(60)))
    count_pair(pair)
    for _ in range(3 if JIT_DISABLED else 30):
        pair, _ = advance_pair(target, step, pair, random, 1)
        assert_chain_is_right(target, pair.x)
        assert_chain_is_right(target, pair.y)
        assert pair.distance[0] == naive.hamming(pair.x.labels.tolist(), pair.y.labels.tolist())


@pytest.mark.plain
def test_what_is_kept_stays_right_after_updates():
    """The conditional distribution from what is kept is that of a chain that was built anew."""
    target = cp.Mixture(crowd(40, 3).model.points[:, :3], cp.NormalInverseWishart(), cp.DirichletProcess(2.0))
    step = BoundStep(plan=plan_updates(target, cp.JointUpdates(4)))
    chain = advance_chain(target, step, chain_at(target, np.arange(40) % 5), stream(3, 3), 3 if JIT_DISABLED else 30)
    fresh = chain_at(target, np.array(naive.canonical(chain.labels.tolist())))
    now, anew = (np.sort(distribution_of_point(target, one, 7)) for one in (chain, fresh))
    np.testing.assert_allclose(now, anew, rtol=1e-6, atol=1e-12)


def distribution_of_point(target, chain, n):
    conditional_distribution(target.model, target.hooks, chain, n)
    return chain.weights[: chain.n_clusters[0] + 1]


# --- near points -----------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_near_points_are_those_that_predict_each_other_best():
    """With a known noise and a wide prior that is the Euclidean distance, but for a pull towards the prior mean."""
    data = np.random.default_rng(1).normal(0, 1, (30, 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.1, mean_sd=1e3), cp.DirichletProcess(1.0))
    found = nearest(target, np.arange(30), np.arange(30), 5)
    distance = np.linalg.norm(data[:, None] - data[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert found.tolist() == np.argsort(distance, axis=1)[:, :5].tolist()
    few = nearest(target, np.array([3]), np.array([3, 4, 9]), 5)
    assert sorted(few[0].tolist()) == [-1, -1, -1, 4, 9]


@pytest.mark.plain
def test_near_points_by_the_distribution_of_mixed_columns():
    target, density = small.mixed()
    found = nearest(target, np.arange(5), np.arange(5), 4)
    for n in range(5):
        others = [i for i in range(5) if i != n]
        gain = {i: density.log_cluster([i, n]) - density.log_cluster([i]) for i in others}
        assert found[n].tolist() == sorted(others, key=lambda i: -gain[i])


def test_a_vertex_without_edges_leaves_the_others_their_near_ones():
    found = partners_of(cp.BlockModel([(0, 1), (1, 2), (0, 2), (2, 3)], n_vertices=5, rate=1.0))
    assert found[4].tolist() == [-1] * found.shape[1]
    assert set(found[3].tolist()) >= {2, 0, 1}
    assert partners_of(cp.BlockModel(np.zeros((0, 2), dtype=int), n_vertices=3)).size == 0


# --- from outside ----------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize(
    ("updates", "message"),
    [
        (-1, "joint_updates must be"),
        (cp.JointUpdates(1, points=[70]), r"points of JointUpdates must be below the number of points, 60, got 70\."),
    ],
)
def test_mistakes_are_said(updates, message):
    with pytest.raises(ValueError, match=message):
        cp.meeting_times(crowd(), step=cp.Step(joint_updates=updates))
    with pytest.raises(ValueError, match="joint_updates must be 0 for GraphColoring"):
        cp.meeting_times(cp.GraphColoring([(0, 1), (1, 2)], 3), step=cp.Step(joint_updates=2))
    with pytest.raises(ValueError, match="most of JointUpdates must be at least its least, 4, got 2"):
        cp.JointUpdates(1, most=2)
    with pytest.raises(ValueError, match="points of JointUpdates must be numbers of points"):
        cp.JointUpdates(1, points=[0.5])


def test_a_run_says_which_joint_updates_it_makes():
    target = crowd()
    e = cp.estimate(
        target, cp.n_clusters(), replicates=2, burn_in=1, min_sweeps=2, lag=1, step=cp.Step(joint_updates=3)
    )
    assert e.made_by["step"]["joint_updates"] == asdict(cp.JointUpdates(3))
    assert "joint_updates 3" in str(e)
    step = resolve(target, cp.Step(joint_updates=cp.JointUpdates(2, points=[5, 1])))
    assert bind(target, step).plan.anchors.tolist() == [1, 5]
    m = cp.meeting_times(target, replicates=5, step=cp.Step(joint_updates=cp.JointUpdates(3, points=range(20))), seed=1)
    assert m.joint_updates == 3
    assert "3 joint updates" in m.summary()
