"""Ordinary Markov chain Monte Carlo, for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.answers import Sample
from copartition.chains.chain import advance_chain, record_chain
from copartition.chains.start import Beginning, begin_of, check_start, start_chain
from copartition.chains.step import BoundStep, Step
from copartition.core.compiling import Kernel, prepare
from copartition.core.random import stream
from copartition.core.starts import begin_at
from copartition.core.state import Chain, Stepper
from copartition.core.steps import begin_chain, make_recorded_steps, make_steps
from copartition.functionals import Functional
from copartition.functionals.base import bind_all
from copartition.runs.defaults import bind, read_step_alone
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Chunks, Pause
from copartition.runs.recording import check_draws
from copartition.runs.workers import Task
from copartition.targets.base import Target, check_target
from copartition.validation import integer

VALUES_AT_A_TIME = 4_000_000  # numbers that are held at a time before those that are wanted are picked


def sample(
    target: Target,
    functional: Functional,
    *,
    sweeps: int = 10_000,
    burn_in: int = 1_000,
    chains: int = 4,
    step: Step | None = None,
    split_merge: int | str | None = None,
    init: Any = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Sample:
    """Average a functional along independent Gibbs chains.

    Parameters
    ----------
    target : Target
        The distribution that the chains sample from.
    functional : Functional
        What is averaged, for instance ``n_clusters()``.
    sweeps : int
        Sweeps of each chain that are kept, after the burn-in.
    burn_in : int
        Sweeps that are thrown away first.
    chains : int
        Number of independent chains.
    step : Step, optional
        What chains do in a step, see `meeting_times`; the coupling does not matter. Left out, the chains do what those
        of `estimate` do.
    split_merge : int or "auto", optional
        Short for ``step=Step(split_merge=...)``, 0 for Gibbs sampling without split-merge moves.
    init : str, array of int or Start, optional
        Where chains start; see `meeting_times`.
    seed : int
        Chain i draws from ``SeedSequence(seed, spawn_key=(i,))``.
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where chains run, see `estimate`.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> s = cp.sample(posterior, cp.n_clusters(), sweeps=1000, burn_in=100, chains=2, seed=1)
    >>> s.draws.shape
    (2, 1000, 1)
    """
    check_target(target)
    target, (functional,) = bind_all(target, [functional])
    sweeps = integer("sweeps", sweeps, 1)
    burn_in = integer("burn_in", burn_in, 0)
    chains = integer("chains", chains, 1)
    check_draws(functional, sweeps, chains)
    seed = integer("seed", seed, 0)
    bound_step = bind(target, read_step_alone(target, step, split_merge))
    start = check_start(target, init)
    task = ChainJob(target, functional, np.arange(functional.size), bound_step, start, burn_in, sweeps, seed)
    draws, seconds = run_chains(task, chains, executor, progress, "chains")
    return Sample(
        draws=draws,
        seconds=seconds,
        functional=functional.name,
        sweeps=sweeps,
        burn_in=burn_in,
        seed=seed,
        components=functional.components,
        split_merge=bound_step.split_merge,
    )


@dataclass(frozen=True)
class ChainJob(OneByOne):
    """All that determines some ordinary chains: of the functional, the components `columns` are kept."""

    target: Target
    functional: Functional
    columns: np.ndarray
    step: BoundStep
    start: Beginning
    burn_in: int
    sweeps: int
    seed: int

    def prepare(self) -> None:
        """Compile what chains use."""
        prepare_chains(self.target, self.functional, self.step, self.start)

    def one(self, index: int, pause: Pause) -> np.ndarray:
        """Run a chain; return its draws."""
        random = stream(self.seed, index)
        target = self.target.of_chain()
        chain = start_chain(target, self.start, random)
        draws = np.zeros((self.sweeps, len(self.columns)))
        chunks = Chunks(self.target.n_points)
        chain = advance_by(target, self.step, chain, random, self.burn_in, chunks, pause)
        done = 0
        while done < self.sweeps:
            pause()
            made = chunks.next(min(self.sweeps - done, max(1, VALUES_AT_A_TIME // self.functional.size)))
            rows = np.zeros((made, self.functional.size))
            chain = record_chain(target, self.step, chain, random, self.functional, rows)
            draws[done : done + made] = rows[:, self.columns]
            done += made
        return draws


@dataclass(frozen=True)
class DrawJob(OneByOne):
    """Ordinary chains of which a clustering is kept every now and then."""

    target: Target
    step: BoundStep
    start: Beginning
    burn_in: int
    thin: int
    draws: int
    seed: int

    def prepare(self) -> None:
        """Compile what chains use."""
        begin = begin_of(self.target, self.start)
        prepare(make_steps, begin_chain, begin_at, begin, *self.step.kernels(self.target, False), *self.target.kernels)

    def one(self, index: int, pause: Pause) -> np.ndarray:
        """Run a chain; return the clusterings that are kept."""
        target, step, random = self.target.of_chain(), self.step, stream(self.seed, index)
        chunks = Chunks(target.n_points)
        chain = start_chain(target, self.start, random)
        chain = advance_by(target, step, chain, random, self.burn_in, chunks, pause)
        draws = np.zeros((self.draws, target.n_points), dtype=np.int32)
        for k in range(self.draws):
            chain = advance_by(target, step, chain, random, self.thin, chunks, pause)
            draws[k] = chain.labels
        return draws


def advance_by(
    target: Target,
    step: BoundStep | Stepper,
    chain: Chain,
    random: np.ndarray,
    steps: int,
    chunks: Chunks,
    pause: Pause,
) -> Chain:
    """Let a chain make so many steps, with pauses in between; return it."""
    while steps > 0:
        pause()
        made = chunks.next(steps)
        chain = advance_chain(target, step, chain, random, made)
        steps -= made
    return chain


def prepare_chains(target: Target, functional: Functional, step: BoundStep, start: Beginning) -> None:
    """Compile what ordinary chains use, so that the time of none includes it."""
    own = [functional.evaluate] if isinstance(functional.evaluate, Kernel) else []
    own.append(begin_of(target, start))
    prepare(make_steps, make_recorded_steps, begin_chain, begin_at, *step.kernels(target, False), *target.kernels, *own)


def run_chains(task: Task, count: int, executor: Any, progress: bool, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Run chains; return their draws (chains, sweeps, components) and CPU seconds."""
    chains = run_all(task, count, executor, progress, what)
    return np.stack(chains.results), chains.seconds
