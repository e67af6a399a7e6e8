"""Any bytes in a table and any words on the command line: an answer, or exit code 2 and one sentence."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from copartition.cli import main

SHORT = ["--replicates", "2", "--lag", "1", "--burn-in", "0", "--min-sweeps", "2", "--max-sweeps", "20"]
KNOWN = ["--noise-sd", "1", "--mean-sd", "3"]
ENDINGS = ["csv", "tsv", "txt", "csv.gz", "npy", "parquet", "xlsx", "h5ad", "edges", "gml", "graphml"]
bounded = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def check(arguments):
    """Run a command, and check how it ended; return its exit code."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{arguments}: {result.exception!r}") from result.exception
    assert result.exit_code in (0, 2), result.output
    if result.exit_code == 2:
        lines = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1, result.output
        assert len(lines[0]) < 2000, result.output
        assert "Traceback" not in result.output
    return result.exit_code


def run_on(content, ending, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        path.write_bytes(content)
        return check(["meet", str(path), "--replicates", "2", "--lag", "1", "--max-sweeps", "20", *arguments])


CELLS = st.one_of(
    st.sampled_from(
        ["", "0", "1", "2.5", "-3", "NA", "?", "-", "1e400", "inf", "1_0", '"', "a", "b", "é", "2020-01-31"]
    ),
    st.floats(allow_nan=True).map(repr),
    st.text(max_size=5),
)
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=8))


@bounded
@given(st.binary(max_size=200), st.sampled_from(ENDINGS))
@example(b"\x1f\x8b\x08", "csv")
@example("x,y\n1,é".encode("latin-1"), "csv")
@example("x,y\n1,2".encode("utf-16"), "csv")
@example(b'x,y\n1,"', "csv")
@example(b"x\n" + b"1" * 140_000, "csv")
@example(b"\x93NUMPY", "npy")
@example(b"", "npy")
@example(b"PAR1", "parquet")
@example(b"PK\x03\x04", "xlsx")
def test_any_bytes_in_a_file(content, ending):
    run_on(content, ending, [])


@bounded
@given(
    TABLES, st.sampled_from([",", ";", "\t"]), st.sampled_from([[], KNOWN, ["--component", "nig"], ["--standardize"]])
)
@example([["x"], ["1e308"], ["-1e308"], ["1"]], ",", ["--standardize"])
@example([["x"], ["1e308"], ["-1e308"], ["1"]], ",", [])
@example([["1e400", "0.0"]], ",", [])
@example([["x", "y"], ["1", "2"], ["1e200", "3"], ["5", "-1e200"]], ",", [])
def test_any_cells_in_a_table(rows, separator, arguments):
    text = "\n".join(separator.join(row) for row in rows)
    run_on(text.encode("utf-8", "surrogatepass"), "tsv" if separator == "\t" else "csv", arguments)


GOOD = b"x,y,sex\n1.5,2.5,a\n2.5,0.5,b\n7.5,8,a\n8.5,9.5,b\n8,9,a\n"
OPTIONS = [
    "--columns", "--as", "--missing", "--component", "--mean-weight", "--scale", "--noise-sd", "--mean-sd", "--mean",
    "--prior", "--alpha", "--discount", "--components", "--gamma", "--coupling", "--split-merge", "--joint-updates",
    "--metric", "--nugget", "--init", "--seed", "--lag", "--replicates",
    "--rep", "--n-pcs", "--functional", "--target-stderr", "--burn-in", "--threads", "--rate", "--kinds",
]  # fmt: skip
WORDS = [
    "", "0", "1", "2", "-1", "0.5", "nan", "inf", "1e400", "-1e400", "x", "y", "sex", "x,y", "x,x", ",", "x=number",
    "=", "sex=number", "sex=category", "gamma:2,4", "gamma:,", "gamma:-1,nan", "normal:0,1", "beta:1,1", ":", "auto",
    "nig", "known", "tied", "mfm", "py", "finite", "path", "transport", "vi", "prior", "singletons", "together:0,0",
    "together:", "together:0,99", "density:0:1:3", "density:nan:1:3", "largest:3", "largest:-1", "n_clusters:0",
    "2:points=0-3", "2:points=3-0", "2:points=0-99999999999999", "2:points=1-2-3", "2:tries=0", "²", "1_000",
]  # fmt: skip
VALUES = st.one_of(st.sampled_from(WORDS), st.integers(-3, 5).map(str), st.text(max_size=6))


@bounded
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "", "="]), st.sampled_from(OPTIONS), VALUES), max_size=3))
def test_any_models_that_are_compared(models):
    words = [word for name, *pair in models for word in ("--model", f"{name}={shlex.join(pair)}")]
    if any("\0" in word for word in words):  # no shell can pass it on
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(GOOD)
        check(["compare", str(path), "--stderr", "5", "--max-sweeps", "30", *words])


@bounded
@given(st.sampled_from(["estimate", "meet", "tune"]), st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), max_size=4))
@example("estimate", [("--functional", "density:0:1:3"), ("--columns", "x")])
@example("estimate", [("--joint-updates", "2:points=0-99999999999999")])
def test_any_words_on_the_command_line(command, options):
    words = [word for pair in options for word in pair]
    if any("\0" in word for word in words):  # no shell can pass it on
        return
    short = (
        ["--replicates", "2", "--max-sweeps", "30"] if command != "tune" else ["--pairs", "100", "--max-sweeps", "30"]
    )
    quick = ["--burn-in", "0", "--min-sweeps", "2"] if command == "estimate" else []
    lag = ["--lag", "1"] if command != "tune" else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(GOOD)
        check([command, str(path), *short, *quick, *lag, *words])


OF_CLUSTER = [
    "--columns", "--drop", "--id", "--as", "--missing", "--component", "--effort", "--loss", "--seed", "--threads",
    "--rep", "--n-pcs", "--report", "-o", "--rate", "--kinds", "--known",
]  # fmt: skip
OTHER_WORDS = ["full", "diagonal", "x=skip", "y=category", "0.001", "1e-3", "binder", "o.csv", "o.parquet", "a/b.csv"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(st.just(GOOD), st.binary(max_size=60), TABLES.map(lambda rows: "\n".join(map(",".join, rows)).encode())),
    st.lists(st.tuples(st.sampled_from(OF_CLUSTER), st.one_of(st.sampled_from(OTHER_WORDS), VALUES)), max_size=3),
)
@example(GOOD, [])
@example(GOOD, [("--id", "sex"), ("--drop", "x,x")])
@example(GOOD, [("--drop", "x,y,sex")])
@example(b"x\n1\n", [])
@example(b"x,y\n1.5,2\n,\n2.5,7\n", [])
@example(b"x\n1e308\n-1e308\n1.5\n", [])
def test_any_table_and_any_words_for_clusters(content, options):
    words = [word for pair in options for word in pair]
    if any("\0" in word for word in words):  # no shell can pass it on
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("table.csv").write_bytes(content)
        check(["cluster", "table.csv", "--component", "diagonal", "--threads", "1", *words, "--effort", "0.001"])


@pytest.mark.parametrize("command", ["cluster", "estimate", "meet", "tune", "report", "export"])
@pytest.mark.parametrize("name", ["", ".", "nowhere/at/all.csv", "x" * 300 + ".csv", "-.csv"])
def test_files_that_are_none(command, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ["-o", os.devnull] if command in ("report", "export") else []
    assert check([command, *more, "--", name]) == 2
