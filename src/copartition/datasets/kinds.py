"""What the columns of a file are: numbers, counts, yes and no, categories, or names of the rows.

The rule looks at the observed cells of a column only:

- text is a category, unless no two cells are equal: then they are names of the rows, and the column is left out;
- 0 and 1 are yes and no;
- whole numbers from 0 or 1 on, all below 100, are counts;
- other whole numbers are categories if there are ten or fewer, each in ten rows on average (years, codes);
- all other numbers are numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from copartition.datasets.tables import is_missing, is_number, position_of, read_raw

NUMBER, COUNT, BINARY, CATEGORY, SKIP = KINDS = ("number", "count", "binary", "category", "skip")
BELOW = 100  # what is taken for counts is smaller
FEW = 10  # different whole numbers that may be categories, and rows for each


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
    """The columns of a file that are used, those that were left out, and how the file was read."""

    columns: list[Column]
    left_out: list[str]
    notes: list[str]


def read_kinds(path: str | Path, columns: Sequence[str] | None = None, kinds: dict[str, str] | None = None) -> Kinds:
    """Read a table and tell what its columns are.

    Parameters
    ----------
    path : path
        A CSV, TSV, NPY or Parquet file.
    columns : sequence of str, optional
        Names of columns, or their numbers from 0 on; all if left out.
    kinds : dict, optional
        What columns are, by name or number, where that is known.
    """
    raw = read_raw(path)
    given = {position_of(name, raw.names, Path(path)): kind for name, kind in (kinds or {}).items()}
    chosen = range(len(raw.names)) if columns is None else [position_of(c, raw.names, Path(path)) for c in columns]
    used, left_out = [], []
    for position in chosen:
        cells = [row[position] for row in raw.rows]
        name = raw.names[position] or str(position)
        kind = given.get(position) or _kind_of(cells, may_be_names=columns is None, unnamed=not raw.names[position])
        if kind == SKIP:
            left_out.append(name)
        else:
            used.append(Column(name, kind, _cells_of(name, kind, cells, Path(path))))
    if not used:
        raise ValueError(f"{str(path)!r} has no column to cluster by; left out: {', '.join(left_out)}.")
    return Kinds(used, left_out, raw.notes)


def _kind_of(cells: list[Any], may_be_names: bool, unnamed: bool) -> str:
    seen = [cell for cell in cells if not is_missing(cell)]
    if not seen or (may_be_names and unnamed):
        return SKIP
    if any(isinstance(cell, bool) for cell in seen) or not all(is_number(cell) for cell in seen):
        return SKIP if may_be_names and len(set(seen)) == len(seen) else CATEGORY
    numbers = [float(cell) for cell in seen]
    if set(numbers) <= {0.0, 1.0}:
        return BINARY
    if not all(number.is_integer() for number in numbers):
        return NUMBER
    if min(numbers) in (0.0, 1.0) and max(numbers) < BELOW:
        return COUNT
    different = len(set(numbers))
    return CATEGORY if different <= FEW and FEW * different <= len(numbers) else NUMBER


def _cells_of(name: str, kind: str, cells: list[Any], file: Path) -> list[Any]:
    if kind == CATEGORY:
        return [None if is_missing(cell) else str(cell).strip() for cell in cells]
    numbers = []
    for row, cell in enumerate(cells):
        if not is_missing(cell) and not is_number(cell):
            raise ValueError(f"{str(file)!r}, row {row + 1}, column {name!r}: expected a number, got {cell!r}.")
        numbers.append(math.nan if is_missing(cell) else float(cell))
    return numbers
