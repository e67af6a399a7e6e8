"""What the columns of a file are: numbers, counts, yes and no, categories, or nothing to cluster by.

The rule looks at the observed cells of a column only:

- text of which nearly all cells are numbers is refused: a cell is spoilt, and the column no category. Nearly all is
  at least nine in ten, or all but one of four or more, or at least half where more than ten different ones are numbers
  or no more than three different ones are text;
- dates and times of day, nine in ten cells or more, are left out: they are no categories;
- text is left out if no two cells are equal, or if there are 20 or more and more than half of them are different: these
  are names;
- other text is a category;
- 0 and 1 are yes and no;
- 0, 1, 2, ... or 1, 2, 3, ... in the first column, in the order of ten rows or more, are row numbers and left out;
- whole numbers from 0 or 1 on, all below 100, are counts;
- other whole numbers are categories if there are ten or fewer, each in ten rows on average (years, codes);
- all other numbers are numbers.

What is asked for by name is not left out, and what a person says that it is needs no rule.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from copartition.datasets.tables import (
    complaint,
    is_date,
    is_missing,
    is_number,
    is_spoilt,
    numbers_of,
    position_of,
    positions_of,
    read_raw,
    why_row_names,
)

NUMBER, COUNT, BINARY, CATEGORY, SKIP = KINDS = ("number", "count", "binary", "category", "skip")
BELOW = 100  # what is taken for counts is smaller
FEW = 10  # different whole numbers that may be categories, and rows for each
DATES = 0.9  # of the cells of a column of dates
NAMES = 20  # cells from which on a column of names may have equal ones


class Column(NamedTuple):
    """A column of a file.

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
    """The columns of a file that are used, the names of those that were left out, and how and why, in notes."""

    columns: list[Column]
    left_out: list[str]
    notes: list[str]


def read_kinds(
    path: str | Path,
    columns: Sequence[str] | None = None,
    kinds: dict[str, str] | None = None,
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
    raw, file = read_raw(path, missing), Path(path)
    chosen = positions_of(columns, raw.names, file)
    given = {}
    for name, kind in (kinds or {}).items():
        position = position_of(name, raw.names, file)
        if kind not in KINDS:
            raise ValueError(f"kinds must be {', '.join(KINDS)}, got {kind!r} for {name!r}.")
        if position in given or position not in chosen:
            why = "not among the columns that are chosen" if position not in chosen else "given twice"
            raise ValueError(f"kinds must be of different columns that are used, got {name!r}, which is {why}.")
        given[position] = kind
    used, left_out, notes = [], [], list(raw.notes)
    for position in chosen:
        cells = [row[position] for row in raw.rows]
        name = raw.names[position] or str(position)
        reason = "as asked" if given.get(position) == SKIP else ""
        if position not in given:
            where = f"{str(path)!r}, column {name!r}"
            reason = _why_left_out(cells, raw.names, position, where, is_asked_for=columns is not None)
        if reason:
            left_out.append(name)
            notes.append(f"left out: {name} ({reason})")
            continue
        kind = given.get(position) or _kind_of(cells, name, file)
        used.append(Column(name, kind, _cells_of(cells, kind, name, file)))
    if not used:
        why = ", ".join(note.removeprefix("left out: ") for note in notes if note.startswith("left out: "))
        raise ValueError(f"{str(path)!r} has no column to cluster by; left out: {why}.")
    return Kinds(used, left_out, notes)


def _why_left_out(cells: list[Any], names: list[str], position: int, where: str, is_asked_for: bool) -> str:
    """Return why a column is nothing to cluster by; nothing if it is. Refuse dates that are asked for."""
    seen = [cell for cell in cells if not is_missing(cell)]
    if not seen:
        return "no cell is observed"
    if sum(is_date(cell) for cell in seen) >= DATES * len(seen):
        if is_asked_for:
            raise ValueError(
                f"{where}: expected numbers or categories, got dates or times such as {str(seen[0])!r}; make numbers "
                "of them, leave the column out, or say that it is a category."
            )
        return f"dates or times, such as {str(seen[0])!r}"
    if is_asked_for:
        return ""
    if not names[position]:
        return "it has no name"
    if all(is_number(cell) for cell in seen):
        return why_row_names(cells, names) if position == 0 else ""
    different = len({str(cell).strip() for cell in seen})
    if is_spoilt(seen) or (different < len(seen) and not (len(seen) >= NAMES and 2 * different > len(seen))):
        return ""
    return f"text, {different} of {len(seen)} cells different, such as {str(seen[0])[:40]!r}"


def _kind_of(cells: list[Any], name: str, file: Path) -> str:
    seen = [cell for cell in cells if not is_missing(cell)]
    if any(isinstance(cell, bool) for cell in seen):
        return CATEGORY
    if is_spoilt(seen):
        row = next(r for r, cell in enumerate(cells) if not is_missing(cell) and not is_number(cell))
        raise ValueError(f"{str(file)!r}, row {row + 1}, column {name!r}: {complaint(cells, name)}")
    if not all(is_number(cell) for cell in seen):
        return CATEGORY
    numbers = [float(cell) for cell in seen]
    if set(numbers) <= {0.0, 1.0}:
        return BINARY
    if not all(number.is_integer() for number in numbers):
        return NUMBER
    if min(numbers) in (0.0, 1.0) and max(numbers) < BELOW:
        return COUNT
    different = len(set(numbers))
    return CATEGORY if different <= FEW and FEW * different <= len(numbers) else NUMBER


def _cells_of(cells: list[Any], kind: str, name: str, file: Path) -> list[Any]:
    if kind == CATEGORY:
        return [None if is_missing(cell) else str(cell).strip() for cell in cells]
    return numbers_of(cells, name, file)
