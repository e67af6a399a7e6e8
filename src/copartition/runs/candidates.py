"""What a pilot tries: numbers of split-merge moves, joint updates, couplings, and a start that is annealed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from copartition.chains.moves import JointUpdates
from copartition.chains.start import ANNEALED, Start, can_be_annealed, check_start, read_init
from copartition.chains.step import BoundStep, Step, objection_to_moves
from copartition.runs.defaults import bind, cost_of_moves, partners_for, resolve
from copartition.runs.sampling import DrawJob, run_chains
from copartition.runs.workers import Where
from copartition.targets.base import Target

UPDATES, TRIES = 30, 2  # joint updates after a sweep, and ways of dealing in each (`benchmarks/README.md`)
FEWEST_POINTS = 8  # that are uncertain, for joint updates to be worth a try

# A point is certain if it has so many companions that it nearly always shares a cluster with.
COMPANIONS, NEARLY_ALWAYS = 10, 0.9
CHAINS_OF_CANDIDATES, BURN_IN, DRAWS, THINNING = 4, 60, 25, 4

COST_OF_DEALING = 1.2  # of dealing out a point in one way, in updates of one point (`benchmarks/README.md`)
COST_OF_GUIDES = 1.3  # of a split-merge move that is guided, in others
WAYS_AHEAD = 1  # what looking ahead costs, in ways of dealing


@dataclass(frozen=True)
class Candidate:
    """A step, and what it costs.

    Attributes
    ----------
    step : BoundStep
    cost : float
        Of one chain in a step, in updates of one point.
    init : str, array of int or Start
        Where chains start.
    of_starts : float
        What the starts of both chains cost.
    """

    step: BoundStep
    cost: float
    init: Any
    of_starts: float

    def __str__(self) -> str:
        moves, plan = self.step.split_merge, self.step.plan
        guided = "guided " if self.step.resolved.guided else ""
        words = [f"{moves} {guided}split-merge move{'' if moves == 1 else 's'}"]
        words += [f"{plan.number} joint updates of {len(plan.anchors)} points"] if plan.number else []
        start = ", annealed starts" if self.is_annealed else ""
        return f"{self.step.coupling.name} coupling, {' and '.join(words)} after a sweep{start}"

    @property
    def is_annealed(self) -> bool:
        """Whether the data count more and more in the starts of chains."""
        return isinstance(self.init, Start) and self.init.is_annealed


def candidate(target: Target, step: Step, init: Any = None) -> Candidate:
    """Return a resolved step, a start, and what they cost, counted, not timed."""
    bound = bind(target, step)
    plan = bound.plan
    size = (plan.most - plan.least) / np.log(plan.most / plan.least) if plan.most > plan.least > 0 else plan.most
    of_updates = plan.number * size * (plan.tries + 1 + WAYS_AHEAD) * COST_OF_DEALING
    of_moves = (COST_OF_GUIDES if bound.guides.size else 1.0) * cost_of_moves(target, bound.split_merge)
    cost = target.n_points + of_moves + float(of_updates)
    init = read_init(target, init)
    of_starts = 0.0
    if isinstance(init, Start):
        of_starts = 2.0 * init.length * (target.n_points + cost_of_moves(target, int(init.split_merge or 0)))
    return Candidate(bound, cost, init, of_starts)


def cheaper_candidates(target: Target, given: Step, first: Candidate) -> list[Candidate]:
    """Return steps that may be cheaper where pairs are quick to meet, in the parts that were not named.

    Parameters
    ----------
    target : Target
    given : Step
        As it was written, without a coupling.
    first : Candidate
        What it was resolved to.
    """
    found = []
    if given.split_merge is None:
        # Where clusters have no densities of their own chains get nowhere without moves.
        fewer = (1,) if target.hooks.in_place else (1, 0)
        found += [replace(first.step.resolved, split_merge=n) for n in fewer if n < first.step.split_merge]
    if target.model.palette:
        found.append(resolve(target, replace(first.step.resolved, coupling="path")))
    return [candidate(target, step, first.init) for step in found]


def updating_candidates(target: Target, first: Candidate, where: Where) -> list[Candidate]:
    """Return steps with joint updates, of points that ordinary chains are uncertain of; none if these are few."""
    if objection_to_moves(target):
        return []
    points = uncertain_points(target, first.step, first.init, where)
    if len(points) < FEWEST_POINTS:
        return []
    step = replace(first.step.resolved, joint_updates=JointUpdates(UPDATES, points, TRIES))
    return [candidate(target, step, first.init)]


def guided_candidates(target: Target, first: Candidate) -> list[Candidate]:
    """Return the step with guided split-merge moves; none where it makes no such moves, or in the chain itself."""
    if not first.step.split_merge or target.hooks.in_place:
        return []
    return [candidate(target, replace(first.step.resolved, guided=True), first.init)]


def annealed_candidates(target: Target, best: Candidate) -> list[Candidate]:
    """Return the step that serves best so far, of chains whose starts are annealed; none where they cannot be."""
    return [candidate(target, best.step.resolved, ANNEALED)] if can_be_annealed(target) else []


def uncertain_points(target: Target, step: BoundStep, init: Any, where: Where) -> np.ndarray:
    """Return the points that share a cluster nearly always with fewer than ten of their nearest, by a few chains."""
    partners = partners_for(target)
    if partners.size == 0:
        return np.arange(target.n_points)
    job = DrawJob(target, step, check_start(target, init), BURN_IN, THINNING, DRAWS, where.seed)
    draws, _ = run_chains(job, CHAINS_OF_CANDIDATES, where.executor, where.progress, "chains")
    draws = draws.reshape(-1, target.n_points)
    together = np.zeros(partners.shape)
    for labels in draws:
        together += (labels[partners] == labels[:, None]) & (partners >= 0)
    companions = np.sum(together > NEARLY_ALWAYS * len(draws), axis=1)
    return np.flatnonzero(companions < COMPANIONS)
