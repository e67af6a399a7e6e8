"""Small cases that several tests go through: components with their exact densities, constraints, code of pages."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import multigammaln

import copartition as cp
import naive
import naive_networks
import small
from small_networks import MULTIGRAPH

RNG = np.random.default_rng(11)


NUMBERS = RNG.normal(0, 2, (5, 24))


ANSWERS = RNG.integers(0, 2, (5, 20))


COUNTS = RNG.poisson(4, (5, 4))


WORDS = RNG.choice(["red", "green", "blue"], (5, 18)).tolist()


GRID = RNG.normal(0, 2, (3, 24))


NAN = math.nan


WITH_GAPS = np.array([[NAN, 0.3, 2.0], [1.0, 0.1, NAN], [-0.7, 0.9, NAN], [NAN, -2.0, 0.5], [0.2, 0.0, 1.5]])


def covariance(size):
    half = np.random.default_rng(size).normal(0, 1, (size, size))
    return half @ half.T + 0.5 * np.eye(size)


class Case(NamedTuple):
    """Five points, a component, the log density of a cluster of any rows, and three new rows."""

    rows: Any
    component: cp.kernels.Component
    log_cluster: Any
    grid: Any


def niw(size):
    mean, weight, degrees, scale = np.linspace(-0.5, 0.8, size), 0.3, size + 0.4, covariance(size)
    component = cp.NormalInverseWishart(mean, weight, degrees, scale)
    make = partial(naive.wishart_cluster, mean=mean, weight=weight, degrees=degrees, scale=scale)
    return Case(NUMBERS[:, :size], component, make, GRID[:, :size])


def nig():
    """Columns 0, 3 and the last ones are alike: column groups of 1, 1 and 20 columns."""
    mean = np.linspace(-1, 1, 22)
    weight, shape = np.full(22, 0.3), np.full(22, 1.7)
    weight[1], shape[2] = 2.0, 0.9
    scale = np.linspace(0.5, 3, 22)
    columns = [
        partial(naive.gamma_column, mean=m, weight=w, shape=a, scale=b)
        for m, w, a, b in zip(mean, weight, shape, scale, strict=True)
    ]
    component = cp.NormalInverseGamma(mean, weight, shape, scale)
    return Case(NUMBERS[:, :22], component, partial(naive.independent_columns, columns=columns), GRID[:, :22])


def nig_with_gaps():
    mean, weight, shape, scale = [0.2, -0.3, 0.0], [0.2, 0.7, 0.2], [1.5, 2.0, 1.5], [1.0, 0.6, 2.0]
    columns = [
        partial(naive.gamma_column, mean=m, weight=w, shape=a, scale=b)
        for m, w, a, b in zip(mean, weight, shape, scale, strict=True)
    ]
    component = cp.NormalInverseGamma(mean, weight, shape, scale)
    return Case(WITH_GAPS, component, partial(naive.independent_columns, columns=columns), GRID[:, :3])


def bernoulli():
    a, b = np.linspace(0.3, 2, 20), np.linspace(3, 0.5, 20)
    columns = [partial(naive.bernoulli_column, a=x, b=y) for x, y in zip(a, b, strict=True)]
    make = partial(naive.independent_columns, columns=columns)
    return Case(ANSWERS, cp.Bernoulli(a, b), make, ANSWERS[:3, ::-1])


def bernoulli_with_gaps():
    rows = [[1, 0, None, True], [0, 1, 1, False], [None, 1, None, False], [1, None, 0, True], [1, 0, 0, False]]
    columns = [partial(naive.bernoulli_column, a=0.6, b=1.3)] * 4
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Bernoulli(0.6, 1.3), make, [[0, 0, 1, 1], [1, 1, 1, 0], [0, 1, 0, 1]])


def categorical():
    each = np.linspace(0.2, 3, 18)
    levels = [len({row[j] for row in WORDS}) for j in range(18)]
    columns = [
        partial(naive.categorical_column, concentration=c, categories=n) for c, n in zip(each, levels, strict=True)
    ]
    make = partial(naive.independent_columns, columns=columns)
    return Case(WORDS, cp.Categorical(each), make, [WORDS[2], WORDS[0], WORDS[4]])


def categorical_with_gaps():
    rows = [["a", 3, True], ["b", 7, None], [None, 3, False], ["a", None, False], ["c", 9, True]]
    columns = [partial(naive.categorical_column, concentration=c, categories=n) for c, n in ((0.5, 3), (2, 3), (1, 2))]
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Categorical([0.5, 2.0, 1.0]), make, [["b", 9, False], ["a", 3, True], ["c", 7, True]])


def poisson():
    """Columns 0 and 2 are alike. A new count is larger than all that were seen."""
    shape, rate = [1.5, 0.4, 1.5, 1.5], [0.3, 0.3, 0.3, 2.0]
    columns = [partial(naive.poisson_column, shape=a, rate=b) for a, b in zip(shape, rate, strict=True)]
    grid = [[0, 1, 2, 3], [4, 1000, 6, 0], [900, 3, 2, 1]]
    return Case(COUNTS, cp.Poisson(shape, rate), partial(naive.independent_columns, columns=columns), grid)


def poisson_with_gaps():
    rows = [[3, NAN, 0], [4, 1, 7], [NAN, 5, 2], [0, NAN, 1], [12, 0, 3]]
    columns = [partial(naive.poisson_column, shape=1.2, rate=0.7)] * 3
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Poisson(1.2, 0.7), make, [[0, 0, 0], [3, 2, 90], [5, 1, 1]])


def known_with_gaps():
    noise, spread, mean = [0.7, 1.2, 0.9], [2.0, 0.8, 1.5], [0.1, -0.4, 0.6]
    columns = [
        partial(naive.known_column, noise_sd=a, mean_sd=b, mean=m) for a, b, m in zip(noise, spread, mean, strict=True)
    ]
    component = cp.Gaussian(noise_sd=noise, mean_sd=spread, mean=mean)
    return Case(WITH_GAPS, component, partial(naive.independent_columns, columns=columns), GRID[:, :3])


def known_wide():
    """More columns than are multiplied at a time, cells missing in some."""
    rows = np.hstack([NUMBERS, NUMBERS[:, :12] + 0.5])
    rows[1, 3] = rows[4, 33] = NAN
    columns = [partial(naive.known_column, noise_sd=0.9, mean_sd=1.1, mean=0.2)] * 36
    make = partial(naive.independent_columns, columns=columns)
    return Case(rows, cp.Gaussian(0.9, 1.1, 0.2), make, np.hstack([GRID, GRID[:, :12]]))


def mixed():
    """All kinds in one table, cells missing in some, two column groups of unknown covariances.

    One column is not used.
    """
    noise, spread = covariance(2), 2.0 * covariance(2) + np.eye(2)
    first, second = niw(2), niw(1)
    component = cp.Columns(
        [
            ([0, 1], first.component),
            (2, cp.NormalInverseGamma(0.1, 0.4, 1.1, 0.8)),
            ([7, 6], cp.Gaussian(noise_cov=noise, mean_cov=spread, mean=[0.3, -0.2])),
            (3, cp.Categorical(0.7)),
            ([4], cp.Bernoulli(0.4, 0.9)),
            (8, second.component),
            (5, cp.Poisson(1.1, 0.4)),
            (9, cp.NormalInverseGamma(0.1, 0.4, 1.1, 0.8)),
            (11, cp.Gaussian(0.8, 1.9, 0.4)),
        ]
    )
    hyperparameters = NUMBERS.tolist()
    gaps = [None, 0.3, -1.2, None, 0.8]
    words, answers, counts = ["x", "y", "x", None, "z"], [True, None, False, True, True], [3, 0, 1, None, 9]
    rows = [
        [
            *hyperparameters[n][:2],
            gaps[n],
            words[n],
            answers[n],
            counts[n],
            *hyperparameters[n][2:5],
            gaps[n - 1],
            "no use",
            gaps[n - 2],
        ]
        for n in range(5)
    ]
    return Case(
        rows,
        component,
        partial(mixed_cluster, noise=noise, spread=spread, niws=(first, second)),
        [
            [0.3, -0.2, 0.5, "y", False, 2, 1.0, 0.1, -0.6, 0.4, "no use", 0.2],
            [3.1, 0.7, -0.5, "z", True, 0, 0.1, 2.1, 1.6, 0.4, "no use", 0.9],
            [0.3, -1.2, 0.9, "x", True, 30, -1.0, 0.5, 0.6, -1.4, "no use", -0.3],
        ],
    )


def mixed_cluster(rows, noise, spread, niws):
    def hyperparameters(*columns):
        return np.array([[row[j] for j in columns] for row in rows], dtype=float)

    gamma = partial(naive.gamma_column, mean=0.1, weight=0.4, shape=1.1, scale=0.8)
    columns = {
        2: gamma,
        3: partial(naive.categorical_column, concentration=0.7, categories=3),
        4: partial(naive.bernoulli_column, a=0.4, b=0.9),
        5: partial(naive.poisson_column, shape=1.1, rate=0.4),
        9: gamma,
        11: partial(naive.known_column, noise_sd=0.8, mean_sd=1.9, mean=0.4),
    }
    return naive.independent_parts(
        niws[0].log_cluster(hyperparameters(0, 1)),
        niws[1].log_cluster(hyperparameters(8)),
        naive.GaussianMixture(hyperparameters(7, 6), noise, spread, np.array([0.3, -0.2]), 1.0).log_cluster,
        naive.independent_columns([[row[j] for j in columns] for row in rows], list(columns.values())),
    )


CASES = {
    "niw_1": partial(niw, 1),
    "niw_2": partial(niw, 2),
    "niw_3": partial(niw, 3),
    "niw_10": partial(niw, 10),
    "niw_21": partial(niw, 21),
    **{f.__name__: f for f in (nig, nig_with_gaps, bernoulli, bernoulli_with_gaps, categorical, categorical_with_gaps)},
    **{f.__name__: f for f in (poisson, poisson_with_gaps, known_with_gaps, known_wide, mixed)},
}


@cache
def case_of(name):
    case = CASES[name]()
    return case, cache(case.log_cluster(case.rows))


def log_of(number):
    """Log of a positive fraction, of any size."""
    return math.log(number.numerator) - math.log(number.denominator)


def determinant(matrix):
    """Of a symmetric positive definite matrix of fractions, by elimination."""
    rows, result = [list(row) for row in matrix], Fraction(1)
    for i, pivot in enumerate(rows):
        result *= pivot[i]
        for row in rows[i + 1 :]:
            factor = row[i] / pivot[i]
            row[i:] = [a - factor * b for a, b in zip(row[i:], pivot[i:], strict=True)]
    return result


def exact_wishart(data, mean, weight, degrees, scale):
    """The twin of `naive.wishart_cluster` whose determinants are exact."""
    points = [[Fraction(float(x)) - Fraction(float(m)) for x, m in zip(row, mean, strict=True)] for row in data]
    prior, width = [[Fraction(float(x)) for x in row] for row in scale], len(mean)
    kappa = Fraction(weight)

    def log_cluster(members):
        n, sums = len(members), [sum(points[m][i] for m in members) for i in range(width)]
        psi = [
            [
                prior[i][j] + sum(points[m][i] * points[m][j] for m in members) - sums[i] * sums[j] / (kappa + n)
                for j in range(width)
            ]
            for i in range(width)
        ]
        result = multigammaln(0.5 * (degrees + n), width) - multigammaln(0.5 * degrees, width)
        result += 0.5 * degrees * log_of(determinant(prior)) - 0.5 * (degrees + n) * log_of(determinant(psi))
        return result + 0.5 * width * math.log(weight / (weight + n)) - 0.5 * n * width * math.log(math.pi)

    return log_cluster


def exact_gamma(data, mean, weight, shape, scale):
    """In each column, a normal-inverse-gamma distribution is a normal-inverse-Wishart distribution.

    NaN is not there.
    """

    def of_column(j):
        exact = exact_wishart(np.nan_to_num(data[:, [j]]), [mean[j]], weight, 2 * shape, [[2 * scale[j]]])
        return lambda members: exact([n for n in members if not math.isnan(data[n, j])])

    return naive.independent_parts(*[of_column(j) for j in range(data.shape[1])])


SDS = np.array([2.0, 0.5, 30.0])


def hard_data(kind, rng):
    """Twelve points of three columns with these standard deviations."""
    data = rng.normal(0, 1, (12, 3))
    if kind == "outliers":
        data[3], data[7] = [1e5, 0.3, -0.5], [-1.0, -1e5, 1e5]
    elif kind == "outliers together":
        data[3], data[7] = [1e5, 1e5, 1e5], [1e5 + 1.0, 1e5, 1e5 - 2.0]
    elif kind == "duplicates":
        data[2:9] = data[0]
    elif kind == "constant columns":
        data[:, 1] = 0.7
    elif kind == "far from the prior":
        data += 1e5
    return data * SDS


HARD = ["outliers", "outliers together", "duplicates", "constant columns", "far from the prior"]


def places(target, rng, count):
    """Values of all numbers: on grids some of theirs, others not far from where they are at first."""
    for _ in range(count):
        values = []
        for group in target.groups:
            if isinstance(group, cp.kernels.OnGrid):
                values.append([rng.choice(group.values[8:-8])])
            elif group.names[0].startswith("covariance"):
                root = rng.normal(0, 0.5, (2, 2)) + 1.5 * np.eye(2)
                values.append((root @ root.T)[np.tril_indices(2)])
            else:
                values.append(group.initial * np.exp(rng.normal(0, 0.4, len(group.initial))))
        yield np.concatenate(values)


class Restricted:
    """A density that is nothing where points with one known label are apart, or ones with two, or kinds, together."""

    def __init__(self, density, known=None, kinds=None):
        self.density, self.known, self.kinds = density, known, kinds

    def allows(self, labels):
        points = range(len(labels))
        for a in points:
            for b in points:
                together = labels[a] == labels[b]
                if self.kinds and together and self.kinds[a] != self.kinds[b]:
                    return False
                both_known = self.known and self.known[a] >= 0 and self.known[b] >= 0
                if both_known and together != (self.known[a] == self.known[b]):
                    return False
        return True

    def log_density(self, labels):
        return self.density.log_density(labels) if self.allows(labels) else -math.inf


def mixture(**constraint):
    component = cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3)
    target = cp.Mixture(small.DATA_1D, component, cp.DirichletProcess(0.9), **constraint)
    return target, Restricted(small.scalar()[1], **constraint)


def network(**constraint):
    target = cp.BlockModel(
        list(MULTIGRAPH), rate=1.7, prior=cp.DirichletProcess(0.8), weight=list(MULTIGRAPH.values()), **constraint
    )
    joint = naive_networks.Network(6, MULTIGRAPH, "corrected", rate=1.7, alpha=0.8)
    return target, Restricted(joint, **constraint)


def coloring(**constraint):
    return cp.GraphColoring(small.EDGES, colors=4, **constraint), Restricted(small.coloring()[1], **constraint)


ROOT = Path(__file__).resolve().parents[1]


def blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)
