"""Which points lie near each other, by the distribution itself: those that predict each other best.

Point i is near n if the density of n in a cluster that holds i alone is large. That is a distance in the units of the
model: it knows the noise of every column, categories, missing cells, and any distribution that a user writes. It is
computed once, from data and distribution only, before any chain starts.
"""

from __future__ import annotations

import numpy as np

from copartition.core.compiling import inner, kernel
from copartition.core.split_merge import grow
from copartition.core.state import Chain, Hooks, Model
from copartition.core.types import float1, int1, narrow2, void


@inner
def insert(values, names, count, value, name):
    """Insert a number into a list that is sorted, the largest first, and drop the last where it is full.

    Returns how many are in the list. Of equal ones the first stays first.
    """
    if count == len(values):
        if not value > values[count - 1]:
            return count
        count -= 1
    place = count
    while place > 0 and value > values[place - 1]:
        values[place] = values[place - 1]
        names[place] = names[place - 1]
        place -= 1
    values[place] = value
    names[place] = name
    return count + 1


@kernel(void(Model, Hooks, Chain, int1, int1, float1, narrow2))
def rank_neighbours(model, hooks, chain, points, candidates, values, nearest):
    """Write the candidates that are nearest to each point into a row of `nearest`, the nearest first.

    `chain` has a row for each candidate and one more, all of them empty; `values` is scratch, as long as the rows of
    `nearest`, which hold -1 where there are not so many.
    """
    for k in range(len(candidates)):
        grow(model, hooks, chain, candidates[k], k, hooks.keeps)
    for line in range(len(points)):
        n = points[line]
        names = nearest[line]
        hooks.log_predictive(model, chain, len(candidates), n)
        count = 0
        for k in range(len(candidates)):
            if candidates[k] != n and chain.weights[k] == chain.weights[k]:
                count = insert(values, names, count, chain.weights[k], np.int32(candidates[k]))
        for place in range(count, len(names)):
            names[place] = np.int32(-1)
