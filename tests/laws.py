"""Exact laws of the compiled kernels on targets that are small enough to enumerate."""

from __future__ import annotations

import numpy as np
from numba import types

import copartition as cp
import naive
from copartition import gibbs, steps
from copartition.chain import chain_at
from copartition.compiled.kernel import inner, kernel, reference
from copartition.compiled.state import float2, log_predictive_type, model_type, pair_of, pair_type, partner_type

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
