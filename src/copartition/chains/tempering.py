"""Parallel tempering: one chain at each power of a ladder, and swaps between neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from copartition.chains.chain import advance_chain, chain_at, with_hyperparameters
from copartition.chains.density import Density
from copartition.chains.start import Beginning, start_chain
from copartition.chains.step import BoundStep
from copartition.core.room import NO_UPDATES
from copartition.core.state import Chain, Stepper
from copartition.core.tempering import draw_uniform
from copartition.targets.base import Target

SWEEPS_A_ROUND = 3  # between swaps

# The pilot that chooses the powers. Two chains, from the start of the run and from k-means, go down together.
TRIED_FIRST = 100  # sweeps at the power 1
TRIED_BEFORE = 20  # sweeps at a power before those that count
TRIED_ROUNDS, TRIED_EVERY = 10, 5  # how often the density is looked at, and sweeps in between
STEP = (
    1.2  # in standard deviations of the log density: neighbours whose distributions are normal then swap 4 times of 10
)
SMALLEST_STEP, LARGEST_STEP = 0.95, 0.7  # the next power is between these multiples of the one before
AGREE = 1.5  # in standard deviations: chains that are closer have forgotten where they started
AGREED = 2  # powers one after another at which they have
LEAST_HOT = 0.7  # the last power is at most this
MOST_LEVELS = 12
RARE = 0.2  # rate of swaps below which another power is put in between


class State(NamedTuple):
    """Where all chains of a ladder are.

    Labels (levels, points), unknown hyperparameters (levels, any), random numbers.
    """

    labels: np.ndarray
    hyperparameters: np.ndarray
    random: np.ndarray


def tempered_stepper(target: Target, step: BoundStep, beta: float) -> Stepper:
    """Return what a chain does at the power `beta` in place of `step`: all but joint updates, with room of its own."""
    if beta == 1.0:
        return step.stepper(target)
    return replace(step, plan=NO_UPDATES).stepper(target)


def swap_probability(beta: float, below: float, log_likelihood: float, log_likelihood_below: float) -> float:
    """Return the probability that chains at two powers, with these log densities of the data, exchange partitions."""
    return float(np.exp(min(0.0, (beta - below) * (log_likelihood_below - log_likelihood))))


class Tempered:
    """A chain at each power of a ladder; the first, at the power 1, is the one that is looked at.

    Parameters
    ----------
    target : Target
        An exchangeable one.
    step : BoundStep
        Of the run: what the first chain does. The others make tempered sweeps and as many moves.
    ladder : float64 array
        Powers from 1 down.
    state : State
        Where chains are; `random` is copied.

    Attributes
    ----------
    chains : list of Chain
        One at each power.
    accepted : float64 array
        Sum of the probabilities of the swaps that each pair of neighbours tried.
    tried : int64 array
        How many these were.
    """

    def __init__(self, target: Target, step: BoundStep, ladder: np.ndarray, state: State) -> None:
        own = [
            _level(target, beta, hyperparameters)
            for beta, hyperparameters in zip(ladder, state.hyperparameters, strict=True)
        ]
        self.chains = [chain_at(one, labels) for one, labels in zip(own, state.labels, strict=True)]
        self.accepted = np.zeros(len(ladder) - 1)
        self.tried = np.zeros(len(ladder) - 1, dtype=np.int64)
        self._ladder = ladder
        self._steppers = [tempered_stepper(target, step, float(beta)) for beta in ladder]
        self._densities = [Density(one) for one in own]
        self._random = state.random.copy()

    @property
    def state(self) -> State:
        """Where all chains are now."""
        hyperparameters = np.stack([density.target.model.hyperparameters for density in self._densities])
        return State(np.stack([chain.labels for chain in self.chains]), hyperparameters, self._random.copy())

    def advance(self, is_odd: bool) -> tuple[float, Chain]:
        """Run all chains for a round, swap neighbours; return the log density of the first chain, and the chain.

        Neighbours are those whose upper one has an even number, or an odd one.
        """
        values = []
        for level, stepper in enumerate(self._steppers):
            density = self._densities[level]
            chain, value = density.advance(self.chains[level], stepper, self._random, SWEEPS_A_ROUND)
            self.chains[level] = chain
            values.append(value)
        for upper in range(int(is_odd), len(values) - 1, 2):
            self._swap(upper, values)
        return values[0] + self._densities[0].of_prior(self.chains[0]), self.chains[0]

    def _swap(self, upper: int, values: list[float]) -> None:
        lower = upper + 1
        p = swap_probability(self._ladder[upper], self._ladder[lower], values[upper], values[lower])
        self.accepted[upper] += p
        self.tried[upper] += 1
        if draw_uniform(self._random) < p:
            values[upper], values[lower] = values[lower], values[upper]
            self.chains[upper], self.chains[lower] = self.chains[lower], self.chains[upper]
            one, other = self._densities[upper], self._densities[lower]
            # Numbers go along with the partition; the powers stay where they are.
            one.target, other.target = (
                other.target.tempered(self._ladder[upper]),
                one.target.tempered(self._ladder[lower]),
            )


def _level(target: Target, beta: float, hyperparameters: np.ndarray) -> Target:
    """Return the target as a chain sees it at one power, where unknown hyperparameters have these values."""
    return with_hyperparameters(target.tempered(beta), hyperparameters if target.hyperparameters else None)


class _Place(NamedTuple):
    """Where a chain of the pilot is: labels and unknown hyperparameters."""

    labels: np.ndarray
    hyperparameters: np.ndarray


class _Level(NamedTuple):
    """What the pilot saw at one power: log densities of the data (2, rounds), and where its chains are afterwards."""

    beta: float
    values: np.ndarray
    places: list[_Place]

    @property
    def sd(self) -> float:
        """The standard deviation of the log density along a chain."""
        return float(np.sqrt(self.values.var(axis=1, ddof=1).mean()))

    @property
    def agrees(self) -> bool:
        """Whether the two chains are at the same place."""
        gap = abs(self.values[0].mean() - self.values[1].mean())
        return bool(gap <= AGREE * self.sd)


def choose_ladder(
    target: Target, step: BoundStep, starts: tuple[Beginning, Beginning], random: np.ndarray
) -> np.ndarray:
    """Return powers from 1 down to one at which two chains from different starts have come together.

    Neighbours are so close that they would often swap, as far as a short run can tell; where they would not, another
    one is put in between. All chance is from `random`.
    """

    def try_power(beta: float, places: list[_Place]) -> _Level:
        stepper = tempered_stepper(target, step, beta)
        values = np.zeros((2, TRIED_ROUNDS))
        after = []
        for row, place in zip(values, places, strict=True):
            density = Density(_level(target, beta, place.hyperparameters))
            chain = advance_chain(density.target, stepper, chain_at(density.target, place.labels), random, TRIED_BEFORE)
            for t in range(TRIED_ROUNDS):
                chain, row[t] = density.advance(chain, stepper, random, TRIED_EVERY)
            after.append(_place_of(density.target, chain))
        return _Level(beta, values, after)

    begun = []
    for one in starts:
        own = target.of_chain()
        begun.append(_place_of(own, advance_chain(own, step, start_chain(own, one, random), random, TRIED_FIRST)))
    levels = [try_power(1.0, begun)]
    while len(levels) < MOST_LEVELS:
        *_, last = levels
        if last.beta <= LEAST_HOT and all(level.agrees for level in levels[-AGREED:]):
            break
        factor = np.clip(1.0 - STEP / max(last.sd * last.beta, STEP), LARGEST_STEP, SMALLEST_STEP)
        levels.append(try_power(last.beta * float(factor), last.places))
    position = 1
    while position < len(levels) and len(levels) < MOST_LEVELS:
        upper, lower = levels[position - 1], levels[position]
        if _swap_rate(upper, lower) < RARE and lower.beta < SMALLEST_STEP * upper.beta:
            levels.insert(position, try_power(float(np.sqrt(upper.beta * lower.beta)), upper.places))
        else:
            position += 1
    return np.array([level.beta for level in levels])


def _place_of(target: Target, chain: Chain) -> _Place:
    return _Place(chain.labels.copy(), target.model.hyperparameters.copy())


def pilot_sweeps(ladder: np.ndarray) -> int:
    """Return how many sweeps it took to choose a ladder."""
    return 2 * (TRIED_FIRST + len(ladder) * (TRIED_BEFORE + TRIED_ROUNDS * TRIED_EVERY))


def _swap_rate(upper: _Level, lower: _Level) -> float:
    a, b = upper.values.ravel()[:, None], lower.values.ravel()
    return float(np.exp(np.minimum(0.0, (upper.beta - lower.beta) * (b - a))).mean())
