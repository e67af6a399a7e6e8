"""Targets of at most five points, each with the density of its law written down independently."""

from __future__ import annotations

import numpy as np

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


TARGETS = {f.__name__: f for f in (scalar, diagonal, full, proportional, coloring, bernoulli)}
COUPLINGS = {
    "independent": cp.Independent(),
    "common": cp.Common(),
    "maximal": cp.Maximal(),
    "transport": cp.Transport(),
    "transport_vi": cp.Transport(metric="vi"),
    "matched": cp.Matched(),
    "path": cp.Path(reach=5),  # whole sweeps from everywhere
    "path_transport": cp.Path(reach=5, base="transport"),
}
