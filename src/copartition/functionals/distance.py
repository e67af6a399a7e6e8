"""Distances to given partitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from copartition.core.compiling import inner
from copartition.functionals.base import Functional, evaluation
from copartition.partition import canonical
from copartition.validation import shorten


@evaluation
def distances(model, chain, hooks, parameters, out):
    """Distance to each of some fixed partitions: sum g(|A|) + sum g(|B|) - 2 sum g(|A and B|), divided as asked.

    ``parameters[0]`` is 1 for g(x) = x log x and 0 for x^2, ``parameters[1]`` the divisor. Then for each partition come
    its points, cluster by cluster, and the number of the cluster of each.
    """
    labels, sizes, counts = chain.labels, chain.sizes, chain.weights  # weights are free between sweeps
    by_entropy = parameters[0] == 1.0
    count, existing = len(labels), chain.n_clusters[0]
    of_chain = 0.0
    for k in range(existing):
        of_chain += growth(float(sizes[k]), by_entropy)
    for c in range(len(out)):
        begin = 2 + 2 * count * c
        total = of_chain
        first = 0
        while first < count:
            for k in range(existing):
                counts[k] = 0.0
            cluster = parameters[begin + count + first]
            last = first
            while last < count and parameters[begin + count + last] == cluster:
                counts[labels[int(parameters[begin + last])]] += 1.0
                last += 1
            total += growth(float(last - first), by_entropy)
            for k in range(existing):
                total -= 2.0 * growth(counts[k], by_entropy)
            first = last
        out[c] = max(total, 0.0) / parameters[1]


@inner
def growth(size, by_entropy):
    """Return g(size): size log size, or size squared."""
    if by_entropy:
        return size * math.log(size) if size > 0.0 else 0.0
    return size * size


class DistanceTo(Functional):
    """Distances to fixed partitions; see `distance_to`."""

    def __init__(self, partitions: Any, metric: str) -> None:
        if metric not in ("vi", "hamming"):
            raise ValueError(f"metric must be 'vi' or 'hamming', got {shorten(metric)}.")
        try:
            rows = np.atleast_2d(np.asarray(partitions))
        except ValueError:
            raise ValueError(f"partitions must all have as many labels, got {shorten(partitions)}.") from None
        if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "iu":
            raise ValueError(f"partitions must be one or more arrays of labels, got {shorten(partitions)}.")
        self.rows = np.array([canonical(row) for row in rows])
        count = self.rows.shape[1]
        parameters: list[Any] = [[float(metric == "vi"), count if metric == "vi" else 1]]
        for row in self.rows:
            order = np.argsort(row, kind="stable")
            parameters += [order, row[order]]
        names = [f"{metric} distance to partition {c}" for c in range(len(self.rows))]
        about = {"partitions": self.rows.tolist(), "metric": metric}
        super().__init__("distance_to", distances, len(self.rows), np.concatenate(parameters), names, about)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Refuse partitions of another number of points."""
        if self.rows.shape[1] != target.n_points:
            raise ValueError(
                f"partitions must have {target.n_points} labels, one a point, got {self.rows.shape[1]} of them."
            )
        return target, self


def distance_to(partitions: Any, metric: str = "vi") -> Functional:
    """Return the functional that gives the distance of a partition to each of some given ones.

    Its expectation is the posterior expected loss of reporting them: with ``metric="vi"`` the variation of information
    (`variation_of_information`), with ``metric="hamming"`` twice the Binder loss (`hamming_distance`).

    Parameters
    ----------
    partitions : array of int (points) or (partitions, points)
        Labels.
    metric : str
        ``"vi"`` or ``"hamming"``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functionals.distance_to([[0, 0, 1], [0, 1, 1]])
    <functional distance_to of size 2>
    """
    return DistanceTo(partitions, metric)
