"""What replicates add to the sums of functionals whose values are not kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from copartition.core.batch import Batch
from copartition.core.records import WIDTH, Counting, Record, count_pairs, new_record
from copartition.functionals import Functional
from copartition.results.kept import STRETCHES, Sums

FIRST_LINES = 64  # of a record; it grows as long as a replicate has more
MOST_LINES = 32_000  # counts of clusterings fit into 16 bits
FEWEST_MOST_LINES = 512
MOST_POINTS = 65_535  # labels fit into 16 bits


class Arrangement:
    """Which components of a job are kept, evaluated and summed, and which are counted from a record.

    Kernels evaluate first what is kept, then what is summed as it is. All pairs of points are not evaluated: the
    clusterings are recorded.

    Attributes
    ----------
    kept, summed : tuples of Functional
        Those whose values are kept; those that are summed over replicates as they were evaluated.
    gathered : Functional or None
        All pairs of some points, if they are to be summed.
    streamed : tuple of Functional
        Both of the latter, in the order in which they stand in the sums.
    """

    def __init__(self, functionals: Sequence[Functional]) -> None:
        self.kept = tuple(f for f in functionals if not f.is_streamed)
        self.streamed = tuple(f for f in functionals if f.is_streamed)
        gathering = [f for f in self.streamed if f.gathers]
        # A second set of all pairs in one run, of other points, is evaluated like anything else.
        self.gathered = gathering[0] if gathering else None
        self.summed = tuple(f for f in self.streamed if f is not self.gathered)

    @property
    def evaluated(self) -> tuple[Functional, ...]:
        """What kernels evaluate after every sweep."""
        return (*self.kept, *self.summed)

    @property
    def n_kept(self) -> int:
        """Number of components whose values are kept."""
        return sum(f.size for f in self.kept)

    @property
    def n_streamed(self) -> int:
        """Number of components of the sums."""
        return sum(f.size for f in self.streamed)

    def begin_of(self, functional: Functional) -> int:
        """Return where the components of a streamed functional begin in the sums."""
        begins = accumulate([0, *[f.size for f in self.streamed]])
        return next(begin for begin, f in zip(begins, self.streamed, strict=False) if f is functional)

    def record(self) -> Record:
        """Return an empty record of what is gathered."""
        points = np.zeros(0) if self.gathered is None else self.gathered.parameters
        return new_record(points.astype(np.int64), FIRST_LINES if len(points) else 0)


class Gatherer:
    """Takes in the record of one replicate after another.

    Parameters
    ----------
    n_points : int
        Number of points whose pairs are counted.
    """

    def __init__(self, n_points: int) -> None:
        # As many lines as take an eighth of the room of all pairs; then they are counted into an array of narrow
        # numbers, for replicates that take very long.
        self._most = int(min(MOST_LINES, max(FEWEST_MOST_LINES, n_points // 4)))
        self._partial = np.zeros(0, dtype=np.int32)
        self._scratch = np.zeros(WIDTH, dtype=np.int16), np.zeros(WIDTH, dtype=np.int32)
        self._bounds = _even_rows(n_points)
        self._pairs = n_points * (n_points - 1) // 2

    def make_room(self, batch: Batch) -> Batch:
        """Return a batch whose record has room for more."""
        record = batch.record
        lines = len(record.weights)
        if lines < self._most:
            larger = new_record(record.points, min(2 * lines, self._most))
            larger.labels[:lines] = record.labels
            larger.weights[:lines] = record.weights
            larger.written[:] = record.written
            return batch._replace(record=larger)
        if not len(self._partial):
            self._partial = np.zeros(self._pairs, dtype=np.int32)
        nothing = np.zeros(0, dtype=np.int64)
        counting = _counting(record, nothing, nothing)
        for a, b in pairwise(self._bounds):
            count_pairs(counting, a, b, self._partial, 1, *self._scratch)
        record.written[0] = 0
        return batch

    def add(self, record: Record, sums: Sums, begin: int, first: int) -> None:
        """Count the pairs of a replicate and add them to the sums, from component `begin` and stretch `first` on."""
        end = begin + self._pairs
        counting = _counting(record, sums.totals[begin:end], sums.squares[begin:end])
        for a, b in sums.stretches(self._bounds, first):
            count_pairs(counting, a, b, self._partial, 0, *self._scratch)


def _counting(record: Record, totals: np.ndarray, squares: np.ndarray) -> Counting:
    """Return a record in the form that is counted: lines that count once come first."""
    lines = int(record.written[0])
    weights = record.weights[:lines]
    order = np.argsort(weights != 1, kind="stable")
    once = np.array([min(int(np.sum(weights == 1)), MOST_LINES)])  # any others are counted like those that count more
    labels = record.labels[:lines] if np.all(weights == 1) else record.labels[order]
    return Counting(np.ascontiguousarray(labels), np.ascontiguousarray(weights[order]), once, totals, squares)


def _even_rows(n_points: int) -> list[int]:
    """Return bounds of rows of the triangle of all pairs between which there are about as many pairs."""
    pairs = np.cumsum(np.arange(n_points - 1, 0, -1))
    shares = np.linspace(0, pairs[-1], min(STRETCHES, max(1, n_points // 64)) + 1)
    bounds = np.searchsorted(pairs, shares[1:-1]) + 1
    return np.unique([0, *bounds.tolist(), n_points]).tolist()
