"""Tables in files: text, gzipped or not, NumPy arrays, Parquet and Excel."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copartition.datasets.text import text_of
from copartition.extras import needed
from copartition.validation import RowTitles, shorten

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})  # words for a cell that was not observed
ENDINGS = ".csv, .tsv, .txt (also with .gz), .npy, .parquet or .xlsx"
NEARLY_ALL = 0.9  # numbers among the observed cells of a column that was meant to hold numbers
MANY_NUMBERS = 10  # different ones, beyond which a column of which half are numbers holds no codes
MOST_WORDS = 5  # that an error lists
FEW_WORDS = 3  # other texts in a column of which half are numbers: words for a missing cell, not a category each
YEARS = range(1000, 3000)
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|", " ": "spaces"}
SERIES = 4  # cells 0, 1, 2, 3 in a first line that may be names
ROW_NUMBERS = 10  # rows from which on 1, 2, 3, ... in the first column are row numbers

_TIME = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s*([ap]\.?m\.?)?\s*(z|utc|gmt|[+-]\d{2}:?\d{2})?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"(\d{4}[-/.](0?[1-9]|1[0-2])([-/.](0?[1-9]|[12]\d|3[01]))?"  # 2020-01-31, 2020/1
    r"|(0?[1-9]|[12]\d|3[01])[-/.](0?[1-9]|[12]\d|3[01])[-/.](\d{4}|\d{2})"  # 31.1.2020, 1/31/20
    rf"|(0?[1-9]|[12]\d|3[01])(st|nd|rd|th)?[-/. ]*{_MONTH}[-/., ]*(\d{{4}}|\d{{2}})"  # 31 Jan 2020
    rf"|{_MONTH}[-/. ]*(0?[1-9]|[12]\d|3[01])(st|nd|rd|th)?[-/., ]+(\d{{4}}|\d{{2}})"  # Jan 31, 2020
    rf"|{_MONTH}[-/. ]*\d{{4}})"  # January 2020
)
_DATE = re.compile(rf"((mon|tue|wed|thu|fri|sat|sun)[a-z]*[., ]+)?{_DAY}([t, ]+{_TIME})?|{_TIME}", re.IGNORECASE)
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


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
        How the file was read, where that is not a matter of course, and why columns were left out.
    titles : RowTitles
        What errors call the rows.
    """

    data: np.ndarray
    names: list[str]
    left_out: list[str]
    notes: list[str]
    titles: RowTitles = RowTitles()


class Raw(NamedTuple):
    """The cells of a file as they stand there: text, or numbers where the file has them.

    Attributes
    ----------
    names : list of str
        Of the columns.
    rows : list of lists
    notes : list of str
        How the file was read, where that is not a matter of course.
    titles : RowTitles
        What errors call the rows: lines of a text, rows of a sheet, and else numbers from 0 on.
    """

    names: list[str]
    rows: list[list[Any]]
    notes: list[str]
    titles: RowTitles = RowTitles()


def read_table(path: str | Path, columns: Sequence[str] | None = None, *, missing: Collection[str] = ()) -> np.ndarray:
    """Read a table of numbers from a CSV, TSV, NPY, Parquet or Excel file.

    A CSV file may have semicolons between its columns, and then commas in its numbers, or tabs or ``|``. Text
    files may be gzipped.

    Parameters
    ----------
    path : path
    columns : sequence of str, optional
        Names of columns, or their numbers from 0 on. Left out: all that hold numbers; a first column without a name,
        or one of row names or row numbers, is passed over.
    missing : collection of str, optional
        What stands in cells that were not observed, ``["?", "-999"]`` for instance, besides nothing, NA, NaN, null and
        none.

    Returns
    -------
    numpy.ndarray
        Rows x columns.
    """
    return read_columns(path, columns, missing=missing).data


def read_columns(path: str | Path, columns: Sequence[str] | None = None, *, missing: Collection[str] = ()) -> Table:
    """Read a table of numbers as `read_table` does; return it with the names of its columns."""
    raw = read_raw(path, missing)
    table = _choose(raw, columns, Path(path))
    return table._replace(notes=[*raw.notes, *table.notes], titles=raw.titles)


def _read_npy(file: Path) -> tuple[list[str], list[list[Any]]]:
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{str(file)!r} cannot be read: {str(error).splitlines()[0].rstrip('.')}.") from None
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or array.dtype.names:
        shape = getattr(array, "shape", "none")
        raise ValueError(f"{str(file)!r} must hold an array of one or two dimensions, got shape {shape}.")
    array = array[:, None] if array.ndim == 1 else array
    return [str(c) for c in range(array.shape[1])], array.tolist()


def _read_parquet(file: Path) -> tuple[list[str], list[list[Any]]]:
    try:
        table = needed("pyarrow.parquet", by=repr(str(file))).read_table(file)
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ValueError(f"{str(file)!r} cannot be read as a Parquet file: {reason}.") from None
    names, columns = list(table.column_names), [column.to_pylist() for column in table.columns]
    index = [key for key in (table.schema.pandas_metadata or {}).get("index_columns", []) if isinstance(key, str)]
    places = [names.index(key) for key in index if key in names]  # the index of a data frame: names of its rows
    if places:
        others = [c for c in range(len(names)) if c not in places]
        levels = list(zip(*[columns[c] for c in places], strict=True))
        rows = [level[0] if len(level) == 1 else ", ".join(map(str, level)) for level in levels]
        names, columns = ["", *[names[c] for c in others]], [rows, *[columns[c] for c in others]]
    return names, [list(row) for row in zip(*columns, strict=True)]


def _read_excel(file: Path) -> Raw:
    """Return the first sheet that has cells."""
    openpyxl = needed("openpyxl", by=repr(str(file)))
    try:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = {sheet.title: [list(row) for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets}
    except Exception as error:  # whatever is wrong inside of a zipped folder of XML files
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise ValueError(f"{str(file)!r} cannot be read as an Excel file: {reason}.") from None
    filled = {}
    for name, rows in sheets.items():
        there = [(i + 1, row) for i, row in enumerate(rows) if any(cell is not None for cell in row)]
        width = max((j + 1 for _, row in there for j, cell in enumerate(row) if cell is not None), default=0)
        if there:
            filled[name] = [(line, [*row, *[None] * width][:width]) for line, row in there]
    if not filled:
        raise ValueError(f"{str(file)!r} is empty.")
    first, numbered = next(iter(filled.items()))
    lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
    notes = [f"sheet {first!r}, the first of {len(filled)}"] if len(filled) > 1 else []
    begin = int(_has_header(rows, file, lines[0]))
    return Raw(_names_of(rows[0], begin > 0), rows[begin:], notes, RowTitles("sheet row", lines[begin:]))


def read_text(file: Path, separator: str, text: str | None = None) -> tuple[list[str], list[list[Any]], list[int]]:
    """Return the names of the columns, the rows of a CSV or TSV file, all of the same length, and the line of each."""
    rows: list[list[str]] = []
    lines: list[int] = []
    line = 1
    reader = _reader(text_of(file) if text is None else text, separator)
    try:
        for row in reader:
            if row:
                rows.append([_with_point(cell) for cell in row] if separator == ";" else row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{str(file)!r}, line {reader.line_num}: {error}; is a quotation mark missing, or one too many?"
        ) from None
    if not rows:
        raise ValueError(f"{str(file)!r} is empty.")
    has_header = _has_header(rows, file, lines[0])
    names, first = _names_of(rows[0], has_header), 1 if has_header else 0
    for line, row in zip(lines[first:], rows[first:], strict=True):
        if len(row) != len(names):
            raise ValueError(f"{str(file)!r}, line {line}: expected {len(names)} columns, got {len(row)}.")
    if not rows[first:]:
        raise ValueError(f"{str(file)!r} has a header and no rows.")
    return names, rows[first:], lines[first:]


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _has_header(rows: list[list[Any]], file: Path, line: int) -> bool:
    """Tell whether the first row holds names of columns; where it might be either, names or a row, it is refused.

    Names are text. Text in the first cell alone is the name of a row. Numbers that go on by one are names, too, if they
    come after words and are years, or after a first cell that is empty (0, 1, 2, ...); others may be cells. So are
    other years, if the rows below hold something else; whole numbers above others that are not may be either.
    """
    first = rows[0]
    words = [cell for cell in first if not is_missing(cell) and not is_number(cell)]
    numbers = [float(cell) for cell in first if is_number(cell) and not is_missing(cell)]
    is_whole = len(numbers) > 1 and numbers[0].is_integer()
    is_series = is_whole and numbers == [numbers[0] + i for i in range(len(numbers))]
    if is_series and ((words and numbers[0] in YEARS) or (len(numbers) == len(first) - 1 and first[0] in (None, ""))):
        return True
    is_row = not words or (len(words) == 1 and words[0] is first[0] and not is_series)
    below = [cell for row in rows[1:] for cell in _below_numbers(first, row)]
    is_doubtful = False
    if is_row and (words or (first[0] in (None, "") and len(numbers) > 1)) and below and _may_be_names(numbers):
        are_years = all(number in YEARS for number in numbers)
        n_years = sum(is_number(cell) and float(cell) in YEARS for cell in below)
        if are_years and 1 < len(numbers) == len(first) - 1 and 2 * n_years < len(below):
            return True
        is_doubtful = are_years or not any(is_number(cell) and float(cell).is_integer() for cell in below)
    if (
        is_doubtful
        or (words and numbers and not is_row)
        or (is_series and len(first) >= SERIES and numbers[0] in (0.0, 1.0))
    ):
        got = f"{str(words[0])!r} and {numbers[0]:g}" if words else f"{numbers[0]:g}, {numbers[1]:g}, ..."
        raise ValueError(
            f"{str(file)!r}, line {line}: expected names of columns or a row of cells, got {got}, which may be either; "
            "mend the line, or put a line of names above it."
        )
    return bool(words) and not numbers


def _may_be_names(numbers: list[float]) -> bool:
    return all(number.is_integer() for number in numbers) and 0 < len(set(numbers)) == len(numbers)


def _below_numbers(first: list[Any], row: list[Any]) -> list[Any]:
    """Return the observed cells of a row that stand below numbers of the first one."""
    pairs = zip(first, row, strict=False)  # rows of other lengths are refused later
    return [cell for top, cell in pairs if is_number(top) and not is_missing(top) and not is_missing(cell)]


def _names_of(first: list[Any], has_header: bool) -> list[str]:
    if has_header:
        return ["" if cell is None else str(cell).strip() for cell in first]
    return [str(c) for c in range(len(first))]


def _separator(text: str) -> str:
    """Return what stands between the columns of a text file: commas, unless more cells are numbers with another one.

    Tabs and ``|`` must be as many in every row, and may do if there is no comma.
    """
    best, most = ",", _share_of_numbers(text, ",")
    for separator in (";", "\t", "|"):
        if separator not in text or (separator != ";" and _width(text, separator) < 2):
            continue
        share = _share_of_numbers(text, separator)
        if share > most or (share == most and separator != ";" and _width(text, best) == 1):
            best, most = separator, share
    return best


def _width(text: str, separator: str) -> int:
    """Return how many cells all rows have; 0 where they have different numbers of cells."""
    try:
        widths = {len(row) for row in _reader(text, separator) if row}
    except csv.Error:
        return 0
    return widths.pop() if len(widths) == 1 else 0


def _share_of_numbers(text: str, separator: str) -> float:
    try:
        cells = [cell for row in _reader(text, separator) for cell in row]
    except csv.Error:
        return -1.0
    numbers = sum(is_number(_with_point(cell) if separator == ";" else cell) for cell in cells)
    return numbers / max(len(cells), 1)


def _refuse_unsplit(raw: Raw, file: Path) -> None:
    """Refuse one column whose cells are several, mostly numbers: something else stands between the columns."""
    cells = [row[0].strip() for row in raw.rows if not is_missing(row[0])]
    if len(raw.names) > 1 or all(is_number(cell) for cell in cells):
        return
    for separator, words in SEPARATORS.items():
        parts = [[part for part in cell.split(separator) if part or separator != " "] for cell in cells]
        width, count = Counter(map(len, parts)).most_common(1)[0]
        split = [part for some in parts for part in some]
        numbers = sum(is_number(part) or is_missing(part) for part in split)
        if width > 1 and count >= NEARLY_ALL * len(cells) and 2 * numbers > len(split):
            raise ValueError(
                f"{str(file)!r}: expected commas, semicolons, tabs or | between the columns, the same in all rows, got "
                f"cells such as {cells[0][:40]!r}, which look like {width} with {words} between."
            )


def _with_point(cell: str) -> str:
    """Return a number that has a decimal comma with a point in its place; other text as it is."""
    whole, comma, rest = cell.strip().partition(",")
    return f"{whole}.{rest}" if comma and rest.isdecimal() and whole.lstrip("+-").isdecimal() else cell


def read_raw(path: str | Path, missing: Collection[str] = ()) -> Raw:
    """Read a table of any cells from a CSV, TSV, NPY, Parquet or Excel file.

    Parameters
    ----------
    path : path
    missing : collection of str, optional
        Further words for a cell that was not observed.
    """
    file = Path(path)
    if file.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; give a file in it.")
    if not file.is_file():
        raise ValueError(f"There is no file {str(path)!r}.")
    raw = _read(file)
    if not raw.names or not raw.rows:
        raise ValueError(f"{str(path)!r} must have at least one row and one column, got none.")
    return without(raw, missing)


def without(raw: Raw, missing: Collection[str]) -> Raw:
    """Return the cells of a file with none where these words stand."""
    if isinstance(missing, str) or not all(isinstance(word, str) and word.strip() for word in missing):
        raise ValueError(f"missing must be a list of what stands in cells that were not observed, got {missing!r}.")
    if not missing:
        return raw
    words = {word.strip() for word in missing}
    values = {float(word) for word in words if is_number(word)}
    return raw._replace(rows=[[None if _is_marked(cell, words, values) else cell for cell in row] for row in raw.rows])


def _read(file: Path) -> Raw:
    kind = Path(file.name.lower().removesuffix(".gz")).suffix
    if kind == ".npy":
        return Raw(*_read_npy(file), [])
    if kind == ".parquet":
        return Raw(*_read_parquet(file), [])
    if kind == ".xlsx":
        return _read_excel(file)
    if kind in {".csv", ".tsv", ".txt"}:
        text = text_of(file)
        separator = "\t" if kind == ".tsv" else _separator(text)
        is_usual = separator == ("\t" if kind == ".tsv" else ",")
        names, rows, lines = read_text(file, separator, text)
        notes = [] if is_usual else [f"separated by {SEPARATORS[separator]}"]
        raw = Raw(names, rows, notes, RowTitles("line", lines))
        _refuse_unsplit(raw, file)
        return raw
    raise ValueError(f"{str(file)!r} must be a {ENDINGS} file.")


def _is_marked(cell: Any, words: set[str], values: set[float]) -> bool:
    return str(cell).strip() in words or (is_number(cell) and float(cell) in values)


def source_of(path: str | Path) -> dict[str, str]:
    """Return the name of a file and a digest of what is in it, so that it is known again."""
    return {"file": str(path), "digest": hashlib.sha256(Path(path).read_bytes()).hexdigest()}


def columns_of(
    source: Mapping[str, str], beside: Path, names: Sequence[Any] | None = None
) -> dict[str, list[Any]] | None:
    """Return the columns of the file that data were read from; None if it is gone or has changed.

    One without a name is called ``index``, and left out where it is empty or says no more than the names of points.

    Parameters
    ----------
    source : mapping
        What `source_of` said of it.
    beside : path
        A folder in which to look, too.
    names : sequence, optional
        Of the points; left out, they go by the numbers of their rows, from 0 on.
    """
    for file in (Path(source["file"]), beside / Path(source["file"]).name):
        if file.is_file() and source_of(file)["digest"] == source["digest"]:
            raw = read_raw(file)
            known = [str(name) for name in (range(len(raw.rows)) if names is None else names)]
            columns = {c: [row[c] for row in raw.rows] for c in range(len(raw.names))}
            kept = [c for c, cells in columns.items() if raw.names[c] or _says_more(cells, known)]
            called = [raw.names[c] or "index" for c in columns]
            return {called[c] if called.count(called[c]) == 1 else f"{called[c]} [{c}]": columns[c] for c in kept}
    return None


def _says_more(cells: list[Any], known: list[str]) -> bool:
    """Tell whether a column holds something, and something else than what is known."""
    return not all(map(is_missing, cells)) and ["" if cell is None else str(cell).strip() for cell in cells] != known


def row_labels(path: str | Path, used: Sequence[str] | None = None) -> list[Any] | None:
    """Return the names of the rows of a file: of a first column without a name, or of words of which no two are equal.

    Dates are names only where no other column has any.

    Parameters
    ----------
    path : path
    used : sequence of str, optional
        Columns that are clustered by, which are no names.
    """
    raw = read_raw(path)
    taken = {position_of(name, raw.names, Path(path)) for name in used or ()}
    columns = [[row[position] for row in raw.rows] for position in range(len(raw.names))]
    return labels_in(raw.names, columns, taken)


def labels_in(names: Sequence[str], columns: Sequence[Any], taken: Collection[int]) -> list[Any] | None:
    """Return the names of the rows of a table by the rule of `row_labels`.

    Parameters
    ----------
    names : sequence of str
        Of the columns; nothing where one has none.
    columns : sequence of lists, or of arrays of numbers
        Their cells.
    taken : collection of int
        Places of columns that are clustered by.
    """
    dates = None
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        if position in taken or (isinstance(column, np.ndarray) and (position or name)):
            continue
        cells = column.tolist() if isinstance(column, np.ndarray) else column
        texts = [str(cell).strip() for cell in cells]
        if any(is_missing(cell) for cell in cells) or len(set(texts)) < len(texts):
            continue
        if position == 0 and not name:
            is_whole = all(_WHOLE.fullmatch(text) for text in texts)  # 059 is a name, and not 59
            return [int(text) for text in texts] if is_whole else texts
        if any(is_number(cell) for cell in cells):
            continue
        if not all(is_date(cell) for cell in cells):
            return texts
        dates = texts if dates is None else dates
    return dates


def is_missing(cell: Any) -> bool:
    """Tell whether a cell of a file says that nothing was observed."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or bool(cell != cell)


def _choose(raw: Raw, columns: Sequence[str] | None, file: Path) -> Table:
    names, notes, left_out = raw.names, [], []
    chosen = positions_of(columns, names, file)
    if columns is None and (reason := why_row_names([row[0] for row in raw.rows], names)):
        chosen, left_out = chosen[1:], [names[0]]
        notes = [f"left out: {names[0] or 'the first column'} ({reason})"]
    if not chosen:
        raise ValueError(f"{str(file)!r} has no column of numbers; is it separated by commas, semicolons, tabs or |?")
    cells = [numbers_of([row[position] for row in raw.rows], names[position], file, raw.titles) for position in chosen]
    left_out = [name for name in left_out if name]
    return Table(np.column_stack(cells), [names[position] for position in chosen], left_out, notes)


def why_row_names(cells: list[Any], names: list[str]) -> str:
    """Return why a first column is taken for names or numbers of the rows; nothing where it is not."""
    seen = [cell for cell in cells if not is_missing(cell)]
    numbers = [float(cell) for cell in seen if is_number(cell)]
    if not names[0]:
        return "it has no name"
    if 2 * len(numbers) < len(seen):
        return "text"
    return "row numbers" if len(names) > 1 and are_row_numbers(numbers, len(cells)) else ""


def are_row_numbers(numbers: Sequence[float], count: int) -> bool:
    """Tell whether the cells of a column, of ten or more, are 0, 1, 2, ... or 1, 2, 3, ..., in any order.

    Examples
    --------
    >>> are_row_numbers([3, 1, 2, 5, 4, 6, 10, 9, 8, 7], 10)
    True
    """
    if count < ROW_NUMBERS or len(numbers) != count or min(numbers) not in (0, 1):
        return False
    first = int(min(numbers))
    return max(numbers) == first + count - 1 and set(numbers) == set(range(first, first + count))


def numbers_of(cells: Sequence[Any], name: str, file: Path | None, titles: RowTitles) -> list[float]:
    """Return the cells of a column as numbers, NaN where not observed; refuse what is none, and say where it is.

    Without a file they are those of a table in memory.
    """
    row = next((r for r, cell in enumerate(cells) if not is_missing(cell) and not is_number(cell)), None)
    if row is not None:
        raise ValueError(f"{place_of(file, row, name, titles)}: {complaint(cells, name, file is not None)}")
    return [math.nan if is_missing(cell) else float(cell) for cell in cells]


def called(file: Path | None) -> str:
    """Return what to call a table in a sentence."""
    return "data" if file is None else repr(str(file))


def place_of(file: Path | None, row: int, name: str, titles: RowTitles) -> str:
    """Return what to call a cell in a sentence."""
    return f"{called(file)}, {titles.title(row)}, column {name!r}"


def complaint(cells: Sequence[Any], name: str, is_file: bool = True) -> str:
    """Return what is wrong with the first cell of a column that is no number, and what to do."""
    seen = [cell for cell in cells if not is_missing(cell)]
    odd = [str(cell) for cell in seen if not is_number(cell)]
    good = len(seen) - len(odd)
    as_in = f", as in {good} of {len(seen)} cells" if good >= max(3, len(odd)) else ""
    if not is_file:
        return (
            f"expected a number{as_in}, got {shorten(odd[0])}; mend the cell, let it be missing (None; "
            "pandas.to_numeric(column, errors='coerce') does that), or say that these are categories "
            "(column.astype('category'))."
        )
    words = list(dict.fromkeys(text.strip() for text in odd))
    listed = ",".join(word for word in words[:MOST_WORDS] if "," not in word)
    option = f"--missing {listed!r}, in Python " if listed else "in Python "
    more = f" and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
    return (
        f"expected a number{as_in}, got {shorten(odd[0])}; mend the cell, let it be missing ({option}"
        f"missing={words[:MOST_WORDS]!r}{more}), or say what the column is (--as {name}=category, in Python "
        f"kinds={{{name!r}: 'category'}}; skip leaves it out)."
    )


def is_spoilt(cells: list[Any]) -> bool:
    """Tell whether a column was meant to hold numbers, and some of its observed cells are none.

    At least nine in ten are numbers, or all but one of four or more, or at least half, and there are more than ten
    different numbers, or no more than three different texts.
    """
    odd = [str(cell).strip() for cell in cells if not is_number(cell)]
    good = len(cells) - len(odd)
    if not odd:
        return False
    nearly_all = good >= NEARLY_ALL * len(cells) or (len(odd) == 1 and good >= 3)
    if nearly_all or good < len(odd):
        return nearly_all
    numbers = {float(cell) for cell in cells if is_number(cell)}
    return len(numbers) > MANY_NUMBERS or (good >= 3 and len(set(odd)) <= FEW_WORDS)


def positions_of(columns: Sequence[str] | None, names: list[str], file: Path | None) -> list[int]:
    """Return the numbers of columns that are given by names or numbers, each once; of all if none are given."""
    if columns is None:
        return list(range(len(names)))
    if isinstance(columns, str) or not columns:
        raise ValueError(f"columns must be a list of names or numbers of columns, got {columns!r}.")
    chosen = [position_of(name, names, file) for name in columns]
    twice = next((name for name, position in zip(columns, chosen, strict=True) if chosen.count(position) > 1), None)
    if twice is not None:
        raise ValueError(f"columns must be different ones, got {twice!r} twice.")
    return chosen


def position_of(name: str, names: list[str], file: Path | None) -> int:
    """Return the number of a column that is given by its name, or by its number."""
    wanted = str(name).strip()
    if wanted and names.count(wanted) > 1:
        raise ValueError(f"{called(file)} has {names.count(wanted)} columns {wanted!r}; give their numbers, from 0 on.")
    if wanted and wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and len(wanted) < 10 and int(wanted) < len(names):
        return int(wanted)
    raise ValueError(f"{called(file)} has no column {name!r}; it has {', '.join(names[:10])}.")


def is_number(cell: Any) -> bool:
    """Tell whether a cell is a number, or a text that stands for one."""
    if isinstance(cell, str) and "_" in cell:
        return False  # 2020_01 is a name, though Python reads it as 202001
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def is_date(cell: Any) -> bool:
    """Tell whether a cell is a date or a time of day.

    Examples
    --------
    >>> [is_date(cell) for cell in ("2020-01-31", "31.1.20", "Jan 31, 2020", "12:30", "2020", "1.5", "May")]
    [True, True, True, True, False, False, False]
    """
    if isinstance(cell, str):
        return not is_number(cell) and _DATE.fullmatch(cell.strip()) is not None
    return isinstance(cell, datetime.date | datetime.time | datetime.timedelta)
