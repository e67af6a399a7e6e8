"""Split-merge moves: reversible by exact enumeration, compiled moves against their twin, distributions of steps."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep
from copartition.core import split_merge
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.steps import reset_chain
from copartition.core.types import float1, int1, int64, void
from copartition.runs.defaults import choose_split_merge, read_step
from densities import log_merge_kernel
from exact_moves import log_posterior
from plausible import (
    MIXTURES,
    WITH_LOG_MERGE,
    all_are_plausible,
    assert_chain_is_right,
    chi_square_is_plausible,
    four_points,
    move_kernel,
    room_for,
)


def distribution_of(density, n_points=5):
    states, distribution = naive.distribution(density, n_points)
    return states, distribution


# --- the move itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scalar", "bernoulli", "mixed"])
def test_moves_are_reversible_for_every_order(name):
    """Exact: the flow from each partition to each other is the flow back, for orders of all kinds of five points."""
    _, density = small.TARGETS[name]()
    states, distribution = distribution_of(density)
    for order in list(permutations(range(5)))[::17]:
        flow = distribution[:, None] * naive.split_merge_matrix(density, states, order)
        assert np.abs(flow.sum(axis=1) - distribution).max() < 1e-12
        assert np.abs(flow - flow.T).max() < 1e-12


GUIDES = [(0, 0, 1, 1, 2), (0, 1, 1, 0, 0), (0, 0, 0, 1, 1)]


@pytest.mark.parametrize("name", ["scalar", "mixed"])
def test_guided_moves_are_reversible(name):
    """Exact, whatever the guides say."""
    _, density = small.TARGETS[name]()
    states, distribution = distribution_of(density)
    for order in list(permutations(range(5)))[::31]:
        matrix = naive.split_merge_matrix(density, states, order, guides=GUIDES)
        flow = distribution[:, None] * matrix
        assert np.abs(flow.sum(axis=1) - distribution).max() < 1e-12
        assert np.abs(flow - flow.T).max() < 1e-12
        assert np.abs(matrix - naive.split_merge_matrix(density, states, order)).max() > 0.01  # they do say something


def test_a_wrong_acceptance_ratio_is_not_reversible():
    _, density = small.scalar()
    states, distribution = distribution_of(density)
    flow = distribution[:, None] * naive.split_merge_matrix(density, states, range(5), log_error=0.05)
    assert np.abs(flow.sum(axis=0) - distribution).max() > 1e-4


def by_certainty(density, order, i, j):
    """The points in the order of how much they prefer one of two points to the other, the most certain first."""

    def certainty(n):
        given = [density.log_cluster([first, n]) - density.log_cluster([first]) for first in (i, j)]
        return abs(given[0] - given[1])

    return sorted((n for n in order if n not in (i, j)), key=certainty, reverse=True)


# Of yes and no several points are equally certain: their order is not determined.
@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "certain", "guides"),
    [(n, 0, ()) for n in MIXTURES] + [(n, 1, ()) for n in WITH_LOG_MERGE] + [(n, 0, GUIDES) for n in MIXTURES],
)
@pytest.mark.parametrize("moves_made", [40 if JIT_DISABLED else 400, pytest.param(3000, marks=pytest.mark.long)])
def test_compiled_moves_are_those_of_the_twin(name, certain, guides, moves_made, rng):
    """The same random numbers lead to the same partition, from all partitions; both kinds of move are accepted.

    Of the splits of some targets few are refused: many moves have one of these.
    """
    target, density = small.TARGETS[name]()
    states = naive.all_partitions(5)
    room = room_for(target, guides)._replace(by_certainty=certain)
    outcomes = {True: set(), False: set()}
    for count in range(moves_made):
        state = states[count % len(states)]
        i, j = (int(n) for n in rng.choice(5, 2, replace=False))
        u, key = rng.random(), rng.integers(0, 2**64, dtype=np.uint64)
        room.order[:] = rng.permutation(5)
        chain = chain_at(target, np.array(state))
        accepted = move_kernel(target.model, target.hooks, chain, room, i, j, u, key)
        uniforms = [naive.uniform_of(key, n) for n in range(5)]
        order = room.order.tolist()
        order = by_certainty(density, order, i, j) if certain else order
        expected = naive.split_merge(density, state, i, j, u, order, uniforms, guides)
        assert naive.canonical(chain.labels.tolist()) == expected
        outcomes[state[i] == state[j]].add(int(accepted))
        assert_chain_is_right(target, chain)
    if moves_made >= 400:
        assert outcomes[False] == {0, 1}
        assert 1 in outcomes[True]
    if moves_made >= 3000:
        assert outcomes[True] == {0, 1}


@pytest.mark.plain
@pytest.mark.parametrize("name", WITH_LOG_MERGE)
def test_log_merge_is_the_ratio_of_densities(name):
    target, density = small.TARGETS[name]()
    for state in naive.all_partitions(5):
        chain = chain_at(target, np.array(state))
        for a, b in combinations(naive.clusters(state), 2):
            exact = density.log_cluster(a + b) - density.log_cluster(a) - density.log_cluster(b)
            found = log_merge_kernel(target.model, target.hooks, chain, state[a[0]], state[b[0]])
            assert found == pytest.approx(exact, abs=1e-9)


@pytest.mark.plain
def test_log_merge_loses_no_digits_far_from_the_prior_mean():
    """Clusters a million noise sds away: the formula against rational arithmetic."""
    from fractions import Fraction
    from math import log

    data = np.array([1e6, 1e6 + 1, 1e6 + 3, 1e6 + 4.5])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1e6), cp.DirichletProcess(1.0))
    chain = chain_at(target, np.array([0, 0, 1, 1]))
    kappa, s, t = Fraction(1, 10**12), Fraction(2 * 10**6 + 1), Fraction(2 * 10**6) + Fraction(15, 2)
    exponent = (s + t) ** 2 / (kappa + 4) - s**2 / (kappa + 2) - t**2 / (kappa + 2)
    exact = float(exponent) / 2 + (2 * log(2 + 1e-12) - log(4 + 1e-12) - log(1e-12)) / 2
    assert log_merge_kernel(target.model, target.hooks, chain, 0, 1) == pytest.approx(exact, abs=1e-6)


# --- whole steps -----------------------------------------------------------------------------------------------------


def step_matrix(target, density, states, count):
    """Exact matrix of a sweep and `count` moves, which share a random order."""
    orders = list(permutations(range(target.n_points)))
    moved = sum(np.linalg.matrix_power(naive.split_merge_matrix(density, states, order), count) for order in orders)
    return distributions.sweep_matrix(target, states) @ (moved / len(orders))


@pytest.mark.parametrize("name", ["scalar", "bernoulli", "wishart"])
def test_a_step_has_its_exact_distribution_and_leaves_the_target_invariant(name):
    """400,000 steps from four partitions of four points, one and three moves: false alarm 1e-5 each."""
    target, density = four_points(name)
    states, distribution = distribution_of(density, 4)
    for count in (1, 3):
        matrix = step_matrix(target, density, states, count)
        assert np.abs(distribution @ matrix - distribution).max() < 1e-12
        for s in (0, 3, 8, 14):
            draws = 100_000
            counts = distributions.counted_steps(target, states[s], count, stream(5, s), draws)[
                distributions.codes(states)
            ]
            assert counts.sum() == draws
            assert chi_square_is_plausible(counts, matrix[s] * draws, 1e-5)


@cp.kernels.log_merge
def wrong_log_merge(model, chain, a, b):
    return 0.3


def test_the_test_of_steps_fails_with_a_wrong_acceptance_ratio():
    target, density = four_points("bernoulli")
    wrong = cp.Target(
        target.model.points,
        target.hooks.log_predictive,
        target.prior,
        parameters=target.model.parameters,
        log_merge=wrong_log_merge,
    )
    states, _ = distribution_of(density, 4)
    matrix = step_matrix(target, density, states, 1)
    counts = distributions.counted_steps(wrong, states[3], 1, stream(5, 3), 250_000)[distributions.codes(states)]
    assert not chi_square_is_plausible(counts, matrix[3] * 250_000, 1e-5)


class EveryThird:
    """A prior whose weight of a new cluster depends on how many there are."""

    def log_size(self, n_points):
        return np.log(np.maximum(np.arange(n_points + 1.0) - 0.4, 1e-300))

    def log_new(self, n_points):
        return np.log(0.7 + 0.4 * np.arange(n_points + 1.0))


def test_priors_by_number_of_clusters_are_respected():
    """A Pitman-Yor prior alone: a long chain of moves and sweeps agrees with its exact distribution.

    False alarm 1e-5.
    """
    data = np.zeros((4, 1))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1e-6), EveryThird())
    states = naive.all_partitions(4)
    weights = np.array([pitman_yor(state) for state in states])
    distribution = weights / weights.sum()
    # Independent draws: 50 steps from each start are far more than it takes to forget it.
    counts = np.zeros(len(states))
    number = {state: s for s, state in enumerate(states)}
    random = stream(3, 3)
    chain = chain_at(target, np.zeros(4, dtype=np.int64))
    for _ in range(20_000):
        chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 2)), chain, random, 20)
        counts[number[naive.canonical(chain.labels.tolist())]] += 1
    assert chi_square_is_plausible(counts, distribution * counts.sum(), 1e-5)


def pitman_yor(state):
    weight = 1.0
    for k, members in enumerate(naive.clusters(state)):
        weight *= 0.7 + 0.4 * k
        weight *= np.prod([size - 0.4 for size in range(1, len(members))])
    return weight


# --- two chains ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "coupling"),
    [*product(["scalar", "bernoulli"], ["transport", "matched", "path"]), ("wishart", "path")],
)
@pytest.mark.parametrize("draws", [1000, pytest.param(6000, marks=pytest.mark.long)])
def test_coupled_steps_have_the_distribution_of_single_ones_from_every_pair(name, coupling, draws):
    """Coupled steps with two moves, so many from each of 225 pairs: false alarm 1e-6 for each of 452 counts."""
    target, density = four_points(name)
    states, _ = distribution_of(density, 4)
    matrix = step_matrix(target, density, states, 2)
    codes = distributions.codes(states)
    from_x, from_y = np.zeros((2, len(states), len(states)))
    for (s, x), (r, y) in ((a, b) for a in enumerate(states) for b in enumerate(states)):
        random = stream(9, s, r)
        of_x, of_y, met = distributions.counted_pair_steps(
            target, BoundStep(cp.Step(small.COUPLINGS[coupling], 2)), x, y, random, draws
        )
        assert chi_square_is_plausible(of_x[codes], matrix[s] * draws, 1e-6)
        assert chi_square_is_plausible(of_y[codes], matrix[r] * draws, 1e-6)
        assert met == draws or s != r
        from_x[s] += of_x[codes]
        from_y[r] += of_y[codes]
    for counts in (from_x, from_y):
        assert all_are_plausible(counts, matrix * draws * len(states), 1e-6)


# --- arguments -------------------------------------------------------------------------------------------------------


def test_targets_without_a_density_for_growing_clusters_are_refused():
    coloring, _ = small.coloring()
    for call in (
        lambda: cp.meeting_times(coloring, split_merge=2),
        lambda: cp.sample(coloring, cp.n_clusters(), split_merge=1),
        lambda: cp.estimate(coloring, cp.n_clusters(), split_merge=1),
    ):
        with pytest.raises(ValueError, match=r"split_merge must be 0 for GraphColoring.* made with exchangeable=True"):
            call()
    assert choose_split_merge(coloring, "auto") == 0
    target, _ = small.scalar()
    with pytest.raises(ValueError, match="split_merge must be a whole number or 'auto', got 'many'"):
        cp.meeting_times(target, split_merge="many")
    with pytest.raises((ValueError, TypeError), match="split_merge must be"):
        cp.meeting_times(target, split_merge=-1)


@pytest.mark.plain
def test_what_is_left_out_depends_on_whether_a_coupling_is_named():
    target, _ = small.scalar()
    step = read_step(target)
    assert repr(step.coupling) == "Path()"
    assert step.split_merge >= 1
    assert read_step(target, coupling="transport").split_merge == 0
    assert read_step(target, coupling="transport", split_merge=5).split_merge == 5
    assert repr(read_step(target, split_merge=5).coupling) == "Path()"


def test_auto_takes_few_moves_where_they_are_dear(rng):
    """One large cluster, every move deals out all points, against many small ones."""
    one = cp.Mixture(rng.normal(0, 1, (100, 1)), cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(0.01))
    spread = np.repeat(np.arange(25.0) * 100, 4)[:, None] + rng.normal(0, 1, (100, 1))
    many = cp.Mixture(spread, cp.Gaussian(noise_sd=1.0, mean_sd=1000.0), cp.DirichletProcess(1.0))
    assert choose_split_merge(one, "auto") == 1
    assert choose_split_merge(many, "auto") > 5
    assert choose_split_merge(many, "auto") == choose_split_merge(many, "auto")


@pytest.mark.plain
def test_auto_asks_for_the_promise_of_each_target():
    """Two targets that differ in nothing but their promise: what was chosen for one is not taken for the other."""
    target, _ = small.bernoulli()
    parts = (target.model.points, target.hooks.log_predictive, target.prior)
    promised, silent = (
        cp.Target(*parts, parameters=target.model.parameters, exchangeable=promise) for promise in (True, False)
    )
    assert choose_split_merge(promised, "auto") > 0
    assert choose_split_merge(silent, "auto") == 0


@pytest.mark.plain
def test_a_target_of_your_own_opts_in(rng):
    target, _ = small.bernoulli()
    own = cp.Target(target.model.points, target.hooks.log_predictive, target.prior, parameters=target.model.parameters)
    with pytest.raises(ValueError, match="split_merge must be 0"):
        cp.sample(own, cp.n_clusters(), split_merge=1)
    own = cp.Target(
        target.model.points,
        target.hooks.log_predictive,
        target.prior,
        parameters=target.model.parameters,
        exchangeable=True,
    )
    sweeps = 5 if JIT_DISABLED else 200
    same = [
        cp.sample(t, cp.n_clusters(), split_merge=3, sweeps=sweeps, burn_in=0, chains=1).draws for t in (own, target)
    ]
    assert np.array_equal(*same)


@pytest.mark.plain
def test_one_point_has_no_moves():
    target = cp.Mixture([1.0], cp.Gaussian(noise_sd=1.0, mean_sd=1.0), cp.DirichletProcess(1.0))
    assert cp.sample(target, cp.n_clusters(), split_merge=3, sweeps=5, burn_in=0, chains=1).draws.max() == 1.0


@cp.kernels.log_predictive
def fails_when_growing(model, chain, n_choices, n):
    """Not a number for clusters of one of the points that are tried and one that is not."""
    for k in range(n_choices):
        is_odd = chain[0].sizes[k] == 1 and chain[0].sums[k, 0] == 3.0
        chain[0].weights[k] = np.nan if is_odd and chain[0].sizes[2] == 2 else 0.0


@pytest.mark.plain
def test_a_density_that_is_not_a_number_is_reported():
    points = np.arange(12.0)[:, None]
    target = cp.Target(points, fails_when_growing, cp.DirichletProcess(0.01), exchangeable=True)
    with pytest.raises(ValueError, match="NaN or plus infinity"):
        cp.sample(target, cp.n_clusters(), split_merge=20, sweeps=500, burn_in=0, chains=1)


@cp.kernels.log_predictive
def looks_at_labels(model, chain, n_choices, n):
    """As a network would: likelier with a neighbour."""
    for k in range(n_choices):
        together = n > 0 and chain[0].labels[n - 1] == k
        chain[0].weights[k] = 1.0 if together or (n < 5 and chain[0].labels[n + 1] == k) else 0.0


@cp.kernels.log_predictive
def likes_small_numbers_first(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = 0.1 * n * chain[0].sizes[k]


@pytest.mark.plain
@pytest.mark.parametrize("function", [looks_at_labels, likes_small_numbers_first])
def test_a_promise_that_does_not_hold_is_found_out(function):
    class Broken(cp.kernels.Component):
        def prepare(self, data):
            return cp.kernels.Prepared(function, points=np.zeros((6, 1)))

    target = cp.Mixture(np.arange(6.0), Broken(), cp.DirichletProcess(1.0))
    with pytest.raises(ValueError, match=r"split_merge must be 0 for Mixture.*by their sizes and sums alone, or"):
        cp.sample(target, cp.n_clusters(), split_merge=1)
    assert choose_split_merge(target, "auto") == 0


@pytest.mark.plain
def test_chains_grow_between_moves(rng):
    """Splits into dozens of clusters: arrays are replaced between two moves, and nothing changes."""
    n_points = 40
    target = cp.Mixture(
        np.arange(n_points) * 100.0, cp.Gaussian(noise_sd=1.0, mean_sd=1000.0), cp.DirichletProcess(1.0)
    )
    small_chain, large = (chain_at(target, np.arange(size)[np.arange(40) % size]) for size in (12, 40))
    reset_chain(target.model, target.hooks, large, np.arange(12)[np.arange(40) % 12])
    results = [
        advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 30)), chain, stream(4, 4), 3)
        for chain in (small_chain, large)
    ]
    assert results[0].n_clusters[0] > 16
    assert results[0].labels.tolist() == results[1].labels.tolist()


# --- real data -------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_long_chains_with_and_without_moves_agree_on_the_rna_seq_data(rna_seq):
    """Shares of the five largest clusters, their number and the log posterior, within 4 standard errors."""
    target = cp.Mixture(rna_seq, cp.Gaussian(noise_sd=1.3, mean_sd=0.5), cp.DirichletProcess(1.0))
    own = cp.kernels.Functional("log_posterior", log_posterior, 1, [rna_seq.shape[1]])
    for h in (cp.largest_clusters(5), cp.n_clusters(), own):
        plain, moved = (
            cp.sample(target, h, split_merge=count, sweeps=15_000, burn_in=2_000, chains=4, seed=count)
            for count in (0, 10)
        )
        assert np.all(np.abs(plain.mean - moved.mean) <= 4 * np.hypot(plain.stderr, moved.stderr))


@kernel(void(float1, int1, int64))
def sort_kernel(certainty, members, count):
    split_merge.sort_by_certainty(certainty, members, count)


@pytest.mark.plain
def test_members_are_sorted_by_certainty(rng):
    for count in [0, 1, 2, 3, 10, 57]:
        certainty, members = rng.permutation(60).astype(float), np.arange(60)
        expected = sorted(range(count), key=lambda n: -certainty[n])
        sort_kernel(certainty, members, count)
        assert members[:count].tolist() == expected
        assert members[count:].tolist() == list(range(count, 60))


def test_points_of_many_columns_are_dealt_out_by_certainty(rng):
    few, many = (cp.Mixture(rng.normal(size=(5, d)), cp.Gaussian(1.0, 1.0)) for d in (19, 20))
    assert room_for(few).by_certainty == 0
    assert room_for(many).by_certainty == 1
