"""Split-merge moves of clusters that have no densities of their own, such as the blocks of a network.

How well a vertex fits into a block depends on the other blocks too, so the two sides of a split cannot be grown apart
from the chain. They grow in the chain itself:

1. draw points i and j, a number u, an order of all points, and bits that give every point as many numbers as it needs;
2. take all points of the clusters of i and j out, but for i and j, each of which is a cluster now (if they shared one,
   j gets a new one). Put them back, in the order of the move, each into one of these two by its conditional
   distribution given those that are there (`log_odds`). Then let them choose again, one after another, a few times
   over: *scans*;
3. if i and j shared a cluster, one more scan leads to the split that is proposed. Call the product of the probabilities
   of its choices q. With r the ratio of the target's densities after and before, accept if ``log u <= log r - log q``;
4. if they did not, one more scan is forced to lead back to the present two clusters, and q is the probability with
   which it would have. Propose to merge the two, and accept if ``log u <= log r + log q``.

Where the last scan begins depends on the points that are dealt out, on i and j, and on the random numbers, but not on
whether they were in one cluster or in two, and it was drawn in the same way in both cases. Given where it begins, a
split and the merge that undoes it are a pair of proposals like any other (Metropolis and Hastings; Jain and Neal 2004
for such launches, Peixoto 2020 for networks). Without the scans q would be next to nothing: the first points to be
dealt out know nothing of where the others will be.

`log_merge` gives r. A merge that u would turn down even with ``q = 1`` is not tried at all.
"""

from __future__ import annotations

import math

from copartition.core.clusters import let_go, put_in, take_out
from copartition.core.compiling import hook, inner, outline
from copartition.core.proposals import (
    ACCEPTED,
    REJECTED,
    SMALLEST,
    UNDEFINED,
    Draw,
    forced_side,
    gather,
    is_forbidden,
    log_prior_of_split,
)
from copartition.core.random import uniform_of
from copartition.core.state import Chain, Hooks, Model, SplitMerge
from copartition.core.types import float64, int64, uint64

SCANS = 4  # before the last one
MOST_LOG = 700.0  # exp of more is no number


@inner
def leave_pinned_out(model, room, count):
    """Leave points whose cluster is known out of the list of those that are dealt out; return how many are left."""
    members, pinned = room.members, model.pinned
    left = 0
    for position in range(count):
        members[left] = members[position]
        left += 1 - pinned[members[position]]
    return left


@inner
def take_members_out(model, hooks, chain, room, count):
    """Take the points that are dealt out out of their clusters."""
    for position in range(count):
        n = room.members[position]
        take_out(model, chain, n)
        let_go(model, hooks, chain, n)


@outline
def scan(model, hooks, chain, room, draw, count, number):
    """Let all points that are dealt out choose between the clusters of i and j; return the log probability of it.

    `number` tells which numbers of the key they use.
    """
    c = chain
    labels, sizes, log_size = c.labels, c.sizes, model.log_size
    row_i, row_j = labels[draw.i], labels[draw.j]
    log_q = 0.0
    for position in range(count):
        n = room.members[position]
        if labels[n] >= 0:
            take_out(model, chain, n)
        lead = model.power[0] * hooks.log_odds(model, chain, row_i, row_j, n)
        lead += log_size[sizes[row_i]] - log_size[sizes[row_j]]
        to_i = uniform_of(draw.key, n + number * len(labels)) < 1.0 / (1.0 + math.exp(min(-lead, MOST_LOG)))
        log_q -= log_one_plus_exp(-lead if to_i else lead)
        put_in(model, hooks, chain, n, row_i if to_i else row_j)
    return log_q


@outline
def lead_back(model, hooks, chain, room, draw, count, enough):
    """Put all points that are dealt out back to where they were; return the log probability with which they would go.

    The sides are noted in ``moved``. Probabilities are no longer computed once their product is not `enough`.
    """
    c = chain
    labels, sizes, log_size, members, sides = c.labels, c.sizes, model.log_size, room.members, room.moved
    row_i, row_j = labels[draw.i], labels[draw.j]
    log_q = 0.0
    for position in range(count):
        n = members[position]
        take_out(model, chain, n)
        if not log_q < enough:
            lead = model.power[0] * hooks.log_odds(model, chain, row_i, row_j, n)
            lead += log_size[sizes[row_i]] - log_size[sizes[row_j]]
            log_q -= log_one_plus_exp(lead if sides[position] else -lead)
        put_in(model, hooks, chain, n, row_j if sides[position] else row_i)
    return log_q


@inner
def log_one_plus_exp(x):
    """Return log(1 + exp(x)), for every x."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@outline
def absorb(model, hooks, chain, lost, kept):
    """Move all points of one cluster into another; the first one disappears."""
    c = chain
    left = c.sizes[lost]
    for n in range(len(c.labels)):
        if c.labels[n] == lost:
            take_out(model, chain, n)
            left -= 1
            # With its last point the cluster is gone, and later ones have moved down.
            put_in(model, hooks, chain, n, kept - 1 if left == 0 and kept > lost else kept)
            if left == 0:
                break


@outline
def launch(model, hooks, chain, room, draw, count):
    """Deal out the points of a move, which are in no cluster, and let them choose again a few times."""
    for number in range(SCANS + 1):
        scan(model, hooks, chain, room, draw, count, number)


@outline
def split_in_place(model, hooks, chain, room, draw):
    """Propose to split the cluster that i and j share; return what became of it."""
    c = chain
    new = c.n_clusters[0]
    count = gather(chain, room, draw.i, draw.j)
    leaving = draw.j
    if len(model.pinned) > 0:
        count = leave_pinned_out(model, room, count)
        leaving = draw.i if forced_side(model, draw) == 1 else draw.j
    room.dealt[0] += (SCANS + 2) * count
    take_members_out(model, hooks, chain, room, count)
    take_out(model, chain, leaving)
    put_in(model, hooks, chain, leaving, new)
    launch(model, hooks, chain, room, draw, count)
    log_q = scan(model, hooks, chain, room, draw, count, SCANS + 1)
    row_i, row_j = c.labels[draw.i], c.labels[draw.j]
    log_ratio = log_prior_of_split(model, new, c.sizes[row_i], c.sizes[row_j])
    log_ratio -= model.power[0] * hooks.log_merge(model, chain, row_i, row_j)
    if math.log(1.0 - draw.u) <= log_ratio - log_q:
        return ACCEPTED
    absorb(model, hooks, chain, new, row_i + row_j - new)
    return UNDEFINED if log_ratio != log_ratio or log_q != log_q else REJECTED


@outline
def merge_in_place(model, hooks, chain, room, draw):
    """Propose to merge the clusters of i and j; return what became of it."""
    c = chain
    row_i, row_j = c.labels[draw.i], c.labels[draw.j]
    log_u = math.log(max(draw.u, SMALLEST))
    log_ratio = model.power[0] * hooks.log_merge(model, chain, row_i, row_j)
    log_ratio -= log_prior_of_split(model, c.n_clusters[0] - 1, c.sizes[row_i], c.sizes[row_j])
    if log_ratio != log_ratio:
        return UNDEFINED
    if not log_u <= log_ratio:
        return REJECTED
    count = gather(chain, room, draw.i, draw.j)
    if len(model.pinned) > 0:
        if not can_be_undone(model, chain, room, draw, count):
            return REJECTED
        count = leave_pinned_out(model, room, count)
    for position in range(count):
        room.moved[position] = c.labels[room.members[position]] == row_j
    room.dealt[0] += (SCANS + 2) * count
    take_members_out(model, hooks, chain, room, count)
    launch(model, hooks, chain, room, draw, count)
    log_q = lead_back(model, hooks, chain, room, draw, count, log_u - log_ratio)
    if log_q != log_q:
        return UNDEFINED
    if not log_u <= log_ratio + log_q:
        return REJECTED
    absorb(model, hooks, chain, row_j, row_i)
    return ACCEPTED


@inner
def can_be_undone(model, chain, room, draw, count):
    """Tell whether a split could lead to the present clusters of i and j, where some points are known."""
    labels = chain.labels
    home = labels[draw.j] if forced_side(model, draw) == 1 else labels[draw.i]
    for position in range(count):
        n = room.members[position]
        if model.pinned[n] and labels[n] != home:
            return False
    return True


@hook(int64(Model, Hooks, Chain, SplitMerge, int64, int64, float64, uint64))
def move_in_place(model, hooks, chain, room, i, j, u, key):
    """Make the split-merge move that these random numbers stand for; return what became of it."""
    draw = Draw(i, j, u, key)
    if len(model.pinned) > 0 and is_forbidden(model, draw):
        return REJECTED
    if chain.labels[draw.i] == chain.labels[draw.j]:
        return split_in_place(model, hooks, chain, room, draw)
    return merge_in_place(model, hooks, chain, room, draw)
