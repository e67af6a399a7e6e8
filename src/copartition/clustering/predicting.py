"""Where a new row goes: its predictive density in the clusters of kept partitions.

`by_replicate` and its kin are expectations from weighted partitions of functions that are plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from copartition.runs.drawing import WeightedPartitions
from copartition.targets.cells import Cells
from copartition.targets.mixture import Mixture

Of = Callable[[np.ndarray, np.ndarray], np.ndarray]  # a function of labels and hyperparameters


def each_partition(draws: WeightedPartitions) -> Iterator[tuple[int, float, np.ndarray, np.ndarray]]:
    """Yield the replicate, counted from 0, the weight, the labels and the hyperparameters of each partition."""
    replicate = np.unique(draws.replicate, return_inverse=True)[1]
    palette = draws.target is not None and draws.target.model.palette > 0
    rows = zip(replicate.tolist(), draws.weights, draws.labels, draws.hyperparameters, strict=True)
    for r, weight, labels, values in rows:
        labels = labels.astype(np.int64)
        yield r, float(weight), np.unique(labels, return_inverse=True)[1] if palette else labels, values


def by_replicate(draws: WeightedPartitions, of: Of) -> np.ndarray:
    """Return the weighted average of a function over the partitions of each replicate (replicates, numbers)."""
    found: list[np.ndarray] = []
    for r, weight, labels, values in each_partition(draws):
        value = weight * np.ravel(of(labels, values))
        if r == len(found):
            found.append(value)
        else:
            found[r] += value
    return np.array(found)


def mean_of(draws: WeightedPartitions, of: Of) -> np.ndarray:
    """Return the expectation of a function; replicates are not kept, which many numbers would take memory for."""
    total: np.ndarray | float = 0.0
    count = 0
    for r, weight, labels, values in each_partition(draws):
        total = total + weight * of(labels, values)
        count = r + 1
    return np.asarray(total / count)


def moments_about(column: Any, centre: float) -> tuple[np.ndarray, np.ndarray]:
    """Return first and second moments of members of each cluster less a number: near 0 no digit of a spread is lost."""
    away = column.mean - centre
    return away, column.variance + away**2


def stderr_of(values: np.ndarray) -> np.ndarray:
    """Return the standard errors of means over replicates (replicates, numbers)."""
    count = len(values)
    return np.full(values.shape[1], np.nan) if count < 2 else values.std(axis=0, ddof=1) / np.sqrt(count)


def overlaps_with(labels: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return how many points each cluster of a partition shares with each reference cluster."""
    shape = int(labels.max()) + 1, int(reference.max()) + 1
    return np.bincount(labels * shape[1] + reference, minlength=shape[0] * shape[1]).reshape(shape)


LEAST = -1e300  # the log density of rows too far away for numbers of the machine
PIECE = 2_000_000  # rows times clusters that are looked at together


class Joining(NamedTuple):
    """Where new rows go, given one partition of the data.

    Attributes
    ----------
    log_density : float64 array (rows)
        Of each row, wherever it goes.
    shares : float64 array (rows, clusters + 1)
        Probability of each cluster, and, last, of a new one.
    """

    log_density: np.ndarray
    shares: np.ndarray


class Predicting:
    """Predicts new rows from one partition of the data after another.

    Parameters
    ----------
    posterior : Mixture
    rows : Cells
        With the columns of the data.
    """

    def __init__(self, posterior: Any, rows: Cells | None = None) -> None:
        self.posterior = posterior
        self._members = posterior.component.members(posterior.cells)
        self._rows = None if rows is None else self._members.read(rows)
        self._weights: dict[float, tuple[np.ndarray, np.ndarray]] = {}

    def members(self, labels: np.ndarray, hyperparameters: np.ndarray) -> Any:
        """Return what members of each cluster of a partition look like, and of an empty one."""
        own = len(self.posterior.hyperparameters) - int(self._of_prior is not None)
        return self._members(labels, int(labels.max()) + 1, hyperparameters[:own])

    @property
    def _of_prior(self) -> Any:
        return getattr(self.posterior.prior, "unknown", None)

    def log_weights(self, sizes: np.ndarray, hyperparameters: np.ndarray) -> np.ndarray:
        """Return the logs of the prior probabilities of each cluster for the next row, and of a new one."""
        count, prior = self.posterior.n_points, self.posterior.prior
        value = 0.0 if self._of_prior is None else float(hyperparameters[-1])
        if value not in self._weights:  # a grid has few values
            here = prior if self._of_prior is None else prior.at(value)
            self._weights[value] = here.log_size(count + 1), here.log_new(count + 1)
        log_size, log_new = self._weights[value]
        logs = np.append(log_size[sizes], log_new[min(len(sizes), len(log_new) - 1)])
        top = logs.max()
        return np.asarray(logs - top - np.log(np.exp(logs - top).sum()))

    def join(self, labels: np.ndarray, hyperparameters: np.ndarray) -> Joining:
        """Return where the rows go, given a partition."""
        sizes = np.bincount(labels)
        with np.errstate(over="ignore", invalid="ignore"):  # of rows too far away for numbers of the machine
            logs = self.members(labels, hyperparameters).log_density(self._rows)
        logs += self.log_weights(sizes, hyperparameters)
        is_beyond = np.isnan(logs).any(axis=1) | np.isneginf(logs).all(axis=1)
        logs[is_beyond] = -np.inf  # which belong nowhere
        logs[is_beyond, -1] = LEAST
        top = logs.max(axis=1, keepdims=True)
        each = np.exp(logs - top)
        total = each.sum(axis=1, keepdims=True)
        return Joining((top + np.log(total))[:, 0], each / total)


def density_of_rows(posterior: Mixture, labels: np.ndarray, hyperparameters: np.ndarray, rows: Cells) -> np.ndarray:
    """Return the log predictive density of rows, given each of some partitions (partitions, rows)."""
    predicting = Predicting(posterior, rows)
    each = [
        predicting.join(row.astype(np.int64), values).log_density
        for row, values in zip(labels, hyperparameters, strict=True)
    ]
    return np.array(each)


def in_pieces(rows: Cells, many: int) -> Iterator[tuple[slice, Cells]]:
    """Yield rows of a table, so many at a time."""
    for a in range(0, rows.shape[0], many):
        here = slice(a, min(a + many, rows.shape[0]))
        yield here, rows.rows(here)


def probabilities(draws: WeightedPartitions, labels: np.ndarray, rows: Cells) -> np.ndarray:
    """Return the probabilities of reference clusters for new rows, and of none of them; they sum to 1."""
    sizes, many = np.bincount(labels), max(1, PIECE // (int(draws.labels.max(initial=0)) + 2))
    found = np.zeros((rows.shape[0], len(sizes) + 1))
    for here, some in in_pieces(rows, many):
        predicting = Predicting(draws.target, some)

        def shares(partition: np.ndarray, values: np.ndarray, predicting: Predicting = predicting) -> np.ndarray:
            joins, both = predicting.join(partition, values).shares, overlaps_with(partition, labels)
            belongs = joins[:, :-1] @ (both / both.sum(axis=1, keepdims=True))
            return np.column_stack([belongs, joins[:, -1]])

        found[here] = mean_of(draws, shares)
    # Where chains are corrected, unbiased estimates may lie a little outside of 0 to 1.
    found = np.clip(found, 0.0, 1.0)
    return found / found.sum(axis=1, keepdims=True)


def log_densities(draws: WeightedPartitions, rows: Cells) -> np.ndarray:
    """Return the logs of the posterior predictive densities of new rows; NaN where the estimate is not above 0.

    An unbiased estimate of a tiny density may be negative where the corrections of few replicates are large.
    """
    found = np.zeros(rows.shape[0])
    for here, some in in_pieces(rows, max(1, PIECE // len(draws))):
        predicting, weights = Predicting(draws.target, some), draws.weights
        logs = np.array([predicting.join(labels, v).log_density for _, _, labels, v in each_partition(draws)])
        top = logs.max(axis=0)
        mean = weights @ np.exp(logs - top) / weights.sum()
        found[here] = top + np.log(np.where(mean > 0.0, mean, np.nan))
    return found
