"""From a table to a posterior: what its columns are, and a component for each kind of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copartition.datasets.kinds import BINARY, CATEGORY, COUNT, NUMBER, Column, Kinds
from copartition.targets.cells import Cells
from copartition.targets.columns import Columns
from copartition.targets.data_prior import means_of, variances_of
from copartition.targets.data_prior import why_singular as of_correlation
from copartition.targets.discrete import Bernoulli, Categorical, Poisson
from copartition.targets.distributions import LogUniform
from copartition.targets.mixture import Component, Mixture
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.tied import TiedGaussian
from copartition.validation import BY_NUMBER, RowTitles

NAMED = ("full", "tied", "diagonal")  # what clusters of numbers may be like
SCALES = (0.01, 10.0)  # of the covariances of clusters, in covariances of the data


def component_called(name: str) -> Any:
    """Return the component of columns of numbers by its name.

    A full covariance has a scale that is learnt: it predicts as well as a fixed one or better (`docs/models.md`), with
    fewer clusters of one or two rows.

    Examples
    --------
    >>> component_called("full")
    NormalInverseWishart(scale=LogUniform(0.01, 10))
    """
    if name == "full":
        return NormalInverseWishart(scale=LogUniform(*SCALES))
    return TiedGaussian("full") if name == "tied" else NormalInverseGamma()


def table_of(columns: Sequence[Column], rows: np.ndarray | None = None, titles: RowTitles = BY_NUMBER) -> Cells:
    """Return recognised columns as a table that knows their names; of some rows only, if these are given."""
    arrays = []
    for column in columns:
        array = np.array(column.cells, dtype=object if column.kind == CATEGORY else np.float64)
        arrays.append(array if rows is None else array[rows])
    return Cells(arrays, [column.name for column in columns], sure=True, rows=titles)


def is_complete(column: Column) -> bool:
    """Tell whether every cell was observed."""
    return column.n_missing == 0


def complete_numbers(columns: Sequence[Column]) -> list[int]:
    """Return the places of the columns of numbers that lack no cell: those whose covariances can be told."""
    return [j for j, column in enumerate(columns) if column.kind == NUMBER and is_complete(column)]


def why_singular(columns: Sequence[Column]) -> str:
    """Return that the covariance of columns of numbers is singular, in words; nothing where it is not."""
    places = complete_numbers(columns)
    if len(places) < 2:
        return ""
    cells = table_of([columns[j] for j in places])
    data = cells.numbers()
    standard = (data - means_of(data, cells)) / np.sqrt(variances_of(data, cells))
    return of_correlation(standard.T @ standard / (len(data) - 1), len(data))


def component_for(columns: Sequence[Column], name: str) -> Component:
    """Return the component of recognised columns.

    Parameters
    ----------
    columns : sequence of Column
    name : str
        Of the component of columns of numbers that lack no cell; those that do are taken for independent.
    """
    complete = complete_numbers(columns)
    incomplete = [j for j, column in enumerate(columns) if column.kind == NUMBER and j not in complete]
    if name == "diagonal":
        complete, incomplete = [], sorted([*complete, *incomplete])
    places = {
        kind: [j for j, column in enumerate(columns) if column.kind == kind] for kind in (COUNT, BINARY, CATEGORY)
    }
    parts: list[tuple[list[int], Component]] = [
        (complete, component_called(name)),
        (incomplete, NormalInverseGamma()),
        (places[COUNT], Poisson()),
        (places[BINARY], Bernoulli()),
        (places[CATEGORY], Categorical()),
    ]
    used = [(some, component) for some, component in parts if some]
    return used[0][1] if len(used) == 1 else Columns(used)


def posterior_of(kinds: Kinds, component: Component, prior: Any, known: Any) -> Mixture:
    """Return the posterior of a recognised table."""
    posterior = Mixture(table_of(kinds.columns, titles=kinds.titles), component, prior, known=known)
    posterior.names = kinds.names
    return posterior
