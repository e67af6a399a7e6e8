"""Averages of probabilities of being together over the points of clusters, and what their standard errors are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copartition.results import Replicates


@dataclass(frozen=True)
class Averages:
    """Averages over pairs that a clustering joins, and that it does not; see `Consensus`.

    Attributes
    ----------
    belongs, belongs_stderr, cohesion, cohesion_stderr, between
        See `Consensus`.
    disputed, disputed_stderr : float
        Expected number of pairs that a clustering from the posterior joins and this one does not, or the other way
        round.
    vi_stderr : float
        Standard error of the lower bound of the expected variation of information.
    """

    belongs: np.ndarray
    belongs_stderr: np.ndarray
    cohesion: np.ndarray
    cohesion_stderr: np.ndarray
    between: np.ndarray
    disputed: float
    disputed_stderr: float
    vi_stderr: float


class _Shares:
    """A clustering, and what sums over its clusters are to be divided by."""

    def __init__(self, labels: np.ndarray) -> None:
        self.labels = labels
        self.sizes = np.bincount(labels).astype(float)
        self.members = np.eye(len(self.sizes))[labels]  # (points, clusters)
        own = self.members > 0
        self.others = np.maximum(self.sizes - own, 1.0)  # (points, clusters): the point itself left out
        self.alone = self.sizes[labels] == 1
        both = np.outer(self.sizes, self.sizes)
        np.fill_diagonal(both, np.maximum(self.sizes * (self.sizes - 1), 1.0))
        self.both = both

    def companions(self, table: np.ndarray) -> np.ndarray:
        """Return for each point and cluster the mean of a table of pairs, 0 on its diagonal, over that cluster."""
        return table @ self.members / self.others

    def belongs(self, companions: np.ndarray) -> np.ndarray:
        """Return for each point which of its averages tells how surely it belongs to its cluster: the place of it."""
        place = self.labels.copy()
        if self.alone.any() and len(self.sizes) > 1:
            elsewhere = np.where(self.members > 0, -np.inf, companions)
            place[self.alone] = np.argmax(elsewhere[self.alone], axis=1)
        return place

    def between(self, companions: np.ndarray) -> np.ndarray:
        """Return for each pair of clusters the mean over pairs of points, one of each."""
        return self.members.T @ (companions * self.others) / self.both


def belonging(labels: np.ndarray, companions: np.ndarray, stderr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how surely each point belongs to its cluster, from its averages with all clusters, and the errors."""
    shares = _Shares(labels)
    place = shares.belongs(companions)
    rows = np.arange(len(labels))
    value = companions[rows, place]
    return np.where(shares.alone, 1.0 - value, value), stderr[rows, place]


def averages_of_replicates(part: Replicates, labels: np.ndarray) -> Averages:
    """Return the averages with their standard errors, from the values of all replicates."""
    shares = _Shares(labels)
    mean = square(part.mean, 0.0)
    companions = shares.companions(mean)
    place, rows = shares.belongs(companions), np.arange(len(labels))
    together = labels[:, None] == labels[None, :]
    own, total = ((mean * together).sum(axis=1) + 1.0, mean.sum(axis=1) + 1.0)
    found = []
    for value in part.values:
        table = square(value, 0.0)
        each = shares.companions(table)
        joined = (table * together).sum(axis=1)
        disputed = joined_pairs(labels) + (table.sum() - 2.0 * joined.sum()) / 2.0
        bound = np.mean(table.sum(axis=1) / total - 2.0 * joined / own)  # the bound, made linear about the mean
        found.append(
            np.concatenate([each[rows, place], np.diagonal(shares.between(each)), [disputed, bound]]),
        )
    values = np.array(found)
    stderr = _stderr(values)
    average, count = values.mean(axis=0), len(labels)
    clusters = slice(count, count + len(shares.sizes))
    single = shares.sizes == 1
    between = shares.between(companions)
    between[single, single] = 1.0
    return Averages(
        belongs=np.where(shares.alone, 1.0 - average[:count], average[:count]),
        belongs_stderr=stderr[:count],
        cohesion=np.where(single, 1.0, average[clusters]),
        cohesion_stderr=np.where(single, 0.0, stderr[clusters]),
        between=between,
        disputed=float(average[-2]),
        disputed_stderr=float(stderr[-2]),
        vi_stderr=float(stderr[-1]),
    )


def averages_at_most(part: Replicates, labels: np.ndarray) -> Averages:
    """Return the averages with the most that their standard errors can be: the averages of those of the pairs."""
    shares = _Shares(labels)
    table = square(part.mean, 0.0)
    companions = shares.companions(table)
    sums, joined = table.sum(axis=1), (companions * shares.others)[np.arange(len(labels)), labels]
    own, total = joined + 1.0, sums + 1.0
    disputed = joined_pairs(labels) + (sums.sum() - 2.0 * joined.sum()) / 2.0
    table = square(part.stderr, 0.0)
    errors = shares.companions(table)
    error_sums, error_joined = table.sum(axis=1), (errors * shares.others)[np.arange(len(labels)), labels]
    belongs, belongs_stderr = belonging(labels, companions, errors)
    between, between_stderr = shares.between(companions), shares.between(errors)
    single = shares.sizes == 1
    between[single, single] = 1.0
    return Averages(
        belongs=belongs,
        belongs_stderr=belongs_stderr,
        cohesion=np.diagonal(between).copy(),
        cohesion_stderr=np.where(single, 0.0, np.diagonal(between_stderr)),
        between=between,
        disputed=float(disputed),
        disputed_stderr=float(error_sums.sum() / 2.0),
        vi_stderr=float(np.mean(2.0 * error_joined / own + error_sums / total)),
    )


def joined_pairs(labels: np.ndarray) -> float:
    """Return the number of pairs that a clustering joins."""
    sizes = np.bincount(labels).astype(float)
    return float(np.sum(sizes * (sizes - 1.0) / 2.0))


def _stderr(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(values.shape[1], np.nan)


def square(pairs: np.ndarray, diagonal: float) -> np.ndarray:
    """Return numbers of pairs as a table."""
    from scipy.spatial.distance import squareform

    table = squareform(pairs)
    np.fill_diagonal(table, diagonal)
    return table
