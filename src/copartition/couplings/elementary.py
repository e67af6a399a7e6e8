"""The couplings that need no matching and no transport: maximal, common random numbers, independent."""

from __future__ import annotations

from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner


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
