"""A run without a cap waits for every pair to meet, for ever if need be: that it waits is said once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from copartition.core.announcing import compiling
from copartition.runs.pacing import Pause

SECONDS = 30.0  # that slow pairs are under way before it is said
SILENCE = 60.0  # seconds without anything that ends, where nobody sees what pairs are doing
SLOW_FOR_ANY_PAIR = 10_000  # coupled sweeps that are many for any pair
TIMES = 20.0  # as long as other pairs took
KNOWN = 10  # pairs that must have met for their median to be known


class SlowPairsWarning(UserWarning):
    """Pairs of a run that has no cap have been under way for very long without meeting.

    It is given once a run. Nothing is changed by it: the run goes on.

    Examples
    --------
    >>> import copartition as cp
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", cp.errors.SlowPairsWarning)  # rather an error than waiting, in a script say
    """


def nothing_known() -> np.ndarray:
    """Return no sweeps to meet: those of runs that do not tell."""
    return np.zeros(0)


class Patience:
    """Looks at a run every second or so, and warns once if pairs take very long.

    Slow are pairs that have made 20 times as many coupled sweeps as the median of those that have met, or 10,000; they
    are told of when there have been some for half a minute. In other processes nobody sees what pairs are doing: there
    a run is told of where nothing has ended for a minute, and for 20 times as long as it ever took before.

    Parameters
    ----------
    watch : callable
        What else looks at the run.
    ended : sequence
        Grows whenever something has ended.
    times : callable
        Returns the coupled sweeps that pairs took to meet.
    """

    def __init__(
        self,
        watch: Callable[[Pause], None],
        ended: Sequence[Any],
        times: Callable[[], np.ndarray] = nothing_known,
    ) -> None:
        self._watch = watch
        self._ended = ended
        self._times = times
        self._has_warned = False
        self._count = len(ended)
        self._last = time.monotonic()
        self._longest = 0.0
        self._compiled = compiling.seconds_so_far
        self._slow_since: float | None = None

    def __call__(self, pause: Pause) -> None:
        """Look."""
        self._watch(pause)
        if self._has_warned:
            return
        now = time.monotonic()
        # Compiling is not waiting for pairs.
        self._last += compiling.seconds_so_far - self._compiled
        self._compiled = compiling.seconds_so_far
        if len(self._ended) > self._count:
            self._count, self._longest, self._last = len(self._ended), max(self._longest, now - self._last), now
        text = self._slow(pause.under_way, now) or self._silent(now - self._last)
        if text:
            self._has_warned = True
            warnings.warn(
                f"{text} A run without max_sweeps waits until they meet, for ever if need be. Ctrl-C ends it (what has "
                "ended is kept if there is a store); with max_sweeps the answer says what is missing, and whether "
                "chains are in different modes or the coupling is slow.",
                SlowPairsWarning,
                stacklevel=4,
            )

    def _slow(self, under_way: list[int], now: float) -> str:
        """Return what is to be said of pairs that can be seen."""
        slow = [sweeps for sweeps in under_way if sweeps > TIMES]
        limit = self._limit() if slow else 0.0
        slow = [sweeps for sweeps in slow if sweeps > limit]
        if not slow:
            self._slow_since = None
            return ""
        self._slow_since = now if self._slow_since is None else self._slow_since
        if now - self._slow_since < SECONDS:
            return ""
        return (
            f"{len(slow)} of {len(under_way)} pairs under way have not met after more than {limit:,.0f} coupled "
            f"sweeps, the slowest after {max(slow):,}."
        )

    def _limit(self) -> float:
        times = self._times()
        return (
            SLOW_FOR_ANY_PAIR
            if len(times) < KNOWN
            else float(min(SLOW_FOR_ANY_PAIR, max(1.0, TIMES * np.median(times))))
        )

    def _silent(self, silence: float) -> str:
        """Return what is to be said where nothing has ended for long."""
        if silence < max(SILENCE, TIMES * self._longest):
            return ""
        return f"Nothing has ended for {silence:.0f} s."
