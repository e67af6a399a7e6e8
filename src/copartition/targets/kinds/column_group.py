"""Where the numbers of a group of columns stand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from copartition.core.compiling import inner


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
        Where in ``Model.integers`` it is told of its unknown hyperparameters (`copartition.targets.kinds.hyper`); 0 if
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
