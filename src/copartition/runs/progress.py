"""A progress bar that shows the current estimate with its standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from copartition.replicate import Results


class Running:
    """Mean and standard error of the replicates so far, by adding up."""

    def __init__(self) -> None:
        self.count = 0
        self.done = 0
        self._total: np.ndarray | float = 0.0
        self._squares: np.ndarray | float = 0.0

    def add(self, results: Results) -> None:
        """Take a batch in."""
        self.done += len(results.indices)
        self._total = self._total + results.values.sum(axis=0)
        self._squares = self._squares + (results.values**2).sum(axis=0)

    @property
    def mean(self) -> np.ndarray:
        """The current estimate."""
        return np.atleast_1d(self._total / max(self.done, 1))

    @property
    def stderr(self) -> np.ndarray:
        """Its standard error."""
        variance = np.maximum(self._squares / max(self.done, 1) - self.mean**2, 0.0)
        return np.atleast_1d(np.sqrt(variance / max(self.done - 1, 1)))

    def __str__(self) -> str:
        if self.done < 2:
            return ""
        return f"{self.mean[0]:.5g} +- {self.stderr[0]:.2g}" + (" ..." if len(self.mean) > 1 else "")


@contextmanager
def estimate_bar(running: Running) -> Iterator[Callable[[], None]]:
    """Show the bar; yields a function that brings it up to date."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("replicates"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[estimate]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None, completed=running.done, rate="", estimate=str(running))

        def refresh() -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(task, total=running.count, completed=running.done, rate=rate, estimate=str(running))

        yield refresh
