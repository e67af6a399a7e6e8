"""Estimates with unknown hyperparameters against exact expectations, and broken versions that must fail."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import distributions
import naive
import small
import small_hyperparameters
from conftest import once_each
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.moves import Move
from copartition.chains.step import BoundStep
from copartition.chains.tempering import State, Tempered
from copartition.core.compiling import hook
from copartition.core.hyperparameters import draw_hyperparameters, renew_all
from copartition.core.random import stream
from copartition.core.state import PLACE, Room, move_signatures
from copartition.core.sweeps import sweep_chain, sweep_pair
from copartition.core.types import DONE
from copartition.functionals.base import bind_all
from exact_hyperparameters import EXACT, REPLICATES, expected, functionals
from jobs import job_for, run
from plausible import chi_square_is_plausible


def deviation(values, exact):
    """By how many standard errors an estimate is off, at most."""
    return np.abs((values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))).max()


@pytest.mark.parametrize(("name", "how"), once_each(EXACT, [("path", 3, 2), ("transport", 1, 0), ("common", 7, 0)]))
def test_estimates_are_exact(name, how):
    """20,000 replicates; 4.5 standard errors of seven components at most: false alarm 5e-5 a case, 1e-3 in all.

    Some with starts that are annealed, in which hyperparameters are drawn given flatter data.
    """
    coupling, lag, moves = how
    start = cp.Start("annealed", levels=3, split_merge=1) if moves else "prior"
    target, exact = expected(name)
    target, bound = bind_all(target, functionals())
    job = job_for(target, bound, BoundStep(cp.Step(small.COUPLINGS[coupling], moves)), (3, 12, lag), start)
    assert deviation(run(job, REPLICATES).values, exact) < 4.5


def test_ordinary_chains_have_the_same_expectations():
    """False alarm 1e-4."""
    target, exact = expected("full")
    s = cp.sample(target, cp.hyperparameters(), sweeps=40_000, burn_in=100, chains=4, seed=2)
    assert np.abs((s.mean - exact[4:]) / s.stderr).max() < 4.5


# --- broken versions -------------------------------------------------------------------------------------------------


alone_signature, together_signature = move_signatures(Room)


@hook(alone_signature)
def step_of_one(model, hooks, chain, room, random, progress):
    """A sweep, and draws of all numbers."""
    sweep_chain(model, hooks, chain, random, progress)
    return draw_hyperparameters(model, hooks, chain, random)


@hook(together_signature)
def hyperparameters_of_one_partition(hooks, pair, room, rule, random, progress):
    """Draw the numbers of both chains before the sweep, from the partition of x."""
    x, y, model_x, model_y = pair.x, pair.y, pair.model_x, pair.model_y
    hooks.draw_hyperparameters(model_x, x, 0, random)
    model_y.hyperparameters[0] = model_x.hyperparameters[0]
    renew_all(model_x, hooks, x)
    renew_all(model_y, hooks, y)
    progress[PLACE] = 0
    sweep_pair(model_x, hooks, pair, x, y, rule, random, progress)
    return DONE


@hook(together_signature)
def close_is_met(hooks, pair, room, rule, random, progress):
    """Make a step, and let chains that have the same partition meet if their numbers are close."""
    x, y, model_x, model_y = pair.x, pair.y, pair.model_x, pair.model_y
    progress[PLACE] = 0
    sweep_pair(model_x, hooks, pair, x, y, rule, random, progress)
    # Independent draws, so that numbers are seldom equal: the mistake is in what is called a meeting.
    hooks.draw_hyperparameters(model_x, x, 0, random)
    hooks.draw_hyperparameters(model_y, y, 0, random)
    if abs(model_x.hyperparameters[0] - model_y.hyperparameters[0]) < 0.5 * model_x.hyperparameters[0]:
        model_y.hyperparameters[0] = model_x.hyperparameters[0]
    renew_all(model_x, hooks, x)
    renew_all(model_y, hooks, y)
    return DONE


@pytest.mark.parametrize("broken", [hyperparameters_of_one_partition, close_is_met])
def test_broken_couplings_of_hyperparameters_are_found_out(broken):
    target, exact = expected("spherical")
    target, bound = bind_all(target, functionals())
    # The broken step draws numbers itself; a chain alone makes an ordinary sweep, and draws them after it.
    step = distributions.OnlyMoves(cp.Step(cp.Transport(), 0), only=(Move(step_of_one, broken, moves_points=False),))
    job = job_for(target, bound, step, (0, 1, 1), "one_cluster")
    assert deviation(run(job, REPLICATES).values, exact) > 6.0
    right = job_for(target, bound, BoundStep(cp.Step(cp.Transport(), 0)), (0, 1, 1), "one_cluster")
    assert deviation(run(right, REPLICATES).values, exact) < 4.5


def test_every_executor_gives_the_same_bits():
    target = small_hyperparameters.spherical_all().target
    settings = {"replicates": 6, "burn_in": 3, "min_sweeps": 10, "lag": 2, "seed": 5}
    found = [
        cp.estimate(target, [cp.n_clusters(), cp.hyperparameters()], executor=executor, **settings).values.tolist()
        for executor in (1, 2)
    ]
    assert found[0] == found[1]


def test_the_predictive_density_averages_over_the_numbers():
    """Against the density given partition and variance, averaged exactly; 20,000 replicates, false alarm 1e-4."""
    case, states, distribution, _ = small_hyperparameters.integrated("spherical")
    x, kappa, m = small_hyperparameters.DATA_1D, 0.4, 0.3
    point = 0.7
    exact = 0.0
    for state, probability in zip(states, distribution, strict=True):
        # With the point added, the closed form of the joint gives the predictive density as a ratio.
        for k in range(max(state) + 2):
            labels = (*state, k)
            weight = state.count(k) if k <= max(state) else small_hyperparameters.ALPHA
            ratio = log_marginal(np.r_[x, point], labels, kappa, m) - log_marginal(x, state, kappa, m)
            exact += probability * weight / (5 + small_hyperparameters.ALPHA) * np.exp(ratio)
    e = cp.estimate(
        case.target, cp.predictive_density([point]), replicates=REPLICATES, burn_in=3, min_sweeps=12, lag=3, seed=3
    )
    assert abs(e.mean[0] - exact) < 4 * e.stderr[0]


def log_marginal(x, labels, kappa, m):
    """Log density of data given labels, means and variance integrated out."""
    from scipy.special import gammaln

    shape, scale, total = 2.0 + len(x) / 2, 0.9, 2.0 * np.log(0.9) - gammaln(2.0) - 0.5 * len(x) * np.log(2 * np.pi)
    for members in naive.clusters(labels):
        cells, n = x[sorted(members)], len(members)
        total += 0.5 * np.log(kappa / (kappa + n))
        scale += 0.5 * np.sum((cells - cells.mean()) ** 2) + 0.5 * kappa * n / (kappa + n) * (cells.mean() - m) ** 2
    return total + gammaln(shape) - shape * np.log(scale)


def test_cells_of_a_number_have_their_probabilities():
    """The posterior distribution of the variance, mixed exactly over partitions.

    20,000 replicates, false alarm 1e-4.
    """
    from scipy.stats import invgamma

    case, states, distribution, means = small_hyperparameters.integrated("spherical")
    edges = np.array([0.0, 0.3, 0.6, 1.0, 2.0, 100.0])
    shape = 2.0 + 2.5  # the same for all partitions, so that the scale follows from the mean
    cdf = sum(
        p * invgamma(shape, scale=m[0] * (shape - 1.0)).cdf(edges) for p, m in zip(distribution, means, strict=True)
    )
    functional = cp.hyperparameters("variance", edges)
    e = cp.estimate(case.target, functional, replicates=REPLICATES, burn_in=3, min_sweeps=12, lag=3, seed=4)
    assert len(states) == len(distribution)
    assert np.abs((e.mean - np.diff(cdf)) / e.stderr).max() < 4.5
    assert e.components[1] == "variance in 0.3 to 0.6"
    ax = cp.plots.hyperparameters(e, posterior=case.target)
    assert ax.get_xlabel() == "variance"
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"posterior", "95 % interval", "prior"}


@pytest.mark.parametrize("name", ["spherical", "discount"])
def test_tempered_chains_swap_numbers_along_with_partitions(name):
    """The first of three tempered chains has the distribution of the target; false alarm 1e-6 and 1e-4."""
    case, states, distribution, means = small_hyperparameters.integrated(name)
    target, ladder = case.target, np.array([1.0, 0.6, 0.2])
    start = State(np.zeros((3, 5), dtype=np.int64), np.tile(target.model.hyperparameters, (3, 1)), stream(4, 0))
    tempered = Tempered(target, BoundStep(cp.Step(cp.couplings.Independent(), 0)), ladder, start)
    number = {state: s for s, state in enumerate(states)}
    counts, draws, values = np.zeros(len(states)), 1500, []
    for t in range(4 * draws):
        _, chain = tempered.advance(t % 2 == 1)
        if t % 4 == 3:
            counts[number[naive.canonical(chain.labels.tolist())]] += 1
            values.append(tempered.state.hyperparameters[0, 0])
    assert tempered.accepted.min() > 0
    assert chi_square_is_plausible(counts, draws * distribution, 1e-6)
    error = np.std(values) / np.sqrt(draws) * 1.5  # draws are not quite independent
    assert abs(np.mean(values) - distribution @ means[:, 0]) < 4 * error


def test_posteriors_with_unknown_numbers_are_looked_at_and_start_anywhere():
    target = cp.Mixture(np.r_[np.zeros(4), np.full(4, 3.0)] + np.arange(8) / 9, cp.TiedGaussian("spherical"))
    modes = cp.find_modes(target, sweeps=300, seed=1)
    assert modes.best.shape == (8,)
    labels = cp.Start("one_cluster", sweeps=2, split_merge=1)
    e = cp.estimate(target, cp.hyperparameters(), replicates=3, burn_in=2, min_sweeps=4, lag=2, init=labels, seed=1)
    assert np.isfinite(e.values).all()


MISTAKES = [
    (lambda: cp.TiedGaussian("round"), "covariance must be 'spherical', 'diagonal' or 'full', got 'round'"),
    (lambda: cp.TiedGaussian("full", shape=2.0), "shape must be left out for full covariances"),
    (lambda: cp.TiedGaussian("diagonal", degrees_of_freedom=4.0), "degrees_of_freedom must be left out for diagonal"),
    (lambda: cp.TiedGaussian("spherical", scale=[1.0, 2.0]), "scale must be one number for spherical covariances"),
    (lambda: cp.TiedGaussian(mean=cp.Gamma(2, 1)), r"mean must be numbers or a Normal distribution, got Gamma\(2, 1\)"),
    (lambda: cp.NormalInverseGamma(scale=cp.Normal(0, 1)), "scale must be a number, a Gamma, an InverseGamma"),
    (
        lambda: cp.Gaussian(noise_cov=[[1.0]], mean_sd=cp.Gamma(2, 1)),
        "Gaussian with noise_cov or mean_cov has no unknown",
    ),
    (
        lambda: cp.Mixture(np.zeros((2000, 2)), cp.Gaussian(noise_sd=cp.LogUniform(0.1, 10), mean_sd=1.0)),
        "noise_sd must have a distribution that is not so wide.* take TiedGaussian",
    ),
    (lambda: cp.LogUniform(3, 2), "high must be above low, 3, got 2"),
    (lambda: cp.PitmanYor(-0.2, cp.Beta(1, 1)), "alpha must be positive where the discount is unknown, got -0.2"),
    (lambda: cp.hyperparameters("variance"), "hyperparameters needs a name and edges, or neither"),
    (lambda: cp.hyperparameters("variance", [1.0, 0.5]), "edges must be two or more numbers in rising order"),
    (lambda: cp.kernels.OnGrid("theta", [1.0, 1.0]), "values of OnGrid must be different numbers"),
    (lambda: cp.kernels.Drawn(["a", "b"], [1.0]), "initial of Drawn must have a number for each"),
    (
        lambda: cp.kernels.Unknowns([cp.kernels.OnGrid("theta", [1.0])]),
        "weigh of Unknowns must be given, because a number",
    ),
    (lambda: cp.kernels.Unknowns([cp.kernels.Drawn(["a"], [1.0])]), "draw and log_density of Unknowns must be given"),
    (
        lambda: cp.Mixture([[1.0, 2.0], [2.0, np.nan]], cp.TiedGaussian("full")),
        r"data of TiedGaussian\('full'\) must have every cell",
    ),
    (
        lambda: cp.Mixture(np.eye(3), cp.NormalInverseGamma(mean_weight=[1.0, 2.0, 1.0], scale=cp.Gamma(1, 1))),
        "mean_weight must be the same for all columns where a number of NormalInverseGamma is unknown",
    ),
    (
        lambda: cp.kernels.log_density(small_hyperparameters.spherical().target, [0] * 5),
        "hyperparameters must be given .* variance is unknown",
    ),
    (
        lambda: cp.kernels.log_density(small_hyperparameters.spherical().target, [0] * 5, [1.0, 2.0]),
        "hyperparameters must be 1 number",
    ),
    (
        lambda: cp.kernels.log_density(small_hyperparameters.discount().target, [0] * 5, [0.2]),
        "hyperparameters must have a value of its grid",
    ),
    (
        lambda: cp.sample(small_hyperparameters.scalar_target(), cp.hyperparameters(), sweeps=1, burn_in=0),
        "hyperparameters needs a target with unknown hyperparameters",
    ),
    (
        lambda: cp.sample(
            small_hyperparameters.spherical().target, cp.hyperparameters("scale", [0, 1]), sweeps=1, burn_in=0
        ),
        "name must be one of the unknown hyperparameters",
    ),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes_are_told_in_one_sentence(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_chain_with_unknown_numbers_needs_a_target_of_its_own():
    target = small_hyperparameters.spherical().target
    with pytest.raises(ValueError, match="must be run with a target of its own"):
        advance_chain(
            target,
            BoundStep(cp.Step(cp.couplings.Independent(), 0)),
            chain_at(target, np.zeros(5, dtype=np.int64)),
            stream(1, 1),
            1,
        )
