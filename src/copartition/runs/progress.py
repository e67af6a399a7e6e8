"""What a run says while it goes on, and how it is told to stop: how far it is, the current estimate, slow pairs.

On a terminal that is a bar, in a notebook a line that is brought up to date, and elsewhere a line on standard error
every now and then, so that nobody waits in the dark. A run without a cap waits for every pair to meet, for ever if
need be: that it waits is said once.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from copartition.core.compiling import compiling, in_notebook
from copartition.display import rounded
from copartition.results import Outcomes
from copartition.validation import flag

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


PATIENCE = 5.0  # seconds without a piece that ends, after which it is said what pairs are doing
FIRST_LINE = 5.0  # seconds until the first line where there is no terminal; the time between lines doubles
LONGEST_SILENCE = 300.0
FIRST_GUESS, LEAST_SHARE = 2.0, 0.01  # seconds, and share of work, before it is said how much is left
FEW_WORDS = 40  # characters that have room beside a bar
BAR_STYLE = "width: 12em; vertical-align: middle"

Watch = Callable[[Pause], None]


class Bar(Protocol):
    """Something that shows how far a run is."""

    def show(self, done: int, total: int, note: str) -> None:
        """Bring it up to date."""

    def close(self) -> None:
        """Show it for the last time."""


class Running:
    """Mean and standard error of the replicates so far, by adding up.

    Parameters
    ----------
    names : sequence of str
        Of the components.
    first : int, optional
        The number of components of the first functional, of which one is shown; left out, all.
    """

    def __init__(self, names: Sequence[str] = (), first: int | None = None) -> None:
        self._names = names
        self._first = first
        self.done = 0
        self._total: np.ndarray | float = 0.0
        self._squares: np.ndarray | float = 0.0

    def add(self, outcomes: Outcomes) -> None:
        """Take a batch in."""
        self.done += len(outcomes.indices)
        self._total = self._total + outcomes.values.sum(axis=0)
        self._squares = self._squares + (outcomes.values**2).sum(axis=0)

    @property
    def mean(self) -> np.ndarray:
        """The current estimate."""
        return np.atleast_1d(self._total / max(self.done, 1))

    @property
    def stderr(self) -> np.ndarray:
        """Its standard error."""
        variance = np.maximum(self._squares / max(self.done, 1) - self.mean**2, 0.0)
        return np.atleast_1d(np.sqrt(variance / max(self.done - 1, 1)))

    def __str__(self) -> str:
        if self.done < 2:
            return ""
        errors = self.stderr[: self._first]
        if not len(errors):
            return ""
        i = int(np.argmax(errors))  # the one that still moves
        name = f"{self._names[i]} " if len(errors) > 1 and len(self._names) else ""
        if errors[i] == 0.0:
            return f"{name}{self.mean[i]:.5g} in all replicates so far"
        return f"{name}{rounded(self.mean[i], errors[i])} +- {errors[i]:.2g}"


class Monitor:
    """Counts what has ended, and says what is under way where nothing has for a while.

    Parameters
    ----------
    bar : Bar
    total : int
        Number of pieces in all.
    done : int
        Number of pieces that were there before.
    """

    def __init__(self, bar: Bar, total: int = 0, done: int = 0) -> None:
        self.total = total
        self._bar = bar
        self._done = done
        self._note = ""
        self._last = time.monotonic()

    def add(self, count: int, note: str = "") -> None:
        """Count pieces that have ended."""
        self._done += count
        self._note = note
        self._last = time.monotonic()
        self._bar.show(self._done, self.total, note)

    def watch(self, pause: Pause) -> None:
        """Look at what is under way."""
        silence = time.monotonic() - self._last
        hint = slow_pairs(pause.under_way, silence) if silence > PATIENCE else ""
        self._bar.show(self._done, self.total, hint or self._note)


def slow_pairs(under_way: list[int], silence: float) -> str:
    """Return what pairs that have not met for a while are doing, and what can be done about it."""
    if not under_way:
        return ""
    return (
        f"no pair of chains has met for {silence:.0f} s; {len(under_way)} under way, after up to {max(under_way):,} "
        "coupled sweeps. More split_merge moves or another init may help; max_sweeps ends them (then there is a bias)"
    )


@contextmanager
def counting(wanted: bool, total: int, what: str) -> Iterator[tuple[Callable[[int], None], Watch]]:
    """Show how many pieces of work have ended; yields a function that counts, and one that looks."""
    if not flag("progress", wanted):
        yield lambda count: None, lambda pause: None
        return
    with bar_for(what) as bar:
        monitor = Monitor(bar, total)
        yield monitor.add, monitor.watch


@contextmanager
def bar_for(what: str, is_share: bool = False) -> Iterator[Bar]:
    """Open the kind of bar that suits where this runs.

    Parameters
    ----------
    what : str
    is_share : bool
        What is shown is a share of work, of which some may not be needed, and no number of pieces.
    """
    bar: Bar
    if in_notebook():
        bar = _NotebookLine(what, is_share)
    elif sys.stderr is not None and sys.stderr.isatty():
        bar = _TerminalBar(what, is_share)
    else:
        bar = _Lines(what, is_share)
    try:
        yield bar
    finally:
        bar.close()


def _left(done: int, total: int, seconds: float) -> str:
    """Return how long the rest of the work takes if it takes as long as what is done; nothing before that can be told.

    Examples
    --------
    >>> _left(250, 1000, 30.0), _left(1, 1000, 2.0), _left(1000, 1000, 60.0)
    ('up to 90 s left', '', '')
    """
    if seconds < FIRST_GUESS or done < LEAST_SHARE * total or done >= total:
        return ""
    return f"up to {seconds * (total - done) / done:.0f} s left"


def _text(what: str, done: int, total: int, seconds: float, note: str, is_share: bool = False) -> str:
    if is_share:
        parts = f"{what}: {100 * done // total} %, {seconds:.0f} s", _left(done, total, seconds)
        return ", ".join(filter(None, parts)) + (f"; {note}" if note else "")
    rate = done / seconds if seconds > 0 else 0.0
    speed = f", {rate:,.3g}/s" if done else ""
    return f"{what}: {done:,} of {total:,}, {seconds:.0f} s{speed}" + (f"; {note}" if note else "")


class _Rhythm:
    """Tells when it is time to say something once more: soon at first, then more and more seldom."""

    def __init__(self, begin: float, wait: float) -> None:
        self._next = begin + wait
        self._wait = FIRST_LINE

    def is_due(self, now: float) -> bool:
        """Tell whether it is time, and if so, when the next time is."""
        if now < self._next:
            return False
        self._wait = min(2 * self._wait, LONGEST_SILENCE)
        self._next = now + self._wait
        return True


class _TerminalBar:
    """A bar that moves; what takes more than a few words is said above it."""

    def __init__(self, what: str, is_share: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        many, rate = MofNCompleteColumn(), TextColumn("{task.fields[rate]}")
        counted = (TextColumn("{task.percentage:3.0f} %"), rate) if is_share else (many, rate, TimeRemainingColumn())
        columns = (TextColumn(what), BarColumn(), *counted, TextColumn("{task.fields[note]}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._is_share, self._begin = is_share, time.monotonic()
        self._task = self._bar.add_task("", total=None, rate="", note="")
        self._rhythm = _Rhythm(time.monotonic(), wait=0.0)
        self._bar.start()

    def show(self, done: int, total: int, note: str) -> None:
        if len(note) > FEW_WORDS:
            if self._rhythm.is_due(time.monotonic()):
                self._bar.console.print(note, highlight=False)
            note = ""
        speed = self._bar.tasks[0].speed
        rate = f"{speed:,.0f}/s" if speed and speed >= 1 else ""
        if self._is_share:
            rate = _left(done, total, time.monotonic() - self._begin)
        self._bar.update(self._task, total=total, completed=done, rate=rate, note=note)

    def close(self) -> None:
        self._bar.stop()


class _NotebookLine:
    """One line with a bar that is brought up to date, in HTML and as text.

    It needs no widgets, and uses none where there are some: notebooks are saved without their state, and would show
    that a widget is missing. A run is many bars, one after another, such as the rounds of a pilot. All that run in one
    cell share its line, so that a saved notebook has one output, which says what came last.
    """

    _line: tuple[Any, Any] = (None, None)  # the cell, and what shows the line below it

    def __init__(self, what: str, is_share: bool = False) -> None:
        from IPython import get_ipython
        from IPython.display import display

        self._what, self._is_share = what, is_share
        self._begin = self._shown = time.monotonic()
        self._done = self._total = 0
        self._note = ""
        cell, handle = _NotebookLine._line
        here = get_ipython().execution_count
        if handle is None or cell != here:
            handle = display({"text/plain": f"{what} ..."}, raw=True, display_id=True)
            _NotebookLine._line = (here, handle)
        self._handle = handle

    def show(self, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        self._done, self._total, self._note = done, total, note
        if now - self._shown > 0.2:
            self._shown = now
            self._update(moving=True)

    def close(self) -> None:
        """Leave what was done, without a bar: nothing moves any more."""
        self._update(moving=False)

    def _update(self, moving: bool) -> None:
        seconds = time.monotonic() - self._begin
        shown = self._what, self._done, self._total, seconds, self._note, self._is_share
        text = _text(*shown) if self._total else f"{self._what}: none"
        bar = f'<progress value="{self._done}" max="{self._total}" style="{BAR_STYLE}"></progress> ' if moving else ""
        self._handle.update({"text/plain": text, "text/html": f"{bar}<span>{escape(text)}</span>"}, raw=True)


class _Lines:
    """A line on standard error every now and then, more and more seldom."""

    def __init__(self, what: str, is_share: bool = False) -> None:
        self._what, self._is_share = what, is_share
        self._begin = time.monotonic()
        self._rhythm = _Rhythm(self._begin, wait=FIRST_LINE)

    def show(self, done: int, total: int, note: str) -> None:
        now = time.monotonic()
        if done < total and self._rhythm.is_due(now) and sys.stderr is not None:
            text = _text(self._what, done, total, now - self._begin, note, self._is_share)
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left to be said."""
