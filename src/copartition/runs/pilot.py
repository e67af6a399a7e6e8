"""A pilot run that chooses the settings of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.guides import IN_ALL
from copartition.chains.start import Beginning, check_start
from copartition.chains.step import Step
from copartition.couplings.base import Coupling
from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.efficiency import asymptotic_variance, averages_agree, compared_variance
from copartition.diagnostics.modes import Modes, not_arrived
from copartition.diagnostics.tuning import (
    LONGER,
    MANY_PROCESSORS,
    SLOW,
    Stage,
    Tail,
    Tuned,
    added_variance,
    averaged,
    choose_burn_in,
    choose_horizon,
    choose_step,
    least_burn_in,
    predicted_inefficiency,
    replicates_wanted,
    sweeps_for,
    tail_of,
    variability_of,
    work_of,
)
from copartition.functionals import Functional, largest_clusters, n_clusters
from copartition.functionals.base import as_list, bind_all
from copartition.results import MeetingTimes
from copartition.results.chains import MANY_AT_START, quick_sentence
from copartition.runs.candidates import (
    Candidate,
    annealed_candidates,
    candidate,
    cheaper_candidates,
    guided_candidates,
    updating_candidates,
)
from copartition.runs.defaults import MAX_SWEEPS, given_step, resolve
from copartition.runs.meeting import PairJob, pair_job, watch_pairs
from copartition.runs.modes import log_densities, look_for_modes
from copartition.runs.sampling import ChainJob, run_chains
from copartition.runs.workers import Where, lasting
from copartition.targets.base import Target, check_target
from copartition.validation import flag, integer

TRIAL_PAIRS, FIRST_PAIRS = 24, 4  # of each step that is tried; how many of them show whether it is worth it
TRIAL_LAG = 50
LAG_BETWEEN_MODES = 300  # at least, where pairs stay apart: others may meet soon, in a mode that hardly counts
FEWEST_PAIRS = 60
SHARE_OF_RUN = 0.15  # that the largest part of a pilot may cost, against the shortest run
UNMET = 0.2  # share of the pairs of the trial that may not have met after a tenth of max_sweeps
PATIENCE = 256  # the longest lag that is tried because most chains are still at their start
CLOSE = 0.05  # in total variation: a chain has all but forgotten its start
COMPONENTS = 200  # of a functional that the pilot looks at
CHAINS_OF_PILOT = 4
CHAIN_LENGTH = 50  # in mean sweeps to meet, or in `LEAST_LENGTH` where these are shorter
LEAST_LENGTH = 20
COMPARED, COMPARED_LENGTHS = 200, (250, 1000)  # of chains by which steps are compared, likewise, and at most
COMPARED_CHAINS, COMPARED_SWEEPS = 8, 3000  # by which annealed starts are compared with usual ones
FEW_LATE = 1  # of these chains, that may be far below the others
NOTHING = np.zeros(0, dtype=np.int64)  # no component is looked at
PILOT = int.from_bytes(b"tune", "big")


class TuningError(RuntimeError):
    """No settings can be recommended.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> apart = cp.Mixture(np.repeat([-3.0, 0.0, 3.0], 20), cp.Gaussian(noise_sd=0.5, mean_sd=3.0), cp.FiniteMixture(2))
    >>> try:
    ...     cp.tune(apart, cp.n_clusters(), init="sequential", split_merge=0, max_sweeps=200, seed=1)
    ... except cp.errors.TuningError:
    ...     print("pairs do not meet")
    pairs do not meet
    """


def tune(
    target: Target,
    functional: Functional | Sequence[Functional] | None = None,
    *,
    pairs: int = 400,
    processors: int = 25,
    step: Step | None = None,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    init: Any = None,
    modes: bool = True,
    seed: int = 0,
    max_sweeps: int = MAX_SWEEPS,
    executor: Any = None,
    progress: bool = False,
) -> Tuned:
    """Choose how chains move, and lag, burn-in and horizon for `estimate`, from a pilot.

    First a few pairs and chains try steps with fewer split-merge moves or none and, where pairs take long to meet,
    split-merge moves that are guided, and joint updates of those points that it is uncertain of. Where pairs stay apart
    chains with annealed starts are tried, see `Start`, unless `init` is given. What gives the same precision at the
    least cost is taken, unless its replicates would be too long. Then more pairs tell how long a lag must be for a
    chain to be close to its target by `tv_bound`, how often a burn-in is too short and what that costs, and a few
    ordinary chains how variable the functional is. The pilot draws other random numbers than `estimate` does with the
    same seed, so estimates with its settings are as unbiased as any. It counts what steps cost and does not time them:
    its choice is the same everywhere.

    Parameters
    ----------
    target : Target
        The distribution on partitions.
    functional : Functional or sequence of Functional, optional
        What is going to be estimated; left out, the number of clusters and the shares of the three largest.
    pairs : int
        The most pairs of the last and largest part of the pilot; fewer if the run to 1 % is short.
    processors : int
        How many processors the run will have. With a few, long replicates are best; with hundreds, short ones.
    step : Step, optional
    coupling, split_merge
        See `meeting_times`. Parts of the step that are named are not tried otherwise, and where the coupling is, none.
    init, seed, executor, progress
        See `meeting_times`.
    modes : bool
        Also look for modes that chains with these settings do not get to, see `find_modes`; what is found is part of
        the verdict on an estimate with these settings.
    max_sweeps : int
        A cap on the sweeps of a pair, the lag included; if some have not met by then, no settings are recommended.
        The pilot gives up earlier, if a fifth of its first pairs have not met within a tenth of it.

    Returns
    -------
    Tuned
        For ``estimate(..., settings=tuned)``.

    Raises
    ------
    TuningError
        Pairs did not meet within `max_sweeps`.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> t = cp.tune(posterior, cp.n_clusters(), seed=1)
    >>> e = cp.estimate(posterior, cp.n_clusters(), settings=t, seed=1)
    >>> e.made_by["settings"]["burn_in"] == t.burn_in
    True
    """
    check_target(target)
    if functional is None:
        functional = [n_clusters(), largest_clusters(3)]
    given = given_step(step, coupling, split_merge)
    with lasting(executor) as place:
        pilot = _Pilot(
            target=target,
            functionals=as_list(functional),
            pairs=integer("pairs", pairs, FEWEST_PAIRS),
            processors=integer("processors", processors, 1),
            init=init,
            max_sweeps=integer("max_sweeps", max_sweeps, 1),
            where=Where(place, progress, integer("seed", seed, 0)),
        )
        pilot.choose(given)
        pilot.check(flag("modes", modes))
        m, differences = pilot.run_pairs()
        draws = pilot.run_chains(m)
        seen = pilot.look() if modes and target.has_density else None
    return _recommend(pilot, m, differences, draws, seen)


class Trial(NamedTuple):
    """A step, and what a few pairs and chains have shown of it: the variances of functionals, if chains were run."""

    candidate: Candidate
    pairs: MeetingTimes
    variances: tuple[float, ...] = ()

    @property
    def coupled(self) -> np.ndarray:
        """Sweeps that pairs took to meet."""
        return self.pairs.meeting_times - self.pairs.lag

    @property
    def is_slow(self) -> bool:
        """Whether it is worth trying what else could help."""
        return bool(self.coupled.mean() > SLOW)

    @property
    def is_hopeless(self) -> bool:
        """Whether too many pairs have not met: what they would cost is not known."""
        return self.pairs.censored > UNMET * len(self.pairs.met)


class _Pilot:
    """Pairs and chains that are run to learn from, and what they have cost."""

    def __init__(
        self,
        target: Target,
        functionals: list[Functional],
        pairs: int,
        processors: int,
        init: Any,
        max_sweeps: int,
        where: Where,
    ) -> None:
        self.target = target
        target, bound = bind_all(target, functionals)
        self.bound = target, tuple(f.glimpse(COMPONENTS) if f.is_streamed else f for f in bound)
        self.pairs = pairs
        self.processors = processors
        self._init = init
        check_start(target, init)
        self.max_sweeps = max_sweeps
        self.trials: list[Trial] = []
        self.refused: list[tuple[Candidate, str]] = []  # and why
        self.stages: list[Stage] = []
        self.sweeps = self.sweeps_of_lags = 0.0
        self.seconds = 0.0  # without those of lags, which are not timed
        self.seconds_a_coupled_sweep = self.seconds_a_sweep = 0.0
        self._where = where
        self._parts = 0

    @property
    def work(self) -> np.ndarray:
        """What replicates of the same precision take with the steps that were tried, in updates of points."""
        compared = all(trial.variances for trial in self.trials)
        variability = variability_of(np.array([trial.variances for trial in self.trials])) if compared else None
        of_starts = np.array([trial.candidate.of_starts for trial in self.trials])
        return of_starts + work_of(self.costs, [trial.coupled for trial in self.trials], self.processors, variability)

    @property
    def costs(self) -> np.ndarray:
        """What the steps that were tried cost, in updates of points."""
        return np.array([trial.candidate.cost for trial in self.trials])

    @property
    def best(self) -> int:
        """Which trial serves best; one with too many pairs that did not meet only if all have these."""
        too_many = np.array([trial.is_hopeless for trial in self.trials])
        work = self.work if too_many.all() else np.where(too_many, np.inf, self.work)
        return choose_step(self.costs, work)

    @property
    def chosen(self) -> Trial:
        """The step that is taken, and the start."""
        return self.trials[self.best]

    def least_lag(self, one: Candidate) -> int:
        """Return the lag from which on meetings may be believed: long where pairs of the first step stay apart."""
        first = self.trials[0].pairs if self.trials else None
        stays_apart = first is not None and first.censored and first.max_sweeps > LAG_BETWEEN_MODES
        return LAG_BETWEEN_MODES if one.is_annealed or stays_apart else 1

    @property
    def start(self) -> Beginning:
        """Where chains start."""
        return check_start(self.target, self.chosen.candidate.init)

    @property
    def starts_in_sweeps(self) -> float:
        """What the starts of both chains cost, in sweeps."""
        return self.chosen.candidate.of_starts / self.chosen.candidate.cost

    # --- which step --------------------------------------------------------------------------------------------------

    def choose(self, given: Step) -> None:
        """Try steps, in parts that were not named: cheaper ones where pairs are quick to meet, others where not."""
        target = self.target
        first = self._try(candidate(target, resolve(target, given), self._init))
        if not first.is_slow:
            if given.coupling is None:
                for one in cheaper_candidates(target, given, first.candidate):
                    self._try(one, LONGER * first.candidate.cost / one.cost * least_burn_in(first.coupled))
                self._compare_variances()
            return
        if given.coupling is None and given.guided is None:
            for one in guided_candidates(target, first.candidate):
                self.sweeps += IN_ALL
                self._try(one)
        if given.coupling is None and given.joint_updates is None and self.chosen.is_slow:
            where = replace(self._where, seed=self._next_seed())
            for one in updating_candidates(target, first.candidate, where):
                self._try(one)
        if self._init is None and self.chosen.pairs.censored:
            for one in annealed_candidates(target, self.chosen.candidate):
                self._try_annealed(one)

    def check(self, modes: bool) -> None:
        """Give up where pairs do not meet, and say what is seen of their chains."""
        if self.chosen.is_hopeless:
            tried = "; ".join(f"{trial.candidate}: {trial.pairs.censored}" for trial in self.trials)
            raise TuningError(
                f"Of {TRIAL_PAIRS} pairs so many did not meet within {self.chosen.pairs.max_sweeps} sweeps ({tried}): "
                f"no settings can be recommended. {self._seen() if modes and self.target.has_density else ''}Raise "
                f"max_sweeps, now {self.max_sweeps}, of which the pilot spends a tenth on its first pairs; or take an "
                "estimate under a max_sweeps of its own, which gives ordinary averages too and says what is missing."
            )

    def _seen(self) -> str:
        """Return what a look at single chains says of pairs that do not meet."""
        modes = self.look()
        if modes.is_hidden:
            return f"{modes.finding.text} {modes.finding.advice} "
        return f"Chains agree, the coupling is slow: {modes.finding.text} Try a step with more moves or joint updates. "

    def _try(self, one: Candidate, longest: float = np.inf) -> Trial:
        """Run a few pairs with a step; it is out of the question if one takes longer than `longest` sweeps to meet."""
        lag = min(max(TRIAL_LAG, self.least_lag(one)), self.max_sweeps)
        cap = min(self.max_sweeps, lag + int(min(longest, self.max_sweeps // 10)))
        seed = self._next_seed()
        # Most steps that are out of the question show it in a few pairs.
        for count in (TRIAL_PAIRS,) if np.isinf(longest) else (FIRST_PAIRS, TRIAL_PAIRS):
            job = pair_job(self.target, (), one.step, check_start(self.target, one.init), lag, cap, seed)
            m, _ = watch_pairs(PairJob(job, False, NOTHING), count, *self._run_on, "trial")
            self._count(m, one)
            if m.censored and not np.isinf(longest):
                self.refused.append((one, "pairs met too late"))
                return Trial(one, m)
        self.trials.append(Trial(one, m))
        return self.trials[-1]

    def _try_annealed(self, one: Candidate) -> None:
        """Run a few pairs whose starts are annealed, unless their chains stay far below those from the usual start.

        Pairs may meet in a mode that hardly counts, where chains stay for long: they would be wrong together.
        """
        how: dict[str, Any] = {"chains": COMPARED_CHAINS, "executor": self._where.executor}
        usual, annealed = (
            log_densities(
                self.target, c.step, check_start(self.target, c.init), sweeps=n, seed=self._next_seed(), **how
            )
            for c, n in ((self.chosen.candidate, COMPARED_SWEEPS), (one, 2 * LAG_BETWEEN_MODES))
        )
        self.sweeps += COMPARED_CHAINS * (COMPARED_SWEEPS + 2 * LAG_BETWEEN_MODES + 0.5 * one.of_starts / one.cost)
        late = int(not_arrived(annealed, usual).sum())
        if late > FEW_LATE:
            why = f"{late} of {COMPARED_CHAINS} chains are at far lower densities than others after the start"
            self.refused.append((one, why))
        else:
            self._try(one)

    def _compare_variances(self) -> None:
        """Run ordinary chains with steps among which there is a choice, if chains do different things in them.

        Chains that hardly leave their start meet soon, and vary little. So averages must agree with those of the first.
        """
        if len({trial.candidate.step.split_merge for trial in self.trials}) == 1:
            return
        slowest = max(float(trial.coupled.mean()) for trial in self.trials)
        length = int(np.clip(COMPARED * slowest, *COMPARED_LENGTHS))
        first: list[np.ndarray] = []
        tried, self.trials = self.trials, []
        for trial in tried:
            draws, _ = self._run_ordinary(trial.candidate, least_burn_in(trial.coupled), length)
            first = first or draws
            if all(averages_agree(a, b) for a, b in zip(first, draws, strict=True)):
                self.trials.append(trial._replace(variances=tuple(compared_variance(one) for one in draws)))
            else:
                self.refused.append((trial.candidate, "chains have other averages"))

    # --- how long ----------------------------------------------------------------------------------------------------

    def run_pairs(self) -> tuple[MeetingTimes, list[np.ndarray]]:
        """Take longer lags until one is long enough; return the meeting times and differences of pairs with that."""
        chosen = self.chosen
        if not chosen.pairs.censored:
            self._add(chosen.pairs)
        # The slowest of a few pairs is not the slowest of many.
        least = self.least_lag(chosen.candidate)
        lag = min(max(int(1.5 * least_burn_in(chosen.coupled)), least), self.max_sweeps)
        if chosen.pairs.at_start > MANY_AT_START:  # their meetings say nothing
            lag = min(max(lag, 2 * chosen.pairs.lag), self.max_sweeps)
        count = self._affordable(chosen, lag)
        while True:
            m, differences = self._compare(chosen.candidate, lag, count)
            self._add(m)
            if self._is_stable():
                return m, differences
            lag *= 2
            if lag > self.max_sweeps:
                raise TuningError(
                    f"After {self.max_sweeps} sweeps (max_sweeps) a chain may still be far from its target: no "
                    "settings can be recommended. Raise max_sweeps, or try split-merge moves or another init."
                )

    def _affordable(self, trial: Trial, lag: int) -> int:
        """Return a number of pairs that costs a seventh of the shortest run, if that is not too few to learn from."""
        of_pair = trial.candidate.of_starts + trial.candidate.cost * (lag + 2.0 * float(trial.coupled.mean()))
        of_run = replicates_wanted(self.processors) * self.work.min()
        return int(np.clip(SHARE_OF_RUN * of_run / max(of_pair, 1.0), FEWEST_PAIRS, self.pairs))

    def _compare(self, chosen: Candidate, lag: int, count: int) -> tuple[MeetingTimes, list[np.ndarray]]:
        """Run pairs until they meet, and keep by how much the functionals of their two chains differ."""
        target, functionals = self.bound
        job = pair_job(target, functionals, chosen.step, self.start, lag, self.max_sweeps, self._next_seed())
        task = PairJob(job, False, _shown([f.size for f in functionals]))
        m, differences = watch_pairs(task, count, *self._run_on, "pilot pairs")
        self._count(m, chosen)
        self.seconds_a_coupled_sweep = float(m.seconds.sum() / max(1, (m.meeting_times - lag).sum()))
        return m, differences

    def _count(self, m: MeetingTimes, one: Candidate) -> None:
        """Add what pairs have cost."""
        alone = m.lag + one.of_starts / one.cost
        self.sweeps += float(np.sum(alone + 2 * (m.meeting_times - m.lag)))
        self.sweeps_of_lags += float(alone * len(m.met))
        self.seconds += float(m.seconds.sum())

    def _add(self, m: MeetingTimes) -> None:
        """Take pairs into account, if they have met."""
        if m.censored:
            raise TuningError(
                f"{m.censored} of {len(m.met)} pairs did not meet within {self.max_sweeps} sweeps (max_sweeps): no "
                "settings can be recommended. Raise max_sweeps, or try split-merge moves or another init."
            )
        coupled = m.meeting_times - m.lag
        stderr = coupled.std() / np.sqrt(len(coupled))
        self.stages.append(Stage(m.lag, coupled.mean(), stderr, float(tv_bound(m, m.lag).value[0]), m.at_start))

    def _is_stable(self) -> bool:
        """Whether a chain is close to its target after `lag` sweeps, and meetings take no longer than with less."""
        *_, now = self.stages
        if now.tv > CLOSE:
            return False
        if now.at_start > MANY_AT_START and 2 * now.lag <= min(PATIENCE, self.max_sweeps):
            return False  # chains that have not moved meet at once, and seem to be close to anything
        before = [stage for stage in self.stages if stage.lag < now.lag]
        if not before:
            return True
        return now.mean - before[-1].mean <= 3.0 * np.hypot(now.stderr, before[-1].stderr)

    # --- how variable ------------------------------------------------------------------------------------------------

    def run_chains(self, m: MeetingTimes) -> list[np.ndarray]:
        """Run ordinary chains; return the components of each functional that are shown, sweep by sweep."""
        coupled = m.meeting_times - m.lag
        burn_in, length = least_burn_in(coupled), CHAIN_LENGTH * max(LEAST_LENGTH, int(coupled.mean()))
        found, self.seconds_a_sweep = self._run_ordinary(self.chosen.candidate, burn_in, length)
        return found

    def _run_ordinary(self, one: Candidate, burn_in: int, length: int) -> tuple[list[np.ndarray], float]:
        """Run ordinary chains; return the components of each functional that are shown, and the seconds of a sweep."""
        target, functionals = self.bound
        seed, single, found = self._next_seed(), 0.0, []
        start = check_start(self.target, one.init)
        sweeps = CHAINS_OF_PILOT * (burn_in + length + start.sweeps)
        for functional in functionals:
            columns = _spaced(functional.size)
            task = ChainJob(target, functional, columns, one.step, start, burn_in, length, seed)
            draws, seconds = run_chains(task, CHAINS_OF_PILOT, *self._run_on, "pilot chains")
            found.append(draws)
            self.sweeps += sweeps
            single += float(seconds.sum())
        self.seconds += single
        return found, single / (sweeps * len(functionals))

    def look(self) -> Modes:
        """Look for modes that chains with the chosen step do not get to."""
        found = look_for_modes(
            self.target,
            self.chosen.candidate.step,
            self.start,
            seed=self._next_seed(),
            executor=self._where.executor,
            progress=self._where.progress,
        )
        self.sweeps += found.sweeps
        self.seconds += found.seconds
        return found

    @property
    def _run_on(self) -> tuple[Any, bool]:
        """The executor, and whether progress is shown."""
        return self._where.executor, self._where.progress

    def _next_seed(self) -> int:
        """Return a seed for another part, whose random numbers neither `estimate` nor other parts draw."""
        self._parts += 1
        words = np.random.SeedSequence(self._where.seed, spawn_key=(PILOT, self._parts)).generate_state(4)
        return int.from_bytes(words.tobytes(), "little")


def _shown(sizes: list[int]) -> np.ndarray:
    """Return the components that the pilot looks at: all, or evenly spaced ones of a large functional."""
    begins = np.cumsum([0, *sizes])
    return np.concatenate([begin + _spaced(size) for begin, size in zip(begins, sizes, strict=False)])


def _spaced(size: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, COMPONENTS)).astype(np.int64))


def _recommend(
    pilot: _Pilot, m: MeetingTimes, differences: list[np.ndarray], draws: list[np.ndarray], modes: Modes | None
) -> Tuned:
    coupled = m.meeting_times - m.lag
    variances = [asymptotic_variance(one) for one in draws]
    tail = tail_of(coupled, differences, variances)
    sweeps = sweeps_for([one.mean(axis=(0, 1)) for one in draws], variances)
    chosen = pilot.chosen.candidate
    is_annealed = chosen.is_annealed
    horizon = choose_horizon(least_burn_in(coupled), sweeps, pilot.processors, is_annealed)
    burn_in = choose_burn_in(coupled, tail, horizon)
    burn_in = max(burn_in, pilot.least_lag(chosen))
    min_sweeps = horizon * burn_in
    mean = float(coupled.mean())
    # Components that were not looked at are taken to be as variable as their neighbours.
    every = [
        np.interp(np.arange(f.size), _spaced(f.size), variance)
        for f, variance in zip(pilot.bound[1], variances, strict=True)
    ]
    return Tuned(
        lag=burn_in,
        burn_in=burn_in,
        min_sweeps=min_sweeps,
        step=chosen.step.resolved,
        init=chosen.init,
        inefficiency=predicted_inefficiency(burn_in, mean, tail, horizon, pilot.starts_in_sweeps),
        sweeps=min_sweeps + mean + pilot.starts_in_sweeps,
        seconds=(min_sweeps - mean + pilot.starts_in_sweeps) * pilot.seconds_a_sweep
        + mean * pilot.seconds_a_coupled_sweep,
        variance=np.concatenate(every) / averaged(burn_in, horizon) * (1.0 + added_variance(burn_in, tail, horizon)),
        components=[name for f in pilot.bound[1] for name in f.components],
        pilot=m,
        stages=pilot.stages,
        pilot_sweeps=pilot.sweeps,
        pilot_seconds=pilot.seconds + pilot.sweeps_of_lags * pilot.seconds_a_sweep,
        reasons=_reasons(pilot, coupled, burn_in, horizon, tail),
        modes=modes,
    )


def _reasons(pilot: _Pilot, coupled: np.ndarray, burn_in: int, horizon: int, tail: Tail) -> list[str]:
    last = pilot.stages[-1]
    quantile = least_burn_in(coupled)
    added, at_quantile = (f"{100 * added_variance(k, tail, horizon):.2g} %" for k in (burn_in, quantile))
    work = predicted_inefficiency(burn_in, float(coupled.mean()), tail, horizon, pilot.starts_in_sweeps)
    still = [quick_sentence(coupled, 0)] if last.at_start > MANY_AT_START else []
    longer = f" (with {quantile} it would be {at_quantile})" if burn_in > quantile else ""
    is_annealed = pilot.chosen.candidate.is_annealed
    why = (
        "annealed starts make replicates long enough."
        if is_annealed
        else f"up to {pilot.processors} processors (processors) are best off with "
        + ("many short replicates." if pilot.processors > MANY_PROCESSORS else "few long replicates.")
    )
    return [
        *_why_this_step(pilot),
        *(_why_annealed(pilot) if is_annealed else []),
        f"Pairs with lag {last.lag} met after {coupled.mean():.1f} sweeps on average, 99 % of them within {quantile}. "
        f"After {last.lag} sweeps a chain is within {max(last.tv, 0.001):.2g} of its target in total variation.",
        f"With a burn_in of {burn_in}, corrections add about {added} to the variance of a replicate{longer}.",
        f"min_sweeps is {horizon} times the burn_in: {why}",
        "A lag as long as the burn_in costs nothing and keeps corrections small.",
        f"The same precision takes about {work:.2f} times the CPU time of an ordinary chain that makes the same step "
        "and need not burn in.",
        *still,
    ]


def _why_annealed(pilot: _Pilot) -> list[str]:
    """Return what chains do without annealed starts, and what these are."""
    others = [trial for trial in pilot.trials if not trial.candidate.is_annealed]
    unmet = min(trial.pairs.censored for trial in others)
    return [
        f"{unmet} of {TRIAL_PAIRS} pairs stayed apart without annealed starts: there are modes that chains hardly "
        "leave. So every chain begins with a draw from the prior and lets the data count a little more in each of "
        f"{pilot.start.sweeps:,} sweeps. The answer rests on such starts getting to every mode; how often they do is "
        "corrected."
    ]


def _why_this_step(pilot: _Pilot) -> list[str]:
    """Return what was tried, and how the others compare."""
    work, best = pilot.work, pilot.best
    others = [i for i in np.argsort(work, kind="stable") if i != best]
    against = [f"{pilot.trials[i].candidate}: {_compared(pilot.trials[i], work[i] / work[best])}" for i in others]
    against += [f"{one}: {why}" for one, why in pilot.refused]
    if not against:
        return []
    least = min(w for trial, w in zip(pilot.trials, work, strict=True) if not trial.is_hopeless)
    margin = " A step whose sweeps cost more has to save a tenth." if work[best] > least else ""
    return [
        f"Of the steps that were tried, {pilot.trials[best].candidate} serves best. Work for the same precision, "
        f"against it: {'; '.join(against)}.{margin}"
    ]


def _compared(trial: Trial, ratio: float) -> str:
    """Return how a step compares with the one that is taken."""
    if trial.is_hopeless:
        return f"{trial.pairs.censored} of {len(trial.pairs.met)} pairs did not meet"
    return f"{ratio:.2g} times as much"
