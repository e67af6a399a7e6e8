"""Densities that tests write down once more: of priors, of hyperparameters, of merges."""

from __future__ import annotations

import scipy.stats

import naive
from copartition.core.compiling import kernel
from copartition.core.hyperparameters import weigh_grid
from copartition.core.state import Chain, Hooks, Model
from copartition.core.types import float1, float64, int64
from copartition.targets.distributions import Gamma
from copartition.targets.priors import (
    DirichletProcess,
    FiniteMixture,
    MixtureOfFiniteMixtures,
    PitmanYor,
)

GEOMETRIC, SHIFTED = scipy.stats.geom(0.1), scipy.stats.poisson(3, loc=1)


FEW = scipy.stats.rv_discrete(values=([2, 4], [0.7, 0.3]))


def over_gamma(distribution, discount=0.0):
    return lambda labels: naive.gamma_mean(
        lambda a: naive.process(labels, a, discount), distribution.shape, distribution.rate
    )


PRIORS = {
    "dp": (DirichletProcess(0.7), lambda x: naive.process(x, 0.7)),
    "dp_gamma": (DirichletProcess(), over_gamma(Gamma(2, 4))),
    "dp_small": (DirichletProcess(Gamma(0.05, 1)), over_gamma(Gamma(0.05, 1))),
    "dp_large": (DirichletProcess(Gamma(500, 5)), over_gamma(Gamma(500, 5))),
    "py": (PitmanYor(0.7, 0.4), lambda x: naive.process(x, 0.7, 0.4)),
    "py_negative": (PitmanYor(-0.2, 0.4), lambda x: naive.process(x, -0.2, 0.4)),
    "py_gamma": (PitmanYor(Gamma(1.5, 2), 0.3), over_gamma(Gamma(1.5, 2), 0.3)),
    "finite": (FiniteMixture(3, 0.4), lambda x: naive.finite_mixture(x, 3, 0.4)),
    "mfm": (MixtureOfFiniteMixtures(), lambda x: naive.mixture_of_finite_mixtures(x, 1.0, scipy.stats.randint(1, 31))),
    "mfm_geometric": (
        MixtureOfFiniteMixtures(0.5, GEOMETRIC),
        lambda x: naive.mixture_of_finite_mixtures(x, 0.5, GEOMETRIC, 500),
    ),
    "mfm_poisson": (
        MixtureOfFiniteMixtures(2.0, SHIFTED),
        lambda x: naive.mixture_of_finite_mixtures(x, 2.0, SHIFTED, 100),
    ),
    "mfm_gaps": (MixtureOfFiniteMixtures(1.3, FEW), lambda x: naive.mixture_of_finite_mixtures(x, 1.3, FEW())),
}


def shape_of(labels):
    return tuple(sorted(len(c) for c in naive.clusters(labels)))


def joint_distribution(density, n):
    """The probabilities of all partitions, computed once for each list of sizes."""
    states = naive.all_partitions(n)
    known = {shape: density(state) for shape, state in {shape_of(s): s for s in states}.items()}
    return {state: known[shape_of(state)] for state in states}


@kernel(float64(Model, Hooks, Chain, int64))
def grid_distribution(model, hooks, chain, group):
    """Leave the conditional distribution of a number on a grid in its weights; return their sum."""
    return weigh_grid(model, hooks, chain, group)


@kernel(float64(Model, Hooks, Chain, int64, float1))
def density_of_draw(model, hooks, chain, group, values):
    """Return the log density of the numbers of a group."""
    return hooks.log_density_of_hyperparameters(model, chain, group, values)


@kernel(float64(Model, Hooks, Chain, int64, int64))
def log_merge_kernel(model, hooks, chain, a, b):
    return hooks.log_merge(model, chain, a, b)
