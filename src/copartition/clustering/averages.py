"""Expectations from weighted partitions of functions that are plain NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from copartition.runs.drawing import WeightedPartitions

Of = Callable[[np.ndarray, np.ndarray], np.ndarray]  # a function of labels and hyperparameters


def each_partition(draws: WeightedPartitions) -> Iterator[tuple[int, float, np.ndarray, np.ndarray]]:
    """Yield the replicate, counted from 0, the weight, the labels and the hyperparameters of each partition."""
    replicate = np.unique(draws.replicate, return_inverse=True)[1]
    palette = draws.target is not None and draws.target.model.palette > 0
    rows = zip(replicate.tolist(), draws.weights, draws.labels, draws.hyperparameters, strict=True)
    for r, weight, labels, values in rows:
        labels = labels.astype(np.int64)
        yield r, float(weight), np.unique(labels, return_inverse=True)[1] if palette else labels, values


def by_replicate(draws: WeightedPartitions, of: Of) -> np.ndarray:
    """Return the weighted average of a function over the partitions of each replicate (replicates, numbers)."""
    found: list[np.ndarray] = []
    for r, weight, labels, values in each_partition(draws):
        value = weight * np.ravel(of(labels, values))
        if r == len(found):
            found.append(value)
        else:
            found[r] += value
    return np.array(found)


def mean_of(draws: WeightedPartitions, of: Of) -> np.ndarray:
    """Return the expectation of a function; replicates are not kept, which many numbers would take memory for."""
    total: np.ndarray | float = 0.0
    count = 0
    for r, weight, labels, values in each_partition(draws):
        total = total + weight * of(labels, values)
        count = r + 1
    return np.asarray(total / count)


def moments_about(column: Any, centre: float) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second moments of members of each cluster less a number: near 0 no digit of a spread is lost."""
    away = column.mean - centre
    return away, column.variance + away**2


def stderr_of(values: np.ndarray) -> np.ndarray:
    """Return the standard errors of means over replicates (replicates, numbers)."""
    count = len(values)
    return np.full(values.shape[1], np.nan) if count < 2 else values.std(axis=0, ddof=1) / np.sqrt(count)


def overlaps_with(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return how many points each cluster of a partition shares with each reference cluster."""
    shape = int(labels.max()) + 1, int(reference.max()) + 1
    return np.bincount(labels * shape[1] + reference, minlength=shape[0] * shape[1]).reshape(shape)
