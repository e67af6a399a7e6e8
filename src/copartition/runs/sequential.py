"""The log evidence by sequential Monte Carlo over the points: it shares nothing with coupled chains.

Particles are partitions of the first few points, to which one point after another is added.

The distribution of the partition of the first n points, given these, is reached from that of the first n - 1 by
sequential Monte Carlo: every particle puts the next point into a cluster by its conditional distribution, and is
weighed by the predictive density of the point, the sum of the prior's probabilities of all clusters times the densities
that the point has in them. The product of the average weights is an unbiased estimate of the evidence. Where weights
differ too much, particles are drawn anew by their weights, and make a Gibbs sweep over the points they have.

The prior's weights are those for as many points as there are then, not those for all.


"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.chains.chain import chain_at, refusal
from copartition.core.clusters import add_log_prior, choices, exponentiate, predict, put_in, rebuild_if_due
from copartition.core.compiling import kernel, prepare
from copartition.core.random import draw, stream, uniform
from copartition.core.room import copied, grown
from copartition.core.starts import begin_at
from copartition.core.state import PLACE, Chain, Hooks, Model
from copartition.core.steps import begin_chain
from copartition.core.sweeps import update_chain
from copartition.core.types import DONE, FULL, INVALID, float64, int1, int64, uint1
from copartition.diagnostics.evidence import SMC, Evidence
from copartition.functionals import log_likelihood
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.powers import EVIDENCE, OF_PARTICLES, EvidenceError
from copartition.runs.progress import Pause
from copartition.runs.stopping import GROWTH, MARGIN
from copartition.runs.workers import lasting
from copartition.targets.base import Target
from copartition.validation import shorten

RESAMPLED = 0.5  # share of the particles that the weights are worth, below which they are drawn anew
SWEEPS_AFTER_DRAWING = 1  # after that


@kernel(float64(Model, Hooks, Chain, uint1, int64))
def place_next(model, hooks, chain, random, n):
    """Put point n, which is in no cluster, into one; return the log of its predictive density, NaN if there is none.

    Changed in place: `chain`, which must have room for a cluster, and the state of the random numbers `random`.
    """
    weights, n_choices = chain.weights, choices(model, chain)
    for k in range(n_choices):
        weights[k] = 0.0
    top = add_log_prior(model, chain, n_choices)
    log_prior = top + math.log(exponentiate(weights, n_choices, top))
    predict(model, hooks, chain, n_choices, n)
    top = add_log_prior(model, chain, n_choices)
    total = exponentiate(weights, n_choices, top)
    if not total > 0.0:
        return np.nan
    put_in(model, hooks, chain, n, draw(weights, n_choices, uniform(random) * total))
    return top + math.log(total) - log_prior


@kernel(int64(Model, Hooks, Chain, uint1, int1, int64, int1))
def sweep_placed(model, hooks, chain, random, order, count, progress):
    """Go on with a Gibbs sweep over the first `count` points of an order; return a status.

    Changed in place: `chain`, the state of the random numbers `random`, `progress`.
    """
    for place in range(progress[PLACE], count):
        status = update_chain(model, hooks, chain, random, order[place])
        if status != DONE:
            progress[PLACE] = place
            return status
    rebuild_if_due(model, hooks, chain)
    return DONE


class Particles:
    """Partitions of the first few points of an order, and the log evidence of these.

    Parameters
    ----------
    target : Target
        An exchangeable one that has a prior.
    count : int
        Number of particles.
    order : int64 array (n_points)
    random : uint64 array (4)
        The state of the random numbers of kernels; changed in place.
    rng : numpy.random.Generator
        For drawing particles anew.
    """

    def __init__(
        self, target: Target, count: int, order: np.ndarray, random: np.ndarray, rng: np.random.Generator
    ) -> None:
        self._target, self._order, self._random, self._rng = target, order, random, rng
        nowhere = np.full(target.n_points, -1, dtype=np.int64)
        self._chains = [chain_at(target, nowhere) for _ in range(count)]
        self._log_weights = np.zeros(count)
        self._placed = 0
        self.log_evidence = 0.0
        self.sweeps = 0.0

    def add_point(self) -> None:
        """Add the next point of the order to all particles."""
        prior: Any = self._target.prior
        n, count = int(self._order[self._placed]), self._placed + 1
        model = self._target.model._replace(log_size=prior.log_size(count), log_new=prior.log_new(count))
        for i, chain in enumerate(self._chains):
            if chain.n_clusters[0] + 2 > len(chain.sizes):
                self._chains[i] = chain = grown(chain)
            self._log_weights[i] += place_next(model, self._target.hooks, chain, self._random, n)
        if np.isnan(self._log_weights).any():
            raise refusal(INVALID, n)
        self._placed = count
        self.sweeps += len(self._chains) / self._target.n_points
        weights = np.exp(self._log_weights - self._log_weights.max())
        if weights.sum() ** 2 < RESAMPLED * len(weights) * (weights**2).sum() or count == self._target.n_points:
            self._draw_anew(weights)
            if count < self._target.n_points:
                self._sweep(model)

    def _draw_anew(self, weights: np.ndarray) -> None:
        """Draw particles by their weights, in equal steps; their average weight goes into the evidence."""
        self.log_evidence += float(self._log_weights.max() + np.log(weights.mean()))
        self._log_weights[:] = 0.0
        levels = (self._rng.random() + np.arange(len(weights))) / len(weights)
        below = np.cumsum(weights) / weights.sum()
        chosen = np.minimum(np.searchsorted(below, levels, side="right"), len(weights) - 1)
        again = np.concatenate([[False], chosen[1:] == chosen[:-1]])
        self._chains = [
            copied(self._chains[i]) if is_again else self._chains[i]
            for i, is_again in zip(chosen.tolist(), again, strict=True)
        ]

    def _sweep(self, model: Model) -> None:
        for i in range(len(self._chains)):
            for _ in range(SWEEPS_AFTER_DRAWING):
                self._chains[i] = self._swept(model, self._chains[i])
        self.sweeps += SWEEPS_AFTER_DRAWING * len(self._chains) * self._placed / self._target.n_points

    def _swept(self, model: Model, chain: Chain) -> Chain:
        progress = np.zeros(2, dtype=np.int64)
        while True:
            status = sweep_placed(model, self._target.hooks, chain, self._random, self._order, self._placed, progress)
            if status == DONE:
                return chain
            if status != FULL:
                raise refusal(status, int(self._order[progress[PLACE]]))
            chain = grown(chain)


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
