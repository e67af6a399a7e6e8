"""Meeting times: what they are, that they are reproducible, what is refused."""

from __future__ import annotations

import pickle
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import advance_pair, check_start, couple, start_pair
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.steps import count_pair
from copartition.runs.pieces import run_all
from copartition.runs.progress import Interrupted

REPLICATES = 3 if JIT_DISABLED else 40
TRANSPORT = BoundStep(cp.Step(cp.Transport(), 0))


@pytest.fixture(scope="module")
def target():
    return small.scalar()[0]


def test_meeting_time_is_the_first_time_at_which_the_chains_are_equal(target):
    """The meeting time is the first t >= lag with X_t = Y_(t - lag); the paper's first code was one too early."""
    lag = 3
    m = cp.meeting_times(
        target, replicates=REPLICATES, coupling="transport", lag=lag, init="singletons", trace=True, seed=4
    )
    assert m.met.all()
    assert m.censored == 0
    for i in range(REPLICATES):
        random = stream(4, i)
        pair = start_pair(target, TRANSPORT, check_start(target, "singletons"), lag, random)
        t = lag
        while naive.canonical(pair.x.labels.tolist()) != naive.canonical(pair.y.labels.tolist()):
            assert m.traces[i][t - lag] == naive.hamming(pair.x.labels, pair.y.labels) > 0
            pair, _ = advance_pair(target, TRANSPORT, pair, random, 1)
            t += 1
        assert m.meeting_times[i] == t
        assert m.traces[i][-1] == 0
        assert len(m.traces[i]) == t - lag + 1


def test_a_lag_means_sweeps_of_the_first_chain_alone(target):
    random = stream(0, 0)
    pair = start_pair(target, TRANSPORT, check_start(target, "one_cluster"), 5, random)
    assert pair.y.labels.tolist() == [0] * 5
    again = stream(0, 0)
    alone = advance_chain(target, BoundStep(), chain_at(target, np.zeros(5, dtype=np.int64)), again, 5)
    assert pair.x.labels.tolist() == alone.labels.tolist()


def test_pairs_that_do_not_meet_are_counted_with_the_cap(target):
    m = cp.meeting_times(target, replicates=REPLICATES, coupling="independent", lag=2, max_sweeps=3, seed=1)
    assert m.meeting_times.max() == 3
    assert m.censored == np.sum(~m.met) > 0
    assert np.all(m.meeting_times[~m.met] == 3)
    assert "NOT MET" in str(m)
    assert m.traces is None


@pytest.mark.plain
@pytest.mark.parametrize("coupling", small.COUPLINGS)
@pytest.mark.parametrize("nugget", [0.0, 0.2])
def test_every_coupling_meets(target, coupling, nugget):
    coupling = pickle.loads(pickle.dumps(small.COUPLINGS[coupling]))
    coupling.nugget = nugget
    m = cp.meeting_times(target, replicates=REPLICATES, coupling=coupling, lag=1, seed=2)
    assert m.met.all()
    assert "NOT MET" not in str(m)


@pytest.mark.parametrize("init", ["one_cluster", "singletons", "prior", "sequential", [3, 3, 0, 0, 0]])
def test_every_start_works(target, init):
    m = cp.meeting_times(target, replicates=REPLICATES, init=init, lag=1, seed=2)
    assert m.met.all()


@pytest.mark.parametrize("init", [None, "greedy", "sequential", "singletons"])
def test_every_start_of_a_colouring_works(init):
    target = cp.GraphColoring(small.EDGES, colors=5)
    assert cp.meeting_times(target, replicates=REPLICATES, init=init, lag=1, seed=2).met.all()


def test_results_do_not_depend_on_how_many_sweeps_a_call_makes(target, monkeypatch):
    expected = cp.meeting_times(target, replicates=REPLICATES, lag=1, init="singletons", seed=3)
    monkeypatch.setattr("copartition.runs.progress.Chunks.next", lambda self, remaining: 1)
    single = cp.meeting_times(target, replicates=REPLICATES, lag=1, init="singletons", seed=3)
    assert single.meeting_times.tolist() == expected.meeting_times.tolist()


def test_seeds_and_replicates_differ(target):
    a = cp.meeting_times(target, replicates=REPLICATES, coupling="maximal", lag=1, seed=1).meeting_times
    b = cp.meeting_times(target, replicates=REPLICATES, coupling="maximal", lag=1, seed=2).meeting_times
    assert a.tolist() != b.tolist()
    assert len(set(a)) > 1


def test_progress_bar_counts_pairs(target, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    cp.meeting_times(target, replicates=3, seed=1, progress=True)
    assert "3/3" in capsys.readouterr().err


def test_an_error_in_one_pair_ends_the_run_with_that_error(target, monkeypatch):
    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("copartition.runs.replicates.Runner.advance", fail)
    with pytest.raises(KeyboardInterrupt):
        cp.meeting_times(target, replicates=4, seed=1)


def test_threads_stop_when_the_run_is_given_up():
    begun, ended = threading.Event(), []

    def work(indices, pause):
        if indices == [0]:
            begun.wait()
            raise ValueError("no good")
        begun.set()
        end = time.monotonic() + 20
        try:
            while time.monotonic() < end:
                pause()
        except Interrupted:
            ended.extend(indices)
            raise

    with pytest.raises(ValueError, match="no good"):
        run_all(SimpleNamespace(run=work), 2, 2, False, "pieces")
    assert ended == [1]


def test_transport_meets_sooner_than_the_label_couplings():
    """On the model of Figure 1A by far: mean sweeps differ by more than 5 standard errors (false alarm below 1e-6)."""
    rng = np.random.default_rng(3)
    means = rng.normal(0, 2.5, (4, 2))
    data = means[rng.integers(4, size=150)] + rng.normal(0, 2, (150, 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(0.2))
    sweeps = {
        coupling: cp.meeting_times(
            target, replicates=60, coupling=coupling, lag=50, max_sweeps=2000, seed=1
        ).meeting_times
        for coupling in ("transport", "maximal", "common")
    }
    ours = sweeps.pop("transport")
    for theirs in sweeps.values():
        spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(60)
        assert theirs.mean() - ours.mean() > 5 * spread


def test_rna_seq_data_meet_as_in_the_paper(rna_seq):
    """Lag 50 from one cluster: 73 sweeps on average, sd about 60. With 100 pairs 49 to 97 is 4 standard errors."""
    target = cp.Mixture(rna_seq, cp.Gaussian(noise_sd=1.3, mean_sd=0.5), cp.DirichletProcess(1.0))
    m = cp.meeting_times(target, replicates=100, coupling="transport", lag=50, seed=1)
    assert 49 < np.mean(m.meeting_times - 50) < 97


@cp.kernels.log_predictive
def not_a_number(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = np.nan if n == 2 else 0.0


@cp.kernels.log_predictive
def impossible(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = -np.inf


@cp.kernels.log_predictive
def infinite(model, chain, n_choices, n):
    for k in range(n_choices):
        chain[0].weights[k] = np.inf


@pytest.mark.plain
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (not_a_number, "for point 2 it gave NaN or plus infinity"),
        (impossible, "for point 0 it gave minus infinity for every choice"),
        (infinite, "for point 0 it gave NaN or plus infinity"),
    ],
)
def test_a_target_that_gives_no_distribution_is_reported_not_sampled(kernel, message):
    target = cp.Target(np.zeros((4, 0)), kernel, cp.DirichletProcess(1.0))
    for run in (
        lambda: cp.meeting_times(target, replicates=2),
        lambda: cp.sample(target, cp.n_clusters(), sweeps=2, burn_in=0),
        lambda: cp.kernels.conditional(target, [0] * 4, 2 if kernel is not_a_number else 0),
    ):
        with pytest.raises(ValueError, match=message):
            run()
    if kernel is not_a_number:
        with pytest.raises(ValueError, match=message):
            start_pair(target, TRANSPORT, check_start(target, "sequential"), 1, stream(0, 0))
    x, y = (chain_at(target, labels) for labels in (np.arange(4), np.zeros(4, dtype=np.int64)))
    pair = couple(target, cp.Transport(), x, y)
    count_pair(pair)
    with pytest.raises(ValueError, match=message):
        advance_pair(target, TRANSPORT, pair, stream(0, 0), 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"replicates": 0}, "replicates must be a whole number of at least 1, got 0"),
        ({"lag": 0}, "lag must be a whole number of at least 1, got 0"),
        ({"max_sweeps": 0}, "max_sweeps must be a whole number of at least 1, got 0"),
        ({"max_sweeps": 5, "lag": 6}, "max_sweeps must be at least the lag, 6, got 5"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5"),
        ({"seed": True}, "seed must be a whole number of at least 0, got True"),
        ({"coupling": "best"}, "coupling must be 'path'"),
        ({"init": "kmeans"}, "init must be 'one_cluster', 'singletons', .* got 'kmeans'"),
        ({"init": "greedy"}, "init must be 'one_cluster'"),
        ({"init": [0, 1]}, "init must hold 5 labels"),
        ({"init": [0.0] * 5}, "init must hold whole numbers"),
        ({"executor": 0}, "executor must be a whole number of at least 1, got 0"),
        ({"executor": True}, "executor must be None, a number of threads, 'processes', .* got True"),
        ({"executor": "threads"}, "executor must be None, a number of threads, 'processes', .* got 'threads'"),
    ],
)
def test_bad_input_is_refused(target, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        cp.meeting_times(target, **arguments)
    assert "\n" not in str(caught.value)


def test_bad_starts_of_a_colouring_are_refused():
    target = cp.GraphColoring(small.EDGES, colors=2)
    for init, message in [
        ("one_cluster", "'one_cluster' must be a proper colouring"),
        ("singletons", "'singletons' must have at most 2 clusters, got 5"),
        ("prior", "init 'prior' needs a target that has a prior"),
        ([0, 0, 1, 0, 1], "init must be a proper colouring"),
    ]:
        with pytest.raises(ValueError, match=message):
            cp.meeting_times(target, init=init)
    triangle_strip = cp.GraphColoring([(0, 1), (1, 2), (2, 3), (3, 0)], colors=2)
    with pytest.raises(ValueError, match="init 'sequential' found no cluster that could take point"):
        cp.meeting_times(triangle_strip, init="sequential", lag=1, replicates=50)


def test_target_must_be_a_target():
    with pytest.raises(TypeError, match="target must be a target such as Mixture"):
        cp.meeting_times([1.0, 2.0])


# --- meetings that mean nothing --------------------------------------------------------------------------------------


def stuck():
    """Three groups of points in 13 columns: one cluster is a mode that no single point leaves."""
    rng = np.random.default_rng(5)
    data = rng.normal(size=(90, 13)) + 2.0 * rng.normal(size=(3, 13))[np.arange(90) % 3]
    return cp.Mixture(data, cp.NormalInverseGamma())


def test_chains_that_have_not_left_their_start_are_told():
    m = cp.meeting_times(stuck(), replicates=20, lag=5, split_merge=0, seed=1, max_sweeps=500)
    assert m.at_start == 1.0
    assert np.all(m.meeting_times == 5)
    assert "QUICK: 100 % of the pairs met within 2 sweeps of being coupled. That alone shows nothing" in str(m)
    e = cp.estimate(stuck(), cp.n_clusters(), replicates=20, lag=5, burn_in=5, min_sweeps=20, split_merge=0, seed=1)
    assert any(finding.title == "Starts disagree" and finding.level == "doubt" for finding in e.findings)


def test_chains_that_move_and_starts_by_chance_are_not():
    data = [0.0, 0.8, 1.6, 2.4, 3.2]
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
    m = cp.meeting_times(target, replicates=200, lag=20, seed=1)
    assert 0.0 < m.at_start < 0.5  # five points come back to one cluster now and then
    drawn = cp.meeting_times(target, replicates=200, lag=20, init="sequential", seed=1)
    assert np.mean(drawn.meeting_times == 20) > 0.0
    assert drawn.at_start == 0.0


def test_the_pilot_takes_a_longer_lag_while_chains_are_at_their_start():
    t = cp.tune(stuck(), cp.n_clusters(), pairs=100, split_merge=0, seed=1)
    assert [stage.lag for stage in t.stages] == [50, 100, 200]
    assert t.stages[0].at_start == 1.0
    assert t.stages[-1].at_start > 0.5  # as long as it takes, they do not leave: that is said
    assert "That alone shows nothing" in str(t)
