"""Which model? Log likelihoods, log evidences and comparisons, against enumeration of all partitions.

Statistical tests have fixed seeds. Each allows 4 standard errors, so a correct program fails one in 16,000 of them;
there are about 25: a change of the random numbers makes one fail once in 600 times.
"""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner
from scipy.special import logsumexp

import copartition as cp
import naive
import small
import small_hyperparameters
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep
from copartition.cli import main
from copartition.core.random import stream
from copartition.diagnostics.evidence import Curve, Evidence, Node, comparison_of, stratified
from copartition.functionals.base import evaluate_at
from copartition.runs import evidence as running
from copartition.runs import powers, sequential
from copartition.runs.sequential import Particles
from copartition.targets.priors import DirichletProcess, FiniteMixture, MixtureOfFiniteMixtures, PitmanYor

MIXTURES = [name for name in small.TARGETS if name != "coloring"]
PARTITIONS = naive.all_partitions(5)
FEW = scipy.stats.randint(1, 4)  # at most three components
PRIORS = {
    "dp_unknown": (
        DirichletProcess(cp.Gamma(2, 4)),
        lambda x: naive.gamma_mean(lambda a: naive.process(x, a), 2, 4),
    ),
    "py_unknown": (
        PitmanYor(cp.Gamma(1, 2), 0.3),
        lambda x: naive.gamma_mean(lambda a: naive.process(x, a, 0.3), 1, 2),
    ),
    "finite": (FiniteMixture(2, 0.6), lambda x: naive.finite_mixture(x, 2, 0.6)),
    "mfm": (MixtureOfFiniteMixtures(1.0, FEW), lambda x: naive.mixture_of_finite_mixtures(x, 1.0, FEW, 5)),
}


def log_data(density, labels):
    """The log density of all data given a partition."""
    return sum(density.log_cluster(members) for members in naive.clusters(labels))


def enumerated(density):
    """The log evidence, and the log prior and the log likelihood of all partitions."""
    likelihood = np.array([log_data(density, labels) for labels in PARTITIONS])
    prior = np.array([density.log_density(labels) for labels in PARTITIONS]) - likelihood
    prior -= logsumexp(prior)
    return logsumexp(prior + likelihood), prior, likelihood


def with_prior(name):
    """The small target of numbers with another prior."""
    _, density = small.scalar()
    prior, probability = PRIORS[name]
    target = cp.Mixture(small.DATA_1D, cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3), prior)
    return target, naive.Mixture(density.log_cluster, probability)


CASES = {name: small.TARGETS[name] for name in MIXTURES} | {name: lambda name=name: with_prior(name) for name in PRIORS}

# --- the log likelihood ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MIXTURES)
def test_log_likelihood_is_that_of_the_definition_and_leaves_the_chain_as_it_was(name):
    target, density = small.TARGETS[name]()
    chain = chain_at(target, np.zeros(5, dtype=np.int64))
    for t in range(12):
        chain = advance_chain(target, BoundStep(cp.Step(cp.couplings.Independent(), 1)), chain, stream(4, t), 1)
        before = [array.copy() for array in list(chain)[:-1]]  # all but what is at its side
        (value,) = evaluate_at(target.model, target.hooks, [cp.functionals.log_likelihood()], chain)
        assert value == pytest.approx(log_data(density, chain.labels.tolist()), abs=1e-10)
        count = chain.n_clusters[0]
        after = chain._replace(weights=before[3], kept=before[9], scratch=before[11])
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=False))
        assert np.array_equal(before[9][chain.slots[:count]], chain.kept[chain.slots[:count]])


@pytest.mark.parametrize("name", MIXTURES)
def test_log_likelihood_of_every_partition(name):
    target, density = small.TARGETS[name]()
    for labels in PARTITIONS[::3]:
        (value,) = evaluate_at(
            target.model, target.hooks, [cp.functionals.log_likelihood()], chain_at(target, np.array(labels))
        )
        assert value == pytest.approx(log_data(density, labels), abs=1e-10)


def test_log_likelihood_knows_the_numbers_of_the_chain():
    case = small_hyperparameters.spherical()
    own = case.target.of_chain()
    chain = advance_chain(own, BoundStep(), chain_at(own, np.zeros(5, dtype=np.int64)), stream(1, 0), 3)
    (value,) = evaluate_at(own.model, own.hooks, [cp.functionals.log_likelihood()], chain)
    assert own.model.hyperparameters[0] != case.target.model.hyperparameters[0]
    assert value == pytest.approx(case.log_data(chain.labels.tolist(), own.model.hyperparameters), abs=1e-10)


def test_log_likelihood_refuses_targets_without_one():
    target, _ = small.coloring()
    with pytest.raises(ValueError, match="log_likelihood knows no log density of GraphColoring"):
        cp.functionals.log_likelihood().bind(target)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_expected_log_likelihood_at_a_power(beta):
    target, density = small.gaps()
    _, prior, likelihood = enumerated(density)
    distribution = np.exp(prior + beta * likelihood - logsumexp(prior + beta * likelihood))
    settings = {"replicates": 2000, "burn_in": 5, "min_sweeps": 25, "lag": 5, "seed": 2}
    e = cp.estimate(target.tempered(beta), cp.functionals.log_likelihood(), **settings)
    assert abs(e.mean[0] - distribution @ likelihood) < 4 * e.stderr[0]


# --- powers ----------------------------------------------------------------------------------------------------------


def a_curve():
    """A curve that is wrong everywhere, with nodes of all kinds."""
    betas, means = (0.0, 0.1, 0.4, 1.0), (-9.0, -4.0, -3.0, -2.5)
    hyperparameters = zip(betas, means, (3.0, 1.0, 0.0, 0.5), (5, 9, 7, 4), (40, 60, 50, 30), strict=True)
    return Curve(tuple(Node(b, m, sd, 24, 0.0, 0.1, k, c) for b, m, sd, k, c in hyperparameters))


def test_any_curve_gives_the_integral():
    """Without chance: the average over a fine grid of levels is the integral of the function, whatever the curve."""
    curve = a_curve()
    levels = (np.arange(400_000) + 0.5) / 400_000
    betas = curve.powers(levels)
    assert curve.estimates(betas, np.exp(betas)).mean() == pytest.approx(np.e - 1.0, abs=1e-5)


def test_a_curve_knows_where_to_look_and_how_long():
    curve = a_curve()
    assert curve.next_powers(2) == [0.1 / powers_steep(), pytest.approx(0.2)]
    assert curve.burn_ins(np.array([0.0, 0.05, 0.1, 0.2, 0.99, 1.0])).tolist() == [9, 9, 9, 9, 7, 7]
    assert np.all(np.diff(curve.powers(np.linspace(0, 1, 50))) > 0)


def powers_steep():
    from copartition.diagnostics.evidence import STEEP

    return STEEP


def test_starts_that_disagree_are_told():
    nodes = list(a_curve().nodes)
    assert Curve(tuple(nodes)).disagreement(5.0)[1] == 0.0
    nodes[2] = nodes[2]._replace(gap=-8.0)
    curve = Curve(tuple(nodes))
    assert curve.disagreement(5.0) == (0.4, pytest.approx(8.0 * 0.45))
    assert running._doubts(curve, 5.0) == []
    (warning,) = running._doubts(curve, 0.1)
    assert "Near the power 0.4 chains stay where they start" in warning


def test_the_mean_over_strata(rng):
    values = rng.normal(np.arange(6.0), 1.0, (5, 6))
    found = stratified(values)
    assert found.mean == pytest.approx(values.mean())
    assert found.stderr == pytest.approx(np.sqrt(sum(np.var(values[:, s], ddof=1) / 5 for s in range(6))) / 6)
    assert 4 <= found.freedom <= 24
    assert stratified(np.ones((3, 6))) == (1.0, 0.0, np.inf)


# --- log evidences ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_log_evidence_is_that_of_enumeration(name):
    target, density = CASES[name]()
    truth, *_ = enumerated(density)
    found = cp.log_evidence(target, 1.0, replicates=1024, seed=6)
    assert found.stderr < 0.05
    assert abs(found.mean - truth) < 4 * found.stderr


@pytest.mark.parametrize("name", ["discount", "spherical"])
def test_log_evidence_with_unknown_numbers(name):
    """Numbers on a grid are enumerated too, a variance is integrated on a fine grid of its logarithm."""
    case = getattr(small_hyperparameters, name)()
    if name == "discount":
        (group,) = case.target.groups
        hyperparameters, log_steps = np.array(group.values), np.zeros(len(group.values))
    else:
        logs = np.linspace(-4.0, 7.0, 150)
        hyperparameters, log_steps = np.exp(logs), logs + np.log(logs[1] - logs[0])
    truth = logsumexp([np.array([case.log_joint(x, [v]) for v in hyperparameters]) + log_steps for x in PARTITIONS])
    found = cp.log_evidence(case.target, 1.0, replicates=1024, seed=6)
    assert found.stderr < 0.15
    assert abs(found.mean - truth) < 4 * found.stderr


@pytest.mark.parametrize("name", ["scalar", "wishart", "gaps", "mixed", "dp_unknown", "finite", "mfm"])
def test_log_evidence_by_particles_is_that_of_enumeration(name):
    target, density = CASES[name]()
    truth, *_ = enumerated(density)
    found = cp.log_evidence(target, 0.01, method="smc", particles=100, seed=2)
    assert found.stderr <= 0.01
    assert abs(found.mean - truth) < 4 * found.stderr
    assert "sequential Monte Carlo with 100 particles" in str(found)


def test_particles_are_weighed_by_their_predictive_density():
    """Before anything is drawn anew the evidence is the average of products of predictive densities: here of one."""
    target, density = small.scalar()
    order = np.array([3, 0, 2, 1, 4])
    particles = Particles(target, 1, order, stream(1, 0), np.random.default_rng(1))
    particles.add_point()
    expected = density.log_cluster([3])
    assert particles._log_weights[0] + target.log_constant == pytest.approx(expected, abs=1e-12)
    particles.add_point()
    together, apart = density.log_cluster([3, 0]), expected + density.log_cluster([0])
    pair = np.logaddexp(np.log(1 / 1.9) + together, np.log(0.9 / 1.9) + apart)
    assert particles._log_weights[0] + 2 * target.log_constant == pytest.approx(pair, abs=1e-12)
    for _ in range(3):
        particles.add_point()
    assert sorted(set(particles._chains[0].labels.tolist())) == list(range(particles._chains[0].n_clusters[0]))


@pytest.fixture
def hasty(monkeypatch):
    """A pilot of a few pairs, and few strata: enough to see that everything runs."""
    for name, value in {"FIRST_POWERS": (0.0, 1.0), "PAIRS": 2, "COLD_SWEEPS": 2, "LOOKS": 1, "HORIZON": 2}.items():
        monkeypatch.setattr(powers, name, value)
    for name, value in {"STRATA": 4, "REPLICATES": 8, "ROUNDS": 1}.items():
        monkeypatch.setattr(running, name, value)


@pytest.fixture
def posterior():
    return cp.Mixture([-2.0, 2.1, 1.9], cp.Gaussian(noise_sd=1, mean_sd=2), cp.DirichletProcess(1.0))


def test_the_same_seed_gives_the_same_bits_wherever_it_runs(hasty, posterior):
    with ThreadPoolExecutor(3) as pool:
        found = [
            cp.log_evidence(posterior, 10.0, replicates=12, seed=3, executor=place, coupling="matched")
            for place in (1, 2, pool)
        ]
    for one in found[1:]:
        assert np.array_equal(one.values, found[0].values)
        assert np.array_equal(one.betas, found[0].betas)
    assert len(found[0].values) == 12
    low, high = found[0].interval(0.9)
    assert low < found[0].mean < high
    assert "12 coupled replicates at random powers" in found[0].summary()


def test_powers_are_one_in_each_stratum(hasty, posterior):
    found = cp.log_evidence(posterior, 10.0, replicates=12, seed=3, executor=1, coupling="matched")
    ends = found.curve.powers(np.linspace(0, 1, 5))
    for layer in found.betas.reshape(3, 4):
        assert np.all((ends[:-1] <= layer) & (layer <= ends[1:]))


def test_more_replicates_until_precise_enough(hasty, posterior):
    first = cp.log_evidence(posterior, 10.0, replicates=8, seed=3, executor=1, coupling="matched")
    found = cp.log_evidence(posterior, first.stderr / 2, replicates=8, seed=3, executor=1, coupling="matched")
    assert found.stderr <= first.stderr / 2
    assert np.array_equal(found.values[:8], first.values)


def test_pairs_that_do_not_meet_are_an_error(hasty, posterior, monkeypatch):
    with pytest.raises(
        cp.errors.EvidenceError, match=r"Pairs did not meet within max_sweeps, 1, coupled sweeps .* power 0"
    ):
        cp.log_evidence(posterior, coupling="independent", max_sweeps=1, seed=1, executor=1)
    assert pickle.loads(pickle.dumps(powers.Unmet(0.25))).args == (0.25,)


@pytest.mark.plain
def test_a_budget_is_kept(hasty, posterior):
    with pytest.raises(cp.errors.EvidenceError, match="max_seconds, 1e-09, are over before there is a log evidence"):
        cp.log_evidence(posterior, max_seconds=1e-9, seed=1, executor=1, coupling="matched")
    with pytest.raises(
        cp.errors.EvidenceError, match=r"takes about .* CPU seconds, more than max_seconds, 1000: so far it is"
    ):
        cp.log_evidence(posterior, 1e-9, max_seconds=1e3, replicates=8, seed=1, executor=1, coupling="matched")
    with pytest.raises(
        cp.errors.EvidenceError, match=r"takes about .* CPU seconds, more than max_seconds, 1000: so far it is"
    ):
        cp.log_evidence(posterior, 1e-9, max_seconds=1e3, method="smc", particles=2, seed=1, executor=1)


def test_wrong_arguments_are_told():
    target, _ = small.scalar()
    with pytest.raises(ValueError, match=r"method must be 'coupled' or 'smc', got 'nested'\."):
        cp.log_evidence(target, method="nested")
    with pytest.raises(ValueError, match="log_likelihood knows no log density"):
        cp.log_evidence(small.coloring()[0])
    with pytest.raises(ValueError, match="target_stderr must be"):
        cp.log_evidence(target, 0.0)
    with pytest.raises(ValueError, match="method 'smc' needs a posterior without unknown hyperparameters"):
        cp.log_evidence(small_hyperparameters.discount().target, method="smc")
    with pytest.raises(ValueError, match="method 'smc' needs a target that has a prior"):
        cp.log_evidence(small.coloring()[0], method="smc")


def test_particles_that_disagree_are_refused():
    sequential._check(np.array([-5.0, -6.0, -7.5]), 2)
    with pytest.raises(
        cp.errors.EvidenceError, match=r"3 repetitions with 2 particles have a standard deviation of 2, more"
    ):
        sequential._check(np.array([-5.0, -7.0, -9.0]), 2)


# --- comparisons -----------------------------------------------------------------------------------------------------


def an_evidence(mean, stderr=0.1, **other):
    values = np.full(4, mean)
    return Evidence(mean, stderr, "coupled", values, np.zeros(4), 9.0, 10, 0.5, 82, 0, 0.1, **other)


def test_a_comparison_in_words():
    found = comparison_of({"a": an_evidence(-12.0), "b": an_evidence(-10.0, warnings=["beware"])})
    assert (found.best, found.names) == ("b", ["b", "a"])
    assert found.difference.tolist() == [0.0, -2.0]
    assert found.difference_stderr == pytest.approx([0.0, np.sqrt(0.02)])
    assert found.probability == pytest.approx(np.array([1.0, np.exp(-2.0)]) / (1 + np.exp(-2.0)))
    text = str(found)
    assert "b: WARNING: beware" in text
    assert "The data speak positively for b: they are 7.39 times as probable under it as under a." in text
    assert "cannot be told apart" in str(comparison_of({"a": an_evidence(-12.0), "b": an_evidence(-12.1)}))
    assert "very strongly" in str(comparison_of({"a": an_evidence(-12.0), "b": an_evidence(-112.0)}))
    assert "nothing that a could be compared with" in str(comparison_of({"a": an_evidence(-12.0)}))
    with pytest.raises(TypeError, match="'a' must be what log_evidence returns, got 3"):
        comparison_of({"a": 3})


def test_a_comparison_as_a_data_frame():
    pytest.importorskip("pandas")
    table = comparison_of({"a": an_evidence(-12.0), "b": an_evidence(-10.0)}).to_dataframe()
    assert list(table.index) == ["b", "a"]
    assert table.loc["a", "difference"] == -2.0


def test_a_picture_of_a_comparison():
    mpl = pytest.importorskip("matplotlib")
    mpl.use("agg")
    ax = cp.plots.evidence(comparison_of({"a": an_evidence(-12.0), "b$": an_evidence(-10.0)}))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b$", "a"]
    ax.figure.canvas.draw()
    with pytest.raises(TypeError, match="c must be what compare returns"):
        cp.plots.evidence(3)


def test_models_are_compared_with_random_numbers_of_their_own(hasty, posterior):
    found = cp.compare({"one": posterior, "two": posterior}, 10.0, seed=1, executor=1)
    one, two = found.evidences.values()
    assert not np.array_equal(one.values, two.values)


def test_an_error_says_which_model(hasty, posterior):
    with pytest.raises(cp.errors.EvidenceError, match="two: max_seconds"):
        cp.compare({"two": posterior}, max_seconds=1e-9, executor=1)


def test_models_of_other_data_are_refused(posterior):
    component = cp.Gaussian(noise_sd=1, mean_sd=2)
    others = {
        "got 3 points in 'a' and 4 in 'b'": cp.Mixture([1.0, 2.0, 3.0, 4.0], component),
        r"got \(3, 1\) and \(3, 2\) in 'a' and 'b'": cp.Mixture(np.eye(3)[:, :2], component),
        "got other values in 'a' and 'b'": cp.Mixture([1.0, 2.0, 30.0], component),
    }
    for message, other in others.items():
        with pytest.raises(ValueError, match=f"posteriors must be of the same data, {message}"):
            cp.compare({"a": posterior, "b": other})
    with pytest.raises(TypeError, match="posteriors must be a dict"):
        cp.compare([posterior])
    with pytest.raises(ValueError, match="at least one model"):
        cp.compare({})


# --- the command line ------------------------------------------------------------------------------------------------


def call(*arguments):
    return CliRunner().invoke(main, ["compare", *[str(one) for one in arguments]])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("name,x,y\na,0.0,1.0\nb,0.1,1.5\nc,5.0,-1.0\nd,5.5,-1.2\n")
    return path


KNOWN = ("--noise-sd", 1, "--alpha", 1)


def test_compare_on_the_command_line(hasty, table):
    models = ("--model", "near=--mean-sd 1", "--model", "far=--mean-sd 4")
    plain = call(table, "--columns", "x", *KNOWN, *models, "--stderr", 5)
    assert plain.exit_code == 0, plain.output
    assert "log evidence" in plain.output
    assert "points.csv, 4 points x 1 column(s)" in plain.output
    answer = call(table, "--columns", "x", *KNOWN, *models, "--stderr", 5, "--json")
    found = json.loads(answer.stdout)
    assert {row["model"] for row in found["models"]} == {"near", "far"}
    assert found["models"][0]["model"] == found["best"]
    assert "mean_sd=4" in next(row for row in found["models"] if row["model"] == "far")["posterior"]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "Give --model at least twice, got 0 model(s)."),
        (["a=--mean-sd 1"], "Give --model at least twice, got 1 model(s)."),
        (["a=--mean-sd 1", "a=--mean-sd 2"], "--model must be NAME=OPTIONS, each with a name of its own"),
        (["--mean-sd 1", "b=--mean-sd 2"], "--model must be NAME=OPTIONS, each with a name of its own"),
        (["a=--mean-sd 1", "b=--means 2"], "--model b: No such option"),
        (["a=--mean-sd 1", "b=--mean-sd '2"], "--model b: No closing quotation"),
        (["a=--mean-sd 1", "b=--standardize"], "--model b: --standardize must be the same for all."),
        (["a=--mean-sd 1", "b=--component nig"], "--model b: --noise-sd and --mean-sd go with --component known"),
    ],
)
def test_wrong_models_on_the_command_line(table, models, message):
    answer = call(table, *KNOWN, *[one for text in models for one in ("--model", text)])
    assert answer.exit_code == 2
    assert message in answer.output
