"""What replicates keep besides values: sums of functionals, weighted partitions; and how much memory results take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from copartition.core.batch import Batch
from copartition.core.random import stream
from copartition.core.records import WIDTH, Atoms, Counting, Record, count_pairs, new_record, number
from copartition.functionals import Functional
from copartition.results.kept import STRETCHES, Partitions, Sums, kept_of, narrow
from copartition.runs.workers import cpu_count, groups

if TYPE_CHECKING:
    from copartition.runs.replicates import Job

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


CORRECTIONS = 4  # times as many corrections as states of the average are kept of a replicate, at most
PART = int.from_bytes(b"keepsome", "big")  # of the key of random streams


class Keeper:
    """Keeps partitions of the replicates of one batch.

    Parameters
    ----------
    per_replicate : int
        How many of the average of each, at most.
    states : int
        How many states a replicate averages over.
    shape : tuple of int
        Numbers of points and of unknown hyperparameters.
    seed : int
    keys : sequence of tuples of int
        Of the random streams of the replicates; what is kept is drawn from one beside each of them.
    at : int64 array (1)
        Which replicate is at hand.
    """

    def __init__(
        self,
        per_replicate: int,
        states: int,
        shape: tuple[int, int],
        seed: int,
        keys: Sequence[tuple[int, ...]],
        at: np.ndarray,
    ) -> None:
        count, (averaged, self._unit) = len(keys), kept_of(per_replicate, states)
        self.atoms = Atoms(
            averaged=averaged,
            states=states,
            most=CORRECTIONS * per_replicate,
            labels=np.zeros((averaged, shape[0]), dtype=np.int32),
            hyperparameters=np.zeros((averaged, shape[1])),
            weights=np.zeros(averaged, dtype=np.int64),
            first=np.zeros(count, dtype=np.int64),
            corrections=np.zeros(count, dtype=np.int64),
            strides=np.zeros(count, dtype=np.int64),
            at=at,
            passed=number(),
            offset=number(),
            random=np.array([stream(seed, *key, PART) for key in keys]).reshape(count, 4),
            shift=number(),
            renumbered=np.zeros(shape[0], dtype=np.int64),
        )

    def make_room(self, batch: Batch) -> Batch:
        """Return a batch with twice the room for atoms."""
        before = self.atoms
        lines = len(before.weights)
        more = {"labels": before.labels, "hyperparameters": before.hyperparameters, "weights": before.weights}
        for name, array in more.items():
            more[name] = np.zeros((2 * lines, *array.shape[1:]), dtype=array.dtype)
            more[name][:lines] = array
        self.atoms = before._replace(**more)
        return batch._replace(atoms=self.atoms)

    def partitions(self, begin: int, indices: np.ndarray) -> Partitions:
        """Return the partitions of ended replicates from the place `begin` in the batch on, with these numbers."""
        a = self.atoms
        here = slice(begin, begin + len(indices))
        sizes = a.averaged + 2 * a.corrections[here]
        end = begin + len(indices) - 1
        lines = slice(int(a.first[begin]), int(a.first[end] + sizes[-1])) if len(indices) else slice(0, 0)
        counts = a.weights[lines] * np.repeat(a.strides[here], sizes) * (self._unit // a.states)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        counts[np.arange(len(counts)) - starts < a.averaged] = self._unit // a.averaged
        labels = narrow(a.labels[lines])
        return Partitions(
            labels, counts, np.repeat(indices, sizes), a.hyperparameters[lines].copy(), a.averaged, self._unit
        )


MEMINFO = Path("/proc/meminfo")
FEW_COMPONENTS = 1000  # components that are not worth counting
BATCH = 8  # replicates that a worker begins with
INSTEAD = (
    "use memberships(partition), co_clustering(pairs=nearest_pairs(data, k)) or co_clustering(indices) with fewer "
    "points, which take no memory for all pairs"
)


def available_memory() -> int | None:
    """Return the bytes that this process may still take: of the machine, and of its container; None if not known."""
    found = [_of_machine(), *[_of_group(folder) for folder in groups()]]
    return min((size for size in found if size is not None), default=None)


def _of_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # where there is no such file: all that is installed
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_group(folder: Path) -> int | None:
    """Return what the limit of a group of processes (cgroup version 2) leaves, without what can be dropped at once."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return max(0, limit - used + int(statistics.get("inactive_file", 0)))


def kept_memory(job: Job, replicates: int) -> int:
    """Return the bytes that kept partitions take: a byte a label, once more while they are put together."""
    return 2 * replicates * job.keeps * job.target.n_points


def memory_needed(job: Job, replicates: int) -> int:
    """Return the bytes that the values of a run take on this machine."""
    a = job.arranged
    # Two arrays of sums, half of one for long replicates; what is evaluated as it is stands in three arrays more.
    streamed = 20 * a.n_streamed + 24 * sum(f.size for f in a.summed)
    averages = 1 if job.settings.cap is None else 2  # with a cap, the ordinary ones too
    if a.n_kept <= FEW_COMPONENTS:
        return streamed + 8 * averages * a.n_kept
    # Every worker has sums, functionals of both chains, and the first few replicates before it gives them away.
    numbers_of_workers = min(cpu_count(), replicates) * (3 + min(BATCH, replicates))
    return streamed + 8 * a.n_kept * max(averages * replicates, numbers_of_workers)


def check_draws(functional: Functional, sweeps: int, chains: int) -> None:
    """Refuse chains whose draws this machine cannot hold."""
    available, needed = available_memory(), 16 * functional.size * sweeps * chains  # together, and one by one
    if available is not None and needed > available:
        raise ValueError(
            f"{functional.name} with its {functional.size:,} components needs {needed / 1e9:,.3g} GB for {sweeps:,} "
            f"sweeps of {chains:,} chains, and this machine has {available / 1e9:,.3g} GB: keep fewer components or "
            "sweeps; estimate keeps only means and standard errors of pairs."
        )


def check_memory(job: Job, replicates: int) -> None:
    """Refuse a run whose results this machine cannot hold."""
    available, needed, kept = available_memory(), memory_needed(job, replicates), kept_memory(job, replicates)
    gathered = job.arranged.gathered
    largest = max(job.functionals, key=lambda f: f.size)
    hint = INSTEAD if largest.name == "co_clustering" else "keep fewer components or replicates"
    if gathered is not None and len(gathered.parameters) > MOST_POINTS:
        raise ValueError(
            f"co_clustering of all pairs takes at most {MOST_POINTS:,} points, got {len(gathered.parameters):,}, whose "
            f"{gathered.size:,} pairs need {needed / 1e9:,.3g} GB: {INSTEAD}."
        )
    if available is not None and needed > available:
        raise ValueError(
            f"{largest.name} with its {largest.size:,} components needs {needed / 1e9:,.3g} GB for {replicates:,} "
            f"replicates, and this machine has {available / 1e9:,.3g} GB: {hint}."
        )
    if available is not None and kept > available:
        raise ValueError(
            f"per_replicate must be at most {available * job.keeps // kept:,} partitions of {job.target.n_points:,} "
            f"points, got {job.keeps:,}, which need {kept / 1e9:,.3g} GB for {replicates:,} replicates, and this "
            f"machine has {available / 1e9:,.3g} GB."
        )
