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
        with pytest.raises(ValueError, match="must have an observed cell in every row, got none in row 5"):
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
    last = done.output.strip().splitlines()[-1]
    assert "40 points x 7 column(s) (island: 3 categories, sex: 2 categories, 13 missing" in last
    assert "left out: who" in last
    assert "numbers by nig, because cells are missing" in last
    as_json = CliRunner().invoke(main, [*command, "--prior", "mfm", "--functional", "n_components:3", "--json"])
    assert as_json.exit_code == 0, as_json.output
    assert json.loads(as_json.output)["components"][0] == "P(1 component)"
