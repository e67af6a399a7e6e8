"""How the tuples of `copartition.core.state` are made, and how they grow when clusters need more room."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from copartition.core.state import (
    Chain,
    Deals,
    JointUpdates,
    Matching,
    Model,
    Overlaps,
    Pair,
    SplitMerge,
    Workspace,
)


def aligned(shape: tuple[int, int]) -> np.ndarray:
    """Return a table of zeros that starts at a multiple of 64 bytes.

    Vector registers of 64 bytes are then loaded from one line of the cache, not from two, if rows are of a multiple of
    eight numbers.
    """
    room = np.zeros(shape[0] * shape[1] + 8)
    first = -room.ctypes.data % 64 // 8
    return room[first : first + shape[0] * shape[1]].reshape(shape)


SIDE = 2  # rows of a cluster that grows, and of the new one beside it
MOST_COUNTED = 20_000  # clusters between which something is counted: a table of 1.6 GB


class Widths(NamedTuple):
    """How much room a chain has for each cluster: see `copartition.core.state.Model`."""

    summed: int
    kept: int
    scratch: int
    between: int


def widths_of(one: Model | Chain) -> Widths:
    """Return the widths that a model asks for, or those of a chain."""
    if isinstance(one, Model):
        return Widths(one.n_summed, one.n_kept, one.n_scratch, one.counts_between)
    return Widths(one.sums.shape[1], one.kept.shape[1], len(one.scratch), int(one.between.size > 0))


def empty_chain(n_points: int, widths: Widths, capacity: int) -> Chain:
    """Return a chain whose points are all in no cluster, with room for one more cluster at its side."""
    chain = _rows(n_points, widths, capacity)
    side = _rows(0, widths, SIDE)
    return chain._replace(side=side._replace(labels=chain.labels))


def _rows(n_points: int, widths: Widths, capacity: int) -> Chain:
    """Return a chain with nothing at its side."""
    counted = capacity if widths.between else 0
    if counted > MOST_COUNTED:
        raise ValueError(
            f"A chain that counts something between every two clusters must have fewer than {MOST_COUNTED:,} of them, "
            f"got room for {counted:,}; start from fewer clusters, such as 'one_cluster'."
        )
    return Chain(
        labels=np.full(n_points, -1, dtype=np.int64),
        sizes=np.zeros(capacity, dtype=np.int64),
        sums=aligned((capacity, widths.summed)),
        weights=np.zeros(capacity),
        total=np.zeros(1),
        slots=np.arange(capacity, dtype=np.int64),
        rows=np.arange(capacity, dtype=np.int64),
        n_clusters=np.zeros(1, dtype=np.int64),
        age=np.zeros(1, dtype=np.int64),
        kept=aligned((capacity, widths.kept)),
        holder=np.full(1, -1, dtype=np.int64),
        scratch=aligned((1, widths.scratch))[0],
        between=np.zeros((counted, counted), dtype=np.int32),
        tally=np.zeros((2, counted), dtype=np.int64),
        kinds=np.zeros(capacity, dtype=np.int64),
    )


def copied(chain: Chain) -> Chain:
    """Return a copy of a chain."""
    return _with_capacity(chain, len(chain.sizes))


def grown(chain: Chain) -> Chain:
    """Return the same chain with room for twice as many clusters."""
    return _with_capacity(chain, 2 * len(chain.sizes))


def _with_capacity(chain: Chain, capacity: int) -> Chain:
    other = empty_chain(len(chain.labels), widths_of(chain), capacity)
    rows = len(chain.sizes)
    other.labels[:] = chain.labels
    for name in ("sizes", "sums", "slots", "rows", "kept", "kinds"):
        getattr(other, name)[:rows] = getattr(chain, name)
    counted = len(chain.between)
    other.between[:counted, :counted] = chain.between
    other.n_clusters[:] = chain.n_clusters
    other.age[:] = chain.age
    other.holder[:] = chain.holder
    return other


def empty_overlaps(capacity_x: int, capacity_y: int, n_points: int) -> Overlaps:
    """Return lists of cells for chains of so many rows, none of them counted yet."""
    lengths = (*[n_points] * 8, capacity_x, capacity_y, 1, 1)
    return Overlaps._make([np.zeros(length, dtype=np.int64) for length in lengths])


def empty_workspace(capacity_x: int, capacity_y: int, cells: int) -> Workspace:
    """Return room for transport problems of up to this many rows and columns, and cells whose gain is not 0."""
    nodes = capacity_x + capacity_y
    lengths = (*[nodes] * 12, capacity_x, capacity_y, cells, cells, cells, nodes + 1)
    vectors = [np.zeros(length, dtype=np.int64) for length in lengths]
    return Workspace._make([*vectors, np.zeros(capacity_x), np.zeros(capacity_y)])


def empty_matching(rows: int, columns: int) -> Matching:
    """Return a matching of no clusters."""
    return Matching(np.full(rows, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64))


def pair_of(x: Chain, y: Chain, models: tuple[Model, Model], gains: np.ndarray, whole_sweeps: bool = False) -> Pair:
    """Return the pair of two chains, its overlaps and its distance still to be counted.

    Parameters
    ----------
    x, y : Chain
    models : Model
        Of each of them.
    gains : int64 array
    whole_sweeps : bool
        Make room for a coupling of whole sweeps.
    """
    shape = (len(x.sizes), len(y.sizes))
    n_points = len(x.labels)
    shadows = [
        empty_chain(n_points, widths_of(x), rows) if whole_sweeps else empty_chain(0, widths_of(x), 0) for rows in shape
    ]
    return Pair(
        x=x,
        y=y,
        model_x=models[0],
        model_y=models[1],
        overlaps=empty_overlaps(*shape, n_points),
        distance=np.zeros(1, dtype=np.int64),
        gains=gains,
        work=empty_workspace(*shape, n_points),
        matched=empty_matching(*shape),
        due=np.zeros(1, dtype=np.int64),
        shadow_x=shadows[0],
        shadow_y=shadows[1],
        names_x=empty_matching(*shape),
        names_y=empty_matching(*shape[::-1]),
        phase=np.zeros(1, dtype=np.int64),
        ratios=np.ones(2),
    )


def grown_pair(pair: Pair) -> Pair:
    """Return the same pair with room for more clusters in each chain that is full."""
    whole_sweeps = len(pair.shadow_x.labels) > 0
    # One row is kept free, see `copartition.core.clusters.has_room`. A shadow has as many rows as its chain.
    both = ((pair.x, pair.shadow_x), (pair.y, pair.shadow_y))
    needed = [max(chain.n_clusters[0], shadow.n_clusters[0] if whole_sweeps else 0) + 1 for chain, shadow in both]
    is_full = [count >= len(chain.sizes) for count, (chain, _) in zip(needed, both, strict=True)]
    chains = []
    for (chain, shadow), full in zip(both, is_full, strict=True):
        # If neither is full it is a joint update that needs more than one row.
        capacity = 2 * len(chain.sizes) if full or not any(is_full) else len(chain.sizes)
        chains.append([_with_capacity(c, capacity) for c in ((chain, shadow) if whole_sweeps else (chain,))])
    (x, *shadow_x), (y, *shadow_y) = chains
    larger = pair_of(x, y, (pair.model_x, pair.model_y), pair.gains, whole_sweeps)
    if whole_sweeps:
        larger = larger._replace(shadow_x=shadow_x[0], shadow_y=shadow_y[0])
    for name in ("distance", "due", "phase", "ratios"):
        getattr(larger, name)[:] = getattr(pair, name)
    larger.overlaps.first_in_row[:] = larger.overlaps.first_in_column[:] = -1
    for name in ("overlaps", "matched", "names_x", "names_y"):
        for new, old in zip(getattr(larger, name), getattr(pair, name), strict=True):
            new[: len(old)] = old
    return larger


class UpdatePlan(NamedTuple):
    """The joint updates of a step: see `copartition.core.state.JointUpdates`."""

    number: int
    tries: int
    least: int
    most: int
    anchors: np.ndarray
    near: np.ndarray


NO_UPDATES = UpdatePlan(0, 0, 0, 0, np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int32))
MANY_COLUMNS = 20  # from which split-merge moves deal points out in the order of their certainty
NO_PARTNERS = NO_GUIDES = np.zeros((0, 0), dtype=np.int32)


def room_for_moves(
    model: Model, move: Any, number: int, partners: np.ndarray = NO_PARTNERS, guides: np.ndarray = NO_GUIDES
) -> SplitMerge:
    """Return room for so many split-merge moves in a step."""
    n_points = len(model.log_size) - 1
    order, members, moved = (np.zeros(n_points, dtype=np.int64) for _ in range(3))
    return SplitMerge(
        move=move,
        number=number,
        by_certainty=int(model.n_summed >= MANY_COLUMNS),
        partners=partners,
        order=order,
        members=members,
        moved=moved,
        certainty=np.zeros(n_points),
        guides=guides,
        together=np.zeros((2, int(guides.max(initial=-1)) + 1), dtype=np.int64),
        dealt=np.zeros(1, dtype=np.int64),
        sides=empty_chain(n_points, widths_of(model), 4),
    )


def room_for_updates(model: Model, plan: UpdatePlan) -> JointUpdates:
    """Return room for the joint updates of a step."""
    n_points, most, widths = len(model.log_size) - 1, plan.most, widths_of(model)
    return JointUpdates(
        *plan,
        points=np.zeros(most, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
        place=np.full(n_points, -1, dtype=np.int64),
        sides=empty_chain(n_points, widths, 2),
        saved=empty_chain(0, widths, most),
        of_x=_empty_deals(plan),
        of_y=_empty_deals(plan),
    )


def _empty_deals(plan: UpdatePlan) -> Deals:
    ways, most = plan.tries + 1, plan.most
    return Deals(
        rows=np.zeros((ways, most), dtype=np.int64),
        log_weights=np.zeros(ways),
        weights=np.zeros(ways),
        slots=np.zeros(most, dtype=np.int64),
        best=np.zeros(most),
        gains=np.zeros(most),
        saved=np.zeros(most, dtype=np.int64),
        opened=np.zeros(most + 1, dtype=np.int64),
    )
