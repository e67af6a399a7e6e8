"""Normal columns with the same precision of cluster means in all of them, in units of the noise, which all clusters share.

In coordinates of unit noise and prior mean 0, with prior precision kappa, a cluster of c points with sum s predicts a
point by ``N(s / (kappa + c), 1 + 1 / (kappa + c))`` in every column, so that all but one sum of squares is looked up.
It is the law of `copartition.targets.gaussian.isotropic` as a block of columns.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline

TIED = 6

# Columns of the table, by cluster size: log normaliser, shrinkage, half the predictive precision.
NORMALISER, SHRINKAGE, HALF_PRECISION = range(3)


@inner
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of point n in cluster k."""
    x, sums, row = m.points[n][place.summed :], c.sums[k][place.summed :], m.table[c.sizes[k]][place.table :]
    shrinkage, squares = row[SHRINKAGE], 0.0
    for j in range(place.width):
        difference = x[j] - shrinkage * sums[j]
        squares += difference * difference
    return row[NORMALISER] - row[HALF_PRECISION] * squares


@outline
def log_merge(model, chain, place, a, b):
    """Return the log density of the points of two clusters as one, against two."""
    kappa, sums = model[0].parameters[place.parameters], chain[0].sums
    of_a, of_b = kappa + chain[0].sizes[a], kappa + chain[0].sizes[b]
    of_both = of_a + chain[0].sizes[b]
    together = apart = 0.0
    for j in range(place.width):
        sum_a, sum_b = sums[a, place.summed + j], sums[b, place.summed + j]
        total, difference = sum_a + sum_b, sum_a / of_a - sum_b / of_b
        together += total * total
        apart += difference * difference
    exponent = (kappa / of_both * together - of_a * of_b * apart) / (of_a + of_b)
    return 0.5 * (place.width * (math.log(of_a / kappa) + math.log(of_b / of_both)) + exponent)
