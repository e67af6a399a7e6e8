"""Runs of every kind that takes an executor, small ones, each as the arrays that it comes to."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

import copartition as cp
import small

SETTINGS = {"burn_in": 1, "min_sweeps": 6, "lag": 2, "seed": 5, "init": "prior"}
BOTH = [cp.n_clusters(), cp.largest_clusters(2)]


def target():
    return small.scalar()[0]


def estimate(executor, **more):
    e = cp.estimate(target(), BOTH, replicates=40, executor=executor, **SETTINGS, **more)
    return {"bits": [e.values, e.meeting_times, e.met, e.sweeps, e.indices], "seconds": e.seconds}


def draw(executor, **more):
    """Partitions that are kept, with corrections and an unknown hyperparameter."""
    unknown = cp.Mixture(small.DATA_1D, cp.TiedGaussian("spherical"), cp.DirichletProcess(0.9))
    d = cp.draw(
        unknown,
        BOTH,
        replicates=40,
        per_replicate=3,
        settings=None,
        executor=executor,
        **SETTINGS | {"burn_in": 0},
        **more,
    )
    return {"bits": [d.labels, d.weights, d.replicate, d.hyperparameters, d.run.values], "seconds": d.run.seconds}


def asymptotic_variance(executor, **more):
    """Pairs that begin at partitions and hyperparameters of replicates."""
    unknown = cp.Mixture(small.DATA_1D, cp.TiedGaussian("spherical"), cp.DirichletProcess(0.9))
    v = cp.asymptotic_variance(unknown, BOTH, replicates=40, atoms=5, executor=executor, **SETTINGS, **more)
    return {"bits": [v.values, v.meeting_times, v.met, v.sweeps, v.indices], "seconds": v.seconds}


def capped(executor, **more):
    """Pairs of which some do not meet, and are followed."""
    e = cp.estimate(
        target(), BOTH, replicates=40, coupling="independent", max_sweeps=6, executor=executor, **SETTINGS, **more
    )
    seen = [array for one in e.unmet for array in (one.labels, *one.course)]
    return {"bits": [e.values, e.ordinary_values, e.met, *seen], "seconds": e.seconds}


def meeting_times(executor, **more):
    m = cp.meeting_times(
        target(), replicates=40, coupling="maximal", lag=2, init="prior", trace=True, seed=9, executor=executor, **more
    )
    return {"bits": [m.meeting_times, m.met, *m.traces], "seconds": m.seconds}


def sample(executor, **more):
    s = cp.sample(
        target(),
        BOTH[1],
        sweeps=30,
        burn_in=2,
        chains=5,
        split_merge=1,
        init="prior",
        seed=4,
        executor=executor,
        **more,
    )
    return {"bits": [s.draws], "seconds": s.seconds}


def tune(executor, **more):
    t = cp.tune(target(), BOTH[1], pairs=100, init="sequential", seed=3, executor=executor, **more)
    indices = [t.lag, t.burn_in, t.min_sweeps, t.split_merge, t.pilot_sweeps, *map(astuple, t.stages)]
    return {"bits": [t.variance, t.pilot.meeting_times, *indices], "seconds": np.array([t.pilot_seconds, t.seconds])}


def estimate_within(executor, **more):
    e = cp.estimate_within(target(), BOTH, workers=12, deadline=cp.Sweeps(40), executor=executor, **SETTINGS, **more)
    return {"bits": [e.values, e.completed, e.sweeps, e.meeting_times], "seconds": e.seconds}


EVERY = (estimate, draw, asymptotic_variance, capped, meeting_times, sample, tune, estimate_within)
RUNS = {f.__name__: f for f in EVERY}
