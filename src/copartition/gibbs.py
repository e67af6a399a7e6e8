"""Gibbs sweeps: of one chain, and of two chains together.

A sweep visits the points in order. Each is taken out of its cluster and put back by its conditional law given all the
others (Section 2.1 of the paper). In a coupled sweep both chains do this for the same point at the same time; the
first chooses by its own law, and a coupling says what the second does (Algorithm 1 of the paper).

What a target or a coupling computes arrives here as a compiled function with a published signature
(`copartition.compiled.state`), so these functions know nothing of either. `copartition.steps` makes kernels of them.

A sweep stops where it needs Python's help and says why: more clusters than there is room for (`FULL`), log weights
that are no law (`INVALID`, `IMPOSSIBLE`), or a coupling that chose what is no choice (`WRONG_PARTNER`). ``progress[1]``
then holds the point at hand, from which the sweep goes on.
"""

from __future__ import annotations

import numpy as np

from copartition.compiled.clusters import choices, has_room, put_in, reset, take_out
from copartition.compiled.exponential import LOWEST, exp_nonpositive
from copartition.compiled.kernel import inner, outline
from copartition.compiled.matching import join, match_clusters, part, take_out_of_matched
from copartition.compiled.random import draw, shuffle, uniform

DONE = 0
FULL = 1
INVALID = 2
IMPOSSIBLE = 3
WRONG_PARTNER = 4

POINTS_BETWEEN_MATCHINGS = 32  # at most, and fewer where a sweep is short
MATCHINGS_A_SWEEP = 4
MANY_CELLS = 512


# --- the conditional law of a point ----------------------------------------------------------------------------------


@inner
def add_log_prior(model, chain, n_choices):
    """Add the log prior weights to the log weights of all choices."""
    m = model[0]
    c = chain[0]
    weights, sizes, log_size = c.weights, c.sizes, m.log_size
    existing = n_choices if m.palette > 0 else n_choices - 1
    for k in range(existing):
        weights[k] += log_size[sizes[k]]
    if existing < n_choices:
        weights[existing] += m.log_new[min(existing, len(m.log_new) - 1)]


@inner
def exponentiate(weights, n_choices):
    """Turn log weights into weights, the largest of which is 1; return their sum.

    The sum is NaN if a log weight is NaN or plus infinity, and 0 if all are minus infinity.

    A choice whose weight is below the rounding error of the largest is left out: exp(-40) is a 25th of 2^-53. No
    uniform number could select it, and short supports are what makes the transport problems small.
    """
    top = -np.inf
    invalid = False
    for k in range(n_choices):
        top = max(top, weights[k])
        invalid |= weights[k] != weights[k]
    if invalid or top == np.inf:
        return np.nan
    if top == -np.inf:
        return 0.0
    total = 0.0
    for k in range(n_choices):
        below = weights[k] - top
        weight = exp_nonpositive(max(below, LOWEST))
        weight = weight if below > LOWEST else 0.0
        weights[k] = weight
        total += weight
    return total


@inner
def weigh(model, chain, log_predictive, n_choices, n):
    """Compute the conditional law of point n, which is in no cluster; return the sum of the weights."""
    weights = chain[0].weights
    for k in range(n_choices):
        weights[k] = np.nan  # so that a function that forgets a choice is found out
    log_predictive(model, chain, n_choices, n)
    add_log_prior(model, chain, n_choices)
    return exponentiate(weights, n_choices)


@inner
def why_not(total):
    """Return the status for a sum of weights that is no positive number."""
    return IMPOSSIBLE if total == 0.0 else INVALID


# --- one chain -------------------------------------------------------------------------------------------------------


@inner
def update_chain(model, chain, log_predictive, random, n):
    """Take point n out and put it back by its conditional law; return a status."""
    if not has_room(model, chain):
        return FULL
    take_out(model, chain, n)
    n_choices = choices(model, chain)
    total = weigh(model, chain, log_predictive, n_choices, n)
    if not total > 0.0:
        return why_not(total)
    k = draw(chain[0].weights, n_choices, uniform(random) * total)
    put_in(model, chain, n, k)
    return DONE


@outline
def sweep_chain(model, chain, log_predictive, random, progress):
    """Go on with a sweep of one chain from point ``progress[1]``; return a status."""
    for n in range(progress[1], len(chain[0].labels)):
        status = update_chain(model, chain, log_predictive, random, n)
        if status != DONE:
            progress[1] = n
            return status
    progress[1] = len(chain[0].labels)
    return DONE


@outline
def fill(model, chain, log_predictive, random, order, use_data):
    """Put all points, which are in no cluster, into clusters one by one, in a random order; return a status.

    Each is drawn from its conditional law given those before it (`use_data`), or from the prior alone. `order` is
    scratch; its first entry says where it stopped.
    """
    shuffle(order, random)
    weights = chain[0].weights
    for n in order:
        if not has_room(model, chain):
            return FULL
        n_choices = choices(model, chain)
        if use_data:
            total = weigh(model, chain, log_predictive, n_choices, n)
        else:
            for k in range(n_choices):
                weights[k] = 0.0
            add_log_prior(model, chain, n_choices)
            total = exponentiate(weights, n_choices)
        if not total > 0.0:
            order[0] = n
            return why_not(total)
        put_in(model, chain, n, draw(weights, n_choices, uniform(random) * total))
    return DONE


@inner
def place_start(model, chain, log_predictive, random, start, order):
    """Put a chain at its start: the partition `start`, or, if that says -1 or -2, a random one; return a status.

    -1 is a draw from the prior, -2 the sequential start, which looks at the data.
    """
    reset(model, chain, start)
    if start[0] >= 0:
        return DONE
    return fill(model, chain, log_predictive, random, order, start[0] == -2)


# --- two chains ------------------------------------------------------------------------------------------------------


@inner
def separation(pair, n):
    """Return what point n, which is in a cluster of both chains, adds to their Hamming distance.

    With clusters A and B of n this is 2 (|A| + |B| - 2 |A and B|), from the definition of the distance.
    """
    p = pair[0]
    i, j = p.x.labels[n], p.y.labels[n]
    common = p.overlap[p.x.slots[i], p.y.slots[j]]
    return 2 * (p.x.sizes[i] + p.y.sizes[j] - 2 * common)


@inner
def count_overlap(pair, n, change):
    """Add `change` to the overlap of the two clusters of point n."""
    p = pair[0]
    p.overlap[p.x.slots[p.x.labels[n]], p.y.slots[p.y.labels[n]]] += change


@inner
def take_out_of_both(model, pair, x, y, matching, n):
    """Take point n out of both chains and out of the books of the pair."""
    p = pair[0]
    p.distance[0] -= separation(pair, n)
    count_overlap(pair, n, -1)
    if matching:
        take_out_of_matched(model, x, n, p.mates.there, p.mates.back)
        take_out_of_matched(model, y, n, p.mates.back, p.mates.there)
    else:
        take_out(model, x, n)
        take_out(model, y, n)


@inner
def put_into_both(model, pair, x, y, matching, n, i, j):
    """Put point n into cluster i of x and j of y and into the books of the pair."""
    if matching and model[0].palette == 0:
        new_x, new_y = x[0].counts[0], y[0].counts[0]
        if (i == new_x) != (j == new_y):
            part(pair[0].mates.there, pair[0].mates.back, new_x, new_y)
    put_in(model, x, n, i)
    put_in(model, y, n, j)
    count_overlap(pair, n, 1)
    pair[0].distance[0] += separation(pair, n)


@inner
def keep_matched(model, pair, x, y, n):
    """Let new clusters go with each other, and match all of them afresh where it is time to.

    Where there are many clusters that is seldom: it takes as many steps as there are pairs of them.
    """
    n_x, n_y = x[0].counts[0], y[0].counts[0]
    due = pair[0].due
    if n >= due[0]:
        match_clusters(model, pair)
        period = min(POINTS_BETWEEN_MATCHINGS, 1 + len(x[0].labels) // MATCHINGS_A_SWEEP)
        due[0] = n + period * (1 + n_x * n_y // MANY_CELLS)
    if model[0].palette == 0:
        join(pair[0].mates.there, pair[0].mates.back, n_x, n_y)


@inner
def update_pair(model, pair, x, y, moves, log_predictive, partner, random, n):
    """Take point n out of both chains and put it back by the coupling; return a status."""
    if not (has_room(model, x) and has_room(model, y)):
        return FULL
    matching = moves[0].matching > 0
    nugget = moves[0].nugget
    take_out_of_both(model, pair, x, y, matching, n)
    if matching:
        keep_matched(model, pair, x, y, n)
    n_x, n_y = choices(model, x), choices(model, y)
    total_x = weigh(model, x, log_predictive, n_x, n)
    total_y = weigh(model, y, log_predictive, n_y, n)
    if not total_x > 0.0:
        return why_not(total_x)
    if not total_y > 0.0:
        return why_not(total_y)
    i = draw(x[0].weights, n_x, uniform(random) * total_x)
    if nugget > 0.0 and uniform(random) < nugget:
        j = draw(y[0].weights, n_y, uniform(random) * total_y)
    else:
        j = partner(pair, n_x, n_y, total_x, total_y, i, uniform(random))
        if not 0 <= j < n_y or y[0].weights[j] == 0.0:
            return WRONG_PARTNER
    put_into_both(model, pair, x, y, matching, n, i, j)
    return DONE


@outline
def sweep_pair(model, pair, x, y, moves, log_predictive, partner, random, progress):
    """Go on with a sweep of both chains, point by point, from point ``progress[1]``; return a status."""
    for n in range(progress[1], len(x[0].labels)):
        status = update_pair(model, pair, x, y, moves, log_predictive, partner, random, n)
        if status != DONE:
            progress[1] = n
            return status
    progress[1] = len(x[0].labels)
    return DONE


@outline
def recount_pair(pair):
    """Count the overlaps of two chains and their distance from the labels."""
    p = pair[0]
    for a in range(p.overlap.shape[0]):
        for b in range(p.overlap.shape[1]):
            p.overlap[a, b] = 0
    for n in range(len(p.x.labels)):
        count_overlap(pair, n, 1)
    distance = 0
    for size in p.x.sizes:
        distance += size * size
    for size in p.y.sizes:
        distance += size * size
    for a in range(p.overlap.shape[0]):
        for b in range(p.overlap.shape[1]):
            distance -= 2 * p.overlap[a, b] * p.overlap[a, b]
    p.distance[0] = distance
