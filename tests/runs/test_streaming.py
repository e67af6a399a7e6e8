"""Functionals of which only sums over replicates are kept: the same numbers as from kept values, everywhere."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import time
import tracemalloc
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.core.records import WIDTH, Counting, count_pairs
from copartition.names import Names
from copartition.results import kept as sums_module
from copartition.results.store import Store
from copartition.runs import keeping, recording
from copartition.runs.stopping import stopping_rule
from jobs import growing
from streamed import COUNT, POINTS, TIMES, assert_same, planted, run, wanted

SETTINGS = {"burn_in": 1, "min_sweeps": 4, "lag": 1, "seed": 5, "init": "sequential", "coupling": "common"}
FIVE = [0, 1, 0, 2, 1]  # a partition of the five points of small targets


def numbers_of(target, keep, first=()):
    """Four functionals of five points, kept or not: `keep` has a letter for each; after those that are given."""
    functionals = [
        cp.co_clustering(keep_values=keep[0] == "k"),
        cp.memberships(FIVE, keep_values=keep[1] == "k"),
        cp.functionals.cluster_similarity(FIVE, keep_values=keep[2] == "k"),
        cp.co_clustering(pairs=[[4, 0], [1, 2], [3, 4]], keep_values=keep[3] == "k"),
    ]
    return [*first, *functionals][:4]


def assert_close(e, expected):
    """Mean and standard error are those of kept values, but for the rounding of these."""
    assert e.components == list(expected.components)
    np.testing.assert_allclose(e.mean, expected.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(e.stderr, expected.stderr, rtol=1e-11, atol=1e-14)
    assert np.array_equal(e.meeting_times, expected.meeting_times)
    assert np.array_equal(e.met, expected.met)


@pytest.fixture
def weights(monkeypatch):
    """The weights of all clusterings that are counted."""
    seen, counting = [], recording._counting

    def noted(record, *more):
        seen.extend(record.weights[: record.written[0]].tolist())
        return counting(record, *more)

    monkeypatch.setattr(recording, "_counting", noted)
    return seen


# --- against kept values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scalar", "coloring", "full", "mixed"])
def test_moments_are_those_of_kept_values(name, weights):
    """Hardly any burn-in and chains that meet late: most replicates have corrections that count several times."""
    target, _ = small.TARGETS[name]()
    expected = cp.estimate(target, numbers_of(target, "kkkk"), replicates=COUNT, **SETTINGS)
    e = cp.estimate(target, numbers_of(target, "ssss"), replicates=COUNT, **SETTINGS)
    assert expected.streamed == []
    assert e.streamed == ["co_clustering", "memberships", "cluster_similarity", "co_clustering"]
    assert e.values.shape == (COUNT, 0)
    assert_close(e, expected)
    assert 0 not in weights
    assert min(weights) < -1
    assert max(weights) > 2


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
@pytest.mark.parametrize("keep", ["kkks", "sksk", "kssk", "skks", "ksks", "ssss"])
def test_kept_and_streamed_functionals_in_any_order(keep, order):
    target, _ = small.scalar()
    expected = cp.estimate(target, numbers_of(target, "kkkk")[::order], replicates=COUNT, **SETTINGS)
    e = cp.estimate(target, numbers_of(target, keep)[::order], replicates=COUNT, **SETTINGS)
    assert_close(e, expected)
    for part, whole, letter in zip(e.parts(), expected.parts(), keep[::order], strict=True):
        assert bool(part.streamed) == (letter == "s")
        assert_close(part, whole)
        if letter == "k":
            assert np.array_equal(part.values, whole.values)
        else:
            with pytest.raises(ValueError, match="needs the value of every replicate"):
                part.all_values("This")
    assert_close(pickle.loads(pickle.dumps(e)), expected)


def most_clusters(labels):
    return labels.max() + 1


@pytest.mark.plain
def test_beside_functionals_in_python():
    """The kernel stops to ask after every sweep, and nothing is counted twice because of that."""
    target, _ = small.scalar()
    first = [cp.functional(most_clusters)]
    expected = cp.estimate(target, numbers_of(target, "kkk-", first), replicates=COUNT, **SETTINGS)
    e = cp.estimate(target, numbers_of(target, "sss-", first), replicates=COUNT, **SETTINGS)
    assert np.array_equal(e.values, expected.values[:, :1])
    assert_close(e, expected)


def test_pairs_of_some_points_twice_in_one_run():
    """One set of all pairs is counted from the record; the other, of other points, is evaluated."""
    target, _ = small.scalar()

    def both(keep):
        return [cp.co_clustering([3, 1, 4], keep_values=keep), cp.co_clustering([4, 0], keep_values=keep)]

    expected = cp.estimate(target, both(True), replicates=COUNT, **SETTINGS)
    assert_close(cp.estimate(target, both(False), replicates=COUNT, **SETTINGS), expected)
    assert expected.components == ["together[3, 1]", "together[3, 4]", "together[1, 4]", "together[4, 0]"]


@pytest.mark.plain
@pytest.mark.parametrize("most", [2, 3, 7])
def test_records_that_overflow(monkeypatch, weights, most):
    """Replicates with more clusterings than are held: they are counted in parts, which the next one does not see."""
    monkeypatch.setattr(recording, "FIRST_LINES", 2)
    monkeypatch.setattr(recording, "FEWEST_MOST_LINES", most)
    monkeypatch.setattr(recording, "MOST_LINES", most)
    target, _ = small.scalar()
    expected = cp.estimate(target, numbers_of(target, "kkkk"), replicates=COUNT, **SETTINGS)
    assert not weights
    assert_close(cp.estimate(target, numbers_of(target, "skss"), replicates=COUNT, **SETTINGS), expected)
    assert max(weights) > 2


def test_pairs_that_are_given_up():
    target, _ = small.scalar()
    settings = SETTINGS | {"max_sweeps": 5, "coupling": "independent"}
    expected = cp.estimate(target, numbers_of(target, "kkkk"), replicates=COUNT, **settings)
    assert expected.censored > 0
    e = cp.estimate(target, numbers_of(target, "ssss"), replicates=COUNT, **settings)
    assert_close(e, expected)
    assert e.is_biased


def test_chains_that_outgrow_their_arrays():
    target = growing()
    settings = {"burn_in": 0, "min_sweeps": 2, "lag": 1, "max_sweeps": 10, "seed": 1}
    partition = np.arange(40) // 3

    def both(keep):
        return [cp.co_clustering(keep_values=keep), cp.memberships(partition, keep_values=keep)]

    expected = cp.estimate(target, both(True), replicates=20, **settings)
    assert_close(cp.estimate(target, both(False), replicates=20, **settings), expected)


def test_values_are_kept_of_few_components_only():
    points = np.arange(142)
    assert not cp.co_clustering(points[:141]).is_streamed
    assert cp.co_clustering(points).is_streamed
    assert not cp.co_clustering(points, keep_values=True).is_streamed
    assert cp.co_clustering([0, 1], keep_values=False).is_streamed
    assert cp.memberships(points).is_streamed
    with pytest.raises(ValueError, match="keep_values must not be False for n_clusters, whose values are not whole"):
        cp.kernels.Functional("n_clusters", most_clusters, 1, keep_values=False)


def test_what_needs_single_replicates_refuses_streamed_ones():
    e = cp.estimate(small.scalar()[0], [cp.n_clusters(), cp.co_clustering(keep_values=False)], replicates=3, **SETTINGS)
    for call in (e.trimmed_mean, lambda: e.heaviest_share):
        with pytest.raises(ValueError, match=r"those of co_clustering were not kept: take select\(...\) of another"):
            call()
    assert len(e.select("n_clusters").heaviest_share) == 1
    low, high = e.interval()
    assert len(low) == len(high) == 11
    assert "together[0, 1]" in str(e)


# --- everywhere the same bits ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed():
    return run(executor=1)


class Elsewhere(Executor):
    """Does everything at once, with copies of what it is given, as another process would."""

    _max_workers = 2

    def submit(self, function, /, *arguments):
        future = Future()
        function, arguments = pickle.loads(pickle.dumps((function, arguments)))
        future.set_result(pickle.loads(pickle.dumps(function(*arguments))))
        return future


@pytest.mark.parametrize("threads", [2, 4, None])
def test_same_bits_on_threads(threads, undisturbed):
    assert_same(run(executor=threads), undisturbed)


def test_same_bits_on_an_executor_of_the_callers_own(undisturbed):
    with ThreadPoolExecutor(3) as pool:
        assert_same(run(executor=pool), undisturbed)


@pytest.mark.parametrize("chunk", [100, 1 << 18])
def test_same_bits_with_sums_that_are_sent(undisturbed, monkeypatch, chunk):
    """Packed, in one piece and in many."""
    monkeypatch.setattr(sums_module, "CHUNK", chunk)
    assert_same(run(executor=Elsewhere()), undisturbed)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_same_bits_in_batches_of_any_size(undisturbed, monkeypatch, size):
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", size)
    assert_same(run(executor=2), undisturbed)


def test_same_bits_on_processes(undisturbed):
    assert_same(run(executor="processes"), undisturbed)


# --- in a file -------------------------------------------------------------------------------------------------------


def test_a_store_continues_where_it_stopped(tmp_path, undisturbed):
    path = tmp_path / "run.db"
    half = run(store=path, replicates=COUNT // 2)
    assert len(half.values) == COUNT // 2
    assert_same(half, run(replicates=COUNT // 2))
    assert_same(run(store=path), undisturbed)
    assert_same(run(store=path), undisturbed)  # nothing left to do
    loaded = cp.Estimate.load(path)
    assert_same(loaded, undisturbed)
    assert loaded.components == undisturbed.components
    assert loaded.streamed == undisturbed.streamed
    assert_same(loaded.select("memberships"), undisturbed.select("memberships"))


def test_a_store_of_many_chunks(tmp_path, undisturbed, monkeypatch):
    monkeypatch.setattr(sums_module, "CHUNK", 37)
    run(store=tmp_path / "run.db", replicates=COUNT // 2)
    assert_same(run(store=tmp_path / "run.db"), undisturbed)
    assert_same(cp.Estimate.load(tmp_path / "run.db"), undisturbed)


def test_a_store_refuses_another_run_and_fewer_replicates(tmp_path):
    path = tmp_path / "run.db"
    target, partition = planted(POINTS), np.arange(POINTS) % 3

    def call(functional, **changes):
        return cp.estimate(target, functional, store=path, **{"replicates": 3, **TIMES, **changes})

    call(cp.memberships(partition, keep_values=False))
    before = cp.Estimate.load(path)
    for functional, changes, message in (
        (cp.memberships(partition, keep_values=True), {}, "functionals is"),
        (cp.memberships(1 - partition % 2, keep_values=False), {}, "functional_fingerprint is"),
        (cp.co_clustering(keep_values=False), {}, "functional is 'memberships' there and 'co_clustering' here"),
        (cp.memberships(partition, keep_values=False), {"seed": 6}, "seed is 5 there and 6 here"),
        (cp.memberships(partition, keep_values=False), {"lag": 3}, "settings is"),
    ):
        with pytest.raises(cp.errors.StoreError, match=f"belongs to another run: {message}"):
            call(functional, **changes)
    sentence = (
        "holds sums over replicates, up to number 2, which cannot be taken apart: replicates must be at least 3, got 2"
    )
    with pytest.raises(cp.errors.StoreError, match=sentence):
        call(cp.memberships(partition, keep_values=False), replicates=2)
    assert_same(cp.Estimate.load(path), before)
    assert len(call(cp.memberships(partition, keep_values=False), replicates=4).values) == 4  # it is not locked


def test_a_store_takes_little_more_than_the_moments(tmp_path):
    """Sixteen bytes a pair for 300 points; what else there is has room in a fifth of that."""
    path = tmp_path / "run.db"
    e = cp.estimate(planted(300), cp.co_clustering(), replicates=100, store=path, **TIMES)
    assert e.streamed
    assert path.stat().st_size <= 1.2 * 16 * len(e.mean)


@pytest.mark.parametrize("asked", [{}, {"target_stderr": 0.04, "replicates": 100_000}])
def test_killing_the_process_loses_nothing_that_was_written(tmp_path, asked):
    """Killed twice, in the middle, then to the end: the same replicates and the same bits as undisturbed.

    The process that is killed takes a rest after every batch, so that it cannot have come to its end.
    """
    path = tmp_path / "run.db"
    asked = asked or {"replicates": 400}
    script = f"""
        import time
        from copartition.runs import keeping
        import copartition as cp
        from streamed import TIMES, planted, wanted
        keeping.SECONDS_BETWEEN_WRITES = 0.0
        rest = lambda *state: time.sleep(0.1)
        cp.estimate(planted(30), wanted(30), store={str(path)!r}, progress=rest, **{asked!r}, **TIMES)
    """
    there = 0
    here = Path(__file__).resolve().parents[1]
    found = os.pathsep.join([str(here), str(here.parent / "examples"), os.environ.get("PYTHONPATH", "")])
    for _ in range(2):
        command = [sys.executable, "-c", textwrap.dedent(script)]
        process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": found})
        there = wait_for_more(path, there, process)
        process.kill()
        assert process.wait() != 0
    expected = cp.estimate(planted(30), wanted(30), **asked, **TIMES)
    before = cp.Estimate.load(path)
    assert 0 < len(before.indices) < len(expected.indices)
    assert_of_its_replicates(before, planted(30), wanted(30), TIMES)
    e = cp.estimate(planted(30), wanted(30), store=path, **asked, **TIMES)
    assert_same(e, expected)
    assert e.made_by.get("precision") == expected.made_by.get("precision")


def wait_for_more(path, there, process):
    """Wait until a run, which may have to compile first, has written more replicates than so many; say how many."""
    for _ in range(2400):
        if path.exists() and (now := len(cp.Estimate.load(path).indices)) > there:
            return now
        assert process.poll() is None
        time.sleep(0.05)
    raise TimeoutError("no replicate was written in two minutes")


def assert_of_its_replicates(e, target, functionals, settings):
    """The moments are those of the replicates that an estimate says it has, and of no other."""
    kept = cp.estimate(target, [f.kept() for f in functionals], replicates=int(e.indices.max()) + 1, **settings)
    values = kept.values[e.indices]
    np.testing.assert_allclose(e.mean, values.mean(axis=0), rtol=1e-12, atol=1e-14)
    assert np.array_equal(e.meeting_times, kept.meeting_times[e.indices])


@pytest.mark.parametrize("asked", [{"target_stderr": 0.04, "replicates": 5000}, {}])
def test_a_precision_is_reached_with_the_same_replicates_in_one_call_or_two(asked, tmp_path, monkeypatch):
    """A call that is given up between two looks: the next one ends what was begun before it looks."""
    monkeypatch.setattr("copartition.runs.estimating.stopping_rule", lambda *a: replace(stopping_rule(*a), first=50))
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 2)
    path, target = tmp_path / "run.db", small.scalar()[0]
    functionals = [cp.co_clustering(keep_values=False)]
    asked = asked | SETTINGS | ({} if asked else {"burn_in": 4, "min_sweeps": 30, "lag": 4})
    expected = cp.estimate(target, functionals, **asked)
    assert expected.made_by["precision"]["reached"]
    assert np.all(expected.stderr <= expected.made_by["precision"]["target_stderr"])
    looks = []

    def interrupt(done, total, *_):
        looks.append(total)
        if done > looks[0]:  # after the first look
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cp.estimate(target, functionals, store=path, progress=interrupt, executor=Elsewhere(), **asked)
    there = cp.Estimate.load(path)
    assert looks[0] < len(there.indices) < looks[-1]
    assert_same(cp.estimate(target, functionals, store=path, **asked), expected)


def test_a_store_says_how_far_it_was_going_before_it_gets_there(tmp_path, monkeypatch):
    """Sums cannot be taken apart: of a call that was to make more, no call may make fewer."""
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 1)
    path = tmp_path / "run.db"

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store=path, progress=interrupt, executor=Elsewhere(), replicates=60)
    assert cp.Estimate.load(path).indices.max() < 50
    with pytest.raises(cp.errors.StoreError, match="replicates must be at least 60, got 59"):
        run(store=path, replicates=59)


def test_a_store_is_read_as_it_is_at_one_moment(tmp_path, monkeypatch):
    """A run that writes between the reading of replicates and of sums is not seen at all."""
    path = tmp_path / "run.db"
    before = run(store=path, replicates=COUNT - 1)
    read = Store.read

    def slow(store, *limit):
        found = read(store, *limit)
        monkeypatch.setattr(Store, "read", read)
        run(store=path, replicates=COUNT)
        return found

    monkeypatch.setattr(Store, "read", slow)
    assert_same(cp.Estimate.load(path), before)
    assert len(cp.Estimate.load(path).values) == COUNT


# --- when something happens ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", [1, 2, Elsewhere()], ids=["1", "2", "elsewhere"])
def test_an_interruption_leaves_sums_and_replicates_that_belong_together(tmp_path, executor, undisturbed, monkeypatch):
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 7)
    path, calls = tmp_path / "run.db", []

    def interrupt(*_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(store=path, progress=interrupt, executor=executor)
    loaded = cp.Estimate.load(path)
    assert 0 < len(loaded.indices) <= COUNT
    assert_of_its_replicates(loaded, planted(POINTS), wanted(), TIMES)
    assert_same(run(store=path), undisturbed)


@pytest.mark.parametrize("time_between", [0.0, 1e9])
def test_an_interruption_while_sums_are_added(tmp_path, undisturbed, monkeypatch, time_between):
    """What was added halfway is never written: the file stays at what was written last."""
    monkeypatch.setattr("copartition.runs.pieces.LARGEST_BATCH", 7)
    monkeypatch.setattr(keeping, "SECONDS_BETWEEN_WRITES", time_between)
    monkeypatch.setattr(keeping, "SHARE_OF_WRITING", 1e9)
    monkeypatch.setattr(sums_module, "CHUNK", 500)
    path, calls, unpack = tmp_path / "run.db", [], sums_module.unpack

    def interrupted(packed):
        calls.append(1)
        if len(calls) == 60:
            raise KeyboardInterrupt
        return unpack(packed)

    with monkeypatch.context() as m:
        m.setattr(sums_module, "unpack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(store=path, executor=Elsewhere())
    loaded = cp.Estimate.load(path)
    assert 0 < len(loaded.indices) < COUNT
    assert_of_its_replicates(loaded, planted(POINTS), wanted(), TIMES)
    assert_same(run(store=path), undisturbed)


def raises_sometimes(labels):
    if labels.max() == 3:
        raise RuntimeError("four clusters are too many")
    return 1.0


def is_nothing_sometimes(labels):
    return np.nan if labels.max() == 3 else 1.0


def is_no_whole_number_sometimes(labels):
    return 0.7 if labels.max() == 3 else 1.0


@cp.kernels.evaluation
def is_infinite_sometimes(model, chain, hooks, parameters, out):
    out[0] = np.inf if chain[0].n_clusters[0] == 4 else 1.0


FAILING = {
    "raises": (cp.functional(raises_sometimes), "RuntimeError: four clusters are too many"),
    "gives nothing": (cp.functional(is_nothing_sometimes), "must return 1 finite"),
    "is infinite": (cp.kernels.Functional("infinite", is_infinite_sometimes, 1), "the functional gave inf"),
    "does not count": (
        cp.kernels.Functional("part", is_no_whole_number_sometimes, 1, counts=True, keep_values=False),
        "said to be whole numbers has others",
    ),
}


@pytest.mark.parametrize("executor", [1, 2, Elsewhere()], ids=["1", "2", "elsewhere"])
@pytest.mark.parametrize("kind", FAILING)
def test_a_functional_that_fails_leaves_sums_and_replicates_that_belong_together(tmp_path, kind, executor):
    """Streamed functionals before and after the one that fails; replicates of the same batch that ended are kept."""
    path, target = tmp_path / "run.db", small.scalar()[0]
    failing, message = FAILING[kind]
    good = [cp.memberships(FIVE, keep_values=False), cp.co_clustering(keep_values=False)]
    settings = {"burn_in": 0, "min_sweeps": 2, "lag": 1, "seed": 3}
    with pytest.raises(cp.errors.ReplicateError, match=message) as caught:
        cp.estimate(
            target, [good[0], failing, good[1]], replicates=24, store=path, executor=executor, **settings
        )  # fmt: skip
    loaded = cp.Estimate.load(path)
    assert 0 < len(loaded.indices) < 24
    assert f"({len(loaded.indices)} other replicates finished; they are in the store)" in str(caught.value)
    kept = cp.estimate(target, [f.kept() for f in good], replicates=24, **settings)
    expected = kept.values[loaded.indices].mean(axis=0)
    found = np.concatenate([loaded.select(f.name).mean for f in good])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


# --- what pairs are counted by ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("goes_on", [0, 1])
@pytest.mark.parametrize(
    ("points", "first", "last"),
    [
        (2, 0, 2),
        pytest.param(9, 0, 9, marks=pytest.mark.plain),
        pytest.param(9, 3, 5, marks=pytest.mark.plain),
        (30, 0, 30),
        (2 * WIDTH + 30, 0, 3),
        (2 * WIDTH + 30, WIDTH - 2, WIDTH + 3),
        (WIDTH + 1, WIDTH - 3, WIDTH + 1),
    ],
)
@pytest.mark.parametrize("kinds", [[1], [1, 3, -2], [-1], [5, -7, 1, 1, 1000 if JIT_DISABLED else 100_000]])
def test_counts_of_pairs_are_those_of_a_double_loop(points, first, last, kinds, goes_on, rng):
    lines = 7
    labels = rng.integers(0, 3, (lines, points)).astype(np.uint16)
    weights = np.sort(rng.choice(kinds, lines))
    weights = np.concatenate([weights[weights == 1], weights[weights != 1]]).astype(np.int64)
    once = np.array([int(np.sum(weights == 1))])
    size = points * (points - 1) // 2
    before, squares_before = rng.integers(-50, 50, (2, size))
    counted = rng.integers(-50, 50, size).astype(np.int32)
    for partial in (np.zeros(0, dtype=np.int32), counted.copy()):
        if goes_on and not len(partial):
            continue
        totals, squares = before.copy(), squares_before.copy()
        counting = Counting(labels, weights, once, totals, squares)
        had = partial.copy()
        scratch = np.full(WIDTH, 99, dtype=np.int16), np.full(WIDTH, 99, dtype=np.int32)
        count_pairs(counting, first, last, partial, goes_on, *scratch)
        expected = naive.count_pairs(labels.tolist(), weights.tolist(), first, last)
        place_of = np.zeros((points, points), dtype=np.int64)
        place_of[np.triu_indices(points, 1)] = np.arange(size)
        places = np.array([place_of[pair] for pair in expected])
        counts = np.array(list(expected.values())) + (had[places] if len(had) else 0)
        if goes_on:
            had[places] = counts
            assert np.array_equal(partial, had)
            assert np.array_equal(totals, before)
            continue
        should, should_squares = before.copy(), squares_before.copy()
        should[places] += counts
        should_squares[places] += counts**2
        assert np.array_equal(totals, should)
        assert np.array_equal(squares, should_squares)
        if len(had):
            had[places] = 0
            assert np.array_equal(partial, had)


@pytest.mark.parametrize("points", [2, 3, 64, 65, 128, 1000, 5000])
def test_rows_are_shared_out_evenly_and_all(points):
    bounds = recording._even_rows(points)
    assert bounds[0] == 0
    assert bounds[-1] == points
    assert np.all(np.diff(bounds) > 0)
    assert len(bounds) - 1 <= sums_module.STRETCHES
    pairs = [sum(points - 1 - i for i in range(a, b)) for a, b in pairwise(bounds)]
    assert sum(pairs) == points * (points - 1) // 2
    assert max(pairs) <= 2 * sum(pairs) / len(pairs) + points


# --- unbiased --------------------------------------------------------------------------------------------------------


def exact_values(density, partition):
    states, distribution = naive.distribution(density, 5)
    pairs = list(zip(*np.triu_indices(5, 1), strict=True))
    table = [
        [*naive.together(s, pairs), *naive.memberships(s, partition), *naive.cluster_similarity(s, partition)]
        for s in states
    ]
    return distribution @ np.array(table)


@pytest.mark.parametrize("name", ["scalar", "coloring", "bernoulli"])
def test_means_are_the_exact_expectations(name):
    """31 numbers, three targets and two settings: all within 4 standard errors but with probability 0.012."""
    target, density = small.TARGETS[name]()
    exact = exact_values(density, FIVE)
    for burn_in, horizon, lag in ((0, 0, 1), (0, 4, 2)):
        settings = {"burn_in": burn_in, "min_sweeps": horizon, "lag": lag, "seed": 10 + lag}
        e = cp.estimate(target, numbers_of(target, "sss-")[:3], replicates=2000, **settings)
        assert len(e.streamed) == 3
        assert np.all(np.abs(e.mean - exact) <= 4 * e.stderr + 1e-12)


def test_intervals_cover_as_often_as_they_say():
    """100 runs of 40 replicates: a 95 % interval misses 5 on average, 0 to 12 with probability 0.998."""
    target, density = small.scalar()
    exact = exact_values(density, FIVE)[:10]
    covered = np.zeros(10)
    for seed in range(100):
        settings = {"replicates": 40, "burn_in": 2, "min_sweeps": 8, "lag": 2, "seed": seed, "executor": 1}
        e = cp.estimate(target, cp.co_clustering(keep_values=False), **settings)
        covered += np.abs(e.mean - exact) <= e.margin(0.95, few=True) * e.stderr
    assert covered[0] >= 88
    assert 91 <= np.mean(covered) <= 98


# --- memory ----------------------------------------------------------------------------------------------------------


def parted(points):
    """Three clusters far apart, from which pairs start: they meet at once."""
    labels = np.arange(points) % 3
    data = 20.0 * labels + np.random.default_rng(1).normal(0, 1, points)
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=30.0), cp.DirichletProcess(0.01))
    return target, labels


def test_memory_is_that_of_the_sums_however_many_replicates_there_are():
    """Two arrays of all pairs and half of one at most; and 4 MB for records of two threads and everything else."""
    points = 1500
    target, labels = parted(points)
    settings = {"burn_in": 1, "min_sweeps": 3, "lag": 1, "init": labels, "seed": 1, "executor": 2}
    cp.estimate(target, cp.co_clustering(), replicates=2, **settings)
    peaks = []
    for replicates in (30, 120):
        tracemalloc.start()
        e = cp.estimate(target, cp.co_clustering(), replicates=replicates, **settings)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert e.streamed
    one = 8 * points * (points - 1) // 2
    assert peaks[0] <= 2.5 * one + 4e6
    assert peaks[1] <= peaks[0] + 1e6


def test_too_many_points_are_refused_at_once():
    """Nothing is made for all pairs, not even their names."""
    points = 100_000
    target = cp.Mixture(np.zeros(points), cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
    tracemalloc.start()
    sentence = (
        "co_clustering of all pairs takes at most 65,535 points, got 100,000, whose 4,999,950,000 pairs need 100 GB: "
        r"use memberships\(partition\), co_clustering\(pairs=nearest_pairs\(data, k\)\) or co_clustering\(indices\)"
    )
    with pytest.raises(ValueError, match=sentence):
        cp.estimate(target, cp.co_clustering(), replicates=10)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()
    names = cp.co_clustering(np.arange(points)).components
    assert isinstance(names, Names)
    assert len(names) == 4_999_950_000
    assert names[-1] == "together[99998, 99999]"


@pytest.mark.parametrize(
    ("functional", "sentence"),
    [
        (
            cp.co_clustering(keep_values=False),
            "co_clustering with its 45 components needs .* GB for 100 replicates, .*",
        ),
        (cp.memberships(np.arange(10) % 2, keep_values=False), "memberships with its 20 components .*: keep fewer"),
    ],
)
def test_what_does_not_fit_into_memory_is_refused(monkeypatch, functional, sentence):
    monkeypatch.setattr(recording, "available_memory", lambda: 800)
    with pytest.raises(ValueError, match=sentence):
        cp.estimate(planted(10), functional, replicates=100, **TIMES)


def test_values_that_do_not_fit_into_memory_are_refused(monkeypatch):
    """All pairs of 100 points fit where only sums are kept, and of 1000 replicates they do not."""
    monkeypatch.setattr(recording, "available_memory", lambda: 1_000_000)
    with pytest.raises(ValueError, match=r"co_clustering with its 4,950 components needs 0.0396 GB for 1,000 repl"):
        cp.estimate(planted(100), cp.co_clustering(keep_values=True), replicates=1000, **TIMES)
    monkeypatch.setattr(recording, "available_memory", lambda: None)  # not known: nothing is refused
    cp.estimate(planted(10), cp.co_clustering(keep_values=False), replicates=1, **TIMES)
