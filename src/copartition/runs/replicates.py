"""Replicates of the unbiased estimator, from their numbers to their values.

Replicate i of a run draws from ``SeedSequence(seed, spawn_key=(i,))`` and depends on nothing else: where it runs, what
ran before it and how many sweeps a kernel was asked for at a time change none of its bits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.chain import chain_at, refusal
from copartition.chains.start import Beginning, begin_of, couple, start_refusal, step_of
from copartition.chains.step import BoundStep
from copartition.core.batch import (
    AT_EVERY_END,
    AT_UNMET,
    NEVER,
    TOGETHER,
    Batch,
    Question,
    Times,
    new_diary,
    new_tally,
)
from copartition.core.compiling import Kernel, prepare
from copartition.core.estimator import run_batch
from copartition.core.random import stream
from copartition.core.records import count_pairs, no_atoms, note_all, note_both, note_some, number
from copartition.core.room import grown_pair
from copartition.core.starts import begin_at
from copartition.core.steps import begin_chain
from copartition.core.types import ASKING, ATOMS_FULL, DIARY_FULL, DONE, FULL, JOINED, PAUSED, RECORD_FULL
from copartition.functionals import Functional
from copartition.functionals.base import arranged, evaluate_at
from copartition.partition import canonical
from copartition.results import Outcomes
from copartition.results.chains import MOST_KEPT, Unmet
from copartition.results.kept import Row, Sums, whole_numbers
from copartition.runs.progress import Chunks, Interrupted, Pause
from copartition.runs.recording import Arrangement, Gatherer, Keeper
from copartition.targets.base import Target

UNBOUNDED = 1 << 60  # a cap that no pair reaches
LINES = 4096  # of a diary; fewer where each has many components
LONG = 20_000  # updates of points in a lead, about a millisecond, from which it is timed apart from what follows
VALUES_OF_A_DIARY = 400_000


@dataclass(frozen=True)
class Settings:
    """How replicates are made: burn-in k, horizon m (`min_sweeps`), lag and cap."""

    burn_in: int
    min_sweeps: int
    lag: int
    max_sweeps: int = UNBOUNDED

    @property
    def cap(self) -> int | None:
        """The cap, if there is one."""
        return self.max_sweeps if self.max_sweeps < UNBOUNDED else None


class Failure(NamedTuple):
    """A replicate that could not be run, and why."""

    number: int
    reason: str


@dataclass(frozen=True)
class Job:
    """All that determines the replicates of a run.

    Attributes
    ----------
    target, functionals, step, start, settings, seed
        See `copartition.estimate`.
    keeps : int
        How many partitions of the average of each replicate are kept, at most, besides corrections; 0: none.
    sums : Sums, optional
        To which replicates add what is streamed. It stays in its process: elsewhere every batch has its own, and
        brings it back.
    """

    target: Target
    functionals: tuple[Functional, ...]
    step: BoundStep
    start: Beginning
    settings: Settings
    seed: int
    keeps: int = 0
    sums: Sums | None = field(default=None, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"sums": None, **{name: getattr(self, name) for name in self.__dataclass_fields__ if name != "sums"}}

    @property
    def size(self) -> int:
        """Number of components that kernels evaluate."""
        return sum(f.size for f in self.arranged.evaluated)

    @cached_property
    def arranged(self) -> Arrangement:
        """Which components are kept, and which are summed over replicates."""
        return Arrangement(self.functionals)

    def prepare(self) -> None:
        """Compile what is going to be used, so that the time of no replicate includes it."""
        functions = [f.evaluate for f in self.arranged.evaluated if isinstance(f.evaluate, Kernel)]
        own = [] if self.arranged.gathered is None else [count_pairs]
        moves = self.step.kernels(self.target)
        own += [] if self.note is None else [self.note]
        starts = (begin_chain, begin_at, begin_of(self.target, self.start))
        prepare(run_batch, *starts, *self.target.kernels, *moves, *functions, *own)

    @property
    def note(self) -> Kernel | None:
        """The compiled function that writes states down, if any are."""
        if self.arranged.gathered is None:
            return note_some if self.keeps else None
        return note_both if self.keeps else note_all

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Outcomes, Failure | None]:
        """Run some replicates, one after another, in this thread.

        Returns the outcomes of those that ended, and the failure that stopped the others, if any. An interruption stops
        them without a failure.
        """
        self.prepare()
        if self.sums is None and self.arranged.streamed:
            here = Sums(self.arranged.n_streamed)
            outcomes, failure = replace(self, sums=here).run(indices, pause)
            return outcomes._replace(sums=here.packed()), failure
        runner = Runner(self, indices, keeps_ordinary=self.settings.cap is not None)
        failure = None
        try:
            runner.run(pause)
        except Interrupted:
            pass
        except Exception as error:
            failure = Failure(int(runner.indices[runner.finished]), f"{type(error).__name__}: {error}")
        outcomes = runner.outcomes()
        bad = np.flatnonzero(~np.isfinite(outcomes.values).all(axis=1))
        if bad.size:
            place = int(bad[0])
            failure = Failure(int(outcomes.indices[place]), _complaint(outcomes.values[place]))
            outcomes = outcomes.first(place)
        return outcomes, failure


def _complaint(value: np.ndarray) -> str:
    """Return what is wrong with the value of a replicate that is not finite."""
    return f"the functional gave {value[~np.isfinite(value)][0]}"


class Runner:
    """A batch of replicates under way.

    Parameters
    ----------
    job : Job
    keys : sequence of int or of tuples of int
        The replicates to run, by the keys of their random streams.
    keeps_diary : bool
        Keep distances, and differences of the functionals, of chains that run together.
    times_parts : bool
        Tell the CPU time of coupled sweeps from that of the lead, by the clock where the lead is long.
    keeps_ordinary : bool
        Keep the ordinary averages of first chains, and the chains of the first pairs that do not meet.
    """

    def __init__(
        self,
        job: Job,
        keys: Sequence[int] | Sequence[tuple[int, ...]],
        keeps_diary: bool = False,
        times_parts: bool = False,
        keeps_ordinary: bool = False,
    ) -> None:
        self.job = job
        self._keeps_ordinary = keeps_ordinary
        self.apart: list[Unmet] = []
        self._stops = times_parts and job.settings.lag * job.target.n_points >= LONG
        self._keys = [key if isinstance(key, tuple) else (int(key),) for key in keys]
        self.indices = np.array([key[-1] for key in self._keys], dtype=np.int64)
        self.diary: list[tuple[np.ndarray, np.ndarray]] = []
        self._functionals = arranged(job.arranged.evaluated)
        self._gatherer = None if job.arranged.gathered is None else Gatherer(len(job.arranged.gathered.parameters))
        self._added = 0
        self._ended = number()
        self._keeper = self._new_keeper() if job.keeps else None
        self._batch = self._new_batch(keeps_diary)
        self._seconds = np.zeros(len(self._keys))
        self._timed_coupled = np.zeros(len(self._keys))
        self._stepper = job.step.stepper(job.target)
        self._coupled = job.step.coupled(job.target)
        x, y = (chain_at(job.target, job.start.labels) for _ in range(2))
        self._pair = couple(job.target, job.step.coupling, x, y)

    def _new_keeper(self) -> Keeper:
        job, s = self.job, self.job.settings
        shape = job.target.n_points, len(job.target.hyperparameters)
        return Keeper(job.keeps, s.min_sweeps - s.burn_in + 1, shape, job.seed, self._keys, self._ended)

    def _new_batch(self, keeps_diary: bool) -> Batch:
        job, s, count = self.job, self.job.settings, len(self._keys)
        in_python = not all(f.is_compiled for f in job.arranged.evaluated)
        lines = max(1, min(LINES, VALUES_OF_A_DIARY // max(1, job.size))) if keeps_diary else 0
        plain = job.arranged.n_kept if self._keeps_ordinary else 0
        stops = AT_UNMET if self._keeps_ordinary else NEVER
        if self._stops or job.arranged.streamed:
            stops = AT_EVERY_END
        return Batch(
            times=Times(s.burn_in, s.min_sweeps, s.lag, s.max_sweeps),
            seeds=np.array([stream(job.seed, *key) for key in self._keys]).reshape(count, 4),
            begin=begin_of(job.target, job.start),
            start=job.start.labels,
            start_steps=job.start.sweeps,
            start_stepper=step_of(job.start).stepper(job.target),
            ladder=job.start.ladder(job.target.model.power[0]),
            order=np.zeros(job.target.n_points, dtype=np.int64),
            stops=stops,
            ended=self._ended,
            has_begun=number(),
            started=number(),
            stopped_at=number(),
            values=np.zeros((count, job.arranged.n_kept)),
            ordinary=np.zeros((count, plain)),
            meeting_times=np.zeros(count, dtype=np.int64),
            met=np.zeros(count, dtype=np.int64),
            costs=np.zeros(count, dtype=np.int64),
            tally=new_tally(job.size, plain),
            diary=new_diary(lines, job.size),
            record=job.arranged.record(),
            atoms=no_atoms() if self._keeper is None else self._keeper.atoms,
            note=job.note,
            notes=int(job.note is not None),
            question=Question(int(in_python), number()),
        )

    @property
    def ended(self) -> int:
        """Number of replicates that have ended."""
        return int(self._batch.ended[0])

    @property
    def finished(self) -> int:
        """Number of replicates that have ended and are in the sums, where there are any."""
        return self.ended if self.job.sums is None else self._added

    @property
    def sweeps(self) -> int:
        """Cost so far, in single-chain sweeps."""
        return int(self._costs().sum())

    def run(self, pause: Pause) -> None:
        """Run all to the end."""
        chunks = Chunks(self.job.target.n_points)
        try:
            while self.ended < len(self.indices):
                pause()
                self.advance(chunks.next(1 << 40))
                pause.tell(self.coupled_so_far())
        finally:
            pause.tell(None)

    def coupled_so_far(self) -> int | None:
        """Return the coupled sweeps of the pair at hand, unless it has met or its chains do not run together yet."""
        sweeps = int(self._batch.tally.time[0]) - self.job.settings.lag
        if not self._batch.has_begun[0] or sweeps < 0 or self._batch.tally.stage[0] > TOGETHER:
            return None
        return sweeps

    def outcomes(self) -> Outcomes:
        """Return the outcomes of the replicates that have ended."""
        n, b = self.finished, self._batch
        there = set(self.indices[:n].tolist())
        return Outcomes(
            self.indices[:n],
            b.values[:n],
            b.meeting_times[:n],
            b.met[:n] == 1,
            b.costs[:n],
            self._seconds[:n],
            ordinary=b.ordinary[:n] if self._keeps_ordinary else None,
            apart=tuple(one for one in self.apart if one.number in there),
            partitions=None if self._keeper is None else self._keeper.partitions(0, self.indices[:n]),
        )

    def coupled_seconds(self) -> np.ndarray:
        """Return the CPU time that coupled sweeps took of the replicates that have ended; by count if not timed."""
        o = self.outcomes()
        if self._stops:
            return self._timed_coupled[: len(o.indices)]
        return o.seconds * 2 * (o.meeting_times - self.job.settings.lag) / o.sweeps

    def advance(self, sweeps: int) -> None:
        """Go on for about so many sweeps."""
        begin = time.thread_time()
        first, cost = self.ended, self._costs()
        is_joined = bool(self._batch.has_begun[0] and self._batch.tally.is_joined[0])
        self._call(sweeps)
        if self._stops and is_joined:
            self._timed_coupled[first] += time.thread_time() - begin
        last = min(self.ended + 1, len(self.indices))
        spent = (self._costs() - cost)[first:last]
        share = spent / spent.sum() if spent.sum() > 0 else np.full(last - first, 1.0 / (last - first))
        self._seconds[first:last] += (time.thread_time() - begin) * share
        if self._keeps_ordinary and self.ended > first and not self._batch.met[self.ended - 1]:
            self._note_unmet(self.ended - 1)
        if self.job.sums is not None and self.ended > first:
            self._add_to_sums(first, self.job.sums)

    def _note_unmet(self, i: int) -> None:
        """Write down where the chains of replicate i are, which has just ended without meeting, if it is a first."""
        if len(self.apart) == MOST_KEPT:
            return
        keep = canonical if self.job.target.model.palette == 0 else np.asarray
        labels = np.array([keep(chain.labels) for chain in (self._pair.x, self._pair.y)], dtype=np.int32)
        self.apart.append(Unmet(int(self.indices[i]), labels))
        if len(self.apart) == MOST_KEPT and self._batch.stops == AT_UNMET:
            self._batch = self._batch._replace(stops=NEVER)

    def _add_to_sums(self, i: int, sums: Sums) -> None:
        """Add the values of replicate i, which has just ended, to the sums."""
        job, batch, begin = self.job, self._batch, time.thread_time()
        if not np.isfinite(batch.values[i]).all():
            raise ValueError(_complaint(batch.values[i]))
        totals = np.split(batch.tally.total, np.cumsum([f.size for f in job.arranged.evaluated]))
        # What may be refused is refused before anything is added.
        found = [
            (whole_numbers(total if f.divisors is None else total * f.divisors), job.arranged.begin_of(f))
            for f, total in zip(job.arranged.summed, totals[len(job.arranged.kept) : -1], strict=True)
        ]
        with sums.adding():
            for indices, first in found:
                sums.add(indices, first)
            if self._gatherer is not None and job.arranged.gathered is not None:
                self._gatherer.add(batch.record, sums, job.arranged.begin_of(job.arranged.gathered), i)
            self._seconds[i] += time.thread_time() - begin
            met = bool(batch.met[i])
            row = self.indices[i], batch.meeting_times[i], met, batch.costs[i], self._seconds[i], batch.values[i]
            ordinary = batch.ordinary[i] if self._keeps_ordinary else None
            apart = self.apart[-1] if self.apart and self.apart[-1].number == self.indices[i] else None
            kept = None if self._keeper is None else self._keeper.partitions(i, self.indices[i : i + 1])
            sums.note(Row(*row, ordinary, apart, kept))
        self._added += 1

    def _costs(self) -> np.ndarray:
        costs = self._batch.costs.astype(float)
        if self._batch.has_begun[0]:
            costs[self.ended] = self._batch.tally.cost[0]
        return costs

    def _call(self, sweeps: int) -> None:
        """Call the kernel, and give it what it asks for, until it has made about so many sweeps."""
        job, batch = self.job, self._batch
        while sweeps > 0:
            status = run_batch(
                job.target.hooks,
                self._pair,
                self._stepper,
                self._coupled,
                self._functionals,
                batch,
                sweeps,
            )
            lines = self._take_diary()
            if status in (DONE, JOINED, PAUSED):
                return
            if status == ASKING:
                self._answer()
                sweeps -= 1
            elif status == DIARY_FULL:
                sweeps -= lines
            elif status == RECORD_FULL and self._gatherer is not None:
                self._batch = batch = self._gatherer.make_room(batch)
            elif status == ATOMS_FULL and self._keeper is not None:
                self._batch = batch = self._keeper.make_room(batch)
            elif status == FULL:
                self._grow()
            else:
                point = int(batch.stopped_at[0])
                raise refusal(status, point) if batch.has_begun[0] else start_refusal(status, job.start, point)

    def _answer(self) -> None:
        """Evaluate functionals that are written in Python, of one chain or of both."""
        tally = self._batch.tally
        functionals = self.job.arranged.evaluated
        hooks, pair = self.job.target.hooks, self._pair
        tally.h_x[:] = evaluate_at(pair.model_x, hooks, functionals, pair.x)
        if self._batch.question.about[0] == 2:
            tally.h_y[:] = evaluate_at(pair.model_y, hooks, functionals, pair.y)

    def _grow(self) -> None:
        """Make room for more clusters. A replicate that has not begun begins again, with its seed restored."""
        if not self._batch.has_begun[0]:
            self._batch.seeds[self.ended] = stream(self.job.seed, *self._keys[self.ended])
            self._batch.started[0] = 0
        self._pair = grown_pair(self._pair)

    def _take_diary(self) -> int:
        """Take out what the kernel has written down; return the number of lines."""
        diary = self._batch.diary
        count = int(diary.written[0])
        if count:
            self.diary.append((diary.distances[:count].copy(), diary.differences[:count].copy()))
            diary.written[0] = 0
        return count
