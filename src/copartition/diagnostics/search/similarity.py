"""The clustering of least expected loss, from the probabilities that points are together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from copartition.core.random import stream
from copartition.diagnostics.search import exact
from copartition.diagnostics.search.by_similarity import LOSSES, add_up
from copartition.diagnostics.search.climb import improve
from copartition.diagnostics.search.ranking import best_first, distinct
from copartition.diagnostics.search.state import Problem, tables
from copartition.partition import canonical

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
    if len(p) <= exact.ALL_OF:
        candidates, sums = exact.all_partitions(_of_set(p, loss), len(p))
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
    sets = exact.sets_of(len(p))
    sizes, sums = sets.sum(axis=1), sets @ p
    if loss == "binder":
        return 0.5 * sizes * (sizes - 1) - (sets * (sums - 1.0)).sum(axis=1)
    logs = np.log(np.maximum(sizes, 1))[:, None] - 2.0 * np.log(np.where(sets == 1, sums, 1.0))
    return (sets * logs).sum(axis=1)
