"""Where work runs: runs of every kind give the same bits everywhere, and run where they were told to."""

from __future__ import annotations

import functools
import itertools
import pickle
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import pytest

import copartition as cp
import dask_clusters
import every_run
import streamed
from copartition.runs.meeting import PairJob
from copartition.runs.pieces import Pieces, run_all
from copartition.runs.replicates import Job
from copartition.runs.sampling import ChainJob

THREADS = [None, 1, 3]
# A run that makes processes of its own does so in one place, whatever it is: some of them show that it does.
PROCESSES = [
    *itertools.product(every_run.RUNS, ["pool of processes", "dask"]),
    *itertools.product(["estimate", "sample", "tune"], ["processes"]),
]


class Remote(Executor):
    """An executor of a kind that is not known: all that goes there and comes back is sent as bytes."""

    def __init__(self):
        self.batches = 0

    def submit(self, function, /, *arguments):
        self.batches += 1
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        return future


class Recording(ThreadPoolExecutor):
    """Threads that remember what they were given."""

    def __init__(self):
        super().__init__(1)
        self.tasks, self.threads = [], set()

    def submit(self, function, /, *arguments):
        self.tasks.append(arguments)  # a task, and the numbers of its pieces
        return super().submit(self._run, function, *arguments)

    def _run(self, function, *arguments):
        self.threads.add(threading.get_ident())
        return function(*arguments)


def refuse(*_):
    raise AssertionError("threads that nobody asked for")


@functools.cache
def expected(name):
    return every_run.RUNS[name](ThreadPoolExecutor(1))


@pytest.fixture(scope="module")
def pool_of_processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    pytest.importorskip("distributed")
    with dask_clusters.dask_cluster(tmp_path_factory.mktemp("dask")) as (client, _):
        yield client


def assert_same(found, same):
    assert len(found["bits"]) == len(same["bits"])
    for one, other in zip(found["bits"], same["bits"], strict=True):
        assert np.array_equal(one, other)
    assert found["seconds"].shape == same["seconds"].shape


@pytest.mark.parametrize("executor", THREADS)
@pytest.mark.parametrize("name", every_run.RUNS)
def test_same_bits_on_any_number_of_threads(name, executor):
    assert_same(every_run.RUNS[name](executor), expected(name))


@pytest.mark.parametrize("name", every_run.RUNS)
def test_same_bits_on_an_executor_of_any_kind(name, monkeypatch):
    same = expected(name)
    monkeypatch.setattr("copartition.runs.workers.ThreadPoolExecutor", refuse)
    remote = Remote()
    assert_same(every_run.RUNS[name](remote), same)
    assert remote.batches > 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "where"), PROCESSES)
def test_same_bits_on_real_processes_and_a_real_cluster(name, where, request):
    fixture = {"pool of processes": "pool_of_processes", "dask": "client"}.get(where)
    executor = request.getfixturevalue(fixture) if fixture else where
    assert_same(every_run.RUNS[name](executor), expected(name))


@pytest.mark.filterwarnings("ignore")
def test_same_sums_on_a_real_cluster(client):
    streamed.assert_same(streamed.run(executor=client), streamed.run(executor=1))


@pytest.mark.parametrize("name", ["estimate", "estimate_within"])
def test_the_pilot_runs_where_the_estimate_does(name, monkeypatch):
    run = {
        "estimate": lambda **more: cp.estimate(every_run.target(), cp.n_clusters(), replicates=5, **more),
        "estimate_within": lambda **more: cp.estimate_within(
            every_run.target(), cp.n_clusters(), workers=5, deadline=cp.Sweeps(9), **more
        ),
    }[name]
    plain = run(settings="auto", seed=4)
    monkeypatch.setattr("copartition.runs.workers.ThreadPoolExecutor", refuse)
    with Recording() as executor:
        e = run(settings="auto", seed=4, executor=executor)
    assert np.array_equal(e.values, plain.values)
    kinds = [type(task) for task, _ in executor.tasks]
    first = {kind: kinds.index(kind) for kind in set(kinds)}
    assert first[PairJob] < first[ChainJob]
    if name == "estimate":
        assert kinds[-1] is Job
    pieces = sum(len(indices) for task, indices in executor.tasks if isinstance(task, PairJob))
    assert pieces >= 24 + 60  # pairs of the trial, and then as many as are affordable
    assert len(executor.threads) == 1
    assert threading.get_ident() not in executor.threads


def meeting_of(count):
    """Return work whose pieces wait for each other: it ends if so many are done at a time."""
    barrier = threading.Barrier(count, timeout=20)

    def work(indices, pause):
        barrier.wait()
        return Pieces(np.array(indices), np.zeros(len(indices)), list(indices)), None

    return SimpleNamespace(run=work)


def test_a_number_is_that_of_threads_and_nothing_is_all_processors(monkeypatch):
    assert run_all(meeting_of(3), 3, 3, False, "pieces").results == [0, 1, 2]
    monkeypatch.setattr("copartition.runs.workers.cpu_count", lambda: 4)
    assert run_all(meeting_of(4), 4, None, False, "pieces").results == [0, 1, 2, 3]


def test_one_thread_does_one_thing_at_a_time():
    busy, most = [], []

    def work(indices, pause):
        busy.append(threading.get_ident())
        most.append(len(busy))
        time.sleep(0.002)
        busy.pop()
        return Pieces(np.array(indices), np.zeros(len(indices)), list(indices)), None

    run_all(SimpleNamespace(run=work), 50, 1, False, "pieces")
    assert max(most) == 1


def fails(labels):
    raise RuntimeError("no value today")


@pytest.mark.parametrize("executor", [None, 2, pytest.param("remote", id="remote")])
def test_an_error_in_a_worker_is_the_error_of_the_run(executor):
    executor = Remote() if executor == "remote" else executor
    target, h = every_run.target(), cp.functional(fails)
    for run in (
        lambda: cp.sample(target, h, sweeps=2, burn_in=0, executor=executor),
        lambda: cp.tune(target, h, pairs=100, executor=executor),
        lambda: cp.estimate_within(target, h, workers=2, deadline=cp.Sweeps(9), executor=executor),
    ):
        with pytest.raises(RuntimeError, match="no value today"):
            run()


def test_functions_that_cannot_be_sent_are_one_sentence_whatever_runs():
    target, h = every_run.target(), cp.functional(lambda labels: 1.0)
    for run in (
        lambda: cp.estimate(target, h, replicates=2, executor="processes"),
        lambda: cp.sample(target, h, sweeps=2, burn_in=0, executor="processes"),
        lambda: cp.estimate_within(target, h, workers=2, deadline=cp.Sweeps(9), executor="processes"),
    ):
        with pytest.raises(ValueError, match="define functions at the top of a module"):
            run()


@pytest.mark.parametrize("name", every_run.RUNS)
@pytest.mark.parametrize(
    ("executor", "message"),
    [
        (0, "executor must be a whole number of at least 1, got 0"),
        (True, "executor must be None, a number of threads, 'processes', .* got True"),
        ("cloud", "executor must be None, a number of threads, 'processes', .* got 'cloud'"),
        (2.0, "executor must be None, a number of threads, 'processes', .* got 2.0"),
    ],
)
def test_other_executors_are_refused(name, executor, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        every_run.RUNS[name](executor)
    assert "\n" not in str(caught.value)
