"""The exact solution of a transport problem, by the simplex method on the tree of basic cells.

Rows have supplies, columns demands, and a unit of mass from row i to column j earns ``gain[i, j]``. Wanted is the plan
that earns the most. A basic plan uses ``rows + columns - 1`` cells that form a spanning tree of the rows and columns,
stored as a rooted tree (root: a column); the cell between a node and its parent is filed under the node. Each step
brings in a cell whose gain exceeds the sum of its dual values, and takes out the cell of the resulting cycle that runs
empty first.

**Why it always ends.** All masses are whole numbers: probabilities are scaled to multiples of a unit F, larger than
the number of rows (`load_masses`), then every row's supply is raised by 1 and the last column's demand by as much
as balances it (Orden's perturbation). Cut a spanning tree at any cell: the part without the last column
holds some rows R and columns C, and the mass in the cell is, up to sign, ``supplies of R - demands of C``, which is a
multiple of F plus ``|R|``. With ``1 <= |R| < F`` that is not 0; with R empty C is a single column, whose demand is not
0 either. So every basic cell of every plan carries mass, at least 1; every step moves at least 1 unit of mass for a
gain of at least 1 a unit; the total gain, a whole number that is bounded, rises with every step; no tree comes back.
There is no tolerance anywhere. What the perturbation changes is smaller than the rounding error of the probabilities.

Whole numbers make this exact, not approximately so: with double precision masses the basic cells of a degenerate
problem (graph colouring has uniform marginals) would hold 0 or 1e-17 by chance, and a step of length 0 may cycle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import inner, kernel, outline
from copartition.core.room import empty_workspace
from copartition.core.state import Workspace
from copartition.core.types import float1, float2, float64, int64
from copartition.validation import finite_array

# The total mass is 2^62 plus the perturbation: with 60 rows, F = 2^6, probabilities are multiples of 2^-56.
TOTAL_BITS = 62
LARGEST = np.iinfo(np.int64).max


@inner
def load_masses(work, m, n, supplies, demands):
    """Write m supplies and n demands, each divided by their sum, to ``work.mass`` as perturbed whole numbers.

    Every demand must be positive. Supplies that round to 0 keep the unit of the perturbation. Returns the unit F.
    """
    mass = work.mass
    bits = 1
    while (1 << bits) <= m:
        bits += 1
    scale = 1 << (TOTAL_BITS - bits)
    unit = 1 << bits
    load_side(mass, 0, m, supplies, scale, unit, 0)
    load_side(mass, m, n, demands, scale, unit, 1)
    for i in range(m):
        mass[i] += 1
    mass[m + n - 1] += m
    return unit


@inner
def load_side(mass, begin, count, values, scale, unit, least):
    """Write `values` to ``mass[begin:]`` in multiples of `unit`, none below `least` of them, `scale` in all."""
    total = 0.0
    largest = 0
    for i in range(count):
        total += values[i]
        if values[i] > values[largest]:
            largest = i
    rest = scale
    for i in range(count):
        share = max(least, int(values[i] / total * scale + 0.5))
        rest -= share
        mass[begin + i] = share * unit
    # Rounding leaves a few units over or short: the largest entry balances them.
    mass[begin + largest] += rest * unit


@inner
def solve(work, m, n, cells):
    """Find the best plan for the masses that `load_masses` wrote and the first `cells` cells of the workspace.

    Cells are listed row by row, columns in any order; their gains are positive, those of all others 0. So of the latter
    only the one in the column of the lowest dual value need be looked at: it exceeds its dual values the most, and
    where that column has a gain in the row, the cell that is listed is better still.

    Afterwards the cells of row i are those that join it to its parent and to its children; see `draw_column`.
    Returns the number of steps that the simplex method took after the first, greedy plan.
    """
    find_rows(work, m, cells)
    root = place_greedily(work, m, n)
    hang_tree(work, m, n, root)
    w = work
    begin, cell_column, cell_gain, dual = w.begin, w.cell_column, w.cell_gain, w.dual
    lowest = position_of_lowest(dual, m, n)
    steps = 0
    row = 0
    content = 0
    while content < m:
        best = -dual[m + lowest]
        for cell in range(begin[row], begin[row + 1]):
            best = max(best, cell_gain[cell] - dual[m + cell_column[cell]])
        if best > dual[row]:
            column = lowest if best == -dual[m + lowest] else n
            for cell in range(begin[row], begin[row + 1]):
                j = cell_column[cell]
                column = min(column, j if cell_gain[cell] - dual[m + j] == best else n)
            pivot(work, m, row, m + column, best - dual[row])
            lowest = position_of_lowest(dual, m, n)
            steps += 1
            content = 0
        else:
            content += 1
            row = row + 1 if row + 1 < m else 0
    return steps


@inner
def bits_for(m, n):
    """Return how many binary digits the numbers of rows and columns have.

    A gain and a row or column make one number, its key: ``(gain << bits) - place``. It is larger where the gain is, and
    of equal gains where the place is lower, so that the largest of many is found without a branch that nobody can
    predict. The place is ``-key & mask``, where the mask has so many ones, and the gain ``(key + mask) >> bits``.

    Gains have 44 digits at most (`copartition.couplings.transport`), which leaves 19 for places, or as many as fit
    beside theirs (`optimal_plan`).
    """
    bits = 1
    while (1 << bits) < max(m, n):
        bits += 1
    return bits


@inner
def find_rows(work, m, cells):
    """Write down where the cells of each row begin."""
    begin, cell_row = work.begin, work.cell_row
    cell = 0
    for row in range(m):
        begin[row] = cell
        while cell < cells and cell_row[cell] == row:
            cell += 1
    begin[m] = cells


@inner
def place_greedily(work, m, n):
    """Make a first plan: again and again fill the best cell whose row and column are open. Return the root.

    Each cell uses up exactly one of its row and its column, which no later cell touches: that node becomes a child of
    the other. So the nodes in the order in which they were used up, backwards, are a walk down the tree.

    For gains that are overlaps of partitions this is nearly always within a step or two of the optimum.
    """
    w = work
    mass, parent, flow, order, best, favourite = w.mass, w.parent, w.flow, w.order, w.best, w.partner
    bits = bits_for(m, n)
    mask = (1 << bits) - 1
    for i in range(m):
        find_favourite(work, m, i, bits)
    root = m
    first_open = m
    for used_up in range(m + n - 1):
        largest = best[0]
        for i in range(1, m):
            largest = max(largest, best[i])
        row, gain = -largest & mask, (largest + mask) >> bits
        while mass[first_open] == 0:
            first_open += 1
        root = m + favourite[row] if gain > 0 else first_open
        moved = min(mass[row], mass[root])
        mass[row] -= moved
        mass[root] -= moved
        if mass[row] == 0:
            child, above = row, root
            best[row] = -LARGEST
        else:
            child, above = root, row
            for i in range(m):
                if favourite[i] == root - m and mass[i] > 0:
                    find_favourite(work, m, i, bits)
        parent[child] = above
        flow[child] = moved
        w.dual[child] = gain
        order[used_up] = child
    return root


@outline
def find_favourite(work, m, i, bits):
    """Find the column of the largest gain in row i among those that are not used up; -1 if all their gains are 0.

    The key of the row, with that gain, is its best one.
    """
    w = work
    mask = (1 << bits) - 1
    largest = 0
    for cell in range(w.begin[i], w.begin[i + 1]):
        j = w.cell_column[cell]
        largest = max(largest, (w.cell_gain[cell] << bits) - j if w.mass[m + j] > 0 else 0)
    gain = (largest + mask) >> bits
    w.best[i] = (gain << bits) - i
    w.partner[i] = -largest & mask if gain > 0 else -1


@inner
def position_of_lowest(dual, m, n):
    """Return the first column of the lowest dual value."""
    lowest = dual[m]
    for j in range(1, n):
        lowest = min(lowest, dual[m + j])
    j = 0
    while dual[m + j] != lowest:
        j += 1
    return j


@inner
def hang_tree(work, m, n, root):
    """Compute depths, dual values and lists of children from the parents, walking ``work.order`` backwards.

    The gain of the cell that joins a node to its parent is in the place of its dual value.
    """
    w = work
    parent, depth, dual, order, child = w.parent, w.depth, w.dual, w.order, w.child
    for node in range(m + n):
        child[node] = -1
    parent[root] = -1
    depth[root] = 0
    dual[root] = 0
    for position in range(m + n - 2, -1, -1):
        node = order[position]
        above = parent[node]
        depth[node] = depth[above] + 1
        dual[node] -= dual[above]
        attach(work, node, above)


@inner
def attach(work, node, above):
    """Make `node` the first child of `above`."""
    w = work
    first = w.child[above]
    w.parent[node] = above
    w.next_sibling[node] = first
    w.previous_sibling[node] = -1
    if first >= 0:
        w.previous_sibling[first] = node
    w.child[above] = node


@inner
def detach(work, node):
    """Take `node` out of the children of its parent."""
    w = work
    after, before = w.next_sibling[node], w.previous_sibling[node]
    if before >= 0:
        w.next_sibling[before] = after
    else:
        w.child[w.parent[node]] = after
    if after >= 0:
        w.previous_sibling[after] = before


@inner
def pivot(work, m, row, column, advantage):
    """Bring the cell (row, column) into the plan and take out the cell of its cycle that runs empty first."""
    leaving, moved, on_row_side = shift_mass(work, m, row, column)
    if on_row_side:
        rehang(work, row, column, leaving, moved)
        shift_duals(work, m, row, advantage)
    else:
        rehang(work, column, row, leaving, moved)
        shift_duals(work, m, column, advantage)


@inner
def shift_mass(work, m, row, column):
    """Move as much mass as possible around the cycle; return the node of the emptied cell, the mass and its side.

    On the way up from `row` the cells under rows give mass and those under columns take it; on the way up from
    `column` it is the other way round.
    """
    w = work
    parent, depth, flow = w.parent, w.depth, w.flow
    moved = LARGEST
    leaving = -1
    on_row_side = True
    a, b = row, column
    while a != b:
        if depth[a] >= depth[b]:
            if a < m and flow[a] < moved:
                moved, leaving, on_row_side = flow[a], a, True
            a = parent[a]
        else:
            if b >= m and flow[b] < moved:
                moved, leaving, on_row_side = flow[b], b, False
            b = parent[b]
    top = a
    a, b = row, column
    while a != top:
        flow[a] += -moved if a < m else moved
        a = parent[a]
    while b != top:
        flow[b] += -moved if b >= m else moved
        b = parent[b]
    return leaving, moved, on_row_side


@inner
def rehang(work, node, above, leaving, moved):
    """Turn the path from `node` up to `leaving` round, so that its part of the tree hangs from `above`."""
    parent, flow = work.parent, work.flow
    while True:
        old_parent, old_flow = parent[node], flow[node]
        detach(work, node)
        attach(work, node, above)
        flow[node] = moved
        if node == leaving:
            return
        node, above, moved = old_parent, node, old_flow


@inner
def shift_duals(work, m, top, advantage):
    """Renew depths and dual values below `top`, whose new cell earned `advantage` more than its dual values."""
    w = work
    parent, depth, dual, child, sibling, stack = w.parent, w.depth, w.dual, w.child, w.next_sibling, w.order
    like_top = top < m
    stack[0] = top
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        depth[node] = depth[parent[node]] + 1
        dual[node] += advantage if (node < m) == like_top else -advantage
        below = child[node]
        while below >= 0:
            stack[waiting] = below
            waiting += 1
            below = sibling[below]


@inner
def draw_column(work, m, row, u):
    """Return the column that a uniform number u picks from the distribution in `row` of the plan."""
    w = work
    flow, child, sibling = w.flow, w.child, w.next_sibling
    column = w.parent[row] - m
    total = flow[row]
    below = child[row]
    while below >= 0:
        total += flow[below]
        below = sibling[below]
    level = u * total - flow[row]
    below = child[row]
    while level >= 0.0 and below >= 0:
        column = below - m
        level -= flow[below]
        below = sibling[below]
    return column


@inner
def write_plan(work, m, n, unit, plan):
    """Add the plan, without the perturbation and as shares of the total, to the cells of `plan`."""
    w = work
    total = 0
    for node in range(m + n):
        if w.parent[node] >= 0:
            total += (w.flow[node] + unit // 2) // unit
    for node in range(m + n):
        above = w.parent[node]
        if above >= 0:
            i, j = (node, above - m) if node < above else (above, node - m)
            plan[w.rows[i], w.columns[j]] += ((w.flow[node] + unit // 2) // unit) / total


@kernel(int64(Workspace, float1, float1, float2, float64, float2))
def plan_kernel(work, supplies, demands, gains, scale, plan):
    """Solve a problem given in floating point numbers, gains not negative; what is without mass is left out."""
    m = n = 0
    for i in range(len(supplies)):
        if supplies[i] > 0.0:
            work.rows[m] = i
            work.left_x[m] = supplies[i]
            m += 1
    for j in range(len(demands)):
        if demands[j] > 0.0:
            work.columns[n] = j
            work.left_y[n] = demands[j]
            n += 1
    cells = 0
    for i in range(m):
        for j in range(n):
            gain = int(np.rint(gains[work.rows[i], work.columns[j]] * scale))
            if gain > 0:
                work.cell_row[cells] = i
                work.cell_column[cells] = j
                work.cell_gain[cells] = gain
                cells += 1
    unit = load_masses(work, m, n, work.left_x, work.left_y)
    steps = solve(work, m, n, cells)
    write_plan(work, m, n, unit, plan)
    return steps


def optimal_plan(supplies: Any, demands: Any, gains: Any) -> np.ndarray:
    """Return the plan that earns the most among those with given marginals.

    Parameters
    ----------
    supplies : array (n_rows)
    demands : array (n_columns)
        Non-negative, each not all zero; both are divided by their sums.
    gains : array (n_rows, n_columns)
        What a unit of mass earns in each cell.

    Returns
    -------
    numpy.ndarray
        The mass in each cell, shares of 1.

    Examples
    --------
    >>> from copartition.couplings.simplex import optimal_plan
    >>> optimal_plan([0.5, 0.5], [0.25, 0.75], [[3, 1], [1, 0]])
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    """
    supplies = _masses("supplies", supplies)
    demands = _masses("demands", demands)
    gains = finite_array("gains", gains, (2,))
    shape = (len(supplies), len(demands))
    if gains.shape != shape:
        raise ValueError(f"gains must have shape {shape} to fit supplies and demands, got {gains.shape}.")
    # As fine as 64-bit dual values, sums of up to rows + columns gains, allow. A gain that is added everywhere makes no
    # difference.
    gains = gains - gains.min()
    largest = gains.max()
    if largest > 0:
        gains = gains / largest
    scale = 2.0 ** (59 - int(sum(shape)).bit_length())
    plan = np.zeros(shape)
    plan_kernel(empty_workspace(*shape, gains.size), supplies, demands, gains, scale, plan)
    return plan


def _masses(name: str, value: Any) -> np.ndarray:
    array = finite_array(name, value, (1,))
    if not (np.all(array >= 0) and np.any(array > 0)):
        raise ValueError(f"{name} must be non-negative and not all zero, got {array}.")
    return array / array.max()
