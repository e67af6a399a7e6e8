"""The log density of the data given a partition."""

from __future__ import annotations

from typing import Any

from copartition.core.compiling import Kernel
from copartition.core.tempering import log_density_of_clusters
from copartition.functionals.base import Functional, evaluation
from copartition.validation import shorten


@evaluation
def log_density_of_data(model, chain, hooks, parameters, out):
    """The log density of all points given their clusters, cluster parameters integrated out.

    Clusters are grown point by point at the side of the chain: sums that have drifted do not matter.
    """
    out[0] = log_density_of_clusters(model, hooks, chain) + model.constant[1]


class LogLikelihood(Functional):
    """The log density of the data given the partition; see `log_likelihood`."""

    def __init__(self, evaluate: Kernel = log_density_of_data) -> None:
        super().__init__("log_likelihood", evaluate, 1)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional as it is, or refuse it where clusters have no density of their own."""
        if not target.has_density:
            raise ValueError(
                f"log_likelihood knows no log density of {shorten(target)}: it needs a target that promises to be "
                "exchangeable, as every Mixture does, or that gives its log_likelihood."
            )
        return target, LogLikelihood(target.log_likelihood or log_density_of_data)


def log_likelihood() -> Functional:
    """Return the functional that is the log density of all data given the partition.

    Parameters of clusters are integrated out, the prior of the partition is left aside, and nothing is left out.
    Numbers that are unknown have the values that the chain has then.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> h = cp.functionals.log_likelihood()
    >>> e = cp.estimate(posterior, h, replicates=400, burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> round(float(e.mean[0]), 1)
    -6.6
    """
    return LogLikelihood()
