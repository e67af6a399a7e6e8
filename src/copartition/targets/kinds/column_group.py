"""Where the numbers of a group of columns stand, and those of its unknown hyperparameters.

A column group whose prior has unknown hyperparameters has a few integers more, from ``Place.hyper`` on: which form it
is of, where its raw points and its own parameters begin, and the first number of each role, -1 where what plays that
role is known. For each group of numbers there are three integers more: its column group, its role, and its column.

While hyperparameters are drawn, points, sums and what is kept of clusters still follow the former values, which are
among the parameters. Functions compute from both what they need to know, and `renew` comes at the end, once for all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from copartition.core.compiling import inner, outline


class Place(NamedTuple):
    """What ``Model.integers`` says of one column group; the fields are in this order there.

    Attributes
    ----------
    kind : int
        Which functions are its own.
    width : int
        Number of data columns.
    summed, plain : int
        Its first column in ``Model.points`` that is summed over clusters, and its first one that is not.
    table : int
        Its first column in ``Model.table``.
    parameters : int
        Where its parameters begin.
    kept : int
        Where its part of ``Chain.kept`` begins.
    observed : int
        The first of the columns that are 1 where a cell was observed; 0 if all were.
    hyper : int
        Where in ``Model.integers`` it is told of its unknown hyperparameters (above); 0 if
        it has none.
    """

    kind: int
    width: int
    summed: int
    plain: int
    table: int
    parameters: int
    kept: int
    observed: int
    hyper: int


FIELDS = len(Place._fields)
# ``Model.integers`` begins with the number of column groups, and where it tells of groups of unknown hyperparameters.
COLUMN_GROUPS, GROUPS, HEADER = range(3)


@inner
def place_of(model, column_group):
    """Return where the numbers of a column group stand."""
    at = model.integers
    i = HEADER + FIELDS * column_group
    return Place(at[i], at[i + 1], at[i + 2], at[i + 3], at[i + 4], at[i + 5], at[i + 6], at[i + 7], at[i + 8])


class GroupArrays(NamedTuple):
    """What a column group adds to the arrays of a model, see `Place`.

    Attributes
    ----------
    kind, width : int
    summed, plain : float64 arrays (n_points, any)
    table : float64 array (n_points + 1, any)
    parameters : float64 array
    kept, scratch : int
        How many numbers it keeps for each cluster, and wants as scratch.
    observed : int
        Which column of `summed` is the first of those that tell observed cells; 0 if all are.
    log_constant : float
        What its functions leave out of the log density of a point.
    log_total : float, optional
        What they leave out of the log density of all data; left out, that times the number of points.
    form : int
        Of a column group with unknown hyperparameters: see the module of its kind.
    own : float64 array
        Its parameters for these.
    raw : float64 array (n_points, width), optional
        Its points before numbers shift and scale them.
    groups : tuple of (role, column, OnGrid or Drawn)
        Its unknown hyperparameters, in the order in which they are drawn.
    """

    kind: int
    width: int
    summed: np.ndarray
    plain: np.ndarray
    table: np.ndarray
    parameters: np.ndarray
    kept: int = 0
    scratch: int = 0
    observed: int = 0
    log_constant: float = 0.0
    log_total: float | None = None
    form: int = 0
    own: np.ndarray = np.zeros(0)
    raw: np.ndarray | None = None
    groups: tuple[Any, ...] = ()


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
def invert_lower(factor, size, inverse):
    """Leave the inverse of a lower triangular matrix in another one: each row from those above, zeros on the right."""
    for i in range(size):
        row, own, over_pivot = factor[i * size :], inverse[i * size :], 1.0 / factor[i * size + i]
        for j in range(size):
            own[j] = 0.0
        for m in range(i):
            above, times = inverse[m * size :], row[m]
            for j in range(m + 1):
                own[j] -= times * above[j]
        for j in range(i):
            own[j] *= over_pivot
        own[i] = over_pivot


@outline
def solve_upper(factor, size, vector):
    """Replace a vector by the solution of ``L' x = vector``."""
    for i in range(size - 1, -1, -1):
        value = vector[i]
        for m in range(i + 1, size):
            value -= factor[m * size + i] * vector[m]
        vector[i] = value / factor[i * size + i]
