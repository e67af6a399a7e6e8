"""What columns of a file are taken for, and commands that make a model of them."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import copartition as cp
from copartition import datasets
from copartition.cli import main
from copartition.cli.posterior import posterior_of
from copartition.datasets.relations import adjusted_rand

HEADER = "who,island,sex,bill,weight,eggs,seen,year"
ISLANDS, SEXES = ["Biscoe", "Dream", "Torgersen"], ["male", "female", "NA"]


@pytest.fixture
def table(tmp_path):
    """Forty birds in two groups; some cells are missing."""
    rng = np.random.default_rng(1)
    lines = [HEADER]
    for i in range(40):
        group = i % 2
        bill = "" if i == 5 else f"{40 + 8 * group + rng.normal():.2f}"
        cells = [f"bird{i}", ISLANDS[i % 3], SEXES[i % 3], bill, f"{4000 + 900 * group + 100 * rng.normal():.1f}"]
        lines.append(",".join([*cells, str(rng.poisson(1 + 3 * group)), str(group), str(2007 + i % 2)]))
    path = tmp_path / "birds.csv"
    path.write_text("\n".join(lines))
    return path


def test_columns_are_recognised_by_the_stated_rule(table):
    found = datasets.read_kinds(table)
    kinds = {column.name: column.kind for column in found.columns}
    assert kinds == {
        "island": "category",
        "sex": "category",
        "bill": "number",
        "weight": "number",
        "eggs": "count",
        "seen": "binary",
        "year": "category",
    }
    assert found.left_out == ["who"]
    by_name = {column.name: column for column in found.columns}
    assert by_name["sex"].describe() == "sex: 2 categories, 13 missing"
    assert by_name["sex"].cells[2] is None
    assert by_name["bill"].describe() == "bill: numbers, 1 missing"
    assert math.isnan(by_name["bill"].cells[5])
    assert by_name["eggs"].describe() == "eggs: counts"
    assert by_name["seen"].describe() == "seen: yes or no"


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["a", "b", "a"], "category"),
        (["1.5", "2", "NA"], "number"),
        (["0", "1", "", "1"], "binary"),
        (["0", "5", "99"], "count"),
        (["1", "5", "99"], "count"),
        (["0", "5", "100"], "number"),
        (["2", "5", "9"], "number"),
        (["-1", "5", "9"], "number"),
        (["7", "8"] * 10, "category"),
        (["7", "8"] * 9, "number"),
        (["x", "y", "NA"], "category"),
    ],
)
def test_the_rule_case_by_case(tmp_path, cells, kind):
    path = tmp_path / "one.csv"
    path.write_text("\n".join(["z,column", *[f"{i / 7},{cell}" for i, cell in enumerate(cells)]]))
    assert datasets.read_kinds(path, ["column"]).columns[0].kind == kind


def test_names_of_rows_and_what_is_asked_for(table):
    assert datasets.read_kinds(table, ["who"]).columns[0].kind == "category"  # asked for by name
    found = datasets.read_kinds(table, None, {"eggs": "number", "year": "skip"})
    kinds = {column.name: column.kind for column in found.columns}
    assert kinds["eggs"] == "number"
    assert found.left_out == ["who", "year"]
    with pytest.raises(ValueError, match="has no column to cluster by; left out: who"):
        datasets.read_kinds(table, ["who"], {"who": "skip"})


NAMES = [
    "data", "example", "columns", "component", "mean_weight", "scale", "noise_sd", "mean_sd", "mean", "prior", "alpha",
    "discount", "components", "gamma",
]  # fmt: skip


def options(table, **given):
    return dict.fromkeys(NAMES) | {"data": str(table), "kinds": (), "standardize": False} | given


def test_the_model_of_a_mixed_table_is_the_one_a_person_would_write(table):
    given = options(table)
    posterior = posterior_of(given)
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    cells = np.empty((40, 7), dtype=object)
    for i, row in enumerate(rows):
        numbers = [math.nan if cell == "" else float(cell) for cell in row[3:7]]
        cells[i] = [row[1], None if row[2] == "NA" else row[2], *numbers, row[7]]
    by_hand = cp.Mixture(
        cells,
        cp.Columns(
            [
                ([2, 3], cp.NormalInverseGamma()),
                (4, cp.Poisson()),
                (5, cp.Bernoulli()),
                ([0, 1, 6], cp.Categorical()),
            ]
        ),
        cp.DirichletProcess(cp.Gamma(2, 4)),
    )
    assert posterior.fingerprint == by_hand.fingerprint
    assert "numbers by nig, because cells are missing" in given["notes"]
    assert "island: 3 categories" in given["columns"]


@pytest.mark.parametrize(
    ("given", "component", "prior"),
    [
        ({"columns": "weight"}, "NormalInverseWishart", "DirichletProcess(alpha=Gamma(2, 4))"),
        ({"columns": "bill"}, None, None),
        ({"columns": "bill,weight"}, "NormalInverseGamma", "DirichletProcess(alpha=Gamma(2, 4))"),
        ({"columns": "weight", "noise_sd": "9.0", "mean_sd": "2.0"}, "Gaussian", "DirichletProcess(alpha=1.0)"),
        ({"columns": "weight", "alpha": "0.5"}, "NormalInverseWishart", "DirichletProcess(alpha=0.5)"),
        (
            {"columns": "weight", "prior": "py", "alpha": "gamma:1,2", "discount": "0.1"},
            "NormalInverseWishart",
            "PitmanYor",
        ),
        ({"columns": "weight", "prior": "mfm"}, "NormalInverseWishart", "MixtureOfFiniteMixtures"),
        ({"columns": "weight", "prior": "finite", "components": 3}, "NormalInverseWishart", "FiniteMixture"),
        ({"columns": "eggs"}, "Columns", "DirichletProcess(alpha=Gamma(2, 4))"),
        ({"columns": "eggs", "kinds": ("eggs=number",), "component": "nig"}, "NormalInverseGamma", "DirichletProcess"),
    ],
)
def test_options_choose_component_and_prior(table, given, component, prior):
    if component is None:  # one column only, of which a row lacks its cell
        with pytest.raises(ValueError, match="must have an observed cell in every row, got none in line 7"):
            posterior_of(options(table, **given))
        return
    posterior = posterior_of(options(table, **given))
    assert type(posterior.component).__name__ == component
    assert repr(posterior.prior).startswith(prior)


def test_a_command_says_what_it_took_columns_for(table):
    command = ["estimate", str(table), "--replicates", "5", "--max-sweeps", "2000", "--seed", "1"]
    done = CliRunner().invoke(main, [*command, "--functional", "n_clusters:4", "--functional", "concentration"])
    assert done.exit_code == 0, done.output
    assert "P(more than 4 clusters)" in done.output
    first = done.output.splitlines()[0]
    assert "40 points x 7 column(s) (island: 3 categories, sex: 2 categories, 13 missing" in first
    assert (
        "left out: who (text, 40 of 40 cells different, such as 'bird0'; --as who=category (in Python kinds=" in first
    )
    assert "numbers by nig, because cells are missing" in first
    as_json = CliRunner().invoke(main, [*command, "--prior", "mfm", "--functional", "n_components:3", "--json"])
    assert as_json.exit_code == 0, as_json.output
    assert json.loads(as_json.stdout)["components"][0] == "P(1 component)"
    assert as_json.stderr.splitlines()[0] == first


def write_column(folder, cells, name="table.csv"):
    """A column of numbers, and one of these cells."""
    path = folder / name
    path.write_text("\n".join(["z,column", *[f"{i / 7 + 0.1},{cell}" for i, cell in enumerate(cells)]]))
    return path


NUMBERS = [f"{i / 3:.3f}" for i in range(200)]


@pytest.mark.parametrize(
    ("cells", "row", "said"),
    [
        ([*NUMBERS[:17], "?", *NUMBERS[18:]], 18, "as in 199 of 200 cells, got '?'"),
        ([*NUMBERS[:-1], "-"], 200, "as in 199 of 200 cells, got '-'"),
        (["?", *NUMBERS[1:]], 1, "as in 199 of 200 cells, got '?'"),
        (["1.5", "2.5", "1 .7", "3"], 3, "as in 3 of 4 cells, got '1 .7'"),
        (([*["5.5"] * 8, "6.5", "x"]) * 10, 10, "as in 90 of 100 cells, got 'x'"),
        (["1", "2", "2", "?"] * 50, 4, "as in 150 of 200 cells, got '?'"),  # half and more, and one other word
        ([*["0", "1"] * 20, "", "O"], 42, "as in 40 of 41 cells, got 'O'"),
        (["2020_01", "1", "2", "3"], 1, "got '2020_01'"),  # Python reads it as 202001
    ],
)
def test_a_spoilt_cell_makes_no_categories(tmp_path, cells, row, said):
    """A column of numbers with one cell ``?`` was a column of 200 categories."""
    path = write_column(tmp_path, cells)
    with pytest.raises(ValueError, match=f"table.csv', line {row + 1}, column 'column': expected a number") as caught:
        datasets.read_kinds(path)
    assert said in str(caught.value)
    word = next(cell for cell in cells if cell and said.endswith(f"got {cell!r}"))
    found = datasets.read_kinds(path, missing=[word]).columns[1]
    assert found.kind != "category"
    assert found.n_missing == sum(cell in ("", word) for cell in cells)
    assert datasets.read_kinds(path, kinds={"column": "category"}).columns[1].kind == "category"
    with pytest.raises(ValueError, match=f"line {row + 1}, column 'column': expected a number"):
        datasets.read_columns(path)
    assert np.isnan(datasets.read_table(path, missing=[word])[row - 1, 1])


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "x", "y"] * 10, "refused"),
        (["1", "v", "x", "y"] * 10, "category"),
        (["12A", "12", "14B", "14", "7C", "9D"] * 10, "category"),
        ([f"car {i * 3 // 4}" for i in range(60)], "text, 45 of 60 cells different, such as 'car 0'"),
        ([f"car {i // 2}" for i in range(60)], "category"),
        ([f"A/5 {i}" if i % 3 else f"{i}" for i in range(60)], "text, 60 of 60 cells different"),
        (["a", "b", "c", "a"], "category"),
        ([f"2020-{1 + i % 12:02}-28" for i in range(40)], "dates or times, such as '2020-01-28'"),
        ([f"{1 + i % 28}/{1 + i % 12}/98" for i in range(40)], "dates or times"),
        (["31 Jan 2020", "Feb 1 2020", "March 2020", "1-Apr-99", "2020-01-31T12:30:01.5Z"], "dates or times"),
        (["Jan", "Feb", "May"] * 8, "category"),
        (["2019", "2020"] * 10, "category"),
        (["1.1.1", "2.1.1", "1.40.1", "2.0.1"] * 5, "category"),  # no month 40
    ],
)
def test_names_and_dates_are_no_categories(tmp_path, cells, kind):
    path = write_column(tmp_path, cells)
    if kind == "refused":
        with pytest.raises(
            ValueError, match="line 4, column 'column': expected a number, as in 20 of 40 cells, got 'x'"
        ):
            datasets.read_kinds(path)
        return
    found = datasets.read_kinds(path)
    if kind == "category":
        assert found.columns[1].kind == kind
        return
    assert found.left_out == ["column"]
    assert f"left out: column ({kind}" in found.notes[-1]
    assert datasets.read_kinds(path, kinds={"column": "category"}).columns[1].kind == "category"
    if kind.startswith("dates"):
        with pytest.raises(
            ValueError, match="column 'column': expected numbers or categories, got dates or times such"
        ):
            datasets.read_kinds(path, ["column"])


def test_row_numbers_are_nothing_to_cluster_by(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["id,x", *[f"{i + 1},{i % 7}.5" for i in range(12)]]))
    found = datasets.read_kinds(path)
    assert found.notes == [
        "left out: id (row numbers; --as id=number (in Python kinds={'id': 'number'}) clusters by them)"
    ]
    assert found.names == list(range(1, 13))
    assert datasets.read_columns(path).left_out == ["id"]
    assert datasets.read_table(path, ["id"])[:, 0].tolist() == list(range(1, 13))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("where", [0, 1])
def test_row_numbers_in_any_order_and_any_column_are_what_rows_go_by(first, where):
    numbers = first + np.random.default_rng(1).permutation(30)
    columns = {"x": np.arange(30) ** 2 / 7, "y": np.arange(30) ** 3 / 7}
    frame = pd.DataFrame(columns)
    frame.insert(where, "who", numbers)
    found = datasets.recognise(frame)
    assert found.left_out == ["who"]
    assert found.names == numbers.tolist()
    assert kinds_of(datasets.recognise(frame, kinds={"who": "number"}))["who"] == "number"
    named = datasets.recognise(frame.set_index(pd.Index([f"r{i}" for i in range(30)])))
    assert named.names == [f"r{i}" for i in range(30)]
    twice = frame.assign(who=np.r_[numbers[:-1], numbers[0]])
    assert kinds_of(datasets.recognise(twice))["who"] == "count"


@pytest.mark.parametrize(
    ("name", "numbers", "is_told"),
    [
        ("code", range(1001, 1031), True),
        ("patient_id", range(1000, 1090, 3), True),
        ("plasmid", range(1000, 1090, 3), False),
        ("patient_id", [1000, *range(1000, 1029)], False),
    ],
)
def test_what_may_be_names_of_rows_is_told(name, numbers, is_told):
    frame = pd.DataFrame({name: list(numbers), "x": np.arange(30) ** 2 / 7})
    said = f"{name} has another whole number in every row; if it names the rows, --id {name} (in Python data.set_index"
    notes = datasets.recognise(frame).notes
    assert any(note.startswith(said) for note in notes) == is_told
    assert datasets.recognise(frame, kinds={name: "number"}).notes == []


def test_in_a_table_of_counts_few_values_are_counts_too():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"s{j}": rng.poisson(1 + j, 70) for j in range(5)})
    frame["rare"], frame["some"] = rng.integers(0, 2, 70), rng.integers(2, 5, 70)
    frame["altitude"], frame["year"] = rng.normal(size=70), rng.integers(2019, 2021, 70)
    frame["wet"] = rng.integers(0, 2, 70).astype(bool)
    found = datasets.recognise(frame)
    kinds = kinds_of(found)
    assert {name for name, kind in kinds.items() if kind == "count"} == {*[f"s{j}" for j in range(5)], "rare", "some"}
    assert (kinds["altitude"], kinds["year"], kinds["wet"]) == ("number", "category", "binary")
    assert found.notes == [
        "rare and some are taken for counts, as most columns of numbers are; --as rare=binary (in Python "
        "kinds={'rare': 'binary'}) takes rare for what it would be alone"
    ]
    assert found.columns[5].cells == frame["rare"].tolist()
    asked = datasets.recognise(frame, kinds={"rare": "binary"})
    assert kinds_of(asked)["rare"] == "binary"
    few = kinds_of(datasets.recognise(frame.drop(columns="s0")))  # four columns of counts make no table of counts
    assert (few["rare"], few["some"]) == ("binary", "category")
    mixed = frame.assign(**{f"x{j}": rng.normal(size=70) for j in range(6)})
    assert kinds_of(datasets.recognise(mixed))["rare"] == "binary"


def test_spoilt_cells_and_what_is_left_out_on_the_command_line(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["car,sold,weight,power"]
    lines += [f"car {i},2020-01-{i % 28 + 1:02},{rng.normal(9 * (i % 2)):.3f},{rng.normal():.3f}" for i in range(40)]
    lines[8] = lines[8].rpartition(",")[0] + ",?"
    path = tmp_path / "cars.csv"
    path.write_text("\n".join(lines))
    command = ["estimate", str(path), "--replicates", "3", "--lag", "2", "--burn-in", "1", "--min-sweeps", "3"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert done.output == (
        f"Error: {str(path)!r}, line 9, column 'power': expected a number, as in 39 of 40 cells, got '?'; mend the "
        "cell, let it be missing (--missing '?', in Python missing=['?']), or say what the column is (--as "
        "power=category, in Python kinds={'power': 'category'}; skip leaves it out).\n"
    )
    done = CliRunner().invoke(main, [*command, "--missing", "?,-999"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == (
        f"data: {path}, 40 points x 2 column(s) (weight: numbers, power: numbers, 1 missing); left out: car (text, 40 "
        "of 40 cells different, such as 'car 0'; --as car=category (in Python kinds={'car': 'category'}) clusters by "
        "it); left out: sold (dates or times, such as '2020-01-01'); numbers by nig, because cells are missing"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--columns", ""], "--columns must be one or more, with commas between, got ''"),
        (["--columns", "bill,,weight"], "--columns must be one or more, with commas between, got 'bill,,weight'"),
        (["--columns", "bill,3"], "columns must be different ones, got 'bill' twice"),
        (["--alpha", ""], "--alpha must be a number or gamma:SHAPE,RATE, got ''"),
        (["--prior", ""], "--prior must be dp, py, mfm, finite, got ''"),
        (["--joint-updates", "2:points=3-0"], "--joint-updates must be a number, with details"),
        (["--missing", ""], "--missing must be one or more, with commas between, got ''"),
        (["--as", "bill=number", "--as", "bill=count"], "--as must say once what a column is, got 'bill' twice"),
        (["--as", "bill=number", "--as", "3=count"], "got '3', which is given twice"),
        (["--columns", "weight", "--as", "bill=number"], "got 'bill', which is not among the columns that are chosen"),
    ],
)
def test_options_that_mean_nothing_are_refused(table, given, message):
    done = CliRunner().invoke(main, ["meet", str(table), "--replicates", "2", *given])
    assert done.exit_code == 2
    assert message in done.output


def test_many_words_for_missing_cells_make_no_categories(tmp_path):
    """Four words in 15 % of the cells made 170 categories."""
    words = ["?", "-", "unknown", "n.a."]
    cells = [words[i // 7 % 4] if i % 7 == 0 else cell for i, cell in enumerate(NUMBERS)]
    with pytest.raises(
        ValueError, match="line 2, column 'column': expected a number, as in 171 of 200 cells"
    ) as caught:
        datasets.read_kinds(write_column(tmp_path, cells))
    assert "(--missing '?,-,unknown,n.a.', in Python missing=['?', '-', 'unknown', 'n.a.'])" in str(caught.value)
    assert datasets.read_kinds(write_column(tmp_path, cells), missing=words).columns[1].n_missing == 29
    more = [f"{i}, or" if i % 7 == 0 else cell for i, cell in enumerate(NUMBERS)]
    with pytest.raises(ValueError, match=r"missing \(in Python missing=\['0, or', .*'28, or'\] and 24 more\)"):
        datasets.read_columns(write_column(tmp_path, [f'"{cell}"' for cell in more]))


# --- tables in memory ------------------------------------------------------------------------------------------------


def kinds_of(found):
    return {column.name: column.kind for column in found.columns}


def test_frames_go_by_the_rule_for_files(table):
    """What pandas reads from a file is recognised as the file is, with the same cells."""
    from_file = datasets.read_kinds(table)
    from_frame = datasets.recognise(pd.read_csv(table))
    assert kinds_of(from_frame) == kinds_of(from_file)
    assert from_frame.left_out == from_file.left_out
    assert from_frame.notes == from_file.notes
    assert from_frame.names == from_file.names == [f"bird{i}" for i in range(40)]
    for one, other in zip(from_frame.columns, from_file.columns, strict=True):
        assert str(one.cells) == str(other.cells)


def repeated(cells, count=24):
    return [cells[i % len(cells)] for i in range(count)]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (pd.Series(repeated([True, False, False])), "binary"),
        (pd.Series(repeated([True, False, None]), dtype="boolean"), "binary"),
        (pd.Series(repeated([True, None, False]), dtype=object), "binary"),
        (pd.Series(repeated(["True", "FALSE", "NA"])), "binary"),
        (pd.Series(repeated([0, 1, 1])), "binary"),
        (pd.Series(repeated([0, 1, None]), dtype="Int64"), "binary"),
        (pd.Series(repeated([1.0, 2.0, 17.0, math.nan])), "count"),
        (pd.Series(repeated([1, 2, 17, None]), dtype="Int32"), "count"),
        (pd.Series(repeated([2.0, 2.5, math.nan])), "number"),
        (pd.Series(repeated([2.0, 2.5, None]), dtype="Float64"), "number"),
        (pd.Series(repeated([2007.0, 2008.0, math.nan], 48)), "category"),
        (pd.Series(repeated([1.5, 2.5, 3.5]), dtype="category"), "category"),
        (pd.Series(repeated([0, 1, 2]), dtype="category"), "category"),
        (pd.Series(pd.Categorical(repeated(["low", "high"]), ["low", "high"], ordered=True)), "category"),
        (pd.Series(repeated(["a", "b", None]), dtype="string"), "category"),
        (pd.Series(repeated(["a", "b", None])), "category"),
        (pd.cut(pd.Series(repeated([1.0, 2.5, 7.0])), 3), "category"),
        (pd.Series(repeated([1.5, 2.5]), dtype=pd.SparseDtype("float64")), "number"),
        (pd.Series(pd.date_range("2020-01-01", periods=24)), "dates or times, such as '2020-01-01 00:00:00'"),
        (pd.Series(pd.date_range("2020-01-01", periods=24, tz="UTC")), "dates or times"),
        (pd.Series(pd.to_timedelta(range(24), unit="h")), "dates or times, such as '0 days 00:00:00'"),
        (pd.Series(pd.period_range("2020-01", periods=24, freq="M")), "dates or times, such as '2020-01'"),
        (pd.Series([f"bird {i}" for i in range(24)]), "text, 24 of 24 cells different, such as 'bird 0'"),
        (pd.Series([f"bird {i}" for i in range(24)], dtype="category"), "text, 24 of 24 cells different"),
        (pd.Series([[i] for i in range(24)]), "text, 24 of 24 cells different, such as '[0]'"),
        (pd.Series([math.nan] * 24), "no cell is observed"),
        (pd.Series([None] * 24), "no cell is observed"),
        (pd.Series([7.5] * 24), "the same in every row"),
        (pd.Series(["x"] * 24, dtype="category"), "the same in every row"),
        (pd.Series(repeated(["x", None])), "the same in every row that has it; if none means no, write 0 or no there"),
    ],
)
def test_types_of_columns_count(cells, kind):
    frame = pd.DataFrame({"z": np.arange(len(cells)) ** 2 / 7, "column": cells})
    found = datasets.recognise(frame)
    if kind in datasets.KINDS:
        assert kinds_of(found) == {"z": "number", "column": kind}
        assert found.columns[1].n_missing == int(frame["column"].isin([None, "NA"]).sum() or cells.isna().sum())
    else:
        assert found.left_out == ["column"]
        assert f"left out: column ({kind}" in found.notes[0]
    assert kinds_of(datasets.recognise(frame, kinds={"column": "skip"})) == {"z": "number"}


def test_whole_numbers_with_gaps_are_the_categories_that_they_were():
    year = pd.Series(repeated([2007.0, 2008.0, math.nan], 48))
    assert datasets.recognise(year.to_frame("year")).columns[0].cells[:3] == ["2007", "2008", None]
    assert datasets.recognise(pd.Series(year, dtype="Int64")).columns[0].cells[:3] == ["2007", "2008", None]


class Polars:
    """What of a data frame of polars is looked at."""

    def __init__(self, columns):
        self.columns = list(columns)
        self._cells = columns

    def get_columns(self):
        return [PolarsColumn(*pair) for pair in self._cells.values()]


class PolarsColumn:
    def __init__(self, dtype, cells):
        self.dtype = dtype
        self._cells = cells

    def to_list(self):
        return list(self._cells)


def test_frames_of_polars():
    frame = Polars(
        {
            "x": ("Float64", repeated([1.5, None, 2.5])),
            "eggs": ("Int64", repeated([1, 5, None])),
            "is_old": ("Boolean", repeated([True, False, None])),
            "size": ("Categorical(ordering='physical')", repeated(["3", "4"])),
            "when": ("Date", [datetime.date(2020, 1, i + 1) for i in range(24)]),
        }
    )
    found = datasets.recognise(frame)
    assert kinds_of(found) == {"x": "number", "eggs": "count", "is_old": "binary", "size": "category"}
    assert found.left_out == ["when"]
    assert [column.n_missing for column in found.columns] == [8, 8, 8, 0]
    assert found.names[0] == "2020-01-01"


def test_frames_of_polars_itself():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"x": repeated([1.5, None, 2.5]), "sex": polars.Series(repeated(["f", "m"]))})
    assert kinds_of(datasets.recognise(frame)) == {"x": "number", "sex": "category"}


def test_arrays_go_by_numbers():
    array = np.random.default_rng(1).normal(size=(12, 2))
    assert kinds_of(datasets.recognise(array)) == {"0": "number", "1": "number"}
    assert kinds_of(datasets.recognise(array.tolist())) == {"0": "number", "1": "number"}
    assert kinds_of(datasets.recognise(array[:, 0])) == {"0": "number"}
    assert kinds_of(datasets.recognise(np.ma.masked_less(array, 0.0))) == {"0": "number", "1": "number"}
    assert kinds_of(datasets.recognise(array, [1], {1: "number"})) == {"1": "number"}
    mixed = np.array([[1.5, "a", True], [2.5, "b", False], [None, "a", True]], dtype=object)
    for data in (mixed, mixed.tolist()):
        found = datasets.recognise(data)
        assert kinds_of(found) == {"0": "number", "1": "category", "2": "binary"}
        assert found.columns[1].cells == ["a", "b", "a"]
    dates = np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[ns]")
    assert datasets.recognise(pd.DataFrame({"x": [1.5, 2.5, 3.5], "t": dates})).left_out == ["t"]
    with pytest.raises(ValueError, match=r"data has no column to cluster by; left out: 0 \(dates or times"):
        datasets.recognise(dates)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (pd.DataFrame({"x": [1.5, math.inf]}), ValueError, "data, row 1, column 'x': expected a finite number"),
        (np.array([[1.5, 2], [2.5, -math.inf]]), ValueError, "row 1, column '1': .* not observed, got -inf."),
        (pd.DataFrame({"x": [1.5, 2, 3, "?"]}), ValueError, "row 3, column 'x': expected a number.*errors='coerce'"),
        (pd.DataFrame({"x": []}), ValueError, "data must have at least one row and one column"),
        (np.zeros((2, 2, 2)), ValueError, "data must be a table of rows and columns, got shape"),
        (np.zeros((2, 2)) + 1j, ValueError, "got cells of type complex128"),
        (
            "table.csv",
            TypeError,
            r"a row a point, got 'table.csv'; if that is a file, .* pandas.read_csv for instance, or run",
        ),
        (Path("table.csv"), TypeError, "a row a point, got 'table.csv'; if that is a file, read it first"),
        (iter([1.5]), TypeError, "a row a point, got list_iterator"),
        ({1.5, 2.5}, TypeError, "a row a point, got set"),
        ([{"x": 1}], TypeError, r"a row a point, got a list of dicts; pandas.DataFrame\(data\) may be meant"),
        (
            [[10**400, 1.5], [2.5, 1.0], [1.5, 2.0], [2.0, 3.5]],
            ValueError,
            r"row 0, column '0': .*, got '10+\.\.\.; mend",
        ),
        (None, TypeError, "data must be a data frame or an array, a row a point, got NoneType"),
        ({"x": [1]}, TypeError, "data must be a data frame or an array, a row a point, got a dict; pandas.Data"),
        (np.ones((12, 1)), ValueError, r"data has no column to cluster by; left out: 0 \(the same in every row\)"),
    ],
)
def test_tables_in_memory_that_are_refused(data, error, message):
    with pytest.raises(error, match=message):
        datasets.recognise(data)


def test_infinite_cells_of_files_are_refused_with_their_place(tmp_path):
    path = write_column(tmp_path, ["1.5", "inf", "2"])
    with pytest.raises(ValueError, match=r"table.csv', line 3, column 'column': expected a finite number.* got inf"):
        datasets.read_kinds(path)


def test_columns_that_are_asked_for_by_wrong_names():
    frame = pd.DataFrame({"x": [1.5, 2.5], "y": [2.5, 7.0]})
    with pytest.raises(ValueError, match="data has no column 'z'; it has x, y"):
        datasets.recognise(frame, ["z"])
    with pytest.raises(ValueError, match="kinds must be number, count, binary, category, skip, got 'word' for 'x'"):
        datasets.recognise(frame, kinds={"x": "word"})
    with pytest.raises(ValueError, match="columns must be a list of names or numbers of columns, got 'x'"):
        datasets.recognise(frame, "x")


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (None, None),
        (pd.Index([f"bird{i}" for i in range(24)]), [f"bird{i}" for i in range(24)]),
        (pd.Index(range(5, 29)), list(range(5, 29))),
        (pd.Index([float(i) for i in range(24)]), None),
        (pd.Index(["bird"] * 24), None),
    ],
)
def test_the_index_has_names_and_is_no_column(index, names):
    found = datasets.recognise(pd.DataFrame({"x": np.arange(24) ** 2 / 7}, index=index))
    assert found.names == names
    assert kinds_of(found) == {"x": "number"}
    is_repeated = index is not None and not index.is_unique
    assert found.notes == ["row names are not all different: points go by row number from 0"] * is_repeated


def test_a_column_that_a_file_gave_no_name_is_left_out(tmp_path):
    frame = pd.DataFrame({"x": np.arange(12) ** 2 / 7, "y": repeated([1.5, 3, 8], 12)})
    frame.to_csv(tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv")
    assert list(read.columns) == ["Unnamed: 0", "x", "y"]
    assert datasets.recognise(read).notes == ["left out: Unnamed: 0 (it has no name)"]
    assert datasets.recognise(read).names is None
    assert datasets.recognise(read.assign(**{"Unnamed: 0": range(3, 15)})).names == list(range(3, 15))


def test_copies_and_other_units_are_left_out(tmp_path):
    rng = np.random.default_rng(1)
    cm = np.round(rng.normal(170, 10, 30), 1)
    frame = pd.DataFrame(
        {
            "cm": cm,
            "sex": repeated(["f", "m"], 30),
            "inch": cm / 2.54,
            "again": cm,
            "gender": repeated(["f", "m"], 30),
            "below": 200.0 - cm,
            "kg": rng.normal(70, 10, 30),
            "noisy": cm + rng.normal(0, 1e-4, 30),
        }
    )
    found = datasets.recognise(frame)
    assert list(kinds_of(found)) == ["cm", "sex", "kg", "noisy"]
    assert found.left_out == ["inch", "again", "gender", "below"]
    assert found.notes == [
        "left out: inch (the same as cm in other units: 0.393701 times cm)",
        "left out: again (a copy of cm)",
        "left out: gender (a copy of sex)",
        "left out: below (the same as cm in other units: -1 times cm plus 200)",
    ]
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert datasets.read_kinds(tmp_path / "table.csv").notes == found.notes
    kept = datasets.recognise(frame, kinds={"again": "number"})
    assert "again" in kinds_of(kept)
    assert list(kinds_of(datasets.recognise(frame, ["cm", "inch"]))) == ["cm", "inch"]
    with_gap = frame.assign(cm=[math.nan, *cm[1:]])
    assert datasets.recognise(with_gap[["cm", "inch"]]).left_out == []  # it knows what the other one lacks


def test_few_rows_may_be_alike_by_chance():
    frame = pd.DataFrame({"x": [1.5, 2.5, 4.0], "y": [3.0, 5.0, 8.0], "a": [0, 1, 1], "b": [0, 1, 1]})
    assert len(datasets.recognise(frame).columns) == 4


def test_columns_that_determine_others_are_told_and_kept():
    maker = repeated(["Fiat", "Audi", "Ford"], 36)
    frame = pd.DataFrame(
        {
            "x": np.random.default_rng(1).normal(size=36),
            "maker": maker,
            "code": pd.Series([{"Fiat": 2, "Audi": 1, "Ford": 3}[one] for one in maker], dtype="category"),
            "origin": [{"Fiat": "EU", "Audi": "EU", "Ford": "US"}[one] for one in maker],
            "tax": [{"EU": 7.25, "US": 1.5}[{"Fiat": "EU", "Audi": "EU", "Ford": "US"}[one]] for one in maker],
            "shade": repeated(["red", "blue", "blue", "red"], 36),
        }
    )
    found = datasets.recognise(frame)
    assert found.left_out == []
    assert found.notes == [
        "maker and code determine each other, so that the same counts twice; --drop code (in Python "
        "data.drop(columns='code')) leaves one out",
        "maker determines origin and tax: each of its 3 values goes with one value there, so that the same counts "
        "twice; --drop maker (in Python data.drop(columns='maker')) leaves it out",
        "code determines origin and tax: each of its 3 values goes with one value there, so that the same counts "
        "twice; --drop code (in Python data.drop(columns='code')) leaves it out",
        "origin determines tax: each of its 2 values goes with one value there, so that the same counts twice; --drop "
        "origin (in Python data.drop(columns='origin')) leaves it out",
    ]
    frame.loc[0, "origin"] = "US"
    assert datasets.recognise(frame[["maker", "origin"]]).notes == []
    frame.loc[0, "origin"] = None
    assert len(datasets.recognise(frame[["maker", "origin"]]).notes) == 1
    many = pd.DataFrame({"name": [f"n{i // 2}" for i in range(20)], "x": repeated(["a", "a", "b", "b"], 20)})
    assert datasets.recognise(many).notes == []  # half as many values as rows


def test_other_rows_of_the_same_columns(table):
    frame = pd.read_csv(table)
    known = datasets.recognise(frame)
    rows = frame.iloc[[5, 2]][frame.columns[::-1]].astype({"year": float})
    found = datasets.recognise(rows, known=known)
    assert kinds_of(found) == kinds_of(known)
    for one, of_all in zip(found.columns, known.columns, strict=True):
        assert str(one.cells) == str([of_all.cells[5], of_all.cells[2]])
    with pytest.raises(ValueError, match="data must have one column 'bill'"):
        datasets.recognise(rows.drop(columns="bill"), known=known)
    numbers = datasets.recognise(np.arange(12.0).reshape(4, 3) ** 2 / 7)
    assert datasets.recognise([[1, 2, 3]], known=numbers).columns[2] == ("2", "number", [3.0])


def adjusted_rand_by_pairs(a, b):
    """The adjusted Rand index as it is written down: over all pairs of rows."""
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    first, second = [[x[i] == x[j] for i, j in pairs] for x in (a, b)]
    both, n_first, n_second = sum(map(min, first, second)), sum(first), sum(second)
    expected = n_first * n_second / len(pairs)
    return (both - expected) / ((n_first + n_second) / 2 - expected)


def test_classes_that_clusters_reproduce_are_told():
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=60)
    nearly = np.where(rng.random(60) < 0.03, 0, labels)
    assert adjusted_rand(labels, nearly) == pytest.approx(adjusted_rand_by_pairs(labels, nearly), abs=1e-12)
    frame = pd.DataFrame(
        {
            "body mass": [f"n{i}" for i in nearly],
            "other": rng.integers(3, size=60),
            "x": rng.normal(size=60),
            "many": labels * 20 + np.arange(60) % 20,
        }
    )
    assert datasets.reproduced_by(datasets.recognise(frame).columns, labels) == [
        "the clusters nearly reproduce the column 'body mass': if it is a class that was assigned beforehand, leave it "
        "out with --drop 'body mass' (in Python data.drop(columns='body mass'))"
    ]
    frame.loc[:29, "body mass"] = None
    assert len(datasets.reproduced_by(datasets.recognise(frame).columns, labels)) == 1
    assert datasets.reproduced_by(datasets.recognise(frame).columns, np.zeros(60, dtype=int)) == []


def test_wide_and_long_tables_are_recognised_fast_enough_to_be_tests():
    """Columns are compared without going through all pairs of them, cell by cell."""
    rng = np.random.default_rng(1)
    wide = rng.integers(2, size=(100, 400))
    assert set(kinds_of(datasets.recognise(wide)).values()) == {"binary"}
    assert len(datasets.recognise(rng.normal(size=(20_000, 20))).columns) == 20


def test_cells_far_out_make_no_copies():
    """Two columns that share a word for missing, such as 99999999, are no copies of each other."""
    columns = np.random.default_rng(1).uniform(size=(60, 2))
    columns[[3, 17]] = 99999999.0
    assert datasets.recognise(columns).left_out == []
    columns[:, 1] = 2.54 * columns[:, 0]
    assert datasets.recognise(columns).left_out == ["1"]
