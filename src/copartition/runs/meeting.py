"""Meeting times: how long pairs of chains take to become one; the kernel of replicates, with nothing to average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import Beginning, check_start
from copartition.chains.step import BoundStep, Step
from copartition.couplings.base import Coupling
from copartition.functionals import Functional
from copartition.results import MeetingTimes
from copartition.runs.defaults import LAG, MAX_SWEEPS, bind, read_step
from copartition.runs.pieces import run_all
from copartition.runs.progress import Pause
from copartition.runs.replicates import Job, Runner, Settings
from copartition.targets.base import Target, check_target
from copartition.validation import flag, integer


class Meetings(NamedTuple):
    """The courses of some pairs until they met.

    Attributes
    ----------
    indices, meeting_times, met, seconds : arrays
        As those of `copartition.results.Outcomes`.
    coupled_seconds : float64 array
        The part of the seconds that coupled sweeps took; where the lead is short, by their share in all sweeps.
    distances : list of int64 arrays
        For each pair its distance at times lag, lag + 1, ..., tau; empty where no diary was kept.
    differences : list of float64 arrays (sweeps, components)
        For each pair h(X) - h(Y) before each coupled sweep.
    """

    indices: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    seconds: np.ndarray
    coupled_seconds: np.ndarray
    distances: list[np.ndarray]
    differences: list[np.ndarray]


@dataclass(frozen=True)
class PairJob:
    """Pairs that are run until they meet, and what is kept of them on the way.

    Attributes
    ----------
    job : Job
        With ``burn_in = min_sweeps = 0``: a pair ends when it meets.
    keeps_distances : bool
    columns : int64 array
        Components of the functionals whose differences are kept.
    """

    job: Job
    keeps_distances: bool
    columns: np.ndarray

    def prepare(self) -> None:
        """Compile what is going to be used."""
        self.job.prepare()

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Meetings, None]:
        """Run some pairs, one after another, in this thread."""
        self.prepare()
        keeps_diary = self.keeps_distances or len(self.columns) > 0
        runner = Runner(self.job, indices, keeps_diary, times_parts=True)
        runner.run(pause)
        o = runner.outcomes()
        coupled = o.meeting_times - self.job.settings.lag
        distances = np.concatenate([np.zeros(0, dtype=np.int64), *[d for d, _ in runner.diary]])
        differences = np.concatenate([np.zeros((0, self.job.size)), *[d for _, d in runner.diary]])[:, self.columns]
        ends = np.cumsum(coupled + 1) if runner.diary else np.zeros(len(coupled), dtype=np.int64)
        begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        return Meetings(
            o.indices,
            o.meeting_times,
            o.met,
            o.seconds,
            runner.coupled_seconds(),
            [distances[a:b] for a, b in zip(begins, ends, strict=True)],
            [differences[a : a + n] for a, n in zip(begins, coupled, strict=True)],
        ), None


def pair_job(
    target: Target,
    functionals: tuple[Functional, ...],
    step: BoundStep,
    start: Beginning,
    lag: int,
    max_sweeps: int,
    seed: int,
) -> Job:
    """Return the job of pairs that end when they meet."""
    return Job(target, functionals, step, start, Settings(0, 0, lag, max_sweeps), seed)


def watch_pairs(
    task: PairJob, count: int, executor: Any, progress: bool, what: str = "pairs"
) -> tuple[MeetingTimes, list[np.ndarray]]:
    """Run pairs until they meet; return when they did, and the differences of functionals that were asked for."""
    found: Meetings = run_all(task, count, executor, progress, what)
    job = task.job
    times = MeetingTimes(
        meeting_times=found.meeting_times,
        met=found.met,
        seconds=found.coupled_seconds,
        traces=found.distances if task.keeps_distances else None,
        lag=job.settings.lag,
        max_sweeps=job.settings.max_sweeps,
        seed=job.seed,
        coupling=repr(job.step.coupling),
        split_merge=job.step.split_merge,
        joint_updates=job.step.plan.number,
        guided=bool(job.step.guides.size),
        same_start=job.start.is_fixed,
    )
    return times, found.differences


def meeting_times(
    target: Target,
    *,
    replicates: int = 250,
    step: Step | None = None,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    lag: int = LAG,
    init: Any = None,
    max_sweeps: int = MAX_SWEEPS,
    trace: bool = False,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> MeetingTimes:
    """Run pairs of coupled chains until they meet.

    Parameters
    ----------
    target : Target
        The distribution that the chains sample from.
    replicates : int
        Number of pairs.
    step : Step, optional
        What chains do in a step: split-merge moves and joint updates after a sweep, and the coupling. Left out, what
        suits the target best.
    coupling : str or Coupling, optional
    split_merge : int or "auto", optional
        Short for ``step=Step(coupling, split_merge)``: ``coupling="transport"`` alone is the paper's method.
    lag : int
        Sweeps that the first chain of a pair is ahead of the second. With a short one chains may meet before they have
        gone anywhere; the paper's is 1.
    init : str, array of int or Start, optional
        Where both chains start: ``"one_cluster"`` (the default of mixtures), ``"singletons"``, ``"prior"``,
        ``"sequential"`` (points in random order, each by its conditional distribution given those before), ``"greedy"``
        (the default of graph colourings), or labels.
    max_sweeps : int
        A cap on the sweeps of a pair, the lag included; pairs that have not met by then are given up. Here there is one
        always, as a pair that never meets has nothing to tell.
    trace : bool
        Keep the distance of the chains after every sweep.
    seed : int
        Pair i draws from ``SeedSequence(seed, spawn_key=(i,))``: results do not depend on the executor.
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where pairs run, see `estimate`.
    progress : bool
        Show a progress bar.

    Returns
    -------
    MeetingTimes

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-2.1, -1.9, -2.0, 1.9, 2.0, 2.1]
    >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, replicates=100, lag=10, seed=1)
    >>> m.censored
    0
    >>> bool(m.meeting_times.min() >= 10)
    True
    """
    check_target(target)
    replicates = integer("replicates", replicates, 1)
    lag = integer("lag", lag, 1)
    max_sweeps = integer("max_sweeps", max_sweeps, 1)
    seed = integer("seed", seed, 0)
    bound = bind(target, read_step(target, step, coupling, split_merge))
    if max_sweeps < lag:
        raise ValueError(f"max_sweeps must be at least the lag, {lag}, got {max_sweeps}.")
    job = pair_job(target, (), bound, check_start(target, init), lag, max_sweeps, seed)
    times, _ = watch_pairs(
        PairJob(job, flag("trace", trace), np.zeros(0, dtype=np.int64)), replicates, executor, progress
    )
    return times
