"""Bounds on the distance from the target: against their definition, and against exact distances by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import copartition as cp
import naive
import small
from copartition.diagnostics import bounds
from exact_distances import exact_distances, many_meeting_times
from made_up import pairs, random_pairs


@pytest.mark.parametrize("lag", [1, 3, 10])
def test_bounds_are_those_of_the_definition(lag):
    m = random_pairs(np.random.default_rng(lag), lag)
    t = np.arange(60)
    tv, w1 = cp.tv_bound(m, t), cp.wasserstein_bound(m, t)
    np.testing.assert_allclose(tv.value, [naive.tv_bound(m.meeting_times, lag, s) for s in t])
    np.testing.assert_allclose(w1.value, [naive.wasserstein_bound(m.traces, lag, s) for s in t])
    for bound in (tv, w1):
        assert np.all(bound.low <= bound.value + 1e-12)
        assert np.all(bound.value <= bound.high + 1e-12)
        assert np.all(bound.high > 0)  # also where all pairs have met: so few pairs cannot show more


@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
@pytest.mark.parametrize("lag", [1, 4, 30])
def test_exact_distances_are_below_the_bounds_and_not_far(name, lag):
    """The bounds must be above the exact distances but for 4 standard errors, at all t and lags."""
    target, density = small.TARGETS[name]()
    t = np.arange(25)
    tv, w1 = exact_distances(target, density, len(t))
    with_traces = cp.meeting_times(target, replicates=2_000, coupling="transport", lag=lag, trace=True, seed=lag)
    tv_bound = cp.tv_bound(many_meeting_times(target, 20_000, lag, lag), t)
    for exact, bound in ((tv, tv_bound), (w1, cp.wasserstein_bound(with_traces, t))):
        four_errors = 4 * (bound.high - bound.low) / 3.92
        assert np.all(exact <= bound.value + four_errors + 1e-9)
        if lag == 30:
            clear = exact > 0.1
            assert clear.any()
            assert np.all(bound.value[clear] <= 3.0 * exact[clear])


def test_meeting_times_one_too_small_are_found_out():
    """The historic mistake of taking tau one too small: the test above fails with it."""
    target, density = small.scalar()
    tv, _ = exact_distances(target, density, 5)
    m = many_meeting_times(target, 20_000, 30, 1)
    wrong = cp.tv_bound(pairs(m.meeting_times - 1, 30), np.arange(5))
    assert np.any(tv > wrong.value + 4 * (wrong.high - wrong.low) / 3.92)


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_a_chain_that_is_absorbed_is_as_far_as_the_bound_says(lag):
    """No lower bound can follow from meeting times: this chain is absorbed with probability 1/2 a sweep.

    Pairs have met at once if the first chain is not absorbed within the lag, else when the second one is. Of all pairs
    there are as many of each length as there should be, up to 2^14 of a kind.
    """
    absorbed_after = np.repeat(np.arange(1, 16), [*(2 ** np.arange(13, -1, -1)), 1])
    lengths = np.concatenate([np.zeros(len(absorbed_after)), np.tile(absorbed_after, 2**lag - 1)]).astype(int)
    t = np.arange(6)
    np.testing.assert_allclose(cp.tv_bound(pairs(lag + lengths, lag), t).value, 0.5**t, atol=2e-4)


def least_with_control_variates(terms):
    """Least mean over pairs, by coefficients c_j, of the positive weights on states of the sum that the bound bounds.

    A pair with J terms: + 1 on a_j and - 1 on b_(j-1) for j = 1..J, and + c_j on a_j and - c_j on b_j for all j, where
    b_j is a_(j+1) from j = J on.
    """
    size = int(max(terms)) + 3
    fixed, free = [], []
    for count in terms:
        weights = np.zeros((2, size + 1, size + 1))  # of a_0, a_1, ... and b_0, b_1, ...: c_0, c_1, ..., and 1
        for j in range(size):
            after = (0, j + 1) if j >= count else (1, j)
            weights[0, j, j] += 1
            weights[(*after, j)] -= 1
            if 1 <= j <= count:
                weights[0, j, size] += 1
                weights[1, j - 1, size] -= 1
        fixed.append(weights[..., size].ravel())
        free.append(weights[..., :size].reshape(-1, size))
    rows, offsets = np.concatenate(free), np.concatenate(fixed)
    costs = np.concatenate([np.zeros(size), np.full(len(rows), 1 / len(terms))])
    limits = [(None, None)] * size + [(0, None)] * len(rows)
    return linprog(costs, np.hstack([rows, -np.eye(len(rows))]), -offsets, bounds=limits).fun


@pytest.mark.parametrize(("lag", "t"), [(4, 0), (10, 0), (10, 3), (10, 20), (30, 5)])
def test_control_variates_lower_the_bound_to_1_and_no_further(lag, t):
    m = random_pairs(np.random.default_rng(lag), lag, count=20)
    terms = np.maximum(0, np.ceil((m.meeting_times - lag - t) / lag))
    assert least_with_control_variates(terms) == pytest.approx(min(1.0, cp.tv_bound(m, t).value[0]), abs=1e-9)


@pytest.mark.parametrize("t", [0, 2, 6])
def test_bands_cover_the_expectation(t):
    """Of 400 runs with 150 pairs each, 95 % bands cover at least 92 % (by chance 91.8 % would be 3 errors low).

    At t = 6 hardly any pair is apart: in many runs the bootstrap alone gives a band from 0 to 0.
    """
    target, _ = small.scalar()
    m = many_meeting_times(target, 400 * 150, 3, 5)
    truth = cp.tv_bound(m, t).value[0]
    covered = all_met = 0
    for run in m.meeting_times.reshape(400, 150):
        bound = cp.tv_bound(pairs(run, 3), t)
        covered += bound.low[0] <= truth <= bound.high[0]
        all_met += np.all(run - 3 <= t)
    assert covered >= 0.92 * 400
    if t == 6:
        assert all_met > 0.1 * 400


def test_estimates_bound_as_their_meeting_times_do():
    target, _ = small.scalar()
    e = cp.estimate(target, cp.n_clusters(), replicates=30, burn_in=1, min_sweeps=3, lag=2, seed=1)
    assert cp.tv_bound(e, 1).value[0] == naive.tv_bound(e.meeting_times, 2, 1)


def test_a_bound_prints_its_upper_end():
    text = str(cp.tv_bound(pairs([3, 9], 1), [0, 1]))
    assert "95 % interval" in text
    assert len(text.splitlines()) == 4


def test_sweeps_needed_is_the_inverse():
    m = random_pairs(np.random.default_rng(0), 5, count=400)
    for tv in (0.5, 0.1, 0.02):
        needed = cp.sweeps_needed(m, tv)
        assert cp.tv_bound(m, needed.value).value[0] <= tv
        assert needed.value == 0 or cp.tv_bound(m, needed.value - 1).value[0] > tv
        if needed.high is not None:
            assert cp.tv_bound(m, needed.high).high[0] <= tv < cp.tv_bound(m, needed.high - 1).high[0]
    assert cp.sweeps_needed(m, 0.001).high is None  # 400 pairs cannot show that
    assert "too few pairs" in str(cp.sweeps_needed(m, 0.001))
    assert "to be sure" in str(cp.sweeps_needed(m, 0.5))


def test_band_of_many_pairs_is_resampled_in_steps(monkeypatch):
    m = random_pairs(np.random.default_rng(1), 5, count=100)
    whole = cp.wasserstein_bound(m, [0, 3])
    monkeypatch.setattr(bounds, "CELLS_A_STEP", 3000)
    stepwise = cp.wasserstein_bound(m, [0, 3])
    np.testing.assert_array_equal(whole.low, stepwise.low)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cp.tv_bound(pairs([3, 9], 1, met=[True, False]), 1), "got 1 of 2 that did not"),
        (lambda: cp.sweeps_needed(pairs([3, 9], 1, met=[True, False])), "got 1 of 2 that did not"),
        (lambda: cp.wasserstein_bound(pairs([3, 9], 1), 1), "must have traces"),
        (lambda: cp.tv_bound(pairs([3, 9], 1), -1), "t must be numbers of sweeps of at least 0, got -1"),
        (lambda: cp.tv_bound(pairs([3, 9], 1), 1.5), "t must be a one-dimensional array of whole numbers"),
        (lambda: cp.tv_bound(pairs([3, 9], 1), 1, level=1.0), "level must lie between 0 and 1, got 1.0"),
        (lambda: cp.tv_bound([3, 9], 1), "meeting_times must be the result of"),
        (lambda: cp.sweeps_needed(pairs([3, 9], 1), 0.0), "tv must be above 0"),
        (lambda: cp.sweeps_needed(pairs([3, 9], 1), 2.0), "tv must be a number from 0 to 1, got 2.0"),
        (lambda: cp.tv_bound(under_a_deadline(), 1), "got an estimate under a deadline"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def under_a_deadline():
    target, _ = small.scalar()
    return cp.estimate_within(target, cp.n_clusters(), workers=3, deadline=cp.Sweeps(5), burn_in=0, min_sweeps=1, lag=1)
