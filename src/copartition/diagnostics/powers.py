"""From expectations at powers of the likelihood to the log evidence.

With the density of the data to the power beta the posterior is p_beta(partition) = prior x likelihood^beta / Z(beta),
Z(0) = 1 and Z(1) is the evidence, and

    log Z(1) = integral over beta from 0 to 1 of g(beta),     g(beta) = E_beta[log likelihood],

because d log Z / d beta = g (Gelman and Meng 1998). Coupled chains give an unbiased H(beta) of g(beta) at any beta.
With beta drawn from a density q and any function c whose integral is known,

    integral of c + (H(beta) - c(beta)) / q(beta)

is an unbiased estimate of log Z(1) (Rischard, Jacob and Pillai 2018). A pilot gives both: c, the line through its
means, takes away nearly all that g varies by, and q puts replicates where H varies most for its cost. They may be as
bad as they like: that makes estimates less precise, not wrong. Powers are drawn one from each of many strata of equal
probability, so the variance is that within strata only; with two or more in each it is estimated from these.

Where clusters are clear and points many, g may rise all at once, as ice melts: near that power chains stay for long
where they started. So half of all chains start as asked for, and half where a chain at the power 1 got to. If these two
halves disagree at a power, chains do not get from one to the other there, and a result must say so.

g never falls, since its slope is the variance of the log likelihood. The integral over an interval is therefore known
to within its *box*, the width times what g rises by; the pilot puts its next powers where that is largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

UNIFORM = 0.1  # share of powers that are uniform, so that no weight is huge where the pilot saw little
BENT = 0.25  # of what g rises by in an interval: how far it may be from the line
STEEP = 8.0  # the next power after 0 is the smallest one divided by this


class Node(NamedTuple):
    """What a pilot saw at one power.

    Attributes
    ----------
    beta : float
    mean, sd : float
        Of replicates of the log likelihood.
    replicates : int
        How many these were.
    gap, gap_stderr : float
        By how much those of the two starts differ on average, and its standard error.
    burn_in : int
        Sweeps that are enough for pairs to meet, with something to spare.
    sweeps : float
        What a replicate with this burn-in costs.
    """

    beta: float
    mean: float
    sd: float
    replicates: int
    gap: float
    gap_stderr: float
    burn_in: int
    sweeps: float


@dataclass(frozen=True)
class Curve:
    """What a pilot saw at several powers from 0 to 1, in rising order."""

    nodes: tuple[Node, ...]

    @property
    def betas(self) -> np.ndarray:
        """The powers."""
        return np.array([node.beta for node in self.nodes])

    @property
    def means(self) -> np.ndarray:
        """The expected log likelihood at each."""
        return np.array([node.mean for node in self.nodes])

    @property
    def integral(self) -> float:
        """The integral of the line through the means."""
        return float(np.diff(self.betas) @ (self.means[1:] + self.means[:-1])) / 2.0

    def at(self, betas: np.ndarray) -> np.ndarray:
        """Return the line through the means at any powers."""
        return np.interp(betas, self.betas, self.means)

    def next_powers(self, count: int) -> list[float]:
        """Return powers in the middle of the intervals with the largest boxes."""
        boxes = np.diff(self.betas) * np.abs(np.diff(self.means))
        largest = np.sort(np.argsort(-boxes, kind="stable")[:count])
        return [_between(self.betas[i], self.betas[i + 1]) for i in largest]

    def burn_ins(self, betas: np.ndarray) -> np.ndarray:
        """Return burn-ins for powers: the larger one of their two neighbours."""
        right = self._interval(betas) + 1
        each = np.array([node.burn_in for node in self.nodes])
        return np.maximum(each[right - 1], each[right])

    def density(self) -> np.ndarray:
        """Return the density of powers in each interval: as the standard deviation of H over the root of its cost."""
        width = np.diff(self.betas)
        sd, cost = np.array([node.sd for node in self.nodes]), np.array([node.sweeps for node in self.nodes])
        bent = BENT * np.abs(np.diff(self.means))
        wanted = np.hypot(np.maximum(sd[:-1], sd[1:]), bent) / np.sqrt(np.maximum(cost[:-1], cost[1:]))
        total = float(wanted @ width)
        return UNIFORM + (1.0 - UNIFORM) * (wanted / total if total > 0.0 else np.ones(len(width)))

    def powers(self, levels: np.ndarray) -> np.ndarray:
        """Return the powers below which the density has these probabilities."""
        below = np.concatenate([[0.0], np.cumsum(self.density() * np.diff(self.betas))])
        return np.clip(np.interp(levels * below[-1], below, self.betas), 0.0, 1.0)

    def estimates(self, betas: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return what each value of the log likelihood, at its power, makes of the log evidence."""
        density = self.density()
        each = density[self._interval(betas)] / float(density @ np.diff(self.betas))
        return self.integral + (values - self.at(betas)) / each

    def disagreement(self, errors: float) -> tuple[float, float]:
        """Return the power at which the two starts disagree most, and what that may change the log evidence by.

        Only disagreements of more than so many standard errors count; the change is 0 if there is none.
        """
        gaps = np.array([node.gap for node in self.nodes])
        gaps[np.abs(gaps) <= errors * np.array([node.gap_stderr for node in self.nodes])] = 0.0
        width = np.diff(self.betas)
        reach = np.concatenate([[0.0], width]) + np.concatenate([width, [0.0]])
        changes = np.abs(gaps) * reach / 2.0
        worst = int(np.argmax(changes))
        return float(self.betas[worst]), float(changes[worst])

    def _interval(self, betas: np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self.betas, betas, side="right") - 1, 0, len(self.nodes) - 2)


def _between(low: float, high: float) -> float:
    """Return a power between two: g bends most near 0, so the middle of their logs."""
    return float(np.sqrt(low * high)) if low > 0.0 else float(high) / STEEP


class Stratified(NamedTuple):
    """A mean over strata of equal probability.

    Attributes
    ----------
    mean, stderr : float
    freedom : float
        Degrees of freedom of the standard error (Satterthwaite 1946).
    """

    mean: float
    stderr: float
    freedom: float


def stratified(values: np.ndarray) -> Stratified:
    """Return the mean of values (layers, strata), one in each stratum a layer, from at least two layers."""
    layers, strata = values.shape
    parts = values.var(axis=0, ddof=1) / layers
    total = float(parts.sum())
    freedom = total**2 / float((parts**2).sum() / (layers - 1)) if total > 0.0 else np.inf
    return Stratified(float(values.mean()), float(np.sqrt(total)) / strata, freedom)
