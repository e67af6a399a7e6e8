"""What chains do in a step where it was not chosen: what the benchmarks found to be best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from copartition.chains.chain import advance_chain
from copartition.chains.neighbours import BlockUpdates, as_updates, partners_of, plan_blocks
from copartition.chains.start import check_start, start_chain
from copartition.chains.step import Step, check_split_merge, dealt_by, objection_to_moves
from copartition.core.random import stream
from copartition.core.room import NO_BLOCKS, NO_PARTNERS, BlockPlan
from copartition.couplings import check_coupling
from copartition.targets.base import Target
from copartition.validation import shorten

DEFAULT_COUPLING, PALETTE_COUPLING = "path", "transport"

# What a move costs, in updates of one point: half of one for each point that it deals out, and a little for looking at
# all points (`benchmarks/README.md`). "auto" spends half of a sweep on moves: enough for chains to leave states that
# are not split enough, and no more, because moves do not make averages of a chain that has burnt in more precise.
COST_OF_DEALING = 0.5
COST_OF_LOOKING = 0.01
SHARE = 0.5
# Where clusters have no densities of their own, as in networks, chains get nowhere without moves, and small groups of
# points go from cluster to cluster together: twice the cost of a sweep for moves, and once for updates of blocks.
SHARE_IN_PLACE = 2.0
COST_OF_UPDATE = 21  # of an update of two to eight points in four ways, in updates of one point
LEAST_POINTS, MOST_POINTS = 2, 8
MOST = 20
TRIED = 10
POINTS = 200_000  # updates of points in each half of the trial, at most

REMEMBERED = 8  # targets

# What "auto" came to, and lists of near points, by the fingerprint and the promise of the target.
_chosen: dict[tuple[str, bool], int] = {}
_partners: dict[tuple[str, bool], np.ndarray] = {}
_dealt_out: dict[tuple[str, bool], float] = {}


def choose_step(target: Target, coupling: Any = None, split_merge: Any = None, blocks: Any = None) -> Step:
    """Return what chains do in a step, for what was given and what was left out (None).

    Who names a coupling gets that and nothing else: ``coupling="transport"`` alone is the method of the paper.
    """
    if split_merge is None:
        split_merge = "auto" if coupling is None else 0
    chosen = check_coupling(default_coupling(target) if coupling is None else coupling).suited(target.model.palette)
    moves = choose_split_merge(target, split_merge)
    if coupling is None and blocks is None:
        blocks = default_blocks(target)
    return Step(moves, chosen, _partners_of(target) if moves else NO_PARTNERS, choose_blocks(target, blocks))


def default_blocks(target: Target) -> BlockUpdates | None:
    """Return the updates of blocks if nothing was chosen: some for targets that split and merge in place."""
    if not target.law.in_place or target.n_points < 2:
        return None
    number = int(np.clip(round(target.n_points / COST_OF_UPDATE), 1, MOST))
    return BlockUpdates(number, least=LEAST_POINTS, most=MOST_POINTS)


def default_coupling(target: Target) -> str:
    """Return the coupling that serves a target best: whole sweeps, or that of the paper where labels are a palette."""
    return PALETTE_COUPLING if target.model.palette else DEFAULT_COUPLING


def choose_blocks(target: Target, value: Any) -> BlockPlan:
    """Return the updates of blocks that were asked for, by their number or in detail; none where nothing was."""
    blocks = as_updates(value)
    if blocks is None or blocks.number == 0:
        return NO_BLOCKS
    if reason := objection_to_moves(target):
        raise ValueError(f"blocks must be 0 for {shorten(target)}, got {blocks.number}: {reason}.")
    return plan_blocks(target, blocks)


def choose_split_merge(target: Target, value: Any) -> int:
    """Return a number of split-merge moves, ``"auto"`` from their cost."""
    if not isinstance(value, str):
        return check_split_merge(target, value)
    if value != "auto":
        raise ValueError(f"split_merge must be a whole number or 'auto', got {shorten(value)}.")
    return _remembered(_chosen, target, _auto)


def _partners_of(target: Target) -> np.ndarray:
    return _remembered(_partners, target, partners_of)


def _remembered(known: dict[tuple[str, bool], Any], target: Target, find: Callable[[Target], Any]) -> Any:
    """Return what was found for a target before, or find it."""
    key = (target.fingerprint, target.is_exchangeable)
    if key not in known:
        known[key] = find(target)
        while len(known) > REMEMBERED:
            del known[next(iter(known))]
    return known[key]


def _auto(target: Target) -> int:
    if target.n_points < 2 or objection_to_moves(target):
        return 0
    share = SHARE_IN_PLACE if target.law.in_place else SHARE
    return int(np.clip(round(share * target.n_points / cost_of_moves(target, 1)), 1, MOST))


def cost_of_moves(target: Target, count: int) -> float:
    """Return what so many split-merge moves cost, in updates of one point."""
    if count == 0:
        return 0.0
    return count * (COST_OF_DEALING * _remembered(_dealt_out, target, _dealt) + COST_OF_LOOKING * target.n_points)


def _dealt(target: Target) -> float:
    """Return how many points a move deals out on average, along a short chain.

    Counted, not timed, and with random numbers of its own, so that it is the same on every machine and for every seed.
    """
    sweeps = int(np.clip(POINTS // target.n_points, 1, 20))
    random = stream(0, int.from_bytes(b"auto", "big"))
    target = target.of_chain()
    chain = start_chain(target, check_start(target, None), random)
    step = Step(TRIED, partners=_partners_of(target))
    chain = advance_chain(target, step, chain, random, sweeps)
    stepper = step.stepper(target)
    advance_chain(target, stepper, chain, random, sweeps)
    return dealt_by(stepper) / (sweeps * TRIED)
