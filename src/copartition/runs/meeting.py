"""Meeting times: how long pairs of chains take to become one."""

from __future__ import annotations

import time
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from copartition import steps
from copartition.compiled.kernel import prepare
from copartition.compiled.random import stream
from copartition.couplings.base import Coupling
from copartition.pacing import Chunks, Pause
from copartition.pair import NO_TRACE, advance_pair, start_pair
from copartition.results import MeetingTimes
from copartition.runs.kernels import choose_moves
from copartition.runs.parallel import run_pieces
from copartition.start import Beginning, check_start
from copartition.targets.base import Target, check_target
from copartition.validation import integer


class Meeting(NamedTuple):
    """The course of one pair: coupled sweeps made, whether it met, CPU seconds, distances."""

    sweeps: int
    met: bool
    seconds: float
    trace: np.ndarray


def meeting_times(
    target: Target,
    *,
    replicates: int = 250,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    lag: int = 1,
    init: Any = None,
    max_sweeps: int = 100_000,
    trace: bool = False,
    seed: int = 0,
    executor: Executor | None = None,
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
        ``"path"`` if left out; ``"matched"``; those of the paper, ``"transport"``, ``"maximal"``, ``"common"``,
        ``"independent"``; or an object such as ``Transport(metric="vi", nugget=0.01)``.
    split_merge : int or "auto", optional
        Split-merge moves after every sweep; ``"auto"``: as many as cost about a third of a sweep. Left out:
        ``"auto"``, or none if a coupling is named, so that ``coupling="transport"`` alone is the paper's method.
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
    executor : concurrent.futures.Executor, optional
        Left out: threads on all cores.
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
    coupling, split_merge = choose_moves(target, coupling, split_merge)
    if max_sweeps < lag:
        raise ValueError(f"max_sweeps must be at least the lag, {lag}, got {max_sweeps}.")
    start = check_start(target, init)
    work = partial(_meet, target, coupling, split_merge, start, lag, max_sweeps, trace, seed)
    meetings = run_pieces(work, replicates, executor, progress, "pairs")
    return MeetingTimes(
        meeting_times=np.array([lag + m.sweeps for m in meetings]),
        met=np.array([m.met for m in meetings]),
        seconds=np.array([m.seconds for m in meetings]),
        traces=[m.trace for m in meetings] if trace else None,
        lag=lag,
        max_sweeps=max_sweeps,
        seed=seed,
        coupling=repr(coupling),
        split_merge=split_merge,
    )


def _meet(
    target: Target,
    coupling: Coupling,
    split_merge: int,
    start: Beginning,
    lag: int,
    max_sweeps: int,
    trace: bool,
    seed: int,
    index: int,
    pause: Pause,
) -> Meeting:
    """Run pair `index` until it meets or the cap is reached."""
    prepare(
        steps.run_pair, steps.step_pair, target.log_predictive, target.log_merge, coupling.partner
    )  # not part of the time of a pair
    random = stream(seed, index)
    pair = start_pair(target, coupling, start, lag, random, pause, split_merge)
    traces = [pair.distance.copy()]
    chunks = Chunks(target.n_points)
    done = 0
    begin = time.thread_time()
    while pair.distance[0] > 0 and lag + done < max_sweeps:
        pause()
        sweeps = chunks.next(max_sweeps - lag - done)
        distances = np.zeros(sweeps + 1, dtype=np.int64) if trace else NO_TRACE
        pair, made = advance_pair(target, coupling, pair, random, sweeps, distances, split_merge)
        done += made
        traces.append(distances[1 : made + 1])
    seconds = time.thread_time() - begin
    return Meeting(done, bool(pair.distance[0] == 0), seconds, np.concatenate(traces))
