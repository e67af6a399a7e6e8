"""From the clusterings that a replicate averaged over to how often each pair of points was together.

Written out after every sweep, all pairs of ten thousand points are fifty million numbers. So clusterings are recorded
as labels, and pairs are counted when the replicate has ended: a stretch of pairs at a time, all clusterings at once,
in scratch that stays in the cache. Sums over replicates are all that leaves it.
"""

from __future__ import annotations

from copartition.core.compiling import inner, kernel
from copartition.core.types import Int1, State, UShort2, int64, narrow1, short1, void

WIDTH = 1024  # pairs that are counted at a time


class Counting(State):
    """What is to be counted, and where it is added to.

    Attributes
    ----------
    labels : uint16 array (clusterings, points)
    weights : int64 array (clusterings)
        How often each counts; those that count once come first.
    once : int64 array (1)
        How many count once.
    totals, squares : int64 arrays (pairs)
        To which the count of each pair, and its square, are added.
    """

    labels: UShort2
    weights: Int1
    once: Int1
    totals: Int1
    squares: Int1


@inner
def count_stretch(labels, weights, once, i, begin, end, counts, weighted):
    """Count how often point i is with each of the points `begin` to ``end - 1``."""
    width = end - begin
    for j in range(width):
        counts[j] = 0
        weighted[j] = 0
    for t in range(once):
        label = labels[t, i]
        row = labels[t][begin:end]
        for j in range(width):
            counts[j] += row[j] == label
    for t in range(once, len(weights)):
        label = labels[t, i]
        weight = weights[t]
        row = labels[t][begin:end]
        for j in range(width):
            weighted[j] += weight if row[j] == label else 0


@kernel(void(Counting, int64, int64, narrow1, int64, short1, narrow1))
def count_pairs(counting, first, last, partial, goes_on, counts, weighted):
    """Count the pairs whose first point is `first` to ``last - 1`` and add them up.

    Pairs are numbered row by row. Where a replicate has more clusterings than are held at a time, what the earlier ones
    gave is in `partial` (of length 0 otherwise), and is added there again if the replicate `goes_on`.
    """
    labels, weights, once = counting.labels, counting.weights, counting.once[0]
    totals, squares = counting.totals, counting.squares
    n_points = labels.shape[1]
    for begin in range(first + 1, n_points, WIDTH):
        end = min(begin + WIDTH, n_points)
        for i in range(first, min(last, end - 1)):
            here = max(begin, i + 1)
            count_stretch(labels, weights, once, i, here, end, counts, weighted)
            place = i * n_points - i * (i + 1) // 2 + here - i - 1
            for j in range(end - here):
                count = counts[j] + weighted[j]
                if len(partial) > 0:
                    count += partial[place + j]
                if goes_on:
                    partial[place + j] = count
                else:
                    totals[place + j] += count
                    squares[place + j] += count * count
                    if len(partial) > 0:
                        partial[place + j] = 0
