"""The log density of a partition, for targets that are exchangeable."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.chains.chain import chain_at, grown_or_refused
from copartition.chains.step import Step, objection_to_moves
from copartition.core.room import empty_chain, widths_of
from copartition.core.state import Chain, Stepper
from copartition.core.status import DONE
from copartition.core.tempering import make_weighed_steps
from copartition.targets.base import Target, check_target
from copartition.validation import shorten


class Density:
    """The log density of the partitions of chains, with room for computing it.

    Parameters
    ----------
    target : Target
        An exchangeable one: see `check_density`.
    """

    def __init__(self, target: Target) -> None:
        model = target.model
        self._target = target
        self._side = empty_chain(target.n_points, widths_of(model), 2)
        self._log_grown = np.zeros(target.n_points + 1)
        self._log_grown[2:] = np.cumsum(model.log_size[1:-1])
        # What is said of no clusters at all does not matter: the first point has no choice.
        opened = model.log_new[np.minimum(np.arange(1, target.n_points), len(model.log_new) - 1)]
        self._log_opened = np.concatenate([[0.0, 0.0], np.cumsum(opened)])

    def advance(self, chain: Chain, stepper: Stepper, random: np.ndarray, steps: int) -> tuple[Chain, float]:
        """Run a chain for a number of steps; return it, and the log density of the data given where it is then.

        The density is as `log_predictive` has it, the same number left out for every point.
        """
        progress = np.zeros(2, dtype=np.int64)
        model, law = self._target.model, self._target.law
        while True:
            status = make_weighed_steps(model, law, chain, stepper, random, progress, self._side, steps)
            if status == DONE:
                return chain, float(self._side.total[0])
            chain = grown_or_refused(chain, status, int(progress[1]))

    def of_data(self, chain: Chain) -> float:
        """Return the log density of the data given the partition of a chain."""
        return self.advance(chain, Step().stepper(self._target), np.zeros(4, dtype=np.uint64), 0)[1]

    def of_prior(self, chain: Chain) -> float:
        """Return the log prior of the partition of a chain, up to a constant."""
        count = int(chain.n_clusters[0])
        return float(self._log_grown[chain.sizes[:count]].sum() + self._log_opened[count])

    def of(self, chain: Chain) -> float:
        """Return the log density of the partition of a chain, up to a constant."""
        return self.of_data(chain) + self.of_prior(chain)


def check_density(target: Target, what: str) -> Target:
    """Return a target that has a density of partitions for `what`, which needs it."""
    check_target(target)
    if reason := objection_to_moves(target):
        reason = reason.replace("split-merge moves need", "it needs")
        raise ValueError(f"{what} knows no log density of {shorten(target)}: {reason}.")
    return target


def log_density(target: Target, labels: Any) -> float:
    """Compute the log posterior density of a partition, up to a constant that is the same for all partitions.

    It is the log prior, up to its normalising constant, plus the log density of the data given the partition, cluster
    parameters integrated out. Differences between two partitions are exact.

    Parameters
    ----------
    target : Target
        A `Mixture`, or a target that promises to be exchangeable.
    labels : array of int
        A label for each point.

    Returns
    -------
    float

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> two, one = (cp.log_density(posterior, labels) for labels in ([0, 0, 1], [0, 0, 0]))
    >>> round(two - one, 3)  # two clusters are exp(9.3) times as probable as one
    9.292
    """
    check_density(target, "log_density")
    density = Density(target)
    chain = chain_at(target, target.check_labels(labels))
    constant = target.n_points * getattr(target, "log_constant", 0.0)
    return density.of(chain) + constant
