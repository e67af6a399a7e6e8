"""What kernels work on, and the signatures that targets, couplings and functionals are written to.

Everything is a state (`copartition.core.types.State`): numbers, C-contiguous arrays, functions and other states, which
kernels take by reference. A number that changes is an array of length one.

Clusters are rows. The clusters of a chain are numbered 0, 1, ... in the order in which they came into being; when one
is emptied it disappears and the later ones move down by one. Row ``n_clusters`` is always there and empty (size 0,
sums 0): it is the new cluster that a point may open, so that most targets need no special case for it.

Some targets have a fixed *palette* of labels instead (graph colouring: the colours). Their clusters keep their number,
may be empty, and are neither born nor die.
"""

from __future__ import annotations

from typing import Annotated, Any

from copartition.core.types import (
    Float1,
    Float2,
    Function,
    Int1,
    Int2,
    Narrow2,
    State,
    Table,
    float1,
    float64,
    int1,
    int64,
    uint1,
    uint64,
    void,
)

# --- one chain -------------------------------------------------------------------------------------------------------


class Unknown(State):
    """Numbers of a target that are not known and are drawn along with the partition.

    See `copartition.core.hyperparameters`.

    Numbers are drawn group by group. Those of a group on a grid are one number each, of which all values are listed.

    Attributes
    ----------
    groups : int64 array (groups, 4)
        The first number of each group, the one after its last, its grid (-1 if it is on none), and whether its weights
        are densities of the data, which are tempered.
    initial : float64 array (numbers)
        Where numbers are before the first draw.
    grids : float64 array (grids, values)
        The values of each grid.
    log_priors : float64 array (grids, values)
        Logs of their prior probabilities, which sum to 1.
    weights : float64 array (values)
        The conditional distribution of the number at hand, one weight a value, not normalised.
    raw : float64 array, two-dimensional
        Points as they are before numbers say how they are to be shifted and scaled; the target's own business.
    prior_tables : float64 array (values, columns)
        If the last group is a number of the prior of the partition: for each of its values what ``Model.log_size``,
        ``log_grown``, ``log_new`` and the running sums of the latter are, one after another. Else of no rows.
    """

    groups: Int2
    initial: Float1
    grids: Float2
    log_priors: Float2
    weights: Float1
    raw: Float2
    prior_tables: Float2


class Model(State):
    """What a target's functions read.

    Every chain has one of its own. Where no hyperparameters are unknown, only the power is not shared.

    Attributes
    ----------
    points : float64 array (n_points, n_columns)
        One row a point. The first `n_summed` columns are summed over clusters: most targets need to know no more of a
        cluster than these sums and its size.
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
    n_summed : int
        How many columns of `points` are summed.
    n_kept : int
        How many numbers of its own the target keeps for a cluster, see `Hooks`; 0 if it keeps none.
    n_scratch : int
        How many numbers of scratch it wants.
    mixing : float64 array (any number, 3)
        Where the weights of the prior depend on the number of points: simpler priors that it is a mixture of, by which
        a start is drawn. Weight, a and b of each; under it a cluster is opened with weight a + b k where there are k.
    log_grown : float64 array (n_points + 1)
        Sum of `log_size` over the sizes 1, 2, ... that a cluster of a given size had while it grew.
    power : float64 array (1)
        To which the density of the data is raised: 1, but where chains are tempered (`copartition.core.tempering`), and
        in a start that is annealed. Every chain has its own.
    constant : float64 array (2)
        What the target's functions leave out of the log density of a point all cells of which are there, the same for
        all clusters; and what they leave out of the log density of all data.
    hyperparameters : float64 array
        The present values of hyperparameters that are unknown.
    unknown : Unknown
        How these are drawn.
    counts_between : int
        Whether chains count something between every two clusters, see ``Chain.between``.
    kinds : int64 array (n_points)
        The kind of each point: points of different kinds are never in one cluster. Empty where nothing is restricted.
    pinned : int64 array (n_points)
        Whether the cluster of each point is known: such a point stays where it is. Empty where nothing is restricted.
    """

    points: Float2
    table: Float2
    parameters: Float1
    integers: Int1
    log_size: Float1
    log_new: Float1
    palette: int
    n_summed: int
    n_kept: int
    n_scratch: int
    mixing: Float2
    log_grown: Float1
    power: Float1
    constant: Float1
    hyperparameters: Float1
    unknown: Unknown
    counts_between: int
    kinds: Int1
    pinned: Int1


class Chain(State):
    """A partition as a chain carries it. `capacity` rows are more than there are clusters.

    Attributes
    ----------
    labels : int64 array (n_points)
        Row of the cluster that holds each point; -1 while the point is in none.
    sizes : int64 array (capacity)
        Number of points in each cluster.
    sums : float64 array (capacity, n_summed)
        Sum of the first columns of ``Model.points`` over each cluster.
    weights : float64 array (capacity)
        The conditional distribution of the point at hand, one number a choice, not normalised.
    total : float64 array (1)
        The sum of these weights.
    slots : int64 array (capacity)
        Where each cluster stands in `kept`, in `between` and in the lists of ``Pair.overlaps``: a permutation, so that
        rows may move down without moving what is large.
    rows : int64 array (capacity)
        Which row each slot belongs to: the inverse of `slots`.
    n_clusters : int64 array (1)
        Number of clusters; of labels, where there is a palette.
    age : int64 array (1)
        Sweeps since the sums were last rebuilt.
    kept : float64 array (capacity, n_kept)
        What the target keeps for each cluster, by slot.
    holder : int64 array (1)
        The row whose `kept` still has the point at hand in it, though sizes, sums and labels have not; -1 if none has.
    scratch : float64 array (n_scratch)
    between : int32 array (capacity, capacity)
        What the target counts between every two clusters, by slots, such as edges of a network; 0 for slots that are
        not in use. Of no rows where nothing is counted.
    tally : int64 array (2, capacity)
        Room for such counts of the point at hand. The first row is 0 but while a function of the target works on it.
    kinds : int64 array (capacity)
        The kind of the points of each cluster, where there are kinds.
    side : Chain, optional
        Room for one cluster that grows point by point, for its density; it has none itself.
    """

    labels: Int1
    sizes: Int1
    sums: Float2
    weights: Float1
    total: Float1
    slots: Int1
    rows: Int1
    n_clusters: Int1
    age: Int1
    kept: Float2
    holder: Int1
    scratch: Float1
    between: Narrow2
    tally: Int2
    kinds: Int1
    side: Chain | None = None


# log_predictive(model, chain, n_choices, n): write the log weights of point n into chain.weights[:n_choices].
log_predictive_signature = void(Model, Chain, int64, int64)

# log_merge(model, chain, a, b): log of the density of the points of clusters a and b as one cluster, against two.
log_merge_signature = float64(Model, Chain, int64, int64)

# log_odds(model, chain, a, b, n): log of the weight of point n in cluster a over that in cluster b, prior aside.
log_odds_signature = float64(Model, Chain, int64, int64, int64)

# begin(model, chain, k): cluster k, which is empty, is about to get its first point.
begin_signature = void(Model, Chain, int64)

# enter(model, chain, k, n): point n has joined cluster k; sizes, sums and labels know it already.
enter_signature = void(Model, Chain, int64, int64)

# leave(model, chain, k, n) -> whether what is kept for k has lost digits and is to be built anew: n has left.
leave_signature = int64(Model, Chain, int64, int64)

# weigh_hyperparameter(model, chain, group): write the log density of the data for every value of the group's grid into
# model.unknown.weights, given the partition and all other numbers.
weigh_hyperparameter_signature = void(Model, Chain, int64)

# draw_hyperparameters(model, chain, group, random): draw the numbers of a group given the partition and all other
# numbers.
draw_hyperparameters_signature = void(Model, Chain, int64, uint1)

# log_density_of_hyperparameters(model, chain, group, values) -> the log density of that draw.
log_density_of_hyperparameters_signature = float64(Model, Chain, int64, float1)

# renew(model, chain): numbers have been drawn; bring what depends on them up to date.
renew_signature = void(Model, Chain)


class Hooks(State):
    """The compiled functions of a target, by which all others know it.

    Attributes
    ----------
    log_predictive : function
        Log weights of a point in every cluster; see `copartition.kernels.log_predictive`.
    log_merge : function
        The log density of two clusters as one; see `copartition.kernels.log_merge`.
    has_log_merge : int
        Whether the target gives the latter.
    log_odds : function
        For targets whose clusters have no densities of their own; see `copartition.kernels.log_odds`.
    in_place : int
        Whether the target gives the latter: split-merge moves are then made in the chain itself.
    begin, enter, leave : functions
        By which the target keeps numbers of its own for every cluster in ``Chain.kept``: what to do when a cluster gets
        its first point, when a point joins, when one leaves; see `copartition.kernels.Keeping`.
    keeps : int
        Whether the target gives these.
    weigh_hyperparameter, draw_hyperparameters, log_density_of_hyperparameters, renew : functions
        How hyperparameters that are unknown are drawn; see `copartition.kernels.Unknowns`.
    """

    log_predictive: Annotated[Any, Function(log_predictive_signature)]
    log_merge: Annotated[Any, Function(log_merge_signature)]
    has_log_merge: int
    log_odds: Annotated[Any, Function(log_odds_signature)]
    in_place: int
    begin: Annotated[Any, Function(begin_signature)]
    enter: Annotated[Any, Function(enter_signature)]
    leave: Annotated[Any, Function(leave_signature)]
    keeps: int
    weigh_hyperparameter: Annotated[Any, Function(weigh_hyperparameter_signature)]
    draw_hyperparameters: Annotated[Any, Function(draw_hyperparameters_signature)]
    log_density_of_hyperparameters: Annotated[Any, Function(log_density_of_hyperparameters_signature)]
    renew: Annotated[Any, Function(renew_signature)]


# --- moves -----------------------------------------------------------------------------------------------------------


class Room(State):
    """What a move works with: its settings and room for it. Each kind of move has a room of its own kind."""


# move(model, hooks, chain, room, i, j, u, key) -> what became of it: the split-merge move of points i and j, a uniform
# number u, and bits from which all points get theirs.
move_signature = int64(Model, Hooks, Chain, Room, int64, int64, float64, uint64)


class SplitMerge(Room):
    """Split-merge moves.

    Attributes
    ----------
    move : function
        One of them: beside the chain, or in place.
    number : int
        How many in a step.
    by_certainty : int
        Whether points are dealt out in the order of their certainty, and not in a random one.
    partners : int32 array (n_points, any number)
        The nearest points of each point, with which it mostly makes a move; of no columns: any other point will do.
    order : int64 array (n_points)
        The order in which points are dealt out.
    members : int64 array (n_points)
        The points that a move deals out.
    moved : int64 array (n_points)
        Those that a split would put into the new cluster.
    certainty : float64 array (n_points)
        By how much each member prefers one of the first two points to the other.
    guides : int32 array (n_points, any number)
        Clusters of each point in a few clusterings that are fixed before any chain starts, one after another: a number
        of its own for each cluster of each of them. Of no columns: points are dealt out without guides.
    together : int64 array (2, clusters of all guides)
        How many points of either side are in each of these clusters.
    dealt : int64 array (1)
        How many points have been dealt out by all moves so far: what moves cost.
    sides : Chain
        The two clusters of a proposed split as they grow; the labels of its points are all -1.
    """

    move: Annotated[Any, Function(move_signature)]
    number: int
    by_certainty: int
    partners: Narrow2
    order: Int1
    members: Int1
    moved: Int1
    certainty: Float1
    guides: Narrow2
    together: Int2
    dealt: Int1
    sides: Chain


class Deals(State):
    """Ways of dealing the points of a joint update out to the clusters of one chain.

    Attributes
    ----------
    rows : int64 array (tries + 1, most points)
        The cluster that each point goes to; the first way is the one in which they are.
    log_weights : float64 array (tries + 1)
        Log of the target's density over that with which the way is proposed.
    weights : float64 array (tries + 1)
        The same as numbers, the largest of which is 1.
    slots : int64 array (most points)
        Where the cluster of each point stood before the points were taken out.
    best : float64 array (most points)
        The log weight of each point in the best cluster of all other points.
    gains : float64 array (most points)
        How much the log density can gain by a new cluster that begins with each point.
    saved : int64 array (most points)
        Rows that a way changes, which are kept in ``JointUpdates.saved`` meanwhile.
    opened : int64 array (most points + 1)
        Which point, by its place in the order, opened each cluster that a way opened.
    """

    rows: Int2
    log_weights: Float1
    weights: Float1
    slots: Int1
    best: Float1
    gains: Float1
    saved: Int1
    opened: Int1


class JointUpdates(Room):
    """Updates of several points together.

    Attributes
    ----------
    number : int
        How many in a step.
    tries : int
        Ways of dealing that are proposed in each.
    least, most : int
        How many points are updated together.
    anchors : int64 array
        The points that may be among them.
    near : int32 array (n_points, most points)
        For each of them the others, by nearness; -1 where there are no more.
    points : int64 array (most points)
        The points of the update at hand, in the order in which they are dealt out.
    size : int64 array (1)
        How many there are.
    place : int64 array (n_points)
        Where each of them stands in that order; -1 for all others.
    sides : Chain
        A cluster that is tried, as it grows; its labels are all -1.
    saved : Chain
        Clusters before a way of dealing changes them.
    of_x, of_y : Deals
        Ways of dealing of the two chains of a pair; a chain alone has those of x.
    """

    number: int
    tries: int
    least: int
    most: int
    anchors: Int1
    near: Narrow2
    points: Int1
    size: Int1
    place: Int1
    sides: Chain
    saved: Chain
    of_x: Deals
    of_y: Deals


# --- two chains ------------------------------------------------------------------------------------------------------


class Matching(State):
    """Which cluster of one chain goes with which of another; -1 for those that go with none.

    Attributes
    ----------
    there : int64 array (capacity of the first chain)
        The row of the second chain that goes with each row of the first.
    back : int64 array (capacity of the second chain)
        The inverse.
    """

    there: Int1
    back: Int1


class Overlaps(State):
    """How many points clusters of two chains share: lists of the cells that are not empty, kept from move to move.

    A cell is a cluster of x and one of y that have points in common, so there are never more cells than points, however
    many clusters there are. Each is linked into the list of its row, which is a slot of x, and into that of its column,
    a slot of y. Lists are in no order.

    Attributes
    ----------
    cell_of : int64 array (n_points)
        The cell that each point is in. The cell of a point that is taken out stays where it is until the point is put
        in again, even if it is empty by then: most points go back.
    row, column, shared : int64 arrays (n_points)
        The slots of each cell, and the number of points in it.
    next_in_row, before_in_row, next_in_column, before_in_column : int64 arrays (n_points)
        The neighbours of each cell in its two lists; -1 at their ends.
    first_in_row : int64 array (capacity of x)
        The cell with which the list of each slot of x begins; -1 if that is empty.
    first_in_column : int64 array (capacity of y)
    free : int64 array (1)
        The first cell that was given back, from which others follow as `next_in_row`; -1 if there is none.
    used : int64 array (1)
        Cells from this one on have never been used.
    """

    cell_of: Int1
    row: Int1
    column: Int1
    shared: Int1
    next_in_row: Int1
    before_in_row: Int1
    next_in_column: Int1
    before_in_column: Int1
    first_in_row: Int1
    first_in_column: Int1
    free: Int1
    used: Int1


class Workspace(State):
    """Arrays of the transport coupling. A node is a row, or the number of rows plus a column.

    Attributes
    ----------
    mass : int64 array (nodes)
        Supply of every row and demand of every column; used up by the first, greedy plan.
    parent, depth, child, next_sibling, previous_sibling, order : int64 arrays (nodes)
        The tree of basic cells. `order` is scratch for walking it.
    flow, dual : int64 arrays (nodes)
        Mass in the cell that joins a node to its parent; dual value.
    rows, columns : int64 arrays
        Which choices of the chains the rows and columns of the problem stand for.
    best, second, partner : int64 arrays (nodes)
        The two largest gains of every row and column, each one number with its column (or row), see
        `copartition.couplings.simplex`; the column that the first plan fills next in a row, or that goes with it.
    cell_row, cell_column, cell_gain : int64 arrays
        The cells whose gain is not 0, row by row; never more than there are points.
    begin : int64 array (nodes + 1)
        Where the cells of each row begin, for the simplex method.
    left_x, left_y : float64 arrays
        Probability of each row and column that is still to be placed.
    """

    mass: Int1
    parent: Int1
    depth: Int1
    child: Int1
    next_sibling: Int1
    previous_sibling: Int1
    order: Int1
    flow: Int1
    dual: Int1
    best: Int1
    second: Int1
    partner: Int1
    rows: Int1
    columns: Int1
    cell_row: Int1
    cell_column: Int1
    cell_gain: Int1
    begin: Int1
    left_x: Float1
    left_y: Float1


class Pair(State):
    """Two chains and what is known of how they lie to each other.

    Attributes
    ----------
    x, y : Chain
    model_x, model_y : Model
        What the target's functions read for each of them: the same, but where hyperparameters are unknown.
    overlaps : Overlaps
        Numbers of points in common.
    distance : int64 array (1)
        Hamming distance of the partitions; exactly 0 when they are equal.
    gains : int64 array (n_points + 1)
        What the transport coupling earns for a point that joins clusters that share c others; ``gains[0] = 0``.
    work : Workspace
    matched : Matching
        Clusters of x and y that go with each other, for couplings that use it; new goes with new.
    due : int64 array (1)
        The point at which clusters are to be matched afresh.
    shadow_x, shadow_y : Chain
        What x would be on the path of y, and y on that of x: see `copartition.core.sweeps`. Empty where no
        coupling of whole sweeps is used.
    names_x, names_y : Matching
        Clusters of x that have the same name as those of the shadow of y, which follows it; and of y with the shadow
        of x.
    phase : int64 array (1)
        How the sweep under way is coupled: point by point, or as a whole, and then whether the chains have parted.
    ratios : float64 array (2)
        How likely the path of x is for y, against x itself; the same for the path of y.
    """

    x: Chain
    y: Chain
    model_x: Model
    model_y: Model
    overlaps: Overlaps
    distance: Int1
    gains: Int1
    work: Workspace
    matched: Matching
    due: Int1
    shadow_x: Chain
    shadow_y: Chain
    names_x: Matching
    names_y: Matching
    phase: Int1
    ratios: Float1


# partner(pair, n_x, n_y, total_x, total_y, i, u) -> j: see `copartition.couplings`.
partner_signature = int64(Pair, int64, int64, float64, float64, int64, float64)


class Rule(State):
    """How two chains are coupled.

    Attributes
    ----------
    partner : function
        What the second chain does, given what the first one did.
    nugget : float
        Probability of drawing the two clusters of a point independently of each other.
    uses_matching : int
        Whether the function looks at ``Pair.matched``.
    reach : int
        Two chains that differ in at most so many points are coupled over the whole sweep; -1: never.
    """

    partner: Annotated[Any, Function(partner_signature)]
    nugget: float
    uses_matching: int
    reach: int


# --- a step ----------------------------------------------------------------------------------------------------------

# What is kept of a run of steps, in an array `progress`: how many are finished, which move of the next one is made, and
# how far that is: points of a sweep, split-merge moves, joint updates. A step that stops for more room goes on from
# there when it is called again. So does one that has updated some ten thousand points, which takes less than a second
# whatever a point costs: a run can be interrupted there.
STEPS, MOVE, PLACE = 0, 1, 2
UPDATES_A_CALL = 1 << 16

# alone(model, hooks, chain, room, random, progress) -> status: go on with a move of one chain.
alone_signature = int64(Model, Hooks, Chain, Room, uint1, int1)

# together(distribution, pair, room, rule, random, progress) -> status: go on with a move of two chains.
together_signature = int64(Hooks, Pair, Room, Rule, uint1, int1)


def move_signatures(room: type[Room]) -> tuple[Any, Any]:
    """Return the signatures of the two functions of a move with a room of this kind."""
    return int64(Model, Hooks, Chain, room, uint1, int1), int64(Hooks, Pair, room, Rule, uint1, int1)


class Stepper(State):
    """What one chain does in a step: a list of moves.

    Attributes
    ----------
    moves : table of functions
        One a move.
    rooms : table of Room
        What each of them works with.
    count : int
        How many there are.
    rebuilt_after : int
        After so many moves sums are rebuilt, if it is time to: those after them look at sums and move no points.
    """

    moves: Annotated[Any, Table(Function(alone_signature))]
    rooms: Annotated[Any, Table(Room)]
    count: int
    rebuilt_after: int


class Coupled(State):
    """What two chains do in a step together: the same moves as a `Stepper`, with its rooms.

    Attributes
    ----------
    moves : table of functions
        One a move.
    rule : Rule
        How the two are coupled.
    """

    moves: Annotated[Any, Table(Function(together_signature))]
    rule: Rule


# --- functionals -----------------------------------------------------------------------------------------------------

FUNCTIONALS = 4  # in one run, at most

# evaluate(model, chain, hooks, parameters, out): see `copartition.functionals`.
functional_signature = void(Model, Chain, Hooks, float1, float1)


class Functionals(State):
    """Functions of a partition, evaluated one after another into one array.

    Attributes
    ----------
    functions : table of functions
    used : int
        How many are.
    parameters : float64 array
        The parameters of all functions, one after another.
    first_parameter, first_component : int64 arrays (FUNCTIONALS + 1)
        Where the parameters of each function begin, and where its components go.
    """

    functions: Annotated[Any, Table(Function(functional_signature))]
    used: int
    parameters: Float1
    first_parameter: Int1
    first_component: Int1
