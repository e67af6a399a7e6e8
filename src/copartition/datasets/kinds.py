"""What the columns of a table are: numbers, counts, yes and no, categories, or nothing to cluster by.

The rule is the same for files, data frames and arrays, and looks at the observed cells of a column only:

- a column of one value is left out, and so is one without a name;
- text of which nearly all cells are numbers is refused: a cell is spoilt, and the column no category. Nearly all is
  at least nine in ten, or all but one of four or more, or at least half where more than ten different ones are numbers
  or no more than three different ones are text;
- dates and times of day, nine in ten cells or more, are left out: they are no categories;
- text is left out if no two cells are equal, or if there are 20 or more and more than half of them are different: these
  are names;
- true and false are yes and no;
- other text is a category, and so is what a data frame says is one (pandas ``category``, polars ``Categorical``);
- 0 and 1 are yes and no;
- 0, 1, 2, ... or 1, 2, 3, ..., in any order, of ten rows or more, are row numbers and left out: rows go by them where
  they have no other names;
- whole numbers from 0 or 1 on, all below 100, are counts;
- other whole numbers are categories if there are ten or fewer, each in ten rows on average (years, codes);
- all other numbers are numbers. Infinite ones are refused;
- in a table of counts other whole numbers from 0 on, all below 100, are counts, too, and so are 0 and 1; a note says
  which. It is one where five columns or more, and more than half of the columns of numbers, are counts, most of them
  with zeros.

Whole numbers that differ in every row, of 20 or more, and go on by one or are called id, may be names of rows: a note
says so.

Then, in tables of ten rows or more, copies of an earlier column are left out, and numbers that are those of an earlier
column in other units; a note says which columns determine others.

What is asked for by name is not left out, and what a person says that it is needs no rule.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copartition.datasets.frames import Given, given_of, tight
from copartition.datasets.relations import LEAST_ROWS, codes_of, determined, listed, superfluous
from copartition.datasets.tables import (
    Raw,
    are_row_numbers,
    called,
    complaint,
    is_date,
    is_missing,
    is_number,
    is_spoilt,
    labels_in,
    numbers_of,
    place_of,
    position_of,
    positions_of,
    read_raw,
)
from copartition.validation import RowTitles, titles_of_index

NUMBER, COUNT, BINARY, CATEGORY, SKIP = KINDS = ("number", "count", "binary", "category", "skip")
BELOW = 100  # what is taken for counts is smaller
FEW_CATEGORIES = 10  # different whole numbers that may be categories, and rows for each
DATES = 0.9  # of the cells of a column of dates
NAMES = 20  # cells from which on a column of names may have equal ones
COUNTS = 5  # columns of counts that make a table of counts
ROW_NUMBERS = "row numbers"
REPEATED = "row names are not all different: points go by row number from 0"
GAPS = ("", "NA")  # the usual ones, for speed
TRUTH = {"true": 1.0, "false": 0.0}
IDENTIFIER = re.compile(r"(^|[^a-zA-Z])(id|ID|Id)$|[a-z]I[dD]$|^(identifier|key|index)$")
NAMELESS = re.compile(r"Unnamed: \d+")  # what pandas calls a column of a file that has no name


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : str
        One of `KINDS`.
    cells : list
        Numbers (NaN where not observed), or text (None where not observed) for categories.
    """

    name: str
    kind: str
    cells: list[Any]

    @property
    def n_missing(self) -> int:
        """How many cells were not observed."""
        return sum(cell is None or cell != cell for cell in self.cells)

    def describe(self) -> str:
        """Return what the column was taken for."""
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        if self.kind == CATEGORY:
            return f"{self.name}: {len(set(self.cells) - {None})} categories{missing}"
        words = {NUMBER: "numbers", COUNT: "counts", BINARY: "yes or no"}
        return f"{self.name}: {words[self.kind]}{missing}"


class Kinds(NamedTuple):
    """The columns of a table that are used, the names of those that were left out, and how and why, in notes.

    Attributes
    ----------
    columns : list of Column
    left_out : list of str
    notes : list of str
        A line each.
    names : list or None
        What the rows are called, all different; None where they go by their numbers.
    titles : RowTitles
        What errors call the rows: in a file by their lines.
    """

    columns: list[Column]
    left_out: list[str]
    notes: list[str]
    names: list[Any] | None = None
    titles: RowTitles = RowTitles()


class Table(NamedTuple):
    """What the rule is about, from a file or from memory."""

    given: Given
    file: Path | None
    notes: list[str]
    titles: RowTitles

    @property
    def called(self) -> str:
        """What to call it in a sentence."""
        return called(self.file)


def read_kinds(
    path: str | Path,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    *,
    missing: Collection[str] = (),
) -> Kinds:
    """Read a table and tell what its columns are.

    Parameters
    ----------
    path : path
        A CSV, TSV, NPY, Parquet or Excel file.
    columns : sequence of str, optional
        Names of columns, or their numbers from 0 on; all if left out.
    kinds : dict, optional
        What columns are, by name or number, where that is known.
    missing : collection of str, optional
        What stands in cells that were not observed: see `read_table`.
    """
    return kinds_in(read_raw(path, missing), path, columns, kinds)


def kinds_in(
    raw: Raw, path: str | Path, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
) -> Kinds:
    """Tell what the columns of a file are that was read.

    Parameters
    ----------
    raw : Raw
        See `copartition.datasets.tables.read_raw`.
    path : path
        What to call it in errors.
    columns, kinds
        See `read_kinds`.
    """
    is_free = CATEGORY not in (kinds or {}).values()  # of categories the text is what counts
    cells = [
        _read_fast(list(column)) if is_free and name else tight(list(column))
        for name, column in zip(raw.names, zip(*raw.rows, strict=True), strict=True)
    ]
    given = Given(raw.names, cells, [False] * len(cells), None, False)
    return _recognise(Table(given, Path(path), list(raw.notes), raw.titles), columns, kinds)


def _read_fast(cells: list[Any]) -> Any:
    """Return numbers as an array where some are not whole, and each reads as a number; other cells as they stand."""
    if set(map(type, cells)) != {str}:
        return tight(cells)
    try:
        numbers = np.array([float(cell) if cell not in GAPS else math.nan for cell in cells])
    except ValueError:
        return cells
    is_whole = np.all((numbers == np.floor(numbers)) | np.isnan(numbers))
    return cells if is_whole or any("_" in cell for cell in cells) else numbers


def recognise(
    data: Any,
    columns: Sequence[Any] | None = None,
    kinds: Mapping[Any, str] | None = None,
    *,
    known: Kinds | None = None,
    column_names: Sequence[str] | None = None,
) -> Kinds:
    """Tell what the columns of a table in memory are, by the rule for files.

    Parameters
    ----------
    data : data frame or series (pandas, polars), or array (rows, columns) or (rows,)
        Columns of an array go by their numbers: "0", "1", ...; the index of a data frame has the names of rows.
    columns : sequence, optional
        Names of columns, or their numbers from 0 on; all if left out.
    kinds : dict, optional
        What columns are, by name or number, where that is known: one of `KINDS`.
    known : Kinds, optional
        Of another table with the same columns: these are taken for what they are there, and others are left out.
    column_names : sequence of str, optional
        What the columns of an array are called, if not by their numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"sex": ["f", "m"] * 6, "height": [170.5, 180.0, 165.5] * 4, "eggs": [0, 3, 2, 1] * 3})
    >>> found = recognise(table)
    >>> [column.describe() for column in found.columns]
    ['sex: 2 categories', 'height: numbers', 'eggs: counts']
    >>> recognise(table.assign(inch=table.height / 2.54, year=2020)).notes
    ['left out: year (the same in every row)']
    """
    given = given_of(data)
    if column_names is not None:
        if len(column_names) != len(given.names):
            raise ValueError(f"column_names must be {len(given.names)}, one a column, got {len(column_names)}.")
        given = given._replace(names=[str(name) for name in column_names], is_array=False)
    table = Table(given, None, [], titles_of_index(given.rows))
    if known is None:
        return _recognise(table, columns, kinds)
    names = [column.name for column in known.columns]
    is_bare = table.given.is_array and len(table.given.names) == len(names)
    places = range(len(names)) if is_bare else [_place_of(name, table.given.names) for name in names]
    used = [
        Column(column.name, column.kind, _cells_of(table, j, column.kind, column.name))
        for j, column in zip(places, known.columns, strict=True)
    ]
    left_out = [name for j, name in enumerate(table.given.names) if j not in places]
    return Kinds(used, left_out, [], _names(table, places), table.titles)


def _place_of(name: str, names: list[str]) -> int:
    """Return the number of the column of exactly this name."""
    if names.count(name) != 1:
        found = f"it has {', '.join(names[:10])}" if name not in names else f"got {names.count(name)} of that name"
        raise ValueError(f"data must have one column {name!r}; {found}.")
    return names.index(name)


def _recognise(table: Table, columns: Sequence[Any] | None, kinds: Mapping[Any, str] | None) -> Kinds:
    names, file = table.given.names, table.file
    chosen = positions_of(columns if columns is None or isinstance(columns, str) else list(columns), names, file)
    asked = _asked(kinds or {}, names, file, chosen)
    notes, left_out, used = list(table.notes), [], {}
    for position in chosen:
        name = names[position] or str(position)
        reason = "as asked" if asked.get(position) == SKIP else ""
        if position not in asked:
            reason = _why_left_out(table, position, is_asked_for=columns is not None)
        if reason:
            left_out.append(name)
            notes.append(f"left out: {name} ({reason})")
            continue
        kind = asked.get(position) or _kind_of(table, position, name)
        used[position] = Column(name, kind, _cells_of(table, position, kind, name))
    taken = _other_counts(table, used, asked)
    for position in taken:
        one = used[position]
        used[position] = Column(one.name, COUNT, _cells_of(table, position, COUNT, one.name))
    is_kept = {position: columns is not None or position in asked for position in used}
    compared = [codes_of(one.name, one.cells, one.kind, is_kept[position]) for position, one in used.items()]
    doubles = superfluous(compared)
    for j, (position, one) in enumerate(list(used.items())):
        if j in doubles:
            left_out.append(one.name)
            notes.append(f"left out: {one.name} ({doubles[j]})")
            del used[position]
    if not used:
        why = ", ".join(note.removeprefix("left out: ") for note in notes if note.startswith("left out: "))
        raise ValueError(f"{table.called} has no column to cluster by; left out: {why}.")
    notes += [_said_of_names(one.name) for position, one in used.items() if _may_be_names(one, is_kept[position])]
    notes += _said_of_counts({used[position].name: kind for position, kind in taken.items() if position in used})
    notes += determined([column for j, column in enumerate(compared) if j not in doubles])
    if _are_repeated(table.given):
        notes.append(REPEATED)
    return Kinds(list(used.values()), left_out, notes, _names(table, used), table.titles)


def _other_counts(table: Table, used: Mapping[int, Column], asked: Collection[int]) -> dict[int, str]:
    """Return the columns that are counts because most others are, by their places, and what they would be alone."""
    kinds = {position: one.kind for position, one in used.items()}
    counts = [position for position, kind in kinds.items() if kind == COUNT]
    if len(counts) < COUNTS or 2 * sum(0.0 in used[position].cells for position in counts) <= len(counts):
        return {}
    numbers = {p: _numbers_in(table, p) for p, kind in kinds.items() if kind in (BINARY, CATEGORY) and p not in asked}
    others = {position: cells for position, cells in numbers.items() if cells is not None}
    if len(counts) <= len(others) + sum(kind == NUMBER for kind in kinds.values()):
        return {}
    return {p: kinds[p] for p, cells in others.items() if np.all((cells >= 0.0) & (cells < BELOW))}


def _numbers_in(table: Table, position: int) -> np.ndarray | None:
    """Return the observed cells of a column if they are whole numbers; None if they are not."""
    cells = table.given.columns[position]
    if table.given.declared[position]:
        return None
    if not isinstance(cells, np.ndarray):
        seen = [cell for cell in cells if not is_missing(cell)]
        if any(isinstance(cell, bool) or not is_number(cell) for cell in seen):
            return None
        cells = np.array([float(cell) for cell in seen])
    cells = np.asarray(cells[~np.isnan(cells)], dtype=np.float64)
    return cells if np.all(cells == np.floor(cells)) else None


def _said_of_counts(taken: Mapping[str, str]) -> list[str]:
    if not taken:
        return []
    name, kind = next(iter(taken.items()))
    verb = "is" if len(taken) == 1 else "are"
    return [
        f"{listed(list(taken))} {verb} taken for counts, as most columns of numbers are; {_by_kind(name, kind)} takes "
        f"{name} for what it would be alone"
    ]


def _may_be_names(column: Column, is_asked_for: bool) -> bool:
    """Tell whether a column of numbers looks like an identifier: whole, all different, and in a row or called id."""
    if is_asked_for or column.kind not in (NUMBER, COUNT) or len(column.cells) < NAMES:
        return False
    cells = np.array(column.cells)
    if not np.all(cells == np.floor(cells)) or len(np.unique(cells)) < len(cells):
        return False
    return bool(np.ptp(cells) == len(cells) - 1) or IDENTIFIER.search(column.name) is not None


def _said_of_names(name: str) -> str:
    return (
        f"{name} has another whole number in every row; if it names the rows, --id {shlex.quote(name)} (in Python "
        f"data.set_index({name!r})) takes it for that"
    )


def _asked(kinds: Mapping[Any, str], names: list[str], file: Path | None, chosen: list[int]) -> dict[int, str]:
    """Return what columns are said to be, by their places."""
    asked: dict[int, str] = {}
    for name, kind in kinds.items():
        position = position_of(name, names, file)
        if kind not in KINDS:
            raise ValueError(f"kinds must be {', '.join(KINDS)}, got {kind!r} for {name!r}.")
        if position in asked or position not in chosen:
            why = "not among the columns that are chosen" if position not in chosen else "given twice"
            raise ValueError(f"kinds must be of different columns that are used, got {name!r}, which is {why}.")
        asked[position] = kind
    return asked


def _names(table: Table, used: Collection[int]) -> list[Any] | None:
    """Return what rows are called; None where that is their numbers, or where two are the same."""
    given = table.given
    found = [_row_name(name) for name in given.rows or []]
    count = len(given.columns[0])
    if not found or found == list(range(count)):
        found = labels_in(_titles(given.names), given.columns, used) or _row_numbers_in(given, used)
    is_usable = found != list(range(count)) and len({str(name) for name in found}) == count
    return found if is_usable else None


def _row_numbers_in(given: Given, used: Collection[int]) -> list[Any]:
    """Return the first column of row numbers that is not clustered by."""
    for position, cells in enumerate(given.columns):
        if position not in used and not given.declared[position] and _are_row_numbers(cells):
            return [int(float(cell)) for cell in cells]
    return []


def _are_row_numbers(cells: Any) -> bool:
    if isinstance(cells, np.ndarray):
        return are_row_numbers(cells.tolist(), len(cells))
    if any(isinstance(cell, bool) or not is_number(cell) for cell in (cells[0], cells[-1])):  # most columns of text
        return False
    seen = [cell for cell in cells if not isinstance(cell, bool) and is_number(cell)]
    return are_row_numbers([float(cell) for cell in seen], len(cells))


def _are_repeated(given: Given) -> bool:
    """Tell whether what was meant for names of rows, an index or a first column without a name, has one twice."""
    names = given.rows
    if names is None and not _titles(given.names)[0]:
        names = [cell for cell in given.columns[0] if not is_missing(cell)]
    return names is not None and len({str(name) for name in names}) < len(names)


def _row_name(name: Any) -> str | int:
    if isinstance(name, float) and name.is_integer():
        return int(name)
    return name if isinstance(name, int) and not isinstance(name, bool) else str(name)


def _titles(names: list[str]) -> list[str]:
    return ["" if NAMELESS.fullmatch(name) else name for name in names]


def _why_left_out(table: Table, position: int, is_asked_for: bool) -> str:
    """Return why a column is nothing to cluster by; nothing if it is. Refuse dates that are asked for."""
    given, cells = table.given, table.given.columns[position]
    names, is_declared = _titles(given.names), given.declared[position]
    if isinstance(cells, np.ndarray):
        if np.isnan(cells).all():
            return "no cell is observed"
        if is_asked_for or not names[position]:
            return "" if is_asked_for else "it has no name"
        why = _why_row_numbers(cells, names, position) if not is_declared else ""
        return (
            why
            or _why_one_value(cells[~np.isnan(cells)], len(cells))
            or (_why_names(cells, names[position]) if is_declared else "")
        )
    seen = [cell for cell in cells if not is_missing(cell)]
    if not seen:
        return "no cell is observed"
    if not is_declared and sum(is_date(cell) for cell in seen) >= DATES * len(seen):
        if is_asked_for:
            raise ValueError(
                f"{table.called}, column {given.names[position]!r}: expected numbers or categories, got dates or times "
                f"such as {str(seen[0])!r}; make numbers of them, leave the column out, or say that it is a category."
            )
        return f"dates or times, such as {str(seen[0])!r}"
    if is_asked_for:
        return ""
    if not names[position]:
        return "it has no name"
    if not is_declared and all(is_number(cell) for cell in seen):
        why = _why_row_numbers(cells, names, position)
        return why or _why_one_value([float(cell) for cell in seen], len(cells))
    why = _why_one_value([str(cell).strip() for cell in seen], len(cells))
    return why or ("" if not is_declared and is_spoilt(seen) else _why_names(seen, names[position]))


def _why_row_numbers(cells: Any, names: list[str], position: int) -> str:
    if len(names) < 2 or not _are_row_numbers(cells):
        return ""
    return f"{ROW_NUMBERS}; {_by_kind(names[position], NUMBER)} clusters by them"


def _why_one_value(seen: Any, count: int) -> str:
    """Return why a column is nothing to cluster by if its observed cells, two or one of many, are all equal."""
    if (len(seen) < 2 and count < LEAST_ROWS) or any(cell != seen[0] for cell in seen):
        return ""
    if len(seen) == count:
        return "the same in every row"
    return "the same in every row that has it; if none means no, write 0 or no there"


def _why_names(seen: Any, name: str) -> str:
    """Return why text is nothing to cluster by if it differs from row to row."""
    different = len({str(cell).strip() for cell in seen})
    if different < len(seen) and not (len(seen) >= NAMES and 2 * different > len(seen)):
        return ""
    told = f"text, {different} of {len(seen)} cells different, such as {str(seen[0])[:40]!r}"
    return f"{told}; {_by_kind(name, CATEGORY)} clusters by it"


def _by_kind(name: str, kind: str) -> str:
    """Return what says what a column is."""
    return f"--as {shlex.quote(f'{name}={kind}')} (in Python kinds={{{name!r}: {kind!r}}})"


def _kind_of(table: Table, position: int, name: str) -> str:
    cells, file = table.given.columns[position], table.file
    if table.given.declared[position]:
        return CATEGORY
    if isinstance(cells, np.ndarray):
        return _kind_of_numbers(np.asarray(cells[~np.isnan(cells)], dtype=np.float64))
    seen = [cell for cell in cells if not is_missing(cell)]
    if all(str(cell).strip().lower() in TRUTH for cell in seen):
        return BINARY
    if any(isinstance(cell, bool) for cell in seen):
        return CATEGORY
    if is_spoilt(seen):
        row = next(r for r, cell in enumerate(cells) if not is_missing(cell) and not is_number(cell))
        raise ValueError(f"{place_of(file, row, name, table.titles)}: {complaint(cells, name, file is not None)}")
    if not all(is_number(cell) for cell in seen):
        return CATEGORY
    return _kind_of_numbers(np.array([float(cell) for cell in seen]))


def _kind_of_numbers(numbers: np.ndarray) -> str:
    different = np.unique(numbers)
    if set(different[:3].tolist()) <= {0.0, 1.0}:
        return BINARY
    if not np.all(np.isfinite(different)) or np.any(different != np.floor(different)):
        return NUMBER
    if different[0] in (0.0, 1.0) and different[-1] < BELOW:
        return COUNT
    return CATEGORY if len(different) <= FEW_CATEGORIES and FEW_CATEGORIES * len(different) <= len(numbers) else NUMBER


def _cells_of(table: Table, position: int, kind: str, name: str) -> list[Any]:
    cells, file = table.given.columns[position], table.file
    if kind == CATEGORY:
        return [None if is_missing(cell) else _word(cell) for cell in _listed(cells)]
    if kind == BINARY and not isinstance(cells, np.ndarray):
        cells = [TRUTH.get(str(cell).strip().lower(), cell) for cell in cells]
    listed_numbers = cells if isinstance(cells, np.ndarray) else numbers_of(cells, name, file, table.titles)
    numbers = np.asarray(listed_numbers, dtype=np.float64)
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        place = place_of(file, row, name, table.titles)
        raise ValueError(
            f"{place}: expected a finite number, or nothing where it was not observed, got {_listed(cells)[row]}."
        )
    return list(numbers.tolist())


def _listed(cells: Any) -> list[Any]:
    return cells.tolist() if isinstance(cells, np.ndarray) else list(cells)


def _word(cell: Any) -> str:
    """Return a category as text: 7, and not 7.0, where a gap made floats of whole numbers."""
    is_whole = isinstance(cell, float) and math.isfinite(cell) and cell.is_integer()
    return str(int(cell)) if is_whole else str(cell).strip()
