"""How far an ordinary chain is from its target after t sweeps, at most, from the meeting times of coupled chains.

The chains X and Y of a pair have the same distribution, and Y is `lag` sweeps behind X. So the distribution of X after
t sweeps and its distribution after t + lag, t + 2 lag, ... sweeps, and with them the target, differ no more than the
two chains do where they are still apart (Biswas, Jacob and Vanetti 2019):

    TV(distribution of X_t, target) <= E[ max(0, ceil((tau - lag - t) / lag)) ]
    W1(distribution of X_t, target) <= E[ sum over j >= 1 of d(X_(t + j lag), Y_(t + (j - 1) lag)) ]

Both expectations are estimated by averages over independent pairs.

Control variates (Craiu and Meng 2022) lower the first bound only where it is above 1, that is, says nothing. Write a_j
and b_j for X and Y at time t + j lag, and J for max(0, ceil((tau - lag - t) / lag)), so that b_j = a_(j+1) for j >= J.
The bound is one on the sum over j = 1..J of h(a_j) - h(b_(j-1)), for 0 <= h <= 1. As a_j and b_j have the same
distribution, c_j (h(a_j) - h(b_j)) may be added with any fixed c_j; such terms at times in between only add states. All
that meeting times tell is that the sum is at most its positive weights on states, which may all differ. These weights
are never below the sum for one h. If E[J] <= 1, there is one for which the c_j cancel: 0 at a_0 and at b_j for j < J,
1 at a_1 to a_J, and u_j = E[min(j - 1, J)] / P(J < j), or 0 where both are 0, at a_j for j > J. It is at most 1 because
E[min(j, J)] is. Then for j >= 1

    E[h(a_j) - h(b_j)] = P(J >= j) + P(J < j) u_j - P(J <= j) u_(j+1) = P(J >= j) - P(J >= j) = 0,

for j = 0 both are 0, and whatever the c_j are, the new bound is at least E[J], the present one.

Nor is there another bound from meeting times alone that is always lower. A chain that is absorbed with probability p a
sweep is (1 - p)^t from its target. A pair has met at once if X is not absorbed within the lag, otherwise it meets when
Y is absorbed, and E[J] is (1 - p)^t, too, for every lag. For W1 nothing sharper can hold for all distances either: it
is TV where any two states are 1 apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.results import MeetingTimes, Replicates
from copartition.validation import confidence, integer_array, probability, shorten

RESAMPLES = 1000
CELLS_A_STEP = 10_000_000


@dataclass(frozen=True)
class Bound:
    """An upper bound on the distance to the target, with a confidence band.

    Attributes
    ----------
    sweeps : int64 array
        Numbers of sweeps t.
    value : float64 array
        Estimate of the bound at each t.
    low, high : float64 array
        Ends of a confidence interval for the bound, at each t by itself.
    level : float
        Confidence of the interval.
    distance : str
        What is bounded.
    """

    sweeps: np.ndarray
    value: np.ndarray
    low: np.ndarray = field(repr=False)
    high: np.ndarray = field(repr=False)
    level: float
    distance: str

    def __str__(self) -> str:
        lines = [f"{self.distance}, at most", f"{'sweeps':>8}  {'bound':>9}  {100 * self.level:g} % interval"]
        rows = zip(self.sweeps, self.value, self.low, self.high, strict=True)
        lines += [f"{t:8d}  {value:9.3g}  {low:.3g} to {high:.3g}" for t, value, low, high in rows]
        return "\n".join(lines)


@dataclass(frozen=True)
class SweepsNeeded:
    """After how many sweeps a chain is close to its target.

    Attributes
    ----------
    tv : float
        The total variation distance asked for.
    value : int
        The first t at which the estimated bound is that small.
    high : int or None
        The first t at which the upper end of its confidence interval is; None where there are too few pairs to tell.
    """

    tv: float
    value: int
    high: int | None

    def __str__(self) -> str:
        sure = f"{self.high} to be sure" if self.high is not None else "there are too few pairs to be sure"
        return f"total variation at most {self.tv:g} after {self.value} sweeps ({sure})"


def tv_bound(meeting_times: MeetingTimes | Replicates, t: Any, *, level: float = 0.95) -> Bound:
    """Bound the total variation distance between the distribution of a chain after t sweeps and the target.

    Total variation is the largest error in the probability of any event, from 0 to 1; bounds above 1 say nothing.

    Parameters
    ----------
    meeting_times : MeetingTimes or Replicates
        Pairs of chains that have all met. Small lags give valid but loose bounds; take one as large as most pairs need
        to meet.
    t : int or array of int
        Numbers of sweeps.
    level : float
        Confidence of the band. Where few pairs or none are still apart, resampling them shows too little; its upper
        end is never below the Clopper-Pearson limit for the probability that a pair is apart, times what such a pair
        adds on average, taken from the slowest tenth of the pairs.

    Returns
    -------
    Bound

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> bound = cp.tv_bound(cp.meeting_times(posterior, replicates=500, lag=10, seed=1), [0, 5, 20])
    >>> bool(np.all(np.diff(bound.value) <= 0))
    True
    """
    lag, coupled = _coupled_sweeps(meeting_times)
    sweeps, level = _check(t, level)
    # Pairs that took equally long are alike: resampling numbers of pairs is much cheaper than resampling pairs.
    lengths, counts = np.unique(coupled, return_counts=True)
    terms = _terms(lengths, sweeps, lag)
    low, high = _band(terms, counts, level)
    apart = counts @ (terms > 0)
    start = start_of_tail(coupled)
    of_late = _terms(coupled[coupled > start], np.array([start]), lag)
    high = np.maximum(high, _clopper_pearson(apart, len(coupled), level) * _cautious_mean(of_late, 1.0))
    return Bound(sweeps, counts @ terms / len(coupled), low, high, level, "total variation distance")


def wasserstein_bound(meeting_times: MeetingTimes, t: Any, *, level: float = 0.95) -> Bound:
    """Bound the Wasserstein distance between the distribution of a chain after t sweeps and the target.

    The distance between partitions is the Hamming distance of `hamming_distance`: twice the number of pairs of points
    that one partition joins and the other does not. Divide by N (N - 1) for the share of pairs.

    Parameters
    ----------
    meeting_times : MeetingTimes
        Made with ``trace=True``; all pairs must have met.
    t : int or array of int
        Numbers of sweeps.
    level : float
        Confidence of the band.

    Returns
    -------
    Bound

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, replicates=500, lag=10, trace=True, seed=1)
    >>> bool(cp.wasserstein_bound(m, 50).value[0] < 0.1)
    True
    """
    lag, coupled = _coupled_sweeps(meeting_times)
    traces = getattr(meeting_times, "traces", None)
    if traces is None:
        raise ValueError("meeting_times must have traces: make them with meeting_times(..., trace=True).")
    sweeps, level = _check(t, level)
    terms = np.array([[trace[s::lag].sum() for s in sweeps] for trace in traces], dtype=float)
    low, high = _band(terms, np.ones(len(terms), dtype=np.int64), level)
    apart = np.sum(coupled[:, None] > sweeps[None, :], axis=0)
    start = start_of_tail(coupled)
    of_late = np.array([trace[start::lag].sum() for trace in traces if len(trace) - 1 > start], dtype=float)
    high = np.maximum(high, _clopper_pearson(apart, len(coupled), level) * _cautious_mean(of_late, 2.0))
    return Bound(sweeps, terms.mean(axis=0), low, high, level, "Wasserstein distance (Hamming)")


def sweeps_needed(meeting_times: MeetingTimes | Replicates, tv: float = 0.01, *, level: float = 0.95) -> SweepsNeeded:
    """Return after how many sweeps a chain is within `tv` of its target in total variation, by `tv_bound`.

    Parameters
    ----------
    meeting_times : MeetingTimes or Replicates
        Pairs of chains that have all met.
    tv : float
        The distance, between 0 and 1.
    level : float
        Confidence with which ``.high`` is enough.

    Returns
    -------
    SweepsNeeded

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> needed = cp.sweeps_needed(cp.meeting_times(posterior, replicates=500, lag=10, seed=1), tv=0.01)
    >>> needed.value <= needed.high
    True
    """
    tv = probability("tv", tv)
    if tv == 0.0:
        raise ValueError("tv must be above 0, got 0.0: no finite number of sweeps is known to be enough.")
    _, coupled = _coupled_sweeps(meeting_times)
    end = int(coupled.max())

    def first(small_enough: Callable[[Bound], bool]) -> int | None:
        """Bisect: both ends fall with t."""
        low, high = -1, end
        if not small_enough(tv_bound(meeting_times, end, level=level)):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if small_enough(tv_bound(meeting_times, middle, level=level)):
                high = middle
            else:
                low = middle
        return high

    value = first(lambda bound: bound.value[0] <= tv)
    assert value is not None  # after the last meeting the estimate is 0
    return SweepsNeeded(tv, value, first(lambda bound: bound.high[0] <= tv))


def _coupled_sweeps(pairs: Any) -> tuple[int, np.ndarray]:
    """Return the lag, and the coupled sweeps that each pair took to meet; refuse pairs that have not met."""
    if not isinstance(pairs, MeetingTimes | Replicates):
        raise TypeError(f"meeting_times must be the result of meeting_times or estimate, got {shorten(pairs)}.")
    if isinstance(pairs, Replicates) and (pairs.completed is not None or pairs.made_by.get("ordinary")):
        raise ValueError("meeting_times must be of single pairs, got an estimate under a deadline.")
    if pairs.censored:
        raise ValueError(
            f"meeting_times must be of pairs that met, got {pairs.censored} of {len(pairs.met)} that did not: there is "
            "no bound from them; raise max_sweeps."
        )
    return pairs.lag, pairs.meeting_times - pairs.lag


def _check(t: Any, level: float) -> tuple[np.ndarray, float]:
    sweeps = integer_array("t", np.atleast_1d(t))
    if sweeps.size == 0 or sweeps.min() < 0:
        raise ValueError(f"t must be numbers of sweeps of at least 0, got {shorten(t)}.")
    return sweeps, confidence(level)


def _terms(coupled: np.ndarray, sweeps: np.ndarray, lag: int) -> np.ndarray:
    """Return max(0, ceil((tau - lag - t) / lag)) for pairs (rows) and times (columns)."""
    return np.maximum(0, -((sweeps[None, :] - coupled[:, None]) // lag)).astype(float)


def start_of_tail(coupled: np.ndarray) -> int:
    """Return a time that the slowest tenth of the pairs get beyond, and twenty pairs at least."""
    beyond = max(20, len(coupled) // 10)
    return int(np.sort(coupled)[max(0, len(coupled) - beyond - 1)])


def _cautious_mean(values: np.ndarray, least: float) -> float:
    """Return the mean of positive numbers, a standard error up (that of exponential ones), and `least` at least."""
    return max(least, float(values.mean()) * (1.0 + 1.0 / np.sqrt(values.size))) if values.size else least


def _band(terms: np.ndarray, counts: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return a percentile bootstrap interval for the mean of `terms`, whose rows stand for `counts` pairs each."""
    random = np.random.default_rng(0)
    total = int(counts.sum())
    step = max(1, CELLS_A_STEP // len(counts))
    means = np.concatenate(
        [
            random.multinomial(total, counts / total, size=min(step, RESAMPLES - begin)) @ terms / total
            for begin in range(0, RESAMPLES, step)
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def _clopper_pearson(events: np.ndarray, trials: int, level: float) -> np.ndarray:
    """Return the upper end of the two-sided Clopper-Pearson interval for a probability."""
    from scipy.special import betaincinv

    upper = betaincinv(events + 1.0, np.maximum(trials - events, 1e-300), (1 + level) / 2)
    return np.where(events == trials, 1.0, upper)
