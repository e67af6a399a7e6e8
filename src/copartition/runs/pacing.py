"""How work is cut into pieces, so that it can be interrupted, and how it is told to stop."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

SECONDS_A_CALL = 0.05


class Interrupted(Exception):
    """Raised inside a piece of work when the run that it belongs to was given up."""


class Pause:
    """What a piece of work calls every now and then: the place where it can be stopped and looked at.

    Where work runs in another process nobody hears what it tells; how it is stopped there, see `PauseByFile`.
    """

    def __init__(self) -> None:
        self._given_up = threading.Event()
        self._seen: dict[int, int] = {}

    def __call__(self) -> None:
        """Raise `Interrupted` if the run has been given up."""
        if self._given_up.is_set():
            raise Interrupted

    def give_up(self) -> None:
        """Ask all work to stop at its next pause."""
        self._given_up.set()

    def tell(self, sweeps: int | None) -> None:
        """Say how many coupled sweeps the pair at hand has made; None once it has met."""
        if sweeps is None:
            self._seen.pop(threading.get_ident(), None)
        else:
            self._seen[threading.get_ident()] = sweeps

    @property
    def under_way(self) -> list[int]:
        """The coupled sweeps that pairs under way, which have not met, have made so far."""
        return list(self._seen.values())


class PauseByFile(Pause):
    """A pause that other processes of this machine hear: work is given up when a file is gone."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __call__(self) -> None:
        """Raise `Interrupted` if the run has been given up."""
        if not self._path.exists():
            raise Interrupted

    def give_up(self) -> None:
        """Ask all work to stop at its next pause."""
        super().give_up()
        with suppress(OSError):  # Windows keeps a file that is being read
            self._path.unlink(missing_ok=True)


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
