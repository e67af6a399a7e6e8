"""Log evidences against enumeration, for every component of the small targets with every prior; and their intervals.

Parts of ``evidence/run.py``; see there.
"""

from __future__ import annotations

import numpy as np
import scipy.stats
from scipy.special import logsumexp

import copartition as cp
import naive
import small

REPLICATES = 20_000
RUNS = 300
GEOMETRIC = scipy.stats.geom(0.3)
PARTITIONS = naive.all_partitions(5)

PRIORS = {
    "Dirichlet process": (cp.DirichletProcess(0.9), lambda x: naive.process(x, 0.9)),
    "its concentration unknown": (
        cp.DirichletProcess(cp.Gamma(2, 4)),
        lambda x: naive.gamma_mean(lambda alpha: naive.process(x, alpha), 2, 4),
    ),
    "Pitman-Yor": (cp.PitmanYor(0.6, 0.25), lambda x: naive.process(x, 0.6, 0.25)),
    "mixture of finite mixtures": (
        cp.MixtureOfFiniteMixtures(0.8, GEOMETRIC),
        lambda x: naive.mixture_of_finite_mixtures(x, 0.8, GEOMETRIC, 150),
    ),
    "finite, 2 components": (cp.FiniteMixture(2, 0.6), lambda x: naive.finite_mixture(x, 2, 0.6)),
}

# A component that has met data knows their columns by name; this one is needed as it was before.
COMPONENTS = {
    "mixed": cp.Columns(
        [
            ([0, 1], cp.NormalInverseWishart(0.1, 0.5, 2.6, small.NOISE)),
            (2, cp.NormalInverseGamma(0.0, 0.4, 1.2, 0.9)),
            (3, cp.Categorical(0.8)),
            (4, cp.Poisson(1.3, 0.6)),
            (5, cp.Bernoulli(0.7, 0.9)),
        ]
    )
}
DATA = {"scalar": small.DATA_1D, "bernoulli": small.YES_NO, "gaps": small.GAPS, "mixed": small.TABLE}


def _truth(density: naive.Mixture) -> float:
    """Return the log evidence by enumeration."""
    return float(logsumexp([density.log_density(labels) for labels in PARTITIONS]))


def of_every_model() -> list[str]:
    """Five points, all components of the small targets with every kind of prior, 20,000 replicates each.

    Cells: (estimate - log evidence by enumeration) / standard error, and the standard error. Fixed before it was run:
    no cell beyond 4, which a correct program exceeds once in 400 such tables.
    """
    lines = [f"| component | {' | '.join(PRIORS)} |", "| --- " * (1 + len(PRIORS)) + "|"]
    worst = 0.0
    for name, make in small.TARGETS.items():
        if name == "coloring":
            continue
        target, density = make()
        cells = []
        for prior, probability in PRIORS.values():
            posterior = cp.Mixture(DATA.get(name, small.DATA_2D), COMPONENTS.get(name, target.component), prior)
            distribution = {x: probability(x) for x in PARTITIONS}
            truth = _truth(naive.Mixture(density.log_cluster, distribution.__getitem__))
            found = cp.log_evidence(posterior, 10.0, replicates=REPLICATES, seed=1)
            score = (found.mean - truth) / found.stderr
            worst = max(worst, abs(score))
            cells.append(f"{score:+.2f} ({found.stderr:.4f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return [*lines, "", f"The largest deviation is {worst:.2f} standard errors."]


def of_intervals() -> list[str]:
    """How often 95 % intervals of the log evidence of the target scalar hold, from the fewest replicates: 128.

    Every run has a seed, and so a pilot, of its own.
    """
    target, density = small.scalar()
    prior = logsumexp(
        [density.log_density(x) - sum(density.log_cluster(m) for m in naive.clusters(x)) for x in PARTITIONS]
    )
    truth = _truth(density) - prior
    found = [cp.log_evidence(target, 10.0, seed=seed, executor=1) for seed in range(RUNS)]
    means, errors = (np.array([getattr(one, name) for one in found]) for name in ("mean", "stderr"))
    hold = np.mean([low < truth < high for low, high in (one.interval() for one in found)])
    bias = (means.mean() - truth) / (means.std(ddof=1) / np.sqrt(RUNS))
    return [
        f"{100 * hold:.1f} % of {RUNS} intervals hold. The standard deviation of the estimates is "
        f"{means.std(ddof=1):.4f}, the root mean square of their standard errors {np.sqrt(np.mean(errors**2)):.4f}; "
        f"their mean is off by {bias:+.2f} of its standard errors."
    ]


PARTS = {
    "Log evidences of every component and prior": of_every_model,
    "Intervals of the log evidence": of_intervals,
}
