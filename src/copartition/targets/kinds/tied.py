"""Normal columns whose noise all clusters share, and in which cluster means scatter alike, in units of the noise.

Column j has noise of precision ``w_j``, and cluster means ``m_j`` on average with kappa times that precision. A cluster
of c points with sum s predicts a point by ``N((s + kappa m) / (kappa + c), (1 + 1 / (kappa + c)) / w)``. All but one
weighted sum of squares is looked up, and neither points nor sums change with m, w and kappa, which may be unknown.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline

TIED = 6

# Columns of the table, by cluster size: log normaliser, shrinkage, half the predictive precision in units of w.
NORMALISER, SHRINKAGE, HALF_PRECISION = range(3)
# Parameters of a column group: kappa, then kappa m for each column, then w for each column.
KAPPA, OFFSETS = range(2)


@inner
def log_predictive_of(model, chain, m, c, place, k, n):
    """Return the log predictive density of point n in cluster k."""
    x, sums, row = m.points[n][place.summed :], c.sums[k][place.summed :], m.table[c.sizes[k]][place.table :]
    offset = m.parameters[place.parameters + OFFSETS :]
    precision = offset[place.width :]
    shrinkage, squares = row[SHRINKAGE], 0.0
    for j in range(place.width):
        difference = x[j] - shrinkage * (sums[j] + offset[j])
        squares += precision[j] * difference * difference
    return row[NORMALISER] - row[HALF_PRECISION] * squares


@outline
def log_merge(model, chain, place, a, b):
    """Return the log density of the points of two clusters as one, against two.

    As in `copartition.targets.gaussian`, with sums of differences from the prior mean.
    """
    parameters, sums, width = model.parameters, chain.sums, place.width
    kappa, offsets = parameters[place.parameters + KAPPA], place.parameters + OFFSETS
    size_a, size_b = chain.sizes[a], chain.sizes[b]
    of_a, of_b, of_both = kappa + size_a, kappa + size_b, kappa + size_a + size_b
    together = apart = 0.0
    for j in range(width):
        mean, precision = parameters[offsets + j] / kappa, parameters[offsets + width + j]
        sum_a, sum_b = sums[a, place.summed + j] - size_a * mean, sums[b, place.summed + j] - size_b * mean
        total, difference = sum_a + sum_b, sum_a / of_a - sum_b / of_b
        together += precision * total * total
        apart += precision * difference * difference
    exponent = (kappa / of_both * together - of_a * of_b * apart) / (of_a + of_b)
    return 0.5 * (width * (math.log(of_a / kappa) + math.log(of_b / of_both)) + exponent)
