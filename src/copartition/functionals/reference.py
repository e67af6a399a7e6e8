"""How partitions compare with given ones: distances, and how surely points belong to the clusters of a clustering."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from copartition.core.compiling import inner
from copartition.functionals.base import Functional, evaluation
from copartition.functionals.pairs import ListedPairs
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


@inner
def count_cluster(labels, parameters, first, counts):
    """Count the points of the reference cluster that begins at `first` by their labels; return where it ends.

    `parameters` has the points cluster by cluster, and after that the cluster of each.
    """
    n_points = len(labels)
    cluster = parameters[n_points + first]
    last = first
    while last < n_points and parameters[n_points + last] == cluster:
        counts[labels[int(parameters[last])]] += 1.0
        last += 1
    return last


@evaluation
def share_of_companions(model, chain, hooks, parameters, out):
    """For each point and each reference cluster: the share of that cluster, the point left out, that is with it."""
    labels, counts = chain.labels, chain.weights  # weights are free between sweeps
    n_points, existing = len(labels), chain.n_clusters[0]
    clusters = len(out) // n_points
    first = 0
    for k in range(clusters):
        for row in range(existing):
            counts[row] = 0.0
        begin = first
        first = count_cluster(labels, parameters, begin, counts)
        size = first - begin
        for n in range(n_points):
            out[n * clusters + k] = counts[labels[n]] / size
        others = max(size - 1, 1)
        for place in range(begin, first):
            n = int(parameters[place])
            out[n * clusters + k] = (counts[labels[n]] - 1.0) / others


@evaluation
def share_of_pairs(model, chain, hooks, parameters, out):
    """For each pair of reference clusters, one and the same included: the share of pairs that are together."""
    labels, counts = chain.labels, chain.weights
    n_points, existing = len(labels), chain.n_clusters[0]
    clusters = int(parameters[2 * n_points - 1]) + 1
    place = first = 0
    for a in range(clusters):
        for row in range(existing):
            counts[row] = 0.0
        begin = first
        first = count_cluster(labels, parameters, first, counts)
        within = 0.0
        for row in range(existing):
            within += counts[row] * (counts[row] - 1.0) / 2.0
        size = first - begin
        out[place] = within / max(size * (size - 1) // 2, 1)
        place += 1
        # The clusters that come later, point by point: each point is with so many of this one.
        last = first
        for _ in range(a + 1, clusters):
            other = last
            cluster = parameters[n_points + other]
            between = 0.0
            while last < n_points and parameters[n_points + last] == cluster:
                between += counts[labels[int(parameters[last])]]
                last += 1
            out[place] = between / (size * (last - other))
            place += 1


def _by_cluster(labels: np.ndarray) -> np.ndarray:
    """Return a clustering as kernels take it: points cluster by cluster, and the cluster of each."""
    order = np.argsort(labels, kind="stable")
    return np.concatenate([order, labels[order]])


class OfPartition(Functional):
    """A functional that compares with a given clustering; refuses one of another number of points."""

    def __init__(self, name: str, evaluate: Any, labels: np.ndarray, **more: Any) -> None:
        self.labels = labels
        super().__init__(name, evaluate, parameters=_by_cluster(labels), range=(0, 1), counts=True, **more)

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Refuse a partition of another number of points."""
        if len(self.labels) != target.n_points:
            raise ValueError(
                f"partition must have {target.n_points} labels, one a point, got {len(self.labels)} of them."
            )
        if target.names is None or "partition" not in self.about:
            return target, self
        named = copy.copy(self)
        named.about = self.about | {"names": target.names}
        return target, named

    def glimpse(self, components: int) -> Functional:
        """Return some points, each with the next one of its cluster, or the first of the next cluster."""
        order = np.argsort(self.labels, kind="stable")
        pairs = np.stack([order[:-1], order[1:]], axis=1)
        return ListedPairs(pairs[np.unique(np.linspace(0, len(pairs) - 1, components).astype(np.int64))], True)


def memberships(partition: Any, *, keep_values: bool | None = None) -> Functional:
    """Return the functional that tells how surely each point belongs to each cluster of a given clustering.

    Component ``n * clusters + k`` is the share of the points of cluster k, point n itself left out, that are together
    with point n. So ``mean.reshape(-1, clusters)`` has a row a point, and a row's entry at the point's own cluster is
    its certainty. It takes memory for points x clusters, not for pairs of points. For a point that is alone in its
    cluster the entry of that cluster is 0.

    Parameters
    ----------
    partition : array of int (points)
        The clustering to compare with, for instance ``consensus(posterior).labels``. Clusters are numbered in the
        order of their first points.
    keep_values : bool, optional
        See `co_clustering`.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.memberships([0, 0, 1, 1, 1])
    <functional memberships of size 10>
    """
    labels = _labels_of(partition)
    sizes = np.bincount(labels)
    divisors = np.tile(sizes.astype(float), (len(labels), 1))
    divisors[np.arange(len(labels)), labels] -= 1.0
    return OfPartition(
        "memberships",
        share_of_companions,
        labels,
        size=divisors.size,
        about={"partition": labels},
        picture="memberships",
        keep_values=keep_values,
        divisors=np.maximum(divisors, 1.0).ravel(),
    )


def cluster_similarity(partition: Any, *, keep_values: bool | None = None) -> Functional:
    """Return the functional that tells which clusters of a given clustering hold together, and which are mixed.

    For each pair of clusters a <= b the share of pairs of points, one of each (two different ones of a where b is a),
    that are together; in the order of ``numpy.triu_indices(clusters)``. For a cluster of one point its own entry is 0.

    Parameters
    ----------
    partition : array of int (points)
    keep_values : bool, optional
        See `co_clustering`.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functionals.cluster_similarity([0, 0, 1, 1, 1]).components[1]
    'together[cluster 0, cluster 1]'
    """
    labels = _labels_of(partition)
    sizes = np.bincount(labels).astype(float)
    a, b = np.triu_indices(len(sizes))
    pairs = np.where(a == b, sizes[a] * (sizes[a] - 1.0) / 2.0, sizes[a] * sizes[b])
    names = [f"together[cluster {i}, cluster {j}]" for i, j in zip(a, b, strict=True)]
    return OfPartition(
        "cluster_similarity",
        share_of_pairs,
        labels,
        size=len(pairs),
        components=names,
        about={"clusters": len(sizes)},
        picture="matrix",
        keep_values=keep_values,
        divisors=np.maximum(pairs, 1.0),
    )


def _labels_of(partition: Any) -> np.ndarray:
    labels = np.asarray(partition)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iu":
        raise ValueError(f"partition must be an array of labels, one a point, got {shorten(partition)}.")
    return canonical(labels)
