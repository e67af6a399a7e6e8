"""The log evidence of a posterior, or of several models, without bias: replicates at random powers of the likelihood.

`copartition.diagnostics.evidence` says why and how powers are drawn, `copartition.runs.powers` how replicates are run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from copartition.chains.start import read_init
from copartition.chains.step import Step
from copartition.couplings.base import Coupling
from copartition.diagnostics.evidence import (
    COUPLED,
    SMC,
    Comparison,
    Curve,
    Evidence,
    Stratified,
    comparison_of,
    stratified,
)
from copartition.functionals import log_likelihood
from copartition.runs.choice import Choice, make_job
from copartition.runs.defaults import MAX_SWEEPS, read_step
from copartition.runs.pieces import run_all
from copartition.runs.powers import (
    EVIDENCE,
    OF_COMPARISON,
    OF_POWERS,
    ROUNDS,
    EvidenceError,
    OutOfTime,
    ReplicatesJob,
    Unmet,
    next_nodes,
    two_starts,
)
from copartition.runs.replicates import Job, Settings
from copartition.runs.sequential import evidence_by_particles
from copartition.runs.stopping import GROWTH, MARGIN
from copartition.runs.workers import lasting
from copartition.targets.base import Target, check_target
from copartition.validation import integer, positive_number, shorten

STRATA = 64
REPLICATES = 2 * STRATA  # before the first look; two in each stratum are as many as a variance takes
APART = 5.0  # standard errors by which replicates from two starts may seem to disagree


def log_evidence(
    target: Target,
    target_stderr: float = 0.1,
    *,
    replicates: int = REPLICATES,
    method: str = COUPLED,
    particles: int = 200,
    step: Step | None = None,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    init: Any = None,
    max_sweeps: int = MAX_SWEEPS,
    max_seconds: float | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Evidence:
    """Estimate the log evidence of a posterior: the log density of the data under the model, everything integrated out.

    Models of the same data are compared by it, see `compare`. The log evidence is the integral, over powers beta from 0
    to 1, of the expected log likelihood where the likelihood counts to the power beta. Coupled chains estimate that
    without bias at powers that are drawn at random, so the estimate is without bias too. A pilot, whose random
    numbers are not used again, chooses where powers are drawn and how long chains run there. Half of the chains start
    as asked for, half where a chain at the power 1 got to: if it matters where they start, the result says so.

    Parameters
    ----------
    target : Target
        A `Mixture`, or a target that promises to be exchangeable.
    target_stderr : float
        Run until the standard error is this small.
    replicates : int
        The fewest replicates, in units of 64: one for each stratum of powers.
    method : str
        ``"coupled"``, or ``"smc"``: sequential Monte Carlo over the points, with Gibbs moves. It shares nothing with
        coupled chains, so it is a check of them; it is refused where its log evidences have a standard deviation
        above 1.5.
    particles : int
        Of ``"smc"``.
    step, coupling, split_merge, init
        See `meeting_times`; the same at all powers.
    max_sweeps : int
        The most coupled sweeps of a pair, the lag not included because it differs from power to power. If one has not
        met by then, there is no estimate.
    max_seconds : float, optional
        The most CPU seconds. As soon as it is seen that they will not be enough, there is no estimate.
    seed : int
        The same seed gives the same numbers on any executor.
    executor, progress
        See `estimate`.

    Returns
    -------
    Evidence

    Raises
    ------
    EvidenceError
        Pairs did not meet within `max_sweeps`, or `max_seconds` are not enough.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> evidence = cp.log_evidence(posterior, target_stderr=0.02, seed=1)
    >>> abs(evidence.mean + 7.91) < 4 * evidence.stderr + 0.01
    True
    """
    check_target(target)
    target_stderr = positive_number("target_stderr", target_stderr)
    limit = np.inf if max_seconds is None else positive_number("max_seconds", max_seconds)
    cap, fewest = integer("max_sweeps", max_sweeps, 1), integer("replicates", replicates, REPLICATES)
    if method == SMC:
        return evidence_by_particles(
            target,
            target_stderr,
            particles=integer("particles", particles, 2),
            max_seconds=limit,
            seed=integer("seed", seed, 0),
            executor=executor,
            progress=progress,
        )
    if method != COUPLED:
        raise ValueError(f"method must be {COUPLED!r} or {SMC!r}, got {shorten(method)}.")
    resolved = read_step(target, step, coupling, split_merge)
    choice = Choice(Settings(0, 0, 1, cap), resolved, read_init(target, init))
    job = make_job(target, log_likelihood(), choice, seed)
    with lasting(executor) as place:
        run = _Run(job, target_stderr, limit, place, progress)
        try:
            return run.evidence(-(-fewest // STRATA))
        except OutOfTime:
            raise EvidenceError(
                f"max_seconds, {limit:g}, are over before there is a log evidence: give more of them, or a larger "
                "target_stderr."
            ) from None
        except Unmet as error:
            raise EvidenceError(
                f"Pairs did not meet within max_sweeps, {cap}, coupled sweeps where the likelihood counts to the power "
                f"{error.args[0]:.3g}, so there is no log evidence: give more max_sweeps, more split_merge moves or "
                f"another init, or try method={SMC!r}."
            ) from None


class _Run:
    """A run for a log evidence, and what it has cost so far."""

    def __init__(self, job: Job, target_stderr: float, limit: float, executor: Any, progress: bool) -> None:
        self._job, self._starts = job, two_starts(job)
        self._target_stderr, self._limit = target_stderr, limit
        self._executor, self._progress = executor, progress
        self._seconds, self._sweeps = 0.0, 0

    def evidence(self, wanted: int) -> Evidence:
        """Run the pilot, then that many replicates in each stratum, and more until they are precise enough."""
        curve = self._pilot()
        betas, values = np.zeros((0, STRATA)), np.zeros((0, STRATA))
        while len(values) < wanted:
            more = self._layers(curve, len(values), wanted)
            betas, values = np.vstack([betas, more[0]]), np.vstack([values, more[1]])
            found = stratified(values)
            wanted = self._wanted(found, len(values))
        return Evidence(
            mean=found.mean,
            stderr=found.stderr,
            method=COUPLED,
            values=values.ravel(),
            betas=betas.ravel(),
            freedom=found.freedom,
            sweeps=self._sweeps,
            seconds=self._seconds,
            n_points=self._job.target.n_points,
            seed=self._job.seed,
            target_stderr=self._target_stderr,
            curve=curve,
            warnings=_doubts(curve, self._target_stderr),
        )

    def _pilot(self) -> Curve:
        curve = None
        for _ in range(1 + ROUNDS):
            curve, seconds, sweeps = next_nodes(self._starts, curve, self._left, self._executor, self._progress)
            self._spend(seconds, sweeps)
        assert curve is not None
        return curve

    def _layers(self, curve: Curve, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Run layers of replicates, one in each stratum; return their powers and what they make of the evidence."""
        places = np.array([_uniforms(self._job.seed, layer) for layer in range(first, last)])
        betas = curve.powers((np.arange(STRATA) + places) / STRATA)
        task = ReplicatesJob(self._starts, betas, curve.burn_ins(betas), first, self._left)
        done = run_all(task, betas.size, self._executor, self._progress, "replicates")
        found, sweeps = zip(*done.results, strict=True)
        self._of_layers = float(done.seconds.sum()) / (last - first)
        self._spend(float(done.seconds.sum()), sum(sweeps))
        return betas, curve.estimates(betas, np.array(found).reshape(betas.shape))

    def _wanted(self, found: Stratified, layers: int) -> int:
        """Return how many layers there should be; refuse to begin what there is not time enough for."""
        if found.stderr <= self._target_stderr:
            return layers
        needed = MARGIN * layers * (found.stderr / self._target_stderr) ** 2
        total = self._seconds + (needed - layers) * self._of_layers
        if total > self._limit:
            raise EvidenceError(
                f"A standard error of {self._target_stderr:g} takes about {total:.2g} CPU seconds, more than "
                f"max_seconds, {self._limit:g}: so far it is {found.stderr:.2g}, and the log evidence {found.mean:.2f}."
            )
        return int(min(max(layers + 1, np.ceil(needed)), GROWTH * layers))

    @property
    def _left(self) -> float:
        """CPU seconds that are left."""
        return self._limit - self._seconds

    def _spend(self, seconds: float, sweeps: int) -> None:
        self._seconds += seconds
        self._sweeps += sweeps
        if self._left < 0.0:
            raise OutOfTime


def _uniforms(seed: int, layer: int) -> np.ndarray:
    """Return where in each stratum the power of a layer is."""
    sequence = np.random.SeedSequence(seed, spawn_key=(EVIDENCE, OF_POWERS, layer))
    return np.random.default_rng(sequence).random(STRATA)


def _doubts(curve: Curve, target_stderr: float) -> list[str]:
    """Return what casts doubt on an estimate: powers at which it matters where chains start."""
    beta, change = curve.disagreement(APART)
    if change <= target_stderr:
        return []
    return [
        f"Near the power {beta:.3g} chains stay where they start for longer than they run here, which may move the log "
        f"evidence by {change:.2g}, more than its standard error tells; method={SMC!r} does not have that trouble."
    ]


def compare(
    posteriors: Mapping[str, Target],
    target_stderr: float = 0.1,
    *,
    method: str = "coupled",
    particles: int = 200,
    step: Step | None = None,
    init: Any = None,
    max_sweeps: int = MAX_SWEEPS,
    max_seconds: float | None = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Comparison:
    """Compare models of the same data by their log evidences.

    Parameters
    ----------
    posteriors : dict of Target
        By name. They must be of the same data, in the same units: the evidence is a density of the data.
    target_stderr : float
        Of each log evidence; a difference of two has 1.4 times as much.
    method, particles, step, init, max_sweeps, max_seconds, executor, progress
        See `log_evidence`; `max_seconds` are those of one model. A step is resolved for each of them.
    seed : int
        Every model has random numbers of its own, so that log evidences are independent.

    Returns
    -------
    Comparison
        A table, the best model first: print it.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.0, -2.9, -3.1, 3.0, 2.9]
    >>> narrow, wide = (cp.Mixture(data, cp.Gaussian(noise_sd=sd, mean_sd=3)) for sd in (0.1, 2.0))
    >>> cp.compare({"narrow": narrow, "wide": wide}, seed=1).best
    'narrow'
    """
    named = check_models(posteriors)
    seed = integer("seed", seed, 0)
    evidences = {}
    with lasting(executor) as place:
        for number, (name, posterior) in enumerate(named.items()):
            words = np.random.SeedSequence(seed, spawn_key=(EVIDENCE, OF_COMPARISON, number)).generate_state(4)
            try:
                evidences[name] = log_evidence(
                    posterior,
                    target_stderr,
                    method=method,
                    particles=particles,
                    step=step,
                    init=init,
                    max_sweeps=max_sweeps,
                    max_seconds=max_seconds,
                    seed=int.from_bytes(words.tobytes(), "little"),
                    executor=place,
                    progress=progress,
                )
            except EvidenceError as error:
                raise EvidenceError(f"{name}: {error}") from None
    return comparison_of(evidences)


def check_models(posteriors: Any) -> dict[str, Target]:
    """Return models by name, if they are of the same data as far as one can see."""
    if not isinstance(posteriors, Mapping):
        raise TypeError(f"posteriors must be a dict of targets by name, got {shorten(posteriors)}.")
    if not posteriors:
        raise ValueError("posteriors must have at least one model, got none.")
    named = {str(name): check_target(one) for name, one in posteriors.items()}
    (first, reference), *others = named.items()
    for name, one in others:
        if one.n_points != reference.n_points:
            raise ValueError(
                f"posteriors must be of the same data, got {reference.n_points} points in {first!r} and "
                f"{one.n_points} in {name!r}."
            )
        for about in ("shape", "histogram"):
            here, there = (getattr(target, about, None) for target in (reference, one))
            if here is not None and there is not None and here != there:
                found = f"{here} and {there}" if about == "shape" else "other values"
                raise ValueError(f"posteriors must be of the same data, got {found} in {first!r} and {name!r}.")
    return named
