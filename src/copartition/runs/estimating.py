"""Unbiased estimates from replicates that run anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from copartition.chain import check_start
from copartition.couplings import check_coupling
from copartition.couplings.base import Coupling
from copartition.estimator import SLOTS
from copartition.functionals import Functional, bind_all
from copartition.replicate import Failure, Job, Results, Settings
from copartition.results import Estimate, estimate_of
from copartition.runs.description import describe
from copartition.runs.schedule import Schedule
from copartition.runs.store import Store
from copartition.runs.workers import workers_for
from copartition.targets.base import Target, check_target
from copartition.validation import integer

UNBOUNDED = 1 << 60


class ReplicateError(RuntimeError):
    """A replicate could not be run; the others were, and are in the store if there is one."""


def estimate(
    target: Target,
    functional: Functional | Sequence[Functional],
    *,
    replicates: int = 1000,
    burn_in: int = 100,
    min_sweeps: int = 500,
    lag: int = 100,
    coupling: str | Coupling = "transport",
    init: Any = None,
    seed: int = 0,
    max_sweeps: int | None = None,
    executor: Any = None,
    store: str | Path | None = None,
    progress: bool | Callable[[int, int, np.ndarray, np.ndarray], None] = False,
) -> Estimate:
    """Estimate the expectation of a functional under a target, without bias.

    Parameters
    ----------
    target : Target
        The law on partitions.
    functional : Functional or sequence of Functional
        What is estimated, for instance ``largest_clusters(3)``; up to four in one run.
    replicates : int
        Number of independent pairs of chains.
    burn_in, min_sweeps : int
        Every replicate averages over sweeps `burn_in` to `min_sweeps` of its first chain, and corrects the average.
    lag : int
        Sweeps that the first chain of a pair is ahead of the second.
    coupling : str or Coupling
        See `meeting_times`.
    init : str or array of int, optional
        Where chains start, see `meeting_times`.
    seed : int
        Replicate i draws from ``SeedSequence(seed, spawn_key=(i,))``: the same bits on any executor.
    max_sweeps : int, optional
        A cap on the sweeps of a pair. Pairs that have not met by then are truncated and **make the estimate biased**;
        the result says so. Left out, every pair runs until it meets.
    executor : None, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where replicates run; None: threads on all cores.
    store : path, optional
        A file that keeps every replicate. The same call with the same file goes on where it stopped.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=400, burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> e.values.shape, e.censored
    ((400, 1), 0)
    >>> low, high = e.interval(0.95)
    """
    replicates = integer("replicates", replicates, 1)
    job = make_job(target, functional, burn_in, min_sweeps, lag, coupling, init, seed, max_sweeps)
    description = describe(job, target.default_start if init is None else init)
    kept = _Kept(Store(store, description) if store is not None else None, replicates)
    schedule = Schedule(kept.missing(), kept.add)
    try:
        with _reporting(progress, kept), workers_for(executor, job) as workers:
            schedule.run(workers)
        results = kept.results()
    finally:
        kept.close()
    if schedule.failures:
        raise _error(schedule.failures, len(results.indices), store)
    return estimate_of(results, description)


def make_job(
    target: Target,
    functional: Functional | Sequence[Functional],
    burn_in: int,
    min_sweeps: int,
    lag: int,
    coupling: str | Coupling,
    init: Any,
    seed: int,
    max_sweeps: int | None,
) -> Job:
    """Return the job that these arguments of `estimate` describe, if they make sense."""
    check_target(target)
    functionals = (
        (functional,) if isinstance(functional, Functional) or not isinstance(functional, Sequence) else functional
    )
    if not 1 <= len(functionals) <= SLOTS:
        raise ValueError(f"functional must be one to {SLOTS} functionals, got {len(functionals)}.")
    burn_in = integer("burn_in", burn_in, 0)
    min_sweeps = integer("min_sweeps", min_sweeps, 0)
    lag = integer("lag", lag, 1)
    if burn_in > min_sweeps:
        raise ValueError(f"burn_in must be at most min_sweeps, {min_sweeps}, got {burn_in}.")
    if max_sweeps is not None:
        max_sweeps = integer("max_sweeps", max_sweeps, 1)
        if max_sweeps < max(lag, min_sweeps):
            raise ValueError(
                f"max_sweeps must be at least the lag and min_sweeps, {max(lag, min_sweeps)}, got {max_sweeps}."
            )
    target, functionals = bind_all(target, functionals)
    return Job(
        target=target,
        functionals=functionals,
        coupling=check_coupling(coupling),
        start=check_start(target, init),
        settings=Settings(burn_in, min_sweeps, lag, UNBOUNDED if max_sweeps is None else max_sweeps),
        seed=integer("seed", seed, 0),
    )


class _Kept:
    """The results of a run, in a file or in memory."""

    def __init__(self, store: Store | None, replicates: int) -> None:
        self.store = store
        self.replicates = replicates
        self.batches: list[Results] = []
        self.listener: Callable[[Results], None] = lambda results: None
        self.before = store.read(replicates) if store is not None else None

    def missing(self) -> list[int] | range:
        if self.before is None or not len(self.before.indices):
            return range(self.replicates)
        return np.setdiff1d(np.arange(self.replicates), self.before.indices).tolist()

    def add(self, results: Results) -> None:
        if self.store is not None:
            self.store.append(results)
        self.batches.append(results)
        self.listener(results)

    def results(self) -> Results:
        """All replicates in the order of their numbers."""
        batches = self.batches if self.before is None else [self.before, *self.batches]
        if not batches:
            return Results(*[np.zeros(0)] * 6)
        joined = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
        order = np.argsort(joined[0])
        return Results(*[array[order] for array in joined])

    def close(self) -> None:
        if self.store is not None:
            self.store.close()


@contextmanager
def _reporting(progress: Any, kept: _Kept) -> Iterator[None]:
    """Show a progress bar with the current estimate, or call a function with it."""
    if not progress:
        yield
        return
    from copartition.runs.progress import Running, estimate_bar

    running = Running(kept.replicates)
    if kept.before is not None:
        running.add(kept.before)
    if callable(progress):
        report = progress

        def listen(results: Results) -> None:
            running.add(results)
            report(running.done, running.count, running.mean, running.stderr)

        kept.listener = listen
        yield
        return
    with estimate_bar(running) as refresh:

        def listen_and_draw(results: Results) -> None:
            running.add(results)
            refresh()

        kept.listener = listen_and_draw
        yield


def _error(failures: list[Failure], finished: int, store: Any) -> ReplicateError:
    first = min(failures)
    others = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    where = "; they are in the store" if store is not None else "; give a store to keep them"
    return ReplicateError(
        f"Replicate {first.number}{others} could not be run: {first.reason} "
        f"({finished} other replicates finished{where})."
    )
