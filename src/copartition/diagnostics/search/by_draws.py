"""The two losses as averages over clusterings that were drawn, as the search knows them.

The distance of a clustering C to a draw A is sum g(|C|) + sum g(|A|) - 2 sum g(|A and C|), with g(x) = x log x or x
squared. The numbers of points in common are kept: one row for each cluster of each draw, one column for each cluster.
"""

from __future__ import annotations

from copartition.core.clusters import clear_row, set_all
from copartition.core.compiling import hook, inner, kernel
from copartition.core.types import float1, float64, int1, int2, narrow2, void
from copartition.diagnostics.search.clusters import choices
from copartition.diagnostics.search.state import (
    Loss,
    apart_signature,
    cost_signature,
    fold_signature,
    merging_signature,
    shift_signature,
    weigh_signature,
)


@hook(weigh_signature)
def weigh(problem, place, i):
    """Write the costs of point i in all clusters."""
    s = place
    costs, step, own, count = s.costs, problem.step, s.labels[i], choices(place)
    for k in range(count):
        costs[k] = 0.0
    cells = problem.cells[i]
    for draw in range(len(cells)):
        row = cells[draw]
        common, weight = s.common[row], problem.weights[row]
        if own >= 0:
            common[own] -= 1  # without itself
        for k in range(count):
            costs[k] += weight * step[common[k]]
        if own >= 0:
            common[own] += 1
    for k in range(count):
        costs[k] = step[s.sizes[k] - (1 if k == own else 0)] - 2.0 * costs[k]


@hook(cost_signature)
def cost(problem, place, i, k):
    """Return the cost of point i in cluster k."""
    s, step = place, problem.step
    itself = 1 if s.labels[i] == k else 0
    gained = 0.0
    cells = problem.cells[i]
    for draw in range(len(cells)):
        row = cells[draw]
        gained += problem.weights[row] * step[s.common[row, k] - itself]
    return step[s.sizes[k] - itself] - 2.0 * gained


@hook(shift_signature)
def shift(problem, place, i, k, sign):
    """Count point i in cluster k, or no more."""
    common = place.common
    cells = problem.cells[i]
    for draw in range(len(cells)):
        row = cells[draw]
        common[row, k] += sign


@hook(merging_signature)
def merging(problem, place, a, b):
    """Return by how much the loss grows if two clusters become one."""
    s, g, weights = place, problem.g, problem.weights
    gained = 0.0
    for row in range(len(weights)):
        of_a, of_b = s.common[row, a], s.common[row, b]
        gained += weights[row] * (g[of_a + of_b] - g[of_a] - g[of_b])
    return g[s.sizes[a] + s.sizes[b]] - g[s.sizes[a]] - g[s.sizes[b]] - 2.0 * gained


@hook(fold_signature)
def fold(problem, place, a, b):
    """Add the column of cluster a to that of cluster b, and clear it."""
    common = place.common
    for row in range(len(common)):
        common[row, b] += common[row, a]
        common[row, a] = 0


@hook(apart_signature)
def apart(problem, i, j):
    """Return the share of draws in which two points are not together."""
    of_i, of_j, weights = problem.cells[i], problem.cells[j], problem.weights
    total = 0.0
    for draw in range(len(of_i)):
        total += weights[of_i[draw]] if of_i[draw] != of_j[draw] else 0.0
    return total


LOSS = Loss(weigh, cost, shift, merging, fold, apart)


@inner
def renumber(labels, seen):
    """Number clusters in the order of their first points; `seen` is scratch, one entry for each label there may be."""
    set_all(seen, len(seen), -1)
    count = 0
    for i in range(len(labels)):
        if seen[labels[i]] < 0:
            seen[labels[i]] = count
            count += 1
        labels[i] = seen[labels[i]]


@kernel(void(narrow2, int1))
def renumber_all(draws, seen):
    """Make every row of `draws` canonical in place; `seen` is scratch."""
    for draw in range(len(draws)):
        renumber(draws[draw], seen)


@kernel(float64(narrow2, float1, int1, float1, int2))
def mean_distance(draws, weights, labels, g, table):
    """Return the weighted mean of the distances of a clustering to all draws; `table` is scratch."""
    total = 0.0
    for draw in range(len(draws)):
        for a in range(len(table)):
            clear_row(table, a)
        for i in range(len(labels)):
            table[labels[i], draws[draw, i]] += 1
        distance = 0.0
        for a in range(len(table)):
            size = 0
            for b in range(table.shape[1]):
                distance -= 2.0 * g[table[a, b]]
                size += table[a, b]
            distance += g[size]
        for b in range(table.shape[1]):
            size = 0
            for a in range(len(table)):
                size += table[a, b]
            distance += g[size]
        total += weights[draw] * distance
    return total
