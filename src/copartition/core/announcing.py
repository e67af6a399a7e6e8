"""Saying that kernels are compiled, and how many are left, on any standard error: nobody should wait in the dark."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_LINES = 5.0  # where lines stay, in a file or a notebook


class Compiling:
    """What a process has compiled so far.

    Runs that wait for pairs do not count the time that it takes.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None
        self._last_line = 0.0

    @contextmanager
    def one(self, place: int = 1, of: int = 1) -> Iterator[None]:
        """Say that a function is compiled, and which of how many that are to be."""
        begin = self._since = time.monotonic()
        self._say(f"compiling {place} of {of} kernels, once for this version", begin, place == of)
        try:
            yield
        finally:
            self._seconds += time.monotonic() - begin
            self._since = None

    @property
    def seconds_so_far(self) -> float:
        """What it took, that of the function at hand included."""
        since = self._since
        return self._seconds + (0.0 if since is None else time.monotonic() - since)

    def _say(self, message: str, now: float, is_last: bool) -> None:
        stream = sys.stderr
        if stream is None:
            return
        if stream.isatty() and not in_notebook():
            print(f"\r\x1b[Kcopartition: {message}", end="\n" if is_last else "", file=stream, flush=True)
        elif now - self._last_line > SECONDS_BETWEEN_LINES or self._last_line == 0.0:
            self._last_line = now
            print(f"copartition: {message}", file=stream, flush=True)


compiling = Compiling()


def in_notebook() -> bool:
    """Tell whether this runs in a notebook: in IPython with a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
