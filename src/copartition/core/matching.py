"""Which clusters of two chains go with each other, kept up to date while clusters come and go.

A matching is two arrays, each the inverse of the other, see `copartition.core.state.Matching`. Functions that
concern one chain take its array first, so that they serve both.
"""

from __future__ import annotations

from copartition.core.clusters import set_all, take_out
from copartition.core.compiling import inner, outline


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
