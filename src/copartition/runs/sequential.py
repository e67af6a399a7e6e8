"""The log evidence by sequential Monte Carlo over the points: a check that shares nothing with coupled chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.chains.sequential import Particles, place_next, sweep_placed
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.starts import begin_at
from copartition.core.steps import begin_chain
from copartition.diagnostics.evidence import SMC, Evidence
from copartition.functionals import log_likelihood
from copartition.runs.pacing import Pause
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.powers import EVIDENCE, OF_PARTICLES, EvidenceError
from copartition.runs.stopping import GROWTH, MARGIN
from copartition.runs.workers import lasting
from copartition.targets.base import Target
from copartition.validation import shorten

FIRST_REPETITIONS = 8  # repetitions before the first look
MOST_SD = 1.5  # of log evidences: beyond it their average is made by a few that are far off


@dataclass(frozen=True)
class ParticlesJob(OneByOne):
    """Repetitions of sequential Monte Carlo, each with an order of the points of its own; `first` is the first one."""

    target: Target
    particles: int
    log_constant: float
    seed: int
    first: int

    def prepare(self) -> None:
        """Compile what particles use."""
        prepare(place_next, sweep_placed, begin_chain, begin_at, *self.target.kernels)

    def one(self, index: int, pause: Pause) -> tuple[float, int]:
        """Run a repetition; return its log evidence, and the sweeps that it took."""
        key = (EVIDENCE, OF_PARTICLES, self.first + index)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(*key, 0)))
        order = rng.permutation(self.target.n_points).astype(np.int64)
        particles = Particles(self.target, self.particles, order, stream(self.seed, *key, 1), rng)
        for _ in range(self.target.n_points):
            pause()
            particles.add_point()
        return particles.log_evidence + self.log_constant, int(particles.sweeps)


def evidence_by_particles(
    target: Target,
    target_stderr: float,
    *,
    particles: int,
    max_seconds: float,
    seed: int,
    executor: Any,
    progress: bool,
) -> Evidence:
    """Return the log evidence by sequential Monte Carlo; see `copartition.log_evidence`."""
    if target.hyperparameters:
        raise ValueError(
            f"method {SMC!r} needs a posterior without unknown hyperparameters, got {shorten(target)}; leave it out."
        )
    if target.prior is None:
        raise ValueError(f"method {SMC!r} needs a target that has a prior, such as Mixture, got {shorten(target)}.")
    log_likelihood().bind(target)  # which refuses targets that have no density
    if not target.is_exchangeable or target.constraint:
        raise ValueError(
            f"method 'smc' needs points that are exchangeable and free to join any cluster, got {shorten(target)}; "
            "leave method out."
        )
    constant = float(target.model.constant[1])
    values, seconds, sweeps, wanted = np.zeros(0), 0.0, 0, FIRST_REPETITIONS
    with lasting(executor) as place:
        while len(values) < wanted:
            task = ParticlesJob(target, particles, constant, seed, len(values))
            done = run_all(task, wanted - len(values), place, progress, "repetitions")
            found, made = zip(*done.results, strict=True)
            values = np.concatenate([values, found])
            seconds, sweeps = seconds + float(done.seconds.sum()), sweeps + sum(made)
            _check(values, particles)
            mean, stderr = _average(values)
            if stderr <= target_stderr:
                break
            needed = MARGIN * len(values) * (stderr / target_stderr) ** 2
            if needed / len(values) * seconds > max_seconds:
                raise EvidenceError(
                    f"A standard error of {target_stderr:g} takes about {needed / len(values) * seconds:.2g} CPU "
                    f"seconds, more than max_seconds, {max_seconds:g}: so far it is {stderr:.2g}, and the log evidence "
                    f"{mean:.2f}."
                )
            wanted = int(min(max(len(values) + 1, np.ceil(needed)), GROWTH * len(values)))
    return Evidence(
        mean=mean,
        stderr=stderr,
        method=SMC,
        values=values,
        betas=np.zeros(0),
        freedom=len(values) - 1.0,
        sweeps=sweeps,
        seconds=seconds,
        n_points=target.n_points,
        seed=seed,
        target_stderr=target_stderr,
        particles=particles,
    )


def _average(values: np.ndarray) -> tuple[float, float]:
    """Return the log of the average of evidences, and its standard error."""
    top = values.max()
    ratios = np.exp(values - top)
    return float(top + np.log(ratios.mean())), float(ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(values)))


def _check(values: np.ndarray, particles: int) -> None:
    if (sd := float(values.std(ddof=1))) > MOST_SD:
        raise EvidenceError(
            f"Log evidences of {len(values)} repetitions with {particles} particles have a standard deviation of "
            f"{sd:.2g}, more than {MOST_SD}, so their average says little: give more particles, or take the default "
            "method."
        )
