"""Distributions in the place of numbers: what is unknown of the prior of a component, and the grids of that."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.distributions import Normal, check_positive_distribution, grid_of
from copartition.targets.unknown import OnGrid
from copartition.validation import shorten

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
