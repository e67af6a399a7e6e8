"""Ordinary chains from different starts: a first answer within seconds, and whether the starts agree.

Chains run in stretches, each as long as all before it together while the work lasts, so that the last stretch is the
second half of the chain. Clusterings of it are kept. Chains stop when those of all starts agree, or when their share of
the work is done.
A chain goes on exactly where it stopped: its state is the partition and the values of unknown hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from copartition.chains.chain import chain_at
from copartition.chains.density import log_density
from copartition.chains.start import Beginning, begin_of, start_chain
from copartition.chains.step import BoundStep
from copartition.clustering.work import Budget, Cost
from copartition.core.compiling import prepare
from copartition.core.random import stream
from copartition.core.room import empty_chain, widths_of
from copartition.core.starts import begin_at
from copartition.core.state import Chain
from copartition.core.steps import begin_chain, make_steps, renew_model
from copartition.diagnostics.checks import BATCHES, gap_between, numbers_differ, spread_between
from copartition.diagnostics.modes import not_arrived, shares_together
from copartition.results.kept import narrow
from copartition.runs.checks import reachable_starts
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Chunks, Pause
from copartition.runs.sampling import advance_by
from copartition.runs.workers import Where
from copartition.targets.base import Target

CHAINS = 4
DRAWS = 40  # clusterings kept of a stretch of each chain, a multiple of the batches by which chains are compared
FIRST_STEPS = 20
LEAST_STEPS = 320  # before chains are believed, where that costs little
LITTLE = 0.03  # of all work
MANY_POINTS = 2_000  # from which on a start from single points takes too long
LOOKED_AT = 100  # points between which starts are compared
LAST = 8  # draws of a chain whose log density is looked at
PIECE = 1.5e9  # work between two looks at the clock
PART = int.from_bytes(b"ordinary", "big")  # of the key of random streams


class State(NamedTuple):
    """Where a chain is: labels in canonical numbering, and the values of unknown hyperparameters."""

    labels: np.ndarray
    hyperparameters: np.ndarray


class Followed(NamedTuple):
    """What was seen of some chains, a row a clustering that was kept.

    Attributes
    ----------
    labels : list of integer arrays (draws, points)
        A chain each.
    hyperparameters : list of float64 arrays (draws, hyperparameters)
    """

    labels: list[np.ndarray]
    hyperparameters: list[np.ndarray]

    def states(self) -> list[State]:
        """Return where the chains are now."""
        return [State(a[-1].astype(np.int64), b[-1]) for a, b in zip(self.labels, self.hyperparameters, strict=True)]

    def of(self, chosen: np.ndarray) -> Followed:
        """Return some of the chains, for which `chosen` is True."""
        places = np.flatnonzero(chosen)
        return Followed([self.labels[i] for i in places], [self.hyperparameters[i] for i in places])

    @property
    def n_clusters(self) -> np.ndarray:
        """Number of clusters of each clustering (chains, draws)."""
        return np.array([[len(np.unique(row)) for row in of_chain] for of_chain in self.labels])


@dataclass(frozen=True)
class Stretch(OneByOne):
    """A piece of some chains, of which clusterings are kept at equal distances.

    Attributes
    ----------
    target : Target
    step : BoundStep
    begins : tuple of Beginning or State
        Where each chain begins, or goes on.
    steps, draws : int
        How many steps; how many clusterings are kept: `draws` divides `steps`.
    seed, part : int
        Chain i draws from a stream of its own.
    """

    target: Target
    step: BoundStep
    begins: tuple[Beginning | State, ...]
    steps: int
    draws: int
    seed: int
    part: int

    def prepare(self) -> None:
        """Compile what is going to be used."""
        begins = {begin_of(self.target, one) for one in self.begins if isinstance(one, Beginning)}
        target, own = self.target, self.step.kernels(self.target, False)
        prepare(make_steps, begin_chain, begin_at, *begins, *own, *target.kernels)

    def one(self, index: int, pause: Pause) -> tuple[np.ndarray, np.ndarray]:
        """Follow a chain; return the clusterings that are kept, and the hyperparameters of each."""
        target, random = self.target.of_chain(), stream(self.seed, PART, self.part, index)
        begin = self.begins[index]
        chain = resumed(target, begin) if isinstance(begin, State) else start_chain(target, begin, random)
        chunks, stepper = Chunks(target.n_points), self.step.stepper(target)
        labels = np.zeros((self.draws, target.n_points), dtype=np.int32)
        values = np.zeros((self.draws, len(target.hyperparameters)))
        for k in range(self.draws):
            chain = advance_by(target, stepper, chain, random, self.steps // self.draws, chunks, pause)
            labels[k] = renumbered(chain.labels, target)
            values[k] = target.model.hyperparameters
        return narrow(labels), values


def renumbered(labels: np.ndarray, target: Target) -> np.ndarray:
    """Return labels from 0 on in the order of first points; those of a palette as they are."""
    if target.model.palette:
        return labels
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def resumed(target: Target, state: State) -> Chain:
    """Return a chain at a state; `target` is that of the chain."""
    if target.hyperparameters:
        target.model.hyperparameters[:] = state.hyperparameters
        renew_model(target.model, target.hooks, empty_chain(0, widths_of(target.model), 2))
    return chain_at(target, state.labels)


class OrdinaryChains:
    """Chains from different starts, as far as they have come.

    Parameters
    ----------
    target : Target
    step : BoundStep
    where : Where
    """

    def __init__(self, target: Target, step: BoundStep, where: Where) -> None:
        self._target, self._step, self._where = target, step, where
        self._begins: list[Beginning | State]
        self.starts, self._begins = _starts_of(target)
        self._cost = Cost(target)
        self._pieces = 0
        self.steps = 0
        self.seen: Followed | None = None
        self.arrived = np.full(CHAINS, True)

    def follow(self, budget: Budget, most: float, to_the_end: bool = False) -> None:
        """Go on until starts agree, or, whether they agree or not, until so much work is done."""
        end, little = budget.spent + most, budget.spent + min(most, LITTLE * budget.total)
        while True:
            affordable = int((end - budget.spent) / (CHAINS * self._cost.of_step(self._mean_of_all)))
            length = max(FIRST_STEPS, min(self.steps, affordable))
            if self.seen is not None:
                is_short = self.steps < LEAST_STEPS and budget.spent < little
                is_enough = self.agree and not (is_short or to_the_end)
                if is_enough or affordable < max(FIRST_STEPS, self.steps // 4):
                    return
            self._stretch(length, budget)

    def follow_as_long_as(self, steps: int, budget: Budget) -> bool:
        """Go on to so many steps, if that takes no more than half of the work left; tell whether chains went on."""
        missing = steps - self.steps
        if missing <= 0 or CHAINS * missing * self._cost.of_step(self._mean_of_all) > 0.5 * budget.left:
            return False
        self._stretch(max(missing, self.steps), budget)
        return True

    def _stretch(self, length: int, budget: Budget) -> None:
        """Run a stretch, in pieces that take a second or so."""
        thin = max(1, length // DRAWS)
        draws = length // thin
        done, pieces = 0, []
        while done < draws:
            a_draw = CHAINS * thin * self._cost.of_step(self._mean_of_all)
            many = int(np.clip(PIECE // a_draw, 1, draws - done))
            piece = self._piece(many * thin, many)
            pieces.append(piece)
            self._begins = list(piece.states())
            budget.spend(many * CHAINS * thin * self._cost.of_step(float(piece.n_clusters.mean())), "chains")
            done += many
        labels = [np.concatenate([_wide(p.labels[i]) for p in pieces]) for i in range(CHAINS)]
        values = [np.concatenate([p.hyperparameters[i] for p in pieces]) for i in range(CHAINS)]
        self.seen = Followed([narrow(one) for one in labels], values)
        self.steps += draws * thin
        self.arrived = np.full(CHAINS, True)

    def _piece(self, steps: int, draws: int) -> Followed:
        where = self._where
        task = Stretch(self._target, self._step, tuple(self._begins), steps, draws, where.seed, self._pieces)
        self._pieces += 1
        followed = run_all(task, CHAINS, where.executor, False, "chains").results
        return Followed(*(list(part) for part in zip(*followed, strict=True)))

    @property
    def arrivals(self) -> Followed:
        """What was seen of the chains that have arrived."""
        assert self.seen is not None
        return self.seen.of(self.arrived)

    @property
    def _mean_of_all(self) -> float:
        return 10.0 if self.seen is None else float(self.seen.n_clusters.mean())

    @property
    def mean_n_clusters(self) -> float:
        """Mean number of clusters of chains that have arrived; a guess before the first stretch."""
        return 10.0 if self.seen is None else float(self.arrivals.n_clusters.mean())

    @property
    def gap(self) -> float:
        """How far chains are apart: root mean square difference between chains of how often two points are together.

        0 where neither that nor numbers of clusters differ by more than chance makes of it, and by enough to matter.
        """
        places = places_looked_at(self._target.n_points)
        if len(places) < 2:
            return 0.0
        together = self.together(places)
        return spread_between(together) if numbers_differ(self._numbers) else gap_between(together)

    @property
    def _numbers(self) -> np.ndarray:
        """Numbers of clusters of chains that have arrived, in batches (chains, batches)."""
        numbers = self.arrivals.n_clusters
        draws = numbers.shape[1] // BATCHES * BATCHES
        return numbers[:, -draws:].reshape(len(numbers), BATCHES, -1).mean(axis=2)

    def together(self, places: np.ndarray) -> np.ndarray:
        """Return how often points are together in chains that have arrived, in batches (chains, batches, pairs)."""
        assert self.seen is not None
        seen = self.arrivals
        draws, count = len(seen.labels[0]) // BATCHES * BATCHES, len(seen.labels)
        members = np.stack([one[-draws:, places] for one in seen.labels]).astype(np.int64)
        together = shares_together(members.reshape(count * BATCHES, draws // BATCHES, -1))
        return together.reshape(count, BATCHES, -1)

    def tell_apart(self) -> None:
        """Find chains that are still on their way: their log density is lower by far more than it varies.

        They are looked for where starts disagree, and left out if three others are there.
        """
        target = self._target
        if self.seen is None or self.gap == 0.0 or not target.has_density:
            return
        late = not_arrived(self.log_densities)
        if late.sum() == 1:
            self.arrived = ~late

    @property
    def log_densities(self) -> np.ndarray:
        """Log densities of the last clusterings that were kept, a row a chain."""
        assert self.seen is not None
        every = zip(self.seen.labels, self.seen.hyperparameters, strict=True)
        return np.array([[_log_density(self._target, a[i], b[i]) for i in range(-LAST, 0)] for a, b in every])

    @property
    def agree(self) -> bool:
        """Whether chains from different starts agree on which points are together."""
        return self.gap == 0.0


def places_looked_at(n_points: int) -> np.ndarray:
    """Return the points between which chains are compared."""
    return np.unique(np.linspace(0, n_points - 1, min(n_points, LOOKED_AT)).astype(np.int64))


def _log_density(target: Target, labels: np.ndarray, hyperparameters: np.ndarray) -> float:
    return log_density(target, labels.astype(np.int64), hyperparameters if target.hyperparameters else None)


def _wide(labels: np.ndarray) -> np.ndarray:
    return labels.astype(np.int32)


def _starts_of(target: Target) -> tuple[list[str], list[Beginning | State]]:
    """Return where chains begin, with names: from as different partitions as the target and its size allow."""
    known = reachable_starts(target)
    if target.n_points > MANY_POINTS:
        known.pop("singletons", None)
    names: list[str] = [name for name in ("one_cluster", "singletons") if name in known]
    names += ["sequential"] * (CHAINS - len(names))
    found: list[Beginning | State] = [known[name] for name in names]
    return names, found
