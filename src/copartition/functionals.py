"""What is estimated: functions h of a partition, with one or more components.

A functional is a compiled function ``evaluate(model, chain, log_predictive, parameters, out)`` that reads a chain and
writes the value of h to `out`; it is handed to the kernels like targets and couplings are. `functional` wraps any
Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from copartition.compiled.kernel import Kernel, kernel
from copartition.compiled.state import functional_signature
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
    """

    def __init__(
        self,
        name: str,
        evaluate: Kernel | Callable[..., Any],
        size: int,
        parameters: Any = (),
        components: list[str] | None = None,
    ) -> None:
        self.name = name
        self.evaluate = evaluate
        self.size = integer("size", size, 1)
        self.parameters = np.ascontiguousarray(parameters, dtype=np.float64)
        if components is None:
            components = [name] if self.size == 1 else [f"{name}[{i}]" for i in range(self.size)]
        self.components = components

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


def co_clustering(indices: Any) -> Functional:
    """Return the functional that tells, for each pair of the given points, whether they are in one cluster.

    Parameters
    ----------
    indices : array of int
        At least two points. Pairs are in the order of ``numpy.triu_indices(len(indices), 1)``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.co_clustering([0, 5, 9])
    <functional co_clustering of size 3>
    """
    points = np.asarray(indices)
    if points.ndim != 1 or len(points) < 2 or points.dtype.kind not in "iu" or points.min() < 0:
        raise ValueError(f"indices must be two or more numbers of points, got {shorten(indices)}.")
    pairs = [f"together[{a}, {b}]" for i, a in enumerate(points) for b in points[i + 1 :]]
    return Functional("co_clustering", same_cluster, len(pairs), points, pairs)


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


def check_functional(value: Any, n_points: int) -> Functional:
    """Return `value` if it is a functional of partitions of that many points."""
    if not isinstance(value, Functional):
        hint = "; wrap a function as copartition.functional(f, size)" if callable(value) else ""
        raise TypeError(f"functional must be a functional such as n_clusters(), got {shorten(value)}{hint}.")
    if value.evaluate is same_cluster and value.parameters.max() >= n_points:
        raise ValueError(f"indices must be below the number of points, {n_points}, got {value.parameters.max():.0f}.")
    return value
