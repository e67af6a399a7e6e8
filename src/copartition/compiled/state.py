"""What kernels work on, and the signatures that targets and couplings are written to.

Everything is a named tuple of C-contiguous arrays. A kernel gets its tuples by reference: ``model[0]`` is the
`Model`, ``chain[0]`` the `Chain`, ``pair[0]`` the `Pair`.

Clusters are rows. The clusters of a chain are numbered 0, 1, ... in the order in which they came into being; when one
is emptied it disappears and the later ones move down by one. Row ``n_clusters`` is always there and empty (size 0,
sums 0): it is the new cluster that a point may open, so that most targets need no special case for it.

Some targets have a fixed *palette* of labels instead (graph colouring: the colours). Their clusters keep their number,
may be empty, and are neither born nor die.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

float1 = types.Array(types.float64, 1, "C")
float2 = types.Array(types.float64, 2, "C")
int1 = types.Array(types.int64, 1, "C")
int2 = types.Array(types.int64, 2, "C")
uint1 = types.Array(types.uint64, 1, "C")


class Model(NamedTuple):
    """What a target's kernel reads and nobody changes.

    Attributes
    ----------
    points : float64 array (n_points, n_statistics)
        One row a point. The sum of these rows over a cluster is all that the target may want to know of the cluster
        besides its size and its members: its sufficient statistic.
    table : float64 array, two-dimensional
        Anything looked up, for instance by cluster size; the target's own business.
    parameters : float64 array
        The target's own business.
    integers : int64 array
        Whatever is counted, for instance the neighbours in a graph; the target's own business.
    log_size : float64 array (n_points + 1)
        Log prior weight of joining a cluster of a given size.
    log_new : float64 array
        Log prior weight of opening a cluster where there are k already; the last value holds from there on.
    palette : int
        Number of labels where that is fixed, 0 where clusters come and go.
    """

    points: Any
    table: Any
    parameters: Any
    integers: Any
    log_size: Any
    log_new: Any
    palette: Any


class Chain(NamedTuple):
    """A partition as a chain carries it. `capacity` rows are more than there are clusters.

    Attributes
    ----------
    labels : int64 array (n_points)
        Row of the cluster that holds each point; -1 while the point is in none.
    sizes : int64 array (capacity)
        Number of points in each cluster.
    sums : float64 array (capacity, n_statistics)
        Sum of ``Model.points`` over each cluster.
    weights : float64 array (capacity)
        The conditional law of the point at hand, one number a choice, not normalised.
    slots : int64 array (capacity)
        Where each cluster stands in ``Pair.overlap``: a permutation, so that rows may move without moving overlaps.
    counts : int64 array (2)
        Number of clusters; sweeps since the sums were last rebuilt.
    """

    labels: Any
    sizes: Any
    sums: Any
    weights: Any
    slots: Any
    counts: Any


class Matching(NamedTuple):
    """Which cluster of one chain goes with which of another; -1 for those that go with none.

    Attributes
    ----------
    there : int64 array (capacity of the first chain)
        The row of the second chain that goes with each row of the first.
    back : int64 array (capacity of the second chain)
        The inverse.
    """

    there: Any
    back: Any


class Workspace(NamedTuple):
    """Arrays of the transport coupling. A node is a row, or the number of rows plus a column.

    Attributes
    ----------
    gain : int64 array (row capacity, column capacity)
        What a unit of mass earns in each cell of the problem that the simplex method solves.
    mass : int64 array (nodes)
        Supply of every row and demand of every column; used up by the first, greedy plan.
    parent, depth, child, next_sibling, previous_sibling, order : int64 arrays (nodes)
        The tree of basic cells. `order` is scratch for walking it.
    flow, dual : int64 arrays (nodes)
        Mass in the cell that joins a node to its parent; dual value.
    rows, columns : int64 arrays
        Which choices of the chains the rows and columns of the problem stand for.
    best, second, partner : int64 arrays (nodes)
        The two largest gains of every row and column, and the column (or row) of the largest.
    cell_row, cell_column, cell_gain : int64 arrays
        The cells whose gain is not 0; never more than there are points.
    left_x, left_y : float64 arrays
        Probability of each row and column that is still to be placed.
    """

    gain: Any
    mass: Any
    parent: Any
    depth: Any
    child: Any
    next_sibling: Any
    previous_sibling: Any
    order: Any
    flow: Any
    dual: Any
    best: Any
    second: Any
    partner: Any
    rows: Any
    columns: Any
    cell_row: Any
    cell_column: Any
    cell_gain: Any
    left_x: Any
    left_y: Any


class Pair(NamedTuple):
    """Two chains and what is known of how they lie to each other.

    Attributes
    ----------
    x, y : Chain
    overlap : int64 array (capacity of x, capacity of y)
        Number of points in common, by slot: cluster i of x and j of y share
        ``overlap[x.slots[i], y.slots[j]]`` points.
    distance : int64 array (1)
        Hamming distance of the partitions; exactly 0 when they are equal.
    gains : int64 array (n_points + 1)
        What the transport coupling earns for a point that joins clusters that share c others; ``gains[0] = 0``.
    work : Workspace
    mates : Matching
        Clusters of x and y that go with each other, for couplings that use it; new goes with new.
    due : int64 array (1)
        The point at which clusters are to be matched afresh.
    shadow_x, shadow_y : Chain
        What x would be on the path of y, and y on that of x: see `copartition.path`. Empty where no coupling of whole
        sweeps is used.
    names_x, names_y : Matching
        Clusters of x that have the same name as those of the shadow of y, which follows it; and of y with the shadow
        of x.
    phase : int64 array (1)
        How the sweep under way is coupled: point by point, or as a whole, and then whether the chains have parted.
    ratios : float64 array (2)
        How likely the path of x is for y, against x itself; the same for the path of y.
    """

    x: Any
    y: Any
    overlap: Any
    distance: Any
    gains: Any
    work: Any
    mates: Any
    due: Any
    shadow_x: Any
    shadow_y: Any
    names_x: Any
    names_y: Any
    phase: Any
    ratios: Any


class Moves(NamedTuple):
    """What chains do besides updating one point after another, and room for it.

    Attributes
    ----------
    nugget : float
        Probability of drawing the two clusters of a point independently of each other.
    matching : int
        Whether the coupling looks at ``Pair.mates``.
    reach : int
        Two chains that differ in at most so many points are coupled over the whole sweep; -1: never.
    split_merge : int
        Number of split-merge moves after each sweep.
    has_log_merge : int
        Whether the target gives the function `log_merge`.
    log_grown : float64 array (n_points + 1)
        Sum of ``Model.log_size`` over the sizes 1, 2, ... that a cluster of a given size had while it grew.
    order : int64 array (n_points)
        The order in which split-merge moves deal out points.
    members : int64 array (n_points)
        The points that a move deals out.
    moved : int64 array (n_points)
        Those that a split would put into the new cluster.
    dealt : int64 array (1)
        How many points have been dealt out by all moves so far: what moves cost.
    sides : Chain
        The two clusters of a proposed split as they grow; the labels of its points are all -1.
    """

    nugget: Any
    matching: Any
    reach: Any
    split_merge: Any
    has_log_merge: Any
    log_grown: Any
    order: Any
    members: Any
    moved: Any
    dealt: Any
    sides: Any


model_type = types.NamedTuple((float2, float2, float1, int1, float1, float1, types.int64), Model)
chain_type = types.NamedTuple((int1, int1, float2, float1, int1, int1), Chain)
matching_type = types.NamedUniTuple(int1, 2, Matching)
workspace_type = types.NamedTuple((int2, *[int1] * 17, float1, float1), Workspace)
pair_type = types.NamedTuple(
    (
        *[chain_type] * 2,
        int2,
        int1,
        int1,
        workspace_type,
        matching_type,
        int1,
        *[chain_type] * 2,
        *[matching_type] * 2,
        int1,
        float1,
    ),
    Pair,
)
moves_type = types.NamedTuple((types.float64, *[types.int64] * 4, float1, *[int1] * 4, chain_type), Moves)

model_pointer = types.CPointer(model_type)
chain_pointer = types.CPointer(chain_type)
pair_pointer = types.CPointer(pair_type)
moves_pointer = types.CPointer(moves_type)

# log_predictive(model, chain, n_choices, n): write the log weights of point n into chain[0].weights[:n_choices].
log_predictive_signature = types.void(model_pointer, chain_pointer, types.int64, types.int64)

# partner(pair, n_x, n_y, total_x, total_y, i, u) -> j: see `copartition.couplings`.
partner_signature = types.int64(
    pair_pointer, types.int64, types.int64, types.float64, types.float64, types.int64, types.float64
)

# log_merge(model, chain, a, b): log of the density of the points of clusters a and b as one cluster, against two.
log_merge_signature = types.float64(model_pointer, chain_pointer, types.int64, types.int64)

log_predictive_type = types.FunctionType(log_predictive_signature)
log_merge_type = types.FunctionType(log_merge_signature)
partner_type = types.FunctionType(partner_signature)

# step_chain(model, chain, moves, log_predictive, log_merge, random, progress) -> status: see `copartition.steps`.
step_chain_signature = types.int64(
    model_pointer, chain_pointer, moves_pointer, log_predictive_type, log_merge_type, uint1, int1
)
step_chain_type = types.FunctionType(step_chain_signature)

# step_pair(model, pair, moves, log_predictive, log_merge, partner, random, progress) -> status.
step_pair_signature = types.int64(
    model_pointer, pair_pointer, moves_pointer, log_predictive_type, log_merge_type, partner_type, uint1, int1
)
step_pair_type = types.FunctionType(step_pair_signature)

# evaluate(model, chain, log_predictive, parameters, out): see `copartition.functionals`.
functional_signature = types.void(model_pointer, chain_pointer, log_predictive_type, float1, float1)
functional_type = types.FunctionType(functional_signature)


def empty_chain(n_points: int, n_statistics: int, capacity: int) -> Chain:
    """Return a chain whose points are all in no cluster."""
    return Chain(
        labels=np.full(n_points, -1, dtype=np.int64),
        sizes=np.zeros(capacity, dtype=np.int64),
        sums=np.zeros((capacity, n_statistics)),
        weights=np.zeros(capacity),
        slots=np.arange(capacity, dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
    )


def grown(chain: Chain) -> Chain:
    """Return the same chain with room for twice as many clusters."""
    return _with_capacity(chain, 2 * len(chain.sizes))


def fitted(chain: Chain) -> Chain:
    """Return the same chain with no more room than it needs now, before it becomes part of a pair.

    A chain that started from singletons would take its many rows into the overlaps of the pair.
    """
    capacity = max(16, 2 * int(chain.counts[0]))
    return chain if capacity >= len(chain.sizes) else _with_capacity(chain, capacity)


def _with_capacity(chain: Chain, capacity: int) -> Chain:
    other = empty_chain(len(chain.labels), chain.sums.shape[1], capacity)
    rows = min(capacity, len(chain.sizes))
    other.labels[:] = chain.labels
    other.sizes[:rows] = chain.sizes[:rows]
    other.sums[:rows] = chain.sums[:rows]
    if capacity >= len(chain.sizes):  # a smaller one is not part of a pair yet: any slots will do
        other.slots[:rows] = chain.slots
    other.counts[:] = chain.counts
    return other


def empty_workspace(capacity_x: int, capacity_y: int, n_points: int = 0) -> Workspace:
    """Return room for transport problems of up to this many rows and columns."""
    nodes = capacity_x + capacity_y
    cells = min(n_points, capacity_x * capacity_y)
    lengths = (*[nodes] * 12, capacity_x, capacity_y, cells, cells, cells)
    gain = np.zeros((capacity_x, capacity_y), dtype=np.int64)
    vectors = [np.zeros(length, dtype=np.int64) for length in lengths]
    return Workspace._make([gain, *vectors, np.zeros(capacity_x), np.zeros(capacity_y)])


def empty_matching(rows: int, columns: int) -> Matching:
    """Return a matching of no clusters."""
    return Matching(np.full(rows, -1, dtype=np.int64), np.full(columns, -1, dtype=np.int64))


def pair_of(x: Chain, y: Chain, gains: np.ndarray, whole_sweeps: bool = False) -> Pair:
    """Return the pair of two chains, its overlaps and its distance still to be counted.

    Parameters
    ----------
    x, y : Chain
    gains : int64 array
    whole_sweeps : bool
        Make room for a coupling of whole sweeps.
    """
    shape = (len(x.sizes), len(y.sizes))
    n_points, n_statistics = (len(x.labels), x.sums.shape[1]) if whole_sweeps else (0, 0)
    shadows = [empty_chain(n_points, n_statistics, rows if whole_sweeps else 0) for rows in shape]
    return Pair(
        x=x,
        y=y,
        overlap=np.zeros(shape, dtype=np.int64),
        distance=np.zeros(1, dtype=np.int64),
        gains=gains,
        work=empty_workspace(*shape, len(x.labels)),
        mates=empty_matching(*shape),
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
    # One row is kept free, see `copartition.compiled.clusters.has_room`. A shadow has as many rows as its chain.
    chains = []
    for chain, shadow in ((pair.x, pair.shadow_x), (pair.y, pair.shadow_y)):
        needed = max(chain.counts[0], shadow.counts[0] if whole_sweeps else 0) + 1
        capacity = 2 * len(chain.sizes) if needed >= len(chain.sizes) else len(chain.sizes)
        chains.append([_with_capacity(c, capacity) for c in ((chain, shadow) if whole_sweeps else (chain,))])
    (x, *shadow_x), (y, *shadow_y) = chains
    larger = pair_of(x, y, pair.gains, whole_sweeps)
    if whole_sweeps:
        larger = larger._replace(shadow_x=shadow_x[0], shadow_y=shadow_y[0])
    n_x, n_y = pair.overlap.shape
    larger.overlap[:n_x, :n_y] = pair.overlap
    for name in ("distance", "due", "phase", "ratios"):
        getattr(larger, name)[:] = getattr(pair, name)
    for name in ("mates", "names_x", "names_y"):
        for new, old in zip(getattr(larger, name), getattr(pair, name), strict=True):
            new[: len(old)] = old
    return larger


def moves_of(
    model: Model,
    *,
    nugget: float = 0.0,
    matching: bool = False,
    reach: int = -1,
    split_merge: int = 0,
    has_log_merge: bool = False,
) -> Moves:
    """Return what chains do, and room for it."""
    sizes = len(model.log_size) if split_merge > 0 else 1
    log_grown = np.zeros(sizes)
    log_grown[2:] = np.cumsum(model.log_size[1 : max(1, sizes - 1)])
    points = [np.zeros(sizes - 1, dtype=np.int64) for _ in range(3)]
    return Moves(
        nugget=nugget,
        matching=int(matching),
        reach=reach,
        split_merge=split_merge,
        has_log_merge=int(has_log_merge),
        log_grown=log_grown,
        order=points[0],
        members=points[1],
        moved=points[2],
        dealt=np.zeros(1, dtype=np.int64),
        sides=empty_chain(sizes - 1, model.points.shape[1], 4),
    )
