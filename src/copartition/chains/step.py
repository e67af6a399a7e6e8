"""What chains do in a step, and which targets can do it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from copartition.core.compiling import Kernel
from copartition.core.in_place import move_in_place
from copartition.core.joint_updates import update_alone, update_together
from copartition.core.numbers import draw_alone, draw_together
from copartition.core.proposals import split_merge_alone, split_merge_together
from copartition.core.room import (
    NO_BLOCKS,
    NO_PARTNERS,
    BlockPlan,
    empty_chain,
    room_for_moves,
    room_for_updates,
    widths_of,
)
from copartition.core.split_merge import move_beside
from copartition.core.state import Chain, Coupled, Room, SplitMerge, Stepper
from copartition.core.steps import grow_row, log_weights, merge_and_odds, reset_chain
from copartition.core.sweeps import sweep_alone, sweep_together
from copartition.core.whole_sweeps import sweep_path
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
    """

    split_merge: int = 0
    coupling: Coupling = field(default_factory=Independent)
    partners: np.ndarray = field(default_factory=lambda: NO_PARTNERS, repr=False)
    blocks: BlockPlan = field(default=NO_BLOCKS, repr=False)

    def stepper(self, target: Target) -> Stepper:
        """Return what one chain does as kernels take it, with room of its own."""
        return stepper_of(target, self.split_merge, self.partners, self.blocks)

    def coupled(self, target: Target) -> Coupled:
        """Return what two chains do together as kernels take it."""
        moves = moves_of(target, self.split_merge, self.blocks)
        sweep = sweep_path if self.coupling.whole_sweeps else sweep_together
        return Coupled((sweep, *[one.together for one in moves[1:]]), self.coupling.rule(target.n_points))

    def kernels(self, target: Target, coupled: bool = True) -> list[Kernel]:
        """Return all compiled functions that one chain takes, and two, if they are `coupled`."""
        stepper = self.stepper(target)
        return [*stepper.moves, *([*self.coupled(target).moves, self.coupling.partner] if coupled else [])]


class Move(NamedTuple):
    """A move: its functions for one chain and for two, and what they work with."""

    alone: Kernel
    together: Kernel
    room: Room


def moves_of(
    target: Target, split_merge: int, blocks: BlockPlan = NO_BLOCKS, partners: np.ndarray = NO_PARTNERS
) -> list[Move]:
    """Return the moves of a step in their order: a sweep, then others, and draws of unknown numbers last."""
    moves = [Move(sweep_alone, sweep_together, Room())]
    if split_merge > 0:
        move = move_in_place if target.law.in_place else move_beside
        room = room_for_moves(target.model, move, split_merge, partners)
        moves.append(Move(split_merge_alone, split_merge_together, room))
    if blocks.number > 0:
        moves.append(Move(update_alone, update_together, room_for_updates(target.model, blocks)))
    if target.numbers:
        moves.append(Move(draw_alone, draw_together, Room()))
    return moves


def stepper_of(
    target: Target, split_merge: int, partners: np.ndarray = NO_PARTNERS, blocks: BlockPlan = NO_BLOCKS
) -> Stepper:
    """Return what one chain does in a step as kernels take it, with room of its own."""
    moves = moves_of(target, split_merge, blocks, partners)
    rooms = tuple(one.room for one in moves)
    return Stepper(tuple(one.alone for one in moves), rooms, len(moves), len(moves) - bool(target.numbers))


def dealt_by(stepper: Stepper) -> int:
    """Return how many points split-merge moves have dealt out so far."""
    return sum(int(room.dealt[0]) for room in stepper.rooms if isinstance(room, SplitMerge))


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
    if target.law.in_place:
        return _objection_in_place(target)
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


def _objection_in_place(target: Target) -> str:
    """Return why a target whose clusters have no densities of their own can make no moves; nothing if it can.

    A few points are in two clusters, all others in none. One after another leaves the second for the first, and gains
    what `log_predictive` says; in the end the two are one, and the gains add up to `log_merge`. `log_odds` gives the
    same gains.
    """
    labels = np.full(target.n_points, -1, dtype=np.int64)
    points = np.unique(np.linspace(0, target.n_points - 1, TRIED).astype(np.int64))
    if len(points) < 2:
        return ""
    labels[points] = np.arange(len(points)) % 2
    chain = chain_of(target, labels)
    expected = merge_and_odds(target.model, target.law, chain, 0, 1, -1)
    total = 0.0
    for n in points[1::2]:
        labels[n] = -1
        chain = chain_of(target, labels)
        n_clusters = int(labels.max()) + 1
        log_weights(target.model, target.law, chain, n_clusters + 1, int(n))
        gain = chain.weights[0] - chain.weights[1]  # over the second cluster, or over a new one if that was the last
        odds = merge_and_odds(target.model, target.law, chain, 0, 1, int(n)) if n_clusters == 2 else gain
        if not np.isclose(gain, odds, rtol=1e-6, atol=1e-6, equal_nan=True):
            return (
                "its log_odds are not the differences of what its log_predictive gives where points are in no cluster"
            )
        total += gain
        labels[n] = 0
    if not np.isclose(total, expected, rtol=1e-6, atol=1e-6, equal_nan=True):
        return "its log_merge is not what its log_predictive comes to where points move from one cluster to another"
    return ""


def chain_of(target: Target, labels: np.ndarray) -> Chain:
    """Return a chain at a partition of some points, negative labels for all others."""
    chain = empty_chain(target.n_points, widths_of(target.model), 4)
    reset_chain(target.model, target.law, chain, labels)
    return chain


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
