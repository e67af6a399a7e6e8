"""The estimator: unbiased by enumeration, its sums against naive ones, and tests that are able to fail."""

from __future__ import annotations

import numpy as np
import pytest
from numba import types

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition import gibbs, path, steps
from copartition.compiled.kernel import kernel, reference
from copartition.compiled.random import draw, stream
from copartition.compiled.state import step_chain_signature, step_pair_signature
from copartition.couplings.base import partner
from copartition.estimator import correction_weight
from copartition.pacing import no_pause
from copartition.pair import advance_pair, start_pair
from copartition.replicate import Job, Settings, run_replicates_of
from copartition.start import check_start

NO_TRACE = np.zeros(0, dtype=np.int64)
CAP = 10**6


@kernel(types.int64(types.int64, types.int64, types.int64, types.int64))
def weight_kernel(t, burn_in, horizon, lag):
    return correction_weight(t, burn_in, horizon, lag)


def test_weights_count_how_often_a_difference_is_used():
    for lag in (1, 2, 3, 7):
        for k, m in ((0, 0), (0, 5), (3, 3), (5, 20)):
            for t in range(k + lag, 60):
                assert weight_kernel(t, k, m, lag) == naive.weight_by_counting(t, k, m, lag)


def job_for(target, functionals, coupling, settings, init=None, seed=1):
    return Job(target, tuple(functionals), coupling, check_start(target, init), Settings(*settings), seed)


def run(job, count):
    results, failure = run_replicates_of(job, range(count), no_pause)
    assert failure is None
    return results


def trajectory(target, coupling, start, lag, seed, index, horizon):
    """Numbers of clusters of x and y over time, and the meeting time, sweep by sweep from Python."""
    from copartition.chain import advance_chain
    from copartition.start import start_chain

    random = stream(seed, index)
    x, y = (start_chain(target, start, random) for _ in range(2))
    h_x, h_y = [count(x)], [count(y)]
    for _ in range(lag):
        x = advance_chain(target, x, random, 1)
        h_x.append(count(x))
    random = stream(seed, index)
    pair = start_pair(target, coupling, start, lag, random)
    t = lag
    while pair.distance[0] > 0:
        pair, _ = advance_pair(target, coupling, pair, random, 1, NO_TRACE)
        t += 1
        h_x.append(count(pair.x))
        h_y.append(count(pair.y))
    x = pair.x
    for _ in range(t, horizon):
        x = advance_chain(target, x, random, 1)
        h_x.append(count(x))
    return h_x, h_y, t


def count(chain):
    return len(set(chain.labels.tolist()))


@pytest.mark.parametrize("lag", [1, 3])
@pytest.mark.parametrize("init", ["one_cluster", "prior"])
def test_values_are_those_of_the_formula_replicate_by_replicate(lag, init):
    target, _ = small.scalar()
    for k, m in ((0, 0), (2, 9)):
        job = job_for(target, [cp.n_clusters()], cp.Maximal(), (k, m, lag, CAP), init)
        results = run(job, 4 if JIT_DISABLED else 40)
        for i, value in enumerate(results.values[:, 0]):
            h_x, h_y, tau = trajectory(target, cp.Maximal(), job.start, lag, 1, i, m)
            assert value == pytest.approx(naive.unbiased(h_x, h_y, tau, k, m, lag), abs=1e-12)
            assert results.meeting_times[i] == tau
            assert results.sweeps[i] == lag + 2 * (tau - lag) + max(0, m - tau)


def exact_pairs(target, density):
    """All pairs of points, and the exact probability that each is together; last the mean number of clusters."""
    states, law = naive.law(density, target.n_points)
    pairs = list(zip(*np.triu_indices(target.n_points, 1), strict=True))
    table = np.array([[state[a] == state[b] for a, b in pairs] + [len(set(state))] for state in states], dtype=float)
    return law @ table


def assert_unbiased(values, exact):
    """Every component within 4 standard errors (seeds are fixed: this passes or fails, always)."""
    error = np.abs(values.mean(axis=0) - exact)
    stderr = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert np.all(error <= 4 * stderr + 1e-12), np.max(error / np.maximum(stderr, 1e-300))


@pytest.mark.compiled
@pytest.mark.parametrize("coupling", small.COUPLINGS)
@pytest.mark.parametrize("name", ["scalar", "coloring", "full"])
def test_mean_of_replicates_is_the_exact_expectation(name, coupling):
    target, density = small.TARGETS[name]()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    for lag in (1, 2, 3, 7):
        for burn_in in (0, 5):
            for horizon in (burn_in, burn_in + 4):
                settings = (burn_in, horizon, lag, CAP)
                job = job_for(target, functionals, small.COUPLINGS[coupling], settings, seed=1000 * lag + burn_in)
                assert_unbiased(run(job, 20_000).values, exact)


@pytest.mark.compiled
def test_random_starts_and_nuggets_are_unbiased_too():
    target, density = small.scalar()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    for init in ("prior", "sequential", "singletons"):
        job = job_for(target, functionals, cp.Transport(nugget=0.2), (0, 2, 2, CAP), init)
        assert_unbiased(run(job, 20_000).values, exact)


@pytest.mark.compiled
@pytest.mark.parametrize("coupling", ["transport", "matched", "path"])
@pytest.mark.parametrize("name", ["scalar", "full", "bernoulli"])
def test_split_merge_moves_and_starts_that_are_runs_leave_it_unbiased(name, coupling):
    target, density = small.TARGETS[name]()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    for init in ("one_cluster", cp.Start("singletons", sweeps=2, split_merge=3)):
        for lag in (1, 3):
            for burn_in, horizon in ((0, 0), (2, 6)):
                settings = (burn_in, horizon, lag, CAP, 2)
                job = job_for(target, functionals, small.COUPLINGS[coupling], settings, init, seed=10 * lag + burn_in)
                assert_unbiased(run(job, 20_000).values, exact)


@cp.log_merge
def wrong_log_merge(model, chain, a, b):
    return 0.3


@partner
def swapped_remainders(pair, n_x, n_y, total_x, total_y, i, u):
    """The matched coupling with the remainders exchanged: what x has left over is placed in y."""
    x, y, mates = pair[0].x.weights, pair[0].y.weights, pair[0].mates
    j = mates.there[i]
    mass = x[i] / total_x
    level = u * mass
    shared = min(mass, y[j] / total_y) if j >= 0 else 0.0
    if level < shared:
        return j
    best, most = -1, 0.0
    for k in range(n_y):
        a = mates.back[k]
        excess = x[a] / total_x - y[k] / total_y if a >= 0 else 0.0
        if y[k] > 0.0 and excess > most:
            best, most = k, excess
    return best if best >= 0 else draw(y, n_y, u * total_y)


class Swapped(cp.Matched):
    partner = swapped_remainders


@kernel(step_chain_signature)
def shifted_chain(model, chain, moves, log_predictive, log_merge, random, progress):
    """A step that ends in the middle of a sweep. For a single chain that is as good as any other."""
    n_points = len(chain[0].labels)
    for n in range(n_points):
        gibbs.update_chain(model, chain, log_predictive, random, (n + n_points // 2) % n_points)
    progress[0] += 1
    return 0


@kernel(step_pair_signature)
def shifted_pair(model, pair, moves, log_predictive, log_merge, partner, random, progress):
    """The same for two chains that are coupled over whole sweeps: functionals are evaluated inside a sweep."""
    x, y = reference(pair[0].x), reference(pair[0].y)
    phase = pair[0].phase
    n_points = len(x[0].labels)
    for step in range(n_points):
        n = (step + n_points // 2) % n_points
        if n == 0 or phase[0] == path.POINT_BY_POINT:
            path.choose_phase(model, pair, moves)
        if phase[0] == path.TOGETHER:
            path.step_together(model, pair, x, y, moves, log_predictive, partner, random, n)
        else:
            path.step_parted(model, pair, x, y, moves, log_predictive, partner, random, n)
    progress[0] += 1
    return 0


@pytest.mark.compiled
@pytest.mark.parametrize("wrong", ["acceptance ratio", "remainders swapped", "functional inside a sweep"])
def test_wrong_kernels_fail_the_same_test(wrong, monkeypatch):
    target, density = small.bernoulli()
    exact = exact_pairs(target, density)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    coupling, split_merge = cp.Path(reach=5), 2
    if wrong == "acceptance ratio":
        parts = {"parameters": target.model.parameters, "log_merge": wrong_log_merge}
        target = cp.Target(target.model.points, target.log_predictive, target.prior, **parts)
    elif wrong == "remainders swapped":
        coupling, split_merge = Swapped(), 0
    else:
        split_merge = 0
        monkeypatch.setattr(steps, "step_chain", shifted_chain)
        monkeypatch.setattr(steps, "step_pair", shifted_pair)
    job = job_for(target, functionals, coupling, (0, 2, 1, 1000, split_merge), "singletons")
    with pytest.raises(AssertionError):
        assert_unbiased(run(job, 20_000).values, exact)


@pytest.mark.compiled
def test_evaluation_inside_a_sweep_is_right_where_points_are_coupled_one_by_one(monkeypatch):
    """The shifted steps above are wrong for whole sweeps only: with a reach of nothing they are unbiased."""
    target, density = small.bernoulli()

    @kernel(step_pair_signature)
    def shifted_by_points(model, pair, moves, log_predictive, log_merge, partner, random, progress):
        x, y = reference(pair[0].x), reference(pair[0].y)
        n_points = len(x[0].labels)
        pair[0].due[0] = 0  # so that clusters are matched before the first point, as in a sweep
        for step in range(n_points):
            n = (step + n_points // 2) % n_points
            gibbs.update_pair(model, pair, x, y, moves, log_predictive, partner, random, n)
        progress[0] += 1
        return 0

    monkeypatch.setattr(steps, "step_chain", shifted_chain)
    monkeypatch.setattr(steps, "step_pair", shifted_by_points)
    functionals = [cp.co_clustering(range(5)), cp.n_clusters()]
    job = job_for(target, functionals, cp.Matched(), (0, 2, 1, 10_000), "singletons")
    assert_unbiased(run(job, 20_000).values, exact_pairs(target, density))


@pytest.mark.compiled
@pytest.mark.parametrize("wrong", [{"too_early": 1}, {"weights": "old"}])
def test_wrong_estimators_fail_the_same_test(wrong):
    """The two mistakes of public code: the last correction term lost, and lag weights that are too large."""
    data = np.array([-1.6, -1.4, 1.5, 1.7])  # one cluster is far from likely: corrections are large
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.7, mean_sd=2.0), cp.DirichletProcess(0.3))
    density = naive.GaussianMixture(data[:, None], np.eye(1) * 0.49, np.eye(1) * 4, np.zeros(1), 0.3)
    exact = exact_pairs(target, density)[-1:]
    k, m, lag = 0, 0, 3
    start = check_start(target, "one_cluster")
    runs = [trajectory(target, cp.Transport(), start, lag, 3, i, m) for i in range(1000)]
    right = np.array([[naive.unbiased(*r, k, m, lag)] for r in runs])
    assert_unbiased(right, exact)
    broken = np.array([[naive.unbiased(*r, k, m, lag, **wrong)] for r in runs])
    with pytest.raises(AssertionError):
        assert_unbiased(broken, exact)


@pytest.mark.compiled
def test_intervals_cover_as_often_as_they_say():
    """200 runs of 60 replicates: a 95 % interval misses 10 on average, 2 to 20 with probability 0.998."""
    target, density = small.scalar()
    exact = exact_pairs(target, density)[-1]
    covered = 0
    for seed in range(200):
        e = cp.estimate(target, cp.n_clusters(), replicates=60, burn_in=2, min_sweeps=8, lag=2, seed=seed)
        low, high = e.interval(0.95)
        covered += bool(low[0] <= exact <= high[0])
    assert 180 <= covered <= 198


def test_python_functionals_give_the_same_values():
    target, _ = small.scalar()
    count = 3 if JIT_DISABLED else 100
    for init in ("one_cluster", "prior"):
        compiled = run(
            job_for(target, [cp.n_clusters(), cp.co_clustering([0, 1])], cp.Common(), (0, 4, 2, CAP), init), count
        )
        by_python = [cp.functional(lambda labels: labels.max() + 1), cp.co_clustering([0, 1])]
        slow = run(job_for(target, by_python, cp.Common(), (0, 4, 2, CAP), init), count)
        np.testing.assert_allclose(slow.values, compiled.values, atol=1e-12)
        assert slow.meeting_times.tolist() == compiled.meeting_times.tolist()
        assert slow.sweeps.tolist() == compiled.sweeps.tolist()


def test_replicates_do_not_depend_on_their_batch():
    target, _ = small.scalar()
    job = job_for(target, [cp.n_clusters()], cp.Transport(), (1, 5, 2, CAP), "prior")
    together = run(job, 6)
    for i in range(6):
        alone, _ = run_replicates_of(job, [i], no_pause)
        assert alone.values.tolist() == together.values[i : i + 1].tolist()


def test_chains_that_outgrow_their_arrays_begin_again_with_the_same_bits(monkeypatch):
    data = np.arange(40) * 100.0
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1000.0), cp.DirichletProcess(1.0))
    functionals = [cp.n_clusters(), cp.largest_clusters(2)]
    count = 1 if JIT_DISABLED else 5
    settings = (0, 3, 2, 10)
    small_first = run(job_for(target, functionals, cp.Transport(), settings), count)
    roomy = check_start(target, "singletons")
    job = job_for(target, functionals, cp.Transport(), settings)
    monkeypatch.setattr("copartition.replicate.chain_at", lambda target, start: chain_at(target, roomy.labels))
    from copartition.chain import chain_at

    assert run(job, count).values.tolist() == small_first.values.tolist()
    assert small_first.values[:, 0].max() > 16


def test_predictive_density_is_that_of_the_model():
    """Against the ratio of joint densities, averaged over the exact posterior; also in two dimensions."""
    for name in ("scalar", "full"):
        target, density = small.TARGETS[name]()
        columns = density.data.shape[1]
        grid = np.linspace(-2, 3, 3)[:, None] * np.ones(columns)
        states, law = naive.law(density, 5)
        expected = np.zeros(3)
        for g, point in enumerate(grid):
            larger = naive.GaussianMixture(
                np.vstack([density.data, point]), density.noise_cov, density.mean_cov, density.mean, density.alpha
            )
            for state, p in zip(states, law, strict=True):
                top = max(state) + 1
                joint = [larger.log_density((*state, k)) for k in range(top + 1)]
                expected[g] += p * np.exp(np.array(joint) - density.log_density(state)).sum() / (5 + density.alpha)
        if JIT_DISABLED:
            e = cp.estimate(target, cp.predictive_density(grid), replicates=3, burn_in=0, min_sweeps=2, lag=1)
            assert e.values.shape == (3, 3)
        else:
            e = cp.estimate(target, cp.predictive_density(grid), replicates=20_000, burn_in=2, min_sweeps=6, lag=2)
            assert_unbiased(e.values, expected)


def test_predictive_density_integrates_to_one():
    target, _ = small.scalar()
    grid = np.linspace(-15, 15, 61)
    e = cp.estimate(target, cp.predictive_density(grid), replicates=2, burn_in=0, min_sweeps=2, lag=1)
    assert np.trapezoid(e.mean, grid) == pytest.approx(1.0, abs=1e-3)


def test_histogram_of_sizes_adds_up():
    target, _ = small.scalar()
    histogram = cp.cluster_sizes_histogram([1, 2, 4, 6])
    e = cp.estimate(target, [histogram, cp.n_clusters()], replicates=3, burn_in=0, min_sweeps=3, lag=1)
    np.testing.assert_allclose(e.values[:, :3].sum(axis=1), e.values[:, 3])


@cp.evaluation
def share_of_cluster(model, chain, log_predictive, parameters, out):
    """Share of all points in the cluster of a given point: a functional as a user would write it."""
    labels, sizes = chain[0].labels, chain[0].sizes
    out[0] = sizes[labels[int(parameters[0])]] / len(labels)


def test_a_compiled_functional_of_the_users_own():
    target, density = small.scalar()
    states, law = naive.law(density, 5)
    exact = law @ np.array([state.count(state[2]) / 5 for state in states])
    own = cp.Functional("share of the cluster of point 2", share_of_cluster, 1, [2])
    e = cp.estimate(target, own, replicates=4 if JIT_DISABLED else 20_000, burn_in=1, min_sweeps=5, lag=2, seed=3)
    assert e.components == ["share of the cluster of point 2"]
    if not JIT_DISABLED:
        assert_unbiased(e.values, np.array([exact]))
