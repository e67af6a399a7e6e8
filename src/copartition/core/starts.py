"""Where chains begin: at a partition, or at a random one that is filled point by point."""

from __future__ import annotations

from copartition.core.clusters import choices, has_room, put_in, reset
from copartition.core.compiling import inner, outline
from copartition.core.conditional import add_log_prior, exponentiate, refusal_of, weigh
from copartition.core.random import draw, shuffle, uniform
from copartition.core.status import DONE, FULL

# What stands in place of the labels of a start that is drawn: by the prior, or in sequence, which looks at the data.
FROM_PRIOR, SEQUENTIAL = -1, -2


@outline
def fill(model, law, chain, random, order, use_data):
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
            total = weigh(model, law, chain, n_choices, n)
        else:
            for k in range(n_choices):
                weights[k] = 0.0
            total = exponentiate(weights, n_choices, add_log_prior(model, chain, n_choices))
        if not total > 0.0:
            order[0] = n
            return refusal_of(total)
        put_in(model, chain, n, draw(weights, n_choices, uniform(random) * total))
    return DONE


@inner
def place_start(model, law, chain, random, start, order):
    """Put a chain at its start: the partition `start`, or, if that says so, a random one; return a status."""
    reset(model, chain, start)
    if start[0] >= 0:
        return DONE
    return fill(model, law, chain, random, order, start[0] == SEQUENTIAL)
