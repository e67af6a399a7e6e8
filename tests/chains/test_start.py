"""Starts: random ones by their exact distributions, those that are short runs, and that all runs know them."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import Beginning, check_start, start_chain
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from plausible import chi_square_is_plausible, mixture

COUNT = 3 if JIT_DISABLED else 50
QUICK = {"burn_in": 1, "min_sweeps": 6, "lag": 2}
START = cp.Start("singletons", sweeps=3, split_merge=2)


@pytest.fixture(scope="module")
def target():
    return small.scalar()[0]


# --- random starts ---------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("start", ["prior", "sequential"])
def test_random_starts_place_every_point(rng, start):
    target, _ = mixture(rng, 30, alpha=20.0)
    start = check_start(target, start)
    chain = start_chain(target, start, stream(1, 1))
    assert chain.labels.min() == 0
    assert chain.n_clusters[0] == chain.labels.max() + 1
    again = start_chain(target, start, stream(1, 1))
    assert chain.labels.tolist() == again.labels.tolist()
    assert chain.labels.tolist() != start_chain(target, start, stream(1, 2)).labels.tolist()


@pytest.mark.parametrize("draws", [6_000, pytest.param(40_000, marks=pytest.mark.long)])
def test_random_starts_have_their_distributions(draws):
    """Three points: the prior start is Ewens', the sequential one that of the chain rule. False alarm 1e-5 each."""
    data = np.array([0.0, 0.5, 2.0])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=2.0), cp.DirichletProcess(0.8))
    density = naive.GaussianMixture(data[:, None], np.eye(1), np.eye(1) * 4, np.zeros(1), 0.8)
    states = naive.all_partitions(3)
    random = stream(8, 0)
    prior = np.array(
        [0.8 ** len(set(s)) * np.prod([np.prod(range(1, len(c))) for c in naive.clusters(s)]) for s in states]
    )
    for start, expected in (("prior", prior / prior.sum()), ("sequential", sequential_distribution(density, states))):
        counts = np.zeros(len(states))
        init = check_start(target, start)
        for _ in range(draws):
            counts[states.index(naive.canonical(start_chain(target, init, random).labels.tolist()))] += 1
        assert chi_square_is_plausible(counts, expected * draws, 1e-5)


def sequential_distribution(density, states):
    """Average over all orders of the product of conditional distributions of each point given those before it."""
    from itertools import permutations

    total = np.zeros(len(states))
    orders = list(permutations(range(3)))
    for order in orders:
        for s, state in enumerate(states):
            probability = 1.0
            for count in range(1, 4):
                placed = list(order[:count])
                part = naive.GaussianMixture(
                    density.data[placed], density.noise_cov, density.mean_cov, density.mean, density.alpha
                )
                labels = naive.canonical([state[m] for m in placed])
                choices = naive.placements(labels, count - 1)
                probability *= naive.conditional(part, labels, count - 1)[choices.index(labels)]
            total[s] += probability / len(orders)
    return total


# --- starts that are runs --------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_a_start_is_a_run_from_another_start(target):
    random, again = stream(1, 1), stream(1, 1)
    chain = start_chain(target, check_start(target, START), random)
    plain = advance_chain(
        target, BoundStep(cp.Step(cp.couplings.Independent(), 2)), chain_at(target, np.arange(5)), again, 3
    )
    assert chain.labels.tolist() == plain.labels.tolist()
    assert random.tolist() == again.tolist()


def test_starts_are_checked_against_their_target(target):
    beginning = check_start(target, START)
    assert isinstance(beginning, Beginning)
    assert (beginning.labels.tolist(), beginning.sweeps, beginning.split_merge) == ([0, 1, 2, 3, 4], 3, 2)
    assert check_start(target, cp.Start("prior")).is_random
    coloring, _ = small.coloring()
    assert check_start(coloring, cp.Start("greedy", sweeps=5, split_merge=0)).sweeps == 5
    with pytest.raises(ValueError, match="split_merge of Start must be 0 for GraphColoring"):
        check_start(coloring, cp.Start("greedy"))
    with pytest.raises(ValueError, match=r"init must be 'one_cluster', .* or a Start for a Mixture, got 'somewhere'"):
        check_start(target, cp.Start("somewhere"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cp.Start(sweeps=-1), "sweeps of Start must be a whole number of at least 0, got -1"),
        (lambda: cp.Start(split_merge=0.5), "split_merge of Start must be a whole number"),
        (lambda: cp.Start(START), "init of a Start must be a name or labels, got another Start"),
    ],
)
def test_bad_starts_are_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.plain
@pytest.mark.parametrize(
    "init", [START, cp.Start("sequential", sweeps=2, split_merge=1), cp.Start("annealed", levels=3, split_merge=1)]
)
def test_functionals_in_python_see_the_same_starts(target, init):
    """One kernel runs whole replicates, start included; a functional in Python is added up outside of it."""
    settings = {"replicates": COUNT, "burn_in": 0, "min_sweeps": 4, "lag": 2, "init": init, "split_merge": 2}
    compiled = cp.estimate(target, cp.n_clusters(), **settings)
    by_python = cp.estimate(target, cp.functional(lambda labels: labels.max() + 1), **settings)
    np.testing.assert_allclose(by_python.values, compiled.values, atol=1e-12)


def test_sweeps_of_the_start_count(target):
    e = cp.estimate(target, cp.n_clusters(), replicates=COUNT, init=START, **QUICK)
    tau = e.meeting_times
    assert e.sweeps.tolist() == (2 * 3 + 2 + 2 * (tau - 2) + np.maximum(0, 6 - tau)).tolist()


def test_a_store_knows_the_start_and_the_moves(target, tmp_path):
    def run(**more):
        return cp.estimate(target, cp.n_clusters(), replicates=4, store=tmp_path / "run.db", **QUICK, **more)

    made = run(init=START, split_merge=2).made_by
    assert made["init"] == "Start(init='singletons', sweeps=3, split_merge=2)"
    assert made["step"]["split_merge"] == 2
    assert run(init=START, split_merge=2).made_by == made
    for other in ({"init": cp.Start("singletons", 4, 2), "split_merge": 2}, {"init": START, "split_merge": 1}):
        with pytest.raises(cp.errors.StoreError, match=r"init is|step is"):
            run(**other)


def test_every_kind_of_run_takes_starts_and_moves(target):
    how = {"init": START, "split_merge": 2}
    h = cp.n_clusters()
    m = cp.meeting_times(target, replicates=COUNT, lag=2, **how)
    assert m.met.all()
    assert m.split_merge == 2
    assert "2 split-merge moves a sweep" in str(m)
    assert cp.sample(target, h, sweeps=5, burn_in=1, chains=1, **how).split_merge == 2
    e = cp.estimate_within(target, h, workers=2, deadline=cp.Sweeps(20), **QUICK, **how)
    assert e.made_by["step"]["split_merge"] == 2
    t = cp.tune(target, h, pairs=100, modes=False, **how)
    assert (t.split_merge, t.init) == (2, START)
    made = cp.estimate(target, h, settings=t, replicates=2).made_by
    assert (made["init"], made["step"]["split_merge"]) == (repr(START), 2)
    assert cp.estimate(target, h, settings="auto", replicates=2, **how).made_by["init"] == repr(START)


def test_a_start_close_to_the_target_lets_pairs_meet_sooner(rng):
    data = rng.normal(0, 0.7, (4, 30))[rng.integers(4, size=120)] + rng.normal(0, 1.0, (120, 30))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=0.7), cp.DirichletProcess(1.0))
    plain, run = (
        cp.meeting_times(target, replicates=200, lag=50, split_merge=5, init=init, seed=1)
        for init in ("one_cluster", cp.Start("one_cluster", sweeps=20, split_merge=20))
    )
    assert run.meeting_times.mean() - 50 < 0.7 * (plain.meeting_times.mean() - 50)
