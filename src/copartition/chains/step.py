"""What chains do in a step, and which targets can do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.core.compiling import Kernel
from copartition.core.room import NO_BLOCKS, NO_PARTNERS, BlockPlan, empty_chain, moves_of, widths_of
from copartition.core.state import Coupled, Stepper
from copartition.core.steps import grow_row, log_weights, step_chain, step_pair
from copartition.couplings.base import Coupling
from copartition.couplings.independent import Independent
from copartition.targets.base import Target
from copartition.validation import integer, shorten

TRIED = 6  # points on which a promise is tried


@dataclass(frozen=True)
class Step:
    """What chains do in a step, one alone and two together. A run carries one.

    Attributes
    ----------
    split_merge : int
        Moves after the sweep.
    coupling : Coupling
        By which two chains are run together.
    partners : int32 array
        Near points for split-merge moves; none: any two points make a move.
    blocks : BlockPlan
        Updates of blocks after the moves.
    alone, together : Kernel
        The compiled functions.
    """

    split_merge: int = 0
    coupling: Coupling = field(default_factory=Independent)
    partners: np.ndarray = field(default_factory=lambda: NO_PARTNERS, repr=False)
    blocks: BlockPlan = field(default=NO_BLOCKS, repr=False)
    alone: Kernel = step_chain
    together: Kernel = step_pair

    def stepper(self, target: Target) -> Stepper:
        """Return what one chain does as kernels take it, with room of its own."""
        return Stepper(self.alone, moves_of(target.model, self.split_merge, self.partners, self.blocks))

    def coupled(self, target: Target) -> Coupled:
        """Return what two chains do together as kernels take it."""
        return Coupled(self.together, self.coupling.rule(target.n_points))

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All compiled functions that it takes."""
        return self.alone, self.together, self.coupling.partner


def check_split_merge(target: Target, value: Any, name: str = "split_merge") -> int:
    """Return a number of split-merge moves that the target can make."""
    count = integer(name, value, 0)
    if count > 0 and (reason := objection_to_moves(target)):
        raise ValueError(f"{name} must be 0 for {shorten(target)}, got {count}: {reason}.")
    return count


def objection_to_moves(target: Target) -> str:
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
    chain = empty_chain(target.n_points, widths_of(target.model), 4)
    total = 0.0
    for n in points:
        log_weights(target.model, target.law, chain, 2, int(n))
        total += chain.weights[0]
        grow_row(target.model, target.law, chain, int(n), 0)
        chain.labels[n] = 0 if labelled else -1
    return total
