"""Where batches of replicates run: threads, processes, an executor of the caller's, or a Dask cluster.

All of these come down to a `concurrent.futures.Executor`. What differs is how the job, with all the data, gets to where
it is needed: threads share it, a Dask cluster is sent it once, and processes of this machine read it once from a file.
Of an executor of another kind it is not known where its workers are, so every batch brings the job along.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from copartition.pacing import Interrupted, no_pause
from copartition.replicate import Failure, Job, Results, run_replicates_of
from copartition.validation import shorten

Outcome = tuple[Results, Failure | None]


@dataclass(frozen=True)
class Workers:
    """Something that runs batches.

    Attributes
    ----------
    count : int
        How many batches run at a time.
    submit : callable
        Takes the numbers of replicates, returns a future of their outcome.
    give_up : callable
        Asks what runs to stop soon, where that is possible.
    """

    count: int
    submit: Callable[[list[int]], Future[Outcome]]
    give_up: Callable[[], None]


@contextmanager
def workers_for(executor: Any, job: Job) -> Iterator[Workers]:
    """Open the workers that `executor` stands for; see `copartition.estimate`."""
    if executor is None:
        with _threads(job) as workers:
            yield workers
    elif executor == "processes" or isinstance(executor, ProcessPoolExecutor):
        with _processes(executor, job) as workers:
            yield workers
    elif isinstance(executor, Executor):
        yield _other(executor, job)
    elif hasattr(executor, "get_executor") and hasattr(executor, "scatter"):
        yield _dask(executor, job)
    else:
        raise TypeError(
            "executor must be None, 'processes', a concurrent.futures.Executor or a dask.distributed.Client, got "
            f"{shorten(executor)}."
        )


@contextmanager
def _threads(job: Job) -> Iterator[Workers]:
    given_up = threading.Event()

    def pause() -> None:
        if given_up.is_set():
            raise Interrupted

    count = os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:
        try:
            yield Workers(count, lambda indices: pool.submit(run_replicates_of, job, indices, pause), given_up.set)
        except BaseException:
            given_up.set()
            raise


@contextmanager
def _processes(executor: Any, job: Job) -> Iterator[Workers]:
    try:
        packed = pickle.dumps(job)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise ValueError(
            f"The run cannot be sent to other processes ({error}): define functions at the top of a module, not inside "
            "other functions."
        ) from None
    folder = Path(tempfile.mkdtemp(prefix="copartition-"))
    path = folder / "job.pickle"
    path.write_bytes(packed)
    own = None
    if executor == "processes":
        own = executor = ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))
    count = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    try:
        yield Workers(count, lambda indices: executor.submit(_run_from_file, str(path), indices), lambda: None)
    finally:
        if own is not None:
            own.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(folder, ignore_errors=True)


_job_read: dict[str, Job] = {}


def _run_from_file(path: str, indices: list[int]) -> Outcome:
    """Run a batch of the job in a file, which each process reads once."""
    if path not in _job_read:
        _job_read.clear()
        _job_read[path] = pickle.loads(Path(path).read_bytes())
    return run_replicates_of(_job_read[path], indices, no_pause)


def _other(executor: Executor, job: Job) -> Workers:
    count = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    return Workers(count, lambda indices: executor.submit(run_replicates_of, job, indices, no_pause), lambda: None)


def _dask(client: Any, job: Job) -> Workers:
    sent = client.scatter(job, broadcast=True, hash=False)
    executor = client.get_executor(pure=False)
    count = max(1, sum(client.nthreads().values()))
    return Workers(count, lambda indices: executor.submit(run_replicates_of, sent, indices, no_pause), lambda: None)
