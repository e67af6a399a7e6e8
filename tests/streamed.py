"""Runs whose functionals are streamed, and what must be the same of two of them."""

from __future__ import annotations

import numpy as np

import copartition as cp
from conftest import JIT_DISABLED

COUNT = 3 if JIT_DISABLED else 60


def assert_same(e, expected):
    """To the bit."""
    assert np.array_equal(e.mean, expected.mean)
    assert np.array_equal(e.stderr, expected.stderr, equal_nan=True)
    assert np.array_equal(e.values, expected.values)
    assert np.array_equal(e.meeting_times, expected.meeting_times)
    assert np.array_equal(e.indices, expected.indices)


def planted(count):
    """Points in three clusters that do not quite part."""
    rng = np.random.default_rng(3)
    data = np.repeat([-2.0, 0.5, 3.0], -(-count // 3))[:count] + rng.normal(0, 0.8, count)
    return cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=3.0), cp.DirichletProcess(0.5))


POINTS = 150


TIMES = {"burn_in": 1, "min_sweeps": 5, "lag": 2, "seed": 5}


def wanted(points=POINTS):
    return [
        cp.n_clusters(),
        cp.memberships(np.arange(points) % 3, keep_values=False),
        cp.largest_clusters(2),
        cp.co_clustering(keep_values=False),
    ]


def run(**changes):
    return cp.estimate(planted(POINTS), wanted(), **{"replicates": COUNT, **TIMES, **changes})
