"""All pieces of a task, wherever they run: for tasks that are wanted whole or not at all."""

from __future__ import annotations

from typing import Any

from copartition.runs.patience import Patience
from copartition.runs.progress import counting
from copartition.runs.schedule import Schedule
from copartition.runs.workers import Task, workers_for


def run_all(task: Task, count: int, executor: Any, progress: bool, what: str, has_cap: bool = True) -> list[Any]:
    """Do pieces 0 to ``count - 1`` of a task; return what the batches came to, in the order of their first pieces.

    Parameters
    ----------
    task : Task
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
    return sorted(batches, key=lambda batch: int(batch.indices[0]))
