"""Estimates under a deadline: many independent workers, each with a fixed amount of time or work.

Every worker runs replicates one after another. Its value is the mean of those that it *completed* by the deadline; if
there is none, it finishes its first one, late, and that is its value. Then the average over workers is unbiased (Glynn
and Heidelberger 1990). Leaving out workers that completed none, or pooling all that was completed, is not: replicates
that take long are then missing, and they are different from the others.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from copartition.answers import Estimate
from copartition.chains.step import Step
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional
from copartition.results import Outcomes
from copartition.runs.checks import compare_starts
from copartition.runs.choice import How, check_how, choose, make_job
from copartition.runs.defaults import describe, describe_look
from copartition.runs.estimating import ReplicateError
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Chunks, Pause
from copartition.runs.recording import check_memory
from copartition.runs.replicates import Job, Runner
from copartition.runs.workers import Where, lasting
from copartition.targets.base import Target
from copartition.validation import integer, positive_number, shorten


@dataclass(frozen=True)
class Sweeps:
    """A deadline in work: single-chain sweeps, a coupled one counting as two. The same on every machine.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> how = {"workers": 20, "burn_in": 5, "min_sweeps": 50, "lag": 5, "seed": 1}
    >>> cp.estimate_within(posterior, cp.n_clusters(), deadline=cp.Sweeps(200), **how).values.shape
    (20, 1)
    """

    count: int

    def __post_init__(self) -> None:
        integer("Sweeps", self.count, 1)


@dataclass(frozen=True)
class Seconds:
    """A deadline in CPU seconds of a worker. Results depend on the machine, and differ from run to run.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> how = {"workers": 4, "burn_in": 5, "min_sweeps": 50, "lag": 5, "seed": 1}
    >>> cp.estimate_within(posterior, cp.n_clusters(), deadline=cp.Seconds(0.05), **how).values.shape
    (4, 1)
    """

    count: float

    def __post_init__(self) -> None:
        positive_number("Seconds", self.count)


def estimate_within(
    target: Target,
    functional: Functional | Sequence[Functional],
    *,
    workers: int,
    deadline: Sweeps | Seconds,
    settings: Tuned | str | None = None,
    step: Step | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
    **how: Unpack[How],
) -> Estimate:
    """Estimate an expectation without bias from workers that have a deadline each.

    Parameters
    ----------
    target, functional, settings, step, seed
        See `estimate`. Replicate r of worker w draws from ``SeedSequence(seed, spawn_key=(w, r))``.
    workers : int
        Number of independent workers, whatever the number of cores.
    deadline : Sweeps or Seconds
        What each of them has.
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where workers run, see `estimate`.
    progress : bool
        Show a progress bar.
    **how
        How chains run, see `How`. There is no `max_sweeps`: a cap on pairs would make the estimate biased, and the
        deadline bounds the work.

    Other Parameters
    ----------------
    burn_in, min_sweeps, lag, init, coupling, split_merge
        See `estimate`.

    Returns
    -------
    Estimate
        ``values`` has a row a worker; ``completed`` tells how many replicates it completed in time, 0 where its value
        is that of a first replicate that came late.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate_within(
    ...     posterior, cp.n_clusters(), workers=50, deadline=cp.Sweeps(200), burn_in=5, min_sweeps=50, lag=5, seed=1
    ... )
    >>> e.values.shape
    (50, 1)
    """
    workers = integer("workers", workers, 1)
    _check_deadline(deadline)
    check_how(estimate_within, how, without=("max_sweeps",))
    choice = choose(target, functional, how, step, settings, Where(executor, progress, seed))
    job = make_job(target, functional, choice, seed, keeps_all=True)
    check_memory(job, workers)
    shifts = _Shifts(job, deadline)
    with lasting(executor) as place:
        rows = _checked(run_all(shifts, workers, place, progress, "workers", has_cap=False).results)
        outcomes = _outcomes(rows)
        look = describe_look(choice.look or compare_starts(job, outcomes, place))
    description = describe(job, choice.init) | {"deadline": repr(deadline)} | look
    return Estimate.of(outcomes, description, completed=np.array([row.completed for row in rows]))


class _Shift(NamedTuple):
    """The result of one worker; `completed` counts the replicates that it completed in time."""

    value: np.ndarray
    meeting_time: int
    met: bool
    sweeps: int
    seconds: float
    completed: int


@dataclass(frozen=True)
class _Shifts(OneByOne):
    """Workers with a deadline each, which run replicates."""

    job: Job
    deadline: Sweeps | Seconds

    def prepare(self) -> None:
        """Compile what workers use."""
        self.job.prepare()

    def one(self, index: int, pause: Pause) -> _Shift:
        """Do what a worker does."""
        return _work(self.job, self.deadline, index, pause)


def _checked(rows: list[_Shift]) -> list[_Shift]:
    """Return the results of all workers if they are finite."""
    for number, row in enumerate(rows):
        if not np.isfinite(row.value).all():
            raise ReplicateError(f"Worker {number} could not be used: the functional gave {row.value}.")
    return rows


def _outcomes(rows: list[_Shift]) -> Outcomes:
    columns = [np.array(column) for column in list(zip(*rows, strict=True))[:5]]
    return Outcomes._make([np.arange(len(rows)), *columns, None, None, (), None])


def _work(job: Job, deadline: Sweeps | Seconds, worker: int, pause: Pause) -> _Shift:
    """Run replicates until the deadline."""
    begin = time.thread_time()
    total = np.zeros(job.size)
    first: Outcomes | None = None
    completed = spent = number = 0
    while True:
        runner = Runner(job, [(worker, number)])
        number += 1
        late = _run_until(runner, deadline, begin, spent, first is not None, pause)
        spent += runner.sweeps
        if runner.ended:
            outcomes = runner.outcomes()
            first = first or outcomes
            if not late:
                total += outcomes.values[0]
                completed += 1
        if late:
            break
    assert first is not None
    value = total / completed if completed else first.values[0]
    seconds = time.thread_time() - begin
    return _Shift(value, int(first.meeting_times[0]), bool(first.met[0]), spent, seconds, completed)


def _run_until(
    runner: Runner, deadline: Sweeps | Seconds, begin: float, spent: int, may_stop: bool, pause: Pause
) -> bool:
    """Run a replicate to its end, or, where that is allowed, to the deadline; return whether that has passed."""
    chunks = Chunks(runner.job.target.n_points)
    while runner.ended == 0:
        pause()
        limit = 1 << 40
        if isinstance(deadline, Sweeps) and may_stop:
            limit = max(1, deadline.count - spent - runner.sweeps)
        runner.advance(chunks.next(limit))
        pause.tell(runner.coupled_so_far())
        if may_stop and runner.ended == 0 and _passed(deadline, begin, spent + runner.sweeps):
            pause.tell(None)
            return True
    return _passed(deadline, begin, spent + runner.sweeps)


def _passed(deadline: Sweeps | Seconds, begin: float, spent: int) -> bool:
    if isinstance(deadline, Sweeps):
        return spent > deadline.count
    return time.thread_time() - begin > deadline.count


def _check_deadline(value: Any) -> None:
    if not isinstance(value, Sweeps | Seconds):
        raise TypeError(f"deadline must be Sweeps(n) or Seconds(s), got {shorten(value)}.")
