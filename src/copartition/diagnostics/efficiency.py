"""How variable averages of chains and of replicates are, and what unbiasedness costs.

Replicates whose pairs met late carry large corrections. They are what makes the mean unbiased, so leaving them out is
not free: a trimmed mean estimates something a little different from the expectation.

The cost is the work for a given precision, against that of ordinary Markov chain Monte Carlo. The mean of many
replicates has variance Var(H) / (number of replicates), so Var(H) times the mean cost of a replicate is the variance
that one unit of work leaves. An ordinary chain's is its asymptotic variance. Their ratio is 1 at best: it tends to 1 as
the burn-in grows beyond the meeting times and the horizon beyond the burn-in (Jacob, O'Leary and Atchade 2020, section
3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from copartition.results import Draws, Replicates
from copartition.validation import confidence, probability, shorten

AUTOCORRELATION_TIMES_A_BATCH = 20.0
FEWEST_BATCHES = 10  # in a chain
ROUNDING = 1e-12
STANDARD_ERRORS = 5.0  # that averages of chains may be apart


def asymptotic_variance(draws: np.ndarray) -> np.ndarray:
    """Estimate the asymptotic variance of ergodic averages by batch means.

    Batches of b sweeps are short of correlations beyond b, so the estimate is too small by about c / b. That of batches
    a third as long is too small by 3 c / b; the lugsail combination of Vats and Flegal (2022), 3/2 of the first minus
    1/2 of the second, cancels the error.

    Its relative standard error is about the square root of 4 b / n, so batches should be no longer than they have to
    be, and no shorter. Their length is twenty autocorrelation times of the slowest component, at least the cube root
    and at most a tenth of the length of a chain. As batches that are too short make that time look shorter than it is,
    it is estimated again with the batches that it leads to.

    Parameters
    ----------
    draws : array (chains, sweeps, components)

    Returns
    -------
    numpy.ndarray
        One number a component.
    """
    centred = _centred(draws)
    return _lugsail(centred, _batch_length(centred))


def relative_error(draws: np.ndarray) -> float:
    """Return the relative standard error of `asymptotic_variance`, about."""
    chains, sweeps, _ = draws.shape
    length = _batch_length(_centred(draws))
    return float(np.sqrt(4.0 * length / (chains * sweeps)))


def compared_variance(draws: np.ndarray) -> float:
    """Estimate the sum over components of asymptotic variances, to compare one step with another.

    By the initial monotone sequence of Geyer (1992): sums of two neighbouring autocovariances, as long as they are
    positive, and none larger than the one before. From short chains the error is half of that of batch means. It is not
    used for standard errors: for chains that are not reversible, as sweeps are not, there is no proof behind it.

    Parameters
    ----------
    draws : array (chains, sweeps, components)
    """
    centred = _centred(draws)
    sweeps = centred.shape[1]
    spectrum = np.abs(np.fft.rfft(centred, 2 * sweeps, axis=1)) ** 2
    covariances = np.fft.irfft(spectrum.sum(axis=(0, 2)))[:sweeps] / (len(centred) * sweeps)
    pairs = covariances[: sweeps // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    positive = pairs[: ends[0]] if len(ends) else pairs
    return float(max(0.0, 2.0 * np.minimum.accumulate(positive).sum() - covariances[0]))


def averages_agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether averages of two sets of chains are within five standard errors of each other, in every component.

    Parameters
    ----------
    first, second : arrays (chains, sweeps, components)
    """
    variance = sum(asymptotic_variance(draws) / (draws.shape[0] * draws.shape[1]) for draws in (first, second))
    apart = np.abs(first.mean(axis=(0, 1)) - second.mean(axis=(0, 1)))
    rounding = ROUNDING * np.maximum(1.0, np.abs(first).max(axis=(0, 1)))
    return bool(np.all(apart <= STANDARD_ERRORS * np.sqrt(variance) + rounding))


def _centred(draws: np.ndarray) -> np.ndarray:
    """Subtract the mean; what never changes but for rounding becomes 0 exactly."""
    constant = np.ptp(draws, axis=(0, 1)) <= ROUNDING * np.abs(draws).max(axis=(0, 1))
    return np.where(constant, 0.0, draws - draws.mean(axis=(0, 1)))


def _batch_length(centred: np.ndarray) -> int:
    sweeps = centred.shape[1]
    spread = np.mean(centred**2, axis=(0, 1))
    moving = spread > 0
    length = max(1, int(np.sqrt(sweeps)))
    if not moving.any():
        return length
    for _ in range(3):
        autocorrelation_time = float(np.max(_lugsail(centred, length)[moving] / spread[moving]))
        wanted = AUTOCORRELATION_TIMES_A_BATCH * autocorrelation_time
        length = max(1, int(np.clip(wanted, np.cbrt(sweeps), max(1, sweeps // FEWEST_BATCHES))))
    return length


def _lugsail(centred: np.ndarray, length: int) -> np.ndarray:
    chains, sweeps, _ = centred.shape
    short = max(1, length // 3)
    ratio = short / length
    by_long, by_short = (_batch_means_variance(centred, b) for b in (length, short))
    if length == short or chains * (sweeps // length) < 2:
        return by_long
    combined = (by_long - ratio * by_short) / (1.0 - ratio)
    # A difference of noisy numbers may be negative, which no variance is.
    return np.where(combined > 0, combined, by_long)


def _batch_means_variance(centred: np.ndarray, length: int) -> np.ndarray:
    chains, sweeps, components = centred.shape
    batches = sweeps // length
    means = centred[:, : batches * length].reshape(chains * batches, length, components).mean(axis=1)
    return length * np.sum(means**2, axis=0) / max(1, chains * batches - 1)


RESAMPLES = 1000
HEAVIEST = 0.01  # of all replicates
DOMINATED = 1.0 / 3.0  # of the variance; in a normal sample the heaviest 1 % have 8 %


@dataclass(frozen=True)
class RobustSummary:
    """A summary of replicates that is NOT UNBIASED.

    Attributes
    ----------
    value : float64 array
        One number a component.
    low, high : float64 array
        Ends of a bootstrap interval, for what the summary estimates, which is not exactly the expectation.
    method : str
    level : float
    components : list of str
    """

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    method: str
    level: float
    components: Sequence[str] = field(repr=False)

    def __str__(self) -> str:
        width = max(len(name) for name in self.components)
        lines = [f"{self.method}: NOT UNBIASED, for comparison with the mean", f"{'':{width}}  {'value':>12}  interval"]
        rows = zip(self.components, self.value, self.low, self.high, strict=True)
        lines += [f"{name:{width}}  {value:12.6g}  {a:.6g} to {b:.6g}" for name, value, a, b in rows]
        return "\n".join(lines)


def trimmed_mean(values: np.ndarray, components: Sequence[str], proportion: float, level: float) -> RobustSummary:
    """Return the mean without the smallest and the largest values; see `Estimate.trimmed_mean`."""
    if not 0.0 < probability("proportion", proportion) < 0.5:
        raise ValueError(f"proportion must lie between 0 and 0.5, got {proportion!r}.")
    if len(values) < 3:
        raise ValueError(f"A trimmed mean needs at least three replicates, got {len(values)}.")
    left_out = max(1, int(proportion * len(values)))

    def trimmed(sample: np.ndarray) -> np.ndarray:
        return np.sort(sample, axis=0)[left_out : len(sample) - left_out].mean(axis=0)

    random = np.random.default_rng(0)
    resampled = [trimmed(values[random.integers(0, len(values), len(values))]) for _ in range(RESAMPLES)]
    method = f"mean without the {left_out} smallest and the {left_out} largest of {len(values)} values"
    level = confidence(level)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return RobustSummary(trimmed(values), low, high, method, level, components)


def heaviest_share(values: np.ndarray) -> np.ndarray:
    """Return, for each component, the share of the variance that the heaviest 1 % of the replicates have."""
    deviations = np.sort((values - values.mean(axis=0)) ** 2, axis=0)
    total = deviations.sum(axis=0)
    heaviest = deviations[-_heaviest(values) :].sum(axis=0)
    return np.divide(heaviest, total, out=np.zeros(len(total)), where=total > 0)


class HeavyTail(NamedTuple):
    """Few replicates dominate the variance.

    Attributes
    ----------
    share : float
        Of the variance that the heaviest 1 % of the replicates have.
    met_late : bool
        Whether that is mostly because their pairs met after the burn-in.
    """

    share: float
    met_late: bool


def heavy_tail(values: np.ndarray, corrected: np.ndarray) -> HeavyTail | None:
    """Return whether few replicates dominate the variance of a functional; None if they do not.

    Parameters
    ----------
    values : array (replicates, components)
        Of one functional; its components are taken together.
    corrected : bool array (replicates)
        Whether the pair met after the burn-in, so that the value has a correction.
    """
    if len(values) < 1.0 / HEAVIEST:
        return None
    deviations = np.sum((values - values.mean(axis=0)) ** 2, axis=1)
    heaviest = np.argsort(deviations)[-_heaviest(values) :]
    total = deviations.sum()
    share = deviations[heaviest].sum() / total if total > 0 else 0.0
    if share <= DOMINATED:
        return None
    met_late = deviations[heaviest][corrected[heaviest]].sum() > 0.5 * deviations[heaviest].sum()
    return HeavyTail(float(share), bool(met_late))


def _heaviest(values: np.ndarray) -> int:
    return max(1, round(HEAVIEST * len(values)))


@dataclass(frozen=True)
class Inefficiency:
    """How many times the work of ordinary Markov chain Monte Carlo the same precision takes.

    The burn-in of the ordinary chains is free in this comparison, and so is not knowing how long it should be.

    Attributes
    ----------
    sweeps : float64 array
        Ratio for each component, work counted in single-chain sweeps (a coupled one is two). NaN for a component that
        never changes.
    seconds : float64 array
        The same, work counted in CPU seconds.
    stderr : float64 array
        Standard error of ``sweeps``.
    components : list of str
    """

    sweeps: np.ndarray
    seconds: np.ndarray
    stderr: np.ndarray
    components: Sequence[str] = field(repr=False)

    def __str__(self) -> str:
        width = max(len(name) for name in self.components)
        lines = [f"{'':{width}}  {'in sweeps':>16}  {'in seconds':>10}"]
        rows = zip(self.components, self.sweeps, self.stderr, self.seconds, strict=True)
        lines += [f"{name:{width}}  {a:7.3g} +- {error:5.1g}  {b:10.3g}" for name, a, error, b in rows]
        return "\n".join(lines)


def variance_name(functional: str) -> str:
    """Return the name of the asymptotic variance of a functional, as `copartition.asymptotic_variance` gives it."""
    return f"asymptotic_variance({functional})"


class Ordinary(NamedTuple):
    """What ordinary chains do.

    Attributes
    ----------
    variance : float64 array (components)
        Their asymptotic variance.
    relative_error : float64 array (components)
        Of it.
    seconds_a_sweep : float
        CPU time.
    """

    variance: np.ndarray
    relative_error: np.ndarray
    seconds_a_sweep: float


def inefficiency(e: Replicates, reference: Draws | Replicates) -> Inefficiency:
    """Compare the work of an estimate with that of ordinary chains; see `Estimate.inefficiency`."""
    if not hasattr(reference, "draws") and not is_variance(reference):
        raise TypeError(f"reference must be what sample or asymptotic_variance returns, got {shorten(reference)}.")
    check_spread(e)
    if isinstance(reference, Replicates):
        parts, ordinary = _from_variances(e, reference)
    else:
        parts, ordinary = _from_draws(e, reference)
    values = np.concatenate([part.all_values("inefficiency") for part in parts], axis=1)
    deviation = (values - values.mean(axis=0)) ** 2
    variance = values.var(axis=0, ddof=1)
    cost, seconds = e.sweeps.mean(), e.seconds.mean()
    by_chain = np.where(ordinary.variance > 0, ordinary.variance, np.nan)
    in_sweeps = cost * variance / by_chain
    # The influence of one replicate on (mean cost) x (variance), and the error of the ordinary chains' variance.
    influence = (e.sweeps[:, None] - cost) * variance + cost * (deviation - variance)
    error = influence.std(axis=0, ddof=1) / np.sqrt(len(influence)) / by_chain
    return Inefficiency(
        sweeps=in_sweeps,
        seconds=seconds * variance / (by_chain * ordinary.seconds_a_sweep),
        stderr=np.hypot(error, in_sweeps * ordinary.relative_error),
        components=parts[0].components if len(parts) == 1 else [name for part in parts for name in part.components],
    )


def check_spread(e: Replicates) -> None:
    """Refuse an estimate whose variance cannot be told."""
    if len(e.values) < 2:
        raise ValueError("inefficiency needs at least two replicates, got one.")


def is_variance(reference: Any) -> bool:
    """Tell whether it is what `copartition.asymptotic_variance` returns."""
    return isinstance(reference, Replicates) and "seconds_a_sweep" in reference.made_by


def _from_draws(e: Replicates, reference: Draws) -> tuple[list[Replicates], Ordinary]:
    same = [part for part in e.parts() if list(part.components) == list(reference.components)]
    part = same[0] if same else e.select(reference.functional)
    components = len(part.components)
    if components != reference.draws.shape[2]:
        raise ValueError(
            f"reference must have {components} components as the estimate has, got {reference.draws.shape[2]}."
        )
    chains, kept, _ = reference.draws.shape
    seconds_a_sweep = reference.seconds.sum() / (chains * (kept + reference.burn_in))
    error = np.full(components, relative_error(reference.draws))
    return [part], Ordinary(asymptotic_variance(reference.draws), error, float(seconds_a_sweep))


def _from_variances(e: Replicates, reference: Replicates) -> tuple[list[Replicates], Ordinary]:
    if reference.made_by["fingerprint"] != e.made_by["fingerprint"]:
        raise ValueError(
            "reference must be of the same target as the estimate, got the variance of another one's chains."
        )
    of = {part.functionals[0]["name"]: part for part in reference.parts()}
    parts = [part for part in e.parts() if variance_name(part.functionals[0]["name"]) in of]
    if not parts:
        names = ", ".join(about["name"] for about in e.functionals)
        raise ValueError(f"reference must be of a functional of the estimate, {names}, got {', '.join(of)}.")
    matching = [of[variance_name(part.functionals[0]["name"])] for part in parts]
    mean, stderr = (np.concatenate([getattr(one, name) for one in matching]) for name in ("mean", "stderr"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return parts, Ordinary(mean, stderr / mean, reference.made_by["seconds_a_sweep"])
