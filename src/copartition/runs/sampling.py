"""Ordinary Markov chain Monte Carlo, for comparison."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from copartition import steps
from copartition.chain import advance_chain, record_chain
from copartition.compiled.kernel import prepare
from copartition.compiled.random import stream
from copartition.functionals import Functional, bind_all
from copartition.pacing import Chunks, Pause
from copartition.results import Sample
from copartition.runs.kernels import choose_split_merge
from copartition.runs.parallel import run_pieces
from copartition.start import Beginning, check_start, start_chain
from copartition.targets.base import Target, check_target
from copartition.validation import integer

CELLS = 4_000_000  # numbers that are held at a time before those that are wanted are picked


def sample(
    target: Target,
    functional: Functional,
    *,
    sweeps: int = 10_000,
    burn_in: int = 1_000,
    chains: int = 4,
    split_merge: int | str = "auto",
    init: Any = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool = False,
) -> Sample:
    """Average a functional along independent Gibbs chains.

    Parameters
    ----------
    target : Target
        The law that the chains sample from.
    functional : Functional
        What is averaged, for instance ``n_clusters()``.
    sweeps : int
        Sweeps of each chain that are kept, after the burn-in.
    burn_in : int
        Sweeps that are thrown away first.
    chains : int
        Number of independent chains.
    split_merge : int or "auto"
        Split-merge moves after every sweep, 0 for plain Gibbs sampling; see `meeting_times`.
    init : str, array of int or Start, optional
        Where chains start; see `meeting_times`.
    seed : int
        Chain i draws from ``SeedSequence(seed, spawn_key=(i,))``.
    executor : concurrent.futures.Executor, optional
        Left out: threads on all cores.
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
    seed = integer("seed", seed, 0)
    split_merge = choose_split_merge(target, split_merge)
    start = check_start(target, init)
    columns = np.arange(functional.size)
    work = partial(run_chain, target, functional, columns, split_merge, start, burn_in, sweeps, seed)
    results = run_pieces(work, chains, executor, progress, "chains")
    return Sample(
        draws=np.stack([draws for draws, _ in results]),
        seconds=np.array([seconds for _, seconds in results]),
        functional=functional.name,
        sweeps=sweeps,
        burn_in=burn_in,
        seed=seed,
        components=functional.components,
        split_merge=split_merge,
    )


def run_chain(
    target: Target,
    functional: Functional,
    columns: np.ndarray,
    split_merge: int,
    start: Beginning,
    burn_in: int,
    sweeps: int,
    seed: int,
    index: int,
    pause: Pause,
) -> tuple[np.ndarray, float]:
    """Run chain `index`; return its draws of the components `columns`, and its CPU seconds."""
    # Compiling is not part of the time of a chain.
    prepare(steps.run_chain, steps.record_chain, steps.step_chain, target.log_predictive, target.log_merge)
    random = stream(seed, index)
    begin = time.thread_time()
    chain = start_chain(target, start, random)
    draws = np.zeros((sweeps, len(columns)))
    chunks = Chunks(target.n_points)
    done = 0
    while done < burn_in:
        pause()
        made = chunks.next(burn_in - done)
        chain = advance_chain(target, chain, random, made, split_merge)
        done += made
    done = 0
    while done < sweeps:
        pause()
        made = chunks.next(min(sweeps - done, max(1, CELLS // functional.size)))
        rows = np.zeros((made, functional.size))
        chain = record_chain(target, chain, random, functional, rows, split_merge)
        draws[done : done + made] = rows[:, columns]
        done += made
    return draws, time.thread_time() - begin
