"""The asymptotic variance of an ordinary chain, without bias, from pairs of chains that meet.

For a step P with the stationary distribution pi, and h a functional, the variance of an average of h over n steps is
v / n, about, with

    v = 2 Cov(h, g) - Var(h),

where g solves the Poisson equation g - Pg = h - E[h] and covariances are under pi. Two chains that run together from
states x and y until they meet give G(x, y), the sum of h(X_t) - h(Y_t), which has the expectation g(x) - g(y): see
`copartition.core.differences`. With x and y drawn from pi, independently of each other,

    v = E[(h(x) - h(y)) (G(x, y) - (h(x) - h(y)))] + Var(h),      Var(h) = E[(h(x) - h(y))^2] / 2,

because the covariance of two functions is half the expectation of the product of their differences. That is the
estimator of Douc, Jacob, Lee and Vats (2022, "Solving the Poisson equation using coupled Markov chains") in a symmetric
form. Theirs has a fixed state in the place of y; with both drawn from pi one pair tells 1.6 to 3.6 times as much
(docs/evidence.md), and there is no state to choose.

Nobody can draw from pi. But a replicate of the unbiased estimator is a signed measure whose expectation is pi, and two
independent ones, pi_1 and pi_2, make a signed measure of expectation pi x pi on pairs of states. A replicate here has
two of them. `atoms` states are drawn from each, with probabilities proportional to the sizes of their weights, and one
drawn from pi_1 makes a pair with one drawn from pi_2. With u and w their signed weights, which keep all expectations,
and R = `atoms`,

    v_hat = R sum_r u_r w_r (h(x_r) - h(y_r)) (G_r - (h(x_r) - h(y_r)))  +  1/2 sum_(r, s) u_r w_s (h(x_r) - h(y_s))^2 .

The second sum is over all pairs of states, as it takes no chains.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from copartition.answers import Estimate
from copartition.chains.chain import record_chain
from copartition.chains.start import start_chain
from copartition.chains.step import Step
from copartition.core.random import stream
from copartition.diagnostics.efficiency import variance_name
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import Functional
from copartition.partition import canonical
from copartition.results import Outcomes
from copartition.results.kept import Partitions
from copartition.runs.checks import compare_starts
from copartition.runs.choice import Choice, How, check_how, choose, make_job
from copartition.runs.defaults import describe, describe_look
from copartition.runs.differences import PairRunner, States, prepare_differences
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Chunks, Pause
from copartition.runs.recording import check_memory
from copartition.runs.replicates import Job, Runner
from copartition.runs.sampling import advance_by, prepare_chains
from copartition.runs.workers import Where, lasting
from copartition.targets.base import Target
from copartition.validation import flag, integer

REPLICATES = 100
# So many times the sweeps of the two replicates go into pairs that begin at their atoms. Measured with 1, 4, 16, 64 and
# 256 atoms (docs/evidence.md): variance times CPU time is least, or nearly so, where it is 1.6 to 3 times as many.
SHARE = 2.0
LEAST_ATOMS, MOST_ATOMS = 16, 256
PILOT_PAIRS = 16
TIMED_UPDATES = 200_000  # of points, in each chain of the pilot
LABELS_AT_A_TIME = 4_000_000  # labels that are held at a time
PART = int.from_bytes(b"variance", "big")  # of the key of random streams
OF_MEASURES, OF_DRAWS, OF_PAIRS, OF_CHAINS, OF_PILOT = range(5)


def asymptotic_variance(
    target: Target,
    functional: Functional | Sequence[Functional],
    *,
    replicates: int = REPLICATES,
    atoms: int | None = None,
    settings: Tuned | str | None = None,
    step: Step | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
    **how: Unpack[How],
) -> Estimate:
    """Estimate how variable the averages of an ordinary chain are, without bias.

    The average of a functional over n sweeps of a chain, after a burn-in, has the variance v / n, about; this estimates
    v for every component. No chain has to be long, and no length of batches has to be chosen. The variance is that of
    the chain alone, which makes the same step; how two chains are coupled does not change it, only what it costs to
    know it.

    Parameters
    ----------
    target : Target
        The posterior.
    functional : Functional or sequence of Functional
        Whose averages; up to four in one run.
    replicates : int
        Number of independent estimates. Each takes two replicates of `estimate`, and `atoms` pairs of chains that begin
        where the chains of these have been and end when they meet.
    atoms : int, optional
        Left out, so many that these pairs take about twice as many sweeps as the two replicates, 16 to 256; a short
        pilot finds out.
    settings : Tuned or "auto", optional
    step : Step, optional
    seed : int
    executor : None, int, "processes", concurrent.futures.Executor or dask.distributed.Client
        As in `estimate`.
    progress : bool
        Show a progress bar.
    **how
        How chains run, see `How`.

    Returns
    -------
    Estimate
        Of ``asymptotic_variance(<name of the functional>)``. A single value may be negative; the mean is unbiased.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> how = {"burn_in": 5, "min_sweeps": 50, "lag": 5, "seed": 1}
    >>> v = cp.asymptotic_variance(posterior, cp.n_clusters(), replicates=200, **how)
    >>> v.components
    ['asymptotic_variance(n_clusters)']
    >>> chain = cp.sample(posterior, cp.n_clusters(), sweeps=50_000, seed=1)
    >>> bool(abs(v.mean[0] / chain.variance[0] - 1) < 0.2)
    True
    """
    check_how(asymptotic_variance, how)
    choice = choose(target, functional, how, step, settings, Where(executor, flag("progress", progress), seed))
    return variance_of(target, functional, choice, (replicates, atoms), Where(executor, progress, seed))


def variance_of(
    target: Target,
    functional: Functional | Sequence[Functional],
    choice: Choice,
    size: tuple[int, int | None],
    where: Where,
) -> Estimate:
    """Return the asymptotic variance for chains of which all is decided.

    Parameters
    ----------
    target, functional
        See `asymptotic_variance`.
    choice : Choice
    size : tuple of int
        Replicates and atoms, None for so many as pay.
    where : Where
    """
    replicates = integer("replicates", size[0], 1)
    job = make_job(target, functional, choice, where.seed, keeps_all=True)
    check_memory(job, replicates)
    atoms = None if size[1] is None else integer("atoms", size[1], 1)
    with lasting(where.executor) as place:
        affordable, seconds_a_sweep = _pilot(job, place)
        task = VarianceJob(replace(job, functionals=(), keeps=atoms or affordable), job.functionals)
        has_cap = job.settings.cap is not None
        found: Batch = run_all(task, replicates, place, where.progress, "replicates", has_cap)
        outcomes = found.outcomes
        look = describe_look(choice.look)
        if not look and outcomes.met.all():
            averages = outcomes._replace(values=found.averages)
            look = describe_look(compare_starts(job, averages, place))
    description = describe(job, choice.init) | look | {"wanted": replicates}
    description["settings"] = description["settings"] | {"atoms": task.job.keeps}
    description["functional"] = ", ".join(variance_name(f.name) for f in job.functionals)
    description["functionals"] = [_about(f) for f in job.functionals]
    description["seconds_a_sweep"] = seconds_a_sweep
    return Estimate.of(outcomes, description)


def _about(functional: Functional) -> dict[str, Any]:
    """Return what the result says of the variance of a functional."""
    about: dict[str, Any] = {"name": variance_name(functional.name), "size": functional.size}
    return (
        about if functional.size == 1 else about | {"components": [variance_name(one) for one in functional.components]}
    )


# --- the pilot -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PilotJob(OneByOne):
    """Ordinary chains: some of their states, and how long their sweeps take."""

    job: Job

    def prepare(self) -> None:
        """Compile what chains use."""
        prepare_chains(self.job.target, self.job.functionals[0], self.job.step, self.job.start)

    def one(self, index: int, pause: Pause) -> tuple[States, float]:
        """Run a chain; return some of its states, and the seconds of a sweep."""
        job, functional = self.job, self.job.functionals[0]
        own, random = job.target.of_chain(), stream(job.seed, PART, OF_CHAINS, index)
        chain = start_chain(own, job.start, random)
        chain = advance_by(own, job.step, chain, random, job.settings.burn_in, Chunks(own.n_points), pause)
        timed = TIMED_UPDATES // own.n_points if functional.is_compiled else 0  # Python takes long by itself
        thin = -(-max(1, job.settings.min_sweeps, timed) // PILOT_PAIRS)
        labels, values, seconds = [], [], 0.0
        for _ in range(PILOT_PAIRS):
            pause()
            rows = np.zeros((thin, functional.size))
            begin = time.thread_time()
            chain = record_chain(own, job.step, chain, random, functional, rows)
            seconds += time.thread_time() - begin
            labels.append(canonical(chain.labels))
            values.append(own.model.hyperparameters.copy())
        return States(np.array(labels), np.array(values)), seconds / (thin * PILOT_PAIRS)


def _pilot(job: Job, executor: Any) -> tuple[int, float]:
    """Return how many atoms pay, and the CPU seconds of a sweep of an ordinary chain, the first functional included."""
    of_x, of_y = run_all(PilotJob(job), 2, executor, False, "chains").results
    s, seconds_a_sweep = job.settings, float(of_x[1] + of_y[1]) / 2
    states = States(*[np.concatenate(parts) for parts in zip(of_x[0], of_y[0], strict=True)])
    begins = np.arange(2 * PILOT_PAIRS).reshape(2, -1).T
    seeds = _words(job, OF_PILOT, 0, 4 * PILOT_PAIRS).reshape(-1, 4)
    prepare_differences(job.target, job.functionals, job.step)
    replicates = 2 * max(s.min_sweeps, s.lag)  # sweeps that they take at least
    cap = min(s.max_sweeps, replicates)  # longer pairs are too long anyway
    found = PairRunner(job.target, job.functionals, job.step, states, begins, seeds, cap).run(Pause())
    pays = SHARE * replicates / (2.0 * max(1.0, float(found.steps.mean())))
    return int(np.clip(round(pays), LEAST_ATOMS, MOST_ATOMS)), seconds_a_sweep


# --- replicates ------------------------------------------------------------------------------------------------------


class Batch(NamedTuple):
    """Some replicates.

    Attributes
    ----------
    indices, values, meeting_times, met, sweeps, seconds : arrays
        See `Outcomes`; the values are asymptotic variances.
    averages : float64 array (replicates, components)
        What the atoms of the first of their two signed measures say of the functionals themselves.
    """

    indices: np.ndarray
    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray
    averages: np.ndarray

    @property
    def outcomes(self) -> Outcomes:
        """The replicates as any others."""
        return Outcomes(*self[:6])


@dataclass(frozen=True)
class VarianceJob:
    """Replicates of the estimator of asymptotic variances.

    Attributes
    ----------
    job : Job
        Of the signed measures: without functionals, `keeps` is the number of atoms.
    functionals : tuple of Functional
    """

    job: Job
    functionals: tuple[Functional, ...]

    def prepare(self) -> None:
        """Compile what is going to be used."""
        self.job.prepare()
        prepare_differences(self.job.target, self.functionals, self.job.step)

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Batch, None]:
        """Run some replicates, one after another, in this thread."""
        self.prepare()
        at_once = max(1, LABELS_AT_A_TIME // (2 * self.job.keeps * self.job.target.n_points))
        parts = [self._run(indices[i : i + at_once], pause) for i in range(0, len(indices), at_once)]
        return Batch(*[np.concatenate(columns) for columns in zip(*parts, strict=True)]), None

    def _run(self, indices: Sequence[int], pause: Pause) -> Batch:
        begin = time.thread_time()
        job, count = self.job, len(indices)
        runner = Runner(job, [(PART, OF_MEASURES, 2 * i + j) for i in indices for j in range(2)])
        runner.run(pause)
        o = runner.outcomes()
        assert o.partitions is not None
        states, weights, begins = _drawn(o.partitions, job, indices)
        seeds = np.concatenate([_words(job, OF_PAIRS, i, 4 * job.keeps).reshape(-1, 4) for i in indices])
        cap = job.settings.max_sweeps
        found = PairRunner(job.target, self.functionals, job.step, states, begins, seeds, cap).run(pause)

        def by_replicate(array: np.ndarray) -> np.ndarray:
            return array.reshape(count, -1, *array.shape[1:])

        ends = [by_replicate(array) for array in (found.at_x, found.at_y, found.totals)]
        values = np.array([combined(*one) for one in zip(*weights, *ends, strict=True)])
        seconds = by_replicate(o.seconds).sum(axis=1) + by_replicate(found.seconds).sum(axis=1)
        seconds *= (time.thread_time() - begin) / seconds.sum()  # all that there was to do
        met = np.asarray(np.concatenate([by_replicate(o.met), by_replicate(found.met)], axis=1).all(axis=1))
        return Batch(
            indices=np.array(indices, dtype=np.int64),
            values=_checked(values),
            meeting_times=np.where(met, by_replicate(o.meeting_times).max(axis=1), cap),
            met=met,
            sweeps=by_replicate(o.sweeps).sum(axis=1) + 2 * by_replicate(found.steps).sum(axis=1),
            seconds=seconds,
            averages=np.einsum("ir,irc->ic", weights[0], ends[0]),
        )


def _drawn(kept: Partitions, job: Job, indices: Sequence[int]) -> tuple[States, np.ndarray, np.ndarray]:
    """Draw the states at which pairs begin; return them, their weights (2, replicates, atoms), and who begins where."""
    first, all_weights = kept.first, kept.weights
    weights, begins = np.zeros((2, len(indices), job.keeps)), np.zeros((2, len(indices), job.keeps), dtype=np.int64)
    for place, i in enumerate(indices):
        random = np.random.default_rng(_words(job, OF_DRAWS, i, 4))
        for j in range(2):
            here = slice(first[2 * place + j], first[2 * place + j + 1])
            chosen, weights[j, place] = drawn_by_weight(all_weights[here], job.keeps, random)
            begins[j, place] = first[2 * place + j] + chosen
    states = States(kept.labels.astype(np.int64), kept.hyperparameters)
    return states, weights, begins.reshape(2, -1).T


def drawn_by_weight(weights: np.ndarray, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw so many of some states, and give them weights that keep the expectation of every weighted sum.

    Systematic sampling with probabilities proportional to the sizes of the weights, in a random order.

    Parameters
    ----------
    weights : float64 array
        Of either sign.
    count : int
    random : numpy.random.Generator

    Returns
    -------
    tuple of arrays
        Which, and their weights: all of one size.
    """
    sizes = np.cumsum(np.abs(weights))
    levels = sizes[-1] * (np.arange(count) + random.random()) / count
    chosen = np.minimum(np.searchsorted(sizes, levels, side="right"), len(weights) - 1)
    chosen = chosen[random.random(count).argsort()]
    return chosen, np.sign(weights[chosen]) * sizes[-1] / count


def combined(u: np.ndarray, w: np.ndarray, at_x: np.ndarray, at_y: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return one unbiased estimate of the asymptotic variance of each component.

    Parameters
    ----------
    u, w : float64 arrays (pairs)
        Signed weights of the states x and y at which pairs begin.
    at_x, at_y : float64 arrays (pairs, components)
        Functionals at these.
    totals : float64 array (pairs, components)
        Sums of the differences of the pairs.
    """
    middle = (at_x.mean(axis=0) + at_y.mean(axis=0)) / 2
    x, y = at_x - middle, at_y - middle  # of which only differences count: no digits are lost
    correlated = len(u) * (u * w) @ ((x - y) * (totals - (x - y)))
    squares = (u @ x**2 * w.sum() + u.sum() * (w @ y**2)) / 2
    return correlated + squares - (u @ x) * (w @ y)


def _words(job: Job, what: int, number: int, count: int) -> np.ndarray:
    """Return random words that belong to one replicate."""
    return np.random.SeedSequence(job.seed, spawn_key=(PART, what, number)).generate_state(count, np.uint64)


def _checked(values: np.ndarray) -> np.ndarray:
    if not np.isfinite(values).all():
        raise ValueError(f"The functional must be a finite number, got {values[~np.isfinite(values)][0]}.")
    return values
