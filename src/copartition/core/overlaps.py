"""Overlap counts of a pair of chains: how many points their clusters share, and how far the partitions are apart.

The numbers of points in common are kept in lists of the cells that are not empty, see
`copartition.core.state.Overlaps`.

A matching says which clusters of the two chains go with each other, kept up to date while clusters come and go. It is
two arrays, each the inverse of the other, see `copartition.core.state.Matching`. Functions that concern one chain take
its array first, so that they serve both.
"""

from __future__ import annotations

from copartition.core.clusters import put_in, set_all, take_out
from copartition.core.compiling import inner, outline
from copartition.core.hyperparameters import hyperparameters_agree


@outline
def forget(there, back, k, count):
    """Remove cluster k of the chain of `there`; later ones move down by one, and `count` remain."""
    if there[k] >= 0:
        back[there[k]] = -1
    for row in range(k, count):
        there[row] = there[row + 1]
        if there[row] >= 0:
            back[there[row]] = row
    there[count] = -1


@inner
def join(there, back, row, column):
    """Let two clusters go with each other, which went with none or are the new ones."""
    there[row] = column
    back[column] = row


@inner
def part(there, back, row, column):
    """Let two clusters go with none."""
    there[row] = -1
    back[column] = -1


@inner
def take_out_of_matched(model, chain, n, there, back, matching):
    """Take point n out of a chain; a cluster that disappears leaves the matching too, if there is one."""
    c = chain
    k = c.labels[n]
    count = c.n_clusters[0]
    take_out(model, chain, n)
    if matching and c.n_clusters[0] < count:
        forget(there, back, k, c.n_clusters[0])


@inner
def find_best(pair, row):
    """Find the free cluster of y that has the most points in common with cluster `row` of x, and how many.

    The first one of those with as many.
    """
    p = pair
    o, w = p.overlaps, p.work
    best, favourite = 0, -1
    cell = o.first_in_row[p.x.slots[row]]
    while cell >= 0:
        column, common = p.y.rows[o.column[cell]], o.shared[cell]
        if p.matched.back[column] < 0 and (common > best or (common == best > 0 and column < favourite)):
            best, favourite = common, column
        cell = o.next_in_row[cell]
    w.best[row] = best
    w.partner[row] = favourite


@outline
def match_clusters(model, pair):
    """Match the clusters of x and y greedily, those with the most points in common first.

    Clusters with nothing in common are not matched, except that all labels of a palette are. Returns the number of
    points that are in clusters that go with each other in both chains.
    """
    p = pair
    there, back, best, favourite = p.matched.there, p.matched.back, p.work.best, p.work.partner
    n_x = p.x.n_clusters[0]
    # Later rows are of no cluster, and those of the new ones are joined for every point. There may be very many.
    set_all(there, n_x + 1, -1)
    set_all(back, p.y.n_clusters[0] + 1, -1)
    for row in range(n_x):
        find_best(pair, row)
    shared = 0
    while True:
        chosen = -1
        most = 0
        for row in range(n_x):
            if there[row] < 0 and best[row] > most:
                most = best[row]
                chosen = row
        if chosen < 0:
            break
        if back[favourite[chosen]] < 0:
            join(there, back, chosen, favourite[chosen])
            shared += most
        else:
            find_best(pair, chosen)
    if model.palette > 0:
        column = 0
        for row in range(n_x):
            if there[row] < 0:
                while back[column] >= 0:
                    column += 1
                join(there, back, row, column)
    return shared


@inner
def have_met(pair):
    """Tell whether two chains have become one: the same partition, and the same numbers, bit for bit."""
    return pair.distance[0] == 0 and hyperparameters_agree(pair)


# --- cells -----------------------------------------------------------------------------------------------------------


@inner
def find_cell(overlaps, a, b):
    """Return the cell of slot a of x and slot b of y, -1 if there is none: at the cost of the shorter of two lists."""
    o = overlaps
    in_row, in_column = o.first_in_row[a], o.first_in_column[b]
    while in_row >= 0 and in_column >= 0:
        if o.column[in_row] == b:
            return in_row
        if o.row[in_column] == a:
            return in_column
        in_row, in_column = o.next_in_row[in_row], o.next_in_column[in_column]
    return -1


@inner
def link(first, following, before, k, cell):
    """Put a cell at the beginning of list k."""
    head = first[k]
    first[k] = cell
    following[cell] = head
    before[cell] = -1
    if head >= 0:
        before[head] = cell


@inner
def unlink(first, following, before, k, cell):
    """Take a cell out of list k."""
    after, ahead = following[cell], before[cell]
    if ahead >= 0:
        following[ahead] = after
    else:
        first[k] = after
    if after >= 0:
        before[after] = ahead


@outline
def new_cell(overlaps, a, b):
    """Make an empty cell of slot a of x and slot b of y; return it."""
    o = overlaps
    cell = o.free[0]
    if cell >= 0:
        o.free[0] = o.next_in_row[cell]
    else:
        cell = o.used[0]
        o.used[0] += 1
    o.row[cell] = a
    o.column[cell] = b
    o.shared[cell] = 0
    link(o.first_in_row, o.next_in_row, o.before_in_row, a, cell)
    link(o.first_in_column, o.next_in_column, o.before_in_column, b, cell)
    return cell


@outline
def give_back(overlaps, cell):
    """Remove an empty cell."""
    o = overlaps
    unlink(o.first_in_row, o.next_in_row, o.before_in_row, o.row[cell], cell)
    unlink(o.first_in_column, o.next_in_column, o.before_in_column, o.column[cell], cell)
    o.next_in_row[cell] = o.free[0]
    o.free[0] = cell


@inner
def count_out(pair, n):
    """Take point n out of its cell."""
    o = pair.overlaps
    o.shared[o.cell_of[n]] -= 1


@inner
def count_in(pair, n):
    """Put point n, which was taken out of a cell, into that of its two clusters."""
    p = pair
    o = p.overlaps
    a, b = p.x.slots[p.x.labels[n]], p.y.slots[p.y.labels[n]]
    cell = o.cell_of[n]
    if o.row[cell] != a or o.column[cell] != b:
        cell = change_cell(pair.overlaps, n, a, b)
    o.shared[cell] += 1


@outline
def change_cell(overlaps, n, a, b):
    """Let point n be in the cell of slot a of x and slot b of y, and not in the one where it was; return it."""
    o = overlaps
    if o.shared[o.cell_of[n]] == 0:
        give_back(overlaps, o.cell_of[n])
    cell = find_cell(overlaps, a, b)
    if cell < 0:
        cell = new_cell(overlaps, a, b)
    o.cell_of[n] = cell
    return cell


# --- points ----------------------------------------------------------------------------------------------------------


@inner
def separation(pair, n):
    """Return what point n, which is in a cluster of both chains, adds to their Hamming distance.

    With clusters A and B of n this is 2 (|A| + |B| - 2 |A and B|), from the definition of the distance.
    """
    p = pair
    i, j = p.x.labels[n], p.y.labels[n]
    common = p.overlaps.shared[p.overlaps.cell_of[n]]
    return 2 * (p.x.sizes[i] + p.y.sizes[j] - 2 * common)


@inner
def take_out_of_both(pair, x, y, matching, n):
    """Take point n out of both chains and out of the overlap counts.

    Where clusters are matched, out of the matching too.
    """
    p = pair
    p.distance[0] -= separation(pair, n)
    count_out(pair, n)
    take_out_of_matched(pair.model_x, x, n, p.matched.there, p.matched.back, matching)
    take_out_of_matched(pair.model_y, y, n, p.matched.back, p.matched.there, matching)


@inner
def put_into_both(model, hooks, pair, x, y, matching, n, chosen):
    """Put point n into the two chosen clusters, i of x and j of y, and into the overlap counts."""
    i, j = chosen
    if matching and model.palette == 0:
        new_x, new_y = x.n_clusters[0], y.n_clusters[0]
        if (i == new_x) != (j == new_y):
            part(pair.matched.there, pair.matched.back, new_x, new_y)
    put_in(pair.model_x, hooks, x, n, i)
    put_in(pair.model_y, hooks, y, n, j)
    count_in(pair, n)
    pair.distance[0] += separation(pair, n)


@outline
def recount_pair(pair):
    """Count the overlaps of two chains and their distance from the labels, points that are in no cluster left out."""
    p = pair
    overlaps = pair.overlaps
    o = p.overlaps
    set_all(o.first_in_row, len(o.first_in_row), -1)
    set_all(o.first_in_column, len(o.first_in_column), -1)
    o.free[0] = -1
    o.used[0] = 0
    for n in range(len(p.x.labels)):
        if p.x.labels[n] < 0:
            continue
        a, b = p.x.slots[p.x.labels[n]], p.y.slots[p.y.labels[n]]
        cell = find_cell(overlaps, a, b)
        if cell < 0:
            cell = new_cell(overlaps, a, b)
        o.cell_of[n] = cell
        o.shared[cell] += 1
    distance = 0
    for k in range(len(p.x.sizes)):
        distance += p.x.sizes[k] * p.x.sizes[k]
    for k in range(len(p.y.sizes)):
        distance += p.y.sizes[k] * p.y.sizes[k]
    for cell in range(o.used[0]):
        distance -= 2 * o.shared[cell] * o.shared[cell]
    p.distance[0] = distance
