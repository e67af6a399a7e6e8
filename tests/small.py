"""Targets of at most five points, each with the density of its distribution written down independently."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import scipy.stats

import copartition as cp
import naive
from bernoulli import Bernoulli

RNG = np.random.default_rng(7)
DATA_1D = np.array([-1.3, -0.4, 0.2, 1.1, 2.6])
DATA_2D = RNG.normal(0, 2, (5, 2))
NOISE = np.array([[1.0, 0.4], [0.4, 0.7]])
SPREAD = np.array([[2.0, -0.6], [-0.6, 1.5]])
EDGES = [(0, 1), (1, 2), (2, 3), (3, 4)]
YES_NO = RNG.integers(0, 2, (5, 3)).astype(float)
NAN = float("nan")
GAPS = np.array([[-0.8, NAN], [1.4, 0.3], [NAN, -0.5], [0.9, 2.2], [-1.1, 1.6]])
GAUSSIAN = cp.Gaussian(noise_sd=1.0, mean_sd=2.0)
N_COMPONENTS = scipy.stats.geom(0.3)
TABLE = [  # two numbers that vary together, one that may be missing, a category, a count, a yes or no
    [-0.7, 0.2, 1.3, "a", 2, True],
    [0.4, 1.1, None, "b", 0, None],
    [1.9, 1.5, 0.2, "a", 5, False],
    [-0.2, -0.9, None, None, 1, True],
    [0.8, -0.3, -1.4, "c", None, False],
]


def scalar():
    target = cp.Mixture(DATA_1D, cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3), cp.DirichletProcess(0.9))
    return target, naive.GaussianMixture(DATA_1D[:, None], np.eye(1) * 0.64, np.eye(1) * 1.7**2, np.array([0.3]), 0.9)


def diagonal():
    component = cp.Gaussian(noise_sd=[0.8, 1.5], mean_sd=[1.7, 0.9], mean=[0.3, -0.2])
    density = naive.GaussianMixture(DATA_2D, np.diag([0.64, 2.25]), np.diag([1.7**2, 0.81]), np.array([0.3, -0.2]), 1.4)
    return cp.Mixture(DATA_2D, component, cp.DirichletProcess(1.4)), density


def full():
    component = cp.Gaussian(noise_cov=NOISE, mean_cov=SPREAD, mean=0.5)
    density = naive.GaussianMixture(DATA_2D, NOISE, SPREAD, np.array([0.5, 0.5]), 0.7)
    return cp.Mixture(DATA_2D, component, cp.DirichletProcess(0.7)), density


def proportional():
    component = cp.Gaussian(noise_cov=NOISE, mean_cov=3.0 * NOISE)
    density = naive.GaussianMixture(DATA_2D, NOISE, 3.0 * NOISE, np.zeros(2), 0.7)
    return cp.Mixture(DATA_2D, component, cp.DirichletProcess(0.7)), density


def coloring():
    return cp.GraphColoring(EDGES, colors=4), naive.Coloring(EDGES, 4)


def bernoulli():
    target = cp.Mixture(YES_NO, Bernoulli(0.5, 1.5), cp.DirichletProcess(1.1))
    return target, naive.Bernoulli(YES_NO, 0.5, 1.5, 1.1)


def wishart():
    component = cp.NormalInverseWishart(mean=[0.3, -0.2], mean_weight=0.4, degrees_of_freedom=3.7, scale=SPREAD)
    log_cluster = naive.wishart_cluster(DATA_2D, np.array([0.3, -0.2]), 0.4, 3.7, SPREAD)
    density = naive.Mixture(log_cluster, lambda labels: naive.process(labels, 0.9))
    return cp.Mixture(DATA_2D, component, cp.DirichletProcess(0.9)), density


def gaps():
    component = cp.NormalInverseGamma(mean=0.2, mean_weight=[0.3, 0.6], shape=[1.4, 2.0], scale=0.7)
    columns = [partial(naive.gamma_column, mean=0.2, weight=w, shape=a, scale=0.7) for w, a in ((0.3, 1.4), (0.6, 2.0))]
    prior = partial(naive.process, alpha=0.6, discount=0.25)
    density = naive.Mixture(naive.independent_columns(GAPS, columns), prior, less=0.25)
    return cp.Mixture(GAPS, component, cp.PitmanYor(0.6, 0.25)), density


def mixed():
    parts = [
        ([0, 1], cp.NormalInverseWishart(0.1, 0.5, 2.6, NOISE)),
        (2, cp.NormalInverseGamma(0.0, 0.4, 1.2, 0.9)),
        (3, cp.Categorical(0.8)),
        (4, cp.Poisson(1.3, 0.6)),
        (5, cp.Bernoulli(0.7, 0.9)),
    ]
    numbers = np.array([row[:2] for row in TABLE])
    columns = [
        partial(naive.gamma_column, mean=0.0, weight=0.4, shape=1.2, scale=0.9),
        partial(naive.categorical_column, concentration=0.8, categories=3),
        partial(naive.poisson_column, shape=1.3, rate=0.6),
        partial(naive.bernoulli_column, a=0.7, b=0.9),
    ]
    log_cluster = naive.independent_parts(
        naive.wishart_cluster(numbers, np.full(2, 0.1), 0.5, 2.6, NOISE),
        naive.independent_columns([row[2:] for row in TABLE], columns),
    )
    target = cp.Mixture(TABLE, cp.Columns(parts), cp.MixtureOfFiniteMixtures(0.8, N_COMPONENTS))
    return target, naive.Mixture(log_cluster, lambda labels: of_sizes(naive.sizes(labels)), less=-0.8)


@cache
def of_sizes(sizes):
    """Probability of a partition with these cluster sizes under the prior of the mixed table."""
    return naive.mixture_of_finite_mixtures(np.repeat(range(len(sizes)), sizes), 0.8, N_COMPONENTS, most=150)


TARGETS = {f.__name__: f for f in (scalar, diagonal, full, proportional, coloring, bernoulli, wishart, gaps, mixed)}
COUPLINGS = {
    "independent": cp.couplings.Independent(),
    "common": cp.couplings.Common(),
    "maximal": cp.couplings.Maximal(),
    "transport": cp.Transport(),
    "transport_vi": cp.Transport(metric="vi"),
    "matched": cp.couplings.Matched(),
    "path": cp.couplings.Path(reach=5),  # whole sweeps from everywhere
    "path_transport": cp.couplings.Path(reach=5, base="transport"),
}
