"""What is estimated: functions h of a partition, with one or more components.

A functional is a compiled function ``evaluate(model, chain, log_predictive, parameters, out)`` that reads a chain and
writes the value of h to `out`; it is handed to the kernels like targets and couplings are. `functional` wraps any
Python function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numba import types

from copartition.compiled.kernel import Kernel, kernel, reference
from copartition.compiled.state import (
    Chain,
    chain_type,
    float1,
    functional_signature,
    functional_type,
    log_predictive_type,
    model_type,
)
from copartition.partition import canonical
from copartition.validation import integer, shorten

evaluation = kernel(functional_signature, "model, chain, log_predictive, parameters, out")
"""Decorator of a functional's compiled function ``f(model, chain, log_predictive, parameters, out)``."""


class Functional:
    """A function of a partition with `size` components.

    Parameters
    ----------
    name : str
    evaluate : Kernel or callable
        A function decorated with `copartition.evaluation`, or a Python function of the canonical labels.
    size : int
        Number of components.
    parameters : array, optional
        What the compiled function needs to know.
    components : list of str, optional
        Names of the components.
    about : dict, optional
        What a plot needs to know of the components: the ``grid`` of a density, the ``points`` of a co-clustering.
    """

    def __init__(
        self,
        name: str,
        evaluate: Kernel | Callable[..., Any],
        size: int,
        parameters: Any = (),
        components: list[str] | None = None,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.evaluate = evaluate
        self.size = integer("size", size, 1)
        self.parameters = np.ascontiguousarray(parameters, dtype=np.float64)
        if components is None:
            components = [name] if self.size == 1 else [f"{name}[{i}]" for i in range(self.size)]
        self.components = components
        self.about = about or {}

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return a target and a functional that go together, or refuse this one; see `bind_all`."""
        return target, self

    @property
    def is_compiled(self) -> bool:
        """Whether kernels can call the function themselves."""
        return isinstance(self.evaluate, Kernel)

    def of_labels(self, labels: np.ndarray) -> np.ndarray:
        """Return the value of a Python function at a partition."""
        answer = self.evaluate(canonical(labels))
        try:
            value = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{self.name} must return {self.size} number(s), got {shorten(answer)}.") from None
        if value.size != self.size or not np.isfinite(value).all():
            raise ValueError(f"{self.name} must return {self.size} finite number(s), got {shorten(answer)}.")
        return value.reshape(self.size)

    def __repr__(self) -> str:
        return f"<functional {self.name} of size {self.size}>"


@evaluation
def count_clusters(model, chain, log_predictive, parameters, out):
    """Number of clusters that are not empty."""
    sizes = chain[0].sizes
    count = 0
    for k in range(chain[0].counts[0]):
        count += sizes[k] > 0
    out[0] = count


@evaluation
def largest_shares(model, chain, log_predictive, parameters, out):
    """Sizes of the largest clusters as shares of all points, largest first."""
    sizes = chain[0].sizes
    for position in range(len(out)):
        out[position] = 0.0
    for k in range(chain[0].counts[0]):
        size = float(sizes[k])
        # Sorted insertion: `size` drops down the list and pushes out what is smaller.
        position = len(out) - 1
        if size > out[position]:
            while position > 0 and out[position - 1] < size:
                out[position] = out[position - 1]
                position -= 1
            out[position] = size
    for position in range(len(out)):
        out[position] /= len(chain[0].labels)


@evaluation
def same_cluster(model, chain, log_predictive, parameters, out):
    """Whether points are together, for all pairs of the points in `parameters`, row by row above the diagonal."""
    labels = chain[0].labels
    position = 0
    for a in range(len(parameters)):
        label = labels[int(parameters[a])]
        for b in range(a + 1, len(parameters)):
            out[position] = 1.0 if labels[int(parameters[b])] == label else 0.0
            position += 1


def n_clusters() -> Functional:
    """Return the functional that counts clusters.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.n_clusters()
    <functional n_clusters of size 1>
    """
    return Functional("n_clusters", count_clusters, 1)


def largest_clusters(k: int) -> Functional:
    """Return the functional that gives the shares of all points in the k largest clusters, largest first.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.largest_clusters(3)
    <functional largest_clusters(3) of size 3>
    """
    k = integer("k", k, 1)
    return Functional(f"largest_clusters({k})", largest_shares, k)


class CoClustering(Functional):
    """Whether points are together, for all pairs of all points; see `co_clustering`."""

    def __init__(self) -> None:
        super().__init__("co_clustering", same_cluster, 1)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional of as many points as the target has."""
        return target, co_clustering(np.arange(target.n_points))


def co_clustering(indices: Any = None) -> Functional:
    """Return the functional that tells, for each pair of points, whether they are in one cluster.

    Parameters
    ----------
    indices : array of int, optional
        At least two points; left out, all points. Pairs are in the order of ``numpy.triu_indices(len(indices), 1)``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.co_clustering([0, 5, 9])
    <functional co_clustering of size 3>
    """
    if indices is None:
        return CoClustering()
    points = np.asarray(indices)
    if points.ndim != 1 or len(points) < 2 or points.dtype.kind not in "iu" or points.min() < 0:
        raise ValueError(f"indices must be two or more numbers of points, got {shorten(indices)}.")
    pairs = [f"together[{a}, {b}]" for i, a in enumerate(points) for b in points[i + 1 :]]
    return Functional("co_clustering", same_cluster, len(pairs), points, pairs, {"points": points.tolist()})


@evaluation
def count_sizes(model, chain, log_predictive, parameters, out):
    """Number of clusters whose sizes lie between successive numbers of `parameters`."""
    sizes = chain[0].sizes
    for b in range(len(out)):
        out[b] = 0.0
    for k in range(chain[0].counts[0]):
        for b in range(len(out)):
            if parameters[b] <= sizes[k] < parameters[b + 1]:
                out[b] += 1.0


@evaluation
def mixture_density(model, chain, log_predictive, parameters, out):
    """Predictive density at the rows of ``points`` from ``parameters[0]`` on; ``parameters[1]`` is its log constant.

    A new point joins each cluster, or a new one, with its prior weight.
    """
    weights, sizes = chain[0].weights, chain[0].sizes
    log_size, log_new = model[0].log_size, model[0].log_new
    existing = chain[0].counts[0]
    log_open = log_new[min(existing, len(log_new) - 1)]
    top = log_open
    for k in range(existing):
        top = max(top, log_size[sizes[k]])
    total = math.exp(log_open - top)
    for k in range(existing):
        total += math.exp(log_size[sizes[k]] - top)
    for g in range(len(out)):
        log_predictive(model, chain, existing + 1, int(parameters[0]) + g)
        density = math.exp(weights[existing] + log_open - top + parameters[1])
        for k in range(existing):
            density += math.exp(weights[k] + log_size[sizes[k]] - top + parameters[1])
        out[g] = density / total


def cluster_sizes_histogram(edges: Any) -> Functional:
    """Return the functional that counts clusters by size.

    Parameters
    ----------
    edges : array
        Increasing sizes; component i counts the clusters with ``edges[i] <= size < edges[i + 1]``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.cluster_sizes_histogram([1, 2, 10, 100])
    <functional cluster_sizes_histogram of size 3>
    """
    bounds = np.asarray(edges, dtype=np.float64)
    if bounds.ndim != 1 or len(bounds) < 2 or not np.all(np.diff(bounds) > 0) or bounds[0] <= 0:
        raise ValueError(f"edges must be two or more increasing positive numbers, got {shorten(edges)}.")
    names = [f"clusters of {a:g} to {b:g}" for a, b in pairwise(bounds)]
    return Functional("cluster_sizes_histogram", count_sizes, len(names), bounds, names)


class PredictiveDensity(Functional):
    """The density of the next point at the points of a grid; see `predictive_density`."""

    def __init__(self, grid: Any) -> None:
        self.grid = np.asarray(grid, dtype=np.float64)
        if self.grid.ndim not in (1, 2) or not self.grid.size or not np.isfinite(self.grid).all():
            raise ValueError(f"grid must be an array of points, got {shorten(grid)}.")
        rows = self.grid.reshape(len(self.grid), -1)
        names = [f"density at {', '.join(f'{x:.6g}' for x in row[:4])}{', ...' * (len(row) > 4)}" for row in rows]
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


def functional(f: Callable[[np.ndarray], Any], size: int = 1) -> Functional:
    """Return a functional from any Python function of the canonical labels.

    Slower than the compiled ones: Python is called after every sweep.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functional(lambda labels: labels[0] == labels[1])
    <functional <lambda> of size 1>
    """
    if not callable(f):
        raise TypeError(f"f must be a function of an array of labels, got {shorten(f)}.")
    return Functional(getattr(f, "__name__", "functional"), f, size)


def bind_all(target: Any, functionals: Sequence[Any]) -> tuple[Any, tuple[Functional, ...]]:
    """Return the target and the functionals in the form that kernels need, or refuse what does not fit."""
    bound = []
    for value in functionals:
        if not isinstance(value, Functional):
            hint = "; wrap a function as copartition.functional(f, size)" if callable(value) else ""
            raise TypeError(f"functional must be a functional such as n_clusters(), got {shorten(value)}{hint}.")
        target, one = value.bind(target)
        if one.evaluate is same_cluster and one.parameters.max() >= target.n_points:
            most = int(one.parameters.max())
            raise ValueError(f"indices must be below the number of points, {target.n_points}, got {most}.")
        bound.append(one)
    return target, tuple(bound)


def evaluate_at(target: Any, functionals: Sequence[Functional], chain: Chain) -> np.ndarray:
    """Return the values of functionals, as `bind_all` returns them, at the partition where a chain is."""
    values = []
    for f in functionals:
        if isinstance(f.evaluate, Kernel):
            out = np.zeros(f.size)
            evaluate_kernel(target.model, chain, target.log_predictive, f.evaluate, f.parameters, out)
            values.append(out)
        else:
            values.append(f.of_labels(chain.labels))
    return np.concatenate(values)


@kernel(types.void(model_type, chain_type, log_predictive_type, functional_type, float1, float1))
def evaluate_kernel(model, chain, log_predictive, evaluate, parameters, out):
    """Evaluate one functional of one chain."""
    evaluate(reference(model), reference(chain), log_predictive, parameters, out)
