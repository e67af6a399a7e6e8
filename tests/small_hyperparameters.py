"""Targets of five points with unknown hyperparameters, each with densities of data and numbers written down anew."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

import copartition as cp
import naive
from small import DATA_1D, DATA_2D, GAPS, NOISE, SPREAD, TABLE

ALPHA = 0.9


class Case(NamedTuple):
    """A target, the log density of the data given labels and numbers, and that of the numbers on no grid."""

    target: Any
    log_data: Any
    log_prior: Any
    partition_prior: Any = None

    def log_partition(self, labels, hyperparameters):
        prior = self.partition_prior or (lambda labels, hyperparameters: naive.process(labels, ALPHA))
        return np.log(prior(labels, hyperparameters))

    def log_joint(self, labels, hyperparameters):
        """Of labels and numbers; numbers on a grid have their prior weights."""
        total = (
            self.log_partition(labels, hyperparameters)
            + self.log_data(labels, hyperparameters)
            + self.log_prior(hyperparameters)
        )
        first = 0
        for group in self.target.groups:
            if isinstance(group, cp.kernels.OnGrid):
                total += group.log_prior[list(group.values).index(hyperparameters[first])]
            first += len(group.names)
        return total


def of_columns(data, columns):
    """The log density of all data whose columns are independent, `columns(numbers)` being functions of their cells."""

    def log_data(labels, hyperparameters):
        log_cluster = naive.independent_columns(data, columns(hyperparameters))
        return sum(log_cluster(members) for members in naive.clusters(labels))

    return log_data


def tied_column(variance, kappa, mean):
    return partial(naive.known_column, noise_sd=variance**0.5, mean_sd=(variance / kappa) ** 0.5, mean=mean)


def of_rows(data, parameters):
    """The log density of rows around cluster means: `parameters(numbers)` are mean, kappa and covariance."""

    def log_data(labels, hyperparameters):
        mean, kappa, covariance = parameters(hyperparameters)
        total = 0.0
        for members in naive.clusters(labels):
            x = data[sorted(members)]
            n = len(x)
            joint = np.kron(np.eye(n) + np.ones((n, n)) / kappa, covariance)
            total += naive.log_normal_density(x.ravel(), np.tile(mean, n), joint)
        return total

    return log_data


def matrix(entries):
    full = np.array([[entries[0], entries[1]], [entries[1], entries[2]]])
    return full


inverse_gamma, gamma, normal = (getattr(scipy.stats, name) for name in ("invgamma", "gamma", "norm"))
PRIOR = cp.DirichletProcess(ALPHA)


def scalar_target():
    """A target without unknown hyperparameters."""
    return cp.Mixture(DATA_1D, cp.Gaussian(noise_sd=0.8, mean_sd=1.7), PRIOR)


def spherical():
    target = cp.Mixture(DATA_1D, cp.TiedGaussian("spherical", mean=0.3, mean_weight=0.4, shape=2.0, scale=0.9), PRIOR)
    log_data = of_columns(DATA_1D[:, None], lambda v: [tied_column(v[0], 0.4, 0.3)])
    return Case(target, log_data, lambda v: inverse_gamma(2.0, scale=0.9).logpdf(v[0]))


def diagonal_gaps():
    component = cp.TiedGaussian("diagonal", mean=0.2, mean_weight=0.5, shape=1.4, scale=[0.7, 1.1])
    log_data = of_columns(GAPS, lambda v: [tied_column(v[j], 0.5, 0.2) for j in range(2)])
    log_prior = lambda v: sum(inverse_gamma(1.4, scale=b).logpdf(x) for x, b in zip(v, (0.7, 1.1), strict=True))  # noqa: E731
    return Case(cp.Mixture(GAPS, component, PRIOR), log_data, log_prior)


def full():
    component = cp.TiedGaussian("full", mean=[0.3, -0.2], mean_weight=0.4, degrees_of_freedom=3.7, scale=SPREAD)
    log_data = of_rows(DATA_2D, lambda v: (np.array([0.3, -0.2]), 0.4, matrix(v)))
    return Case(
        cp.Mixture(DATA_2D, component, PRIOR), log_data, lambda v: scipy.stats.invwishart(3.7, SPREAD).logpdf(matrix(v))
    )


def spherical_all():
    component = cp.TiedGaussian(
        "spherical", mean=cp.Normal([0.1, -0.3], [1.0, 2.0]), mean_weight=cp.LogUniform(0.1, 3.0), scale=cp.Gamma(2, 3)
    )  # numbers: mean_weight, scale, two means, variance; shape 1.5
    log_data = of_columns(DATA_2D, lambda v: [tied_column(v[4], v[0], v[2 + j]) for j in range(2)])

    def log_prior(v):
        means = normal([0.1, -0.3], [1.0, 2.0]).logpdf(v[2:4]).sum()
        return gamma(2.0, scale=1 / 3).logpdf(v[1]) + means + inverse_gamma(1.5, scale=v[1]).logpdf(v[4])

    return Case(cp.Mixture(DATA_2D, component, PRIOR), log_data, log_prior)


def diagonal_scale():
    component = cp.TiedGaussian("diagonal", mean=0.1, mean_weight=0.7, shape=2.0, scale=cp.Gamma(2, 3))
    log_data = of_columns(DATA_2D, lambda v: [tied_column(v[1 + j], 0.7, 0.1) for j in range(2)])

    def log_prior(v):
        return gamma(2.0, scale=1 / 3).logpdf(v[0]) + inverse_gamma(2.0, scale=v[0]).logpdf(v[1:]).sum()

    return Case(cp.Mixture(DATA_2D, component, PRIOR), log_data, log_prior)


def full_all():
    component = cp.TiedGaussian(
        "full",
        mean=cp.Normal([0.1, -0.3], [1.0, 2.0]),
        mean_weight=cp.Gamma(2, 3),
        degrees_of_freedom=4.0,
        scale=cp.InverseGamma(3, 2),
    )  # numbers: mean_weight, scale (a factor of the covariance of the data), two means, the covariance
    covariance = np.cov(DATA_2D.T)
    log_data = of_rows(DATA_2D, lambda v: (v[2:4], v[0], matrix(v[4:])))

    def log_prior(v):
        means = normal([0.1, -0.3], [1.0, 2.0]).logpdf(v[2:4]).sum()
        return means + scipy.stats.invwishart(4.0, v[1] * covariance).logpdf(matrix(v[4:]))

    return Case(cp.Mixture(DATA_2D, component, PRIOR), log_data, log_prior)


def gaussian_all():
    component = cp.Gaussian(
        noise_sd=cp.LogUniform(0.3, 2.0), mean_sd=cp.Gamma(3, 1), mean=cp.Normal([0.1, -0.3], [1.0, 2.0])
    )  # numbers: mean_sd, two means, noise_sd
    columns = lambda v: [partial(naive.known_column, noise_sd=v[3], mean_sd=v[0], mean=v[1 + j]) for j in range(2)]  # noqa: E731
    log_prior = lambda v: normal([0.1, -0.3], [1.0, 2.0]).logpdf(v[1:3]).sum()  # noqa: E731
    return Case(cp.Mixture(DATA_2D, component, PRIOR), of_columns(DATA_2D, columns), log_prior)


def gaussian_gaps():
    component = cp.Gaussian(noise_sd=[0.8, 1.5], mean_sd=cp.LogUniform(0.2, 9.0), mean=0.2)
    columns = lambda v: [partial(naive.known_column, noise_sd=s, mean_sd=v[0], mean=0.2) for s in (0.8, 1.5)]  # noqa: E731
    return Case(cp.Mixture(GAPS, component, PRIOR), of_columns(GAPS, columns), lambda v: 0.0)


def gamma_all():
    component = cp.NormalInverseGamma(
        mean=cp.Normal([0.1, -0.3], [1.0, 2.0]), mean_weight=cp.LogUniform(0.1, 3.0), shape=1.7, scale=cp.Gamma(2, 3)
    )  # numbers: mean_weight, scale, two means
    columns = lambda v: [  # noqa: E731
        partial(naive.gamma_column, mean=v[2 + j], weight=v[0], shape=1.7, scale=v[1]) for j in range(2)
    ]
    return Case(cp.Mixture(GAPS, component, PRIOR), of_columns(GAPS, columns), lambda v: 0.0)


def gamma_scale(data=DATA_1D):
    component = cp.NormalInverseGamma(mean=0.2, mean_weight=0.5, shape=2.0, scale=cp.InverseGamma(2, 1))
    columns = lambda v: [partial(naive.gamma_column, mean=0.2, weight=0.5, shape=2.0, scale=v[0])]  # noqa: E731
    return Case(cp.Mixture(data, component, PRIOR), of_columns(data[:, None], columns), lambda v: 0.0)


def wishart_all():
    component = cp.NormalInverseWishart(
        mean=cp.Normal([0.1, -0.3], [1.0, 2.0]),
        mean_weight=cp.LogUniform(0.1, 3.0),
        degrees_of_freedom=3.7,
        scale=cp.Gamma(2, 3),
    )  # numbers: mean_weight, scale (a factor of the covariance of the data), two means
    covariance = np.cov(DATA_2D.T)

    def log_data(labels, v):
        log_cluster = naive.wishart_cluster(DATA_2D, np.array(v[2:4]), v[0], 3.7, v[1] * covariance)
        return sum(log_cluster(members) for members in naive.clusters(labels))

    return Case(cp.Mixture(DATA_2D, component, PRIOR), log_data, lambda v: 0.0)


def discount(data=DATA_1D):
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3), cp.PitmanYor(0.6, cp.Beta(1, 3)))
    columns = lambda v: [partial(naive.known_column, noise_sd=0.8, mean_sd=1.7, mean=0.3)]  # noqa: E731
    prior = lambda labels, v: naive.process(labels, 0.6, v[0])  # noqa: E731
    return Case(target, of_columns(data[:, None], columns), lambda v: 0.0, prior)


def mixed():
    parts = [
        ([0, 1], cp.TiedGaussian("full", 0.1, 0.5, degrees_of_freedom=2.6, scale=NOISE)),
        (2, cp.NormalInverseGamma(0.0, 0.4, 1.2, cp.LogUniform(0.2, 3.0))),
        (3, cp.Categorical(0.8)),
    ]  # numbers: the covariance, scale
    rows = np.array([row[:2] for row in TABLE])
    of_numbers = of_rows(rows, lambda v: (np.full(2, 0.1), 0.5, matrix(v)))

    def log_data(labels, v):
        columns = [
            partial(naive.gamma_column, mean=0.0, weight=0.4, shape=1.2, scale=v[3]),
            partial(naive.categorical_column, concentration=0.8, categories=3),
        ]
        log_cluster = naive.independent_columns([row[2:4] for row in TABLE], columns)
        return of_numbers(labels, v[:3]) + sum(log_cluster(members) for members in naive.clusters(labels))

    target = cp.Mixture([row[:4] for row in TABLE], cp.Columns(parts), PRIOR)
    return Case(target, log_data, lambda v: scipy.stats.invwishart(2.6, NOISE).logpdf(matrix(v)))


def gaussian_mean():
    component = cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=cp.Normal(0.3, 1.1))
    columns = lambda v: [partial(naive.known_column, noise_sd=0.8, mean_sd=1.7, mean=v[0])]  # noqa: E731
    log_data = of_columns(DATA_1D[:, None], columns)
    return Case(cp.Mixture(DATA_1D, component, PRIOR), log_data, lambda v: normal(0.3, 1.1).logpdf(v[0]))


# --- expectations with the numbers integrated out --------------------------------------------------------------------


def of_spherical(labels):
    """Log probability of a partition and the data, up to a constant, and the expected variance given it."""
    x, kappa, m = DATA_1D, 0.4, 0.3
    shape, scale = 2.0 + 2.5, 0.9
    total = np.log(naive.process(labels, ALPHA))
    for members in naive.clusters(labels):
        cells, n = x[sorted(members)], len(members)
        total += 0.5 * np.log(kappa / (kappa + n))
        scale += 0.5 * np.sum((cells - cells.mean()) ** 2) + 0.5 * kappa * n / (kappa + n) * (cells.mean() - m) ** 2
    return total - shape * np.log(scale), np.array([scale / (shape - 1.0)])


def of_full(labels):
    """The same for the full covariance."""
    x, kappa, m, degrees, scale = DATA_2D, 0.4, np.array([0.3, -0.2]), 3.7 + 5, SPREAD.copy()
    total = np.log(naive.process(labels, ALPHA))
    for members in naive.clusters(labels):
        rows, n = x[sorted(members)], len(members)
        centre = rows.mean(axis=0)
        total += np.log(kappa / (kappa + n))
        scale += (rows - centre).T @ (rows - centre) + kappa * n / (kappa + n) * np.outer(centre - m, centre - m)
    return total - 0.5 * degrees * np.linalg.slogdet(scale)[1], (scale / (degrees - 3.0))[np.tril_indices(2)]


def by_sum(case, values, log_weights):
    """The same for one number, by a sum over its values, which are dense or those of a grid."""

    def of_labels(labels):
        logs = np.array([case.log_partition(labels, [v]) + case.log_data(labels, [v]) for v in values]) + log_weights
        weights = np.exp(logs - logs.max())
        return logs.max() + np.log(weights.sum()), np.array([weights @ values / weights.sum()])

    return of_labels


def integrated(name):
    """Return a case, its partitions of five points, their probabilities, and the expected numbers given each."""
    case = CASES[name]()
    if name == "gaussian_mean":
        values = np.linspace(-6.0, 6.6, 121)
        of_labels = by_sum(case, values, normal(0.3, 1.1).logpdf(values))
    elif name in ("spherical", "full"):
        of_labels = {"spherical": of_spherical, "full": of_full}[name]
    else:
        (group,) = case.target.groups
        of_labels = by_sum(case, group.values, group.log_prior)
    states = naive.all_partitions(5)
    logs, means = zip(*[of_labels(labels) for labels in states], strict=True)
    weights = np.exp(np.array(logs) - max(logs))
    return case, states, weights / weights.sum(), np.array(means)


CASES = {
    f.__name__: f
    for f in (
        spherical,
        diagonal_gaps,
        full,
        spherical_all,
        diagonal_scale,
        full_all,
        gaussian_all,
        gaussian_gaps,
        gaussian_mean,
        gamma_all,
        gamma_scale,
        wishart_all,
        discount,
        mixed,
    )
}
