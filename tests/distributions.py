"""Exact distributions of the compiled kernels on targets that are small enough to enumerate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import copartition as cp
import naive
from copartition.chains.chain import chain_at
from copartition.chains.moves import Move
from copartition.chains.start import couple
from copartition.chains.step import BoundStep
from copartition.core.clusters import choices, reset, take_out, weigh
from copartition.core.compiling import inner, kernel
from copartition.core.overlaps import count_out, have_met, join, match_clusters, recount_pair
from copartition.core.state import Chain, Coupled, Hooks, Model, Pair, Rule, Stepper
from copartition.core.steps import step_alone, step_together
from copartition.core.types import Int1, Int2, State, float2, int64, uint1, void


@dataclass(frozen=True)
class OnlyMoves(BoundStep):
    """A step of moves that are given, and no others."""

    only: tuple[Move, ...] = ()

    def moves(self, target):
        return list(self.only)


JUST_BELOW_1 = 1.0 - 2.0**-53


class Cases(State):
    """Pairs of partitions of which one point is to be updated.

    Attributes
    ----------
    x, y : int64 array (cases, points)
        Labels of the two chains.
    point : int64 array (cases)
    """

    x: Int2
    y: Int2
    point: Int1


@inner
def end_of_piece(partner, pair, n_x, n_y, total_x, total_y, i, begin):
    """Where the piece of [begin, 1) ends on which the partner is the same as at `begin`, to the last bit."""
    j = partner(pair, n_x, n_y, total_x, total_y, i, begin)
    if partner(pair, n_x, n_y, total_x, total_y, i, JUST_BELOW_1) == j:
        return 1.0
    low, high = begin, JUST_BELOW_1
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if partner(pair, n_x, n_y, total_x, total_y, i, middle) == j:
            low = middle
        else:
            high = middle


@kernel(void(Model, Hooks, Pair, Rule, Cases, float2))
def distribution_kernel(model, hooks, pair, rule, cases, joint):
    """Write the joint distribution of the two choices of a point.

    Lengths of pieces of u, times the distribution of the first choice.
    """
    x, y, partner = pair.x, pair.y, rule.partner
    for case in range(len(cases.point)):
        n = cases.point[case]
        reset(model, hooks, x, cases.x[case])
        reset(model, hooks, y, cases.y[case])
        recount_pair(pair)
        count_out(pair, n)
        take_out(model, x, n)
        take_out(model, y, n)
        match_clusters(model, pair)
        if model.palette == 0:
            join(pair.matched.there, pair.matched.back, pair.x.n_clusters[0], pair.y.n_clusters[0])
        n_x, n_y = choices(model, x), choices(model, y)
        total_x = weigh(model, hooks, x, n_x, n)
        total_y = weigh(model, hooks, y, n_y, n)
        for i in range(n_x):
            if pair.x.weights[i] > 0.0:
                begin = 0.0
                while begin < 1.0:
                    j = partner(pair, n_x, n_y, total_x, total_y, i, begin)
                    end = end_of_piece(partner, pair, n_x, n_y, total_x, total_y, i, begin)
                    joint[case * len(pair.x.sizes) + i, j] += pair.x.weights[i] / total_x * (end - begin)
                    begin = end


def coupled_distributions(target, coupling, cases):
    """For each case, a triple of two partitions and a point, the joint distribution of the two choices of that point.

    Partitions are tuples of canonical labels. Rows and columns are the clusters of the others in order of creation,
    which after taking out the point is their order in the tuple; the last is a new cluster (or all colours, with a
    palette). All cases are looked at in one call of the kernel: making the arrays of a pair takes longer than its
    distribution.
    """
    cases = Cases(*[np.array(part, dtype=np.int64) for part in zip(*cases, strict=True)])
    # A pair with room for all: as many clusters as there are points, or colours.
    largest = cases.x[0] if target.model.palette else np.arange(target.n_points)
    pair = couple(target, coupling, *[chain_at(target, largest) for _ in range(2)])
    joint = np.zeros((len(cases.point), len(pair.x.sizes), len(pair.y.sizes)))
    rows = joint.reshape(-1, len(pair.y.sizes))
    distribution_kernel(target.model, target.hooks, pair, coupling.rule(target.n_points), cases, rows)
    return joint


def coupled_distribution(target, coupling, x, y, n):
    """The joint distribution of the choices of point n in a single case."""
    return coupled_distributions(target, coupling, [(x, y, n)])[0]


def move(labels, n, k):
    """The partition after point n was put into the k-th cluster of the others, in the order of creation."""
    partition = naive.Labels(labels)
    partition.take_out(n)
    partition.put_in(n, k)
    return naive.canonical(partition.labels())


def recolor(labels, n, k):
    """The same for a target with a palette: labels are colours."""
    return naive.canonical([*labels[:n], k, *labels[n + 1 :]])


def update_matrix(target, states, n, hyperparameters=None):
    """Transition matrix of the update of point n, from the kernels' own conditionals, given hyperparameters."""
    number = {state: s for s, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for s, state in enumerate(states):
        placed = naive.placements(state, n)
        for p, after in zip(cp.kernels.conditional(target, state, n, hyperparameters), placed, strict=True):
            if p > 0:
                matrix[s, number[after]] += p
    return matrix


def sweep_matrix(target, states):
    """Transition matrix of a whole sweep."""
    matrix = np.eye(len(states))
    for n in range(target.n_points):
        matrix = matrix @ update_matrix(target, states, n)
    return matrix


# --- many draws of whole steps ---------------------------------------------------------------------------------------


class Trips(State):
    """Many single steps from one partition.

    Attributes
    ----------
    start : int64 array (points)
        Labels of the partition.
    counts : int64 array
        How often a step led to each partition, by its code.
    numbers : int64 array
        Scratch.
    progress : int64 array (3)
        Of the step under way.
    """

    start: Int1
    counts: Int1
    hyperparameters: Int1
    progress: Int1


def trips_from(state):
    """No steps yet."""
    size = len(state)
    return Trips(np.array(state), *[np.zeros(length, dtype=np.int64) for length in (size**size, 64, 3)])


@inner
def code_of(labels, hyperparameters):
    """A number for a partition: its canonical labels as digits. `numbers` is scratch."""
    count = 0
    code = 0
    for k in range(len(hyperparameters)):
        hyperparameters[k] = -1
    for n in range(len(labels)):
        label = labels[n]
        if hyperparameters[label] < 0:
            hyperparameters[label] = count
            count += 1
        code = code * len(labels) + hyperparameters[label]
    return code


@inner
def count_trip(chain, trips):
    """Count where a step has led."""
    trips.counts[code_of(chain[0].labels, trips.hyperparameters)] += 1


@kernel(void(Model, Hooks, Chain, Stepper, uint1, Trips, int64))
def draw_steps(model, hooks, chain, stepper, random, trips, draws):
    """Count where single steps lead."""
    for _ in range(draws):
        reset(model, hooks, chain, trips.start)
        step_alone(model, hooks, chain, stepper, random, trips.progress)
        count_trip(chain, trips)


@kernel(int64(Hooks, Pair, Stepper, Coupled, uint1, Trips, Trips, int64))
def draw_pair_steps(hooks, pair, stepper, coupled, random, of_x, of_y, draws):
    """Count where coupled steps from two partitions lead; return how often the chains have met."""
    met = 0
    for _ in range(draws):
        reset(pair.model_x, hooks, pair.x, of_x.start)
        reset(pair.model_y, hooks, pair.y, of_y.start)
        recount_pair(pair)
        step_together(hooks, pair, stepper, coupled, random, of_x.progress)
        count_trip(pair.x, of_x)
        count_trip(pair.y, of_y)
        met += have_met(pair)
    return met


def codes(states):
    """The codes of partitions, in their order."""
    size = len(states[0])
    return np.array([sum(label * size ** (size - 1 - n) for n, label in enumerate(state)) for state in states])


def counted_steps(target, state, step, random, draws):
    """How often single steps, or those with so many split-merge moves, lead to each partition, by code."""
    trips = trips_from(state)
    stepper = (step if isinstance(step, BoundStep) else BoundStep(cp.Step(cp.couplings.Independent(), step))).stepper(
        target
    )
    draw_steps(target.model, target.hooks, chain_at(target, trips.start), stepper, random, trips, draws)
    return trips.counts


def counted_pair_steps(target, step, x, y, random, draws):
    """How often coupled steps lead each chain to each partition, by code, and how often the chains have met."""
    trips = trips_from(x), trips_from(y)
    pair = couple(target, step.coupling, *[chain_at(target, one.start) for one in trips])
    met = draw_pair_steps(target.hooks, pair, step.stepper(target), step.coupled(target), random, *trips, draws)
    return trips[0].counts, trips[1].counts, met
