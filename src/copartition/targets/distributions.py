"""Distributions of single numbers, for what is not known beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.targets.unknown import OnGrid
from copartition.validation import column_array, finite_array, positive_array, positive_number, shorten


@dataclass(frozen=True, repr=False)
class Gamma:
    """The Gamma distribution, with density proportional to ``x**(shape - 1) * exp(-rate * x)``.

    Parameters
    ----------
    shape : float
    rate : float
        One over the scale: the mean is ``shape / rate``.

    Examples
    --------
    >>> from copartition.targets.distributions import Gamma
    >>> Gamma(2, 4).mean
    0.5
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive_number("shape", self.shape))
        object.__setattr__(self, "rate", positive_number("rate", self.rate))

    @property
    def mean(self) -> float:
        """The expected value."""
        return self.shape / self.rate

    def log_density(self, x: Any) -> np.ndarray:
        """Return the log of the density at positive numbers."""
        x = np.asarray(x, dtype=np.float64)
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + (self.shape - 1.0) * np.log(x) - self.rate * x

    def __repr__(self) -> str:
        return f"Gamma({short_number(self.shape)}, {short_number(self.rate)})"


def short_number(value: float) -> str:
    """Return a text that evaluates to the number, without a decimal point where it needs none."""
    return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def distribution_of_counts(name: str, value: Any) -> Any:
    """Return a frozen distribution on 1, 2, ..., or refuse what is none."""
    import scipy.stats
    from scipy.stats.distributions import rv_frozen

    distribution: Any = value
    if (
        isinstance(distribution, scipy.stats.rv_discrete) and getattr(distribution, "numargs", 1) == 0
    ):  # of given values, say: nothing to freeze it at
        distribution = distribution()
    if not (isinstance(distribution, rv_frozen) and isinstance(distribution.dist, scipy.stats.rv_discrete)):
        raise TypeError(
            f"{name} must be a frozen discrete distribution of scipy.stats such as geom(0.1), got {shorten(value)}."
        )
    first = float(distribution.support()[0])
    if np.isnan(first):
        raise ValueError(f"{name} must be a distribution with valid parameters, got {distribution_repr(distribution)}.")
    if first < 1.0 and distribution.cdf(0) > 0.0:
        raise ValueError(
            f"{name} must be a distribution on 1, 2, ..., got {distribution_repr(distribution)}, which may be "
            "0 or less; loc=1 shifts it."
        )
    if not np.isfinite(first) or not first.is_integer():
        raise ValueError(
            f"{name} must be a distribution on whole numbers 1, 2, ..., got {distribution_repr(distribution)}."
        )
    return distribution


def distribution_repr(distribution: Any) -> str:
    """Return the text that makes a frozen distribution."""
    arguments = [repr(value) for value in distribution.args] + [
        f"{name}={value!r}" for name, value in distribution.kwds.items()
    ]
    if hasattr(distribution.dist, "xk"):
        values = f"({distribution.dist.xk.tolist()}, {distribution.dist.pk.tolist()})"
        return f"scipy.stats.rv_discrete(values={values})" + (f"({', '.join(arguments)})" if arguments else "")
    return f"scipy.stats.{distribution.dist.name}({', '.join(arguments)})"


@dataclass(frozen=True, repr=False)
class Normal:
    """The normal distribution.

    Parameters
    ----------
    mean, sd : float or array (n_columns)
        Mean and standard deviation; an array has a number for each column of the data.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Normal(0.0, 2.0)
    Normal(0, 2)
    """

    mean: Any
    sd: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", finite_array("mean", self.mean, (0, 1)))
        object.__setattr__(self, "sd", positive_array("sd", self.sd))

    def columns(self, n_columns: int) -> list[Normal]:
        """Return the distributions of the single columns."""
        means = column_array("mean of Normal", self.mean, n_columns)
        sds = column_array("sd of Normal", self.sd, n_columns)
        return [Normal(float(mean), float(sd)) for mean, sd in zip(means, sds, strict=True)]

    def log_density(self, x: Any) -> np.ndarray:
        """Return the log of the density of a single number."""
        z = (np.asarray(x, dtype=np.float64) - self.mean) / self.sd
        return -0.5 * z**2 - np.log(self.sd) - 0.5 * math.log(2.0 * math.pi)

    def __repr__(self) -> str:
        return f"Normal({_shown(self.mean)}, {_shown(self.sd)})"


@dataclass(frozen=True, repr=False)
class InverseGamma:
    """The inverse Gamma distribution, as `scipy.stats.invgamma` with ``scale=scale``: one over a Gamma number.

    Parameters
    ----------
    shape, scale : float

    Examples
    --------
    >>> import copartition as cp
    >>> cp.InverseGamma(2, 0.5)
    InverseGamma(2, 0.5)
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", positive_number("shape", self.shape))
        object.__setattr__(self, "scale", positive_number("scale", self.scale))

    def log_density(self, x: Any) -> np.ndarray:
        """Return the log of the density at positive numbers."""
        x = np.asarray(x, dtype=np.float64)
        constant = self.shape * math.log(self.scale) - math.lgamma(self.shape)
        return constant - (self.shape + 1.0) * np.log(x) - self.scale / x

    def __repr__(self) -> str:
        return f"InverseGamma({short_number(self.shape)}, {short_number(self.scale)})"


@dataclass(frozen=True, repr=False)
class LogUniform:
    """A number between two others whose logarithm is uniform.

    Parameters
    ----------
    low, high : float

    Examples
    --------
    >>> import copartition as cp
    >>> cp.LogUniform(0.1, 10)
    LogUniform(0.1, 10)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", positive_number("low", self.low))
        object.__setattr__(self, "high", positive_number("high", self.high))
        if not self.low < self.high:
            raise ValueError(f"high must be above low, {self.low:g}, got {self.high:g}.")

    def log_density(self, x: Any) -> np.ndarray:
        """Return the log of the density at positive numbers."""
        x = np.asarray(x, dtype=np.float64)
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(x) - math.log(math.log(self.high / self.low)), -np.inf)

    def __repr__(self) -> str:
        return f"LogUniform({short_number(self.low)}, {short_number(self.high)})"


@dataclass(frozen=True, repr=False)
class Beta:
    """The Beta distribution of a number between 0 and 1.

    Parameters
    ----------
    a, b : float

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Beta(1, 3)
    Beta(1, 3)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive_number("a", self.a))
        object.__setattr__(self, "b", positive_number("b", self.b))

    def log_density(self, x: Any) -> np.ndarray:
        """Return the log of the density at numbers between 0 and 1."""
        x = np.asarray(x, dtype=np.float64)
        constant = math.lgamma(self.a + self.b) - math.lgamma(self.a) - math.lgamma(self.b)
        return constant + (self.a - 1.0) * np.log(x) + (self.b - 1.0) * np.log1p(-x)

    def __repr__(self) -> str:
        return f"Beta({short_number(self.a)}, {short_number(self.b)})"


PositiveDistribution = Gamma | InverseGamma | LogUniform
DISTRIBUTIONS = (Gamma, InverseGamma, LogUniform)
NODES = 64  # of a grid
TAIL = 1e-7  # of a distribution that grids leave out on either side
FURTHEST = 5.0  # standard deviations of a normal distribution


def grid_of(name: str, distribution: Any, low: float, high: float, of_data: bool = True) -> OnGrid:
    """Return the grid of an unknown hyperparameter.

    The middles of `NODES` cells of equal width, of a positive number in logs.

    Cells cover the distribution but for its far tails, as far as it lies between `low` and `high`, beyond which the
    data speak against every value. All of a `LogUniform` distribution is covered.
    """
    import scipy.stats

    if isinstance(distribution, LogUniform):
        first, last = distribution.low, distribution.high
    elif isinstance(distribution, Beta):
        first, last = 0.0, 1.0
    elif isinstance(distribution, Normal):
        first, last = (
            float(distribution.mean - FURTHEST * distribution.sd),
            float(distribution.mean + FURTHEST * distribution.sd),
        )
    else:
        frozen = (
            scipy.stats.gamma(distribution.shape, scale=1.0 / distribution.rate)
            if isinstance(distribution, Gamma)
            else scipy.stats.invgamma(distribution.shape, scale=distribution.scale)
        )
        first, last = float(frozen.ppf(TAIL)), float(frozen.isf(TAIL))
    if not isinstance(distribution, LogUniform | Beta) and max(first, low) < min(last, high):
        first, last = max(first, low), min(last, high)
    in_logs = isinstance(distribution, DISTRIBUTIONS)
    ends = np.log([max(first, 1e-300), last]) if in_logs else np.array([first, last])
    middles = ends[0] + (np.arange(NODES) + 0.5) / NODES * (ends[1] - ends[0])
    values = np.exp(middles) if in_logs else middles
    log_prior = distribution.log_density(values) + (middles if in_logs else 0.0)
    return OnGrid(name, values, log_prior, of_data, distribution)


def check_positive_distribution(name: str, value: Any) -> PositiveDistribution | None:
    """Return a distribution of a positive number, None if `value` is none; refuse other distributions."""
    if isinstance(value, DISTRIBUTIONS):
        return value
    if isinstance(value, Normal | Beta):
        raise TypeError(
            f"{name} must be a number, a Gamma, an InverseGamma or a LogUniform distribution, got {value!r}."
        )
    return None


def _shown(value: Any) -> str:
    return short_number(float(value)) if np.ndim(value) == 0 else repr(np.asarray(value).tolist())
