"""The search: points, merges and splits as long as any of them makes the loss smaller; of a few points all partitions.

Losses are sums over clusters, so that for all partitions it is enough to know what each of the 2^n sets would add.
"""

from __future__ import annotations

import numpy as np

from copartition.core.clusters import set_all
from copartition.core.compiling import inner, kernel, outline
from copartition.core.random import uniform
from copartition.core.types import float1, int1, int2, int64, uint1, void
from copartition.diagnostics.search.state import (
    ROOM,
    Loss,
    Place,
    Problem,
    choices,
    dissolve,
    empty_place,
    move,
    put_in,
)

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


DONE, FULL = 0, 1
LEAST = 1e-9  # what a step must gain: more than rounding, or the search might go in circles
PASSES = 8  # over the points of two clusters that one was split into, at most


@inner
def is_full(place):
    """Whether another cluster would be allowed, but has no row: the caller makes room."""
    return place.n_clusters[0] == len(place.sizes) and len(place.sizes) < place.most


@inner
def best(place):
    """Return the cluster with the least cost, the first of several."""
    costs = place.costs
    found = 0
    for k in range(1, choices(place)):
        if costs[k] < costs[found]:
            found = k
    return found


@outline
def place_points(problem, loss, place, order):
    """Put all points that are in no cluster where the loss grows least, one by one; return a status."""
    for position in range(len(order)):
        i = order[position]
        if place.labels[i] < 0:
            if is_full(place):
                return FULL
            loss.weigh(problem, place, i)
            put_in(problem, loss, place, i, best(place))
    return DONE


@outline
def move_points(problem, loss, place, order):
    """Move single points to other clusters until none gains by it; return a status."""
    s = place
    idle = 0  # points in a row that have stayed
    while idle < len(order):
        for position in range(len(order)):
            i = order[position]
            if is_full(place):
                return FULL
            loss.weigh(problem, place, i)
            k = best(place)
            if s.costs[k] < s.costs[s.labels[i]] - LEAST:
                move(problem, loss, place, i, k)
                idle = 0
            else:
                idle += 1
                if idle >= len(order):
                    break
    return DONE


@outline
def merge_clusters(problem, loss, place):
    """Merge each cluster with that with which it gains most, if it gains; return whether any did."""
    merged = False
    a = 0
    while a < place.n_clusters[0]:
        least, partner = -LEAST, -1
        for b in range(place.n_clusters[0]):
            if b != a:
                change = loss.merging(problem, place, a, b)
                if change < least:
                    least, partner = change, b
        if partner >= 0:
            # The later one of the two goes, so that the one that stays keeps its number and may merge again.
            a, partner = min(a, partner), max(a, partner)
            dissolve(problem, loss, place, partner, a)
            merged = True
        else:
            a += 1
    return merged


@inner
def draw_seeds(problem, loss, place, k, random):
    """Draw two points of cluster k: any one, and another with the probability of being apart from it; -1 if none is."""
    s = place
    begin, end = s.first[k], s.first[k + 1]
    x = s.members[begin + int(uniform(random) * (end - begin))]
    total = 0.0
    for position in range(begin, end):
        total += loss.apart(problem, x, s.members[position])
    level = uniform(random) * total
    y = -1
    for position in range(begin, end):
        weight = loss.apart(problem, x, s.members[position])
        if weight > 0.0 and s.members[position] != x:
            y = s.members[position]
            level -= weight
            if level < 0.0:
                break
    return x, y


@outline
def split(problem, loss, place, k, random):
    """Split cluster k in two, or leave it if nothing is gained; return whether it was split.

    Points go with that of two seeds which they are more often with, then to the side where they cost less.
    """
    s = place
    x, y = draw_seeds(problem, loss, place, k, random)
    if y < 0:
        return False
    new = s.n_clusters[0]
    change = 0.0
    position = s.first[k]
    while position < s.first[k + 1]:
        i = s.members[position]
        if i == y or (i != x and loss.apart(problem, i, y) < loss.apart(problem, i, x)):
            change += loss.cost(problem, place, i, new) - loss.cost(problem, place, i, k)
            move(problem, loss, place, i, new)
        else:
            position += 1
    for _ in range(PASSES):
        moved = False
        for side in (k, new):
            other = k + new - side
            position = s.first[side]
            while position < s.first[side + 1] and s.sizes[side] > 1:
                i = s.members[position]
                gain = loss.cost(problem, place, i, side) - loss.cost(problem, place, i, other)
                if gain > LEAST:
                    change -= gain
                    move(problem, loss, place, i, other)
                    position = max(position, s.first[side])  # clusters after the one that it joined have moved on
                    moved = True
                else:
                    position += 1
        if not moved:
            break
    if change < -LEAST:
        return True
    dissolve(problem, loss, place, new, k)
    return False


@inner
def split_clusters(problem, loss, place, random):
    """Try to split every cluster; return whether any was."""
    any_split = False
    for k in range(place.n_clusters[0]):
        if place.sizes[k] > 1 and place.n_clusters[0] < len(place.sizes):
            any_split |= split(problem, loss, place, k, random)
    return any_split


@kernel(int64(Problem, Loss, Place, int1, uint1))
def climb(problem, loss, place, order, random):
    """Place the points that are in no cluster, then improve the clustering until nothing helps; return a status.

    Changes the place, and advances the random numbers. `FULL` says that clusters need more room: call it again.
    """
    known, functions, s = problem, loss, place
    status = place_points(known, functions, s, order)
    while status == DONE:
        status = move_points(known, functions, s, order)
        if status == DONE and not (merge_clusters(known, functions, s) or split_clusters(known, functions, s, random)):
            break
    return status


@kernel(void(Problem, Loss, Place, int1))
def fill(problem, loss, place, labels):
    """Put the points of a `Place` without clusters into those of `labels`; -1 for a point that is in none."""
    known, functions, s = problem, loss, place
    count = 0
    for i in range(len(labels)):
        count = max(count, labels[i] + 1)
    place.n_clusters[0] = count
    for i in range(len(labels)):
        if labels[i] >= 0:
            put_in(known, functions, s, i, labels[i])


def improve(
    problem: Problem, loss: Loss, labels: np.ndarray, order: np.ndarray, random: np.ndarray, most: int
) -> np.ndarray:
    """Return the labels of the clustering that the search comes to from given ones, -1 for points still to be placed.

    Parameters
    ----------
    problem : Problem
    loss : Loss
    labels : int64 array (points)
    order : int64 array (points)
        The order in which points are placed and moved.
    random : uint64 array
        State of the random numbers by which clusters are split.
    most : int
        No more clusters than that; `labels` has no more either.
    """
    room = min(most, max(ROOM, int(labels.max()) + 2))
    while True:
        place = empty_place(problem, room, most)
        fill(problem, loss, place, labels)
        if climb(problem, loss, place, order, random) == DONE:
            return place.labels
        # Made anew and not copied: two tables of sums at once might not fit into memory.
        labels, room = place.labels.copy(), min(most, 2 * room)
        del place
