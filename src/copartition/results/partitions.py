"""Partitions that replicates have kept, with signed weights: what any expectation can be estimated from afterwards."""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

HEAD = struct.Struct("<BIII")  # of a packed replicate: bytes a label, partitions, points, hyperparameters


class Partitions(NamedTuple):
    """Some of the partitions that replicates average over, and some of their corrections.

    For any function h of a partition the sum of ``weights * h`` over the partitions of one replicate is an unbiased
    estimate of its expectation. Those of one replicate follow each other: first `averaged` many of its average, then,
    two by two, of its corrections.

    Attributes
    ----------
    labels : unsigned integer array (partitions, points)
        Of the smallest type that holds them.
    counts : int64 array (partitions)
        The weights, as whole multiples of ``1 / unit``; negative for chains that are subtracted.
    replicate : int64 array (partitions)
        The number of the replicate that each belongs to.
    hyperparameters : float64 array (partitions, hyperparameters)
        Values of those of the target's hyperparameters that are unknown; without columns where all are known.
    averaged : int
        How many of each replicate are of its average.
    unit : int
    """

    labels: np.ndarray
    counts: np.ndarray
    replicate: np.ndarray
    hyperparameters: np.ndarray
    averaged: int
    unit: int

    @property
    def weights(self) -> np.ndarray:
        """The signed weights; those of one replicate sum to 1."""
        return self.counts / self.unit

    @property
    def first(self) -> np.ndarray:
        """Where each replicate begins, and, last, where all end."""
        begins = np.flatnonzero(np.diff(self.replicate, prepend=-1))
        return np.append(begins, len(self.replicate))

    @property
    def is_averaged(self) -> np.ndarray:
        """Which partitions are of an average, and not of a correction."""
        first = self.first
        return np.arange(len(self.counts)) - np.repeat(first[:-1], np.diff(first)) < self.averaged

    def where(self, chosen: np.ndarray) -> Partitions:
        """Return some of them: all of whole replicates, or the order is lost."""
        return self._replace(
            labels=self.labels[chosen],
            counts=self.counts[chosen],
            replicate=self.replicate[chosen],
            hyperparameters=self.hyperparameters[chosen],
        )

    @classmethod
    def joined(cls, several: Sequence[Partitions], below: int | None = None) -> Partitions:
        """Return those of several, in the order of their replicates, below a number of these."""
        arrays = [np.concatenate(parts) for parts in zip(*[one[:4] for one in several], strict=True)]
        found = cls._make([*arrays, several[0].averaged, several[0].unit])
        wanted = np.full(len(found.replicate), True) if below is None else found.replicate < below
        if wanted.all() and np.all(np.diff(found.replicate) >= 0):
            return found
        order = np.argsort(found.replicate, kind="stable")
        return found.where(order[wanted[order]])

    # --- in a file ---------------------------------------------------------------------------------------------------

    def packed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each replicate, and its partitions as few bytes."""
        first = self.first
        for begin, end in itertools.pairwise(first):
            labels, values = narrow(self.labels[begin:end]), self.hyperparameters[begin:end]
            head = HEAD.pack(labels.itemsize, *labels.shape, values.shape[1])
            body = labels.tobytes() + self.counts[begin:end].tobytes() + values.tobytes()
            yield int(self.replicate[begin]), head + zlib.compress(body, 1)

    @classmethod
    def unpacked(cls, rows: Iterable[tuple[int, bytes]], averaged: int, unit: int) -> Partitions:
        """Return partitions from rows as `packed` yields them, of which there must be one at least."""
        pieces = []
        for number, row in rows:
            size, count, points, hyperparameters = HEAD.unpack_from(row)
            body = zlib.decompress(row[HEAD.size :])
            middle, end = size * count * points, size * count * points + 8 * count
            labels = np.frombuffer(body[:middle], dtype=f"u{size}").reshape(count, points)
            values = np.frombuffer(body[end:]).reshape(count, hyperparameters)
            pieces.append((labels, np.frombuffer(body[middle:end], dtype=np.int64), np.full(count, number), values))
        return cls._make([*[np.concatenate(parts) for parts in zip(*pieces, strict=True)], averaged, unit])


def narrow(labels: np.ndarray) -> np.ndarray:
    """Return labels in the smallest unsigned type that holds them."""
    return np.ascontiguousarray(labels, dtype=np.min_scalar_type(int(labels.max(initial=0))))


def kept_of(per_replicate: int, states: int) -> tuple[int, int]:
    """Return how many states of an average are kept, and a unit of which all weights are multiples.

    Parameters
    ----------
    per_replicate : int
        How many are wanted.
    states : int
        How many there are.
    """
    averaged = min(per_replicate, states)
    return averaged, math.lcm(averaged, states)
