"""The coupling of whole sweeps: exact by enumeration, the kernels by counting, and pairs that met stay together."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at
from copartition.chains.start import advance_pair, couple
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.room import grown_pair
from copartition.core.steps import count_pair, reset_chain
from copartition.core.sweeps import PARTED, POINT_BY_POINT, TOGETHER
from plausible import (
    all_are_plausible,
    assert_overlap_counts_are_right,
    chi_square_is_plausible,
    four_points,
    mixture,
    one_more,
)


@pytest.mark.plain
@pytest.mark.parametrize("every", [29 if JIT_DISABLED else 7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["scalar", "bernoulli"])
def test_the_construction_has_the_right_marginals_and_is_maximal(name, every):
    """Exact, from pairs of partitions of four points.

    Distribution of x, symmetry of the meeting, no coupling is better.
    """
    target, density = four_points(name)
    states = naive.all_partitions(4)
    matrix = distributions.sweep_matrix(target, states)
    distribution_of_pair = functools.cache(functools.partial(naive.path_coupling_distribution, density))
    for (s, x), (r, y) in list(itertools.product(enumerate(states), repeat=2))[::every]:
        distribution, met = distribution_of_pair(x, y)
        assert np.abs(np.array([distribution.get(state, 0.0) for state in states]) - matrix[s]).max() < 1e-12
        _, back = distribution_of_pair(y, x)
        assert met <= np.minimum(matrix[s], matrix[r]).sum() + 1e-12
        if x == y:
            assert met == pytest.approx(1.0, abs=1e-12)
        if unambiguous(x, y):
            assert met == pytest.approx(back, abs=1e-12)


def unambiguous(x, y):
    """Whether clusters match in one way only, so that the order of the chains makes no difference."""
    shared = [len(set(a) & set(b)) for a in naive.clusters(x) for b in naive.clusters(y)]
    positive = [value for value in shared if value]
    return len(set(positive)) == len(positive)


@pytest.mark.parametrize("draws", [3_000, pytest.param(8_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["scalar", "bernoulli", "wishart"])
def test_kernels_meet_as_often_as_the_construction_says(name, draws):
    """So many sweeps from each of 225 pairs: false alarm 1e-7 for each of 452 counts, 3e-7 for each pair."""
    target, density = four_points(name)
    states = naive.all_partitions(4)
    matrix = distributions.sweep_matrix(target, states)
    codes = distributions.codes(states)
    from_x, from_y = np.zeros((2, len(states), len(states)))
    above, variance = 0.0, 0.0
    for (s, x), (r, y) in itertools.product(enumerate(states), repeat=2):
        of_x, of_y, met = distributions.counted_pair_steps(
            target, BoundStep(cp.Step(cp.couplings.Path(reach=4), 0)), x, y, stream(2, s, r), draws
        )
        assert chi_square_is_plausible(of_x[codes], matrix[s] * draws, 1e-7)
        assert chi_square_is_plausible(of_y[codes], matrix[r] * draws, 1e-7)
        from_x[s] += of_x[codes]
        from_y[r] += of_y[codes]
        if unambiguous(x, y):
            _, exact = naive.path_coupling_distribution(density, x, y)
            # Parted chains may still end in the same partition, by other names.
            deviation = np.sqrt(draws * exact * max(0.0, 1 - exact))
            assert met - draws * exact >= -5 * deviation - 1e-9
            above, variance = above + met - draws * exact, variance + deviation**2
    assert above >= -5 * np.sqrt(variance)
    for counts in (from_x, from_y):
        assert all_are_plausible(counts, matrix * draws * len(states), 1e-7)


@pytest.mark.parametrize("name", ["coloring", "diagonal"])
@pytest.mark.parametrize("coupling", ["matched", "path", "path_transport"])
@pytest.mark.parametrize("sweeps", [500_000, pytest.param(1_350_000, marks=pytest.mark.long)])
def test_coupled_sweeps_have_the_distribution_of_single_ones_from_every_pair_of_five_points(name, coupling, sweeps):
    """As many sweeps from each pair, so many in all; one test for each start of each chain and one for all of them.

    False alarm 1e-6 each.
    """
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    states = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    matrix = distributions.sweep_matrix(target, states)
    codes = distributions.codes(states)
    draws = sweeps // len(states) ** 2
    from_x, from_y = np.zeros((2, len(states), len(states)))
    for (s, x), (r, y) in itertools.product(enumerate(states), repeat=2):
        of_x, of_y, _ = distributions.counted_pair_steps(
            target, BoundStep(cp.Step(small.COUPLINGS[coupling], 0)), x, y, stream(7, s, r), draws
        )
        from_x[s] += of_x[codes]
        from_y[r] += of_y[codes]
    expected = matrix * draws * len(states)
    for counts in (from_x, from_y):
        assert all(chi_square_is_plausible(*one, 1e-6) for one in zip(counts, expected, strict=True))
        assert all_are_plausible(counts, expected, 1e-6)


@pytest.mark.plain
@pytest.mark.parametrize("coupling", ["matched", "path", "path_transport"])
@pytest.mark.parametrize("kind", ["mixture", "coloring"])
def test_pairs_that_have_met_stay_together(coupling, kind, rng):
    """Also if their clusters are numbered differently, and while clusters come and go."""
    n_points, sweeps = (8, 3) if JIT_DISABLED else (40, 300)
    split_merge = 0
    if kind == "mixture":
        target, _ = mixture(rng, n_points, alpha=4.0)
        split_merge = 3
    else:
        edges = np.argwhere(np.triu(rng.random((n_points, n_points)) < 0.1, 1))
        target = cp.GraphColoring(edges, colors=7, n_vertices=n_points)
    labels = target.check_labels(target.start_labels(target.default_start))
    pair = couple(target, small.COUPLINGS[coupling], *[chain_at(target, labels) for _ in range(2)])
    renumber(pair.y, rng)
    count_pair(pair)
    random = stream(6, 6)
    step = BoundStep(cp.Step(small.COUPLINGS[coupling], split_merge))
    for _ in range(sweeps):
        assert pair.distance[0] == 0
        pair = one_more(target, step, pair, random)
    assert len({*pair.x.labels.tolist()}) > 1


def renumber(chain, rng):
    """Give the clusters of a chain other numbers."""
    rows = chain.n_clusters[0]
    new = rng.permutation(rows)
    chain.labels[:] = new[chain.labels]
    for array in (chain.sizes, chain.sums):
        array[new] = array[:rows].copy()


@pytest.mark.plain
def test_overlaps_stay_right_while_chains_grow_in_the_middle_of_a_sweep(rng):
    n_points = 12 if JIT_DISABLED else 40
    data = np.arange(n_points) * 3.0
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=100.0), cp.DirichletProcess(30.0))
    x, y = (target.check_labels(np.arange(n_points) // size) for size in (n_points, 5))
    pair = couple(target, cp.couplings.Path(), chain_at(target, x), chain_at(target, y))
    count_pair(pair)
    random = stream(1, 1)
    before = len(pair.x.sizes)
    for _ in range(2 if JIT_DISABLED else 40):
        pair, _ = advance_pair(target, BoundStep(cp.Step(cp.couplings.Path(), 4)), pair, random, 1)
        assert_overlap_counts_are_right(target, pair)
    assert len(pair.x.sizes) > before or JIT_DISABLED


@pytest.mark.parametrize("coupling", ["matched", "path", "path_transport"])
def test_chains_that_grow_in_the_middle_of_a_sweep_go_where_roomy_ones_go(monkeypatch, coupling):
    """Pairs with some 16 clusters, as many as their arrays hold at first: together, parted, with shadows or without."""
    data = np.repeat(np.arange(12) * 4.0, 3) + np.tile([-0.5, 0.0, 0.5], 12)
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=30.0), cp.DirichletProcess(20.0))
    first, second = np.repeat(np.arange(12), 3), np.repeat(np.arange(12), 3)
    second[[1, 7]] = 12, 13
    couplings = {
        "matched": cp.couplings.Matched(),
        "path": cp.couplings.Path(36),
        "path_transport": cp.couplings.Path(36, base="transport"),
    }
    step = BoundStep(cp.Step(couplings[coupling], 0))
    grown = []

    def grown_and_noted(pair):
        grown.append((int(pair.phase[0]), *(pair.ratios > 0)))
        return grown_pair(pair)

    monkeypatch.setattr("copartition.chains.start.grown_pair", grown_and_noted)
    for index in range(300):
        labels = [target.check_labels(one) for one in ((first, second), (second, first))[index % 2]]
        small_chains = [chain_at(target, one) for one in labels]
        roomy_chains = [chain_at(target, np.arange(36)) for _ in labels]
        for chain, one in zip(roomy_chains, labels, strict=True):
            reset_chain(target.model, target.hooks, chain, one)
        ends = []
        for chains in (small_chains, roomy_chains):
            pair = couple(target, step.coupling, *chains)
            count_pair(pair)
            random = stream(1, index)
            pair, made = advance_pair(target, step, pair, random, 3)
            ends.append([pair.x.labels.tolist(), pair.y.labels.tolist(), int(pair.distance[0]), made, random.tolist()])
            assert_overlap_counts_are_right(target, pair)
        assert ends[0] == ends[1]
    phases = {phase for phase, *_ in grown}
    if coupling == "matched":
        assert phases == {POINT_BY_POINT}
    else:
        assert phases == {TOGETHER, PARTED}
        assert {(PARTED, True, False), (PARTED, False, True)} < {*grown}


def test_how_far_whole_sweeps_reach():
    assert [cp.couplings.Path().reach_for(n) for n in (5, 25, 1000)] == [2, 12, 100]
    assert cp.couplings.Path(reach=20).reach_for(5) == 20
    assert repr(cp.couplings.Path(reach=20, nugget=0.1)) == "Path(reach=20, nugget=0.1)"
    with pytest.raises((ValueError, TypeError), match="reach must be"):
        cp.couplings.Path(reach=-1)
    with pytest.raises(ValueError, match="base must be 'matched' or 'transport', got 'maximal'"):
        cp.couplings.Path(base="maximal")


@pytest.mark.plain
def test_points_of_colourings_are_coupled_by_transport():
    coloring, _ = small.coloring()
    assert repr(cp.couplings.Path(reach=3).suited(coloring.model.palette)) == "Path(reach=3, base='transport')"
    assert cp.meeting_times(coloring, replicates=2).coupling == "Transport()"  # what is cheapest there
    assert cp.meeting_times(coloring, replicates=2, coupling="path").coupling == "Path(base='transport')"
    assert repr(cp.couplings.Path(base="matched").suited(coloring.model.palette)) == "Path(base='matched')"
    assert repr(cp.couplings.Path().suited(0)) == "Path()"


def test_whole_sweeps_meet_sooner_from_nearby(rng):
    """From pairs that differ in a few points of 60, one sweep as a whole meets more often than point by point."""
    target, _ = mixture(rng, 60)
    labels = target.check_labels(np.arange(60) % 3)
    met = {}
    for coupling in ("transport", "path"):
        other = np.array(labels)
        other[[3, 17, 41]] = (other[[3, 17, 41]] + 1) % 3
        met[coupling] = meetings(target, small.COUPLINGS[coupling], labels, other)
    assert met["path"] > 1.2 * met["transport"] + 100


def meetings(target, coupling, x, y):
    met = 0
    for index in range(2000):
        pair = couple(target, coupling, chain_at(target, np.array(x)), chain_at(target, np.array(y)))
        count_pair(pair)
        pair, _ = advance_pair(target, BoundStep(cp.Step(coupling, 0)), pair, stream(3, index), 1)
        met += pair.distance[0] == 0
    return met
