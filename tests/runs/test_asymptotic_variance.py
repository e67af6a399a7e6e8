"""Asymptotic variances without bias, against transition matrices of targets that are small enough to enumerate."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at
from copartition.chains.start import advance_pair, couple
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.steps import count_pair
from copartition.diagnostics.findings import verdict_of
from copartition.functionals.base import bind_all
from copartition.runs.asymptotic_variance import LEAST_ATOMS, MOST_ATOMS, combined, drawn_by_weight
from copartition.runs.differences import PairRunner, States
from copartition.runs.progress import Pause
from exact_variances import exact, exact_with_number, functionals, values_of

SHORT = {"burn_in": 5, "min_sweeps": 50, "lag": 5, "executor": 1}
HASTY = {"burn_in": 0, "min_sweeps": 3, "lag": 1, "executor": 1}  # nearly all replicates have signed weights


def runner(target, coupling, states, begins, seed=1, of=None, cap=1 << 40):
    target, bound = bind_all(target, functionals() if of is None else of)
    seeds = np.array([stream(seed, i) for i in range(len(begins))])
    step = BoundStep(cp.Step(coupling, 0))
    return PairRunner(target, bound, step, states, np.array(begins), seeds, cap)


def only(states):
    return States(np.array(states), np.zeros((len(states), 0)))


def apart(e, variance):
    """By how many standard errors an estimate is off, at most."""
    return np.abs((e.mean - variance) / e.stderr).max()


# --- sums of differences ---------------------------------------------------------------------------------------------


def scores_of(errors, groups, g):
    """Standard errors between the mean of errors and 0: over all pairs, by groups of them, and weighted by g."""
    weights = np.column_stack([np.ones(len(errors)), *[groups == k for k in np.unique(groups)], g])
    products = errors[:, :, None] * weights[:, None, :]
    return np.abs(products.mean(axis=0) / products.std(axis=0) * np.sqrt(len(errors)))


@pytest.mark.parametrize(
    ("name", "coupling"),
    [*[("scalar", key) for key in small.COUPLINGS], *[("coloring", key) for key in ("common", "transport", "path")]],
)
def test_sums_of_differences_solve_the_poisson_equation(name, coupling):
    """10,000 pairs from random partitions, all together and by their numbers of clusters; false alarm 1e-4 a case."""
    target, states, g, _ = exact(name)
    begins = np.random.default_rng(1).integers(len(states), size=(10_000, 2))
    found = runner(target, small.COUPLINGS[coupling], only(states), begins).run(Pause())
    assert found.met.all()
    difference = g[begins[:, 0]] - g[begins[:, 1]]
    groups = values_of(states)[begins[:, 0], 0]
    assert scores_of(found.totals - difference, groups, difference).max() < 4.7
    assert np.all(found.totals.std(axis=0) < 20 * difference.std(axis=0))  # the test can fail


def test_sums_of_differences_know_hyperparameters():
    """5,000 pairs that begin at random partitions and hyperparameters; false alarm 1e-4."""
    target, states, g, _ = exact_with_number("discount")
    begins = np.random.default_rng(1).integers(len(g), size=(5_000, 2))
    found = runner(target, cp.couplings.Matched(), states, begins, of=[*functionals(), cp.hyperparameters()]).run(
        Pause()
    )
    difference = g[begins[:, 0]] - g[begins[:, 1]]
    groups = values_of(states.labels)[begins[:, 0], 0]
    assert scores_of(found.totals - difference, groups, difference).max() < 4.8


@pytest.mark.plain
@pytest.mark.parametrize("coupling", ["transport", "path"])
def test_sums_of_differences_are_those_of_chains_run_step_by_step(coupling):
    """The same bits as two chains that are looked at from Python after every step."""
    target, states, *_ = exact("scalar")
    begins = np.random.default_rng(2).integers(len(states), size=(10 if JIT_DISABLED else 200, 2))
    found = runner(target, small.COUPLINGS[coupling], only(states), begins, seed=5).run(Pause())
    step = BoundStep(cp.Step(small.COUPLINGS[coupling], 0))
    for i, (a, b) in enumerate(begins):
        random, total, steps = stream(5, i), np.zeros(2), 0
        pair = couple(target, step.coupling, *[chain_at(target, np.array(states[k])) for k in (a, b)])
        count_pair(pair)
        while pair.distance[0] > 0:
            now = values_of([naive.canonical(chain.labels.tolist()) for chain in (pair.x, pair.y)])
            total += now[0] - now[1]
            pair, _ = advance_pair(target, step, pair, random, 1)
            steps += 1
        np.testing.assert_allclose(found.totals[i], total, atol=1e-12)
        assert found.steps[i] == steps
        np.testing.assert_array_equal([found.at_x[i], found.at_y[i]], values_of([states[a], states[b]]))
    assert found.seconds.sum() > 0


def test_functionals_in_python_have_the_same_sums():
    target, states, *_ = exact("scalar")
    begins = np.random.default_rng(3).integers(len(states), size=(300, 2))
    in_python = [cp.functional(lambda labels: values_of([labels])[0], 2)]
    a, b = (runner(target, cp.couplings.Path(), only(states), begins, of=of).run(Pause()) for of in (None, in_python))
    np.testing.assert_allclose(a.totals, b.totals, atol=1e-12)
    np.testing.assert_array_equal(a.steps, b.steps)


def test_chains_make_room_for_more_clusters():
    """One begins in one cluster, and has soon more than the 16 that there was room for."""
    data = np.arange(60.0) * 10
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=300.0), cp.DirichletProcess(1.0))
    states = only(np.zeros((2, 60), dtype=np.int64))
    states.labels[1, 0] = 0
    states.labels[1, 1:] = 1
    found = runner(target, cp.couplings.Path(), states, np.array([[0, 1]] * 5)).run(Pause())
    assert found.met.all()
    assert np.all(found.at_x[:, 0] == 1)


def test_a_cap_ends_pairs_that_do_not_meet():
    target, states, *_ = exact("scalar")
    begins = np.random.default_rng(4).integers(len(states), size=(300, 2))
    found = runner(target, cp.couplings.Independent(), only(states), begins, cap=3).run(Pause())
    assert 0 < found.met.sum() < 300
    assert np.all(found.steps[~found.met] == 3)
    assert np.all(found.steps[found.met] <= 3)


# --- one replicate ---------------------------------------------------------------------------------------------------


def test_weights_of_drawn_states_keep_sums():
    """By all offsets of the systematic sample, one after another: exact."""

    class Offsets:
        def __init__(self, offset):
            self.offset = offset

        def random(self, size=None):
            return self.offset if size is None else np.linspace(0.9, 0.1, size)

    weights = np.array([0.5, 0.7, -0.4, 0.45, -0.25])
    h = np.array([1.0, -2.0, 4.0, 0.5, 3.0])
    sums = []
    for offset in (np.arange(4600) + 0.5) / 4600:
        chosen, own = drawn_by_weight(weights, 4, Offsets(offset))
        sums.append(own @ h[chosen])
        np.testing.assert_allclose(np.abs(own), 2.3 / 4)
    assert np.mean(sums) == pytest.approx(weights @ h, abs=1e-10)


def test_states_are_drawn_in_a_random_order():
    """Or the first of one replicate would always make a pair with the first of the other; false alarm 1e-5."""
    random, counts = np.random.default_rng(5), np.zeros((8, 8))
    for _ in range(4000):
        counts[np.arange(8), drawn_by_weight(np.full(8, 1 / 8), 8, random)[0]] += 1
    assert scipy.stats.chisquare(counts.ravel(), ddof=14).pvalue > 1e-5


def test_what_pairs_come_to_is_the_sum_over_all_of_them(rng):
    u, w = rng.normal(size=(2, 6))
    x, y, totals = rng.normal(size=(3, 6, 2)) + 100.0
    wanted = np.zeros(2)
    for r in range(6):
        wanted += 6 * u[r] * w[r] * (x[r] - y[r]) * (totals[r] - (x[r] - y[r]))
        for s in range(6):
            wanted += u[r] * w[s] * (x[r] - y[s]) ** 2 / 2
    np.testing.assert_allclose(combined(u, w, x, y, totals), wanted, rtol=1e-10)


# --- all of it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "coupling", "how", "atoms"),
    [
        ("scalar", "path", SHORT, 16),
        ("scalar", "transport", HASTY, 4),
        ("bernoulli", "maximal", SHORT, 1),
        ("bernoulli", "matched", HASTY, 8),
        ("coloring", "transport", SHORT, 16),
        ("coloring", "common", HASTY, 4),
    ],
)
def test_variances_are_those_of_the_transition_matrix(name, coupling, how, atoms):
    """3,000 replicates, two functionals; 4.5 standard errors at most: false alarm 1e-5 each."""
    target, *_, variance = exact(name)
    coupling = small.COUPLINGS[coupling]
    v = cp.asymptotic_variance(target, functionals(), replicates=3000, atoms=atoms, coupling=coupling, seed=3, **how)
    assert apart(v, variance) < 4.5
    if how is SHORT and atoms > 1:
        assert np.all(v.stderr < 0.02 * variance)  # the test can fail


@pytest.mark.parametrize("name", ["gamma_scale", pytest.param("discount", marks=pytest.mark.long)])
def test_variances_with_hyperparameters_are_exact(name):
    """2,000 replicates, three functionals; 4.5 standard errors at most: false alarm 2e-5 each."""
    target, *_, variance = exact_with_number(name)
    of = [*functionals(), cp.hyperparameters()]
    v = cp.asymptotic_variance(target, of, replicates=2000, atoms=16, coupling="matched", seed=4, **SHORT)
    assert apart(v, variance) < 4.5
    assert np.all(v.stderr < 0.03 * variance)


def test_the_same_bits_everywhere():
    """Threads, processes, other batches; a first estimate is the same whether others follow or not."""
    target, *_ = exact("scalar")
    how = {"atoms": 4, "seed": 2, **SHORT}
    v = cp.asymptotic_variance(target, cp.n_clusters(), replicates=40, **how)
    for other in ({"executor": 2}, {"executor": "processes"}):
        w = cp.asymptotic_variance(target, cp.n_clusters(), replicates=40, **how | other)
        for name in ("values", "meeting_times", "met", "sweeps", "indices"):
            np.testing.assert_array_equal(getattr(v, name), getattr(w, name))
    few = cp.asymptotic_variance(target, cp.n_clusters(), replicates=7, **how)
    np.testing.assert_array_equal(few.values, v.values[:7])
    other = cp.asymptotic_variance(target, cp.n_clusters(), replicates=7, **how | {"seed": 3})
    assert not np.array_equal(few.values, other.values)


def test_the_result_says_what_it_is():
    target, *_ = exact("scalar")
    of = [cp.n_clusters(), cp.largest_clusters(2)]
    v = cp.asymptotic_variance(target, of, replicates=120, seed=1, **SHORT)
    assert isinstance(v, cp.Estimate)
    assert v.components == [
        "asymptotic_variance(n_clusters)",
        "asymptotic_variance(largest_clusters(2)[0])",
        "asymptotic_variance(largest_clusters(2)[1])",
    ]
    assert v.select("asymptotic_variance(n_clusters)").values.shape == (120, 1)
    assert LEAST_ATOMS <= v.made_by["settings"]["atoms"] <= MOST_ATOMS
    assert not v.is_biased
    assert np.all(v.sweeps >= 2 * 50 + 2 * v.made_by["settings"]["atoms"] // 2)
    assert np.all(v.seconds > 0)
    verdict = verdict_of(v)
    assert verdict.answers[0].startswith("The asymptotic variance of n_clusters is 0.")
    assert not any(finding.title in ("Short average", "No answer yet") for finding in v.findings)
    assert "All pairs of chains of 120 replicates met" in " ".join(str(finding) for finding in v.findings)
    assert v.made_by["modes"]["level"] == "good"  # chains from other starts have been looked at
    assert v.wanted == 120


def test_pairs_that_do_not_meet_make_it_biased():
    target, *_ = exact("scalar")
    how = SHORT | {"coupling": "independent", "max_sweeps": 50}
    v = cp.asymptotic_variance(target, cp.n_clusters(), replicates=100, atoms=16, seed=1, **how)
    assert v.is_biased
    assert np.all(v.meeting_times[~v.met] == 50)
    assert v.missing is None
    assert "replicates had pairs of chains that did not meet" in v.warnings[0]
    assert "larger max_sweeps" in v.warnings[0]


def test_a_functional_that_never_changes_has_no_variance():
    target, *_ = exact("scalar")
    v = cp.asymptotic_variance(target, cp.functional(lambda labels: 3.5), replicates=3, atoms=2, seed=1, **SHORT)
    np.testing.assert_array_equal(v.values, np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"atoms": 0}, "atoms must be a whole number of at least 1, got 0"),
        ({"replicates": 0}, "replicates must be a whole number of at least 1, got 0"),
        ({"sweeps": 3}, "asymptotic_variance takes no argument 'sweeps'"),
        ({"progress": 3}, "progress must be"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    target, *_ = exact("scalar")
    with pytest.raises((TypeError, ValueError), match=message):
        cp.asymptotic_variance(target, cp.n_clusters(), **change)


# --- inefficiency ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    target, *_, variance = exact("scalar")
    e = cp.estimate(target, functionals(), replicates=400, coupling="path", seed=1, **SHORT)
    return target, e, variance


def test_inefficiency_needs_no_chain_of_reference(run):
    """Work times variance over the exact asymptotic variance, to 4 standard errors of either (false alarm 2e-4)."""
    target, e, variance = run
    found = e.inefficiency()
    assert found.components == ["n_clusters", "largest_clusters(1)"]
    wanted = e.sweeps.mean() * e.values.var(axis=0, ddof=1) / variance
    assert np.all(np.abs(found.sweeps - wanted) < 4 * 0.05 * wanted)
    assert np.all(found.seconds > 0)
    assert np.all(found.stderr > 0)
    v = cp.asymptotic_variance(target, cp.n_clusters(), replicates=100, coupling="path", seed=0, **SHORT)
    one = e.inefficiency(v)
    assert one.components == ["n_clusters"]
    assert one.sweeps[0] == pytest.approx(wanted[0], rel=0.2)


def test_an_estimate_from_a_file_is_told_the_variance(run, tmp_path):
    target, e, _ = run
    for unknowing in (pickle.loads(pickle.dumps(e)), replace(e, _variance_of_chain=None)):
        with pytest.raises(ValueError, match="inefficiency must be given a reference, what sample or asymptotic_varia"):
            unknowing.inefficiency()
    cp.estimate(target, cp.n_clusters(), replicates=5, store=tmp_path / "run.sqlite", seed=1, **SHORT)
    with pytest.raises(ValueError, match="read from a file"):
        cp.Estimate.load(tmp_path / "run.sqlite").inefficiency()


def test_a_reference_must_fit(run):
    _, e, _ = run
    other, *_ = exact("bernoulli")
    of_other = cp.asymptotic_variance(other, cp.n_clusters(), replicates=2, atoms=2, **SHORT)
    with pytest.raises(ValueError, match="reference must be of the same target"):
        e.inefficiency(of_other)
    of_pairs = cp.asymptotic_variance(run[0], cp.co_clustering([0, 1]), replicates=2, atoms=2, **SHORT)
    with pytest.raises(ValueError, match="reference must be of a functional of the estimate, n_clusters, largest"):
        e.inefficiency(of_pairs)
    with pytest.raises(TypeError, match="reference must be what sample or asymptotic_variance returns"):
        e.inefficiency(e)
