"""Draws of unknown hyperparameters in two chains.

Their distributions, how often they agree, and pairs that have met.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import cumulative_trapezoid, trapezoid

import copartition as cp
import naive
import small
import small_hyperparameters
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at, with_hyperparameters
from copartition.chains.start import couple
from copartition.chains.step import BoundStep
from copartition.core.batch import new_progress
from copartition.core.compiling import kernel
from copartition.core.hyperparameters import AGREEMENT, draw_both_by_rejection, draw_both_on_grid
from copartition.core.numerics import log_positive
from copartition.core.overlaps import have_met
from copartition.core.random import gamma, normal, stream
from copartition.core.state import Coupled, Hooks, Pair, Stepper
from copartition.core.steps import count_pair, make_coupled_steps, step_together
from copartition.core.types import float1, float2, float64, int1, int64, uint1, void
from densities import density_of_draw, grid_distribution
from plausible import chi_square_is_plausible


@kernel(void(float64, uint1, float1))
def draw_gammas(shape, random, out):
    """Fill an array with Gamma numbers, or with normal ones where the shape is 0."""
    for i in range(len(out)):
        out[i] = gamma(shape, random) if shape > 0.0 else normal(random)


@kernel(void(float1, float1))
def take_logs(x, out):
    for i in range(len(x)):
        out[i] = log_positive(x[i])


@kernel(void(Pair, Hooks, int64, uint1, float2, float2))
def draw_often(pair, hooks, group, random, of_x, of_y):
    """Draw a group in both chains again and again, always from where they are."""
    p, functions = pair, hooks
    first, last = pair.model_x.unknown.groups[group, 0], pair.model_x.unknown.groups[group, 1]
    on_grid = pair.model_x.unknown.groups[group, 2] >= 0
    for i in range(len(of_x)):
        if on_grid:
            draw_both_on_grid(p, functions, group, random)
        else:
            draw_both_by_rejection(p, functions, group, random)
        for j in range(first, last):
            of_x[i, j - first] = pair.model_x.hyperparameters[j]
            of_y[i, j - first] = pair.model_y.hyperparameters[j]


@kernel(int64(Hooks, Pair, Stepper, Coupled, uint1, int1))
def one_step(hooks, pair, stepper, coupled, random, progress):
    """Go on with a step of two chains."""
    return step_together(hooks, pair, stepper, coupled, random, progress)


@kernel(int64(Pair))
def met(pair):
    return have_met(pair)


@pytest.mark.parametrize("shape", [0.0, 0.2, 1.0, 3.7, 400.0])
def test_normal_and_gamma_numbers_have_their_distribution(shape):
    """Kolmogorov and Smirnov; false alarm 1e-6."""
    out = np.zeros(100_000)
    draw_gammas(shape, stream(3, int(10 * shape)), out)
    distribution = scipy.stats.gamma(shape) if shape > 0 else scipy.stats.norm()
    assert scipy.stats.kstest(out, distribution.cdf).pvalue > 1e-6


@pytest.mark.plain
def test_logarithms_are_right_to_the_last_digits(rng):
    x = np.r_[np.exp(rng.normal(0, 100, 2000)), 1.0, 1.0 + 1e-12, 0.5**0.5, 2.0**0.5, 1e-300, 1e300]
    out = np.zeros(len(x))
    take_logs(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=1e-15, atol=1e-16)


def two_chains(case, labels, hyperparameters, coupling=None):
    """A pair at two partitions, each with its numbers."""
    own = [with_hyperparameters(case.target, one) for one in hyperparameters]
    chains = [chain_at(one, np.array(state)) for one, state in zip(own, labels, strict=True)]
    pair = couple(case.target, coupling or cp.couplings.Matched(), *chains, (own[0].model, own[1].model))
    count_pair(pair)
    return pair


LABELS = ((0, 0, 0, 1, 1), (0, 0, 1, 1, 2))
ONE_NUMBER = {  # a group, by name of the case: of every distribution that numbers are drawn from
    "inverse gamma": ("spherical", 0),
    "normal": ("gaussian_mean", 0),
    "gamma": ("diagonal_scale", 0),
    "grid": ("gamma_scale", 0),
    "grid of the prior": ("discount", 0),
}


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_single_numbers_have_their_distributions_in_both_chains_and_agree_as_often_as_they_should(name):
    """Against exact integrals and sums; false alarms 1e-6 each."""
    case_name, group = ONE_NUMBER[name]
    case = small_hyperparameters.CASES[case_name]()
    count = 200_000
    start = case.target.model.hyperparameters
    pair = two_chains(case, LABELS, (start, start * np.r_[np.ones(1), np.full(len(start) - 1, 1.2)]))
    of_x, of_y = np.zeros((count, 1)), np.zeros((count, 1))
    models, hooks = (pair.model_x, pair.model_y), case.target.hooks
    if isinstance(case.target.groups[group], cp.kernels.OnGrid):
        weights = []
        for model, chain in zip(models, (pair.x, pair.y), strict=True):
            total = grid_distribution(model, hooks, chain, group)
            weights.append(model.unknown.weights / total)
        draw_often(pair, hooks, group, stream(1, 1), of_x, of_y)
        values = case.target.groups[group].values
        for draws, exact in zip((of_x, of_y), weights, strict=True):
            counts = np.array([np.sum(draws == value) for value in values])
            assert chi_square_is_plausible(counts, count * exact, 1e-6)
        agree = np.minimum(*weights).sum()
    else:
        log_p, log_q = (
            lambda v, model=model, chain=chain: density_of_draw(model, hooks, chain, group, np.array([v]))
            for model, chain in zip(models, (pair.x, pair.y), strict=True)
        )
        draw_often(pair, hooks, group, stream(1, 1), of_x, of_y)
        low, high = (-12.0, 12.0) if name == "normal" else (1e-3, 80.0)
        grid = np.linspace(low, high, 4001) if name == "normal" else np.geomspace(low, high, 4001)
        densities = [np.exp([log_density(v) for v in grid]) for log_density in (log_p, log_q)]
        for draws, density in zip((of_x, of_y), densities, strict=True):
            cdf = cumulative_trapezoid(density, grid, initial=0.0)
            assert cdf[-1] == pytest.approx(1.0, abs=1e-3)
            assert scipy.stats.kstest(draws[:, 0], lambda x, cdf=cdf: np.interp(x, grid, cdf)).pvalue > 1e-6
        agree = trapezoid(np.minimum(densities[0], AGREEMENT * densities[1]), grid)
    assert 0.05 < agree < 0.98
    found = np.mean(of_x[:, 0] == of_y[:, 0])
    assert abs(found - agree) < 5 * np.sqrt(agree * (1 - agree) / count)


@pytest.mark.parametrize(("name", "group"), [("full", 0), ("full_all", 2)])
def test_vectors_and_matrices_agree_as_often_as_they_should(name, group):
    """Against the mean of min(1, c q / p) over draws of x; moments of y against those of y alone. False alarms 1e-6."""
    case = small_hyperparameters.CASES[name]()
    start = case.target.model.hyperparameters
    count = 100_000
    size = len(case.target.groups[group].names)
    pair, other = (two_chains(case, labels, (start, start)) for labels in (LABELS, LABELS[::-1]))
    of_x, of_y, x_alone, y_alone = (np.zeros((count, size)) for _ in range(4))
    draw_often(other, case.target.hooks, group, stream(1, 2), y_alone, x_alone)  # here y comes first
    draw_often(pair, case.target.hooks, group, stream(1, 1), of_x, of_y)
    hooks = case.target.hooks
    ratio = [
        density_of_draw(pair.model_y, hooks, pair.y, group, v) - density_of_draw(pair.model_x, hooks, pair.x, group, v)
        for v in of_x[:20_000]
    ]
    accepted = np.minimum(1.0, AGREEMENT * np.exp(ratio))
    agree = np.mean(np.all(of_x == of_y, axis=1))
    assert abs(agree - accepted.mean()) < 5 * np.sqrt(0.25 / count + accepted.var() / len(ratio))
    for second, first in ((of_y, y_alone), (x_alone, of_x)):
        for j in range(size):
            assert scipy.stats.ks_2samp(second[:, j], first[:, j]).pvalue > 1e-6


def test_tries_are_bounded_where_distributions_are_nearly_the_same():
    """With distributions that differ by 1e-9 the maximal coupling, when it fails, would try a billion times.

    Not so this one.
    """
    case = small_hyperparameters.spherical()
    start = case.target.model.hyperparameters
    pair = two_chains(case, (LABELS[0], LABELS[0]), (start, start))
    pair.y.sums[0] *= 1.0 + 1e-9
    of_x, of_y = np.zeros((200_000, 1)), np.zeros((200_000, 1))
    draw_often(pair, case.target.hooks, 0, stream(1, 1), of_x, of_y)
    share = np.mean(of_x == of_y)
    assert abs(share - AGREEMENT) < 5 * np.sqrt((1 - AGREEMENT) / 200_000)


# --- meetings --------------------------------------------------------------------------------------------------------


@pytest.mark.plain
@pytest.mark.parametrize("name", small_hyperparameters.CASES)
@pytest.mark.parametrize("coupling", ["path", "transport"])
def test_pairs_meet_in_partition_and_numbers_and_stay_together(name, coupling):
    """From then on they stay together, also where the sums of one chain have drifted."""
    case = small_hyperparameters.CASES[name]()
    target = case.target
    step = BoundStep(cp.Step(small.COUPLINGS[coupling], 2))
    hyperparameters = target.model.hyperparameters
    pair = two_chains(case, LABELS, (hyperparameters, hyperparameters), step.coupling)
    random, stepper, coupled, progress = stream(8, 8), step.stepper(target), step.coupled(target), new_progress()
    make_coupled_steps(target.hooks, pair, stepper, coupled, random, progress, 2000)
    assert met(pair)
    assert naive.canonical(pair.x.labels.tolist()) == naive.canonical(pair.y.labels.tolist())
    assert pair.model_x.hyperparameters.tolist() == pair.model_y.hyperparameters.tolist()
    for t in range(3 if JIT_DISABLED else 60):
        pair.y.sums[:] *= 1.0 + 1e-13  # drift
        before = progress[0]
        one_step(target.hooks, pair, stepper, coupled, random, progress)
        assert progress[0] == before + 1
        assert met(pair), t


@pytest.mark.plain
def test_equal_partitions_with_different_numbers_have_not_met():
    case = small_hyperparameters.spherical()
    start = case.target.model.hyperparameters
    pair = two_chains(case, (LABELS[0], LABELS[0]), (start, start * (1.0 + 2.0**-52)))
    assert pair.distance[0] == 0
    assert not met(pair)
