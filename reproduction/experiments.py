"""Where experiments are done: their scale, what is kept of them, and who is told how far they are."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import copartition as cp


@dataclass(frozen=True)
class Scale:
    """How large the experiments are.

    Attributes
    ----------
    pairs : int
        Data sets of Figure 1.
    pilot : int
        Pairs of a pilot.
    density : int
        Replicates of Figure 2A with the authors' settings.
    density_tuned : int
        The same with tuned settings.
    cells : tuple of int
        Cells and genes that are simulated where there are no data.
    processes : int
        Processes of Figure 2B.
    reference : int
        Sweeps of each of the ten chains of the reference of Figure 2B.
    sizes : dict
        Replicates of Figure 3 for each number of points.
    complexity : tuple of two tuples
        Numbers of points and of clusters at which sweeps are timed.
    """

    pairs: int
    pilot: int
    density: int
    density_tuned: int
    cells: tuple[int, int]
    processes: int
    reference: int
    sizes: dict[int, int]
    complexity: tuple[tuple[int, ...], tuple[int, ...]]


SCALES = {
    "tiny": Scale(6, 100, 60, 20, (60, 20), 60, 400, {30: 20, 120: 20}, ((100, 200), (2, 4))),
    "default": Scale(
        250, 400, 10_000, 500, (200, 50), 2_000, 100_000,
        {100: 400, 200: 400, 300: 400, 1_000: 100, 10_000: 8},
        ((250, 500, 1_000, 2_000, 4_000, 8_000), (2, 4, 8, 16, 32, 64)),
    ),
    "full": Scale(
        250, 400, 10_000, 10_000, (200, 50), 14_000, 400_000,
        {100: 400, 200: 400, 300: 400, 1_000: 400, 10_000: 40},
        ((250, 500, 1_000, 2_000, 4_000, 8_000, 16_000), (2, 4, 8, 16, 32, 64, 128)),
    ),
}  # fmt: skip


@dataclass
class Reproduction:
    """What an experiment needs around it.

    Attributes
    ----------
    out : path
        Folder for pictures, numbers and the page.
    scale : Scale
    seed : int
    as_in_text : bool
        Follow the paper's text where it differs from the code that made its figures.
    cells : path or None
        The RNA-seq data; simulated cells if there are none.
    seconds : float or None
        Time limit of a process in Figure 2B, in CPU seconds in place of 1,800 sweeps.
    tell : callable
        Gets what is being done, how much of it is done, and how much there is.
    """

    out: Path
    scale: Scale
    seed: int = 0
    as_in_text: bool = False
    cells: Path | None = None
    seconds: float | None = None
    tell: Callable[[str, int, int], None] = field(default=lambda what, done, total: None)

    def prepare(self) -> None:
        """Make the folder, or say that it cannot be written before anything is computed."""
        try:
            (self.out / "runs").mkdir(parents=True, exist_ok=True)
            probe = self.out / "runs" / ".probe"
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise ValueError(f"The folder {str(self.out)!r} cannot be written: {error.strerror}.") from None

    def each(self, what: str, work: Callable[[int], dict[str, Any]], count: int, settings: Any) -> list[dict[str, Any]]:
        """Return the results of pieces of work 0 to count - 1, of which those that were kept are not done again.

        Parameters
        ----------
        what : str
            Name of the experiment.
        work : callable
            Gets the number of a piece; returns something that JSON can hold.
        settings : anything that JSON can hold
            All that the results depend on besides the seed.
        """
        key = json.dumps([what, settings, self.seed, cp.__version__], sort_keys=True)
        connection = sqlite3.connect(self.out / "runs" / "pieces.db", isolation_level=None)
        try:
            connection.execute("CREATE TABLE IF NOT EXISTS pieces (key TEXT, number INTEGER, value TEXT, "
                               "PRIMARY KEY (key, number))")  # fmt: skip
            rows = connection.execute("SELECT number, value FROM pieces WHERE key = ?", (key,))
            results = {number: json.loads(value) for number, value in rows if number < count}
            missing = [number for number in range(count) if number not in results]
            self.tell(what, len(results), count)
            with ThreadPoolExecutor(_processors()) as pool:
                futures = {pool.submit(work, number): number for number in missing}

                def keep(future: Future[dict[str, Any]]) -> None:
                    number = futures[future]
                    results[number] = future.result()
                    row = (key, number, json.dumps(results[number]))
                    connection.execute("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?)", row)

                try:
                    for future in as_completed(futures):
                        keep(future)
                        self.tell(what, len(results), count)
                except BaseException:
                    # What is under way is finished and kept; only then the interruption goes on.
                    pool.shutdown(wait=True, cancel_futures=True)
                    for future, number in futures.items():
                        if number not in results and not future.cancelled() and future.exception() is None:
                            keep(future)
                    raise
        finally:
            connection.close()
        return [results[number] for number in range(count)]

    def estimate(self, what: str, target: cp.Target, functional: Any, **arguments: Any) -> cp.Estimate:
        """Return an estimate whose replicates are kept, so that it goes on where it stopped."""
        replicates = arguments["replicates"]
        name = "".join(c if c.isalnum() else "-" for c in what)
        store = self.out / "runs" / f"{name}-{self._fingerprint(target, arguments)}.db"
        self.tell(what, 0, replicates)
        return cp.estimate(
            target,
            functional,
            store=store,
            seed=self.seed,
            progress=lambda done, total, mean, stderr: self.tell(what, done, total),
            **arguments,
        )

    def _fingerprint(self, target: cp.Target, arguments: dict[str, Any]) -> str:
        """Return a short text that differs between runs that cannot share a store."""
        given = {key: repr(value) for key, value in arguments.items() if key not in {"replicates", "settings"}}
        tuned = arguments.get("settings")
        settings = [] if tuned is None else [tuned.lag, tuned.burn_in, tuned.min_sweeps, repr(tuned.step)]
        text = json.dumps([target.fingerprint, self.seed, cp.__version__, given, settings], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def write_numbers(self, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write the numbers behind a picture as CSV."""
        with (self.out / f"{name}.csv").open("w", newline="", encoding="utf-8") as text:
            writer = csv.writer(text)
            writer.writerow(columns)
            writer.writerows(rows)

    def describe(self) -> dict[str, Any]:
        """Return what the experiments depend on, for the page."""
        return {"seed": self.seed, "as in the text": self.as_in_text, **asdict(self.scale)}


def _processors() -> int:
    """Return how many processors this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
