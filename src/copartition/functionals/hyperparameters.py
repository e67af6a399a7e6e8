"""Numbers of the target that are unknown and drawn along with the partition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from copartition.functionals.base import Functional, evaluation
from copartition.validation import finite_array, shorten


@evaluation
def present_numbers(model, chain, hooks, parameters, out):
    """The numbers where the chain is."""
    for i in range(len(out)):
        out[i] = model.hyperparameters[i]


@evaluation
def cell_of_number(model, chain, hooks, parameters, out):
    """1 for the cell that a number is in; ``parameters`` are which number it is, and the edges of the cells."""
    value = model.hyperparameters[int(parameters[0])]
    for i in range(len(out)):
        out[i] = 1.0 if parameters[1 + i] <= value < parameters[2 + i] else 0.0


class Hyperparameters(Functional):
    """The numbers of a target that are unknown; see `hyperparameters`."""

    def __init__(self, names: list[str] | None = None) -> None:
        # Before it meets a target it does not know how many there are.
        super().__init__("hyperparameters", present_numbers, len(names or [""]), (), names)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional with the names of the target's numbers."""
        return target, Hyperparameters(_numbers_of(target))


class HyperparameterCells(Functional):
    """In which of several cells a number lies; see `hyperparameters`."""

    def __init__(self, name: str, edges: np.ndarray, index: int = 0) -> None:
        self.number, self.edges = name, edges
        components = [f"{name} in {low:.4g} to {high:.4g}" for low, high in pairwise(edges)]
        about = {"number": name, "edges": edges.tolist()}
        parameters = np.r_[index, edges]
        super().__init__(
            f"hyperparameters({name})", cell_of_number, len(components), parameters, components, about, counts=True
        )

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional that knows which number it is about."""
        names = _numbers_of(target)
        if self.number not in names:
            raise ValueError(f"name must be one of the unknown hyperparameters {shorten(names)}, got {self.number!r}.")
        return target, HyperparameterCells(self.number, self.edges, names.index(self.number))


def _numbers_of(target: Any) -> list[str]:
    if not target.hyperparameters:
        raise TypeError(
            "hyperparameters needs a target with unknown hyperparameters, such as Mixture(data, TiedGaussian()), got "
            f"{target!r}."
        )
    return target.hyperparameters


def hyperparameters(name: str | None = None, edges: Any = None) -> Functional:
    """Return the functional that gives the numbers of a target that are unknown, by name.

    Parameters
    ----------
    name : str, optional
        One of them, of which the distribution is wanted: the probabilities that it lies in each of several cells.
    edges : array, optional
        The edges of these cells, in rising order.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([0.0, 0.3, 0.1, 5.0, 5.2], cp.TiedGaussian("spherical"))
    >>> e = cp.estimate(posterior, cp.hyperparameters(), replicates=20, burn_in=10, min_sweeps=50, lag=10, seed=1)
    >>> list(e.components)
    ['variance']
    >>> cp.hyperparameters("variance", edges=[0, 0.5, 1, 2, 4])
    <functional hyperparameters(variance) of size 4>
    """
    if name is None and edges is None:
        return Hyperparameters()
    if name is None or edges is None:
        raise TypeError(
            f"hyperparameters needs a name and edges, or neither, got name={name!r}, edges={shorten(edges)}."
        )
    ends = finite_array("edges", edges, (1,))
    if len(ends) < 2 or not np.all(np.diff(ends) > 0.0):
        raise ValueError(f"edges must be two or more numbers in rising order, got {shorten(edges)}.")
    return HyperparameterCells(str(name), ends)
