"""Whole sweeps at once: chains that are close make the same sweep with the largest possible probability."""

from __future__ import annotations

from typing import Any

from copartition.couplings.base import Coupling
from copartition.couplings.matched import Matched
from copartition.couplings.transport import Transport
from copartition.validation import integer, shorten

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
