"""Members of normal clusters: new ones, and what is said of those that are there.

Sums over clusters take deviations from cluster means, so that no digits are lost far from the origin.

**Known noise.** Normal clusters whose means are unknown, and the noise around them is not: members follow normal
distributions.

Cells of a column have a noise of variance v, and cluster means have variance ``v / kappa0`` around m0. Given n members
of mean x, with ``kappa = kappa0 + n`` and ``m = (kappa0 m0 + n x) / kappa``, a new one is

    y ~ N(m, v (1 + 1 / kappa)).

A cell of the cluster, given the others: without it kappa is one less, and its distance from the centre of the others is
``kappa / (kappa - 1)`` times that from m, so with ``g = kappa / (kappa - 1)``

    log p = -1/2 log(2 pi v g) - 1/2 g (y - m)^2 / v.

Full covariances are the same column by column in coordinates ``z = (x - m0)' A`` in which the noise is the identity and
the covariance of cluster means is diagonal, ``1 / kappa0`` of each coordinate.

The noise is known (`Gaussian`) or a hyperparameter (`TiedGaussian`).

**Unknown covariances.** Members follow t distributions.

Of rows (normal-inverse-Wishart), with D columns: a cluster of n rows with mean x and scatter matrix C has

    kappa = w + n,    nu = nu0 + n,    m = (w m0 + n x) / kappa,    Psi = Psi0 + C + w n / kappa (x - m0) (x - m0)',

and a new member, in d of the columns, with ``r = kappa / (kappa + 1)``, ``delta = nu - D + 1`` and
``q = (y - m)' Psi^-1 (y - m)`` of these columns (Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.6),

    log p(y) = T(kappa, delta, d) - 1/2 log|Psi| - (delta + d)/2 log(1 + r q),
    T(kappa, delta, d) = lgamma((delta + d)/2) - lgamma(delta/2) + d/2 log(r / pi).

A row of the cluster, given the others: with q of the row itself, and Psi of all of them,
``u = 1 - kappa / (kappa - 1) q`` is the factor by which the determinant shrinks when it is taken out, and

    log p = T(kappa - 1, delta - 1, D) - 1/2 log|Psi| + (nu - 1)/2 log u.

Where u is tiny, digits are lost; the others are then summed anew. One column (normal-inverse-gamma) is the case D = 1
with ``nu0 = 2 shape`` and ``Psi0 = 2 scale``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from copartition.targets.members import Moments, Predictive


class ColumnStatistics(NamedTuple):
    """How many cells of a column there are in each cluster, their mean, and the sum of squares around it."""

    size: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


def of_column(values: np.ndarray, labels: np.ndarray, n_clusters: int) -> ColumnStatistics:
    """Return the statistics of one column; those of empty clusters are 0."""
    size = np.bincount(labels, minlength=n_clusters).astype(float)
    some = np.maximum(size, 1.0)
    mean = np.bincount(labels, values, n_clusters) / some
    rest = values - mean.take(labels)
    rounding = np.bincount(labels, rest, n_clusters) / some
    squares = np.bincount(labels, rest * rest, n_clusters) - size * rounding * rounding
    return ColumnStatistics(size, mean + rounding, np.maximum(squares, 0.0))


def around_mean(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of some rows, 0 if there are none, and the rows less their mean."""
    if not len(rows):
        return np.zeros(rows.shape[1]), rows
    mean = rows.mean(axis=0)
    mean += (rows - mean).mean(axis=0)
    return mean, rows - mean


def sorted_by(labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of rows sorted by cluster, and where each of the clusters ends."""
    small = labels.astype(np.int16) if n_clusters <= np.iinfo(np.int16).max else labels  # sorted ten times faster
    return np.argsort(small, kind="stable"), np.cumsum(np.bincount(labels, minlength=n_clusters))


AT_A_TIME = 2000  # rows: they stay in the cache, and BLAS starts no threads, which wait for each other on busy machines


class Elliptical(ABC):
    """Distributions of rows, and of some of their columns, one for each of several clusters.

    The density depends on x by ``(x - centre)' matrix^-1 (x - centre)``; that of some columns, by that part of the
    matrix. Of the matrix there is a root only: it has twice the digits.

    Attributes
    ----------
    centre : float64 array (n_clusters, n_columns)
    root : float64 array (n_clusters, n_columns, n_columns)
        Any R such that ``R' R`` is the matrix.
    """

    centre: np.ndarray
    root: np.ndarray

    @abstractmethod
    def of_squares(self, squares: np.ndarray, log_volume: np.ndarray, width: int) -> np.ndarray:
        """Return the log density in so many columns from the quadratic form (n_clusters, n_rows).

        ``log_volume`` is half the log determinant of the matrix.
        """

    def log_density(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log densities (n_clusters, n_rows) of the cells of rows in these columns."""
        every = len(columns) == self.centre.shape[1]
        inverses, log_volume = self.inverses if every else inverse_roots(self.root[:, :, columns])
        squares = np.empty((len(self.centre), len(rows)))
        for k, inverse in enumerate(inverses):
            squares[k] = quadratic_form(rows, self.centre[k, columns], inverse)
        return self.of_squares(squares, log_volume, len(columns))

    @cached_property
    def inverses(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The `inverse_roots` of all columns."""
        return inverse_roots(self.root)

    @property
    def diagonals(self) -> np.ndarray:
        """The diagonals of the matrices."""
        return np.einsum("kij,kij->kj", self.root, self.root)


def inverse_roots(roots: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return, of every matrix ``R' R``, the inverse of a triangular root, and half the log determinant."""
    from scipy.linalg.lapack import dtrtri

    triangles = np.linalg.qr(roots, mode="r")
    log_volume = np.log(np.abs(np.diagonal(triangles, axis1=1, axis2=2))).sum(axis=1)
    return [dtrtri(triangle)[0] for triangle in triangles], log_volume


def transformed(rows: np.ndarray, centre: np.ndarray, matrix: np.ndarray) -> Iterator[np.ndarray]:
    """Yield ``(x - centre)' matrix`` of all rows x, some at a time."""
    for first in range(0, max(len(rows), 1), AT_A_TIME):
        yield (rows[first : first + AT_A_TIME] - centre) @ matrix


def quadratic_form(rows: np.ndarray, centre: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """Return ``d' (R' R)^-1 d`` of every row, d being its distance from the centre."""
    return np.concatenate([np.einsum("ij,ij->i", part, part) for part in transformed(rows, centre, inverse)])


LOG_TWO_PI = np.log(2.0 * np.pi)


class NormalPrior(NamedTuple):
    """Of one column: m0, v and kappa0."""

    mean: float
    noise: float
    kappa: float


class RowsPrior(NamedTuple):
    """Of rows.

    Attributes
    ----------
    mean : float64 array (D)
        m0.
    axes, back : float64 array (D, D)
        A, and its inverse.
    kappa : float64 array (D)
        kappa0 of each coordinate.
    """

    mean: np.ndarray
    axes: np.ndarray
    back: np.ndarray
    kappa: np.ndarray


class NormalColumn(Predictive):
    """One column with noise of a given variance (`Gaussian`, `TiedGaussian`)."""

    kind = "number"

    def __init__(self, cells: np.ndarray, labels: np.ndarray, n_clusters: int, prior: NormalPrior) -> None:
        self.cells, self.labels, self.prior = cells, labels, prior
        of = of_column(cells, labels, n_clusters + 1)
        self.alone = of.size < 2.0
        self.kappa = prior.kappa + of.size
        self.centre = (prior.kappa * prior.mean + of.size * of.mean) / self.kappa
        self.variance = prior.noise * (1.0 + 1.0 / self.kappa)

    @staticmethod
    def read(values: np.ndarray) -> np.ndarray:
        """Return the cells of the one column."""
        return values.ravel()

    def log_density(self, cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log densities of new cells."""
        squares = cells - self.centre[:, None]
        squares *= squares
        squares *= -0.5 / self.variance[:, None]
        squares -= 0.5 * (LOG_TWO_PI + np.log(self.variance))[:, None]
        return squares

    def left_out(self) -> np.ndarray:
        """Return the log density of every cell, given the others of its cluster."""
        g = self.kappa / np.where(self.alone, self.prior.kappa, self.kappa - 1.0)
        # Of cells that are alone the distance is taken from m0: where kappa0 is tiny, that from m has lost its digits.
        centre = np.where(self.alone, self.prior.mean, self.centre)
        factor = np.where(self.alone, 1.0 / g, g) / self.prior.noise
        squares = self.cells - centre.take(self.labels)
        squares *= squares
        base = LOG_TWO_PI + np.log(self.prior.noise * g)
        return np.asarray(-0.5 * (base.take(self.labels) + factor.take(self.labels) * squares))

    def moments(self) -> list[Moments]:
        """Return the moments of the column."""
        return [Moments(self.centre, self.variance)]


class Normal(Elliptical):
    """Normal distributions; the matrix is the covariance."""

    def __init__(self, centre: np.ndarray, root: np.ndarray) -> None:
        self.centre, self.root = centre, root

    def of_squares(self, squares: np.ndarray, log_volume: np.ndarray, width: int) -> np.ndarray:
        """Return the log density in so many columns."""
        return -0.5 * squares - (log_volume + 0.5 * width * LOG_TWO_PI)[:, None]


class NormalRows(Predictive):
    """Rows with noise of a given covariance (`Gaussian`, `TiedGaussian`)."""

    kind = "number"

    def __init__(self, cells: np.ndarray, labels: np.ndarray, n_clusters: int, prior: RowsPrior) -> None:
        coordinates = np.concatenate(list(transformed(cells, prior.mean, prior.axes))).T
        self.columns = [
            NormalColumn(row, labels, n_clusters, NormalPrior(0.0, 1.0, kappa))
            for row, kappa in zip(np.ascontiguousarray(coordinates), prior.kappa, strict=True)
        ]
        self.log_volume = np.linalg.slogdet(prior.axes)[1]
        centre, variance = (np.array([getattr(one, name) for one in self.columns]).T for name in ("centre", "variance"))
        self.clusters = Normal(prior.mean + centre @ prior.back, np.sqrt(variance)[:, :, None] * prior.back)

    def log_density(self, cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log densities of new rows."""
        return self.clusters.log_density(cells, columns)

    def left_out(self) -> np.ndarray:
        """Return the log density of every row, given the others of its cluster."""
        return np.asarray(self.log_volume + sum(column.left_out() for column in self.columns))

    def moments(self) -> list[Moments]:
        """Return the moments of every column."""
        centre, variance = self.clusters.centre, self.clusters.diagonals
        return [Moments(*both) for both in zip(centre.T, variance.T, strict=True)]


LOST = 1e-4  # of u, below which a row is what the covariance of its cluster is about


class StudentPrior(NamedTuple):
    """Prior of the mean and the covariance of a cluster, or of the mean and the variance of one column.

    Attributes
    ----------
    mean : float or array (D)
        m0.
    weight, degrees : float
        w and nu0.
    scale : float or array (D, D)
        Psi0.
    """

    mean: np.ndarray
    weight: float
    degrees: float
    scale: np.ndarray


def constant(kappa: np.ndarray, delta: np.ndarray, width: int) -> np.ndarray:
    """Return T of the log density in so many columns."""
    from scipy.special import gammaln

    half = 0.5 * width * (np.log(kappa / (kappa + 1.0)) - np.log(np.pi))
    return gammaln(0.5 * (delta + width)) - gammaln(0.5 * delta) + half


def moments_of(centre: np.ndarray, kappa: np.ndarray, delta: np.ndarray, psi: np.ndarray) -> Moments:
    """Return the moments in one column, where it has them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(delta > 2.0, psi * (kappa + 1.0) / (kappa * (delta - 2.0)), np.inf)
    return Moments(np.where(delta > 1.0, centre, np.nan), variance)


class StudentColumn(Predictive):
    """One column whose mean and variance are unknown (`NormalInverseGamma`)."""

    kind = "number"

    def __init__(self, cells: np.ndarray, labels: np.ndarray, n_clusters: int, prior: StudentPrior) -> None:
        self.cells, self.labels, self.prior = cells, labels, prior
        self.statistics = of_column(cells, labels, n_clusters + 1)
        self.kappa, self.nu, self.centre, self.psi = self._posterior(self.statistics)

    @staticmethod
    def read(values: np.ndarray) -> np.ndarray:
        """Return the cells of the one column."""
        return values.ravel()

    def _posterior(self, of: ColumnStatistics) -> tuple[np.ndarray, ...]:
        """Return kappa, nu, m and Psi."""
        mean, weight, degrees, scale = self.prior
        kappa = weight + of.size
        psi = scale + of.squares + weight * of.size / kappa * (of.mean - mean) ** 2
        return kappa, degrees + of.size, (weight * mean + of.size * of.mean) / kappa, psi

    def log_density(self, cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log densities of new cells."""
        kappa, nu, psi = self.kappa[:, None], self.nu[:, None], self.psi[:, None]
        squares = cells - self.centre[:, None]
        squares *= squares
        squares *= kappa / ((kappa + 1.0) * psi)
        np.log1p(squares, out=squares)
        squares *= -0.5 * (nu + 1.0)
        squares += constant(kappa, nu, 1) - 0.5 * np.log(psi)
        return squares

    def left_out(self) -> np.ndarray:
        """Return the log density of every cell, given the others of its cluster."""
        others = np.maximum(self.statistics.size - 1.0, 0.0)
        kappa, nu = self.prior.weight + others, self.prior.degrees + others  # without the cell
        base = constant(kappa, nu, 1) - 0.5 * np.log(self.psi)
        u = self.cells - self.centre.take(self.labels)
        u *= u
        u *= ((kappa + 1.0) / (kappa * self.psi)).take(self.labels)
        np.subtract(1.0, u, out=u)
        lost = np.flatnonzero((u < LOST) | (others.take(self.labels) == 0.0))
        u[lost] = 1.0
        result = base.take(self.labels) + (0.5 * nu).take(self.labels) * np.log(u)
        if lost.size:
            result[lost] = self._summed_anew(lost)
        return result

    def _summed_anew(self, which: np.ndarray) -> np.ndarray:
        """Return the same for some cells, from the others themselves."""
        mean, squares = np.zeros(len(which)), np.zeros(len(which))
        size = self.statistics.size.take(self.labels[which]) - 1.0
        for i in np.flatnonzero(size):
            of_cluster = self.labels == self.labels[which[i]]
            of_cluster[which[i]] = False
            others = self.cells[of_cluster]
            mean[i] = others.mean()
            squares[i] = np.sum((others - mean[i]) ** 2)
        kappa, nu, centre, psi = self._posterior(ColumnStatistics(size, mean, squares))
        q = (self.cells[which] - centre) ** 2 / psi
        result = constant(kappa, nu, 1) - 0.5 * np.log(psi) - 0.5 * (nu + 1.0) * np.log1p(kappa / (kappa + 1.0) * q)
        return np.asarray(result)

    def moments(self) -> list[Moments]:
        """Return the moments of the column."""
        return [moments_of(self.centre, self.kappa, self.nu, self.psi)]


class Student(Elliptical):
    """What is known of clusters from their rows; the matrix is Psi.

    Psi is a sum of squares, so of the rows of which it is that, QR makes a root; Psi itself is never computed.
    """

    def __init__(self, clusters: Sequence[np.ndarray], prior: StudentPrior) -> None:
        mean, weight, degrees, scale = prior
        sizes, width = np.array([float(len(rows)) for rows in clusters]), len(scale)
        self.kappa, self.delta = weight + sizes, degrees + sizes - width + 1.0
        self.centre, self.root = np.empty((len(sizes), width)), np.empty((len(sizes), width, width))
        of_scale = np.linalg.cholesky(scale).T
        for k, rows in enumerate(clusters):
            own_mean, rest = around_mean(rows)
            self.centre[k] = (weight * mean + sizes[k] * own_mean) / self.kappa[k]
            away = np.sqrt(weight * sizes[k] / self.kappa[k]) * (own_mean - mean)
            self.root[k] = np.linalg.qr(np.concatenate([of_scale, rest, away[None]]), mode="r")

    def of_squares(self, squares: np.ndarray, log_volume: np.ndarray, width: int) -> np.ndarray:
        """Return the log density in so many columns."""
        r = self.kappa / (self.kappa + 1.0)
        base = constant(self.kappa, self.delta, width) - log_volume
        return base[:, None] - 0.5 * (self.delta + width)[:, None] * np.log1p(r[:, None] * squares)


class StudentRows(Predictive):
    """Rows whose mean and covariance are unknown (`NormalInverseWishart`)."""

    kind = "number"

    def __init__(self, cells: np.ndarray, labels: np.ndarray, n_clusters: int, prior: StudentPrior) -> None:
        self.prior = prior
        self.order, self.ends = sorted_by(labels, n_clusters)
        self.rows = cells.take(self.order, axis=0)
        self.clusters = Student([*self._rows_of_clusters(), cells[:0]], prior)

    def _rows_of_clusters(self) -> list[np.ndarray]:
        return np.split(self.rows, self.ends[:-1])

    def log_density(self, cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log densities of new rows."""
        return self.clusters.log_density(cells, columns)

    def left_out(self) -> np.ndarray:
        """Return the log density of every row, given the others of its cluster."""
        sizes = np.diff(self.ends, prepend=0)
        alone, clusters = np.repeat(sizes == 1, sizes), self._rows_of_clusters()
        result = np.empty(len(self.rows))
        result[alone] = self._density_given(self.rows[:0], self.rows[alone])
        for k in np.flatnonzero(sizes > 1).tolist():
            result[self.ends[k] - sizes[k] : self.ends[k]] = self._left_out_of(k, clusters[k])
        found = np.empty(len(result))
        found[self.order] = result
        return found

    def _left_out_of(self, k: int, rows: np.ndarray) -> np.ndarray:
        """Return the same for the rows of cluster k, which are several."""
        width, (inverses, log_volume) = rows.shape[1], self.clusters.inverses
        kappa, delta = self.clusters.kappa[k] - 1.0, self.clusters.delta[k] - 1.0  # without the row
        u = 1.0 - (kappa + 1.0) / kappa * quadratic_form(rows, self.clusters.centre[k], inverses[k])
        lost = np.flatnonzero(u < LOST)
        u[lost] = 1.0
        result = constant(kappa, delta, width) - log_volume[k] + 0.5 * (delta + width - 1.0) * np.log(u)
        for i in lost:
            result[i] = self._density_given(np.delete(rows, i, axis=0), rows[[i]])[0]
        return np.asarray(result)

    def _density_given(self, others: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the log density of rows in a cluster of some others."""
        return Student([others], self.prior).log_density(rows, np.arange(rows.shape[1]))[0]

    def moments(self) -> list[Moments]:
        """Return the moments of every column."""
        c = self.clusters
        return [
            moments_of(centre, c.kappa, c.delta, psi) for centre, psi in zip(c.centre.T, c.diagonals.T, strict=True)
        ]
