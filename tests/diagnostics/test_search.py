"""The search for a consensus: every step against differences of losses, the whole against all partitions."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import naive
from conftest import JIT_DISABLED
from copartition import datasets
from copartition.core.compiling import kernel
from copartition.core.random import stream
from copartition.core.types import float1, int1, uint1, void
from copartition.diagnostics.search import climb, from_draws, from_similarity, state
from copartition.diagnostics.search import draws as draws_module
from copartition.diagnostics.search import similarity as similarity_module

KINDS = ["binder", "vi"]
AGAINST = ["similarity", "draws"]
MOVE, DISSOLVE, SPLIT, TAKE_OUT, PUT_IN = range(5)


@kernel(void(state.Problem, state.Loss, state.Place, int1, uint1))
def step(problem, loss, place, what, random):
    """Do what ``what[0]`` says to ``what[1]`` and ``what[2]``."""
    known, functions, s = problem, loss, place
    if what[0] == 0:
        state.move(known, functions, s, what[1], what[2])
    elif what[0] == 1:
        state.dissolve(known, functions, s, what[1], what[2])
    elif what[0] == 2:
        climb.split(known, functions, s, what[1], random)
    elif what[0] == 3:
        state.take_out(known, functions, s, what[1])
    else:
        state.put_in(known, functions, s, what[1], what[2])


@kernel(void(state.Problem, state.Loss, state.Place, int1, float1))
def look(problem, loss, place, at, out):
    """Weigh point ``at[0]``; write its cost in cluster ``at[1]``, what merging at[1] and at[2] costs, and `apart`."""
    known, s = problem, place
    loss.weigh(known, s, at[0])
    out[0] = loss.cost(known, s, at[0], at[1])
    if at[2] >= 0:
        out[1] = loss.merging(known, s, at[1], at[2])
    out[2] = loss.apart(known, at[0], at[3])


def posterior(rng, count, draws, labels):
    """Random draws of which neighbours resemble each other."""
    base = rng.integers(0, labels, count)
    rows = np.where(rng.random((draws, count)) < 0.35, rng.integers(0, labels, (draws, count)), base)
    return rows, rng.dirichlet(np.ones(draws))


def problem_of(against, loss, rows, weights):
    """The problem, the loss as the search knows it, and the total, not divided by anything."""
    rows = np.array([cp.partition.canonical(row) for row in rows], dtype=np.int32)
    count = rows.shape[1]
    similarity = naive.similarity(rows, weights)
    g = state.tables(loss, count)
    if against == "draws":
        problem = state.Problem(np.zeros((0, 0)), *draws_module._cells(rows, weights), *g)
        scale = count if loss == "vi" else 2
        return (
            problem,
            draws_module.LOSS,
            lambda labels: scale * naive.mean_loss(loss, rows, weights, labels),
            similarity,
        )
    problem = state.Problem(similarity, np.zeros((0, 0), dtype=np.int32), np.zeros(0), *g)
    scale = count if loss == "vi" else 1
    functions = similarity_module.LOSSES[loss]
    return problem, functions, lambda labels: scale * naive.similarity_loss(loss, similarity, labels), similarity


def check_place(problem, place):
    """What is kept is what the labels say."""
    count, n_clusters = len(place.labels), place.n_clusters[0]
    assert np.array_equal(place.members[place.position], np.arange(count))
    for k in range(n_clusters):
        members = place.members[place.first[k] : place.first[k + 1]]
        assert sorted(members) == np.flatnonzero(place.labels == k).tolist()
        assert place.sizes[k] == len(members)
        if len(problem.p):
            np.testing.assert_allclose(place.sums[k], problem.p[:, members].sum(axis=1), atol=1e-12)
            np.testing.assert_allclose(place.inverse[members], 1 / place.sums[k, members])
            assert place.largest[k] == place.inverse[members].max(initial=0)
        else:
            cells = problem.cells[members].ravel()
            assert np.array_equal(place.common[:, k], np.bincount(cells, minlength=len(place.common)))
    assert place.first[n_clusters] == np.sum(place.labels >= 0)
    assert not place.sums[n_clusters:].any()
    assert not place.common[:, n_clusters:].any()


@pytest.mark.plain
@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("loss", KINDS)
def test_what_a_step_costs_is_the_difference_of_losses(against, loss, rng):
    rows, weights = posterior(rng, 14, 5, 4)
    problem, functions, total, similarity = problem_of(against, loss, rows, weights)
    place = state.empty_place(problem, 14, 14)
    climb.fill(problem, functions, place, rng.integers(0, 4, 14))
    for number in range(20 if JIT_DISABLED else 60):
        check_place(problem, place)
        n_clusters, labels = place.n_clusters[0], place.labels.copy()
        i, j = rng.choice(14, 2, replace=False)
        now, out = total(labels), np.zeros(3)
        costs, changes = [], []
        for k in range(min(n_clusters + 1, 14)):
            other = (k + 1) % n_clusters if k < n_clusters and n_clusters > 1 else -1
            look(problem, functions, place, np.array([i, k, other, j]), out)
            costs.append(out[0])
            changes.append(total(np.where(np.arange(14) == i, k, labels)) - now)
            if other >= 0:
                assert out[1] == pytest.approx(total(np.where(labels == k, other, labels)) - now, abs=1e-9)
            assert out[2] == pytest.approx(1 - similarity[i, j], abs=1e-12)
        np.testing.assert_allclose(np.array(costs) - costs[labels[i]], changes, atol=1e-9)
        given = place.costs[: len(costs)]
        assert np.all((np.abs(given - costs) < 1e-9) | (np.isinf(given) & (np.array(costs) >= min(costs))))
        step(problem, functions, place, np.array([MOVE, i, rng.integers(len(costs))]), stream(number))
        if number % 5 == 0 and place.n_clusters[0] > 2:
            a, b = rng.choice(place.n_clusters[0], 2, replace=False)
            expected = naive.canonical(np.where(place.labels == a, b, place.labels))
            step(problem, functions, place, np.array([DISSOLVE, a, b]), stream(number))
            assert naive.canonical(place.labels) == expected
        k = int(np.argmax(place.sizes))
        if number % 3 == 0 and place.n_clusters[0] < 14:
            before, count = place.labels.copy(), place.n_clusters[0]
            step(problem, functions, place, np.array([SPLIT, k, 0]), stream(number))
            if place.n_clusters[0] > count:
                assert total(place.labels) < total(before)
            else:
                assert np.array_equal(place.labels, before)


@pytest.mark.plain
@pytest.mark.parametrize("against", AGAINST)
def test_points_come_and_go_where_clusters_are_empty(against, rng):
    """A past mistake: an empty cluster handed on the seat of a point that had left it."""
    rows, weights = posterior(rng, 12, 4, 3)
    problem, functions, _, _ = problem_of(against, "vi", rows, weights)
    for number in range(20):
        place = state.empty_place(problem, 8, 12)
        climb.fill(problem, functions, place, rng.permutation([-1, -1, -1, 5, 5, 4, 3, 2, 1, 0, 0, 2]))
        check_place(problem, place)
        for i in rng.permutation(12):
            what = [PUT_IN, i, rng.integers(6)] if place.labels[i] < 0 else [TAKE_OUT, i, 0]
            step(problem, functions, place, np.array(what), stream(number))
            check_place(problem, place)


@pytest.mark.plain
@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("loss", KINDS)
@pytest.mark.parametrize("enumerate_all", [True, False])
def test_random_posteriors_are_minimised_exactly(against, loss, enumerate_all, monkeypatch, rng):
    """The minimum over all partitions of 3 to 8 points, and by the search alone; the losses are those of the twin."""
    if not enumerate_all:
        monkeypatch.setattr(draws_module, "ALL_OF", 0)
        monkeypatch.setattr(similarity_module, "ALL_OF", 0)
    for number in range(4 if JIT_DISABLED else 12):
        count = int(rng.integers(3, 6 if JIT_DISABLED else 8 + (number == 0)))
        rows, weights = posterior(rng, count, int(rng.integers(1, 8)), int(rng.integers(2, 6)))
        similarity = naive.similarity(rows, weights)
        if against == "draws":
            candidates, losses = from_draws(rows - 3, loss, weights=7 * weights)
            exactly = {one: naive.mean_loss(loss, rows, weights, one) for one in naive.all_partitions(count)}
        else:
            candidates, losses = from_similarity(similarity, loss)
            exactly = {one: naive.similarity_loss(loss, similarity, one) for one in naive.all_partitions(count)}
        np.testing.assert_allclose(losses, [exactly[tuple(one.tolist())] for one in candidates], atol=1e-9)
        assert losses[0] == pytest.approx(min(exactly.values()), abs=1e-9)
        assert np.all(np.diff(losses) >= 0)
        assert len({tuple(one.tolist()) for one in candidates}) == len(candidates)
        if enumerate_all:
            least = np.sort(list(exactly.values()))[: len(losses)]
            np.testing.assert_allclose(losses, least, atol=1e-9)
            assert len(losses) == min(len(exactly), 50 if against == "draws" else 203)


def planted(rng, count, draws):
    truth = cp.partition.canonical(rng.permutation(np.arange(count) % 6))
    elsewhere = rng.random((draws, count)) < 0.15
    return truth, np.where(elsewhere, rng.integers(0, 6, (draws, count)), truth)


@pytest.mark.plain
@pytest.mark.parametrize("loss", KINDS)
def test_planted_clusters_are_found(loss, rng):
    truth, rows = planted(rng, 60 if JIT_DISABLED else 300, 40)
    similarity = naive.similarity(rows, np.full(40, 1 / 40))
    for candidates, losses in (
        from_draws(rows, loss, starts=1),
        from_similarity(similarity, loss, starts=1 if JIT_DISABLED else None),
    ):
        assert np.array_equal(candidates[0], truth)
        assert losses[0] < losses[1]


@pytest.mark.plain
@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("loss", KINDS)
def test_whole_clusters_are_split_and_merged(against, loss, rng):
    """From clusters that are joined, and from clusters that are cut in two."""
    truth, rows = planted(rng, 60, 20)
    problem, functions, _, _ = problem_of(against, loss, rows, np.full(20, 1 / 20))
    for start in (np.where(truth < 3, truth, 3), truth + 6 * rng.integers(0, 2, 60)):
        for number in range(3):
            labels = climb.improve(problem, functions, cp.partition.canonical(start), np.arange(60), stream(number), 60)
            assert naive.canonical(labels) == tuple(truth.tolist())
    for i in range(0, 60, 7):  # a point in a wrong cluster sees the right one
        place = state.empty_place(problem, 10, 60)
        climb.fill(problem, functions, place, np.where(np.arange(60) == i, (truth + 1) % 6, truth))
        look(problem, functions, place, np.array([i, 0, -1, 0]), np.zeros(3))
        assert np.argmin(place.costs[:7]) == truth[i]


@pytest.mark.plain
@pytest.mark.parametrize("loss", KINDS)
def test_clusters_merge_where_no_point_alone_would_move(loss):
    """Two blocks that are more often together than not, and each more often still within itself."""
    halves = np.repeat([0, 1], 6)
    p = np.where(naive.adjacency(halves) == 1, 0.9, 0.6) + np.diag(np.full(12, 0.1))
    problem = state.Problem(p, np.zeros((0, 0), dtype=np.int32), np.zeros(0), *state.tables(loss, 12))
    losses = [naive.similarity_loss(loss, p, labels) for labels in (halves, np.zeros(12, dtype=int))]
    labels = climb.improve(problem, similarity_module.LOSSES[loss], halves, np.arange(12), stream(0), 12)
    assert losses[1] < losses[0]
    assert labels.tolist() == [0] * 12


@pytest.mark.plain
@pytest.mark.parametrize("loss", KINDS)
def test_weights_are_as_good_as_repeated_draws(loss, rng):
    rows, _ = posterior(rng, 20, 6, 4)
    repeats = np.array([1, 3, 0, 2, 1, 1])
    candidates, losses = from_draws(rows, loss, weights=repeats.astype(float))
    again, of_again = from_draws(np.repeat(rows, repeats, axis=0) * 1000, loss)
    assert np.array_equal(candidates, again)
    np.testing.assert_allclose(losses, of_again, atol=1e-9)
    for labels, value in zip(candidates[:5], losses, strict=False):
        assert value == pytest.approx(naive.mean_loss(loss, rows, repeats, labels), abs=1e-9)


@pytest.mark.plain
def test_fewer_draws_and_clusters_where_tables_would_be_too_large(monkeypatch, rng):
    truth, rows = planted(rng, 30, 40)
    monkeypatch.setattr(draws_module, "LARGEST_TABLE", 30 * 20)
    candidates, losses = from_draws(rows, "vi", most_clusters=6, most=3)
    assert np.array_equal(candidates[0], truth)
    assert losses[0] == pytest.approx(naive.mean_loss("vi", rows, None, truth), abs=1e-9)
    assert from_draws(rows, "vi", most_clusters=2)[0].max() == 1
    assert draws_module._spaced(10, 4).tolist() == [0, 2, 5, 7]


@pytest.mark.plain
@pytest.mark.parametrize("loss", KINDS)
def test_the_search_makes_room_for_many_clusters(loss):
    """Points that are never together: each is alone, which is more clusters than there is room for at first."""
    candidates, losses = from_similarity(np.eye(40), loss, starts=2)
    assert candidates[0].tolist() == list(range(40))
    assert losses[0] == pytest.approx(0, abs=1e-12)


def draws_of(data, component, sweeps, points):
    """Labels from an ordinary chain, of some points, evenly spaced."""
    posterior = cp.Mixture(data, component)
    wanted = cp.functional(lambda labels: labels, size=len(data))
    sample = cp.sample(posterior, wanted, chains=1, sweeps=sweeps, burn_in=sweeps // 4, seed=1)
    rows = sample.draws[0, ::10].astype(np.int64)
    return rows[:, np.linspace(0, len(data) - 1, points).astype(int)]


@pytest.mark.parametrize("name", ["galaxies", "faithful"])
def test_real_posteriors_are_searched_no_worse_than_by_points_alone(name):
    component = cp.NormalInverseGamma() if name == "galaxies" else cp.NormalInverseWishart()
    data = np.asarray(getattr(datasets, name)())
    rows = draws_of(data, component, 1000, 18)
    similarity = np.minimum(naive.similarity(rows, np.full(len(rows), 1 / len(rows))), 1.0)  # but for rounding
    for loss in KINDS:
        _, losses = from_similarity(similarity, loss)
        assert losses[0] <= naive.point_search(loss, similarity, 1, 0) + 1e-9
