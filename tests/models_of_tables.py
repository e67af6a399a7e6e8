"""The models that `cluster` takes tables for, of five rows: what is asked of a clustering, by enumeration.

Of a partition and a value of what is unknown of its model, densities are written down from the definition. A scale is
on a grid, and so is a discount, so partitions and values are enumerated together. A covariance is on none: given a
partition it is inverse Wishart, and expectations over it are closed forms, or, where there are none, sums over a
product of Gauss rules (`covariance_nodes`). With a few values of the covariance in place of all, these are enumerated.
"""

from __future__ import annotations

import math
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats

import copartition as cp
import naive
from copartition.clustering.model import component_for, posterior_of
from copartition.datasets.kinds import recognise
from small import NOISE, SPREAD

TABLE = [  # two numbers that vary together, one that may be missing, a category, a count, a yes or no
    [-0.7, 0.25, 1.3, "a", 2, True],
    [0.4, 1.1, None, "b", 0, None],
    [1.9, 1.5, 0.2, "a", 3, False],
    [-0.2, -0.9, 2.25, None, 1, True],
    [0.8, -0.3, -1.4, "a", None, False],
]
COUNT, WIDTH = len(TABLE), 2
NUMBERS = np.array([row[:WIDTH] for row in TABLE])
MEAN, COVARIANCE = NUMBERS.mean(axis=0), np.cov(NUMBERS.T)
WEIGHT, DEGREES, SHAPE = 0.01, WIDTH + 2.0, 1.5  # the rule of Fraley and Raftery
CATEGORY, POISSON, ANSWER = 3, 4, 5  # columns
LEVELS = {CATEGORY: ["a", "b"], ANSWER: [0, 1]}
ALPHA, BETA = 0.2, (1, 12)  # where the discount is unknown
MIDDLES = (np.arange(64) + 0.5) / 64  # of the cells of a grid
SCALES = 0.01 * 1000.0**MIDDLES  # equally likely
COVARIANCES = np.array([NOISE, SPREAD, 0.6 * COVARIANCE])  # in place of all
REFERENCE = np.array([0, 0, 1, 0, 2])
PARTITIONS = naive.all_partitions(COUNT)


class Case(NamedTuple):
    """A component of `cluster`, columns of the table, whether the prior has an unknown discount, and new rows."""

    component: str
    columns: tuple[int, ...]
    is_discounted: bool
    rows: list[list[Any]]

    def target(self):
        prior = cp.PitmanYor(ALPHA, cp.Beta(*BETA)) if self.is_discounted else None
        kinds = recognise([[row[j] for j in self.columns] for row in TABLE])
        return posterior_of(kinds, component_for(kinds.columns, self.component), prior, None)


CASES = {
    "full": Case("full", (0, 1), False, [[0.5, 0.2], [None, 1.4], [3.0, -1.5]]),
    "full and others": Case("full", (0, 1, 3, 4), True, [[0.5, 0.2, "b", 3], [None, 0.7, None, 0], [3, None, "a", 1]]),
    "tied": Case("tied", (0, 1), False, [[0.5, 0.2], [None, 1.4], [3.0, -1.5]]),
    "tied and others": Case("tied", (0, 1, 2, 5), True, [[0.5, 0.2, 1, 1], [None, 0.7, None, 0], [3, None, -2, 1]]),
    "diagonal": Case("diagonal", (0, 2, 4, 5), False, [[0.5, 0.2, 3, 1], [None, 1.4, None, 0], [3, None, 12, None]]),
}


# --- densities -------------------------------------------------------------------------------------------------------


def cells_of(column, members):
    """The observed cells of a column of some rows."""
    return [TABLE[m][column] for m in members if TABLE[m][column] is not None]


def of_column(column):
    """The log density of cells of a column that is independent of all others, with what the data set of its prior."""
    seen = np.array(cells_of(column, range(COUNT)), dtype=object)
    if column == CATEGORY:
        return partial(naive.categorical_column, concentration=1.0, categories=2)
    if column == POISSON:
        return partial(naive.poisson_column, shape=1.0, rate=1.0)
    if column == ANSWER:
        return partial(naive.bernoulli_column, a=1.0, b=1.0)
    seen = seen.astype(float)
    return partial(naive.gamma_column, mean=seen.mean(), weight=WEIGHT, shape=SHAPE, scale=0.5 * seen.var(ddof=1))


def full_rows(x, which, scales):
    """Log densities (scales) of rows of a cluster, in some of the two columns, each with a covariance of its own.

    A part of an inverse Wishart matrix is one, with a degree of freedom less for each column that is left out.
    """
    if not len(x):
        return np.zeros(len(scales))
    degrees, part = DEGREES - WIDTH + len(which), COVARIANCE[np.ix_(which, which)]
    every = [naive.wishart_cluster(x, MEAN[which], WEIGHT, degrees, scale * part) for scale in scales]
    return np.array([log_cluster(range(len(x))) for log_cluster in every])


def between(n):
    """The covariance of n rows of a cluster in units of that of the noise."""
    return np.eye(n) + np.ones((n, n)) / WEIGHT


def tied_rows(x, which, covariances):
    """The same (covariances) of clusters that share a covariance: rows are normal with `between` times it."""
    n, rest = len(x), x - MEAN[which]
    some = covariances[:, which][:, :, which]
    squares = np.einsum("vij,ji->v", np.linalg.inv(some), rest.T @ np.linalg.solve(between(n), rest) if n else some[0])
    log_det = n * np.linalg.slogdet(some)[1] + len(which) * np.linalg.slogdet(between(n))[1]
    return -0.5 * (squares + log_det + n * len(which) * math.log(2 * math.pi)) if n else np.zeros(len(some))


ROWS = {"full": full_rows, "tied": tied_rows}


@cache
def prior_probability(labels, discount=None):
    """Of a partition; without a discount, of the process whose concentration is unknown."""
    if discount is not None:
        return naive.process(labels, ALPHA, discount)
    return naive.gamma_mean(lambda alpha: naive.process(labels, alpha), 2.0, 4.0)


@cache
def of_sizes(sizes, discount):
    return prior_probability(tuple(np.repeat(range(len(sizes)), sizes).tolist()), discount)


def log_prior(labels, discount):
    return math.log(of_sizes(naive.sizes(labels), discount))


class Nodes(NamedTuple):
    """Values of the numbers of a component given a partition, and the logs of the masses that they stand for."""

    values: np.ndarray
    log_mass: np.ndarray


def wishart_nodes(degrees, scale, many):
    """Inverse Wishart matrices and weights, so that weighted sums are expectations: Bartlett's, by Gauss rules."""
    shapes = 0.5 * degrees, 0.5 * (degrees - 1.0)  # of halves of the squares on the diagonal, gamma distributed
    (a, p), (b, q) = (scipy.special.roots_genlaguerre(many, shape - 1.0) for shape in shapes)
    z, r = scipy.special.roots_hermitenorm(many)
    lower = np.zeros((many, many, many, 2, 2))
    lower[..., 0, 0] = np.sqrt(2.0 * a)[:, None, None]
    lower[..., 1, 1] = np.sqrt(2.0 * b)[:, None]
    lower[..., 1, 0] = z
    root = np.linalg.cholesky(np.linalg.inv(scale)) @ lower.reshape(-1, 2, 2)
    weights = (p[:, None, None] * q[:, None] * r).ravel()
    return np.linalg.inv(root @ root.transpose(0, 2, 1)), weights / weights.sum()


class Exact:
    """All that is expected of a case, with the values of its unknown numbers that are given, or with all of them.

    Parameters
    ----------
    name : str
    values : array, optional
        Scales, or covariances, that are possible; all if left out.
    discounts : sequence of int, optional
        Which of the grid.
    many : int
        Nodes of each of the three rules, for a covariance of which all values are possible.
    """

    def __init__(self, name, values=None, discounts=range(64), many=14):
        self.case, self.many = CASES[name], many
        self.joint = tuple(j for j in self.case.columns if j < WIDTH and self.case.component != "diagonal")
        self.alone = {j: of_column(j) for j in self.case.columns if j not in self.joint}
        self.is_continuous = self.case.component == "tied" and values is None
        self.values = (
            values
            if values is not None
            else {"full": SCALES, "tied": None, "diagonal": np.zeros(1)}[self.case.component]
        )
        self.discounts, self.log_discounts = [None], np.zeros(1)
        if self.case.is_discounted:
            self.discounts = MIDDLES[list(discounts)].tolist()
            self.log_discounts = np.log(scipy.stats.beta(*BETA).pdf(self.discounts))

    # --- the posterior -----------------------------------------------------------------------------------------------

    def _given(self, labels, left_out=None):
        """Psi and the log evidence of a covariance given a partition, of all rows or of all but one."""
        psi, degrees = COVARIANCE.copy(), DEGREES
        total = 0.5 * DEGREES * np.linalg.slogdet(COVARIANCE)[1]
        total -= scipy.special.multigammaln(0.5 * DEGREES, WIDTH)
        for members in self._clusters(labels, left_out):
            rest, n = NUMBERS[list(members)] - MEAN, len(members)
            psi += rest.T @ np.linalg.solve(between(n), rest)
            total -= 0.5 * WIDTH * (np.linalg.slogdet(between(n))[1] + n * math.log(math.pi))
            degrees += n
        total += scipy.special.multigammaln(0.5 * degrees, WIDTH) - 0.5 * degrees * np.linalg.slogdet(psi)[1]
        return psi, degrees, total

    @staticmethod
    def _clusters(labels, left_out=None):
        some = [tuple(m for m in members if m != left_out) for members in naive.clusters(labels)]
        return [members for members in some if members]

    @cache  # noqa: B019
    def _log_alone(self, members):
        return sum(of(cells_of(j, members)) for j, of in self.alone.items())

    @cache  # noqa: B019
    def _log_joint(self, members):
        """Log densities of a cluster's numbers that vary together, with each of the values."""
        if not self.joint:
            return np.zeros(len(self.values))
        return ROWS[self.case.component](NUMBERS[list(members)], list(self.joint), self.values)

    def nodes(self, labels, left_out=None):
        """Values and log masses of a partition with all data, but not of the prior of partitions."""
        clusters = self._clusters(labels, left_out)
        total = sum(self._log_alone(members) for members in clusters)
        if not self.is_continuous:
            log_value = -math.log(len(self.values))
            if self.case.component == "tied":
                log_value = scipy.stats.invwishart(DEGREES, COVARIANCE).logpdf(self.values.transpose(1, 2, 0))
            return Nodes(self.values, total + log_value + sum(self._log_joint(members) for members in clusters))
        psi, degrees, evidence = self._given(labels, left_out)
        values, weights = wishart_nodes(degrees, psi, self.many)
        with np.errstate(divide="ignore"):
            return Nodes(values, total + evidence + np.log(weights))

    def prior_masses(self, labels):
        """Log masses of a partition and of each discount."""
        return np.array([log_prior(labels, discount) for discount in self.discounts]) + self.log_discounts

    @cached_property
    def posterior(self):
        """Of every partition: values, and probabilities (values, discounts)."""
        found = []
        for labels in PARTITIONS:
            values, log_mass = self.nodes(labels)
            found.append((values, log_mass[:, None] + self.prior_masses(labels)))
        top = max(logs.max() for _, logs in found)
        total = sum(np.exp(logs - top).sum() for _, logs in found)
        self.log_evidence = top + math.log(total)
        return [(values, np.exp(logs - top) / total) for values, logs in found]

    @cached_property
    def distribution(self):
        """Probabilities of the partitions."""
        return np.array([mass.sum() for _, mass in self.posterior])

    def states(self):
        """Labels, hyperparameters and probabilities, where there are few enough values to enumerate them."""
        labels, numbers, masses = [], [], []
        for state, (values, mass) in zip(PARTITIONS, self.posterior, strict=True):
            for value, row in zip(values, mass, strict=True):
                of_component = {
                    "full": lambda v: [float(v)],
                    "tied": lambda v: v[np.tril_indices(WIDTH)].tolist(),
                    "diagonal": lambda v: [],
                }[self.case.component](value)
                for discount, p in zip(self.discounts, row, strict=True):
                    labels.append(state)
                    numbers.append([*of_component, *([] if discount is None else [discount])])
                    masses.append(p)
        return np.array(labels, dtype=np.uint8), np.array(numbers).reshape(len(labels), -1), np.array(masses)

    # --- what is asked -----------------------------------------------------------------------------------------------

    def _new_in(self, members, values, row):
        """Log densities (values) of a new row among some rows, or among none."""
        cells = dict(zip(self.case.columns, row, strict=True))
        total = np.zeros(len(values))
        for j, of in self.alone.items():
            if cells[j] is not None:
                total += of([*cells_of(j, members), cells[j]]) - of(cells_of(j, members))
        if which := [j for j in self.joint if cells[j] is not None]:
            of_rows, own = ROWS[self.case.component], NUMBERS[np.ix_(list(members), which)]
            larger = np.vstack([own, [[cells[j] for j in which]]])
            total += of_rows(larger, which, values) - of_rows(own, which, values)
        return total

    def _student(self, labels, members, row):
        """Log density of a new row among some rows, with all values of the covariance: Student's t distribution."""
        cells = dict(zip(self.case.columns, row, strict=True))
        one = self._new_in(members, COVARIANCES[:1], [None if j in self.joint else cells[j] for j in cells])[0]
        which = [j for j in self.joint if cells[j] is not None]
        if not which:
            return one
        psi, degrees, _ = self._given(labels)
        kappa, df = WEIGHT + len(members), degrees - WIDTH + 1.0
        centre = (WEIGHT * MEAN + NUMBERS[list(members)].sum(axis=0)) / kappa
        scale = psi[np.ix_(which, which)] * (1.0 + 1.0 / kappa) / df
        return one + scipy.stats.multivariate_t(centre[which], scale, df).logpdf([cells[j] for j in which])

    def new_row(self, row):
        """Probabilities of each reference cluster and of none for a new row, and its predictive density."""
        shares, density = np.zeros(REFERENCE.max() + 2), 0.0
        remembered = {}
        for labels, (values, mass) in zip(PARTITIONS, self.posterior, strict=True):
            clusters = [*naive.clusters(labels), []]
            logs = []
            for members in clusters:
                key = () if self.is_continuous else tuple(members)
                if self.is_continuous or key not in remembered:
                    remembered[key] = self._new_in(members, values, row)
                logs.append(remembered[key])
            ways = naive.placements((*labels, 0), COUNT)
            opening = np.array(
                [[log_prior(way, d) - log_prior(labels, d) for d in self.discounts] for way in ways]
            )  # (ways, discounts)
            each = np.exp(np.array(logs)[:, :, None] + opening[:, None, :])
            if self.is_continuous:
                joining = mass.sum(axis=0) @ np.exp(opening).T
                density += joining @ [math.exp(self._student(labels, members, row)) for members in clusters]
            else:
                density += np.sum(mass * each.sum(axis=0))
            of_way = np.sum(mass * each / each.sum(axis=0), axis=(1, 2))
            for members, share in zip(clusters, of_way, strict=True):
                for m in members:
                    shares[REFERENCE[m]] += share / len(members)
                shares[-1] += 0.0 if members else share
        return shares, density

    def _moments(self, labels, members, column):
        """First and second moments of a new member's cell, or probabilities of levels: (numbers, values, 1 at least).

        Of a covariance of which all values are possible there is one value: its expectation.
        """
        cells = cells_of(column, members)
        n = len(cells)
        if column in LEVELS:
            levels = LEVELS[column]
            return np.array([[(cells.count(level) + 1.0) / (n + len(levels))] for level in levels])
        if column == POISSON:
            shape, rate = 1.0 + sum(cells), 1.0 + n
            return np.array([[shape / rate], [shape / rate + (shape + shape**2) / rate**2]])
        if column in self.joint:
            mean, kappa = MEAN[column], WEIGHT + n
            centre = (WEIGHT * mean + sum(cells)) / kappa
            if self.case.component == "full":
                rest = np.array(cells) - mean
                psi = self.values * COVARIANCE[column, column] + rest @ np.linalg.solve(between(n), rest)
                variance = psi / (DEGREES + n - WIDTH - 1.0)
            elif self.is_continuous:
                psi, degrees, _ = self._given(labels)
                variance = psi[[column], [column]] / (degrees - WIDTH - 1.0)
            else:
                variance = self.values[:, column, column]
            return np.stack([np.full(len(variance), centre), centre**2 + variance * (1.0 + 1.0 / kappa)])
        seen = np.array(cells_of(column, range(COUNT)), dtype=float)
        mean, kappa, a, b = seen.mean(), WEIGHT, SHAPE, 0.5 * seen.var(ddof=1)
        for x in cells:
            b += 0.5 * kappa / (kappa + 1) * (x - mean) ** 2
            mean, kappa, a = (kappa * mean + x) / (kappa + 1), kappa + 1, a + 0.5
        return np.array([[mean], [mean**2 + (b * (kappa + 1) / (kappa * (a - 1)) if a > 1 else math.inf)]])

    def moments(self, column, rows):
        """The same, expected, of a random one of some rows: of a new member of its cluster."""
        total = 0.0
        for labels, (_, mass) in zip(PARTITIONS, self.posterior, strict=True):
            for n in rows:
                members = [m for m in range(COUNT) if labels[m] == labels[n]]
                found = self._moments(labels, members, column)
                of_values = mass.sum(axis=1) if found.shape[1] == len(mass) > 1 else [mass.sum()]
                total = total + found @ of_values / len(rows)
        return total

    def small(self, most):
        """The probability of every row that it is in a cluster of at most so many."""
        sizes = np.array([[labels.count(label) for label in labels] for labels in PARTITIONS])
        return self.distribution @ (sizes <= most)

    def inverse_left_out(self, n):
        """The expectation of 1 / density of a row given the others of its cluster: evidence without it over all.

        Its cells are left out, and the row is kept, so that partitions have the prior that they had.
        """
        logs = []
        for labels in PARTITIONS:
            log_mass = self.nodes(labels, n).log_mass
            logs.append(scipy.special.logsumexp(log_mass) + scipy.special.logsumexp(self.prior_masses(labels)))
        assert len(self.posterior) == len(PARTITIONS)
        return math.exp(scipy.special.logsumexp(logs) - self.log_evidence)

    def within(self, metric, radius):
        """The probability of the partitions that are no farther from the reference."""
        far = np.array([metric(labels, tuple(REFERENCE)) for labels in PARTITIONS])
        return self.distribution[far <= radius + 1e-12].sum()
