"""Summaries that a few wild replicates cannot spoil, and a word of warning when there are some.

Replicates whose pairs met late carry large corrections. They are what makes the mean unbiased, so leaving them out is
not free: a trimmed mean estimates something a little different from the expectation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from copartition.validation import confidence, probability

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
