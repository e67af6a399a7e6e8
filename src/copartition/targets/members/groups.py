"""Groups of columns: those that are independent of all others within a cluster, and what is asked of their kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of the cell of a new member in one column, for every cluster and for an empty one: see `Column`."""

    mean: np.ndarray
    variance: np.ndarray
    shares: np.ndarray | None = None


class Predictive(ABC):
    """The distribution of the cells of a new member in the columns of a group, for each of K clusters and an empty one.

    Parameters
    ----------
    cells : Any
        The training cells as `read` returns them, none of them missing.
    labels : int64 array (n_rows)
    n_clusters : int
        K.
    prior : Any
        Of the parameters of a cluster.
    """

    kind: str
    """See `Column`."""

    @abstractmethod
    def __init__(self, cells: Any, labels: np.ndarray, n_clusters: int, prior: Any) -> None: ...

    @staticmethod
    def read(values: np.ndarray) -> Any:
        """Return rows of cells, all observed, as the distributions want them: what does not depend on the partition."""
        return values

    @abstractmethod
    def log_density(self, cells: Any, columns: np.ndarray) -> np.ndarray:
        """Return the log densities (K + 1, n_rows) of new rows, of which these columns of the group were observed."""

    @abstractmethod
    def left_out(self) -> np.ndarray:
        """Return the log density (n_rows) of every training row in its own cluster without itself."""

    @abstractmethod
    def moments(self) -> list[Moments]:
        """Return the moments of every column of the group."""


class ColumnGroup(NamedTuple):
    """Some columns of a table that are independent of all others within a cluster.

    Attributes
    ----------
    positions : sequence of int
        Which columns of the table.
    values : float64 array (n_rows, n_columns)
        Their cells, NaN where missing; of categories the numbers.
    predictive : type of Predictive
    levels : list, optional
        The categories.
    """

    positions: Sequence[int]
    values: np.ndarray
    predictive: type[Predictive]
    levels: list[Any] | None = None

    def at(self, positions: Sequence[int]) -> ColumnGroup:
        """Return the group as one of a larger table, in which the columns of this one have these positions."""
        return self._replace(positions=[positions[j] for j in self.positions])


def column_by_column(values: np.ndarray, predictive: type[Predictive]) -> list[ColumnGroup]:
    """Return a group for every column."""
    return [ColumnGroup([j], values[:, j : j + 1], predictive) for j in range(values.shape[1])]


def all_together(values: np.ndarray, predictive: type[Predictive]) -> list[ColumnGroup]:
    """Return all columns as one group."""
    return [ColumnGroup(range(values.shape[1]), values, predictive)]


def values_by_role(groups: Sequence[Any], hyperparameters: np.ndarray) -> dict[int, np.ndarray]:
    """Return the values of unknown hyperparameters by their role (`copartition.targets.kinds.hyper`)."""
    found: dict[int, list[float]] = {}
    first = 0
    for role, _, group in groups:
        found.setdefault(role, []).extend(hyperparameters[first : first + len(group.names)])
        first += len(group.names)
    return {role: np.array(values) for role, values in found.items()}
