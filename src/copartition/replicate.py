"""Replicates of the unbiased estimator, from their numbers to their values.

Replicate i of a run draws from ``SeedSequence(seed, spawn_key=(i,))`` and depends on nothing else: where it runs, what
ran before it and how many sweeps a kernel was asked for at a time change none of its bits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from copartition import estimator, gibbs, steps
from copartition.chain import chain_at, refusal
from copartition.compiled.kernel import Kernel, prepare
from copartition.compiled.random import stream
from copartition.compiled.state import Pair, grown_pair
from copartition.couplings.base import Coupling
from copartition.functionals import SLOTS, Functional, count_clusters, evaluate_at
from copartition.moves import moves_for
from copartition.pacing import Chunks, Interrupted, Pause
from copartition.pair import couple
from copartition.start import Beginning, start_chain, start_refusal
from copartition.targets.base import Target

UNBOUNDED = 1 << 60  # a cap that no pair reaches


@dataclass(frozen=True)
class Settings:
    """How replicates are made: burn-in k, horizon m (`min_sweeps`), lag and cap; split-merge moves after a sweep."""

    burn_in: int
    min_sweeps: int
    lag: int
    max_sweeps: int
    split_merge: int = 0

    @property
    def cap(self) -> int | None:
        """The cap, if there is one."""
        return self.max_sweeps if self.max_sweeps < UNBOUNDED else None


@dataclass(frozen=True)
class Job:
    """All that determines the replicates of a run."""

    target: Target
    functionals: tuple[Functional, ...]
    coupling: Coupling
    start: Beginning
    settings: Settings
    seed: int

    @property
    def size(self) -> int:
        """Number of components of all functionals together."""
        return sum(f.size for f in self.functionals)

    @property
    def is_compiled(self) -> bool:
        """Whether kernels can evaluate all functionals themselves."""
        return all(f.is_compiled for f in self.functionals)


class Results(NamedTuple):
    """The outcomes of some replicates.

    Attributes
    ----------
    indices : int64 array
        Which replicates.
    values : float64 array (replicates, components)
        The estimates H; truncated, and then biased, where a pair was censored.
    meeting_times : int64 array
        tau, or the cap where a pair did not meet before.
    met : bool array
    sweeps : int64 array
        Cost in single-chain sweeps, a coupled one counting as two.
    seconds : float64 array
        CPU time, shared out by sweeps among replicates that ran in one call of a kernel.
    """

    indices: np.ndarray
    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray


class Failure(NamedTuple):
    """A replicate that could not be run, and why."""

    number: int
    reason: str


def run_replicates_of(job: Job, indices: Sequence[int], pause: Pause) -> tuple[Results, Failure | None]:
    """Run some replicates, one after another, in this thread.

    Returns the outcomes of those that ended, and the failure that stopped the others, if any. An interruption stops
    them without a failure.
    """
    prepare_job(job)
    runner = Runner(job, indices)
    failure = None
    try:
        runner.run(pause)
    except Interrupted:
        pass
    except Exception as error:
        failure = Failure(int(runner.indices[runner.ended]), f"{type(error).__name__}: {error}")
    results = runner.results()
    bad = np.flatnonzero(~np.isfinite(results.values).all(axis=1))
    if bad.size:
        place = int(bad[0])
        value = results.values[place]
        failure = Failure(int(results.indices[place]), f"the functional gave {value[~np.isfinite(value)][0]}")
        results = Results(*[array[:place] for array in results])
    return results, failure


class Runner:
    """A batch of replicates under way.

    Parameters
    ----------
    job : Job
    keys : sequence of int or of tuples of int
        The replicates to run, by the keys of their random streams.
    """

    def __init__(self, job: Job, keys: Sequence[int] | Sequence[tuple[int, ...]]) -> None:
        self.job = job
        self._keys = [key if isinstance(key, tuple) else (int(key),) for key in keys]
        self.indices = np.array([key[-1] for key in self._keys], dtype=np.int64)
        count = len(self._keys)
        functionals = job.functionals if job.is_compiled else ()
        s = job.settings
        self._tally = estimator.new_tally(
            (s.burn_in, s.min_sweeps, s.lag, s.max_sweeps),
            [f.size for f in functionals],
            [f.parameters for f in functionals],
        )
        self._batch = estimator.Batch(
            seeds=np.array([stream(job.seed, *key) for key in self._keys]).reshape(count, 4),
            start=job.start.labels,
            start_sweeps=job.start.sweeps,
            start_moves=moves_for(job.target, job.start.split_merge),
            order=np.zeros(job.target.n_points, dtype=np.int64),
            cursor=np.zeros(3, dtype=np.int64),
            values=np.zeros((count, job.size)),
            outcomes=np.zeros((count, 3), dtype=np.int64),
        )
        self._seconds = np.zeros(count)
        self._moves = moves_for(job.target, s.split_merge, job.coupling)
        self._pair = couple(job.target, job.coupling, *[chain_at(job.target, job.start.labels) for _ in range(2)])
        # Slots that are not used hold some functional, which is never called.
        kernels = [f.evaluate for f in functionals]
        self._slots = [*kernels, *[count_clusters] * (SLOTS - len(kernels))]

    @property
    def ended(self) -> int:
        """Number of replicates that have ended."""
        return int(self._batch.cursor[0])

    @property
    def sweeps(self) -> int:
        """Cost so far, in single-chain sweeps."""
        under_way = self._tally.clock[3] if self._batch.cursor[1] else 0
        return int(self._batch.outcomes[:, 2].sum() + under_way)

    def run(self, pause: Pause) -> Results:
        """Run all to the end."""
        chunks = Chunks(self.job.target.n_points)
        while self.ended < len(self.indices):
            pause()
            self.advance(chunks.next(1 << 40))
        return self.results()

    def results(self) -> Results:
        """Return the outcomes of the replicates that have ended."""
        n = self.ended
        outcomes = self._batch.outcomes[:n]
        return Results(
            self.indices[:n],
            self._batch.values[:n],
            outcomes[:, 0],
            outcomes[:, 1] == 1,
            outcomes[:, 2],
            self._seconds[:n],
        )

    def advance(self, sweeps: int) -> None:
        """Go on for about so many sweeps."""
        begin = time.thread_time()
        first, cost = self.ended, self._costs()
        if self.job.is_compiled:
            self._call(sweeps)
        else:
            self._advance_in_python()
        last = min(self.ended + 1, len(self.indices))
        spent = (self._costs() - cost)[first:last]
        share = spent / spent.sum() if spent.sum() > 0 else np.full(last - first, 1.0 / (last - first))
        self._seconds[first:last] += (time.thread_time() - begin) * share

    def _costs(self) -> np.ndarray:
        costs = self._batch.outcomes[:, 2].astype(float)
        if self._batch.cursor[1]:
            costs[self.ended] = self._tally.clock[3]
        return costs

    def _call(self, sweeps: int) -> None:
        """Call the kernel, with more room for clusters where it asks for it."""
        job, batch, tally = self.job, self._batch, self._tally
        while True:
            status = estimator.run_batch(
                steps.step_chain,
                steps.step_pair,
                job.target.model,
                self._pair,
                self._moves,
                job.target.log_predictive,
                job.target.log_merge,
                job.coupling.partner,
                *self._slots,
                tally,
                batch,
                sweeps,
            )
            if status == gibbs.DONE:
                return
            if status != gibbs.FULL:
                point = int(batch.cursor[2])
                if batch.cursor[1] == 0:
                    raise start_refusal(status, job.start, point)
                raise refusal(status, point)
            batch.seeds[self.ended] = stream(job.seed, *self._keys[self.ended])
            batch.cursor[1] = 0
            self._pair = grown_pair(self._pair)

    # --- functionals written in Python: the same sums, added up here sweep by sweep ---

    def _advance_in_python(self) -> None:
        job, s = self.job, self.job.settings
        position = self.ended
        total = np.zeros(job.size)
        kept = s.min_sweeps - s.burn_in + 1
        began = -1
        try:
            while self.ended == position:
                self._call(1)
                t = int(self._tally.clock[0])
                if t <= began:  # it had to begin again, with more room
                    total[:] = 0.0
                began = t
                if t == 1:
                    total += self._contribution(0, self._start_pair(position))
                total += self._contribution(t, self._pair)
        except BaseException:
            self._batch.cursor[0] = position  # the kernel may have ended it; without a value it has not
            raise
        self._batch.values[position] = total / kept

    def _start_pair(self, position: int) -> Pair:
        """Return the chains at time 0, which a call of the kernel has left behind."""
        random = stream(self.job.seed, *self._keys[position])
        x, y = (start_chain(self.job.target, self.job.start, random) for _ in range(2))
        return couple(self.job.target, self.job.coupling, x, y)

    def _contribution(self, t: int, pair: Pair) -> np.ndarray:
        s = self.job.settings
        averaged = s.burn_in <= t <= s.min_sweeps
        corrected = t >= s.burn_in + s.lag and pair.distance[0] > 0
        value = np.zeros(self.job.size)
        if averaged or corrected:
            h_x = evaluate_at(self.job.target, self.job.functionals, pair.x)
            value += averaged * h_x
            if corrected:
                weight = estimator.correction_weight(t, s.burn_in, s.min_sweeps, s.lag)
                value += weight * (h_x - evaluate_at(self.job.target, self.job.functionals, pair.y))
        return value


def prepare_job(job: Job) -> None:
    """Compile what is going to be used, so that the time of no replicate includes it."""
    kernels = [f.evaluate for f in job.functionals if isinstance(f.evaluate, Kernel)]
    target = job.target
    prepare(
        estimator.run_batch, target.log_predictive, target.log_merge, job.coupling.partner, count_clusters, *kernels
    )
