"""The clustering of least expected loss, from the probabilities that points are together.

The two losses, up to what no clustering changes, and with s_i the sum of p[i, j] over the cluster of i, itself
included:

- Binder: the sum of 1 - 2 p[i, j] over all pairs that are together;
- VI: the sum over clusters of size log(size), minus twice the sum over points of log s_i.

A point that joins a cluster changes s_j for all its members: the sum of log(1 + p[i, j] / s_j). These factors lie
between 1/2 and 2, so that a thousand of them can be multiplied before a logarithm is taken. And most clusters need not
be looked at: log(1 + x) is concave, so that the sum is at most size log(1 + mean of x), which the sums give at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from copartition.core.clusters import set_all
from copartition.core.compiling import hook, inner, kernel
from copartition.core.random import stream
from copartition.core.types import float1, float2, int1, void
from copartition.diagnostics.search.climb import ALL_OF, all_partitions, improve, sets_of
from copartition.diagnostics.search.state import (
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

FACTORS = 1000  # that may be multiplied: none is above 2, nor below 1/2


@inner
def refresh(place, k):
    """Compute the inverse sums of the members of cluster k anew."""
    s = place
    sums = s.sums[k]
    largest = 0.0
    for position in range(s.first[k], s.first[k + 1]):
        j = s.members[position]
        s.inverse[j] = 1.0 / sums[j]
        largest = max(largest, s.inverse[j])
    s.largest[k] = largest


@hook(shift_signature)
def shift(problem, place, i, k, sign):
    """Add the row of point i to the sums of cluster k, or subtract it."""
    sums, row = place.sums[k], problem.p[i]
    if place.sizes[k] == 0:
        set_all(sums, len(sums), 0.0)  # exactly, whatever rounding has left
    elif sign > 0:
        for j in range(len(row)):
            sums[j] += row[j]
    else:
        for j in range(len(row)):
            sums[j] -= row[j]
    refresh(place, k)


@hook(fold_signature)
def fold(problem, place, a, b):
    """Add the sums of cluster a to those of cluster b, and clear them."""
    of_a, of_b = place.sums[a], place.sums[b]
    for j in range(len(of_a)):
        of_b[j] += of_a[j]
        of_a[j] = 0.0
    refresh(place, b)


@hook(apart_signature)
def apart(problem, i, j):
    """Return the probability that two points are not together."""
    return 1.0 - problem.p[i, j]


# --- Binder ----------------------------------------------------------------------------------------------------------


@inner
def binder_in(place, i, k):
    """Return the cost of point i in cluster k."""
    s = place
    if s.labels[i] == k:
        return s.sizes[k] - 1 - 2.0 * (s.sums[k, i] - 1.0)
    return s.sizes[k] - 2.0 * s.sums[k, i]


@hook(cost_signature)
def binder_cost(problem, place, i, k):
    """Return the cost of point i in cluster k."""
    return binder_in(place, i, k)


@hook(weigh_signature)
def binder_weigh(problem, place, i):
    """Write the costs of point i in all clusters."""
    for k in range(choices(place)):
        place.costs[k] = binder_in(place, i, k)


@hook(merging_signature)
def binder_merging(problem, place, a, b):
    """Return by how much the loss grows if two clusters become one."""
    s = place
    if s.sizes[a] > s.sizes[b]:
        a, b = b, a
    sums = s.sums[b]
    between = 0.0
    for position in range(s.first[a], s.first[a + 1]):
        between += sums[s.members[position]]
    return s.sizes[a] * s.sizes[b] - 2.0 * between


# --- VI --------------------------------------------------------------------------------------------------------------


@inner
def log_product(problem, place, i, begin, end, sign):
    """Return the sum of log(1 + sign p[i, j] / s_j) over the members from one place to another."""
    row, members, inverse = problem.p[i], place.members, place.inverse
    total = 0.0
    while begin < end:
        stop = min(end, begin + FACTORS)
        product = 1.0
        for position in range(begin, stop):
            j = members[position]
            product *= 1.0 + sign * row[j] * inverse[j]
        total += math.log(product)
        begin = stop
    return total


@inner
def vi_in(problem, place, i, k):
    """Return the cost of point i in cluster k."""
    s = place
    begin, end, size = s.first[k], s.first[k + 1], s.sizes[k]
    if s.labels[i] != k:
        gained = log_product(problem, place, i, begin, end, 1.0) + math.log(s.sums[k, i] + 1.0)
        return problem.step[size] - 2.0 * gained
    own = s.position[i]
    lost = log_product(problem, place, i, begin, own, -1.0) + log_product(problem, place, i, own + 1, end, -1.0)
    return problem.step[size - 1] - 2.0 * (math.log(s.sums[k, i]) - lost)


@hook(cost_signature)
def vi_cost(problem, place, i, k):
    """Return the cost of point i in cluster k."""
    return 0.0 if k == place.n_clusters[0] else vi_in(problem, place, i, k)


@hook(weigh_signature)
def vi_weigh(problem, place, i):
    """Write the costs of point i in all clusters; infinity where a bound on it is not below the least so far."""
    s = place
    own, count = s.labels[i], s.n_clusters[0]
    least = np.inf
    if count < len(s.sizes):
        s.costs[count] = least = 0.0
    if own >= 0:
        s.costs[own] = vi_in(problem, place, i, own)
        least = min(least, s.costs[own])
    for k in range(count):
        if k != own:
            step, with_k = problem.step[s.sizes[k]], s.sums[k, i]
            bound = step - 2.0 * with_k * (s.largest[k] + 1.0)
            if bound < least:
                size = float(s.sizes[k])
                bound = step - 2.0 * (size * math.log(1.0 + with_k * s.largest[k] / size) + math.log(1.0 + with_k))
            s.costs[k] = np.inf
            if bound < least:
                s.costs[k] = vi_in(problem, place, i, k)
                least = min(least, s.costs[k])


@hook(merging_signature)
def vi_merging(problem, place, a, b):
    """Return by how much the loss grows if two clusters become one."""
    s, g = place, problem.g
    gained = 0.0
    for own, other in ((a, b), (b, a)):
        sums = s.sums[other]
        for position in range(s.first[own], s.first[own + 1]):
            j = s.members[position]
            gained += math.log(1.0 + sums[j] * s.inverse[j])
    return g[s.sizes[a] + s.sizes[b]] - g[s.sizes[a]] - g[s.sizes[b]] - 2.0 * gained


LOSSES = {
    "binder": Loss(binder_weigh, binder_cost, shift, binder_merging, fold, apart),
    "vi": Loss(vi_weigh, vi_cost, shift, vi_merging, fold, apart),
}


@kernel(void(float2, int1, int1, float1))
def add_up(p, members, first, out):
    """Write the Binder loss and the VI loss of a clustering, without what no clustering changes.

    Its points are `members`, cluster by cluster; cluster k begins at ``first[k]``.
    """
    out[0] = out[1] = 0.0
    for k in range(len(first) - 1):
        size = float(first[k + 1] - first[k])
        for a in range(first[k], first[k + 1]):
            row = p[members[a]]
            own = 0.0
            for b in range(first[k], first[k + 1]):
                own += row[members[b]]
            out[0] += 0.5 * (size - 1.0) - (own - 1.0)
            out[1] += math.log(size) - 2.0 * math.log(own)


CUTS = 30  # of the tree, at most
NUMBER = {"binder": 0, "vi": 1}


def from_similarity(
    p: np.ndarray, loss: str, *, starts: int | None = None, seed: int = 0, most: int = 203
) -> tuple[np.ndarray, np.ndarray]:
    """Return clusterings of small expected loss, the best first: of up to ten points, the best of all.

    Parameters
    ----------
    p : float64 array (points, points)
        Probabilities that points are together: symmetric, 1 on the diagonal.
    loss : str
        ``"binder"``, the expected number of pairs in dispute, or ``"vi"``, the lower bound on the expected variation of
        information.
    starts : int, optional
        Number of random orders in which points are placed. Fewer if there are more points, unless it is given.
    seed : int
        Of these orders, and of the splits that are tried.
    most : int
        Number of clusterings that are kept.

    Returns
    -------
    candidates : int64 array (clusterings, points)
        All different, in canonical numbering.
    losses : float64 array (clusterings)

    Examples
    --------
    >>> import numpy as np
    >>> from copartition.diagnostics.search import from_similarity
    >>> candidates, losses = from_similarity(np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.1], [0.1, 0.1, 1.0]]), "binder")
    >>> candidates[0], round(float(losses[0]), 3)
    (array([0, 0, 1]), 0.3)
    """
    p = np.ascontiguousarray(p, dtype=np.float64)
    number = NUMBER[loss]
    if len(p) <= ALL_OF:
        candidates, sums = all_partitions(_of_set(p, loss), len(p))
    else:
        candidates = distinct(_found(p, starts, seed))
        sums = _sums(p, candidates)[:, number]
    # What the losses have in them whatever the clustering.
    of_point = p.sum(axis=1)
    constant = (0.5 * (of_point - 1.0).sum(), np.log(of_point).sum())[number]
    return best_first(candidates, (sums + constant) / (1, len(p))[number], most)


def _found(p: np.ndarray, starts: int | None, seed: int) -> Iterator[np.ndarray]:
    """Yield what the search comes to, and the cuts of the tree as they are.

    What is best for one loss is a good candidate for the other too, and for the expected VI itself.
    """
    count = len(p)
    orders, improved = _effort(count)
    numbers = np.random.default_rng(seed)
    permutations = [numbers.permutation(count) for _ in range(orders if starts is None else starts)]
    cuts = _cuts(p)
    yield from cuts
    sums = _sums(p, cuts)
    key = 0
    for kind, functions in LOSSES.items():
        problem = Problem(p, np.zeros((0, 0), dtype=np.int32), np.zeros(0), *tables(kind, count))
        chosen = np.argsort(sums[:, NUMBER[kind]], kind="stable")[:improved]
        none = np.full(count, -1)
        begin = [(none, order) for order in permutations] + [(cuts[cut], np.arange(count)) for cut in chosen]
        for labels, order in begin:
            yield canonical(improve(problem, functions, labels, order, stream(seed, key), count))
            key += 1


def _effort(count: int) -> tuple[int, int]:
    """Return how many random orders and how many cuts are improved for each loss: fewer where each takes longer."""
    return max(2, min(16, 8000 // count)), max(3, min(CUTS, 10000 // count))


def _cuts(p: np.ndarray) -> list[np.ndarray]:
    """Return the cuts of an average linkage tree into 1, 2, ... clusters."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    count = len(p)
    distances = squareform(p, checks=False)
    np.subtract(1.0, distances, out=distances)
    tree = linkage(distances, "average")
    del distances
    # The node of the tree that stands for the cluster of each point; cuts into fewer clusters join two of them.
    nodes = np.arange(2 * count - 1)
    finest = min(count, CUTS)
    for node in range(2 * count - 1 - finest, count - 1, -1):
        nodes[tree[node - count, :2].astype(np.int64)] = nodes[node]
    labels = nodes[:count].copy()
    cuts = [canonical(labels)]
    for node in range(2 * count - finest, 2 * count - 1):
        labels[np.isin(labels, tree[node - count, :2].astype(np.int64))] = node
        cuts.append(canonical(labels))
    return cuts[::-1]


def _sums(p: np.ndarray, candidates: Iterable[np.ndarray]) -> np.ndarray:
    """Return what the clusters of each clustering add up to, for the Binder loss and the VI loss."""
    out = []
    for labels in candidates:
        out.append(np.zeros(2))
        add_up(p, np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels))), out[-1])
    return np.array(out)


def _of_set(p: np.ndarray, loss: str) -> np.ndarray:
    """Return what each set of points, as a cluster, adds to the loss."""
    sets = sets_of(len(p))
    sizes, sums = sets.sum(axis=1), sets @ p
    if loss == "binder":
        return 0.5 * sizes * (sizes - 1) - (sets * (sums - 1.0)).sum(axis=1)
    logs = np.log(np.maximum(sizes, 1))[:, None] - 2.0 * np.log(np.where(sets == 1, sums, 1.0))
    return (sets * logs).sum(axis=1)
