"""Unknown hyperparameters, drawn along with the partition, in chains that still meet exactly.

The state of a chain is a partition and a few hyperparameters, for instance a variance that all clusters share. A step
moves the partition first, given the hyperparameters, and then draws these given the partition, group by group, each
given all the others (a Gibbs update). The order matters: chains whose partitions have become equal have the same
distribution of the hyperparameters, and a coupling lets them draw the same ones. Two chains have met when their
partitions and all their hyperparameters are equal, bit for bit. Values that are close to each other are no meeting.

**A grid.** A hyperparameter whose conditional distribution is not a known one takes its values on a grid. Each value's
weight is its prior probability times the density of the data, to the power at which a chain is tempered. Two chains
draw by the maximal coupling: the same value with probability ``sum min(p_i, q_i)``.

**Rejection.** Otherwise a target draws a group itself and knows the log density of what it draws. With p the density of
x, q that of y and a constant c just below 1, draw X from p, and let Y be X with probability ``min(1, c q / p)`` at X.
If that fails, draw Y from q until one is accepted, each with probability ``1 - min(p / q, c)`` at Y. Y has the
distribution q, because ``min(p, c q) + (q - min(p, c q)) = q``, and the chains agree with probability ``integral of
min(p, c q)``. With c = 1 that would be the maximal coupling, but as p and q come close a failure becomes rare and the
tries after it become many: their number has the mean 1 and no bounded variance. With c every try succeeds with
probability 1 - c at least, and one in 1,024 agreements is given up.

**Equal distributions.** Where two chains have the same partition and all other hyperparameters are equal, the
distributions of a group are the same, and y takes what x has drawn. So chains that have met stay together, and sums
that have drifted apart in their last digits do not matter.
"""

from __future__ import annotations

import math

import numpy as np

from copartition.core.clusters import copy_array, exponentiate
from copartition.core.compiling import hook, inner, outline
from copartition.core.random import draw, uniform
from copartition.core.state import Room, move_signatures
from copartition.core.types import DONE, NO_HYPERPARAMETER

FIRST_INDEX, LAST_INDEX, GRID, OF_DATA = range(4)  # columns of ``Unknown.groups``
AGREEMENT = 1.0 - 2.0**-10
LOG_AGREEMENT = math.log(AGREEMENT)


@inner
def has_hyperparameters(model):
    """Tell whether hyperparameters are unknown."""
    return len(model.hyperparameters) > 0


@inner
def hyperparameters_agree(pair):
    """Tell whether all hyperparameters of two chains are equal."""
    of_x, of_y = pair.model_x.hyperparameters, pair.model_y.hyperparameters
    different = 0
    for i in range(len(of_x)):
        different += of_x[i] != of_y[i]
    return different == 0


@inner
def others_agree(pair, group):
    """Tell whether all hyperparameters of two chains but those of a group are equal."""
    of_x, of_y, groups = pair.model_x.hyperparameters, pair.model_y.hyperparameters, pair.model_x.unknown.groups
    for i in range(len(of_x)):
        if of_x[i] != of_y[i] and not groups[group, FIRST_INDEX] <= i < groups[group, LAST_INDEX]:
            return False
    return True


# --- the prior of the partition --------------------------------------------------------------------------------------


@inner
def is_of_prior(model, group):
    """Tell whether a group is the hyperparameter of the prior of the partition."""
    unknown = model.unknown
    return len(unknown.prior_tables) > 0 and group == len(unknown.groups) - 1


@outline
def weigh_prior(model, chain):
    """Leave the log prior of the partition for every value of its hyperparameter in the weights."""
    m, c = model, chain
    tables, weights = m.unknown.prior_tables, m.unknown.weights
    n_clusters, rows = c.n_clusters[0], len(m.log_size)
    for i in range(len(tables)):
        total = tables[i, 2 * rows + len(m.log_new) + n_clusters]
        for k in range(n_clusters):
            total += tables[i, rows + c.sizes[k]]
        weights[i] = total


@outline
def renew_prior(model):
    """Look up the tables of the prior for the present value of its hyperparameter."""
    m = model
    u = m.unknown
    group = len(u.groups) - 1
    value, grid = m.hyperparameters[u.groups[group, FIRST_INDEX]], u.grids[u.groups[group, GRID]]
    i = 0
    while grid[i] != value:
        i += 1
    table, rows = u.prior_tables[i], len(m.log_size)
    copy_array(table[:rows], m.log_size)
    copy_array(table[rows : 2 * rows], m.log_grown)
    copy_array(table[2 * rows : 2 * rows + len(m.log_new)], m.log_new)


@outline
def renew_all(model, hooks, chain):
    """Bring all that depends on hyperparameters up to date."""
    hooks.renew(model, chain)
    if len(model.unknown.prior_tables) > 0:
        renew_prior(model)


@outline
def begin_hyperparameters(model, hooks, chain):
    """Put the hyperparameters of a chain, which is then in no partition, where they are before the first draw."""
    copy_array(model.unknown.initial, model.hyperparameters)
    chain.n_clusters[0] = 0
    renew_all(model, hooks, chain)


# --- one chain -------------------------------------------------------------------------------------------------------


@outline
def weigh_grid(model, hooks, chain, group):
    """Leave the conditional distribution of a hyperparameter on a grid in its weights.

    Return their sum, NaN if one is not defined.
    """
    m = model
    weights, log_prior = m.unknown.weights, m.unknown.log_priors[m.unknown.groups[group, GRID]]
    power = m.power[0] if m.unknown.groups[group, OF_DATA] else 1.0
    if is_of_prior(model, group):
        weigh_prior(model, chain)
    else:
        hooks.weigh_hyperparameter(model, chain, group)
    top = -np.inf
    for i in range(len(weights)):
        weights[i] = power * weights[i] + log_prior[i]
        if weights[i] != weights[i]:
            return np.nan
        top = max(top, weights[i])
    return exponentiate(weights, len(weights), top)


@inner
def set_hyperparameter(model, group, i):
    """Let the hyperparameter of a group be the i-th value of its grid."""
    u = model.unknown
    model.hyperparameters[u.groups[group, FIRST_INDEX]] = u.grids[u.groups[group, GRID], i]


@outline
def draw_group(model, hooks, chain, group, random):
    """Draw the hyperparameters of a group; return a status."""
    u = model.unknown
    if u.groups[group, GRID] < 0:
        hooks.draw_hyperparameters(model, chain, group, random)
        return DONE
    total = weigh_grid(model, hooks, chain, group)
    if not total > 0.0:
        return NO_HYPERPARAMETER
    set_hyperparameter(model, group, draw(u.weights, len(u.weights), uniform(random) * total))
    return DONE


@outline
def draw_hyperparameters(model, hooks, chain, random):
    """Draw all hyperparameters of a chain given its partition; return a status."""
    for group in range(len(model.unknown.groups)):
        status = draw_group(model, hooks, chain, group, random)
        if status != DONE:
            return status
    renew_all(model, hooks, chain)
    return DONE


# --- two chains ------------------------------------------------------------------------------------------------------


@inner
def draw_remainder(of_x, total_x, of_y, total_y, level):
    """Return the choice at which the running sum of a remainder ``(q - p)+`` passes a share of it."""
    left = 0.0
    for i in range(len(of_y)):
        left += max(0.0, of_y[i] / total_y - of_x[i] / total_x)
    level *= left
    chosen = -1
    for i in range(len(of_y)):
        excess = of_y[i] / total_y - of_x[i] / total_x
        if excess > 0.0:
            chosen = i
            level -= excess
            if level < 0.0:
                break
    return chosen


@outline
def draw_both_on_grid(pair, hooks, group, random):
    """Draw a hyperparameter on a grid in both chains by the maximal coupling; return a status."""
    model_x, model_y = pair.model_x, pair.model_y
    of_x, of_y = model_x.unknown.weights, model_y.unknown.weights
    total_x = weigh_grid(model_x, hooks, pair.x, group)
    total_y = weigh_grid(model_y, hooks, pair.y, group)
    if not (total_x > 0.0 and total_y > 0.0):
        return NO_HYPERPARAMETER
    i = draw(of_x, len(of_x), uniform(random) * total_x)
    p, q = of_x[i] / total_x, of_y[i] / total_y
    j = i
    if uniform(random) * p >= q:
        left = draw_remainder(of_x, total_x, of_y, total_y, uniform(random))
        j = left if left >= 0 else i  # nothing is left over but a rounding error
    set_hyperparameter(model_x, group, i)
    set_hyperparameter(model_y, group, j)
    return DONE


@inner
def log_uniform(random):
    """Return the logarithm of a uniform number, which is never 0."""
    return math.log(1.0 - uniform(random))


@outline
def draw_both_by_rejection(pair, hooks, group, random):
    """Draw the hyperparameters of a group in both chains, as a rule the same."""
    model_x, model_y, x, y = pair.model_x, pair.model_y, pair.x, pair.y
    first, last = model_x.unknown.groups[group, FIRST_INDEX], model_x.unknown.groups[group, LAST_INDEX]
    of_x, of_y = model_x.hyperparameters[first:last], model_y.hyperparameters[first:last]
    hooks.draw_hyperparameters(model_x, x, group, random)
    log_p = hooks.log_density_of_hyperparameters(model_x, x, group, of_x)
    log_q = hooks.log_density_of_hyperparameters(model_y, y, group, of_x)
    if not (log_p == log_p and log_q == log_q):
        return NO_HYPERPARAMETER
    if log_uniform(random) <= LOG_AGREEMENT + log_q - log_p:
        copy_array(of_x, of_y)
        return DONE
    while True:
        hooks.draw_hyperparameters(model_y, y, group, random)
        log_p = hooks.log_density_of_hyperparameters(model_x, x, group, of_y)
        log_q = hooks.log_density_of_hyperparameters(model_y, y, group, of_y)
        if not (log_p == log_p and log_q == log_q):
            return NO_HYPERPARAMETER
        if log_uniform(random) > min(log_p - log_q, LOG_AGREEMENT):
            return DONE


@outline
def draw_hyperparameters_of_both(pair, hooks, random):
    """Draw all hyperparameters of two chains given their partitions; return a status."""
    model_x, model_y, x, y = pair.model_x, pair.model_y, pair.x, pair.y
    groups = model_x.unknown.groups
    for group in range(len(groups)):
        if pair.distance[0] == 0 and others_agree(pair, group):
            status = draw_group(model_x, hooks, x, group, random)
            for i in range(groups[group, FIRST_INDEX], groups[group, LAST_INDEX]):
                model_y.hyperparameters[i] = model_x.hyperparameters[i]
        elif groups[group, GRID] >= 0:
            status = draw_both_on_grid(pair, hooks, group, random)
        else:
            status = draw_both_by_rejection(pair, hooks, group, random)
        if status != DONE:
            return status
    renew_all(model_x, hooks, x)
    renew_all(model_y, hooks, y)
    return DONE


# --- moves -----------------------------------------------------------------------------------------------------------

alone_signature, together_signature = move_signatures(Room)


@hook(alone_signature)
def draw_alone(model, hooks, chain, room, random, progress):
    """Draws of all hyperparameters, as a move of one chain."""
    return draw_hyperparameters(model, hooks, chain, random)


@hook(together_signature)
def draw_together(hooks, pair, room, rule, random, progress):
    """Draws of all hyperparameters, as a move of two chains."""
    return draw_hyperparameters_of_both(pair, hooks, random)
