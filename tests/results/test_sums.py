"""Sums over replicates: exact, in whatever order and from however many places they come."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copartition.results import kept as module
from copartition.results.kept import CHUNK, LARGEST, Row, Sums, chunks, mean_and_variance, pack, unpack, whole_numbers


def added(values):
    """Sums over the rows of a table."""
    sums = Sums(values.shape[1])
    for number, row in enumerate(values):
        with sums.adding():
            sums.add(row, 0)
            sums.rows.append(Row(number, 1, True, 1, 0.0, np.zeros(0)))
    return sums


def exactly(values):
    """Mean and variance of whole numbers, by fractions."""
    mean = Fraction(sum(values), len(values))
    return mean, sum((v - mean) ** 2 for v in values) / (len(values) - 1)


def assert_exact(values, rtol=1e-14):
    """Mean and variance are right but for a few last bits, also where sums of squares have gone round 64 bits."""
    values = np.array(values, dtype=np.int64)
    with np.errstate(over="ignore"):
        mean, variance = mean_and_variance(
            np.array([values.sum()]), np.array([np.sum(values**2, dtype=np.int64)]), len(values)
        )
    expected_mean, expected_variance = exactly(values.tolist())
    assert mean[0] == pytest.approx(float(expected_mean), rel=rtol, abs=1e-300)
    assert variance[0] == pytest.approx(float(expected_variance), rel=rtol, abs=1e-300)


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=50))
def test_mean_and_variance_of_small_numbers(values):
    assert_exact(values, 4e-14)


@given(st.integers(-(2**30), 2**30), st.lists(st.integers(-3, 3), min_size=2, max_size=50))
def test_mean_and_variance_of_large_numbers_that_hardly_differ(centre, differences):
    """The squares of 50 of them are more than 64 bits hold; the variance has all its digits all the same."""
    assert_exact([centre + d for d in differences], 4e-14)


def test_numbers_near_two_to_the_thirtieth_that_differ_by_one():
    for values in ([2**30, 2**30 + 1], [2**30] * 99 + [2**30 - 1], [2**30 - 1, 2**30 + 1] * 500):
        assert_exact(values)
    assert_exact([2**30] * 100)


def test_one_replicate_has_no_variance_and_none_has_no_mean():
    mean, variance = mean_and_variance(np.array([5]), np.array([25]), 1)
    assert mean[0] == 5.0
    assert np.isnan(variance[0])
    mean, variance = mean_and_variance(np.array([0]), np.array([0]), 0)
    assert mean[0] == 0.0
    assert np.isnan(variance[0])


@given(st.lists(st.lists(st.integers(-(2**20), 2**20), min_size=3, max_size=3), min_size=1, max_size=6))
def test_order_and_places_make_no_difference(rows):
    values = np.array(rows, dtype=np.int64)
    whole, parts = added(values), Sums(3)
    for part in (values[::2][::-1], values[1::2]):
        parts.merge(added(part).packed())
    assert np.array_equal(parts.totals, whole.totals)
    assert np.array_equal(parts.squares, whole.squares)
    assert np.array_equal(whole.totals, values.sum(axis=0))
    assert np.array_equal(whole.squares, (values**2).sum(axis=0))
    assert len(parts.rows) == len(rows)


@pytest.mark.parametrize("size", [1, 9, 10, 11, 35])
def test_nothing_is_lost_between_chunks(size, monkeypatch, rng):
    monkeypatch.setattr(module, "CHUNK", 10)
    assert chunks(size)[-1][1] == size
    assert sum(b - a for a, b in chunks(size)) == size
    values = rng.integers(-5, 5, (3, size))
    there = Sums(size)
    there.merge(added(values).packed())
    there.merge(added(values[:1]).packed())
    assert np.array_equal(there.totals, values.sum(axis=0) + values[0])
    assert np.array_equal(there.squares, (values**2).sum(axis=0) + values[0] ** 2)
    packed = added(values).packed()
    with pytest.raises(ValueError, match="zip"):  # a chunk that is missing does not pass
        Sums(size).merge(packed._replace(chunks=packed.chunks[:-1]))


@given(st.lists(st.integers(-(2**62), 2**62), max_size=5), st.booleans())
def test_packed_numbers_come_back(numbers, small):
    array = np.array(numbers, dtype=np.int64) % (1000 if small else 2**62)
    totals, squares = unpack(pack(array, -array))
    assert totals.tolist() == array.tolist()
    assert squares.tolist() == (-array).tolist()


def test_an_addition_may_be_to_some_components_only():
    sums = Sums(2 * CHUNK + 9)
    sums.add(np.full(2 * CHUNK + 5, 3), 2)
    assert sums.totals[:2].tolist() == [0, 0]
    assert set(sums.totals[2:-2].tolist()) == {3}
    assert set(sums.squares[2:-2].tolist()) == {9}
    assert sums.totals[-2:].tolist() == [0, 0]


def test_what_is_no_whole_number_is_refused():
    assert whole_numbers(np.array([2.0000001, -3.0, 0.9999])).tolist() == [2, -3, 1]
    for wrong in (0.3, 1.02, np.nan, np.inf):
        with pytest.raises(ValueError, match="said to be whole numbers has others"):
            whole_numbers(np.array([1.0, wrong]))


def test_what_is_too_large_is_refused():
    """A single value, or squares that do not fit into 64 bits together, from one place or from two."""
    assert whole_numbers(np.array([LARGEST - 1.0])).tolist() == [LARGEST - 1]
    for wrong in (LARGEST, -LARGEST, 1e30):
        with pytest.raises(ValueError, match="too large to be summed exactly; keep them"):
            whole_numbers(np.array([float(wrong)]))
    sums = Sums(2)
    large = np.array([0, LARGEST - 1])
    sums.add(large, 0)
    sums.add(-large, 0)
    with pytest.raises(ValueError, match="too large to be summed exactly; keep them"):
        sums.add(large, 0)
    first, second = added(np.array([large, large])), added(np.array([large, -large]))
    with pytest.raises(ValueError, match="too large to be summed exactly; keep them"):
        first.merge(second.packed())
    assert first.is_torn
    assert first.rows == first.rows[:2]


def test_sums_are_torn_by_whatever_stops_an_addition():
    sums = added(np.array([[1, 2]]))
    assert not sums.is_torn
    with pytest.raises(KeyboardInterrupt), sums.adding():
        raise KeyboardInterrupt
    assert sums.is_torn
    with sums.held():  # nobody waits for it
        pass


def test_nobody_sees_an_addition_that_has_not_ended():
    """Threads that add, and one that looks at sums and list: these always belong together."""
    sums, stop, seen = Sums(50), threading.Event(), []

    def add():
        for number in range(200):
            with sums.adding():
                sums.add(np.ones(50, dtype=np.int64), 0)
                sums.rows.append(Row(number, 1, True, 1, 0.0, np.zeros(0)))

    def look():
        while not stop.is_set():
            with sums.held():
                seen.append((len(sums.rows), sums.totals.min(), sums.totals.max(), sums.squares.max()))

    adding = [threading.Thread(target=add) for _ in range(3)]
    looking = threading.Thread(target=look)
    for thread in (looking, *adding):
        thread.start()
    for thread in adding:
        thread.join()
    stop.set()
    looking.join()
    assert all(len(set(numbers)) == 1 for numbers in seen)
    assert sums.totals.tolist() == [600] * 50
