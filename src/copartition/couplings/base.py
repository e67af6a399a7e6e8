"""What all couplings have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import Kernel, hook
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
    """Whether chains that are close are coupled over whole sweeps (`copartition.core.whole_sweeps`)."""

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
