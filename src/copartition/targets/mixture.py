"""The posterior of a mixture model over clusterings: prior x component, cluster parameters integrated out."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from copartition.core.compiling import Kernel
from copartition.core.room import empty_chain, widths_of
from copartition.core.steps import renew_model
from copartition.targets.base import Target
from copartition.targets.cells import Cells, cells_of, component_in_words, repeated_names, row_names
from copartition.targets.hooks import Keeping
from copartition.targets.members import MembersOf
from copartition.targets.priors import DirichletProcess, Prior, check_prior
from copartition.targets.unknown import Unknowns
from copartition.validation import finite_array, shorten

MOST_WORDS = 120  # characters of a component and of a prior in `repr`


class Prepared(NamedTuple):
    """Data as a component's compiled function wants them.

    Attributes
    ----------
    log_predictive : Kernel
        The function, decorated with `copartition.kernels.log_predictive`: log p(x_n | points of cluster k).
    points : array (n_points, n_statistics)
        Rows whose sums over clusters the function wants to know.
    table, parameters, integers : arrays, optional
        Whatever else it looks up.
    log_merge : Kernel, optional
        A function decorated with `copartition.kernels.log_merge`: split-merge moves are several times faster with it.
    log_constant : float, default 0
        What the function leaves out of the log density of a point, the same for all points and clusters.
    log_total : float, optional
        The same, but for all points together: for a constant that differs between points, as with missing cells.
    summed : int, optional
        How many columns of `points`, from the first on, are summed over clusters; all if left out.
    keeping : Keeping, optional
        What else is to be kept for every cluster.
    unknown : Unknowns, optional
        Unknown hyperparameters, drawn along with the partition.
    component : Component, optional
        The same component with all numbers that were left out set from the data.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> @cp.kernels.log_predictive
    ... def flat(model, chain, n_choices, n):
    ...     for k in range(n_choices):
    ...         chain.weights[k] = -model.parameters[0]
    >>> prepared = cp.kernels.Prepared(flat, points=np.zeros((4, 1)), parameters=np.array([2.0]))
    >>> prepared.points.shape
    (4, 1)
    """

    log_predictive: Kernel
    points: np.ndarray
    table: np.ndarray | None = None
    parameters: np.ndarray | None = None
    integers: np.ndarray | None = None
    log_merge: Kernel | None = None
    log_constant: float = 0.0
    log_total: float | None = None
    summed: int | None = None
    keeping: Keeping | None = None
    unknown: Unknowns | None = None
    component: Component | None = None


class NormalColumns(NamedTuple):
    """Columns that a component takes for normal within clusters: what a check of the model looks at.

    Attributes
    ----------
    values : float64 array (points, columns)
        NaN where a cell was not observed.
    names : list of str
        What the columns are called, or their numbers.
    groups : int64 array (columns)
        Columns of one group have a covariance; those of different groups are independent within clusters.
    """

    values: np.ndarray
    names: list[str]
    groups: np.ndarray


class Component(ABC):
    """The distribution of the points of one cluster, its parameters integrated out.

    A component of your own is a subclass that has this method; ``examples/bernoulli.py`` is one.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> @cp.kernels.log_predictive
    ... def flat(model, chain, n_choices, n):
    ...     for k in range(n_choices):
    ...         chain.weights[k] = -1.0
    >>> class Flat(cp.kernels.Component):
    ...     def prepare(self, data):
    ...         return cp.kernels.Prepared(flat, points=data)
    >>> cp.kernels.conditional(cp.Mixture([1.0, 2.0, 3.0], Flat(), cp.DirichletProcess(1.0)), [0, 0, 1], 2)
    array([0.66666667, 0.33333333])
    """

    takes_cells = False
    """Whether `prepare` wants a table of any cells (`copartition.targets.cells.Cells`) in place of an array."""

    @abstractmethod
    def prepare(self, data: Any) -> Prepared:
        """Return the compiled function and what it needs to know of `data`, a finite two-dimensional array."""

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words, a sentence each."""
        return [f"Points of a cluster follow {self!r}."]

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return groups of columns that are normal within clusters; columns of different groups are independent there.

        Here none: of a component of your own nothing is known.
        """
        return []

    def raw(self, data: Any) -> np.ndarray:
        """Return rows of ``Unknowns.raw`` for new data; needed by `predictive_density`, where there are such rows."""
        raise TypeError(f"{type(self).__name__} must have a method raw(data) for predictive densities.")

    def members(self, data: Any) -> MembersOf:
        """Return what says, for any partition of `data`, what members of its clusters look like.

        It is asked of a component that has met these data, as `Mixture.component` has.
        """
        raise TypeError(
            f"{type(self).__name__} must have a method members(data), as the components of the package have, to say "
            "what members of its clusters look like."
        )

    def transform(self, data: Any) -> np.ndarray:
        """Return rows of `points` for new data; needed by `predictive_density` only."""
        raise TypeError(f"{type(self).__name__} must have a method transform(data) for predictive densities.")


class Mixture(Target):
    """The posterior distribution of a clustering.

    Parameters
    ----------
    data : array (n_points, n_columns) or (n_points,), or data frame
        One row a point. NaN, or pandas' NA, where a cell was not observed, if the component allows it.
    component : Component
        The distribution of the points of one cluster, for instance `NormalInverseWishart`.
    prior : Prior, optional
        The distribution of the clustering before any data; left out, `DirichletProcess` with an unknown concentration.
    known, kinds : array, optional
        Clusters of points that are known, and kinds of points that are never together: see `Target`.

    Attributes
    ----------
    component : Component
        The component, with all numbers that were left out set from the data.
    cells : Cells
        The data, column by column.
    names : list or None
        What points are called: the index of a data frame, where it is more than row numbers and no two are the same.
    normal : NormalColumns or None
        The columns that the component takes for normal within clusters.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0.0, 0.2], [0.1, 0.0], [9.0, 9.1], [9.2, 9.0]]
    >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=5.0), cp.DirichletProcess(alpha=1.0))
    >>> posterior
    Mixture(4 points x 2, Gaussian(noise_sd=1.0, mean_sd=5.0), DirichletProcess(alpha=1.0))
    """

    def __init__(
        self,
        data: Any,
        component: Component | None = None,
        prior: Prior | None = None,
        *,
        known: Any = None,
        kinds: Any = None,
    ) -> None:
        if not isinstance(component, Component):
            raise TypeError(
                f"component must be a Component such as {component_in_words(data)}, got {shorten(component)}."
            )
        cells: Any = cells_of(data) if component.takes_cells else _numbers("data", data)
        self.cells = (cells if isinstance(cells, Cells) else Cells(list(cells.T))).copied()
        self.shape = cells.shape
        self._names = getattr(cells, "keys", None)
        prepared = component.prepare(cells)
        if not isinstance(prepared, Prepared):
            raise TypeError(f"prepare of {type(component).__name__} must return a Prepared, got {shorten(prepared)}.")
        if len(prepared.points) != self.shape[0]:
            raise ValueError(
                f"prepare of {type(component).__name__} must return a row of points for each of the {self.shape[0]} "
                f"points, got {len(prepared.points)}."
            )
        self.histogram = _histogram(cells) if self.shape[1] == 1 else None
        shared = np.may_share_memory(prepared.points, data) if isinstance(data, np.ndarray) else False
        arguments = prepared._asdict()
        self.component = arguments.pop("component") or component
        self.normal = _normal_columns(self.component, cells)
        self.names = row_names(data)
        index = repeated_names(data)  # which cannot name points, but belongs beside them
        self.source = None if index is None else {"index": index}
        prior = DirichletProcess() if prior is None else check_prior(prior)
        super().__init__(prior=prior, exchangeable=True, copy=shared, known=known, kinds=kinds, **arguments)

    def with_points(self, data: Any) -> Mixture:
        """Return the same target, whose compiled function also knows new points: rows after those of the data."""
        cells: Any = cells_of(data, "grid") if self.component.takes_cells else _numbers("grid", data)
        if self._names is not None and getattr(cells, "names", None) is not None:
            cells = cells.subset([cells.position(name) for name in self._names])
        if cells.shape[1] != self.shape[1]:
            raise ValueError(f"grid must be points with {self.shape[1]} column(s), got shape {np.shape(data)}.")
        rows = np.asarray(self.component.transform(cells), dtype=np.float64)
        larger = copy.copy(self)
        larger.model = self.model._replace(points=np.concatenate([self.model.points, rows]))
        if self.groups:
            unknown = self.model.unknown
            raw = np.concatenate([unknown.raw, self.component.raw(cells)]) if unknown.raw.size else unknown.raw
            larger.model = larger.model._replace(unknown=unknown._replace(raw=raw))
            renew_model(larger.model, larger.hooks, empty_chain(0, widths_of(larger.model), 2))
        return larger

    def assumptions(self) -> list[str]:
        """Return what the model assumes, in words: of the points of a cluster, and of the clustering."""
        of_prior = getattr(self.prior, "assumptions", None)
        prior = (
            [f"Before any data, clusterings follow {self.prior!r}."] if of_prior is None else of_prior(self.n_points)
        )
        return [*self.component.assumptions(), *prior, *self.constraint.assumptions()]

    def __str__(self) -> str:
        sentences = "".join(f"\n- {sentence}" for sentence in self.assumptions())
        return f"Mixture of {self.shape[0]} points x {self.shape[1]}{sentences}"

    @property
    def in_full(self) -> str:
        """The target with its numbers, of which scale matrices have many; those of more than 64 are abridged."""
        return f"Mixture({self.shape[0]} points x {self.shape[1]}, {self.component!r}, {self.prior!r})"

    def __repr__(self) -> str:
        component, prior = (
            text if len(text) <= MOST_WORDS else f"{text[: MOST_WORDS - 4]}...)"
            for text in (repr(self.component), repr(self.prior))
        )
        return f"Mixture({self.shape[0]} points x {self.shape[1]}, {component}, {prior})"


def _numbers(name: str, data: Any) -> np.ndarray:
    """Return data as a finite two-dimensional array."""
    array = finite_array(name, data, (1, 2))
    if array.size == 0:
        raise ValueError(f"{name} must have at least one point and one column, got shape {array.shape}.")
    return array.reshape(len(array), -1)


def _normal_columns(component: Component, cells: Any) -> NormalColumns | None:
    """Return a copy of the columns that a component takes for normal; None if there are none."""
    groups = component.normal_columns(cells.shape[1])
    positions = [j for group in groups for j in group]
    if not positions:
        return None
    table = cells if isinstance(cells, Cells) else Cells(list(cells.T))
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return NormalColumns(table.subset(positions).numbers(), [table.label(j) for j in positions], codes)


def _histogram(cells: Any) -> dict[str, list[float]] | None:
    """Return a histogram of one-dimensional data, which is all that a picture of a density needs of them."""
    try:
        values = np.ravel(cells.numbers() if isinstance(cells, Cells) else cells)
    except TypeError:  # of text there is none
        return None
    values = values[np.isfinite(values)]
    counts, edges = np.histogram(values, bins=int(np.clip(2 * np.sqrt(len(values)), 5, 60)))
    return {"counts": counts.tolist(), "edges": edges.tolist()}
