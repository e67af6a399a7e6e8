"""Gibbs sweeps: of one chain, and of two chains together.

A sweep visits the points in order. Each is taken out of its cluster and put back by its conditional distribution given
all the others (Section 2.1 of the paper). In a coupled sweep both chains do this for the same point at the same time;
the first chooses by its own distribution, and a coupling says what the second does (Algorithm 1 of the paper).

A sweep stops where it needs Python's help and says why (`copartition.core.types`). ``progress[PLACE]`` then holds the
point at hand, from which the sweep goes on.
"""

from __future__ import annotations

from copartition.core.clusters import choices, has_room, put_in, take_out
from copartition.core.compiling import hook, inner, outline
from copartition.core.conditional import refusal_of, weigh, weigh_both
from copartition.core.overlaps import join, match_clusters, put_into_both, take_out_of_both
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
