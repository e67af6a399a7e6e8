"""All pieces of a task, wherever they run: for tasks that are wanted whole or not at all."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from copartition.runs.pacing import Pause
from copartition.runs.patience import Patience
from copartition.runs.progress import counting
from copartition.runs.schedule import Schedule
from copartition.runs.workers import Task, workers_for


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
