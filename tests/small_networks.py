"""Block models of six vertices, each with its joint distribution written down independently."""

from __future__ import annotations

import math

import copartition as cp
import naive
import naive_networks

MULTIGRAPH = {(0, 1): 1, (0, 2): 2, (1, 2): 1, (2, 3): 1, (3, 4): 3, (4, 5): 1, (3, 5): 1, (1, 1): 1, (4, 4): 2}
SIMPLE = {(0, 1): 1, (0, 2): 1, (1, 2): 1, (2, 3): 1, (3, 4): 1, (4, 5): 1, (3, 5): 1}


def poisson(kind):
    """Poisson edges of a network with parallel edges and self-loops, under a Dirichlet process."""
    listed, counts = list(MULTIGRAPH), list(MULTIGRAPH.values())
    target = cp.BlockModel(
        listed, degree_corrected=kind == "corrected", rate=1.7, prior=cp.DirichletProcess(0.8), weight=counts
    )
    return target, naive_networks.Network(6, MULTIGRAPH, kind, rate=1.7, alpha=0.8), math.log


def bernoulli():
    """Bernoulli edges, under a Pitman-Yor process."""
    beta = (0.7, 1.4)
    target = cp.BlockModel(list(SIMPLE), edges="bernoulli", beta=beta, prior=cp.PitmanYor(0.8, 0.3))

    def log_prior(labels):
        return math.log(naive.process(labels, 0.8, 0.3))

    network = naive_networks.Network(6, SIMPLE, "bernoulli", beta=beta, log_prior=log_prior)
    return target, network, lambda size: math.log(size - 0.3)


SMALL = {
    "corrected": lambda: poisson("corrected"),
    "plain": lambda: poisson("plain"),
    "bernoulli": bernoulli,
}
