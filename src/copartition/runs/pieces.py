"""Many pieces of work in batches: large enough that shipping them costs nothing, small enough that little is lost.

Whoever hands out work for thousands of workers must not be the one they all wait for. So it looks at how busy it is
itself: batches grow until handing them out and taking them in is a tenth of its time. The results of replicates do not
depend on it.

`run_all` is for tasks that are wanted whole or not at all.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from copartition.runs.progress import Patience, Pause, counting
from copartition.runs.replicates import Failure
from copartition.runs.workers import Task, Workers, workers_for

SECONDS_A_BATCH = 0.5
LARGEST_BATCH = 20_000
SECONDS_BETWEEN_LOOKS = 1.0
BUSY = 0.1  # share of its time that handing out and taking in may take before batches grow
LONGEST_BATCH = 150.0
MANY = 16  # workers: with fewer it is no use, and more would be lost where a run is killed


class Clock:
    """Tells how busy somebody is who works and rests by turns."""

    def __init__(self) -> None:
        self._begin = self._resumed = time.monotonic()
        self._worked = 0.0

    def rest(self) -> None:
        """Say that a rest begins."""
        self._worked += time.monotonic() - self._resumed

    def busy_share(self) -> float:
        """Say that the rest has ended; return the share of work in the last second, 0 until one has passed."""
        now = self._resumed = time.monotonic()
        if now - self._begin < SECONDS_BETWEEN_LOOKS:
            return 0.0
        share = self._worked / (now - self._begin)
        self._begin, self._worked = now, 0.0
        return share


def _all_of(ended: SimpleQueue[Future[Any]]) -> list[Future[Any]]:
    """Return what has ended, once something has, or after a while nothing."""
    came: list[Future[Any]] = []
    try:
        came.append(ended.get(timeout=SECONDS_BETWEEN_LOOKS))
        while True:
            came.append(ended.get_nowait())
    except Empty:
        return came


class Schedule:
    """Hands out pieces of work to workers and takes in their results.

    Parameters
    ----------
    indices : sequence of int
        The pieces to be done.
    keep : callable
        Gets the result of each batch as it ends.
    watch : callable
        Is called every second or so while work is under way.
    seconds : float
        What a batch should take; more where what it brings back is large.
    """

    def __init__(
        self,
        indices: Sequence[int],
        keep: Callable[[Any], None],
        watch: Callable[[Pause], None] = lambda pause: None,
        seconds: float = SECONDS_A_BATCH,
    ) -> None:
        self._waiting = indices
        self._watch = watch
        self._next = 0
        self._again: list[int] = []
        self._keep = keep
        self._size = 8
        self._seconds = seconds
        self._clock = Clock()
        self.failures: list[Failure] = []

    def run(self, workers: Workers) -> None:
        """Run all; keep what has ended if this is interrupted."""
        under_way: dict[Future[Any], list[int]] = {}
        ended: SimpleQueue[Future[Any]] = SimpleQueue()
        try:
            while True:
                while len(under_way) < 2 * workers.count:
                    batch = self._next_batch(workers.count)
                    if not batch:
                        break
                    future = workers.submit(batch)
                    under_way[future] = batch
                    future.add_done_callback(ended.put)
                if not under_way:
                    return
                self._clock.rest()
                came = _all_of(ended)
                if self._clock.busy_share() > BUSY and workers.count >= MANY:
                    self._seconds = min(2.0 * self._seconds, max(LONGEST_BATCH, self._seconds))
                self._watch(workers.pause)
                for future in came:
                    self._take(future, under_way.pop(future))
        except BaseException:
            workers.pause.give_up()
            for future in under_way:
                future.cancel()
            wait(under_way)
            for future, batch in under_way.items():
                if not future.cancelled() and future.exception() is None:
                    self._take(future, batch)
            raise

    @property
    def seconds_a_batch(self) -> float:
        """What a batch should take by now."""
        return self._seconds

    def _next_batch(self, workers: int) -> list[int]:
        if self._again:
            again, self._again = self._again[: self._size], self._again[self._size :]
            return again
        # Smaller batches towards the end, so that no worker waits long for the last one.
        remaining = len(self._waiting) - self._next
        size = min(self._size, -(-remaining // (4 * workers)))
        batch = list(self._waiting[self._next : self._next + size])
        self._next += size
        return batch

    def _take(self, future: Future[Any], batch: list[int]) -> None:
        try:
            results, failure = future.result()
        except CancelledError:
            return
        if len(results.indices):
            self._keep(results)
            mean = max(float(np.mean(results.seconds)), 1e-7)
            # Batches grow step by step: the first replicates may have been short ones.
            self._size = int(max(1, min(4 * self._size, self._seconds / mean, LARGEST_BATCH)))
        if failure is not None:
            self.failures.append(failure)
            done = {*results.indices.tolist(), failure.number}
            self._again.extend(index for index in batch if index not in done)


class Pieces(NamedTuple):
    """Pieces of work that are done: which, the CPU seconds of each, and the result of each."""

    indices: np.ndarray
    seconds: np.ndarray
    results: list[Any]


class OneByOne(ABC):
    """A task whose pieces are done one after another, each by itself."""

    def prepare(self) -> None:  # noqa: B027 - some have nothing to compile
        """Compile what is going to be used, so that the time of no piece includes it."""

    @abstractmethod
    def one(self, index: int, pause: Pause) -> Any:
        """Do one piece; return its result."""

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Pieces, None]:
        """Do some pieces, one after another, in this thread."""
        self.prepare()
        results, seconds = [], []
        for index in indices:
            begin = time.thread_time()
            results.append(self.one(index, pause))
            seconds.append(time.thread_time() - begin)
        return Pieces(np.array(indices), np.array(seconds), results), None


def run_all(task: Task, count: int, executor: Any, progress: bool, what: str, has_cap: bool = True) -> Any:
    """Do pieces 0 to ``count - 1`` of a task; return what it returns for them, as if it had done them in one go.

    Parameters
    ----------
    task : Task
        Returns tuples of columns, which have an entry for each piece: arrays or lists.
    count : int
    executor : None, int, "processes", Executor or dask.distributed.Client
        See `copartition.estimate`.
    progress : bool
        Show a progress bar.
    what : str
        What is being counted, for the progress bar.
    has_cap : bool
        Whether every piece ends for sure; otherwise it is said if that takes very long.
    """
    batches: list[Any] = []
    with counting(progress, count, what) as (advance, watch), workers_for(executor, task) as workers:

        def keep(batch: Any) -> None:
            batches.append(batch)
            advance(len(batch.indices))

        Schedule(range(count), keep, watch if has_cap else Patience(watch, batches)).run(workers)
    order = np.argsort(np.concatenate([batch.indices for batch in batches]))
    return type(batches[0])(*[_in_order(parts, order) for parts in zip(*batches, strict=True)])


def _in_order(parts: tuple[Any, ...], order: np.ndarray) -> Any:
    """Return a column of all batches; one that is not wanted has no entries."""
    if isinstance(parts[0], np.ndarray):
        joined = np.concatenate(parts)
        return joined[order] if len(joined) else joined
    every = [one for part in parts for one in part]
    return [every[i] for i in order]
