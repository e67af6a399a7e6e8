"""What all couplings have in common, and three that need no matching: maximal, common random numbers, independent."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import Kernel, hook
from copartition.core.random import draw
from copartition.core.state import Rule, partner_signature
from copartition.validation import probability

partner = hook(partner_signature, "pair, n_x, n_y, total_x, total_y, i, u")
partner.__doc__ = """\
Decorator of a coupling's compiled function; see `copartition.couplings`.

Examples
--------
>>> import copartition as cp
>>> @cp.couplings.partner
... def same_place(pair, n_x, n_y, total_x, total_y, i, u):
...     return min(i, n_y - 1)
>>> same_place.function.__name__
'same_place'
"""


class Coupling:
    """A way of running two chains together.

    Parameters
    ----------
    nugget : float, default 0
        Probability of drawing a point's two clusters independently instead. Makes a meeting possible from every pair
        of states, at the price of slower meetings.

    Examples
    --------
    >>> import copartition as cp
    >>> isinstance(cp.Transport(), cp.couplings.Coupling), isinstance(cp.couplings.Path(), cp.couplings.Coupling)
    (True, True)
    >>> cp.couplings.Maximal(nugget=0.01).nugget
    0.01
    >>> cp.couplings.Maximal() == cp.couplings.Maximal(), cp.couplings.Maximal() == cp.couplings.Maximal(nugget=0.01)
    (True, False)
    """

    name: str
    partner: Kernel
    uses_matching = False
    """Whether the function looks at ``pair.matched``, which clusters go with each other."""
    whole_sweeps = False
    """Whether chains that are close are coupled over whole sweeps (`copartition.core.sweeps`)."""

    def __init__(self, nugget: float = 0.0) -> None:
        self.nugget = probability("nugget", nugget)

    def suited(self, palette: int) -> Coupling:
        """Return this coupling, or one of its kind that suits targets with a palette of so many labels (0: none)."""
        return self

    def reach_for(self, n_points: int) -> int:
        """Return the largest number of points in which chains may differ for a sweep to be coupled as a whole."""
        return -1

    def rule(self, n_points: int) -> Rule:
        """Return the coupling as kernels take it."""
        return Rule(self.partner, self.nugget, int(self.uses_matching), self.reach_for(n_points))

    def gains(self, n_points: int) -> np.ndarray:
        """Return ``Pair.gains``, for couplings that use it."""
        return np.zeros(1, dtype=np.int64)

    def _shown(self) -> dict[str, Any]:
        return {"nugget": self.nugget} if self.nugget else {}

    def _parameters(self) -> dict[str, Any]:
        """Return all that tells couplings of one class apart; compiled functions follow from it."""
        return {name: value for name, value in vars(self).items() if not isinstance(value, Kernel)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Coupling):
            return NotImplemented
        return type(self) is type(other) and self._parameters() == other._parameters()

    def __hash__(self) -> int:
        return hash((type(self), self.nugget))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in self._shown().items())
        return f"{type(self).__name__}({arguments})"


@partner
def maximal(pair, n_x, n_y, total_x, total_y, i, u):
    """Return label i with the probability that both give it, otherwise a label that y has more often than x."""
    x, y = pair.x.weights, pair.y.weights
    level = u * (x[i] / total_x)
    shared = min(x[i] / total_x, y[i] / total_y) if i < n_y else 0.0
    if level < shared:
        return i
    excess = 0.0
    for k in range(n_y):
        excess += max(0.0, y[k] / total_y - (x[k] / total_x if k < n_x else 0.0))
    level = (level - shared) / (x[i] / total_x - shared) * excess
    if excess == 0.0:
        return draw(y, n_y, u * total_y)  # nothing is left over but a rounding error
    chosen = -1
    for k in range(n_y):
        surplus = y[k] / total_y - (x[k] / total_x if k < n_x else 0.0)
        if surplus > 0.0:
            chosen = k
            level -= surplus
            if level < 0.0:
                break
    return chosen


class Maximal(Coupling):
    """The same label with the largest possible probability (Jerrum 1998).

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, coupling=cp.couplings.Maximal(), replicates=50, lag=5, seed=1)
    >>> m.coupling, m.censored
    ('Maximal()', 0)
    """

    name = "maximal"
    partner = maximal


@partner
def common(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the label of y at the same quantile: u places the uniform number in the interval that made x choose i."""
    weights = pair.x.weights
    before = 0.0
    for k in range(i):
        before += weights[k]
    quantile = (before + u * weights[i]) / total_x
    return draw(pair.y.weights, n_y, quantile * total_y)


class Common(Coupling):
    """One uniform number for both chains, clusters in order of their labels (Gibbs 2004).

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, coupling=cp.couplings.Common(), replicates=50, lag=5, seed=1)
    >>> m.coupling, m.censored
    ('Common()', 0)
    """

    name = "common"
    partner = common


@partner
def independent(pair, n_x, n_y, total_x, total_y, i, u):
    """Return a draw from y's own distribution."""
    return draw(pair.y.weights, n_y, u * total_y)


class Independent(Coupling):
    """Chains that know nothing of each other, for comparison.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, coupling=cp.couplings.Independent(), replicates=50, lag=5, seed=1)
    >>> m.coupling, m.censored
    ('Independent()', 0)
    """

    name = "independent"
    partner = independent
