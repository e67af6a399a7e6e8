"""Damaged stores: whatever happened to the bytes of a file, it gives the same answer or a StoreError."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import copartition as cp
from copartition.cli import main
from copartition.results import rows
from copartition.results.store import Store
from stores import damaged, without

POSTERIOR = cp.Mixture([-3.0, -2.9, -1.0, 0.1, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
TABLE = "x\n" + "".join(f"{x}\n" for x in (-3.0, -2.9, -1.0, 0.1, 3.0))
COUNT = 60
HOW = {"replicates": COUNT, "burn_in": 1, "min_sweeps": 4, "lag": 1, "seed": 1, "executor": 1}
OPTIONS = (
    f"--replicates {COUNT} --burn-in 1 --min-sweeps 4 --lag 1 --seed 1 --threads 1 --noise-sd 1 --mean-sd 3".split()
)
# Values that are kept; with a cap, ordinary averages and pairs that did not meet; and sums.
KINDS = {
    "kept": ([cp.n_clusters(), cp.largest_clusters(3)], {}),
    "cap": ([cp.n_clusters()], {"coupling": "independent", "max_sweeps": 4}),
    "sums": ([cp.n_clusters(), cp.co_clustering(keep_values=False)], {}),
}


def run(kind, path, **more):
    functionals, own = KINDS[kind]
    return cp.estimate(POSTERIOR, functionals, store=path, **(HOW | own | more))


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """The bytes of a store of every kind, and what it says."""
    found = {}
    for kind in KINDS:
        path = tmp_path_factory.mktemp(kind) / "run.db"
        run(kind, path)
        found[kind] = path.read_bytes(), cp.Estimate.load(path)
    return found


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """A folder with a table, and the bytes of the store of a command."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "table.csv").write_text(TABLE)
    done = CliRunner().invoke(main, ["estimate", f"{folder}/table.csv", *OPTIONS, "--store", f"{folder}/whole.db"])
    assert done.exit_code == 0, done.output
    return folder, (folder / "whole.db").read_bytes()


def assert_same(e, expected):
    for name in ("indices", "values", "meeting_times", "met", "sweeps", "mean", "stderr"):
        np.testing.assert_array_equal(getattr(e, name), getattr(expected, name), name)
    np.testing.assert_array_equal(e.ordinary_values, expected.ordinary_values)
    assert [one.number for one in e.unmet] == [one.number for one in expected.unmet]
    for one, other in zip(e.unmet, expected.unmet, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        for a, b in zip(one.course, other.course, strict=True):
            np.testing.assert_array_equal(a, b)


def is_refused(path, expected):
    """Read a store: whether it is refused; if not, it says what it said."""
    try:
        e = cp.Estimate.load(path)
    except cp.errors.StoreError:
        return True
    assert_same(e, expected)
    np.testing.assert_array_equal(e.seconds, expected.seconds)
    assert repr(e.made_by) == repr(expected.made_by)
    return False


def flipped(content, chance):
    """A file of which one bit is another."""
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_gives_the_same_answer_or_is_found_out(tmp_path, stores, kind):
    """400 of them, anywhere: in the header, the schema, pages that are in use and others."""
    (content, expected), chance, path = stores[kind], random.Random(7), tmp_path / "run.db"
    refused = 0
    for _ in range(400):
        path.write_bytes(flipped(content, chance))
        refused += is_refused(path, expected)
    assert 50 < refused < 350


@st.composite
def damages(draw):
    """What may happen to a file: bytes are changed, put in, taken out; its end is lost."""
    return draw(
        st.lists(
            st.tuples(
                st.sampled_from(["bit", "bytes", "insert", "remove", "cut"]),
                st.floats(0, 1, exclude_max=True),
                st.one_of(st.binary(min_size=1, max_size=20), st.binary(min_size=500, max_size=600)),
            ),
            min_size=1,
            max_size=6,
        )
    )


def after(content, what):
    """A file after some damage."""
    for kind, where, data in what:
        at = int(where * len(content))
        if kind == "bit":
            data = bytes([(content[at] if at < len(content) else 0) ^ 1 << data[0] % 8])
        taken = {"insert": 0, "cut": len(content)}.get(kind, len(data))
        put = data if kind in ("bit", "bytes", "insert") else b""
        content = content[:at] + put + content[at + taken :]
    return content


@pytest.mark.parametrize("kind", KINDS)
@given(what=damages())
@settings(max_examples=100)
def test_any_bytes_give_the_same_answer_or_a_store_error(tmp_path_factory, stores, kind, what):
    content, expected = stores[kind]
    path = tmp_path_factory.mktemp("any") / "run.db"
    path.write_bytes(after(content, what))
    is_refused(path, expected)


@given(
    content=st.one_of(st.binary(max_size=200), st.binary(max_size=100).map(lambda end: b"SQLite format 3\x00" + end))
)
@settings(max_examples=50)
def test_files_that_are_no_stores_are_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "run.db"
    path.write_bytes(content)
    with pytest.raises(cp.errors.StoreError):
        cp.Estimate.load(path)


@given(what=damages())
@settings(max_examples=40)
def test_the_command_line_gives_an_answer_or_one_sentence(command, what):
    """For a damaged store: exit code 0 and the same page or table, or 2 and a sentence; never a traceback."""
    folder, content = command
    path = folder / "run.db"
    for file in folder.glob("run*"):
        file.unlink()
    commands = {
        "report": ["report", f"{path}", "-o", f"{folder}/page.html"],
        "export": ["export", f"{path}", "-o", f"{folder}/table.csv.out.csv", "--summary"],
        "estimate": ["estimate", f"{folder}/table.csv", *OPTIONS, "--store", f"{path}"],
    }
    for name, arguments in commands.items():
        path.write_bytes(after(content, what))
        done = CliRunner().invoke(main, arguments)
        assert done.exception is None or isinstance(done.exception, SystemExit), (name, done.exception)
        assert done.exit_code in (0, 2), name
        if done.exit_code:
            # Before a run it may be said that the store will hold no labels.
            (told,) = [
                line for line in done.stderr.splitlines() if not line.startswith("The store will hold no labels")
            ]
            assert told.startswith(("Error: The store", f"Error: {str(path)!r}", "Error: There is no store"))
    shutil.rmtree(folder / "run-rest.db", ignore_errors=True)


# --- what is said, and what is kept ----------------------------------------------------------------------------------


def test_a_damaged_replicate_is_named_and_the_rest_is_kept(tmp_path, stores):
    """The call that made the store copies what is sound; what is missing there is made anew, with the same bits."""
    path, rest = tmp_path / "run.db", tmp_path / "run-rest.db"
    path.write_bytes(stores["kept"][0])
    damaged(path, "UPDATE replicates SET meeting_time = meeting_time + 1 WHERE number IN (3, 17, 18, 19)")
    before = path.read_bytes()
    sentence = r"run.db' is damaged .*: replicates 3 and 17 to 19 cannot be read. The rest "
    with pytest.raises(cp.errors.StoreError, match=sentence + "can be kept"):
        cp.Estimate.load(path)
    with pytest.raises(cp.errors.StoreError, match=sentence + "is kept: 56 replicates were copied to .*run-rest.db"):
        run("kept", path)
    assert path.read_bytes() == before
    assert_same(run("kept", rest), stores["kept"][1])
    assert_same(cp.Estimate.load(rest), stores["kept"][1])
    more = run("kept", rest, replicates=COUNT + 5)
    with pytest.raises(cp.errors.StoreError, match=r"The rest is kept in .*run-rest.db', which is there already"):
        run("kept", path)
    assert_same(cp.Estimate.load(rest), more)


WRONG = {
    "a value": "UPDATE replicates SET value = zeroblob(32) WHERE number = 7",
    "a number": "UPDATE replicates SET number = 1000 WHERE number = 7",
    "the last one": f"DELETE FROM replicates WHERE number = {COUNT - 1}",
    "no replicates": "DELETE FROM replicates",
    "a type": "UPDATE replicates SET sweeps = 'many' WHERE number = 7",
    "two in each other's place": (
        "UPDATE replicates SET value = (SELECT value FROM replicates AS r WHERE r.number = 15 - replicates.number), "
        "checksum = (SELECT checksum FROM replicates AS r WHERE r.number = 15 - replicates.number), "
        "meeting_time = (SELECT meeting_time FROM replicates AS r WHERE r.number = 15 - replicates.number), "
        "sweeps = (SELECT sweeps FROM replicates AS r WHERE r.number = 15 - replicates.number), "
        "seconds = (SELECT seconds FROM replicates AS r WHERE r.number = 15 - replicates.number) WHERE number IN (7, 8)"
    ),
    "a table": "ALTER TABLE ordinary RENAME TO ordinasy",
    "the description": "UPDATE description SET value = '2' WHERE key = 'seed'",
    "the run": "UPDATE description SET value = 'x' WHERE key = 'run'",
    "the tally": "DELETE FROM description WHERE key = 'tally'",
    "a word of the description": "DELETE FROM description WHERE key = 'assumptions'",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_was_changed_is_found_out(tmp_path, stores, wrong):
    path, rest = tmp_path / "run.db", tmp_path / "run-rest.db"
    path.write_bytes(stores["kept"][0])
    damaged(path, WRONG[wrong])
    with pytest.raises(cp.errors.StoreError, match=r"is damaged \(.*\): .* can(not)? be read"):
        cp.Estimate.load(path)
    with pytest.raises(cp.errors.StoreError, match=r"is damaged \(.*\): .* can(not)? be read"):
        run("kept", path)
    assert rest.exists() == (wrong != "no replicates")
    if rest.exists():
        assert_same(run("kept", rest), stores["kept"][1])


def test_the_rest_of_a_run_with_a_cap_has_all_that_belongs_to_it(tmp_path, stores):
    path, rest = tmp_path / "run.db", tmp_path / "run-rest.db"
    path.write_bytes(stores["cap"][0])
    pair = stores["cap"][1].unmet[2].number
    damaged(
        path,
        "UPDATE ordinary SET value = zeroblob(8) WHERE number = 30",
        f"DELETE FROM unmet WHERE number = {pair}",
        "DELETE FROM description WHERE key = 'tally'",
    )
    with pytest.raises(cp.errors.StoreError, match=rf"replicates {pair} and 30 cannot be read"):
        run("cap", path)
    assert_same(run("cap", rest), stores["cap"][1])


def test_sums_that_are_damaged_cannot_be_kept(tmp_path, stores):
    for statement in ("UPDATE replicates SET met = 0 WHERE number = 5", "DELETE FROM sums"):
        path = tmp_path / "run.db"
        path.write_bytes(stores["sums"][0])
        damaged(path, statement)
        for read in (cp.Estimate.load, lambda path: run("sums", path)):
            with pytest.raises(
                cp.errors.StoreError, match="sums over replicates cannot be taken apart, so that none can be k"
            ):
                read(path)
    damaged(path, "DELETE FROM description WHERE key = 'tally'")
    with pytest.raises(cp.errors.StoreError, match="sums over replicates cannot be taken apart"):
        run("sums", path)
    path.write_bytes(stores["sums"][0])
    damaged(path, "DELETE FROM description WHERE key = 'seed'")  # which the call knows
    with pytest.raises(cp.errors.StoreError, match="60 replicates were copied"):
        run("sums", path)
    assert_same(run("sums", tmp_path / "run-rest.db"), stores["sums"][1])


def test_a_damaged_store_of_another_run_is_not_copied(tmp_path, stores):
    """Where the file cannot tell which run it belongs to, its rows do."""
    path = tmp_path / "run.db"
    path.write_bytes(stores["kept"][0])
    damaged(path, "UPDATE replicates SET met = 0 WHERE number = 5")
    with pytest.raises(cp.errors.StoreError, match="belongs to another run: seed is 1 there and 2 here"):
        run("kept", path, seed=2)
    damaged(path, "DELETE FROM description")
    with pytest.raises(cp.errors.StoreError, match=r"its replicates cannot be read. Use another file"):
        run("kept", path, seed=2)
    assert not (tmp_path / "run-rest.db").exists()
    with pytest.raises(cp.errors.StoreError, match="59 replicates were copied"):
        run("kept", path)


def test_replicates_that_never_ended_are_not_called_damaged(tmp_path, stores):
    path = tmp_path / "run.db"
    path.write_bytes(stores["kept"][0])
    without(path, 3, 17)
    assert cp.Estimate.load(path).unfinished == 2
    damaged(path, "UPDATE replicates SET met = 0 WHERE number = 5")
    with pytest.raises(cp.errors.StoreError, match="1 of replicates 3, 5 and 17 cannot be read"):
        cp.Estimate.load(path)


def test_another_format_is_refused(tmp_path, stores):
    path = tmp_path / "run.db"
    path.write_bytes(stores["kept"][0])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    for read in (cp.Estimate.load, lambda path: run("kept", path)):
        with pytest.raises(cp.errors.StoreError, match="has format 3, and this version of copartition reads format 4"):
            read(path)


def test_numbers_in_words():
    assert rows._in_words([4]) == "4"
    assert rows._in_words([4, 5, 7]) == "4 to 5 and 7"
    assert rows._in_words(list(range(0, 100, 2))).endswith("18, 20 and 39 more")


def test_a_run_writes_checksums_of_all_that_it_adds(tmp_path):
    """In whatever pieces a store is written, its tally is right."""
    path = tmp_path / "run.db"
    for replicates in (2, 5, 30):
        run("cap", path, replicates=replicates)
        store = Store(path)
        store._check()
        store.close()
