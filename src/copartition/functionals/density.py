"""The density of the next point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from copartition.functionals.base import Functional, evaluation
from copartition.validation import shorten


@evaluation
def mixture_density(model, chain, law, parameters, out):
    """Predictive density at the rows of ``points`` from ``parameters[0]`` on; ``parameters[1]`` is its log constant.

    A new point joins each cluster, or a new one, with its prior weight.
    """
    weights, sizes = chain[0].weights, chain[0].sizes
    log_size, log_new = model[0].log_size, model[0].log_new
    existing = chain[0].n_clusters[0]
    log_open = log_new[min(existing, len(log_new) - 1)]
    top = log_open
    for k in range(existing):
        top = max(top, log_size[sizes[k]])
    total = math.exp(log_open - top)
    for k in range(existing):
        total += math.exp(log_size[sizes[k]] - top)
    for g in range(len(out)):
        law[0].log_predictive(model, chain, existing + 1, int(parameters[0]) + g)
        density = math.exp(weights[existing] + log_open - top + parameters[1])
        for k in range(existing):
            density += math.exp(weights[k] + log_size[sizes[k]] - top + parameters[1])
        out[g] = density / total


class PredictiveDensity(Functional):
    """The density of the next point at the points of a grid; see `predictive_density`."""

    def __init__(self, grid: Any) -> None:
        self.grid = np.asarray(grid, dtype=np.float64)
        if self.grid.ndim not in (1, 2) or not self.grid.size or not np.isfinite(self.grid).all():
            raise ValueError(f"grid must be an array of points, got {shorten(grid)}.")
        rows = self.grid.reshape(len(self.grid), -1)
        names = [f"density at {', '.join(f'{x:.12g}' for x in row[:4])}{', ...' * (len(row) > 4)}" for row in rows]
        about = {"grid": self.grid.tolist()}
        super().__init__("predictive_density", mixture_density, len(self.grid), self.grid.ravel(), names, about)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the target that knows the grid too, and the functional that knows where to find it there."""
        if not hasattr(target, "with_points"):
            raise TypeError(f"predictive_density needs a Mixture, got {target!r}.")
        parameters = [len(target.model.points), target.log_constant]
        bound = Functional(self.name, mixture_density, self.size, parameters, self.components, self.about)
        return target.with_points(self.grid), bound


def predictive_density(grid: Any) -> Functional:
    """Return the functional that gives the density of the next point, for mixtures.

    Parameters
    ----------
    grid : array (points) or (points, columns)
        Where the density is wanted.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.predictive_density([0.0, 0.5, 1.0])
    <functional predictive_density of size 3>
    """
    return PredictiveDensity(grid)
