"""Points leave and join the clusters of a chain, and what is counted of clusters is kept up to date."""

from __future__ import annotations

from copartition.core.compiling import inner, outline

# Sums that are updated by adding and subtracting drift. Rebuilding them at a fixed rhythm keeps results reproducible.
SWEEPS_BETWEEN_REBUILDS = 64


@inner
def clear_row(table, row):
    """Set a row to zero."""
    for d in range(table.shape[1]):
        table[row, d] = 0


@inner
def set_all(array, count, value):
    """Set the first numbers of an array to a value."""
    for i in range(count):
        array[i] = value


@inner
def take_out(model, chain, n):
    """Take point n out of its cluster, which disappears if it was the last one (unless its label is of a palette).

    What the target keeps is not touched: most points go back to where they were. The row that still holds the point is
    noted; if its cluster disappears, it becomes that of the new cluster.
    """
    points = model.points
    c = chain
    labels, sizes, sums = c.labels, c.sizes, c.sums
    k = labels[n]
    labels[n] = -1
    sizes[k] -= 1
    if sizes[k] == 0:
        clear_row(sums, k)
        if model.palette == 0:
            drop_cluster(chain, k)
            k = c.n_clusters[0]
    else:
        for d in range(sums.shape[1]):
            sums[k, d] -= points[n, d]
    c.holder[0] = k


@inner
def add_to_row(model, chain, n, k):
    """Add point n to the size and the sums of cluster k."""
    points, sums = model.points, chain.sums
    chain.sizes[k] += 1
    if len(model.kinds) > 0:
        chain.kinds[k] = model.kinds[n]
    for d in range(sums.shape[1]):
        sums[k, d] += points[n, d]


@inner
def put_in(model, hooks, chain, n, k):
    """Put point n into cluster k, which may be the new one."""
    c = chain
    c.labels[n] = k
    add_to_row(model, chain, n, k)
    if hooks.keeps:
        move_kept(model, hooks, chain, n, k)
    if model.palette == 0 and k == c.n_clusters[0]:
        c.n_clusters[0] += 1


# --- what targets keep for their clusters ----------------------------------------------------------------------------


@outline
def move_kept(model, hooks, chain, n, k):
    """Tell the target that point n, at hand until now, has left the row that holds it and is now in cluster k."""
    c = chain
    holder = c.holder[0]
    c.holder[0] = -1
    if holder == k:
        return
    if holder >= 0 and hooks.leave(model, chain, holder, n) and c.sizes[holder] > 0:
        keep_anew(model, hooks, chain, holder)
    enter_kept(model, hooks, chain, n, k)


@inner
def let_go(model, hooks, chain, n):
    """Tell the target that point n, which was taken out, has left the row that holds it, and is in no other."""
    c = chain
    holder = c.holder[0]
    c.holder[0] = -1
    if hooks.keeps and hooks.leave(model, chain, holder, n) and c.sizes[holder] > 0:
        keep_anew(model, hooks, chain, holder)


@outline
def enter_kept(model, hooks, chain, n, k):
    """Tell the target that point n is in cluster k now, the size of which includes it."""
    if chain.sizes[k] == 1:
        hooks.begin(model, chain, k)
    hooks.enter(model, chain, k, n)


@outline
def keep_anew(model, hooks, chain, k):
    """Let the target build anew what it keeps for cluster k, from its members."""
    c = chain
    c.sizes[k] = 0
    for n in range(len(c.labels)):
        if c.labels[n] == k:
            c.sizes[k] += 1
            enter_kept(model, hooks, chain, n, k)


@inner
def copy_kept(source, row, destination, k):
    """Copy what is kept for a row of one chain to row k of another."""
    a, b = source.kept, destination.kept
    here, there = source.slots[row], destination.slots[k]
    for d in range(a.shape[1]):
        b[there, d] = a[here, d]


# --- whole chains ----------------------------------------------------------------------------------------------------


@outline
def drop_cluster(chain, k):
    """Remove the empty cluster k; later ones move down by one, and its slot becomes the first free one."""
    c = chain
    last = c.n_clusters[0] - 1
    slot = c.slots[k]
    for row in range(k, last):
        c.sizes[row] = c.sizes[row + 1]
        c.kinds[row] = c.kinds[row + 1]
        c.slots[row] = c.slots[row + 1]
        c.rows[c.slots[row]] = row
        for d in range(c.sums.shape[1]):
            c.sums[row, d] = c.sums[row + 1, d]
    c.sizes[last] = 0
    c.slots[last] = slot
    c.rows[slot] = last
    clear_row(c.sums, last)
    c.n_clusters[0] = last
    if k < last:
        labels = c.labels
        for n in range(len(labels)):
            labels[n] -= labels[n] > k


@outline
def rebuild(model, hooks, chain):
    """Add up sizes, sums and what the target keeps anew from the labels.

    What is counted between clusters depends on the labels of other points: it must not be counted from both ends. So
    all points are in no cluster at first (their labels, negative, still tell which), and join one after another.
    """
    c = chain
    set_all(c.sizes, len(c.sizes), 0)
    for k in range(c.sums.shape[0]):
        clear_row(c.sums, k)
    c.holder[0] = -1
    counts = model.counts_between > 0
    if counts:
        for slot in range(c.between.shape[0]):
            clear_row(c.between, slot)
        for n in range(len(c.labels)):
            c.labels[n] = -2 - c.labels[n]
    for n in range(len(c.labels)):
        k = c.labels[n]
        if counts:
            k = -2 - k
            c.labels[n] = k
        if k >= 0:
            add_to_row(model, chain, n, k)
            if hooks.keeps:
                enter_kept(model, hooks, chain, n, k)
    c.age[0] = 0


@outline
def reset(model, hooks, chain, labels):
    """Put a chain at the partition `labels`, in canonical numbering; negative for points in no cluster."""
    c = chain
    n_clusters = 0
    for n in range(len(labels)):
        c.labels[n] = max(labels[n], -1)
        n_clusters = max(n_clusters, labels[n] + 1)
    c.n_clusters[0] = model.palette if model.palette > 0 else n_clusters
    for k in range(len(c.slots)):
        c.slots[k] = c.rows[k] = k
    rebuild(model, hooks, chain)


@inner
def copy_array(source, destination):
    """Copy numbers; slices of two arrays would ask for memory, which kernels cannot have."""
    for i in range(len(source)):
        destination[i] = source[i]


@outline
def copy_chain(source, destination):
    """Copy a chain to one of the same capacity."""
    a, b = source, destination
    copy_array(a.labels, b.labels)
    copy_array(a.sizes, b.sizes)
    copy_array(a.weights, b.weights)
    copy_array(a.total, b.total)
    copy_array(a.slots, b.slots)
    copy_array(a.rows, b.rows)
    copy_array(a.n_clusters, b.n_clusters)
    copy_array(a.age, b.age)
    copy_array(a.holder, b.holder)
    copy_array(a.kinds, b.kinds)
    for k in range(a.sums.shape[0]):
        for d in range(a.sums.shape[1]):
            b.sums[k, d] = a.sums[k, d]
    if a.kept.shape[1] > 0:
        for k in range(a.n_clusters[0] + 1):  # the new cluster's row too: it may hold the point at hand
            copy_kept(source, k, destination, k)
    for k in range(a.between.shape[0]):
        for other in range(a.between.shape[1]):
            b.between[k, other] = a.between[k, other]


@inner
def rebuild_if_due(model, hooks, chain):
    """Count a finished sweep, and rebuild the sums every so many."""
    age = chain.age
    age[0] += 1
    if age[0] >= SWEEPS_BETWEEN_REBUILDS:
        rebuild(model, hooks, chain)


@inner
def choices(model, chain):
    """Return how many choices a point that is in no cluster has."""
    palette = model.palette
    return palette if palette > 0 else chain.n_clusters[0] + 1


@inner
def has_room(model, chain):
    """Tell whether the chain has a row left for a new cluster, and one more.

    That one is for functionals, which may weigh a new cluster after the sweep: `predictive_density` does.
    """
    return model.palette > 0 or chain.n_clusters[0] + 1 < len(chain.sizes)


@inner
def n_occupied(chain):
    """Return the number of clusters that are not empty; labels of a palette may be."""
    sizes = chain.sizes
    count = 0
    for k in range(chain.n_clusters[0]):
        count += sizes[k] > 0
    return count
