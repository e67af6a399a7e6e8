"""How work is cut into pieces, so that it can be interrupted, and how it is told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS_A_CALL = 0.05

Pause = Callable[[], None]
"""What a piece of work calls every now and then; raises `Interrupted` if its run has been given up."""


class Interrupted(Exception):
    """Raised inside a piece of work when the run that it belongs to was given up."""


def no_pause() -> None:
    """Do nothing: the pause of work that nobody interrupts."""


class Chunks:
    """Numbers of sweeps that take about a twentieth of a second each.

    Long enough that the cost of a call does not count, short enough for interruptions and progress in between. They
    depend on the speed of the machine, and results must not depend on them.

    Parameters
    ----------
    n_points : int
        For the first guess: an update takes some 100 nanoseconds, often more.
    """

    def __init__(self, n_points: int) -> None:
        self._size = max(1, 100_000 // n_points)
        self._asked: float | None = None

    def next(self, remaining: int) -> int:
        """Return how many of the remaining sweeps to do in the next call."""
        now = time.perf_counter()
        if self._asked is not None:
            took = now - self._asked
            if took < SECONDS_A_CALL / 2:
                self._size *= 2
            elif took > 2 * SECONDS_A_CALL:
                self._size = max(1, self._size // 2)
        self._asked = now
        return min(self._size, remaining)
