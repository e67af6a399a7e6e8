"""The books of a pair of chains: how many points their clusters share, and how far the partitions are apart."""

from __future__ import annotations

from copartition.core.clusters import put_in
from copartition.core.compiling import inner, outline
from copartition.core.matching import part, take_out_of_matched


@inner
def have_met(pair):
    """Tell whether two chains have become one."""
    return pair[0].distance[0] == 0


@inner
def separation(pair, n):
    """Return what point n, which is in a cluster of both chains, adds to their Hamming distance.

    With clusters A and B of n this is 2 (|A| + |B| - 2 |A and B|), from the definition of the distance.
    """
    p = pair[0]
    i, j = p.x.labels[n], p.y.labels[n]
    common = p.overlap[p.x.slots[i], p.y.slots[j]]
    return 2 * (p.x.sizes[i] + p.y.sizes[j] - 2 * common)


@inner
def count_overlap(pair, n, change):
    """Add `change` to the overlap of the two clusters of point n."""
    p = pair[0]
    p.overlap[p.x.slots[p.x.labels[n]], p.y.slots[p.y.labels[n]]] += change


@inner
def take_out_of_both(model, pair, x, y, matching, n):
    """Take point n out of both chains and out of the books; where clusters are matched, out of the matching too."""
    p = pair[0]
    p.distance[0] -= separation(pair, n)
    count_overlap(pair, n, -1)
    take_out_of_matched(model, x, n, p.matched.there, p.matched.back, matching)
    take_out_of_matched(model, y, n, p.matched.back, p.matched.there, matching)


@inner
def put_into_both(model, law, pair, x, y, matching, n, chosen):
    """Put point n into the two chosen clusters, i of x and j of y, and into the books."""
    i, j = chosen
    if matching and model[0].palette == 0:
        new_x, new_y = x[0].n_clusters[0], y[0].n_clusters[0]
        if (i == new_x) != (j == new_y):
            part(pair[0].matched.there, pair[0].matched.back, new_x, new_y)
    put_in(model, law, x, n, i)
    put_in(model, law, y, n, j)
    count_overlap(pair, n, 1)
    pair[0].distance[0] += separation(pair, n)


@outline
def recount_pair(pair):
    """Count the overlaps of two chains and their distance from the labels."""
    p = pair[0]
    for a in range(p.overlap.shape[0]):
        for b in range(p.overlap.shape[1]):
            p.overlap[a, b] = 0
    for n in range(len(p.x.labels)):
        count_overlap(pair, n, 1)
    distance = 0
    for size in p.x.sizes:
        distance += size * size
    for size in p.y.sizes:
        distance += size * size
    for a in range(p.overlap.shape[0]):
        for b in range(p.overlap.shape[1]):
            distance -= 2 * p.overlap[a, b] * p.overlap[a, b]
    p.distance[0] = distance
