"""What is kept of replicates besides values: weighted partitions, and exact sums.

From partitions with signed weights any expectation can be estimated afterwards. Sums over replicates are all that is
kept of functionals with so many components that their values are not. A functional that counts (points that are
together, say) has whole numbers as values, and so has the sum that a replicate divides by its number of sweeps. Sums of
whole numbers, and of their squares, are exact: in whatever order replicates come in, from however many places, they
have the same bits. Two arrays hold them, however many replicates there are; mean and variance follow at the end without
a loss of digits (`mean_and_variance`).

Many threads may add at a time, each to its own stretch; whoever wants to see sums and list of replicates as they belong
together holds them for a moment (`Sums.held`).
"""

from __future__ import annotations

import itertools
import math
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from copartition.results.chains import Unmet

HEAD = struct.Struct("<BIII")  # of a packed replicate: bytes a label, partitions, points, hyperparameters


class Partitions(NamedTuple):
    """Some of the partitions that replicates average over, and some of their corrections.

    For any function h of a partition the sum of ``weights * h`` over the partitions of one replicate is an unbiased
    estimate of its expectation. Those of one replicate follow each other: first `averaged` many of its average, then,
    two by two, of its corrections.

    Attributes
    ----------
    labels : unsigned integer array (partitions, points)
        Of the smallest type that holds them.
    counts : int64 array (partitions)
        The weights, as whole multiples of ``1 / unit``; negative for chains that are subtracted.
    replicate : int64 array (partitions)
        The number of the replicate that each belongs to.
    hyperparameters : float64 array (partitions, hyperparameters)
        Values of those of the target's hyperparameters that are unknown; without columns where all are known.
    averaged : int
        How many of each replicate are of its average.
    unit : int
    """

    labels: np.ndarray
    counts: np.ndarray
    replicate: np.ndarray
    hyperparameters: np.ndarray
    averaged: int
    unit: int

    @property
    def weights(self) -> np.ndarray:
        """The signed weights; those of one replicate sum to 1."""
        return self.counts / self.unit

    @property
    def first(self) -> np.ndarray:
        """Where each replicate begins, and, last, where all end."""
        begins = np.flatnonzero(np.diff(self.replicate, prepend=-1))
        return np.append(begins, len(self.replicate))

    @property
    def is_averaged(self) -> np.ndarray:
        """Which partitions are of an average, and not of a correction."""
        first = self.first
        return np.arange(len(self.counts)) - np.repeat(first[:-1], np.diff(first)) < self.averaged

    def where(self, chosen: np.ndarray) -> Partitions:
        """Return some of them: all of whole replicates, or the order is lost."""
        return self._replace(
            labels=self.labels[chosen],
            counts=self.counts[chosen],
            replicate=self.replicate[chosen],
            hyperparameters=self.hyperparameters[chosen],
        )

    @classmethod
    def joined(cls, several: Sequence[Partitions], below: int | None = None) -> Partitions:
        """Return those of several, in the order of their replicates, below a number of these."""
        arrays = [np.concatenate(parts) for parts in zip(*[one[:4] for one in several], strict=True)]
        found = cls._make([*arrays, several[0].averaged, several[0].unit])
        wanted = np.full(len(found.replicate), True) if below is None else found.replicate < below
        if wanted.all() and np.all(np.diff(found.replicate) >= 0):
            return found
        order = np.argsort(found.replicate, kind="stable")
        return found.where(order[wanted[order]])

    # --- in a file ---------------------------------------------------------------------------------------------------

    def packed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each replicate, and its partitions as few bytes."""
        first = self.first
        for begin, end in itertools.pairwise(first):
            labels, values = narrow(self.labels[begin:end]), self.hyperparameters[begin:end]
            head = HEAD.pack(labels.itemsize, *labels.shape, values.shape[1])
            body = labels.tobytes() + self.counts[begin:end].tobytes() + values.tobytes()
            yield int(self.replicate[begin]), head + zlib.compress(body, 1)

    @classmethod
    def unpacked(cls, rows: Iterable[tuple[int, bytes]], averaged: int, unit: int) -> Partitions:
        """Return partitions from rows as `packed` yields them, of which there must be one at least."""
        pieces = []
        for number, row in rows:
            size, count, points, hyperparameters = HEAD.unpack_from(row)
            body = zlib.decompress(row[HEAD.size :])
            middle, end = size * count * points, size * count * points + 8 * count
            labels = np.frombuffer(body[:middle], dtype=f"u{size}").reshape(count, points)
            values = np.frombuffer(body[end:]).reshape(count, hyperparameters)
            pieces.append((labels, np.frombuffer(body[middle:end], dtype=np.int64), np.full(count, number), values))
        return cls._make([*[np.concatenate(parts) for parts in zip(*pieces, strict=True)], averaged, unit])


def narrow(labels: np.ndarray) -> np.ndarray:
    """Return labels in the smallest unsigned type that holds them."""
    return np.ascontiguousarray(labels, dtype=np.min_scalar_type(int(labels.max(initial=0))))


def kept_of(per_replicate: int, states: int) -> tuple[int, int]:
    """Return how many states of an average are kept, and a unit of which all weights are multiples.

    Parameters
    ----------
    per_replicate : int
        How many are wanted.
    states : int
        How many there are.
    """
    averaged = min(per_replicate, states)
    return averaged, math.lcm(averaged, states)


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
