"""The moves that there are. A step is a list of them; a new one is a file of `copartition.core` and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from copartition.core.compiling import Kernel
from copartition.core.hyperparameters import draw_alone, draw_together
from copartition.core.in_place import move_in_place
from copartition.core.joint_updates import update_alone, update_together
from copartition.core.proposals import split_merge_alone, split_merge_together
from copartition.core.room import UpdatePlan, room_for_moves, room_for_updates
from copartition.core.split_merge import move_beside
from copartition.core.state import Model, Room, SplitMerge, Stepper
from copartition.core.sweeps import sweep_alone, sweep_together
from copartition.core.whole_sweeps import sweep_path
from copartition.couplings.base import Coupling
from copartition.targets.base import Target


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


def split_merge(target: Target, number: int, partners: np.ndarray) -> Move:
    """Return so many split-merge moves; in the chain itself where clusters have no densities of their own."""
    move = move_in_place if target.hooks.in_place else move_beside
    room = partial(room_for_moves, move=move, number=number, partners=partners)
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
