"""What is expected of the edges of a network: between given vertices, and between the blocks of a given clustering."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.functionals.base import Functional, nothing
from copartition.partition import canonical
from copartition.validation import shorten


class EdgeProbability(Functional):
    """Expected edges between pairs of vertices; see `edge_probability`."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        self.pairs = pairs
        names = [f"edge[{a}, {b}]" for a, b in pairs]
        super().__init__("edge_probability", nothing, len(pairs), components=names, range=(0, 1))

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional that knows the distribution of the network's edges.

        Refuse nodes that it does not have.
        """
        kernel, _ = _kernels_of(target, self.name)
        number = {node: n for n, node in enumerate(target.nodes)}
        strangers = [node for pair in self.pairs for node in pair if node not in number]
        if strangers:
            raise ValueError(f"pairs must be of nodes of the network, got {strangers[0]!r}.")
        ends = np.array([[number[a], number[b]] for a, b in self.pairs]).T.ravel()
        parameters = np.concatenate([[target.edge_factor], ends])
        return target, Functional(self.name, kernel, self.size, parameters, about=self.about)


class BlockMatrix(Functional):
    """Expected edges between the clusters of a clustering; see `block_matrix`."""

    def __init__(self, labels: np.ndarray) -> None:
        self.labels = labels
        count = int(labels.max()) + 1
        names = [f"edges[block {a}, block {b}]" for a in range(count) for b in range(count)]
        about = {"clusters": count}
        super().__init__("block_matrix", nothing, count * count, components=names, about=about, picture="matrix")

    def bind(self, target: Any) -> tuple[Any, Functional]:
        """Return the functional that knows the distribution of the network's edges; refuse labels of other vertices."""
        _, kernel = _kernels_of(target, self.name)
        if len(self.labels) != target.n_points:
            raise ValueError(
                f"reference must have {target.n_points} labels, one a vertex, got {len(self.labels)} of them."
            )
        parameters = np.concatenate([[target.edge_factor], self.labels])
        return target, Functional(self.name, kernel, self.size, parameters, about=self.about)


def _kernels_of(target: Any, name: str) -> Any:
    kernels = getattr(target, "edge_kernels", None)
    if kernels is None:
        raise TypeError(f"{name} needs a target with edges, such as BlockModel, got {shorten(target)}.")
    return kernels


def edge_probability(pairs: Any) -> Functional:
    """Return the functional that tells how likely an edge is between pairs of vertices: link prediction.

    It is the posterior predictive mean: the expected number of edges between the two in a network that is drawn anew
    from the same blocks, parameters integrated out. Where edges are Bernoulli that is the probability of an edge; where
    they are Poisson it is a mean that may exceed 1, and for rare edges nearly their probability.

    Parameters
    ----------
    pairs : sequence of pairs
        Of nodes, as the graph calls them; numbers of vertices where it has no names. A pair of a node with itself asks
        for self-loops.

    Examples
    --------
    >>> import copartition as cp
    >>> triangles = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)], rate=2.0)
    >>> pairs = [(0, 1), (0, 4)]
    >>> how = {"replicates": 500, "burn_in": 10, "min_sweeps": 100, "lag": 10, "seed": 1}
    >>> e = cp.estimate(triangles, cp.functionals.edge_probability(pairs), **how)
    >>> bool(e.mean[0] > e.mean[1])
    True
    """
    try:
        listed = [(a, b) for a, b in (pairs.tolist() if isinstance(pairs, np.ndarray) else pairs)]
    except (TypeError, ValueError):
        raise ValueError(f"pairs must be one or more pairs of nodes, got {shorten(pairs)}.") from None
    if not listed:
        raise ValueError(f"pairs must be one or more pairs of nodes, got {shorten(pairs)}.")
    return EdgeProbability(listed)


def block_matrix(reference: Any) -> Functional:
    """Return the functional that tells how many edges are expected between the clusters of a given clustering.

    Component ``a * clusters + b`` is the posterior predictive mean of the number of edges between clusters a and b, or
    inside one, so ``mean.reshape(clusters, clusters)`` is a symmetric matrix whose diagonal and upper triangle add up
    to the expected number of all edges. Against what is observed, it is smoothed by what is known of all blocks.

    Parameters
    ----------
    reference : array of int (vertices)
        The clustering, for instance ``consensus(posterior).labels``. Clusters are numbered in the order of their first
        vertices.

    Examples
    --------
    >>> import copartition as cp
    >>> cp.functionals.block_matrix([0, 0, 0, 1, 1, 1])
    <functional block_matrix of size 4>
    """
    labels = np.asarray(reference)
    if labels.ndim != 1 or not len(labels) or labels.dtype.kind not in "iu":
        raise ValueError(f"reference must be an array of labels, one a vertex, got {shorten(reference)}.")
    return BlockMatrix(canonical(labels))
