"""Meeting times: how long pairs of chains take to become one."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.chains.start import check_start
from copartition.chains.step import Step
from copartition.couplings.base import Coupling
from copartition.results import MeetingTimes
from copartition.runs.defaults import LAG, MAX_SWEEPS, bind, read_step
from copartition.runs.pairs import PairJob, pair_job, watch_pairs
from copartition.targets.base import Target, check_target
from copartition.validation import flag, integer


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
