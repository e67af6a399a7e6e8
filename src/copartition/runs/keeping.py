"""What a run keeps: replicates and sums, in memory and in a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.answers import Estimate
from copartition.names import Names, are_shares
from copartition.results import Outcomes
from copartition.results.chains import MOST_KEPT, Unmet
from copartition.results.kept import Partitions, Sums
from copartition.results.replicates import Moments, moments_by_chunk
from copartition.results.store import Store, StoreError
from copartition.runs.pieces import SECONDS_A_BATCH
from copartition.runs.progress import Running
from copartition.runs.replicates import Job

SECONDS_BETWEEN_WRITES = 0.5  # of sums, at least
SHARE_OF_WRITING = 0.05  # of the time, at most, may go into writing sums
SECONDS_A_COMPONENT = 1.5e-6  # that a batch should take for every number it brings back


@dataclass(frozen=True)
class Seen:
    """The replicates that there are, as a stopping rule sees them."""

    outcomes: Outcomes
    sums: Sums | None
    description: dict[str, Any]

    @property
    def count(self) -> int:
        """How many."""
        return len(self.outcomes.indices)

    @property
    def shares(self) -> set[int]:
        """The numbers of the functionals whose components are probabilities or shares."""
        return {number for number, about in enumerate(self.description["functionals"]) if are_shares(about)}

    def moments(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield, for some components of one functional at a time, its number, and their means and variances."""
        begin = 0
        for number, about in enumerate(self.description["functionals"]):
            if not about.get("streamed"):
                values = self.outcomes.values[:, begin : begin + about["size"]]
                begin += about["size"]
                yield number, values.mean(axis=0), values.var(axis=0, ddof=1)
        if self.sums is not None:
            for number, _, mean, variance in moments_by_chunk(self.sums, self.count, self.description):
                yield number, mean, variance


class Kept:
    """The results of a run.

    Parameters
    ----------
    store : Store or None
        The file, if there is one; what it holds is read.
    description : dict
        Of the run.
    most : int
        The most replicates that are wanted.

    Attributes
    ----------
    sums : Sums or None
        Of functionals whose values are not kept.
    begun : int
        The number of replicates that an earlier call on the same file had set out to make, where that matters: sums
        cannot be taken apart, so a rule that looks at them must look when all of these are there.
    """

    def __init__(self, store: Store | None, description: dict[str, Any], most: int) -> None:
        self.store = store
        self._description = description
        streamed = sum(about["size"] for about in description["functionals"] if about.get("streamed"))
        kept = sum(about["size"] for about in description["functionals"]) - streamed
        self.sums = None if not streamed else Sums(streamed, lists_rows=False) if store is None else store.read_sums()
        self.batches = [Outcomes.none(kept)]
        self.begun = 0
        self.unmet: tuple[Unmet, ...] = ()
        self.partitions: list[Partitions] = []
        if store is not None:
            self.unmet = store.read_unmet(most)
            kept_before = store.read_partitions(None if streamed else most)
            self.partitions += [] if kept_before is None else [kept_before]
            self.batches.append(store.read(None if streamed else most))
            self.begun = store.description.get("begun", 0) if streamed else 0
            more = max(self.begun, int(self.batches[-1].indices.max(initial=-1)) + 1)
            if streamed and more > most:
                store.close()
                raise StoreError(
                    f"The store {str(store.path)!r} holds sums over replicates, up to number {more - 1}, which cannot "
                    f"be taken apart: replicates must be at least {more}, got {most}."
                )
        self.listener: Callable[[Outcomes], None] = lambda results: None
        self._next_write = 0.0

    def begin(self, count: int) -> None:
        """Say that so many replicates are going to be made; if more were asked for before, these are missing still."""
        if self.store is not None:
            wanted = max(count, self.store.description.get("wanted", 0))
            begun = {} if self.sums is None else {"begun": count}
            self.store.note({"wanted": wanted, "under_way": None, **begun})

    def stop(self, under_way: int) -> None:
        """Say that the run was interrupted, and how many replicates were under way at most."""
        if self.store is not None:
            with suppress(StoreError):
                self.store.note({"under_way": under_way})

    def look(self, is_new: bool) -> dict[str, Any]:
        """Return what an earlier call found at other starts, unless there are new replicates to be compared."""
        if self.store is None or is_new or "modes" not in self.store.description:
            return {}
        return {"modes": self.store.description["modes"]}

    def missing(self, count: int) -> Sequence[int]:
        """Return the replicates below `count` that are not there."""
        there = np.concatenate([batch.indices for batch in self.batches])
        return range(count) if not len(there) else np.setdiff1d(np.arange(count), there).tolist()

    def add(self, results: Outcomes) -> None:
        """Take in the results of a batch."""
        if self.sums is None:
            if self.store is not None:
                self.store.append(results)
        else:
            if results.sums is not None:
                self.sums.merge(results.sums)
            if time.monotonic() >= self._next_write:
                self._write_sums()
        self.unmet = tuple(sorted([*self.unmet, *results.apart], key=lambda one: one.number)[:MOST_KEPT])
        if results.partitions is not None:
            self.partitions.append(results.partitions)
        self.batches.append(results._replace(sums=None, apart=(), partitions=None))
        self.listener(results)

    def _write_sums(self) -> None:
        """Write sums, and the replicates in them, to the file; then not again for a while, if that took long."""
        if self.store is None or self.sums is None:
            return
        begin = time.monotonic()
        with self.sums.held():
            if self.sums.rows and not self.sums.is_torn:  # or what was written last stays
                self.store.replace_sums(self.sums)
        end = time.monotonic()
        self._next_write = end + max(SECONDS_BETWEEN_WRITES, (end - begin) / SHARE_OF_WRITING)

    def running(self) -> Running:
        """Return mean and standard error so far, to be gone on with."""
        kept = [about for about in self._description["functionals"] if not about.get("streamed")]
        running = Running(Names(kept), kept[0]["size"] if kept else None)
        for batch in self.batches:
            running.add(batch)
        return running

    def sweeps_to_meet(self) -> np.ndarray:
        """Return the coupled sweeps that the pairs took that have met."""
        times = np.concatenate([batch.meeting_times[batch.met] for batch in self.batches])
        return times - self._description["settings"]["lag"]

    def seen(self, count: int) -> Seen:
        """Return the replicates below `count`."""
        return Seen(Outcomes.joined(self.batches, count), self.sums, self._description)

    def partitions_below(self, count: int) -> Partitions | None:
        """Return the partitions of the replicates below `count`; None if none are kept."""
        return Partitions.joined(self.partitions, count) if self.partitions else None

    def estimate(self, seen: Seen, description: dict[str, Any], partitions: Partitions | None) -> Estimate:
        """Return what the replicates amount to. The sums are used up."""
        moments = None if self.sums is None else Moments.of(self.sums, seen.count, description)
        return Estimate.of(seen.outcomes, description, moments=moments, unmet=self.unmet, partitions=partitions)

    def add_courses(self, followed: dict[int, Unmet]) -> None:
        """Take in what pairs that did not meet did afterwards, by their numbers."""
        self.unmet = tuple(followed.get(one.number, one) for one in self.unmet)
        if self.store is not None:
            self._write_sums()
            self.store.write_courses(followed.values())

    def close(self) -> None:
        """Write what is not written yet, and close the file."""
        if self.store is not None:
            try:
                self._write_sums()
            finally:
                self.store.close()


def seconds_a_batch(job: Job) -> float:
    """Return how long batches should be: what they bring back must not take longer than making it."""
    return max(SECONDS_A_BATCH, SECONDS_A_COMPONENT * job.arranged.n_streamed)
