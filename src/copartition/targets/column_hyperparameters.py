"""Unknown hyperparameters of targets that are made of column groups.

Compiled functions, and how they are told of the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copartition.core.hyperparameters import GRID
from copartition.targets.kinds import gamma_hyperparameters, tied_hyperparameters, wishart_hyperparameters
from copartition.targets.kinds.column_group import COLUMN_GROUPS, GROUPS, GroupArrays, place_of
from copartition.targets.kinds.gamma import GAMMA
from copartition.targets.kinds.hyper import GROUP_FIELDS, HYPER_FIELDS, MEAN
from copartition.targets.kinds.wishart import WISHART
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
    gamma_hyperparameters.weigh_hyperparameter,
    wishart_hyperparameters.weigh_hyperparameter,
    tied_hyperparameters.weigh_hyperparameter,
)
draw_tied, log_density_of_tied = (
    tied_hyperparameters.draw_hyperparameters,
    tied_hyperparameters.log_density_of_hyperparameters,
)
renew_gamma, renew_wishart, renew_tied = (
    gamma_hyperparameters.renew,
    wishart_hyperparameters.renew,
    tied_hyperparameters.renew,
)


@weigh_hyperparameter
def groups_weigh(model, chain, group):
    """Write the log density of the data for every value of a grid."""
    m = model
    i = m.integers[GROUPS] + GROUP_FIELDS * group
    place, role, column = place_of(model, m.integers[i]), m.integers[i + 1], m.integers[i + 2]
    grid, weights = m.unknown.grids[m.unknown.groups[group, GRID]], m.unknown.weights
    if place.kind == GAMMA:
        weigh_gamma(model, chain, place, role, column, grid, weights)
    elif place.kind == WISHART:
        weigh_wishart(model, chain, place, role, column, grid, weights)
    else:
        weigh_tied(model, chain, place, role, column, grid, weights)


@draw_hyperparameters
def groups_draw(model, chain, group, random):
    """Draw numbers that are on no grid: only column groups whose noise is shared have such."""
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
