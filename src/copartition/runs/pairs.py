"""Pairs that are watched until they meet: the same kernel as for replicates, with nothing to average."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import Beginning
from copartition.chains.step import BoundStep
from copartition.functionals import Functional
from copartition.results import MeetingTimes
from copartition.runs.pacing import Pause
from copartition.runs.pieces import run_all
from copartition.runs.replicates import Job, Runner, Settings
from copartition.targets.base import Target


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
        same_start=job.start.is_fixed,
    )
    return times, found.differences
