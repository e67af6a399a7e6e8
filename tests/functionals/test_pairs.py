"""Which points are together, and with which clusters: against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copartition as cp
import naive
from copartition.chains.chain import chain_at
from copartition.functionals.base import bind_all, evaluate_at

TARGET = cp.Mixture(np.arange(11.0), cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
LABELS = st.lists(st.integers(0, 5), min_size=11, max_size=11)


def values_of(functional, labels):
    """What the compiled function gives at a partition."""
    labels = cp.partition.canonical(labels)
    target, bound = bind_all(TARGET, [functional])
    return evaluate_at(target.model, target.hooks, bound, chain_at(target, labels)).tolist()


@given(LABELS, st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=9))
def test_listed_pairs(labels, pairs):
    pairs = list({frozenset((a, b)): (a, b) for a, b in pairs if a != b}.values()) or [(3, 2)]
    assert values_of(cp.co_clustering(pairs=pairs), labels) == naive.together(labels, pairs)


@given(LABELS, st.lists(st.integers(0, 10), min_size=2, max_size=11, unique=True))
def test_all_pairs_of_some_points(labels, points):
    pairs = [(points[a], points[b]) for a, b in zip(*np.triu_indices(len(points), 1), strict=True)]
    assert values_of(cp.co_clustering(points), labels) == naive.together(labels, pairs)


@given(LABELS, LABELS)
def test_memberships(labels, partition):
    np.testing.assert_allclose(
        values_of(cp.memberships(partition), labels), naive.memberships(labels, partition), rtol=1e-15
    )


@given(LABELS, LABELS)
def test_similarity_of_clusters(labels, partition):
    np.testing.assert_allclose(
        values_of(cp.functionals.cluster_similarity(partition), labels),
        naive.cluster_similarity(labels, partition),
        rtol=1e-15,
    )


@given(LABELS)
def test_divisors_make_whole_numbers_of_values(partition):
    """Which is what sums over replicates rest on."""
    for functional in (cp.memberships(partition), cp.functionals.cluster_similarity(partition)):
        for labels in (np.arange(11) // 2, np.arange(11) % 3):
            whole = np.array(values_of(functional, labels)) * functional.divisors
            np.testing.assert_allclose(whole, np.rint(whole), atol=1e-12)


def test_components_say_which_points_and_clusters():
    names = cp.memberships([5, 5, 3]).components
    assert names == [f"with[{n}, cluster {k}]" for n in range(3) for k in range(2)]
    names = cp.functionals.cluster_similarity([5, 5, 3]).components
    assert names == [f"together[cluster {a}, cluster {b}]" for a, b in ((0, 0), (0, 1), (1, 1))]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cp.co_clustering([0, 1], [[0, 1]]), "Give indices or pairs, not both"),
        (lambda: cp.co_clustering([3]), "indices must be two or more numbers of points"),
        (lambda: cp.co_clustering([0, -1]), "indices must be two or more numbers of points"),
        (lambda: cp.co_clustering([0.5, 1.5]), "indices must be two or more numbers of points"),
        (lambda: cp.co_clustering(pairs=[0, 1]), "pairs must be one or more pairs of numbers"),
        (lambda: cp.co_clustering(pairs=np.zeros((0, 2), dtype=int)), "pairs must be one or more pairs of numbers"),
        (lambda: cp.co_clustering(pairs=[[0, 1, 2]]), "pairs must be one or more pairs of numbers"),
        (lambda: cp.co_clustering(pairs=[[2, 2]]), "pairs must be of two different points each"),
        (lambda: cp.co_clustering(pairs=[[-1, 2]]), "pairs must be of two different points each"),
        (
            lambda: cp.co_clustering(pairs=[[0, 11]]).bind(TARGET),
            "pairs must be below the number of points, 11, got 11",
        ),
        (lambda: cp.co_clustering([0, 12]).bind(TARGET), "indices must be below the number of points, 11, got 12"),
        (lambda: cp.memberships([0, 1]).bind(TARGET), "partition must have 11 labels, one a point, got 2 of them"),
        (lambda: cp.memberships([]), "partition must be an array of labels"),
        (lambda: cp.functionals.cluster_similarity([[0, 1]]), "partition must be an array of labels"),
        (lambda: cp.functionals.nearest_pairs([[0.0], [1.0]], k=2), "k must be below the number of points, 2, got 2"),
        (lambda: cp.functionals.nearest_pairs([[0.0], [1.0]], k=0), "k must be a whole number of at least 1"),
        (lambda: cp.functionals.nearest_pairs([[0.0], [np.nan]], k=1), "data must"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_nearest_pairs_are_those_of_brute_force(k, columns, rng):
    data = rng.normal(0, 1, (60, columns))
    distance = np.linalg.norm(data[:, None] - data[None], axis=2)
    expected = set()
    for i in range(60):
        others = sorted((j for j in range(60) if j != i), key=lambda j, i=i: distance[i, j])
        expected |= {(min(i, j), max(i, j)) for j in others[:k]}
    found = cp.functionals.nearest_pairs(data if columns > 1 else data[:, 0], k)
    assert found.tolist() == [list(pair) for pair in sorted(expected)]


def test_points_that_coincide_are_no_pairs_with_themselves():
    found = cp.functionals.nearest_pairs(np.zeros((8, 2)), 2)
    assert np.all(found[:, 0] < found[:, 1])
    assert len(np.unique(found, axis=0)) == len(found)
    assert len(np.unique(found)) == 8  # none is left out


@pytest.mark.plain
@pytest.mark.parametrize("components", [10, 55])
def test_a_glimpse_stands_for_all(components):
    """Pilots look at some components, which exist and are not too many."""
    for functional in (
        cp.co_clustering(),
        cp.co_clustering(np.arange(11)),
        cp.co_clustering(pairs=cp.functionals.nearest_pairs(np.arange(11.0), 9)),
        cp.memberships(np.arange(11) % 3),
        cp.functionals.cluster_similarity(np.arange(11) % 3),
    ):
        target, (bound,) = bind_all(TARGET, [functional])
        seen = bound.glimpse(components)
        assert 1 <= seen.size <= 1.5 * components + 5
        assert not seen.is_streamed
        values = evaluate_at(
            target.model, target.hooks, bind_all(target, [seen])[1], chain_at(target, np.zeros(11, dtype=np.int64))
        )
        assert values.tolist() == [1.0] * seen.size


def test_settings_are_tuned_for_what_is_streamed():
    tuned = cp.tune(TARGET, cp.co_clustering(keep_values=False), pairs=100, modes=False, seed=1)
    assert tuned.burn_in >= 0
