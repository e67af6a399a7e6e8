"""Which points are together: of all points, of some, or of a list of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.functionals.base import Functional, evaluation
from copartition.validation import finite_array, integer, shorten


@evaluation
def same_cluster(model, chain, hooks, parameters, out):
    """Whether points are together, for all pairs of the points in `parameters`, row by row above the diagonal."""
    labels = chain.labels
    position = 0
    for a in range(len(parameters)):
        label = labels[int(parameters[a])]
        for b in range(a + 1, len(parameters)):
            out[position] = 1.0 if labels[int(parameters[b])] == label else 0.0
            position += 1


@evaluation
def same_cluster_listed(model, chain, hooks, parameters, out):
    """Whether points are together, for the pairs in `parameters`: all first points, then all second ones."""
    labels = chain.labels
    count = len(out)
    for pair in range(count):
        out[pair] = 1.0 if labels[int(parameters[pair])] == labels[int(parameters[count + pair])] else 0.0


class CoClustering(Functional):
    """Whether points are together, for all pairs of some points, or of all; see `co_clustering`."""

    gathers = True

    def __init__(self, points: np.ndarray | None, keep_values: bool | None, names: list[str] | None = None) -> None:
        self.points = points
        count = 2 if points is None else len(points)  # of all points: known when it meets a target
        about: dict[str, Any] = {"points": points} | ({} if names is None else {"names": names})
        super().__init__(
            "co_clustering",
            same_cluster,
            count * (count - 1) // 2,
            () if points is None else points,
            about={} if points is None else about,
            picture="co_clustering",
            range=(0, 1),
            counts=True,
            keep_values=keep_values,
        )

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional of as many points as the target has, or refuse points that it does not have."""
        if target.n_points < 2:
            raise ValueError(f"co_clustering needs at least two points, got {target.n_points}.")
        points = np.arange(target.n_points) if self.points is None else self.points
        _check_points("indices", points, target.n_points)
        return target, CoClustering(points, self.keep_values, target.names)

    def glimpse(self, components: int) -> Functional:
        """Return the pairs of some points that lie evenly among all."""
        count = int(np.sqrt(2 * components)) + 1
        return CoClustering(_spaced(self.parameters.astype(np.int64), count), True)


class ListedPairs(Functional):
    """Whether the points of given pairs are together; see `co_clustering`."""

    def __init__(self, pairs: np.ndarray, keep_values: bool | None, names: list[str] | None = None) -> None:
        self.pairs = pairs
        about: dict[str, Any] = {"pairs": pairs} | ({} if names is None else {"names": names})
        super().__init__(
            "co_clustering",
            same_cluster_listed,
            len(pairs),
            pairs.T.ravel(),
            about=about,
            range=(0, 1),
            counts=True,
            keep_values=keep_values,
        )

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Refuse points that the target does not have."""
        _check_points("pairs", self.pairs, target.n_points)
        return target, ListedPairs(self.pairs, self.keep_values, target.names)

    def glimpse(self, components: int) -> Functional:
        """Return some pairs that lie evenly among all."""
        return ListedPairs(_spaced(self.pairs, components), True)


def _spaced(values: np.ndarray, count: int) -> np.ndarray:
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(np.int64))]


def _check_points(name: str, points: np.ndarray, count: int) -> None:
    most = int(points.max())
    if most >= count:
        raise ValueError(f"{name} must be below the number of points, {count}, got {most}.")


def co_clustering(indices: Any = None, pairs: Any = None, *, keep_values: bool | None = None) -> Functional:
    """Return the functional that tells, for each pair of points, whether they are in one cluster.

    Parameters
    ----------
    indices : array of int, optional
        At least two points; left out, all points. Pairs are in the order of ``numpy.triu_indices(len(indices), 1)``.
    pairs : array of int (pairs, 2), optional
        These pairs instead, for instance those of `nearest_pairs`: what takes no memory for all others.
    keep_values : bool, optional
        Whether `estimate` keeps the values of every replicate, or only what mean and standard error take. Left out,
        they are kept of up to 10,000 pairs (141 points).

    Examples
    --------
    >>> import copartition as cp
    >>> cp.co_clustering([0, 5, 9])
    <functional co_clustering of size 3>
    >>> cp.co_clustering(pairs=[[0, 5], [0, 9]])
    <functional co_clustering of size 2>
    """
    if pairs is not None:
        if indices is not None:
            raise ValueError("Give indices or pairs, not both.")
        listed = np.asarray(pairs)
        if listed.ndim != 2 or listed.shape[1] != 2 or not len(listed) or listed.dtype.kind not in "iu":
            raise ValueError(f"pairs must be one or more pairs of numbers of points, got {shorten(pairs)}.")
        if listed.min() < 0 or np.any(listed[:, 0] == listed[:, 1]):
            raise ValueError(f"pairs must be of two different points each, got {shorten(pairs)}.")
        if len(np.unique(np.sort(listed, axis=1), axis=0)) < len(listed):
            raise ValueError(f"pairs must be different ones, got one twice in {shorten(pairs)}.")
        return ListedPairs(listed.astype(np.int64), keep_values)
    if indices is None:
        return CoClustering(None, keep_values)
    points = np.asarray(indices)
    if points.ndim != 1 or len(points) < 2 or points.dtype.kind not in "iu" or points.min() < 0:
        raise ValueError(f"indices must be two or more numbers of points, got {shorten(indices)}.")
    if len(np.unique(points)) < len(points):
        raise ValueError(f"indices must be of different points, got one twice in {shorten(indices)}.")
    return CoClustering(points.astype(np.int64), keep_values)


def nearest_pairs(data: Any, k: int = 10) -> np.ndarray:
    """Return each point with its `k` nearest neighbours, every pair once: a sparse list for `co_clustering`.

    Parameters
    ----------
    data : array (points, columns)
        Numbers; columns count by their size, so bring them to one scale first.
    k : int
        Neighbours of each point, by Euclidean distance.

    Returns
    -------
    int64 array (pairs, 2)
        In order, the smaller number first.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functionals.nearest_pairs([[0.0], [0.1], [5.0], [5.1]], k=1)
    array([[0, 1],
           [2, 3]])
    """
    from scipy.spatial import KDTree

    points = finite_array("data", data, (1, 2))
    points = points.reshape(len(points), -1)
    k = integer("k", k, 1)
    if k >= len(points):
        raise ValueError(f"k must be below the number of points, {len(points)}, got {k}.")
    found = KDTree(points).query(points, k + 1)[1]
    here = np.repeat(np.arange(len(points)), k + 1)
    both = np.stack([here, found.ravel()], axis=1)
    # Where points coincide one may not be found among its own neighbours: pairs of a point with itself are left out.
    both = np.sort(both[both[:, 0] != both[:, 1]], axis=1)
    return np.unique(both, axis=0).astype(np.int64)
