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
from copartition.functionals.networks import block_matrix, edge_probability
from copartition.functionals.of_model import concentration, hyperparameters, log_likelihood, n_components
from copartition.functionals.pairs import co_clustering, nearest_pairs
from copartition.functionals.reference import cluster_similarity, distance_to, memberships

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
