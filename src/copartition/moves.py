"""What chains do in a step, seen from Python: how many split-merge moves, which coupling, and room for both."""

from __future__ import annotations

from typing import Any

from copartition.compiled.state import Moves, moves_of
from copartition.couplings.base import Coupling
from copartition.targets.base import Target
from copartition.validation import integer, shorten


def moves_for(target: Target, split_merge: int, coupling: Coupling | None = None) -> Moves:
    """Return what chains with this target do in a step; the coupling may be left out for one chain."""
    coupled: dict[str, Any] = {}
    if coupling is not None:
        reach = coupling.reach_for(target.n_points)
        coupled = {"nugget": coupling.nugget, "matching": coupling.matching, "reach": reach}
    return moves_of(target.model, split_merge=split_merge, has_log_merge=target.has_log_merge, **coupled)


def check_split_merge(target: Target, value: Any, name: str = "split_merge") -> int:
    """Return a number of split-merge moves that the target can make."""
    count = integer(name, value, 0)
    if count > 0 and not target.is_exchangeable:
        raise ValueError(
            f"{name} must be 0 for {shorten(target)}, got {count}: split-merge moves need a target with a density for "
            "growing clusters, such as Mixture, or one that is made with exchangeable=True."
        )
    return count
