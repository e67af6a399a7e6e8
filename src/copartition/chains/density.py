"""The log density of a partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.chains.chain import advance_chain, chain_at, grown_or_refused, with_hyperparameters
from copartition.chains.step import BoundStep, objection_to_moves
from copartition.core.batch import new_progress
from copartition.core.state import PLACE, Chain, Stepper
from copartition.core.steps import evaluate_chain
from copartition.core.tempering import make_weighed_steps
from copartition.core.types import DONE
from copartition.targets.base import Target, check_target, opened_of
from copartition.validation import shorten


class Density:
    """The log density of the partitions of chains.

    Parameters
    ----------
    target : Target
        One that has a density: see `check_density`. Where hyperparameters are unknown, that of the chain.
    """

    def __init__(self, target: Target) -> None:
        self.target = target

    def advance(self, chain: Chain, stepper: Stepper, random: np.ndarray, steps: int) -> tuple[Chain, float]:
        """Run a chain for a number of steps; return it, and the log density of the data given where it is then.

        Unknown hyperparameters are those of the chain then.
        """
        model, hooks = self.target.model, self.target.hooks
        if self.target.log_likelihood is not None:
            chain = advance_chain(self.target, stepper, chain, random, steps)
            value = np.zeros(1)
            evaluate_chain(model, hooks, chain, self.target.log_likelihood, np.zeros(0), value)
            return chain, float(value[0])
        progress = new_progress()
        while True:
            status = make_weighed_steps(model, hooks, chain, stepper, random, progress, steps)
            if status == DONE:
                assert chain.side is not None
                return chain, float(chain.side.total[0] + model.constant[1])
            chain = grown_or_refused(chain, status, int(progress[PLACE]))

    def of_data(self, chain: Chain) -> float:
        """Return the log density of the data given the partition of a chain."""
        return self.advance(chain, BoundStep().stepper(self.target), np.zeros(4, dtype=np.uint64), 0)[1]

    def of_prior(self, chain: Chain) -> float:
        """Return the log prior of the partition of a chain, up to a constant."""
        model, count = self.target.model, int(chain.n_clusters[0])
        return float(model.log_grown[chain.sizes[:count]].sum() + opened_of(model.log_new, self.target.n_points)[count])

    def of(self, chain: Chain) -> float:
        """Return the log density of the partition of a chain, up to a constant."""
        return self.of_data(chain) + self.of_prior(chain)


def check_density(target: Target, what: str) -> Target:
    """Return a target that has a density of partitions for `what`, which needs it."""
    check_target(target)
    if target.log_likelihood is None and (reason := objection_to_moves(target)):
        reason = reason.replace("split-merge moves need", "it needs")
        raise ValueError(f"{what} knows no log density of {shorten(target)}: {reason}.")
    return target


def log_density(target: Target, labels: Any, hyperparameters: Any = None) -> float:
    """Compute the log posterior density of a partition, up to a constant that is the same for all partitions.

    It is the log prior, up to its normalising constant, plus the log density of the data given the partition, cluster
    parameters integrated out. Differences between two partitions are exact.

    Parameters
    ----------
    target : Target
        A `Mixture`, a `BlockModel`, or a target that promises to be exchangeable.
    labels : array of int
        A label for each point.
    hyperparameters : array of float, optional
        Values of the hyperparameters that are unknown, in the order of ``target.hyperparameters``, where there are any.
        The density is then that of the partition given these numbers.

    Returns
    -------
    float

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> two, one = (cp.kernels.log_density(posterior, labels) for labels in ([0, 0, 1], [0, 0, 0]))
    >>> round(two - one, 3)  # two clusters are exp(9.3) times as probable as one
    9.292
    """
    check_density(target, "log_density")
    own = with_hyperparameters(target, hyperparameters)
    return Density(own).of(chain_at(own, own.check_labels(labels)))
