"""Normal clusters whose means are unknown, and the noise around them is not: members follow normal distributions.

Cells of a column have a noise of variance v, and cluster means have variance ``v / kappa0`` around m0. Given n members
of mean x, with ``kappa = kappa0 + n`` and ``m = (kappa0 m0 + n x) / kappa``, a new one is

    y ~ N(m, v (1 + 1 / kappa)).

A cell of the cluster, given the others: without it kappa is one less, and its distance from the centre of the others is
``kappa / (kappa - 1)`` times that from m, so with ``g = kappa / (kappa - 1)``

    log p = -1/2 log(2 pi v g) - 1/2 g (y - m)^2 / v.

Full covariances are the same column by column in coordinates ``z = (x - m0)' A`` in which the noise is the identity and
the covariance of cluster means is diagonal, ``1 / kappa0`` of each coordinate.

The noise is known (`Gaussian`) or a hyperparameter (`TiedGaussian`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from copartition.targets.members.groups import Moments, Predictive
from copartition.targets.members.joint import Elliptical, transformed
from copartition.targets.members.statistics import of_column

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
