"""Clusterings that a replicate writes down on its way: all of them for a moment, or some of them for good.

A replicate is a signed measure on partitions: 1 / N on each of the N states that it averages over, w_t / N on X_t and
-w_t / N on Y_(t - L) of every correction. `Record` has all of them, until the replicate has ended, for functionals that
are counted then. `Atoms` are some, from which any expectation can be estimated later, without bias:

- Of the N states that are averaged, `averaged` many are kept, evenly spaced, from a random offset r in 0..N-1 on: the
  j-th is state floor((r + j N) / averaged). Over all r and j every state comes up equally often, so that each of them
  with weight 1 / averaged has the expectation of the whole average, and the weights sum to 1 whatever r is.
- Of the corrections every s-th is kept, with s times its weight, X_t and Y_(t - L) together, so that weights cancel
  exactly. s is 1 as long as there is room; whenever there is none, s doubles, and a random bit says which half of those
  that are there is dropped. Every correction is then kept with probability 1 / s, whatever the chains do.

The random numbers for it are of its own: no bit of a replicate depends on what is kept of it.

At the end of the file are the two uses: sums of a functional over weighted partitions, and how often each pair of
points was together. Written out after every sweep, all pairs of ten thousand points are fifty million numbers. So
clusterings are recorded as labels, and pairs are counted when the replicate has ended: a stretch of pairs at a time,
all clusterings at once, in scratch that stays in the cache. Sums over replicates are all that leaves it.
"""

from __future__ import annotations

import numpy as np

from copartition.core.clusters import copy_array, reset, set_all
from copartition.core.compiling import hook, inner, kernel, outline
from copartition.core.hyperparameters import renew_all
from copartition.core.random import uniform
from copartition.core.state import Chain, Hooks, Model, Pair, functional_signature
from copartition.core.types import (
    ATOMS_FULL,
    DONE,
    RECORD_FULL,
    Float1,
    Float2,
    Function,
    Int1,
    Int2,
    Narrow2,
    State,
    UInt2,
    UShort2,
    float1,
    float2,
    int64,
    narrow1,
    short1,
    void,
)


class Record(State):
    """The clusterings that a replicate averages over, and how often each counts: for what is worked out at its end.

    Attributes
    ----------
    points : int64 array (points)
        The points whose labels are recorded. Of length 0: there is no record.
    labels : uint16 array (lines, points)
    weights : int64 array (lines)
        How often each line counts; less than nothing for chains that are subtracted.
    written : int64 array (1)
        Number of lines written.
    """

    points: Int1
    labels: UShort2
    weights: Int1
    written: Int1


class Atoms(State):
    """Some atoms of the measures that the replicates of a batch are; those of one follow those of the one before.

    First come those of the average, `averaged` many, then corrections: X_t and Y_(t - L) of each.

    Attributes
    ----------
    averaged : int
        How many states of the average are kept of every replicate; 0: nothing is kept.
    states : int
        N, of how many.
    most : int
        Corrections of a replicate that are kept, at most.
    labels : int32 array (lines, points)
        In canonical numbering, unless labels have names of their own.
    hyperparameters : float64 array (lines, numbers)
        The unknown hyperparameters of the target.
    weights : int64 array (lines)
        Of corrections, w_t and -w_t; not set for states of the average.
    first : int64 array (replicates)
        The first line of each.
    corrections, strides : int64 arrays (replicates)
        How many corrections of each are kept, and s: it is every s-th.
    at : int64 array (1)
        Which replicate is at hand.
    passed, offset : int64 arrays (1)
        How many corrections have come by, and the first of those that are kept.
    random : uint64 array (replicates, 4)
        Random streams.
    shift : int64 array (1)
        r, by which the states of the average are shifted.
    renumbered : int64 array (points)
        Scratch.
    """

    averaged: int
    states: int
    most: int
    labels: Narrow2
    hyperparameters: Float2
    weights: Int1
    first: Int1
    corrections: Int1
    strides: Int1
    at: Int1
    passed: Int1
    offset: Int1
    random: UInt2
    shift: Int1
    renumbered: Int1


def no_atoms() -> Atoms:
    """Return what stands where nothing is kept."""
    none, rows = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    return Atoms(
        averaged=0,
        states=0,
        most=0,
        labels=rows.astype(np.int32),
        hyperparameters=rows,
        weights=none,
        first=none,
        corrections=none,
        strides=none,
        at=number(),
        passed=number(),
        offset=number(),
        random=rows.astype(np.uint64),
        shift=number(),
        renumbered=none,
    )


def new_record(points: np.ndarray, lines: int) -> Record:
    """Return an empty record of so many lines; of no points where there is none."""
    return Record(points, np.zeros((lines, len(points)), dtype=np.uint16), np.zeros(lines, dtype=np.int64), number())


def number() -> np.ndarray:
    """Return a number that kernels may change, 0 at first."""
    return np.zeros(1, dtype=np.int64)


# --- all of them -----------------------------------------------------------------------------------------------------


@inner
def write_down(record, labels, weight):
    """Add a clustering to a record, if it counts."""
    line = record.written[0]
    if weight != 0:
        for k in range(len(record.points)):
            record.labels[line, k] = labels[record.points[k]]
        record.weights[line] = weight
        record.written[0] += 1


@inner
def has_room_to_write(record):
    """Tell whether there are lines for both chains."""
    return record.written[0] + 2 <= len(record.weights)


@outline
def write_both(pair, record, weight, averaged):
    """Add the states of both chains to a record."""
    write_down(record, pair.x.labels, weight + 1 if averaged else weight)
    write_down(record, pair.y.labels, -weight)


# --- some of them ----------------------------------------------------------------------------------------------------


@outline
def keep_state(atoms, model, chain, line):
    """Write where a chain is into a line."""
    labels, renumbered = chain.labels, atoms.renumbered
    if model.palette > 0:  # labels have names of their own
        for n in range(len(labels)):
            atoms.labels[line, n] = labels[n]
    else:
        set_all(renumbered, chain.n_clusters[0], -1)
        clusters = 0
        for n in range(len(labels)):
            if renumbered[labels[n]] < 0:
                renumbered[labels[n]] = clusters
                clusters += 1
            atoms.labels[line, n] = renumbered[labels[n]]
    for j in range(atoms.hyperparameters.shape[1]):
        atoms.hyperparameters[line, j] = model.hyperparameters[j]


@inner
def copy_line(atoms, source, destination):
    """Copy what is kept in a line to another one."""
    copy_array(atoms.labels[source], atoms.labels[destination])
    copy_array(atoms.hyperparameters[source], atoms.hyperparameters[destination])
    atoms.weights[destination] = atoms.weights[source]


@outline
def drop_half(atoms, i):
    """Drop every second correction of replicate i, the even or the odd ones by a random bit: s doubles."""
    begin = atoms.first[i] + atoms.averaged
    bit = 1 if uniform(atoms.random[i]) < 0.5 else 0
    left = 0
    for q in range(bit, atoms.corrections[i], 2):
        if q != left:
            copy_line(atoms, begin + 2 * q, begin + 2 * left)
            copy_line(atoms, begin + 2 * q + 1, begin + 2 * left + 1)
        left += 1
    atoms.corrections[i] = left
    atoms.offset[0] += bit * atoms.strides[i]
    atoms.strides[i] *= 2


@outline
def has_room_to_keep(atoms, time, weight):
    """Tell whether there are lines for what may be kept now; at its first state a replicate is given its lines."""
    i, lines = atoms.at[0], len(atoms.weights)
    if time == 0:
        begin = 0 if i == 0 else atoms.first[i - 1] + atoms.averaged + 2 * atoms.corrections[i - 1]
        if begin + atoms.averaged > lines:
            return False
        atoms.first[i] = begin
        atoms.corrections[i] = atoms.passed[0] = atoms.offset[0] = 0
        atoms.strides[i] = 1
        atoms.shift[0] = int(uniform(atoms.random[i]) * atoms.states)
    return weight == 0 or atoms.first[i] + atoms.averaged + 2 * (atoms.corrections[i] + 1) <= lines


@outline
def keep_some(pair, atoms, time, weight, averaged):
    """Keep the states at a time since the burn-in, if it is their turn."""
    i = atoms.at[0]
    if averaged:
        # The j for which r + j N is in time * averaged, ..., (time + 1) * averaged - 1, if there is one.
        j = (time * atoms.averaged - atoms.shift[0] + atoms.states - 1) // atoms.states
        if atoms.shift[0] + j * atoms.states < (time + 1) * atoms.averaged:
            keep_state(atoms, pair.model_x, pair.x, atoms.first[i] + j)
    if weight == 0:
        return
    is_next = atoms.passed[0] % atoms.strides[i] == atoms.offset[0]
    if is_next and atoms.corrections[i] == atoms.most:
        drop_half(atoms, i)
        is_next = atoms.passed[0] % atoms.strides[i] == atoms.offset[0]
    if is_next:
        line = atoms.first[i] + atoms.averaged + 2 * atoms.corrections[i]
        keep_state(atoms, pair.model_x, pair.x, line)
        keep_state(atoms, pair.model_y, pair.y, line + 1)
        atoms.weights[line] = weight
        atoms.weights[line + 1] = -weight
        atoms.corrections[i] += 1
    atoms.passed[0] += 1


# --- what a kernel calls ---------------------------------------------------------------------------------------------

# note(pair, record, atoms, time since the burn-in, weight of the correction, whether it is averaged) -> status
note_signature = int64(Pair, Record, Atoms, int64, int64, int64)


@hook(note_signature)
def note_all(pair, record, atoms, time, weight, averaged):
    """Write all states to the record."""
    if not has_room_to_write(record):
        return RECORD_FULL
    write_both(pair, record, weight, averaged)
    return DONE


@hook(note_signature)
def note_some(pair, record, atoms, time, weight, averaged):
    """Keep some states."""
    if not has_room_to_keep(atoms, time, weight):
        return ATOMS_FULL
    keep_some(pair, atoms, time, weight, averaged)
    return DONE


@hook(note_signature)
def note_both(pair, record, atoms, time, weight, averaged):
    """Write all states to the record, and keep some."""
    if not has_room_to_write(record):  # before anything is drawn
        return RECORD_FULL
    if not has_room_to_keep(atoms, time, weight):
        return ATOMS_FULL
    write_both(pair, record, weight, averaged)
    keep_some(pair, atoms, time, weight, averaged)
    return DONE


class Weighted(State):
    """Partitions of some replicates.

    Attributes
    ----------
    labels : int64 array (partitions, points)
        In canonical numbering, or colours.
    hyperparameters : float64 array (partitions, numbers)
        Of the target, where they are unknown.
    weights : float64 array (partitions)
    first : int64 array (replicates + 1)
        Where those of each replicate begin, and, last, where all end.
    """

    labels: Int2
    hyperparameters: Float2
    weights: Float1
    first: Int1


@kernel(void(Model, Hooks, Chain, Function(functional_signature), float1, Weighted, float1, float2))
def sum_weighted(model, hooks, chain, evaluate, parameters, weighted, value, sums):
    """Add to the row of each replicate its partitions' values of a functional, times their weights.

    The chain is put at one partition after another, with numbers of its own; it must have room for all of their
    clusters. `value` is scratch.
    """
    first = weighted.first
    for r in range(len(first) - 1):
        for a in range(first[r], first[r + 1]):
            if weighted.hyperparameters.shape[1] > 0:
                copy_array(weighted.hyperparameters[a], model.hyperparameters)
                chain.n_clusters[0] = 0
                renew_all(model, hooks, chain)
            reset(model, hooks, chain, weighted.labels[a])
            evaluate(model, chain, hooks, parameters, value)
            for c in range(len(value)):
                sums[r, c] += weighted.weights[a] * value[c]


WIDTH = 1024  # pairs that are counted at a time


class Counting(State):
    """What is to be counted, and where it is added to.

    Attributes
    ----------
    labels : uint16 array (clusterings, points)
    weights : int64 array (clusterings)
        How often each counts; those that count once come first.
    once : int64 array (1)
        How many count once.
    totals, squares : int64 arrays (pairs)
        To which the count of each pair, and its square, are added.
    """

    labels: UShort2
    weights: Int1
    once: Int1
    totals: Int1
    squares: Int1


@inner
def count_stretch(labels, weights, once, i, begin, end, counts, weighted):
    """Count how often point i is with each of the points `begin` to ``end - 1``."""
    width = end - begin
    for j in range(width):
        counts[j] = 0
        weighted[j] = 0
    for t in range(once):
        label = labels[t, i]
        row = labels[t][begin:end]
        for j in range(width):
            counts[j] += row[j] == label
    for t in range(once, len(weights)):
        label = labels[t, i]
        weight = weights[t]
        row = labels[t][begin:end]
        for j in range(width):
            weighted[j] += weight if row[j] == label else 0


@kernel(void(Counting, int64, int64, narrow1, int64, short1, narrow1))
def count_pairs(counting, first, last, partial, goes_on, counts, weighted):
    """Count the pairs whose first point is `first` to ``last - 1`` and add them up.

    Pairs are numbered row by row. Where a replicate has more clusterings than are held at a time, what the earlier ones
    gave is in `partial` (of length 0 otherwise), and is added there again if the replicate `goes_on`.
    """
    labels, weights, once = counting.labels, counting.weights, counting.once[0]
    totals, squares = counting.totals, counting.squares
    n_points = labels.shape[1]
    for begin in range(first + 1, n_points, WIDTH):
        end = min(begin + WIDTH, n_points)
        for i in range(first, min(last, end - 1)):
            here = max(begin, i + 1)
            count_stretch(labels, weights, once, i, here, end, counts, weighted)
            place = i * n_points - i * (i + 1) // 2 + here - i - 1
            for j in range(end - here):
                count = counts[j] + weighted[j]
                if len(partial) > 0:
                    count += partial[place + j]
                if goes_on:
                    partial[place + j] = count
                else:
                    totals[place + j] += count
                    squares[place + j] += count * count
                    if len(partial) > 0:
                        partial[place + j] = 0
