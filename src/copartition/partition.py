"""Partitions as arrays of labels, and the two distances between them.

A partition of n points is an array of n labels: points with the same label are in the same cluster, and the labels
themselves mean nothing. Both distances compare clusters A of one partition with clusters B of the other through the
sizes of their intersections, and are one formula with two choices of g:

    sum g(|A|) + sum g(|B|) - 2 sum g(|A and B|),       g(x) = x^2  or  g(x) = x log(x) / n.

The first is the Hamming distance of the adjacency matrices (Mirkin's metric, Eq. (2) of the paper), the second the
variation of information (Meila 2007). These are the plain versions; the chains keep theirs up to date move by move.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.validation import label_array

__all__ = ["canonical", "hamming_distance", "overlaps", "variation_of_information"]


def canonical(labels: Any) -> np.ndarray:
    """Number clusters in the order in which their first points come.

    Parameters
    ----------
    labels : array of int
        A label for each point.

    Returns
    -------
    numpy.ndarray
        The same partition with labels 0, 1, 2, ...; two partitions are equal if and only if these arrays are.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.partition.canonical([7, 7, 2, 7, 0])
    array([0, 0, 1, 0, 2])
    """
    array = label_array("labels", labels, np.size(labels))
    _, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def overlaps(a: Any, b: Any) -> np.ndarray:
    """Count the points that clusters have in common.

    Returns
    -------
    numpy.ndarray
        Entry (i, j) is the number of points in cluster i of `a` and cluster j of `b`, in canonical numbering.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.partition.overlaps([0, 0, 0, 1], [0, 0, 1, 1])
    array([[2, 1],
           [0, 1]])
    """
    first = canonical(a)
    second = canonical(label_array("b", b, len(first)))
    table = np.zeros((first.max(initial=-1) + 1, second.max(initial=-1) + 1), dtype=np.int64)
    np.add.at(table, (first, second), 1)
    return table


def hamming_distance(a: Any, b: Any) -> int:
    """Count the ordered pairs of points that are together in one partition and apart in the other.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.partition.hamming_distance([0, 0, 1], [0, 1, 1])
    4
    """
    table = overlaps(a, b)
    return int(np.sum(table.sum(1) ** 2) + np.sum(table.sum(0) ** 2) - 2 * np.sum(table**2))


def variation_of_information(a: Any, b: Any) -> float:
    """Return the variation of information of two partitions, in nats; exactly 0 where they are equal.

    Examples
    --------
    >>> import copartition as cp
    >>> round(cp.partition.variation_of_information([0, 0, 1, 1], [0, 1, 0, 1]), 4)  # 2 log 2
    1.3863
    """
    table = overlaps(a, b)
    n = table.sum()
    occupied = table > 0
    share = np.where(occupied, table, 1) / max(n, 1)
    # H(A|B) + H(B|A), each a sum of log ratios that are exactly 0 where a cluster lies inside the other.
    given_a = np.where(occupied, np.log(np.where(occupied, table / table.sum(1, keepdims=True), 1.0)), 0.0)
    given_b = np.where(occupied, np.log(np.where(occupied, table / table.sum(0, keepdims=True), 1.0)), 0.0)
    return float(-np.sum(share * occupied * (given_a + given_b)) + 0.0)
