"""Replicates at powers of the likelihood: a pilot at a few, then one replicate at each of many."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.chain import advance_chain
from copartition.chains.start import Beginning, start_chain
from copartition.core.random import stream
from copartition.diagnostics.evidence import Curve, Node
from copartition.partition import canonical
from copartition.runs.pieces import OneByOne, Pieces, run_all
from copartition.runs.progress import Pause
from copartition.runs.replicates import Job, Runner, Settings

EVIDENCE = int.from_bytes(b"evidence", "big")  # of the key of random streams
OF_PILOT, OF_POWERS, OF_REPLICATES, OF_PARTICLES, OF_COMPARISON, OF_START = range(6)

HORIZON = 6  # min_sweeps / burn_in
PAIRS = 12  # of the pilot at each power, from each start
FIRST_LAG, LEAST_BURN_IN = 8, 4
CAUTION = 1.5  # burn-ins are so many times what the slowest pair of the pilot took
LOOKS = 5  # the most lags that are tried at a power
COLD_SWEEPS = 100  # of the chain at the power 1 from which half of all chains start
FIRST_POWERS = (0.0, 0.001, 0.01, 0.05, 0.15, 0.35, 0.65, 1.0)
ROUNDS, POWERS_A_ROUND = 3, 6  # of further powers, where they tell most


class EvidenceError(RuntimeError):
    """No log evidence can be given.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> try:
    ...     cp.log_evidence(posterior, target_stderr=1e-6, max_seconds=1, seed=1)
    ... except cp.errors.EvidenceError:
    ...     print("so precise an answer takes longer")
    so precise an answer takes longer
    """


class Unmet(RuntimeError):
    """Pairs did not meet in time; its only argument is the power at which they ran."""


class OutOfTime(RuntimeError):
    """A batch of work took more CPU seconds than there were."""


class Limited(Pause):
    """A `Pause` that also ends work which has taken too many CPU seconds."""

    def __init__(self, pause: Pause, seconds: float) -> None:
        super().__init__()
        self._pause, self._end = pause, time.thread_time() + seconds

    def __call__(self) -> None:
        """Raise `OutOfTime`, or what the pause raises, where work is to end."""
        self._pause()
        if time.thread_time() > self._end:
            raise OutOfTime

    def tell(self, sweeps: int | None) -> None:
        """Say how many coupled sweeps the pair at hand has made."""
        self._pause.tell(sweeps)


class Starts(NamedTuple):
    """Two jobs that differ in their starts: as asked for, and where a chain at the power 1 got to."""

    asked: Job
    cold: Job


def two_starts(job: Job) -> Starts:
    """Return a job, and the same one with the other start; random numbers are none that replicates draw."""
    random = stream(job.seed, EVIDENCE, OF_START)
    own = job.target.of_chain()
    chain = advance_chain(own, job.step, start_chain(own, job.start, random), random, COLD_SWEEPS)
    return Starts(job, replace(job, start=Beginning(canonical(chain.labels))))


def _run(job: Job, beta: float, settings: Settings, keys: Sequence[tuple[int, ...]], pause: Any) -> Any:
    """Run replicates at one power; return their outcomes."""
    at = replace(job, target=job.target.tempered(beta), settings=settings)
    runner = Runner(at, keys)
    runner.run(pause)
    outcomes = runner.outcomes()
    if not outcomes.met.all():
        raise Unmet(beta)
    if not np.isfinite(outcomes.values).all():
        raise ValueError(f"The log likelihood must be a number, got {outcomes.values.min()} at the power {beta:.3g}.")
    return outcomes


@dataclass(frozen=True)
class PilotJob(OneByOne):
    """A few pairs from two starts at each of some powers, then as many replicates; `first` is the first power's.

    `seconds` are the CPU seconds that a batch may take.
    """

    starts: Starts
    betas: tuple[float, ...]
    first: int
    seconds: float

    def prepare(self) -> None:
        """Compile what pairs use."""
        self.starts.asked.prepare()

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Pieces, None]:
        """Look at some powers, as long as there is time."""
        return super().run(indices, Limited(pause, self.seconds))

    def one(self, number: int, pause: Pause) -> tuple[Node, int]:
        """Look at a power; return what is known of it, and the sweeps that it took."""
        beta, cap = self.betas[number], self.starts.asked.settings.max_sweeps
        lag, sweeps = FIRST_LAG, 0
        for look in range(LOOKS):
            pairs = self._both(number, look, Settings(0, 0, lag, lag + cap), pause)
            sweeps += sum(int(one.sweeps.sum()) for one in pairs)
            slowest = max(int(one.meeting_times.max()) for one in pairs) - lag
            burn_in = max(LEAST_BURN_IN, int(np.ceil(CAUTION * slowest)))
            if burn_in <= 2 * lag:
                break
            lag = burn_in
        found = self._both(number, LOOKS, settings_for(burn_in, cap), pause)
        costs = np.concatenate([one.sweeps for one in found])
        asked, cold = (one.values[:, 0] for one in found)
        sd = float(np.sqrt((asked.var(ddof=1) + cold.var(ddof=1)) / 2.0))
        return Node(
            beta=beta,
            mean=float((asked.mean() + cold.mean()) / 2.0),
            sd=float(np.concatenate([asked, cold]).std(ddof=1)),
            replicates=2 * PAIRS,
            gap=float(cold.mean() - asked.mean()),
            gap_stderr=sd * float(np.sqrt(2.0 / PAIRS)),
            burn_in=burn_in,
            sweeps=float(costs.mean()),
        ), sweeps + int(costs.sum())

    def _both(self, number: int, look: int, settings: Settings, pause: Any) -> list[Any]:
        """Run pairs from the two starts at one power; return their outcomes."""
        return [
            _run(job, self.betas[number], settings, [(*self._key(number, look), start, i) for i in range(PAIRS)], pause)
            for start, job in enumerate(self.starts)
        ]

    def _key(self, number: int, look: int) -> tuple[int, ...]:
        return (EVIDENCE, OF_PILOT, self.first + number, look)


@dataclass(frozen=True)
class ReplicatesJob(OneByOne):
    """Layers of replicates, each at powers (layers, strata) of its own; `first` is the number of the first layer.

    Layers have the two starts by turns. `seconds` are the CPU seconds that a batch may take.
    """

    starts: Starts
    betas: np.ndarray
    burn_ins: np.ndarray
    first: int
    seconds: float

    def prepare(self) -> None:
        """Compile what pairs use."""
        self.starts.asked.prepare()

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Pieces, None]:
        """Run some replicates, as long as there is time."""
        return super().run(indices, Limited(pause, self.seconds))

    def one(self, number: int, pause: Pause) -> tuple[float, int]:
        """Run a replicate; return its value, and the sweeps that it took."""
        layer, stratum = divmod(number, self.betas.shape[1])
        job = self.starts[(self.first + layer) % 2]
        settings = settings_for(int(self.burn_ins[layer, stratum]), job.settings.max_sweeps)
        keys = [(EVIDENCE, OF_REPLICATES, self.first + layer, stratum)]
        found = _run(job, float(self.betas[layer, stratum]), settings, keys, pause)
        return float(found.values[0, 0]), int(found.sweeps[0])


def settings_for(burn_in: int, cap: int) -> Settings:
    """Return the settings of replicates with this burn-in; the cap is on coupled sweeps."""
    return Settings(burn_in, HORIZON * burn_in, burn_in, max(burn_in + cap, HORIZON * burn_in))


def next_nodes(
    starts: Starts, curve: Curve | None, seconds_left: float, executor: Any, progress: bool
) -> tuple[Curve, float, int]:
    """Look at the first powers, or at more where they tell most; return all, and what that took."""
    known = () if curve is None else curve.nodes
    betas = FIRST_POWERS if curve is None else tuple(curve.next_powers(POWERS_A_ROUND))
    task = PilotJob(starts, betas, len(known), seconds_left)
    done = run_all(task, len(betas), executor, progress, "powers of the pilot")
    found, sweeps = zip(*done.results, strict=True)
    return Curve(tuple(sorted([*known, *found]))), float(done.seconds.sum()), sum(sweeps)
