"""Edges between the blocks of a network, counted while vertices come and go, and their distributions.

``integers`` of the model holds, for each vertex, where its neighbours begin in the same array (``n_vertices + 1``
numbers), then the number of self-loops of each vertex, then the neighbours, each once, and last, if there are parallel
edges, how many lead to each of these. ``between`` of the chain holds the number of edges between two blocks, by their
slots, and inside a block on the diagonal. ``sums`` holds the sum of degrees of each block.

While a vertex is at hand ``between`` still has its edges in it (see ``Chain.holder``): functions that look at it take
them out first, and put them back in the end.

**Bernoulli**: at most one edge between two vertices, with a probability for each pair of blocks that is integrated out.

The probability of an edge between vertices of blocks r and s has a Beta(a, b) distribution. With e_rs edges among m_rs
pairs of vertices (n_r n_s, or n_r (n_r - 1) / 2 inside a block) each pair of blocks has the factor

    L(e_rs, m_rs) = Beta(a + e_rs, b + m_rs - e_rs) / Beta(a, b),

which is 1 where there is no pair of vertices. A vertex that joins a block has pairs with every other one, so a
candidate costs as much as there are blocks. ``parameters`` holds a, b and log Beta(a, b); the rows of ``table`` hold
log Gamma of a, of b and of a + b, each plus 0, 1, ..., as far as `TABLE` goes: looking them up costs a tenth.

**Poisson** edges, all parameters integrated out, with and without degree correction. The number of edges between
vertices u and v of blocks r and s is a Poisson number with mean theta_u theta_v w_rs; that of self-loops of u has mean
theta_u^2 w_rr / 2. The theta of a block add up to 1, so that w_rs is the expected number of edges between r and s, and
w_rr / 2 that inside r. These expected numbers are exponential with mean `rate`.

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

import numpy as np
from numpy import uint64 as at  # an index that cannot be negative: the compiler need not ask

from copartition.core.compiling import Kernel, hook, inner, made_anew
from copartition.core.state import functional_signature
from copartition.targets.hooks import begin_cluster, enter_cluster, leave_cluster, log_merge, log_odds, log_predictive

of_blocks = hook(functional_signature)
"""Decorator of a function ``f(model, chain, hooks, parameters, out)`` of a network's blocks, as functionals are."""


@inner
def loops_of(model, n):
    """Return the number of self-loops of vertex n."""
    m = model
    return m.integers[len(m.points) + 1 + n]


@inner
def tally_neighbours(model, chain, n):
    """Count the edges of vertex n to each block in the first row of the tally; return how many blocks it has edges to.

    These are listed in the second row. Neighbours that are in no block do not count, nor do self-loops.
    """
    integers, labels = model.integers, chain.labels
    tally, touched = chain.tally[0], chain.tally[1]
    end = integers[len(model.points)]  # of all neighbours: from there on multiplicities, if there are any
    to_multiplicity = len(integers) - end
    count = 0
    if to_multiplicity == 0:
        for place in range(integers[n], integers[n + 1]):
            row = labels[at(integers[at(place)])]
            if row >= 0:
                touched[at(count)] = row
                count += tally[at(row)] == 0
                tally[at(row)] += 1
    else:
        for place in range(integers[n], integers[n + 1]):
            row = labels[at(integers[at(place)])]
            if row >= 0:
                touched[at(count)] = row
                count += tally[at(row)] == 0
                tally[at(row)] += integers[at(place + to_multiplicity)]
    return count


@inner
def forget_tally(chain, count):
    """Set the tally to nothing."""
    tally, touched = chain.tally[0], chain.tally[1]
    for t in range(count):
        tally[at(touched[t])] = 0


@inner
def add_edges(model, chain, k, n, count, sign):
    """Add the edges of vertex n, whose tally is there, to those of block k; with a sign of -1, take them away."""
    c = chain
    between, slots, tally, touched = c.between, c.slots, c.tally[0], c.tally[1]
    here = at(slots[k])
    for t in range(count):
        row = at(touched[t])
        there = at(slots[row])
        edges = sign * tally[row]
        between[here, there] += edges
        if here != there:
            between[there, here] += edges
    between[here, here] += sign * loops_of(model, n)


@inner
def begin_look(model, chain, n):
    """Tally the neighbours of the vertex at hand, and take its edges out of those of its block; return their number."""
    count = tally_neighbours(model, chain, n)
    holder = chain.holder[0]
    if holder >= 0:
        add_edges(model, chain, holder, n, count, -1)
    return count


@inner
def end_look(model, chain, n, count):
    """Undo what `begin_look` did."""
    holder = chain.holder[0]
    if holder >= 0:
        add_edges(model, chain, holder, n, count, 1)
    forget_tally(chain, count)


@begin_cluster
def begin_block(model, chain, k):
    """Do nothing: all counts of an empty block are 0."""


@enter_cluster
def enter_block(model, chain, k, n):
    """Count the edges of vertex n, which has joined block k."""
    count = tally_neighbours(model, chain, n)
    add_edges(model, chain, k, n, count, 1)
    forget_tally(chain, count)


@leave_cluster
def leave_block(model, chain, k, n):
    """No longer count the edges of vertex n, which has left block k."""
    count = tally_neighbours(model, chain, n)
    add_edges(model, chain, k, n, count, -1)
    forget_tally(chain, count)
    return False


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
def weight_in_bernoulli(model, chain, k, n_blocks):
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
        c.weights[k] = weight_in_bernoulli(model, chain, k, c.n_clusters[0])
    end_look(model, chain, n, count)


@log_odds
def bernoulli_odds(model, chain, a, b, n):
    """Log weight of vertex n in block a less that in block b."""
    n_blocks = chain.n_clusters[0]
    count = begin_look(model, chain, n)
    difference = weight_in_bernoulli(model, chain, a, n_blocks) - weight_in_bernoulli(model, chain, b, n_blocks)
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
def weight_in_poisson(model, chain, k, n, count, is_corrected):
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
        difference = weight_in_poisson(model, chain, a, n, count, is_corrected)
        difference -= weight_in_poisson(model, chain, b, n, count, is_corrected)
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
