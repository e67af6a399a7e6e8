"""What all split-merge moves have in common: their random numbers, their outcomes, the points they concern."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from copartition.core.clusters import has_room
from copartition.core.compiling import hook, inner
from copartition.core.overlaps import recount_pair
from copartition.core.random import bits, shuffle, uniform
from copartition.core.state import PLACE, UPDATES_A_CALL, SplitMerge, move_signatures
from copartition.core.types import DONE, FULL, INVALID, PAUSED

REJECTED = 0
ACCEPTED = 1
UNDEFINED = 2  # a density is NaN or infinite

SMALLEST = 2.0**-53  # in place of 0, of which there is no logarithm
ANYWHERE = 0.1  # share of the moves with any two points, where others are with near ones


class Draw(NamedTuple):
    """The random numbers of a move: two points, a uniform number, and the bits that all points get theirs from."""

    i: int
    j: int
    u: float
    key: np.uint64


@inner
def log_prior_of_split(model, n_clusters, size_i, size_j):
    """Return the log of the prior with two clusters of these sizes over that with one, among `n_clusters` then."""
    log_new, log_grown = model.log_new, model.log_grown
    opened = log_new[min(n_clusters, len(log_new) - 1)]
    return opened + log_grown[size_i] + log_grown[size_j] - log_grown[size_i + size_j]


@inner
def gather(chain, room, i, j):
    """List the other points of the clusters of i and j in the order of the moves; return their number."""
    labels, order, members = chain.labels, room.order, room.members
    cluster_i, cluster_j = labels[i], labels[j]
    count = 0
    for position in range(len(order)):
        n = order[position]
        # Without a branch, which no processor could predict: a point that is not concerned is written over.
        members[count] = n
        is_concerned = (labels[n] == cluster_i) | (labels[n] == cluster_j)
        count += is_concerned & (n != i) & (n != j)
    return count


# --- where clusters are restricted -----------------------------------------------------------------------------------


@inner
def is_forbidden(model, draw):
    """Tell whether no move of points i and j is possible: of different kinds, or the clusters of both are known."""
    m = model
    return m.kinds[draw.i] != m.kinds[draw.j] or (m.pinned[draw.i] and m.pinned[draw.j])


@inner
def forced_side(model, draw):
    """Return the side of points whose cluster is known: that of i, 0, but that of j, 1, if j is one of them."""
    return 1 if model.pinned[draw.j] else 0


# --- the moves of a step ---------------------------------------------------------------------------------------------


@inner
def draw_partner(room, random, i):
    """Draw the other point of a move: mostly one of the nearest, at a rank whose logarithm is uniform.

    Any distribution will do that does not depend on the state: a split and the merge that undoes it have the same two
    points.
    """
    partners = room.partners
    near = partners.shape[1]
    if near > 0 and uniform(random) >= ANYWHERE:
        rank = int(math.exp(uniform(random) * math.log(near + 1.0))) - 1
        if partners[i, rank] >= 0:
            return np.int64(partners[i, rank])
    j = int(uniform(random) * (len(room.order) - 1))
    return np.int64(j + (j >= i))


@inner
def draw_move(room, random, is_first):
    """Draw what a move takes; the first one of a step draws the order of all of them."""
    order = room.order
    n_points = len(order)
    if is_first:
        shuffle(order, random)
    i = int(uniform(random) * n_points)
    j = draw_partner(room, random, i)
    u = uniform(random)
    return Draw(i, j, u, bits(random))


@inner
def moves_left(room, n_points, progress):
    """Return the number of moves that are still to be made in this step: none where there is but one point."""
    return room.number - progress[PLACE] if n_points > 1 else 0


@inner
def is_long(n_points, progress):
    """Tell whether so many moves have been made since the last pause that it is time for another one."""
    return (progress[PLACE] * n_points) & (UPDATES_A_CALL - 1) < n_points  # which is a power of 2


alone_signature, together_signature = move_signatures(SplitMerge)


@hook(alone_signature)
def split_merge_alone(model, hooks, chain, room, random, progress):
    """Split-merge moves, as a move of one chain."""
    while moves_left(room, len(chain.labels), progress) > 0:
        if not has_room(model, chain):
            return FULL
        draw = draw_move(room, random, progress[PLACE] == 0)
        if room.move(model, hooks, chain, room, draw.i, draw.j, draw.u, draw.key) == UNDEFINED:
            progress[PLACE] = draw.i
            return INVALID
        progress[PLACE] += 1
        if is_long(len(chain.labels), progress):
            return PAUSED
    return DONE


@hook(together_signature)
def split_merge_together(hooks, pair, room, rule, random, progress):
    """Split-merge moves, as a move of two chains: each with the same random numbers for both."""
    x, y = pair.x, pair.y
    changed = False
    while moves_left(room, len(x.labels), progress) > 0:
        if not (has_room(pair.model_x, x) and has_room(pair.model_y, y)):
            if changed:
                recount_pair(pair)
            return FULL
        draw = draw_move(room, random, progress[PLACE] == 0)
        of_x = room.move(pair.model_x, hooks, x, room, draw.i, draw.j, draw.u, draw.key)
        of_y = room.move(pair.model_y, hooks, y, room, draw.i, draw.j, draw.u, draw.key)
        if of_x == UNDEFINED or of_y == UNDEFINED:
            progress[PLACE] = draw.i
            return INVALID
        changed |= of_x == ACCEPTED or of_y == ACCEPTED
        progress[PLACE] += 1
        if is_long(len(x.labels), progress):
            break
    if changed:
        recount_pair(pair)
    return PAUSED if moves_left(room, len(x.labels), progress) > 0 else DONE
