"""What the search works on: losses, clusterings with points that join and leave, and what was found, in order.

Clusters are numbered 0, 1, ...; row ``n_clusters`` of every table is empty: it is the new cluster that a point may
open. All losses here are sums over clusters, and are not divided by anything until they are reported: the search
compares differences of them only.

Functions change the `Place` that they are given, and nothing else. The members of a cluster lie side by side, so that a
loop over them is tight. A point that comes or goes makes one member of each later cluster change places.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import numpy as np

from copartition.core.compiling import inner, outline
from copartition.core.types import Float1, Float2, Function, Int1, Narrow2, State, float64, int64, void

ROOM = 16  # clusters for which there is room at first


class Problem(State):
    """What a loss is computed from; nobody changes it.

    Attributes
    ----------
    p : float64 array (points, points)
        Probabilities that points are together; empty if there are draws instead.
    cells : int32 array (points, draws)
        The row of ``Place.common`` for the cluster of a draw that a point is in; empty if there are no draws.
    weights : float64 array (clusters of all draws)
        The weight of the draw of each row; those of all draws sum to 1.
    g : float64 array (points + 1)
        x log x, or x squared, for every size of a cluster.
    step : float64 array (points + 1)
        g(x + 1) - g(x); the last one is not used.
    """

    p: Float2
    cells: Narrow2
    weights: Float1
    g: Float1
    step: Float1


class Place(State):
    """A clustering, with the sums that its loss needs kept up to date. `room` rows are enough for its clusters.

    Attributes
    ----------
    labels : int64 array (points)
        -1 for a point that is in no cluster.
    sizes : int64 array (room)
    n_clusters : int64 array (1)
    members : int64 array (points)
        The points cluster by cluster, then those that are in none.
    first : int64 array (room + 1)
        Where each cluster begins in `members`; entry ``n_clusters`` is where the last one ends.
    position : int64 array (points)
        Where each point is in `members`.
    costs : float64 array (room)
        By how much the loss grows if the point at hand joins each cluster.
    most : int
        There shall never be more clusters.
    sums : float64 array (room, points)
        Sum of p over the members of each cluster.
    inverse : float64 array (points)
        One over the sum for the own cluster of a point.
    largest : float64 array (room)
        The largest of these in each cluster.
    common : int32 array (clusters of all draws, room)
        How many points a cluster of a draw and a cluster have in common.
    """

    labels: Int1
    sizes: Int1
    n_clusters: Int1
    members: Int1
    first: Int1
    position: Int1
    costs: Float1
    most: int
    sums: Float2
    inverse: Float1
    largest: Float1
    common: Narrow2


# weigh(problem, place, i): write into ``place.costs`` by how much the loss grows if point i joins each cluster, itself
# left out of the cluster it is in; infinity where that cannot be the least.
weigh_signature = void(Problem, Place, int64)

# cost(problem, place, i, k): the same for one cluster.
cost_signature = float64(Problem, Place, int64, int64)

# shift(problem, place, i, k, sign): point i has joined cluster k (sign 1) or left it (-1); members know it already.
shift_signature = void(Problem, Place, int64, int64, int64)

# merging(problem, place, a, b): by how much the loss grows if clusters a and b become one.
merging_signature = float64(Problem, Place, int64, int64)

# fold(problem, place, a, b): the points of cluster a have joined cluster b; members know it already.
fold_signature = void(Problem, Place, int64, int64)

# apart(problem, i, j): the probability that two points are not together.
apart_signature = float64(Problem, int64, int64)


class Loss(State):
    """The compiled functions by which the search knows a loss; what each does is said above."""

    weigh: Annotated[Any, Function(weigh_signature)]
    cost: Annotated[Any, Function(cost_signature)]
    shift: Annotated[Any, Function(shift_signature)]
    merging: Annotated[Any, Function(merging_signature)]
    fold: Annotated[Any, Function(fold_signature)]
    apart: Annotated[Any, Function(apart_signature)]


def tables(loss: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return g for all sizes of clusters up to `count`, and its steps."""
    sizes = np.arange(count + 1.0)
    g = sizes * np.log(np.maximum(sizes, 1.0)) if loss == "vi" else sizes**2
    return g, np.append(np.diff(g), 0.0)


def empty_place(problem: Problem, room: int, most: int) -> Place:
    """Return room for a clustering of all points, which are in no cluster yet."""
    count, rows = len(problem.g) - 1, len(problem.weights)
    by_draws = rows > 0
    return Place(
        labels=np.full(count, -1, dtype=np.int64),
        sizes=np.zeros(room, dtype=np.int64),
        n_clusters=np.zeros(1, dtype=np.int64),
        members=np.arange(count),
        first=np.zeros(room + 1, dtype=np.int64),
        position=np.arange(count),
        costs=np.zeros(room),
        most=most,
        sums=np.zeros((0, 0) if by_draws else (room, count)),
        inverse=np.zeros(count),
        largest=np.zeros(room),
        common=np.zeros((rows, room if by_draws else 0), dtype=np.int32),
    )


@inner
def choices(place):
    """Return how many clusters a point may join: those there are, and a new one if there may be one."""
    count = place.n_clusters[0]
    return count + 1 if count < len(place.sizes) else count


@inner
def seat(place, i, position):
    """Write point i to a place in the list of members."""
    place.members[position] = i
    place.position[i] = position


@inner
def put_in(problem, loss, place, i, k):
    """Put point i, which is in no cluster, into cluster k, which may be the new one."""
    s = place
    first = s.first
    if k == s.n_clusters[0]:
        s.n_clusters[0] += 1
        first[k + 1] = first[k]
    count = s.n_clusters[0]
    hole = first[count]
    seat(place, s.members[hole], s.position[i])
    first[count] += 1
    for later in range(count - 1, k, -1):
        if first[later] != hole:  # an empty cluster has nobody to change places
            seat(place, s.members[first[later]], hole)
            hole = first[later]
        first[later] += 1
    seat(place, i, hole)
    s.labels[i] = k
    s.sizes[k] += 1
    loss.shift(problem, place, i, k, 1)


@inner
def take_out(problem, loss, place, i):
    """Take point i out of its cluster, which stays even if it is empty then."""
    s = place
    first = s.first
    k = s.labels[i]
    hole = s.position[i]
    for later in range(k, s.n_clusters[0]):
        last = first[later + 1] - 1
        if last != hole:
            seat(place, s.members[last], hole)
            hole = last
        first[later + 1] = last
    seat(place, i, hole)
    s.labels[i] = -1
    s.sizes[k] -= 1
    loss.shift(problem, place, i, k, -1)


@inner
def rename(problem, loss, place, a, b):
    """Let the points of cluster a join cluster b."""
    s = place
    for position in range(s.first[a], s.first[a + 1]):
        s.labels[s.members[position]] = b
    s.sizes[b] += s.sizes[a]
    s.sizes[a] = 0
    # All points are in a cluster: `first` counts how many of each are seated while they take their seats.
    s.first[0] = 0
    for k in range(s.n_clusters[0]):
        s.first[k + 1] = s.first[k] + s.sizes[k]
    for i in range(len(s.labels)):
        seat(place, i, s.first[s.labels[i]])
        s.first[s.labels[i]] += 1
    for k in range(s.n_clusters[0] - 1, 0, -1):
        s.first[k] = s.first[k - 1]
    s.first[0] = 0
    loss.fold(problem, place, a, b)


@outline
def dissolve(problem, loss, place, a, b):
    """Let the points of cluster a, if it has any, join cluster b; the last cluster gets the number a."""
    s = place
    last = s.n_clusters[0] - 1
    if s.sizes[a] > 0:
        rename(problem, loss, place, a, b)
    if a != last:
        rename(problem, loss, place, last, a)
    s.n_clusters[0] = last


@inner
def move(problem, loss, place, i, k):
    """Move point i to cluster k, which may be the new one; a cluster that is empty then disappears."""
    before = place.labels[i]
    take_out(problem, loss, place, i)
    put_in(problem, loss, place, i, k)
    if place.sizes[before] == 0:
        dissolve(problem, loss, place, before, k)


def distinct(rows: Iterable[np.ndarray]) -> np.ndarray:
    """Return the different ones of some canonical clusterings, in the order in which they come first."""
    return np.array(list({row.tobytes(): row for row in rows}.values()))


def best_first(candidates: np.ndarray, losses: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the candidates of least loss, at most so many, and their losses."""
    order = np.argsort(losses, kind="stable")[:most]
    return candidates[order], losses[order]
