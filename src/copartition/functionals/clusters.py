"""Functionals of the clusters: how many, how large, who is with whom."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from copartition.core.clusters import n_occupied
from copartition.core.compiling import part
from copartition.functionals.base import Functional, check_count, evaluation
from copartition.validation import finite_array, integer, shorten


@evaluation
def count_clusters(model, chain, hooks, parameters, out):
    """Number of clusters that are not empty."""
    out[0] = n_occupied(chain)


@evaluation
def indicate_n_clusters(model, chain, hooks, parameters, out):
    """Whether there are 1, 2, ..., clusters that are not empty, or, last, more than that."""
    count = n_occupied(chain)
    for i in range(len(out)):
        out[i] = 0.0
    out[min(count, len(out)) - 1] = 1.0


def n_clusters(most: int | None = None) -> Functional:
    """Return the functional that counts clusters.

    Parameters
    ----------
    most : int, optional
        If given, the probabilities of 1, ..., `most` clusters and of more, instead of their number.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.n_clusters()
    <functional n_clusters of size 1>
    >>> cp.n_clusters(most=2).components
    ['P(1 cluster)', 'P(2 clusters)', 'P(more than 2 clusters)']
    """
    if most is None:
        return Functional("n_clusters", count_clusters, 1)
    most = check_count("most", integer("most", most, 1), "")
    names = names_up_to(most, "cluster")
    name = f"n_clusters({most})"
    return Functional(name, indicate_n_clusters, most + 1, components=names, picture="n_clusters", range=(0, 1))


def names_up_to(most: int, what: str) -> list[str]:
    """Return names for the probabilities of 1, ..., `most` of something, and of more."""
    names = [f"P({k} {what}{'s' if k > 1 else ''})" for k in range(1, most + 1)]
    return [*names, f"P(more than {most} {what}{'s' if most > 1 else ''})"]


# Not a product with one over the number of points, which compilers take for it where they may: 3 / 5 must be 0.6.
@part(forceinline=True, fastmath={"contract"})
def quotient(a, b):
    """Return a / b to the last digit."""
    return a / b


@evaluation
def largest_shares(model, chain, hooks, parameters, out):
    """Sizes of the largest clusters as shares of all points, largest first."""
    sizes = chain.sizes
    for position in range(len(out)):
        out[position] = 0.0
    for k in range(chain.n_clusters[0]):
        size = float(sizes[k])
        # Sorted insertion: `size` drops down the list and pushes out what is smaller.
        position = len(out) - 1
        if size > out[position]:
            while position > 0 and out[position - 1] < size:
                out[position] = out[position - 1]
                position -= 1
            out[position] = size
    for position in range(len(out)):
        out[position] = quotient(out[position], len(chain.labels))


def largest_clusters(k: int) -> Functional:
    """Return the functional that gives the shares of all points in the k largest clusters, largest first.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.largest_clusters(3)
    <functional largest_clusters(3) of size 3>
    """
    k = check_count("k", integer("k", k, 1), "")
    return Functional(f"largest_clusters({k})", largest_shares, k, picture="largest_clusters", range=(0, 1))


@evaluation
def count_sizes(model, chain, hooks, parameters, out):
    """Number of clusters whose sizes lie between successive numbers of `parameters`."""
    sizes = chain.sizes
    for b in range(len(out)):
        out[b] = 0.0
    for k in range(chain.n_clusters[0]):
        for b in range(len(out)):
            if parameters[b] <= sizes[k] < parameters[b + 1]:
                out[b] += 1.0


def cluster_sizes_histogram(edges: Any) -> Functional:
    """Return the functional that counts clusters by size.

    Parameters
    ----------
    edges : array
        Increasing sizes; component i counts the clusters with ``edges[i] <= size < edges[i + 1]``.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functionals.cluster_sizes_histogram([1, 2, 10, 100])
    <functional cluster_sizes_histogram of size 3>
    """
    bounds = finite_array("edges", edges, (0, 1))
    if bounds.ndim != 1 or len(bounds) < 2 or not np.all(np.diff(bounds) > 0) or bounds[0] <= 0:
        raise ValueError(f"edges must be two or more increasing positive numbers, got {shorten(edges)}.")
    names = [f"clusters of {a:g} to {b:g}" for a, b in pairwise(bounds)]
    return Functional("cluster_sizes_histogram", count_sizes, len(names), bounds, names, picture="sizes")
