"""Normal columns whose variance within clusters is known, independent of each other: see `copartition.Gaussian`.

In coordinates of unit noise and prior mean 0, with prior precision kappa, c observed cells of a cluster with sum s have
precision ``p = kappa + c``, and the predictive distribution of a cell is ``N(s / p, 1 + 1 / p)``.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline

KNOWN = 3

AT_A_TIME = 32  # columns in a product
LARGE = 1e300


@inner
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of the observed cells of point n in cluster k."""
    kappa, x, is_observed = m.parameters[place.parameters :], m.points[n][place.summed :], m.points[n][place.observed :]
    sums, counts = c.sums[k][place.summed :], c.sums[k][place.observed :]
    squares = logs = 0.0
    for first in range(0, place.width, AT_A_TIME):
        product = 1.0
        for j in range(first, min(first + AT_A_TIME, place.width)):
            count, observed = float(c.sizes[k]), 1.0
            if place.observed > 0:
                count, observed = counts[j], is_observed[j]
            precision = kappa[j] + count
            difference = x[j] * precision - sums[j]
            squares += observed * difference * difference / (precision * (precision + 1.0))
            product *= 1.0 + observed / precision
        logs += math.log(product) if product < LARGE else sum_of_logs(model, chain, place, k, n, first)
    return -0.5 * (squares + logs)


@outline
def sum_of_logs(model, chain, place, k, n, first):
    """Return the logs of the factors of some columns, where their product is not a number of the machine."""
    total = 0.0
    for j in range(first, min(first + AT_A_TIME, place.width)):
        count, observed = float(chain.sizes[k]), 1.0
        if place.observed > 0:
            count, observed = chain.sums[k, place.observed + j], model.points[n, place.observed + j]
        total += math.log(1.0 + observed / (model.parameters[place.parameters + j] + count))
    return total


@outline
def log_merge(model, chain, place, a, b):
    """Return the log density of the points of two clusters as one, against two."""
    kappas, sums = model.parameters, chain.sums
    result = 0.0
    for j in range(place.width):
        count_a, count_b = float(chain.sizes[a]), float(chain.sizes[b])
        if place.observed > 0:
            count_a, count_b = sums[a, place.observed + j], sums[b, place.observed + j]
        kappa = kappas[place.parameters + j]
        of_a, of_b, of_both = kappa + count_a, kappa + count_b, kappa + count_a + count_b
        sum_a, sum_b = sums[a, place.summed + j], sums[b, place.summed + j]
        difference = sum_a / of_a - sum_b / of_b
        exponent = kappa / of_both * (sum_a + sum_b) ** 2 - of_a * of_b * difference * difference
        result += 0.5 * (math.log(of_a / kappa) + math.log(of_b / of_both) + exponent / (of_a + of_b))
    return result
