"""What targets keep for clusters besides sums: right after everything that a chain goes through, and by whose calls."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import advance_pair, check_start, couple, start_chain
from copartition.chains.step import BoundStep, objection_to_moves
from copartition.core import sweeps
from copartition.core.clusters import SWEEPS_BETWEEN_REBUILDS, put_in, take_out
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.room import grown, grown_pair
from copartition.core.state import Chain, Coupled, Hooks, Model, Pair
from copartition.core.steps import conditional_distribution, count_pair, reset_chain
from copartition.core.sweeps import PARTED
from copartition.core.types import int2, int64, uint1, void
from copartition.targets.kinds.column_group import FIELDS, HEADER, Place
from copartition.targets.kinds.wishart import MEAN_WEIGHT, WISHART, kept_width
from plausible import assert_overlap_counts_are_right, one_more

N_POINTS = 10 if JIT_DISABLED else 40


# --- what is kept for unknown covariances, from its definition -------------------------------------------------------


def places_of(target):
    """Where the column groups of a target with unknown covariances stand."""
    numbers = target.model.integers
    every = [Place(*numbers[HEADER + FIELDS * column_group :][:FIELDS]) for column_group in range(numbers[0])]
    return [place for place in every if place.kind == WISHART]


def row_of_members(target, place, members):
    """The log determinant, the mean, and the inverse of the Cholesky factor, two rows at a time, of some points."""
    width, weight = place.width, target.model.parameters[place.parameters + MEAN_WEIGHT]
    x = target.model.points[members, place.plain : place.plain + width]
    mean = x.sum(axis=0) / (weight + len(x))
    psi = np.eye(width) + (x - mean).T @ (x - mean) + weight * np.outer(mean, mean)
    inverse = np.linalg.inv(np.linalg.cholesky(psi))
    rows = []
    for i in range(0, width, 2):
        pair = np.zeros((2, i + 2))
        part = inverse[i : i + 2, : i + 2]
        pair[: part.shape[0], : part.shape[1]] = part
        rows.append(pair.ravel())
    return np.concatenate([[np.linalg.slogdet(psi)[1]], mean, *rows])


def assert_kept_is_right(target, chain, error=1e-9):
    """For every cluster of a chain, in the slot that it says."""
    assert chain.holder[0] == -1
    assert sorted(chain.slots) == list(range(len(chain.slots)))
    for k in range(chain.n_clusters[0]):
        members = np.flatnonzero(chain.labels == k)
        for place in places_of(target):
            found = chain.kept[chain.slots[k], place.kept : place.kept + kept_width(place.width)]
            np.testing.assert_allclose(found, row_of_members(target, place, members), rtol=error, atol=error)


def overlapping(columns, rng):
    """Points in groups that overlap, under a prior of many clusters: births and deaths all the time."""
    data = rng.normal(0, 1, (N_POINTS, columns)) + 2.0 * rng.integers(0, 3, (N_POINTS, 1))
    component = cp.NormalInverseWishart(0.5, 0.2, columns + 1.0, np.eye(columns) + 0.2)
    return cp.Mixture(data, component, cp.DirichletProcess(6.0))


def two_column_groups(rng):
    data = rng.normal(0, 1, (N_POINTS, 6)) + 2.0 * rng.integers(0, 3, (N_POINTS, 1))
    data[:, 5] = data[:, 5] > 1.0
    first = cp.NormalInverseWishart(0.5, 0.2, 3.5, np.eye(3))
    second = cp.NormalInverseWishart(0.1, 1.5, 4.0, 0.5 * np.eye(2))
    parts = [([0, 1, 2], first), (5, cp.Bernoulli()), ([4, 3], second)]
    return cp.Mixture(data, cp.Columns(parts), cp.DirichletProcess(6.0))


TARGETS = {
    "one column": partial(overlapping, 1),
    "two columns": partial(overlapping, 2),
    "five columns": partial(overlapping, 5),
    "eighteen columns": partial(overlapping, 18),
    "two column groups": two_column_groups,
}


@pytest.mark.plain
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("split_merge", [0, 5])
def test_what_is_kept_is_right_after_every_step(name, split_merge, rng):
    """Births, deaths, moves between, splits and merges, fewer than it takes to a rebuilding."""
    target = TARGETS[name](rng)
    chain = chain_at(target, np.zeros(N_POINTS, dtype=np.int64))
    assert_kept_is_right(target, chain)
    random = stream(3, 1)
    seen = set()
    for _ in range(3 if JIT_DISABLED else 40):
        chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), split_merge)), chain, random, 1)
        assert_kept_is_right(target, chain)
        seen.add(int(chain.n_clusters[0]))
    assert len(seen) > 3 or JIT_DISABLED
    assert chain.age[0] > 0


@pytest.mark.plain
def test_what_is_kept_is_right_where_chains_grow_and_shrink(rng):
    """From singletons, and from one cluster to more than the first arrays hold."""
    n_points = 40
    data = 20.0 * np.arange(n_points)[:, None] + rng.normal(0, 1, (n_points, 2))
    component = cp.NormalInverseWishart(400.0, 0.001, 8.0, np.eye(2))
    target = cp.Mixture(data, component, cp.DirichletProcess(1e12))
    chain = chain_at(target, np.zeros(n_points, dtype=np.int64))
    capacity = len(chain.sizes)
    chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 3)), chain, stream(1, 1), 3)
    assert len(chain.sizes) > capacity
    assert_kept_is_right(target, chain, 1e-8)
    assert_kept_is_right(target, grown(chain), 1e-8)
    few = cp.Mixture(data[:, 1:], cp.NormalInverseWishart(0.0, 0.1, 3.0, [[1.0]]), cp.DirichletProcess(1.0))
    chain = advance_chain(
        few, BoundStep(cp.Step(cp.couplings.Independent(), 5)), chain_at(few, np.arange(n_points)), stream(1, 2), 5
    )
    assert chain.slots[: chain.n_clusters[0]].tolist() != list(range(chain.n_clusters[0]))
    assert_kept_is_right(few, grown(chain))


@pytest.mark.plain
@pytest.mark.parametrize("init", ["prior", "sequential"])
def test_what_is_kept_is_right_at_random_starts(init, rng):
    target = two_column_groups(rng)
    chain = start_chain(target, check_start(target, init), stream(4, 4))
    assert chain.n_clusters[0] > 1
    assert_kept_is_right(target, chain)


@pytest.mark.plain
def test_what_is_kept_is_rebuilt_at_a_fixed_rhythm(rng):
    target = two_column_groups(rng)
    chain = chain_at(target, np.arange(N_POINTS) % 3)
    chain.age[0] = SWEEPS_BETWEEN_REBUILDS - 2
    chain.kept[chain.slots[:3]] *= 1.0 + 1e-4  # a drift, much exaggerated
    chain = advance_chain(target, BoundStep(), chain, stream(0, 0), 1)
    with pytest.raises(AssertionError):
        assert_kept_is_right(target, chain)
    chain = advance_chain(target, BoundStep(), chain, stream(0, 0), 1)
    assert chain.age[0] == 0
    assert_kept_is_right(target, chain, 1e-12)


def test_what_is_kept_does_not_drift(rng):
    """2,000 sweeps with moves; a digit is lost between two rebuildings at most."""
    target = overlapping(5, rng)
    chain = chain_at(target, np.zeros(N_POINTS, dtype=np.int64))
    random = stream(0, 5)
    for _ in range(20):
        chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 3)), chain, random, 100)
        assert_kept_is_right(target, chain, 1e-11)


# --- two chains ------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("coupling", ["transport", "matched", "path"])
@pytest.mark.parametrize("name", ["two columns", "two column groups"])
def test_what_two_chains_keep_is_right(name, coupling, rng):
    target = TARGETS[name](rng)
    step = BoundStep(cp.Step(cp.couplings.Path(reach=N_POINTS) if coupling == "path" else small.COUPLINGS[coupling], 3))
    x, y = (chain_at(target, target.check_labels(one)) for one in (np.arange(N_POINTS), np.arange(N_POINTS) % 3))
    pair = couple(target, step.coupling, advance_chain(target, step, x, stream(7, 7), 1), y)
    count_pair(pair)
    random = stream(7, 1)
    for _ in range(2 if JIT_DISABLED else 25):
        pair = one_more(target, step, pair, random)
        assert_overlap_counts_are_right(target, pair)
        for chain in (pair.x, pair.y):
            assert_kept_is_right(target, chain)


@kernel(int64(Model, Hooks, Pair, Coupled, uint1, int64, int64))
def part_of_sweep(model, hooks, pair, coupled, random, first, last):
    """Go on with a sweep of two chains as a whole, over points from `first` to before `last`; return where it stops."""
    m, functions, p, r = model, hooks, pair, coupled.rule
    x, y = pair.x, pair.y
    if first == 0:
        sweeps.choose_phase(m, p, r)
    for n in range(first, last):
        room = min(len(pair.x.sizes), len(pair.y.sizes)) - max(pair.x.n_clusters[0], pair.y.n_clusters[0])
        if pair.phase[0] == PARTED:
            room = min(room, len(pair.x.sizes) - pair.shadow_x.n_clusters[0])
            room = min(room, len(pair.y.sizes) - pair.shadow_y.n_clusters[0])
        if room < 2:
            return n
        if pair.phase[0] == sweeps.TOGETHER:
            sweeps.step_together(m, functions, p, x, y, r, random, n)
        else:
            sweeps.step_parted(m, functions, p, x, y, r, random, n)
    return last


@pytest.mark.plain
@pytest.mark.parametrize("name", ["two columns", "two column groups"])
def test_shadows_keep_what_is_right_for_their_own_clusters(name, rng):
    """In the middle of sweeps of two chains as a whole, after they have parted; also if arrays grow then."""
    target = TARGETS[name](rng)
    coupling = cp.couplings.Path(reach=N_POINTS)
    step = BoundStep(cp.Step(coupling, 0))
    # Every third point is alone in both chains: where they part there, the shadow too takes it from its row and back.
    points = np.arange(N_POINTS)
    labels = target.check_labels(np.where(points % 3 == 0, 4 + points, points % 4))
    other = np.where(points % 9 == 8, labels[1], labels)  # points late in the sweep differ
    stride = 2 if JIT_DISABLED else 7
    checked = grown_in_between = 0
    for index in range(20 if JIT_DISABLED else 30):
        pair = couple(target, coupling, chain_at(target, labels), chain_at(target, target.check_labels(other)))
        count_pair(pair)
        coupled, random = step.coupled(target), stream(8, index)
        n = 0
        while n < N_POINTS:
            n = part_of_sweep(target.model, target.hooks, pair, coupled, random, n, min(n + stride, N_POINTS))
            if index % 2 or len(pair.x.sizes) - pair.x.n_clusters[0] < 3:
                pair = grown_pair(pair)
                grown_in_between += 1
            for chain in (pair.x, pair.y):
                assert_kept_is_right(target, chain)
            for shadow, ratio in ((pair.shadow_y, pair.ratios[0]), (pair.shadow_x, pair.ratios[1])):
                if pair.phase[0] == PARTED and ratio > 0.0:
                    assert shadow.labels.min() == 0
                    assert_kept_is_right(target, shadow)
                    checked += 1
    assert checked > 3
    assert grown_in_between > 3


@pytest.mark.plain
@pytest.mark.parametrize("name", ["two columns", "two column groups"])
@pytest.mark.parametrize("coupling", ["transport", "matched", "path"])
def test_pairs_meet_and_stay_together(name, coupling, rng):
    """Chains that have met came there on different ways, and number their clusters differently."""
    target = TARGETS[name](rng)
    step = BoundStep(cp.Step(small.COUPLINGS[coupling], 3))
    random = stream(6, 6)
    if JIT_DISABLED:
        pair = couple(target, step.coupling, *[chain_at(target, np.zeros(N_POINTS, dtype=np.int64)) for _ in range(2)])
        count_pair(pair)
    else:
        chains = [chain_at(target, target.start_labels(name)) for name in ("one_cluster", "singletons")]
        pair = couple(target, step.coupling, *chains)
        count_pair(pair)
        pair, steps = advance_pair(target, step, pair, random, 100_000)
        assert 0 < steps < 100_000
    # Other numbers for the same clusters, which are built in another order then.
    labels = pair.y.labels.copy()
    reset_chain(target.model, target.hooks, pair.y, rng.permutation(labels.max() + 1)[labels])
    count_pair(pair)
    for _ in range(3 if JIT_DISABLED else 100):
        assert pair.distance[0] == 0
        pair = one_more(target, step, pair, random)
    for chain in (pair.x, pair.y):
        assert_kept_is_right(target, chain)


# --- who holds the point at hand -------------------------------------------------------------------------------------


@kernel(void(Model, Hooks, Chain, int64, int64))
def put_into(model, hooks, chain, n, k):
    put_in(model, hooks, chain, n, k)


@pytest.mark.plain
def test_the_row_that_a_point_leaves_still_holds_it_until_it_is_placed(rng):
    target = overlapping(2, rng)
    labels = np.array([0, 1, 1, *[2 + n % 2 for n in range(N_POINTS - 3)]])
    chain = chain_at(target, labels)
    before = chain.kept.copy()

    def take(n):
        total = conditional_distribution(target.model, target.hooks, chain, n)
        assert total > 0.0
        return int(chain.holder[0])

    # Out of a cluster with others: its row holds the point, and nothing is touched if it goes back.
    assert take(1) == 1
    assert chain.sizes[1] == 1
    put_into(target.model, target.hooks, chain, 1, 1)
    assert chain.holder[0] == -1
    assert np.array_equal(chain.kept, before)
    # Alone in its cluster: the new cluster, which it may open again, takes over its slot.
    slot = chain.slots[0]
    assert take(0) == 3
    assert chain.n_clusters[0] == 3
    assert chain.slots[3] == slot
    put_into(target.model, target.hooks, chain, 0, 3)
    assert np.array_equal(chain.kept, before)
    assert_kept_is_right(target, chain)
    # To another cluster: both rows change, no other one does.
    k = int(chain.labels[5])
    other = 1 if k != 1 else 2
    rows = chain.slots[[k, other]].copy()
    assert take(5) == k
    put_into(target.model, target.hooks, chain, 5, other)
    changed = np.flatnonzero((chain.kept != before).any(axis=1))
    assert sorted(changed) == sorted(rows)
    assert_kept_is_right(target, chain)
    # A chain that is put elsewhere in between holds no point.
    take(5)
    reset_chain(target.model, target.hooks, chain, labels)
    assert_kept_is_right(target, chain)


@pytest.mark.plain
@pytest.mark.parametrize("twice", [False, True])
def test_a_point_far_out_is_let_go_before_it_is_placed(twice, rng):
    """Its row cannot tell what it would be without the point: it is built anew at once, and holds it no more."""
    data = rng.normal(0, 1, (8, 2))
    data[3] = 1e5
    component = cp.NormalInverseWishart(0.0, 0.2, 4.0, np.eye(2))
    if twice:  # where it is the second column group that notices
        data, component = np.hstack([data[::-1], data]), cp.Columns([([0, 1], component), ([2, 3], component)])
    target = cp.Mixture(data, component, cp.DirichletProcess(1.0))
    chain = chain_at(target, np.array([0, 0, 0, 0, 0, 1, 1, 1]))
    conditional_distribution(target.model, target.hooks, chain, 2)
    assert chain.holder[0] == 0
    put_into(target.model, target.hooks, chain, 2, 0)
    conditional_distribution(target.model, target.hooks, chain, 3)
    assert chain.holder[0] == -1
    place = places_of(target)[-1]
    found = chain.kept[chain.slots[0], place.kept : place.kept + kept_width(2)]
    np.testing.assert_allclose(found, row_of_members(target, place, [0, 1, 2, 4]), rtol=1e-12, atol=1e-12)
    put_into(target.model, target.hooks, chain, 3, 0)
    assert chain.holder[0] == -1
    assert_kept_is_right(target, chain, 1e-6)  # the twin takes the inverse of a matrix of condition 1e10


# --- targets of one's own --------------------------------------------------------------------------------------------
# Points of a cluster are uniform from 0 to a number that follows a Pareto distribution, from 1 on. What is kept is the
# largest.


@cp.kernels.begin_cluster
def begin_largest(model, chain, k):
    chain[0].kept[chain[0].slots[k], 0] = 0.0


@cp.kernels.enter_cluster
def enter_largest(model, chain, k, n):
    slot = chain[0].slots[k]
    chain[0].kept[slot, 0] = max(chain[0].kept[slot, 0], model[0].points[n, 0])


@cp.kernels.leave_cluster
def leave_largest(model, chain, k, n):
    return model[0].points[n, 0] >= chain[0].kept[chain[0].slots[k], 0]


@cp.kernels.log_predictive
def uniform_by_keeping(model, chain, n_choices, n):
    m, c = model[0], chain[0]
    x, shape = m.points[n, 0], m.parameters[0]
    holder = c.holder[0]
    if holder >= 0 and c.sizes[holder] > 0 and x >= c.kept[c.slots[holder], 0]:
        # The largest leaves: the others tell which one is the largest then.
        largest = 0.0
        for other in range(len(c.labels)):
            if c.labels[other] == holder:
                largest = max(largest, m.points[other, 0])
        c.kept[c.slots[holder], 0] = largest
        c.holder[0] = -1
    for k in range(n_choices):
        bound = max(1.0, c.kept[c.slots[k], 0]) if c.sizes[k] > 0 else 1.0
        total = shape + c.sizes[k]
        c.weights[k] = (
            math.log(total / (total + 1.0)) + total * math.log(bound) - (total + 1.0) * math.log(max(bound, x))
        )


@cp.kernels.log_predictive
def uniform_by_labels(model, chain, n_choices, n):
    """The same without anything kept; slow, and of no use for split-merge moves."""
    m, c = model[0], chain[0]
    x, shape = m.points[n, 0], m.parameters[0]
    for k in range(n_choices):
        bound = 1.0
        for other in range(len(c.labels)):
            if c.labels[other] == k:
                bound = max(bound, m.points[other, 0])
        total = shape + c.sizes[k]
        c.weights[k] = (
            math.log(total / (total + 1.0)) + total * math.log(bound) - (total + 1.0) * math.log(max(bound, x))
        )


LARGEST = cp.kernels.Keeping(begin_largest, enter_largest, leave_largest, width=1)


def uniform_cluster(data, shape):
    def log_cluster(members):
        bound, total = max([1.0, *[data[n] for n in members]]), shape + len(members)
        return math.log(shape / total) - total * math.log(bound)

    return log_cluster


def uniforms(data, **more):
    return cp.Target(
        np.asarray(data)[:, None],
        uniform_by_keeping,
        cp.DirichletProcess(0.8),
        parameters=[1.5],
        keeping=LARGEST,
        summed=0,
        **more,
    )


@pytest.mark.plain
def test_a_target_that_keeps_the_largest_has_the_distribution_of_its_density():
    data = [0.4, 3.0, 1.7, 3.0, 2.2]  # the largest twice, one below all bounds
    target = uniforms(data)
    assert target.model.n_summed == 0
    density = naive.Mixture(uniform_cluster(data, 1.5), partial(naive.process, alpha=0.8))
    for state in naive.all_partitions(5)[:: 5 if JIT_DISABLED else 1]:
        for n in range(5):
            expected = naive.conditional(density, state, n)
            np.testing.assert_allclose(cp.kernels.conditional(target, state, n), expected, rtol=1e-12)


@pytest.mark.plain
def test_a_target_that_keeps_goes_where_one_goes_that_does_not(rng):
    data = rng.uniform(0, 4, 12) ** 2
    keeping = uniforms(data)
    by_labels = cp.Target(data[:, None], uniform_by_labels, cp.DirichletProcess(0.8), parameters=[1.5])
    chains = [chain_at(target, np.arange(12)) for target in (keeping, by_labels)]
    of_both = [stream(2, 2) for _ in chains]
    for _ in range(3 if JIT_DISABLED else 200):
        chains = [
            advance_chain(target, BoundStep(), chain, random, 1)
            for target, chain, random in zip((keeping, by_labels), chains, of_both, strict=True)
        ]
        assert chains[0].labels.tolist() == chains[1].labels.tolist()
        for k in range(chains[0].n_clusters[0]):
            assert chains[0].kept[chains[0].slots[k], 0] == data[chains[0].labels == k].max()


def test_a_target_that_keeps_can_make_every_kind_of_step(rng):
    """Estimates with split-merge moves, coupled as a whole, against enumeration: within 4 standard errors."""
    data = [0.4, 3.0, 1.7, 3.0, 2.2]
    target = uniforms(data, exchangeable=True)
    assert objection_to_moves(target) == ""
    density = naive.Mixture(uniform_cluster(data, 1.5), partial(naive.process, alpha=0.8))
    states, distribution = naive.distribution(density, 5)
    exact = distribution @ np.array([len(set(state)) for state in states])
    e = cp.estimate(target, cp.n_clusters(), replicates=20_000, burn_in=0, min_sweeps=3, lag=1, split_merge=2, seed=1)
    assert abs(e.values.mean() - exact) <= 4 * e.values.std(ddof=1) / np.sqrt(len(e.values))


# --- who is called when ----------------------------------------------------------------------------------------------


@cp.kernels.begin_cluster
def count_begin(model, chain, k):
    chain[0].scratch[0] += 1.0
    chain[0].kept[chain[0].slots[k], 0] = 0.0


@cp.kernels.enter_cluster
def count_enter(model, chain, k, n):
    c = chain[0]
    c.scratch[1] += 1.0
    c.kept[c.slots[k], 0] += 1.0
    # Sizes and labels know the point already; where a row is built anew they know those before it.
    c.scratch[3] += c.sizes[k] != c.kept[c.slots[k], 0]


@cp.kernels.leave_cluster
def count_leave(model, chain, k, n):
    c = chain[0]
    c.scratch[2] += 1.0
    c.kept[c.slots[k], 0] -= 1.0
    c.scratch[3] += c.labels[n] == k
    return model[0].parameters[0] > 0.0


@cp.kernels.log_predictive
def of_nothing(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = 0.0


COUNTING = cp.kernels.Keeping(count_begin, count_enter, count_leave, width=1, scratch=4)


@kernel(void(Model, Hooks, Chain, int2))
def follow(model, hooks, chain, visits):
    """Take points out one after another and put each into a given cluster."""
    for row in range(len(visits)):
        take_out(model, chain, visits[row, 0])
        put_in(model, hooks, chain, visits[row, 0], visits[row, 1])


@pytest.mark.plain
@pytest.mark.parametrize("column_groups", [1, 2])
def test_a_row_that_lost_its_digits_is_built_anew(column_groups, rng):
    """A point far out leaves, and nobody has asked before what its row would be without it."""
    data = rng.normal(0, 1, (8, 2))
    data[3] = [1e9, -1e9]
    component = cp.NormalInverseWishart(0.0, 0.2, 4.0, np.eye(2))
    if column_groups == 2:  # and the other column group, which is asked after it, has lost none
        data, component = (
            np.hstack([data, data[[0, 1, 2, 4, 4, 5, 6, 7]]]),
            cp.Columns([([0, 1], component), ([2, 3], component)]),
        )
    target = cp.Mixture(data, component, cp.DirichletProcess(1.0))
    chain = chain_at(target, np.array([0, 0, 0, 0, 0, 1, 1, 1]))
    follow(target.model, target.hooks, chain, np.array([(3, 2), (2, 1), (2, 0)]))
    place = places_of(target)[0]
    found = chain.kept[chain.slots[0], place.kept : place.kept + kept_width(2)]
    np.testing.assert_allclose(found, row_of_members(target, place, [0, 1, 2, 4]), rtol=1e-11, atol=1e-11)


@pytest.mark.plain
@pytest.mark.parametrize("loses", [False, True])
def test_functions_are_called_for_points_that_move_and_for_no_others(loses, rng):
    target = cp.Target(np.zeros((9, 0)), of_nothing, cp.DirichletProcess(1.0), parameters=[loses], keeping=COUNTING)
    chain = chain_at(target, np.arange(9) % 3)
    assert chain.scratch.tolist() == [3.0, 9.0, 0.0, 0.0]
    chain.scratch[:] = 0.0
    labels = (np.arange(9) % 3).tolist()
    partition = naive.Labels(labels)
    begun = entered = left = 0
    visits = []
    for _ in range(60):
        n = int(rng.integers(9))
        home = next(members for members in partition.clusters if n in members)
        was_alone = len(home) == 1
        partition.take_out(n)
        k = int(rng.integers(len(partition.clusters) + 1))
        is_new = k == len(partition.clusters)
        goes_back = is_new if was_alone else not is_new and partition.clusters[k] is home
        partition.put_in(n, k)
        visits.append((n, k))
        if not goes_back:
            left += 1
            rebuilt = len(home) if loses and not was_alone else 0
            begun += is_new + (rebuilt > 0)
            entered += 1 + rebuilt
    follow(target.model, target.hooks, chain, np.array(visits))
    assert chain.labels.tolist() == partition.labels()
    assert chain.scratch.tolist() == [begun, entered, left, 0.0]
    assert left < 60
    for k, members in enumerate(partition.clusters):
        assert chain.kept[chain.slots[k], 0] == len(members)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cp.kernels.Keeping(print, enter_largest, leave_largest, 1),
            "begin must be a function decorated with copartition.kernels.begin_cluster, got <built-in function print>",
        ),
        (
            lambda: cp.kernels.Keeping(begin_largest, None, leave_largest, 1),
            "enter must be a function decorated .*, got None",
        ),
        (
            lambda: cp.kernels.Keeping(begin_largest, enter_largest, 3, 1),
            "leave must be a function decorated .*, got 3",
        ),
        (
            lambda: cp.kernels.Keeping(begin_largest, enter_largest, leave_largest, 0),
            "width must be a whole number of at least 1",
        ),
        (lambda: cp.kernels.Keeping(begin_largest, enter_largest, leave_largest, 1.5), "width must be a whole number"),
        (
            lambda: cp.kernels.Keeping(begin_largest, enter_largest, leave_largest, 1, -1),
            "scratch must be a whole number of at least 0, got -1",
        ),
        (
            lambda: cp.Target(np.zeros((2, 1)), uniform_by_keeping, summed=2),
            "summed must be at most the 1 columns of points, got 2",
        ),
        (lambda: cp.Target(np.zeros((2, 1)), uniform_by_keeping, summed=-1), "summed must be a whole number"),
        (lambda: cp.Target(np.zeros((2, 1)), uniform_by_keeping, keeping=(1, 2)), "keeping must be a Keeping, got"),
        (
            lambda: cp.kernels.Keeping(enter_largest, begin_largest, leave_largest, 1),
            "begin must be a function decorated with copartition.kernels.begin_cluster, got",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
