"""Pairs of chains that begin at given states, without a lag, and the sums of their differences until they meet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copartition.chains.chain import chain_at, refusal
from copartition.chains.start import couple
from copartition.chains.step import BoundStep
from copartition.core.batch import Question, new_progress
from copartition.core.compiling import Kernel, prepare
from copartition.core.differences import Differences, add_differences
from copartition.core.records import number
from copartition.core.room import grown_pair
from copartition.core.state import PLACE, STEPS
from copartition.core.types import ASKING, DONE, FULL, PAUSED
from copartition.functionals import Functional
from copartition.functionals.base import arranged, evaluate_at
from copartition.runs.progress import Chunks, Pause
from copartition.targets.base import Target


class States(NamedTuple):
    """States of chains.

    Attributes
    ----------
    labels : int64 array (states, points)
        In canonical numbering.
    hyperparameters : float64 array (states, hyperparameters)
    """

    labels: np.ndarray
    hyperparameters: np.ndarray


class Sums(NamedTuple):
    """Sums of differences of pairs that have ended.

    Attributes
    ----------
    at_x, at_y : float64 arrays (pairs, components)
        The functionals at the two states where a pair begins.
    totals : float64 array (pairs, components)
        Sums of h(X_t) - h(Y_t) from t = 0 until the pair met.
    steps : int64 array (pairs)
        Coupled steps.
    met : bool array (pairs)
    seconds : float64 array (pairs)
        CPU time, shared out by steps among pairs that ran in one call of a kernel.
    """

    at_x: np.ndarray
    at_y: np.ndarray
    totals: np.ndarray
    steps: np.ndarray
    met: np.ndarray
    seconds: np.ndarray


def prepare_differences(target: Target, functionals: Sequence[Functional], step: BoundStep) -> None:
    """Compile what pairs use, so that the time of none includes it."""
    functions = [f.evaluate for f in functionals if isinstance(f.evaluate, Kernel)]
    prepare(add_differences, *target.kernels, *step.kernels(target), *functions)


class PairRunner:
    """Pairs that begin at given states, under way.

    Parameters
    ----------
    target : Target
    functionals : sequence of Functional
        As `bind_all` returns them.
    step : BoundStep
    states : States
    begins : int64 array (pairs, 2)
        The states at which the two chains of each pair begin.
    seeds : uint64 array (pairs, 4)
        Their random streams.
    cap : int
        Steps of a pair, at most.
    """

    def __init__(
        self,
        target: Target,
        functionals: Sequence[Functional],
        step: BoundStep,
        states: States,
        begins: np.ndarray,
        seeds: np.ndarray,
        cap: int,
    ) -> None:
        self._target, self._functionals = target, functionals
        self._arranged = arranged(functionals)
        self._stepper, self._coupled = step.stepper(target), step.coupled(target)
        self._chunks = Chunks(target.n_points)
        pairs, size = len(begins), sum(f.size for f in functionals)
        self._differences = Differences(
            labels=np.ascontiguousarray(states.labels, dtype=np.int64),
            hyperparameters=np.ascontiguousarray(states.hyperparameters, dtype=np.float64),
            begins=np.ascontiguousarray(begins, dtype=np.int64),
            seeds=np.ascontiguousarray(seeds, dtype=np.uint64),
            cap=cap,
            at_x=np.zeros((pairs, size)),
            at_y=np.zeros((pairs, size)),
            totals=np.zeros((pairs, size)),
            steps=np.zeros(pairs, dtype=np.int64),
            met=np.zeros(pairs, dtype=np.int64),
            ended=number(),
            has_begun=number(),
            is_new=number(),
            progress=new_progress(),
            h_x=np.zeros(size),
            h_y=np.zeros(size),
            question=Question(int(not all(f.is_compiled for f in functionals)), number()),
        )
        self._seconds = np.zeros(pairs)
        # There is room for the largest of all partitions.
        largest = states.labels[int(states.labels.max(axis=1).argmax())] if len(states.labels) else None
        if largest is not None:
            x, y = (chain_at(target, largest.astype(np.int64)) for _ in range(2))
            self._pair = couple(target, step.coupling, x, y)

    def run(self, pause: Pause) -> Sums:
        """Run all to the end; return the sums."""
        d = self._differences
        try:
            while d.ended[0] < len(d.begins):
                pause()
                self._advance(self._chunks.next(1 << 40))
                pause.tell(self._so_far())
        finally:
            pause.tell(None)
        return Sums(d.at_x, d.at_y, d.totals, d.steps, d.met == 1, self._seconds)

    def _so_far(self) -> int | None:
        """Return what the pair at hand is doing."""
        d = self._differences
        return int(d.progress[STEPS]) if d.has_begun[0] else None

    def _advance(self, sweeps: int) -> None:
        """Go on for about so many coupled steps."""
        d, begin = self._differences, time.thread_time()
        first, before = int(d.ended[0]), int(d.progress[STEPS]) if d.has_begun[0] else 0
        self._call(sweeps)
        last = int(d.ended[0])
        made = d.steps[first : last + 1] + 1.0  # one for the beginning
        if d.has_begun[0]:
            made[last - first] = 1.0 + d.progress[STEPS]
        made[0] = max(made[0] - before, 0.5)
        self._seconds[first : last + 1] += (time.thread_time() - begin) * made / made.sum()

    def _call(self, sweeps: int) -> None:
        """Call the kernel, and give it what it asks for, until it has made about so many steps."""
        d = self._differences
        while sweeps > 0:
            status = add_differences(
                self._target.hooks, self._pair, self._stepper, self._coupled, self._arranged, d, sweeps
            )
            if status in (DONE, PAUSED):
                return
            if status == ASKING:
                hooks, pair = self._target.hooks, self._pair
                d.h_x[:] = evaluate_at(pair.model_x, hooks, self._functionals, pair.x)
                d.h_y[:] = evaluate_at(pair.model_y, hooks, self._functionals, pair.y)
                sweeps -= 1
            elif status == FULL:
                self._pair = grown_pair(self._pair)
            else:
                raise refusal(status, int(d.progress[PLACE]))
