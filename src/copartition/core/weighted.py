"""Sums of a functional over given partitions, each with its weight: what was kept of a run, asked afterwards."""

from __future__ import annotations

from copartition.core.clusters import copy_array, reset
from copartition.core.compiling import kernel
from copartition.core.hyperparameters import renew_all
from copartition.core.state import Chain, Hooks, Model, functional_signature
from copartition.core.types import Float1, Float2, Function, Int1, Int2, State, float1, float2, void


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
