"""Tables whose columns are of different kinds."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from copartition.targets.cells import Cells
from copartition.targets.column_groups import GroupedComponent
from copartition.targets.discrete import CategoryComponent, category_groups
from copartition.targets.kinds import column_group
from copartition.targets.members import ColumnGroup
from copartition.targets.mixture import Component
from copartition.validation import shorten


class Columns(GroupedComponent):
    """Groups of columns that are independent given the cluster, each with a component of its own.

    Parameters
    ----------
    parts : sequence of (columns, component)
        Columns by name, if the data are a data frame, or by number; one, or a list of some. Columns that are not named
        are not used.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[1.2, 0.3, "a"], [1.0, 0.1, "a"], [7.5, 9.9, "b"]]
    >>> component = cp.Columns([([0, 1], cp.NormalInverseGamma()), (2, cp.Categorical())])
    >>> posterior = cp.Mixture(data, component)
    >>> posterior.n_points
    3
    """

    _positions: list[list[int]] | tuple[()] = ()  # of the columns of each part, when the component has met data

    def __init__(self, parts: Sequence[tuple[Any, Component]]) -> None:
        if isinstance(parts, str | dict) or not hasattr(parts, "__len__") or not len(parts):
            raise TypeError(f"parts must be a list of (columns, component), got {shorten(parts)}.")
        self.parts: list[tuple[list[Any], GroupedComponent]] = []
        for part in parts:
            if not isinstance(part, tuple | list) or len(part) != 2:
                raise TypeError(f"parts must be a list of (columns, component), got {shorten(part)} in it.")
            columns, component = part
            if isinstance(component, Columns) or not isinstance(component, GroupedComponent):
                raise TypeError(
                    "component of a part must be Gaussian, NormalInverseWishart, NormalInverseGamma, Bernoulli, "
                    f"Categorical or Poisson, got {shorten(component)}."
                )
            several = hasattr(columns, "__len__") and not isinstance(columns, str)
            self.parts.append((list(columns) if several else [columns], component))
            if not self.parts[-1][0]:
                raise ValueError(f"columns of a part must be one or more, got none for {shorten(component)}.")

    def used(self, cells: Cells) -> Cells:
        """Return the columns that are named."""
        positions = self._positions or self._find(cells)
        return cells.subset([position for part in positions for position in part])

    def _find(self, cells: Cells) -> list[list[int]]:
        return [[cells.position(column) for column in columns] for columns, _ in self.parts]

    def resolve(self, cells: Cells) -> Self:
        """Return the same component, with all numbers of its parts set that were left out."""
        resolved = copy.copy(self)
        resolved._positions = self._find(cells)
        used = [position for positions in resolved._positions for position in positions]
        twice = next((position for position in used if used.count(position) > 1), None)
        if twice is not None:
            raise ValueError(f"columns must be in one part each, got {cells.title(twice)} twice.")
        resolved.parts = [
            ([cells.label(position) for position in positions], component.resolve(cells.subset(positions)))
            for positions, (_, component) in zip(resolved._positions, self.parts, strict=True)
        ]
        return resolved

    def column_groups(self, cells: Cells, n_points: int) -> list[column_group.GroupArrays]:
        """Return the column groups of all parts of a resolved component.

        Columns of categories make up one of their own.
        """
        column_groups, categories = [], []
        for positions, (_, component) in zip(self._positions, self.parts, strict=True):
            own = cells.subset(positions)
            if isinstance(component, CategoryComponent):
                categories += component.columns(own)
            else:
                column_groups += component.column_groups(own, n_points)
        return [*category_groups(categories, n_points), *column_groups]

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return bool(self._positions)

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component, part by part."""
        return tuple(group for _, component in self.parts for group in component.unknown_groups())

    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return the groups of all parts."""
        return [
            group.at(positions)
            for positions, (_, component) in zip(self._positions, self.parts, strict=True)
            for group in component.member_groups(cells.subset(positions))
        ]

    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the priors of all parts, each of which has its share of the hyperparameters."""
        priors, first = [], 0
        for positions, (_, component) in zip(self._positions, self.parts, strict=True):
            last = first + sum(len(group.names) for _, _, group in component.unknown_groups())
            priors += component.member_priors(hyperparameters[first:last], len(positions))
            first = last
        return priors

    def normal_columns(self, width: int) -> list[list[int]]:
        """Return the groups of all parts, by the positions of their columns in the table."""
        return [
            [positions[j] for j in group]
            for positions, (_, component) in zip(self._positions, self.parts, strict=True)
            for group in component.normal_columns(len(positions))
        ]

    def assumptions(self) -> list[str]:
        """Return what is assumed of the points of a cluster, in words."""
        sentences = ["Given the cluster of a point, these groups of columns are independent of each other."]
        for columns, component in self.parts:
            named = ", ".join(str(column) for column in columns[:8]) + (", ..." if len(columns) > 8 else "")
            sentences += [f"{named}: {sentence}" for sentence in component.assumptions()]
        return sentences

    def __repr__(self) -> str:
        return f"Columns({self.parts!r})"
