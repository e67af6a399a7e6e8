"""What is estimated: functions h of a partition, with one or more components.

A functional is a compiled function ``evaluate(model, chain, hooks, parameters, out)`` that reads a chain and
writes the value of h to `out`; it is handed to the kernels like targets and couplings are. `functional` wraps any
Python function.
"""

from copartition.functionals.base import Functional, evaluation, functional
from copartition.functionals.clusters import (
    cluster_sizes_histogram,
    largest_clusters,
    n_clusters,
)
from copartition.functionals.density import predictive_density
from copartition.functionals.distance import distance_to
from copartition.functionals.hyperparameters import hyperparameters
from copartition.functionals.likelihood import log_likelihood
from copartition.functionals.memberships import cluster_similarity, memberships
from copartition.functionals.networks import block_matrix, edge_probability
from copartition.functionals.pairs import co_clustering, nearest_pairs
from copartition.functionals.prior import concentration, n_components

__all__ = [
    "Functional",
    "block_matrix",
    "cluster_similarity",
    "cluster_sizes_histogram",
    "co_clustering",
    "concentration",
    "distance_to",
    "edge_probability",
    "evaluation",
    "functional",
    "hyperparameters",
    "largest_clusters",
    "log_likelihood",
    "memberships",
    "n_clusters",
    "n_components",
    "nearest_pairs",
    "predictive_density",
]
