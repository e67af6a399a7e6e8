"""Common random numbers: one uniform number, turned into a label by both chains' distribution functions."""

from __future__ import annotations

from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner


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
