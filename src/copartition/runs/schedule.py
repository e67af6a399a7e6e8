"""Many replicates in batches: large enough that shipping them costs nothing, small enough that little is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait

import numpy as np

from copartition.replicate import Failure, Results
from copartition.runs.workers import Outcome, Workers

SECONDS_A_BATCH = 0.5
LARGEST_BATCH = 20_000


class Schedule:
    """Hands out replicates to workers and takes in their results.

    Parameters
    ----------
    indices : sequence of int
        The replicates to run.
    keep : callable
        Gets the results of each batch as it ends.
    """

    def __init__(self, indices: Sequence[int], keep: Callable[[Results], None]) -> None:
        self._waiting = indices
        self._next = 0
        self._again: list[int] = []
        self._keep = keep
        self._size = 8
        self.failures: list[Failure] = []

    def run(self, workers: Workers) -> None:
        """Run all; keep what has ended if this is interrupted."""
        under_way: dict[Future[Outcome], list[int]] = {}
        try:
            while True:
                while len(under_way) < 2 * workers.count:
                    batch = self._next_batch(workers.count)
                    if not batch:
                        break
                    under_way[workers.submit(batch)] = batch
                if not under_way:
                    return
                ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ended:
                    self._take(future, under_way.pop(future))
        except BaseException:
            workers.give_up()
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

    def _take(self, future: Future[Outcome], batch: list[int]) -> None:
        try:
            results, failure = future.result()
        except CancelledError:
            return
        if len(results.indices):
            self._keep(results)
            mean = max(float(np.mean(results.seconds)), 1e-7)
            # Batches grow step by step: the first replicates may have been short ones.
            self._size = int(max(1, min(4 * self._size, SECONDS_A_BATCH / mean, LARGEST_BATCH)))
        if failure is not None:
            self.failures.append(failure)
            done = {*results.indices.tolist(), failure.number}
            self._again.extend(index for index in batch if index not in done)
