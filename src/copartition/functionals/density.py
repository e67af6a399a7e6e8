"""The density of the next point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from copartition.functionals.base import Functional, check_count, evaluation
from copartition.validation import shorten


@evaluation
def mixture_density(model, chain, hooks, parameters, out):
    """Predictive density at the rows of ``points`` from ``parameters[0]`` on.

    A new point joins each cluster, or a new one, with its prior weight. The prior's weights for one point more than
    there are follow in the parameters: by size, then, ``parameters[1]`` of them, by number of clusters. If a number of
    the prior is unknown, they follow for each of its values.
    """
    weights, sizes, constant = chain.weights, chain.sizes, model.constant[0]
    by_size, by_number = len(chain.labels) + 1, int(parameters[1])
    first = 2
    if len(model.unknown.prior_tables) > 0:
        grids, numbers = model.unknown.grids, model.hyperparameters
        i = 0
        while grids[len(grids) - 1, i] != numbers[len(numbers) - 1]:
            i += 1
        first += i * (by_size + by_number)
    log_size = parameters[first:]
    log_new = parameters[first + by_size :]
    existing = chain.n_clusters[0]
    log_open = log_new[min(existing, by_number - 1)]
    top = log_open
    for k in range(existing):
        top = max(top, log_size[sizes[k]])
    total = math.exp(log_open - top)
    for k in range(existing):
        total += math.exp(log_size[sizes[k]] - top)
    for g in range(len(out)):
        hooks.log_predictive(model, chain, existing + 1, int(parameters[0]) + g)
        density = math.exp(weights[existing] + log_open - top + constant)
        for k in range(existing):
            density += math.exp(weights[k] + log_size[sizes[k]] - top + constant)
        out[g] = density / total


class PredictiveDensity(Functional):
    """The density of the next point at the points of a grid; see `predictive_density`."""

    def __init__(self, grid: Any) -> None:
        try:
            rows = np.asarray(grid)
        except (OverflowError, ValueError):
            raise ValueError(f"grid must be an array of points, got {shorten(grid)}.") from None
        if rows.dtype.kind not in "biuf":  # of numbers and text together NumPy would make text
            rows = np.array(grid, dtype=object)
        if rows.ndim not in (1, 2) or not rows.size:
            raise ValueError(f"grid must be an array of points, got {shorten(grid)}.")
        check_count("grid", len(rows), " points")
        self.grid = grid if hasattr(grid, "iloc") else rows
        about = {"grid": rows.tolist()}
        rows = rows.reshape(len(rows), -1)
        if rows.dtype.kind in "biuf" and not np.isfinite(rows).all():
            raise ValueError(f"grid must be an array of points, got {shorten(grid)}.")
        try:
            names = [f"density at {', '.join(_cell(x) for x in row[:4])}{', ...' * (len(row) > 4)}" for row in rows]
        except OverflowError:
            raise ValueError(f"grid must be finite, got {shorten(grid)}.") from None
        picture = ""
        if rows.dtype.kind in "biuf":
            picture = {1: "density" if np.ndim(grid) == 1 else "", 2: "density_in_the_plane"}.get(rows.shape[1], "")
        super().__init__("predictive_density", mixture_density, len(rows), (), names, about, picture=picture)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the target that knows the grid too, and the functional that knows where to find it there."""
        if not hasattr(target, "with_points"):
            raise TypeError(f"predictive_density needs a Mixture, got {target!r}.")
        if len(target.model.kinds) and target.model.kinds.any():
            raise ValueError("predictive_density needs points of one kind: of the next point no kind is known.")
        count, prior = target.n_points, target.prior
        unknown = getattr(prior, "unknown", None)
        priors = [prior] if unknown is None else [prior.at(value) for value in unknown.values]
        tables = [table for one in priors for table in (one.log_size(count + 1)[: count + 1], one.log_new(count + 1))]
        parameters = np.concatenate([[len(target.model.points), len(tables[1])], *tables])
        bound = Functional(self.name, mixture_density, self.size, parameters, self.components, self.about)
        return target.with_points(self.grid), bound


def _cell(x: Any) -> str:
    return f"{x:.12g}" if isinstance(x, float | int | np.number) else str(x)


def predictive_density(grid: Any) -> Functional:
    """Return the functional that gives the density of the next point, for mixtures.

    Where columns are discrete it is the probability of their cells, times the density of the others.

    Parameters
    ----------
    grid : array (points) or (points, columns), or data frame
        Where the density is wanted: points with the columns of the data.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.predictive_density([0.0, 0.5, 1.0])
    <functional predictive_density of size 3>
    """
    return PredictiveDensity(grid)
