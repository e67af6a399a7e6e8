"""At most one edge between two vertices, with a probability for each pair of blocks that is integrated out.

The probability of an edge between vertices of blocks r and s has a Beta(a, b) distribution. With e_rs edges among m_rs
pairs of vertices (n_r n_s, or n_r (n_r - 1) / 2 inside a block) each pair of blocks has the factor

    L(e_rs, m_rs) = Beta(a + e_rs, b + m_rs - e_rs) / Beta(a, b),

which is 1 where there is no pair of vertices. A vertex that joins a block has pairs with every other one, so a
candidate costs as much as there are blocks. ``parameters`` holds a, b and log Beta(a, b); the rows of ``table`` hold
log Gamma of a, of b and of a + b, each plus 0, 1, ..., as far as `TABLE` goes: looking them up costs a tenth.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import uint64 as at  # an index that cannot be negative: the compiler need not ask

from copartition.core.compiling import inner
from copartition.targets.hooks import log_merge, log_odds, log_predictive
from copartition.targets.network.counts import begin_look, end_look, of_blocks

TABLE = 2**16  # entries of a row, enough for all pairs of 362 vertices; beyond, log Gamma is computed


def table_of(beta: tuple[float, float], n_vertices: int) -> np.ndarray:
    """Return the table in which these functions look."""
    further = np.arange(min(n_vertices * (n_vertices - 1) // 2 + 1, TABLE), dtype=np.float64)
    from scipy.special import gammaln

    return np.array([gammaln(beta[0] + further), gammaln(beta[1] + further), gammaln(beta[0] + beta[1] + further)])


@inner
def log_factor(model, edges, pairs):
    """Return log L(edges, pairs)."""
    table, parameters = model.table, model.parameters
    if pairs < table.shape[1]:
        return table[0, at(edges)] + table[1, at(pairs - edges)] - table[2, at(pairs)] - parameters[2]
    a, b = parameters[0] + edges, parameters[1] + pairs - edges
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - parameters[2]


@inner
def pairs_inside(size):
    """Return the number of pairs of vertices in a block."""
    return size * (size - 1) // 2


@inner
def weight_in(model, chain, k, n_blocks):
    """Return the log weight of the vertex whose tally is there in one block, which may be the new one."""
    c = chain
    sizes, slots, tally = c.sizes, c.slots, c.tally[0]
    present = c.between[slots[k]]
    size = sizes[k]
    weight = 0.0
    for other in range(n_blocks):
        edges, more = present[slots[other]], tally[other]
        if other == k:
            weight += log_factor(model, edges + more, pairs_inside(size + 1))
            weight -= log_factor(model, edges, pairs_inside(size))
        else:
            weight += log_factor(model, edges + more, (size + 1) * sizes[other])
            weight -= log_factor(model, edges, size * sizes[other])
    return weight


@log_predictive
def bernoulli_predictive(model, chain, n_choices, n):
    """Log weights of vertex n in every block and in a new one."""
    c = chain
    count = begin_look(model, chain, n)
    for k in range(n_choices):
        c.weights[k] = weight_in(model, chain, k, c.n_clusters[0])
    end_look(model, chain, n, count)


@log_odds
def bernoulli_odds(model, chain, a, b, n):
    """Log weight of vertex n in block a less that in block b."""
    n_blocks = chain.n_clusters[0]
    count = begin_look(model, chain, n)
    difference = weight_in(model, chain, a, n_blocks) - weight_in(model, chain, b, n_blocks)
    end_look(model, chain, n, count)
    return difference


@log_merge
def bernoulli_merge(model, chain, a, b):
    """Log density with blocks a and b as one, less that with two."""
    c = chain
    sizes, slots = c.sizes, c.slots
    of_a, of_b = c.between[slots[a]], c.between[slots[b]]
    size = sizes[a] + sizes[b]
    total = 0.0
    for k in range(c.n_clusters[0]):
        if k not in (a, b):
            to_a, to_b = of_a[slots[k]], of_b[slots[k]]
            total += log_factor(model, to_a + to_b, size * sizes[k])
            total -= log_factor(model, to_a, sizes[a] * sizes[k])
            total -= log_factor(model, to_b, sizes[b] * sizes[k])
    in_a, in_b, across = of_a[slots[a]], of_b[slots[b]], of_a[slots[b]]
    total += log_factor(model, in_a + in_b + across, pairs_inside(size))
    total -= log_factor(model, in_a, pairs_inside(sizes[a])) + log_factor(model, in_b, pairs_inside(sizes[b]))
    return total - log_factor(model, across, sizes[a] * sizes[b])


@of_blocks
def bernoulli_likelihood(model, chain, hooks, parameters, out):
    """Log density of the network given its blocks."""
    c = chain
    sizes, slots = c.sizes, c.slots
    total = 0.0
    for k in range(c.n_clusters[0]):
        present = c.between[slots[k]]
        total += log_factor(model, present[slots[k]], pairs_inside(sizes[k]))
        for other in range(k):
            total += log_factor(model, present[slots[other]], sizes[k] * sizes[other])
    out[0] = total
