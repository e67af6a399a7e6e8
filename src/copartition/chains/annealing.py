"""Powers for a start that is annealed: from the prior to the posterior in small steps.

A chain that is drawn from the prior makes a step at each of many powers of the data, from nearly 0 to 1. Whole clusters
appear at powers where the log density of the data varies most between chains, and there chains need most time. So a
few chains, the pilot, go from 0 to 1 beforehand: each power is as far from the one before as leaves the conditional
effective sample size (Zhou, Johansen and Aston 2016) at nine tenths, and never farther than 0.01, because chains that
jump over a power at which clusters appear do not see it. Then powers are placed so that between neighbours the standard
deviation of the log density adds up to the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from copartition.chains.density import Density
from copartition.core.state import Chain, Stepper
from copartition.targets.base import Target

PARTICLES = 32  # chains of the pilot
KEPT = 0.9  # conditional effective sample size, as a share of the chains
LARGEST_STEP = 0.01  # between powers of the pilot
SMOOTHED = 0.03  # half the width over which variances are averaged
FLOOR = 0.3  # of the mean variance: what is less counts as this
CELLS = 1000  # into which powers are divided to add up
KNOTS = 50  # parts of the ladder, in each of which powers are equally spaced
DIGITS = 6  # of powers, so that a description has them exactly


def choose_knots(
    target: Target,
    begin: Callable[[Target, np.ndarray], Chain],
    stepper_for: Callable[[Target], Stepper],
    random: np.ndarray,
) -> np.ndarray:
    """Return the powers at equal shares of a start's steps, from 0 to 1.

    Parameters
    ----------
    target : Target
        One that has a density.
    begin : callable
        Puts a chain of a target, with random numbers, at a draw from the prior.
    stepper_for : callable
        Makes what a chain does in a step.
    random : uint64 array
        Random numbers, advanced.
    """
    own = [target.of_chain() for _ in range(PARTICLES)]
    chains, steppers = [begin(one, random) for one in own], [stepper_for(one) for one in own]
    densities = [Density(one) for one in own]
    logs = np.array([density.of_data(chain) for density, chain in zip(densities, chains, strict=True)])
    power, powers, variances = 0.0, [0.0], [variance_of(logs)]
    while power < 1.0:
        power = min(1.0, power + next_step(logs))
        for i, density in enumerate(densities):
            own[i].model.power[0] = power
            chains[i], logs[i] = density.advance(chains[i], steppers[i], random, 1)
        powers.append(power)
        variances.append(variance_of(logs))
    return place(np.array(powers), np.array(variances))


def variance_of(logs: np.ndarray) -> float:
    """Return the variance of log densities, of those that are finite."""
    finite = logs[np.isfinite(logs)]
    return float(finite.var(ddof=1)) if len(finite) > 1 else 0.0


def next_step(logs: np.ndarray) -> float:
    """Return by how much the power may grow, given the log densities of the data of chains at the present one."""
    finite = logs[np.isfinite(logs)]
    if len(finite) < 2:
        return LARGEST_STEP
    above = finite - finite.max()

    def is_enough(step: float) -> bool:
        weights = np.exp(step * above)
        return bool(weights.mean() ** 2 >= KEPT * (weights**2).mean())

    low, high = 0.0, LARGEST_STEP
    if is_enough(high):
        return high
    while high - low > 0.01 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_enough(middle) else (low, middle)
    return high


def place(powers: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the powers between which the standard deviation of the log density, smoothed, adds up to equal parts.

    Parameters
    ----------
    powers : float64 array
        Those of the pilot, from 0 to 1.
    variances : float64 array
        Of the log density between its chains, at each of them.
    """
    middles = (np.arange(CELLS) + 0.5) / CELLS
    fine = np.interp(middles, powers, variances)
    width = int(SMOOTHED * CELLS)
    sums = np.concatenate([[0.0], np.cumsum(fine)])
    first, last = np.maximum(np.arange(CELLS) - width, 0), np.minimum(np.arange(CELLS) + width + 1, CELLS)
    smooth = (sums[last] - sums[first]) / (last - first)
    floored = np.maximum(smooth, FLOOR * smooth.mean())
    spread = np.sqrt(floored) if floored.max() > 0.0 else np.ones(CELLS)
    reached = np.concatenate([[0.0], np.cumsum(spread)]) / spread.sum()
    knots = np.interp(np.linspace(0.0, 1.0, KNOTS + 1), reached, np.linspace(0.0, 1.0, CELLS + 1))
    return np.round(knots, DIGITS)


def powers_of(knots: np.ndarray, levels: int) -> np.ndarray:
    """Return the powers of so many steps; the last is 1."""
    return np.interp(np.arange(1, levels + 1) / levels, np.linspace(0.0, 1.0, len(knots)), knots)
