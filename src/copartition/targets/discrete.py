"""Columns of yes and no, of categories and of counts."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.column_groups import GroupedComponent, equal_columns
from copartition.targets.kinds import discrete
from copartition.targets.kinds.column_group import GroupArrays
from copartition.targets.members import (
    AnswerColumn,
    CategoryColumn,
    ColumnGroup,
    CountColumn,
    CountPrior,
    column_by_column,
)
from copartition.validation import column_array, plain, positive_array, shorten

MOST_CELLS = 200_000_000  # of rows times categories: more do not fit into a machine
LARGEST_COUNT = 2.0**53  # up to which every whole number is one of the machine
MOST_LOGARITHMS = 1 << 20  # sums of counts up to which log Gamma is looked up


class Category(NamedTuple):
    """A column of categories.

    Attributes
    ----------
    codes : int64 array (n_points)
        Which category each cell is, -1 where it was not observed.
    weights : float64 array (n_categories)
        Of the Dirichlet distribution.
    has_missing : bool
    """

    codes: np.ndarray
    weights: np.ndarray
    has_missing: bool


class CategoryComponent(GroupedComponent):
    """A component whose columns are categories."""

    @abstractmethod
    def columns(self, cells: Cells) -> list[Category]:
        """Return the columns of a resolved component."""

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the column groups of a resolved component: complete columns, and those with missing cells."""
        return category_groups(self.columns(cells), n_points)

    def _codes_of(self, cells: Cells) -> np.ndarray:
        """Return the numbers of the categories as floats, NaN where a cell is missing."""
        codes = np.column_stack([column.codes for column in self.columns(cells)])
        return np.where(codes < 0, np.nan, codes)


def category_groups(columns: Sequence[Category], n_points: int) -> list[GroupArrays]:
    """Return groups of columns of categories, of whichever component: complete ones, and those with missing cells."""
    kinds = [[column for column in columns if column.has_missing == has_missing] for has_missing in (False, True)]
    return [_category_group(kind, n_points) for kind in kinds if kind]


def _category_group(columns: list[Category], n_points: int) -> GroupArrays:
    begins = np.cumsum([0, *[len(column.weights) for column in columns]])
    codes = np.column_stack([column.codes for column in columns])
    chosen = np.where(codes >= 0, codes + begins[:-1], -1)
    summed = np.zeros((len(codes), begins[-1]))
    rows, positions = np.nonzero(codes >= 0)
    summed[rows, chosen[rows, positions]] = 1.0
    totals = np.array([column.weights.sum() for column in columns])
    weights = np.concatenate([column.weights for column in columns])
    has_missing = columns[0].has_missing
    return GroupArrays(
        discrete.CATEGORICAL,
        len(columns),
        summed=np.hstack([summed, codes >= 0]) if has_missing else summed,
        plain=chosen.astype(np.float64),
        table=-_sum_of_logs(totals, n_points),
        parameters=np.concatenate([[len(weights)], weights, totals, begins]).astype(np.float64),
        observed=int(begins[-1]) if has_missing else 0,
    )


class Bernoulli(CategoryComponent):
    """Columns of 0 and 1: each cluster has a probability of 1 for each column, drawn from Beta(a, b).

    Cells may be missing.

    Parameters
    ----------
    a, b : float or array (n_columns), default 1

    Examples
    --------
    >>> import copartition as cp
    >>> answers = [[1, 0, 1], [1, 0, 0], [0, 1, 0]]
    >>> cp.kernels.conditional(cp.Mixture(answers, cp.Bernoulli(), cp.DirichletProcess(1.0)), [0, 0, 1], n=1).round(3)
    array([0.427, 0.213, 0.36 ])
    """

    _missing: np.ndarray  # which columns lack cells, when the component has met data

    def __init__(self, a: Any = 1.0, b: Any = 1.0) -> None:
        self.a = positive_array("a", a)
        self.b = positive_array("b", b)

    def resolve(self, cells: Cells) -> Self:
        """Return the same component, with a number for each column."""
        resolved = copy.copy(self)
        resolved.a = column_array("a", self.a, cells.shape[1])
        resolved.b = column_array("b", self.b, cells.shape[1])
        resolved._missing = cells.incomplete()
        return resolved

    def columns(self, cells: Cells) -> list[Category]:
        """Return the columns of a resolved component: no and yes are two categories."""
        answers = cells.numbers()
        for j in range(answers.shape[1]):
            bad = np.flatnonzero(~np.isnan(answers[:, j]) & (answers[:, j] != 0) & (answers[:, j] != 1))
            if bad.size:
                found = f"{answers[bad[0], j]:g} in {cells.row_title(bad[0])}"
                raise ValueError(f"data must be 0 or 1 in {cells.title(j)} for Bernoulli, got {found}.")
        codes = np.where(np.isnan(answers), -1, answers).astype(np.int64)
        return [
            Category(codes[:, j], np.array([self.b[j], self.a[j]]), bool(self._missing[j]))
            for j in range(cells.shape[1])
        ]

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return every column by itself."""
        return [group._replace(levels=[0, 1]) for group in column_by_column(self._codes_of(cells), AnswerColumn)]

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the weights of 0 and 1 in every column."""
        return list(np.column_stack([self.b, self.a]))

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            "A column of a cluster is 1 with a probability of its own, drawn from a beta distribution with "
            f"{plain(_one(self.a))} (a) and {plain(_one(self.b))} (b); columns are independent within a cluster."
        ]

    def __repr__(self) -> str:
        return f"Bernoulli(a={plain(_one(self.a))}, b={plain(_one(self.b))})"


class Categorical(CategoryComponent):
    """Columns of categories: each cluster has probabilities of its own, drawn from a symmetric Dirichlet distribution.

    The categories of a column are those that occur, or, for a pandas Categorical, those that it declares. They may be
    text, whole numbers or booleans. Cells may be missing.

    Parameters
    ----------
    concentration : float or array (n_columns), default 1
        Of the Dirichlet distribution, for each category.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [["red", "round"], ["red", "long"], ["green", None]]
    >>> posterior = cp.Mixture(data, cp.Categorical())
    >>> posterior.component.levels
    [['green', 'red'], ['long', 'round']]
    """

    levels: list[list[Any]]
    """The categories of each column, when the component has met data."""
    _missing: np.ndarray

    def __init__(self, concentration: Any = 1.0) -> None:
        self.concentration = positive_array("concentration", concentration)

    def resolve(self, cells: Cells) -> Self:
        """Return the same component, with the categories of each column."""
        resolved = copy.copy(self)
        resolved.concentration = column_array("concentration", self.concentration, cells.shape[1])
        resolved.levels = [cells.levels(j) for j in range(cells.shape[1])]
        resolved._missing = cells.incomplete()
        most = max(range(cells.shape[1]), key=lambda j: len(resolved.levels[j]))
        if cells.shape[0] * sum(len(levels) for levels in resolved.levels) > MOST_CELLS:
            raise ValueError(
                f"data must have fewer categories for Categorical: {cells.title(most)} has "
                f"{len(resolved.levels[most])} in {cells.shape[0]} rows."
            )
        return resolved

    def columns(self, cells: Cells) -> list[Category]:
        """Return the columns of a resolved component."""
        return [
            Category(self._codes(cells, j), np.full(len(levels), self.concentration[j]), bool(self._missing[j]))
            for j, levels in enumerate(self.levels)
        ]

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return every column by itself."""
        groups = column_by_column(self._codes_of(cells), CategoryColumn)
        return [group._replace(levels=levels) for group, levels in zip(groups, self.levels, strict=True)]

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the weights of the categories of every column."""
        return [np.full(len(levels), a) for levels, a in zip(self.levels, self.concentration, strict=True)]

    def _codes(self, cells: Cells, j: int) -> np.ndarray:
        """Return the numbers of the categories of a column, -1 where a cell is missing."""
        number = {level: code for code, level in enumerate(self.levels[j])}
        codes = np.empty(cells.shape[0], dtype=np.int64)
        for row, value in enumerate(cells.values(j)):
            if value is not None and value not in number:
                known = ", ".join(repr(level) for level in self.levels[j][:8])
                raise ValueError(
                    f"data and grid must have the categories {known} in {cells.title(j)}, got {shorten(value)} in "
                    f"{cells.row_title(row)}."
                )
            codes[row] = -1 if value is None else number[value]
        return codes

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            "A column of a cluster has probabilities of its own for its categories, drawn from a Dirichlet "
            f"distribution with {plain(_one(self.concentration))} for each (concentration); columns are independent "
            "within a cluster."
        ]

    def __repr__(self) -> str:
        return f"Categorical(concentration={plain(_one(self.concentration))})"


class Poisson(GroupedComponent):
    """Columns of counts: each cluster has a rate for each column, drawn from Gamma(shape, rate).

    Cells may be missing.

    Parameters
    ----------
    shape, rate : float or array (n_columns), default 1

    Examples
    --------
    >>> import copartition as cp
    >>> cp.kernels.conditional(cp.Mixture([3, 4, 40], cp.Poisson(), cp.DirichletProcess(1.0)), [0, 0, 1], n=1).round(3)
    array([0.731, 0.001, 0.268])
    """

    _missing: np.ndarray
    _totals: np.ndarray  # sums of the columns, when the component has met data

    def __init__(self, shape: Any = 1.0, rate: Any = 1.0) -> None:
        self.shape = positive_array("shape", shape)
        self.rate = positive_array("rate", rate)

    def resolve(self, cells: Cells) -> Self:
        """Return the same component, with a number for each column."""
        resolved = copy.copy(self)
        resolved.shape = column_array("shape", self.shape, cells.shape[1])
        resolved.rate = column_array("rate", self.rate, cells.shape[1])
        resolved._missing = cells.incomplete()
        resolved._totals = np.nansum(cells.numbers(), axis=0)
        return resolved

    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the column groups of a resolved component: columns that are alike in shape, rate and missing cells."""
        counts = _counts_of(cells)
        same = equal_columns(self.shape, self.rate, self._missing)
        return [self._column_group(counts[:, columns], columns, n_points) for columns in same]

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return every column by itself."""
        return column_by_column(_counts_of(cells), CountColumn)

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return shape and rate of every column."""
        return [CountPrior(shape, rate) for shape, rate in zip(self.shape, self.rate, strict=True)]

    def _column_group(self, counts: np.ndarray, columns: np.ndarray, n_points: int) -> GroupArrays:
        from scipy.special import gammaln

        shape, rate, sizes = self.shape[columns[0]], self.rate[columns[0]], np.arange(n_points + 1.0)
        seen = np.nan_to_num(counts)
        needed = self._totals[columns].max() + seen.max() + 1
        length = int(min(needed, MOST_LOGARITHMS))
        of_points = np.column_stack([-gammaln(seen + 1.0).sum(axis=1), seen.sum(axis=1), seen.max(axis=1)])
        return GroupArrays(
            discrete.POISSON,
            len(columns),
            table=np.column_stack([-np.log1p(1.0 / (rate + sizes)), np.log(rate + sizes + 1.0)]),
            parameters=np.concatenate(
                [[shape, rate, seen.max() if length == needed else -1.0, length], gammaln(shape + np.arange(length))]
            ),
            **_with_observed(counts, self._missing[columns[0]]) | {"plain": of_points},
        )

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            "Counts of a cluster are Poisson with a rate of its own in each column, drawn from a gamma distribution "
            f"with shape {plain(_one(self.shape))} (shape) and rate {plain(_one(self.rate))} (rate); columns are "
            "independent within a cluster."
        ]

    def __repr__(self) -> str:
        return f"Poisson(shape={plain(_one(self.shape))}, rate={plain(_one(self.rate))})"


def _counts_of(cells: Cells) -> np.ndarray:
    """Return columns of counts, NaN where missing; refuse what is none, and what is too large to be counted exactly."""
    counts = cells.numbers()
    for j in range(counts.shape[1]):
        bad = np.flatnonzero((counts[:, j] < 0) | (counts[:, j] % 1 != 0) & ~np.isnan(counts[:, j]))
        if bad.size:
            raise ValueError(
                f"data must be counts 0, 1, ... in {cells.title(j)} for Poisson, got {counts[bad[0], j]:g} in "
                f"{cells.row_title(bad[0])}."
            )
        large = np.flatnonzero(counts[:, j] > LARGEST_COUNT)
        if large.size:
            raise ValueError(
                f"data must be counts of at most {LARGEST_COUNT:g} in {cells.title(j)} for Poisson, got "
                f"{counts[large[0], j]:g} in {cells.row_title(large[0])}."
            )
    return counts


def _with_observed(cells: np.ndarray, has_missing: bool) -> dict[str, Any]:
    """Return the columns of a column group whose cells are summed themselves, and where it says which were observed."""
    observed = ~np.isnan(cells)
    summed = np.where(observed, cells, 0.0)
    return {
        "summed": np.hstack([summed, observed]) if has_missing else summed,
        "plain": np.zeros((len(cells), 0)),
        "observed": cells.shape[1] if has_missing else 0,
    }


def _sum_of_logs(totals: np.ndarray, n_points: int) -> np.ndarray:
    """Return, for every cluster size, the sum over columns of the logs of ``total + size``, as a table."""
    return sum((np.log(total + np.arange(n_points + 1.0)) for total in totals), np.zeros(n_points + 1))[:, None]


def _one(values: np.ndarray) -> Any:
    """Return a single number where all are equal."""
    numbers = np.ravel(values)
    return float(numbers[0]) if np.all(numbers == numbers[0]) else numbers
