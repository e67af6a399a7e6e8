"""What columns of a table have to do with each other: copies, other units of the same, one that determines another.

Columns are compared where they have ten rows or more: of fewer, any two may be alike by chance.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

LEAST_ROWS = 10  # from which on columns are compared
LEAST_VALUES = 4  # of numbers that can be a linear function of others
EXACT = 1e-9  # of the range of a column, by which a linear function may be off: what floating point makes of it
TRIAL = 200  # rows that are looked at first
MOST_NOTES = 12  # of one kind
MOST_VALUES = 12  # of a column that may be a class that was assigned beforehand
DISCRETE = ("category", "binary")
REPRODUCED = 0.8  # adjusted Rand index


class Codes(NamedTuple):
    """A column for comparisons.

    Attributes
    ----------
    name : str
    levels : array
        Its different cells.
    codes : int64 array (rows)
        Which of them stands in each row; -1 where none was observed.
    numbers : float64 array (rows) or None
        Of columns of numbers and counts.
    is_discrete : bool
        Whether it is one of categories, or of yes and no.
    is_kept : bool
        Whether it was asked for, and is not to be left out.
    """

    name: str
    levels: np.ndarray
    codes: np.ndarray
    numbers: np.ndarray | None
    is_discrete: bool
    is_kept: bool


def codes_of(name: str, cells: Sequence[Any], kind: str, is_kept: bool = False) -> Codes:
    """Return a column for comparisons; cells are numbers (NaN where not observed) or text (None)."""
    is_text = kind == "category"
    if is_text:
        array = np.array(["" if cell is None else cell for cell in cells])
        missing = np.array([cell is None for cell in cells])
    else:
        array = np.array(cells, dtype=np.float64) + 0.0  # no -0.0
        missing = np.isnan(array)
    levels, codes = np.unique(array, return_inverse=True)
    codes = np.where(missing, -1, codes.astype(np.int64))
    return Codes(name, levels, codes, array if kind in ("number", "count") else None, kind in DISCRETE, is_kept)


def superfluous(columns: Sequence[Codes]) -> dict[int, str]:
    """Return the places of columns that say what an earlier one says, and why; those that are asked for are kept."""
    if not columns or len(columns[0].codes) < LEAST_ROWS:
        return {}
    found = _copies(columns)
    found |= {j: why for j, why in _linear(columns, set(found)).items() if j not in found}
    return {j: why for j, why in sorted(found.items()) if not columns[j].is_kept}


def _copies(columns: Sequence[Codes]) -> dict[int, str]:
    first: dict[tuple[str, bytes, bytes], int] = {}
    found = {}
    for j, column in enumerate(columns):
        key = (column.levels.dtype.str, column.levels.tobytes(), column.codes.tobytes())
        if key in first:
            found[j] = f"a copy of {columns[first[key]].name}"
        first.setdefault(key, j)
    return found


def _linear(columns: Sequence[Codes], known: set[int]) -> dict[int, str]:
    """Find numbers that are exact linear functions of those of one earlier column.

    Each column is moved and scaled to 0..1, and turned around if need be, so that such columns become equal. They
    then have the same mean; only neighbours in the order of means are compared.
    """
    places, scaled, means = [], [], []
    for j, column in enumerate(columns):
        if column.numbers is None or j in known:
            continue
        seen = column.codes >= 0
        low, high = (float(end(column.numbers[seen])) for end in (np.min, np.max)) if seen.any() else (0.0, 0.0)
        is_usable = seen.sum() >= LEAST_ROWS and len(np.unique(column.codes[seen])) >= LEAST_VALUES
        if not is_usable or not np.isfinite(high - low):
            continue
        one = (column.numbers - low) / (high - low)
        away = np.flatnonzero(seen & (np.abs(one - 0.5) > 0.01))
        one = 1.0 - one if one[away[0]] > 0.5 else one
        places.append(j)
        scaled.append(one)
        means.append(float(one[seen].mean()))
    order = np.argsort(means, kind="stable").tolist()
    found: dict[int, str] = {}
    for at, a in enumerate(order):
        for b in order[at + 1 :]:
            if means[b] - means[a] > 10 * EXACT:
                break
            i, j = sorted((a, b))
            if places[j] in found or places[i] in found or not _are_equal(scaled[i], scaled[j]):
                continue
            found[places[j]] = _as_function(columns[places[i]], columns[places[j]])
    return found


def _are_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Tell whether two columns are equal wherever they were observed, which is in the same rows."""
    missing = np.isnan(a)
    if not np.array_equal(missing, np.isnan(b)):
        return False
    a, b = a[~missing], b[~missing]
    # One cell far out sets the range of both; what is exact is so in the bulk of the cells, too.
    low, high = np.quantile(a, [0.1, 0.9])
    return bool(np.all(np.abs(a - b) <= 10 * EXACT * max(high - low, np.finfo(np.float64).eps / EXACT)))


def _as_function(a: Codes, b: Codes) -> str:
    assert a.numbers is not None
    assert b.numbers is not None
    low, high = int(np.nanargmin(a.numbers)), int(np.nanargmax(a.numbers))
    slope = (b.numbers[high] - b.numbers[low]) / (a.numbers[high] - a.numbers[low])
    start = b.numbers[low] - slope * a.numbers[low]
    is_through_zero = abs(start) <= 10 * EXACT * np.nanmax(np.abs(b.numbers))
    more = "" if is_through_zero else f" {'plus' if start > 0 else 'minus'} {abs(start):.6g}"
    return f"the same as {a.name} in other units: {slope:.6g} times {a.name}{more}"


def determined(columns: Sequence[Codes]) -> list[str]:
    """Return a note for every column of categories whose values each go with one value of another column.

    It must have fewer values than half the rows, and the other one must differ among rows whose value is not their
    own alone.
    """
    if not columns or len(columns[0].codes) < LEAST_ROWS:
        return []
    some = np.column_stack([column.codes[:TRIAL] for column in columns])
    goes = {a: _determined_by(a, columns, some) for a, column in enumerate(columns) if column.is_discrete}
    notes = []
    for a, others in goes.items():
        same = [b for b in others if a in goes.get(b, ())]
        notes += [_says_the_same(columns[a], columns[b]) for b in same if b > a]
        rest = [columns[b].name for b in others if b not in same]
        if rest:
            n_values = len(np.unique(columns[a].codes[columns[a].codes >= 0]))
            notes.append(
                f"{columns[a].name} determines {listed(rest)}: each of its {n_values} values goes with one value "
                f"there, so that the same counts twice; {leave_out(columns[a].name)} leaves it out"
            )
    more = [f"and {len(notes) - MOST_NOTES} more columns that determine others"] if len(notes) > MOST_NOTES else []
    return notes[:MOST_NOTES] + more


def _says_the_same(a: Codes, b: Codes) -> str:
    return (
        f"{a.name} and {b.name} determine each other, so that the same counts twice; {leave_out(b.name)} leaves one out"
    )


def _determined_by(a: int, columns: Sequence[Codes], some: np.ndarray) -> list[int]:
    """Return the places of the columns that a column determines; some rows tell of most that it does not."""
    _, first, inverse = np.unique(some[:, a], return_index=True, return_inverse=True)
    alike = some[first[inverse]]
    differs = (some != alike) & (some >= 0) & (alike >= 0) & (some[:, [a]] >= 0)
    maybe = [b for b in np.flatnonzero(~differs.any(axis=0)).tolist() if b != a]
    codes = columns[a].codes
    return [b for b in maybe if _goes_with_one(codes, columns[b].codes) and _is_telling(codes, columns[b].codes)]


def _goes_with_one(a: np.ndarray, b: np.ndarray) -> bool:
    seen = (a >= 0) & (b >= 0)
    a, b = a[seen], b[seen]
    one = np.zeros(a.max(initial=0) + 1, dtype=np.int64)
    one[a] = b  # of each value the last row's
    return bool(np.all(one[a] == b))


def _is_telling(a: np.ndarray, b: np.ndarray) -> bool:
    seen = (a >= 0) & (b >= 0)
    a, b = a[seen], b[seen]
    if len(a) < LEAST_ROWS:
        return False
    count = np.bincount(a)
    repeated = b[count[a] > 1]
    return bool(2 * np.count_nonzero(count) < len(a) and len(repeated) and np.any(repeated != repeated[0]))


def listed(names: list[str]) -> str:
    """Return names in a sentence, the first three of many."""
    shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} others"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def leave_out(name: str) -> str:
    """Return what leaves a column out.

    Examples
    --------
    >>> leave_out("sex")
    "--drop sex (in Python data.drop(columns='sex'))"
    """
    return f"--drop {shlex.quote(name)} (in Python data.drop(columns={name!r}))"


def reproduced_by(columns: Sequence[Any], labels: Any) -> list[str]:
    """Return a note for every column with few values that clusters nearly are: a class that was assigned beforehand?

    Parameters
    ----------
    columns : sequence of Column
        That were clustered by.
    labels : array of int
        The cluster of every row.

    Examples
    --------
    >>> from copartition.datasets import Column
    >>> sex = Column("sex", "category", ["f", "f", "f", "m", "m", None])
    >>> reproduced_by([sex], [1, 1, 1, 0, 0, 0])[0].partition(":")[0]
    "the clusters nearly reproduce the column 'sex'"
    >>> reproduced_by([sex], [0, 1, 0, 1, 0, 1])
    []
    """
    clusters = np.unique(np.asarray(labels), return_inverse=True)[1]
    notes = []
    for column in columns:
        codes = codes_of(column.name, column.cells, column.kind).codes
        seen = codes >= 0
        values = len(np.unique(codes[seen]))
        if not 2 <= values <= MOST_VALUES or adjusted_rand(codes[seen], clusters[seen]) < REPRODUCED:
            continue
        notes.append(
            f"the clusters nearly reproduce the column {column.name!r}: if it is a class that was assigned "
            f"beforehand, leave it out with {leave_out(column.name)}"
        )
    return notes


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions, labels from 0 on: 1 if they are equal, about 0 by chance.

    Examples
    --------
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]))
    1.0
    """
    table = np.zeros((a.max(initial=-1) + 1, b.max(initial=-1) + 1))
    np.add.at(table, (a, b), 1.0)
    both, first, second = (float((x * (x - 1)).sum() / 2) for x in (table, table.sum(1), table.sum(0)))
    pairs = len(a) * (len(a) - 1) / 2
    expected = first * second / pairs if pairs else 0.0
    most = (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)
