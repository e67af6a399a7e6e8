"""The paper's coupling: both chains move so that their partitions come as close as possible on average.

Put point n into cluster i of x and j of y. All that their distance gains over placing it anywhere else, apart from
terms in i alone or j alone, grows with the number c of points that the two clusters share: by ``g(c + 1) - g(c)``,
with g(c) = c^2 for the Hamming distance and c log c for the variation of information. So the optimal coupling of the
two conditional distributions (Eq. (3) of the paper) is the transport plan that maximises the mean of that gain.

Most of the time the plan need not be computed. Call the cell (i, j) *dominant* if its gain is at least the largest
other gain in its row plus the largest other gain in its column. Gains are never negative, so then

    gain(i, j) + gain(a, b)  >=  gain(i, b) + gain(a, j)        for all rows a and columns b.

A plan that leaves mass over in row i (put into column b, say) and in column j (from row a) loses nothing by moving it
into the cell (i, j), and what that displaces into (a, b). So some optimal plan puts ``min(p_i, q_j)`` into (i, j);
what is left of the masses is a smaller transport problem, to which the same argument applies again. It also applies to
a row and a column whose gains are all 0.

Hence three steps, each reached only if the draw is not decided by then:

1. the row of the choice i that x made: if it has a dominant cell, and u falls into that cell's mass, that is it;
2. all rows, again and again, as long as there are dominant cells (`place_dominant`);
3. the simplex method for the core that remains (`copartition.couplings.simplex`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.core.compiling import inner
from copartition.core.random import draw
from copartition.couplings.base import Coupling, partner
from copartition.couplings.simplex import bits_for, draw_column, load_masses, solve
from copartition.validation import shorten

# --- step 1: one row -------------------------------------------------------------------------------------------------


@inner
def dominant_partner(pair, i):
    """Return the column whose cell in row i is dominant, and strictly so; -1 if there is none.

    Strictly, because then no other cell of its row or column is dominant, and the order in which step 2 takes the
    rows makes no difference to this one.
    """
    p = pair
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


@inner
def load_cells(pair, m, n):
    """Write down the cells of the m rows and n columns of the problem whose gain is not 0; return their number."""
    p = pair
    o, w, gains, number = p.overlaps, p.work, p.gains, p.work.order
    for k in range(p.y.n_clusters[0]):
        number[k] = -1
    for b in range(n):
        number[w.columns[b]] = b
    cells = 0
    for a in range(m):
        cell = o.first_in_row[p.x.slots[w.rows[a]]]
        while cell >= 0:
            b = number[p.y.rows[o.column[cell]]]
            gain = gains[o.shared[cell]]
            if b >= 0 and gain > 0:
                w.cell_row[cells] = a
                w.cell_column[cells] = b
                w.cell_gain[cells] = gain
                cells += 1
            cell = o.next_in_row[cell]
    return cells


@inner
def load_distribution(weights, n_choices, total, chosen, probabilities):
    """Write the choices of positive weight and their probabilities; return their number."""
    count = 0
    for k in range(n_choices):
        chosen[count] = k  # written over if its weight is 0
        probabilities[count] = weights[k] / total
        count += weights[k] > 0.0
    return count


@inner
def rank_gains(work, m, n, cells, bits):
    """Find the two largest gains of every row and column that has something left; return the number of cells left.

    Cells of rows or columns that are used up are dropped from the list.
    """
    w = work
    for node in range(m + n):
        w.best[node] = 0
        w.second[node] = 0
    kept = 0
    for cell in range(cells):
        a, b, gain = w.cell_row[cell], w.cell_column[cell], w.cell_gain[cell]
        # Without branches, which no processor could predict: a cell that is dropped is written over and ranks last.
        w.cell_row[kept] = a
        w.cell_column[kept] = b
        w.cell_gain[kept] = gain
        is_left = (w.left_x[a] > 0.0) & (w.left_y[b] > 0.0)
        kept += is_left
        gain = gain << bits if is_left else 0
        rank(work, a, gain - b)
        rank(work, m + b, gain - a)
    return kept


@inner
def rank(work, node, key):
    """Take a gain into account that `node` has, and with whom."""
    best, second = work.best, work.second
    largest = best[node]
    second[node] = max(second[node], min(key, largest))
    best[node] = max(key, largest)


@inner
def dominant_column(work, m, a, bits):
    """Return the column of the dominant cell of row a, -1 if there is none."""
    best, second, mask = work.best, work.second, (1 << bits) - 1
    gain = (best[a] + mask) >> bits
    if gain == 0:
        return -1
    b = -best[a] & mask
    other = second[m + b] if -best[m + b] & mask == a else best[m + b]
    return b if gain >= ((second[a] + mask) >> bits) + ((other + mask) >> bits) else -1


@inner
def place(work, a, b):
    """Move as much probability as possible into the cell (a, b); return how much."""
    left_x, left_y = work.left_x, work.left_y
    moved = min(left_x[a], left_y[b])
    left_x[a] -= moved
    left_y[b] -= moved
    return moved


@inner
def place_dominant(work, m, n, row, level, bits):
    """Fill the dominant cells; return the total placed, and for `row` the column and the part of `level` that is left.

    The column is the one in which the mass of `row` passes `level`; then that part is negative, and the rest of the
    plan does not matter. Otherwise it is the last one that took from `row`, or -1.
    """
    w = work
    placed = 0.0
    column = -1
    for a in range(m):
        b = dominant_column(work, m, a, bits) if w.left_x[a] > 0.0 else -1
        if b >= 0:
            moved = place(work, a, b)
            placed += moved
            if a == row and moved > 0.0:
                column = b
                level -= moved
                if level < 0.0:
                    return placed, column, level
    b = 0
    for a in range(m):
        while w.best[a] == 0 and w.left_x[a] > 0.0 and b < n:
            if w.best[m + b] > 0 or w.left_y[b] == 0.0:
                b += 1
            else:
                moved = place(work, a, b)
                placed += moved
                if a == row:
                    column = b
                    level -= moved
                    if level < 0.0:
                        return placed, column, level
    return placed, column, level


# --- step 3: the core ------------------------------------------------------------------------------------------------


@inner
def number_remaining(left, count, numbers, chosen):
    """Number the entries that have something left, and move them and `chosen` to the front; return how many."""
    kept = 0
    for k in range(count):
        numbers[k] = kept
        if left[k] > 0.0:
            left[kept] = left[k]
            chosen[kept] = chosen[k]
            kept += 1
    return kept


@inner
def core_partner(work, m, n, cells, row, level):
    """Return the choice of y at which the mass in `row` of the optimal plan of what is left passes `level`."""
    w = work
    row_number, column_number = w.best, w.second  # free for other use now
    rows = number_remaining(w.left_x, m, row_number, w.rows)
    columns = number_remaining(w.left_y, n, column_number, w.columns)
    row = row_number[row]
    share = level / w.left_x[row]
    if rows == 1 or columns == 1:
        total = 0.0
        for b in range(columns):
            total += w.left_y[b]
        return w.columns[draw(w.left_y, columns, share * total)]
    for cell in range(cells):
        w.cell_row[cell] = row_number[w.cell_row[cell]]
        w.cell_column[cell] = column_number[w.cell_column[cell]]
    load_masses(work, rows, columns, w.left_x, w.left_y)
    solve(work, rows, columns, cells)
    return w.columns[draw_column(work, rows, row, share)]


# --- all three -------------------------------------------------------------------------------------------------------


@inner
def partner_by_plan(pair, m, n, i, level):
    """Return the choice of y at which the mass of i in the optimal plan passes `level`: steps 2 and 3.

    The plan is between the m choices of x in ``work.rows`` and the n of y in ``work.columns``, of masses
    ``work.left_x`` and ``work.left_y``. -1 if rounding leaves nothing to choose.
    """
    work = w = pair.work
    bits = bits_for(m, n)
    cells = load_cells(pair, m, n)
    row = 0
    while row < m and w.rows[row] != i:
        row += 1
    if row == m:
        return -1
    last = -1
    placed = 1.0
    while placed > 0.0:
        cells = rank_gains(work, m, n, cells, bits)
        placed, column, level = place_dominant(work, m, n, row, level, bits)
        if column >= 0:
            last = w.columns[column]
        if level < 0.0 or w.left_x[row] == 0.0:
            return last
    some_left = False
    for b in range(n):
        some_left |= w.left_y[b] > 0.0
    return core_partner(work, m, n, cells, row, level) if some_left else last


@partner
def transport(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the choice of y that u picks from row i of the optimal plan."""
    x, y = pair.x.weights, pair.y.weights
    if x[i] == total_x or total_y == 1.0:
        # One of the distributions has a single choice (the largest weight is 1): all couplings are the same.
        return draw(y, n_y, u * total_y)
    mass = x[i] / total_x
    level = u * mass
    j = dominant_partner(pair, i)
    if j >= 0 and level < y[j] / total_y:
        return j
    w = pair.work
    m = load_distribution(x, n_x, total_x, w.rows, w.left_x)
    n = load_distribution(y, n_y, total_y, w.columns, w.left_y)
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
