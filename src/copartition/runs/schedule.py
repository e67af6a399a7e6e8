"""Many pieces of work in batches: large enough that shipping them costs nothing, small enough that little is lost.

Whoever hands out work for thousands of workers must not be the one they all wait for. So it looks at how busy it is
itself: batches grow until handing them out and taking them in is a tenth of its time. The results of replicates do not
depend on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, wait
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from copartition.runs.pacing import Pause
from copartition.runs.replicates import Failure
from copartition.runs.workers import Workers

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
