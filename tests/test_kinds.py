"""What columns of a file are taken for, and commands that make a model of them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import copartition as cp
from copartition import datasets
from copartition.cli import main
from copartition.cli.posterior import posterior_of

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
        with pytest.raises(ValueError, match="must have an observed cell in every row, got none in row 6"):
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
    assert "left out: who (text, 40 of 40 cells different, such as 'bird0')" in first
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
        ((["5.5"] * 9 + ["x"]) * 10, 10, "as in 90 of 100 cells, got 'x'"),
        (["1", "2", "2", "?"] * 50, 4, "as in 150 of 200 cells, got '?'"),  # half and more, and one other word
        ([*["0", "1"] * 20, "", "O"], 42, "as in 40 of 41 cells, got 'O'"),
        (["2020_01", "1", "2", "3"], 1, "got '2020_01'"),  # Python reads it as 202001
    ],
)
def test_a_spoilt_cell_makes_no_categories(tmp_path, cells, row, said):
    """A column of numbers with one cell ``?`` was a column of 200 categories."""
    path = write_column(tmp_path, cells)
    with pytest.raises(ValueError, match=f"table.csv', row {row}, column 'column': expected a number") as caught:
        datasets.read_kinds(path)
    assert said in str(caught.value)
    word = next(cell for cell in cells if cell and said.endswith(f"got {cell!r}"))
    found = datasets.read_kinds(path, missing=[word]).columns[1]
    assert found.kind != "category"
    assert found.n_missing == sum(cell in ("", word) for cell in cells)
    assert datasets.read_kinds(path, kinds={"column": "category"}).columns[1].kind == "category"
    with pytest.raises(ValueError, match=f"row {row}, column 'column': expected a number"):
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
            ValueError, match="row 3, column 'column': expected a number, as in 20 of 40 cells, got 'x'"
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
    assert datasets.read_kinds(path).notes == ["left out: id (row numbers)"]
    assert datasets.read_columns(path).left_out == ["id"]
    assert datasets.read_table(path, ["id"])[:, 0].tolist() == list(range(1, 13))


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
        f"Error: {str(path)!r}, row 8, column 'power': expected a number, as in 39 of 40 cells, got '?'; mend the "
        "cell, let it be missing (--missing '?', in Python missing=['?']), or say what the column is (--as "
        "power=category, in Python kinds={'power': 'category'}; skip leaves it out).\n"
    )
    done = CliRunner().invoke(main, [*command, "--missing", "?,-999"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[0] == (
        f"data: {path}, 40 points x 2 column(s) (weight: numbers, power: numbers, 1 missing); left out: car (text, 40 "
        "of 40 cells different, such as 'car 0'); left out: sold (dates or times, such as '2020-01-01'); numbers by "
        "nig, because cells are missing"
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
    with pytest.raises(ValueError, match="row 1, column 'column': expected a number, as in 171 of 200 cells") as caught:
        datasets.read_kinds(write_column(tmp_path, cells))
    assert "(--missing '?,-,unknown,n.a.', in Python missing=['?', '-', 'unknown', 'n.a.'])" in str(caught.value)
    assert datasets.read_kinds(write_column(tmp_path, cells), missing=words).columns[1].n_missing == 29
    more = [f"{i}, or" if i % 7 == 0 else cell for i, cell in enumerate(NUMBERS)]
    with pytest.raises(ValueError, match=r"missing \(in Python missing=\['0, or', .*'28, or'\] and 24 more\)"):
        datasets.read_columns(write_column(tmp_path, [f'"{cell}"' for cell in more]))
