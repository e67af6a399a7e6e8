"""Mistakes that people make when they write targets and couplings: found out, and said in one sentence."""

from __future__ import annotations

import functools
import math
import os
import pickle
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from matplotlib import pyplot

import copartition as cp
import small
from bernoulli import Bernoulli
from copartition.couplings.simplex import optimal_plan
from copartition.diagnostics.efficiency import asymptotic_variance
from copartition.diagnostics.findings import verdict_of
from copartition.results import MeetingTimes
from copartition.view import export, plots
from made_up import estimate_from
from stores import without


@cp.kernels.log_predictive
def makes_an_array(model, chain, n_choices, n):
    scratch = np.zeros(3)
    chain[0].weights[0] = scratch[0]


@cp.kernels.log_predictive
def misspells(model, chain, n_choices, n):
    chain[0].weights[0] = model[0].params[0]


@cp.kernels.log_predictive
def asks_a_chain_for_nothing(model, chain, n_choices, n):
    chain.weight[0] = 0.0


@cp.kernels.log_predictive
def returns_something(model, chain, n_choices, n):
    return 1.0


def plain_helper(x):
    return x


@cp.kernels.log_predictive
def calls_plain_python(model, chain, n_choices, n):
    chain[0].weights[0] = plain_helper(1.0)


@cp.kernels.log_predictive
def forgets_the_new_cluster(model, chain, n_choices, n):
    for k in range(n_choices - 1):
        chain[0].weights[k] = -1.0


@cp.couplings.partner
def always_the_same_label(pair, n_x, n_y, total_x, total_y, i, u):
    return i


@cp.couplings.partner
def minus_one(pair, n_x, n_y, total_x, total_y, i, u):
    return -1


@cp.couplings.partner
def sometimes_nothing(pair, n_x, n_y, total_x, total_y, i, u):
    if u > 0.5:
        return 1


def target_of(kernel):
    return cp.Target(np.zeros((5, 1)), kernel, cp.DirichletProcess(1.0))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (makes_an_array, "it makes an array or a list, which is not possible inside"),
        (misspells, "a Model has no field 'params', it has points, table, parameters, integers"),
        (asks_a_chain_for_nothing, "a Chain has no field 'weight', it has labels, sizes"),
        (returns_something, "it must return nothing"),
        (calls_plain_python, "the function 'plain_helper' that it calls must be decorated with numba.njit"),
    ],
)
def test_what_cannot_be_compiled_is_explained(kernel, message):
    with pytest.raises(TypeError, match=message) as caught:
        cp.kernels.conditional(target_of(kernel), [0] * 5, 0)
    assert "\n" not in str(caught.value)
    assert kernel.__name__ in str(caught.value)


class Broken(cp.couplings.Coupling):
    name = "broken"

    def __init__(self, partner):
        super().__init__()
        self.partner = partner


def test_a_partner_must_always_return_a_number():
    with pytest.raises(TypeError, match="it must return a whole number on every path"):
        cp.meeting_times(small.scalar()[0], coupling=Broken(sometimes_nothing), replicates=1)


@pytest.mark.plain
@pytest.mark.parametrize("partner", [always_the_same_label, minus_one])
def test_a_partner_that_is_no_choice_is_reported(partner):
    with pytest.raises(ValueError, match="partner of the coupling must return a choice of positive weight"):
        cp.meeting_times(small.scalar()[0], coupling=Broken(partner), replicates=30, lag=3, init="singletons", seed=1)


def test_a_coupling_without_a_partner_is_refused():
    with pytest.raises(TypeError, match="coupling Broken must have a partner"):
        cp.meeting_times(small.scalar()[0], coupling=Broken(print))


def test_a_choice_without_a_weight_is_found_out():
    with pytest.raises(ValueError, match="NaN"):
        cp.kernels.conditional(target_of(forgets_the_new_cluster), [0] * 5, 0)
    with pytest.raises(ValueError, match="NaN"):
        cp.sample(target_of(forgets_the_new_cluster), cp.n_clusters(), sweeps=3, burn_in=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cp.kernels.log_predictive(), "written without parentheses"),
        (
            lambda: cp.kernels.log_predictive(lambda model, chain, n: None),
            r"must take the arguments \(model, chain, n_choices, n\)",
        ),
        (lambda: cp.Target(np.zeros((2, 1)), minus_one, table=np.zeros(3)), r"table must have 2 dimension\(s\)"),
        (lambda: cp.Target(np.zeros((2, 1)), minus_one, parameters=["a"]), "parameters must be an array of numbers"),
        (lambda: cp.Target(np.zeros((2, 1)), minus_one, parameters=[math.nan]), "parameters must not be NaN"),
        (
            lambda: cp.Target(np.zeros((2, 1)), minus_one, integers=[1.5]),
            "integers must be a one-dimensional array of whole",
        ),
        (lambda: cp.Target(np.zeros((2, 1)), minus_one, prior=3), "prior must be a prior such as"),
        (lambda: cp.Target(np.zeros((2, 1)), minus_one, prior=cp.DirichletProcess), "prior must be a prior such as"),
        (lambda: cp.Target(np.zeros((9, 1)), minus_one, prior=ShortPrior()), "prior must give 10 numbers as log_size"),
        (
            lambda: cp.Mixture([1.0, 2.0], Forgetful(), cp.DirichletProcess(1.0)),
            "prepare of Forgetful must return a Prepared",
        ),
        (
            lambda: cp.Mixture([1.0, 2.0], Halving(), cp.DirichletProcess(1.0)),
            "a row of points for each of the 2 points, got 1",
        ),
        (
            lambda: cp.Mixture(None, cp.Gaussian(1.0, 1.0), cp.DirichletProcess(1.0)),
            "data must be an array of numbers, got None",
        ),
        (
            lambda: cp.Mixture(["1", "2"], cp.Gaussian(1.0, 1.0), cp.DirichletProcess(1.0)),
            "data must be an array of numbers",
        ),
        (
            lambda: cp.Mixture([1j, 2], cp.Gaussian(1.0, 1.0), cp.DirichletProcess(1.0)),
            "data must be an array of numbers",
        ),
        (
            lambda: cp.Mixture(np.ma.masked_equal([1.0, 2.0], 2.0), cp.Gaussian(1.0, 1.0), cp.DirichletProcess(1.0)),
            "data must have an observed cell in every row, got none in row 1; leave such rows out",
        ),
        (  # a component of one's own gets an array without gaps
            lambda: cp.Mixture(np.ma.masked_equal([1.0, 0.0], 0.0), Bernoulli(), cp.DirichletProcess(1.0)),
            "data must have no masked values",
        ),
        (lambda: cp.Mixture([1.0], cp.Gaussian(1.0, 1e200), cp.DirichletProcess(1.0)), "must not differ by more than"),
        (lambda: cp.kernels.conditional(small.coloring()[0], [0, 1, 2, 3, 4], 0), None),
        (
            lambda: cp.kernels.conditional(cp.GraphColoring([(0, 1)], 2, n_vertices=6), range(6), 0),
            "at most 2 clusters besides point 0",
        ),
        (lambda: cp.kernels.conditional(3, [0], 0), "target must be a target"),
        (lambda: cp.partition.canonical([]), "labels must be a one-dimensional array of labels"),
        (lambda: cp.partition.canonical([[0, 1]]), "labels must be a one-dimensional array of labels"),
        (lambda: cp.meeting_times(small.scalar()[0], lag=10**30), "lag must be at most"),
        (
            lambda: cp.sample(small.scalar()[0], lambda labels: 1),
            r"wrap a function as copartition.functional\(f, size\)",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(make, message):
    if message is None:
        make()  # legal: point 0 is one more than there are colours, but it is the one that is taken out
        return
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


class ShortPrior:
    def log_size(self, n_points):
        return np.zeros(2)

    def log_new(self, n_points):
        return np.zeros(1)


class Forgetful(cp.kernels.Component):
    def prepare(self, data):
        cp.kernels.Prepared(minus_one, points=data)


class Halving(cp.kernels.Component):
    def prepare(self, data):
        return cp.kernels.Prepared(minus_one, points=data[::2])


def test_targets_do_not_change_when_the_array_they_came_from_does():
    points = np.array([[0.0], [1.0], [5.0]])
    target = cp.Target(points, small.scalar()[0].hooks.log_predictive, cp.DirichletProcess(1.0), table=np.ones((4, 3)))
    before = cp.kernels.conditional(target, [0, 0, 1], 1)
    points[:] = 7.0
    assert np.array_equal(cp.kernels.conditional(target, [0, 0, 1], 1), before)


def test_extreme_masses_and_gains_of_transport_problems():
    expected = optimal_plan([0.5, 0.5], [0.25, 0.75], [[3, 1], [1, 0]])
    for scale in (1e-323, 1e-300, 1e300):
        gains = np.array([[3, 1], [1, 0]]) * scale
        np.testing.assert_allclose(optimal_plan([0.5, 0.5], [0.25, 0.75], gains), expected, atol=1e-15)
    np.testing.assert_allclose(optimal_plan([5e-324, 5e-324], [1, 1], np.eye(2)), np.eye(2) / 2)
    np.testing.assert_allclose(optimal_plan([1e308, 1e308], [1, 1], np.eye(2)), np.eye(2) / 2)


def test_kernels_inside_functions_say_why_they_cannot_travel():
    def make():
        @cp.kernels.log_predictive
        def local(model, chain, n_choices, n):
            chain[0].weights[0] = 0.0

        return local

    with pytest.raises(pickle.PicklingError, match="must be defined at the top of a module"):
        pickle.dumps(make())


HELPERS = """
    import numba
    import numpy as np

    CONSTANT = {value}
    PAIR = (np.full(2001, {value}), 1.0)

    @numba.njit
    def by_name(x):
        return x * {value}

    @numba.njit
    def by_default(x, factor={value}):
        return x * factor

    @numba.njit
    def by_inner(x):
        def inside(v):
            return v * {value}
        return inside(x)
"""
KERNEL = """
    import numpy as np
    import copartition as cp
    import helpers
    from helpers import PAIR, by_default, by_inner

    @cp.kernels.log_predictive
    def weigh(model, chain, n_choices, n):
        for k in range(n_choices):
            chain[0].weights[k] = k * {expression}

    target = cp.Target(np.zeros((2, 0)), weigh)
    distribution = cp.kernels.conditional(target, [0, 0], 1)
    print(np.log(distribution[1] / distribution[0]))
"""


@pytest.mark.parametrize(
    "expression", ["helpers.CONSTANT", "helpers.by_name(1.0)", "by_default(1.0)", "by_inner(1.0)", "PAIR[0][1000]"]
)
def test_no_way_of_using_another_file_gives_a_stale_number(tmp_path, expression):
    for value in (1.0, 2.0):
        (tmp_path / "helpers.py").write_text(textwrap.dedent(HELPERS.format(value=value)))
        (tmp_path / "model.py").write_text(textwrap.dedent(KERNEL.format(expression=expression)))
        for name in ("helpers.py", "model.py"):
            os.utime(tmp_path / name, (1_600_000_000, 1_600_000_000))
        done = subprocess.run(
            [sys.executable, "model.py"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
        assert float(done.stdout) == pytest.approx(value)


# --- found by review of tuning, bounds, exports and pages -----------------------------------------------------------


def test_a_functional_may_weigh_a_new_cluster_when_all_rows_are_taken():
    """It wrote one row past the end of the chain, and crashed, when a sweep had just opened the last cluster."""
    target = cp.Mixture(np.zeros(30), cp.Gaussian(noise_sd=1, mean_sd=1e-3), cp.DirichletProcess(10.0))
    s = cp.sample(target, cp.predictive_density([0.0]), sweeps=60, burn_in=0, chains=100)
    np.testing.assert_allclose(s.draws, 1 / np.sqrt(2 * np.pi), rtol=1e-5)


@pytest.mark.parametrize("data", [[0.0, 1.0], [-100.0, 100.0]])
def test_tuning_of_an_easy_target_gives_numbers(data):
    """Where many pairs share the largest meeting time the tail is empty; 0 x infinity was NaN."""
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    t = cp.tune(target, pairs=100, modes=False, seed=1)
    assert np.isfinite(t.inefficiency)
    assert np.all(np.isfinite(t.variance))
    assert t.replicates_for(0.1) >= 2


def test_variance_of_slow_chains_is_not_too_small():
    """Batches may be longer than the square root of the chain: AR(1) with 0.99 came out as half of what it is."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(4, 10_000))
    draws = np.zeros_like(noise)
    draws[:, 0] = noise[:, 0] / np.sqrt(1 - 0.99**2)
    for t in range(1, draws.shape[1]):
        draws[:, t] = 0.99 * draws[:, t - 1] + noise[:, t]
    assert asymptotic_variance(draws[:, :, None])[0] == pytest.approx(1e4, rel=0.35)


def test_bands_of_bounds_cover_with_a_lag_of_1():
    """Geometric meeting times: with lag 1 a pair that is apart adds twenty, not one. 300 runs of 100 pairs."""
    rng = np.random.default_rng(1)
    for t in (45, 60):  # a tenth and a twentieth of the pairs are apart
        truth = 0.95**t / 0.05
        covered = 0
        for _ in range(300):
            times = rng.geometric(0.05, 100)
            m = MeetingTimes(1 + times, np.ones(100, bool), np.zeros(100), None, 1, 10**6, 0, "")
            bound = cp.tv_bound(m, t)
            covered += bound.low[0] <= truth <= bound.high[0]
        assert covered >= 0.91 * 300


def test_columns_with_the_same_name_are_all_exported():
    target, _ = small.scalar()

    def sweeps(labels):
        return labels.max()

    wanted = [cp.predictive_density(np.linspace(1e6, 1e6 + 1, 11)), cp.functional(sweeps), cp.functional(sweeps)]
    e = cp.estimate(target, wanted, replicates=5, burn_in=1, min_sweeps=3, lag=1)
    columns = export.replicate_columns(e)
    assert len(columns) == 13 + 6
    assert np.array_equal(columns["sweeps"], e.sweeps)


def test_the_right_one_of_two_functionals_with_one_name():
    target, _ = small.scalar()
    wanted = [cp.co_clustering([0, 1]), cp.co_clustering([2, 4])]
    e = cp.estimate(target, wanted, replicates=50, burn_in=1, min_sweeps=3, lag=1)
    s = cp.sample(target, cp.co_clustering([2, 4]), sweeps=200, burn_in=5)
    assert e.inefficiency(s).components == ["together[2, 4]"]
    with pytest.raises(ValueError, match="There are 2 functionals 'co_clustering'"):
        e.select("co_clustering")


def test_tuning_keeps_no_more_of_a_large_functional_than_it_looks_at(monkeypatch):
    from copartition.runs import pilot

    seen = []
    monkeypatch.setattr(pilot, "asymptotic_variance", lambda draws: seen.append(draws.shape) or draws.var(axis=(0, 1)))
    target = cp.Mixture(np.linspace(-3, 3, 30), cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    t = cp.tune(target, cp.co_clustering(), pairs=100, modes=False, seed=1)
    assert seen[0][2] == 200
    assert len(t.variance) == 30 * 29 // 2


def test_rounding_is_no_histogram(tmp_path):
    values = 0.1 + 1e-18 * np.arange(400.0)[:, None] + np.arange(400.0)[:, None] % 2 * 1.4e-17
    plots.values(estimate_from(values))
    pyplot.close("all")


def test_an_unfinished_store_is_called_biased(tmp_path):
    target, _ = small.scalar()
    path = tmp_path / "run.db"
    e = cp.estimate(target, cp.n_clusters(), replicates=40, burn_in=1, min_sweeps=3, lag=1, store=path)
    assert not e.is_biased
    without(path, 3, 17)
    loaded = cp.Estimate.load(path)
    assert loaded.is_biased
    assert loaded.unfinished == 2
    assert "INTERRUPTED, BIASED: 40 replicates were asked for and 38 ended" in str(loaded)
    assert export.replicate_columns(loaded)["replicate"][3] == 4
    assert verdict_of(loaded).level == "bad"


def test_asking_for_less_does_not_hide_that_a_run_was_interrupted(tmp_path):
    target, _ = small.scalar()
    path = tmp_path / "run.db"
    how = {"burn_in": 1, "min_sweeps": 3, "lag": 1, "store": path}
    cp.estimate(target, cp.n_clusters(), replicates=40, **how)
    without(path, 3, 38, 39)
    assert not cp.estimate(target, cp.n_clusters(), replicates=10, **how).is_biased  # all of these have ended
    loaded = cp.Estimate.load(path)
    assert (loaded.wanted, loaded.unfinished, loaded.under_way) == (40, 2, None)
    assert loaded.is_biased
    cp.estimate(target, cp.n_clusters(), replicates=40, **how)
    assert not cp.Estimate.load(path).is_biased


def test_a_function_that_cannot_be_sent_is_one_sentence():
    target, _ = small.scalar()
    with pytest.raises(ValueError, match="define functions at the top of a module"):
        cp.estimate(target, cp.functional(lambda labels: 1.0), replicates=2, executor="processes")


def test_advice_is_never_less_than_what_there_is():
    values = np.random.default_rng(1).normal(size=(300, 1))
    coupled = np.random.default_rng(2).geometric(0.02, 300)
    burn_in = int(np.quantile(coupled, 0.99)) + 1
    settings = {"burn_in": burn_in, "min_sweeps": 10 * burn_in, "lag": 1}
    (advice,) = verdict_of(estimate_from(values, coupled=coupled, sweeps=np.full(300, 11 * burn_in), **settings)).advice
    assert advice.startswith("Take a larger lag")
    wasteful = estimate_from(values, sweeps=np.full(300, 2000), burn_in=10, min_sweeps=50, lag=1000)
    assert "such as 10000" in verdict_of(wasteful).advice[0]


POINTS = np.r_[np.linspace(-4.0, -3.0, 6), np.linspace(3.0, 4.0, 6)]
SHORT = {"replicates": 3, "burn_in": 1, "min_sweeps": 3, "lag": 1}


@functools.cache
def easy():
    return cp.Mixture(POINTS, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))


@functools.cache
def tuned():
    return cp.tune(easy(), pairs=100, modes=False, seed=1)


# Every public argument that is a number which need not be whole, by its name.
NUMBERS = {
    "noise_sd": lambda x: cp.Gaussian(noise_sd=x, mean_sd=1.0),
    "mean_sd": lambda x: cp.Gaussian(noise_sd=1.0, mean_sd=x),
    "mean": lambda x: cp.Gaussian(1.0, 1.0, mean=x),
    "mean of NIW": lambda x: cp.NormalInverseWishart(mean=x),
    "mean_weight of NIW": lambda x: cp.NormalInverseWishart(mean_weight=x),
    "degrees_of_freedom of NIW": lambda x: cp.NormalInverseWishart(degrees_of_freedom=x),
    "scale of NIW": lambda x: cp.NormalInverseWishart(scale=x),
    "mean of NIG": lambda x: cp.NormalInverseGamma(mean=x),
    "mean_weight of NIG": lambda x: cp.NormalInverseGamma(mean_weight=x),
    "shape of NIG": lambda x: cp.NormalInverseGamma(shape=x),
    "scale of NIG": lambda x: cp.NormalInverseGamma(scale=x),
    "mean of tied": lambda x: cp.TiedGaussian("diagonal", mean=x),
    "mean_weight of tied": lambda x: cp.TiedGaussian("diagonal", mean_weight=x),
    "shape of tied": lambda x: cp.TiedGaussian("diagonal", shape=x),
    "scale of tied": lambda x: cp.TiedGaussian("diagonal", scale=x),
    "degrees_of_freedom of tied": lambda x: cp.TiedGaussian("full", degrees_of_freedom=x),
    "a of Bernoulli": lambda x: cp.Bernoulli(a=x),
    "b of Bernoulli": lambda x: cp.Bernoulli(b=x),
    "concentration": lambda x: cp.Categorical(x),
    "shape of Poisson": lambda x: cp.Poisson(shape=x),
    "rate of Poisson": lambda x: cp.Poisson(rate=x),
    "alpha": lambda x: cp.DirichletProcess(x),
    "alpha of PitmanYor": lambda x: cp.PitmanYor(x, 0.25),
    "discount": lambda x: cp.PitmanYor(1.0, x),
    "gamma": lambda x: cp.MixtureOfFiniteMixtures(gamma=x),
    "gamma of FiniteMixture": lambda x: cp.FiniteMixture(3, gamma=x),
    "shape of Gamma": lambda x: cp.Gamma(x, 1.0),
    "rate of Gamma": lambda x: cp.Gamma(1.0, x),
    "scale of InverseGamma": lambda x: cp.InverseGamma(1.0, x),
    "low": lambda x: cp.LogUniform(x, 2.0),
    "high": lambda x: cp.LogUniform(1.0, x),
    "a of Beta": lambda x: cp.Beta(x, 1.0),
    "sd": lambda x: cp.Normal(0.0, x),
    "nugget": lambda x: cp.couplings.Path(nugget=x),
    "Seconds": lambda x: cp.Seconds(x),
    "rate": lambda x: cp.BlockModel([(0, 1), (1, 2)], n_vertices=3, rate=x),
    "edges": lambda x: cp.functionals.cluster_sizes_histogram([1, x]),
    "target_stderr": lambda x: cp.estimate(easy(), cp.n_clusters(), target_stderr=x, **SHORT),
    "target_relative": lambda x: cp.estimate(easy(), cp.n_clusters(), target_relative=x, **SHORT),
    "target_stderr of log_evidence": lambda x: cp.log_evidence(easy(), x),
    "max_seconds": lambda x: cp.log_evidence(easy(), max_seconds=x),
    "stderr": lambda x: tuned().replicates_for(x),
    "level": lambda x: estimate_from(np.zeros((5, 1))).interval(x),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "value", [10**400, -(10**400), 10**5000, True, "1"], ids=["large", "negative", "longest", "truth", "text"]
)
def test_numbers_beyond_all_floats_truths_and_text_are_no_numbers(name, value):
    """A whole number of 400 digits was an OverflowError, and True was 1."""
    with pytest.raises((TypeError, ValueError), match=name.partition(" ")[0]) as caught:
        NUMBERS[name](value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("noise_cov", lambda x: cp.Mixture([1.0, 2.0], cp.Gaussian(noise_cov=[[x]], mean_sd=1.0))),
        ("grid", lambda x: cp.predictive_density([x])),
        ("data", lambda x: cp.Mixture([x, 1.0], cp.Gaussian(1.0, 1.0))),
        ("mean", lambda x: cp.NormalInverseGamma(mean=[x])),
        ("parameters", lambda x: cp.Target(np.zeros((2, 1)), minus_one, parameters=[x])),
    ],
)
def test_arrays_of_numbers_beyond_all_floats_are_refused(name, make):
    with pytest.raises(ValueError, match=f"{name} must be finite"):
        make(10**400)


def test_errors_that_are_very_large_are_reached_at_once():
    e = cp.estimate(easy(), cp.n_clusters(), target_stderr=1e300, replicates=100, burn_in=1, min_sweeps=3, lag=1)
    assert e.made_by["precision"]["reached"]
    assert tuned().replicates_for(1e300) == 2


MEANINGLESS = {
    "points twice": (lambda: cp.co_clustering([1, 1]), "indices must be of different points, got one twice in [1, 1]"),
    "pairs twice": (lambda: cp.co_clustering(pairs=[[0, 1], [1, 0]]), "pairs must be different ones, got one twice"),
    "progress of estimate": (
        lambda: cp.estimate(easy(), cp.n_clusters(), progress="x", **SHORT),
        "progress must be True or False, got 'x'",
    ),
    "progress of sample": (
        lambda: cp.sample(easy(), cp.n_clusters(), sweeps=3, burn_in=1, progress=1),
        "progress must be True or False, got 1",
    ),
    "progress of meeting_times": (
        lambda: cp.meeting_times(easy(), replicates=2, progress=None),
        "progress must be True or False, got None",
    ),
    "progress of consensus": (lambda: cp.consensus(easy(), progress=""), "progress must be True or False, got ''"),
    "trace": (lambda: cp.meeting_times(easy(), replicates=2, trace="no"), "trace must be True or False, got 'no'"),
    "modes": (lambda: cp.tune(easy(), pairs=100, modes="no"), "modes must be True or False, got 'no'"),
    "starts": (lambda: cp.consensus(easy(), starts=-1), "starts must be a whole number of at least 1, got -1"),
    "title": (
        lambda: cp.write_report(estimate_from(np.zeros((5, 1))), os.devnull, title=""),
        "title must be a text, got ''",
    ),
    "max_sweeps where it is not used": (
        lambda: cp.log_evidence(easy(), method="smc", max_sweeps="x"),
        "max_sweeps must be a whole number of at least 1, got 'x'",
    ),
    "covariance": (lambda: cp.TiedGaussian([]), "covariance must be 'spherical', 'diagonal' or 'full', got []"),
    "component": (lambda: cp.cluster(POINTS, []), "component must be 'auto', 'full', 'tied', 'diagonal' or a Comp"),
}


@pytest.mark.parametrize("name", MEANINGLESS)
def test_what_means_nothing_is_refused(name):
    make, message = MEANINGLESS[name]
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        make()


def test_one_point_is_with_nobody():
    target = cp.Mixture([1.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    with pytest.raises(ValueError, match="co_clustering needs at least two points, got 1"):
        cp.estimate(target, cp.co_clustering(), replicates=2)
