"""Pictures of results. Each function draws into the axes that it is given, or into new ones, and returns them.

Colours are those of `copartition.view.palette`. Lines differ in dashes and bands in shade as well as in colour, so that
all can be read in grey.
"""

from copartition.view.networks import adjacency, network
from copartition.view.palette import ACCENT, INK, MUTED, plain_numbers
from copartition.view.plots.natural import natural
from copartition.view.plots.of_clusterings import clusters, profile
from copartition.view.plots.of_clusters import certainty, cluster_matrix, co_clustering, memberships
from copartition.view.plots.of_distributions import density, density_in_the_plane, evidence, hyperparameters, n_clusters
from copartition.view.plots.of_pairs import meeting_times, traces, tuned, tv_bound
from copartition.view.plots.of_replicates import bars, chains, means, running, values

__all__ = [
    "ACCENT",
    "INK",
    "MUTED",
    "adjacency",
    "bars",
    "certainty",
    "chains",
    "cluster_matrix",
    "clusters",
    "co_clustering",
    "density",
    "density_in_the_plane",
    "evidence",
    "hyperparameters",
    "means",
    "meeting_times",
    "memberships",
    "n_clusters",
    "natural",
    "network",
    "plain_numbers",
    "profile",
    "running",
    "traces",
    "tuned",
    "tv_bound",
    "values",
]
