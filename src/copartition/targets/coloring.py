"""Uniformly random proper colourings of a graph, as a distribution on partitions of its vertices.

With q colours a partition without an edge inside a cluster stands for q! / (q - number of clusters)! colourings, so
that is its weight. The chain carries the colours themselves: they are a fixed palette of q labels, a vertex may take
each colour that no neighbour has, and all of these are equally likely. Summed over the colours that nobody uses, this
is the conditional distribution on partitions: weight 1 for every admissible cluster, q - number of clusters for a new
one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.partition import canonical
from copartition.targets.base import Target
from copartition.targets.graphs import graph_of, names_of, neighbours_of, of_vertices
from copartition.targets.hooks import log_predictive
from copartition.validation import integer


@log_predictive
def uniform_coloring(model, chain, n_choices, n):
    """Log weight 0 for colours that no neighbour of vertex n has, minus infinity for the others.

    ``integers`` holds, for each vertex, where its neighbours begin in the same array, and then the neighbours.
    """
    neighbors = model.integers
    labels, weights = chain.labels, chain.weights
    for k in range(n_choices):
        weights[k] = 0.0
    for position in range(neighbors[n], neighbors[n + 1]):
        label = labels[neighbors[position]]
        if label >= 0:
            weights[label] = -np.inf


class GraphColoring(Target):
    """The uniform distribution over proper colourings of a graph, as partitions of its vertices.

    Parameters
    ----------
    graph : networkx.Graph, SciPy sparse matrix or array (n_edges, 2)
        An undirected graph without loops: as a graph (vertices are numbered in the order of ``graph.nodes``, and
        keep their names), as a symmetric adjacency matrix or a triangle of it, or as a list of edges between vertices
        0, 1, ...
    colors : int
        Number of colours.
    n_vertices : int, optional
        With a list of edges: the number of vertices, if some beyond the last one named have no edge.
    start : array of int, optional
        A proper colouring to start from where the greedy one needs more colours than there are.
    known : array of int, mapping or str, optional
        Colours that are known: one for each vertex, negative where it is not; a mapping from nodes; or the name of an
        attribute of networkx' nodes. Vertices with the same one have the same colour, whichever it is.

    Examples
    --------
    >>> import copartition as cp
    >>> square = cp.GraphColoring([(0, 1), (1, 2), (2, 3), (3, 0)], colors=3)
    >>> cp.kernels.conditional(square, [0, 1, 0, 1], n=3).round(3)  # not with 0 and 2; with 1, or alone
    array([0. , 0.5, 0.5])
    """

    default_start = "greedy"

    def __init__(
        self, graph: Any, colors: int, *, n_vertices: int | None = None, start: Any = None, known: Any = None
    ) -> None:
        joined = graph_of(graph, n_vertices, weight=False)
        count = joined.n_vertices
        if joined.loops.any():
            raise ValueError(f"graph must have no self-loops, got one at vertex {np.flatnonzero(joined.loops)[0]}.")
        self.names = names_of(joined)
        self.colors = integer("colors", colors, 1)
        self.edges = joined.edges
        begin, others, _ = neighbours_of(joined)
        neighbors = np.concatenate([begin + count + 1, others])
        super().__init__(
            np.zeros((count, 0)),
            uniform_coloring,
            integers=neighbors,
            palette=self.colors,
            known=of_vertices("known", known, graph, -1),
        )
        if start is None:
            self._start = self.check_labels(_greedy_start(neighbors, self.constraint.labels, self.colors), "start")
        else:
            self._start = self.check_labels(start, "start")

    def check_labels(self, labels: Any, name: str = "labels") -> np.ndarray:
        """Return `labels` in canonical numbering if they are a proper colouring with the colours at hand."""
        clean = super().check_labels(labels, name)
        clash = np.flatnonzero(clean[self.edges[:, 0]] == clean[self.edges[:, 1]])
        if clash.size:
            a, b = self.edges[clash[0]]
            raise ValueError(
                f"{name} must be a proper colouring, but vertices {a} and {b} are joined and share a label."
            )
        return clean

    @property
    def starts(self) -> tuple[str, ...]:
        """The names of its starts that involve no chance."""
        return (*super().starts, "greedy")

    def start_labels(self, name: str) -> np.ndarray | None:
        """Return the labels of a start; ``"greedy"`` is the greedy colouring, or the one given as `start`."""
        return self._start if name == "greedy" else super().start_labels(name)

    def assumptions(self) -> list[str]:
        """Return what the model assumes, in words."""
        return [
            f"All proper colourings of the graph, {self.n_points} vertices and {len(self.edges)} edges, with "
            f"{self.colors} colours (colors) are equally likely."
        ]

    def __repr__(self) -> str:
        return f"GraphColoring({self.n_points} vertices, {len(self.edges)} edges, colors={self.colors})"


def _greedy_start(neighbors: np.ndarray, known: np.ndarray, colors: int) -> np.ndarray:
    """Colour the vertices greedily in their order, or, if that takes too many colours, by falling degree."""
    n_vertices = len(known)
    by_degree = np.argsort(-np.diff(neighbors[: n_vertices + 1]), kind="stable")
    needed = n_vertices
    for order in (np.arange(n_vertices), by_degree):
        labels = _greedy(neighbors, order, known)
        needed = min(needed, int(labels.max()) + 1)
        if needed <= colors:
            return canonical(labels)
    raise ValueError(
        f"colors must be at least {needed}, which a greedy colouring of this graph needs, got {colors}; if a "
        "colouring with fewer exists, pass one as start."
    )


def _greedy(neighbors: np.ndarray, order: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Give each vertex in turn, but those whose colour is known, the first colour that no neighbour has."""
    labels = known.copy()
    for n in order:
        if known[n] < 0:
            taken = set(labels[neighbors[neighbors[n] : neighbors[n + 1]]].tolist())
            labels[n] = next(color for color in range(len(order)) if color not in taken)
    return labels
