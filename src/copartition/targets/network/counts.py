"""Edges between the blocks of a network, counted while vertices come and go.

``integers`` of the model holds, for each vertex, where its neighbours begin in the same array (``n_vertices + 1``
numbers), then the number of self-loops of each vertex, then the neighbours, each once, and last, if there are parallel
edges, how many lead to each of these. ``between`` of the chain holds the number of edges between two blocks, by their
slots, and inside a block on the diagonal. ``sums`` holds the sum of degrees of each block.

While a vertex is at hand ``between`` still has its edges in it (see ``Chain.holder``): functions that look at it take
them out first, and put them back in the end.
"""

from __future__ import annotations

from numpy import uint64 as at  # an index that cannot be negative: the compiler need not ask

from copartition.core.compiling import hook, inner
from copartition.core.state import functional_signature
from copartition.targets.hooks import begin_cluster, enter_cluster, leave_cluster

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
