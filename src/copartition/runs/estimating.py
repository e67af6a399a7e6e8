"""Unbiased estimates from replicates that run anywhere.

Of pairs that did not meet each chain runs on alone for a while. What a chain does by itself is the measure for how far
two chains are apart, see `copartition.diagnostics.agreement`. Chain c of replicate i draws from ``SeedSequence(seed,
spawn_key=(FOLLOW, i, c))``, which nothing else draws from, so that what is found has the same bits on any executor, and
no replicate is changed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from copartition.answers import Estimate
from copartition.chains.chain import advance_chain
from copartition.chains.density import Density
from copartition.chains.start import Beginning, begin_of, start_chain
from copartition.chains.step import Step
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.steps import begin_chain, make_steps
from copartition.core.tempering import make_weighed_steps
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional
from copartition.results import Course, Outcomes, Unmet
from copartition.results.store import Store
from copartition.runs.asymptotic_variance import REPLICATES as VARIANCE_REPLICATES
from copartition.runs.asymptotic_variance import variance_of
from copartition.runs.checks import compare_starts, look_at_model, wants_look
from copartition.runs.choice import Choice, How, check_how, choose, make_job
from copartition.runs.defaults import describe, describe_look, describe_model
from copartition.runs.keeping import Kept, seconds_a_batch
from copartition.runs.pieces import OneByOne, Schedule, run_all
from copartition.runs.progress import Monitor, Patience, Pause, Watch, bar_for
from copartition.runs.recording import check_memory
from copartition.runs.replicates import Failure, Job
from copartition.runs.stopping import FixedNumber, UntilPrecise, stopping_rule
from copartition.runs.workers import Where, lasting, workers_for
from copartition.targets.base import Target
from copartition.validation import flag

RECORDS = 20
SWEEPS_BETWEEN_RECORDS = 5  # between records
POINTS_KEPT = 2000  # whose labels are kept
FOLLOW = int.from_bytes(b"unmet", "big")


@dataclass(frozen=True)
class Following(OneByOne):
    """Pairs whose chains are run on."""

    job: Job
    unmet: tuple[Unmet, ...]

    def prepare(self) -> None:
        """Compile what chains use."""
        job = self.job
        own = (make_steps, begin_chain, begin_of(job.target, job.start), make_weighed_steps)
        prepare(*own, *job.step.kernels(job.target, False), *job.target.kernels)

    def one(self, index: int, pause: Pause) -> Unmet:
        """Follow a pair."""
        unmet = self.unmet[index]
        return unmet._replace(course=_course(self.job, unmet, pause))


def _course(job: Job, one: Unmet, pause: Pause) -> Course:
    """Run both chains of a pair on, each alone."""
    points = np.unique(np.linspace(0, job.target.n_points - 1, min(job.target.n_points, POINTS_KEPT)).astype(np.int64))
    log_density = np.zeros((2, RECORDS))
    n_clusters = np.zeros((2, RECORDS), dtype=np.int64)
    labels = np.zeros((2, RECORDS, len(points)), dtype=np.int32)
    stepper = job.step.stepper(job.target)
    for c in range(2):
        random = stream(job.seed, FOLLOW, one.number, c)
        target = job.target.of_chain()
        density = Density(target) if target.has_density else None  # known where clusters grow by points
        # Unknown hyperparameters were not kept: they are drawn anew, given the partition.
        chain = start_chain(target, Beginning(one.labels[c].astype(np.int64)), random)
        for t in range(RECORDS):
            pause()
            chain = advance_chain(target, stepper, chain, random, SWEEPS_BETWEEN_RECORDS)
            log_density[c, t] = np.nan if density is None else density.of(chain)
            n_clusters[c, t] = len(np.unique(chain.labels))
            labels[c, t] = chain.labels[points]
    return Course(log_density, n_clusters, labels)


def follow(job: Job, unmet: tuple[Unmet, ...], executor: Any) -> dict[int, Unmet]:
    """Follow the pairs that have not been followed yet; return them by the numbers of their replicates."""
    todo = tuple(one for one in unmet if one.course is None)
    if not todo:
        return {}
    found = run_all(Following(replace(job, sums=None), todo), len(todo), executor, False, "pairs that did not meet")
    return {one.number: one for one in found.results}


class ReplicateError(RuntimeError):
    """A replicate could not be run; the others were, and are in the store if there is one.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> strange = cp.functional(lambda labels: float("nan"))
    >>> try:
    ...     cp.estimate(posterior, strange, replicates=2, burn_in=1, min_sweeps=5, lag=1, seed=1)
    ... except cp.errors.ReplicateError:
    ...     print("a replicate gave NaN")
    a replicate gave NaN
    """


def estimate(
    target: Target,
    functional: Functional | Sequence[Functional],
    *,
    replicates: int | None = None,
    target_stderr: float | None = None,
    target_relative: float | None = None,
    settings: Tuned | str | None = None,
    step: Step | None = None,
    seed: int = 0,
    executor: Any = None,
    store: str | Path | None = None,
    progress: bool | Callable[[int, int, np.ndarray, np.ndarray], None] = False,
    **how: Unpack[How],
) -> Estimate:
    """Estimate the expectation of a functional under a target, without bias.

    Parameters
    ----------
    target : Target
        The distribution on partitions.
    functional : Functional or sequence of Functional
        What is estimated, for instance ``largest_clusters(3)``; up to four in one run.
    replicates : int, optional
        Number of independent pairs of chains; the most there may be if a precision is asked for. Left out, as many as
        ordinary precision takes, see Notes, at most 1000.
    target_stderr : float, optional
        Run until the standard errors of all components are this small.
    target_relative : float, optional
        Run until the standard errors of all components are at most this times the largest mean of their functional
        (so that components close to 0 do not keep the run going). Where the largest mean is 0, the run ends only
        after `replicates`.
    settings : Tuned or "auto", optional
        What `tune` recommends for `step`, `burn_in`, `min_sweeps`, `lag` and `init`; ``"auto"`` runs the pilot here, or
        takes the settings of the run in `store`, if there is one. An argument that is given as well wins.
    step : Step, optional
        What chains do in a step; left out, what suits the target best.
    seed : int
        Replicate i draws from ``SeedSequence(seed, spawn_key=(i,))``: the same bits on any executor.
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        Where replicates run: threads, on all cores or as many as given; processes; an executor; a Dask cluster.
    store : path, optional
        A file that keeps every replicate. The same call with the same file goes on where it stopped.
    progress : bool or callable
        Show a progress bar, which also says what pairs are doing that take long to meet; or a function that is called
        with the number of replicates so far and in all, the mean and the standard error.
    **how
        How chains run, see `How`.

    Other Parameters
    ----------------
    burn_in, min_sweeps : int, optional
        Every replicate averages over sweeps `burn_in` to `min_sweeps` of its first chain, and corrects the average.
        100 and 500, if neither these nor settings are given.
    lag : int, optional
        Sweeps that the first chain of a pair is ahead of the second, 100 if left out.
    max_sweeps : int, optional
        A cap on the sweeps of a pair, the lag included. Pairs that have not met by then are truncated and **make the
        estimate biased**; the result says so, gives the ordinary averages of the chains beside the truncated ones
        (`Estimate.ordinary`), and says why pairs did not meet (`Estimate.agreement`). Left out, every pair runs until
        it meets, and a `SlowPairsWarning` tells where that takes very long.
    init : str, array of int or Start, optional
        Where chains start, see `meeting_times`.
    coupling : str or Coupling, optional
    split_merge : int or "auto", optional
        Short for ``step=Step(coupling, split_merge)``.

    Returns
    -------
    Estimate

    Notes
    -----
    Ordinary precision, where neither `replicates` nor a precision is given, is a standard error of at most 0.01 for
    every probability and every share, and for all other components of at most 1 % of the largest mean of their
    functional. The run looks at 100 replicates first and never stops before, because there is no interval from fewer
    (`Estimate.interval`); what it then still needs is predicted from their variance. At 1000 it stops in any case.

    A run that stops when it is precise enough is a little biased, by less than a tenth of a standard error. For an
    estimate that is unbiased to the letter give a number of replicates.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=400, burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> e.values.shape, e.censored
    ((400, 1), 0)
    >>> low, high = e.interval(0.95)
    >>> e = cp.estimate(posterior, cp.n_clusters(), burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> bool(e.stderr[0] < 0.01 * e.mean[0])
    True
    """
    check_how(estimate, how)
    rule = stopping_rule(replicates, target_stderr, target_relative)
    if not callable(progress):
        flag("progress", progress)
    choice = choose(target, functional, how, step, settings, Where(executor, progress is True, seed), store)
    job = make_job(target, functional, choice, seed)
    if wants_look(target, functional):
        job = replace(job, keeps=1)
    e = run_until(rule, job, choice, executor=executor, store=store, progress=progress)
    threads = executor if isinstance(executor, int) else None  # pools and clusters may be closed by then
    size, where = (VARIANCE_REPLICATES, None), Where(threads, False, seed)
    return replace(e, _variance_of_chain=partial(variance_of, target, functional, choice, size, where))


def run_until(
    rule: FixedNumber | UntilPrecise,
    job: Job,
    choice: Choice,
    *,
    executor: Any = None,
    store: str | Path | None = None,
    progress: bool | Callable[[int, int, np.ndarray, np.ndarray], None] = False,
) -> Estimate:
    """Run replicates until a rule says that there are enough; return what they amount to.

    Parameters
    ----------
    rule : FixedNumber or UntilPrecise
    job : Job
    choice : Choice
        What the job was made of.
    executor, store, progress
        See `estimate`.
    """
    check_memory(job, rule.foreseen)
    description = describe(job, choice.init)
    opened = Store(store, description) if store is not None else None
    try:
        kept = Kept(opened, description, rule.most)
    except BaseException:  # a file that cannot be read to its end
        if opened is not None:
            opened.close()
        raise
    job = replace(job, sums=kept.sums)
    failures: list[Failure] = []
    wanted, is_new = kept.begun, False
    try:
        with lasting(executor) as place:
            with _reporting(progress, kept) as (announce, watch), workers_for(place, job) as workers:
                waiting = watch if job.settings.cap else Patience(watch, kept.batches, kept.sweeps_to_meet)
                while not failures and (more := _more(kept, rule, wanted)) is not None:
                    wanted, is_new = more, True
                    kept.begin(wanted)
                    announce(wanted)
                    schedule = Schedule(kept.missing(wanted), kept.add, waiting, seconds_a_batch(job))
                    try:
                        schedule.run(workers)
                    except KeyboardInterrupt:
                        if workers.are_threads:  # which bring back all that has ended
                            kept.stop(workers.count)
                        raise
                    failures = schedule.failures
            seen = kept.seen(wanted)
            look: dict[str, Any] = {}
            if not failures:
                kept.add_courses(follow(job, kept.unmet, place))
                look = describe_look(choice.look) or kept.look(is_new) or _look(job, seen.outcomes, place)
        outcome = rule.outcome(seen)
        partitions = kept.partitions_below(wanted)
        model = look_at_model(job.target, partitions) if choice.model is None else choice.model
        found = look | describe_model(model)
        if kept.store is not None and not failures:
            kept.store.note({"precision": outcome.get("precision"), **found})
    finally:
        kept.close()
    if failures:
        raise _error(failures, seen.count, store)
    return kept.estimate(seen, description | outcome | found | {"wanted": wanted}, partitions)


def _look(job: Job, outcomes: Outcomes, place: Any) -> dict[str, Any]:
    """Return what chains from other starts say of a run whose settings nobody has tried; nothing if pairs are apart."""
    return describe_look(compare_starts(job, outcomes, place)) if outcomes.met.all() else {}


def _more(kept: Kept, rule: FixedNumber | UntilPrecise, wanted: int) -> int | None:
    """Return how many replicates there should be; None if there are enough."""
    if kept.missing(wanted):
        return wanted  # of a look that an earlier call did not get to the end of
    return rule.next(kept.seen(wanted))


@contextmanager
def _reporting(progress: Any, kept: Kept) -> Iterator[tuple[Callable[[int], None], Watch]]:
    """Show how far the run is, or call a function with it; yields what to tell the total, and what looks at work."""
    if not progress:
        yield lambda total: None, lambda pause: None
        return
    running = kept.running()
    if callable(progress):
        totals = [0]

        def call(outcomes: Outcomes) -> None:
            running.add(outcomes)
            progress(running.done, totals[0], running.mean, running.stderr)

        kept.listener = call
        yield lambda total: totals.__setitem__(0, total), lambda pause: None
        return
    with bar_for("replicates") as bar:
        monitor = Monitor(bar, done=running.done)

        def listen(outcomes: Outcomes) -> None:
            running.add(outcomes)
            monitor.add(len(outcomes.indices), str(running))

        kept.listener = listen
        yield lambda total: setattr(monitor, "total", total), monitor.watch


def _error(failures: list[Failure], finished: int, store: Any) -> ReplicateError:
    first = min(failures)
    others = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    where = "; they are in the store" if store is not None else "; give a store to keep them"
    return ReplicateError(
        f"Replicate {first.number}{others} could not be run: {first.reason} "
        f"({finished} other replicates finished{where})."
    )
