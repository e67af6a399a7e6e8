"""The consensus clustering: the exact minimiser where all partitions can be tried, planted clusters elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import naive
import small
from conftest import JIT_DISABLED
from copartition.diagnostics import consensus as module
from copartition.diagnostics.consensus import LOSSES, minimise
from test_diagnostics import estimate_from


def of_draws(draws):
    """An estimate whose replicates are the co-clusterings of given partitions."""
    draws = np.asarray(draws)
    pairs = np.triu_indices(draws.shape[1], 1)
    values = (draws[:, pairs[0]] == draws[:, pairs[1]]).astype(float)
    about = {"name": "co_clustering", "size": values.shape[1], "points": list(range(draws.shape[1]))}
    return estimate_from(values, functionals=[about])


def exact_loss(loss, states, law, similarity, labels):
    if loss == "binder":
        return naive.expected_binder(states, law, labels)
    return naive.vi_lower_bound(similarity, labels)


@pytest.mark.parametrize("loss", LOSSES)
def test_random_posteriors_are_minimised_exactly(loss, monkeypatch):
    """Thirty posteriors over all partitions of 3 to 7 points, some concentrated, some spread; the search alone."""
    monkeypatch.setattr(module, "ALL_OF", 0)
    rng = np.random.default_rng(1)
    for _ in range(10 if JIT_DISABLED else 30):
        states = naive.all_partitions(int(rng.integers(3, 7 if JIT_DISABLED else 8)))
        law = rng.dirichlet(np.full(len(states), rng.choice([0.01, 0.05, 1.0])))
        similarity = naive.similarity(states, law)
        least = min(exact_loss(loss, states, law, similarity, state) for state in states)
        _, labels, value = minimise(similarity, loss, 16, 0)
        assert value == pytest.approx(least, abs=1e-9)
        assert exact_loss(loss, states, law, similarity, labels) == pytest.approx(least, abs=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
def test_estimates_lead_to_the_exact_minimiser(name, loss):
    """From an unbiased run to the partition of least exact loss, or one as good within the run's error."""
    target, density = small.TARGETS[name]()
    states, law = naive.law(density, 5)
    similarity = naive.similarity(states, law)
    losses = {state: exact_loss(loss, states, law, similarity, state) for state in states}
    e = cp.estimate(target, cp.co_clustering(), replicates=20_000, burn_in=10, min_sweeps=100, lag=10, seed=1)
    found = cp.consensus(e, loss=loss)
    assert losses[tuple(found.labels.tolist())] == pytest.approx(min(losses.values()), abs=1e-9)
    if loss == "binder":
        assert found.expected_loss == pytest.approx(min(losses.values()), rel=0.02)
        assert found.disagreement == pytest.approx(found.expected_loss / 10)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["scalar", "full", "coloring", "bernoulli"])
def test_a_second_run_minimises_the_expected_variation_of_information_itself(name):
    """On `scalar` and `full` the minimiser of the bound is another partition, so the second run matters."""
    target, density = small.TARGETS[name]()
    states, law = naive.law(density, 5)
    expected = {
        state: sum(p * naive.variation_of_information(state, other) for other, p in zip(states, law, strict=True))
        for state in states
    }
    settings = {"replicates": 5_000, "burn_in": 10, "min_sweeps": 100, "lag": 10}
    first = cp.consensus(cp.estimate(target, cp.co_clustering(), seed=1, **settings))
    e = cp.estimate(target, [cp.co_clustering(), cp.distance_to(first.candidates)], seed=2, **settings)
    second = cp.consensus(e)
    best = min(expected.values())
    assert expected[tuple(second.labels.tolist())] == pytest.approx(best, abs=1e-9)
    assert second.expected_loss == pytest.approx(best, rel=0.02)
    differs = expected[tuple(first.labels.tolist())] > best + 1e-6
    assert differs == (name in ("scalar", "full"))


def test_partitions_are_judged_with_the_metric_of_the_loss():
    target, _ = small.scalar()
    wanted = [cp.co_clustering(), cp.distance_to([[0, 0, 0, 0, 0], [0, 1, 2, 3, 4]], "hamming")]
    e = cp.estimate(target, wanted, replicates=50, burn_in=2, min_sweeps=10, lag=2)
    assert len(cp.consensus(e, "binder").candidates) == 2
    assert len(cp.consensus(e, "vi").candidates) == 52
    assert cp.consensus(e, "binder").expected_loss == pytest.approx(e.select("distance_to").mean.min() / 2)


def test_planted_clusters_are_found():
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), 8 if JIT_DISABLED else 20)
    data = np.array([[-6, -6], [6, -6], [-6, 6], [6, 6]])[truth] + rng.normal(0, 1, (len(truth), 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=6.0), cp.DirichletProcess(0.1))
    settings = {"burn_in": 5, "min_sweeps": 10, "lag": 5} if JIT_DISABLED else {"settings": "auto"}
    e = cp.estimate(target, cp.co_clustering(), replicates=4 if JIT_DISABLED else 100, seed=1, **settings)
    for loss in LOSSES:
        found = cp.consensus(e, loss=loss)
        assert np.array_equal(found.labels, cp.canonical(truth))
        assert not found.is_spread
        if not JIT_DISABLED:
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
        (lambda e: cp.consensus([[0, 1]]), "e must be an estimate of co_clustering"),
        (lambda e: cp.consensus(estimate_from([[1.0], [2.0]])), "no functional 'co_clustering'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(of_draws([[0, 0, 1]] * 2))
