"""Priors on partitions, given by the weight of joining a cluster of a certain size and of opening a new one."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from copartition.validation import positive_number


class Prior(Protocol):
    """A prior whose weights depend on cluster sizes and on the number of clusters only (a Gibbs-type prior)."""

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the log weight of joining a cluster of size 0, 1, ..., `n_points`."""

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log weight of opening a cluster where there are 0, 1, ...; the last value holds from there on."""


class DirichletProcess:
    """The Chinese restaurant process: join a cluster with weight its size, open one with weight `alpha`.

    Parameters
    ----------
    alpha : float
        Concentration: the larger, the more clusters are expected, about ``alpha * log(1 + n / alpha)`` for n points.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.DirichletProcess(alpha=0.5)
    DirichletProcess(alpha=0.5)
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = positive_number("alpha", alpha)

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the logs of 0, 1, ..., `n_points`."""
        with np.errstate(divide="ignore"):
            return np.log(np.arange(n_points + 1.0))

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log of alpha, whatever the number of clusters."""
        return np.log([self.alpha])

    def assumptions(self, n_points: int) -> list[str]:
        """Return what is assumed of the clustering, in words."""
        expected = float(np.sum(self.alpha / (self.alpha + np.arange(n_points))))
        return [
            f"Before any data, clusterings follow a Dirichlet process with concentration {self.alpha:g} (alpha), which "
            f"expects {expected:.3g} clusters among {n_points} points."
        ]

    def __repr__(self) -> str:
        return f"DirichletProcess(alpha={self.alpha!r})"


def check_prior(value: Any) -> Prior:
    """Return `value` if it is a prior."""
    if isinstance(value, type) or not (hasattr(value, "log_size") and hasattr(value, "log_new")):
        raise TypeError(f"prior must be a prior such as DirichletProcess(alpha=1.0), got {value!r}.")
    return value
