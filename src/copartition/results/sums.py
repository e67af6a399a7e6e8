"""Sums over replicates: all that is kept of functionals with so many components that their values are not.

A functional that counts (points that are together, say) has whole numbers as values, and so has the sum that a
replicate divides by its number of sweeps. Sums of whole numbers, and of their squares, are exact: in whatever order
replicates come in, from however many places, they have the same bits. Two arrays hold them, however many replicates
there are; mean and variance follow at the end without a loss of digits (`mean_and_variance`).

Many threads may add at a time, each to its own stretch; whoever wants to see sums and list of replicates as they belong
together holds them for a moment (`Sums.held`).
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from copartition.results.partitions import Partitions
from copartition.results.unmet import Unmet

CHUNK = 1 << 16  # components that are packed, stored and converted at a time
STRETCHES = 64  # of the components, each with a lock of its own
NEARLY = 0.01  # how far a whole number may be off after many additions of fractions
LARGEST = 1 << 31  # a sum whose square, twice, still has a place in 64 bits
TOO_LARGE = "too large to be summed exactly; keep them (keep_values=True)"


class Row(NamedTuple):
    """What is known of one replicate whose values are in the sums; `values` are those that are kept.

    Under a cap also the ordinary averages of these, and the chains of a pair that did not meet; where partitions are
    kept, these.
    """

    number: int
    meeting_time: int
    met: bool
    sweeps: int
    seconds: float
    values: np.ndarray
    ordinary: np.ndarray | None = None
    apart: Unmet | None = None
    partitions: Partitions | None = None


class Packed(NamedTuple):
    """Sums on their way from one process to another: compressed, and never unpacked but chunk by chunk."""

    rows: list[Row]
    chunks: list[bytes]


class Sums:
    """Sums and sums of squares of whole numbers over replicates.

    Parameters
    ----------
    size : int
        Number of components.
    lists_rows : bool
        Whether to list the replicates that are added, for a file.

    Attributes
    ----------
    totals, squares : int64 arrays (size)
    rows : list of Row
        The replicates that have been added, since the list was last taken.
    is_torn : bool
        Whether somebody was stopped while adding: there may be something in the sums that is not in the list.
    """

    def __init__(self, size: int, lists_rows: bool = True) -> None:
        self._lists_rows = lists_rows
        self.totals = np.zeros(size, dtype=np.int64)
        self.squares = np.zeros(size, dtype=np.int64)
        self.rows: list[Row] = []
        self.is_torn = False
        self._gate = threading.Condition()
        self._adding = 0
        self._held = False
        self._locks = [threading.Lock() for _ in range(STRETCHES)]

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Let one more add: nobody sees the sums until it has ended."""
        with self._gate:
            self._gate.wait_for(lambda: not self._held)
            self._adding += 1
        try:
            yield
        except BaseException:
            self.is_torn = True
            raise
        finally:
            with self._gate:
                self._adding -= 1
                self._gate.notify_all()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let nobody add."""
        with self._gate:
            self._gate.wait_for(lambda: not self._held)
            self._held = True
        try:
            with self._gate:
                self._gate.wait_for(lambda: self._adding == 0)
            yield
        finally:
            with self._gate:
                self._held = False
                self._gate.notify_all()

    def stretches(self, bounds: Sequence[int], first: int) -> Iterator[tuple[int, int]]:
        """Yield the stretches between `bounds`, locked one after another, from one that depends on `first` on."""
        count = len(bounds) - 1
        for step in range(count):
            k = (first + step) % count
            with self._locks[k % STRETCHES]:
                yield bounds[k], bounds[k + 1]

    def add(self, whole: np.ndarray, begin: int) -> None:
        """Add the values of a replicate, as `whole_numbers` returns them, to the components from `begin` on."""
        bounds = np.linspace(0, len(whole), min(STRETCHES, max(1, len(whole) // CHUNK)) + 1).astype(np.int64)
        for a, b in self.stretches(bounds.tolist(), 0):
            self.totals[begin + a : begin + b] += whole[a:b]
            self.squares[begin + a : begin + b] += whole[a:b] ** 2
            _check_squares(self.squares[begin + a : begin + b])

    def note(self, row: Row) -> None:
        """Write down which replicate has been added."""
        if self._lists_rows:
            self.rows.append(row)

    def packed(self) -> Packed:
        """Return the sums in a form that is small to send."""
        return Packed(self.rows, [pack(self.totals[a:b], self.squares[a:b]) for a, b in chunks(len(self.totals))])

    def merge(self, other: Packed) -> None:
        """Add the sums of other replicates."""
        with self.adding():
            for (a, b), packed in zip(chunks(len(self.totals)), other.chunks, strict=True):
                totals, squares = unpack(packed)
                self.totals[a:b] += totals
                self.squares[a:b] += squares
                _check_squares(self.squares[a:b])
            if self._lists_rows:
                self.rows.extend(other.rows)


def whole_numbers(total: np.ndarray) -> np.ndarray:
    """Return the values of a replicate as whole numbers, if that is what they are but for rounding; or refuse them."""
    rounded = np.rint(total)
    with np.errstate(invalid="ignore"):  # of what is infinite
        is_whole = np.all(np.abs(total - rounded) < NEARLY)
    if not is_whole:
        raise ValueError("a functional whose values are said to be whole numbers has others")
    if len(total) and np.abs(rounded).max() >= LARGEST:
        raise ValueError(f"a functional has values {TOO_LARGE}")
    return rounded.astype(np.int64)


def _check_squares(squares: np.ndarray) -> None:
    """Refuse sums of squares that have just outgrown their 64 bits: the sum of two is negative then."""
    if len(squares) and squares.min() < 0:
        raise ValueError(f"the squares of the values of a functional have become {TOO_LARGE}")


def chunks(size: int) -> list[tuple[int, int]]:
    """Return the bounds of the chunks of so many components."""
    return [(a, min(a + CHUNK, size)) for a in range(0, size, CHUNK)]


def pack(totals: np.ndarray, squares: np.ndarray) -> bytes:
    """Return a chunk of both arrays as few bytes: numbers as narrow as they are, and compressed."""
    both = np.stack([totals, squares])
    narrow = both.astype(np.int32)
    is_narrow = np.array_equal(narrow, both)
    return (b"4" if is_narrow else b"8") + zlib.compress((narrow if is_narrow else both).tobytes(), 1)


def unpack(packed: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the two arrays of a chunk."""
    kind = np.int32 if packed[:1] == b"4" else np.int64
    totals, squares = np.frombuffer(zlib.decompress(packed[1:]), dtype=kind).reshape(2, -1)
    return totals, squares


def mean_and_variance(totals: np.ndarray, squares: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance (that of the sample, NaN for one replicate) of whole numbers from their sums.

    Sums of squares and squares of sums are large and nearly equal. So squares are taken about the whole number q next
    to the mean, which is exact (where it overflows on the way it comes back), and what is left to subtract, R times the
    squared distance of the mean from q, is at most half of that: whole numbers with that mean vary at least as much.
    """
    q = np.rint(totals / max(count, 1)).astype(np.int64)
    rest = totals - q * count
    about = squares - q * (totals + rest)
    spread = about - rest.astype(np.float64) ** 2 / max(count, 1)
    mean = q + rest / max(count, 1)
    return mean, np.maximum(spread, 0.0) / (count - 1) if count > 1 else np.full(len(totals), np.nan)
