"""Laws of single numbers, for what is not known beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.validation import positive_number, shorten


@dataclass(frozen=True, repr=False)
class Gamma:
    """The Gamma law, with density proportional to ``x**(shape - 1) * exp(-rate * x)``.

    Parameters
    ----------
    shape : float
    rate : float
        One over the scale: the mean is ``shape / rate``.

    Examples
    --------
    >>> from copartition.targets.laws import Gamma
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


def law_of_counts(name: str, value: Any) -> Any:
    """Return a frozen law on 1, 2, ..., or refuse what is none."""
    import scipy.stats
    from scipy.stats.distributions import rv_frozen

    law: Any = value
    if (
        isinstance(law, scipy.stats.rv_discrete) and getattr(law, "numargs", 1) == 0
    ):  # of given values, say: nothing to freeze it at
        law = law()
    if not (isinstance(law, rv_frozen) and isinstance(law.dist, scipy.stats.rv_discrete)):
        raise TypeError(f"{name} must be a frozen discrete law of scipy.stats such as geom(0.1), got {shorten(value)}.")
    first = float(law.support()[0])
    if np.isnan(first):
        raise ValueError(f"{name} must be a law with valid parameters, got {law_repr(law)}.")
    if first < 1.0 and law.cdf(0) > 0.0:
        raise ValueError(
            f"{name} must be a law on 1, 2, ..., got {law_repr(law)}, which may be 0 or less; loc=1 shifts it."
        )
    if not np.isfinite(first) or not first.is_integer():
        raise ValueError(f"{name} must be a law on whole numbers 1, 2, ..., got {law_repr(law)}.")
    return law


def law_repr(law: Any) -> str:
    """Return the text that makes a frozen law."""
    arguments = [repr(value) for value in law.args] + [f"{name}={value!r}" for name, value in law.kwds.items()]
    if hasattr(law.dist, "xk"):
        values = f"({law.dist.xk.tolist()}, {law.dist.pk.tolist()})"
        return f"scipy.stats.rv_discrete(values={values})" + (f"({', '.join(arguments)})" if arguments else "")
    return f"scipy.stats.{law.dist.name}({', '.join(arguments)})"
