"""The random numbers of the kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from copartition.core.compiling import kernel
from copartition.core.numerics import LOWEST, exp_nonpositive
from copartition.core.random import draw, shuffle, stream, uniform
from copartition.core.types import float1, float64, int1, int64, uint1, void


@kernel(void(uint1, float1))
def fill(state, out):
    for i in range(len(out)):
        out[i] = uniform(state)


@kernel(int64(float1, float64))
def draw_kernel(weights, level):
    return draw(weights, len(weights), level)


def test_generator_gives_the_published_sequence():
    # First outputs of the reference implementation of xoshiro256++ from the state 1, 2, 3, 4.
    generator = naive.Xoshiro([1, 2, 3, 4])
    assert [generator.integer() for _ in range(3)] == [41943041, 58720359, 3588806011781223]


@pytest.mark.plain
def test_compiled_generator_gives_the_same_bits():
    state = stream(5, 17)
    expected = naive.Xoshiro(state)
    out = np.zeros(1000)
    fill(state, out)
    assert out.tolist() == [expected.uniform() for _ in range(1000)]
    assert state.tolist() == expected.s


def test_uniform_numbers_are_uniform():
    # Chi-square over 1,000 cells: false alarm 1e-6.
    out = np.zeros(10**7)
    fill(stream(1, 2), out)
    counts = np.bincount((out * 1000).astype(int), minlength=1000)
    assert counts.size == 1000
    statistic = np.sum((counts - 10**4) ** 2 / 10**4)
    assert 999 - 5 * np.sqrt(2 * 999) < statistic < 999 + 5 * np.sqrt(2 * 999)


def test_streams_differ_by_seed_and_by_index():
    states = {tuple(stream(seed, index)) for seed in range(10) for index in range(100)}
    assert len(states) == 1000


@given(
    st.lists(st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1.0]), min_size=1, max_size=8), st.floats(0, 1, exclude_max=True)
)
def test_draw_follows_the_running_sum_and_never_takes_weight_zero(weights, u):
    weights = np.array(weights)
    if weights.sum() > 0:
        chosen = draw_kernel(weights, u * weights.sum())
        assert weights[chosen] > 0
        before = weights[:chosen].sum()
        assert before - 1e-15 <= u * weights.sum() <= before + weights[chosen] + 1e-15


@pytest.mark.plain
def test_draw_takes_the_last_positive_weight_where_rounding_passes_the_total():
    assert draw_kernel(np.array([0.5, 0.5, 0.0]), 1.0) == 1


@kernel(void(int1, uint1))
def shuffle_kernel(items, random):
    shuffle(items, random)


@pytest.mark.plain
def test_shuffle_makes_permutations():
    items = np.zeros(50, dtype=np.int64)
    shuffle_kernel(items, stream(1, 1))
    assert sorted(items) == list(range(50))
    assert items.tolist() != list(range(50))


@kernel(void(float1, float1))
def exponentials(values, out):
    for i in range(len(values)):
        out[i] = exp_nonpositive(values[i])


@pytest.mark.plain
def test_exponential_is_exact_to_two_units_in_the_last_place():
    values = np.concatenate([np.linspace(LOWEST, 0.0, 2_000), -np.geomspace(1e-300, 40.0, 2_000), [0.0, -0.0]])
    out = np.zeros_like(values)
    exponentials(values, out)
    np.testing.assert_allclose(out, np.exp(values), rtol=4.5e-16)
    assert out[-1] == out[-2] == 1.0  # the largest weight of a distribution is exactly 1
