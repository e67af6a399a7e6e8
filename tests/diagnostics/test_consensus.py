"""The consensus clustering: the exact minimiser where all partitions can be tried, planted clusters elsewhere."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import copartition as cp
import naive
import small
from copartition.diagnostics.consensus import LOSSES
from made_up import estimate_from, of_draws


def exact_loss(loss, states, distribution, similarity, labels):
    if loss == "binder":
        return naive.expected_binder(states, distribution, labels)
    return naive.vi_lower_bound(similarity, labels)


@functools.cache
def long_estimate(name):
    settings = {"replicates": 5_000, "burn_in": 10, "min_sweeps": 100, "lag": 10, "seed": 1}
    return cp.estimate(small.TARGETS[name]()[0], cp.co_clustering(), **settings)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
def test_estimates_lead_to_the_exact_minimiser(name, loss):
    """From an unbiased run to the partition of least exact loss, or one as good within the run's error."""
    _, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    similarity = naive.similarity(states, distribution)
    losses = {state: exact_loss(loss, states, distribution, similarity, state) for state in states}
    found = cp.consensus(long_estimate(name), loss=loss)
    assert losses[tuple(found.labels.tolist())] == pytest.approx(min(losses.values()), abs=1e-9)
    if loss == "binder":
        assert found.expected_loss == pytest.approx(min(losses.values()), rel=0.02)
        assert found.disagreement == pytest.approx(found.expected_loss / 10)


@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
def test_a_second_run_minimises_the_expected_variation_of_information_itself(name):
    """On `scalar` and `full` the minimiser of the bound is another partition, so the second run matters."""
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, 5)
    expected = {
        state: sum(
            p * naive.variation_of_information(state, other) for other, p in zip(states, distribution, strict=True)
        )
        for state in states
    }
    settings = {"replicates": 5_000, "burn_in": 10, "min_sweeps": 100, "lag": 10}
    first = cp.consensus(cp.estimate(target, cp.co_clustering(), seed=1, **settings))
    e = cp.estimate(target, [cp.co_clustering(), cp.functionals.distance_to(first.candidates)], seed=2, **settings)
    second = cp.consensus(e)
    best = min(expected.values())
    assert expected[tuple(second.labels.tolist())] == pytest.approx(best, abs=1e-9)
    assert second.expected_loss == pytest.approx(best, rel=0.02)
    differs = expected[tuple(first.labels.tolist())] > best + 1e-6
    assert differs == (name in ("scalar", "full"))


def test_partitions_are_judged_with_the_metric_of_the_loss():
    target, _ = small.scalar()
    wanted = [cp.co_clustering(), cp.functionals.distance_to([[0, 0, 0, 0, 0], [0, 1, 2, 3, 4]], "hamming")]
    e = cp.estimate(target, wanted, replicates=50, burn_in=2, min_sweeps=10, lag=2)
    assert len(cp.consensus(e, "binder").candidates) == 2
    assert len(cp.consensus(e, "vi").candidates) == 52
    assert cp.consensus(e, "binder").expected_loss == pytest.approx(e.select("distance_to").mean.min() / 2)


def test_planted_clusters_are_found():
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), 20)
    data = np.array([[-6, -6], [6, -6], [-6, 6], [6, 6]])[truth] + rng.normal(0, 1, (len(truth), 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=6.0), cp.DirichletProcess(0.1))
    e = cp.estimate(target, cp.co_clustering(), settings="auto", replicates=100, seed=1)
    for loss in LOSSES:
        found = cp.consensus(e, loss=loss)
        assert np.array_equal(found.labels, cp.partition.canonical(truth))
        assert not found.is_spread
        assert np.all(found.belongs > 0.95)


def test_belonging_and_disagreement_are_averages_over_the_posterior():
    draws = np.array([[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    found = cp.consensus(of_draws(draws), loss="binder")
    assert found.labels.tolist() == [0, 0, 0, 1]
    # Point 0 is with 1 always and with 2 in three of four; 3 is alone, but once with 2: a third of (0, 0, 1/4).
    np.testing.assert_allclose(found.belongs, [7 / 8, 7 / 8, 3 / 4, 1 - 1 / 12])
    disagreement = [naive.hamming(draw, [0, 0, 0, 1]) / 2 / 6 for draw in draws]
    assert found.disagreement == pytest.approx(np.mean(disagreement))
    assert found.disagreement_stderr == pytest.approx(np.std(disagreement, ddof=1) / 2)
    # Of the pairs that either joins (3 in the consensus, on average 3 x 3/4 + 2 x 1/4 in the posterior): Jaccard.
    both = np.mean([3, 3, 3, 1])
    either = np.mean([3, 3, 3, 4])
    assert found.spread == pytest.approx(1 - both / either)


def test_a_posterior_on_two_clusterings_is_said_to_be_spread():
    draws = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]] * 10
    found = cp.consensus(of_draws(draws))
    assert found.is_spread
    assert "spread over several clusterings" in str(found)
    certain = cp.consensus(of_draws([[0, 0, 0, 0, 1, 1, 1, 1]] * 20))
    assert not certain.is_spread
    assert "spread" not in str(certain)
    assert certain.belongs.tolist() == [1.0] * 8


def test_order_puts_clusters_together_largest_first():
    found = cp.consensus(of_draws([[0, 1, 1, 0, 1, 2, 1]] * 3))
    assert found.labels[found.order].tolist() == [1, 1, 1, 1, 0, 0, 2]


def test_some_points_among_others():
    target, _ = small.scalar()
    wanted = [cp.n_clusters(), cp.co_clustering([4, 0, 2])]
    e = cp.estimate(target, wanted, replicates=50, burn_in=2, min_sweeps=10, lag=2)
    found = cp.consensus(e)
    assert found.points.tolist() == [4, 0, 2]
    assert len(found.labels) == 3


def test_estimates_a_little_outside_of_0_and_1_are_no_trouble():
    e = of_draws([[0, 0, 1, 1]] * 5)
    values = e.values.copy()
    values[0] += 0.3 * np.array([1, -1, -1, -1, -1, 1])
    for loss in LOSSES:
        found = cp.consensus(estimate_from(values, functionals=e.functionals), loss=loss)
        assert found.labels.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: cp.consensus(e, loss="rand"), "loss must be 'vi' or 'binder', got 'rand'"),
        (lambda e: cp.consensus(e, starts=0), "starts must be a whole number of at least 1"),
        (
            lambda e: cp.consensus([[0, 1]]),
            "target must be a posterior, what draw returns or an estimate of co_clustering",
        ),
        (lambda e: cp.consensus(estimate_from([[1.0], [2.0]])), "no functional 'co_clustering'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(of_draws([[0, 0, 1]] * 2))


# --- straight from a posterior ---------------------------------------------------------------------------------------


def exactly(density, labels):
    """What a consensus says of a clustering of five points, by enumeration."""
    states, distribution = naive.distribution(density, 5)
    similarity = naive.similarity(states, distribution)
    found = naive.clusters(labels)
    companions = distribution @ np.array([naive.memberships(state, labels) for state in states])
    companions = companions.reshape(5, len(found))
    alone = [len(found[k]) == 1 for k in labels]
    others = [np.delete(row, k) for row, k in zip(companions, labels, strict=True)]
    belongs = [
        1 - max(other, default=0.0) if is_alone else row[k]
        for row, other, k, is_alone in zip(companions, others, labels, alone, strict=True)
    ]
    pairs = np.triu_indices(5, 1)
    joined = naive.adjacency(labels)[pairs]
    both, either = np.zeros(2)
    for state, p in zip(states, distribution, strict=True):
        drawn = naive.adjacency(state)[pairs]
        both, either = both + p * np.sum(joined & drawn), either + p * np.sum(joined | drawn)
    cohesion = [
        np.mean([similarity[i, j] for i in members for j in members if i != j]) if len(members) > 1 else 1.0
        for members in found
    ]
    return {
        "vi": sum(p * naive.variation_of_information(labels, s) for s, p in zip(states, distribution, strict=True)),
        "binder": naive.expected_binder(states, distribution, labels),
        "belongs": np.array(belongs),
        "cohesion": np.array(cohesion),
        "disagreement": naive.expected_binder(states, distribution, labels) / 10,
        "spread": 1 - both / either if either else 0.0,
    }


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
def test_a_posterior_leads_to_the_minimiser_of_the_expected_loss_itself(name, loss):
    """The partition of least loss among all 52, and what is said of it within 4 standard errors.

    About 100 numbers in all: a false alarm with probability 0.007, were the seeds not fixed.
    """
    target, density = small.TARGETS[name]()
    states = naive.all_partitions(5)
    losses = {state: exactly(density, state)[loss] for state in states}
    c = cp.consensus(target, loss, replicates=800, seed=3)
    labels = tuple(c.labels.tolist())
    assert losses[labels] == pytest.approx(min(losses.values()), abs=1e-9)
    exact = exactly(density, labels)
    assert abs(c.expected_loss - exact[loss]) <= 4 * c.expected_loss_stderr + 1e-12
    assert np.all(np.abs(c.belongs - exact["belongs"]) <= 4 * c.belongs_stderr + 1e-12)
    assert np.all(np.abs(c.cohesion - exact["cohesion"]) <= 4 * c.cohesion_stderr + 1e-12)
    assert abs(c.disagreement - exact["disagreement"]) <= 4 * c.disagreement_stderr + 1e-12
    # Of the pairs that either joins, at least one for each two in dispute: twice the error, and twice that for the sum.
    either = max(1.0, 10 * exact["disagreement"] / max(exact["spread"], 0.1))
    assert abs(c.spread - exact["spread"]) <= 4 * 4 * 10 * c.disagreement_stderr / either + 1e-12
    assert np.array_equal(c.candidates[0], c.labels)
    assert np.array_equal(np.diagonal(c.between), c.cohesion)
    assert len(c.estimate.values) == 800
    assert c.pairs is None
    with pytest.raises(ValueError, match="found without probabilities of all pairs"):
        _ = c.similarity


def assert_same_consensus(a, b):
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.candidates, b.candidates)
    for name in ("belongs", "belongs_stderr", "cohesion", "cohesion_stderr", "between"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    for name in ("expected_loss", "expected_loss_stderr", "disagreement", "spread"):
        assert getattr(a, name) == getattr(b, name)


def unsure(count=24):
    rng = np.random.default_rng(2)
    data = np.repeat([-2.0, 0.0, 2.5], count // 3) + rng.normal(0, 0.8, count)
    return cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=2.0), cp.DirichletProcess(0.5))


def test_the_same_seed_gives_the_same_consensus_wherever_it_runs():
    expected = cp.consensus(unsure(), replicates=30, seed=4, executor=1)
    for executor in (1, 2, "processes"):
        assert_same_consensus(cp.consensus(unsure(), replicates=30, seed=4, executor=executor), expected)
    other = cp.consensus(unsure(), replicates=30, seed=5, executor=2)
    assert other.expected_loss != expected.expected_loss


def test_settings_decide_how_replicates_are_run():
    c = cp.consensus(unsure(), "binder", replicates=10, init="singletons", coupling="maximal", split_merge=1, seed=1)
    made_by = c.estimate.made_by
    assert made_by["step"]["coupling"] == "Maximal()"
    assert made_by["step"]["split_merge"] == 1
    assert "singletons" in made_by["init"]
    s = made_by["settings"]
    assert s["burn_in"] == s["lag"] >= 20
    assert s["min_sweeps"] == 5 * s["burn_in"]


def test_one_point_and_two():
    """The smallest posteriors there are; of two points that are far apart, and of two that are not."""
    for data, labels in (([0.0], [0]), ([0.0, 9.0], [0, 1]), ([0.0, 0.1], [0, 0])):
        target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
        c = cp.consensus(target, replicates=2, seed=1)
        assert c.labels.tolist() == labels
        assert c.sizes.tolist() == np.bincount(labels).tolist()
        assert f"{len(c.sizes)} cluster(s)" in str(c)


# --- what is streamed ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_sums_lead_to_the_same_consensus_and_errors_that_are_large_enough(loss):
    target = unsure()
    settings = {"replicates": 60, "burn_in": 2, "min_sweeps": 10, "lag": 2, "seed": 1}
    kept, streamed = (
        cp.consensus(cp.estimate(target, cp.co_clustering(keep_values=keep), **settings), loss)
        for keep in (True, False)
    )
    assert np.array_equal(streamed.labels, kept.labels)
    assert streamed.expected_loss == pytest.approx(kept.expected_loss, rel=1e-12)
    for name in ("belongs", "cohesion", "between", "disagreement", "spread", "similarity"):
        np.testing.assert_allclose(getattr(streamed, name), getattr(kept, name), rtol=1e-12, atol=1e-12)
    for name in ("belongs_stderr", "cohesion_stderr", "disagreement_stderr", "expected_loss_stderr"):
        assert np.all(getattr(streamed, name) >= getattr(kept, name) - 1e-12)
        assert np.all(getattr(streamed, name) <= 100 * np.max(getattr(kept, name)) + 1e-12)


def test_errors_of_averages_are_those_of_replicates():
    """By hand: the averages of every replicate, and how much these vary."""
    target = unsure(9)
    e = cp.estimate(target, cp.co_clustering(), replicates=6, burn_in=1, min_sweeps=4, lag=1, seed=1)
    c = cp.consensus(e, "binder")
    tables = [np.zeros((9, 9)) for _ in e.values]
    for table, value in zip(tables, e.values, strict=True):
        table[np.triu_indices(9, 1)] = value
        table += table.T
    joined = naive.adjacency(c.labels) - np.eye(9)
    disputed = [np.sum(np.where(joined > 0, 1 - t, t) * (1 - np.eye(9))) / 2 for t in tables]
    assert c.expected_loss_stderr == pytest.approx(np.std(disputed, ddof=1) / np.sqrt(6))
    assert c.disagreement_stderr == pytest.approx(np.std(disputed, ddof=1) / np.sqrt(6) / 36)
    for n in np.flatnonzero(joined.sum(axis=1) > 0):
        shares = [t[n] @ joined[n] / joined[n].sum() for t in tables]
        assert c.belongs[n] == pytest.approx(np.mean(shares))
        assert c.belongs_stderr[n] == pytest.approx(np.std(shares, ddof=1) / np.sqrt(6), abs=1e-14)
    for k, size in enumerate(c.sizes):
        if size > 1:
            own = np.outer(c.labels == k, c.labels == k) * (1 - np.eye(9))
            shares = [np.sum(t * own) / own.sum() for t in tables]
            assert c.cohesion[k] == pytest.approx(np.mean(shares))
            assert c.cohesion_stderr[k] == pytest.approx(np.std(shares, ddof=1) / np.sqrt(6), abs=1e-14)


def test_listed_pairs_are_no_posterior():
    e = cp.estimate(small.scalar()[0], cp.co_clustering(pairs=[[0, 1]]), replicates=2, min_sweeps=101)
    with pytest.raises(ValueError, match="co_clustering of all pairs of some points, got one of listed pairs"):
        cp.consensus(e)


def test_a_pilot_whose_pairs_do_not_meet_says_so(monkeypatch):
    """No sweep is left to pairs after their lag."""
    monkeypatch.setattr("copartition.runs.consensus.MAX_SWEEPS", 50)
    posterior = cp.Mixture(np.linspace(-3, 3, 100), cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    with pytest.raises(cp.errors.TuningError, match="did not meet within 50 sweeps"):
        cp.consensus(posterior, coupling="transport", init="singletons", seed=1)


# --- within bounds ---------------------------------------------------------------------------------------------------


def test_what_is_asked_for_besides_comes_from_the_round_that_chooses():
    target = small.scalar()[0]
    c = cp.consensus(target, replicates=30, also=cp.n_clusters(), seed=1)
    plain = cp.consensus(target, replicates=30, seed=1)
    assert np.array_equal(c.belongs, plain.belongs)  # nothing else changes
    e = c.chosen_by.select("n_clusters")
    assert len(e.values) == 30
    assert c.censored == 0
    with pytest.raises(ValueError, match="functional must be one to 4"):
        cp.consensus(target, replicates=3, also=[cp.n_clusters()] * 4)


def test_a_precision_is_that_of_memberships():
    """Distances, which are of other units, need not be precise."""
    c = cp.consensus(small.scalar()[0], replicates=5_000, target_stderr=0.004, seed=1)
    memberships, _, pairs_in_dispute, _ = c.estimate.parts()
    assert 200 < len(c.estimate.met) < 5_000
    assert len(c.chosen_by.met) == 200
    assert memberships.stderr.max() <= 0.004
    assert pairs_in_dispute.stderr.max() > 0.004
    assert c.estimate.made_by["precision"]["reached"]


def test_a_cap_bounds_the_work_and_is_said():
    data = np.random.default_rng(2).normal(0, 1, 40)
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.2, mean_sd=1.0), cp.DirichletProcess(1.0))
    c = cp.consensus(target, replicates=50, max_sweeps=12, coupling="independent", seed=1)
    assert c.censored > 0
    assert [len(e.met) for e in c.runs] == [32, 32]  # no more where most pairs of the pilot did not meet
    assert max(e.meeting_times.max() for e in c.runs) == 12
    assert f"NOT UNBIASED: {c.censored} of 64 pairs did not meet before the cap." in str(c)
    with pytest.raises(ValueError, match="max_sweeps must be a whole number of at least 6, got 5"):
        cp.consensus(target, max_sweeps=5)


# --- what its runs found ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return cp.consensus(small.scalar()[0], replicates=40, seed=1)


@pytest.mark.parametrize("run", ["estimate", "chosen_by"])
def test_what_runs_found_is_said_everywhere(found, run, tmp_path):
    e = getattr(found, run)
    doubt = {"level": "doubt", "title": "Chains at their start", "text": "90 % met at once.", "advice": "Start there."}
    c = replace(found, **{run: replace(e, made_by=e.made_by | {"modes": doubt})})
    assert "CHAINS AT THEIR START: 90 % met at once. Start there." in c.warnings
    assert "CHAINS AT THEIR START: 90 % met at once. Start there." in str(c).splitlines()
    cp.write_report(c, tmp_path / "page.html")
    for html in (c._repr_html_(), (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert '<li class="doubt">90 % met at once.</li>' in html
        assert '<div class="verdict doubt">' in html or '<section class="verdict doubt">' in html


@pytest.mark.parametrize(
    "nonsense",
    [
        {"disagreement": -0.205, "disagreement_stderr": 0.2, "spread": 33.0},
        {"disagreement": 0.4, "disagreement_stderr": 0.2},
        {"disagreement": 1.3, "disagreement_stderr": 0.01},
        {"spread": -2.0},
    ],
)
def test_figures_that_cannot_be_are_no_answer(found, nonsense, tmp_path):
    assert found.has_answer
    c = replace(found, **nonsense)
    assert not c.has_answer
    assert str(c).startswith("NO ANSWER YET: ")
    assert "disagrees with this one on" not in str(c)
    cp.write_report(c, tmp_path / "page.html")
    for html in (c._repr_html_(), (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert "<strong>There is no answer yet" in html


def test_a_share_a_little_below_0_is_told_as_0(found):
    c = replace(found, disagreement=-1e-4, spread=-1e-3)
    assert "disagrees with this one on 0 % (+-" in str(c)
    assert c.disagreement == -1e-4  # as it is, for programs
