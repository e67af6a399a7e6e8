"""Where work runs, and on how many processors: threads, processes, an executor of the caller's, or a Dask cluster.

A task is an object with a method ``run(indices, pause)`` that does the pieces of work with these numbers. Its result
may depend on the numbers only. All places come down to a `concurrent.futures.Executor`. What differs is how the task,
with all the data, gets to where it is needed: threads share it, a Dask cluster is sent it once, and processes of this
machine read it once from a file. Of an executor of another kind it is not known where its workers are, so every batch
brings the task along.
"""

from __future__ import annotations

import math
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

from copartition.chains.chain import listening
from copartition.runs.progress import Pause, PauseByFile
from copartition.validation import integer, shorten

CGROUP = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def cpu_count() -> int:
    """Return how many processors this process may use: by its affinity, and by the quota of its container."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def _quota() -> float | None:
    """Return the processors that the quotas of this process allow (cgroup version 2, then version 1), if any."""
    quotas = [_read(folder / "cpu.max") for folder in groups()]
    quotas.append(_read(CGROUP / "cpu/cpu.cfs_quota_us", CGROUP / "cpu/cpu.cfs_period_us"))
    return min((quota for quota in quotas if quota is not None), default=None)


def groups() -> list[Path]:
    """Return the folders of the group that this process belongs to and of all groups above: each may have a quota."""
    try:
        lines = MEMBERSHIP.read_text().splitlines()
    except OSError:
        lines = []
    own = next((line.split("::", 1)[1].strip("/") for line in lines if line.startswith("0::")), "")
    folder = CGROUP / own
    return [folder, *[above for above in folder.parents if above.is_relative_to(CGROUP)]] if own else [CGROUP]


def _read(*files: Path) -> float | None:
    """Return the quotient of a quota and a period, in one file or in two; None where there is no limit."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()[:2]
        return float(quota) / float(period) if quota != "max" and float(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None


MOST_ON_WINDOWS = 61  # processes, which is what one can wait for there


class Task(Protocol):
    """Work that can be done piece by piece."""

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Any, Any]:
        """Do some pieces; return their results, with their ``indices`` and ``seconds``, and a failure if any."""


@dataclass(frozen=True)
class Where:
    """Where a run runs, and with which random numbers.

    Attributes
    ----------
    executor : None, int, "processes", Executor or dask.distributed.Client
        See `copartition.estimate`.
    progress : bool
        Whether progress bars are shown.
    seed : int
    """

    executor: Any
    progress: bool
    seed: int


@dataclass(frozen=True)
class Workers:
    """Something that does work.

    Attributes
    ----------
    count : int
        How many batches run at a time.
    submit : callable
        Takes the numbers of some pieces, returns a future of their results.
    pause : Pause
        By which work in threads of this process can be stopped and looked at.
    are_threads : bool
        Whether they are threads of our own, which bring back all that has ended when they are stopped.
    """

    count: int
    submit: Callable[[list[int]], Future[Any]]
    pause: Pause = field(default_factory=Pause)
    are_threads: bool = False


@contextmanager
def workers_for(executor: Any, task: Task) -> Iterator[Workers]:
    """Open the workers that `executor` stands for; see `copartition.estimate`."""
    if executor is None or (isinstance(executor, int) and not isinstance(executor, bool)):
        with _threads(cpu_count() if executor is None else integer("executor", executor, 1), task) as workers:
            yield workers
    elif executor == "processes" or isinstance(executor, ProcessPoolExecutor):
        with _processes(executor, task) as workers:
            yield workers
    elif isinstance(executor, Executor):
        pause = Pause()  # which only threads of this process hear
        run = partial(_run, pause=pause) if isinstance(executor, futures.ThreadPoolExecutor) else _run
        yield Workers(_count_of(executor), lambda indices: executor.submit(run, task, indices), pause)
    elif hasattr(executor, "get_executor") and hasattr(executor, "scatter"):
        yield _dask(executor, task)
    else:
        raise TypeError(
            "executor must be None, a number of threads, 'processes', a concurrent.futures.Executor or a "
            f"dask.distributed.Client, got {shorten(executor)}."
        )


@contextmanager
def lasting(executor: Any) -> Iterator[Any]:
    """Open processes once for several tasks; any other executor is passed on as it is."""
    if executor != "processes":
        yield executor
        return
    count = min(cpu_count(), MOST_ON_WINDOWS) if sys.platform == "win32" else cpu_count()
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run(task: Task, indices: list[int], pause: Pause | None = None) -> Any:
    """Do some pieces of a task; without a pause of its own, where nobody interrupts."""
    pause = Pause() if pause is None else pause
    with listening(pause):
        return task.run(indices, pause)


def _count_of(executor: Any) -> int:
    return getattr(executor, "_max_workers", None) or cpu_count()


@contextmanager
def _threads(count: int, task: Task) -> Iterator[Workers]:
    pause = Pause()
    with ThreadPoolExecutor(count) as pool:
        try:
            yield Workers(count, lambda indices: pool.submit(_run, task, indices, pause), pause, are_threads=True)
        except BaseException:
            # Threads cannot be stopped from outside: they are asked to, and listen whenever they pause.
            pause.give_up()
            raise


@contextmanager
def _processes(executor: Any, task: Task) -> Iterator[Workers]:
    try:
        packed = pickle.dumps(task)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ValueError(
            f"The run cannot be sent to other processes ({error}): define functions at the top of a module, not inside "
            "other functions."
        ) from None
    if hasattr(task, "prepare"):
        task.prepare()  # once, here: the processes find the machine code in the cache
    folder = Path(tempfile.mkdtemp(prefix="copartition-"))
    path = folder / "task.pickle"
    path.write_bytes(packed)
    try:
        with lasting(executor) as pool:
            submit = partial(pool.submit, _run_from_file, str(path))
            yield Workers(_count_of(pool), submit, PauseByFile(path))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_task_read: dict[str, Task] = {}


def _run_from_file(path: str, indices: list[int]) -> Any:
    """Do some pieces of the task in a file, which each process reads once, for as long as the file is there."""
    if path not in _task_read:
        _task_read.clear()
        _task_read[path] = pickle.loads(Path(path).read_bytes())
    return _run(_task_read[path], indices, PauseByFile(Path(path)))


def _dask(client: Any, task: Task) -> Workers:
    sent = client.scatter(task, broadcast=True, hash=False)
    executor = client.get_executor(pure=False)
    count = max(1, sum(client.nthreads().values()))
    return Workers(count, lambda indices: executor.submit(_run, sent, indices))
