"""Unknown hyperparameters: the cost of drawing them, in shares of a sweep, and how much later pairs meet."""

from __future__ import annotations

import copy
import time

import numpy as np

import copartition as cp
from copartition.chains.chain import advance_chain
from copartition.chains.start import check_start, start_chain
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.datasets import galaxies
from report import Report

SECTION = "Unknown hyperparameters"
PRIOR = cp.DirichletProcess(1.0)
WEIGHT, SCALE = cp.LogUniform(0.001, 1), cp.Gamma(2, 2)
ROUNDS = 40  # in all: the number of clusters, on which a sweep depends, changes on the way
PAIRS = 400


def clusters_in_ten_columns() -> np.ndarray:
    """Return 2,000 points around six means in ten columns."""
    rng = np.random.default_rng(1)
    means = rng.normal(0, 4, (6, 10))
    return means[rng.integers(0, 6, 2000)] + rng.normal(0, 1, (2000, 10))


def components(mean: cp.Normal) -> dict[str, cp.kernels.Component]:
    """Return components with unknown hyperparameters."""
    return {
        "Gaussian, mean and mean_sd": cp.Gaussian(noise_sd=1.0, mean_sd=cp.LogUniform(0.5, 50), mean=mean),
        "TiedGaussian spherical": cp.TiedGaussian("spherical", mean_weight=0.04, scale=1.0),
        "TiedGaussian diagonal": cp.TiedGaussian("diagonal", mean_weight=0.04, scale=1.0),
        "TiedGaussian full": cp.TiedGaussian("full", mean_weight=0.04),
        "NormalInverseGamma, scale": cp.NormalInverseGamma(scale=SCALE),
        "NormalInverseGamma, all": cp.NormalInverseGamma(mean=mean, mean_weight=WEIGHT, scale=SCALE),
        "NormalInverseWishart, scale": cp.NormalInverseWishart(scale=SCALE),
        "NormalInverseWishart, all": cp.NormalInverseWishart(mean=mean, mean_weight=WEIGHT, scale=SCALE),
    }


def without_draws(target: cp.Target) -> cp.Target:
    """Return a target of a chain whose numbers stay where they are."""
    other = copy.copy(target)
    unknown = target.model.unknown._replace(groups=np.zeros((0, 4), dtype=np.int64))
    other.model = target.model._replace(hyperparameters=np.zeros(0), unknown=unknown)
    other.groups = ()
    return other


def seconds_of_sweeps(target: cp.Target, sweeps: int) -> tuple[float, float]:
    """Return the seconds of a sweep without draws and with them, on average over rounds, taking turns."""
    own, random = target.of_chain(), stream(1, 1)
    chain = start_chain(own, check_start(own, None), random)
    chain = advance_chain(own, BoundStep(cp.Step(cp.couplings.Independent(), 3)), chain, random, 200)
    both = (without_draws(own), own)
    total = [0.0, 0.0]
    for _ in range(ROUNDS):
        for i, one in enumerate(both):
            stepper = BoundStep().stepper(one)
            begin = time.process_time()
            chain = advance_chain(one, stepper, chain, random, sweeps)
            total[i] += time.process_time() - begin
    return total[0] / (ROUNDS * sweeps), total[1] / (ROUNDS * sweeps)


def coupled_sweeps(target: cp.Target) -> tuple[float, float]:
    """Return mean and 99 % of the coupled sweeps that pairs take to meet."""
    m = cp.meeting_times(target, replicates=PAIRS, lag=100, max_sweeps=20_000, seed=1)
    sweeps = m.meeting_times - m.lag
    return float(sweeps.mean()), float(np.quantile(sweeps, 0.99))


def measure(report: Report) -> None:
    """Measure costs of draws, and meeting times on the galaxies."""
    tables = {
        "galaxies": (galaxies(), cp.Normal(20, 10), 2000),
        "2000 x 10": (clusters_in_ten_columns(), cp.Normal(0, 5), 100),
    }
    for name, (data, mean, sweeps) in tables.items():
        for what, component in components(mean).items():
            bare, drawn = seconds_of_sweeps(cp.Mixture(data, component, PRIOR), sweeps)
            measured = f"{100 * (drawn / bare - 1):.0f} % of a sweep of {1e6 * bare:.1f} us"
            report.add(SECTION, f"draws, {name}, {what}", measured, "10 %")
    data = galaxies()
    mean, unknown_mean = float(data.mean()), cp.Normal(20.8, 10)
    pairs = {
        "mean and scale of the base measure": (
            cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=20.8),
            cp.Gaussian(noise_sd=1.0, mean_sd=cp.LogUniform(0.5, 50), mean=unknown_mean),
            "1.1x",
        ),
        "the common variance": (
            cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=mean),
            cp.TiedGaussian("spherical", mean_weight=0.04, shape=2, scale=1.0),
            "2.5x",
        ),
    }
    for what, (known, unknown, goal) in pairs.items():
        (a, a99), (b, b99) = (coupled_sweeps(cp.Mixture(data, one, PRIOR)) for one in (known, unknown))
        report.add(
            SECTION, f"pairs, galaxies, {what} unknown", f"{b:.1f} / {b99:.0f}, {b / a:.2f}x {a:.1f} / {a99:.0f}", goal
        )
