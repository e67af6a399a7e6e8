"""Matched clusters, point by point or for a whole sweep: as good as optimal transport, little dearer than two chains.

Before a point is placed, every cluster of x goes with at most one of y, the one with which it has most points in common
(`copartition.core.overlaps`), and the new cluster of x with that of y. Both chains take clusters that go with each
other as often as their distributions allow, ``min(p_i, q_j)``. What their distributions have left over is placed by the
optimal plan between the two remainders, as `copartition.couplings.transport` would, and that plan is computed only if
it is needed.

`Path` couples whole sweeps: chains that are close make the same sweep with the largest possible probability.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import inner, outline
from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner
from copartition.couplings.transport import Transport, hamming_gains, partner_by_plan
from copartition.validation import integer, shorten


@inner
def load_excess(weights, n_choices, total, there, other_weights, other_total, chosen, probabilities):
    """Write the choices that are likelier than those of the other chain that go with them, and by how much."""
    count = 0
    for k in range(n_choices):
        if weights[k] > 0.0:
            excess = weights[k] / total
            if there[k] >= 0:
                excess -= other_weights[there[k]] / other_total
            if excess > 0.0:
                chosen[count] = k
                probabilities[count] = excess
                count += 1
    return count


@outline
def partner_in_remainder(pair, n_x, n_y, total_x, total_y, i, level):
    """Return the choice of y at which the mass in row i of the plan between the remainders passes `level`, or -1."""
    p = pair
    w = p.work
    x, y = p.x.weights, p.y.weights
    m = load_excess(x, n_x, total_x, p.matched.there, y, total_y, w.rows, w.left_x)
    n = load_excess(y, n_y, total_y, p.matched.back, x, total_x, w.columns, w.left_y)
    if m == 0 or n == 0:
        return -1  # nothing is left over but a rounding error
    if n == 1:
        return w.columns[0]
    return partner_by_plan(pair, m, n, i, level)


@partner
def matched(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the cluster that goes with i with the probability that both give them, else one of the remainder."""
    x, y = pair.x.weights, pair.y.weights
    j = pair.matched.there[i]
    mass = x[i] / total_x
    level = u * mass
    shared = min(mass, y[j] / total_y) if j >= 0 else 0.0
    if level < shared:
        return j
    chosen = partner_in_remainder(pair, n_x, n_y, total_x, total_y, i, level - shared)
    if chosen >= 0:
        return chosen
    return j if shared > 0.0 else draw(y, n_y, u * total_y)


class Matched(Coupling):
    """Clusters with the most points in common go together; optimal transport places what is left over.

    Chains meet about as fast as with `Transport`, at less cost. The marginal distributions are exact.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.couplings.Matched()
    Matched()
    """

    name = "matched"
    partner = matched
    uses_matching = True

    def gains(self, n_points: int) -> np.ndarray:
        """Return the gains of the Hamming distance."""
        return hamming_gains(n_points)


REACH = 100


class Path(Matched):
    """The maximal coupling of whole sweeps where chains are close; where they are not, one point after another.

    Parameters
    ----------
    reach : int, optional
        Chains are close if they differ in at most so many points, clusters that go with each other taken as one. A
        sweep as a whole succeeds or fails; from further away it fails nearly always, and costs more. Left out: 100, or
        half of the points where that is less.
    base : {"matched", "transport"}, optional
        How single points are coupled. Left out: matched clusters; optimal transport for targets with a palette of
        labels, such as colourings, whose clusters have less to be matched by.
    nugget : float, default 0
        In sweeps that are coupled point by point: the probability of drawing a point's two clusters independently.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.couplings.Path()
    Path()
    """

    name = "path"
    whole_sweeps = True

    def __init__(self, reach: int | None = None, base: str | None = None, nugget: float = 0.0) -> None:
        super().__init__(nugget)
        self.reach = None if reach is None else integer("reach", reach, 0)
        if base not in (None, "matched", "transport"):
            raise ValueError(f"base must be 'matched' or 'transport', got {shorten(base)}.")
        self.base = base
        if base == "transport":
            self.partner = Transport.partner
            self.uses_matching = False

    def suited(self, palette: int) -> Coupling:
        """Return the same with a base that suits targets with a palette of so many labels (0: none)."""
        if self.base is not None or palette == 0:
            return self
        return Path(self.reach, "transport", self.nugget)

    def reach_for(self, n_points: int) -> int:
        """Return the largest number of points in which chains may differ for a sweep to be coupled as a whole."""
        return min(REACH, n_points // 2) if self.reach is None else self.reach

    def _shown(self) -> dict[str, Any]:
        given = {"reach": self.reach, "base": self.base}
        return {key: value for key, value in given.items() if value is not None} | super()._shown()
