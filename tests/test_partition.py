"""Labels, overlaps and distances."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import copartition as cp
import naive

labelings = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(-3, 5), min_size=n, max_size=n) for _ in range(3)])
)


@given(labelings)
def test_canonical_is_first_come_first_numbered(three):
    assert tuple(cp.partition.canonical(three[0])) == naive.canonical(three[0])


@given(labelings)
def test_overlaps_count_common_points(three):
    a, b, _ = three
    table = cp.partition.overlaps(a, b)
    expected = [[len(set(p) & set(q)) for q in naive.clusters(b)] for p in naive.clusters(a)]
    assert table.tolist() == expected


@given(labelings)
def test_hamming_is_the_distance_of_adjacency_matrices(three):
    assert cp.partition.hamming_distance(three[0], three[1]) == naive.hamming(three[0], three[1])


@given(labelings)
def test_variation_of_information_is_the_sum_of_conditional_entropies(three):
    expected = naive.variation_of_information(three[0], three[1])
    assert cp.partition.variation_of_information(three[0], three[1]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("distance", [cp.partition.hamming_distance, cp.partition.variation_of_information])
def test_metric_axioms_on_all_partitions_of_four_points(distance):
    states = naive.all_partitions(4)
    table = np.array([[distance(a, b) for b in states] for a in states])
    assert np.all(np.diag(table) == 0.0)  # exactly: public code has computed VI(pi, pi) = 0.67
    assert np.all(table[~np.eye(len(states), dtype=bool)] > 0)
    assert np.array_equal(table, table.T)
    for i, j, k in itertools.product(range(len(states)), repeat=3):
        assert table[i, k] <= table[i, j] + table[j, k] + 1e-12


def test_number_of_partitions_is_the_bell_number():
    assert [len(naive.all_partitions(n)) for n in range(6)] == [1, 1, 2, 5, 15, 52]


def test_distances_refuse_partitions_of_different_lengths():
    with pytest.raises(ValueError, match="b must hold 3 labels"):
        cp.partition.hamming_distance([0, 0, 1], [0, 1])
