"""Couplings: what the second chain does, given what the first one did. One file a coupling.

A point has been taken out of both chains. Chain x puts it into cluster i with probability ``x.weights[i] / total_x``,
chain y into j with probability ``y.weights[j] / total_y``. A coupling is a compiled function

    partner(pair, n_x, n_y, total_x, total_y, i, u) -> j

that answers, for the choice i of x and a number u from [0, 1), with the choice of y. It contains no chance itself, and
it is right if j has the distribution of y's choice when i has that of x's and u is uniform. ``n_x`` and ``n_y`` are the
numbers of choices, ``pair`` is a reference to the `copartition.core.state.Pair` (read ``pair.x.weights``).
A choice of weight 0 is never right. For fixed i, let each j answer to one interval of u: then the distribution of the
coupling can be computed exactly, by finding the ends of these intervals, and is, in the tests
(`tests/distributions.py`). `couplings/base.py` is the shortest example.
"""

from __future__ import annotations

from typing import Any

from copartition.core.compiling import Kernel
from copartition.couplings.base import Common, Coupling, Independent, Maximal, partner
from copartition.couplings.matched import Matched, Path
from copartition.couplings.transport import Transport
from copartition.validation import shorten

__all__ = ["Common", "Coupling", "Independent", "Matched", "Maximal", "Path", "Transport", "partner"]

COUPLINGS: dict[str, type[Coupling]] = {c.name: c for c in (Path, Matched, Transport, Maximal, Common, Independent)}


def check_coupling(value: Any) -> Coupling:
    """Return a coupling given by its name or as an object."""
    if isinstance(value, Coupling):
        if not isinstance(getattr(value, "partner", None), Kernel):
            raise TypeError(
                f"coupling {type(value).__name__} must have a partner, a function decorated with "
                "copartition.couplings.partner."
            )
        return value
    if isinstance(value, str) and value in COUPLINGS:
        return COUPLINGS[value]()
    names = ", ".join(repr(name) for name in COUPLINGS)
    raise ValueError(f"coupling must be {names} or an object such as Transport(metric='vi'), got {shorten(value)}.")
