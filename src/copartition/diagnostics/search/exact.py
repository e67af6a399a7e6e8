"""All partitions of a few points, and the loss of each.

The losses are sums over clusters, so that it is enough to know what each of the 2^n sets of points would add.
"""

from __future__ import annotations

import numpy as np

from copartition.core.clusters import set_all
from copartition.core.compiling import kernel
from copartition.core.types import float1, int1, int2, int64

ALL_OF = 10  # points up to which all partitions are tried: 115,975 of them


@kernel(int64(float1, int2, float1, int1, int1))
def try_all(of_set, partitions, losses, highest, sets):
    """Write all partitions and their losses, those first that have fewer clusters early on; return how many.

    Parameters
    ----------
    of_set : float64 array (2^points)
        What a cluster adds to the loss; point i stands for the bit 2^i.
    partitions : int64 array (many enough, points)
    losses : float64 array (many enough)
    highest : int64 array (points + 1)
        Scratch: the number of clusters of the points before each.
    sets : int64 array (points)
        Scratch: the clusters as sets.
    """
    count = partitions.shape[1]
    labels = partitions[0]
    set_all(labels, count, 0)
    n = 0
    while True:
        highest[0] = 0
        set_all(sets, len(sets), 0)
        for i in range(count):
            highest[i + 1] = max(highest[i], labels[i] + 1)
            sets[labels[i]] += 1 << i
        losses[n] = 0.0
        for k in range(highest[count]):
            losses[n] += of_set[sets[k]]
        # The next one: the last point that can have a larger label gets it, and those after it begin anew.
        last = count - 1
        while last > 0 and labels[last] == highest[last]:
            last -= 1
        n += 1
        if last <= 0:
            return n
        for i in range(count):
            partitions[n, i] = labels[i] if i < last else 0
        partitions[n, last] += labels[last] + 1
        labels = partitions[n]


def all_partitions(of_set: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all partitions of `count` points and what their clusters add up to."""
    bell = number_of_partitions(count)
    partitions, losses = np.zeros((bell, count), dtype=np.int64), np.zeros(bell)
    try_all(of_set, partitions, losses, np.zeros(count + 1, dtype=np.int64), np.zeros(count, dtype=np.int64))
    return partitions, losses


def number_of_partitions(count: int) -> int:
    """Return the Bell number: the last one of a row of the Bell triangle."""
    row = [1]
    for _ in range(count - 1):
        above, row = row, [row[-1]]
        for value in above:
            row.append(row[-1] + value)
    return row[-1]


def sets_of(count: int) -> np.ndarray:
    """Return all sets of points as rows of 0 and 1."""
    return (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
