"""Targets made of groups of columns that are independent given the cluster: their compiled functions, and their arrays.

Each column group is of one kind (`copartition.targets.kinds`). The functions here go through the column groups of a
model and add up what each says. One column group of one kind is the simplest case, so every component but the
known-covariance `Gaussian` without missing cells is made of column groups.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from copartition.core.compiling import Kernel, inner, made_anew
from copartition.core.hyperparameters import GRID
from copartition.core.room import aligned
from copartition.targets.cells import Cells, cells_of, check_observed
from copartition.targets.hooks import Keeping, begin_cluster, enter_cluster, leave_cluster, log_merge, log_predictive
from copartition.targets.kinds import (
    discrete,
    gamma,
    known,
    tied,
    tied_hyperparameters,
    wishart,
    wishart_hyperparameters,
)
from copartition.targets.kinds.column_group import (
    COLUMN_GROUPS,
    FIELDS,
    GROUP_FIELDS,
    GROUPS,
    HEADER,
    HYPER_FIELDS,
    MEAN,
    GroupArrays,
    Place,
    place_of,
)
from copartition.targets.kinds.discrete import CATEGORICAL, POISSON
from copartition.targets.kinds.gamma import GAMMA
from copartition.targets.kinds.known import KNOWN
from copartition.targets.kinds.tied import TIED
from copartition.targets.kinds.wishart import WISHART, base_of, distance_of, is_lost, let_go, log_density_of
from copartition.targets.members import ColumnGroup, MembersOf
from copartition.targets.mixture import Component, Prepared
from copartition.targets.unknown import (
    NO_UNKNOWNS,
    Drawn,
    OnGrid,
    Unknowns,
    draw_hyperparameters,
    log_density_of_hyperparameters,
    renew,
    weigh_hyperparameter,
)

weigh_gamma, weigh_wishart, weigh_tied = (
    gamma.weigh_hyperparameter,
    wishart_hyperparameters.weigh_hyperparameter,
    tied_hyperparameters.weigh_hyperparameter,
)
draw_tied, log_density_of_tied = (
    tied_hyperparameters.draw_hyperparameters,
    tied_hyperparameters.log_density_of_hyperparameters,
)
renew_gamma, renew_wishart, renew_tied = (
    gamma.renew,
    wishart_hyperparameters.renew,
    tied_hyperparameters.renew,
)


@weigh_hyperparameter
def groups_weigh(model, chain, group):
    """Write the log density of the data for every value of a grid."""
    m = model
    i = m.integers[GROUPS] + GROUP_FIELDS * group
    place, role, column = place_of(model, m.integers[i]), m.integers[i + 1], m.integers[i + 2]
    row, weights = m.unknown.groups[group, GRID], m.unknown.weights
    grid = m.unknown.grids[row]
    if place.kind == GAMMA:
        weigh_gamma(model, chain, place, role, column, grid, weights)
    elif place.kind == WISHART:
        weigh_wishart(model, chain, place, role, column, grid, m.unknown.log_priors[row])
    else:
        weigh_tied(model, chain, place, role, column, grid, weights)


@draw_hyperparameters
def groups_draw(model, chain, group, random):
    """Draw hyperparameters that are on no grid: only column groups whose noise is shared have such."""
    i = model.integers[GROUPS] + GROUP_FIELDS * group
    place = place_of(model, model.integers[i])
    draw_tied(model, chain, place, model.integers[i + 1], model.integers[i + 2], random)


@log_density_of_hyperparameters
def groups_log_density(model, chain, group, values):
    """Return the log density of such a draw."""
    i = model.integers[GROUPS] + GROUP_FIELDS * group
    place = place_of(model, model.integers[i])
    return log_density_of_tied(model, chain, place, model.integers[i + 1], model.integers[i + 2], values)


@renew
def groups_renew(model, chain):
    """Bring column groups with unknown hyperparameters up to date, and the constant, with that of units."""
    m = model
    last = len(m.parameters) - 1
    m.constant[0], m.constant[1] = m.parameters[last - 1], m.parameters[last]
    for column_group in range(m.integers[COLUMN_GROUPS]):
        place = place_of(model, column_group)
        if place.hyper > 0:
            if place.kind == GAMMA:
                renew_gamma(model, chain, place)
            elif place.kind == WISHART:
                renew_wishart(model, chain, place)
            else:
                renew_tied(model, chain, place)


class ColumnHyperparameters(NamedTuple):
    """What column groups add to the arrays of a model for their unknown hyperparameters."""

    integers: list[int]
    parameters: list[np.ndarray]
    unknown: Unknowns


def numbers_of(column_groups: Sequence[GroupArrays], n_parameters: int) -> ColumnHyperparameters:
    """Return how column groups are told of their unknown hyperparameters; their own parameters follow after so many."""
    about_column_groups: list[int] = []
    about_groups: list[int] = []
    parameters: list[np.ndarray] = []
    groups: list[OnGrid | Drawn] = []
    n_hyperparameters = n_raw = 0
    for number, one in enumerate(column_groups):
        if not one.groups:
            continue
        firsts = [-1] * (HYPER_FIELDS - MEAN)
        for role, column, group in one.groups:
            if firsts[role - MEAN] < 0:
                firsts[role - MEAN] = n_hyperparameters
            about_groups += [number, role, column]
            groups.append(group)
            n_hyperparameters += len(group.names)
        about_column_groups += [one.form, n_raw, n_parameters, *firsts]
        parameters.append(one.own)
        n_parameters += len(one.own)
        n_raw += 0 if one.raw is None else one.raw.shape[1]
    if not groups:
        return ColumnHyperparameters([], [], NO_UNKNOWNS)
    functions = groups_weigh, groups_draw, groups_log_density, groups_renew
    scratch = max(one.scratch for one in column_groups)
    return ColumnHyperparameters(
        [*about_column_groups, *about_groups],
        parameters,
        Unknowns(_named(groups), *functions, raw_of(column_groups), scratch),
    )


def raw_of(column_groups: Sequence[GroupArrays]) -> np.ndarray:
    """Return the raw points of all column groups that have such, side by side."""
    return np.hstack(
        [np.zeros((len(column_groups[0].plain), 0)), *[one.raw for one in column_groups if one.raw is not None]]
    )


def _named(groups: list[OnGrid | Drawn]) -> list[OnGrid | Drawn]:
    """Return groups whose numbers have different names: those of later parts of a table get a number."""
    seen: dict[str, int] = {}
    named = []
    for group in groups:
        names = []
        for name in group.names:
            seen[name] = seen.get(name, 0) + 1
            names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
        named.append(
            OnGrid(names[0], group.values, group.log_prior, group.of_data, group.distribution)
            if isinstance(group, OnGrid)
            else Drawn(names, group.initial, group.distribution)
        )
    return named


of_wishart, of_gamma, of_known = wishart.log_predictive_of, gamma.log_predictive_of, known.log_predictive_of
of_tied, merge_tied = tied.log_predictive_of, tied.log_merge
of_categories, of_counts = discrete.of_categories, discrete.of_counts
merge_wishart, merge_gamma, merge_known = wishart.log_merge, gamma.log_merge, known.log_merge
merge_categorical, merge_poisson = discrete.merge_categorical, discrete.merge_poisson
begin_wishart, enter_wishart, leave_wishart = wishart.begin, wishart.enter, wishart.leave

PREDICTIVES = {
    WISHART: of_wishart,
    GAMMA: of_gamma,
    KNOWN: of_known,
    TIED: of_tied,
    CATEGORICAL: of_categories,
    POISSON: of_counts,
}
MANY_POINTS = 100  # from which a function for one table is worth the second that it takes to compile


@log_predictive
def groups_predictive(model, chain, n_choices, n):
    """Log predictive density of a point, the sum over column groups."""
    m, c = model, chain
    weights = c.weights
    for k in range(n_choices):
        weights[k] = 0.0
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        for k in range(n_choices):
            if place.kind == GAMMA:
                weights[k] += of_gamma(model, chain, m, c, place, k, n)
            elif place.kind == CATEGORICAL:
                weights[k] += of_categories(model, chain, m, c, place, k, n)
            elif place.kind == POISSON:
                weights[k] += of_counts(model, chain, m, c, place, k, n)
            elif place.kind == KNOWN:
                weights[k] += of_known(model, chain, m, c, place, k, n)
            elif place.kind == TIED:
                weights[k] += of_tied(model, chain, m, c, place, k, n)
            else:
                weights[k] += of_wishart(model, chain, m, c, place, k, n)


@made_anew
def predictive_of(places: tuple[Place, ...]) -> Kernel:
    """Return the same for column groups of which all is known when it is compiled.

    A quarter faster, once for each table.
    """
    of_all = _sum_over(places)

    @log_predictive
    def log_predictive_of_groups(model, chain, n_choices, n):
        m, c = model, chain
        for k in range(n_choices):
            c.weights[k] = of_all(model, chain, m, c, k, n)

    return log_predictive_of_groups


def _sum_over(places: tuple[Place, ...]) -> Any:
    """Return the function that adds up what these column groups say of a point in a cluster."""
    place, of_first = places[0], PREDICTIVES[places[0].kind]
    if len(places) == 1:

        @inner
        def of_last(model, chain, m, c, k, n):
            return of_first(model, chain, m, c, place, k, n)

        return of_last
    of_rest = _sum_over(places[1:])

    @inner
    def of_both(model, chain, m, c, k, n):
        return of_first(model, chain, m, c, place, k, n) + of_rest(model, chain, m, c, k, n)

    return of_both


@made_anew
def wishart_predictive(width: int) -> Kernel:
    """Return the same for one group of so many normal columns with unknown covariances, where loops may be unrolled."""
    distance = distance_of(width)

    @inner
    def write_bases(m, c, place, n_choices, n):
        holder = c.holder[0]
        for k in range(n_choices):
            c.weights[k] = base_of(m, c, place, k, holder, distance(m, c, place, c.slots[k], n))

    @log_predictive
    def log_predictive_of_group(model, chain, n_choices, n):
        m, c, place = model, chain, place_of(model, 0)
        weights = c.weights
        write_bases(m, c, place, n_choices, n)  # a loop by itself: a tenth faster
        if is_lost(c):
            let_go(model, chain, c.holder[0])
            write_bases(m, c, place, n_choices, n)
        holder = c.holder[0]
        for k in range(n_choices):
            weights[k] = log_density_of(m, c, place, k, n, holder, math.log(weights[k]))

    return log_predictive_of_group


@log_merge
def groups_merge(model, chain, a, b):
    """Log density of the points of two clusters as one, against two, the sum over column groups."""
    total = 0.0
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        if place.kind == GAMMA:
            total += merge_gamma(model, chain, place, a, b)
        elif place.kind == CATEGORICAL:
            total += merge_categorical(model, chain, place, a, b)
        elif place.kind == POISSON:
            total += merge_poisson(model, chain, place, a, b)
        elif place.kind == KNOWN:
            total += merge_known(model, chain, place, a, b)
        elif place.kind == TIED:
            total += merge_tied(model, chain, place, a, b)
        else:
            total += merge_wishart(model, chain, place, a, b)
    return total


@begin_cluster
def groups_begin(model, chain, k):
    """Let every column group that keeps something begin with an empty cluster."""
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        if place.kind == WISHART:
            begin_wishart(model, chain, place, k)


@enter_cluster
def groups_enter(model, chain, k, n):
    """Let a point join what is kept."""
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        if place.kind == WISHART:
            enter_wishart(model, chain, place, k, n)


@leave_cluster
def groups_leave(model, chain, k, n):
    """Let a point leave what is kept; return whether digits were lost."""
    lost = False
    for column_group in range(model.integers[0]):
        place = place_of(model, column_group)
        if place.kind == WISHART:
            lost |= leave_wishart(model, chain, place, k, n)
    return lost


def prepared(column_groups: Sequence[GroupArrays], component: Component) -> Prepared:
    """Return the arrays and functions of a target made of these column groups, as the resolved `component` says."""
    n_summed = sum(one.summed.shape[1] for one in column_groups)
    at = Place(0, 0, 0, n_summed, 0, 0, 0, 0, 0)
    places = []
    hyper = HEADER + FIELDS * len(column_groups)
    for one in column_groups:
        observed = at.summed + one.observed if one.observed else 0
        own = hyper if one.groups else 0
        hyper += HYPER_FIELDS if one.groups else 0
        places.append(at._replace(kind=one.kind, width=one.width, observed=observed, hyper=own))
        at = at._replace(
            summed=at.summed + one.summed.shape[1],
            plain=at.plain + one.plain.shape[1],
            table=at.table + one.table.shape[1],
            parameters=at.parameters + len(one.parameters),
            kept=at.kept + one.kept,
        )
    numbers = numbers_of(column_groups, at.parameters)
    integers = [len(column_groups), hyper, *[number for place in places for number in place], *numbers.integers]
    scratch = max(one.scratch for one in column_groups)
    log_constant = sum(one.log_constant for one in column_groups)
    n_points = len(column_groups[0].plain)
    log_total = sum(n_points * one.log_constant if one.log_total is None else one.log_total for one in column_groups)
    return Prepared(
        _predictive_for(tuple(places), n_points),
        rows_of(column_groups),
        table=np.hstack([one.table for one in column_groups]),
        parameters=np.concatenate(
            [*[one.parameters for one in column_groups], *numbers.parameters, [log_constant, log_total]]
        ),
        integers=np.array(integers, dtype=np.int64),
        log_merge=groups_merge,
        log_constant=log_constant,
        log_total=log_total,
        summed=n_summed,
        keeping=Keeping(groups_begin, groups_enter, groups_leave, at.kept, scratch) if at.kept else None,
        unknown=numbers.unknown,
        component=component,
    )


def _predictive_for(places: tuple[Place, ...], n_points: int) -> Kernel:
    if len(places) == 1 and places[0].kind == WISHART:
        return wishart_predictive(places[0].width)
    return predictive_of(places) if n_points >= MANY_POINTS else groups_predictive


def rows_of(column_groups: Sequence[GroupArrays]) -> np.ndarray:
    """Return the rows of points: what all column groups sum, then what they do not."""
    parts = [one.summed for one in column_groups] + [one.plain for one in column_groups]
    rows = aligned((len(parts[0]), sum(part.shape[1] for part in parts)))
    np.concatenate(parts, axis=1, out=rows)
    return rows


class GroupedComponent(Component):
    """A component that is made of column groups."""

    takes_cells = True

    @abstractmethod
    def resolve(self, cells: Cells) -> Self:
        """Return the same component with all numbers set that were left out, or refuse data that do not fit."""

    @abstractmethod
    def column_groups(self, cells: Cells, n_points: int) -> list[GroupArrays]:
        """Return the column groups of a resolved component.

        Rows of points for these cells, tables for that many points.
        """

    def used(self, cells: Cells) -> Cells:
        """Return the columns that are looked at: all."""
        return cells

    def prepare(self, data: Cells) -> Prepared:
        """Return the compiled functions and their arrays."""
        check_observed(self.used(data))
        resolved = self.resolve(data)
        return prepared(resolved.column_groups(data, data.shape[0]), resolved)

    @abstractmethod
    def member_groups(self, cells: Cells) -> list[ColumnGroup]:
        """Return the columns that are together in the predictive distributions of a resolved component."""

    @abstractmethod
    def member_priors(self, hyperparameters: np.ndarray, width: int) -> list[Any]:
        """Return the prior of each of these groups, for values of what is unknown and a table of that many columns."""

    def unknown_groups(self) -> tuple[Any, ...]:
        """Return the unknown hyperparameters of a resolved component in their order, as ``GroupArrays.groups``."""
        return ()

    def has_met_data(self) -> bool:
        """Tell whether the component is a resolved one."""
        return hasattr(self, "_missing")

    def members(self, data: Any) -> MembersOf:
        """Return what says, for any partition of `data`, what members of its clusters look like."""
        if not self.has_met_data():
            raise TypeError(f"members is for a component that has met data, such as posterior.component, got {self!r}.")
        return MembersOf(cells_of(data), self)

    def transform(self, data: Cells) -> np.ndarray:
        """Return rows of points for new data, every cell of which must be there."""
        cells = self.used(data)
        if cells.missing().any():
            row, column = np.argwhere(cells.missing())[0]
            raise ValueError(f"grid must be finite, got no value in {cells.title(int(column))}, row {row}.")
        return rows_of(self.column_groups(data, 0))

    def raw(self, data: Cells) -> np.ndarray:
        """Return rows of points for new data before unknown hyperparameters shift and scale them."""
        return raw_of(self.column_groups(data, 0))


def equal_columns(*keys: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the positions of columns that are equal in all keys, those of one column group at a time."""
    different = list(dict.fromkeys(zip(*[key.tolist() for key in keys], strict=True)))
    for one in different:
        yield np.flatnonzero(np.all([key == value for key, value in zip(keys, one, strict=True)], axis=0))
