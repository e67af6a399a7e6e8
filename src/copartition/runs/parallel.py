"""Many independent pieces of work on the threads of one machine, or on an executor of the caller's."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from copartition.pacing import Interrupted, Pause, no_pause
from copartition.validation import shorten

Result = TypeVar("Result")


def run_pieces(
    work: Callable[[int, Pause], Result], count: int, executor: Executor | None, progress: bool, what: str
) -> list[Result]:
    """Return the results of pieces of work 0 to ``count - 1``.

    Parameters
    ----------
    work : callable
        Gets its number, on which alone its result may depend, and a `Pause`.
    count : int
    executor : Executor or None
        None: as many threads as there are cores.
    progress : bool
        Show a progress bar.
    what : str
        What is being counted, for the progress bar.
    """
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(f"executor must be None or a concurrent.futures.Executor, got {shorten(executor)}.")
    results: dict[int, Result] = {}
    with _pool(executor) as (pool, pause), _bar(progress, count, what) as advance:
        futures: dict[Future[Result], int] = {pool.submit(work, i, pause): i for i in range(count)}
        try:
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                advance()
        except BaseException:
            for future in futures:
                future.cancel()
            raise
    return [results[i] for i in range(count)]


@contextmanager
def _pool(executor: Executor | None) -> Iterator[tuple[Executor, Pause]]:
    if executor is not None:
        yield executor, no_pause
        return
    given_up = threading.Event()

    def pause() -> None:
        if given_up.is_set():
            raise Interrupted

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool, pause
    except BaseException:
        # Threads cannot be stopped from outside: they are asked to, and listen whenever they pause.
        given_up.set()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _bar(wanted: bool, count: int, what: str) -> Iterator[Callable[[], Any]]:
    if not wanted:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield partial(bar.advance, bar.add_task(what, total=count))
