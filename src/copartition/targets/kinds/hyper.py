"""What groups of columns know of unknown hyperparameters.

Where these stand, and a little linear algebra for drawing them.

A column group whose prior has unknown hyperparameters has a few integers more, from ``Place.hyper`` on: which form it
is of, where its raw points and its own parameters begin, and the first number of each role, -1 where what plays that
role is known. For each group of numbers there are three integers more: its column group, its role, and its column.

While numbers are drawn, points, sums and what is kept of clusters are still as the numbers before said; these are among
the parameters. Functions compute from both what they need to know, and `renew` comes at the end, once for all.
"""

from __future__ import annotations

import math

from copartition.core.compiling import inner, outline

FORM, RAW, AT, MEAN, WEIGHT, SPREAD, SCALE = range(7)
HYPER_FIELDS = 7
GROUP_FIELDS = 3


@inner
def number_of(model, place, role):
    """Return where the first number of a role stands, -1 if there is none."""
    return model.integers[place.hyper + role]


@inner
def own_parameters(model, place):
    """Return where the parameters of a column group for its unknown hyperparameters begin."""
    return model.integers[place.hyper + AT]


@inner
def count_of(chain, place, k, j):
    """Return how many cells of column j were observed in cluster k."""
    return chain.sums[k, place.observed + j] if place.observed > 0 else float(chain.sizes[k])


@outline
def factorise(matrix, width):
    """Replace the lower half of a matrix, row by row, by its Cholesky factor; return the log determinant."""
    total = 0.0
    for i in range(width):
        row = matrix[i * width :]
        for j in range(i + 1):
            upper, value = matrix[j * width :], row[j]
            for m in range(j):
                value -= row[m] * upper[m]
            if i == j:
                total += math.log(value)
                row[i] = math.sqrt(value)
            else:
                row[j] = value / upper[j]
    return total


@outline
def solve_lower(factor, size, vector):
    """Replace a vector by the solution of ``L x = vector``."""
    for i in range(size):
        value = vector[i]
        for m in range(i):
            value -= factor[i * size + m] * vector[m]
        vector[i] = value / factor[i * size + i]


@outline
def solve_upper(factor, size, vector):
    """Replace a vector by the solution of ``L' x = vector``."""
    for i in range(size - 1, -1, -1):
        value = vector[i]
        for m in range(i + 1, size):
            value -= factor[m * size + i] * vector[m]
        vector[i] = value / factor[i * size + i]
