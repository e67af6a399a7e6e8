"""Tables in files: what is taken for a column of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from copartition import datasets
from copartition.cli import main


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
    last = done.output.strip().splitlines()[-1]
    assert "12 points x 2 column(s) (x, y)" in last
    assert "separated by semicolons" in last
    assert "left out: who, which holds no numbers" in last
