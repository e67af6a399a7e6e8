"""The conditional distribution of one point given the clusters of all others (Section 2.1 of the paper)."""

from __future__ import annotations

import numpy as np

from copartition.core.clusters import choices
from copartition.core.compiling import inner
from copartition.core.numerics import LOWEST, exp_nonpositive
from copartition.core.types import DONE, IMPOSSIBLE, INVALID


@inner
def add_log_prior(model, chain, n_choices):
    """Add the log prior weights to the log weights of all choices; return the largest, NaN if one is NaN."""
    m = model
    c = chain
    weights, sizes, log_size = c.weights, c.sizes, m.log_size
    existing = n_choices if m.palette > 0 else n_choices - 1
    top = -np.inf
    invalid = False
    for k in range(existing):
        weight = weights[k] + log_size[sizes[k]]
        weights[k] = weight
        top = max(top, weight)
        invalid |= weight != weight
    if existing < n_choices:
        weight = weights[existing] + m.log_new[min(existing, len(m.log_new) - 1)]
        weights[existing] = weight
        top = max(top, weight)
        invalid |= weight != weight
    return np.nan if invalid else top


@inner
def exponentiate(weights, n_choices, top):
    """Turn log weights, of which `top` is the largest, into weights, the largest of which is 1; return their sum.

    The sum is NaN if a log weight is NaN or plus infinity, and 0 if all are minus infinity.

    A choice whose weight is below the rounding error of the largest is left out: exp(-40) is a 25th of 2^-53. No
    uniform number could select it, and short supports are what makes the transport problems small.
    """
    if not top < np.inf:
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
def predict(model, hooks, chain, n_choices, n):
    """Leave the log predictive densities of point n in the weights, to the power at which the chain is tempered."""
    hooks.log_predictive(model, chain, n_choices, n)
    power = model.power
    if power != 1.0:
        weights = chain.weights
        for k in range(n_choices):
            weights[k] *= power


@inner
def forbid(model, chain, n_choices, n):
    """Give the log weight minus infinity to clusters that point n must not join.

    These are clusters of points of another kind; and all but its own for a point whose cluster is known.
    """
    m, c = model, chain
    home = c.holder[0] if m.pinned[n] else -1
    for k in range(n_choices):
        if (home >= 0 and k != home) or (c.sizes[k] > 0 and c.kinds[k] != m.kinds[n]):
            c.weights[k] = -np.inf


@inner
def weigh(model, hooks, chain, n_choices, n):
    """Compute the conditional distribution of point n, which is in no cluster; return the sum of the weights."""
    weights = chain.weights
    for k in range(n_choices):
        weights[k] = np.nan  # so that a function that forgets a choice is found out
    predict(model, hooks, chain, n_choices, n)
    if len(model.pinned) > 0:
        forbid(model, chain, n_choices, n)
    return exponentiate(weights, n_choices, add_log_prior(model, chain, n_choices))


@inner
def weigh_both(pair, hooks, x, y, n):
    """Compute the conditional distributions of point n in two chains, the sums of their weights as totals.

    Return a status.
    """
    model_x, model_y = pair.model_x, pair.model_y
    x.total[0] = total_x = weigh(model_x, hooks, x, choices(model_x, x), n)
    y.total[0] = total_y = weigh(model_y, hooks, y, choices(model_y, y), n)
    if not total_x > 0.0:
        return refusal_of(total_x)
    if not total_y > 0.0:
        return refusal_of(total_y)
    return DONE


@inner
def refusal_of(total):
    """Return the status for a sum of weights that is no positive number."""
    return IMPOSSIBLE if total == 0.0 else INVALID
