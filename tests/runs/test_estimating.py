"""Estimates: the same bits everywhere, nothing lost, clear errors."""

from __future__ import annotations

import json
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import bernoulli
import copartition as cp
import dask_clusters
import naive
import small
from conftest import hear_interrupts
from copartition.results.store import Store
from copartition.runs.workers import cpu_count
from made_up import assert_same

COUNT = 200
SETTINGS = {"burn_in": 1, "min_sweeps": 6, "lag": 2, "seed": 5, "init": "prior"}


def run(**changes):
    arguments = {"replicates": COUNT, **SETTINGS, **changes}
    return cp.estimate(small.scalar()[0], [cp.n_clusters(), cp.largest_clusters(2)], **arguments)


@pytest.fixture(scope="module")
def undisturbed():
    return run()


def test_fields_and_table(undisturbed):
    e = undisturbed
    assert e.values.shape == (COUNT, 3)
    assert e.components == ["n_clusters", "largest_clusters(2)[0]", "largest_clusters(2)[1]"]
    np.testing.assert_allclose(e.mean, e.values.mean(axis=0))
    np.testing.assert_allclose(e.stderr, e.values.std(axis=0, ddof=1) / np.sqrt(COUNT))
    low, high = e.interval(0.9)
    wide_low, wide_high = e.interval(0.99)
    assert np.all((wide_low < low) & (low < e.mean) & (e.mean < high) & (high < wide_high))
    assert e.censored == 0
    assert "BIASED" not in str(e)
    assert "largest_clusters(2)[1]" in str(e)
    assert f"{COUNT} replicates, Path(), burn_in 1, min_sweeps 6, lag 2, split_merge 4" in str(e)
    assert e.made_by["version"] == cp.__version__
    assert e.made_by["seed"] == 5
    again = pickle.loads(pickle.dumps(e))
    assert_same(again, e)
    assert str(again) == str(e)
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, got 1.5"):
        e.interval(1.5)


def test_censored_pairs_are_kept_and_shouted_about():
    e = cp.estimate(
        small.scalar()[0], cp.n_clusters(), replicates=COUNT, burn_in=0, min_sweeps=2, lag=2, max_sweeps=2, seed=1,
        coupling="independent",
    )  # fmt: skip
    assert e.censored == np.sum(~e.met) > 0
    assert np.all(e.meeting_times[~e.met] == 2)
    assert str(e).startswith("TRUNCATED AT 2 SWEEPS, BIASED")
    assert e.censored / COUNT < e.censored_bound() <= 1.0


def test_same_bits_on_one_and_two_threads(undisturbed):
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        assert_same(run(executor=one), undisturbed)
        assert_same(run(executor=two), undisturbed)


def test_a_run_that_is_given_up_keeps_what_has_ended(tmp_path, undisturbed):
    """The interruption comes while other batches are under way: these end or are given up, and none is lost twice."""
    path = tmp_path / "run.db"

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store=path, progress=interrupt)
    assert 0 < len(cp.Estimate.load(path).values) <= COUNT
    assert_same(run(store=path), undisturbed)


def test_same_bits_in_batches_of_any_size(undisturbed, monkeypatch):
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 1)
    assert_same(run(replicates=4), run(replicates=4))
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 3)
    assert_same(run(), undisturbed)


@pytest.fixture(scope="module")
def dask_cluster(tmp_path_factory):
    pytest.importorskip("distributed")
    with dask_clusters.dask_cluster(tmp_path_factory.mktemp("dask")) as (client, workers):
        yield client, workers


@pytest.mark.filterwarnings("ignore")
def test_same_bits_on_a_dask_cluster_even_when_a_worker_is_killed(dask_cluster, undisturbed):
    client, workers = dask_cluster
    assert_same(run(executor=client), undisturbed)
    command = ["estimate", "--example", "galaxies", "--replicates", "20", "--min-sweeps", "110", "--json"]
    program = Path(sys.executable).parent / "copartition"
    answers = [
        subprocess.run([program, *command, *where], capture_output=True, check=True).stdout
        for where in ([], ["--dask", client.scheduler.address])
    ]
    assert json.loads(answers[0])["mean"] == json.loads(answers[1])["mean"]
    target = small.scalar()[0]
    longer = {"replicates": 10_000, "burn_in": 1, "min_sweeps": 300, "lag": 2, "seed": 5}
    expected = cp.estimate(target, cp.n_clusters(), **longer)
    begun = threading.Event()
    longer["progress"] = lambda *_: begun.set()
    with ThreadPoolExecutor(1) as background:
        future = background.submit(cp.estimate, target, cp.n_clusters(), executor=client, **longer)
        assert begun.wait(timeout=60)
        assert not future.done()
        workers[0].kill()
        e = future.result(timeout=120)
    assert_same(e, expected)
    assert_same(run(executor=client), undisturbed)  # on the one that is left


def test_a_store_continues_where_it_stopped(tmp_path, undisturbed):
    path = tmp_path / "run.db"
    half = run(store=path, replicates=COUNT // 2)
    assert len(half.values) == COUNT // 2
    assert_same(run(store=path), undisturbed)
    assert_same(run(store=path), undisturbed)  # nothing left to do
    loaded = cp.Estimate.load(path)
    assert_same(loaded, undisturbed)
    assert loaded.made_by["settings"]["lag"] == 2
    assert len(run(store=path, replicates=2).values) == 2


def test_a_store_refuses_another_run_and_says_what_differs(tmp_path):
    path = tmp_path / "run.db"
    run(store=path, replicates=2)
    before = path.read_bytes()
    for changes, word in (
        ({"lag": 3}, "settings"),
        ({"seed": 6}, "seed"),
        ({"coupling": "maximal"}, "step"),
        ({"init": "singletons"}, "init"),
    ):
        with pytest.raises(cp.errors.StoreError, match=f"belongs to another run: .*{word} is"):
            run(store=path, **changes)
    with pytest.raises(cp.errors.StoreError, match=r"target is .*5 points x 2"):
        cp.estimate(small.diagonal()[0], [cp.n_clusters(), cp.largest_clusters(2)], store=path, **SETTINGS)
    assert path.read_bytes() == before


class Nameless(cp.kernels.Component):
    """A component that does not say what it is."""

    def prepare(self, data):
        return bernoulli.Bernoulli(0.5, 0.5).prepare(data)


@pytest.mark.parametrize("kind", ["component", "target"])
def test_a_store_goes_on_with_a_model_that_does_not_say_what_it_is(tmp_path, kind):
    """Python's own words for such an object have its address, which is another one in every process."""
    prior = cp.DirichletProcess(1.0)

    def model(kind):
        if kind == "component":
            return cp.Mixture(small.YES_NO, Nameless(), prior)
        return cp.Target(small.YES_NO, bernoulli.log_predictive, prior, parameters=[0.5, 0.5])

    models = [model(kind) for _ in range(2)]
    assert repr(models[0]) != repr(models[1])
    for count, one in enumerate(models, start=2):
        e = cp.estimate(one, cp.n_clusters(), replicates=count, store=tmp_path / "run.db", **SETTINGS)
        assert len(e.values) == count
    assert "0x" not in str(e.made_by)
    # Another model that says the same of itself is another model all the same.
    other = cp.Target(small.YES_NO, bernoulli.log_predictive, prior, parameters=[0.5, 0.6])
    with pytest.raises(cp.errors.StoreError, match=r"belongs to another run: (fingerprint|target) is"):
        cp.estimate(other, cp.n_clusters(), replicates=4, store=tmp_path / "run.db", **SETTINGS)


@pytest.mark.parametrize("name", small.TARGETS)
def test_a_store_says_what_was_assumed(tmp_path, name):
    path = tmp_path / "run.db"
    call = {"replicates": 2, "burn_in": 1, "min_sweeps": 3, "lag": 1, "store": path}
    cp.estimate(small.TARGETS[name]()[0], cp.n_clusters(), **call)
    said = cp.Estimate.load(path).made_by["assumptions"]
    assert isinstance(said, list)
    assert said
    for sentence in said:
        begin = sentence.split(": ")[-1]  # of columns it is said first which they are
        assert begin[0].isupper()
        assert sentence.endswith(".")
        assert "\n" not in sentence
    indices = {
        "scalar": ["0.8 (noise_sd)", "1.7 (mean_sd)", "0.3 (mean)", "0.9 (alpha)"],
        "diagonal": ["[0.8, 1.5] (noise_sd)", "[1.7, 0.9] (mean_sd)", "1.4 (alpha)"],
        "full": ["(noise_cov)", "(mean_cov)", "0.7 (alpha)"],
        "proportional": ["(noise_cov)", "(mean_cov)", "0.7 (alpha)"],
        "coloring": ["4 colours"],
        "bernoulli": ["Bernoulli(a=0.5, b=1.5)", "1.1 (alpha)"],
        "wishart": ["(0.3, -0.2) (mean)", "0.4 point(s) (mean_weight)", "3.7 degrees of freedom", "0.9 (alpha)"],
        "gaps": ["0.2 (mean)", "(0.3, 0.6) point(s) (mean_weight)", "(1.4, 2) (shape)", "0.7 (scale)"],
        "mixed": [
            "0, 1: Points",
            "2: In each",
            "0.8 for each (concentration)",
            "1.3 (shape)",
            "0.7 (a)",
            "0.8 (gamma)",
        ],
    }
    assert all(number in " ".join(said) for number in indices[name])
    # It is said for people: a version that puts it into other words goes on with the same store.
    store = Store(path, cp.Estimate.load(path).made_by)
    store.note({"assumptions": ["In other words."]})
    store.close()
    assert len(cp.estimate(small.TARGETS[name]()[0], cp.n_clusters(), **(call | {"replicates": 3})).values) == 3


def test_a_store_can_be_read_while_it_is_written(tmp_path, undisturbed):
    path = tmp_path / "run.db"
    run(store=path, replicates=2)
    store = Store(path, Store(path).description)
    assert len(cp.Estimate.load(path).values) == 2
    store.close()


@pytest.mark.parametrize("content", [b"not a database at all", b"", b"SQLite format 3\x00" + b"\x00" * 200])
def test_foreign_and_truncated_files_are_refused_untouched(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    if not content:
        assert len(run(store=path, replicates=1).values) == 1  # an empty file is as good as none
        return
    with pytest.raises(cp.errors.StoreError, match="left as it is"):
        run(store=path)
    assert path.read_bytes() == content
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(cp.errors.StoreError, match="database of another program"):
        run(store=other)
    assert other.read_bytes() == before


def test_a_store_that_lost_its_end_is_refused(tmp_path):
    path = tmp_path / "run.db"
    run(store=path, replicates=2)
    content = path.read_bytes()
    cut = tmp_path / "cut.db"
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(cp.errors.StoreError, match=r"cannot be used|cannot be read"):
        run(store=cut)


def test_a_missing_store_cannot_be_loaded(tmp_path):
    with pytest.raises(cp.errors.StoreError, match="There is no store at"):
        cp.Estimate.load(tmp_path / "nothing.db")


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path):
    with pytest.raises(cp.errors.StoreError, match="cannot be used"):
        run(store=tmp_path / "no" / "such" / "folder" / "run.db")


@pytest.mark.posix
def test_a_full_disk_is_a_clear_error_and_the_store_stays_valid(tmp_path):
    """A real limit on file size in a process of its own."""
    path = tmp_path / "run.db"
    code = f"""
        import resource, signal
        import numpy as np
        import copartition as cp
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        arguments = dict(burn_in=0, min_sweeps=2, lag=1, store={str(path)!r})
        cp.estimate(target, cp.n_clusters(), replicates=10, **arguments)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        try:
            cp.estimate(target, cp.n_clusters(), replicates=200_000, **arguments)
        except cp.errors.StoreError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert len(cp.Estimate.load(path).values) >= 10


@pytest.mark.posix
def test_a_store_that_may_only_be_read_is_a_clear_error_and_stays_valid(tmp_path):
    """File and folder without write permission; as another user where the tests run as root, whom nothing stops."""
    code = """
        import os, tempfile
        from pathlib import Path
        import copartition as cp
        target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        folder = Path(tempfile.mkdtemp())
        path = folder / "run.db"
        arguments = dict(burn_in=0, min_sweeps=2, lag=1, store=path)
        cp.estimate(target, cp.n_clusters(), replicates=10, **arguments)
        path.chmod(0o444)
        folder.chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(65534)
        try:
            cp.estimate(target, cp.n_clusters(), replicates=20, **arguments)
        except cp.errors.StoreError as error:
            print(error)
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o755)
        print(len(cp.Estimate.load(path).values))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    message, count = done.stdout.splitlines()
    assert "cannot be" in message
    assert "readonly" in message or "read-only" in message or "unable to open" in message
    assert count == "10"


KILLED = """
    import sys
    import copartition as cp
    target = cp.Mixture([-1.3, -0.4, 0.2, 1.1, 2.6], cp.Gaussian(noise_sd=0.8, mean_sd=1.7), cp.DirichletProcess(0.9))
    arguments = dict(replicates=60_000, burn_in=1, min_sweeps=60, lag=2, seed=5)
    store = sys.argv[1] if len(sys.argv) > 1 else None
    e = cp.estimate(target, cp.n_clusters(), store=store, **arguments)
    print(e.values.sum(), len(e.values), e.meeting_times.sum())
"""


@pytest.mark.parametrize("times", [3, pytest.param(8, marks=pytest.mark.long)])
def test_killing_the_process_loses_no_whole_batch(tmp_path, times):
    """Killed so many times at random moments, then to the end: the same as undisturbed."""
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(KILLED))
    path = tmp_path / "run.db"
    expected = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    chance = random.Random(1)
    for _ in range(times):
        process = subprocess.Popen([sys.executable, script, path], stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.6, 1.3))
        process.kill()
        process.wait()
    done = subprocess.run([sys.executable, script, path], capture_output=True, text=True, check=True).stdout
    assert done == expected


def wait_for_replicates(path):
    """Wait until a run, which may have to compile first, has kept something."""
    for _ in range(1200):
        if path.exists() and len(cp.Estimate.load(path).values):
            return
        time.sleep(0.1)
    raise TimeoutError("no replicate was kept in two minutes")


@pytest.mark.posix
def test_an_interruption_keeps_what_is_done(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(textwrap.dedent(KILLED).replace("60_000", "3_000_000"))
    path = tmp_path / "run.db"
    process = subprocess.Popen(
        [sys.executable, script, path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    wait_for_replicates(path)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in error
    e = cp.Estimate.load(path)
    assert 0 < len(e.values) < e.wanted == 3_000_000
    assert e.is_biased
    assert "INTERRUPTED, BIASED: 3,000,000 replicates were asked for and" in str(e)
    assert e.under_way == cpu_count()  # one a thread at most


def fails_sometimes(labels):
    if labels.max() == 3:
        raise RuntimeError("four clusters are too many")
    return 1.0


def test_an_error_names_the_replicate_and_keeps_the_others(tmp_path):
    path = tmp_path / "run.db"
    target = small.scalar()[0]
    settings = {"replicates": 12, "burn_in": 0, "min_sweeps": 2, "lag": 1, "seed": 3}
    with pytest.raises(
        cp.errors.ReplicateError, match=r"Replicate \d+.* could not be run: RuntimeError: four clusters"
    ) as caught:
        cp.estimate(target, cp.functional(fails_sometimes), store=path, **settings)
    kept = cp.Estimate.load(path)
    assert 0 < len(kept.values) < 12
    assert f"({len(kept.values)} other replicates finished; they are in the store)" in str(caught.value)
    for wrong, message in (
        (lambda labels: np.nan, "must return 1 finite"),
        (lambda labels: [1, 2], "must return 1 finite"),
    ):
        with pytest.raises(cp.errors.ReplicateError, match=message):
            cp.estimate(target, cp.functional(wrong), **settings)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"burn_in": 7}, "burn_in must be at most min_sweeps, 6, got 7"),
        ({"lag": 0}, "lag must be a whole number of at least 1, got 0"),
        ({"replicates": 0}, "replicates must be a whole number of at least 1, got 0"),
        ({"max_sweeps": 3}, "max_sweeps must be at least the lag and min_sweeps, 6, got 3"),
        ({"executor": "cloud"}, "executor must be None, a number of threads, 'processes'"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"coupling": "best"}, "coupling must be"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run(**changes)


def test_co_clustering_of_all_points():
    e = cp.estimate(small.scalar()[0], cp.co_clustering(), replicates=2, burn_in=0, min_sweeps=1, lag=1)
    assert e.values.shape == (2, 10)
    assert e.components[-1] == "together[3, 4]"


def test_functionals_are_checked():
    target = small.scalar()[0]
    with pytest.raises(ValueError, match="one to 4 functionals, got 0"):
        cp.estimate(target, [])
    with pytest.raises(TypeError, match="functional must be a functional"):
        cp.estimate(target, [len])
    with pytest.raises(TypeError, match="predictive_density needs a Mixture"):
        cp.estimate(small.coloring()[0], cp.predictive_density([0.0]))
    with pytest.raises(ValueError, match=r"grid must be points with 1 column"):
        cp.estimate(target, cp.predictive_density(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="edges must be two or more increasing"):
        cp.functionals.cluster_sizes_histogram([3, 2])


def test_progress_shows_the_estimate(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(progress=True)
    assert f"{COUNT}/{COUNT}" in capsys.readouterr().err
    seen = []
    run(progress=lambda *state: seen.append(state))
    assert seen[-1][0] == seen[-1][1] == COUNT


# --- deadlines -------------------------------------------------------------------------------------------------------


def test_a_deadline_in_sweeps_is_unbiased_and_the_naive_average_is_not():
    """A deadline so tight that most workers complete nothing: 5,000 workers, 4 standard errors."""
    data = np.array([-1.6, -1.4, 1.5, 1.7])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.7, mean_sd=2.0), cp.DirichletProcess(0.3))
    density = naive.GaussianMixture(data[:, None], np.eye(1) * 0.49, np.eye(1) * 4, np.zeros(1), 0.3)
    states, distribution = naive.distribution(density, 4)
    exact = distribution @ np.array([len(set(state)) for state in states])
    e = cp.estimate_within(
        target, cp.n_clusters(), workers=5_000, deadline=cp.Sweeps(2), burn_in=0, min_sweeps=0, lag=1, seed=2
    )
    assert np.mean(e.completed > 0) < 0.5
    assert abs(e.mean[0] - exact) < 4 * e.stderr[0]
    in_time = e.values[e.completed > 0, 0]
    assert abs(in_time.mean() - exact) > 10 * in_time.std() / np.sqrt(len(in_time))


def test_workers_keep_to_their_deadline():
    target = small.scalar()[0]
    workers = 50
    arguments = {"workers": workers, "burn_in": 0, "min_sweeps": 4, "lag": 1, "seed": 2}
    e = cp.estimate_within(target, [cp.n_clusters(), cp.largest_clusters(2)], deadline=cp.Sweeps(40), **arguments)
    assert e.values.shape == (workers, 3)
    assert np.all(e.completed >= 1)
    again = cp.estimate_within(target, [cp.n_clusters(), cp.largest_clusters(2)], deadline=cp.Sweeps(40), **arguments)
    assert np.array_equal(e.values, again.values)
    in_seconds = cp.estimate_within(target, cp.n_clusters(), deadline=cp.Seconds(0.01), **arguments)
    assert in_seconds.values.shape == (workers, 1)


def test_deadlines_that_are_none():
    with pytest.raises(TypeError, match=r"deadline must be Sweeps\(n\) or Seconds\(s\), got 3"):
        cp.estimate_within(small.scalar()[0], cp.n_clusters(), workers=2, deadline=3)
    with pytest.raises(ValueError, match="Sweeps must be"):
        cp.Sweeps(0)
    with pytest.raises(ValueError, match="Seconds must be positive"):
        cp.Seconds(-1.0)


@cp.kernels.evaluation
def no_number(model, chain, hooks, parameters, out):
    out[0] = np.nan


def test_a_functional_without_a_value_does_not_pass_unseen():
    target, h = small.scalar()[0], cp.kernels.Functional("no number", no_number, 1)
    with pytest.raises(cp.errors.ReplicateError, match="Worker 0 could not be used: the functional gave"):
        cp.estimate_within(target, h, workers=2, deadline=cp.Sweeps(5), burn_in=0, min_sweeps=1, lag=1)
    with pytest.raises(cp.errors.ReplicateError, match=r"Replicate 0.* could not be run: the functional gave nan"):
        cp.estimate(target, h, replicates=2, burn_in=0, min_sweeps=1, lag=1)
