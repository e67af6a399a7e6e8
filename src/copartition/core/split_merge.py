"""Split-merge moves: a cluster falls into two, or two become one, in one step.

A chain that updates one point at a time can hardly split a cluster that should be two: the first points to leave would
be better off where they are. The sequentially allocated moves of Dahl (2003) propose the whole split at once:

1. draw two points i and j, a number u, and an order of all points;
2. if i and j share a cluster, deal out its other points, in that order, to two clusters that begin as {i} and {j}: each
   goes to i's side with a probability proportional to the size of that side times its predictive density, and likewise
   to j's. Call the product of the probabilities of what was chosen q. With r the ratio of the target's densities after
   and before, accept the split if ``log u <= log r - log q``;
3. if they do not, propose to merge their clusters. q is now the probability with which the same dealing would have led
   back to the present two clusters. Accept if ``log u <= log r + log q``.

Steps 2 and 3 undo each other, so the move leaves the target as it is (Metropolis and Hastings). As ``log q <= 0``, a
merge is turned down as soon as ``log u`` exceeds what is left, most often before any point is dealt out.

**Two chains** make the move together by using the same random numbers: i, j, u, the order, and one number for each
point that says to which side it goes. Each chain alone does exactly what it would do on its own, so its distribution is
not touched; and chains that are alike mostly split or merge the same clusters in the same way. If one of them has a
cluster that the other has in two parts, one proposes to split and the other to merge, and it would be a pity if both
did so. A merge therefore uses 1 - u, which is as uniform as u: then mostly one of the two room, to where the other one
is.

**In many dimensions** a cluster of one point says little of its mean, and the first points to be dealt out decide.
There (`SplitMerge.by_certainty`) they are dealt out in the order of their certainty, by how much more likely each is
given i alone than given j alone. That order depends on i, j and the points that are dealt out, which a split and the
merge that undoes it have in common, so nothing else changes.

**Guided** splits know more: a few clusterings, the *guides*, that a pilot has found and that are fixed before any chain
starts. The log odds of i's side gain `GUIDANCE` times how often the point is with a point of that side in the guides,
less how often it is with one of j's side. That depends on the points dealt out so far only, so q is computed as before.

The numbers of the points come from one draw (`copartition.core.random.uniform_of`), so that chains may use as many
of them as they need. All moves after a sweep share one order: for every fixed order each of them leaves the target as
it is, so their sequence does too.
"""

from __future__ import annotations

import math

import numpy as np

from copartition.core.clusters import add_to_row, clear_row, copy_kept, drop_cluster, enter_kept, predict
from copartition.core.compiling import hook, inner, outline
from copartition.core.numerics import LOWEST, exp_nonpositive
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

# Factors of a product are gathered until it comes close to the largest number there is, then its logarithm is taken.
LARGE = 1e280
GUIDANCE = 10.0  # what a side gains, in log odds, of which all points are always together with the one at hand


@inner
def grow(model, hooks, sides, n, row, keeps):
    """Put point n into a row of growing clusters; `keeps` says whether the target keeps anything for it."""
    add_to_row(model, sides, n, row)
    if keeps:
        enter_kept(model, hooks, sides, n, row)


@inner
def begin_sides(model, hooks, sides, i, j):
    """Make the first two sides {i} and {j}; return the log density of j alone, over j after i.

    Targets without `log_merge` get a third one, {i, j}.
    """
    s = sides
    for row in range(3):
        s.sizes[row] = 0
        clear_row(s.sums, row)
    keeps = hooks.keeps
    grow(model, hooks, sides, i, 0, keeps)
    predict(model, hooks, sides, 2, j)
    gain = s.weights[1] - s.weights[0]
    grow(model, hooks, sides, j, 1, keeps)
    if hooks.has_log_merge == 0:
        grow(model, hooks, sides, i, 2, keeps)
        grow(model, hooks, sides, j, 2, keeps)
    return gain


@outline
def count_together(room, n, side):
    """Count point n among those of a side, in its clusters of all guides."""
    guides, together = room.guides, room.together
    for g in range(guides.shape[1]):
        together[side, guides[n, g]] += 1


@outline
def begin_guides(room, i, j):
    """Count the first two points of the sides, and no other, in the clusters of the guides."""
    together = room.together
    for side in range(2):
        for k in range(together.shape[1]):
            together[side, k] = 0
    count_together(room, i, 0)
    count_together(room, j, 1)


@outline
def guidance_for(room, n, size_i, size_j):
    """Return what guides add to the log odds of i's side, for point n."""
    guides, together = room.guides, room.together
    with_i = with_j = 0
    for g in range(guides.shape[1]):
        k = guides[n, g]
        with_i += together[0, k]
        with_j += together[1, k]
    return GUIDANCE * (with_i / size_i - with_j / size_j) / guides.shape[1]


@outline
def sort_by_certainty(certainty, members, count):
    """Sort the first members by certainty, the most certain first: heap sort, which needs no room of its own."""
    begin = count // 2
    end = count
    while end > 1:
        if begin > 0:
            begin -= 1
        else:
            end -= 1
            certainty[0], certainty[end] = certainty[end], certainty[0]
            members[0], members[end] = members[end], members[0]
        root = begin
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and certainty[child + 1] < certainty[child]:
                child += 1
            if certainty[root] <= certainty[child]:
                break
            certainty[root], certainty[child] = certainty[child], certainty[root]
            members[root], members[child] = members[child], members[root]
            root = child
            child = 2 * root + 1


@inner
def deal_out(model, hooks, chain, room, draw, is_split, enough):
    """Deal the other points of the clusters of i and j out to two sides.

    A split chooses the sides by the numbers of the draw's key, and notes the points that go to j's side; for a merge
    the sides are those of the present clusters. A merge stops when ``log q < enough``: it is turned down then.

    Returns the number of points noted, log q, and, for targets without `log_merge`, the log of the density of the two
    sides over that of all points in one cluster.
    """
    sides = room.sides
    s = sides
    labels, log_size = chain.labels, model.log_size
    cluster_i = labels[draw.i]
    by_predictive, keeps = hooks.has_log_merge == 0, hooks.keeps
    log_ratio = begin_sides(model, hooks, sides, draw.i, draw.j)
    rows = 3 if by_predictive else 2
    noted = 0
    log_q = 0.0
    product = 1.0
    restricted = len(model.pinned) > 0
    forced = forced_side(model, draw) if restricted else 0
    count = gather(chain, room, draw.i, draw.j)
    if room.by_certainty:
        for position in range(count):
            hooks.log_predictive(model, sides, 2, room.members[position])
            room.certainty[position] = abs(s.weights[0] - s.weights[1])
        sort_by_certainty(room.certainty, room.members, count)
    room.dealt[0] += count
    is_guided = room.guides.shape[1] > 0
    if is_guided:
        begin_guides(room, draw.i, draw.j)
    for position in range(count):
        n = room.members[position]
        predict(model, hooks, sides, rows, n)
        of_i = s.weights[0] + log_size[s.sizes[0]]
        of_j = s.weights[1] + log_size[s.sizes[1]]
        if not (of_i < np.inf and of_j < np.inf):
            return noted, np.nan, np.nan
        lead = of_i - of_j
        if is_guided:
            lead += guidance_for(room, n, s.sizes[0], s.sizes[1])
        if lead != lead:
            return noted, -np.inf, -np.inf  # minus infinity on both sides: no split of these points is possible
        # The likelier side has probability 1 / (1 + small), the other one small / (1 + small).
        gap = abs(lead)
        small = exp_nonpositive(max(-gap, LOWEST))
        small = small if gap < -LOWEST else 0.0
        favours_i = lead >= 0.0
        if restricted and model.pinned[n]:
            if not is_split and int(labels[n] != cluster_i) != forced:
                return noted, -np.inf, log_ratio
            side = forced
        elif is_split:
            p = (1.0 if favours_i else small) / (1.0 + small)
            side = int(uniform_of(draw.key, n) >= p)
        else:
            side = int(labels[n] != cluster_i)
        if not (restricted and model.pinned[n]):
            log_q -= gap if side == favours_i else 0.0
            product *= 1.0 + small
        if product > LARGE:
            log_q -= math.log(product)
            product = 1.0
        if log_q < enough:
            return noted, log_q, log_ratio
        room.moved[noted] = n
        noted += side
        if by_predictive:
            log_ratio += s.weights[side] - s.weights[2]
            grow(model, hooks, sides, n, 2, keeps)
        grow(model, hooks, sides, n, side, keeps)
        if is_guided:
            count_together(room, n, side)
    return noted, log_q - math.log(product), log_ratio


@outline
def try_split(model, hooks, chain, room, draw):
    """Propose to split the cluster that i and j share; return what became of it."""
    noted, log_q, log_ratio = deal_out(model, hooks, chain, room, draw, True, -np.inf)
    if log_q == -np.inf:
        return REJECTED
    c = chain
    sides = room.sides
    s = sides
    if hooks.has_log_merge:
        log_ratio = -model.power[0] * hooks.log_merge(model, sides, 0, 1)
    old, new = c.labels[draw.i], c.n_clusters[0]
    log_ratio += log_prior_of_split(model, new, s.sizes[0], s.sizes[1])
    if log_ratio != log_ratio or log_q != log_q:
        return UNDEFINED
    if not math.log(1.0 - draw.u) <= log_ratio - log_q:
        return REJECTED
    c.labels[draw.j] = new
    for position in range(noted):
        c.labels[room.moved[position]] = new
    c.sizes[old] = s.sizes[0]
    c.sizes[new] = s.sizes[1]
    c.kinds[new] = c.kinds[old]
    for d in range(c.sums.shape[1]):
        c.sums[old, d] = s.sums[0, d]
        c.sums[new, d] = s.sums[1, d]
    if hooks.keeps:
        copy_kept(sides, 0, chain, old)
        copy_kept(sides, 1, chain, new)
    c.n_clusters[0] += 1
    return ACCEPTED


@outline
def try_merge(model, hooks, chain, room, draw):
    """Propose to merge the clusters of i and j; return what became of it."""
    c = chain
    kept, lost = c.labels[draw.i], c.labels[draw.j]
    log_u = math.log(max(draw.u, SMALLEST))
    log_prior = -log_prior_of_split(model, c.n_clusters[0] - 1, c.sizes[kept], c.sizes[lost])
    log_ratio = 0.0
    enough = -np.inf
    if hooks.has_log_merge:
        log_ratio = model.power[0] * hooks.log_merge(model, chain, kept, lost) + log_prior
        if log_ratio != log_ratio:
            return UNDEFINED
        if not log_u <= log_ratio:
            return REJECTED
        enough = log_u - log_ratio
    _, log_q, log_split = deal_out(model, hooks, chain, room, draw, False, enough)
    if hooks.has_log_merge == 0:
        log_ratio = log_prior - log_split
    if log_ratio != log_ratio or log_q != log_q:
        return UNDEFINED
    if not log_u <= log_ratio + log_q:
        return REJECTED
    for d in range(c.sums.shape[1]):
        c.sums[kept, d] += c.sums[lost, d]
    for n in range(len(c.labels)):
        if c.labels[n] == lost:
            c.labels[n] = kept
            c.sizes[kept] += 1
            if hooks.keeps:
                enter_kept(model, hooks, chain, n, kept)
    drop_cluster(chain, lost)
    return ACCEPTED


@hook(int64(Model, Hooks, Chain, SplitMerge, int64, int64, float64, uint64))
def move_beside(model, hooks, chain, room, i, j, u, key):
    """Make the split-merge move that these random numbers stand for, the sides of a split growing beside the chain.

    The chain must have room for a new cluster, and `room` an order. Returns what became of it.
    """
    draw = Draw(i, j, u, key)
    if len(model.pinned) > 0 and is_forbidden(model, draw):
        return REJECTED
    if chain.labels[draw.i] == chain.labels[draw.j]:
        return try_split(model, hooks, chain, room, draw)
    return try_merge(model, hooks, chain, room, draw)
