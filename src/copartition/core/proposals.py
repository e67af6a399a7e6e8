"""What all split-merge moves have in common: their random numbers, their outcomes, the points they concern."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from copartition.core.compiling import inner

REJECTED = 0
ACCEPTED = 1
UNDEFINED = 2  # a density is NaN or infinite

SMALLEST = 2.0**-53  # in place of 0, of which there is no logarithm


class Draw(NamedTuple):
    """The random numbers of a move: two points, a uniform number, and the bits that all points get theirs from."""

    i: int
    j: int
    u: float
    key: np.uint64


@inner
def log_prior_of_split(model, n_clusters, size_i, size_j):
    """Return the log of the prior with two clusters of these sizes over that with one, among `n_clusters` then."""
    log_new, log_grown = model[0].log_new, model[0].log_grown
    opened = log_new[min(n_clusters, len(log_new) - 1)]
    return opened + log_grown[size_i] + log_grown[size_j] - log_grown[size_i + size_j]


@inner
def gather(chain, moves, i, j):
    """List the other points of the clusters of i and j in the order of the moves; return their number."""
    labels, order, members = chain[0].labels, moves[0].room.order, moves[0].room.members
    cluster_i, cluster_j = labels[i], labels[j]
    count = 0
    for n in order:
        # Without a branch, which no processor could predict: a point that is not concerned is written over.
        members[count] = n
        is_concerned = (labels[n] == cluster_i) | (labels[n] == cluster_j)
        count += is_concerned & (n != i) & (n != j)
    return count


# --- where clusters are restricted -----------------------------------------------------------------------------------


@inner
def is_forbidden(model, draw):
    """Tell whether no move of points i and j is possible: of different kinds, or the clusters of both are known."""
    m = model[0]
    return m.kinds[draw.i] != m.kinds[draw.j] or (m.pinned[draw.i] and m.pinned[draw.j])


@inner
def forced_side(model, draw):
    """Return the side of points whose cluster is known: that of i, 0, but that of j, 1, if j is one of them."""
    return 1 if model[0].pinned[draw.j] else 0
