"""Tables of numbers in files."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> np.ndarray:
    """Read a table of numbers from a CSV, TSV, NPY or Parquet file.

    Parameters
    ----------
    path : path
    columns : sequence of str, optional
        Names of columns, or their numbers from 0 on. Left out: all that hold numbers; a first column without a name,
        or one of row names, is passed over.

    Returns
    -------
    numpy.ndarray
        Rows x columns.
    """
    return read_columns(path, columns)[0]


def read_columns(path: str | Path, columns: Sequence[str] | None = None) -> tuple[np.ndarray, list[str]]:
    """Read a table of numbers as `read_table` does; return it and the names of its columns."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    kind = file.suffix.lower()
    if kind == ".npy":
        return _choose(*_read_npy(file), columns, file)
    if kind == ".parquet":
        return _choose(*_read_parquet(file), columns, file)
    if kind in {".csv", ".tsv", ".txt"}:
        return _choose(*read_text(file, "\t" if kind == ".tsv" else ","), columns, file)
    raise ValueError(f"{str(path)!r} must be a .csv, .tsv, .npy or .parquet file.")


def _read_npy(file: Path) -> tuple[list[str], list[list[Any]]]:
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ValueError(f"{str(file)!r} cannot be read: {error}.") from None
    if array.ndim not in (1, 2):
        raise ValueError(f"{str(file)!r} must hold an array of one or two dimensions, got shape {array.shape}.")
    array = array.reshape(len(array), -1)
    return [str(c) for c in range(array.shape[1])], array.tolist()


def _read_parquet(file: Path) -> tuple[list[str], list[list[Any]]]:
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(f"{str(file)!r} needs the package pyarrow to be read.") from None
    table = pyarrow.parquet.read_table(file)
    return list(table.column_names), [list(row) for row in zip(*table.to_pydict().values(), strict=True)]


def read_text(file: Path, separator: str) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and the rows of a CSV or TSV file, all rows of the same length."""
    with file.open(newline="", encoding="utf-8-sig") as text:
        rows = [row for row in csv.reader(text, delimiter=separator) if row]
    if not rows:
        raise ValueError(f"{str(file)!r} is empty.")
    has_header = any(cell.strip() and not _is_number(cell) for cell in rows[0][1:]) or not _is_number(rows[0][-1])
    names = [cell.strip() for cell in rows[0]] if has_header else [str(c) for c in range(len(rows[0]))]
    body = rows[1:] if has_header else rows
    for number, row in enumerate(body, start=2 if has_header else 1):
        if len(row) != len(names):
            raise ValueError(f"{str(file)!r}, line {number}: expected {len(names)} columns, got {len(row)}.")
    if not body:
        raise ValueError(f"{str(file)!r} has a header and no rows.")
    return names, body


def _choose(
    names: list[str], rows: list[list[Any]], columns: Sequence[str] | None, file: Path
) -> tuple[np.ndarray, list[str]]:
    if columns is None:
        chosen = [c for c in range(len(names)) if not (c == 0 and (not names[0] or not _is_number(rows[0][0])))]
    else:
        chosen = [_position(name, names, file) for name in columns]
    if not chosen:
        raise ValueError(
            f"{str(file)!r} has no column of numbers; is it separated by commas (or tabs, in a .tsv file)?"
        )
    table = np.zeros((len(rows), len(chosen)))
    for r, row in enumerate(rows):
        for c, position in enumerate(chosen):
            try:
                table[r, c] = float(row[position])
            except (TypeError, ValueError):
                raise ValueError(
                    f"{str(file)!r}, row {r + 1}, column {names[position]!r}: expected a number, got {row[position]!r}."
                ) from None
    return table, [names[position] for position in chosen]


def _position(name: str, names: list[str], file: Path) -> int:
    if name in names:
        return names.index(name)
    if name.isdigit() and int(name) < len(names):
        return int(name)
    raise ValueError(f"{str(file)!r} has no column {name!r}; it has {', '.join(names[:10])}.")


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
