"""Gibbs sweeps: of one chain, and of two chains together, point by point or as a whole.

A sweep visits the points in order. Each is taken out of its cluster and put back by its conditional distribution given
all the others (Section 2.1 of the paper). In a coupled sweep both chains do this for the same point at the same time;
the first chooses by its own distribution, and a coupling says what the second does (Algorithm 1 of the paper).

A sweep stops where it needs Python's help and says why (`copartition.core.types`). ``progress[PLACE]`` then holds the
point at hand, from which the sweep goes on.

**A whole sweep of two chains at once** is the maximal coupling of their paths. Coupled point by point, two chains that
differ in a few points meet only if the draws of many points all happen to agree. Here both chains make *the same sweep*
with the largest probability that there is.

**Paths.** At the start of a sweep clusters of x and y that go with each other get the same name
(`copartition.core.overlaps`), the others names of their own, and a cluster that is opened later gets a new name,
the same in both chains. The path of a chain is the list of names that its points get, one after another. It says all
about the partition after the sweep, because by then every point has been placed: chains that take the same path have
met. Each chain has a distribution on paths, the product of its conditional distributions; write P for that of x and Q
for that of y.

**Together.** While both are on the same path, let P and Q be the probabilities of the path so far and ``rho = Q / P``.
The chains go on together to name c with probability ``min(P p_c, Q q_c) / min(P, Q)``, where p and q are the
conditional distributions of the next point. By induction they are together on a path with probability ``min(P, Q)``
exactly. No coupling can do better.

**Parted.** With what is left, x goes to c with a probability proportional to ``(P p_c - Q q_c)+ = P (p_c - rho q_c)+``.
And so it goes on: a parted x must make up for exactly the paths on which the chains are not together often enough, and
``min(P, Q)`` together plus ``(P - Q)+`` parted is P. That takes knowing q along the path of x: a *shadow* of y is
dragged along it, and a shadow of x along the path of y. When rho is next to nothing the shadow is dropped.

The two parted draws are coupled with each other like any others, by the coupling's own function, on the distributions
``(p - rho q)+`` and its counterpart.

Distributions are right **at the end of a sweep**, not inside it: given the past of the sweep, a parted chain does not
follow its conditional distribution. Functionals are evaluated at the ends of sweeps, and whether a sweep is coupled as
a whole depends on the two partitions before it only.
"""

from __future__ import annotations

import math

from copartition.core.clusters import (
    choices,
    copy_array,
    copy_chain,
    has_room,
    put_in,
    refusal_of,
    take_out,
    weigh,
    weigh_both,
)
from copartition.core.compiling import hook, inner, outline
from copartition.core.numerics import LOWEST
from copartition.core.overlaps import forget, join, match_clusters, put_into_both, take_out_of_both, take_out_of_matched
from copartition.core.random import draw, uniform
from copartition.core.state import PLACE, UPDATES_A_CALL, Room, move_signatures
from copartition.core.types import DONE, FULL, PAUSED, WRONG_PARTNER

POINTS_BETWEEN_MATCHINGS = 32  # at most, and fewer where a sweep is short
MATCHINGS_A_SWEEP = 4
MANY_CELLS = 512

alone_signature, together_signature = move_signatures(Room)

# --- one chain -------------------------------------------------------------------------------------------------------


@inner
def update_chain(model, hooks, chain, random, n):
    """Take point n out and put it back by its conditional distribution; return a status."""
    if not has_room(model, chain):
        return FULL
    take_out(model, chain, n)
    n_choices = choices(model, chain)
    total = weigh(model, hooks, chain, n_choices, n)
    if not total > 0.0:
        return refusal_of(total)
    k = draw(chain.weights, n_choices, uniform(random) * total)
    put_in(model, hooks, chain, n, k)
    return DONE


@outline
def sweep_chain(model, hooks, chain, random, progress):
    """Go on with a sweep of one chain; return a status."""
    end = min(progress[PLACE] + UPDATES_A_CALL, len(chain.labels))
    for n in range(progress[PLACE], end):
        status = update_chain(model, hooks, chain, random, n)
        if status != DONE:
            progress[PLACE] = n
            return status
    progress[PLACE] = end
    return DONE if end == len(chain.labels) else PAUSED


@hook(alone_signature)
def sweep_alone(model, hooks, chain, room, random, progress):
    """A sweep, as a move of one chain."""
    return sweep_chain(model, hooks, chain, random, progress)


# --- two chains ------------------------------------------------------------------------------------------------------


@inner
def keep_matched(model, pair, x, y, n):
    """Let new clusters go with each other, and match all of them afresh where it is time to.

    Where there are many clusters that is seldom: it takes a pass over all of them for each one that is matched.
    """
    n_x, n_y = x.n_clusters[0], y.n_clusters[0]
    due = pair.due
    if n >= due[0]:
        match_clusters(model, pair)
        period = min(POINTS_BETWEEN_MATCHINGS, 1 + len(x.labels) // MATCHINGS_A_SWEEP)
        due[0] = n + period * (1 + n_x * n_y // MANY_CELLS)
    if model.palette == 0:
        join(pair.matched.there, pair.matched.back, n_x, n_y)


@inner
def update_pair(model, hooks, pair, x, y, rule, random, n):
    """Take point n out of both chains and put it back by the coupling; return a status."""
    if not (has_room(model, x) and has_room(model, y)):
        return FULL
    matching = rule.uses_matching > 0
    nugget = rule.nugget
    take_out_of_both(pair, x, y, matching, n)
    if matching:
        keep_matched(model, pair, x, y, n)
    status = weigh_both(pair, hooks, x, y, n)
    if status != DONE:
        return status
    n_x, n_y = choices(model, x), choices(model, y)
    total_x, total_y = x.total[0], y.total[0]
    i = draw(x.weights, n_x, uniform(random) * total_x)
    if nugget > 0.0 and uniform(random) < nugget:
        j = draw(y.weights, n_y, uniform(random) * total_y)
    else:
        j = rule.partner(pair, n_x, n_y, total_x, total_y, i, uniform(random))
        if not 0 <= j < n_y or y.weights[j] == 0.0:
            return WRONG_PARTNER
    put_into_both(model, hooks, pair, x, y, matching, n, (i, j))
    return DONE


@outline
def sweep_pair(model, hooks, pair, x, y, rule, random, progress):
    """Go on with a sweep of both chains, point by point; return a status."""
    end = min(progress[PLACE] + UPDATES_A_CALL, len(x.labels))
    for n in range(progress[PLACE], end):
        status = update_pair(model, hooks, pair, x, y, rule, random, n)
        if status != DONE:
            progress[PLACE] = n
            return status
    progress[PLACE] = end
    return DONE if end == len(x.labels) else PAUSED


@hook(together_signature)
def sweep_together(hooks, pair, room, rule, random, progress):
    """A sweep point by point, as a move of two chains."""
    if progress[PLACE] == 0:
        pair.due[0] = 0  # what was matched in the last sweep is of no use
    return sweep_pair(pair.model_x, hooks, pair, pair.x, pair.y, rule, random, progress)


POINT_BY_POINT, TOGETHER, PARTED = range(3)

# A ratio below this is lost in the rounding of a probability, as a weight is in `copartition.core.clusters`.
NEGLIGIBLE = math.exp(LOWEST)


@inner
def choose_phase(model, pair, rule):
    """Decide at the start of a sweep how it is coupled: as a whole if the chains are close."""
    p = pair
    p.due[0] = 0  # what was matched in the last sweep is of no use
    p.phase[0] = POINT_BY_POINT
    shared = match_clusters(model, pair)
    if len(p.x.labels) - shared <= rule.reach:
        p.phase[0] = TOGETHER
        p.ratios[0] = 1.0


# --- on the same path ------------------------------------------------------------------------------------------------


@inner
def step_together(model, hooks, pair, x, y, rule, random, n):
    """Place point n while both chains are on the same path; return a status."""
    p = pair
    take_out_of_both(pair, x, y, True, n)
    if model.palette == 0:
        join(p.matched.there, p.matched.back, x.n_clusters[0], y.n_clusters[0])
    status = weigh_both(pair, hooks, x, y, n)
    if status != DONE:
        return status
    n_x, total_x, total_y = choices(model, x), x.total[0], y.total[0]
    of_x, of_y, there = x.weights, y.weights, p.matched.there
    rho = p.ratios[0]
    # P : Q as numbers of which the larger is 1, so that neither overflows.
    of_p, of_q = min(1.0, 1.0 / rho), min(1.0, rho)
    level = uniform(random) * min(of_p, of_q)
    for i in range(n_x):
        j = there[i]
        if j >= 0:
            p_i, q_i = of_x[i] / total_x, of_y[j] / total_y
            level -= min(of_p * p_i, of_q * q_i)
            if level < 0.0:
                p.ratios[0] = rho * (q_i / p_i)
                put_into_both(model, hooks, pair, x, y, True, n, (i, j))
                return DONE
    separate(pair, x, y)
    return place_parted(model, hooks, pair, x, y, rule, random, n)


@outline
def separate(pair, x, y):
    """Let the chains part at the point at hand, whose distributions are in their weights.

    Shadows begin where they are.
    """
    p = pair
    copy_chain(x, pair.shadow_x)
    copy_chain(y, pair.shadow_y)
    copy_array(p.matched.there, p.names_x.there)
    copy_array(p.matched.back, p.names_x.back)
    copy_array(p.matched.back, p.names_y.there)
    copy_array(p.matched.there, p.names_y.back)
    p.phase[0] = PARTED
    p.ratios[1] = 1.0 / p.ratios[0]


# --- on paths of their own -------------------------------------------------------------------------------------------


@outline
def weigh_shadow(model, hooks, shadow, names, n, row, died, count):
    """Take point n out of a shadow, and weigh it; return the sum of its weights.

    `names` joins the clusters of the chain that it follows to its own. That chain has `count` clusters left; if `died`,
    its cluster `row` was the point alone and has just disappeared.
    """
    there, back = names.there, names.back
    if died:
        forget(there, back, row, count)
    take_out_of_matched(model, shadow, n, back, there, True)
    if model.palette == 0:
        join(there, back, count, shadow.n_clusters[0])
    return weigh(model, hooks, shadow, choices(model, shadow), n)


@inner
def leave_remainder(weights, n_choices, total, there, other_weights, other_total, ratio):
    """Replace a distribution p, given with its total, by ``(p - ratio q)+``, q by name; return the sum."""
    left = 0.0
    for k in range(n_choices):
        other = other_weights[there[k]] / other_total if there[k] >= 0 else 0.0
        weights[k] = weights[k] / total - ratio * other
        left += max(0.0, weights[k])
    # Where the two distributions are equal but for rounding errors nothing may be left, and any choice is as good as p.
    for k in range(n_choices):
        if left > 0.0:
            weights[k] = max(0.0, weights[k])
        elif there[k] >= 0:
            weights[k] += ratio * (other_weights[there[k]] / other_total)
    return left if left > 0.0 else 1.0


@inner
def follow(model, hooks, shadow, names, n, i, weight, ratio):
    """Let a shadow follow a chain that put point n into cluster i; return the new ratio, 0 if the shadow is dropped.

    `weight` is what was left of the probability of i, as `leave_remainder` leaves it.
    """
    k = names.there[i]
    if k < 0 or ratio == 0.0:
        return 0.0
    other = ratio * (shadow.weights[k] / shadow.total[0])
    ratio = other / (weight + other)
    if ratio < NEGLIGIBLE:
        return 0.0
    put_in(model, hooks, shadow, n, k)
    return ratio


@outline
def place_parted(model, hooks, pair, x, y, rule, random, n):
    """Put point n into both chains by the remainders of their distributions, and let the shadows follow.

    Return a status.

    The four distributions, of the chains and of their shadows, are in their weights, and the sums in their totals.
    """
    p = pair
    ratios = p.ratios
    shadow_x, shadow_y = pair.shadow_x, pair.shadow_y
    names_x, names_y = pair.names_x, pair.names_y
    n_x, n_y = choices(model, x), choices(model, y)
    of_x, of_y = x.weights, y.weights
    total_x, total_y = x.total[0], y.total[0]
    shadow_total_x, shadow_total_y = p.shadow_x.total[0], p.shadow_y.total[0]
    if ratios[0] > 0.0:
        total_x = leave_remainder(of_x, n_x, total_x, p.names_x.there, p.shadow_y.weights, shadow_total_y, ratios[0])
    if ratios[1] > 0.0:
        total_y = leave_remainder(of_y, n_y, total_y, p.names_y.there, p.shadow_x.weights, shadow_total_x, ratios[1])
    i = draw(of_x, n_x, uniform(random) * total_x)
    j = rule.partner(pair, n_x, n_y, total_x, total_y, i, uniform(random))
    if not 0 <= j < n_y or of_y[j] == 0.0:
        return WRONG_PARTNER
    ratios[0] = follow(pair.model_y, hooks, shadow_y, names_x, n, i, of_x[i], ratios[0])
    ratios[1] = follow(pair.model_x, hooks, shadow_x, names_y, n, j, of_y[j], ratios[1])
    put_into_both(model, hooks, pair, x, y, rule.uses_matching > 0, n, (i, j))
    return DONE


@outline
def step_parted(model, hooks, pair, x, y, rule, random, n):
    """Place point n after the chains have parted; return a status."""
    p = pair
    shadow_x, shadow_y = pair.shadow_x, pair.shadow_y
    row_x, row_y = x.labels[n], y.labels[n]
    before_x, before_y = x.n_clusters[0], y.n_clusters[0]
    matching = rule.uses_matching > 0
    take_out_of_both(pair, x, y, matching, n)
    if matching:
        keep_matched(model, pair, x, y, n)
    count_x, count_y = x.n_clusters[0], y.n_clusters[0]
    status = weigh_both(pair, hooks, x, y, n)
    if status != DONE:
        return status
    p.shadow_x.total[0] = p.shadow_y.total[0] = 1.0
    if p.ratios[0] > 0.0:
        own, names = pair.model_y, pair.names_x
        p.shadow_y.total[0] = weigh_shadow(own, hooks, shadow_y, names, n, row_x, count_x < before_x, count_x)
    if p.ratios[1] > 0.0:
        own, names = pair.model_x, pair.names_y
        p.shadow_x.total[0] = weigh_shadow(own, hooks, shadow_x, names, n, row_y, count_y < before_y, count_y)
    for total in (p.shadow_x.total[0], p.shadow_y.total[0]):
        if not total > 0.0:
            return refusal_of(total)
    return place_parted(model, hooks, pair, x, y, rule, random, n)


# --- a sweep ---------------------------------------------------------------------------------------------------------


@outline
def sweep_whole(model, hooks, pair, x, y, rule, random, progress):
    """Go on with a sweep of both chains as a whole; return a status."""
    phase = pair.phase
    end = min(progress[PLACE] + UPDATES_A_CALL, len(x.labels))
    for n in range(progress[PLACE], end):
        room = has_room(model, x) and has_room(model, y)
        if room and phase[0] == PARTED:
            room = has_room(model, pair.shadow_x) and has_room(model, pair.shadow_y)
        status = FULL
        if room and phase[0] == TOGETHER:
            status = step_together(model, hooks, pair, x, y, rule, random, n)
        elif room:
            status = step_parted(model, hooks, pair, x, y, rule, random, n)
        if status != DONE:
            progress[PLACE] = n
            return status
    progress[PLACE] = end
    return DONE if end == len(x.labels) else PAUSED


@hook(together_signature)
def sweep_path(hooks, pair, room, rule, random, progress):
    """A sweep, as a move of two chains: as a whole if they are close, else point by point."""
    if progress[PLACE] == 0:
        choose_phase(pair.model_x, pair, rule)
    if pair.phase[0] == POINT_BY_POINT:
        return sweep_pair(pair.model_x, hooks, pair, pair.x, pair.y, rule, random, progress)
    return sweep_whole(pair.model_x, hooks, pair, pair.x, pair.y, rule, random, progress)
