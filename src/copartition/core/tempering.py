"""Chains whose target is made flatter: the density of the data to a power `beta`, times the prior.

With beta = 1 that is the target itself, with beta = 0 the prior. In between modes are closer to each other, and chains
go from one to another that never would at beta = 1. Parallel tempering runs one chain at each of several powers, and
lets neighbours exchange their partitions with probability

    min(1, exp((beta_i - beta_j) (l_j - l_i))),     l the log density of the data given a partition, prior aside,

which leaves the product of all these distributions as it is. `make_weighed_steps` gives l for targets that are
exchangeable: the density of a cluster is the product of those of its points, each given the ones that joined before it.

The power is a part of the model (``Model.power``), and so is the prior of unknown hyperparameters, which is not
tempered: a tempered chain makes the steps of any other.
"""

from __future__ import annotations

from copartition.core.clusters import clear_row
from copartition.core.compiling import kernel, outline
from copartition.core.random import uniform
from copartition.core.split_merge import grow
from copartition.core.state import STEPS, Chain, Hooks, Model, Stepper
from copartition.core.steps import last_step, step_alone
from copartition.core.types import DONE, PAUSED, float64, int1, int64, uint1


@outline
def log_density_of_cluster(model, hooks, chain, k):
    """Return the log density of the points of cluster k, which grows point by point at the side of the chain."""
    labels, side = chain.labels, chain.side
    side.sizes[0] = 0
    clear_row(side.sums, 0)
    total = 0.0
    for n in range(len(labels)):
        if labels[n] == k:
            hooks.log_predictive(model, side, 1, n)
            total += side.weights[0]
            grow(model, hooks, side, n, 0, hooks.keeps)
    return total


@outline
def log_density_of_clusters(model, hooks, chain):
    """Return the log density of all points given their clusters, prior and constants aside."""
    total = 0.0
    for k in range(chain.n_clusters[0]):
        total += log_density_of_cluster(model, hooks, chain, k)
    return total


@kernel(int64(Model, Hooks, Chain, Stepper, uint1, int1, int64))
def make_weighed_steps(model, hooks, chain, stepper, random, progress, steps):
    """Go on with one chain until it has finished `steps` steps, then leave its log density in ``side.total``.

    That is the log density of the data given the partition, prior aside. Returns a status. Changed in place: `chain`,
    the state of the random numbers `random`, and `progress`.
    """
    end = last_step(len(chain.labels), progress, steps)
    while progress[STEPS] < end:
        status = step_alone(model, hooks, chain, stepper, random, progress)
        if status != DONE:
            return status
    if end < steps:
        return PAUSED
    chain.side.total[0] = log_density_of_clusters(model, hooks, chain)
    return DONE


@kernel(float64(uint1))
def draw_uniform(random):
    """Return a number from [0, 1), and advance `random` in place: that of a swap."""
    return uniform(random)
