"""Normal clusters whose means and covariances are unknown: members follow t distributions.

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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copartition.targets.members.groups import Moments, Predictive
from copartition.targets.members.joint import Elliptical, quadratic_form
from copartition.targets.members.statistics import ColumnStatistics, around_mean, of_column, sorted_by

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
