"""From a table to an answer: which clusters, how sure, what distinguishes them, where a new row goes."""

from copartition.clustering.answer import Clustering
from copartition.clustering.call import cluster

__all__ = ["Clustering", "cluster"]
