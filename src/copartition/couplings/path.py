"""Whole sweeps at once: chains that are close make the same sweep with the largest possible probability."""

from __future__ import annotations

from typing import Any

from copartition.couplings.matched import Matched
from copartition.validation import integer

REACH = 100


class Path(Matched):
    """The maximal coupling of whole sweeps where chains are close, matched clusters where they are not.

    Parameters
    ----------
    reach : int, default 100
        Chains are close if they differ in at most so many points, clusters that go with each other taken as one. A
        sweep as a whole succeeds or fails; from further away it fails nearly always, and costs more.
    nugget : float, default 0
        In sweeps that are coupled point by point: the probability of drawing a point's two clusters independently.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Path()
    Path()
    """

    name = "path"

    def __init__(self, reach: int = REACH, nugget: float = 0.0) -> None:
        super().__init__(nugget)
        self.reach = integer("reach", reach, 0)

    def _shown(self) -> dict[str, Any]:
        return ({"reach": self.reach} if self.reach != REACH else {}) | super()._shown()
