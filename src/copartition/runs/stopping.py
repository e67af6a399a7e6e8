"""When a run has replicates enough.

A number of replicates that depends on their values is a matter for care: stopping as soon as a standard error *looks*
small enough favours runs in which it looks too small. So a run for a given precision looks rarely. It begins with 200
replicates, predicts from their variance how many are needed, runs those (at most four times as many as before), and
looks again. What that does to the coverage of intervals is measured in docs/evidence.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.validation import integer, positive_number

FIRST = 200
GROWTH = 4
MARGIN = 1.02  # a little more than predicted, so that the next look is mostly the last
MOST = 10_000_000


@dataclass(frozen=True)
class FixedNumber:
    """So many replicates, whatever their values."""

    most: int

    def next(self, values: np.ndarray, sizes: Sequence[int]) -> int | None:
        """Return how many replicates there should be, given the values of those there are; None if they are enough."""
        return None if len(values) >= self.most else self.most

    def outcome(self, values: np.ndarray, sizes: Sequence[int]) -> dict[str, Any]:
        """Return what a result should say of how it was stopped."""
        return {}


@dataclass(frozen=True)
class UntilPrecise:
    """Replicates until all standard errors are small enough.

    Attributes
    ----------
    stderr, relative : float or None
        At most this; at most this times the largest mean of a functional.
    most : int
        A limit to the number of replicates.
    """

    stderr: float | None
    relative: float | None
    most: int = field(default=MOST)

    def next(self, values: np.ndarray, sizes: Sequence[int]) -> int | None:
        """Return how many replicates there should be, given the values of those there are; None if they are enough."""
        count = len(values)
        if count == 0:
            return min(FIRST, self.most)
        needed = self._needed(values, sizes)
        if needed <= count or count >= self.most:
            return None
        return int(min(max(count + 1, MARGIN * needed), GROWTH * count, self.most))

    def outcome(self, values: np.ndarray, sizes: Sequence[int]) -> dict[str, Any]:
        """Return what a result should say of how it was stopped."""
        reached = bool(self._needed(values, sizes) <= len(values))
        return {"precision": {"target_stderr": self.stderr, "target_relative": self.relative, "reached": reached}}

    def _needed(self, values: np.ndarray, sizes: Sequence[int]) -> float:
        """Return the number of replicates that the variance of these calls for; infinity if it is not known."""
        if len(values) < 2:
            return np.inf
        variance = values.var(axis=0, ddof=1)
        allowed = np.full(values.shape[1], np.inf if self.stderr is None else self.stderr)
        if self.relative is not None:
            means = np.abs(values.mean(axis=0))
            begins = np.cumsum([0, *sizes[:-1]])
            allowed = np.minimum(allowed, self.relative * np.repeat(np.maximum.reduceat(means, begins), sizes))
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(variance > 0, variance / allowed**2, 0.0)
        return float(needed.max())


def stopping_rule(replicates: Any, target_stderr: Any, target_relative: Any) -> FixedNumber | UntilPrecise:
    """Return the rule that these arguments of `estimate` stand for."""
    if target_stderr is None and target_relative is None:
        return FixedNumber(1000 if replicates is None else integer("replicates", replicates, 1))
    return UntilPrecise(
        stderr=None if target_stderr is None else positive_number("target_stderr", target_stderr),
        relative=None if target_relative is None else positive_number("target_relative", target_relative),
        most=MOST if replicates is None else integer("replicates", replicates, 2),
    )
