"""The moves that there are. A step is a list of them; a new one is a file of `copartition.core` and a line here.

Lists of near points, the partners of split-merge moves and of joint updates, are fixed before any chain starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from copartition.core.compiling import Kernel
from copartition.core.hyperparameters import draw_alone, draw_together
from copartition.core.in_place import move_in_place
from copartition.core.joint_updates import update_alone, update_together
from copartition.core.neighbours import rank_neighbours
from copartition.core.proposals import split_merge_alone, split_merge_together
from copartition.core.room import (
    NO_PARTNERS,
    NO_UPDATES,
    UpdatePlan,
    empty_chain,
    room_for_moves,
    room_for_updates,
    widths_of,
)
from copartition.core.split_merge import move_beside
from copartition.core.state import Model, Room, SplitMerge, Stepper
from copartition.core.sweeps import sweep_alone, sweep_path, sweep_together
from copartition.couplings.base import Coupling
from copartition.targets.base import Target
from copartition.validation import integer, shorten


def no_room(model: Model) -> Room:
    """Return the room of a move that needs none."""
    return Room()


class Move(NamedTuple):
    """A move.

    Attributes
    ----------
    alone, together : Kernel
        The compiled functions for one chain and for two.
    room : callable
        Makes room for a model, and settings with it, for the use of one run.
    calls : tuple of Kernel
        Other compiled functions that these two call through the room.
    moves_points : bool
        Whether it changes the partition.
    """

    alone: Kernel
    together: Kernel
    room: Callable[[Model], Room] = no_room
    calls: tuple[Kernel, ...] = ()
    moves_points: bool = True


def sweep(coupling: Coupling) -> Move:
    """Return a sweep over all points, which two chains make as a whole or point by point."""
    return Move(sweep_alone, sweep_path if coupling.whole_sweeps else sweep_together)


def split_merge(target: Target, number: int, partners: np.ndarray, guides: np.ndarray) -> Move:
    """Return so many split-merge moves; in the chain itself where clusters have no densities of their own."""
    move = move_in_place if target.hooks.in_place else move_beside
    room = partial(room_for_moves, move=move, number=number, partners=partners, guides=guides)
    return Move(split_merge_alone, split_merge_together, room, (move,))


def joint_updates(plan: UpdatePlan) -> Move:
    """Return updates of several points together."""
    return Move(update_alone, update_together, partial(room_for_updates, plan=plan))


def hyperparameters() -> Move:
    """Return draws of all unknown hyperparameters; the last move of a step."""
    return Move(draw_alone, draw_together, moves_points=False)


def stepper_of(moves: Sequence[Move], model: Model) -> Stepper:
    """Return what one chain does in a step as kernels take it, with room of its own."""
    rooms = tuple(move.room(model) for move in moves)
    moving = sum(move.moves_points for move in moves)
    return Stepper(tuple(move.alone for move in moves), rooms, len(moves), moving)


def dealt_by(stepper: Stepper) -> int:
    """Return how many points split-merge moves have dealt out so far."""
    return sum(int(room.dealt[0]) for room in stepper.rooms if isinstance(room, SplitMerge))


PARTNERS = 64
COMPARISONS = 50_000_000  # of two points; where there are more, points are compared with evenly spaced ones


MOST_TRIES = 1000  # ways of dealing out the points of one update, which is not interrupted


@dataclass(frozen=True)
class JointUpdates:
    """Joint updates after every sweep: points that lie near each other are dealt out to clusters anew, all at once.

    They help where clusters of a few points come and go, and cost time where they do not: `tune` finds out. Every one
    deals out a few near points in `tries` ways, looking ahead to what a new cluster would gain, and takes one of these
    ways such that the chain keeps its distribution.

    Parameters
    ----------
    number : int
        How many after every sweep.
    points : sequence of int, optional
        The points that are updated so, those of which it is uncertain where they belong; all of them if left out.
    tries : int, default 4
        Ways of dealing in each update.
    least, most : int, default 4 and 12
        How many points an update deals out.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.JointUpdates(20)
    JointUpdates(number=20, points=None, tries=4, least=4, most=12)
    """

    number: int
    points: Sequence[int] | np.ndarray | None = None
    tries: int = 4
    least: int = 4
    most: int = 12

    def __post_init__(self) -> None:
        integer("number of JointUpdates", self.number, 0)
        if integer("tries of JointUpdates", self.tries, 1) > MOST_TRIES:
            raise ValueError(f"tries of JointUpdates must be at most {MOST_TRIES:,}, got {self.tries}.")
        integer("least of JointUpdates", self.least, 1)
        if integer("most of JointUpdates", self.most, 1) < self.least:
            raise ValueError(f"most of JointUpdates must be at least its least, {self.least}, got {self.most}.")
        if self.points is not None:
            points = np.asarray(self.points)
            if points.ndim != 1 or len(points) == 0 or points.dtype.kind not in "iu" or points.min() < 0:
                raise ValueError(f"points of JointUpdates must be numbers of points, got {shorten(self.points)}.")
            object.__setattr__(self, "points", tuple(np.unique(points).tolist()))

    def __str__(self) -> str:
        return f"{self.number}" + ("" if self.points is None else f" (of {len(self.points)} points)")


def as_joint_updates(value: Any) -> JointUpdates:
    """Return joint updates that were asked for by their number, or in detail."""
    return value if isinstance(value, JointUpdates) else JointUpdates(integer("joint_updates", value, 0))


def nearest(target: Target, points: np.ndarray, candidates: np.ndarray, width: int) -> np.ndarray:
    """Return the candidates that are nearest to each point, the nearest first, -1 where there are not so many."""
    if target.hooks.in_place:
        return target.nearest(points, candidates, width)
    chain = empty_chain(target.n_points, widths_of(target.model), len(candidates) + 1)
    found = np.full((len(points), width), -1, dtype=np.int32)
    rank_neighbours(target.model, target.hooks, chain, points, candidates, np.zeros(width), found)
    return found


def _compared(points: np.ndarray) -> np.ndarray:
    """Return the points that each of them is compared with."""
    most = max(2 * PARTNERS, COMPARISONS // len(points))
    return points[np.unique(np.linspace(0, len(points) - 1, min(len(points), most)).astype(np.int64))]


def partners_of(target: Target) -> np.ndarray:
    """Return the nearest points of each point, with which it mostly makes a split-merge move."""
    everyone = np.arange(target.n_points)
    candidates = _compared(everyone)
    found = nearest(target, everyone, candidates, min(PARTNERS, len(candidates) - 1))
    # A point without near ones, such as a vertex without edges, makes its moves with any other one (`draw_partner`).
    return found if found.max(initial=-1) >= 0 else NO_PARTNERS


def plan_updates(target: Target, updates: JointUpdates) -> UpdatePlan:
    """Return joint updates as kernels take them, with the lists of near points."""
    anchors = np.arange(target.n_points) if updates.points is None else np.array(updates.points, dtype=np.int64)
    anchors = anchors[target.constraint.labels[anchors] < 0]  # others stay
    if len(anchors) == 0:
        return NO_UPDATES
    most = min(updates.most, len(anchors))
    near = np.full((target.n_points, most), -1, dtype=np.int32)
    near[anchors] = nearest(target, anchors, _compared(anchors), most)
    return UpdatePlan(updates.number, updates.tries, min(updates.least, most), most, anchors, near)
