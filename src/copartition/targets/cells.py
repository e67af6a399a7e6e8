"""Data as people have them: arrays and data frames, numbers and categories, with cells that were not observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from copartition.validation import BY_NUMBER, RowTitles, shorten, titles_of_index

ODD = 0.1  # of the cells of a column of numbers may be text, and it is still one of numbers
FEW_CODES = 10  # different whole numbers that may be codes
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
    sure : bool, default False
        Somebody said what each column is: text among numbers is a category.
    rows : RowTitles
        What errors call the rows.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and columns.
    """

    def __init__(
        self,
        columns: Sequence[Any],
        names: Sequence[Any] | None = None,
        numbers: Sequence[int] | None = None,
        sure: bool = False,
        rows: RowTitles = BY_NUMBER,
    ) -> None:
        self._sure = sure
        self._rows = rows
        self._columns = list(columns)
        self.keys = None if names is None else list(names)  # as they were given: not all names are text
        self.names = None if names is None else [str(name) for name in names]
        self._numbers = list(range(len(self._columns)) if numbers is None else numbers)
        self.shape = (len(self._columns[0]) if self._columns else 0, len(self._columns))

    def title(self, j: int) -> str:
        """Return what to call a column in a sentence."""
        return f"column {self._numbers[j]}" if self.names is None else f"column {self.names[j]!r}"

    def row_title(self, row: int) -> str:
        """Return what to call a row in a sentence."""
        return self._rows.title(int(row))

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
        columns, numbers = [self._columns[j] for j in positions], [self._numbers[j] for j in positions]
        return Cells(columns, names, numbers, self._sure, self._rows)

    def copied(self) -> Cells:
        """Return the same cells, whatever becomes of the arrays that they are from."""
        columns = [column.copy() for column in self._columns]
        return Cells(columns, self.keys, self._numbers, self._sure, self._rows)

    def rows(self, here: slice) -> Cells:
        """Return some of the rows."""
        columns = [column.iloc[here] if hasattr(column, "iloc") else column[here] for column in self._columns]
        return Cells(columns, self.keys, self._numbers, self._sure, self._rows.after(here.start or 0))

    def numbers(self) -> np.ndarray:
        """Return all columns as numbers, NaN where a cell was not observed."""
        table = np.empty(self.shape)
        for j, column in enumerate(self._columns):
            table[:, j] = self._floats(j, column)
            bad = np.flatnonzero(np.isinf(table[:, j]))
            if bad.size:
                place = f"{self.row_title(bad[0])}, {self.title(j)}"
                raise ValueError(f"data must be finite, or NaN where not observed, got {table[bad[0], j]} in {place}.")
        return table

    def levels(self, j: int) -> list[Any]:
        """Return the categories of a column: those declared, if it is a pandas Categorical, else those seen."""
        column = self._columns[j]
        if _is_categorical(column):
            return [_plain(level) for level in column.cat.categories]
        values = self.values(j)
        if not self._sure:
            self._refuse_spoilt(j, values)
        return sorted({value for value in values if value is not None}, key=lambda v: (str(type(v)), v))

    def _refuse_spoilt(self, j: int, values: list[Any]) -> None:
        """Refuse numbers as categories where a few cells are text: nobody would make categories of them otherwise."""
        seen = [value for value in values if value is not None]
        odd = [value for value in seen if not _reads_as_number(value)]
        numbers = {float(value) for value in seen if _reads_as_number(value)}
        are_codes = len(numbers) <= FEW_CODES and all(number.is_integer() for number in numbers)
        if odd and not are_codes and len(odd) <= ODD * len(seen):
            place = self.row_title(values.index(odd[0]))
            raise ValueError(
                f"data must hold categories in {self.title(j)}, got {shorten(odd[0])} in {place}, where "
                f"{len(seen) - len(odd)} of {len(seen)} cells are numbers; "
                "mend it, let it be missing (None), or say by column.astype('category') that these are categories."
            )

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
                    f"data must hold categories (text, whole numbers, booleans) in {self.title(j)}, got {value} in "
                    f"{self.row_title(row)}."
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
            elif _is_number(cell):
                values[row] = _as_float(cell)
            else:
                self._complain(j)
        return values

    def is_text(self, j: int) -> bool:
        """Tell whether most of the observed cells of a column are neither numbers nor text that reads as one."""
        if np.asarray(self._columns[j]).dtype.kind in "biuf":
            return False
        seen = self._seen(j)
        return 2 * sum(not _reads_as_number(cell) for _, cell in seen) > len(seen)

    def _seen(self, j: int) -> list[tuple[int, Any]]:
        """Return the observed cells of a column, each with its row."""
        column = np.asarray(self._columns[j], dtype=object)
        return [(row, cell) for row, cell in enumerate(column) if not _is_missing(cell)]

    def _complain(self, j: int) -> NoReturn:
        """Refuse a column of text where numbers are wanted; name the cell that is to blame, and say what to do."""
        seen = self._seen(j)
        odd = [(row, cell) for row, cell in seen if not _reads_as_number(cell)]
        row, cell = odd[0] if odd else next(one for one in seen if not _is_number(one[1]))
        got = f"data must be an array of numbers, got {shorten(cell)} in {self.title(j)}, {self.row_title(row)}"
        if self.is_text(j):
            raise TypeError(f"{got}; Columns gives columns of categories a component of their own.")
        if not odd:
            raise TypeError(f"{got}; pandas.to_numeric(column) makes numbers of such text.")
        raise TypeError(
            f"{got}, where {len(seen) - len(odd)} of {len(seen)} cells are numbers; mend it, or let it be missing: "
            "pandas.to_numeric(column, errors='coerce')."
        )


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
        columns = [data.iloc[:, j] for j in range(data.shape[1])]
        cells = Cells(columns, list(data.columns), rows=titles_of_index(data.index.tolist()))
    elif hasattr(data, "get_columns"):
        cells = Cells([column.to_numpy() for column in data.get_columns()], data.columns)
    elif hasattr(data, "iloc"):
        cells = Cells([data], None if data.name is None else [data.name], rows=titles_of_index(data.index.tolist()))
    else:
        array = _array(data, name)
        cells = Cells(list(array.T) if array.ndim == 2 else [array])
    if 0 in cells.shape:
        raise ValueError(f"{name} must have at least one point and one column, got shape {np.shape(data)}.")
    return cells


def row_names(data: Any) -> list[str | int] | None:
    """Return what the rows of a data frame or a series of pandas are called, as a file can keep it.

    None where they have no names of their own: where the index counts rows, or where it has one name twice.

    Examples
    --------
    >>> import pandas as pd
    >>> row_names(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"]))
    ['a', 'b']
    """
    return kept_names(_index_of(data))


def repeated_names(data: Any) -> list[str | int] | None:
    """Return the index of a data frame or a series of pandas where it has one name twice; None otherwise.

    Examples
    --------
    >>> import pandas as pd
    >>> repeated_names(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "a"]))
    ['a', 'a']
    """
    names = _in_words(_index_of(data))
    return names if _are_repeated(names) else None


def _index_of(data: Any) -> list[Any]:
    index = getattr(data, "index", None)
    return [] if not hasattr(data, "iloc") or index is None else index.tolist()


def kept_names(names: Sequence[Any]) -> list[str | int] | None:
    """Return names as words and whole numbers; None where they count rows from 0 on, or where two are the same."""
    kept = _in_words(names)
    return None if kept == list(range(len(kept))) or _are_repeated(kept) else kept


def _in_words(names: Sequence[Any]) -> list[str | int]:
    plain = [_plain(name) for name in names]
    return [name if isinstance(name, int) and not isinstance(name, bool) else str(name) for name in plain]


def _are_repeated(names: list[str | int]) -> bool:
    return len({str(name) for name in names}) < len(names)


def component_in_words(data: Any) -> str:
    """Return what a person may write for a component of these data: what is asked for, and could not be guessed.

    Examples
    --------
    >>> component_in_words([[1.0, 2.0], [3.0, None]])
    'NormalInverseGamma()'
    >>> component_in_words([["a", 2.0], ["b", 3.0]])
    'Columns([([1], NormalInverseGamma()), ([0], Categorical())])'
    """
    usual = "NormalInverseWishart()"
    try:
        cells = cells_of(data)
    except (TypeError, ValueError):
        return usual
    names = range(cells.shape[1]) if cells.keys is None else cells.keys
    columns = {
        is_text: [names[j] for j in range(cells.shape[1]) if cells.is_text(j) == is_text] for is_text in (False, True)
    }
    normal = "NormalInverseGamma()" if cells.missing().any() else usual
    if not columns[True]:
        return normal
    parts = [(columns[False], "NormalInverseGamma()"), (columns[True], "Categorical()")]
    return f"Columns([{', '.join(f'({_listed(some)}, {name})' for some, name in parts if some)}])"


def _listed(columns: list[Any]) -> str:
    return f"[{', '.join(map(repr, columns[:4]))}{', ...' if len(columns) > 4 else ''}]"


def check_observed(cells: Cells) -> np.ndarray:
    """Return which cells were not observed; refuse a row or a column without any that was."""
    missing = cells.missing()
    for j in np.flatnonzero(missing.all(axis=0)):
        raise ValueError(f"data must have an observed cell in every column, got none in {cells.title(int(j))}.")
    for row in np.flatnonzero(missing.all(axis=1)):
        place = cells.row_title(int(row))
        raise ValueError(f"data must have an observed cell in every row, got none in {place}; leave such rows out.")
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
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(data)}.") from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have 1 or 2 dimension(s), got an array of shape {array.shape}.")
    if array.dtype.kind == "O" and any(isinstance(cell, list | tuple | np.ndarray | dict) for cell in array.flat):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(data)}.")
    return array


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | np.number | np.bool_)


def _reads_as_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(cell, str) or "_" not in cell


def _as_float(cell: Any) -> float:
    """Return a number as a float; a whole number beyond all floats is infinite, which is refused with its place."""
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _is_categorical(column: Any) -> bool:
    return str(getattr(column, "dtype", "")) == "category" and hasattr(column, "cat")


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in MISSING:
        return True
    return isinstance(cell, float | np.floating) and bool(np.isnan(cell))


def _plain(cell: Any) -> Any:
    value = cell.item() if isinstance(cell, np.generic) else cell
    return int(value) if isinstance(value, float) and value.is_integer() else value
