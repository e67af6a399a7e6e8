"""Unknown numbers of targets that are made of blocks: compiled functions, and how they are told of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copartition.core.numbers import GRID
from copartition.targets.kinds import gamma_numbers, tied_numbers, wishart_numbers
from copartition.targets.kinds.block import BLOCKS, GROUPS, BlockArrays, place_of
from copartition.targets.kinds.gamma import GAMMA
from copartition.targets.kinds.hyper import GROUP_FIELDS, HYPER_FIELDS, MEAN
from copartition.targets.kinds.wishart import WISHART
from copartition.targets.unknown import (
    NO_UNKNOWNS,
    Drawn,
    OnGrid,
    Unknowns,
    draw_numbers,
    log_density_of_numbers,
    renew,
    weigh_number,
)

weigh_gamma, weigh_wishart, weigh_tied = (
    gamma_numbers.weigh_number,
    wishart_numbers.weigh_number,
    tied_numbers.weigh_number,
)
draw_tied, log_density_of_tied = tied_numbers.draw_numbers, tied_numbers.log_density_of_numbers
renew_gamma, renew_wishart, renew_tied = gamma_numbers.renew, wishart_numbers.renew, tied_numbers.renew


@weigh_number
def blocks_weigh(model, chain, group):
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


@draw_numbers
def blocks_draw(model, chain, group, random):
    """Draw numbers that are on no grid: only blocks whose noise is shared have such."""
    i = model.integers[GROUPS] + GROUP_FIELDS * group
    place = place_of(model, model.integers[i])
    draw_tied(model, chain, place, model.integers[i + 1], model.integers[i + 2], random)


@log_density_of_numbers
def blocks_log_density(model, chain, group, values):
    """Return the log density of such a draw."""
    i = model.integers[GROUPS] + GROUP_FIELDS * group
    place = place_of(model, model.integers[i])
    return log_density_of_tied(model, chain, place, model.integers[i + 1], model.integers[i + 2], values)


@renew
def blocks_renew(model, chain):
    """Bring all blocks with unknown numbers up to date, and the constant, which begins with that of units."""
    m = model
    last = len(m.parameters) - 1
    m.constant[0], m.constant[1] = m.parameters[last - 1], m.parameters[last]
    for block in range(m.integers[BLOCKS]):
        place = place_of(model, block)
        if place.hyper > 0:
            if place.kind == GAMMA:
                renew_gamma(model, chain, place)
            elif place.kind == WISHART:
                renew_wishart(model, chain, place)
            else:
                renew_tied(model, chain, place)


class BlockNumbers(NamedTuple):
    """What blocks add to the arrays of a model for their unknown numbers."""

    integers: list[int]
    parameters: list[np.ndarray]
    unknown: Unknowns


def numbers_of(blocks: Sequence[BlockArrays], n_parameters: int) -> BlockNumbers:
    """Return how blocks are told of their unknown numbers; their own parameters follow after so many."""
    about_blocks: list[int] = []
    about_groups: list[int] = []
    parameters: list[np.ndarray] = []
    groups: list[OnGrid | Drawn] = []
    n_numbers = n_raw = 0
    for number, one in enumerate(blocks):
        if not one.groups:
            continue
        firsts = [-1] * (HYPER_FIELDS - MEAN)
        for role, column, group in one.groups:
            if firsts[role - MEAN] < 0:
                firsts[role - MEAN] = n_numbers
            about_groups += [number, role, column]
            groups.append(group)
            n_numbers += len(group.names)
        about_blocks += [one.form, n_raw, n_parameters, *firsts]
        parameters.append(one.own)
        n_parameters += len(one.own)
        n_raw += 0 if one.raw is None else one.raw.shape[1]
    if not groups:
        return BlockNumbers([], [], NO_UNKNOWNS)
    functions = blocks_weigh, blocks_draw, blocks_log_density, blocks_renew
    scratch = max(one.scratch for one in blocks)
    return BlockNumbers(
        [*about_blocks, *about_groups], parameters, Unknowns(_named(groups), *functions, raw_of(blocks), scratch)
    )


def raw_of(blocks: Sequence[BlockArrays]) -> np.ndarray:
    """Return the raw points of all blocks that have such, side by side."""
    return np.hstack([np.zeros((len(blocks[0].plain), 0)), *[one.raw for one in blocks if one.raw is not None]])


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
            OnGrid(names[0], group.values, group.log_prior, group.of_data, group.law)
            if isinstance(group, OnGrid)
            else Drawn(names, group.initial, group.law)
        )
    return named
