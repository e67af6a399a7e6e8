"""Points leave and join the clusters of a chain, and what is counted of clusters is kept up to date.

At the end is the conditional distribution of one point given the clusters of all others (Section 2.1 of the paper).
"""

from __future__ import annotations

import numpy as np

from copartition.core.compiling import inner, outline
from copartition.core.numerics import LOWEST, exp_nonpositive
from copartition.core.types import DONE, IMPOSSIBLE, INVALID

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


@inner
def add_log_prior(model, chain, n_choices):
    """Add the log prior weights to the log weights of all choices; return the largest, NaN if one is NaN."""
    m = model
    c = chain
    weights, sizes, log_size = c.weights, c.sizes, m.log_size
    existing = n_choices if m.palette > 0 else n_choices - 1
    top = -np.inf
    invalid = False
    for k in range(existing):
        weight = weights[k] + log_size[sizes[k]]
        weights[k] = weight
        top = max(top, weight)
        invalid |= weight != weight
    if existing < n_choices:
        weight = weights[existing] + m.log_new[min(existing, len(m.log_new) - 1)]
        weights[existing] = weight
        top = max(top, weight)
        invalid |= weight != weight
    return np.nan if invalid else top


@inner
def exponentiate(weights, n_choices, top):
    """Turn log weights, of which `top` is the largest, into weights, the largest of which is 1; return their sum.

    The sum is NaN if a log weight is NaN or plus infinity, and 0 if all are minus infinity.

    A choice whose weight is below the rounding error of the largest is left out: exp(-40) is a 25th of 2^-53. No
    uniform number could select it, and short supports are what makes the transport problems small.
    """
    if not top < np.inf:
        return np.nan
    if top == -np.inf:
        return 0.0
    total = 0.0
    for k in range(n_choices):
        below = weights[k] - top
        weight = exp_nonpositive(max(below, LOWEST))
        weight = weight if below > LOWEST else 0.0
        weights[k] = weight
        total += weight
    return total


@inner
def predict(model, hooks, chain, n_choices, n):
    """Leave the log predictive densities of point n in the weights, to the power at which the chain is tempered."""
    hooks.log_predictive(model, chain, n_choices, n)
    power = model.power[0]
    if power != 1.0:
        weights = chain.weights
        for k in range(n_choices):
            weights[k] *= power


@inner
def forbid(model, chain, n_choices, n):
    """Give the log weight minus infinity to clusters that point n must not join.

    These are clusters of points of another kind; and all but its own for a point whose cluster is known.
    """
    m, c = model, chain
    home = c.holder[0] if m.pinned[n] else -1
    for k in range(n_choices):
        if (home >= 0 and k != home) or (c.sizes[k] > 0 and c.kinds[k] != m.kinds[n]):
            c.weights[k] = -np.inf


@inner
def weigh(model, hooks, chain, n_choices, n):
    """Compute the conditional distribution of point n, which is in no cluster; return the sum of the weights."""
    weights = chain.weights
    for k in range(n_choices):
        weights[k] = np.nan  # so that a function that forgets a choice is found out
    predict(model, hooks, chain, n_choices, n)
    if len(model.pinned) > 0:
        forbid(model, chain, n_choices, n)
    return exponentiate(weights, n_choices, add_log_prior(model, chain, n_choices))


@inner
def weigh_both(pair, hooks, x, y, n):
    """Compute the conditional distributions of point n in two chains, the sums of their weights as totals.

    Return a status.
    """
    model_x, model_y = pair.model_x, pair.model_y
    x.total[0] = total_x = weigh(model_x, hooks, x, choices(model_x, x), n)
    y.total[0] = total_y = weigh(model_y, hooks, y, choices(model_y, y), n)
    if not total_x > 0.0:
        return refusal_of(total_x)
    if not total_y > 0.0:
        return refusal_of(total_y)
    return DONE


@inner
def refusal_of(total):
    """Return the status for a sum of weights that is no positive number."""
    return IMPOSSIBLE if total == 0.0 else INVALID
