"""When a run has replicates enough.

A number of replicates that depends on their values is a matter for care: stopping as soon as a standard error *looks*
small enough favours runs in which it looks too small. So a run for a given precision looks rarely. It begins with 200
replicates, predicts from their variance how many are needed, runs those (at most four times as many as before), and
looks again. What that does to the coverage of intervals is measured in docs/evidence.md.

A run of which neither a number nor a precision is asked for stops in the same way, at a precision that is enough to
read an answer: it begins with as few replicates as there may be for an interval, and ends at 1000 whatever they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from copartition.results.replicates import FEWEST_FOR_INTERVAL
from copartition.validation import integer, positive_number

FIRST_LOOK = 200
ORDINARY = 0.01  # standard error of probabilities and shares; of all else, as a share of the largest mean
MOST_BY_DEFAULT = 1000
GROWTH = 4  # times as many, at the most, from one look to the next
MARGIN = 1.02  # a little more than predicted, so that the next look is mostly the last
MOST_REPLICATES = 10_000_000
HUGE = 1e150  # of which the square is a number


class Seen(Protocol):
    """The replicates that there are."""

    @property
    def count(self) -> int:
        """How many."""

    @property
    def shares(self) -> Set[int]:
        """The numbers of the functionals whose components are probabilities or shares."""

    def moments(self) -> Iterable[tuple[int, np.ndarray, np.ndarray]]:
        """Yield, for some components of one functional at a time, its number, and their means and variances."""


@dataclass(frozen=True)
class FixedNumber:
    """So many replicates, whatever their values."""

    most: int

    @property
    def foreseen(self) -> int:
        """How many replicates there must be memory for."""
        return self.most

    def next(self, seen: Seen) -> int | None:
        """Return how many replicates there should be, given those there are; None if they are enough."""
        return None if seen.count >= self.most else self.most

    def outcome(self, seen: Seen) -> dict[str, Any]:
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
    only : int or None
        The number of the one functional that has to be precise, if not all have to be.
    first : int
        The number of replicates before the first look.
    is_default : bool
        Whether nobody asked for it. Then `stderr` is of probabilities and shares, and `relative` of all else.
    """

    stderr: float | None
    relative: float | None
    most: int = field(default=MOST_REPLICATES)
    only: int | None = None
    first: int = FIRST_LOOK
    is_default: bool = False

    @property
    def foreseen(self) -> int:
        """How many replicates there must be memory for."""
        return self.most if self.is_default else self.first

    def next(self, seen: Seen) -> int | None:
        """Return how many replicates there should be, given those there are; None if they are enough."""
        if seen.count == 0:
            return min(self.first, self.most)
        needed = self._needed(seen)
        if needed <= seen.count or seen.count >= self.most:
            return None
        return int(min(max(seen.count + 1, MARGIN * needed), GROWTH * seen.count, self.most))

    def outcome(self, seen: Seen) -> dict[str, Any]:
        """Return what a result should say of how it was stopped."""
        reached = bool(self._needed(seen) <= seen.count)
        precision = {"target_stderr": self.stderr, "target_relative": self.relative, "reached": reached}
        return {"precision": precision | ({"by_default": True} if self.is_default else {})}

    def _needed(self, seen: Seen) -> float:
        """Return the number of replicates that the variance of these calls for; infinity if it is not known."""
        if seen.count < 2:
            return np.inf
        largest: dict[int, float] = {}
        if self.relative is not None:
            for functional, mean, _ in seen.moments():
                largest[functional] = max(largest.get(functional, 0.0), float(np.abs(mean).max()))
        needed = 0.0
        for functional, _, variance in seen.moments():
            if self.only not in (None, functional):
                continue
            stderr, relative = self.stderr, self.relative
            if self.is_default:
                stderr, relative = (stderr, None) if functional in seen.shares else (None, relative)
            allowed = np.inf if stderr is None else stderr
            if relative is not None:
                allowed = min(allowed, relative * largest[functional])
            with np.errstate(divide="ignore", invalid="ignore"):
                here = np.where(variance > 0, variance / min(allowed, HUGE) ** 2 if allowed > 0 else np.inf, 0.0)
            needed = max(needed, float(here.max()))
        return needed


def stopping_rule(
    replicates: Any, target_stderr: Any, target_relative: Any, fewest: int = FEWEST_FOR_INTERVAL
) -> FixedNumber | UntilPrecise:
    """Return the rule that these arguments of `estimate` stand for; `fewest` is how many replicates it begins with."""
    if target_stderr is None and target_relative is None:
        if replicates is not None:
            return FixedNumber(integer("replicates", replicates, 1))
        return UntilPrecise(ORDINARY, ORDINARY, MOST_BY_DEFAULT, first=fewest, is_default=True)
    return UntilPrecise(
        stderr=None if target_stderr is None else positive_number("target_stderr", target_stderr),
        relative=None if target_relative is None else positive_number("target_relative", target_relative),
        most=MOST_REPLICATES if replicates is None else integer("replicates", replicates, 2),
    )
