"""Data as people have them: arrays and data frames, numbers and categories, with cells that were not observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from copartition.validation import shorten

MISSING = ("NAType", "NaTType")  # pandas' own words for "not there", known by name: pandas need not be installed


class Cells:
    """A table, column by column, as it was given.

    Parameters
    ----------
    columns : sequence of arrays or series
    names : sequence, optional
        What they are called; left out, they go by their numbers.
    numbers : sequence of int, optional
        Where they stood in the table that they are from.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns.
    """

    def __init__(
        self, columns: Sequence[Any], names: Sequence[Any] | None = None, numbers: Sequence[int] | None = None
    ) -> None:
        self._columns = list(columns)
        self.keys = None if names is None else list(names)  # as they were given: not all names are text
        self.names = None if names is None else [str(name) for name in names]
        self._numbers = list(range(len(self._columns)) if numbers is None else numbers)
        self.shape = (len(self._columns[0]) if self._columns else 0, len(self._columns))

    def title(self, j: int) -> str:
        """Return what to call a column in a sentence."""
        return f"column {self._numbers[j]}" if self.names is None else f"column {self.names[j]!r}"

    def label(self, j: int) -> str:
        """Return what to call a column in a list."""
        return str(self._numbers[j]) if self.names is None else self.names[j]

    def position(self, column: Any) -> int:
        """Return the number of the column of a name or a number."""
        for names in (self.keys or [], self.names or []):
            if column in names:
                if names.count(column) > 1:
                    raise ValueError(f"data must have one column named {column!r}, got {names.count(column)}.")
                return names.index(column)
        if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < self.shape[1]:
            return int(column)
        known = f"0 to {self.shape[1] - 1}" if self.names is None else ", ".join(self.names[:12])
        raise ValueError(f"columns must be of the data ({known}), got {shorten(column)}.")

    def subset(self, positions: Sequence[int]) -> Cells:
        """Return some of the columns."""
        names = None if self.keys is None else [self.keys[j] for j in positions]
        return Cells([self._columns[j] for j in positions], names, [self._numbers[j] for j in positions])

    def numbers(self) -> np.ndarray:
        """Return all columns as numbers, NaN where a cell was not observed."""
        table = np.empty(self.shape)
        for j, column in enumerate(self._columns):
            table[:, j] = self._floats(j, column)
            bad = np.flatnonzero(np.isinf(table[:, j]))
            if bad.size:
                place = f"row {bad[0]}, {self.title(j)}"
                raise ValueError(f"data must be finite, or NaN where not observed, got {table[bad[0], j]} in {place}.")
        return table

    def levels(self, j: int) -> list[Any]:
        """Return the categories of a column: those declared, if it is a pandas Categorical, else those seen."""
        column = self._columns[j]
        if _is_categorical(column):
            return [_plain(level) for level in column.cat.categories]
        return sorted({value for value in self.values(j) if value is not None}, key=lambda v: (str(type(v)), v))

    def values(self, j: int) -> list[Any]:
        """Return the cells of a column as Python has them, None where not observed; whole numbers as int."""
        cells: list[Any] = []
        for row, cell in enumerate(np.asarray(self._columns[j], dtype=object)):
            if _is_missing(cell):
                cells.append(None)
                continue
            value = _plain(cell)
            if isinstance(value, float):
                raise ValueError(
                    f"data must hold categories (text, whole numbers, booleans) in {self.title(j)}, got {value} in row "
                    f"{row}."
                )
            cells.append(value)
        return cells

    def missing(self) -> np.ndarray:
        """Return which cells were not observed."""
        table = np.zeros(self.shape, dtype=bool)
        for j, column in enumerate(self._columns):
            array = np.asarray(column)
            if array.dtype.kind == "f":
                table[:, j] = np.isnan(array)
            elif array.dtype.kind not in "biu":
                table[:, j] = [_is_missing(cell) for cell in np.asarray(column, dtype=object)]
        return table

    def incomplete(self) -> np.ndarray:
        """Return which columns have cells that were not observed."""
        return np.asarray(self.missing().any(axis=0))

    def _floats(self, j: int, column: Any) -> np.ndarray:
        array = np.asarray(column)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64)
        values = np.empty(len(array))
        for row, cell in enumerate(np.asarray(column, dtype=object)):
            if _is_missing(cell):
                values[row] = math.nan
            elif isinstance(cell, int | float | np.number | np.bool_):
                values[row] = cell
            else:
                raise TypeError(
                    f"data must be an array of numbers, got {shorten(cell)} in {self.title(j)}, row {row}; Columns "
                    "gives columns of categories a component of their own."
                )
        return values


def cells_of(data: Any, name: str = "data") -> Cells:
    """Return a table from an array, a data frame (pandas or polars) or a series.

    Parameters
    ----------
    data : array (n_rows, n_columns) or (n_rows,), data frame or series
    name : str
        What to call it in an error.
    """
    if isinstance(data, Cells):
        cells = data
    elif hasattr(data, "iloc") and hasattr(data, "columns"):
        cells = Cells([data.iloc[:, j] for j in range(data.shape[1])], list(data.columns))
    elif hasattr(data, "get_columns"):
        cells = Cells([column.to_numpy() for column in data.get_columns()], data.columns)
    elif hasattr(data, "iloc"):
        cells = Cells([data], None if data.name is None else [data.name])
    else:
        array = _array(data, name)
        cells = Cells(list(array.T) if array.ndim == 2 else [array])
    if 0 in cells.shape:
        raise ValueError(f"{name} must have at least one point and one column, got shape {np.shape(data)}.")
    return cells


def check_observed(cells: Cells) -> np.ndarray:
    """Return which cells were not observed; refuse a row or a column without any that was."""
    missing = cells.missing()
    for j in np.flatnonzero(missing.all(axis=0)):
        raise ValueError(f"data must have an observed cell in every column, got none in {cells.title(int(j))}.")
    for row in np.flatnonzero(missing.all(axis=1)):
        raise ValueError(f"data must have an observed cell in every row, got none in row {row}; leave it out.")
    return missing


def _array(data: Any, name: str) -> np.ndarray:
    if data is None or isinstance(data, str):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(data)}.")
    try:
        if isinstance(data, np.ma.MaskedArray):
            data = np.ma.filled(data.astype(np.float64), np.nan)
        array = np.asarray(data)
        if array.dtype.kind in "cmM":
            raise TypeError("complex numbers and dates")
        if array.dtype.kind not in "biuf":
            array = np.array(data, dtype=object)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(data)}.") from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have 1 or 2 dimension(s), got an array of shape {array.shape}.")
    if array.dtype.kind == "O" and any(isinstance(cell, list | tuple | np.ndarray | dict) for cell in array.flat):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(data)}.")
    return array


def _is_categorical(column: Any) -> bool:
    return str(getattr(column, "dtype", "")) == "category" and hasattr(column, "cat")


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in MISSING:
        return True
    return isinstance(cell, float | np.floating) and bool(np.isnan(cell))


def _plain(cell: Any) -> Any:
    value = cell.item() if isinstance(cell, np.generic) else cell
    return int(value) if isinstance(value, float) and value.is_integer() else value
