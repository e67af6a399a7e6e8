"""Tables in files: what is taken for a column of numbers."""

from __future__ import annotations

import datetime
import gzip
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from copartition import datasets
from copartition.cli import main
from copartition.datasets.tables import read_raw, row_labels


def written(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("a;b\n1,5;2\n-0,25;3,75\n", [[1.5, 2.0], [-0.25, 3.75]], ["separated by semicolons"]),
        ("a;b\n1.5;2\n2.5;3\n", [[1.5, 2.0], [2.5, 3.0]], ["separated by semicolons"]),
        ("1,5;2,5\n3,5;4,5\n", [[1.5, 2.5], [3.5, 4.5]], ["separated by semicolons"]),
        ("a,b\n1.5,2\n2.5,3\n", [[1.5, 2.0], [2.5, 3.0]], []),
        ("a,note;x\n1.5,2\n2.5,3\n", [[1.5, 2.0], [2.5, 3.0]], []),
    ],
)
def test_commas_and_semicolons(tmp_path, text, expected, note):
    table = datasets.read_columns(written(tmp_path, text))
    np.testing.assert_array_equal(table.data, expected)
    assert table.notes == note


def test_numbers_that_could_be_two_things_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"expected a number, got '1\.234,5'"):
        datasets.read_table(written(tmp_path, "a;b\n1.234,5;2\n2;3\n"), columns=["a"])
    with pytest.raises(ValueError, match="expected 1 columns, got 2"):
        datasets.read_table(written(tmp_path, "a\n1,5\n2,5\n"))


def test_a_first_column_of_names_is_left_out_and_that_is_said(tmp_path):
    table = datasets.read_columns(written(tmp_path, "who,x,y\nada,1,2\nbob,3,4\n"))
    assert table.names == ["x", "y"]
    assert table.left_out == ["who"]
    assert datasets.read_columns(written(tmp_path, "who,x,y\nada,1,2\nbob,3,4\n"), ["x"]).left_out == []


@pytest.mark.parametrize("command", [["estimate", "--replicates", "5"], ["meet", "--replicates", "5"], ["tune"]])
def test_commands_say_which_columns_they_used(tmp_path, command):
    rows = "\n".join(f"n{i};{i % 3},5;{i % 2},25" for i in range(12))
    path = written(tmp_path, f"who;x;y\n{rows}\n")
    done = CliRunner().invoke(main, [*command, str(path), "--noise-sd", "1", "--mean-sd", "3"])
    assert done.exit_code == 0, done.output
    first = done.output.splitlines()[0]
    assert "12 points x 2 column(s) (x, y); separated by semicolons; left out: who (text)" in first


@pytest.mark.parametrize(
    ("first", "names"),
    [
        ("who,x,y", ["who", "x", "y"]),
        ("ada,1.5,2.5", None),
        ("NA,1.5,", None),
        (",0,1", ["", "0", "1"]),  # what pandas writes for columns without names
        ("who,2001,2002", ["who", "2001", "2002"]),  # was a row
        ("who,11,12", "got 'who' and 11, which may be either"),
        ("who,2000,2005", ["who", "2000", "2005"]),  # these were rows
        (",2000,2005", ["", "2000", "2005"]),
        ("who,1,4", "got 'who' and 1, which may be either"),
        ("who,2000", "got 'who' and 2000, which may be either"),
        (",1,4", "got 1, 4, ..., which may be either"),
        ("ada,4,4", None),
        ("5.1,3.5,setosa", "got 'setosa' and 5.1, which may be either"),  # was a line of names
        ("1.2,?,3", "got '?' and 1.2, which may be either"),
        ("0,1,2,3", "got 0, 1, ..., which may be either"),
    ],
)
def test_a_first_line_that_may_be_names_or_a_row_is_refused(tmp_path, first, names):
    width = first.count(",") + 1
    path = written(tmp_path, "\n".join([first, *[",".join([f"{i}.25"] * width) for i in range(12)]]))
    if isinstance(names, str):
        with pytest.raises(ValueError, match=re.escape(names)):
            read_raw(path)
        return
    raw = read_raw(path)
    assert raw.names == (names or ["0", "1", "2"])
    assert len(raw.rows) == (12 if names else 13)


TEXT = "name,x\nété,1.5\nàcre,2.5\n"


@pytest.mark.parametrize("name", ["table.csv.gz", "table.csv"])
def test_gzipped_tables_are_read(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(TEXT.encode()))
    assert datasets.read_table(tmp_path / name).tolist() == [[1.5], [2.5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.encode("utf-16"), "table.csv' is encoded in UTF-16; save it in UTF-8"),
        (TEXT.encode("utf-32"), "table.csv' is encoded in UTF-32; save it in UTF-8"),
        (TEXT.encode("utf-16-le"), "table.csv' has bytes of zero: it is encoded in UTF-16, or no text"),
        (
            TEXT.encode("latin-1"),
            "' is not encoded in UTF-8: line 2 has the byte 0xe9, which is 'é' in Latin-1",
        ),
        (gzip.compress(TEXT.encode(), mtime=0)[:-9], "table.csv' is gzipped and damaged"),
        (b"x,y\n1," + b"1" * 200_000, r"line 2: field larger than field limit \(131072\); is a quotation mark missing"),
        (b'x,y\n1,"2\n3,4\n5,6\n', "line 4: unexpected end of data; is a quotation mark missing"),  # was two rows
        (b"x,x\n1,2\n", "has 2 columns 'x'; give their numbers"),
    ],
    ids=["utf-16", "utf-32", "no mark", "latin-1", "gzip", "long", "quote", "twice"],
)
def test_other_encodings_and_broken_text_are_one_sentence(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        datasets.read_table(path, ["x"])
    done = CliRunner().invoke(main, ["meet", str(path), "--columns", "x"])
    assert done.exit_code == 2
    assert len(done.output.splitlines()) == 1


def test_excel_files_are_read(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["who", "x", "when"], ["ada", 1.5, datetime.date(2020, 1, 1)], ["bob", None, None], [None] * 3):
        book.active.append(row)
    book.save(tmp_path / "table.xlsx")
    found = datasets.read_kinds(tmp_path / "table.xlsx")
    assert [column.describe() for column in found.columns] == ["x: numbers, 1 missing"]
    assert found.left_out == ["who", "when"]


@pytest.mark.parametrize(("name", "what"), [("table.parquet", "a Parquet"), ("table.xlsx", "an Excel")])
def test_files_that_are_something_else_are_one_sentence(tmp_path, name, what):
    pytest.importorskip("openpyxl" if name.endswith("xlsx") else "pyarrow")
    path = written(tmp_path, "x,y\n1,2\n", name)
    with pytest.raises(ValueError, match=f"{name}' cannot be read as {what} file: "):
        datasets.read_table(path)


@pytest.mark.parametrize("name", ["table.csv", "table.txt"])
@pytest.mark.parametrize(("separator", "words"), [("\t", "tabs"), ("|", "|")])
def test_tabs_and_bars_may_stand_between_columns(tmp_path, name, separator, words):
    """All of them were one column of categories."""
    for rows in (["a,b", "12,12.5", "13,14", "10,10"], ["a,b", "red,blue", "red,green", "blue,green"]):
        raw = read_raw(written(tmp_path, "\n".join(rows).replace(",", separator), name))
        assert raw.names == ["a", "b"]
        assert raw.rows[0] == rows[1].split(",")
        assert raw.notes == [f"separated by {words}"]
    assert read_raw(written(tmp_path, "id,tags\n1.5,a|5|6\n2.5,b|7|8\n", name)).names == ["id", "tags"]
    assert read_raw(written(tmp_path, "a\tb\n1\t2\n", "table.tsv")).notes == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a b\n12 12\n13 14\n10 10\n", "got cells such as '12 12', which look like 2 with spaces between"),
        ("n x  y\nu 1.5  2\nv 2.5  NA\nu 1.5  2\n", "which look like 3 with spaces between"),
        ("a\tb\n1\t2\n1\t3\n4\n" + "1\t2\n" * 20, "which look like 2 with tabs between"),  # a row is short
    ],
)
def test_a_column_of_several_numbers_is_refused(tmp_path, text, said):
    path = written(tmp_path, text, "table.txt")
    with pytest.raises(ValueError, match=re.escape(said)):
        datasets.read_kinds(path)
    with pytest.raises(ValueError, match="which look like 2 with commas between"):
        read_raw(written(tmp_path, "a,b\n1,2\n3,4\n", "table.tsv"))
    assert datasets.read_kinds(written(tmp_path, "kind\ntype 1\ntype 2\ntype 1\n")).columns[0].kind == "category"


def test_errors_speak_of_lines_as_editors_count_them(tmp_path):
    """Blank lines, and cells of several lines, count; sheets have rows, and arrays none but those from 0 on."""
    path = tmp_path / "x.csv"
    path.write_text('name,x\n"two\nlines",1.5\n\nb,2.5\n\n"c\nd",inf\n')
    with pytest.raises(ValueError, match=r"x.csv', line 7, column 'x': expected a finite number"):
        datasets.read_kinds(path)
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([], ["x", "y"], [1.5, 2.5], [], [2.5, "?"], [1.0, 3.0], [1.0, 3.5]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(ValueError, match=r"x.xlsx', sheet row 5, column 'y': expected a number"):
        datasets.read_kinds(tmp_path / "x.xlsx")
    np.save(tmp_path / "x.npy", [[1.5, 2.5], [np.inf, 2.0]])
    with pytest.raises(ValueError, match=r"x.npy', row 1, column '0': expected a finite number"):
        datasets.read_kinds(tmp_path / "x.npy")


def test_a_first_row_of_whole_numbers_above_others_is_a_row(tmp_path):
    assert len(read_raw(written(tmp_path, "ada,1,4\nbob,2.5,3\neve,1,1\n")).rows) == 3
    with pytest.raises(ValueError, match="got 'ada' and 1990, which may be either"):  # born, and moved
        read_raw(written(tmp_path, "ada,1990,2005\nbob,1985,2001\neve,1999,2010\n"))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (pd.Index([9, 7, 3]), [9, 7, 3]),
        (pd.Index(["u", "v", "w"], name="who"), ["u", "v", "w"]),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]), ["a, 1", "a, 2", "b, 1"]),
        (pd.RangeIndex(3), ["2020-01-01 00:00:00", "2020-01-02 00:00:00", "2020-01-03 00:00:00"]),
    ],
)
def test_the_index_of_a_parquet_file_has_the_names_of_rows(tmp_path, index, names):
    """It was clustered by, and dates were the names."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"when": pd.date_range("2020-01-01", periods=3), "x": [1.5, 2.5, 9.5]}, index=index)
    frame.to_parquet(tmp_path / "table.parquet")
    found = datasets.read_kinds(tmp_path / "table.parquet")
    assert [column.name for column in found.columns] == ["x"]
    assert row_labels(tmp_path / "table.parquet") == names


def test_dates_are_names_where_nothing_else_is(tmp_path):
    path = written(tmp_path, "when,x,who\n2020-01-01,1.5,a\n2020-01-02,2.5,b\n")
    assert row_labels(path) == ["a", "b"]
    assert row_labels(path, ["who"]) == ["2020-01-01", "2020-01-02"]


@pytest.mark.parametrize("cells", [["059", "058"], ["--5", "4"], ["-0", "1"], ["1" * 5000, "2"]])
def test_names_that_look_like_numbers_stay_as_they_are(tmp_path, cells):
    """059 was 59, and --5 an error of Python's."""
    assert row_labels(written(tmp_path, "\n".join([",x", *[f"{cell},1.5" for cell in cells]]))) == cells
