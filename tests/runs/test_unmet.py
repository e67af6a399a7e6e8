"""Pairs that do not meet: both kinds of averages, why chains are apart, and that no run waits in silence."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

import copartition as cp
import small
from copartition.chains.start import check_start
from copartition.chains.step import BoundStep
from copartition.cli import main
from copartition.core.compiling import compiling
from copartition.couplings.matched import Path
from copartition.diagnostics.agreement import MODES, SLOW, adjusted_rand, agreement_of
from copartition.diagnostics.findings import BAD, verdict_of
from copartition.results import Course, Unmet
from copartition.runs import estimating, pieces, progress
from copartition.runs.progress import Pause
from copartition.runs.replicates import Job, Settings
from made_up import estimate_from, trajectory

COUNT = 8


def bimodal():
    """Three groups and two clusters at most: the one in the middle is with either, and never changes its mind."""
    group = np.linspace(-0.1, 0.1, 20)
    data = np.concatenate([group - 3.0, group, group + 3.0])
    two = cp.MixtureOfFiniteMixtures(n_components=scipy.stats.randint(1, 3))
    return cp.Mixture(data, cp.Gaussian(noise_sd=0.5, mean_sd=3.0), two)


def in_modes(**more):
    settings = {"burn_in": 2, "min_sweeps": 20, "lag": 5, "max_sweeps": 30, "split_merge": 0, "init": "sequential"}
    settings |= {"replicates": COUNT, "seed": 4} | more
    return cp.estimate(bimodal(), [cp.n_clusters(), cp.co_clustering(pairs=[(0, 1)])], **settings)


def slow(functional=None, **more):
    """Two groups of points that are seldom in doubt: easy chains, that meet by accident if run independently."""
    data = np.concatenate([np.linspace(-3.2, -2.8, 4), np.linspace(2.8, 3.2, 4)])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=3.0), cp.DirichletProcess(1.0))
    settings = {"burn_in": 3, "min_sweeps": 12, "lag": 6, "max_sweeps": 14, "coupling": "independent", "seed": 1}
    return cp.estimate(target, functional or cp.n_clusters(), **{"replicates": 2 * COUNT} | settings | more)


def course(shift=0.0, clusters=0, joined=False):
    """The two chains of a made-up pair."""
    random = np.random.default_rng(5)
    density = random.normal(0.0, 1.0, (2, 20)) + np.array([[0.0], [shift]])
    number = random.integers(5, 7, (2, 20)) + np.array([[0], [clusters]])
    labels = np.tile(np.arange(40) % 4, (2, 20, 1))
    labels[1] = labels[1] // 2 if joined else labels[1]
    return Course(density, number, labels.astype(np.int32))


def with_pairs(*courses):
    e = estimate_from(np.random.default_rng(1).normal(2.0, 0.1, (50, 1)))
    met = np.arange(50) >= len(courses)
    unmet = tuple(Unmet(i, one.labels[:, 0], one) for i, one in enumerate(courses))
    return type(e)(**{**e.__dict__, "met": met, "unmet": unmet})


# --- agreement -------------------------------------------------------------------------------------------------------


def test_adjusted_rand_is_that_of_others():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(3)
    for _ in range(20):
        a, b = random.integers(0, 4, (2, 30))
        assert adjusted_rand(a, b) == pytest.approx(metrics.adjusted_rand_score(a, b))
    assert adjusted_rand(np.zeros(5, dtype=int), np.zeros(5, dtype=int)) == 1.0


# --- ordinary averages, and what is missing --------------------------------------------------------------------------


def test_ordinary_averages_are_those_of_first_chains_and_change_no_bit_of_the_estimate():
    """Where every pair meets before its burn-in is over there is no correction, and both averages are the same."""
    settings = {"burn_in": 40, "min_sweeps": 50, "lag": 1, "seed": 2, "replicates": COUNT}
    target, _ = small.scalar()
    free = cp.estimate(target, cp.n_clusters(), **settings)
    capped = cp.estimate(target, cp.n_clusters(), max_sweeps=10_000, **settings)
    assert free.ordinary is None
    assert np.array_equal(free.values, capped.values)
    in_time = capped.meeting_times <= 41
    assert in_time.any()
    assert np.allclose(capped.ordinary_values[in_time], capped.values[in_time])
    assert capped.agreement is None
    assert capped.missing is None


def test_ordinary_averages_are_those_of_chains_that_are_run_sweep_by_sweep():
    target, _ = small.scalar()
    step, burn_in, horizon = BoundStep(cp.Step(Path(), 0)), 3, 9
    start = check_start(target, None)
    job = Job(target, (cp.n_clusters(),), step, start, Settings(burn_in, horizon, 2, 10**6), 1)
    outcomes, _ = job.run(range(5), Pause())
    for i, found in enumerate(outcomes.ordinary[:, 0]):
        h_x, _, _ = trajectory(target, step, start, 2, 1, i, horizon)
        assert found == pytest.approx(np.mean(h_x[burn_in : horizon + 1]))


def test_the_truncated_estimate_has_the_expectation_of_a_chain_that_ran_to_the_cap():
    """Lag 3, cap 5: it is the mean of h after 3, 4 and 5 sweeps, not that after 0 to 2, which it began with.

    False-alarm rate of the first assertion: 1 in 15,000 for one seed, and the seed is fixed.
    """
    target, _ = small.scalar()
    settings = {"coupling": "independent", "lag": 3, "max_sweeps": 5, "replicates": 20_000, "init": "singletons"}
    e = cp.estimate(target, cp.n_clusters(), burn_in=0, min_sweeps=2, seed=1, **settings)
    assert e.censored > 1000
    late = cp.estimate(target, cp.n_clusters(), burn_in=3, min_sweeps=5, seed=2, **settings).ordinary
    error = np.hypot(e.stderr, late.stderr)
    assert np.abs(e.mean - late.mean) < 4 * error
    assert np.abs(e.mean - e.ordinary.mean) > 10 * error
    assert (e.missing.first, e.missing.last) == (3, 5)


def test_what_is_missing_is_a_bound_only_where_the_range_is_known():
    e = slow([cp.n_clusters(), cp.co_clustering(pairs=[(0, 1)])])
    m = e.missing
    assert m.is_bound.tolist() == [False, True]
    assert m.step[1] == m.probability == e.censored_bound()
    assert m.step[0] == pytest.approx(m.probability * np.ptp(e.ordinary_values[:, 0]))
    assert "no bound" in str(m)
    assert "cannot be known" in m.sentence or m.probability == 1.0


def test_streamed_functionals_have_no_ordinary_averages_and_say_so(tmp_path):
    e = slow([cp.co_clustering(), cp.n_clusters()])
    if e.streamed:
        assert np.isnan(e.ordinary.mean[0])
    assert np.isfinite(e.ordinary.mean[-1])
    e = slow([cp.memberships(np.arange(8) // 4, keep_values=False), cp.n_clusters()])
    assert e.streamed
    assert np.isnan(e.ordinary.mean[0])
    assert np.isfinite(e.ordinary.mean[-1])
    cp.write_report(e, tmp_path / "page.html")
    assert "not kept" in (tmp_path / "page.html").read_text(encoding="utf-8")


# --- why pairs do not meet -------------------------------------------------------------------------------------------


def test_chains_in_different_modes_are_found_out():
    e = in_modes()
    assert e.censored > 0
    assert e.agreement.verdict == MODES
    assert e.agreement.apart == len(e.agreement.indices) == e.censored
    assert np.all(e.agreement.distances > 0)
    assert np.all(e.agreement.rand_within - e.agreement.rand_between > 0.1)
    assert any("CHAINS ARE IN DIFFERENT MODES" in warning for warning in e.warnings)
    assert any("find_modes" in advice for advice in verdict_of(e).advice)
    assert not any("larger max_sweeps, or" in advice for advice in verdict_of(e).advice)
    assert "ordinary" in str(e)


def test_chains_that_agree_are_told_from_them():
    e = slow()
    assert e.censored > 0
    assert e.agreement.verdict == SLOW
    assert any("CHAINS AGREE, THE COUPLING IS SLOW" in warning for warning in e.warnings)
    assert any("larger max_sweeps" in advice for advice in verdict_of(e).advice)
    assert verdict_of(e).level == BAD
    assert "chains agree" in str(e.agreement)


@pytest.mark.parametrize(
    ("made", "differs"),
    [
        ({}, [False, False, False]),
        ({"shift": 20.0}, [True, False, False]),
        ({"shift": 2.0}, [False, False, False]),
        ({"clusters": 5}, [False, True, False]),
        ({"clusters": 1}, [False, False, False]),
        ({"joined": True}, [False, False, True]),
    ],
)
def test_each_part_of_the_rule(made, differs):
    agreement = agreement_of(with_pairs(course(**made)))
    assert agreement.differs.tolist() == [differs]
    assert agreement.verdict == (MODES if any(differs) else SLOW)


def test_a_quarter_of_the_pairs_decides():
    same, other = course(), course(shift=20.0)
    assert agreement_of(with_pairs(other, same, same, same)).verdict == MODES
    assert agreement_of(with_pairs(other, same, same, same, same)).verdict == SLOW


@pytest.mark.plain
def test_halves_are_compared_by_their_consensus():
    assert agreement_of(with_pairs(course(), course())).rand_of_halves == 1.0
    assert agreement_of(with_pairs(course(joined=True))).rand_of_halves < 1.0


def test_colourings_have_no_log_densities_and_are_judged_by_the_rest():
    target, _ = small.coloring()
    settings = {"burn_in": 0, "min_sweeps": 2, "lag": 1, "max_sweeps": 2, "coupling": "independent", "seed": 1}
    e = cp.estimate(target, cp.n_clusters(), replicates=10, **settings)
    assert e.censored > 0
    assert np.isnan(e.agreement.log_density).all()
    assert "log densit" not in e.agreement.sentence


# --- the same everywhere ---------------------------------------------------------------------------------------------


def assert_same(a, b):
    assert np.array_equal(a.values, b.values)
    assert np.array_equal(a.ordinary_values, b.ordinary_values)
    assert [one.number for one in a.unmet] == [one.number for one in b.unmet]
    for one, other in zip(a.unmet, b.unmet, strict=True):
        assert np.array_equal(one.labels, other.labels)
        for x, y in zip(one.course, other.course, strict=True):
            assert np.array_equal(x, y)


FUNCTIONALS = {
    "kept": lambda: cp.n_clusters(),
    "streamed": lambda: [cp.n_clusters(), cp.memberships(np.arange(8) // 4, keep_values=False)],
}


@pytest.mark.parametrize("kind", FUNCTIONALS)
def test_same_bits_anywhere(kind, monkeypatch):
    monkeypatch.setattr(estimating, "RECORDS", 4)
    expected = slow(FUNCTIONALS[kind](), executor=1, replicates=30)
    assert expected.unmet
    assert_same(slow(FUNCTIONALS[kind](), executor=3, replicates=30), expected)
    with ThreadPoolExecutor(2) as pool:
        assert_same(slow(FUNCTIONALS[kind](), executor=pool, replicates=30), expected)


def test_same_bits_in_processes():
    assert_same(slow(executor="processes", replicates=30), slow(replicates=30))


@pytest.mark.parametrize("kind", FUNCTIONALS)
def test_a_store_that_is_gone_on_with_is_as_if_it_had_not_stopped(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(estimating, "RECORDS", 4)
    path, expected = tmp_path / "run.db", slow(FUNCTIONALS[kind](), replicates=60)
    assert len(expected.unmet) == min(20, expected.censored)
    slow(FUNCTIONALS[kind](), store=path, replicates=25)
    assert_same(slow(FUNCTIONALS[kind](), store=path, replicates=60), expected)
    loaded = cp.Estimate.load(path)
    assert_same(loaded, expected)
    assert loaded.agreement.verdict == expected.agreement.verdict


def test_pairs_that_were_not_followed_yet_are_followed_when_a_run_goes_on(tmp_path, monkeypatch):
    """A run that is stopped before it looks at its pairs says only that they did not meet."""
    path = tmp_path / "run.db"
    monkeypatch.setattr("copartition.runs.estimating.follow", lambda job, unmet, executor: {})
    e = slow(store=path)
    assert e.unmet
    assert e.agreement is None
    assert "larger max_sweeps" in " ".join(verdict_of(e).advice)
    monkeypatch.undo()
    assert_same(slow(store=path), slow())


# --- where it is told ------------------------------------------------------------------------------------------------


def test_the_page_begins_with_it(tmp_path):
    path = tmp_path / "page.html"
    cp.write_report(in_modes(), path)
    text = path.read_text(encoding="utf-8")
    first = text.index("did not meet: chains are in different modes.")
    assert first < text.index("The estimates are biased") < text.index("The estimate</h2>")
    assert text.index("ordinary averages</th>") < text.index("The estimates are biased")
    assert re.search(r"<td>n_clusters</td><td>[\d.]+ ± [\d.e*\s-]+</td><td>[\d.]+ ± [\d.e-]+</td>", text)
    assert "different modes</td>" in text
    path = tmp_path / "slow.html"
    cp.write_report(slow(), path)
    assert "did not meet: chains agree, the coupling is slow." in path.read_text(encoding="utf-8")


def test_a_page_without_it_where_all_pairs_met(tmp_path):
    e = slow(coupling=None, max_sweeps=None)
    cp.write_report(e, tmp_path / "page.html")
    assert "did not meet" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_command_line_tells_both(tmp_path):
    (tmp_path / "data.csv").write_text("x\n-3.1\n-3.0\n-2.9\n2.9\n3.0\n3.1\n")
    command = f"estimate {tmp_path / 'data.csv'} --noise-sd 0.8 --mean-sd 3 --coupling independent --lag 6 --burn-in 3"
    command += " --min-sweeps 10 --max-sweeps 10 --replicates 10 --seed 1"
    told = CliRunner().invoke(main, command.split())
    assert told.exit_code == 0, told.output
    assert "CHAINS AGREE" in told.stdout
    assert "ordinary" in told.stdout
    found = json.loads(CliRunner().invoke(main, [*command.split(), "--json"]).stdout)
    assert found["agreement"]["verdict"] == SLOW
    assert len(found["ordinary"]["mean"]) == len(found["mean"])


def test_tables_have_both(tmp_path):
    from copartition.view.export import summary_columns

    assert {"ordinary_mean", "ordinary_stderr"} <= set(summary_columns(slow()))
    assert "ordinary_mean" not in summary_columns(slow(coupling=None, max_sweeps=None))


# --- no run hangs in silence -----------------------------------------------------------------------------------------


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(pieces, "SECONDS_BETWEEN_LOOKS", 0.02)
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    monkeypatch.setattr(progress, "SLOW_FOR_ANY_PAIR", 50)


def waits(**more):
    """A run whose pairs take some thousand sweeps to meet, though they do in the end."""
    target = cp.Mixture(np.linspace(-2, 2, 26), cp.Gaussian(noise_sd=1.0, mean_sd=1.0), cp.DirichletProcess(1.0))
    settings = {"burn_in": 1, "min_sweeps": 2, "lag": 1, "coupling": "independent", "seed": 1, "executor": 2}
    return cp.estimate(target, cp.n_clusters(), **settings | {"replicates": 20} | more)


def test_a_run_without_a_cap_says_once_that_it_waits_and_its_bits_are_the_same(hasty, monkeypatch):
    with pytest.warns(
        cp.errors.SlowPairsWarning, match="have not met after more than .* coupled sweeps.*max_sweeps"
    ) as told:
        e = waits()
    assert len(told) == 1
    monkeypatch.setattr(progress, "SECONDS", 1000.0)
    assert np.array_equal(waits().values, e.values)


def test_with_a_cap_nothing_is_said_before_the_end(hasty):
    waits(max_sweeps=100_000)


def test_patience_knows_what_others_took_and_who_is_silent(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    pause = Pause()
    pause.tell(150)
    look = progress.Patience(lambda pause: None, [], lambda: np.full(20, 10.0))
    look(pause)  # 15 times as long as others
    pause.tell(250)
    with pytest.warns(cp.errors.SlowPairsWarning, match="1 of 1 pairs under way have not met after more than 200"):
        look(pause)
    look(pause)  # said once
    monkeypatch.setattr(progress, "SILENCE", 0.0)
    with pytest.warns(cp.errors.SlowPairsWarning, match="Nothing has ended for 0 s"):
        progress.Patience(lambda pause: None, [])(Pause())


def test_compiling_is_not_waiting(monkeypatch):
    """However long it takes: silence counts from when it has ended."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    look = progress.Patience(lambda pause: None, [])
    with compiling.one():
        clock[0] += 500.0
        look(Pause())
    clock[0] += progress.SILENCE - 1.0
    look(Pause())
    clock[0] += 2.0
    with pytest.warns(cp.errors.SlowPairsWarning, match="Nothing has ended for 61 s"):
        look(Pause())


def test_the_command_line_says_that_it_waits(hasty, tmp_path):
    rows = "\n".join(f"{x:.3f}" for x in np.linspace(-2, 2, 26))
    (tmp_path / "data.csv").write_text(f"x\n{rows}\n")
    command = f"estimate {tmp_path / 'data.csv'} --noise-sd 1 --mean-sd 1 --coupling independent --lag 1 --burn-in 1"
    command += " --min-sweeps 2 --replicates 20 --seed 1 --threads 2"
    told = CliRunner().invoke(main, command.split())
    assert told.exit_code == 0, told.output
    assert told.stderr.count("Warning: ") == 1
    assert "progress.py" not in told.stderr
