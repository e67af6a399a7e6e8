"""Priors on partitions, given by the weight of joining a cluster of a certain size and of opening a new one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from copartition.targets.distributions import Beta, Gamma, distribution_of_counts, distribution_repr, grid_of
from copartition.targets.prior_tables import (
    ComponentDistributions,
    alpha_nodes,
    distribution_of_n_clusters,
    expected_of_components,
    expected_of_process,
    log_pmf,
    mean_alpha_table,
)
from copartition.validation import integer, positive_number, real, shorten

MIXED = 1e-15  # distributions of numbers of components end, for draws, where less than this is left
MOST_MIXED = 1 << 16


class Prior(Protocol):
    """A prior whose weights depend on cluster sizes and on the number of clusters only (a Gibbs-type prior).

    The weights are those for partitions of exactly `n_points` points, and may differ from one number of points to the
    next: whoever predicts the next point asks for ``n_points + 1``.

    A prior may also have a method ``mixing()``, which returns a float64 array (J, 3) with rows (weight, a, b): the
    prior is a mixture, with weights that sum to 1, of priors under which, whatever the number of points, opening a
    cluster where there are K has weight ``max(0, a + b K)``, in the units of ``exp(log_size)``. Draws from the prior
    need it where `log_new` or `log_size` depend on the number of points; elsewhere it has no rows, or is left out.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> class AllPartitionsAlike:
    ...     def log_size(self, n_points):
    ...         return np.zeros(n_points + 1)
    ...
    ...     def log_new(self, n_points):
    ...         return np.zeros(1)
    >>> posterior = cp.Mixture([0.0, 0.0, 0.0], cp.Gaussian(noise_sd=1e6, mean_sd=1.0), AllPartitionsAlike())
    >>> cp.kernels.conditional(posterior, [0, 1, 2], 2).round(3)
    array([0.333, 0.333, 0.333])
    """

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the log weight of joining a cluster of size 0, 1, ..., `n_points`: ``n_points + 1`` numbers."""

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log weight of opening a cluster where there are 0, 1, ...; the last value holds from there on.

        So a table whose values differ must go up to `n_points`, or end at -inf.
        """


class PitmanYor:
    """The Pitman-Yor process: join a cluster with weight its size less `discount`, open one with `alpha` and more.

    Where there are K clusters, a new one opens with weight ``alpha + discount * K``.

    Parameters
    ----------
    alpha : float or Gamma
        Concentration, above ``-discount``: the larger, the more clusters are expected. A `Gamma` distribution says that
        it is unknown; it is then integrated out exactly.
    discount : float or Beta
        From 0, which is the Dirichlet process, to below 1: the larger, the more clusters are small. A `Beta`
        distribution says that it is unknown; it is then drawn along with the partition, from 64 values.

    Attributes
    ----------
    unknown : OnGrid or None
        The discount, where it is unknown.

    Examples
    --------
    >>> from copartition.targets.priors import PitmanYor
    >>> PitmanYor(alpha=1.0, discount=0.25)
    PitmanYor(alpha=1.0, discount=0.25)
    """

    _called = "a Pitman-Yor process"

    def __init__(self, alpha: float | Gamma, discount: float | Beta) -> None:
        self.distribution = discount if isinstance(discount, Beta) else None
        self.unknown = (
            None if self.distribution is None else grid_of("discount", self.distribution, 0.0, 1.0, of_data=False)
        )
        # Where it is unknown, weights are those at its start.
        given: Any = discount if self.unknown is None else self.unknown.initial[0]
        self.discount = real("discount", given, "a number from 0 to below 1, or a Beta distribution")
        if not 0.0 <= self.discount < 1.0:
            raise ValueError(f"discount must be a number from 0 to below 1, got {shorten(discount)}.")
        self.alpha: float | Gamma = alpha if isinstance(alpha, Gamma) else self._checked(alpha)
        if self.distribution is not None and not isinstance(self.alpha, Gamma) and self.alpha <= 0.0:
            raise ValueError(f"alpha must be positive where the discount is unknown, got {shorten(alpha)}.")

    def at(self, discount: float) -> PitmanYor:
        """Return the same prior with a discount that is known."""
        return PitmanYor(self.alpha, float(discount))

    def _checked(self, alpha: Any) -> float:
        if self.discount == 0.0:
            return positive_number("alpha", alpha)
        number = real("alpha", alpha, "a number above -discount, or a Gamma distribution")
        if not (np.isfinite(number) and number > -self.discount):
            raise ValueError(f"alpha must be finite and above -discount, {-self.discount:g}, got {shorten(alpha)}.")
        return number

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the logs of the sizes 0, 1, ..., `n_points` less the discount, -inf at 0."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(np.arange(n_points + 1.0) - self.discount, 0.0))

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log of the expected weight of a new cluster, given the number of clusters among the points."""
        if not isinstance(self.alpha, Gamma) and self.discount == 0.0:
            return np.log([self.alpha])
        weights = self.concentration(n_points) + self.discount * np.arange(n_points + 1.0)
        # The first is never used, for the first point has nothing to join; but it must be a number.
        weights[0] = weights[0] if weights[0] > 0.0 else weights[-1]
        return np.log(weights)

    def concentration(self, n_points: int) -> np.ndarray:
        """Return the expected value of alpha given 0, 1, ..., `n_points` clusters of as many points."""
        if isinstance(self.alpha, Gamma):
            return mean_alpha_table(self.alpha.shape, self.alpha.rate, self.discount, n_points)
        return np.full(n_points + 1, self.alpha)

    def mixing(self) -> np.ndarray:
        """Return the values of alpha that the prior mixes: rows (weight, alpha, discount); none if alpha is known."""
        if not isinstance(self.alpha, Gamma):
            return np.zeros((0, 3))
        weights, places = alpha_nodes(self.alpha.shape, self.alpha.rate)
        return np.column_stack([weights, places, np.full(len(places), self.discount)])

    def expected_clusters(self, n_points: int) -> float:
        """Return the expected number of clusters before any data."""
        if self.unknown is not None:
            each = [self.at(value).expected_clusters(n_points) for value in self.unknown.values]
            return float(np.exp(self.unknown.log_prior) @ each)
        if isinstance(self.alpha, Gamma):
            weights, places, _ = self.mixing().T
            return float(weights @ expected_of_process(places, self.discount, n_points))
        return float(expected_of_process(self.alpha, self.discount, n_points))

    def assumptions(self, n_points: int) -> list[str]:
        """Return what is assumed of the clustering, in words."""
        if isinstance(self.alpha, Gamma):
            alpha = f"an unknown concentration that follows {self.alpha!r} (alpha)"
        else:
            alpha = f"concentration {self.alpha:g} (alpha)"
        known = (
            f"discount {self.discount:g}"
            if self.distribution is None
            else f"an unknown discount that follows {self.distribution!r}"
        )
        discount = f" and {known} (discount)" if self._called == PitmanYor._called else ""
        return _sentence(f"{self._called} with {alpha}{discount}", self.expected_clusters(n_points), n_points)

    def __repr__(self) -> str:
        discount = self.discount if self.distribution is None else self.distribution
        return f"PitmanYor(alpha={self.alpha!r}, discount={discount!r})"


class DirichletProcess(PitmanYor):
    """The Chinese restaurant process: join a cluster with weight its size, open one with weight `alpha`.

    Parameters
    ----------
    alpha : float or Gamma, optional
        Concentration: the larger, the more clusters are expected, about ``alpha * log(1 + n / alpha)`` for n points.
        A `Gamma` distribution says that it is unknown; it is then integrated out exactly. Left out, ``Gamma(2, 4)``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.DirichletProcess(alpha=0.5)
    DirichletProcess(alpha=0.5)
    >>> cp.DirichletProcess()
    DirichletProcess(alpha=Gamma(2, 4))
    """

    _called = "a Dirichlet process"

    def __init__(self, alpha: float | Gamma | None = None) -> None:
        super().__init__(Gamma(2, 4) if alpha is None else alpha, 0.0)

    def __repr__(self) -> str:
        return f"DirichletProcess(alpha={self.alpha!r})"


class FiniteMixture:
    """A mixture of a known number of components, whose weights follow a symmetric Dirichlet distribution.

    Components without points are no clusters: there are at most `n_components` clusters.

    Parameters
    ----------
    n_components : int
    gamma : float, default 1
        Parameter of the Dirichlet distribution: the smaller, the more the sizes of clusters differ.

    Examples
    --------
    >>> from copartition.targets.priors import FiniteMixture
    >>> FiniteMixture(3)
    FiniteMixture(n_components=3, gamma=1.0)
    """

    def __init__(self, n_components: int, gamma: float = 1.0) -> None:
        self.n_components = integer("n_components", n_components, 1)
        self.gamma = positive_number("gamma", gamma)

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the logs of the sizes 0, 1, ..., `n_points` plus gamma."""
        return np.log(np.arange(n_points + 1.0) + self.gamma)

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log of gamma times the number of components without points, -inf where there are none."""
        with np.errstate(divide="ignore"):
            return np.log(self.gamma * np.arange(self.n_components, max(self.n_components - n_points, 0) - 1.0, -1.0))

    def components(self, n_points: int, most: int) -> np.ndarray:
        """Return P(1, ..., `most` components, or more) given 0, 1, ... clusters, a row each: the number is known."""
        table = np.zeros((min(n_points, self.n_components) + 1, most + 1))
        table[:, min(self.n_components, most + 1) - 1] = 1.0
        return table

    def mean_components(self, n_points: int) -> np.ndarray:
        """Return the expected number of components given 0, 1, ... clusters: the number is known."""
        return np.full(min(n_points, self.n_components) + 1, float(self.n_components))

    def mixing(self) -> np.ndarray:
        """Return an array without rows: the weights do not depend on the number of points."""
        return np.zeros((0, 3))

    def expected_clusters(self, n_points: int) -> float:
        """Return the expected number of clusters before any data."""
        return float(expected_of_components(self.n_components, self.gamma, n_points))

    def assumptions(self, n_points: int) -> list[str]:
        """Return what is assumed of the clustering, in words."""
        distribution = (
            f"a finite mixture of {self.n_components} component(s) (n_components) with symmetric Dirichlet weights of "
            f"parameter {self.gamma:g} (gamma)"
        )
        return _sentence(distribution, self.expected_clusters(n_points), n_points)

    def __repr__(self) -> str:
        return f"FiniteMixture(n_components={self.n_components!r}, gamma={self.gamma!r})"


class MixtureOfFiniteMixtures:
    """A mixture of an unknown number of components, whose weights follow a symmetric Dirichlet distribution.

    The number of components is summed out exactly (Miller and Harrison 2018).

    Parameters
    ----------
    gamma : float, default 1
        Parameter of the Dirichlet distribution: the smaller, the more the sizes of clusters differ.
    n_components : scipy distribution, optional
        Distribution of the number of components: a frozen discrete distribution of `scipy.stats` on 1, 2, ..., such as
        ``geom(0.1)`` or ``poisson(3, loc=1)``. Left out, ``randint(1, 31)``: 1 to 30, all equally likely.

    Examples
    --------
    >>> import scipy.stats
    >>> from copartition.targets.priors import MixtureOfFiniteMixtures
    >>> MixtureOfFiniteMixtures(n_components=scipy.stats.geom(0.1))
    MixtureOfFiniteMixtures(gamma=1.0, n_components=scipy.stats.geom(0.1))
    """

    def __init__(self, gamma: float = 1.0, n_components: Any = None) -> None:
        self.gamma = positive_number("gamma", gamma)
        if n_components is None:
            from scipy.stats import randint

            n_components = randint(1, 31)
        self.n_components = distribution_of_counts("n_components", n_components)

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the logs of the sizes 0, 1, ..., `n_points` plus gamma."""
        return np.log(np.arange(n_points + 1.0) + self.gamma)

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log of gamma times the expected number of components without points, given that of clusters."""
        return np.log(self.gamma) + _log_mean_empty(self, n_points)

    def components(self, n_points: int, most: int) -> np.ndarray:
        """Return P(1, ..., `most` components, or more) given 0, 1, ... clusters, a row each."""
        distributions = ComponentDistributions(self.n_components, self.gamma, n_points)
        table = np.zeros((int(min(n_points, distributions.last)) + 1, most + 1))
        table[:, most] = 1.0
        for clusters in range(min(len(table) - 1, most) + 1):
            # Where there are no clusters, all that is known is the distribution itself.
            k, log_weights = distributions.given(clusters) if clusters else (distributions.k, distributions.log_p)
            weights = np.exp(log_weights - log_weights.max())
            weights /= weights.sum()
            table[clusters] = np.bincount(np.minimum(k, most + 1).astype(np.int64) - 1, weights, most + 1)
        return table

    def mean_components(self, n_points: int) -> np.ndarray:
        """Return the expected number of components given 0, 1, ... clusters."""
        empty = np.exp(_log_mean_empty(self, n_points))
        return np.arange(float(len(empty))) + empty

    def mixing(self) -> np.ndarray:
        """Return the numbers of components that the prior mixes: rows (weight, gamma k, -gamma)."""
        k, weights = self._numbers()
        return np.column_stack([weights, self.gamma * k, np.full(len(k), -self.gamma)])

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of components and their probabilities, all but a negligible rest."""
        length = int(min(64, self.n_components.support()[1]))
        while length < self.n_components.support()[1] and self.n_components.sf(length) > MIXED:
            if length >= MOST_MIXED:
                raise ValueError(
                    f"n_components must be a distribution on numbers up to {MOST_MIXED}, for draws and expectations "
                    f"before any data; got {distribution_repr(self.n_components)}, which has heavier tails."
                )
            length = int(min(2 * length, self.n_components.support()[1]))
        k = np.arange(1.0, length + 1.0)
        weights = np.exp(log_pmf(self.n_components, k))
        used = weights > 1e-3 * MIXED / length
        return k[used], weights[used] / weights[used].sum()

    def expected_clusters(self, n_points: int) -> float:
        """Return the expected number of clusters before any data."""
        k, weights = self._numbers()
        return float(weights @ expected_of_components(k, self.gamma, n_points))

    def assumptions(self, n_points: int) -> list[str]:
        """Return what is assumed of the clustering, in words."""
        distribution = (
            f"a mixture of finite mixtures, whose number of components is unknown and follows "
            f"{distribution_repr(self.n_components)} (n_components), with symmetric Dirichlet weights of parameter "
            f"{self.gamma:g} (gamma)"
        )
        return _sentence(distribution, self.expected_clusters(n_points), n_points)

    def __repr__(self) -> str:
        return f"MixtureOfFiniteMixtures(gamma={self.gamma!r}, n_components={distribution_repr(self.n_components)})"


OURS = (DirichletProcess, PitmanYor, FiniteMixture, MixtureOfFiniteMixtures)


@lru_cache(maxsize=16)
def _log_mean_empty(prior: MixtureOfFiniteMixtures, n_points: int) -> np.ndarray:
    """Return the log of the expected number of components without points given 0, 1, ... clusters."""
    table = ComponentDistributions(prior.n_components, prior.gamma, n_points).log_mean_empty(n_points)
    table.flags.writeable = False
    return table


def _sentence(distribution: str, expected: float, n_points: int) -> list[str]:
    return [
        f"Before any data, clusterings follow {distribution}, which expects {expected:.3g} clusters among "
        f"{n_points} points."
    ]


def prior_n_clusters(prior: Prior, n_points: int) -> np.ndarray:
    """Compute the distribution of the number of clusters before any data.

    Parameters
    ----------
    prior : Prior
        Any, also one of your own. Where its weights are no straight line in the size of a cluster, for at most 500
        points.
    n_points : int

    Returns
    -------
    numpy.ndarray
        Probabilities of 0, 1, ..., `n_points` clusters.

    Examples
    --------
    >>> from copartition.targets.priors import DirichletProcess, prior_n_clusters
    >>> prior_n_clusters(DirichletProcess(1.0), 4).round(3)
    array([0.   , 0.25 , 0.458, 0.25 , 0.042])
    """
    n_points = integer("n_points", n_points, 1)
    own: Any = prior  # those with an unknown hyperparameter can be had with every value of it
    unknown = getattr(own, "unknown", None)
    if unknown is not None:
        distributions = [prior_n_clusters(own.at(value), n_points) for value in unknown.values]
        return np.exp(unknown.log_prior) @ np.array(distributions)
    log_size, log_new = check_prior(prior).log_size(n_points), prior.log_new(n_points)
    expected = prior.expected_clusters(n_points) if isinstance(prior, OURS) and type(prior) in OURS else None
    return distribution_of_n_clusters(log_size, log_new, n_points, expected)


def check_prior(value: Any) -> Prior:
    """Return `value` if it is a prior."""
    if isinstance(value, type) or not (hasattr(value, "log_size") and hasattr(value, "log_new")):
        raise TypeError(f"prior must be a prior such as DirichletProcess(alpha=1.0), got {shorten(value)}.")
    return value
