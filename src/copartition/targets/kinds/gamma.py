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

Unknown hyperparameters may be prior means, the weight of these, and the prior scale. With variances integrated out none
of their conditional distributions is a known one, so all are on grids. In the units of a column group
(`copartition.targets.kinds.gamma`), a cluster of n cells with mean x and within it a sum of squares W contributes

    1/2 log(w / (w + n)) + shape log b0 - (shape + n / 2) log(b0 + W + w n / (w + n) (x - m)^2),

with the weight w, the prior mean m, and b0 twice the prior scale.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inlined, inner, outline
from copartition.core.numerics import log_positive
from copartition.targets.kinds.column_group import MEAN, SCALE, WEIGHT, count_of, number_of, own_parameters

GAMMA = 2

AT_A_TIME = 16  # columns in a product
LARGE = 1e300

# Columns of the table, by cluster size (or number of observed cells): normaliser of one column; r.
# Where hyperparameters are unknown, a third one: the normaliser but for r.
NORMALISER, SHRINKAGE, TABLE = range(3)
# Parameters of a column group: mean_weight, shape and the least of 2 scale, then for each column mean_weight mean,
# 2 scale + mean_weight mean^2, and 2 scale.
GAMMA_WEIGHT, SHAPE, FLOOR, COLUMNS = range(4)


@inlined
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of the observed cells of point n in cluster k."""
    if place.observed > 0:
        return of_observed(model, chain, place, k, n)
    width = place.width
    size, prior, s = c.sizes[k], place.parameters + COLUMNS, place.summed
    kappa = m.parameters[place.parameters + GAMMA_WEIGHT] + size
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
    kappa = parameters[place.parameters + GAMMA_WEIGHT] + count
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
    weight, shape = parameters[place.parameters + GAMMA_WEIGHT], parameters[place.parameters + SHAPE]
    prior, constant = place.parameters + COLUMNS, place.parameters + COLUMNS + place.width
    kappa = weight + count
    mean = (parameters[prior + j] + total) / kappa
    b0 = parameters[constant + place.width + j]
    b = max(parameters[constant + j] + squares - kappa * mean * mean, b0)
    a = shape + 0.5 * count
    own = math.lgamma(a) - math.lgamma(shape) + 0.5 * math.log(weight / kappa)
    return own - a * math.log(b) + shape * math.log(b0)


# The parameters for unknown hyperparameters, one for each column: prior mean and b0 where they are known, shift, unit.
KNOWN_MEAN, KNOWN_B0, SHIFT, UNIT = range(4)


@inner
def own(model, place, what, j):
    """Return a parameter of column j."""
    return model.parameters[own_parameters(model, place) + what * place.width + j]


@inner
def mean_of(model, place, j):
    """Return the present prior mean of column j, in its unit."""
    at = number_of(model, place, MEAN)
    if at < 0:
        return own(model, place, KNOWN_MEAN, j)
    return (model.hyperparameters[at + j] - own(model, place, SHIFT, j)) / own(model, place, UNIT, j)


@inner
def b0_of(model, place, j):
    """Return twice the present prior scale of column j, in its unit."""
    at = number_of(model, place, SCALE)
    if at < 0:
        return own(model, place, KNOWN_B0, j)
    unit = own(model, place, UNIT, j)
    return 2.0 * model.hyperparameters[at] / (unit * unit)


@inner
def weight_of(model, place):
    """Return the present weight of prior means."""
    at = number_of(model, place, WEIGHT)
    return model.parameters[place.parameters + GAMMA_WEIGHT] if at < 0 else model.hyperparameters[at]


@outline
def weigh(model, chain, place, role, j, grid, weights):
    """Add what one column says of each value of a grid to the weights."""
    sums = chain.sums
    shape = model.parameters[place.parameters + SHAPE]
    w, b0, m = weight_of(model, place), b0_of(model, place, j), mean_of(model, place, j)
    shift, unit = own(model, place, SHIFT, j), own(model, place, UNIT, j)
    for k in range(chain.n_clusters[0]):
        n = count_of(chain, place, k, j)
        if n > 0.0:
            mean = sums[k, place.summed + j] / n
            within = max(0.0, sums[k, place.summed + place.width + j] - sums[k, place.summed + j] * mean)
            a, shrunk, difference = shape + 0.5 * n, w * n / (w + n), mean - m
            square = difference * difference
            if role == MEAN:
                for i in range(len(weights)):
                    away = mean - (grid[i] - shift) / unit
                    weights[i] -= a * log_positive(b0 + within + shrunk * away * away)
            elif role == SCALE:
                for i in range(len(weights)):
                    b = 2.0 * grid[i] / (unit * unit)
                    weights[i] += shape * log_positive(b) - a * log_positive(b + within + shrunk * square)
            else:
                for i in range(len(weights)):
                    share = grid[i] / (grid[i] + n)
                    weights[i] += 0.5 * log_positive(share) - a * log_positive(b0 + within + share * n * square)


@outline
def weigh_all_columns(model, chain, place, role, grid, weights):
    """The same for all columns of a column group without missing cells.

    Of the factors of two, one logarithm is taken.
    """
    sums, width = chain.sums, place.width
    shape, w = model.parameters[place.parameters + SHAPE], weight_of(model, place)
    n_clusters = chain.n_clusters[0]
    if role == SCALE:
        for i in range(len(weights)):
            weights[i] += width * n_clusters * shape * log_positive(grid[i])
    for k in range(n_clusters):
        n = float(chain.sizes[k])
        a = shape + 0.5 * n
        if role == WEIGHT:
            for i in range(len(weights)):
                weights[i] += 0.5 * width * log_positive(grid[i] / (grid[i] + n))
        for j in range(0, width, 2):
            other = min(j + 1, width - 1)
            within, square = scatter_of(model, sums, place, k, j, n)
            within_2, square_2 = scatter_of(model, sums, place, k, other, n)
            power = a if other > j else 0.5 * a
            if role == SCALE:
                # In the unit of the column twice the scale is 2 s / unit^2; the constant factor does not matter.
                unit, unit_2 = own(model, place, UNIT, j), own(model, place, UNIT, other)
                r = 0.5 * unit * unit * (within + w * n / (w + n) * square)
                r_2 = 0.5 * unit_2 * unit_2 * (within_2 + w * n / (w + n) * square_2)
                for i in range(len(weights)):
                    weights[i] -= power * log_positive((grid[i] + r) * (grid[i] + r_2))
            else:
                b, b_2 = within + b0_of(model, place, j), within_2 + b0_of(model, place, other)
                for i in range(len(weights)):
                    share = grid[i] / (grid[i] + n) * n
                    weights[i] -= power * log_positive((b + share * square) * (b_2 + share * square_2))


@inner
def scatter_of(model, sums, place, k, j, n):
    """Return the sum of squares within cluster k in column j, and the square of its mean less the prior's."""
    total = sums[k, place.summed + j]
    mean = total / n
    within = max(0.0, sums[k, place.summed + place.width + j] - total * mean)
    difference = mean - mean_of(model, place, j)
    return within, difference * difference


@outline
def weigh_hyperparameter(model, chain, place, role, column, grid, weights):
    """Leave the log density of the data for each value of a grid in the weights."""
    for i in range(len(weights)):
        weights[i] = 0.0
    if role == MEAN:
        weigh(model, chain, place, role, column, grid, weights)
    elif place.observed == 0:
        weigh_all_columns(model, chain, place, role, grid, weights)
    else:
        for j in range(place.width):
            weigh(model, chain, place, role, j, grid, weights)


@outline
def renew(model, chain, place):
    """Bring parameters and the table up to date."""
    parameters, table, width = model.parameters, model.table, place.width
    w = weight_of(model, place)
    if w != parameters[place.parameters + GAMMA_WEIGHT]:
        parameters[place.parameters + GAMMA_WEIGHT] = w
        for size in range(len(table)):
            shrinkage = (w + size) / (w + size + 1.0)
            table[size, place.table + SHRINKAGE] = shrinkage
            table[size, place.table + NORMALISER] = table[size, place.table + TABLE] + 0.5 * log_positive(shrinkage)
    first = place.parameters + COLUMNS
    floor = b0_of(model, place, 0)
    for j in range(width):
        m, b0 = mean_of(model, place, j), b0_of(model, place, j)
        parameters[first + j] = w * m
        parameters[first + width + j] = b0 + w * m * m
        parameters[first + 2 * width + j] = b0
        floor = min(floor, b0)
    parameters[place.parameters + FLOOR] = floor
