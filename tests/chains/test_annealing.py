"""Annealed starts: their exact distribution, the powers, and who takes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
import small_networks
from copartition.chains import annealing
from copartition.chains.start import Beginning, check_start, start_chain
from copartition.core.random import stream
from copartition.core.starts import FROM_PRIOR
from copartition.runs.candidates import candidate
from copartition.runs.defaults import read_step
from copartition.runs.pilot import Trial, _Pilot
from copartition.runs.workers import Where
from plausible import chi_square_is_plausible

START = cp.Start("annealed", levels=4, split_merge=1)
QUICK = {"burn_in": 1, "min_sweeps": 6, "lag": 2}


# --- where chains begin ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "draws"), [("scalar", 4_000), ("wishart", 4_000), pytest.param("wishart", 60_000, marks=pytest.mark.long)]
)
def test_a_start_is_a_draw_from_the_prior_and_a_sweep_at_each_power(name, draws):
    """Exact: the prior times one sweep matrix a power. False alarm 1e-5 each."""
    target, _ = small.TARGETS[name]()
    states = naive.all_partitions(5)
    knots = (0.0, 0.2, 0.7, 1.0)
    expected = np.array([naive.process(state, target.prior.alpha) for state in states])
    expected = expected / expected.sum()
    for power in knots[1:]:
        expected = expected @ distributions.sweep_matrix(target.tempered(power), states)
    start = Beginning(np.full(5, FROM_PRIOR), sweeps=3, knots=knots)
    own, random, counts = target.of_chain(), stream(1, 5), np.zeros(len(states))
    for _ in range(draws):
        counts[states.index(naive.canonical(start_chain(own, start, random).labels.tolist()))] += 1
    assert chi_square_is_plausible(counts, expected * draws, 1e-5)
    assert own.model.power[0] == 1.0


def test_a_tempered_target_is_annealed_to_its_own_power():
    target = small.scalar()[0].tempered(0.5)
    start = check_start(target, START)
    assert start.ladder(0.5)[-1] == 0.5
    own = target.of_chain()
    start_chain(own, start, stream(1))
    assert own.model.power[0] == 0.5
    assert target.model.power[0] == 0.5


def test_a_chain_that_changes_its_power_needs_a_target_of_its_own():
    target = small.scalar()[0]
    with pytest.raises(ValueError, match="must be run with a target of its own"):
        start_chain(target, check_start(target, START), stream(1))


def test_every_kind_of_run_takes_annealed_starts():
    """Pairs meet, and the powers are part of what a run says of itself."""
    for target in (small.scalar()[0], small_networks.SMALL["corrected"]()[0], small.mixed()[0]):
        m = cp.meeting_times(target, replicates=20, lag=2, init="annealed", seed=1)
        assert m.met.all()
        e = cp.estimate(target, cp.n_clusters(), replicates=20, init=START, **QUICK, seed=1)
        assert e.made_by["init"] == "Start(init='annealed', levels=4, split_merge=1)"
        assert e.made_by["ladder"] == list(check_start(target, START).knots)
        assert "ANNEALED STARTS: Every chain began with a draw from the prior" in "\n".join(map(str, e.findings))
        tau = e.meeting_times
        assert e.sweeps.tolist() == (2 * 4 + 2 + 2 * (tau - 2) + np.maximum(0, 6 - tau)).tolist()


def test_a_store_knows_the_powers(tmp_path):
    target, store = small.scalar()[0], tmp_path / "run.db"

    def run(count, init):
        return cp.estimate(target, cp.n_clusters(), replicates=count, store=store, init=init, **QUICK)

    first = run(3, START)
    again = run(6, START)
    np.testing.assert_array_equal(again.values[:3], first.values)
    with pytest.raises(cp.errors.StoreError, match="init is"):
        run(6, cp.Start("annealed", levels=5, split_merge=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cp.Start("annealed", levels=0), "levels of Start must be a whole number of at least 1, got 0"),
        (lambda: cp.Start("annealed", sweeps=3), "sweeps of Start must be left out for init='annealed', got 3"),
        (lambda: cp.Start("prior", levels=3), "levels of Start must be left out for init='prior', got 3"),
        (lambda: check_start(small.coloring()[0], "annealed"), "init 'annealed' knows no log density of GraphColoring"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- powers ----------------------------------------------------------------------------------------------------------


def test_steps_keep_the_effective_sample_size():
    """By definition: (sum of weights)^2 over count times the sum of their squares, weights exp(step * log density)."""
    logs = np.random.default_rng(1).normal(-400.0, 200.0, 32)
    step = annealing.next_step(logs)
    weights = np.exp(step * (logs - logs.max()))
    assert weights.sum() ** 2 / (32 * np.sum(weights**2)) == pytest.approx(annealing.KEPT, abs=0.01)
    assert annealing.next_step(0.01 * logs) == annealing.LARGEST_STEP
    assert annealing.next_step(np.array([-np.inf, -3.0])) == annealing.LARGEST_STEP


def test_powers_lie_close_where_densities_vary():
    """A hundred times the variance on a tenth of the way: ten times the standard deviation."""
    powers = np.linspace(0.0, 1.0, 401)
    variances = np.where((powers > 0.4) & (powers < 0.5), 100.0, 1.0)
    knots = annealing.place(powers, variances)
    assert knots[0] == 0.0
    assert knots[-1] == 1.0
    assert np.all(np.diff(knots) > 0.0)
    ladder = annealing.powers_of(knots, 1000)
    assert len(ladder) == 1000
    assert ladder[-1] == 1.0
    # Smoothing widens the tenth to 0.16, and no variance is below 0.3 of the mean of 10.9.
    inside = np.mean((ladder > 0.37) & (ladder < 0.53))
    fine = np.linspace(0.0, 1.0, 100_001)
    smooth = np.array([np.mean(np.interp(np.linspace(b - 0.03, b + 0.03, 61), powers, variances)) for b in fine[::100]])
    sd = np.sqrt(np.maximum(smooth, 0.3 * smooth.mean()))
    expected = sd[(fine[::100] > 0.37) & (fine[::100] < 0.53)].sum() / sd.sum()
    assert inside == pytest.approx(expected, abs=0.02)
    np.testing.assert_allclose(annealing.place(powers, np.zeros(401)), np.linspace(0.0, 1.0, 51), atol=1e-6)


def test_the_pilot_is_the_same_for_every_seed_and_sees_where_clusters_appear():
    """Two tight groups: there is a power at which they come apart, and powers lie closest there."""
    data = np.random.default_rng(3).normal(np.repeat([[-4.0], [4.0]], 30, axis=0), 0.5, (60, 3))
    target = cp.Mixture(data, cp.NormalInverseWishart(), cp.DirichletProcess(1.0))
    knots = np.array(check_start(target, "annealed").knots)
    same = cp.Mixture(data, cp.NormalInverseWishart(), cp.DirichletProcess(1.0))
    assert knots.tolist() == list(check_start(same, cp.Start("annealed", levels=50)).knots)
    assert knots[0] == 0.0
    assert knots[-1] == 1.0
    assert np.diff(knots).min() < 0.5 * np.diff(knots).max()
    assert check_start(target, cp.Start("annealed", split_merge=2)).sweeps == 1000


# --- who takes them --------------------------------------------------------------------------------------------------


def four_groups():
    """Four groups in fifty columns, and a prior by which no point likes to be the first of a cluster."""
    rng = np.random.default_rng(12345)
    data = rng.normal(0, 0.35, (4, 50))[rng.integers(4, size=100)] + rng.normal(0, 1.0, (100, 50))
    return cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=0.35), cp.DirichletProcess(0.01))


@pytest.mark.long
def test_a_pilot_takes_annealed_starts_where_pairs_stay_apart():
    """And nothing else is tried where the start was named."""
    how = {"coupling": "path", "modes": False, "pairs": 60, "max_sweeps": 1500, "seed": 1}
    target = four_groups()
    t = cp.tune(target, cp.n_clusters(), **how)
    assert t.init == cp.Start("annealed")
    assert t.lag >= 300
    assert t.min_sweeps == 5 * t.burn_in
    assert "pairs stayed apart without annealed starts" in str(t)
    assert t.sweeps > 2000 + t.min_sweeps  # two starts of a thousand sweeps
    made = cp.estimate(target, cp.n_clusters(), settings=t, replicates=2, seed=1).made_by
    assert made["init"] == "Start(init='annealed', levels=1000, split_merge=4)"
    with pytest.raises(cp.errors.TuningError, match="did not meet within 200 sweeps"):
        cp.tune(target, cp.n_clusters(), init="one_cluster", **how)


def test_a_step_of_which_pairs_do_not_meet_is_taken_only_if_all_are_so():
    """However little it seems to cost: its pairs were cut short."""
    target = small.scalar()[0]
    pilot = _Pilot(target, [cp.n_clusters()], 60, 25, None, 1000, Where(None, False, 1))
    met = cp.meeting_times(target, replicates=24, lag=1, init="singletons", coupling="independent")
    unmet = cp.meeting_times(target, replicates=24, lag=1, init="singletons", coupling="independent", max_sweeps=2)
    assert unmet.censored > 5
    one = candidate(target, read_step(target))
    pilot.trials = [Trial(one, unmet), Trial(replace(one, cost=3.0 * one.cost), met)]
    assert pilot.work.argmin() == 0
    assert pilot.best == 1
    pilot.trials = [Trial(one, unmet), Trial(replace(one, cost=3.0 * one.cost), unmet)]
    assert pilot.best == 0
    with pytest.raises(cp.errors.TuningError, match="no settings can be recommended"):
        pilot.check(False)


def test_settings_in_a_store_keep_annealed_starts(tmp_path):
    target, store = small.scalar()[0], tmp_path / "run.db"
    cp.estimate(target, cp.n_clusters(), replicates=3, store=store, init="annealed", **QUICK)
    again = cp.estimate(target, cp.n_clusters(), replicates=4, store=store, settings="auto")
    assert len(again.values) == 4
    assert again.made_by["ladder"]
