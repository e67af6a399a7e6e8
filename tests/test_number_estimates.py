"""Estimates with unknown numbers against exact expectations, and broken versions that must fail."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import naive
import small
import small_numbers
from copartition.chains.step import Step
from copartition.core.compiling import kernel, member
from copartition.core.numbers import renew_all
from copartition.core.state import MODEL_X, MODEL_Y, PLACE, STEPS, X, Y, step_pair_signature
from copartition.core.status import DONE
from copartition.core.sweeps import sweep_pair
from test_estimator import job_for, run

EXACT = ("spherical", "full", "gaussian_mean", "gaussian_gaps", "gamma_scale", "discount")
REPLICATES = 20_000


def functionals():
    return [cp.n_clusters(), cp.co_clustering([0, 1, 4]), cp.hyperparameters()]


def expected(name):
    """The exact expectations of these functionals."""
    case, states, law, means = small_numbers.integrated(name)
    together = [[state[i] == state[j] for i, j in ((0, 1), (0, 4), (1, 4))] for state in states]
    values = np.column_stack([[max(state) + 1 for state in states], together, means])
    return case.target, law @ values


def deviation(values, exact):
    """By how many standard errors an estimate is off, at most."""
    return np.abs((values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))).max()


@pytest.mark.compiled
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(("coupling", "lag", "moves"), [("path", 3, 2), ("transport", 1, 0), ("common", 7, 0)])
def test_estimates_are_exact(name, coupling, lag, moves):
    """20,000 replicates; 4.5 standard errors of seven components at most: false alarm 5e-5 a case, 1e-3 in all."""
    target, exact = expected(name)
    target, bound = cp.functionals.bind_all(target, functionals())
    job = job_for(target, bound, Step(moves, small.COUPLINGS[coupling]), (3, 12, lag), "prior")
    assert deviation(run(job, REPLICATES).values, exact) < 4.5


@pytest.mark.compiled
def test_ordinary_chains_have_the_same_expectations():
    """False alarm 1e-4."""
    target, exact = expected("full")
    s = cp.sample(target, cp.hyperparameters(), sweeps=40_000, burn_in=100, chains=4, seed=2)
    assert np.abs((s.mean - exact[4:]) / s.stderr).max() < 4.5


# --- broken versions -------------------------------------------------------------------------------------------------


@kernel(step_pair_signature)
def numbers_of_one_partition(model, law, pair, moves, rule, random, progress):
    """Draw the numbers of both chains before the sweep, from the partition of x."""
    x, y, model_x, model_y = member(pair, X), member(pair, Y), member(pair, MODEL_X), member(pair, MODEL_Y)
    law[0].draw_numbers(model_x, x, 0, random)
    model_y[0].numbers[0] = model_x[0].numbers[0]
    renew_all(model_x, law, x)
    renew_all(model_y, law, y)
    progress[PLACE] = 0
    sweep_pair(model, law, pair, x, y, rule, random, progress)
    progress[STEPS] += 1
    progress[PLACE] = 0
    return DONE


@kernel(step_pair_signature)
def close_is_met(model, law, pair, moves, rule, random, progress):
    """Make a step, and let chains that have the same partition meet if their numbers are close."""
    x, y, model_x, model_y = member(pair, X), member(pair, Y), member(pair, MODEL_X), member(pair, MODEL_Y)
    progress[PLACE] = 0
    sweep_pair(model, law, pair, x, y, rule, random, progress)
    # Independent draws, so that numbers are seldom equal: the mistake is in what is called a meeting.
    law[0].draw_numbers(model_x, x, 0, random)
    law[0].draw_numbers(model_y, y, 0, random)
    if abs(model_x[0].numbers[0] - model_y[0].numbers[0]) < 0.5 * model_x[0].numbers[0]:
        model_y[0].numbers[0] = model_x[0].numbers[0]
    renew_all(model_x, law, x)
    renew_all(model_y, law, y)
    progress[STEPS] += 1
    progress[PLACE] = 0
    return DONE


@pytest.mark.compiled
@pytest.mark.parametrize("broken", [numbers_of_one_partition, close_is_met])
def test_broken_couplings_of_numbers_are_found_out(broken):
    target, exact = expected("spherical")
    target, bound = cp.functionals.bind_all(target, functionals())
    step = Step(0, cp.Transport(), together=broken)
    job = job_for(target, bound, step, (0, 1, 1), "one_cluster")
    assert deviation(run(job, REPLICATES).values, exact) > 6.0
    right = job_for(target, bound, Step(0, cp.Transport()), (0, 1, 1), "one_cluster")
    assert deviation(run(right, REPLICATES).values, exact) < 4.5


def test_every_executor_gives_the_same_bits():
    target = small_numbers.spherical_all().target
    settings = {"replicates": 6, "burn_in": 3, "min_sweeps": 10, "lag": 2, "seed": 5}
    found = [
        cp.estimate(target, [cp.n_clusters(), cp.hyperparameters()], executor=executor, **settings).values.tolist()
        for executor in (1, 2)
    ]
    assert found[0] == found[1]


@pytest.mark.compiled
def test_the_predictive_density_averages_over_the_numbers():
    """Against the density given partition and variance, averaged exactly; 20,000 replicates, false alarm 1e-4."""
    case, states, law, _ = small_numbers.integrated("spherical")
    x, kappa, m = small_numbers.DATA_1D, 0.4, 0.3
    point = 0.7
    exact = 0.0
    for state, probability in zip(states, law, strict=True):
        # With the point added, the closed form of the joint gives the predictive density as a ratio.
        for k in range(max(state) + 2):
            labels = (*state, k)
            weight = state.count(k) if k <= max(state) else small_numbers.ALPHA
            ratio = log_marginal(np.r_[x, point], labels, kappa, m) - log_marginal(x, state, kappa, m)
            exact += probability * weight / (5 + small_numbers.ALPHA) * np.exp(ratio)
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
