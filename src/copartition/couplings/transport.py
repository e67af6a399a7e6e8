"""The paper's coupling: both chains move so that their partitions come as close as possible on average.

Put point n into cluster i of x and j of y. All that their distance gains over placing it anywhere else, apart from
terms in i alone or j alone, grows with the number c of points that the two clusters share: by ``g(c + 1) - g(c)``,
with g(c) = c^2 for the Hamming distance and c log c for the variation of information. So the optimal coupling of the
two conditional laws (Eq. (3) of the paper) is the transport plan that maximises the mean of that gain.

Most of the time the plan need not be computed. Call the cell (i, j) *dominant* if its gain exceeds the largest other
gain in its row plus the largest other gain in its column. Gains are never negative, so then

    gain(i, j) + gain(a, b)  >=  gain(i, b) + gain(a, j)        for all rows a and columns b,

and any plan that leaves mass over in row i and in column j can be improved by moving it into their cell (and what
that displaces into (a, b)). Hence some optimal plan puts ``min(p_i, q_j)`` into every dominant cell at once: each is
the only one in its row and column. The same holds for two empty clusters, whose gains are all 0. If the draw falls into
that mass, and it mostly does, the answer is j at the cost of looking at one row and one column. Otherwise what is left
of the masses is a smaller transport problem, solved exactly (`copartition.couplings.simplex`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.compiled.kernel import inner, reference
from copartition.compiled.random import draw
from copartition.couplings.base import Coupling, partner
from copartition.couplings.simplex import draw_column, load_masses, solve
from copartition.validation import shorten


@inner
def dominant_partner(pair, n_x, n_y, i):
    """Return the column whose cell in row i is dominant, -1 if there is none."""
    p = pair[0]
    if p.x.sizes[i] == 0:
        return empty_partner(pair, n_y, i)
    x, y, overlap, gains, slots_x, slots_y = p.x.weights, p.y.weights, p.overlap, p.gains, p.x.slots, p.y.slots
    best = second = 0
    j = -1
    slot = slots_x[i]
    for b in range(n_y):
        if y[b] > 0.0:
            gain = gains[overlap[slot, slots_y[b]]]
            if gain > best:
                second = best
                best = gain
                j = b
            elif gain > second:
                second = gain
    if best <= second:
        return -1
    slot = slots_y[j]
    for a in range(n_x):
        if a != i and x[a] > 0.0 and gains[overlap[slots_x[a], slot]] + second >= best:
            return -1
    return j


@inner
def empty_partner(pair, n_y, i):
    """Return the empty cluster of y that comes as many-th among the empty ones as i in x, -1 if there is none."""
    sizes_x, sizes_y = pair[0].x.sizes, pair[0].y.sizes
    rank = 0
    for a in range(i):
        rank += sizes_x[a] == 0
    for j in range(n_y):
        if sizes_y[j] == 0:
            if rank == 0:
                return j
            rank -= 1
    return -1


@inner
def place_dominant(pair, n_x, n_y, total_x, total_y):
    """Write to the workspace what of both laws is left when every dominant cell has got all it can."""
    p = pair[0]
    left_x, left_y = p.work.surplus_x, p.work.surplus_y
    for j in range(n_y):
        left_y[j] = p.y.weights[j] / total_y
    for i in range(n_x):
        left_x[i] = p.x.weights[i] / total_x
        if left_x[i] > 0.0:
            j = dominant_partner(pair, n_x, n_y, i)
            if j >= 0:
                both = min(left_x[i], left_y[j])
                left_x[i] -= both
                left_y[j] -= both


@inner
def compress(left, n_choices, chosen):
    """Move the positive entries of `left` to its front and note in `chosen` where they were; return their number."""
    count = 0
    for k in range(n_choices):
        if left[k] > 0.0:
            left[count] = left[k]
            chosen[count] = k
            count += 1
    return count


@inner
def residual_partner(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the column that u picks from row i of the optimal plan of what the dominant cells leave over."""
    place_dominant(pair, n_x, n_y, total_x, total_y)
    p = pair[0]
    work = p.work
    if not work.surplus_x[i] > 0.0:
        return -1
    rows, columns = work.rows, work.columns
    m = compress(work.surplus_x, n_x, rows)
    n = compress(work.surplus_y, n_y, columns)
    if m == 1 or n <= 1:
        return columns[draw(work.surplus_y, n, u * sum_of(work.surplus_y, n))] if n > 0 else -1
    row = 0
    for a in range(m):
        if rows[a] == i:
            row = a
        slot = p.x.slots[rows[a]]
        for b in range(n):
            work.gain[a, b] = p.gains[p.overlap[slot, p.y.slots[columns[b]]]]
    pointer = reference(work)
    load_masses(pointer, m, n, work.surplus_x, work.surplus_y)
    solve(pointer, m, n)
    return columns[draw_column(pointer, m, row, u)]


@inner
def sum_of(values, count):
    """Return the sum of the first `count` values."""
    total = 0.0
    for k in range(count):
        total += values[k]
    return total


@partner
def transport(pair, n_x, n_y, total_x, total_y, i, u):
    """Return the column that u picks from row i of the optimal plan."""
    x, y = pair[0].x.weights, pair[0].y.weights
    if x[i] == total_x or total_y == 1.0:
        # One of the laws has a single choice (the largest weight is 1): all couplings are the same.
        return draw(y, n_y, u * total_y)
    mass = x[i] / total_x
    level = u * mass
    j = dominant_partner(pair, n_x, n_y, i)
    both = min(mass, y[j] / total_y) if j >= 0 else 0.0
    if level < both:
        return j
    other = residual_partner(pair, n_x, n_y, total_x, total_y, i, (level - both) / (mass - both))
    if other >= 0:
        return other
    # Nothing is left over in this row but a rounding error.
    return j if j >= 0 else draw(y, n_y, u * total_y)


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
        shared = np.arange(n_points + 1)
        if self.metric == "hamming":
            return shared
        shared = shared.astype(float)
        log_shared = np.log(np.maximum(shared, 1.0))
        increments = (shared + 1.0) * np.log1p(shared) - shared * log_shared
        return np.rint(increments * 2.0**40).astype(np.int64)

    def _shown(self) -> dict[str, Any]:
        metric = {"metric": self.metric} if self.metric != "hamming" else {}
        return metric | super()._shown()
