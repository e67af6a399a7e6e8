"""Priors: their tables against probabilities from the definitions, and what is said and asked of them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import scipy.stats

import copartition as cp
import naive
from copartition.chains.chain import chain_at
from copartition.functionals import concentration, n_clusters, n_components
from copartition.functionals.base import bind_all, evaluate_at
from copartition.targets.distributions import Gamma
from copartition.targets.prior_tables import log_gamma_rise, log_mean_alpha, mean_alpha_table
from copartition.targets.priors import (
    DirichletProcess,
    FiniteMixture,
    MixtureOfFiniteMixtures,
    PitmanYor,
    prior_n_clusters,
)
from densities import FEW, GEOMETRIC, PRIORS, SHIFTED, joint_distribution

MIXED = [name for name, (prior, _) in PRIORS.items() if len(prior.mixing())]


@pytest.mark.parametrize("name", PRIORS)
def test_weights_are_those_of_the_joint_distribution_and_so_are_numbers_of_clusters(name):
    prior, density = PRIORS[name]
    distribution = joint_distribution(density, 5)
    assert sum(distribution.values()) == pytest.approx(1.0, abs=1e-11)
    log_size, log_new = prior.log_size(5), prior.log_new(5)
    for others in naive.all_partitions(4):
        sizes = [len(c) for c in naive.clusters(others)]
        if sum(distribution[(*others, k)] for k in range(len(sizes) + 1)) > 0:
            expected = np.array([distribution[(*others, k)] for k in range(len(sizes) + 1)])
            weights = np.exp([*log_size[sizes], log_new[min(len(sizes), len(log_new) - 1)]])
            np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum(), rtol=1e-10)
    counts = np.zeros(6)
    for state, probability in distribution.items():
        counts[max(state) + 1] += probability
    np.testing.assert_allclose(prior_n_clusters(prior, 5), counts, atol=1e-11)
    assert prior.expected_clusters(5) == pytest.approx(counts @ np.arange(6), rel=1e-10)


@pytest.mark.parametrize("name", MIXED)
def test_mixtures_have_the_joint_distribution_of_the_tables(name):
    prior, density = PRIORS[name]
    rows = prior.mixing()
    assert rows.shape[1] == 3
    assert len(rows) < 4000
    assert rows[:, 0].sum() == pytest.approx(1.0, abs=1e-14)
    for labels in ([0, 0, 0, 0, 0], [0, 1, 0, 0, 2], [0, 1, 2, 3, 4]):
        assert naive.mixed(labels, prior.log_size(5), rows) == pytest.approx(density(labels), abs=1e-10, rel=1e-8)


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("n", [1, 2, 150])
def test_mixtures_have_the_numbers_of_clusters_of_the_tables(name, n):
    """For many points, too: the tables are those of exactly n points, the mixture knows nothing of n."""
    prior, _ = PRIORS[name]
    weights, a, b = prior.mixing().T
    offset = 1.0 - math.exp(prior.log_size(2)[1])
    distribution = np.zeros((n + 1, len(weights)))
    distribution[1] = weights
    k = np.arange(n + 1)[:, None]
    for m in range(1, n):
        opening = np.maximum(0.0, a + b * k)
        opened = distribution * opening / (opening + m - offset * k)
        distribution -= opened
        distribution[1:] += opened[:-1]
    np.testing.assert_allclose(prior_n_clusters(prior, n), distribution.sum(axis=1), atol=1e-10)


# E[alpha given K clusters of n points] for alpha ~ Gamma(a, b) and a discount: sums of 4000 terms with 40 digits.
EXACT_ALPHA = [
    (2, 4, 0, 82, 1, 0.2343709576067465),
    (2, 4, 0, 82, 2, 0.3566626985410420),
    (2, 4, 0, 82, 6, 0.8738189820854532),
    (2, 4, 0, 82, 40, 6.2586733606639011),
    (2, 4, 0, 82, 82, 14.135208715411966),
    (0.05, 1, 0, 1000, 1, 0.0060220821597459),
    (0.05, 1, 0, 1000, 7, 0.8013526735176509),
    (500, 5, 0, 1000, 50, 71.284135406969438),
    (500, 5, 0, 1000000, 1, 32.651234275152153),
    (500, 5, 0, 1000000, 900, 98.372985566348557),
    (2, 4, 0, 1000000, 1, 0.1101586406026420),
    (2, 4, 0, 1000000, 10, 0.6238240803636344),
    (2, 4, 0, 1000000, 3000, 243.62974504371808),
    (2, 4, 0, 1000000, 500000, 75053.649842535751),
    (2, 4, 0, 1000000, 1000000, 168439.88947442590),
    (1, 1e-06, 0, 1000, 990, 61150.653916329119),
    (1, 1e-06, 0, 1000, 1000, 1537532.5149882774),
    (2, 4, 0.5, 82, 1, 0.2343709576067465),
    (2, 4, 0.5, 82, 20, 0.5803763081783187),
    (2, 4, 0.5, 82, 82, 1.3963091758322385),
    (2, 4, 0.25, 1000000, 40, 0.3304760061547526),
    (2, 4, 0.25, 1000000, 700000, 31926.645409333788),
    (2, 4, 1e-09, 1000, 12, 1.2631742355016231),
    (0.05, 1, 0.3, 1000, 1, 0.0060220821597459),
    (0.05, 1, 0.9, 1000, 600, 0.0555645530929075),
    (2, 4, 0.999, 5, 3, 0.4454421717757639),
    (30, 0.01, 0.1, 100000, 30000, 11896.476039397187),
]


@pytest.mark.parametrize(("a", "b", "discount", "n", "k", "expected"), EXACT_ALPHA)
def test_expected_concentration_is_exact_for_few_and_many_points(a, b, discount, n, k, expected):
    assert math.exp(log_mean_alpha(a, b, discount, n, np.array([k]))[0]) == pytest.approx(expected, rel=5e-13)


@pytest.mark.parametrize("arguments", [(2.0, 4.0, 0.0), (0.05, 1.0, 0.0), (500.0, 5.0, 0.0), (2.0, 4.0, 0.25)])
def test_tables_of_many_points_are_interpolated_without_loss(arguments):
    n = 10**6
    table = mean_alpha_table(*arguments, n)
    rng = np.random.default_rng(3)
    places = np.exp(rng.uniform(0, math.log(n), 40)).astype(int)
    k = np.unique(np.concatenate([[1, 2, 63, n - 1, n], places, n + 1 - places]))
    np.testing.assert_allclose(np.log(table[k]), log_mean_alpha(*arguments, n, k), atol=1e-12, rtol=0)
    assert np.all(np.diff(table[1:]) > 0)


def test_published_values():
    expected = [0.23437096, 0.35666270, 0.48197571, 0.61007212, 0.74074615, 0.87381898]
    prior = DirichletProcess(Gamma(2, 4))
    np.testing.assert_allclose(prior.concentration(82)[1:7], expected, atol=5e-9)
    np.testing.assert_allclose(np.exp(prior.log_new(82))[1:7], expected, atol=5e-9)
    expected = [-3.67630067, -2.56494936, -1.85889877, -1.33500107, -0.91629073]
    np.testing.assert_allclose(MixtureOfFiniteMixtures().log_new(82)[1:6], expected, atol=5e-9)


@pytest.mark.parametrize(
    ("gamma", "distribution", "n", "k", "expected"),
    [
        (0.5, GEOMETRIC, 1000, 4, -2.2881862790076619),
        (0.5, GEOMETRIC, 1000, 700, 6.3741456375007642),
        (1.0, GEOMETRIC, 10_000, 3, -6.8303741676378758),
        (1.0, GEOMETRIC, 10_000, 5000, 8.1726014682952579),
        (1.0, SHIFTED, 1000, 5, -4.0194024184300171),
        (1.0, SHIFTED, 1000, 900, 0.35333786119508563),
    ],
)
def test_weights_of_components_are_exact_for_many_points(gamma, distribution, n, k, expected):
    table = MixtureOfFiniteMixtures(gamma, distribution).log_new(n)
    assert len(table) == n + 1
    assert table[k] == pytest.approx(expected, abs=1e-11)


def test_differences_of_log_gammas_lose_no_digits():
    for y in (0.03, 0.7, 5.0, 42.0):
        for d in (1e-9, 0.2, 3.0, 700.0):
            expected = math.lgamma(y + d) - math.lgamma(y)
            assert log_gamma_rise(y, d) == pytest.approx(expected, rel=1e-12, abs=2e-14)
    exact = math.fsum(math.log(1e6 + i) for i in range(50))
    assert log_gamma_rise(1e6, 50.0) == pytest.approx(exact, rel=1e-15)
    assert log_gamma_rise(1e6 + 50.0, -50.0) == pytest.approx(-exact, rel=1e-15)


def test_a_known_concentration_needs_one_number_and_no_discount_is_the_dirichlet_process():
    assert np.array_equal(DirichletProcess(0.3).log_new(9), np.log([0.3]))
    with np.errstate(divide="ignore"):
        assert np.array_equal(DirichletProcess(0.3).log_size(9), np.log(np.arange(10.0)))
    for alpha in (0.3, Gamma(3, 2)):
        for method in ("log_size", "log_new", "concentration"):
            of_both = [getattr(prior, method)(30) for prior in (DirichletProcess(alpha), PitmanYor(alpha, 0.0))]
            assert np.array_equal(*of_both)
    assert DirichletProcess(2).concentration(3).tolist() == [2.0] * 4
    for prior in (DirichletProcess(0.3), PitmanYor(0.3, 0.5), FiniteMixture(3)):
        assert prior.mixing().shape == (0, 3)


# The most clusters that these priors allow: no further one is opened. Where the concentration is known the weight of a
# new cluster does not depend on how many there are.
MOST = {"finite": 3, "mfm": 30, "mfm_gaps": 4}


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("n", [1, 2, 7, 24, 40])
def test_tables_have_the_promised_lengths(name, n):
    prior, _ = PRIORS[name]
    assert len(prior.log_size(n)) == n + 1
    log_new = prior.log_new(n)
    most = MOST.get(name, n + 1)
    assert len(log_new) == (1 if name == "dp" else min(n, most) + 1)
    assert np.isfinite(log_new[:most]).all()
    assert np.isneginf(log_new[most:]).all()
    assert prior.log_size(n).dtype == log_new.dtype == np.float64


def test_tables_end_where_the_support_does():
    assert FiniteMixture(2, 0.5).log_new(4).tolist() == [0.0, math.log(0.5), -math.inf]
    assert MixtureOfFiniteMixtures(1.3, FEW).log_new(9)[4] == -math.inf
    assert len(MixtureOfFiniteMixtures(1.3, FEW).log_new(9)) == 5
    ends_with_nothing = scipy.stats.rv_discrete(values=([1, 2, 3], [0.5, 0.5, 0.0]))
    assert len(MixtureOfFiniteMixtures(1.0, ends_with_nothing).log_new(9)) == 3


@pytest.mark.parametrize(("many", "n"), [(500, 82), (500, 1500), (5000, 1000)])
def test_a_second_mode_far_away_is_not_lost(many, n):
    """Given two clusters there are 2 components for sure, almost: what opens a third comes from the many alone."""
    distribution = scipy.stats.rv_discrete(values=([1, 2, many], [0.5, 0.25, 0.25]))
    found = prior_n_clusters(MixtureOfFiniteMixtures(1.0, distribution), n)
    exact = sum(p * prior_n_clusters(FiniteMixture(k), n) for k, p in ((1, 0.5), (2, 0.25), (many, 0.25)))
    np.testing.assert_allclose(found, exact, atol=1e-11)


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("n", [1, 2, 3, 40, 2000])
def test_numbers_of_clusters_sum_to_one_and_have_the_expected_mean(name, n):
    prior, _ = PRIORS[name]
    distribution = prior_n_clusters(prior, n)
    assert len(distribution) == n + 1
    assert distribution.sum() == pytest.approx(1.0, abs=1e-12)
    assert distribution @ np.arange(n + 1) == pytest.approx(prior.expected_clusters(n), rel=1e-9)


class Own:
    """A prior of one's own: clusters of at most three points, say, or any other weights."""

    def __init__(self, weights, new):
        self.weights, self.new = np.asarray(weights), np.asarray(new)

    def log_size(self, n_points):
        with np.errstate(divide="ignore"):
            return np.log(np.resize(np.append(self.weights, np.zeros(n_points)), n_points + 1))

    def log_new(self, n_points):
        return np.log(self.new)


@pytest.mark.parametrize(
    "prior",
    [
        Own([0.0, 2.0, 1.0], [1.0, 0.5, 3.0]),
        Own(np.sqrt(np.arange(9.0)), [0.4]),
        Own(0.3 + 2.5 * np.arange(9.0), [1.0, 2.0, 0.1]),
        Own([1.0, 4.0, 9.0, 16.0, 25.0, 36.0], [2.0, 1.0, 3.0, 4.0, 0.5, 0.1]),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_numbers_of_clusters_of_own_priors(prior, n):
    weights = np.zeros(n + 1)
    size, new = np.exp(prior.log_size(n)), np.exp(prior.log_new(n))
    for labels in naive.all_partitions(n):
        sizes = [len(c) for c in naive.clusters(labels)]
        opened = math.prod(new[min(k, len(new) - 1)] for k in range(1, len(sizes)))
        weights[len(sizes)] += opened * math.prod(size[i] for s in sizes for i in range(1, s))
    np.testing.assert_allclose(prior_n_clusters(prior, n), weights / weights.sum(), atol=1e-13)


def test_components_given_clusters():
    gamma, n = 0.5, 6
    prior = MixtureOfFiniteMixtures(gamma, GEOMETRIC)
    table, mean = prior.components(n, 8), prior.mean_components(n)
    assert table.shape == (n + 1, 9)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-13)
    k = np.arange(1, 1500)
    for labels in ([0] * 6, [0, 0, 1, 1, 1, 2], [0, 1, 2, 3, 4, 5]):
        distribution = np.array([float(GEOMETRIC.pmf(i)) * naive.finite_mixture(labels, int(i), gamma) for i in k])
        distribution /= distribution.sum()
        row = max(labels) + 1
        np.testing.assert_allclose(table[row], [*distribution[:8], distribution[8:].sum()], atol=1e-12)
        assert mean[row] == pytest.approx(k @ distribution, rel=1e-11)
    assert table[5, :4].tolist() == [0.0] * 4
    np.testing.assert_allclose(prior.components(9, 2)[3:], [[0.0, 0.0, 1.0]] * 7)
    assert mean[0] == pytest.approx(10.0)
    finite = FiniteMixture(3)
    assert finite.components(5, 4).tolist() == [[0.0, 0.0, 1.0, 0.0, 0.0]] * 4
    assert finite.components(2, 1).tolist() == [[0.0, 1.0]] * 3
    assert finite.mean_components(2).tolist() == [3.0] * 3


def target_of(prior):
    return cp.Mixture(np.arange(5.0), cp.Gaussian(noise_sd=1.0, mean_sd=2.0), prior)


def values_at(prior, functional, labels):
    target, bound = bind_all(target_of(prior), [functional])
    return evaluate_at(target.model, target.hooks, bound, chain_at(target, np.asarray(labels))), bound[0]


@pytest.mark.plain
def test_functionals_look_up_the_number_of_clusters():
    prior, unknown = DirichletProcess(), MixtureOfFiniteMixtures(0.5, GEOMETRIC)
    for labels in ([0, 0, 0, 0, 0], [0, 1, 1, 0, 2], [0, 1, 2, 3, 4]):
        k = max(labels) + 1
        assert values_at(prior, concentration(), labels)[0] == prior.concentration(5)[k]
        assert values_at(unknown, n_components(), labels)[0] == unknown.mean_components(5)[k]
        assert np.array_equal(values_at(unknown, n_components(3), labels)[0], unknown.components(5, 3)[k])
        assert values_at(prior, n_clusters(), labels)[0].tolist() == [k]
        assert values_at(prior, n_clusters(most=2), labels)[0].tolist() == [k == 1, k == 2, k > 2]
        assert values_at(prior, n_clusters(most=5), labels)[0].tolist() == [float(k == i) for i in range(1, 7)]
    assert values_at(FiniteMixture(2), n_components(), [0, 1, 1, 0, 0])[0] == 2.0
    bound = values_at(unknown, n_components(10), [0] * 5)[1]
    assert bound.size == 11
    assert bound.components[::5] == ["P(1 component)", "P(6 components)", "P(more than 10 components)"]
    assert n_clusters(3).components == ["P(1 cluster)", "P(2 clusters)", "P(3 clusters)", "P(more than 3 clusters)"]
    assert n_clusters().components == ["n_clusters"]


def test_posterior_means_of_unknown_parameters_do_not_depend_on_the_prior_s_form():
    """Both sides of E[alpha | n, K] = V(K + 1) / V(K), from joint distributions.

    The mean under the distribution of partitions.
    """
    prior, density = PRIORS["dp_gamma"]
    distribution = joint_distribution(density, 5)
    mean = sum(p * prior.concentration(5)[max(state) + 1] for state, p in distribution.items())
    assert mean == pytest.approx(Gamma(2, 4).mean, rel=1e-11)
    prior, density = PRIORS["mfm"]
    mean = sum(p * prior.mean_components(5)[max(s) + 1] for s, p in joint_distribution(density, 5).items())
    assert mean == pytest.approx(15.5, rel=1e-11)


def test_gamma_distributions():
    distribution = Gamma(2, 4)
    assert (repr(distribution), repr(Gamma(0.5, 1e20)), distribution.mean) == ("Gamma(2, 4)", "Gamma(0.5, 1e+20)", 0.5)
    assert distribution == Gamma(2.0, 4.0)
    x = np.array([0.1, 1.0, 3.0])
    np.testing.assert_allclose(distribution.log_density(x), scipy.stats.gamma(2, scale=0.25).logpdf(x), rtol=1e-13)
    with pytest.raises(AttributeError):
        distribution.shape = 3.0


@pytest.mark.parametrize("name", PRIORS)
def test_priors_say_what_they_are(name):
    prior, _ = PRIORS[name]
    again = eval(repr(prior), {**globals(), "scipy": scipy})
    assert repr(again) == repr(prior)
    np.testing.assert_array_equal(again.log_new(20), prior.log_new(20))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(prior)).log_new(20), prior.log_new(20))
    (sentence,) = prior.assumptions(82)
    assert f"expects {prior.expected_clusters(82):.3g} clusters among 82 points." in sentence
    for parameter in ("alpha", "discount", "gamma", "n_components"):
        said = f"({parameter})" in sentence
        assert said == (hasattr(prior, parameter) and not (parameter == "discount" and name.startswith("dp")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gamma(0, 1), "shape must be positive and finite, got 0"),
        (lambda: Gamma(1, math.inf), "rate must be positive and finite, got inf"),
        (lambda: Gamma("a", 1), "shape must be a positive number, got 'a'"),
        (lambda: DirichletProcess(-1), "alpha must be positive and finite, got -1"),
        (lambda: DirichletProcess("one"), "alpha must be a positive number, got 'one'"),
        (lambda: PitmanYor(1.0, 1.0), "discount must be a number from 0 to below 1, got 1.0"),
        (lambda: PitmanYor(1.0, math.nan), "discount must be a number from 0 to below 1, got nan"),
        (lambda: PitmanYor(1.0, None), "discount must be a number from 0 to below 1, or a Beta distribution, got None"),
        (lambda: PitmanYor(-0.5, 0.5), "alpha must be finite and above -discount, -0.5, got -0.5"),
        (lambda: PitmanYor(0.0, 0.0), "alpha must be positive and finite, got 0.0"),
        (lambda: PitmanYor("a", 0.5), "alpha must be a number above -discount, or a Gamma distribution, got 'a'"),
        (lambda: FiniteMixture(0), "n_components must be a whole number of at least 1, got 0"),
        (lambda: FiniteMixture(2, 0.0), "gamma must be positive and finite, got 0.0"),
        (lambda: MixtureOfFiniteMixtures(-1), "gamma must be positive and finite, got -1"),
        (lambda: MixtureOfFiniteMixtures(1, 5), "n_components must be a frozen discrete distribution .* got 5"),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.poisson),
            "n_components must be a frozen discrete distribution",
        ),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.gamma(2.0)),
            "n_components must be a frozen discrete distribution",
        ),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.poisson(3)),
            r"must be a distribution on 1, 2, ..., got scipy.stats.poisson\(3\), which may be 0 or less; loc=1",
        ),
        (lambda: MixtureOfFiniteMixtures(1, scipy.stats.skellam(1, 1)), "which may be 0 or less"),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.geom(1.5)),
            "n_components must be a distribution with valid parameters",
        ),
        (lambda: MixtureOfFiniteMixtures(1, scipy.stats.geom(0.5, loc=0.5)), "distribution on whole numbers"),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.randint(1, 10**9)).log_new(5),
            "n_components must be a distribution of which the numbers up to 4194304 are enough for 5 points",
        ),
        (
            lambda: MixtureOfFiniteMixtures(1, scipy.stats.randint(1, 10**9)).mixing(),
            "n_components must be a distribution on numbers up to 65536",
        ),
        (lambda: prior_n_clusters(DirichletProcess(), 0), "n_points must be a whole number of at least 1, got 0"),
        (lambda: prior_n_clusters(DirichletProcess(), 2.5), "n_points must be a whole number of at least 1, got 2.5"),
        (lambda: prior_n_clusters(1.0, 5), "prior must be a prior such as"),
        (lambda: prior_n_clusters(Own([0, 1, 3], [1.0]), 501), "n_points must be at most 500 where .* got 501"),
        (lambda: n_clusters(0), "most must be a whole number of at least 1, got 0"),
        (lambda: n_components(1.5), "most must be a whole number of at least 1, got 1.5"),
        (
            lambda: bind_all(target_of(FiniteMixture(2)), [concentration()]),
            r"concentration needs a target whose prior has one, such as DirichletProcess\(\), got FiniteMixture",
        ),
        (
            lambda: bind_all(target_of(DirichletProcess(1.0)), [n_components(3)]),
            "n_components needs a target whose prior has a number of components",
        ),
        (
            lambda: bind_all(cp.GraphColoring([(0, 1)], 3), [concentration()]),
            "concentration needs a target whose prior has one, .* got None",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)
