"""Exact laws of the compiled kernels on targets that are small enough to enumerate."""

from __future__ import annotations

import numpy as np
from numba import types

import copartition as cp
import naive
from copartition import gibbs, steps
from copartition.chain import chain_at
from copartition.compiled.kernel import inner, kernel, reference
from copartition.compiled.state import (
    chain_type,
    float2,
    int1,
    log_merge_type,
    log_predictive_type,
    model_type,
    moves_type,
    pair_of,
    pair_type,
    partner_type,
    step_chain_type,
    step_pair_type,
    uint1,
)
from copartition.moves import moves_for
from copartition.pair import couple

JUST_BELOW_1 = 1.0 - 2.0**-53


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


@kernel(types.void(model_type, pair_type, log_predictive_type, partner_type, types.int64, float2))
def law_kernel(model, pair, log_predictive, partner, n, law):
    """Write the joint law of the two choices of point n: lengths of pieces of u, times the law of the first choice."""
    m, p, x, y = reference(model), reference(pair), reference(pair.x), reference(pair.y)
    gibbs.count_overlap(p, n, -1)
    gibbs.take_out(m, x, n)
    gibbs.take_out(m, y, n)
    gibbs.match_clusters(m, p)
    if model.palette == 0:
        gibbs.join(pair.mates.there, pair.mates.back, pair.x.counts[0], pair.y.counts[0])
    n_x, n_y = gibbs.choices(m, x), gibbs.choices(m, y)
    total_x = gibbs.weigh(m, x, log_predictive, n_x, n)
    total_y = gibbs.weigh(m, y, log_predictive, n_y, n)
    for i in range(n_x):
        if pair.x.weights[i] > 0.0:
            begin = 0.0
            while begin < 1.0:
                j = partner(p, n_x, n_y, total_x, total_y, i, begin)
                end = end_of_piece(partner, p, n_x, n_y, total_x, total_y, i, begin)
                law[i, j] += pair.x.weights[i] / total_x * (end - begin)
                begin = end


def coupled_law(target, coupling, x, y, n):
    """The joint law of the choices of point n, and the marginal laws, from the compiled kernels.

    `x` and `y` are tuples of canonical labels. Rows and columns are the clusters of the others in order of creation,
    which after taking out n is the order of `x` and `y`; the last is a new cluster (or all colours, with a palette).
    """
    pair = pair_of(chain_at(target, np.array(x)), chain_at(target, np.array(y)), coupling.gains(target.n_points))
    steps.count_pair(pair)
    law = np.zeros(pair.overlap.shape)
    law_kernel(target.model, pair, target.log_predictive, coupling.partner, n, law)
    return law


def move(labels, n, k):
    """The partition after point n was put into the k-th cluster of the others, in the order of creation."""
    partition = naive.Labels(labels)
    partition.take_out(n)
    partition.put_in(n, k)
    return naive.canonical(partition.labels())


def recolor(labels, n, k):
    """The same for a target with a palette: labels are colours."""
    return naive.canonical([*labels[:n], k, *labels[n + 1 :]])


def update_matrix(target, states, n):
    """Transition matrix of the update of point n, from the kernels' own conditional law."""
    number = {state: s for s, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for s, state in enumerate(states):
        placed = naive.placements(state, n)
        for p, after in zip(cp.conditional(target, state, n), placed, strict=True):
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


@inner
def code_of(labels, numbers):
    """A number for a partition: its canonical labels as digits. `numbers` is scratch."""
    count = 0
    code = 0
    for k in range(len(numbers)):
        numbers[k] = -1
    for label in labels:
        if numbers[label] < 0:
            numbers[label] = count
            count += 1
        code = code * len(labels) + numbers[label]
    return code


@kernel(
    types.void(
        step_chain_type,
        model_type,
        chain_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        uint1,
        int1,
        int1,
        types.int64,
        int1,
        int1,
    )
)
def draw_steps(step, model, chain, moves, log_predictive, log_merge, random, progress, labels, draws, numbers, counts):
    """Count where single steps from `labels` lead."""
    m, c, s = reference(model), reference(chain), reference(moves)
    for _ in range(draws):
        gibbs.reset(m, c, labels)
        step(m, c, s, log_predictive, log_merge, random, progress)
        counts[code_of(chain.labels, numbers)] += 1


@kernel(
    types.int64(
        step_pair_type,
        model_type,
        pair_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        partner_type,
        uint1,
        int1,
        int1,
        int1,
        types.int64,
        int1,
        int1,
        int1,
    )
)
def draw_pair_steps(
    step,
    model,
    pair,
    moves,
    log_predictive,
    log_merge,
    partner,
    random,
    progress,
    labels_x,
    labels_y,
    draws,
    numbers,
    counts_x,
    counts_y,
):
    """Count where coupled steps from two partitions lead; return how often the chains have met."""
    m, p, x, y, s = reference(model), reference(pair), reference(pair.x), reference(pair.y), reference(moves)
    met = 0
    for _ in range(draws):
        gibbs.reset(m, x, labels_x)
        gibbs.reset(m, y, labels_y)
        gibbs.recount_pair(p)
        step(m, p, s, log_predictive, log_merge, partner, random, progress)
        counts_x[code_of(pair.x.labels, numbers)] += 1
        counts_y[code_of(pair.y.labels, numbers)] += 1
        met += pair.distance[0] == 0
    return met


def codes(states):
    """The codes of partitions, in their order."""
    size = len(states[0])
    return np.array([sum(label * size ** (size - 1 - n) for n, label in enumerate(state)) for state in states])


def counted_steps(target, state, split_merge, random, draws, step=steps.step_chain):
    """How often single steps lead to each partition, by code."""
    n_points = target.n_points
    counts = np.zeros(n_points**n_points, dtype=np.int64)
    numbers = np.zeros(64, dtype=np.int64)
    draw_steps(
        step,
        target.model,
        chain_at(target, np.array(state)),
        moves_for(target, split_merge),
        target.log_predictive,
        target.log_merge,
        random,
        np.zeros(2, dtype=np.int64),
        np.array(state),
        draws,
        numbers,
        counts,
    )
    return counts


def counted_pair_steps(target, coupling, x, y, split_merge, random, draws):
    """How often coupled steps lead each chain to each partition, by code, and how often the chains have met."""
    n_points = target.n_points
    counts = [np.zeros(n_points**n_points, dtype=np.int64) for _ in range(2)]
    pair = couple(target, coupling, chain_at(target, np.array(x)), chain_at(target, np.array(y)))
    met = draw_pair_steps(
        steps.step_pair,
        target.model,
        pair,
        moves_for(target, split_merge, coupling),
        target.log_predictive,
        target.log_merge,
        coupling.partner,
        random,
        np.zeros(2, dtype=np.int64),
        np.array(x),
        np.array(y),
        draws,
        np.zeros(64, dtype=np.int64),
        *counts,
    )
    return *counts, met
