"""What members of the clusters of one partition look like: predictive distributions, in plain NumPy.

The compiled functions of a target say how likely every cluster is for one point of the data, and leave constants out.
Here are the same distributions for whole tables of new rows, with missing cells integrated out; for every row of the
data, given the others of its cluster; and for single columns, with their moments. All numbers are in the units of the
data.

`Component.members` of a component that has met data gives `MembersOf`; called with a partition, that gives `Members`.
Groups of columns are independent of each other within a cluster; `Predictive` is what is asked of each. Discrete ones
are here, normal ones in `copartition.targets.normal_members`.

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

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from copartition.targets.cells import Cells, cells_of
from copartition.validation import finite_array, integer, label_array, shorten


class Moments(NamedTuple):
    """Of the cell of a new member in one column, for every cluster and for an empty one: see `Column`."""

    mean: np.ndarray
    variance: np.ndarray
    shares: np.ndarray | None = None


class Predictive(ABC):
    """The distribution of the cells of a new member in the columns of a group, for each of K clusters and an empty one.

    Parameters
    ----------
    cells : Any
        The training cells as `read` returns them, none of them missing.
    labels : int64 array (n_rows)
    n_clusters : int
        K.
    prior : Any
        Of the parameters of a cluster.
    """

    kind: str
    """See `Column`."""

    @abstractmethod
    def __init__(self, cells: Any, labels: np.ndarray, n_clusters: int, prior: Any) -> None: ...

    @staticmethod
    def read(values: np.ndarray) -> Any:
        """Return rows of cells, all observed, as the distributions want them: what does not depend on the partition."""
        return values

    @abstractmethod
    def log_density(self, cells: Any, columns: np.ndarray) -> np.ndarray:
        """Return the log densities (K + 1, n_rows) of new rows, of which these columns of the group were observed."""

    @abstractmethod
    def left_out(self) -> np.ndarray:
        """Return the log density (n_rows) of every training row in its own cluster without itself."""

    @abstractmethod
    def moments(self) -> list[Moments]:
        """Return the moments of every column of the group."""


class ColumnGroup(NamedTuple):
    """Some columns of a table that are independent of all others within a cluster.

    Attributes
    ----------
    positions : sequence of int
        Which columns of the table.
    values : float64 array (n_rows, n_columns)
        Their cells, NaN where missing; of categories the numbers.
    predictive : type of Predictive
    levels : list, optional
        The categories.
    """

    positions: Sequence[int]
    values: np.ndarray
    predictive: type[Predictive]
    levels: list[Any] | None = None

    def at(self, positions: Sequence[int]) -> ColumnGroup:
        """Return the group as one of a larger table, in which the columns of this one have these positions."""
        return self._replace(positions=[positions[j] for j in self.positions])


def column_by_column(values: np.ndarray, predictive: type[Predictive]) -> list[ColumnGroup]:
    """Return a group for every column."""
    return [ColumnGroup([j], values[:, j : j + 1], predictive) for j in range(values.shape[1])]


def all_together(values: np.ndarray, predictive: type[Predictive]) -> list[ColumnGroup]:
    """Return all columns as one group."""
    return [ColumnGroup(range(values.shape[1]), values, predictive)]


def values_by_role(groups: Sequence[Any], hyperparameters: np.ndarray) -> dict[int, np.ndarray]:
    """Return the values of unknown hyperparameters by their role (`copartition.targets.kinds.column_group`)."""
    found: dict[int, list[float]] = {}
    first = 0
    for role, _, group in groups:
        found.setdefault(role, []).extend(hyperparameters[first : first + len(group.names)])
        first += len(group.names)
    return {role: np.array(values) for role, values in found.items()}


class Column(NamedTuple):
    """What the cell of a new member looks like in one column.

    Attributes
    ----------
    position : int
        Which column of the data it is.
    name : str
        What it is called, or its number.
    kind : {"number", "count", "category"}
    levels : list or None
        The categories; 0 and 1 for `Bernoulli`.
    mean, variance : float64 array (n_clusters + 1)
        Mean and variance in every cluster, and, at the end, in an empty one. Where a t distribution has no variance
        (two degrees of freedom or less) it is infinite here, and where it has no mean (one or less; clusters with
        members always have one) the mean is NaN. Both are NaN for categories other than 0 and 1.
    shares : float64 array (n_clusters + 1, n_levels) or None
        The probabilities of categories.
    """

    position: int
    name: str
    kind: str
    levels: list[Any] | None
    mean: np.ndarray
    variance: np.ndarray
    shares: np.ndarray | None


class HasMembers(Protocol):
    """What is asked of components: the columns of a table that are together, and the priors of these groups."""

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return groups of columns."""

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the prior of every group, as its `Predictive` takes it."""

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters in the order of the vector: as ``GroupArrays.groups``."""


class Pattern(NamedTuple):
    """The rows in which the same columns of a group were observed.

    Attributes
    ----------
    rows : int64 array, or a slice if these are all
    columns : int64 array
        Their numbers in the group.
    cells : Any
        What `Predictive.read` makes of the cells.
    """

    rows: Any
    columns: np.ndarray
    cells: Any


class NewRows(NamedTuple):
    """New rows as `MembersOf.read` makes them: what was observed of every group of columns."""

    reader: MembersOf
    n_rows: int
    groups: list[list[Pattern]]


class MembersOf:
    """The rows of a table, of which clusters have members: call it with a partition.

    Parameters
    ----------
    cells : Cells
        The training data.
    component : HasMembers
        A component that has met these data.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0.0, 0.2], [0.1, None], [9.0, 9.1]]
    >>> posterior = cp.Mixture(data, cp.NormalInverseGamma())
    >>> members = posterior.component.members(data)([0, 0, 1], n_clusters=2)
    >>> members.log_density([[0.3, None], [8.7, 9.3]]).round(2)
    array([[-2.01, -4.46, -4.41],
           [-9.41, -4.76, -9.03]])
    """

    def __init__(self, cells: Cells, component: HasMembers) -> None:
        self.n_rows, self.width = cells.shape
        self.component = component
        self._names, self._labels = cells.keys, [cells.label(j) for j in range(self.width)]
        self.n_hyperparameters = sum(len(group.names) for _, _, group in component.unknown_groups())
        self._groups = component.member_groups(cells)
        self._training: list[tuple[Any, Any]] = []
        for group in self._groups:
            missing = np.isnan(group.values)
            if missing.any() and len(group.positions) > 1:
                title = cells.title(group.positions[int(np.argmax(missing.any(axis=0)))])
                raise ValueError(f"data must have every cell in columns that vary together, but {title} lacks some.")
            observed = ~missing[:, 0] if missing.any() else slice(None)
            self._training.append((observed, group.predictive.read(group.values[observed])))
        self._priors = None if self.n_hyperparameters else component.member_priors(np.zeros(0), self.width)

    def __call__(self, labels: Any, n_clusters: int, hyperparameters: Any = ()) -> Members:
        """Return what members of the clusters of a partition look like.

        Parameters
        ----------
        labels : int array (n_rows)
            The clusters of the rows, 0 to ``n_clusters - 1``.
        n_clusters : int
        hyperparameters : array, optional
            The values of unknown hyperparameters of the component, in the order of ``Target.hyperparameters``, where
            those of the component come first.
        """
        clusters = label_array("labels", labels, self.n_rows)
        n_clusters = integer("n_clusters", n_clusters, 1)
        if clusters.min() < 0 or clusters.max() >= n_clusters:
            odd = clusters.min() if clusters.min() < 0 else clusters.max()
            raise ValueError(f"labels must be 0 to {n_clusters - 1}, as n_clusters says, got {odd}.")
        values = finite_array("hyperparameters", hyperparameters, (1,))
        if len(values) != self.n_hyperparameters:
            raise ValueError(
                f"hyperparameters must be the {self.n_hyperparameters} unknown hyperparameter(s) of the component, got "
                f"{len(values)}."
            )
        priors = self._priors or self.component.member_priors(values, self.width)
        parts = [
            group.predictive(cells, clusters[observed], n_clusters, prior)
            for group, (observed, cells), prior in zip(self._groups, self._training, priors, strict=True)
        ]
        return Members(self, n_clusters, parts)

    def read(self, rows: Any) -> NewRows:
        """Return new rows as they are wanted: read once, `Members.log_density` takes them for many partitions.

        Parameters
        ----------
        rows : array (n_rows, n_columns), data frame or Cells
            Rows with the columns of the data. Columns of a data frame go by their names; there may be more of them. NaN
            or None where a cell is missing.
        """
        cells = cells_of(rows, "rows")
        if self._names is not None and cells.keys is not None:
            cells = cells.subset([cells.position(name) for name in self._names])
        if cells.shape[1] != self.width:
            raise ValueError(f"rows must have the {self.width} column(s) of the data, got {cells.shape[1]}.")
        groups = self.component.member_groups(cells)
        return NewRows(self, cells.shape[0], [list(_patterns(group)) for group in groups])

    def left_out(self, parts: list[Predictive]) -> np.ndarray:
        """Return the sum over groups of what `Predictive.left_out` says of the rows observed there."""
        total = np.zeros(self.n_rows)
        for (observed, _), part in zip(self._training, parts, strict=True):
            total[observed] += part.left_out()
        return total

    def columns(self, parts: list[Predictive]) -> list[Column]:
        """Return what the columns of all groups look like, in the order of the data."""
        found = [
            Column(position, self._labels[position], part.kind, group.levels, *moments)
            for group, part in zip(self._groups, parts, strict=True)
            for position, moments in zip(group.positions, part.moments(), strict=True)
        ]
        return sorted(found, key=lambda column: column.position)


class Members:
    """The predictive distributions of new members, given a partition: of each of K clusters, and of an empty one.

    Hyperparameters are those that `MembersOf` was called with; the parameters of clusters are integrated out.

    Examples
    --------
    >>> import copartition as cp
    >>> words = [["red", "long"], ["red", None], ["green", "round"]]
    >>> posterior = cp.Mixture(words, cp.Categorical())
    >>> members = posterior.component.members(words)([0, 0, 1], n_clusters=2)
    >>> colour, form = members.columns()
    >>> colour.levels, colour.shares[0].tolist()
    (['green', 'red'], [0.25, 0.75])
    """

    def __init__(self, of: MembersOf, n_clusters: int, parts: list[Predictive]) -> None:
        self.n_clusters = n_clusters
        self._of, self._parts = of, parts

    def log_density(self, rows: Any) -> np.ndarray:
        """Return the log predictive density of new rows in every cluster, given its members.

        Missing cells are integrated out: the density is that of the observed ones. Cells of categories and counts count
        with their probabilities.

        Parameters
        ----------
        rows : array (n_rows, n_columns), data frame or NewRows
            As `MembersOf.read` takes and returns them.

        Returns
        -------
        float64 array (n_rows, n_clusters + 1)
            The last column is that of an empty cluster.
        """
        new = rows if isinstance(rows, NewRows) else self._of.read(rows)
        if new.reader is not self._of:
            raise ValueError(f"rows must have been read by the members of these data, got {shorten(new.reader)}.")
        total = np.zeros((self.n_clusters + 1, new.n_rows))
        for part, patterns in zip(self._parts, new.groups, strict=True):
            for pattern in patterns:
                total[:, pattern.rows] += part.log_density(pattern.cells, pattern.columns)
        return total.T

    def left_out(self) -> np.ndarray:
        """Return the log predictive density of every training row in its own cluster without itself.

        A row that is alone has the density of an empty cluster. Missing cells are integrated out.
        """
        return self._of.left_out(self._parts)

    def columns(self) -> list[Column]:
        """Return what cells of a new member look like, column by column; columns that are not used are left out."""
        return self._of.columns(self._parts)


def _patterns(group: ColumnGroup) -> Iterator[Pattern]:
    """Yield the rows that lack the same cells; those that lack all have a density of 1."""
    values, missing = group.values, np.isnan(group.values)
    if not missing.any():
        yield Pattern(slice(None), np.arange(values.shape[1]), group.predictive.read(values))
        return
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows, columns = np.flatnonzero(which.ravel() == number), np.flatnonzero(~pattern)
        if len(columns):
            yield Pattern(rows, columns, group.predictive.read(values[np.ix_(rows, columns)]))


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
