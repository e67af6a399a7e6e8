"""The priors of normal clusters: set from the data by a rule, or unknown, on a grid; and how numbers are shown.

Left out, the numbers of a prior are those of Fraley and Raftery (2007, "Bayesian regularization for normal mixture
estimation and model-based clustering", Journal of Classification 24), the rule of the R package mclust, for one group:
the column means, a weight of 0.01, as many degrees of freedom as columns and two more, and the covariance of the data.

Where a distribution stands in the place of a number, that number is a hyperparameter on a grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.distributions import DISTRIBUTIONS, Normal, check_positive_distribution, grid_of
from copartition.targets.unknown import OnGrid
from copartition.validation import plain, positive_definite, shorten

MEAN_WEIGHT = 0.01
MORE_DEGREES = 2  # than there are columns
SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that is taken for regular


def means_of(data: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the means of the columns, which must be numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.nanmean(data, axis=0) if np.isnan(data).any() else data.mean(axis=0)
    for j in np.flatnonzero(~np.isfinite(means)):
        low, high = np.nanmin(data[:, j]), np.nanmax(data[:, j])
        raise ValueError(
            f"data must be smaller: {cells.title(int(j))} has values from {low:g} to {high:g}, whose mean is too large "
            "to be held; take other units."
        )
    return means


def variances_of(data: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the variances of the columns, all of which must be positive."""
    with np.errstate(all="ignore"):
        count = np.sum(~np.isnan(data), axis=0)
        variances = np.nansum((data - np.nanmean(data, axis=0)) ** 2, axis=0) / (count - 1)
    for j in range(data.shape[1]):
        low, high = np.nanmin(data[:, j]), np.nanmax(data[:, j])
        if count[j] < 2:
            reason = "one observed cell, and a variance takes two; give a scale"
        elif low == high:
            reason = "the same value in every observed cell; leave the column out, or give a scale"
        elif not 0.0 < variances[j] < np.inf:
            size = "large" if not variances[j] < np.inf else "small"
            reason = f"values from {low:g} to {high:g}, whose variance is too {size} to be held; take other units"
        else:
            continue
        raise ValueError(f"scale cannot be set from the data: {cells.title(j)} has {reason}.")
    return variances


def covariance_of(data: np.ndarray, cells: Cells) -> np.ndarray:
    """Return the covariance of the data, which must be regular."""
    spread = np.sqrt(variances_of(data, cells))
    standard = (data - data.mean(axis=0)) / spread
    correlation = standard.T @ standard / (len(data) - 1)
    if why := why_singular(correlation, len(data)):
        raise ValueError(
            f"scale cannot be set from the data: {why}; leave columns out, take NormalInverseGamma(), or give a scale."
        )
    return correlation * np.outer(spread, spread)


def why_singular(correlation: np.ndarray, count: int) -> str:
    """Return that a correlation matrix of so many rows is singular, in words; nothing where it is not."""
    eigenvalues = np.linalg.eigvalsh(correlation)
    if eigenvalues[0] >= SINGULAR:
        return ""
    rank = int(np.sum(eigenvalues >= SINGULAR))
    return f"the covariance of {len(correlation)} columns and {count} rows is singular, of rank {rank}"


def scale_matrix(scale: np.ndarray, n_columns: int) -> np.ndarray:
    """Return a scale matrix, of which one dimension is taken for a diagonal."""
    if scale.ndim == 0 and n_columns == 1:
        scale = scale.reshape(1, 1)
    elif scale.ndim == 1:
        scale = np.diag(scale)
    return positive_definite("scale", scale, n_columns)


def short(value: Any) -> str:
    """Return numbers with few digits, and not too many of them."""
    if value is None:
        return "what the data say"
    if isinstance(value, (Normal, *DISTRIBUTIONS)):
        return f"an unknown hyperparameter that follows {value!r}"
    numbers = np.ravel(value)
    if len(numbers) > 1 and np.all(numbers == numbers[0]):
        numbers = numbers[:1]
    shown = ", ".join(f"{number:.4g}" for number in numbers[:6]) + (", ..." if len(numbers) > 6 else "")
    return shown if len(numbers) == 1 else f"({shown})"


def representation(component: Any, names: tuple[str, ...]) -> str:
    """Return the text that makes a component, with those of its arguments that are given."""
    values = {name: getattr(component, name) for name in names if getattr(component, name) is not None}
    given = [
        f"{name}={value!r}" if isinstance(value, (Normal, *DISTRIBUTIONS)) else f"{name}={plain(value)}"
        for name, value in values.items()
    ]
    return f"{type(component).__name__}({', '.join(given)})"


# Grids end where the data speak against every value: weights, and multiples of the scale of the data.
WEIGHTS = (1e-6, 1e4)
SCALES = (1e-8, 1e4)
RANGES = 3.0  # by which a prior mean may lie outside of the data


def distributions_in(given: dict[str, Any]) -> dict[str, Any]:
    """Return the distributions among arguments: a `Normal` one of ``mean``, those of positive numbers of all others."""
    distributions = {}
    for name, value in given.items():
        if name == "mean" and isinstance(value, Normal):
            distributions[name] = value
        elif name == "mean" and not isinstance(value, Normal):
            try:
                is_distribution = check_positive_distribution(name, value) is not None
            except TypeError:
                is_distribution = True
            if is_distribution:
                raise TypeError(f"mean must be numbers or a Normal distribution, got {shorten(value)}.")
        elif check_positive_distribution(name, value) is not None:
            distributions[name] = value
    return distributions


def column_names(name: str, cells: Cells) -> list[str]:
    """Return the names of a number for each column."""
    width = cells.shape[1]
    return [name] if width == 1 else [f"{name}[{cells.label(j)}]" for j in range(width)]


def mean_grids(distribution: Normal, cells: Cells) -> list[OnGrid]:
    """Return the grids of the prior means of all columns."""
    data = cells.numbers()
    low, high = np.nanmin(data, axis=0), np.nanmax(data, axis=0)
    reach = RANGES * np.where(high > low, high - low, 1.0)
    names, distributions = column_names("mean", cells), distribution.columns(cells.shape[1])
    return [grid_of(names[j], distributions[j], low[j] - reach[j], high[j] + reach[j]) for j in range(len(names))]


def weight_grid(distribution: Any) -> OnGrid:
    """Return the grid of the weight of prior means."""
    return grid_of("mean_weight", distribution, *WEIGHTS)


def scale_grid(name: str, distribution: Any, unit: float, of_data: bool = True) -> OnGrid:
    """Return the grid of a scale, the data having that of `unit`."""
    return grid_of(name, distribution, SCALES[0] * unit, SCALES[1] * unit, of_data)


def known_or_start(value: Any, role: int, groups: tuple[Any, ...], column: int = 0) -> float:
    """Return a number of a prior, or where it is before the first draw if it is unknown; of its column."""
    for own, _, group in groups:
        if own == role:
            return float(group.initial[0])
    return float(value[column] if np.ndim(value) else value)
