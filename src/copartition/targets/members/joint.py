"""Columns that vary together within clusters: distributions whose densities are functions of a quadratic form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property

import numpy as np

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
