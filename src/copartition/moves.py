"""What chains do in a step, seen from Python: how many split-merge moves, which coupling, and room for both."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition import steps
from copartition.compiled.state import Moves, empty_chain, moves_of
from copartition.couplings.base import Coupling
from copartition.targets.base import Target
from copartition.validation import integer, shorten

TRIED = 6  # points on which a promise is tried


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
    if count > 0 and (reason := why_no_moves(target)):
        raise ValueError(f"{name} must be 0 for {shorten(target)}, got {count}: {reason}.")
    return count


def why_no_moves(target: Target) -> str:
    """Return why a target can make no split-merge moves; nothing if it can.

    A target has to promise what they need. Whether it holds is tried on a few points, because a density that looks at
    labels, or depends on the order of points, would lead to wrong numbers.
    """
    if not target.is_exchangeable:
        return (
            "split-merge moves need a target with a density for growing clusters, such as Mixture, or one that is made "
            "with exchangeable=True"
        )
    points = np.unique(np.linspace(0, target.n_points - 1, TRIED).astype(np.int64))
    forwards, backwards = (_log_density(target, order, labelled=False) for order in (points, points[::-1]))
    labelled = _log_density(target, points, labelled=True)
    values = np.array([forwards, backwards, labelled])
    if not np.allclose(values, values[0], rtol=1e-6, atol=1e-6, equal_nan=True):
        return (
            "its log_predictive does not know clusters by their sizes and sums alone, or depends on the order in which "
            "points join"
        )
    return ""


def _log_density(target: Target, points: np.ndarray, labelled: bool) -> float:
    """Return the log density of some points as one cluster, the product of those of points that join one by one."""
    chain = empty_chain(target.n_points, target.model.points.shape[1], 4)
    total = 0.0
    for count, n in enumerate(points):
        steps.log_weights(target.model, chain, target.log_predictive, 2, int(n))
        total += chain.weights[0]
        chain.sizes[0] = count + 1
        chain.sums[0] += target.model.points[n]
        chain.labels[n] = 0 if labelled else -1
    return total
