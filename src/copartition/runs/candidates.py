"""Steps that a pilot tries: numbers of split-merge moves, updates of blocks, couplings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from copartition.chains.neighbours import BlockUpdates
from copartition.chains.start import check_start
from copartition.chains.step import Step, objection_to_moves
from copartition.runs.defaults import choose_step, cost_of_moves
from copartition.runs.sampling import DrawJob, run_chains
from copartition.targets.base import Target

BLOCKS = 20  # updates after a sweep
FEWEST_POINTS = 8  # that are uncertain, for updates of blocks to be worth a try

# A point is certain if it has so many companions that it nearly always shares a cluster with.
COMPANIONS, NEARLY_ALWAYS = 10, 0.9
CHAINS, BURN_IN, DRAWS, THINNING = 4, 60, 25, 4

COST_OF_BLOCK = 1.2  # of dealing out a point in one way, in updates of one point (`benchmarks/README.md`)
WAYS_AHEAD = 3  # what looking ahead costs, in ways of dealing


@dataclass(frozen=True)
class Candidate:
    """A step, as it was asked for and as it is made.

    Attributes
    ----------
    coupling, split_merge, blocks
        Arguments of `estimate`.
    step : Step
    cost : float
        Of one chain in a step, in updates of one point.
    """

    coupling: Any
    split_merge: Any
    blocks: Any
    step: Step
    cost: float

    def __str__(self) -> str:
        moves, blocks = self.step.split_merge, self.step.blocks
        words = [f"{moves} split-merge move{'' if moves == 1 else 's'}"]
        words += [f"{blocks.number} updates of blocks of {len(blocks.anchors)} points"] if blocks.number else []
        return f"{self.step.coupling.name} coupling, {' and '.join(words)} after a sweep"


def candidate(target: Target, coupling: Any, split_merge: Any, blocks: Any) -> Candidate:
    """Return a step and what it costs, counted, not timed."""
    step = choose_step(target, coupling, split_merge, blocks)
    plan = step.blocks
    size = (plan.most - plan.least) / np.log(plan.most / plan.least) if plan.most > plan.least > 0 else plan.most
    of_blocks = plan.number * size * (plan.tries + 1 + WAYS_AHEAD) * COST_OF_BLOCK
    cost = target.n_points + cost_of_moves(target, step.split_merge) + float(of_blocks)
    return Candidate(coupling, step.split_merge, blocks, step, cost)


def cheaper_candidates(target: Target, coupling: Any, split_merge: Any, blocks: Any) -> list[Candidate]:
    """Return steps that may be cheaper where pairs are quick to meet, for what was not chosen (None)."""
    found = []
    if coupling is None and split_merge is None and choose_step(target).split_merge > 1:
        found.append(candidate(target, coupling, 1, blocks))
    if coupling is None and target.model.palette:
        found.append(candidate(target, "path", split_merge, blocks))
    return found


def block_candidates(
    target: Target, first: Candidate, init: Any, seed: int, executor: Any, progress: bool
) -> list[Candidate]:
    """Return steps with updates of blocks, of points that ordinary chains are uncertain of; none if they are of few."""
    if objection_to_moves(target):
        return []
    points = uncertain_points(target, first.step, init, seed, executor, progress)
    if len(points) < FEWEST_POINTS:
        return []
    return [candidate(target, first.coupling, first.split_merge, BlockUpdates(BLOCKS, points))]


def uncertain_points(target: Target, step: Step, init: Any, seed: int, executor: Any, progress: bool) -> np.ndarray:
    """Return the points that share a cluster nearly always with fewer than ten of their nearest, by a few chains."""
    partners = choose_step(target, None, 1).partners
    if partners.size == 0:
        return np.arange(target.n_points)
    job = DrawJob(target, step, check_start(target, init), BURN_IN, THINNING, DRAWS, seed)
    draws, _ = run_chains(job, CHAINS, executor, progress, "chains")
    draws = draws.reshape(-1, target.n_points)
    together = np.zeros(partners.shape)
    for labels in draws:
        together += (labels[partners] == labels[:, None]) & (partners >= 0)
    companions = np.sum(together > NEARLY_ALWAYS * len(draws), axis=1)
    return np.flatnonzero(companions < COMPANIONS)
