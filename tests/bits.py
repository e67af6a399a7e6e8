"""Runs of every kind, small ones: what they come to is kept in ``bits.json`` and must not change.

``python tests/bits.py`` writes the file anew. That is right only where a change of the numbers is meant, and then the
changelog says so.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import copartition as cp
import small

FILE = Path(__file__).with_name("bits.json")
RNG_DATA = np.random.default_rng(11)
PLANE = np.concatenate(
    [RNG_DATA.normal(-2, 1, (25, 2)), RNG_DATA.normal(2, 1, (20, 2)), RNG_DATA.normal(0, 1, (15, 2))]
)


def plane():
    """A posterior with clusters that overlap."""
    return cp.Mixture(PLANE, cp.Gaussian(noise_sd=1.0, mean_sd=2.5), cp.DirichletProcess(0.8))


def anisotropic():
    """The same points under a model with full covariances."""
    component = cp.Gaussian(noise_cov=small.NOISE, mean_cov=4 * small.SPREAD, mean=0.2)
    return cp.Mixture(PLANE, component, cp.DirichletProcess(0.8))


def ring():
    """Colourings of a ring with chords."""
    edges = [(i, (i + 1) % 20) for i in range(20)] + [(i, (i + 5) % 20) for i in range(0, 20, 2)]
    return cp.GraphColoring(edges, colors=5)


def kinds():
    """The posterior with clusters that overlap, of points of two kinds."""
    every_third = [i % 3 == 0 for i in range(60)]
    return cp.Mixture(PLANE, cp.Gaussian(noise_sd=1.0, mean_sd=2.5), cp.DirichletProcess(0.8), kinds=every_third)


def club():
    """The blocks of a small network with parallel edges, a self-loop and two vertices whose blocks are known."""
    edges = [(i, (i * i + 1) % 30) for i in range(30)] + [(i, (i + 3) % 15 + 15 * (i // 15)) for i in range(30)]
    known = [0 if i == 4 else 1 if i == 20 else -1 for i in range(30)]
    return cp.BlockModel([*edges, (2, 2)], rate=2.0, known=known)


def first_and_last(labels):
    """A functional in Python: whether the first and the last point are together, and the number of clusters."""
    return [labels[0] == labels[-1], labels.max() + 1]


SHORT = {"burn_in": 5, "min_sweeps": 30, "lag": 4, "replicates": 12, "seed": 3}


def estimates():
    """All couplings, targets, starts, caps and kinds of functionals."""
    for name in small.COUPLINGS:
        for make in (plane, ring):
            coupling = small.COUPLINGS[name]
            yield f"{make.__name__} {name}", make(), cp.largest_clusters(3), {"coupling": coupling, "max_sweeps": 400}
    yield "anisotropic", anisotropic(), [cp.n_clusters(), cp.co_clustering([0, 7, 30])], {}
    yield "default", plane(), cp.n_clusters(), {}
    yield "bernoulli", small.bernoulli()[0], cp.co_clustering(), {"coupling": "path", "split_merge": 3}
    yield "density", plane(), cp.predictive_density(PLANE[:5] + 0.3), {"split_merge": 2}
    yield "python", plane(), cp.functional(first_and_last, size=2), {"split_merge": 1}
    yield "distances", plane(), cp.functionals.distance_to([[0] * 60, list(range(60))]), {"coupling": "matched"}
    for init in ("singletons", "prior", "sequential", cp.Start("one_cluster", sweeps=3, split_merge=4)):
        yield f"start {init}", plane(), cp.n_clusters(), {"init": init, "split_merge": 2}
    yield "nugget", plane(), cp.n_clusters(), {"coupling": cp.Transport(nugget=0.05)}
    yield "network", club(), [cp.n_clusters(), cp.functionals.edge_probability([(4, 20)])], {}
    yield "network, transport", club(), cp.n_clusters(), {"coupling": "transport", "split_merge": 2}
    yield "kinds", kinds(), cp.n_clusters(), {"step": cp.Step(joint_updates=2)}
    yield "lag of 1", plane(), cp.n_clusters(), {"lag": 1, "coupling": "transport"}


def runs():
    """Return the numbers of all runs, by name."""
    found = {}
    for name, target, functional, arguments in estimates():
        e = cp.estimate(target, functional, **(SHORT | arguments))
        found[f"estimate, {name}"] = {
            "values": e.values.tolist(),
            "meeting_times": e.meeting_times.tolist(),
            "sweeps": e.sweeps.tolist(),
        }
    for name, target in (("plane", plane()), ("ring", ring())):
        for coupling in (None, "transport", "maximal"):
            m = cp.meeting_times(target, replicates=8, coupling=coupling, lag=6, max_sweeps=60, trace=True, seed=2)
            found[f"meeting_times, {name} {coupling}"] = {
                "meeting_times": m.meeting_times.tolist(),
                "met": m.met.tolist(),
                "traces": [trace.tolist() for trace in m.traces],
            }
    v = cp.asymptotic_variance(plane(), cp.n_clusters(), atoms=8, **SHORT)
    found["asymptotic_variance"] = {"values": v.values.tolist(), "sweeps": v.sweeps.tolist()}
    s = cp.sample(plane(), cp.largest_clusters(2), sweeps=70, burn_in=10, chains=2, seed=4)
    found["sample"] = {"draws": s.draws.tolist()}
    s = cp.sample(plane(), cp.functional(first_and_last, size=2), sweeps=20, burn_in=3, chains=2, seed=4)
    found["sample in Python"] = {"draws": s.draws.tolist()}
    short = {key: SHORT[key] for key in ("burn_in", "min_sweeps", "lag", "seed")}
    e = cp.estimate_within(plane(), cp.n_clusters(), workers=5, deadline=cp.Sweeps(200), **short)
    found["estimate_within"] = {"values": e.values.tolist(), "completed": e.completed.tolist()}
    # Averages of ordinary chains of 50 sweeps, under the name of the function that once gave them.
    s = cp.sample(plane(), cp.n_clusters(), sweeps=45, burn_in=5, chains=3, seed=1)
    found["sample_within"] = {"values": s.draws.mean(axis=1).tolist(), "sweeps": [s.burn_in + s.sweeps] * 3}
    t = cp.tune(plane(), [cp.n_clusters(), cp.predictive_density(PLANE[:3])], pairs=100, seed=5)
    found["tune"] = {
        "settings": [t.lag, t.burn_in, t.min_sweeps, t.split_merge],
        "meeting_times": t.pilot.meeting_times.tolist(),
        "variance": t.variance.tolist(),
    }
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(runs(), indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
