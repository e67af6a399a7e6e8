"""A pilot run that chooses the settings of an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copartition.chains.neighbours import BlockUpdates
from copartition.chains.start import check_start
from copartition.chains.step import Step
from copartition.couplings.base import Coupling
from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.tuning import (
    HORIZON,
    QUANTILE,
    Stage,
    Tail,
    Tuned,
    added_variance,
    averaged,
    choose_burn_in,
    predicted_inefficiency,
    tail_of,
)
from copartition.diagnostics.variance import asymptotic_variance
from copartition.functionals import Functional, as_list, bind_all, largest_clusters, n_clusters
from copartition.results import MeetingTimes
from copartition.results.meeting import MANY_AT_START, at_start_sentence
from copartition.runs.defaults import choose_step
from copartition.runs.pairs import PairJob, pair_job, watch_pairs
from copartition.runs.sampling import ChainJob, run_chains
from copartition.runs.workers import lasting
from copartition.targets.base import Target, check_target
from copartition.validation import integer

STAGE_PAIRS = 100
PATIENCE = 256  # the longest lag that is tried because most chains are still at their start
CLOSE = 0.05  # in total variation: a chain has all but forgotten its start
COMPONENTS = 200  # of a functional that the pilot looks at
CHAINS = 8
CHAIN_LENGTH = 25  # in 99 % quantiles of the sweeps to meet, or in `LEAST_LENGTH` where these are shorter
LEAST_LENGTH = 40
PILOT = int.from_bytes(b"tune", "big")


class TuningError(RuntimeError):
    """No settings can be recommended."""


def tune(
    target: Target,
    functional: Functional | Sequence[Functional] | None = None,
    *,
    pairs: int = 400,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    blocks: int | BlockUpdates | None = None,
    init: Any = None,
    seed: int = 0,
    max_sweeps: int = 20_000,
    executor: Any = None,
    progress: bool = False,
) -> Tuned:
    """Choose lag, burn-in and horizon for `estimate` from a pilot.

    The lag is doubled until a chain that has run for as long is close to its target, by `tv_bound`, and the meeting
    times no longer grow; further, up to 256, while most chains are still where they started. Then `pairs` pairs tell
    how often a burn-in is too short and what that costs, and a few ordinary chains how variable the functional is. The
    pilot draws other random numbers than `estimate` does with the same seed, so estimates with its settings are as
    unbiased as any.

    Parameters
    ----------
    target : Target
        The law on partitions.
    functional : Functional or sequence of Functional, optional
        What is going to be estimated; left out, the number of clusters and the shares of the three largest.
    pairs : int
        Number of pairs of the last and largest part of the pilot.
    coupling, split_merge, blocks, init, seed, executor, progress
        See `meeting_times`.
    max_sweeps : int
        The most sweeps of a pair; if some have not met by then, no settings are recommended.

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
    with lasting(executor) as place:
        pilot = _Pilot(
            target=target,
            functionals=as_list(functional),
            pairs=integer("pairs", pairs, STAGE_PAIRS),
            step=choose_step(target, coupling, split_merge, blocks),
            blocks=blocks,
            init=init,
            seed=integer("seed", seed, 0),
            max_sweeps=integer("max_sweeps", max_sweeps, 1),
            executor=place,
            progress=progress,
        )
        pairs_met, differences = pilot.run_pairs()
        variances = pilot.run_chains(pairs_met)
    return _recommend(pilot, pairs_met, differences, variances)


class _Pilot:
    """Pairs and chains that are run to learn from, and what they have cost."""

    def __init__(
        self,
        target: Target,
        functionals: list[Functional],
        pairs: int,
        step: Step,
        blocks: Any,
        init: Any,
        seed: int,
        max_sweeps: int,
        executor: Any,
        progress: bool,
    ) -> None:
        self.target = target
        target, bound = bind_all(target, functionals)
        self.bound = target, tuple(f.glimpse(COMPONENTS) if f.is_streamed else f for f in bound)
        self.pairs = pairs
        self.step = step
        self.blocks = blocks
        self.init = init
        self._start = check_start(target, init)
        self.max_sweeps = max_sweeps
        self.stages: list[Stage] = []
        self.sweeps = 0.0
        self.seconds = 0.0
        self.seconds_a_coupled_sweep = self.seconds_a_sweep = 0.0
        self._lead = 0  # sweeps of first chains on their own, which no one has timed
        self._seed = seed
        self._parts = 0
        self._executor = executor
        self._progress = progress

    def run_pairs(self) -> tuple[MeetingTimes, list[np.ndarray]]:
        """Double the lag until it is large enough; return the meeting times and differences of pairs with that lag."""
        lag = 1
        while True:
            if lag > self.max_sweeps:
                raise TuningError(
                    f"After {self.max_sweeps} sweeps (max_sweeps) a chain may still be far from its target: no "
                    "settings can be recommended. Raise max_sweeps, or try split-merge moves or another init."
                )
            self._add(self._meet(lag))
            if self._is_stable():
                m, differences = self._compare(lag)
                self._add(m)
                if self.stages[-1].tv <= CLOSE:
                    return m, differences
            lag *= 2

    def _meet(self, lag: int) -> MeetingTimes:
        """Run pairs until they meet, to see how long that takes."""
        job = pair_job(self.target, (), self.step, self._start, lag, self.max_sweeps, self._next_seed())
        task = PairJob(job, False, np.zeros(0, dtype=np.int64))
        m, _ = watch_pairs(task, STAGE_PAIRS, self._executor, self._progress)
        self._lead += STAGE_PAIRS * lag
        self.seconds_a_coupled_sweep = float(m.seconds.sum() / max(1, (m.meeting_times - lag).sum()))
        return m

    def _compare(self, lag: int) -> tuple[MeetingTimes, list[np.ndarray]]:
        """Run pairs until they meet, and keep by how much the functionals of their two chains differ."""
        target, functionals = self.bound
        job = pair_job(target, functionals, self.step, self._start, lag, self.max_sweeps, self._next_seed())
        task = PairJob(job, False, _shown([f.size for f in functionals]))
        self._lead += self.pairs * lag
        return watch_pairs(task, self.pairs, self._executor, self._progress, "pilot pairs")

    def _add(self, m: MeetingTimes) -> None:
        """Take pairs into account, if they have met."""
        if m.censored:
            raise TuningError(
                f"{m.censored} of {len(m.met)} pairs did not meet within {self.max_sweeps} sweeps (max_sweeps): no "
                "settings can be recommended. Raise max_sweeps, or try split-merge moves or another init."
            )
        coupled = m.meeting_times - m.lag
        self.sweeps += float(np.sum(m.lag + 2 * coupled))
        self.seconds += float(m.seconds.sum())
        stderr = coupled.std() / np.sqrt(len(coupled))
        self.stages.append(Stage(m.lag, coupled.mean(), stderr, float(tv_bound(m, m.lag).value[0]), m.at_start))

    def _is_stable(self) -> bool:
        """Whether a chain is close to its target after `lag` sweeps, and meetings take no longer than with lag / 2."""
        *_, now = self.stages
        if now.tv > CLOSE:
            return False
        if now.at_start > MANY_AT_START and 2 * now.lag <= min(PATIENCE, self.max_sweeps):
            return False  # chains that have not moved meet at once, and seem to be close to anything
        before = [stage for stage in self.stages if stage.lag < now.lag]
        if not before:
            return True
        return now.mean - before[-1].mean <= 3.0 * np.hypot(now.stderr, before[-1].stderr)

    def run_chains(self, m: MeetingTimes) -> list[np.ndarray]:
        """Run ordinary chains; return the asymptotic variances of the components of each functional that are shown."""
        length = max(LEAST_LENGTH, int(np.quantile(m.meeting_times - m.lag, QUANTILE)))
        seed, sweeps, single = self._next_seed(), CHAINS * (1 + CHAIN_LENGTH) * length, 0.0
        target, functionals = self.bound
        variances = []
        for functional in functionals:
            columns = _spaced(functional.size)
            task = ChainJob(target, functional, columns, self.step, self._start, length, CHAIN_LENGTH * length, seed)
            draws, seconds = run_chains(task, CHAINS, self._executor, self._progress, "pilot chains")
            variances.append(asymptotic_variance(draws))
            self.sweeps += sweeps
            single += float(seconds.sum())
        self.seconds_a_sweep = single / (sweeps * len(functionals))
        self.seconds += single + self._lead * self.seconds_a_sweep
        return variances

    def _next_seed(self) -> int:
        """Return a seed for another part, whose random numbers neither `estimate` nor other parts draw."""
        self._parts += 1
        words = np.random.SeedSequence(self._seed, spawn_key=(PILOT, self._parts)).generate_state(4)
        return int.from_bytes(words.tobytes(), "little")


def _shown(sizes: list[int]) -> np.ndarray:
    """Return the components that the pilot looks at: all, or evenly spaced ones of a large functional."""
    begins = np.cumsum([0, *sizes])
    return np.concatenate([begin + _spaced(size) for begin, size in zip(begins, sizes, strict=False)])


def _spaced(size: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, COMPONENTS)).astype(np.int64))


def _recommend(pilot: _Pilot, m: MeetingTimes, differences: list[np.ndarray], variances: list[np.ndarray]) -> Tuned:
    coupled = m.meeting_times - m.lag
    tail = tail_of(coupled, differences, variances)
    burn_in = choose_burn_in(coupled, tail)
    min_sweeps = HORIZON * burn_in
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
        coupling=pilot.step.coupling,
        split_merge=pilot.step.split_merge,
        blocks=pilot.blocks,
        init=pilot.init,
        inefficiency=predicted_inefficiency(burn_in, mean, tail),
        sweeps=min_sweeps + mean,
        seconds=(min_sweeps - mean) * pilot.seconds_a_sweep + mean * pilot.seconds_a_coupled_sweep,
        variance=np.concatenate(every) / averaged(burn_in) * (1.0 + added_variance(burn_in, tail)),
        components=[name for f in pilot.bound[1] for name in f.components],
        pilot=m,
        stages=pilot.stages,
        pilot_sweeps=pilot.sweeps,
        pilot_seconds=pilot.seconds,
        reasons=_reasons(pilot, coupled, burn_in, tail),
    )


def _reasons(pilot: _Pilot, coupled: np.ndarray, burn_in: int, tail: Tail) -> list[str]:
    last = pilot.stages[-1]
    quantile = max(1, int(np.ceil(np.quantile(coupled, QUANTILE))))
    added, at_quantile = (f"{100 * added_variance(k, tail):.2g} %" for k in (burn_in, quantile))
    work = predicted_inefficiency(burn_in, float(coupled.mean()), tail)
    still = [at_start_sentence(last.at_start, last.lag)] if last.at_start > MANY_AT_START else []
    longer = f" (with {quantile} it would be {at_quantile})" if burn_in > quantile else ""
    return [
        f"Pairs with lag {last.lag} met after {coupled.mean():.1f} sweeps on average, 99 % of them within {quantile}. "
        f"After {last.lag} sweeps a chain is within {max(last.tv, 0.001):.2g} of its target in total variation.",
        f"With a burn_in of {burn_in}, corrections add about {added} to the variance of a replicate{longer}.",
        f"min_sweeps is {HORIZON} times the burn_in, so that nine tenths of the sweeps are averaged over.",
        "A lag as long as the burn_in costs nothing and keeps corrections small.",
        f"The same precision takes about {work:.2f} times the sweeps of an ordinary chain that need not burn in.",
        *still,
    ]
