"""The estimator: unbiased by enumeration, its sums against naive ones, and tests that are able to fail."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import replace

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
from conftest import JIT_DISABLED, once_each
from copartition.chains.chain import chain_at
from copartition.chains.moves import Move
from copartition.chains.start import advance_pair, check_start, start_pair
from copartition.chains.step import BoundStep
from copartition.core import sweeps
from copartition.core.compiling import hook, kernel
from copartition.core.estimator import correction_weight
from copartition.core.random import draw, stream
from copartition.core.state import Room, move_signatures
from copartition.core.types import DONE, int64
from copartition.couplings.base import partner
from copartition.functionals.base import evaluate_at
from copartition.runs.meeting import PairJob, pair_job
from copartition.runs.progress import Pause
from copartition.runs.replicates import Runner
from jobs import growing, job_for, run
from made_up import trajectory

CAP = 10**6


@kernel(int64(int64, int64, int64, int64))
def weight_kernel(t, burn_in, horizon, lag):
    return correction_weight(t, burn_in, horizon, lag)


@pytest.mark.plain
def test_weights_count_how_often_a_difference_is_used():
    for lag in (1, 2, 3, 7):
        for k, m in ((0, 0), (0, 5), (3, 3), (5, 20)):
            for t in range(k + lag, 60):
                assert weight_kernel(t, k, m, lag) == naive.weight_by_counting(t, k, m, lag)


@pytest.mark.plain
@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("init", ["one_cluster", "prior"])
def test_values_are_those_of_the_formula_replicate_by_replicate(lag, init):
    target, _ = small.scalar()
    for k, m in ((0, 0), (2, 9)):
        job = job_for(target, [cp.n_clusters()], cp.couplings.Maximal(), (k, m, lag, CAP), init)
        results = run(job, 4 if JIT_DISABLED else 40)
        for i, value in enumerate(results.values[:, 0]):
            h_x, h_y, tau = trajectory(target, job.step, job.start, lag, 1, i, m)
            assert value == pytest.approx(naive.unbiased(h_x, h_y, tau, k, m, lag), abs=1e-12)
            assert results.meeting_times[i] == tau
            assert results.sweeps[i] == lag + 2 * (tau - lag) + max(0, m - tau)


def exact_pairs(target, density):
    """All pairs of points, and the exact probability that each is together; last the mean number of clusters."""
    states, distribution = naive.distribution(density, target.n_points)
    pairs = list(zip(*np.triu_indices(target.n_points, 1), strict=True))
    table = np.array([[state[a] == state[b] for a, b in pairs] + [len(set(state))] for state in states], dtype=float)
    return distribution @ table


def assert_unbiased(values, exact):
    """Every component within 4 standard errors (seeds are fixed: this passes or fails, always)."""
    error = np.abs(values.mean(axis=0) - exact)
    stderr = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(error <= 4 * stderr + 1e-12), np.max(error / np.maximum(stderr, 1e-300))


@pytest.mark.parametrize(("name", "coupling"), once_each(["scalar", "coloring", "full"], [*small.COUPLINGS]))
def test_mean_of_replicates_is_the_exact_expectation(name, coupling):
    """Every lag without burn-in, where corrections are large, and one of them with: the horizons take turns.

    Eleven components of five runs: a case with a new seed would be a false alarm with a probability of 0.0035.
    """
    target, density = small.TARGETS[name]()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    turn = [*small.COUPLINGS].index(coupling) + [*small.TARGETS].index(name)
    lags = (1, 2, 3, 7)
    times = [(0, 4 * ((place + turn) % 2), lag) for place, lag in enumerate(lags)]
    for burn_in, horizon, lag in (*times, (5, 5 + 4 * (turn // 4 % 2), lags[turn % 4])):
        settings = (burn_in, horizon, lag, CAP)
        job = job_for(target, functionals, small.COUPLINGS[coupling], settings, seed=1000 * lag + burn_in)
        assert_unbiased(run(job, 20_000).values, exact)


def test_random_starts_and_nuggets_are_unbiased_too():
    target, density = small.scalar()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    for init in ("prior", "sequential", "singletons", cp.Start("annealed", levels=3, split_merge=1)):
        job = job_for(target, functionals, cp.Transport(nugget=0.2), (0, 2, 2, CAP), init)
        assert_unbiased(run(job, 20_000).values, exact)


@pytest.mark.parametrize(
    ("name", "coupling"), once_each(["scalar", "full", "bernoulli", "wishart"], ["transport", "matched", "path"])
)
def test_split_merge_moves_and_starts_that_are_runs_leave_it_unbiased(name, coupling):
    """Eleven components of four runs: a case with a new seed would be a false alarm with a probability of 0.003."""
    target, density = small.TARGETS[name]()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    inits, times = ("one_cluster", cp.Start("singletons", sweeps=2, split_merge=3)), ((0, 0), (2, 6))
    shift = [*small.COUPLINGS].index(coupling) + [*small.TARGETS].index(name)
    for first, lag in itertools.product(range(2), (1, 3)):  # half of all eight, which has every two together
        burn_in, horizon = times[(first + lag // 2 + shift) % 2]
        step = BoundStep(cp.Step(small.COUPLINGS[coupling], 2))
        job = job_for(target, functionals, step, (burn_in, horizon, lag, CAP), inits[first], seed=10 * lag + burn_in)
        assert_unbiased(run(job, 20_000).values, exact)


@cp.kernels.log_merge
def wrong_log_merge(model, chain, a, b):
    return 0.3


@partner
def swapped_remainders(pair, n_x, n_y, total_x, total_y, i, u):
    """The matched coupling with the remainders exchanged: what x has left over is placed in y."""
    x, y, matched = pair[0].x.weights, pair[0].y.weights, pair[0].matched
    j = matched.there[i]
    mass = x[i] / total_x
    level = u * mass
    shared = min(mass, y[j] / total_y) if j >= 0 else 0.0
    if level < shared:
        return j
    best, most = -1, 0.0
    for k in range(n_y):
        a = matched.back[k]
        excess = x[a] / total_x - y[k] / total_y if a >= 0 else 0.0
        if y[k] > 0.0 and excess > most:
            best, most = k, excess
    return best if best >= 0 else draw(y, n_y, u * total_y)


class Swapped(cp.couplings.Matched):
    partner = swapped_remainders


@pytest.mark.parametrize("wrong", ["acceptance ratio", "remainders swapped"])
def test_wrong_kernels_fail_the_same_test(wrong):
    target, density = small.bernoulli()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    step = BoundStep(cp.Step(cp.couplings.Path(reach=5), 2))
    if wrong == "acceptance ratio":
        parts = {"parameters": target.model.parameters, "log_merge": wrong_log_merge}
        target = cp.Target(target.model.points, target.hooks.log_predictive, target.prior, **parts)
    else:
        step = BoundStep(cp.Step(Swapped(), 0))
    values = run(job_for(target, functionals, step, (0, 2, 1, 1000), "singletons"), 20_000).values
    with pytest.raises(AssertionError):
        assert_unbiased(values, exact)


alone_signature, together_signature = move_signatures(Room)


@hook(alone_signature)
def shifted_chain(model, hooks, chain, room, random, progress):
    """A step that ends in the middle of a sweep. For a single chain that is as good as any other."""
    n_points = len(chain.labels)
    for n in range(n_points):
        sweeps.update_chain(model, hooks, chain, random, (n + n_points // 2) % n_points)
    return DONE


@hook(together_signature)
def shifted_by_points(hooks, pair, room, rule, random, progress):
    """The same for two chains that are coupled one point after another."""
    x, y = pair.x, pair.y
    n_points = len(x.labels)
    pair.due[0] = 0  # so that clusters are matched before the first point, as in a sweep
    for step in range(n_points):
        n = (step + n_points // 2) % n_points
        sweeps.update_pair(pair.model_x, hooks, pair, x, y, rule, random, n)
    return DONE


def test_evaluation_inside_a_sweep_is_right_where_points_are_coupled_one_by_one():
    """Functionals may be looked at in the middle of a sweep where nothing but the last point's distribution matters."""
    target, density = small.bernoulli()
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    step = distributions.OnlyMoves(cp.Step(cp.couplings.Matched(), 0), only=(Move(shifted_chain, shifted_by_points),))
    job = job_for(target, functionals, step, (0, 2, 1, 10_000), "singletons")
    assert_unbiased(run(job, 20_000).values, exact_pairs(target, density))


@pytest.mark.parametrize("wrong", [{"too_early": 1}, {"weights": "old"}])
def test_wrong_estimators_fail_the_same_test(wrong):
    """The two mistakes of public code: the last correction term lost, and lag weights that are too large."""
    data = np.array([-1.6, -1.4, 1.5, 1.7])  # one cluster is far from likely: corrections are large
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.7, mean_sd=2.0), cp.DirichletProcess(0.3))
    density = naive.GaussianMixture(data[:, None], np.eye(1) * 0.49, np.eye(1) * 4, np.zeros(1), 0.3)
    exact = exact_pairs(target, density)[-1:]
    k, m, lag = 0, 0, 3
    start = check_start(target, "one_cluster")
    step = BoundStep(cp.Step(cp.Transport(), 0))
    runs = [trajectory(target, step, start, lag, 3, i, m) for i in range(1000)]
    right = np.array([[naive.unbiased(*r, k, m, lag)] for r in runs])
    assert_unbiased(right, exact)
    broken = np.array([[naive.unbiased(*r, k, m, lag, **wrong)] for r in runs])
    with pytest.raises(AssertionError):
        assert_unbiased(broken, exact)


def test_intervals_cover_as_often_as_they_say():
    """200 runs of 60 replicates: a 95 % interval misses 10 on average, 2 to 20 with probability 0.998."""
    target, density = small.scalar()
    exact = exact_pairs(target, density)[-1]
    every = cp.estimate(target, cp.n_clusters(), replicates=12_000, burn_in=2, min_sweeps=8, lag=2, seed=0)
    covered = 0
    for values in np.split(every.values, 200):
        e = replace(every, values=values)
        covered += bool(abs(e.mean[0] - exact) <= e.margin(0.95, few=True) * e.stderr[0])
    assert 180 <= covered <= 198


# --- how replicates are run ------------------------------------------------------------------------------------------


def in_python(asked):
    """The twins of `n_clusters` and `co_clustering([0, 1])`, the first of which notes that it was asked."""

    def count(labels):
        asked.append(labels)
        return labels.max() + 1

    return [cp.functional(count), cp.functional(lambda labels: labels[0] == labels[1])]


@pytest.mark.plain
@pytest.mark.parametrize("init", ["one_cluster", "prior", "singletons"])
@pytest.mark.parametrize("times", [(0, 4, 2, CAP), (3, 5, 1, CAP), (0, 2, 3, 4)])
def test_python_functionals_give_the_same_values(init, times):
    """Bit by bit, alone or beside a compiled one; Python is asked as often as the estimator needs it, and no more."""
    target, _ = small.scalar()
    count = 3 if JIT_DISABLED else 100
    compiled = [cp.n_clusters(), cp.co_clustering([0, 1])]
    expected = run(job_for(target, compiled, cp.couplings.Common(), times, init), count)
    for others in (slice(1, 1), slice(1, 2)):
        asked = []
        functionals = in_python(asked)
        functionals[others] = compiled[others]
        slow = run(job_for(target, functionals[:2], cp.couplings.Common(), times, init), count)
        assert slow.values.tolist() == expected.values.tolist()
        assert slow.meeting_times.tolist() == expected.meeting_times.tolist()
        assert slow.met.tolist() == expected.met.tolist()
        assert slow.sweeps.tolist() == expected.sweeps.tolist()
        k, m, lag, _ = times
        last = expected.meeting_times + ~expected.met  # of a pair that was given up the last difference counts too
        corrected = np.maximum(0, last - (k + lag))
        ends = np.where(expected.met, m, np.minimum(m, expected.meeting_times))
        both = np.maximum(0, np.minimum(ends + 1, last) - (k + lag)).clip(0)
        assert len(asked) == np.sum((ends - k + 1).clip(0) - both + 2 * corrected)


@pytest.mark.plain
def test_replicates_do_not_depend_on_their_batch():
    target, _ = small.scalar()
    job = job_for(target, [cp.n_clusters()], cp.Transport(), (1, 5, 2, CAP), "prior")
    together = run(job, 6)
    for i in range(6):
        alone, _ = job.run([i], Pause())
        assert alone.values.tolist() == together.values[i : i + 1].tolist()


@pytest.mark.plain
@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("kind", ["compiled", "in Python"])
def test_replicates_do_not_depend_on_the_pieces_they_are_run_in(kind, pieces):
    target, _ = small.scalar()
    functionals = [cp.n_clusters()] if kind == "compiled" else in_python([])
    job = job_for(
        target,
        functionals,
        BoundStep(cp.Step(cp.couplings.Path(), 1)),
        (1, 5, 2, CAP),
        cp.Start("prior", sweeps=2, split_merge=1),
    )
    together = run(job, 4)
    runner = Runner(job, range(4))
    while runner.ended < 4:
        runner.advance(pieces)
    for name in ("indices", "values", "meeting_times", "met", "sweeps"):
        assert getattr(runner.outcomes(), name).tolist() == getattr(together, name).tolist()


@pytest.mark.plain
@pytest.mark.parametrize("init", [None, "sequential", cp.Start("one_cluster", sweeps=1, split_merge=2)])
@pytest.mark.parametrize("coupling", [cp.Transport(), cp.couplings.Path(reach=40)], ids=["transport", "path"])
def test_chains_that_outgrow_their_arrays_go_on_or_begin_again_with_the_same_bits(monkeypatch, init, coupling):
    """At their start, on their own, or together, then also in the middle of a sweep that is coupled as a whole."""
    functionals = [cp.n_clusters(), cp.largest_clusters(2)]
    count, settings = (1, (0, 2, 1, 2)) if JIT_DISABLED else (10, (0, 3, 2, 10))
    job = job_for(growing(), functionals, BoundStep(cp.Step(coupling, 1)), settings, init)
    grown = spied(monkeypatch, "copartition.runs.replicates.grown_pair")
    small_first = run(job, count)
    assert grown
    assert small_first.values[:, 0].max() > 16
    grown.clear()
    roomy = np.arange(40)
    monkeypatch.setattr("copartition.runs.replicates.chain_at", lambda target, start: chain_at(target, roomy))
    at_once = run(job, count)
    assert not grown
    for name in ("values", "meeting_times", "met", "sweeps"):
        assert getattr(at_once, name).tolist() == getattr(small_first, name).tolist()


def spied(monkeypatch, name):
    """Let a function note its results in the list that is returned."""
    module, _, attribute = name.rpartition(".")
    function = getattr(importlib.import_module(module), attribute)
    results = []

    def noted(*arguments):
        results.append(function(*arguments))
        return results[-1]

    monkeypatch.setattr(name, noted)
    return results


# --- what is written down of pairs -----------------------------------------------------------------------------------


def watched(job, index):
    """Distances at times lag, ..., tau and differences before each coupled sweep, step by step from Python."""
    target, functionals, step, s = job.target, job.functionals, job.step, job.settings
    random = stream(job.seed, index)
    pair = start_pair(target, step, job.start, s.lag, random)
    distances, differences = [naive.hamming(pair.x.labels, pair.y.labels)], []
    while distances[-1] > 0 and s.lag + len(differences) < s.max_sweeps:
        differences.append(
            evaluate_at(target.model, target.hooks, functionals, pair.x)
            - evaluate_at(target.model, target.hooks, functionals, pair.y)
        )
        pair, _ = advance_pair(target, step, pair, random, 1)
        distances.append(naive.hamming(pair.x.labels, pair.y.labels))
    return distances, np.array(differences).reshape(-1, job.size)


def pairs_that(kind):
    """The job of pairs that meet, that are given up, or whose chains grow while they run together; and how many."""
    functionals = [cp.n_clusters(), cp.largest_clusters(2)]
    if kind == "grow":
        return job_for(
            growing(), functionals, BoundStep(cp.Step(cp.couplings.Path(), 2)), (0, 0, 1, 8)
        ), 3 if JIT_DISABLED else 10
    target, _ = small.scalar()
    cap = CAP if kind == "meet" else 5
    step = (
        BoundStep(cp.Step(cp.couplings.Matched(), 1))
        if kind == "meet"
        else BoundStep(cp.Step(cp.couplings.Independent(), 0))
    )
    return job_for(target, functionals, step, (0, 0, 2, cap), "singletons"), 10 if JIT_DISABLED else 40


@pytest.mark.plain
@pytest.mark.parametrize("lines", [1, 3, 4096])
@pytest.mark.parametrize("kind", ["meet", "are given up", "grow"])
def test_the_diary_is_what_steps_from_python_show(monkeypatch, kind, lines):
    """Also if it is full several times, and while chains are replaced by larger ones."""
    monkeypatch.setattr("copartition.runs.replicates.LINES", lines)
    grown = spied(monkeypatch, "copartition.runs.replicates.grown_pair")
    job, count = pairs_that(kind)
    columns = np.array([2, 0])
    meetings, _ = PairJob(job, True, columns).run(range(count), Pause())
    for i in range(count):
        distances, differences = watched(job, i)
        assert meetings.distances[i].tolist() == distances
        assert meetings.differences[i].tolist() == differences[:, columns].tolist()
        assert meetings.meeting_times[i] == job.settings.lag + len(differences)
        assert meetings.met[i] == (distances[-1] == 0)
    assert len(meetings.distances) == len(meetings.differences) == count
    assert sum(map(len, meetings.distances)) > 3 * lines or lines == 4096
    assert meetings.met.all() == (kind == "meet") or kind == "grow"
    assert bool(grown) == (kind == "grow")


@pytest.mark.plain
def test_a_diary_of_few_cells_has_fewer_lines(monkeypatch):
    job, count = pairs_that("meet")
    expected, _ = PairJob(job, True, np.arange(3)).run(range(count), Pause())
    monkeypatch.setattr("copartition.runs.replicates.VALUES_OF_A_DIARY", 6)
    assert Runner(job, [0], keeps_diary=True)._batch.diary.differences.shape == (2, 3)
    found, _ = PairJob(job, True, np.arange(3)).run(range(count), Pause())
    assert_same_courses(found, expected)


def assert_same_courses(found, expected):
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.meeting_times.tolist() == expected.meeting_times.tolist()
    assert found.met.tolist() == expected.met.tolist()
    for name in ("distances", "differences"):
        for a, b in zip(getattr(found, name), getattr(expected, name), strict=True):
            assert a.tolist() == b.tolist()


@pytest.mark.plain
@pytest.mark.parametrize("lines", [1, 4096])
def test_functionals_in_python_are_written_down_too(monkeypatch, lines):
    target, _ = small.scalar()
    monkeypatch.setattr("copartition.runs.replicates.LINES", lines)
    courses = []
    for functionals in ([cp.n_clusters(), cp.co_clustering([0, 1])], in_python([])):
        job = job_for(target, functionals, cp.couplings.Common(), (0, 0, 2, CAP), "prior")
        courses.append(PairJob(job, True, np.arange(2)).run(range(4 if JIT_DISABLED else 40), Pause())[0])
    assert_same_courses(*courses)
    assert any(np.any(differences) for differences in courses[0].differences)


@pytest.mark.plain
def test_nothing_is_written_down_unless_it_is_asked_for():
    job, count = pairs_that("meet")
    silent, _ = PairJob(job, False, np.zeros(0, dtype=np.int64)).run(range(count), Pause())
    assert [d.shape for d in silent.distances] == [(0,)] * count
    assert [d.shape for d in silent.differences] == [(0, 0)] * count
    expected, _ = PairJob(job, True, np.zeros(0, dtype=np.int64)).run(range(count), Pause())
    assert silent.meeting_times.tolist() == expected.meeting_times.tolist()
    assert [len(d) for d in expected.distances] == (expected.meeting_times - 1).tolist()


# --- functionals -----------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_predictive_density_is_that_of_the_model():
    """Against the ratio of joint densities, averaged over the exact posterior; also in two dimensions."""
    for name in ("scalar", "full"):
        target, density = small.TARGETS[name]()
        columns = density.data.shape[1]
        grid = np.linspace(-2, 3, 3)[:, None] * np.ones(columns)
        states, distribution = naive.distribution(density, 5)
        expected = np.zeros(3)
        for g, point in enumerate(grid):
            larger = naive.GaussianMixture(
                np.vstack([density.data, point]), density.noise_cov, density.mean_cov, density.mean, density.alpha
            )
            for state, p in zip(states, distribution, strict=True):
                top = max(state) + 1
                joint = [larger.log_density((*state, k)) for k in range(top + 1)]
                expected[g] += p * np.exp(np.array(joint) - density.log_density(state)).sum() / (5 + density.alpha)
        if JIT_DISABLED:
            e = cp.estimate(target, cp.predictive_density(grid), replicates=3, burn_in=0, min_sweeps=2, lag=1)
            assert e.values.shape == (3, 3)
        else:
            e = cp.estimate(target, cp.predictive_density(grid), replicates=20_000, burn_in=2, min_sweeps=6, lag=2)
            assert_unbiased(e.values, expected)


@pytest.mark.plain
def test_predictive_density_integrates_to_one():
    target, _ = small.scalar()
    grid = np.linspace(-15, 15, 61)
    e = cp.estimate(target, cp.predictive_density(grid), replicates=2, burn_in=0, min_sweeps=2, lag=1)
    assert np.trapezoid(e.mean, grid) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.plain
def test_histogram_of_sizes_adds_up():
    target, _ = small.scalar()
    histogram = cp.functionals.cluster_sizes_histogram([1, 2, 4, 6])
    e = cp.estimate(target, [histogram, cp.n_clusters()], replicates=3, burn_in=0, min_sweeps=3, lag=1)
    np.testing.assert_allclose(e.values[:, :3].sum(axis=1), e.values[:, 3])


@cp.kernels.evaluation
def share_of_cluster(model, chain, hooks, parameters, out):
    """Share of all points in the cluster of a given point: a functional as a user would write it."""
    labels, sizes = chain[0].labels, chain[0].sizes
    out[0] = sizes[labels[int(parameters[0])]] / len(labels)


@pytest.mark.plain
def test_a_compiled_functional_of_the_users_own():
    target, density = small.scalar()
    states, distribution = naive.distribution(density, 5)
    exact = distribution @ np.array([state.count(state[2]) / 5 for state in states])
    own = cp.kernels.Functional("share of the cluster of point 2", share_of_cluster, 1, [2])
    e = cp.estimate(target, own, replicates=4 if JIT_DISABLED else 20_000, burn_in=1, min_sweeps=5, lag=2, seed=3)
    assert e.components == ["share of the cluster of point 2"]
    if not JIT_DISABLED:
        assert_unbiased(e.values, np.array([exact]))


@pytest.mark.parametrize("coupling", ["transport", "path"])
def test_a_lead_that_is_timed_apart_changes_no_number(monkeypatch, coupling):
    """The kernel stops where chains are joined and where pairs end; what it computes is the same."""
    target = small.scalar()[0]
    run = {"replicates": 30, "coupling": coupling, "lag": 7, "max_sweeps": 12, "trace": True, "seed": 3, "executor": 1}
    together = cp.meeting_times(target, **run)
    monkeypatch.setattr("copartition.runs.replicates.LONG", 0)
    apart = cp.meeting_times(target, **run)
    assert np.array_equal(together.meeting_times, apart.meeting_times)
    assert np.array_equal(together.met, apart.met)
    assert all(np.array_equal(a, b) for a, b in zip(together.traces, apart.traces, strict=True))


@pytest.mark.plain
def test_coupled_sweeps_are_timed_without_the_lead(monkeypatch):
    """With a clock that moves on by a second at every look, each part of a pair takes whole seconds of its own."""
    monkeypatch.setattr("copartition.runs.replicates.LONG", 0)
    ticks = iter(range(10_000))
    monkeypatch.setattr("copartition.runs.replicates.time.thread_time", lambda: float(next(ticks)))
    target = small.scalar()[0]
    job = pair_job(
        target, (), BoundStep(cp.Step(cp.couplings.Independent(), 0)), check_start(target, "singletons"), 5, 9, 1
    )
    runner = Runner(job, [0, 1], times_parts=True)
    while runner.ended < 2:
        before = runner.ended
        runner.advance(100)
        assert runner.ended - before in (0, 1)
    seconds, coupled = runner.outcomes().seconds, runner.coupled_seconds()
    assert np.all(coupled > 0)
    assert np.all(seconds > coupled)
