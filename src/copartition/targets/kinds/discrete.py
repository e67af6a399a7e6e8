"""Columns of categories and of counts, with conjugate priors integrated out.

With m observed cells of a column in a cluster, the predictive probability of one more is

    categories, Dirichlet(a_l):    (a_l + c_l) / (A + m),    c_l cells of category l, A the sum of the a_l,
    counts, Gamma(a, b):           Gamma(a + S + x) / (Gamma(a + S) x!)  (b + m)^(a + S) / (b + m + 1)^(a + S + x),

S being the sum of the counts. Yes and no are two categories. Numerators are multiplied over many columns before a
logarithm is taken; denominators are looked up by cluster size, unless cells are missing.
"""

from __future__ import annotations

import math

import numpy as np

from copartition.core.compiling import inlined, inner, outline

CATEGORICAL, POISSON = 4, 5

AT_A_TIME = 16  # columns in a product
TINY, LARGE = 1e-280, 1e280


@inner
def count_of(chain, place, k, j):
    """Return the number of observed cells of column j in cluster k."""
    return chain.sums[k, place.observed + j] if place.observed > 0 else float(chain.sizes[k])


# --- categories ------------------------------------------------------------------------------------------------------
# Summed: for each category of each column whether the point has it. Plain: for each column which of these it is, -1 if
# it is missing. Parameters: the number of categories of all columns; a_l of each; for each column A; for each column
# its first category, and again the number of all.


@inlined
def of_categories(model, chain, m, c, place, k, n):
    """Return the log probability of the observed cells of point n in cluster k."""
    if place.observed > 0:
        return of_observed_categories(model, chain, place, k, n)
    total = m.table[c.sizes[k], place.table]
    each, own = (
        np.uint64(place.parameters + 1),
        np.uint64(place.summed),
    )  # unsigned, because codes are: no sign to check
    for first in range(0, place.width, AT_A_TIME):
        product = 1.0
        for j in range(first, min(first + AT_A_TIME, place.width)):
            category = np.uint64(m.points[n, place.plain + j])
            product *= m.parameters[each + category] + c.sums[k, own + category]
        in_range = TINY < product < LARGE
        total += math.log(product) if in_range else sum_of_logs(model, chain, place, k, n, first)
    return total


@outline
def sum_of_logs(model, chain, place, k, n, first):
    """Return the logs of the numerators of some columns, where their product is not a number of the machine."""
    total = 0.0
    for j in range(first, min(first + AT_A_TIME, place.width)):
        category = int(model.points[n, place.plain + j])
        if category >= 0:
            weight = model.parameters[place.parameters + 1 + category]
            total += math.log(weight + chain.sums[k, place.summed + category])
    return total


@outline
def of_observed_categories(model, chain, place, k, n):
    """The same where cells are missing."""
    points, parameters, sums = model.points, model.parameters, chain.sums
    each = place.parameters + 1
    of_all = each + int(parameters[place.parameters])
    total = 0.0
    for first in range(0, place.width, AT_A_TIME):
        above = below = 1.0
        for j in range(first, min(first + AT_A_TIME, place.width)):
            category = int(points[n, place.plain + j])
            if category >= 0:
                above *= parameters[each + category] + sums[k, place.summed + category]
                below *= parameters[of_all + j] + sums[k, place.observed + j]
        in_range = TINY < above < LARGE and TINY < below < LARGE
        if in_range:
            total += math.log(above) - math.log(below)
        else:
            total += sum_of_logs(model, chain, place, k, n, first) - sum_of_totals(model, chain, place, k, n, first)
    return total


@outline
def sum_of_totals(model, chain, place, k, n, first):
    """The same for the denominators, where cells are missing."""
    total = 0.0
    of_all = place.parameters + 1 + int(model.parameters[place.parameters])
    for j in range(first, min(first + AT_A_TIME, place.width)):
        if model.points[n, place.plain + j] >= 0.0:
            total += math.log(model.parameters[of_all + j] + chain.sums[k, place.observed + j])
    return total


@outline
def merge_categorical(model, chain, place, a, b):
    """Return the log probability of the points of two clusters as one, against two."""
    parameters, sums = model.parameters, chain.sums
    first = place.parameters + 1
    of_all = first + int(parameters[place.parameters])
    result = 0.0
    for j in range(place.width):
        every = parameters[of_all + j]
        for category in range(int(parameters[of_all + place.width + j]), int(parameters[of_all + place.width + j + 1])):
            each = parameters[first + category]
            of_a, of_b = sums[a, place.summed + category], sums[b, place.summed + category]
            result += math.lgamma(each + of_a + of_b) + math.lgamma(each)
            result -= math.lgamma(each + of_a) + math.lgamma(each + of_b)
        count_a, count_b = count_of(chain, place, a, j), count_of(chain, place, b, j)
        result -= math.lgamma(every + count_a + count_b) + math.lgamma(every)
        result += math.lgamma(every + count_a) + math.lgamma(every + count_b)
    return result


# --- counts ----------------------------------------------------------------------------------------------------------
# Parameters: a and b, the largest count for which the table that follows is long enough in any cluster, its length, and
# log Gamma(a + s) for s = 0, 1, ... below that length.
SHAPE, RATE, LARGEST, LENGTH, LOG_GAMMAS = range(5)


@inner
def log_gamma(model, place, total):
    """Return log Gamma(a + total), from the table as far as it goes."""
    parameters = model.parameters
    if total < parameters[place.parameters + LENGTH]:
        return parameters[place.parameters + LOG_GAMMAS + int(total)]
    return math.lgamma(parameters[place.parameters + SHAPE] + total)


@inlined
def of_counts(model, chain, m, c, place, k, n):
    """Return the log probability of the observed cells of point n in cluster k.

    The plain columns are minus the sum of log x! over the cells of a point, their sum, and the largest. The table has,
    by the number of observed cells, the logs of ``(b + m) / (b + m + 1)`` and of ``b + m + 1``.
    """
    width = place.width
    if place.observed > 0 or m.points[n, place.plain + 2] > m.parameters[place.parameters + LARGEST]:
        return of_observed_counts(model, chain, place, k, n)
    size, log_gammas = c.sizes[k], np.uint64(place.parameters + LOG_GAMMAS)
    result, total = m.points[n, place.plain], width * m.parameters[place.parameters + SHAPE]
    for j in range(width):
        x, s = m.points[n, place.summed + j], c.sums[k, place.summed + j]
        result += m.parameters[log_gammas + np.uint64(s + x)] - m.parameters[log_gammas + np.uint64(s)]
        total += s
    return result + total * m.table[size, place.table] - m.points[n, place.plain + 1] * m.table[size, place.table + 1]


@outline
def of_observed_counts(model, chain, place, k, n):
    """The same where cells are missing, or counts are too large for the table of log Gamma."""
    points, table, sums = model.points, model.table, chain.sums
    shape = model.parameters[place.parameters + SHAPE]
    result = points[n, place.plain]
    for j in range(place.width):
        if place.observed == 0 or points[n, place.observed + j] > 0.0:
            x, total = points[n, place.summed + j], sums[k, place.summed + j]
            count = int(count_of(chain, place, k, j))
            result += log_gamma(model, place, total + x) - log_gamma(model, place, total)
            result += (shape + total) * table[count, place.table] - x * table[count, place.table + 1]
    return result


@outline
def merge_poisson(model, chain, place, a, b):
    """Return the log probability of the points of two clusters as one, against two."""
    sums, result = chain.sums, 0.0
    for j in range(place.width):
        of_a, of_b = sums[a, place.summed + j], sums[b, place.summed + j]
        count_a, count_b = count_of(chain, place, a, j), count_of(chain, place, b, j)
        result += log_marginal(model, place, of_a + of_b, count_a + count_b)
        result -= log_marginal(model, place, of_a, count_a) + log_marginal(model, place, of_b, count_b)
    return result


@inner
def log_marginal(model, place, total, count):
    """Return the log probability of so many counts with this sum as one cluster, but for the x!."""
    shape, rate = model.parameters[place.parameters + SHAPE], model.parameters[place.parameters + RATE]
    own = log_gamma(model, place, total) - (shape + total) * math.log(rate + count)
    return own - log_gamma(model, place, 0.0) + shape * math.log(rate)
