"""Clusters that are known and kinds that never mix, for every kind of target.

Distributions by enumeration, starts, refusals.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import copartition as cp
import distributions
import naive
import small
from component_cases import Restricted, coloring, mixture, network
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import check_start, start_chain
from copartition.core.random import stream
from copartition.runs.defaults import bind, resolve
from plausible import chi_square_is_plausible


def own(**constraint):
    """A component of one's own, without log_merge: split-merge moves deal out a third cluster."""
    target = cp.Mixture(small.YES_NO, small.Bernoulli(0.5, 1.5), cp.DirichletProcess(1.1), **constraint)
    return target, Restricted(small.bernoulli()[1], **constraint)


CASES = {
    "mixture, known": lambda: mixture(known=[0, -1, 0, -1, -1]),
    "mixture, two known": lambda: mixture(known=[0, 1, 0, -1, 1]),
    "mixture, one known": lambda: mixture(known=[0, -1, -1, 1, -1]),
    "mixture, kinds": lambda: mixture(kinds=[0, 1, 0, 1, 1]),
    "mixture, both": lambda: mixture(known=[0, -1, 0, -1, -1], kinds=[0, 1, 0, 1, 0]),
    "own, known": lambda: own(known=[0, -1, 0, 1, -1]),
    "network, known": lambda: network(known=[0, -1, -1, 1, 1, -1]),
    "network, kinds": lambda: network(kinds=[0, 0, 1, 0, 1, 1]),
    "network, both": lambda: network(known=[0, 0, -1, -1, -1, -1], kinds=[0, 0, 1, 0, 1, 0]),
    "coloring, known": lambda: coloring(known=[0, -1, 0, -1, -1]),
}


@pytest.fixture(params=CASES)
def case(request):
    target, density = CASES[request.param]()
    states, distribution = naive.distribution(density, target.n_points)
    possible = distribution > 0
    return target, density, [state for state, one in zip(states, possible, strict=True) if one], distribution[possible]


@pytest.mark.plain
def test_conditional_distributions_are_those_of_the_restricted_density(case):
    target, density, states, _ = case
    for state in states:
        for n in range(target.n_points):
            ours = cp.kernels.conditional(target, state, n)
            if target.constraint.labels[n] < 0:
                np.testing.assert_allclose(ours, naive.conditional(density, state, n), atol=1e-13)
            else:  # it stays where it is
                assert naive.placements(state, n)[int(np.argmax(ours))] == state
                assert ours.max() == 1.0


@pytest.mark.plain
def test_the_restricted_density_is_invariant_under_a_sweep(case):
    target, _, states, distribution = case
    matrix = distributions.sweep_matrix(target, states)
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(distribution @ matrix - distribution).max() < 1e-12
    # From everywhere to everywhere: the distribution is the only one that is invariant.
    assert np.linalg.matrix_power(matrix, 50).min() > 0.0


STEPS = {"sweep": (0, 0), "moves": (4, 0), "joint updates": (0, cp.JointUpdates(3, least=2, most=4))}


@pytest.mark.parametrize(
    ("name", "what"), [(name, what) for name in CASES for what in STEPS if what == "sweep" or "coloring" not in name]
)
def test_steps_lead_to_the_restricted_distribution(name, what):
    """Steps from draws of the distribution lead to draws of the distribution: chi-square, false alarm 1e-5 each."""
    target, density = CASES[name]()
    states, distribution = naive.distribution(density, target.n_points)
    step = bind(target, resolve(target, cp.Step("path", *STEPS[what])))
    started = np.round(60_000 * distribution)
    total = np.zeros(target.n_points**target.n_points, dtype=np.int64)
    for s, (state, count) in enumerate(zip(states, started, strict=True)):
        if count:
            total += distributions.counted_steps(target, state, step, stream(9, s), int(count))
    counts = total[distributions.codes(states)]
    assert counts[distribution == 0].sum() == 0
    assert chi_square_is_plausible(counts, started, 1e-5)


@pytest.mark.parametrize("name", CASES)
def test_estimates_are_unbiased(name):
    """Distribution of the number of clusters and all pairs, with defaults.

    Five standard errors, false alarm below 1e-4.
    """
    target, density = CASES[name]()
    states, distribution = naive.distribution(density, target.n_points)
    most = max(max(state) + 1 for state, p in zip(states, distribution, strict=True) if p > 0)
    pairs = [(a, b) for a in range(target.n_points) for b in range(a + 1, target.n_points)]
    functionals = [cp.n_clusters(most), cp.co_clustering()]
    e = cp.estimate(target, functionals, replicates=1000, burn_in=3, min_sweeps=20, lag=3, seed=4)
    exact = np.zeros(len(e.mean))
    for state, p in zip(states, distribution, strict=True):
        counts = [float(max(state) + 1 == k) for k in range(1, most + 1)] + [0.0]
        exact += p * np.array([*counts, *naive.together(state, pairs)])
    certain = e.stderr == 0.0
    assert np.array_equal(e.mean[certain], exact[certain].round(12))
    assert np.abs((e.mean - exact)[~certain] / e.stderr[~certain]).max() < 5.0


STARTS = ["one_cluster", "singletons", "prior", "sequential"]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "init"),
    [(name, init) for name in CASES for init in (["sequential", "greedy"] if "coloring" in name else STARTS)],
)
def test_starts_keep_to_the_constraint(name, init):
    target, density = CASES[name]()
    start = check_start(target, init)
    for seed in range(5):
        chain = start_chain(target, start, stream(3, seed))
        assert density.allows(chain.labels.tolist())
    if init == "one_cluster":
        few = len(set(chain.labels.tolist()))
        known = {label for label in target.constraint.labels.tolist() if label >= 0}
        kinds = target.constraint.kinds.tolist()
        assert max(1, len(known), len(set(kinds))) <= few <= max(1, len(known)) + len(set(kinds))


def test_chains_keep_to_the_constraint_for_long():
    graph = nx.davis_southern_women_graph()
    target = cp.BlockModel(graph, kinds="bipartite", known={"E1": "early", "E2": "early", "E12": "late"})
    step = bind(target, resolve(target, cp.Step()))
    chain = chain_at(target, target.start_labels("one_cluster"))
    random = stream(1)
    women = np.array([graph.nodes[node]["bipartite"] == 0 for node in graph])
    number = {node: n for n, node in enumerate(graph)}
    seen = set()
    for _ in range(30):
        chain = advance_chain(target, step, chain, random, 10)
        labels = chain.labels
        assert not set(labels[women].tolist()) & set(labels[~women].tolist())
        assert labels[number["E1"]] == labels[number["E2"]] != labels[number["E12"]]
        seen.add(tuple(cp.partition.canonical(labels).tolist()))
    assert len(seen) > 10


def test_known_clusters_may_be_words_and_kinds_anything():
    words = cp.Mixture([0.0, 1.0, 2.0, 3.0], small.GAUSSIAN, known=["a", None, "b", "a"], kinds=["x", "x", "y", "x"])
    hyperparameters = cp.Mixture([0.0, 1.0, 2.0, 3.0], small.GAUSSIAN, known=[5, -1, 2, 5], kinds=[0, 0, 1, 0])
    assert words.fingerprint == hyperparameters.fingerprint
    nothing_said = pd.array([5, pd.NA, 2, 5], dtype="Int64")
    assert cp.Mixture([0.0, 1.0, 2.0, 3.0], small.GAUSSIAN, known=nothing_said, kinds=[0, 0, 1, 0]).fingerprint == (
        hyperparameters.fingerprint
    )
    free = cp.Mixture([0.0, 1.0, 2.0, 3.0], small.GAUSSIAN)
    assert free.fingerprint != words.fingerprint
    # Nothing known, and one kind: no constraint at all.
    assert (
        cp.Mixture([0.0, 1.0, 2.0, 3.0], small.GAUSSIAN, known=[-1] * 4, kinds=[7] * 4).fingerprint == free.fingerprint
    )


def test_the_model_says_what_is_known():
    target = cp.Mixture([0.0, 1.0, 2.0], small.GAUSSIAN, known=[0, -1, 1], kinds=["x", "x", "y"])
    assert "The clusters of 2 points are known (known)." in str(target)
    assert "Points are of 2 kinds, which never share a cluster (kinds)." in str(target)


THREE = [0.0, 1.0, 2.0]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cp.Mixture(THREE, small.GAUSSIAN, known=[0, 1]),
            "known must have an entry for each of the 3 points, got 2 entries",
        ),
        (
            lambda: cp.Mixture(THREE, small.GAUSSIAN, known=[0.5, -1.0, -1.0]),
            "known must hold whole numbers or words, and -1 where nothing is known, got 0.5",
        ),
        (lambda: cp.Mixture(THREE, small.GAUSSIAN, known=[True, False, True]), "known must hold whole .* got True"),
        (lambda: cp.Mixture(THREE, small.GAUSSIAN, known=np.array(["a", -1, "b"])), "known must have None, .* '-1'"),
        (lambda: cp.Mixture(THREE, small.GAUSSIAN, kinds=["a"]), "kinds must have an entry for each of the 3 points"),
        (lambda: cp.Mixture(THREE, small.GAUSSIAN, kinds=["a", None, "b"]), "kinds must have an entry for every point"),
        (lambda: cp.Mixture(THREE, small.GAUSSIAN, kinds=["a", pd.NA, "b"]), "kinds must have an entry for every"),
        (
            lambda: cp.Mixture(THREE, small.GAUSSIAN, known=[0, 0, -1], kinds=[0, 1, 1]),
            "known must not have points of different kinds in one cluster, got points 0 and 1 together",
        ),
        (
            lambda: cp.meeting_times(mixture(known=[0, 0, -1, -1, -1])[0], init=[0, 1, 2, 3, 4]),
            "init must have points with the same known label in one cluster, got points 0 and 1 apart",
        ),
        (
            lambda: cp.meeting_times(mixture(known=[0, 1, -1, -1, -1])[0], init=[0, 0, 1, 1, 1]),
            "init must have points with different known labels in different clusters, got points 0 and 1 together",
        ),
        (
            lambda: cp.kernels.conditional(mixture(known=[0, 1, -1, -1, -1])[0], [0, 0, 0, 0, 0], 4),
            "labels must have points with different known labels in different clusters",
        ),
        (
            lambda: cp.predictive_density([0.0]).bind(mixture(kinds=[0, 1, 1, 1, 1])[0]),
            "predictive_density needs points of one kind",
        ),
        (
            lambda: cp.log_evidence(mixture(kinds=[0, 1, 1, 1, 1])[0], method="smc"),
            "method 'smc' needs points that are exchangeable and free to join any cluster",
        ),
        (lambda: cp.GraphColoring([(0, 1)], 2, known=[0, 0]), "start must be a proper colouring"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_sentence(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.plain
def test_where_everything_is_known_chains_meet_at_once():
    target, _ = mixture(known=[0, 1, 0, 1, 1])
    m = cp.meeting_times(target, replicates=3, lag=2, init="sequential")
    assert m.meeting_times.tolist() == [2, 2, 2]
