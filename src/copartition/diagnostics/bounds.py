"""How far an ordinary chain is from its target after t sweeps, at most, from the meeting times of coupled chains.

The chains X and Y of a pair have the same law, and Y is `lag` sweeps behind X. So the law of X after t sweeps and its
law after t + lag, t + 2 lag, ... sweeps, and with them the target, differ no more than the two chains do where they are
still apart (Biswas, Jacob and Vanetti 2019):

    TV(law of X_t, target) <= E[ max(0, ceil((tau - lag - t) / lag)) ]
    W1(law of X_t, target) <= E[ sum over j >= 1 of d(X_(t + j lag), Y_(t + (j - 1) lag)) ]

Both expectations are estimated by averages over independent pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.results import Estimate, MeetingTimes
from copartition.validation import integer_array, probability, shorten

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


def tv_bound(meeting_times: MeetingTimes | Estimate, t: Any, *, level: float = 0.95) -> Bound:
    """Bound the total variation distance between the law of a chain after t sweeps and the target.

    Total variation is the largest error in the probability of any event, from 0 to 1; bounds above 1 say nothing.

    Parameters
    ----------
    meeting_times : MeetingTimes or Estimate
        Pairs of chains that have all met. Small lags give valid but loose bounds; take one as large as most pairs need
        to meet.
    t : int or array of int
        Numbers of sweeps.
    level : float
        Confidence of the band. Its upper end is never below the Clopper-Pearson limit for the probability that a pair
        is still apart, so it is honest also where all pairs have met.

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
    terms = np.maximum(0, -((sweeps[None, :] - lengths[:, None]) // lag)).astype(float)
    low, high = _band(terms, counts, level)
    apart = counts @ (terms > 0)
    high = np.maximum(high, _clopper_pearson(apart, len(coupled), level))
    return Bound(sweeps, counts @ terms / len(coupled), low, high, level, "total variation distance")


def wasserstein_bound(meeting_times: MeetingTimes, t: Any, *, level: float = 0.95) -> Bound:
    """Bound the Wasserstein distance between the law of a chain after t sweeps and the target.

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
    # Two different partitions are at least 2 apart, so this is a floor for the expectation, as for total variation.
    apart = np.sum(coupled[:, None] > sweeps[None, :], axis=0)
    high = np.maximum(high, 2.0 * _clopper_pearson(apart, len(coupled), level))
    return Bound(sweeps, terms.mean(axis=0), low, high, level, "Wasserstein distance (Hamming)")


def sweeps_needed(meeting_times: MeetingTimes | Estimate, tv: float = 0.01, *, level: float = 0.95) -> SweepsNeeded:
    """Return after how many sweeps a chain is within `tv` of its target in total variation, by `tv_bound`.

    Parameters
    ----------
    meeting_times : MeetingTimes or Estimate
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
    if not isinstance(pairs, MeetingTimes | Estimate):
        raise TypeError(f"meeting_times must be the result of meeting_times or estimate, got {shorten(pairs)}.")
    if isinstance(pairs, Estimate) and (pairs.completed is not None or pairs.made_by.get("ordinary")):
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
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    return sweeps, level


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
