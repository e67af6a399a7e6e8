"""The command line, as a person types it."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from click.testing import CliRunner

import copartition as cp
from conftest import hear_interrupts
from copartition import datasets
from copartition.cli import main
from copartition.datasets.tables import row_labels
from copartition.targets.cells import kept_names

FAST = ["--replicates", "40", "--lag", "2"]
SHORT = [*FAST, "--burn-in", "1", "--min-sweeps", "3"]
MODEL = ["--noise-sd", "1", "--mean-sd", "3"]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("name,x,y\na,0.0,1.0\nb,0.1,1.5\nc,5.0,-1.0\nd,5.5,-1.2\n")
    return path


def test_estimate_prints_a_table(table):
    result = call("estimate", table, *MODEL, *SHORT, "--functional", "n_clusters", "--functional", "largest:2")
    assert result.exit_code == 0, result.output
    assert "n_clusters" in result.output
    assert "largest_clusters(2)[1]" in result.output


def test_without_replicates_a_run_stops_by_itself(table, tmp_path):
    asked = ["estimate", table, *MODEL, "--lag", "2", "--burn-in", "1", "--min-sweeps", "40", "--json"]
    made_by = json.loads(call(*asked).stdout)["made_by"]
    assert made_by["wanted"] == 100
    assert made_by["precision"]["by_default"]
    made_by = json.loads(call(*asked, "--keep", "2", "--store", tmp_path / "run.db").stdout)["made_by"]
    assert made_by["wanted"] == 200


def test_json_is_what_the_package_gives(table):
    result = call(
        "estimate", table, "--columns", "x", *MODEL, *SHORT, "--seed", "3", "--functional", "n_clusters", "--json"
    )
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    target = cp.Mixture([0.0, 0.1, 5.0, 5.5], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    e = cp.estimate(
        target, cp.n_clusters(), replicates=int(FAST[1]), lag=2, burn_in=1, min_sweeps=3, seed=3, init="one_cluster"
    )
    assert answer["mean"] == e.mean.tolist()
    assert answer["biased"] is False
    assert answer["made_by"]["seed"] == 3


def test_warnings_of_the_estimate_come_first(table):
    result = call(
        "estimate", table, "--columns", "x", *MODEL, *SHORT, "--replicates", "5", "--functional", "n_clusters"
    )
    target = cp.Mixture([0.0, 0.1, 5.0, 5.5], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    e = cp.estimate(target, cp.n_clusters(), replicates=5, lag=2, burn_in=1, min_sweeps=3, init="one_cluster")
    assert any(warning.startswith("FEW REPLICATES: There are only 5") for warning in e.warnings)
    assert result.stdout.splitlines()[1 : 1 + len(e.warnings)] == e.warnings  # after what was read


def test_meet_and_the_bundled_example():
    result = call("meet", "--example", "galaxies", *FAST)
    assert result.exit_code == 0, result.output
    assert "40 pairs, coupling Path(), 4 split-merge moves a sweep, lag 2" in result.output
    answer = json.loads(call("meet", "--example", "galaxies", *FAST, "--json", "--coupling", "maximal").stdout)
    assert len(answer["meeting_times"]) == 40
    assert answer["coupling"] == "Maximal()"
    assert datasets.galaxies().mean() == pytest.approx(20.8315, abs=1e-3)  # published: 20.83


def test_stores_go_on(table, tmp_path):
    store = tmp_path / "run.db"
    assert call("estimate", table, *MODEL, *SHORT, "--store", store).exit_code == 0
    result = call("estimate", table, *MODEL, *SHORT, "--store", store, "--replicates", "5", "--json")
    assert json.loads(result.stdout)["replicates"] == 5
    other = call("estimate", table, *MODEL, *SHORT, "--store", store, "--lag", "3")
    assert other.exit_code == 2
    assert "belongs to another run: settings is" in other.output


def test_that_a_store_will_hold_no_labels_is_said_before_the_run(table, tmp_path):
    said = "The store will hold no labels: export --clusters needs --keep 16."
    without = call("estimate", table, *MODEL, *SHORT, "--store", tmp_path / "a.db")
    assert without.stderr.splitlines()[0] == said
    assert call("export", tmp_path / "a.db", "--clusters", "-o", tmp_path / "a.csv").exit_code == 2
    together = call("estimate", table, *MODEL, *SHORT, "--store", tmp_path / "b.db", "--functional", "together")
    assert said not in together.output
    assert call("export", tmp_path / "b.db", "--clusters", "-o", tmp_path / "b.csv").exit_code == 0
    assert said not in call("estimate", table, *MODEL, *SHORT).output
    nameless = call("estimate", table, *MODEL, *SHORT, "--store", "")
    assert nameless.exit_code == 2
    assert "--store must be the name of a file, got ''" in nameless.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lag", "0"], "--lag must be a whole number of at least 1, got 0"),
        (["--burn-in", "-1"], "--burn-in must be"),
        (["--min-sweeps", "-1"], "--min-sweeps must be"),
        (["--max-sweeps", "1"], "--max-sweeps"),
        (["--replicates", "0"], "--replicates must be a whole number"),
        (["--target-stderr", "-1"], "--target-stderr must be positive"),
        (["--seed", "-1"], "--seed must be"),
        (["--split-merge", "-1"], "--split-merge must be"),
        (["--joint-updates", "-1"], "--joint-updates -1: "),
        (["--joint-updates", "1:tries=0"], "--joint-updates 1:tries=0: tries of JointUpdates must be"),
        (["--init", "nowhere"], "--init must be"),
        (["--coupling", "path", "--nugget", "2"], "--nugget must be"),
        (["--alpha", "-1"], "--alpha must be positive"),
        (["--noise-sd", "-1"], "--noise-sd must be positive"),
        (["--prior", "finite", "--components", "0"], "--components must be"),
        (["--prior", "mfm", "--gamma", "0"], "--gamma must be positive"),
    ],
)
def test_errors_use_the_names_of_options(table, arguments, message):
    result = call("estimate", table, *MODEL, *SHORT, *arguments)
    assert result.exit_code == 2
    last = result.output.splitlines()[-1]
    assert message in last, last
    assert "_" not in last.replace(str(table), "").replace("one_cluster", ""), last


def test_columns_go_by_their_names_on_the_page_and_in_errors(tmp_path):
    path, page = tmp_path / "birds.csv", tmp_path / "page.html"
    rows = [f"{i % 3}.{i},{i % 4}.5,{'ab'[i % 2]},{i % 5}" for i in range(20)]
    path.write_text("\n".join(["bill,weight,sex,eggs", *rows]))
    made = call("estimate", path, *SHORT, "--store", tmp_path / "run.db", "--component", "nig")
    assert made.exit_code == 0, made.output
    assert call("report", tmp_path / "run.db", "-o", page).exit_code == 0
    assert "bill, weight: In each column" in page.read_text(encoding="utf-8")
    assert "sex: A column of a cluster has probabilities" in page.read_text(encoding="utf-8")
    path.write_text("\n".join(["bill,weight", *[f"{i}.5,7.5" for i in range(9)]]))
    constant = call("estimate", path, "--columns", "bill,weight")
    assert constant.exit_code == 2
    assert "column 'weight' has the same value in every observed cell" in constant.output


def test_other_files(tmp_path, table):
    data = np.array([[0.0, 1.0], [0.1, 1.5], [5.0, -1.0], [5.5, -1.2]])
    np.save(tmp_path / "points.npy", data)
    (tmp_path / "points.tsv").write_text("\n".join("\t".join(map(str, row)) for row in data))
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"x": data[:, 0], "y": data[:, 1]}), tmp_path / "points.parquet")
    for name in ("points.npy", "points.tsv", "points.parquet", "points.csv"):
        assert np.array_equal(datasets.read_table(tmp_path / name), data), name
    assert np.array_equal(datasets.read_table(table, ["y"]), data[:, 1:])
    assert np.array_equal(datasets.read_table(table, ["2"]), data[:, 1:])


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("x,y\n1,2\n,\n", MODEL, "must have an observed cell in every row, got none in line 3; leave such rows out"),
        ("x,y\n1,\n3,NA\n", MODEL, "must have an observed cell in every column, got none in column 'y'"),
        ("x,y\n1,2\n3,abc\n", MODEL, r"line 3, column 'y': expected a number, got 'abc'"),
        ("x,y\n1,2\n3\n", MODEL, "line 3: expected 2 columns, got 1"),
        ("", MODEL, "is empty"),
        ("x,y\n", MODEL, "has a header and no rows"),
        ("x,y\n1,inf\n", MODEL, "data must be finite"),
        ("x,y\n1,2\n", ["--component", "known"], "Give --noise-sd"),
        ("x,y\n1.5,2\n2,3.5\n", [], "covariance of 2 columns and 2 rows is singular, of rank 1; leave columns out"),
        ("x,y\n1.5,a\n2,b\n", ["--as", "y=colour"], "--as must be COLUMN=KIND, KIND one of number, count, binary"),
        ("x,y\n1.5,a\n2,b\n", ["--as", "z=number"], "has no column 'z'; it has x, y"),
        ("x,y\n1.5,a\n2,b\n", ["--as", "y=number"], "column 'y': expected a number, got 'a'"),
        (
            "x,y\n1.5,2\n2,3\n",
            ["--component", "round"],
            "--component must be normal, nig, tied, tied-diagonal, tied-spherical, known, got",
        ),
        ("x,y\n1.5,2\n2,3\n", [*MODEL, "--component", "nig"], "--noise-sd and --mean-sd go with --component known"),
        ("x,y\n1.5,2\n2,3\n", [*MODEL, "--mean-weight", "1"], "--mean-weight does not go with --component known"),
        (
            "x,y\n1.5,2\n2,3\n",
            ["--component", "tied", "--scale", "gamma:2"],
            "--scale must be a number or gamma:SHAPE,RATE",
        ),
        ("x,y\n1.5,2\n2,3\n", ["--mean", "gamma:2,1"], "--mean must be a number or normal:MEAN,SD, got 'gamma:2,1'"),
        (
            "x,y\n1.5,2\n2,3.5\n4,1\n",
            ["--functional", "hyperparameters"],
            "hyperparameters needs a target with unknown hyperparameters",
        ),
        ("x,y\n1.5,2\n2,3\n", ["--prior", "best"], "--prior must be dp, py, mfm, finite, got 'best'"),
        ("x,y\n1.5,2\n2,3\n", ["--discount", "0.5"], "--discount goes with --prior py, not with dp"),
        ("x,y\n1.5,2\n2,3\n", [*MODEL, "--prior", "finite"], "Give --components"),
        ("x,y\n1.5,2\n2,3\n", [*MODEL, "--alpha", "some"], "--alpha must be a number or gamma:SHAPE,RATE, got 'some'"),
        ("x,y\n1.5,2\n2,3\n", [*MODEL, "--alpha", "gamma:-1,2"], "shape must be positive and finite, got -1.0"),
        ("x,y\n1,2\n", [*MODEL, "--columns", "z"], "has no column 'z'; it has x, y"),
        ("x,y\n1,2\n1,3\n", [*MODEL, "--standardize"], "column 'x' is constant"),
        ("x,y\n1,2\n", [*MODEL, "--alpha", "-1"], "alpha must be positive"),
        ("x,y\n1,2\n", [*MODEL, "--coupling", "best"], "--coupling must be path, matched, transport"),
        ("x,y\n1,2\n", [*MODEL, "--coupling", "transport", "--metric", "euclid"], "metric must be 'hamming' or 'vi'"),
        ("x,y\n1,2\n", [*MODEL, "--nugget", "0.1"], "--nugget and --metric go with a --coupling"),
        ("x,y\n1,2\n", [*MODEL, "--split-merge", "some"], "--split-merge must be a whole number or auto, got 'some'"),
        ("x,y\n1,2\n", [*MODEL, "--functional", "variance"], "--functional must be n_clusters"),
        ("x,y\n1,2\n", [*MODEL, "--functional", "largest:x"], "--functional largest:x"),
        ("x,y\n1,2\n", [*MODEL, "--lag", "0"], "lag must be a whole number of at least 1"),
        ("x,y\n1,2\n", [*MODEL, "--init", "kmeans"], "init must be"),
        ("x,y\n1,2\n", [*MODEL, "--example", "galaxies"], "Give either DATA or --example"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(tmp_path, content, arguments, message):
    path = tmp_path / "points.csv"
    path.write_text(content)
    result = call("estimate", path, *arguments)
    assert result.exit_code == 2
    assert re.search(message, result.output), result.output
    assert "Traceback" not in result.output


def test_no_data_and_unknown_kinds_of_files(tmp_path):
    assert call("estimate").exit_code == 2
    assert "There is no file" in call("estimate", tmp_path / "nothing.csv", *MODEL).output
    odd = tmp_path / "points.sav"
    odd.write_text("")
    assert (
        "must be a .csv, .tsv, .txt (also with .gz), .npy, .parquet or .xlsx file"
        in call("estimate", odd, *MODEL).output
    )
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    assert "one or two dimensions" in call("estimate", tmp_path / "cube.npy", *MODEL).output


def test_no_scheduler_at_the_address(table, monkeypatch):
    distributed = pytest.importorskip("distributed")
    client = distributed.Client
    monkeypatch.setattr(distributed, "Client", lambda address, timeout: client(address, timeout=timeout / 20))
    result = call("estimate", table, *MODEL, *SHORT, "--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "no scheduler answers at 'tcp://127.0.0.1:1'" in result.output


@pytest.mark.posix
def test_control_c_on_a_terminal_keeps_what_is_done(tmp_path):
    """A real terminal: the progress bar shows, Ctrl-C stops, and the same command goes on."""
    store = tmp_path / "run.db"
    program = Path(sys.executable).parent / "copartition"
    command = [program, "estimate", "--example", "galaxies", "--replicates", "1000000", "--store", store]
    import pty  # not everywhere there is

    parent, child = pty.openpty()
    command = [str(part) for part in command]
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, preexec_fn=hear_interrupts)
    os.close(child)
    seen = b""
    begin = time.monotonic()
    interrupted = False
    while process.poll() is None and time.monotonic() - begin < 60:
        if select.select([parent], [], [], 0.2)[0]:
            try:
                seen += os.read(parent, 65536)
            except OSError:
                break
        if not interrupted and b"+-" in seen and time.monotonic() - begin > 3:
            process.send_signal(signal.SIGINT)
            interrupted = True
    process.wait(timeout=20)
    assert process.returncode == 130
    assert b"/1000000" in seen
    kept = re.search(rb"Interrupted: (\d+) replicates are kept in", seen.replace(b"\r\n", b" "))
    assert kept, seen[-500:]
    assert len(cp.Estimate.load(store).values) == int(kept.group(1)) > 0


# --- tune, report, export --------------------------------------------------------------------------------------------


PILOT = ["--pairs", "100", "--functional", "n_clusters"]


def test_tune_recommends_what_the_package_does(table):
    answer = call("tune", table, "--columns", "x", *MODEL, *PILOT, "--seed", "3", "--json")
    assert answer.exit_code == 0, answer.output
    target = cp.Mixture([0.0, 0.1, 5.0, 5.5], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    t = cp.tune(target, cp.n_clusters(), pairs=100, seed=3, init="one_cluster")
    found = json.loads(answer.stdout)
    assert (found["lag"], found["burn_in"], found["min_sweeps"]) == (t.lag, t.burn_in, t.min_sweeps)
    words = call("tune", table, "--columns", "x", *MODEL, *PILOT, "--seed", "3", "--stderr", "0.01")
    wanted = t.replicates_for(0.01)
    settings = f"--lag {t.lag} --burn-in {t.burn_in} --min-sweeps {t.min_sweeps}"
    assert (
        f"{settings} --coupling path --split-merge {t.split_merge} --init one_cluster --replicates {wanted}"
        in words.output
    )


def test_tune_says_when_pairs_do_not_meet(table):
    result = call("tune", table, *MODEL, *PILOT, "--coupling", "independent", "--max-sweeps", "1")
    assert result.exit_code == 2
    # Before it there may be lines that say how far the run has got, where it is slow.
    *said, last = result.output.splitlines()
    assert last.startswith("Error: ")
    assert "--max-sweeps" in last
    assert all(line.startswith(("data: ", "chains: ")) for line in said)


def test_estimate_tuned_and_to_a_precision(table):
    options = ["--columns", "x", *MODEL, "--functional", "n_clusters", "--tune", "--target-stderr", "0.05", "--json"]
    result = call("estimate", table, *options)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["stderr"][0] <= 0.05
    assert answer["made_by"]["precision"]["reached"]
    assert answer["made_by"]["settings"]["min_sweeps"] >= 20 * answer["made_by"]["settings"]["burn_in"]


@pytest.mark.parametrize(("options", "executor"), [([], None), (["--threads", "2"], 2), (["--processes"], "processes")])
def test_pilot_and_estimate_run_where_they_are_told_to(table, monkeypatch, options, executor):
    told = []

    def keep(run):
        def kept(*arguments, **named):
            told.append((run.__name__, named["executor"]))
            return run(*arguments, **(named | {"executor": 1}))

        return kept

    for run in (cp.tune, cp.estimate):
        monkeypatch.setattr(cp, run.__name__, keep(run))
    wanted = ["--columns", "x", *MODEL, "--functional", "n_clusters", "--replicates", "3", "--tune"]
    result = call("estimate", table, *wanted, *options)
    assert result.exit_code == 0, result.output
    assert told == [("tune", executor), ("estimate", executor)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--threads", "0"], "'--threads': 0 is not in the range"),
        (["--threads", "2", "--processes"], "Give one of --dask, --processes and --threads, not several"),
    ],
)
def test_places_that_make_no_sense_are_refused(table, options, message):
    result = call("estimate", table, *MODEL, *SHORT, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


@pytest.fixture
def run(table, tmp_path):
    path = tmp_path / "run <b>.db"
    wanted = ["--functional", "n_clusters", "--functional", "together"]
    assert call("estimate", table, *MODEL, *SHORT, *wanted, "--store", path).exit_code == 0
    return path


@pytest.fixture
def kept(table, tmp_path):
    path = tmp_path / "kept.db"
    result = call("estimate", table, *MODEL, *SHORT, "--replicates", "120", "--keep", "2", "--store", path)
    assert result.exit_code == 0, result.output
    return path


def test_a_run_that_kept_partitions_is_asked_afterwards(table, kept, tmp_path):
    wanted = ["--functional", "together:a,d", "--functional", "n_clusters:2"]
    result = call("ask", kept, *wanted, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    data = [[0.0, 1.0], [0.1, 1.5], [5.0, -1.0], [5.5, -1.2]]
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    d = cp.WeightedPartitions.load(kept, target)
    assert answer["mean"] == pytest.approx(d.expect([cp.co_clustering([0, 3]), cp.n_clusters(2)]).mean.tolist())
    assert answer["components"][0] == "together[a, d]"
    assert answer["biased"] is False
    printed = call("ask", kept, *wanted)
    assert "(2 kept partitions of each)" in printed.output
    assert "Without the data" not in printed.output


def test_the_posterior_is_made_again_from_its_data(tmp_path):
    path, store = tmp_path / "x.csv", tmp_path / "run.db"
    path.write_text("x\n0.0\n0.1\n5.0\n5.5\n")
    assert call("estimate", path, *MODEL, *SHORT, "--keep", "2", "--store", store, "--as", "x=number").exit_code == 0
    result = call("ask", store, "--functional", "density:0:5:2", "--json")
    target = cp.Mixture([0.0, 0.1, 5.0, 5.5], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    d = cp.WeightedPartitions(cp.Estimate.load(store), target)
    assert json.loads(result.stdout)["mean"] == d.expect(cp.predictive_density([0.0, 5.0])).mean.tolist()
    (tmp_path / "elsewhere").mkdir()
    path.rename(tmp_path / "elsewhere" / "x.csv")
    store.rename(tmp_path / "elsewhere" / "run.db")
    moved = call("ask", tmp_path / "elsewhere" / "run.db", "--functional", "density:0:5:2", "--json")
    assert moved.stdout == result.stdout
    (tmp_path / "elsewhere" / "x.csv").write_text("x\n0.0\n0.1\n5.0\n5.6\n")
    changed = call("ask", tmp_path / "elsewhere" / "run.db", "--functional", "density:0:5:2")
    assert changed.exit_code == 2
    assert changed.stderr.splitlines()[0].startswith("Without the data, which are gone, have changed")
    assert "predictive_density asks the posterior, which a file does not hold" in changed.stderr
    assert call("ask", tmp_path / "elsewhere" / "run.db", "--functional", "n_clusters").exit_code == 0


def test_what_was_not_asked_for_is_exported_and_shown(kept, tmp_path):
    clusters = tmp_path / "clusters.csv"
    assert call("export", kept, "--clusters", "-o", clusters).exit_code == 0
    table = pd.read_csv(clusters)
    assert table["point"].tolist() == ["a", "b", "c", "d"]
    assert table["cluster"].tolist() == [0, 0, 1, 1]
    assert list(table.columns[4:]) == ["name", "x", "y"]
    assert call("export", kept, "--pairs", "-o", tmp_path / "pairs.csv").exit_code == 0
    assert len(pd.read_csv(tmp_path / "pairs.csv")) == 6
    assert call("export", kept, "--partitions", "-o", tmp_path / "all.csv").exit_code == 0
    every = pd.read_csv(tmp_path / "all.csv")
    assert list(every.columns) == ["replicate", "weight", "a", "b", "c", "d"]
    assert np.allclose(every.groupby("replicate")["weight"].sum(), 1.0)
    page = tmp_path / "page.html"
    assert call("report", kept, "-o", page, "--functional", "together:a,b").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "Number of clusters" in text
    assert "Which points are together" in text
    assert "largest_clusters(3)[0]" in text


def test_a_run_about_some_points_is_exported_and_shown_with_all(table, tmp_path):
    store, page = tmp_path / "some.db", tmp_path / "page.html"
    about = ["--functional", "together:a,b", "--functional", "n_clusters"]
    assert call("estimate", table, *MODEL, *SHORT, *about, "--keep", "2", "--store", store).exit_code == 0
    for what, rows in (("clusters", 4), ("pairs", 6)):
        assert call("export", store, f"--{what}", "-o", tmp_path / "out.csv").exit_code == 0
        assert len(pd.read_csv(tmp_path / "out.csv")) == rows
    result = call("report", store, "-o", page, "--functional", "together:a,d", "--functional", "n_clusters")
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "together[a, d]" in text
    assert text.count("<td>n_clusters</td>") <= 1  # which the run estimated from all sweeps


def test_data_beside_the_store_are_found_whatever_has_their_name_here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "x.csv").write_text("x\n0.0\n0.1\n5.0\n5.5\n")
    (tmp_path / "here" / "x.csv").write_text("x\n7.0\n8.0\n")
    monkeypatch.chdir(tmp_path)
    assert call("estimate", "x.csv", *MODEL, *SHORT, "--keep", "2", "--store", "run.db").exit_code == 0
    monkeypatch.chdir(tmp_path / "here")
    result = call("ask", tmp_path / "run.db", "--functional", "density:0:5:2")
    assert result.exit_code == 0, result.output


def test_partitions_need_a_store_and_a_run_that_kept_them(table, run, tmp_path):
    without = call("estimate", table, *MODEL, *SHORT, "--keep", "2")
    assert without.exit_code == 2
    assert "--keep goes with --store" in without.output
    plain = tmp_path / "plain.db"
    assert call("estimate", table, *MODEL, *SHORT, "--store", plain).exit_code == 0
    for arguments in (["ask", plain], ["report", plain, "--functional", "n_clusters", "-o", tmp_path / "x.html"]):
        refused = call(*arguments)
        assert refused.exit_code == 2
        assert "--keep" in refused.output


def test_report_of_a_run(run, tmp_path):
    page = tmp_path / "report.html"
    result = call("report", run, "-o", page)
    assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "run &lt;b&gt;.db" in text
    assert "<b>" not in text
    assert call("report", run, "-o", page, "--title", "My cells").exit_code == 0
    assert "<h1>My cells</h1>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "parquet", "nc"])
def test_export_of_a_run(run, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    result = call("export", run, "-o", path)
    assert result.exit_code == 0, result.output
    expected = cp.Estimate.load(run).select("n_clusters").values[:, 0]
    if ending == "nc":
        tree = pytest.importorskip("h5netcdf").File(path)
        assert np.array_equal(tree["replicates"]["n_clusters"][:], expected)
        assert tree["replicates"]["co_clustering"].shape == (40, 6)
    else:
        table = getattr(pd, f"read_{ending}")(path)
        assert np.array_equal(table["n_clusters"], expected)
        assert table["met"].all()


@pytest.fixture
def cars(tmp_path):
    """Rows with names and a column called as one of the export, in a store beside the file."""
    path = tmp_path / "cars.csv"
    path.write_text("model,speed,cluster\nFiat,1.10,7\nVolvo,1.2,8\nAudi,9.0,\nOpel,9.1,5\n")
    wanted = ["--columns", "speed", "--functional", "together", "--store", tmp_path / "run.db"]
    assert call("estimate", path, *MODEL, *SHORT, *wanted).exit_code == 0
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_clusters_of_a_table_have_names_and_the_columns_of_the_file(cars, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    result = call("export", tmp_path / "run.db", "-o", out, "--clusters")
    assert result.exit_code == 0, result.output
    found = getattr(pd, f"read_{ending}")(out)
    assert list(found) == ["point", "cluster", "belongs", "belongs_stderr", "model", "speed", "cluster [2]"]
    assert found["point"].tolist() == found["model"].tolist() == ["Fiat", "Volvo", "Audi", "Opel"]
    assert found["cluster"].tolist() == [0, 0, 1, 1]
    assert found["speed"].tolist() == [1.1, 1.2, 9.0, 9.1]
    if ending == "csv":
        assert "Fiat,1.10,7\n" in out.read_text(encoding="utf-8").replace("\r", "")  # as it stands in the file


@pytest.mark.parametrize("command", [["export", "--clusters"], ["export"], ["report"]])
@pytest.mark.parametrize("is_copy", [False, True])
def test_results_are_not_written_over_the_data(cars, tmp_path, monkeypatch, command, is_copy):
    monkeypatch.chdir(tmp_path)
    before = cars.read_bytes()
    if is_copy:  # the same data, elsewhere
        cars = cars.rename(tmp_path / "other.csv")
    result = call(*command, "run.db", "-o", cars.name)
    assert result.exit_code == 2
    assert f"Error: '{cars.name}' holds the data of the run, which would be lost; choose another name." in result.output
    assert cars.read_bytes() == before
    if not is_copy:  # nor over what they have become
        cars.write_text("model,speed\nSeat,1\n")
        assert call(*command, "run.db", "-o", cars.name).exit_code == 2
        assert cars.read_text() == "model,speed\nSeat,1\n"


@pytest.mark.parametrize(
    ("text", "note", "points", "index"),
    [
        (",x\n0,1.1\n1,1.2\n0,9.0\n1,9.1\n", "not all different", [0, 1, 2, 3], ["0", "1", "0", "1"]),
        (",x\na,1.1\nNA,1.2\nc,9.0\nd,9.1\n", "missing in some rows", [0, 1, 2, 3], ["a", "NA", "c", "d"]),
        ("who,x\na,1.1\nNA,1.2\nc,9.0\nd,9.1\n", "missing in some rows", [0, 1, 2, 3], None),
        (",x\n007,1.1\n2,1.2\n3,9.0\n4,9.1\n", "", ["007", 2, 3, 4], None),
        (",x\n5,1.1\n2,1.2\n3,9.0\n4,9.1\n", "", [5, 2, 3, 4], None),
        (",x,\n0,1.1,\n1,1.2,\n2,9.0,\n3,9.1,\n", "", [0, 1, 2, 3], None),
        ("x,y\n1.1,5\n1.2,5\n9.0,6\n9.1,6\n", "", [0, 1, 2, 3], None),
    ],
)
def test_names_of_rows_that_cannot_name_points_are_kept_beside_them(tmp_path, text, note, points, index):
    (tmp_path / "t.csv").write_text(text)
    wanted = ["--columns", "x", "--functional", "together", "--store", tmp_path / "run.db"]
    result = call("estimate", tmp_path / "t.csv", *MODEL, *SHORT, *wanted)
    assert result.exit_code == 0, result.output
    assert result.output.count("points go by row number") == bool(note)
    assert not note or f"; row names are {note}: points go by row number from 0\n" in result.output
    assert call("export", tmp_path / "run.db", "-o", tmp_path / "out.csv", "--clusters").exit_code == 0
    found = pd.read_csv(tmp_path / "out.csv", dtype={"index": str, "point": str}, keep_default_na=False)
    assert found["point"].tolist() == [str(point) for point in points]
    assert (found["index"].tolist() if "index" in found else None) == index


def test_columns_of_another_file_are_not_taken_for_those_of_the_run(cars, tmp_path):
    cars.write_text(cars.read_text().replace("Fiat", "Seat"))
    result = call("export", tmp_path / "run.db", "-o", tmp_path / "out.csv", "--clusters")
    assert result.exit_code == 0
    assert f"Without the columns of {str(cars)!r}: it is gone, or has changed." in result.output
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["point", "cluster", "belongs", "belongs_stderr"]
    assert found["point"].tolist() == ["Fiat", "Volvo", "Audi", "Opel"]
    again = call(
        "estimate",
        cars,
        *MODEL,
        *SHORT,
        "--columns",
        "speed",
        "--functional",
        "together",
        "--store",
        tmp_path / "run.db",
    )  # the numbers are the same, but the names are not
    assert again.exit_code == 2
    assert "belongs to another run" in again.output


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (",x\n7,1\n3,2\n5,9\n", [7, 3, 5]),
        (",x\n0,1\n1,2\n2,9\n", None),
        ("x,y\n7,1\n3,2\n5,9\n", None),
        ("x,who\n7,a\n3,b\n5,a\n", None),
        ("x,who\n7,a\n3,b\n5,c\n", ["a", "b", "c"]),
    ],
)
def test_names_of_rows(tmp_path, text, names):
    (tmp_path / "t.csv").write_text(text)
    found = row_labels(tmp_path / "t.csv")
    assert (None if found is None else kept_names(found)) == names


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_export_of_pairs(run, tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    result = call("export", run, "-o", path, "--pairs")
    assert result.exit_code == 0, result.output
    expected = cp.Estimate.load(run).select("co_clustering").mean
    if ending == "npz":
        matrix = scipy.sparse.load_npz(path).toarray()
        assert np.allclose(matrix[np.triu_indices(4, 1)], expected, rtol=1e-6)
        assert np.load(path)["names"].tolist() == ["a", "b", "c", "d"]
    else:
        table = getattr(pd, f"read_{ending}")(path)
        assert list(table) == ["i", "j", "mean", "stderr"]
        assert (table["i"] + table["j"]).tolist() == ["ab", "ac", "ad", "bc", "bd", "cd"]
        assert np.array_equal(table["mean"], expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "nowhere.db"], "There is no store at 'nowhere.db'"),
        (["report", "RUN", "-o", "/nowhere/report.html"], "'/nowhere/report.html' cannot be written: No such file"),
        (["export", "RUN", "-o", "/nowhere/run.csv"], "'/nowhere/run.csv' cannot be written: No such file"),
        (["export", "RUN", "-o", "run.xls"], "'run.xls' must end in .csv, .parquet, .nc"),
        (["export", "RUN", "-o", "run.nc", "--summary"], "write summary as CSV or Parquet"),
        (["export", "RUN", "-o", "run.npz", "--summary"], ".npz holds pairs; write the summary as CSV or Parquet"),
    ],
)
def test_mistakes_with_runs_are_one_line(run, arguments, message):
    result = call(*[str(run) if argument == "RUN" else argument for argument in arguments])
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_a_run_that_has_hardly_begun_has_no_page(table, tmp_path):
    path = tmp_path / "run.db"
    options = ["--replicates", "1", "--lag", "1", "--burn-in", "1", "--min-sweeps", "3", "--store", path]
    assert call("estimate", table, *MODEL, *options).exit_code == 0
    result = call("report", path, "-o", tmp_path / "report.html")
    assert result.exit_code == 2
    assert "must hold at least two replicates, got 1" in result.output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            ["--component", "normal"],
            "--component normal needs every cell, and column 'y' lacks 1: take --component nig,",
        ),
        (
            ["--component", "tied"],
            "--component tied needs every cell, and column 'y' lacks 1: take --component tied-dia",
        ),
        (["--prior", "mfm", "--components", "9" * 23], f"--components must be 1 to 1,000,000, got {'9' * 23}."),
        (["--prior", "mfm", "--components", "0"], "--components must be 1 to 1,000,000, got 0."),
        (["--prior", "finite", "--components", "-1"], "--components must be 1 to 1,000,000, got -1."),
        (["--alpha", "gamma:-1,2"], "--alpha gamma:-1,2: shape must be"),
        (["--mean-weight", "loguniform:2,1"], "--mean-weight loguniform:2,1: "),
        (["--columns", "y"], "got none in line 4;"),  # of the file
        (["--columns", "y", *MODEL], "got none in line 4;"),
        (["--columns", "x", "--as", "x=count"], "'x' for Poisson, got 0.5 in line 3."),
        (["--columns", "x", "--as", "x=binary"], "'x' for Bernoulli, got 0.5 in line 3."),
    ],
)
def test_sentences_speak_of_options_and_of_rows_as_files_have_them(tmp_path, given, message):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n0,1.5\n0.5,2.5\n5.5,\n6.5,3.5\n")
    done = call("meet", path, "--replicates", "2", *given)
    assert done.exit_code == 2, done.output
    assert message in done.output
