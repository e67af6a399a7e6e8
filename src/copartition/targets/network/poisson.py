"""Poisson edges between blocks, all parameters integrated out, with and without degree correction.

The number of edges between vertices u and v of blocks r and s is a Poisson number with mean theta_u theta_v w_rs; that
of self-loops of u has mean theta_u^2 w_rr / 2. The theta of a block add up to 1, so that w_rs is the expected number of
edges between r and s, and w_rr / 2 that inside r. These expected numbers are exponential with mean `rate`.

- With degree correction the theta of a block are uniform on their simplex. With D_r the sum of degrees in r, n_r its
  vertices and e_rs the edges, the theta leave a factor ``Gamma(n_r) / Gamma(D_r + n_r)`` (times the factorials of all
  degrees), and each w one of ``e_rs! rate^e_rs / (1 + rate)^(e_rs + 1)``, with ``2^e_rr`` inside a block.
- Without it ``theta = 1 / n_r``, which leaves ``n_r^(-D_r)`` in place of the first.

Powers of rate / (1 + rate) add up to that of the number of all edges, the same for every partition. So, B blocks:

    log joint = - B (B + 1) / 2 log(1 + rate) + sum over r <= s of log e_rs! + sum of e_rr log 2
                + sum of [log Gamma(n_r) - log Gamma(D_r + n_r)]    (or - sum of D_r log n_r)    + log prior + constant

(Karrer and Newman 2011; Peixoto 2017 for the integrals.) What follows are differences of this. `table[0]` holds the
logs of factorials, ``parameters[0]`` is log(1 + rate).
"""

from __future__ import annotations

import math

from numpy import uint64 as at  # an index that cannot be negative: the compiler need not ask

from copartition.core.compiling import Kernel, inner, made_anew
from copartition.targets.hooks import log_merge, log_odds, log_predictive
from copartition.targets.network.counts import (
    begin_look,
    end_look,
    forget_tally,
    loops_of,
    of_blocks,
    tally_neighbours,
)

LOG_2 = math.log(2.0)


@inner
def of_degrees(log_factorial, vertices, degrees, is_corrected):
    """Return what the vertices of a block contribute to the log density: their number and the sum of their degrees."""
    if is_corrected:
        return log_factorial[at(vertices - 1)] - log_factorial[at(degrees + vertices - 1)]
    return -degrees * (log_factorial[at(vertices)] - log_factorial[at(vertices - 1)])


@inner
def joining(log_factorial, vertices, degrees, degree, is_corrected):
    """Return by how much that changes when a vertex joins, of which there may be none yet."""
    before = of_degrees(log_factorial, vertices, degrees, is_corrected) if vertices > 0 else 0.0
    return of_degrees(log_factorial, vertices + 1, degrees + degree, is_corrected) - before


@made_anew
def predictive_of(is_corrected: bool) -> Kernel:
    """Return the function that weighs all blocks."""

    @log_predictive
    def poisson_predictive(model, chain, n_choices, n):
        """Log weights of vertex n in every block and in a new one."""
        c = chain
        log_factorial, sizes, sums, slots, weights = model.table[0], c.sizes, c.sums, c.slots, c.weights
        tally, touched, between = c.tally[0], c.tally[1], c.between
        degree, loops = int(model.points[n, 0]), loops_of(model, n)
        holder = c.holder[0]
        count = tally_neighbours(model, chain, n)
        for k in range(n_choices):
            weights[k] = joining(log_factorial, sizes[k], int(sums[k, 0]), degree, is_corrected) + tally[k] * LOG_2
        at_home = weights[holder] if holder >= 0 else 0.0
        for t in range(count):
            row = at(touched[t])
            edges = tally[row]
            present = between[at(slots[row])]
            if touched[t] != holder:
                for k in range(n_choices):
                    here = present[at(slots[k])]
                    weights[k] += log_factorial[at(here + edges)] - log_factorial[at(here)]
            else:  # whose counts still have the edges of the vertex in them
                for k in range(n_choices):
                    here = present[at(slots[k])] - tally[k]
                    weights[k] += log_factorial[at(here + edges)] - log_factorial[at(here)]
        if holder >= 0:
            present = between[at(slots[holder])]
            for t in range(count):
                row = at(touched[t])
                here = present[at(slots[row])] - (loops if touched[t] == holder else 0)
                at_home += log_factorial[at(here)] - log_factorial[at(here - tally[row])]
            weights[holder] = at_home
        if loops > 0:
            for k in range(n_choices):
                here = between[slots[k], slots[k]] + (-loops if k == holder else tally[k])
                weights[k] += log_factorial[here + loops] - log_factorial[here]
        new = n_choices - 1
        if sizes[new] == 0:
            weights[new] -= n_choices * model.parameters[0]
        forget_tally(chain, count)

    return poisson_predictive


@inner
def weight_in(model, chain, k, n, count, is_corrected):
    """Return the log weight of vertex n, whose tally is there, in one block; self-loops count like all edges."""
    c = chain
    log_factorial, slots, tally, touched = model.table[0], c.slots, c.tally[0], c.tally[1]
    degree, loops = int(model.points[n, 0]), loops_of(model, n)
    present = c.between[slots[k]]
    weight = joining(log_factorial, c.sizes[k], int(c.sums[k, 0]), degree, is_corrected) + tally[k] * LOG_2
    for t in range(count):
        row = at(touched[t])
        here = present[at(slots[row])]
        weight += log_factorial[at(here + tally[row])] - log_factorial[at(here)]
    here = present[slots[k]] + tally[k]
    return weight + log_factorial[here + loops] - log_factorial[here]


@made_anew
def odds_of(is_corrected: bool) -> Kernel:
    """Return the function that compares two blocks."""

    @log_odds
    def poisson_odds(model, chain, a, b, n):
        """Log weight of vertex n in block a less that in block b; neither is empty."""
        count = begin_look(model, chain, n)
        difference = weight_in(model, chain, a, n, count, is_corrected)
        difference -= weight_in(model, chain, b, n, count, is_corrected)
        end_look(model, chain, n, count)
        return difference

    return poisson_odds


@made_anew
def merge_of(is_corrected: bool) -> Kernel:
    """Return the function that weighs two blocks as one."""

    @log_merge
    def poisson_merge(model, chain, a, b):
        """Log density with blocks a and b as one, less that with two."""
        c = chain
        log_factorial, sizes, sums, slots, between = model.table[0], c.sizes, c.sums, c.slots, c.between
        of_a, of_b = between[slots[a]], between[slots[b]]
        n_blocks = c.n_clusters[0]
        total = n_blocks * model.parameters[0]
        for k in range(n_blocks):
            if k not in (a, b):
                to_a, to_b = of_a[slots[k]], of_b[slots[k]]
                total += log_factorial[to_a + to_b] - log_factorial[to_a] - log_factorial[to_b]
        in_a, in_b, across = of_a[slots[a]], of_b[slots[b]], of_a[slots[b]]
        total += log_factorial[in_a + in_b + across] + across * LOG_2
        total -= log_factorial[in_a] + log_factorial[in_b] + log_factorial[across]
        degrees_a, degrees_b = int(sums[a, 0]), int(sums[b, 0])
        total += of_degrees(log_factorial, sizes[a] + sizes[b], degrees_a + degrees_b, is_corrected)
        total -= of_degrees(log_factorial, sizes[a], degrees_a, is_corrected)
        return total - of_degrees(log_factorial, sizes[b], degrees_b, is_corrected)

    return poisson_merge


@made_anew
def likelihood_of(is_corrected: bool) -> Kernel:
    """Return the function that computes the log density of all edges."""

    @of_blocks
    def poisson_likelihood(model, chain, hooks, parameters, out):
        """Log density of the network given its blocks."""
        c = chain
        log_factorial, slots = model.table[0], c.slots
        n_blocks = c.n_clusters[0]
        total = model.constant[1] - n_blocks * (n_blocks + 1) // 2 * model.parameters[0]
        for k in range(n_blocks):
            present = c.between[slots[k]]
            total += of_degrees(log_factorial, c.sizes[k], int(c.sums[k, 0]), is_corrected) + present[slots[k]] * LOG_2
            for other in range(k + 1):
                total += log_factorial[present[slots[other]]]
        out[0] = total

    return poisson_likelihood
