"""Sums over clusters. Deviations are taken from cluster means, so that no digits are lost far from the origin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class ColumnStatistics(NamedTuple):
    """How many cells of a column there are in each cluster, their mean, and the sum of squares around it."""

    size: np.ndarray
    mean: np.ndarray
    squares: np.ndarray


def of_column(values: np.ndarray, labels: np.ndarray, n_clusters: int) -> ColumnStatistics:
    """Return the statistics of one column; those of empty clusters are 0."""
    size = np.bincount(labels, minlength=n_clusters).astype(float)
    some = np.maximum(size, 1.0)
    mean = np.bincount(labels, values, n_clusters) / some
    rest = values - mean.take(labels)
    rounding = np.bincount(labels, rest, n_clusters) / some
    squares = np.bincount(labels, rest * rest, n_clusters) - size * rounding * rounding
    return ColumnStatistics(size, mean + rounding, np.maximum(squares, 0.0))


def around_mean(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of some rows, 0 if there are none, and the rows less their mean."""
    if not len(rows):
        return np.zeros(rows.shape[1]), rows
    mean = rows.mean(axis=0)
    mean += (rows - mean).mean(axis=0)
    return mean, rows - mean


def sorted_by(labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of rows sorted by cluster, and where each of the clusters ends."""
    small = labels.astype(np.int16) if n_clusters <= np.iinfo(np.int16).max else labels  # sorted ten times faster
    return np.argsort(small, kind="stable"), np.cumsum(np.bincount(labels, minlength=n_clusters))
