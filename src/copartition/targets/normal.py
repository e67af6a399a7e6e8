"""Normal clusters whose means and covariances are unknown, and the rule that sets their priors from the data.

Left out, the numbers of a prior are those of Fraley and Raftery (2007, "Bayesian regularization for normal mixture
estimation and model-based clustering", Journal of Classification 24), the rule of the R package mclust, for one group:
the column means, a weight of 0.01, as many degrees of freedom as columns and two more, and the covariance of the data.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np

from copartition.targets.blocks import BlockComponent, equal_columns
from copartition.targets.cells import Cells
from copartition.targets.kinds import gamma, wishart
from copartition.targets.kinds.block import BlockArrays
from copartition.validation import column_array, finite_array, plain, positive_array, positive_definite, positive_number

MEAN_WEIGHT = 0.01
MORE_DEGREES = 2  # than there are columns
SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that is taken for regular


class NormalInverseWishart(BlockComponent):
    """Normal clusters, each with a mean and a covariance of its own, all unknown.

    The points of a cluster are ``N(mu, Sigma)``, ``mu`` given ``Sigma`` is ``N(mean, Sigma / mean_weight)`` and
    ``Sigma`` is inverse Wishart, as `scipy.stats.invwishart` has it. What is left out is set from the data by the rule
    of Fraley and Raftery (2007); ``docs/models.md`` tells how much depends on it.

    Parameters
    ----------
    mean : float or array (n_columns), optional
        Prior mean of the cluster means; left out, the column means.
    mean_weight : float, optional
        How many points the prior mean is worth; left out, 0.01.
    degrees_of_freedom : float, optional
        Of the inverse Wishart law, more than the number of columns less 1; left out, the number of columns plus 2.
    scale : array (n_columns, n_columns), optional
        Its scale matrix; left out, the covariance of the data. An array of one dimension is taken for a diagonal.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0.0, 0.2], [0.1, 0.0], [0.2, 0.3], [9.0, 9.1], [9.2, 8.0]]
    >>> posterior = cp.Mixture(data, cp.NormalInverseWishart())
    >>> posterior.component.degrees_of_freedom
    4.0
    """

    def __init__(
        self, mean: Any = None, mean_weight: Any = None, degrees_of_freedom: Any = None, scale: Any = None
    ) -> None:
        self.mean: Any = None if mean is None else finite_array("mean", mean, (0, 1))
        self.mean_weight: Any = None if mean_weight is None else positive_number("mean_weight", mean_weight)
        self.degrees_of_freedom: Any = (
            None if degrees_of_freedom is None else positive_number("degrees_of_freedom", degrees_of_freedom)
        )
        self.scale: Any = None if scale is None else finite_array("scale", scale, (0, 1, 2))

    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out."""
        missing = cells.missing().sum(axis=0)
        if missing.any():
            j = int(np.argmax(missing > 0))
            raise ValueError(
                f"data of NormalInverseWishart must have every cell, but {cells.title(j)} lacks {missing[j]}: take "
                "NormalInverseGamma(), which allows that, or leave these rows out."
            )
        data, n_columns = cells.numbers(), cells.shape[1]
        resolved = copy.copy(self)
        resolved.mean = data.mean(axis=0) if self.mean is None else column_array("mean", self.mean, n_columns)
        resolved.mean_weight = MEAN_WEIGHT if self.mean_weight is None else self.mean_weight
        degrees = float(n_columns + MORE_DEGREES) if self.degrees_of_freedom is None else self.degrees_of_freedom
        if not degrees > n_columns - 1:
            raise ValueError(
                f"degrees_of_freedom must be more than {n_columns - 1} for {n_columns} columns, got {degrees:g}."
            )
        resolved.degrees_of_freedom = degrees
        resolved.scale = _covariance(data, cells) if self.scale is None else _scale_matrix(self.scale, n_columns)
        return resolved

    def blocks(self, cells: Cells, n_points: int) -> list[BlockArrays]:
        """Return the one block of a resolved component."""
        from scipy.linalg import solve_triangular
        from scipy.special import gammaln, multigammaln

        data, (n_rows, width) = cells.numbers(), cells.shape
        factor = np.linalg.cholesky(self.scale)
        points = solve_triangular(factor, (data - self.mean).T, lower=True).T
        kappa, nu = self.mean_weight + np.arange(n_points + 1.0), self.degrees_of_freedom + np.arange(n_points + 1.0)
        shrinkage = kappa / (kappa + 1.0)
        normaliser = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * (nu + 1.0 - width)) + 0.5 * width * np.log(shrinkage)
        marginal = multigammaln(0.5 * nu, width) - multigammaln(0.5 * nu[0], width)
        marginal += 0.5 * width * np.log(kappa[0] / kappa)
        alone = normaliser[0] - 0.5 * (nu[0] + 1.0) * np.log1p(shrinkage[0] * np.sum(points**2, axis=1))
        return [
            BlockArrays(
                wishart.WISHART,
                width,
                summed=np.zeros((n_rows, 0)),
                plain=np.column_stack([points, alone]),
                table=np.column_stack([normaliser, shrinkage, -1.0 / shrinkage, marginal]),
                parameters=np.array([kappa[0], nu[0]]),
                kept=wishart.kept_width(width),
                scratch=wishart.scratch_width(width),
                log_constant=-0.5 * width * np.log(np.pi) - np.log(np.diag(factor)).sum(),
            )
        ]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        first = "Points of a cluster are normal around its mean with a covariance of its own; both are unknown."
        if self.scale is None:
            return [first, "What is left out of their prior is set from the data."]
        return [
            first,
            f"Cluster means scatter around {_short(self.mean)} (mean), which counts as much as {self.mean_weight:g} "
            "point(s) (mean_weight).",
            f"Covariances are inverse Wishart with {self.degrees_of_freedom:g} degrees of freedom "
            "(degrees_of_freedom) and a scale matrix (scale) that stands for standard deviations of "
            f"{_short(np.sqrt(np.diag(self.scale)))}.",
        ]

    def __repr__(self) -> str:
        return _representation(self, ("mean", "mean_weight", "degrees_of_freedom", "scale"))


class NormalInverseGamma(BlockComponent):
    """Normal clusters with a mean and a variance of their own in each column, all unknown and independent.

    A cell is ``N(mu, v)``, ``mu`` given ``v`` is ``N(mean, v / mean_weight)`` and ``v`` is inverse gamma, as
    `scipy.stats.invgamma` with ``scale=scale`` has it. What is left out is set from the data by the rule of Fraley and
    Raftery (2007), column by column. Cells may be missing.

    Parameters
    ----------
    mean : float or array (n_columns), optional
        Prior mean of the cluster means; left out, the column means.
    mean_weight : float or array (n_columns), optional
        How many points the prior mean is worth; left out, 0.01.
    shape : float or array (n_columns), optional
        Of the inverse gamma law; left out, 1.5.
    scale : float or array (n_columns), optional
        Its scale; left out, half the variance of the column.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([[0.0, 0.2], [0.1, float("nan")], [9.0, 9.1]], cp.NormalInverseGamma())
    >>> posterior.component.shape
    array([1.5, 1.5])
    """

    # Set when the component meets data: which columns lack cells, and what columns are shifted by.
    _missing: np.ndarray
    _shift: np.ndarray

    def __init__(self, mean: Any = None, mean_weight: Any = None, shape: Any = None, scale: Any = None) -> None:
        self.mean: Any = None if mean is None else finite_array("mean", mean, (0, 1))
        self.mean_weight = mean_weight
        self.shape = shape
        self.scale = scale
        for name in ("mean_weight", "shape", "scale"):
            value = getattr(self, name)
            if value is not None:
                setattr(self, name, positive_array(name, value))

    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out."""
        data, n_columns = cells.numbers(), cells.shape[1]
        resolved = copy.copy(self)
        resolved._missing = np.isnan(data).any(axis=0)
        resolved._shift = np.nanmean(data, axis=0)
        scale = 0.5 * _variances(data, cells) if self.scale is None else self.scale
        defaults = {"mean": resolved._shift, "mean_weight": MEAN_WEIGHT, "shape": 0.5 * (1 + MORE_DEGREES)}
        for name, value in (defaults | {"scale": scale}).items():
            given = getattr(self, name)
            setattr(resolved, name, np.array(column_array(name, value if given is None else given, n_columns)))
        return resolved

    def blocks(self, cells: Cells, n_points: int) -> list[BlockArrays]:
        """Return the blocks of a resolved component: columns that are alike in weight, shape and missing cells."""
        data = cells.numbers()
        same = equal_columns(self.mean_weight, self.shape, self._missing)
        return [self._block(data[:, columns], columns, n_points) for columns in same]

    def _block(self, data: np.ndarray, columns: np.ndarray, n_points: int) -> BlockArrays:
        from scipy.special import gammaln

        width, weight, shape = len(columns), self.mean_weight[columns[0]], self.shape[columns[0]]
        has_missing = bool(self._missing[columns[0]])
        units, shift = np.sqrt(2.0 * self.scale[columns]), self._shift[columns]
        means = (self.mean[columns] - shift) / units
        points = (data - shift) / units
        observed = ~np.isnan(points)
        points[~observed] = 0.0
        sizes = np.arange(n_points + 1.0)
        a, shrinkage = shape + 0.5 * sizes, (weight + sizes) / (weight + sizes + 1.0)
        normaliser = gammaln(a + 0.5) - gammaln(a) + 0.5 * np.log(shrinkage)
        return BlockArrays(
            gamma.GAMMA,
            width,
            summed=np.hstack([points, points**2, *([observed] if has_missing else [])]),
            plain=np.zeros((len(data), 0)),
            table=np.column_stack([normaliser, shrinkage]),
            parameters=np.concatenate([[weight, shape], weight * means, 1.0 + weight * means**2]),
            observed=2 * width if has_missing else 0,
            log_constant=-0.5 * width * np.log(np.pi) - np.log(units).sum(),
        )

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        return [
            "In each column, points of a cluster are normal around its mean with a variance of its own; both are "
            "unknown, and columns are independent within a cluster.",
            f"Cluster means scatter around {_short(self.mean)} (mean), which counts as much as "
            f"{_short(self.mean_weight)} point(s) (mean_weight).",
            f"Variances are inverse gamma with shape {_short(self.shape)} (shape) and scale {_short(self.scale)} "
            "(scale).",
        ]

    def __repr__(self) -> str:
        return _representation(self, ("mean", "mean_weight", "shape", "scale"))


def _variances(data: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the variances of the columns, all of which must be positive."""
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.sum(~np.isnan(data), axis=0)
        variances = np.nansum((data - np.nanmean(data, axis=0)) ** 2, axis=0) / (count - 1)
    for j in range(data.shape[1]):
        if np.nanmin(data[:, j]) == np.nanmax(data[:, j]) or not 0.0 < variances[j] < np.inf:
            raise ValueError(
                f"scale cannot be set from the data: {cells.title(j)} has the same value in every observed cell; leave "
                "the column out, or give a scale."
            )
    return variances


def _covariance(data: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the covariance of the data, which must be regular."""
    spread = np.sqrt(_variances(data, cells))
    standard = (data - data.mean(axis=0)) / spread
    correlation = standard.T @ standard / (len(data) - 1)
    eigenvalues = np.linalg.eigvalsh(correlation)
    if eigenvalues[0] < SINGULAR:
        rank = int(np.sum(eigenvalues >= SINGULAR))
        raise ValueError(
            f"scale cannot be set from the data: the covariance of {data.shape[1]} columns and {len(data)} rows is "
            f"singular, of rank {rank}; leave columns out, take NormalInverseGamma(), or give a scale."
        )
    return correlation * np.outer(spread, spread)


def _scale_matrix(scale: np.ndarray, n_columns: int) -> np.ndarray:
    if scale.ndim == 0 and n_columns == 1:
        scale = scale.reshape(1, 1)
    elif scale.ndim == 1:
        scale = np.diag(scale)
    return positive_definite("scale", scale, n_columns)


def _short(value: Any) -> str:
    """Return numbers with few digits, and not too many of them."""
    if value is None:
        return "what the data say"
    numbers = np.ravel(value)
    if len(numbers) > 1 and np.all(numbers == numbers[0]):
        numbers = numbers[:1]
    shown = ", ".join(f"{number:.4g}" for number in numbers[:6]) + (", ..." if len(numbers) > 6 else "")
    return shown if len(numbers) == 1 else f"({shown})"


def _representation(component: Any, names: tuple[str, ...]) -> str:
    given = [f"{name}={plain(getattr(component, name))}" for name in names if getattr(component, name) is not None]
    return f"{type(component).__name__}({', '.join(given)})"
