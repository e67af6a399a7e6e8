"""Meeting times: how long pairs of chains take to become one."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.chains.neighbours import BlockUpdates
from copartition.chains.start import check_start
from copartition.couplings.base import Coupling
from copartition.results import MeetingTimes
from copartition.runs.defaults import choose_step
from copartition.runs.pairs import PairJob, pair_job, watch_pairs
from copartition.targets.base import Target, check_target
from copartition.validation import integer


def meeting_times(
    target: Target,
    *,
    replicates: int = 250,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    blocks: int | BlockUpdates | None = None,
    lag: int = 1,
    init: Any = None,
    max_sweeps: int = 100_000,
    trace: bool = False,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> MeetingTimes:
    """Run pairs of coupled chains until they meet.

    Parameters
    ----------
    target : Target
        The law that the chains sample from.
    replicates : int
        Number of pairs.
    coupling : str or Coupling, optional
        ``"path"`` if left out, ``"transport"`` for graph colourings; ``"matched"``; those of the paper,
        ``"transport"``, ``"maximal"``, ``"common"``, ``"independent"``; or an object such as
        ``Transport(metric="vi", nugget=0.01)``.
    split_merge : int or "auto", optional
        Split-merge moves after every sweep; ``"auto"``: as many as cost about half of a sweep. Left out:
        ``"auto"``, or none if a coupling is named, so that ``coupling="transport"`` alone is the paper's method.
    blocks : int or BlockUpdates, optional
        Updates of blocks after every sweep and its moves; none if left out. `tune` finds out whether they help.
    lag : int
        Sweeps that the first chain of a pair is ahead of the second.
    init : str, array of int or Start, optional
        Where both chains start: ``"one_cluster"`` (the default of mixtures), ``"singletons"``, ``"prior"``,
        ``"sequential"`` (points in random order, each by its conditional law given those before), ``"greedy"`` (the
        default of graph colourings), or labels.
    max_sweeps : int
        The latest meeting time that is waited for; pairs that have not met by then are given up.
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
    step = choose_step(target, coupling, split_merge, blocks)
    if max_sweeps < lag:
        raise ValueError(f"max_sweeps must be at least the lag, {lag}, got {max_sweeps}.")
    job = pair_job(target, (), step, check_start(target, init), lag, max_sweeps, seed)
    times, _ = watch_pairs(PairJob(job, bool(trace), np.zeros(0, dtype=np.int64)), replicates, executor, progress)
    return times
