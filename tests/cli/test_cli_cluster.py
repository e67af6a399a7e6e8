"""``copartition cluster``: from a file to clusters, on the command line."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import copartition as cp
from conftest import hear_interrupts
from copartition import datasets
from copartition.cli import main
from copartition.cli.cluster import beside

QUICK = ["--effort", "0.01", "--threads", "1"]
HEADER = ["name", "species", "island", "bill", "weight", "eggs", "seen", "when"]


def call(*arguments):
    return CliRunner().invoke(main, ["cluster", *map(str, arguments)])


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    """Sixty birds in two groups; some cells are missing."""
    rng = np.random.default_rng(1)
    path = tmp_path_factory.mktemp("data") / "birds.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for i in range(60):
            group = i % 2
            bill = "?" if i == 5 else f"{40 + 8 * group + rng.normal():.2f}"
            weight = f"{4000 + 900 * group + 100 * rng.normal():.1f}"
            island = "" if i == 7 else ["Biscoe", "Dream", "Torgersen"][rng.integers(3)]
            eggs, seen = str(rng.poisson(1 + 3 * group)), "NA" if i == 9 else str(rng.integers(2))
            row = [f"bird {i}", ["Adelie", "Gentoo"][group], island, bill, weight, eggs, seen, f"2020-01-{i % 28 + 1}"]
            writer.writerow(row)
    return path


@pytest.fixture(scope="module")
def answer(birds, tmp_path_factory):
    """What one run prints, and writes."""
    folder = tmp_path_factory.mktemp("answer")
    done = call(birds, "--id", "name", "--drop", "species", "--missing", "?", "-o", folder / "o.csv", *QUICK)
    return done, folder / "o.csv"


def test_it_is_the_first_command_and_a_person_is_told_what_to_try():
    done = CliRunner().invoke(main, ["--help"])
    lines = done.output.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Commands:") + 1 :]]
    assert listed == ["cluster", "estimate", "ask", "report", "export", "compare", "tune", "meet"]
    assert lines[2].strip().startswith("Find the clusters of a table or a network")
    assert "First try: copartition cluster --example faithful" in done.output
    assert "First try: copartition cluster --example faithful" in call("--help").output


def test_it_says_what_it_recognised_then_the_answer(answer, birds):
    done, _ = answer
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == f"{birds}: 60 rows, 5 columns to cluster by"
    assert lines[1:9] == [
        "  island: 3 categories, 1 missing",
        "  bill: numbers, 1 missing",
        "  weight: numbers",
        "  eggs: counts",
        "  seen: yes or no, 1 missing",
        "  left out: name (names of the rows)",
        "  left out: species (as asked)",
        "  left out: when (dates or times, such as '2020-01-1')",
    ]
    assert lines[10].startswith(("UNBIASED: ", "APPROXIMATE: ", "UNSETTLED: "))
    assert "2 clusters" in lines[10]


def test_the_table_is_written_as_it_stands_with_clusters_beside(answer, birds):
    _, path = answer
    with birds.open(newline="") as file:
        given = list(csv.reader(file))
    with path.open(newline="") as file:
        found = list(csv.reader(file))
    assert [row[: len(HEADER)] for row in found] == given
    assert found[0][len(HEADER) :] == ["cluster", "certainty", "undecided", "probability_0", "probability_1"]
    frame = pd.read_csv(path)
    assert set(frame["undecided"]) <= {True, False}
    groups = frame.groupby("species")["cluster"].agg(lambda labels: labels.mode()[0])
    assert (frame["cluster"] == frame["species"].map(groups)).mean() > 0.9
    assert frame["cluster"].value_counts().index.tolist() == [0, 1] or frame["cluster"].nunique() == 2


def test_parquet_and_json_and_page_hold_what_the_package_gives(birds, tmp_path):
    paths = tmp_path / "o.parquet", tmp_path / "page.html"
    options = ["--id", "name", "--drop", "species,when", "--missing", "?", "--json", "--seed", "3"]
    done = call(birds, *options, "-o", paths[0], "--report", paths[1], *QUICK)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    frame = pd.read_csv(birds, na_values=["?"]).set_index("name").drop(columns=["species", "when"])
    c = cp.cluster(frame, effort=0.01, seed=3, executor=1)
    assert found["grade"] == c.grade
    assert found["labels"] == c.labels.tolist()
    assert found["names"] == [f"bird {i}" for i in range(60)]
    np.testing.assert_array_equal(found["certainty"], c.certainty)
    assert f"{birds}: 60 rows" in done.stderr
    table = pd.read_parquet(paths[0])
    assert table.columns[: len(HEADER)].tolist() == HEADER
    assert table["cluster"].tolist() == found["labels"]
    assert table["eggs"].dtype == np.int64
    assert table["weight"].dtype == np.float64
    assert "<title>birds.csv" in paths[1].read_text(encoding="utf-8")


def test_columns_kinds_and_components_are_chosen(birds):
    done = call(birds, "--columns", "weight,eggs", "--as", "eggs=number", "--component", "diagonal", *QUICK)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[1:4] == ["  weight: numbers", "  eggs: numbers", ""]
    assert "a variance of its own" in done.stdout
    again = call(birds, "--columns", "weight,eggs", "--as", "eggs=number", "--component", "nig", *QUICK)
    assert again.stdout == done.stdout  # by the name that it has in other commands


def test_own_columns_keep_their_names():
    c = type("Answer", (), {})()
    c.labels, c.certainty, c.undecided = np.array([0, 1]), np.array([0.9, 0.4]), np.array([False, True])
    c.probabilities, c.sizes = np.array([[0.9, 0.1], [0.3, 0.4]]), np.array([1, 1])
    columns = [("", ["a", "b"]), ("cluster", [1, 2]), ("x", ["1.50", None]), ("x", [3, 4])]
    found = beside(columns, c)
    assert list(found) == [
        "", "cluster", "x", "x [3]", "copartition_cluster", "certainty", "undecided", "probability_0", "probability_1",
    ]  # fmt: skip
    assert found["x"].tolist() == ["1.50", None]


@pytest.mark.parametrize("name", ["faithful", "galaxies"])
def test_examples(name):
    done = call("--example", name, "--component", "diagonal", "--effort", "0.001")
    assert done.exit_code == 0, done.output
    assert ("eruptions: numbers" if name == "faithful" else "velocity: numbers") in done.stdout


def test_networks(tmp_path):
    path = tmp_path / "two.edges"
    edges = [(i, j) for first in (0, 6) for i in range(first, first + 6) for j in range(first, i)]
    path.write_text("\n".join([*[f"{i} {j}" for i, j in edges], "0 6"]))
    done = call(path, "-o", tmp_path / "o.csv", *QUICK)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].startswith(f"{path}: 12 vertices, 31 edges")
    found = pd.read_csv(tmp_path / "o.csv")
    assert found.columns[:2].tolist() == ["vertex", "cluster"]
    assert found.groupby("cluster")["vertex"].apply(set).tolist() in (
        [set(range(6)), set(range(6, 12))],
        [set(range(6, 12)), set(range(6))],
    )
    refused = call(path, "--component", "full")
    assert refused.exit_code == 2
    assert refused.output == f"Error: --component goes with tables, and {str(path)!r} is a network.\n"


def test_cells_of_annotated_data(tmp_path):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(1)
    table = rng.normal(size=(24, 3)) + 8 * (np.arange(24) % 2)[:, None]
    adata = anndata.AnnData(table, pd.DataFrame(index=[f"cell{i}" for i in range(24)]), obsm={"X_pca": table})
    adata.var_names = ["geneA", "geneB", "geneC"]
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    done = call(path, "--n-pcs", "2", "--component", "diagonal", "-o", tmp_path / "o.csv", *QUICK)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[:3] == [
        f"{path}, X_pca: 24 rows, 2 columns to cluster by",
        "  PC1: numbers",
        "  PC2: numbers",
    ]
    found = pd.read_csv(tmp_path / "o.csv")
    assert found["cell"].tolist() == [f"cell{i}" for i in range(24)]
    assert np.all(np.abs(np.diff(found["cluster"])) == 1)
    genes = call(path, "--rep", "X", "--component", "diagonal", *QUICK)
    assert "  geneB: numbers" in genes.stdout.splitlines()
    assert call(path, "--drop", "PC1").output == (
        f"Error: --drop goes with tables, and {str(path)!r} is an AnnData file; --rep says what is clustered.\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--id", "species"],
            "--id must be a column with different names in all rows, got 'Adelie' in line 2 and line 4 ",
        ),
        (["--id", "island"], "--id must be a column with a name in every row, got none in 'island', line 9."),
        (["--id", "nobody"], "has no column 'nobody'; it has name, species"),
        (["--drop", "nobody"], "has no column 'nobody'; it has name, species"),
        (["--drop", ""], "--drop must be one or more, with commas between, got ''."),
        (["--id", "name", "--drop", "name"], "--id and --drop must name different columns, got 'name' twice."),
        (["--columns", "bill,eggs", "--drop", "eggs"], "--columns must have none of --drop, got 'eggs' in both."),
        (["--columns", "bill,name", "--id", "name"], "--columns must have none of --id, got 'name' in both."),
        (["--drop", "eggs", "--as", "eggs=count"], "--as must be of columns that are clustered by, got 'eggs', which "),
        (["--as", "eggs"], "--as must be COLUMN=KIND, KIND one of number, count"),
        (["--columns", "when"], "expected numbers or categories, got dates or times such as '2020-01-1'"),
        (["--missing", ""], "--missing must be one or more, with commas between, got ''."),
        ([], "line 7, column 'bill': expected a number, as in 59 of 60 cells, got '?'; mend the cell"),
        (
            ["--component", "round"],
            "--component must be 'auto', 'full', 'tied', 'diagonal' or a Component, got 'round'",
        ),
        (["--effort", "0"], "--effort must be"),
        (["--effort", "nan"], "--effort must be"),
        (["--seed", "-1"], "--seed must be"),
        (["--loss", "mean"], "--loss must be vi or binder, got 'mean'."),
        (["--threads", "2", "--processes"], "Give one of --processes and --threads, not both."),
        (["-o", "o.xlsx"], "--output must end in .csv or .parquet, got 'o.xlsx'."),
        (
            ["-o", "nowhere/o.csv"],
            "--output must be the name of a file in a folder that is there, got 'nowhere/o.csv'.",
        ),
        (["--report", ""], "--report must be the name of a file in a folder that is there, got ''."),
        (["-o", "o.csv", "--report", "o.csv"], "--output and --report must be two files, got 'o.csv' twice."),
        (["--rep", "X"], "--rep goes with AnnData files (.h5ad), and "),
        (["--weight", "w"], "--weight goes with networks (.graphml, "),
        (["--example", "faithful"], "Give a file DATA, or --example galaxies or faithful."),
    ],
)
def test_wrong_options_are_one_sentence_and_nothing_is_run(birds, monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    words = [] if not options or "--missing" in options else ["--missing", "?"]
    done = call(birds, *words, *options)
    assert done.exit_code == 2, done.output
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.output
    assert "choosing" not in done.output
    assert "columns to cluster by" not in done.output  # no table before an error of an option
    assert list(tmp_path.iterdir()) == []


def test_columns_of_a_file_are_not_written_over(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["cluster", "copartition_cluster"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = call(tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--component", "diagonal", *QUICK)
    assert done.exit_code == 0, done.output
    assert f"Wrote {tmp_path / 'o.csv'}. Columns beside the data are called copartition_cluster_2 for" in done.output
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "o.csv")[list(frame)], frame)


def test_data_are_not_written_over(birds):
    before = birds.read_bytes()
    for option in ("-o", "--report"):
        done = call(birds, "--missing", "?", option, birds)
        assert done.exit_code == 2
        assert (
            done.output
            == f"Error: {str(birds)!r} holds the data of the run, which would be lost; choose another name.\n"
        )
    assert birds.read_bytes() == before


def test_no_data_and_files_that_are_none(tmp_path):
    assert call().output == "Error: Give a file DATA, or --example galaxies or faithful.\n"
    done = call(tmp_path / "none.csv")
    assert done.exit_code == 2
    assert done.output == f"Error: There is no file {str(tmp_path / 'none.csv')!r}.\n"
    assert call(tmp_path).output == f"Error: {str(tmp_path)!r} is a folder; give a file in it.\n"
    (tmp_path / "empty.csv").write_text("")
    assert call(tmp_path / "empty.csv").output == f"Error: {str(tmp_path / 'empty.csv')!r} is empty.\n"
    (tmp_path / "same.csv").write_text("x,y\n" + "1,2\n" * 12)
    done = call(tmp_path / "same.csv")
    assert done.exit_code == 2
    assert done.output.endswith("left out: x (the same in every row), y (the same in every row).\n")


@pytest.mark.posix
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    """As with ``| head -1``: the program ends, and says nothing."""
    command = [sys.executable, "-m", "copartition.cli", "cluster", "--example", "faithful", "--effort", "0.01"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"faithful" in process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert b"Error" not in said
    assert b"Traceback" not in said


@pytest.mark.posix
def test_a_process_is_interrupted_and_says_what_it_knows(tmp_path):
    """On a terminal, Ctrl-C ends the run: the answer so far is printed and written, and the exit code is 130."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 20, 500)
    spiral = np.column_stack([angle * np.cos(angle), angle * np.sin(angle), angle]) + 0.3 * rng.normal(size=(500, 3))
    np.savetxt(tmp_path / "t.csv", spiral, delimiter=",", header="a,b,c", comments="", fmt="%.4f")
    command = [sys.executable, "-m", "copartition.cli", "cluster", "t.csv", "-o", "o.csv", "--component", "diagonal"]
    import pty  # not everywhere there is

    ours, theirs = pty.openpty()
    begin, seen, is_interrupted = time.monotonic(), b"", False
    process = subprocess.Popen(
        [*command, "--effort", "1000", "--threads", "1"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
        preexec_fn=hear_interrupts,
    )
    os.close(theirs)
    while process.poll() is None and time.monotonic() - begin < 120:
        try:
            seen += os.read(ours, 4096)
        except OSError:
            break
        if not is_interrupted and b"pairs" in seen:
            process.send_signal(signal.SIGINT)
            is_interrupted = True
    assert process.wait(timeout=60) == 130, seen[-2000:]
    said = seen.decode().replace("\r\n", "\n")
    assert "Traceback" not in said
    assert "interrupted" in said
    assert "Wrote o.csv." in said
    assert len(pd.read_csv(tmp_path / "o.csv")) == 500


@pytest.mark.long
def test_results_do_not_depend_on_where_chains_run(birds):
    """Threads, processes, and pairs in this process give the same JSON."""
    base = [birds, "--columns", "weight,eggs", "--component", "diagonal", "--json", "--effort", "0.003"]
    found = [call(*base, *more) for more in (["--threads", "1"], ["--threads", "2"], ["--processes"])]
    assert [done.exit_code for done in found] == [0, 0, 0], found[0].output
    answers = [json.loads(done.stdout) for done in found]
    shares = [one["work"].pop("share_of_budget") for one in answers]
    assert shares == pytest.approx([shares[0]] * 3, rel=1e-12)  # the order in which pieces of work are added up
    assert answers[0] == answers[1] == answers[2]


def test_what_a_file_and_a_frame_give_is_the_same(birds):
    found = datasets.read_kinds(birds, missing=["?"])
    from_frame = datasets.recognise(pd.read_csv(birds, na_values=["?"]))
    assert found.notes == from_frame.notes
    assert found.names == from_frame.names
    assert str(found.columns) == str(from_frame.columns)
