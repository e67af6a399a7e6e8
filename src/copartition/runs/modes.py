"""A look for hidden modes: do ordinary chains live where the probability is?

Pairs of chains that start at the same place can all meet in a mode that is not the main one. Estimates are unbiased
then, and yet wrong in practice: the correction that would pay for the better mode is rare and huge. No number of
ordinary replicates shows it. So a few chains are sent to look, with parallel tempering and from different starts, and
compared with a few ordinary ones; `copartition.diagnostics.modes` says by what rule.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.density import Density, check_density
from copartition.chains.start import Beginning, begin_of, check_start, start_chain
from copartition.chains.step import BoundStep, Step
from copartition.chains.tempering import SWEEPS_A_ROUND, State, Tempered, choose_ladder, pilot_sweeps
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.starts import begin_at
from copartition.core.state import Chain
from copartition.core.steps import begin_chain, make_steps
from copartition.core.tempering import draw_uniform, make_weighed_steps
from copartition.couplings.base import Coupling
from copartition.diagnostics.modes import (
    UNSETTLED,
    Gaps,
    Modes,
    Seen,
    co_clustering_gaps,
    log_density_gaps,
    verdict_on,
)
from copartition.partition import canonical
from copartition.runs.checks import dispersed_starts, most_clusters
from copartition.runs.defaults import bind, read_step
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Pause
from copartition.runs.workers import Task, lasting
from copartition.targets.base import Target
from copartition.validation import integer

SWEEPS_OF_A_CHAIN = 600
CHAINS_OF_LOOK = 8
EXTENSIONS = 2  # each doubles the tempered chains, while they do not agree
POINTS_LOOKED_AT = 200  # between which co-clustering is looked at
MEANS = 10  # clusters of the start by k-means
LOOK = int.from_bytes(b"modes", "big")  # of the key of random streams
OF_LADDER, OF_MEANS, OF_ORDINARY, OF_TEMPERED = range(4)


def find_modes(
    target: Target,
    *,
    sweeps: int = SWEEPS_OF_A_CHAIN,
    chains: int = CHAINS_OF_LOOK,
    step: Step | None = None,
    coupling: str | Coupling | None = None,
    split_merge: int | str | None = None,
    init: Any = None,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Modes:
    """Look for modes that the chains of a run do not get to.

    A few ordinary chains do what chains of `estimate` with the same arguments would do. Four others are helped by
    parallel tempering: beside each there are chains whose target is flatter, the density of the data to a power below
    1, and they exchange partitions. These start from one cluster, from a sequential draw, from k-means and from
    singletons. If they agree with each other, they have found where most of the probability is, and ordinary chains
    should live there too.

    What counts is the second half of every chain: its log density, and how often two points are together. Chains are
    apart if they differ by more than 1.1 times what the halves of a chain differ by, and by enough to matter: 0.7
    standard deviations of the log density along a chain, or 0.035 in co-clustering. As long as tempered chains do not
    agree, they are run on, up to four times as long.

    Parameters
    ----------
    target : Target
        A `Mixture`, a `BlockModel`, or a target that promises to be exchangeable.
    sweeps : int
        Of each ordinary chain, and of the chains at each power of tempering.
    chains : int
        Number of ordinary chains.
    step, coupling, split_merge, init
        What a run is going to have; see `meeting_times`. Chains are not coupled here: of a coupling it matters only
        that, where it is named, what is left out beside it is not made.
    seed : int
    executor, progress
        See `estimate`. Results are the same wherever chains run.

    Returns
    -------
    Modes
        With `is_hidden`, `finding`, and `best`, a partition to start from.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.1, -3.0, -2.9, 2.9, 3.0, 3.1]
    >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=0.5, mean_sd=3), cp.DirichletProcess(1.0))
    >>> modes = cp.find_modes(posterior, sweeps=200, seed=1)
    >>> modes.is_hidden
    False
    >>> modes.best
    array([0, 0, 0, 1, 1, 1])
    """
    check_density(target, "find_modes")
    return look_for_modes(
        target,
        bind(target, read_step(target, step, coupling, split_merge)),
        check_start(target, init),
        sweeps=integer("sweeps", sweeps, 8 * SWEEPS_A_ROUND),
        chains=integer("chains", chains, 2),
        seed=integer("seed", seed, 0),
        executor=executor,
        progress=progress,
    )


def look_for_modes(
    target: Target,
    step: BoundStep,
    start: Beginning,
    *,
    sweeps: int = SWEEPS_OF_A_CHAIN,
    chains: int = CHAINS_OF_LOOK,
    seed: int = 0,
    executor: Any = None,
    progress: bool = False,
) -> Modes:
    """Look for modes that chains with this step, from this start, do not get to; see `find_modes`.

    Random numbers are none that a run with the same seed draws.
    """
    _prepare(target, step)
    begin = time.thread_time()
    starts = different_starts(target, seed)
    ladder = choose_ladder(target, step, (start, starts["k-means"]), stream(seed, LOOK, OF_LADDER))
    rounds = sweeps // SWEEPS_A_ROUND
    places = np.unique(np.linspace(0, target.n_points - 1, min(target.n_points, POINTS_LOOKED_AT)).astype(np.int64))
    states = [_state(target, one, len(ladder), seed, number) for number, one in enumerate(starts.values())]
    with lasting(executor) as place:
        ordinary, seconds = _run(OrdinaryJob(target, step, start, rounds, places, seed), chains, place, progress)
        tempered: list[list[Piece]] = [[] for _ in starts]  # the parts of each chain
        for longer in (rounds, *[rounds * 2**i for i in range(EXTENSIONS)]):
            task = TemperedJob(target, step, ladder, states, longer, places)
            pieces, cost = _run(task, len(starts), place, progress)
            seconds += cost
            states = [piece.state for piece in pieces]
            for parts, piece in zip(tempered, pieces, strict=True):
                parts.append(piece)
            judged = _judge(ordinary, tempered, by_density=not target.hyperparameters)
            if judged.verdict != UNSETTLED:
                break
    every = [piece for parts in tempered for piece in parts]
    best = max([*ordinary, *every], key=lambda piece: piece.best_log_density)
    of_tempered = len(ladder) * sum(len(piece.log_density) for piece in every)
    return Modes(
        verdict=judged.verdict,
        ordinary_log_densities=judged.ordinary.log_density,
        tempered_log_densities=judged.tempered.log_density,
        ordinary_n_clusters=judged.ordinary.n_clusters,
        tempered_n_clusters=judged.tempered.n_clusters,
        starts=list(starts),
        log_density_gaps=judged.in_density,
        co_clustering_gaps=judged.in_pairs,
        best=canonical(best.best),
        best_log_density=best.best_log_density,
        ordinary_best_log_density=max(piece.best_log_density for piece in ordinary),
        ladder=ladder,
        swap_rates=np.sum([piece.accepted for piece in every], axis=0) / np.sum([one.tried for one in every], axis=0),
        sweeps=pilot_sweeps(ladder) + SWEEPS_A_ROUND * (chains * rounds + of_tempered),
        seconds=seconds + time.thread_time() - begin,
        seed=seed,
    )


# --- starts ----------------------------------------------------------------------------------------------------------


def different_starts(target: Target, seed: int) -> dict[str, Beginning]:
    """Return starts that have little in common, by name, as far as the prior allows so many clusters."""
    starts = dispersed_starts(target)
    means = k_means(
        target.model.points, min(MEANS, most_clusters(target)), np.random.default_rng([seed, LOOK, OF_MEANS])
    )
    return {
        "one cluster": starts["one_cluster"],
        "sequential": starts["sequential"],
        "k-means": Beginning(target.constraint.applied(means)),
        "singletons": starts["singletons"],
    }


def k_means(points: np.ndarray, k: int, rng: np.random.Generator, rounds: int = 20) -> np.ndarray:
    """Return clusters of points around `k` means, from k-means++ and a few rounds; columns count alike."""
    spread = points.std(axis=0)
    scaled = (points - points.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    centres = scaled[[rng.integers(len(scaled))]]
    nearest = np.full(len(scaled), np.inf)
    for _ in range(k - 1):
        nearest = np.minimum(nearest, ((scaled - centres[-1]) ** 2).sum(axis=1))
        if nearest.sum() == 0.0:
            break
        centres = np.vstack([centres, scaled[rng.choice(len(scaled), p=nearest / nearest.sum())]])
    labels = np.zeros(len(scaled), dtype=np.int64)
    for _ in range(rounds):
        before = labels
        distances = np.stack([((scaled - centre) ** 2).sum(axis=1) for centre in centres])
        labels = distances.argmin(axis=0)
        if np.array_equal(labels, before):
            break
        centres = np.stack(
            [scaled[labels == i].mean(axis=0) if np.any(labels == i) else centre for i, centre in enumerate(centres)]
        )
    return labels


def _state(target: Target, start: Beginning, levels: int, seed: int, number: int) -> State:
    random = stream(seed, LOOK, OF_TEMPERED, number)
    own = target.of_chain()
    labels = start_chain(own, start, random).labels
    return State(np.tile(canonical(labels), (levels, 1)), np.tile(own.model.hyperparameters, (levels, 1)), random)


# --- chains ----------------------------------------------------------------------------------------------------------


NOTHING = np.zeros(0)


class Piece(NamedTuple):
    """A chain, or a part of one.

    Attributes
    ----------
    log_density, n_clusters : float64 arrays (rounds)
    members : int32 array (rounds, points)
        What was seen after each round.
    best : int64 array
        The partition of the largest density.
    best_log_density : float
    state : State
        Where a tempered chain goes on.
    accepted, tried : arrays
        Its swaps, see `Tempered`.
    """

    log_density: np.ndarray
    n_clusters: np.ndarray
    members: np.ndarray
    best: np.ndarray
    best_log_density: float
    state: State = State(NOTHING, NOTHING, NOTHING)
    accepted: np.ndarray = NOTHING
    tried: np.ndarray = NOTHING


class _Diary:
    """What is written down of one chain."""

    def __init__(self, n_points: int, rounds: int, places: np.ndarray) -> None:
        self._log_density = np.zeros(rounds)
        self._n_clusters = np.zeros(rounds)
        self._members = np.zeros((rounds, len(places)), dtype=np.int32)
        self._best = np.zeros(n_points, dtype=np.int64)
        self._top = -np.inf
        self._places = places

    def write(self, t: int, log_density: float, chain: Chain) -> None:
        """Write down where the chain is after round t."""
        self._log_density[t] = log_density
        self._n_clusters[t] = chain.n_clusters[0]
        self._members[t] = chain.labels[self._places]
        if log_density > self._top:
            self._top = log_density
            self._best[:] = chain.labels

    def piece(self) -> Piece:
        """Return what is written."""
        return Piece(self._log_density, self._n_clusters, self._members, self._best, self._top)


@dataclass(frozen=True)
class OrdinaryJob(OneByOne):
    """All that determines some ordinary chains."""

    target: Target
    step: BoundStep
    start: Beginning
    rounds: int
    places: np.ndarray
    seed: int

    def prepare(self) -> None:
        """Compile what chains use."""
        _prepare(self.target, self.step)

    def one(self, index: int, pause: Pause) -> Piece:
        """Run a chain; return what was seen of it."""
        random = stream(self.seed, LOOK, OF_ORDINARY, index)
        own = self.target.of_chain()
        chain = start_chain(own, self.start, random)
        density, stepper = Density(own), self.step.stepper(own)
        diary = _Diary(self.target.n_points, self.rounds, self.places)
        for t in range(self.rounds):
            pause()
            chain, of_data = density.advance(chain, stepper, random, SWEEPS_A_ROUND)
            diary.write(t, of_data + density.of_prior(chain), chain)
        return diary.piece()


@dataclass(frozen=True)
class TemperedJob(OneByOne):
    """All that determines some chains with parallel tempering."""

    target: Target
    step: BoundStep
    ladder: np.ndarray
    states: list[State]
    rounds: int
    places: np.ndarray

    def prepare(self) -> None:
        """Compile what chains use."""
        _prepare(self.target, self.step)

    def one(self, index: int, pause: Pause) -> Piece:
        """Run a chain; return what was seen of it, and where it goes on."""
        tempered = Tempered(self.target, self.step, self.ladder, self.states[index])
        diary = _Diary(self.target.n_points, self.rounds, self.places)
        for t in range(self.rounds):
            pause()
            diary.write(t, *tempered.advance(t % 2 == 1))
        return diary.piece()._replace(state=tempered.state, accepted=tempered.accepted, tried=tempered.tried)


def _run(task: Task, count: int, executor: Any, progress: bool) -> tuple[list[Piece], float]:
    """Run chains; return what was seen of each, and the CPU seconds of all."""
    chains = run_all(task, count, executor, progress, "chains")
    return chains.results, float(chains.seconds.sum())


def log_densities(
    target: Target, step: BoundStep, start: Beginning, *, chains: int, sweeps: int, seed: int, executor: Any
) -> np.ndarray:
    """Return the log densities of ordinary chains after every third sweep of their second half, a row a chain."""
    job = OrdinaryJob(target, step, start, sweeps // SWEEPS_A_ROUND, np.zeros(1, dtype=np.int64), seed)
    pieces, _ = _run(job, chains, executor, False)
    every = np.stack([piece.log_density for piece in pieces])
    return every[:, every.shape[1] // 2 :]


class _Judged(NamedTuple):
    """What counts of all chains, how far they are apart, and the verdict."""

    ordinary: Seen
    tempered: Seen
    in_density: Gaps
    in_pairs: Gaps
    verdict: str


def _judge(ordinary: list[Piece], tempered: list[list[Piece]], by_density: bool) -> _Judged:
    seen = _seen([[piece] for piece in ordinary]), _seen(tempered)
    in_density, in_pairs = log_density_gaps(*seen), co_clustering_gaps(*seen)
    return _Judged(*seen, in_density, in_pairs, verdict_on(*seen, in_density, in_pairs, by_density))


def _seen(parts: list[list[Piece]]) -> Seen:
    """Return the second half of what was seen of each chain, its parts put together."""
    joined = [
        np.stack([np.concatenate([getattr(piece, name) for piece in part]) for part in parts]) for name in Seen._fields
    ]
    return Seen(*[one[:, one.shape[1] // 2 :] for one in joined])


def _prepare(target: Target, step: BoundStep) -> None:
    """Compile what all chains use, so that the time of none includes it."""
    own = (make_steps, begin_chain, begin_at, begin_of(target, check_start(target, "sequential")))
    prepare(*own, make_weighed_steps, draw_uniform, *step.kernels(target, False), *target.kernels)
