"""The paper's coupling: both chains move so that their partitions come as close as possible on average.

Put point n into cluster i of x and j of y. All that their distance gains over placing it anywhere else, apart from
terms in i alone or j alone, grows with the number c of points that the two clusters share: by ``g(c + 1) - g(c)``,
with g(c) = c^2 for the Hamming distance and c log c for the variation of information. So the optimal coupling of the
two conditional laws (Eq. (3) of the paper) is the transport plan that maximises the mean of that gain.

Most of the time the plan need not be computed. Call the cell (i, j) *dominant* if its gain is at least the largest
other gain in its row plus the largest other gain in its column. Gains are never negative, so then

    gain(i, j) + gain(a, b)  >=  gain(i, b) + gain(a, j)        for all rows a and columns b.

A plan that leaves mass over in row i (put into column b, say) and in column j (from row a) loses nothing by moving it
into the cell (i, j), and what that displaces into (a, b). So some optimal plan puts ``min(p_i, q_j)`` into (i, j);
what is left of the masses is a smaller transport problem, to which the same argument applies again. It also applies to
a row and a column whose gains are all 0.

Hence three steps, each reached only if the draw is not decided by then:

1. the row of the choice i that x made: if it has a dominant cell, and u falls into that cell's mass, that is it;
2. all rows, again and again, as long as there are dominant cells (`place_dominant`, `place_rest`);
3. the simplex method for the core that remains (`copartition.couplings.simplex`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import inner, reference
from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner
from copartition.couplings.simplex import draw_column, find_rows, load_masses, solve_listed
from copartition.validation import shorten

NOT_NEGATIVE = (1 << 31) - 1  # an index that is cut to these bits need not be checked for being negative

# --- step 1: one row -------------------------------------------------------------------------------------------------


@inner
def dominant_partner(pair, i):
    """Return the column whose cell in row i is dominant, and strictly so; -1 if there is none.

    Strictly, because then no other cell of its row or column is dominant, and the order in which step 2 takes the
    rows makes no difference to this one.
    """
    p = pair[0]
    o, x, y, gains = p.overlaps, p.x.weights, p.y.weights, p.gains
    best = second = 0
    j = -1
    cell = o.first_in_row[p.x.slots[i]]
    while cell >= 0:
        b, gain = p.y.rows[o.column[cell]], gains[o.shared[cell]]
        if y[b] > 0.0:
            if gain > best:
                second = best
                best = gain
                j = b
            elif gain > second:
                second = gain
        cell = o.next_in_row[cell]
    if best <= second:
        return -1
    cell = o.first_in_column[p.y.slots[j]]
    while cell >= 0:
        a = p.x.rows[o.row[cell]]
        if a != i and x[a] > 0.0 and gains[o.shared[cell]] + second >= best:
            return -1
        cell = o.next_in_column[cell]
    return j


# --- step 2: all dominant cells --------------------------------------------------------------------------------------
#
# It goes in rounds. A round ranks the gains of every row and column that has something left, fills all cells that are
# dominant by these ranks, row after row, and then cells between rows and columns whose gains are all 0.
#
# Gains are ranked by *keys*: the gain in the upper bits, below it the number of the other row or column, counted
# backwards. The largest key has the largest gain, and the first one of those with the same; 0 is none. No key exceeds
# the largest gain times twice the larger number of rows or columns, for about which the dual values of the simplex
# method need room anyway.
#
# There are next to no branches in loops over cells and rows, because no processor could predict them: entries of lists
# are written, and written over if they do not belong there. ``work.depth``, free until there is a tree, is -1 for rows
# and columns that have something left, and 0 for the others.


@inner
def load_cells(pair, m, n):
    """Write down the cells of the m rows and n columns of the problem whose gain is not 0; return their number."""
    p = pair[0]
    o, w, gains, number = p.overlaps, p.work, p.gains, p.work.order
    for k in range(p.y.n_clusters[0]):
        number[p.y.slots[k]] = -1
    for b in range(n):
        number[p.y.slots[w.columns[b]]] = b
    cells = 0
    for a in range(m):
        cell = o.first_in_row[p.x.slots[w.rows[a]]]
        while cell >= 0:
            b = number[o.column[cell]]
            gain = gains[o.shared[cell]]
            w.cell_row[cells] = a
            w.cell_column[cells] = b
            w.cell_gain[cells] = gain
            cells += (b >= 0) & (gain > 0)
            cell = o.next_in_row[cell]
    return cells


@inner
def load_law(weights, n_choices, total, chosen, probabilities):
    """Write the choices of positive weight and their probabilities; return their number."""
    count = 0
    for k in range(n_choices):
        chosen[count] = k  # written over if its weight is 0
        probabilities[count] = weights[k] / total
        count += weights[k] > 0.0
    return count


@inner
def in_order(x, y):
    """Return the smaller and the larger of two numbers by arithmetic, which compilers do not make a branch of."""
    below = (x - y) & ((x - y) >> 63)
    return y + below, x - below


@inner
def rank_gains(work, m, n, cells, bits):
    """Find the two largest keys of every row and column that has something left; return the number of cells left.

    Cells of rows or columns that are used up are dropped from the list. The keys of the row at hand are kept out of
    memory: to read what was written a moment ago takes longer than all the rest.
    """
    w = work[0]
    best, second, is_open = w.best, w.second, w.depth
    last = (1 << bits) - 1
    for node in range(m + n):
        best[node] = 0
        second[node] = 0
    kept = 0
    row = -1
    largest = next_largest = 0
    for cell in range(cells):
        a, b, gain = w.cell_row[cell] & NOT_NEGATIVE, w.cell_column[cell], w.cell_gain[cell]
        node = (m + b) & NOT_NEGATIVE
        w.cell_row[kept] = a
        w.cell_column[kept] = b
        w.cell_gain[kept] = gain
        is_left = is_open[a] & is_open[node]
        kept = (kept - is_left) & NOT_NEGATIVE
        key = (gain << bits) + last
        same_row = -(a == row)
        row = a
        lower, largest = in_order((key - b) & is_left, largest & same_row)
        next_largest = in_order(lower, next_largest & same_row)[1]
        best[a] = largest
        second[a] = next_largest
        lower, best[node] = in_order((key - a) & is_left, best[node])
        second[node] = in_order(lower, second[node])[1]
    return kept


@inner
def list_dominant(work, m, n, bits):
    """List the rows of dominant cells and, as ``work.partner``, their columns; and what has no gains.

    In ascending order: rows to ``work.order``; rows and columns that have something left, but no gains, to
    ``work.flow`` and ``work.dual``. Returns the lengths of the three lists.
    """
    w = work[0]
    best, second, is_open = w.best, w.second, w.depth
    last = (1 << bits) - 1
    dominant = without_x = without_y = 0
    for a in range(m):
        key, next_gain = best[a], second[a] >> bits
        gain = key >> bits
        b = (last - key) & last if key > 0 else 0
        node = (m + b) & NOT_NEGATIVE
        highest = best[node]
        is_highest = highest == (gain << bits) + last - a
        # If it is not the highest of its column, that one is another, whose gain must be the same and the only one.
        exceeds = is_highest & (gain >= next_gain + (second[node] >> bits))
        w.order[dominant] = a
        w.partner[dominant] = b
        is_dominant = (key > 0) & (exceeds | ((next_gain == 0) & (highest >> bits == gain)))
        dominant = (dominant + is_dominant) & NOT_NEGATIVE
        w.flow[without_x] = a
        without_x = (without_x + ((key == 0) & (is_open[a] < 0))) & NOT_NEGATIVE
    for b in range(n):
        node = (m + b) & NOT_NEGATIVE
        w.dual[without_y] = b
        without_y = (without_y + ((best[node] == 0) & (is_open[node] < 0))) & NOT_NEGATIVE
    return dominant, without_x, without_y


@inner
def place(work, m, a, b):
    """Move as much probability as possible into the cell (a, b); return how much."""
    left_x, left_y, is_open = work[0].left_x, work[0].left_y, work[0].depth
    moved = min(left_x[a], left_y[b])
    left_x[a] -= moved
    left_y[b] -= moved
    is_open[a] = -(left_x[a] > 0.0)
    is_open[m + b] = -(left_y[b] > 0.0)
    return moved


@inner
def place_dominant(work, m, dominant, row, level):
    """Fill the dominant cells; return the total placed, and for `row` what `place_rest` returns.

    Two cells may be dominant in the same column, if their gains are equal: the first row takes what it can.
    """
    w = work[0]
    placed = 0.0
    column = -1
    for k in range(dominant):
        a, b = w.order[k], w.partner[k]
        moved = place(work, m, a, b)
        placed += moved
        if a == row and moved > 0.0:
            column = b
            level -= moved
            if level < 0.0:
                break
    return placed, column, level


@inner
def place_rest(work, m, without_x, without_y, row, column, level):
    """Fill cells between rows and columns without gains; return for `row` the column and the part of `level` left.

    The column is the one in which the mass of `row` passes `level`; then that part is negative, and the rest of the
    plan does not matter. Otherwise it is the last one that took from `row` in this round, or -1.
    """
    w = work[0]
    x = y = 0
    while x < without_x and y < without_y:
        a, b = w.flow[x], w.dual[y]
        moved = place(work, m, a, b)
        x += w.left_x[a] == 0.0
        y += w.left_y[b] == 0.0
        if a == row:
            column = b
            level -= moved
            if level < 0.0:
                break
    return column, level


# --- step 3: the core ------------------------------------------------------------------------------------------------


@inner
def number_remaining(left, count, numbers, chosen):
    """Number the entries that have something left, and move them and `chosen` to the front; return how many."""
    kept = 0
    for k in range(count):
        numbers[k] = kept
        is_left = left[k] > 0.0
        left[kept] = left[k]
        chosen[kept] = chosen[k]
        kept += is_left
    return kept


@inner
def renumber(work, m, cells, bits):
    """Write the cells, and the largest gain of every row, by the numbers of what is left."""
    w = work[0]
    row_number, column_number = w.flow, w.dual
    last = (1 << bits) - 1
    for a in range(m):
        key = w.best[a]
        w.best[row_number[a]] = key >> bits  # written over if the row is used up
        w.partner[row_number[a]] = column_number[(last - key) & last] if key > 0 else -1
    for cell in range(cells):
        w.cell_row[cell] = row_number[w.cell_row[cell]]
        w.cell_column[cell] = column_number[w.cell_column[cell]]


@inner
def core_partner(work, m, n, cells, row, level, bits):
    """Return the choice of y at which the mass in `row` of the optimal plan of what is left passes `level`."""
    w = work[0]
    row_number, column_number = w.flow, w.dual
    rows = number_remaining(w.left_x, m, row_number, w.rows)
    columns = number_remaining(w.left_y, n, column_number, w.columns)
    share = level / w.left_x[row_number[row]]
    if rows == 1 or columns == 1:
        total = 0.0
        for b in range(columns):
            total += w.left_y[b]
        return w.columns[draw(w.left_y, columns, share * total)]
    renumber(work, m, cells, bits)
    row = row_number[row]
    find_rows(work, rows, cells)
    load_masses(work, rows, columns, w.left_x, w.left_y)
    solve_listed(work, rows, columns)
    return w.columns[draw_column(work, rows, row, share)]


# --- all three -------------------------------------------------------------------------------------------------------


@inner
def partner_by_plan(pair, m, n, i, level):
    """Return the choice of y at which the mass of i in the optimal plan passes `level`: steps 2 and 3.

    The plan is between the m choices of x in ``work.rows`` and the n of y in ``work.columns``, of masses
    ``work.left_x`` and ``work.left_y``. -1 if rounding leaves nothing to choose.
    """
    work = reference(pair[0].work)
    w = work[0]
    row = 0
    while row < m and w.rows[row] != i:
        row += 1
    if row == m:
        return -1
    bits = 1
    while (1 << bits) < max(m, n):
        bits += 1
    cells = load_cells(pair, m, n)
    for node in range(m + n):
        w.depth[node] = -1
    last = -1
    placed = 1.0
    # What `place_rest` does changes no ranks: rows and columns without gains have no cells left.
    while placed > 0.0:
        cells = rank_gains(work, m, n, cells, bits)
        dominant, without_x, without_y = list_dominant(work, m, n, bits)
        placed, column, level = place_dominant(work, m, dominant, row, level)
        if level >= 0.0:
            column, level = place_rest(work, m, without_x, without_y, row, column, level)
        if column >= 0:
            last = w.columns[column]
        if level < 0.0 or w.left_x[row] == 0.0:
            return last
    some_left = False
    for b in range(n):
        some_left |= w.left_y[b] > 0.0
    return core_partner(work, m, n, cells, row, level, bits) if some_left else last


@partner
def transport(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the choice of y that u picks from row i of the optimal plan."""
    x, y = pair[0].x.weights, pair[0].y.weights
    if x[i] == total_x or total_y == 1.0:
        # One of the laws has a single choice (the largest weight is 1): all couplings are the same.
        return draw(y, n_y, u * total_y)
    mass = x[i] / total_x
    level = u * mass
    j = dominant_partner(pair, i)
    if j >= 0 and level < y[j] / total_y:
        return j
    w = pair[0].work
    m = load_law(x, n_x, total_x, w.rows, w.left_x)
    n = load_law(y, n_y, total_y, w.columns, w.left_y)
    j = partner_by_plan(pair, m, n, i, level)
    return j if j >= 0 else draw(y, n_y, u * total_y)


def hamming_gains(n_points: int) -> np.ndarray:
    """Return the gain for clusters that share 0, 1, ..., `n_points` points: (c + 1)^2 - c^2, less 1 and halved."""
    return np.arange(n_points + 1)


class Transport(Coupling):
    """The coupling that brings the partitions as close as possible (Trippe, Nguyen and Broderick 2020).

    Parameters
    ----------
    metric : {"hamming", "vi"}, default "hamming"
        The distance whose mean is minimised: Hamming distance of the adjacency matrices, or variation of information.
    nugget : float, default 0
        Probability of drawing a point's two clusters independently instead.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.Transport(metric="vi")
    Transport(metric='vi')
    """

    name = "transport"
    partner = transport

    def __init__(self, metric: str = "hamming", nugget: float = 0.0) -> None:
        super().__init__(nugget)
        if metric not in ("hamming", "vi"):
            raise ValueError(f"metric must be 'hamming' or 'vi', got {shorten(metric)}.")
        self.metric = metric

    def gains(self, n_points: int) -> np.ndarray:
        """Return the gain for clusters that share 0, 1, ..., `n_points` points, as whole numbers from 0 on.

        For the variation of information they are rounded to multiples of 2^-40, so that the solver stays exact.
        """
        if self.metric == "hamming":
            return hamming_gains(n_points)
        shared = np.arange(n_points + 1.0)
        log_shared = np.log(np.maximum(shared, 1.0))
        increments = (shared + 1.0) * np.log1p(shared) - shared * log_shared
        return np.rint(increments * 2.0**40).astype(np.int64)

    def _shown(self) -> dict[str, Any]:
        metric = {"metric": self.metric} if self.metric != "hamming" else {}
        return metric | super()._shown()
