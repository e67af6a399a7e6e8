"""How far clusterings of the posterior are from the answer, and which others stand for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from copartition.clustering.predicting import by_replicate, each_partition, overlaps_with, stderr_of
from copartition.diagnostics.search import from_draws
from copartition.partition import canonical
from copartition.runs.drawing import WeightedPartitions

POOL = 80  # partitions among which those that stand for parts are looked for at first
ROUNDS, MOST_CANDIDATES = 8, 5  # of dealing out; candidates of a part
CENTRAL = 40  # draws among which the most central one is looked for


class Ball(NamedTuple):
    """The clusterings of the posterior that are nearest to a given one.

    Attributes
    ----------
    level : float
        Their probability, at least.
    radius : float
        How far the farthest of them is: variation of information, in nats, or the share of pairs in dispute.
    probability, stderr : float
        Of the ball with that radius.
    fewest, most : int64 array (points)
        The farthest clustering among those in the ball with the fewest clusters, and with the most.
    farthest : int64 array (points)
        The farthest of all in it.
    """

    level: float
    radius: float
    probability: float
    stderr: float
    fewest: np.ndarray
    most: np.ndarray
    farthest: np.ndarray


class Alternative(NamedTuple):
    """A clustering that stands for a part of the posterior.

    Attributes
    ----------
    labels : int64 array (points)
        Clusters are numbered as those of the answer that they share most rows with.
    probability, stderr : float
        Of the part: that no other alternative is nearer.
    """

    labels: np.ndarray
    probability: float
    stderr: float


def distance(labels: np.ndarray, other: np.ndarray, loss: str) -> float:
    """Return the distance of two clusterings: variation of information, or the share of pairs in dispute."""
    table = overlaps_with(labels, other).astype(np.float64)
    rows, columns, n = table.sum(axis=1), table.sum(axis=0), len(labels)
    if loss == "vi":
        return float(max(0.0, _sum(rows) + _sum(columns) - 2.0 * _sum(table)) / n)
    pairs = max(1.0, n * (n - 1.0))
    return float((np.sum(rows**2) + np.sum(columns**2) - 2.0 * np.sum(table**2)) / pairs)


def _sum(sizes: np.ndarray) -> float:
    seen = sizes[sizes > 1.0]
    return float(np.sum(seen * np.log(seen)))


def is_allowed(target: Any, labels: np.ndarray) -> bool:
    """Tell whether a clustering keeps to what is known of it."""
    try:
        target.constraint.check(labels, "labels")
    except ValueError:
        return False
    return True


def best_allowed(target: Any, found: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the first of some clusterings that keeps to what is known; if none does, the most central draw."""
    for labels in found:
        if is_allowed(target, labels):
            return labels
    # Every draw keeps to it.
    some = draws[np.unique(np.linspace(0, len(draws) - 1, CENTRAL).astype(np.int64))].astype(np.int64)
    far = [sum(distance(a, b, "vi") for b in some) for a in some]
    return np.asarray(some[int(np.argmin(far))])


def credible_ball(draws: WeightedPartitions, labels: np.ndarray, loss: str, level: float) -> Ball:
    """Return the smallest ball around a clustering with a probability of at least `level`."""
    every = [
        (distance(partition, labels, loss), weight, partition) for _, weight, partition, _ in each_partition(draws)
    ]
    distances, weights = (np.array([one[i] for one in every]) for i in (0, 1))
    count = len(np.unique(draws.replicate))
    order = np.argsort(distances, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(distances[order]) > 1e-12), len(order) - 1)  # of equal distances
    reaches = np.flatnonzero(np.cumsum(weights[order])[ends] / count >= level - 1e-12)
    radius = float(distances[order][ends[reaches[0] if len(reaches) else -1]])
    inside = by_replicate(
        draws, lambda partition, values: np.array([distance(partition, labels, loss) <= radius + 1e-12])
    )
    # Partitions whose weight is negative correct others, and are no clusterings of the posterior.
    near = np.flatnonzero((distances <= radius + 1e-12) & (weights > 0.0)).tolist()
    sizes = {i: int(every[i][2].max()) for i in near}
    farthest = [
        max(among, key=lambda i: distances[i])
        for among in (
            [i for i in near if sizes[i] == min(sizes.values())],
            [i for i in near if sizes[i] == max(sizes.values())],
            near,
        )
    ]
    error = float(stderr_of(inside)[0])
    found = [numbered_as(labels, every[i][2]) for i in farthest]
    return Ball(level, radius, float(inside.mean()), error, *found)


def numbered_as(labels: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return a clustering whose clusters have the numbers of those of `labels` that they share most rows with.

    One after another, the largest overlap first; clusters that are left have the numbers that follow.
    """
    table = overlaps_with(other, labels).astype(np.int64)
    number = np.full(len(table), -1)
    fresh = iter(range(table.shape[1], table.shape[1] + len(table)))
    for a, b in zip(*np.unravel_index(np.argsort(-table, axis=None, kind="stable"), table.shape), strict=True):
        if number[a] < 0 and table[a, b] > 0 and b not in number:
            number[a] = b
    for a in np.argsort(-table.sum(axis=1), kind="stable"):
        number[a] = next(fresh) if number[a] < 0 else number[a]
    return number[other]


def alternatives(
    draws: WeightedPartitions, reference: np.ndarray, count: int, loss: str, seed: int
) -> list[Alternative]:
    """Return several clusterings that stand for the posterior; see `Clustering.alternatives`.

    Partitions are dealt out to the nearest of so many, and of each part the clustering of least expected loss is found,
    in turn, until nothing changes.
    """
    labels, weights = draws.labels.astype(np.int64), draws.weights
    used = np.flatnonzero(weights > 0.0)
    used = used[np.unique(np.linspace(0, len(used) - 1, min(len(used), 10 * POOL)).astype(np.int64))]
    pool = used[np.unique(np.linspace(0, len(used) - 1, min(len(used), POOL)).astype(np.int64))]
    centres = _spread_out(labels[pool], weights[pool], count, loss)
    before: list[bytes] = []
    for _ in range(ROUNDS):
        nearest = np.array([_nearest(labels[i], centres, loss) for i in used])
        parts = [used[nearest == r] for r in range(len(centres))]
        centres = []
        for part in [one for one in parts if len(one)]:
            rows = labels[part].astype(np.int32)
            found, _ = from_draws(rows, loss, weights=weights[part], starts=1, seed=seed, most=MOST_CANDIDATES)
            centres.append(best_allowed(draws.target, found, rows))
        now = sorted({one.tobytes() for one in map(canonical, centres)})
        centres = [np.frombuffer(one, dtype=np.int64) for one in now]
        if now == before:
            break
        before = now

    def is_nearest(partition: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = np.zeros(len(centres))
        found[_nearest(partition, centres, loss)] = 1.0
        return found

    each = by_replicate(draws, is_nearest)
    mean, error = each.mean(axis=0), stderr_of(each)
    order = np.argsort(-mean, kind="stable")
    return [Alternative(numbered_as(reference, centres[r]), float(mean[r]), float(error[r])) for r in order]


def _nearest(partition: np.ndarray, centres: list[np.ndarray], loss: str) -> int:
    return int(np.argmin([distance(partition, one, loss) for one in centres]))


def _spread_out(pool: np.ndarray, weights: np.ndarray, count: int, loss: str) -> list[np.ndarray]:
    """Return so many of some partitions, one after another the one that lowers the expected distance most."""
    apart = np.array([[distance(a, b, loss) for b in pool] for a in pool])
    nearest, chosen = np.full(len(pool), np.inf), list[int]()
    for _ in range(min(count, len(pool))):
        gain = np.minimum(nearest, apart) @ weights
        best = int(np.argmin(gain))
        if chosen and not gain[best] < nearest @ weights - 1e-12:
            break  # all others are there already
        chosen.append(best)
        nearest = np.minimum(nearest, apart[best])
    return [canonical(pool[i]) for i in chosen]
