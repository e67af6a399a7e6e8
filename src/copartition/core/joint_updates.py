"""Joint updates: some points that lie near each other are dealt out to clusters anew, all at once.

Where clusters of a few points come and go, a chain that moves one point at a time waits for long: the first point of a
new cluster pays for it, and the gain comes with the next ones. A joint update looks ahead.

1. Draw a point, a size s and an order; the *group* is that point and the s - 1 points nearest to it. Take them out.
2. Deal them out to the clusters of all other points in M ways, independently of each other and of where they were: each
   point in turn chooses by its conditional distribution given all that is placed, but with a weight for a new cluster
   that is larger by a factor exp(b). With lo the log of the sum of the weights of all clusters and l that of a new one,

       b = max(0, min(G, lo - l)), and for all points but the last at least lo - l + log 0.02,

   where G is what a new cluster can gain: the largest sum, over the first j of the nearest points yet to come, of the
   log weight of each in that cluster over its log weight in the best of the clusters outside of the group.
3. The weight w of a way is the target's density over the probability of proposing it: the product over points of the
   sum of the weights that it chose from, over exp(b) where it opened a cluster. Let w_0 be that of the present way.
   Draw one of the M in proportion to w, and let W be their sum. Move there with probability
   ``min(1, W / (W - w + w_0))``.

This is the multiple-try method of Liu, Liang and Wong (2000) with proposals that do not depend on the state. The flow
from x to y, pi(x) times the sum over the other M - 1 ways of q(y) prod q(others) (w_y / W) min(1, W / (W - w_y + w_x)),
is symmetric because q(y) w_y is pi(y) but for a constant, and W - w_y is the same in both directions. Groups, orders
and the lists of near points must not depend on the state: they are fixed before any chain starts.

**Two chains** make the update together: the same group in the same order. Clusters of points outside of the group that
go with each other in the two chains have the same name, those that are opened by the same point too, and each choice
takes the name with the least E(name) / weight, where E are exponential numbers that both chains share; a choice has the
right distribution for each chain, and the two agree often. The way to take is drawn by a maximal coupling, and both
compare with the same uniform number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from copartition.core.clusters import (
    add_log_prior,
    clear_row,
    copy_kept,
    exponentiate,
    forbid,
    let_go,
    predict,
    put_in,
    take_out,
)
from copartition.core.compiling import hook, inner, outline
from copartition.core.overlaps import match_clusters, recount_pair
from copartition.core.random import bits, bits_of, draw, uniform, uniform_of
from copartition.core.split_merge import grow
from copartition.core.state import PLACE, UPDATES_A_CALL, JointUpdates, move_signatures
from copartition.core.types import DONE, FULL, INVALID, PAUSED

AHEAD = 8  # points that are looked ahead to
LEAST_SHARE = math.log(0.02)
TINY = 2.0**-53

# How the names of clusters are found: not needed, by row, or by what goes with it in the first chain.
ALONE, FIRST, SECOND = 0, 1, 2


class Shuffled(NamedTuple):
    """The random numbers of an update: bits for all choices, and numbers for the way and for acceptance."""

    key: np.uint64
    choose: float
    change: float
    accept: float


class Way(NamedTuple):
    """Which way of dealing is at hand (0: the present one), its bits, and how names are found."""

    number: int
    key: np.uint64
    naming: int


# --- the group -------------------------------------------------------------------------------------------------------


@outline
def draw_points(room, random):
    """Draw the points of a group and their order, and what else the update takes."""
    b = room
    points, place = b.points, b.place
    anchor = b.anchors[int(uniform(random) * len(b.anchors))]
    size = int(b.least * math.exp(uniform(random) * math.log((b.most + 1.0) / b.least)))
    points[0] = anchor
    count = 1
    while count < min(size, b.most) and b.near[anchor, count - 1] >= 0:
        points[count] = b.near[anchor, count - 1]
        count += 1
    for i in range(count - 1, 0, -1):
        j = int(uniform(random) * (i + 1))
        points[i], points[j] = points[j], points[i]
    for t in range(count):
        place[points[t]] = t
    b.size[0] = count
    return Shuffled(bits(random), uniform(random), uniform(random), uniform(random))


@inner
def forget_points(room):
    """Note that no point is in a group."""
    for t in range(room.size[0]):
        room.place[room.points[t]] = -1


@outline
def take_points_out(model, hooks, chain, room, deals):
    """Take the points of the group out of their clusters, and note where they were as the present way of dealing."""
    c, d = chain, deals
    count = room.size[0]
    for t in range(count):
        n = room.points[t]
        d.slots[t] = c.slots[c.labels[n]]
        take_out(model, chain, n)
        let_go(model, hooks, chain, n)
    present = d.rows[0]
    n_clusters = c.n_clusters[0]
    opened = 0
    for t in range(count):
        row = c.rows[d.slots[t]]
        if row >= n_clusters:  # its cluster is gone: the first of its points in the group opens it
            row = -1
            for earlier in range(t):
                if d.slots[earlier] == d.slots[t]:
                    row = present[earlier]
            if row < 0:
                row = n_clusters + opened
                opened += 1
        present[t] = row


# --- looking ahead ---------------------------------------------------------------------------------------------------


@outline
def look_ahead(model, hooks, chain, room, deals):
    """Compute what new clusters can gain, from the clusters outside of the group; return whether all is defined."""
    c, d, b = chain, deals, room
    count = b.size[0]
    n_clusters = c.n_clusters[0]
    if hooks.in_place:  # what a new cluster gains cannot be told apart from all others
        for t in range(count):
            d.gains[t] = 0.0
        return True
    for t in range(count):
        best = -np.inf
        if n_clusters > 0:
            predict(model, hooks, chain, n_clusters + 1, b.points[t])
            for k in range(n_clusters):
                best = max(best, c.weights[k] + model.log_size[c.sizes[k]])
                if c.weights[k] != c.weights[k]:
                    return False
        d.best[t] = best
    sides = room.sides
    s = sides
    keeps = hooks.keeps
    for t in range(count):
        p = b.points[t]
        s.sizes[0] = 0
        clear_row(s.sums, 0)
        grow(model, hooks, sides, p, 0, keeps)
        most = total = 0.0
        seen = position = 0
        while seen < AHEAD and position < b.near.shape[1] and b.near[p, position] >= 0:
            n = b.near[p, position]
            position += 1
            later = b.place[n]
            if later > t:
                seen += 1
                predict(model, hooks, sides, 1, n)
                gain = s.weights[0] + model.log_size[s.sizes[0]] - d.best[later]
                if gain != gain or gain == np.inf:
                    gain = 0.0
                total += gain
                most = max(most, total)
                grow(model, hooks, sides, n, 0, keeps)
        d.gains[t] = most
    return True


# --- a way of dealing ------------------------------------------------------------------------------------------------


@inner
def name_of(back, row, naming):
    """Return the name of a cluster of points outside of the group: that of its partner in the first chain, if any."""
    if naming == SECOND:
        return 3 * back[row] if back[row] >= 0 else 3 * row + 1
    return 3 * row


@inner
def save_row(chain, saved, rows, row, count):
    """Keep a cluster as it is, if that was not done already; return how many are kept."""
    for i in range(count):
        if rows[i] == row:
            return count
    a, b = chain, saved
    rows[count] = row
    b.sizes[count] = a.sizes[row]
    for d in range(a.sums.shape[1]):
        b.sums[count, d] = a.sums[row, d]
    if a.kept.shape[1] > 0:
        copy_kept(chain, row, saved, count)
    return count + 1


@outline
def undo(chain, saved, room, deals, count, n_clusters):
    """Take all points of the group out again, and restore the clusters as they were, digit by digit."""
    a, b = chain, saved
    for i in range(count):
        row = deals.saved[i]
        a.sizes[row] = b.sizes[i]
        for d in range(a.sums.shape[1]):
            a.sums[row, d] = b.sums[i, d]
        if a.kept.shape[1] > 0:
            copy_kept(saved, i, chain, row)
    for row in range(n_clusters, a.n_clusters[0]):
        a.sizes[row] = 0
        clear_row(a.sums, row)
    a.n_clusters[0] = n_clusters
    for t in range(room.size[0]):
        a.labels[room.points[t]] = -1


@outline
def undo_in_place(model, hooks, chain, room, placed):
    """Take the first points of the group, which have been placed, out again, the last one first: all is as before.

    For targets that count between clusters: rows that were kept would not know what the points have changed elsewhere.
    """
    for t in range(placed - 1, -1, -1):
        n = room.points[t]
        take_out(model, chain, n)
        let_go(model, hooks, chain, n)


@inner
def weigh_with_boost(chain, n_clusters, gain, is_last):
    """Turn log weights into those that a way chooses by; return the log of their sum as it counts, and b.

    All are relative to the largest. Where there is no choice of positive weight the sum is 0.
    """
    weights = chain.weights
    top = -np.inf
    for k in range(n_clusters):
        top = max(top, weights[k])
    new = weights[n_clusters]
    if top == -np.inf:
        weights[n_clusters] = 1.0 if new > -np.inf else 0.0
        for k in range(n_clusters):
            weights[k] = 0.0
        return new, 0.0
    total = exponentiate(weights, n_clusters, top)
    existing = top + math.log(total)
    boost = max(0.0, min(gain, existing - new))
    if not is_last:
        boost = max(boost, existing + LEAST_SHARE - new)
    if new == -np.inf:
        weights[n_clusters] = 0.0
        return existing, 0.0
    lead = new + boost - existing
    if lead <= 0.0:
        ratio = math.exp(lead)
        weights[n_clusters] = total * ratio
        return existing + math.log1p(ratio), boost
    ratio = math.exp(-lead)
    for k in range(n_clusters):
        weights[k] *= ratio / total
    weights[n_clusters] = 1.0
    return new + boost + math.log1p(ratio), boost


@inner
def choose_by_name(back, weights, opened, outside, n_clusters, key, naming):
    """Return the choice whose name has the least exponential number over its weight.

    A cluster that was opened is named by the point that opened it, the new one by the point at hand.
    """
    least = np.inf
    chosen = n_clusters
    for k in range(n_clusters + 1):
        if weights[k] > 0.0:
            name = name_of(back, k, naming) if k < outside else 3 * opened[k - outside] + 2
            time = -math.log(max(uniform_of(key, name), TINY)) / weights[k]
            if time < least:
                least = time
                chosen = k
    return chosen


@outline
def deal(model, hooks, chain, back, room, deals, way):
    """Deal the points of the group out in one way, write down its weight, and take them out again.

    Returns whether all weights are defined.
    """
    c, d = chain, deals
    saved = room.saved
    rows = d.rows[way.number]
    count = room.size[0]
    outside = c.n_clusters[0]
    kept = 0
    log_weight = 0.0
    placed = 0
    in_place, restricted = hooks.in_place > 0, len(model.pinned) > 0
    for t in range(count):
        n = room.points[t]
        n_clusters = c.n_clusters[0]
        d.opened[n_clusters - outside] = t  # if a cluster is opened
        row = 0
        if n_clusters > 0:  # else there is no choice
            predict(model, hooks, chain, n_clusters + 1, n)
            if restricted:
                forbid(model, chain, n_clusters + 1, n)
            top = add_log_prior(model, chain, n_clusters + 1)
            if not top < np.inf:
                log_weight = np.nan
                break
            if top == -np.inf:
                log_weight = -np.inf
                break
            log_total, boost = weigh_with_boost(chain, n_clusters, d.gains[t], t == count - 1)
            key = bits_of(way.key, t)
            if way.number == 0:
                row = rows[t]
            elif way.naming == ALONE:
                total = 0.0
                for k in range(n_clusters + 1):
                    total += c.weights[k]
                row = draw(c.weights, n_clusters + 1, uniform_of(key, 0) * total)
            else:
                row = choose_by_name(back, c.weights, d.opened, outside, n_clusters, key, way.naming)
            log_weight += log_total - (boost if row == n_clusters else 0.0)
        rows[t] = row
        if row < outside and not in_place:
            kept = save_row(chain, saved, d.saved, row, kept)
        put_in(model, hooks, chain, n, row)
        placed = t + 1
    d.log_weights[way.number] = log_weight
    if in_place:
        undo_in_place(model, hooks, chain, room, placed)
    else:
        undo(chain, saved, room, deals, kept, outside)
    return log_weight == log_weight


@outline
def deal_all(model, hooks, chain, back, room, deals, key, naming):
    """Deal the points of the group, which are taken out, in all ways; return whether all weights are defined."""
    b = room
    if not look_ahead(model, hooks, chain, room, deals):
        return False
    for number in range(b.tries + 1):
        if not deal(model, hooks, chain, back, room, deals, Way(number, bits_of(key, number), naming)):
            return False
    d = deals
    top = -np.inf
    for number in range(b.tries + 1):
        top = max(top, d.log_weights[number])
    for number in range(b.tries + 1):
        d.weights[number] = math.exp(d.log_weights[number] - top)
    return True


# --- the update ------------------------------------------------------------------------------------------------------


@inner
def sum_of(weights):
    """Return the sum of the weights of all ways but the present one."""
    total = 0.0
    for number in range(1, len(weights)):
        total += weights[number]
    return total


@inner
def draw_way(deals, u):
    """Draw a way of dealing by weight; return 0, the present one, where no other is possible."""
    weights = deals.weights
    level = u * sum_of(weights)
    chosen = 0
    for number in range(1, len(weights)):
        if weights[number] > 0.0:
            chosen = number
            level -= weights[number]
            if level < 0.0:
                break
    return chosen


@inner
def accepted(deals, number, u):
    """Return the way that is taken: the one that was chosen, or the present one."""
    weights = deals.weights
    total = sum_of(weights)
    return number if u * (total - weights[number] + weights[0]) < total else 0


@inner
def partner_of(of_x, of_y, number, u):
    """Return what y chooses where x chose a way.

    The same as often as its distribution allows, by a maximal coupling.
    """
    p, q = of_x.weights, of_y.weights
    total_p, total_q = sum_of(p), sum_of(q)
    if number == 0 or not total_q > 0.0:
        return draw_way(of_y, u)
    share_p, share_q = p[number] / total_p, q[number] / total_q
    if u * share_p < share_q:
        return number
    # What is left of the distribution of y, at a level that is as uniform as u once it is known where u lies.
    left = 0.0
    for k in range(1, len(q)):
        left += max(0.0, q[k] / total_q - p[k] / total_p)
    level = left * (u * share_p - share_q) / (share_p - share_q)
    chosen = number
    for k in range(1, len(q)):
        rest = q[k] / total_q - p[k] / total_p
        if rest > 0.0:
            chosen = k
            level -= rest
            if level < 0.0:
                break
    return chosen


@outline
def put_points_in(model, hooks, chain, room, deals, number):
    """Put the points of the group where a way of dealing has them."""
    for t in range(room.size[0]):
        put_in(model, hooks, chain, room.points[t], deals.rows[number, t])


# --- the updates after a sweep and its moves -------------------------------------------------------------------------


@inner
def has_room_for_all(chain, room):
    """Tell whether every point of a group could open a cluster, with a row to spare as after a sweep."""
    return chain.n_clusters[0] + room.most + 1 < len(chain.sizes)


@inner
def is_long(room, n_points, progress):
    """Tell whether so many updates have been made since the last pause that it is time for another one."""
    return progress[PLACE] % max(1, UPDATES_A_CALL // (n_points + (room.tries + 1) * room.most)) == 0


alone_signature, together_signature = move_signatures(JointUpdates)


@hook(alone_signature)
def update_alone(model, hooks, chain, room, random, progress):
    """Joint updates, as a move of one chain."""
    while progress[PLACE] < room.number:
        if not has_room_for_all(chain, room):
            return FULL
        drawn = draw_points(room, random)
        take_points_out(model, hooks, chain, room, room.of_x)
        if not deal_all(model, hooks, chain, room.of_x.slots, room, room.of_x, drawn.key, ALONE):
            progress[PLACE] = room.points[0]
            return INVALID
        number = accepted(room.of_x, draw_way(room.of_x, drawn.choose), drawn.accept)
        put_points_in(model, hooks, chain, room, room.of_x, number)
        forget_points(room)
        progress[PLACE] += 1
        if is_long(room, len(chain.labels), progress):
            return PAUSED
    return DONE


@hook(together_signature)
def update_together(hooks, pair, room, rule, random, progress):
    """Joint updates, as a move of two chains."""
    x, y, model_x, model_y, of_x, of_y = pair.x, pair.y, pair.model_x, pair.model_y, room.of_x, room.of_y
    while progress[PLACE] < room.number:
        if not (has_room_for_all(x, room) and has_room_for_all(y, room)):
            return FULL
        drawn = draw_points(room, random)
        take_points_out(model_x, hooks, x, room, of_x)
        take_points_out(model_y, hooks, y, room, of_y)
        recount_pair(pair)
        match_clusters(model_x, pair)
        back = pair.matched.back
        if not (
            deal_all(model_x, hooks, x, back, room, of_x, drawn.key, FIRST)
            and deal_all(model_y, hooks, y, back, room, of_y, drawn.key, SECOND)
        ):
            progress[PLACE] = room.points[0]
            return INVALID
        i = draw_way(of_x, drawn.choose)
        j = partner_of(of_x, of_y, i, drawn.change)
        put_points_in(model_x, hooks, x, room, of_x, accepted(of_x, i, drawn.accept))
        put_points_in(model_y, hooks, y, room, of_y, accepted(of_y, j, drawn.accept))
        forget_points(room)
        recount_pair(pair)
        progress[PLACE] += 1
        if is_long(room, len(x.labels), progress):
            return PAUSED
    return DONE
