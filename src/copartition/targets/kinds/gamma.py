"""Normal columns whose mean and variance are unknown: the normal-inverse-gamma distribution, column by column.

For a cluster of s points, in one column: ``kappa = mean_weight + s``, ``a = shape + s / 2``, a posterior mean m, and
b, twice the posterior scale,

    m = (mean_weight mean + sum x) / kappa,     b = 2 scale + mean_weight mean^2 + sum x^2 - kappa m^2.

The predictive distribution of a point is a t distribution: with ``r = kappa / (kappa + 1)`` and ``f = b + r (x - m)^2``

    log p(x) = lgamma(a + 1/2) - lgamma(a) + 1/2 log r + a log b - (a + 1/2) log f      (up to a constant).

As a is the same for all columns of a column group, the products of b and of f are taken over many columns before their
logarithms. Units are such that twice the prior scale is 1 (where it is known), and no factor is below it (but for
rounding errors, after a point far out has left). Columns are shifted to their mean, so that no digits are lost in the
sum of squares where the prior mean is far from the data.

Where cells are missing each column has a count of its own.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inlined, inner, outline

GAMMA = 2

AT_A_TIME = 16  # columns in a product
LARGE = 1e300

# Columns of the table, by cluster size (or number of observed cells): normaliser of one column; r.
# Where hyperparameters are unknown, a third one: the normaliser but for r.
NORMALISER, SHRINKAGE, TABLE = range(3)
# Parameters of a column group: mean_weight, shape and the least of 2 scale, then for each column mean_weight mean,
# 2 scale + mean_weight mean^2, and 2 scale.
WEIGHT, SHAPE, FLOOR, COLUMNS = range(4)


@inlined
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of the observed cells of point n in cluster k."""
    if place.observed > 0:
        return of_observed(model, chain, place, k, n)
    width = place.width
    size, prior, s = c.sizes[k], place.parameters + COLUMNS, place.summed
    kappa = m.parameters[place.parameters + WEIGHT] + size
    inverse, shrinkage = 1.0 / kappa, m.table[size, place.table + SHRINKAGE]
    a, floor = m.parameters[place.parameters + SHAPE] + 0.5 * size, m.parameters[place.parameters + FLOOR]
    total = width * m.table[size, place.table + NORMALISER]
    for first in range(0, width, AT_A_TIME):
        without = within = 1.0
        for j in range(first, min(first + AT_A_TIME, width)):
            mean = (m.parameters[prior + j] + c.sums[k, s + j]) * inverse
            b = max(m.parameters[prior + width + j] + c.sums[k, s + width + j] - kappa * mean * mean, floor)
            difference = m.points[n, s + j] - mean
            without *= b
            within *= b + shrinkage * difference * difference
        if within < LARGE:
            total += a * math.log(without) - (a + 0.5) * math.log(within)
        else:
            total += one_by_one(model, chain, place, k, n, first)
    return total


@outline
def one_by_one(model, chain, place, k, n, first):
    """Return what the columns from `first` on add, where a product over them is not a number of the machine."""
    total = 0.0
    size = chain.sizes[k]
    a = model.parameters[place.parameters + SHAPE] + 0.5 * size
    for j in range(first, min(first + AT_A_TIME, place.width)):
        b, f = scales_of(model, chain, place, k, n, j, size)
        total += a * math.log(b) - (a + 0.5) * math.log(f)
    return total


@inner
def scales_of(model, chain, place, k, n, j, count):
    """Return b and f of column j, of which `count` cells were observed."""
    parameters, sums = model.parameters, chain.sums
    prior, constant = place.parameters + COLUMNS, place.parameters + COLUMNS + place.width
    kappa = parameters[place.parameters + WEIGHT] + count
    mean = (parameters[prior + j] + sums[k, place.summed + j]) / kappa
    floor = parameters[constant + place.width + j]
    b = max(parameters[constant + j] + sums[k, place.summed + place.width + j] - kappa * mean * mean, floor)
    difference = model.points[n, place.summed + j] - mean
    return b, b + kappa / (kappa + 1.0) * difference * difference


@outline
def of_observed(model, chain, place, k, n):
    """The same where cells are missing."""
    points, table, sums = model.points, model.table, chain.sums
    total = 0.0
    for j in range(place.width):
        if points[n, place.observed + j] > 0.0:
            count = int(sums[k, place.observed + j])
            a = model.parameters[place.parameters + SHAPE] + 0.5 * count
            b, f = scales_of(model, chain, place, k, n, j, count)
            total += table[count, place.table + NORMALISER] + a * math.log(b) - (a + 0.5) * math.log(f)
    return total


@outline
def log_merge(model, chain, place, a, b):
    """Return the log density of the points of two clusters as one, against two."""
    sums, sizes = chain.sums, chain.sizes
    total = 0.0
    for j in range(place.width):
        count_a, count_b = float(sizes[a]), float(sizes[b])
        if place.observed > 0:
            count_a, count_b = sums[a, place.observed + j], sums[b, place.observed + j]
        sum_a, sum_b = sums[a, place.summed + j], sums[b, place.summed + j]
        own = place.summed + place.width + j
        total += log_marginal(model, place, j, count_a + count_b, sum_a + sum_b, sums[a, own] + sums[b, own])
        total -= log_marginal(model, place, j, count_a, sum_a, sums[a, own])
        total -= log_marginal(model, place, j, count_b, sum_b, sums[b, own])
    return total


@inner
def log_marginal(model, place, j, count, total, squares):
    """Return the log density of some cells of column j as one cluster, up to a factor for each cell."""
    parameters = model.parameters
    weight, shape = parameters[place.parameters + WEIGHT], parameters[place.parameters + SHAPE]
    prior, constant = place.parameters + COLUMNS, place.parameters + COLUMNS + place.width
    kappa = weight + count
    mean = (parameters[prior + j] + total) / kappa
    b0 = parameters[constant + place.width + j]
    b = max(parameters[constant + j] + squares - kappa * mean * mean, b0)
    a = shape + 0.5 * count
    own = math.lgamma(a) - math.lgamma(shape) + 0.5 * math.log(weight / kappa)
    return own - a * math.log(b) + shape * math.log(b0)
