"""Chains whose target is made flatter: the density of the data to a power `beta`, times the prior.

With beta = 1 that is the target itself, with beta = 0 the prior. In between modes are closer to each other, and chains
go from one to another that never would at beta = 1. Parallel tempering runs one chain at each of several powers, and
lets neighbours exchange their partitions with probability

    min(1, exp((beta_i - beta_j) (l_j - l_i))),     l the log density of the data given a partition, prior aside,

which leaves the product of all these laws as it is. `make_weighed_steps` gives l for targets that are exchangeable: the
density of a cluster is the product of those of its points, each given the ones that joined before it.

The power is a part of the model (``Model.power``), and so is the prior of unknown numbers, which is not tempered: a
tempered chain makes the steps of any other.
"""

from __future__ import annotations

from numba import types

from copartition.core.clusters import clear_row
from copartition.core.compiling import kernel, outline, reference
from copartition.core.random import uniform
from copartition.core.split_merge import grow
from copartition.core.state import STEPS, Chain, Law, Model, Stepper
from copartition.core.status import DONE
from copartition.core.types import int1, type_of, uint1

model_type, law_type, chain_type, stepper_type = (type_of(one) for one in (Model, Law, Chain, Stepper))


@outline
def log_density_of_cluster(model, law, chain, side, k):
    """Return the log density of the points of cluster k, which grows point by point in the first row of `side`."""
    labels, s = chain[0].labels, side[0]
    s.sizes[0] = 0
    clear_row(s.sums, 0)
    total = 0.0
    for n in range(len(labels)):
        if labels[n] == k:
            law[0].log_predictive(model, side, 1, n)
            total += s.weights[0]
            grow(model, law, side, n, 0, law[0].keeps)
    return total


@kernel(types.int64(model_type, law_type, chain_type, stepper_type, uint1, int1, chain_type, types.int64))
def make_weighed_steps(model, law, chain, stepper, random, progress, side, steps):
    """Go on with one chain until it has finished `steps` steps, then leave its log density in ``side.total``.

    That is the log density of the data given the partition, prior aside. Returns a status. Changed in place: `chain`,
    the state of the random numbers `random`, `progress`, and `side`, a chain with room for a cluster, whose points are
    all in none.
    """
    m, functions, c, moves = reference(model), reference(law), reference(chain), reference(stepper.moves)
    while progress[STEPS] < steps:
        status = stepper.alone(m, functions, c, moves, random, progress)
        if status != DONE:
            return status
    s = reference(side)
    total = 0.0
    for k in range(chain.n_clusters[0]):
        total += log_density_of_cluster(m, functions, c, s, k)
    side.total[0] = total
    return DONE


@kernel(types.float64(uint1))
def draw_uniform(random):
    """Return a number from [0, 1), and advance `random` in place: that of a swap."""
    return uniform(random)
