"""Columns of categories and of counts, by the formulas of conjugate priors.

Of n cells of a column in a cluster, c_l of category l, with weights a_l of the Dirichlet prior and their sum A, a new
one is of category l with probability

    (a_l + c_l) / (A + n).

Of n counts of sum S, with rates from Gamma(a, b), a new count is negative binomial,

    log p(y) = lgamma(a + S + y) - lgamma(a + S) - lgamma(y + 1) + (a + S) log((b + n) / (b + n + 1))
               - y log(b + n + 1),

of mean ``(a + S) / (b + n)`` and a variance of that times ``1 + 1 / (b + n)``. Given the others of its cluster, a cell
takes itself out of c_l, S and n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from copartition.targets.members.table import Moments, Predictive


class CategoryColumn(Predictive):
    """One column of categories (`Categorical`, `Bernoulli`); its prior are the weights a_l."""

    kind = "category"

    def __init__(self, cells: np.ndarray, labels: np.ndarray, n_clusters: int, prior: np.ndarray) -> None:
        self.weights = prior
        n_levels = len(prior)
        self.places = labels * n_levels + cells  # in the table of counts
        counts = np.bincount(self.places, minlength=(n_clusters + 1) * n_levels)
        self.counts = counts.reshape(-1, n_levels).astype(float)
        self.sizes = self.counts.sum(axis=1, keepdims=True)
        self.shares = (prior + self.counts) / (prior.sum() + self.sizes)

    @staticmethod
    def read(values: np.ndarray) -> np.ndarray:
        """Return the numbers of the categories of the one column."""
        return values.ravel().astype(np.int64)

    def log_density(self, cells: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the log probabilities of new cells."""
        return np.log(self.shares).take(cells, axis=1)

    def left_out(self) -> np.ndarray:
        """Return the log probability of every cell, given the others of its cluster."""
        others, n_others = np.maximum(self.counts - 1.0, 0.0), np.maximum(self.sizes - 1.0, 0.0)
        return np.log((self.weights + others) / (self.weights.sum() + n_others)).take(self.places)

    def moments(self) -> list[Moments]:
        """Return the shares of the categories."""
        unknown = np.full(len(self.shares), np.nan)
        return [Moments(unknown, unknown, self.shares)]


class AnswerColumn(CategoryColumn):
    """One column of 0 and 1 (`Bernoulli`), which are numbers, too."""

    def moments(self) -> list[Moments]:
        """Return the shares of 0 and 1, of which the latter is the mean."""
        yes = self.shares[:, 1]
        return [Moments(yes, yes * (1.0 - yes), self.shares)]


class CountPrior(NamedTuple):
    """Of one column: a and b."""

    shape: float
    rate: float


class Counts(NamedTuple):
    """Counts as `CountColumn` wants them: the different ones, lgamma(y + 1) of these, and which each is."""

    different: np.ndarray
    log_factorial: np.ndarray
    which: np.ndarray


class CountColumn(Predictive):
    """One column of counts (`Poisson`)."""

    kind = "count"

    def __init__(self, cells: Counts, labels: np.ndarray, n_clusters: int, prior: CountPrior) -> None:
        self.cells, self.labels, self.prior = cells, labels, prior
        self.sizes = np.bincount(labels, minlength=n_clusters + 1).astype(float)
        self.totals = np.bincount(labels, cells.different.take(cells.which), n_clusters + 1)

    @staticmethod
    def read(values: np.ndarray) -> Counts:
        """Return the counts of the one column."""
        from scipy.special import gammaln

        different, which = np.unique(values.ravel(), return_inverse=True)
        return Counts(different, gammaln(different + 1.0), which.ravel())

    def _given(self, total: np.ndarray, size: np.ndarray, count: np.ndarray, log_factorial: np.ndarray) -> np.ndarray:
        """Return log p of counts, given the total and the size of their clusters."""
        from scipy.special import gammaln

        shape, rate = self.prior.shape + total, self.prior.rate + size
        result = gammaln(shape + count) - gammaln(shape) - log_factorial
        return np.asarray(result - shape * np.log1p(1.0 / rate) - count * np.log(rate + 1.0))

    def log_density(self, cells: Counts, columns: np.ndarray) -> np.ndarray:
        """Return the log probabilities of new counts."""
        of_different = self._given(self.totals[:, None], self.sizes[:, None], cells.different, cells.log_factorial)
        return of_different.take(cells.which, axis=1)

    def left_out(self) -> np.ndarray:
        """Return the log probability of every count, given the others of its cluster."""
        (different, log_factorial, which), labels = self.cells, self.labels
        n_others = np.maximum(self.sizes - 1.0, 0.0)
        if len(n_others) * len(different) > len(which):
            count = different.take(which)
            total = self.totals.take(labels) - count
            return self._given(total, n_others.take(labels), count, log_factorial.take(which))
        others = np.maximum(self.totals[:, None] - different, 0.0)  # of clusters without such a count nobody asks
        table = self._given(others, n_others[:, None], different, log_factorial)
        return table.take(labels * len(different) + which)

    def moments(self) -> list[Moments]:
        """Return the moments of the column."""
        rate = self.prior.rate + self.sizes
        mean = (self.prior.shape + self.totals) / rate
        return [Moments(mean, mean * (1.0 + 1.0 / rate))]
