"""Points leave and join the clusters of a chain, and the books are kept."""

from __future__ import annotations

from copartition.core.compiling import inner, outline

# Sums that are updated by adding and subtracting drift. Rebuilding them at a fixed rhythm keeps results reproducible.
SWEEPS_BETWEEN_REBUILDS = 64


@inner
def clear_row(table, row):
    """Set a row to zero."""
    for d in range(table.shape[1]):
        table[row, d] = 0.0


@inner
def take_out(model, chain, n):
    """Take point n out of its cluster, which disappears if it was the last one (unless its label is of a palette)."""
    points = model[0].points
    c = chain[0]
    labels, sizes, sums = c.labels, c.sizes, c.sums
    k = labels[n]
    labels[n] = -1
    sizes[k] -= 1
    if sizes[k] == 0:
        clear_row(sums, k)
        if model[0].palette == 0:
            drop_cluster(chain, k)
    else:
        for d in range(points.shape[1]):
            sums[k, d] -= points[n, d]


@inner
def put_in(model, chain, n, k):
    """Put point n into cluster k, which may be the new one."""
    points = model[0].points
    c = chain[0]
    sums = c.sums
    c.labels[n] = k
    c.sizes[k] += 1
    for d in range(points.shape[1]):
        sums[k, d] += points[n, d]
    if model[0].palette == 0 and k == c.n_clusters[0]:
        c.n_clusters[0] += 1


@outline
def drop_cluster(chain, k):
    """Remove the empty cluster k; later ones move down by one, and its slot becomes the first free one."""
    c = chain[0]
    last = c.n_clusters[0] - 1
    slot = c.slots[k]
    for row in range(k, last):
        c.sizes[row] = c.sizes[row + 1]
        c.slots[row] = c.slots[row + 1]
        for d in range(c.sums.shape[1]):
            c.sums[row, d] = c.sums[row + 1, d]
    c.sizes[last] = 0
    c.slots[last] = slot
    clear_row(c.sums, last)
    c.n_clusters[0] = last
    if k < last:
        labels = c.labels
        for n in range(len(labels)):
            labels[n] -= labels[n] > k


@outline
def rebuild(model, chain):
    """Add up sizes and sums anew from the labels."""
    points = model[0].points
    c = chain[0]
    c.sizes[:] = 0
    c.sums[:, :] = 0.0
    for n in range(len(c.labels)):
        k = c.labels[n]
        if k >= 0:
            c.sizes[k] += 1
            for d in range(points.shape[1]):
                c.sums[k, d] += points[n, d]
    c.age[0] = 0


@outline
def reset(model, chain, labels):
    """Put a chain at the partition `labels`, in canonical numbering; negative for points in no cluster."""
    c = chain[0]
    n_clusters = 0
    for n in range(len(labels)):
        c.labels[n] = max(labels[n], -1)
        n_clusters = max(n_clusters, labels[n] + 1)
    c.n_clusters[0] = model[0].palette if model[0].palette > 0 else n_clusters
    for k in range(len(c.slots)):
        c.slots[k] = k
    rebuild(model, chain)


@inner
def copy_array(source, destination):
    """Copy numbers; slices of two arrays would ask for memory, which kernels cannot have."""
    for i in range(len(source)):
        destination[i] = source[i]


@outline
def copy_chain(source, destination):
    """Copy a chain to one of the same capacity."""
    a, b = source[0], destination[0]
    copy_array(a.labels, b.labels)
    copy_array(a.sizes, b.sizes)
    copy_array(a.weights, b.weights)
    copy_array(a.total, b.total)
    copy_array(a.slots, b.slots)
    copy_array(a.n_clusters, b.n_clusters)
    copy_array(a.age, b.age)
    for k in range(a.sums.shape[0]):
        for d in range(a.sums.shape[1]):
            b.sums[k, d] = a.sums[k, d]


@inner
def rebuild_if_due(model, chain):
    """Count a finished sweep, and rebuild the sums every so many."""
    age = chain[0].age
    age[0] += 1
    if age[0] >= SWEEPS_BETWEEN_REBUILDS:
        rebuild(model, chain)


@inner
def choices(model, chain):
    """Return how many choices a point that is in no cluster has."""
    palette = model[0].palette
    return palette if palette > 0 else chain[0].n_clusters[0] + 1


@inner
def has_room(model, chain):
    """Tell whether the chain has a row left for a new cluster, and one more.

    That one is for functionals, which may weigh a new cluster after the sweep: `predictive_density` does.
    """
    return model[0].palette > 0 or chain[0].n_clusters[0] + 1 < len(chain[0].sizes)
