"""Tuning: the formula behind it, the pilot, and what estimates with its settings cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import copartition as cp
import naive
import small
import small_networks
from copartition import datasets
from copartition.chains.start import advance_pair, check_start, start_pair
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.diagnostics import tuning
from copartition.functionals.base import bind_all
from copartition.runs.candidates import candidate, cheaper_candidates, guided_candidates, updating_candidates
from copartition.runs.defaults import resolve
from copartition.runs.meeting import PairJob, pair_job
from copartition.runs.progress import Pause
from copartition.runs.workers import Where

PAIRS = 400


def galaxies():
    component = cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0)
    return cp.Mixture(datasets.galaxies(), component, cp.DirichletProcess(1.0))


def random_graph():
    rng = np.random.default_rng(25)
    edges = np.argwhere(np.triu(rng.random((25, 25)) < 0.2, 1))
    return cp.GraphColoring(edges, 8, n_vertices=25)


# --- the formula -----------------------------------------------------------------------------------------------------


def geometric_pairs(rng, count, rate, difference):
    """Pairs that are apart for a geometric number of sweeps, by a constant difference."""
    coupled = rng.geometric(1 - np.exp(-rate), count)
    return coupled, [np.full((length, 1), difference) for length in coupled]


def test_tail_of_geometric_pairs_is_the_true_one():
    """C(k) = E[(d (T - k)+)^2] = d^2 e^(-rate k) (1 + e^-rate) / (1 - e^-rate)^2, for T geometric."""
    rate, difference, variance = 0.05, 0.3, 2.0
    coupled, differences = geometric_pairs(np.random.default_rng(1), 20_000, rate, difference)
    tail = tuning.tail_of(coupled, differences, [np.array([variance])])
    assert np.mean(coupled > tail.start) == pytest.approx(0.1, abs=0.01)
    assert tail.rate == pytest.approx(rate, rel=0.06)  # cautious: one standard error (2 %) to the slow side
    assert tail.rate < rate * 1.01
    for k in (tail.start, 2 * tail.start):
        exact = difference**2 * np.exp(-rate * k) * (1 + np.exp(-rate)) / (1 - np.exp(-rate)) ** 2
        assert tail.at(k) == pytest.approx(exact / variance, rel=0.25)


def test_burn_in_is_the_least_that_is_good_enough():
    coupled = np.arange(1, 101)
    for level in (0.0, 1.0, 1e3, 1e6):
        tail = tuning.Tail(start=90, level=level, rate=0.05)
        for horizon in (5, 20):
            accepted = tuning.ACCEPTED * horizon / (horizon - 1)
            k = tuning.choose_burn_in(coupled, tail, horizon)
            assert k >= 150
            assert tuning.predicted_inefficiency(k, 50.5, tail, horizon) <= accepted
            assert k == 150 or tuning.predicted_inefficiency(k - 1, 50.5, tail, horizon) > accepted


def test_predicted_inefficiency_is_the_formula():
    """Burn-in 100, 20 of them, pairs meet after 25 sweeps, which cost three each; C / v = 190.1 adds a tenth."""
    tail = tuning.Tail(start=100, level=190.1, rate=0.1)
    assert tuning.predicted_inefficiency(100, 25.0, tail, 20) == pytest.approx((2000 + 50) / 1901 * 1.1)


def test_components_that_hardly_change_do_not_decide():
    coupled, differences = geometric_pairs(np.random.default_rng(1), 500, 0.1, 1.0)
    alone = tuning.tail_of(coupled, differences, [np.array([2.0])])
    with_rare = [np.hstack([d, np.full_like(d, 1e-4)]) for d in differences]
    together = tuning.tail_of(coupled, with_rare, [np.array([2.0, 1e-12])])
    assert together.level == pytest.approx(alone.level, rel=1e-6)
    constant = tuning.tail_of(coupled, differences, [np.array([0.0])])
    assert constant.level == 0.0


def test_the_functional_that_fares_worst_decides():
    coupled, differences = geometric_pairs(np.random.default_rng(1), 500, 0.1, 1.0)
    both = [np.hstack([d, 5 * d]) for d in differences]
    one = tuning.tail_of(coupled, differences, [np.array([2.0])])
    two = tuning.tail_of(coupled, both, [np.array([2.0]), np.array([2.0])])
    assert two.level == pytest.approx(25 * one.level)


def test_pairs_that_meet_at_once_leave_no_tail():
    tail = tuning.tail_of(np.zeros(100, dtype=int), [np.zeros((0, 1))] * 100, [np.array([1.0])])
    assert tail.at(1) == 0.0
    assert tuning.choose_burn_in(np.zeros(100, dtype=int), tail, 20) == 2


# --- differences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("lines", [1, 3, 4096])
def test_differences_are_those_of_the_two_chains_before_each_sweep(compiled, lines, monkeypatch):
    """Whoever evaluates the functionals, and however often what has been written down is taken out."""
    monkeypatch.setattr("copartition.runs.replicates.LINES", lines)
    target, _ = small.scalar()
    count = cp.n_clusters() if compiled else cp.functional(lambda labels: labels.max() + 1)
    _, functionals = bind_all(target, [count, cp.largest_clusters(2)])
    step, start = BoundStep(cp.Step(cp.couplings.Maximal(), 0)), check_start(target, "singletons")
    job = pair_job(target, functionals, step, start, lag=3, max_sweeps=1000, seed=1)
    found, _ = PairJob(job, True, np.arange(3)).run(range(5), Pause())
    assert found.met.all()
    for index in range(5):
        random = stream(1, index)
        pair, rows, distances = start_pair(target, step, start, 3, random), [], []
        while pair.distance[0] > 0:
            sizes = [np.sort(np.bincount(chain.labels))[::-1] for chain in (pair.x, pair.y)]
            x, y = ([np.sum(s > 0), s[0] / 5, (s[1] if len(s) > 1 else 0) / 5] for s in sizes)
            rows.append(np.subtract(x, y))
            distances.append(naive.hamming(pair.x.labels, pair.y.labels))
            pair, _ = advance_pair(target, step, pair, random, 1)
        np.testing.assert_allclose(found.differences[index], np.reshape(rows, (-1, 3)), atol=1e-15)
        assert found.distances[index].tolist() == [*distances, 0]
        assert found.meeting_times[index] == 3 + len(rows)
    some, _ = PairJob(job, False, np.array([0, 2])).run(range(5), Pause())
    for one, whole in zip(some.differences, found.differences, strict=True):
        assert np.array_equal(one, whole[:, [0, 2]])


def test_differences_grow_with_the_number_of_clusters():
    """A start in one cluster has no room for many: the pair has to be enlarged in the middle of a sweep."""
    data = np.arange(0, 400, 10.0)
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.1, mean_sd=100.0), cp.DirichletProcess(1.0))
    _, functionals = bind_all(target, [cp.n_clusters()])
    start = check_start(target, "one_cluster")
    job = pair_job(target, functionals, BoundStep(cp.Step(cp.Transport(), 0)), start, lag=1, max_sweeps=50, seed=1)
    found, _ = PairJob(job, False, np.arange(1)).run([0], Pause())
    assert found.met.all()
    assert found.differences[0][0, 0] > 20


# --- the pilot -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scalar", "coloring"])
def test_settings_are_reproducible_and_consistent(name):
    target, _ = small.TARGETS[name]()
    t = cp.tune(target, cp.n_clusters(), pairs=PAIRS, modes=False, seed=3)
    again = cp.tune(target, cp.n_clusters(), pairs=PAIRS, modes=False, seed=3)
    assert (t.lag, t.burn_in, t.min_sweeps) == (again.lag, again.burn_in, again.min_sweeps)
    assert np.array_equal(t.pilot.meeting_times, again.pilot.meeting_times)
    assert t.lag == t.burn_in >= np.quantile(t.pilot.meeting_times - t.pilot.lag, 0.99)
    assert 20 * t.burn_in <= t.min_sweeps <= 50 * t.burn_in
    assert t.stages[-1].tv <= 0.05
    assert f"burn_in={t.burn_in}" in str(t)
    assert t.replicates_for(t.stderr(1000)[0]) == pytest.approx(1000, abs=1)


def test_default_functionals_and_python_ones():
    target, _ = small.scalar()
    t = cp.tune(target, pairs=100, modes=False, seed=1)
    assert t.components == ["n_clusters", *[f"largest_clusters(3)[{i}]" for i in range(3)]]
    compiled = cp.tune(target, cp.n_clusters(), pairs=100, modes=False, seed=1)
    python = cp.tune(target, cp.functional(lambda labels: labels.max() + 1), pairs=100, modes=False, seed=1)
    assert np.array_equal(compiled.pilot.meeting_times, python.pilot.meeting_times)
    np.testing.assert_allclose(compiled.variance, python.variance)


def test_large_functionals_are_looked_at_in_part():
    target = galaxies()
    t = cp.tune(target, cp.co_clustering(), pairs=100, modes=False, seed=1)
    assert len(t.variance) == len(t.components) == 82 * 81 // 2


def test_the_pilot_draws_other_numbers_than_the_estimate():
    """With the streams of the estimate it would choose the settings by looking at the very pairs they are for."""
    target, _ = small.scalar()
    t = cp.tune(target, cp.n_clusters(), pairs=100, modes=False, seed=1)
    e = cp.meeting_times(target, replicates=100, lag=t.pilot.lag, seed=1)
    assert not np.array_equal(t.pilot.meeting_times, e.meeting_times)
    assert np.array_equal(
        cp.meeting_times(
            target, replicates=60, split_merge=t.split_merge, lag=t.pilot.lag, seed=t.pilot.seed
        ).meeting_times,
        t.pilot.meeting_times[:60],
    )


def test_settings_reach_the_estimate_and_arguments_win():
    target, _ = small.scalar()
    t = cp.tune(target, cp.n_clusters(), pairs=100, coupling="maximal", init="singletons", modes=False, seed=1)
    made = cp.estimate(target, cp.n_clusters(), settings=t, replicates=5).made_by
    wanted = {"lag": t.lag, "burn_in": t.burn_in, "min_sweeps": t.min_sweeps}
    assert {key: made["settings"][key] for key in wanted} == wanted
    assert (made["step"]["coupling"], made["init"]) == ("Maximal()", "singletons")
    made = cp.estimate(
        target, cp.n_clusters(), settings=t, lag=77, coupling="common", init="prior", replicates=5
    ).made_by
    assert (made["settings"]["lag"], made["settings"]["burn_in"]) == (77, t.burn_in)
    assert (made["step"]["coupling"], made["init"]) == ("Common()", "prior")
    within = cp.estimate_within(target, cp.n_clusters(), settings=t, workers=2, deadline=cp.Sweeps(10))
    assert within.made_by["settings"]["burn_in"] == t.burn_in
    defaults = cp.estimate(target, cp.n_clusters(), replicates=2).made_by
    wanted = {"burn_in": 100, "min_sweeps": 500, "lag": 100, "max_sweeps": None}
    assert {key: defaults["settings"][key] for key in wanted} == wanted
    assert defaults["step"]["split_merge"] > 0
    assert defaults["step"]["coupling"] == "Path()"


def test_auto_is_tune_with_the_same_seed():
    target, _ = small.coloring()
    t = cp.tune(target, cp.n_clusters(), seed=4)
    e = cp.estimate(target, cp.n_clusters(), settings="auto", replicates=5, seed=4)
    assert e.made_by["settings"]["burn_in"] == t.burn_in


@pytest.mark.parametrize("model", [galaxies, random_graph])
def test_tuned_estimates_cost_little_more_than_ordinary_chains(model):
    """Predicted to be at most 1.10, in CPU time; sweeps are fewer, and 1,000 replicates and the chains leave 6 %.

    Predictions of precision and cost hold within 25 % (the pilot's own error).
    """
    target = model()
    t = cp.tune(target, cp.n_clusters(), seed=1)
    e = cp.estimate(target, cp.n_clusters(), settings=t, replicates=1000, seed=1)
    s = cp.sample(target, cp.n_clusters(), step=t.step, sweeps=50_000, burn_in=1000, chains=4, seed=1)
    assert t.inefficiency <= 1.1
    assert e.inefficiency(s).sweeps[0] < 1.1 + 4 * 0.06
    assert e.stderr[0] == pytest.approx(t.stderr(1000)[0], rel=0.25)
    assert e.sweeps.mean() == pytest.approx(t.sweeps, rel=0.1)
    assert t.pilot_sweeps < 0.3 * e.sweeps.sum()
    hasty = cp.estimate(target, cp.n_clusters(), burn_in=1, min_sweeps=10, lag=1, replicates=3000, seed=1)
    assert hasty.inefficiency(s).sweeps[0] > 3.0  # settings matter: the first number is not small by itself


def far_apart():
    """Twelve points so far from each other's clusters that a start in one cluster is hard to leave in step."""
    return cp.Mixture(np.arange(12) % 2 * 3.0, cp.Gaussian(noise_sd=0.6, mean_sd=3.0), cp.DirichletProcess(1.0))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: cp.tune(t, cp.n_clusters(), pairs=50), ValueError, "pairs must be a whole number of at least 60"),
        (lambda t: cp.tune(t, len), TypeError, "functional must be a functional such as n_clusters"),
        (lambda t: cp.tune(3), TypeError, "target must be"),
        (lambda t: cp.tune(t, []), ValueError, "functional must be one to 4 functionals, got 0"),
        (lambda t: cp.estimate(t, "n_clusters"), TypeError, r"such as n_clusters\(\), got 'n_clusters'"),
        (
            lambda t: cp.tune(far_apart(), coupling="independent", modes=False, max_sweeps=3),
            cp.errors.TuningError,
            "did not meet within 3",
        ),
        (lambda t: cp.tune(t, processors=0), ValueError, "processors must be a whole number of at least 1"),
        (lambda t: cp.estimate(t, cp.n_clusters(), settings="best"), ValueError, "settings must be 'auto' or what"),
        (lambda t: cp.estimate(t, cp.n_clusters(), settings=5), TypeError, "settings must be 'auto' or what tune"),
    ],
)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(small.scalar()[0])


def test_no_settings_if_no_lag_is_long_enough(monkeypatch):
    from copartition.runs import pilot

    monkeypatch.setattr(pilot, "CLOSE", -1.0)
    with pytest.raises(cp.errors.TuningError, match="may still be far from its target"):
        cp.tune(small.scalar()[0], modes=False, max_sweeps=300)


# --- which step ------------------------------------------------------------------------------------------------------


def test_cheap_steps_are_taken_where_pairs_are_quick_and_others_where_they_are_slow():
    quick, few = np.full(24, 20), np.full(24, 10)
    dear = tuning.work_of(np.array([1.0, 1.3]), [quick, few], 25)
    assert dear[0] < dear[1]  # meeting in half the time is not worth a third more for every sweep
    slow, helped = np.full(24, 400), np.full(24, 40)
    work = tuning.work_of(np.array([1.0, 3.0]), [slow, helped], 25)
    assert work[1] < work[0]  # a chain whose pairs take 400 sweeps mixes slowly too


def test_steps_are_compared_by_work_and_variance():
    """Burn-ins 30 and 300: replicates average over 20 x 300 sweeps with both, if variances are the same."""
    quick, slow = np.array([5] * 98 + [30] * 3), np.full(100, 300)
    assert tuning.least_burn_in(quick) == 30
    costs, coupled = np.array([2.0, 1.0]), [quick, slow]
    work = tuning.work_of(costs, coupled, 25, np.array([1.0, 1.0]))
    np.testing.assert_allclose(work, [2 * (6000 + 30 + 2 * quick.mean()), 6000 + 300 + 600])
    precise = tuning.work_of(costs, coupled, 25, np.array([1.0, 4.0]))
    np.testing.assert_allclose(precise, [2 * (1500 + 30 + 2 * quick.mean()), 6000 + 300 + 600])
    many = tuning.work_of(costs, coupled, 1000, np.array([1.0, 1.0]))
    np.testing.assert_allclose(many, [2 * (150 + 30 + 2 * quick.mean()), 150 + 300 + 600])


def test_a_dearer_step_has_to_save_a_tenth():
    costs = np.array([1.5, 1.2, 1.0])
    assert tuning.choose_step(costs, np.array([95.0, 92.0, 100.0])) == 2
    assert tuning.choose_step(costs, np.array([95.0, 89.0, 100.0])) == 1
    assert tuning.choose_step(costs, np.array([85.0, 89.0, 100.0])) == 0
    assert tuning.choose_step(np.array([1.0, 1.0]), np.array([100.0, 99.0])) == 1  # nothing is dearer


def test_the_functional_that_fares_worst_decides_between_steps():
    variances = np.array([[1.0, 6.0, 0.0], [2.0, 2.0, 1.0]])
    assert tuning.variability_of(variances).tolist() == [3.0, 2.0]  # nothing is known of the third
    assert tuning.variability_of(np.zeros((2, 1))).tolist() == [1.0, 1.0]


def overlapping():
    """Overlapping clusters, between which points alone hardly go: moves make averages several times more precise."""
    rng = np.random.default_rng(3)
    data = rng.normal(0, 2.5, (4, 2))[rng.integers(4, size=60)] + rng.normal(0, 2, (60, 2))
    return cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(0.2))


def test_moves_are_made_where_they_make_averages_more_precise(monkeypatch):
    target = overlapping()
    h = cp.largest_clusters(1)
    t = cp.tune(target, h, pairs=60, modes=False, seed=1)
    assert t.split_merge > 0
    assert "0 split-merge moves after a sweep" in t.reasons[0]
    assert t.inefficiency <= 1.1
    plain, moved = (cp.sample(target, h, split_merge=n, sweeps=20_000, seed=1).variance[0] for n in (0, t.split_merge))
    assert plain > 2 * moved  # errors are 10 %
    monkeypatch.setattr("copartition.runs.pilot.compared_variance", lambda draws: 1.0)
    t = cp.tune(target, h, pairs=60, modes=False, seed=1)
    assert t.split_merge == 0  # they cost something, and nothing else speaks for them
    assert cp.tune(target, h, pairs=60, modes=False, split_merge=1, seed=1).split_merge == 1  # was asked for


def test_a_step_with_which_pairs_meet_too_late_is_not_taken(monkeypatch):
    monkeypatch.setattr("copartition.runs.pilot.LONGER", 0.1)
    t = cp.tune(overlapping(), cp.n_clusters(), pairs=60, modes=False, seed=1)
    assert t.split_merge == resolve(overlapping(), cp.Step()).split_merge
    assert "1 split-merge move after a sweep: pairs met too late" in t.reasons[0]
    assert "0 split-merge moves after a sweep: pairs met too late" in t.reasons[0]


def test_a_step_whose_chains_stay_at_their_start_is_not_taken(monkeypatch):
    """Two crowds of points start in one cluster. Without moves they stay there: pairs meet at once, nothing varies."""
    rng = np.random.default_rng(5)
    data = np.concatenate([rng.normal(at, 1.0, (20, 2)) for at in (-2.0, 2.0)])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=5.0), cp.DirichletProcess(1e-9))
    how = {"init": "one_cluster", "pairs": 60, "modes": False, "seed": 1}
    assert cp.sample(target, cp.n_clusters(), split_merge=0, init="one_cluster", sweeps=1000).draws.max() == 1
    t = cp.tune(target, cp.largest_clusters(1), **how)
    assert t.split_merge > 0
    assert "0 split-merge moves after a sweep: chains have other averages" in t.reasons[0]
    monkeypatch.setattr("copartition.runs.pilot.averages_agree", lambda a, b: True)
    assert cp.tune(target, cp.largest_clusters(1), **how).split_merge == 0


def test_networks_are_not_tried_without_moves():
    target = cp.BlockModel([(i, (i * i + 1) % 12) for i in range(12)])
    tried = cheaper_candidates(target, cp.Step(), candidate(target, replace(resolve(target, cp.Step()), split_merge=3)))
    assert [one.step.split_merge for one in tried] == [1]


def test_many_processors_get_short_replicates():
    assert tuning.choose_horizon(50, 0.0, 25) == 20
    assert tuning.choose_horizon(50, 1e6, 25) == 50
    assert tuning.choose_horizon(50, 1e6, 1000) == 5
    assert tuning.choose_horizon(50, 2e6, 1000) == 10
    target, _ = small.scalar()
    assert "1000 processors (processors) are best off with many short" in str(
        cp.tune(target, processors=1000, modes=False)
    )


def test_sweeps_to_one_percent():
    """A variance of 4 and a mean of 10: 4 / 0.1^2; the functional that takes most decides, one of mean 0 does not."""
    means, variances = [np.array([10.0]), np.array([0.0])], [np.array([4.0]), np.array([1.0])]
    assert tuning.sweeps_for(means, variances) == pytest.approx(400.0)


def two_crowds():
    """Two clusters that are far apart, of which nothing is uncertain, and a cloud of which much is."""
    rng = np.random.default_rng(5)
    crowds = [rng.normal(at, 0.5, (20, 2)) for at in (-20.0, 20.0)]
    between = rng.normal(0, 1.5, (20, 2))
    return cp.Mixture(np.vstack([*crowds, between]), cp.Gaussian(noise_sd=0.6, mean_sd=10.0), cp.DirichletProcess(1.0))


def test_joint_updates_are_of_points_that_chains_are_uncertain_of():
    target = two_crowds()
    first = candidate(target, resolve(target, cp.Step()))
    (tried,) = updating_candidates(target, first, Where(1, False, 1))
    assert set(range(40)).isdisjoint(tried.step.joint_updates.points)
    assert len(tried.step.joint_updates.points) >= 8
    assert tried.cost > first.cost
    assert "joint updates of" in str(tried)
    certain = cp.Mixture(target.model.points[:40], cp.Gaussian(noise_sd=0.6, mean_sd=10.0), cp.DirichletProcess(1.0))
    first = candidate(certain, resolve(certain, cp.Step()))
    assert updating_candidates(certain, first, Where(1, False, 1)) == []


def test_guided_moves_are_tried_where_pairs_are_slow(monkeypatch):
    """Not where a coupling is named, nor where clusters have no densities of their own."""
    monkeypatch.setattr("copartition.runs.pilot.SLOW", -1.0)
    target = two_crowds()
    t = cp.tune(target, cp.n_clusters(), step=cp.Step(joint_updates=0), pairs=60, modes=False, seed=1)
    assert "guided split-merge moves after a sweep" in t.reasons[0]
    named = cp.tune(target, cp.n_clusters(), coupling="path", pairs=60, modes=False, seed=1)
    assert "guided" not in str(named)
    network = small_networks.SMALL["corrected"]()[0]
    assert guided_candidates(network, candidate(network, resolve(network, cp.Step()))) == []
    first = candidate(target, resolve(target, cp.Step()))
    (tried,) = guided_candidates(target, first)
    assert tried.step.guides.shape == (target.n_points, 32)
    assert tried.cost > first.cost


def test_joint_updates_that_a_pilot_chose_reach_the_estimate():
    target = two_crowds()
    t = cp.tune(target, cp.n_clusters(), pairs=60, modes=False)
    t = replace(t, step=replace(t.step, joint_updates=cp.JointUpdates(3, points=range(40, 60))))
    e = cp.estimate(target, cp.n_clusters(), settings=t, replicates=2, seed=1)
    assert e.made_by["step"]["joint_updates"]["points"] == list(range(40, 60))
    other = cp.estimate(target, cp.n_clusters(), settings=t, step=cp.Step(joint_updates=0), replicates=2, seed=1)
    assert other.made_by["step"]["joint_updates"] is None
    assert other.made_by["step"]["split_merge"] == t.split_merge


def test_a_few_pairs_of_the_trial_may_be_cut_short():
    """A pair or two of 24 that take longer than a tenth of max_sweeps are no reason to give up."""
    rng = np.random.default_rng(2)
    data = rng.normal(0, 3, (4, 2))[rng.integers(4, size=150)] + rng.normal(0, 1.2, (150, 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.2, mean_sd=3.0), cp.DirichletProcess(1.0))
    counts = cp.meeting_times(target, replicates=200, lag=50, coupling="path", seed=1)
    slow = int(np.quantile(counts.meeting_times - counts.lag, 0.93))
    t = cp.tune(target, cp.n_clusters(), coupling="path", max_sweeps=10 * slow, pairs=60, modes=False, seed=1)
    assert t.pilot.censored == 0


def test_what_a_look_for_modes_found_is_part_of_the_verdict(tmp_path):
    target = two_crowds()
    t = cp.tune(target, cp.n_clusters(), pairs=60, seed=1)
    assert t.modes.finding.title in {"Modes", "Hidden mode", "Different modes", "Modes unsettled"}
    assert str(t.modes.finding) in str(t)
    e = cp.estimate(target, cp.n_clusters(), settings=t, replicates=30, seed=1, store=tmp_path / "run.db")
    for one in (e, cp.Estimate.load(tmp_path / "run.db")):
        assert t.modes.finding in one.findings
    again = cp.estimate(target, cp.n_clusters(), settings=t, replicates=31, seed=1, store=tmp_path / "run.db")
    assert len(again.values) == 31


def test_a_pilot_that_gives_up_says_whether_chains_agree():
    with pytest.raises(cp.errors.TuningError, match="Chains agree, the coupling is slow"):
        cp.tune(far_apart(), coupling="independent", max_sweeps=20)
