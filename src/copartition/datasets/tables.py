"""Tables of numbers in files."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copartition.extras import needed

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})  # words for a cell that was not observed


class Table(NamedTuple):
    """Numbers from a file, and what was taken for what.

    Attributes
    ----------
    data : float64 array (rows, columns)
    names : list of str
        Of the columns.
    left_out : list of str
        Names of columns that hold no numbers and were passed over.
    notes : list of str
        How the file was read, where that is not a matter of course.
    """

    data: np.ndarray
    names: list[str]
    left_out: list[str]
    notes: list[str]


class Raw(NamedTuple):
    """The cells of a file as they stand there: text, or numbers where the file has them.

    Attributes
    ----------
    names : list of str
        Of the columns.
    rows : list of lists
    notes : list of str
        How the file was read, where that is not a matter of course.
    """

    names: list[str]
    rows: list[list[Any]]
    notes: list[str]


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> np.ndarray:
    """Read a table of numbers from a CSV, TSV, NPY or Parquet file.

    A CSV file may have semicolons between its columns, and then commas in its numbers.

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
    return read_columns(path, columns).data


def read_columns(path: str | Path, columns: Sequence[str] | None = None) -> Table:
    """Read a table of numbers as `read_table` does; return it with the names of its columns."""
    raw = read_raw(path)
    return _choose(raw.names, raw.rows, columns, Path(path))._replace(notes=raw.notes)


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
    table = needed("pyarrow.parquet", by=repr(str(file))).read_table(file)
    return list(table.column_names), [list(row) for row in zip(*table.to_pydict().values(), strict=True)]


def read_text(file: Path, separator: str) -> tuple[list[str], list[list[Any]]]:
    """Return the names of the columns and the rows of a CSV or TSV file, all rows of the same length."""
    with file.open(newline="", encoding="utf-8-sig") as text:
        rows = [row for row in csv.reader(text, delimiter=separator) if row]
    if separator == ";":
        rows = [[_with_point(cell) for cell in row] for row in rows]
    if not rows:
        raise ValueError(f"{str(file)!r} is empty.")
    has_header = any(cell.strip() and not is_number(cell) for cell in rows[0][1:]) or not is_number(rows[0][-1])
    names = [cell.strip() for cell in rows[0]] if has_header else [str(c) for c in range(len(rows[0]))]
    body = rows[1:] if has_header else rows
    for number, row in enumerate(body, start=2 if has_header else 1):
        if len(row) != len(names):
            raise ValueError(f"{str(file)!r}, line {number}: expected {len(names)} columns, got {len(row)}.")
    if not body:
        raise ValueError(f"{str(file)!r} has a header and no rows.")
    return names, body


def _separator(file: Path) -> str:
    """Return what stands between the columns of a CSV file: commas, or semicolons where more cells are numbers then."""
    text = file.read_text(encoding="utf-8-sig")
    if ";" not in text:
        return ","
    by_comma, by_semicolon = (
        [cell for row in csv.reader(text.splitlines(), delimiter=separator) for cell in row] for separator in ",;"
    )
    commas = sum(is_number(cell) for cell in by_comma) / len(by_comma)
    semicolons = sum(is_number(_with_point(cell)) for cell in by_semicolon) / len(by_semicolon)
    return ";" if semicolons > commas else ","


def _with_point(cell: str) -> str:
    """Return a number that has a decimal comma with a point in its place; other text as it is."""
    whole, comma, rest = cell.strip().partition(",")
    return f"{whole}.{rest}" if comma and rest.isdigit() and whole.lstrip("+-").isdigit() else cell


def read_raw(path: str | Path) -> Raw:
    """Read a table of any cells from a CSV, TSV, NPY or Parquet file."""
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    kind = file.suffix.lower()
    if kind == ".npy":
        return Raw(*_read_npy(file), [])
    if kind == ".parquet":
        return Raw(*_read_parquet(file), [])
    if kind in {".csv", ".tsv", ".txt"}:
        separator = "\t" if kind == ".tsv" else _separator(file)
        return Raw(*read_text(file, separator), ["separated by semicolons"] if separator == ";" else [])
    raise ValueError(f"{str(path)!r} must be a .csv, .tsv, .npy or .parquet file.")


def source_of(path: str | Path) -> dict[str, str]:
    """Return the name of a file and a digest of what is in it, so that it is known again."""
    return {"file": str(path), "digest": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def columns_of(source: Mapping[str, str], beside: Path) -> dict[str, list[Any]] | None:
    """Return the columns with names of the file that data were read from; None if it is gone or has changed.

    Parameters
    ----------
    source : mapping
        What `source_of` said of it.
    beside : path
        A folder in which to look, too.
    """
    for file in (Path(source["file"]), beside / Path(source["file"]).name):
        if file.is_file() and source_of(file)["digest"] == source["digest"]:
            raw = read_raw(file)
            kept = [c for c, name in enumerate(raw.names) if name]  # one without a name has the names of the rows
            return {_once(raw.names, c): [row[c] for row in raw.rows] for c in kept}
    return None


def _once(names: list[str], position: int) -> str:
    """Return the name of a column, with its number if another one has the same."""
    name = names[position]
    return name if names.count(name) == 1 else f"{name} [{position}]"


def row_labels(path: str | Path, used: Sequence[str] | None = None) -> list[Any] | None:
    """Return the names of the rows of a file: of a first column without a name, or of words of which no two are equal.

    Parameters
    ----------
    path : path
    used : sequence of str, optional
        Columns that are clustered by, which are no names.
    """
    raw = read_raw(path)
    taken = {position_of(name, raw.names, Path(path)) for name in used or ()}
    for position, name in enumerate(raw.names):
        cells = [row[position] for row in raw.rows]
        if position in taken or any(is_missing(cell) for cell in cells) or len(set(cells)) < len(cells):
            continue
        if (position == 0 and not name) or not any(is_number(cell) for cell in cells):
            texts = [str(cell).strip() for cell in cells]
            return [int(text) for text in texts] if all(text.lstrip("-").isdecimal() for text in texts) else texts
    return None


def is_missing(cell: Any) -> bool:
    """Tell whether a cell of a file says that nothing was observed."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell != cell


def _choose(names: list[str], rows: list[list[Any]], columns: Sequence[str] | None, file: Path) -> Table:
    if columns is None:
        first = next((row[0] for row in rows if not is_missing(row[0])), "")
        chosen = [c for c in range(len(names)) if not (c == 0 and (not names[0] or not is_number(first)))]
    else:
        chosen = [position_of(name, names, file) for name in columns]
    if not chosen:
        raise ValueError(
            f"{str(file)!r} has no column of numbers; is it separated by commas, semicolons or (in a .tsv file) tabs?"
        )
    table = np.zeros((len(rows), len(chosen)))
    for r, row in enumerate(rows):
        for c, position in enumerate(chosen):
            try:
                table[r, c] = math.nan if is_missing(row[position]) else float(row[position])
            except (TypeError, ValueError):
                raise ValueError(
                    f"{str(file)!r}, row {r + 1}, column {names[position]!r}: expected a number, got {row[position]!r}."
                ) from None
    left_out = [name for c, name in enumerate(names) if c not in chosen and columns is None]
    return Table(table, [names[position] for position in chosen], [name for name in left_out if name], [])


def position_of(name: str, names: list[str], file: Path) -> int:
    """Return the number of a column that is given by its name, or by its number."""
    if name in names:
        return names.index(name)
    if name.isdigit() and int(name) < len(names):
        return int(name)
    raise ValueError(f"{str(file)!r} has no column {name!r}; it has {', '.join(names[:10])}.")


def is_number(cell: Any) -> bool:
    """Tell whether a cell is a number, or a text that stands for one."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
