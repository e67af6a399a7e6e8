"""Uniformly random proper colourings of a graph, as a law on partitions of its vertices.

With q colours a partition without an edge inside a cluster stands for q! / (q - number of clusters)! colourings, so
that is its weight. The chain carries the colours themselves: they are a fixed palette of q labels, a vertex may take
each colour that no neighbour has, and all of these are equally likely. Summed over the colours that nobody uses, this
is the conditional law on partitions: weight 1 for every admissible cluster, q - number of clusters for a new one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.partition import canonical
from copartition.targets.base import Target, log_predictive
from copartition.validation import integer, shorten


@log_predictive
def uniform_coloring(model, chain, n_choices, n):
    """Log weight 0 for colours that no neighbour of vertex n has, minus infinity for the others.

    ``integers`` holds, for each vertex, where its neighbours begin in the same array, and then the neighbours.
    """
    neighbors = model[0].integers
    labels, weights = chain[0].labels, chain[0].weights
    for k in range(n_choices):
        weights[k] = 0.0
    for position in range(neighbors[n], neighbors[n + 1]):
        label = labels[neighbors[position]]
        if label >= 0:
            weights[label] = -np.inf


class GraphColoring(Target):
    """The uniform law over proper colourings of a graph, as partitions of its vertices.

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

    Examples
    --------
    >>> import copartition as cp
    >>> square = cp.GraphColoring([(0, 1), (1, 2), (2, 3), (3, 0)], colors=3)
    >>> cp.conditional(square, [0, 1, 0, 1], n=3).round(3)  # with 0 and 2: no; with 1: one colour; alone: one colour
    array([0. , 0.5, 0.5])
    """

    default_start = "greedy"

    def __init__(self, graph: Any, colors: int, *, n_vertices: int | None = None, start: Any = None) -> None:
        edges, count = _edges_of(graph, n_vertices)
        self.names = [str(node) for node in graph.nodes] if hasattr(graph, "nodes") else None
        self.colors = integer("colors", colors, 1)
        self.edges = _check_edges(edges, count)
        neighbors = _neighbors(self.edges, count)
        super().__init__(np.zeros((count, 0)), uniform_coloring, integers=neighbors, palette=self.colors)
        if start is None:
            self._start = _greedy_start(neighbors, count, self.colors)
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


def _edges_of(graph: Any, n_vertices: int | None) -> tuple[np.ndarray, int]:
    """Return the edges of a graph in any of the accepted forms, and its number of vertices."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        if graph.is_directed():
            raise ValueError(
                f"graph must be undirected, got {shorten(graph)}; graph.to_undirected() forgets the directions."
            )
        number = {node: i for i, node in enumerate(graph.nodes)}
        if n_vertices is not None and n_vertices != len(number):
            raise ValueError(f"n_vertices goes with a list of edges; the graph has {len(number)}, got {n_vertices}.")
        edges = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
        return edges, len(number)
    if hasattr(graph, "tocoo"):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            raise ValueError(f"graph must be a square adjacency matrix, got shape {graph.shape}.")
        if n_vertices is not None and n_vertices != graph.shape[0]:
            raise ValueError(f"n_vertices goes with a list of edges; the graph has {graph.shape[0]}, got {n_vertices}.")
        entries = graph.tocoo()
        present = entries.data != 0
        edges = np.column_stack([entries.row[present], entries.col[present]]).astype(np.int64)
        _check_undirected(edges)
        return edges, graph.shape[0]
    edges = np.asarray(graph)
    if edges.size == 0:
        edges = np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise TypeError(
            "graph must be a networkx graph, a SciPy sparse adjacency matrix or an integer array (n_edges, 2), got "
            f"{shorten(graph)}."
        )
    named = int(edges.max(initial=-1)) + 1
    count = named if n_vertices is None else integer("n_vertices", n_vertices, named)
    return edges.astype(np.int64), count


def _check_undirected(edges: np.ndarray) -> None:
    """Refuse an adjacency matrix that is neither symmetric nor a triangle, which has each edge once."""
    upwards = edges[:, 0] < edges[:, 1]
    if upwards.all() or not upwards.any():
        return
    there = {tuple(edge) for edge in edges.tolist()}
    one_way = next((edge for edge in edges.tolist() if (edge[1], edge[0]) not in there), None)
    if one_way is not None:
        raise ValueError(
            f"graph must be a symmetric adjacency matrix, or a triangle of it, got an edge from {one_way[0]} to "
            f"{one_way[1]} and none back; graph + graph.T forgets the directions."
        )


def _check_edges(edges: np.ndarray, n_vertices: int) -> np.ndarray:
    """Return each edge once, its smaller vertex first."""
    if n_vertices == 0:
        raise ValueError("graph must have at least one vertex, got none.")
    if np.any(edges < 0):
        raise ValueError(f"graph must name vertices 0, 1, ..., got vertex {edges.min()}.")
    loops = edges[edges[:, 0] == edges[:, 1], 0]
    if loops.size:
        raise ValueError(f"graph must have no self-loops, got one at vertex {loops[0]}.")
    return np.unique(np.sort(edges, axis=1), axis=0)


def _neighbors(edges: np.ndarray, n_vertices: int) -> np.ndarray:
    """Return, in one array, where each vertex's neighbours begin (``n_vertices + 1`` numbers) and the neighbours."""
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    degrees = np.bincount(both[:, 0], minlength=n_vertices)
    begin = n_vertices + 1 + np.concatenate([[0], np.cumsum(degrees)])
    return np.concatenate([begin, both[:, 1]]).astype(np.int64)


def _greedy_start(neighbors: np.ndarray, n_vertices: int, colors: int) -> np.ndarray:
    """Colour the vertices greedily in their order, or, if that takes too many colours, by falling degree."""
    by_degree = np.argsort(-np.diff(neighbors[: n_vertices + 1]), kind="stable")
    needed = n_vertices
    for order in (np.arange(n_vertices), by_degree):
        labels = _greedy(neighbors, order)
        needed = min(needed, int(labels.max()) + 1)
        if needed <= colors:
            return canonical(labels)
    raise ValueError(
        f"colors must be at least {needed}, which a greedy colouring of this graph needs, got {colors}; if a "
        "colouring with fewer exists, pass one as start."
    )


def _greedy(neighbors: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Give each vertex in turn the first colour that no neighbour has."""
    labels = np.full(len(order), -1, dtype=np.int64)
    for n in order:
        taken = set(labels[neighbors[neighbors[n] : neighbors[n + 1]]].tolist())
        labels[n] = next(color for color in range(len(order)) if color not in taken)
    return labels
