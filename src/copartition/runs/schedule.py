"""Many pieces of work in batches: large enough that shipping them costs nothing, small enough that little is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

import numpy as np

from copartition.runs.pacing import Pause
from copartition.runs.replicates import Failure
from copartition.runs.workers import Workers

SECONDS_A_BATCH = 0.5
LARGEST_BATCH = 20_000
SECONDS_BETWEEN_LOOKS = 1.0


class Schedule:
    """Hands out pieces of work to workers and takes in what they came to.

    Parameters
    ----------
    numbers : sequence of int
        The pieces to be done.
    keep : callable
        Gets what each batch came to as it ends.
    watch : callable
        Is called every second or so while work is under way.
    seconds : float
        What a batch should take; more where what it brings back is large.
    """

    def __init__(
        self,
        numbers: Sequence[int],
        keep: Callable[[Any], None],
        watch: Callable[[Pause], None] = lambda pause: None,
        seconds: float = SECONDS_A_BATCH,
    ) -> None:
        self._waiting = numbers
        self._watch = watch
        self._next = 0
        self._again: list[int] = []
        self._keep = keep
        self._size = 8
        self._seconds = seconds
        self.failures: list[Failure] = []

    def run(self, workers: Workers) -> None:
        """Run all; keep what has ended if this is interrupted."""
        under_way: dict[Future[Any], list[int]] = {}
        try:
            while True:
                while len(under_way) < 2 * workers.count:
                    batch = self._next_batch(workers.count)
                    if not batch:
                        break
                    under_way[workers.submit(batch)] = batch
                if not under_way:
                    return
                ended, _ = wait(under_way, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
                self._watch(workers.pause)
                for future in ended:
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
