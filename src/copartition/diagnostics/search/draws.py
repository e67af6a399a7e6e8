"""The clustering of least expected loss, from clusterings that were drawn.

The distance of a clustering C to a draw A is sum g(|C|) + sum g(|A|) - 2 sum g(|A and C|), with g(x) = x log x or x
squared. The numbers of points in common are kept: one row for each cluster of each draw, one column for each cluster.
"""

from __future__ import annotations

import numpy as np

from copartition.core.clusters import clear_row, set_all
from copartition.core.compiling import hook, inner, kernel
from copartition.core.random import stream
from copartition.core.types import float1, float64, int1, int2, narrow2, void
from copartition.diagnostics.search.climb import ALL_OF, all_partitions, improve, sets_of
from copartition.diagnostics.search.state import (
    ROOM,
    Loss,
    Problem,
    apart_signature,
    best_first,
    choices,
    cost_signature,
    distinct,
    fold_signature,
    merging_signature,
    shift_signature,
    tables,
    weigh_signature,
)
from copartition.partition import canonical


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


LARGEST_TABLE = 50_000_000  # numbers that a table of the search may have
JUDGED = 300_000_000  # labels that are read to find out which of the draws are good candidates


def from_draws(
    draws: np.ndarray,
    loss: str,
    *,
    weights: np.ndarray | None = None,
    starts: int = 4,
    seed: int = 0,
    most: int = 50,
    most_clusters: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return clusterings of small mean distance to given ones, the best first: of up to ten points, the best of all.

    No table of all pairs of points is made. The search looks at evenly spaced draws only where the points of all, or
    their clusters times `most_clusters`, are more than 50 million; what is returned is computed from all.

    Parameters
    ----------
    draws : int array (draws, points)
        Labels.
    loss : str
        ``"binder"``, the mean number of pairs in dispute, or ``"vi"``, the mean variation of information.
    weights : float64 array (draws), optional
        Not negative; all the same if not given.
    starts : int
        Number of random orders in which points are placed, and of draws that are improved.
    seed : int
        Of these orders, and of the splits that are tried.
    most : int
        Number of clusterings that are kept.
    most_clusters : int, optional
        No clustering has more clusters; twice as many as any draw, at least 16, if not given.

    Returns
    -------
    candidates : int64 array (clusterings, points)
        All different, in canonical numbering.
    losses : float64 array (clusterings)

    Examples
    --------
    >>> import numpy as np
    >>> from copartition.diagnostics.search import from_draws
    >>> candidates, losses = from_draws(np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1]]), "binder")
    >>> candidates[0], round(float(losses[0]), 3)
    (array([0, 0, 1]), 0.667)
    """
    rows, shares = _distinct(draws, weights)
    count = rows.shape[1]
    largest = int(rows.max()) + 1
    allowed = min(count, max(ROOM, 2 * largest) if most_clusters is None else most_clusters)
    g, step = tables(loss, count)
    scale = 1.0 / count if loss == "vi" else 0.5
    if count <= ALL_OF:
        candidates, sums = all_partitions(_of_set(rows, shares, g), count)
        few = candidates.max(axis=1) < allowed
        of_draws = sum(share * g[np.bincount(row)].sum() for row, share in zip(rows, shares, strict=True))
        return best_first(candidates[few], scale * (sums[few] + of_draws), most)

    def judge(candidates: np.ndarray) -> np.ndarray:
        """Return the losses of clusterings."""
        table = np.zeros((allowed, largest), dtype=np.int64)
        return np.array([scale * mean_distance(rows, shares, labels, g, table) for labels in candidates])

    good = rows[_spaced(len(rows), JUDGED // rows.size)].astype(np.int64)
    good = good[good.max(axis=1) < allowed]
    of_good = judge(good)
    chosen = _spaced(len(rows), LARGEST_TABLE // max(count, largest * allowed))
    cells, of_cells = _cells(rows[chosen], shares[chosen])
    problem = Problem(np.zeros((0, 0)), cells, of_cells, g, step)
    numbers = np.random.default_rng(seed)
    begin = [(np.full(count, -1), numbers.permutation(count)) for _ in range(starts)]
    begin += [(good[one], np.arange(count)) for one in np.argsort(of_good, kind="stable")[:starts]]
    found = [
        canonical(improve(problem, LOSS, labels, order, stream(seed, key), allowed))
        for key, (labels, order) in enumerate(begin)
    ]
    candidates = distinct([*found, *best_first(good, of_good, most)[0]])
    return best_first(candidates, judge(candidates), most)


def _distinct(draws: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the different draws in canonical numbering, and their weights, which sum to 1."""
    draws = np.asarray(draws)
    lowest, highest = int(draws.min()), int(draws.max())
    if highest - lowest < 4 * draws.shape[1]:
        rows = (draws - lowest).astype(np.int32)
    else:
        rows = np.unique(draws, return_inverse=True)[1].reshape(draws.shape).astype(np.int32)
    renumber_all(rows, np.zeros(int(rows.max()) + 1, dtype=np.int64))
    shares = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    places: dict[bytes, int] = {}
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in rows])
    first = np.unique(place, return_index=True)[1]
    sums = np.bincount(place, weights=shares)
    return np.ascontiguousarray(rows[first][sums > 0]), sums[sums > 0] / sums.sum()


def _spaced(count: int, wanted: int) -> np.ndarray:
    """Return the places of so many out of `count`, evenly spaced; at least one, and no more than there are."""
    wanted = max(1, min(count, wanted))
    return np.arange(wanted) * count // wanted


def _cells(rows: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the clusters of all draws; return that of each point and draw, and the weight of each."""
    sizes = rows.max(axis=1) + 1
    first = np.append(0, np.cumsum(sizes)[:-1]).astype(np.int32)
    return np.ascontiguousarray((rows + first[:, None]).T), np.repeat(shares / shares.sum(), sizes)


def _of_set(rows: np.ndarray, shares: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return what each set of points, as a cluster, adds to the loss.

    The clusters of all draws are sets too, and there are no more than 2^points of them: their weights are gathered.
    """
    sets = sets_of(rows.shape[1])
    cells, of_cells = _cells(rows, shares)
    as_set = np.zeros(len(of_cells), dtype=np.int64)
    np.add.at(as_set, cells, 1 << np.arange(rows.shape[1])[:, None])
    weights = np.bincount(as_set, weights=of_cells, minlength=len(sets))
    used = np.flatnonzero(weights)
    return g[sets.sum(axis=1)] - 2.0 * (g[sets @ sets[used].T] @ weights[used])
