"""Tables in memory as columns of plain cells: data frames of pandas and polars, series, arrays, lists, AnnData objects.

Neither pandas nor polars is imported: their tables are known by what they can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copartition.extras import needed
from copartition.validation import integer, shorten

NOT_THERE = ("NAType", "NaTType")  # pandas' own words for a cell that was not observed
PLAIN = (str, int, float)


class Given(NamedTuple):
    """Columns as they were given.

    Attributes
    ----------
    names : list of str
        Of the columns; nothing where one has no name.
    columns : list
        Cells of each: an array of numbers (NaN where not observed), or a list (None where not observed).
    declared : list of bool
        Whether the type of a column says that it is one of categories.
    rows : list or None
        What the rows are called, where they have an index.
    is_array : bool
        Whether columns go by numbers.
    """

    names: list[str]
    columns: list[Any]
    declared: list[bool]
    rows: list[Any] | None
    is_array: bool


def given_of(data: Any) -> Given:
    """Return the columns of a table in memory.

    Parameters
    ----------
    data : data frame or series (pandas, polars), array (rows, columns) or (rows,), or lists
    """
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        columns = [data.iloc[:, j] for j in range(data.shape[1])]
        given = Given([_title(name) for name in data.columns], *_read(columns), data.index.tolist(), False)
    elif hasattr(data, "iloc"):
        given = Given([_title(data.name) or "0"], *_read([data]), data.index.tolist(), data.name is None)
    elif hasattr(data, "get_columns"):
        given = Given([_title(name) for name in data.columns], *_read(data.get_columns()), None, False)
    else:
        array = _array(data)
        parts = list(array.T) if array.ndim == 2 else [array]
        given = Given([str(j) for j in range(len(parts))], *_read(parts), None, True)
    if not given.columns or not len(given.columns[0]):
        raise ValueError(f"data must have at least one row and one column, got shape {np.shape(data)}.")
    return given


def _title(name: Any) -> str:
    """Return the name of a column as text; nothing for None and NaN."""
    return "" if name is None or name != name else str(name).strip()


def _read(columns: Sequence[Any]) -> tuple[list[Any], list[bool]]:
    return [cells_of_column(column) for column in columns], [_is_declared(column) for column in columns]


def _is_declared(column: Any) -> bool:
    return str(getattr(column, "dtype", "")).partition("(")[0] in ("category", "Categorical", "Enum")


def cells_of_column(column: Any) -> Any:
    """Return the cells of an array or a series, of any type: an array of numbers, or a list of Python's own objects."""
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if isinstance(kind, str) and kind in "iuf" and hasattr(column, "isna"):
        if kind == "f" or bool(column.isna().any()):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return column.to_numpy(dtype=np.int64 if kind == "i" else np.uint64)
    if isinstance(column, np.ndarray) and kind in "iuf":
        return column
    if isinstance(column, np.ndarray) and kind in "mM":
        column = column.astype(f"{column.dtype.name.partition('[')[0]}[us]").astype(object)
    if hasattr(column, "to_list"):
        return tight([plain(cell) for cell in column.to_list()])
    return tight([plain(cell) for cell in np.asarray(column, dtype=object).tolist()])


def plain(cell: Any) -> Any:
    """Return a cell as a number, a text or a date; None where it was not observed."""
    if isinstance(cell, PLAIN) or cell is None:
        return cell
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return None if np.isnat(cell) else str(cell)
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bytes):
        return cell.decode(errors="replace")
    if type(cell).__name__ in NOT_THERE:
        return None
    return cell if hasattr(cell, "__float__") or hasattr(cell, "isoformat") or hasattr(cell, "days") else str(cell)


def tight(cells: list[Any]) -> Any:
    """Return cells as an array of numbers if that is what they are; None and NaN are cells that were not observed."""
    types = set(map(type, cells))
    if types and types <= {int}:
        try:
            return np.array(cells, dtype=np.int64)
        except OverflowError:
            return cells
    if types & {int, float} and types <= {int, float, type(None)}:
        try:
            return np.array(cells, dtype=np.float64)
        except OverflowError:
            return cells
    return cells


def _array(data: Any) -> np.ndarray:
    if isinstance(data, str | Path):
        raise TypeError(
            f"data must be a data frame or an array, a row a point, got {shorten(str(data))}; if that is a file, read "
            "it first, by pandas.read_csv for instance, or run copartition cluster on it from the command line."
        )
    if isinstance(data, Mapping) or (isinstance(data, list | tuple) and any(isinstance(row, Mapping) for row in data)):
        what = "dict" if isinstance(data, Mapping) else f"{type(data).__name__} of dicts"
        raise TypeError(
            f"data must be a data frame or an array, a row a point, got a {what}; pandas.DataFrame(data) may be meant."
        )
    if data is None or not hasattr(data, "__len__") or isinstance(data, bytes | Set) or hasattr(data, "tocoo"):
        raise TypeError(f"data must be a data frame or an array, a row a point, got {type(data).__name__}.")
    try:
        if isinstance(data, np.ma.MaskedArray):
            data = np.ma.filled(data.astype(np.float64), np.nan)
        array = np.asarray(data)
        if not isinstance(data, np.ndarray) and array.dtype.kind not in "biufmM":
            array = np.array(data, dtype=object)  # and not numbers as text where one cell is text
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"data must be a data frame or an array, a row a point, got {type(data).__name__}.") from None
    if array.dtype.kind in "cV" or array.ndim not in (1, 2):
        what = f"shape {array.shape}" if array.dtype.kind not in "cV" else f"cells of type {array.dtype}"
        raise ValueError(f"data must be a table of rows and columns, got {what}.")
    return array


REPRESENTATION = "X_pca"


def is_annotated(path: str | Path) -> bool:
    """Tell whether a file is one of AnnData, by its ending."""
    return Path(path).suffix.lower() == ".h5ad"


def read_annotated(path: str | Path) -> Any:
    """Return the AnnData object that a file holds. Needs anndata."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    anndata = needed("anndata", by=repr(str(path)))
    try:
        return anndata.read_h5ad(file)
    except OSError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{str(path)!r} cannot be read as an AnnData file: {reason}.") from None


def representation_of(adata: Any, use_rep: str = REPRESENTATION, n_pcs: int | None = None) -> np.ndarray:
    """Return the table of cells x columns that is clustered.

    Parameters
    ----------
    adata : AnnData
    use_rep : str
        A name in ``adata.obsm``, or ``"X"``.
    n_pcs : int, optional
        The first so many columns of it; left out, all.
    """
    if use_rep == "X":
        table = adata.X
        if table is None:
            raise ValueError("use_rep must be a name in adata.obsm, got 'X', and adata has no X.")
    elif use_rep in adata.obsm:
        table = adata.obsm[use_rep]
    else:
        known = ", ".join(map(repr, ["X", *adata.obsm.keys()]))
        hint = " (scanpy.pp.pca makes 'X_pca')" if use_rep == REPRESENTATION else ""
        raise ValueError(f"use_rep must be one of {known}, got {use_rep!r}{hint}.")
    values = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    if n_pcs is None:
        return values
    if integer("n_pcs", n_pcs, 1) > values.shape[1]:
        raise ValueError(f"n_pcs must be at most the number of columns of {use_rep!r}, {values.shape[1]}, got {n_pcs}.")
    return values[:, :n_pcs]


def titles_of(adata: Any, use_rep: str, count: int) -> list[str]:
    """Return what the first columns of a representation are called: genes by their names, components by their numbers.

    Parameters
    ----------
    adata : AnnData
    use_rep : str
    count : int
        How many columns.
    """
    if use_rep == "X":
        return [str(name) for name in adata.var_names[:count]]
    return [f"PC{j + 1}" if use_rep == REPRESENTATION else f"{use_rep}[{j}]" for j in range(count)]
