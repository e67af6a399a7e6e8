"""The independent coupling: two draws that have nothing to do with each other."""

from __future__ import annotations

from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner


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
