"""Where chains begin: at a partition, or at a random one that is filled point by point."""

from __future__ import annotations

import math

import numpy as np

from copartition.core.clusters import (
    add_log_prior,
    choices,
    exponentiate,
    forbid,
    has_room,
    put_in,
    refusal_of,
    reset,
    weigh,
)
from copartition.core.compiling import hook, inner, outline
from copartition.core.hyperparameters import begin_hyperparameters, draw_hyperparameters, has_hyperparameters
from copartition.core.random import draw, shuffle, uniform
from copartition.core.state import Chain, Hooks, Model
from copartition.core.types import DONE, FULL, int1, int64, uint1

# What stands in place of the labels of a start that is drawn: by the prior, or in sequence, which looks at the data.
FROM_PRIOR, SEQUENTIAL = -1, -2


@inner
def draw_simple(model, random):
    """Draw one of the simple priors that the prior is a mixture of; return its row, -1 where it is simple itself."""
    mixing = model.mixing
    if len(mixing) == 0:
        return -1
    level = uniform(random)
    for row in range(len(mixing)):
        level -= mixing[row, 0]
        if level < 0.0:
            return row
    return len(mixing) - 1


@inner
def weigh_by_prior(model, chain, n_choices, simple, n):
    """Leave the distribution of the next point of a growing partition in the weights, data aside; return their sum.

    The tables of the model hold for all points at once. Point by point, the prior must be one whose weights do not
    depend on the number of points: a row of ``Model.mixing``, if there is one.
    """
    weights = chain.weights
    for k in range(n_choices):
        weights[k] = 0.0
    if len(model.pinned) > 0:
        forbid(model, chain, n_choices, n)
    top = add_log_prior(model, chain, n_choices)
    if simple >= 0:
        new = n_choices - 1
        weight = model.mixing[simple, 1] + model.mixing[simple, 2] * new
        weights[new] = math.log(weight) if weight > 0.0 else -np.inf
        top = weights[0]
        for k in range(1, n_choices):
            top = max(top, weights[k])
    return exponentiate(weights, n_choices, top)


@outline
def fill_in_sequence(model, hooks, chain, random, order):
    """Put all points that are in no cluster into clusters one by one, in a random order; return a status.

    Each is drawn from its conditional distribution given those before it. `order` is scratch; its first entry says
    where it stopped.
    """
    shuffle(order, random)
    for position in range(len(order)):
        n = order[position]
        if chain.labels[n] >= 0:
            continue
        if not has_room(model, chain):
            return FULL
        n_choices = choices(model, chain)
        total = weigh(model, hooks, chain, n_choices, n)
        if not total > 0.0:
            order[0] = n
            return refusal_of(total)
        put_in(model, hooks, chain, n, draw(chain.weights, n_choices, uniform(random) * total))
    return DONE


@outline
def fill_by_prior(model, hooks, chain, random, order):
    """Do the same by the prior alone; a loop of its own, so that a start in sequence compiles nothing of it."""
    shuffle(order, random)
    simple = draw_simple(model, random)
    for position in range(len(order)):
        n = order[position]
        if chain.labels[n] >= 0:
            continue
        if not has_room(model, chain):
            return FULL
        n_choices = choices(model, chain)
        total = weigh_by_prior(model, chain, n_choices, simple, n)
        if not total > 0.0:
            order[0] = n
            return refusal_of(total)
        put_in(model, hooks, chain, n, draw(chain.weights, n_choices, uniform(random) * total))
    return DONE


@inner
def lowest(start):
    """Return the lowest label of a start: negative if points are to be drawn, though the clusters of some are known."""
    least = start[0]
    for n in range(len(start)):
        least = min(least, start[n])
    return least


# begin(model, hooks, chain, random, start, order) -> status: put a chain at its start.
begin_signature = int64(Model, Hooks, Chain, uint1, int1, int1)


@hook(begin_signature)
def begin_at(model, hooks, chain, random, start, order):
    """Put a chain at the partition `start`, where no number is unknown; return a status."""
    reset(model, hooks, chain, start)
    return DONE


@hook(begin_signature)
def begin_in_sequence(model, hooks, chain, random, start, order):
    """Put a chain at a partition that is drawn in sequence, where no number is unknown; return a status."""
    reset(model, hooks, chain, start)
    return fill_in_sequence(model, hooks, chain, random, order)


@hook(begin_signature)
def begin_drawn(model, hooks, chain, random, start, order):
    """Put a chain at its start: the partition `start`, or, where that says so, a random one; return a status.

    Unknown hyperparameters are drawn given that partition, but not given one cluster, which says too little of them; a
    random one is drawn given where they are at first.
    """
    if has_hyperparameters(model):
        begin_hyperparameters(model, hooks, chain)
    reset(model, hooks, chain, start)
    drawn = lowest(start)
    status = DONE
    if drawn == SEQUENTIAL:
        status = fill_in_sequence(model, hooks, chain, random, order)
    elif drawn == FROM_PRIOR:
        status = fill_by_prior(model, hooks, chain, random, order)
    if status != DONE:
        return status
    if has_hyperparameters(model) and chain.n_clusters[0] > 1:
        return draw_hyperparameters(model, hooks, chain, random)
    return DONE
