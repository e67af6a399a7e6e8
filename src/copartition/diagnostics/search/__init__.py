"""The search for the clustering of least expected loss, compiled.

It is that of Dahl, Johnson and Mueller (2022): place points one by one, in a random order, each where the loss grows
least; then move points, merge clusters and split clusters as long as anything helps. The loss is computed from the
probabilities that points are together (`from_similarity`), or from clusterings that were drawn (`from_draws`).

The files, in the order in which to read them: `state` says what the search knows of a loss and of a clustering, and how
a clustering changes; `climb` is the search itself, of a few points over all partitions; `similarity` and `draws` have
the losses.
"""

from copartition.diagnostics.search.draws import from_draws
from copartition.diagnostics.search.similarity import from_similarity

__all__ = ["from_draws", "from_similarity"]
