"""Graphs as people have them: of networkx, as a sparse matrix, as a list of edges."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from copartition.validation import integer, integer_array, shorten

MOST_EDGES = 2**28  # a table of logs of factorials is of twice as many numbers
MANY = 200  # neighbours of a vertex over which paths are not followed
AT_ONCE = 1000  # vertices whose nearest are looked for at once


class Graph(NamedTuple):
    """An undirected graph.

    Attributes
    ----------
    edges : int64 array (edges, 2)
        Pairs of vertices that are joined, each once, in order, the smaller number first; self-loops too.
    multiplicities : int64 array (edges)
        How many edges join them.
    n_vertices : int
    nodes : list or None
        What vertices are called, where they have names.
    """

    edges: np.ndarray
    multiplicities: np.ndarray
    n_vertices: int
    nodes: list[Hashable] | None

    @property
    def degrees(self) -> np.ndarray:
        """The degree of each vertex, to which a self-loop adds two."""
        return np.bincount(self.edges.ravel(), np.repeat(self.multiplicities, 2), minlength=self.n_vertices).astype(
            np.int64
        )

    @property
    def loops(self) -> np.ndarray:
        """The number of self-loops of each vertex."""
        at = self.edges[:, 0] == self.edges[:, 1]
        return np.bincount(self.edges[at, 0], self.multiplicities[at], minlength=self.n_vertices).astype(np.int64)


def graph_of(graph: Any, n_vertices: int | None = None, weight: Any = None) -> Graph:
    """Return a graph in any of the accepted forms.

    Parameters
    ----------
    graph : networkx.Graph, SciPy sparse matrix or array (n_edges, 2)
    n_vertices : int, optional
        With a list of edges.
    weight : str, bool or array of int, optional
        How many edges an edge stands for: the name of an attribute of networkx' edges, a number for each edge of a
        list, or, for a matrix, whether its entries say so. Left out, one.
    """
    nodes = None
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        edges, counts, count = _of_networkx(graph, n_vertices, weight)
        nodes = list(graph.nodes)
    elif hasattr(graph, "tocoo"):
        edges, counts, count = _of_matrix(graph, n_vertices, weight)
    else:
        edges, counts, count = _of_list(graph, n_vertices, weight)
    if count == 0:
        raise ValueError("graph must have at least one vertex, got none.")
    if np.any(edges < 0):
        raise ValueError(f"graph must name vertices 0, 1, ..., got vertex {edges.min()}.")
    if np.any(counts < 0):
        raise ValueError(f"weight must be 0, 1, 2, ... for every edge, got {counts.min()}.")
    if counts.sum() > MOST_EDGES:
        raise ValueError(f"graph must have at most {MOST_EDGES:,} edges, got {counts.sum():,}.")
    return Graph(*_each_once(edges[counts > 0], counts[counts > 0], count), count, nodes)


def names_of(graph: Graph) -> list[str | int] | None:
    """Return what vertices are called, as a file can keep it: words and whole numbers; None if they have no names."""
    if graph.nodes is None:
        return None
    whole = (int, np.integer)  # not bool, which is an int
    return [int(node) if isinstance(node, whole) and not isinstance(node, bool) else str(node) for node in graph.nodes]


def neighbours_of(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where each vertex's neighbours begin (``n_vertices + 1`` numbers), these, and how many edges lead to each.

    Self-loops are left out.
    """
    apart = graph.edges[:, 0] != graph.edges[:, 1]
    edges, counts = graph.edges[apart], graph.multiplicities[apart]
    ends, others = np.concatenate([edges, edges[:, ::-1]]).T
    order = np.argsort(ends * graph.n_vertices + others, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=graph.n_vertices))])
    return begin.astype(np.int64), others[order], np.concatenate([counts, counts])[order]


def nearest_vertices(graph: Graph, points: np.ndarray, candidates: np.ndarray, width: int) -> np.ndarray:
    """Return the candidates that are nearest to each of some vertices, the nearest first, -1 where there are no more.

    Near are those that more paths of one or two edges lead to than degrees explain: with A the numbers of edges and k
    the degrees, ``A_uv / (k_u k_v) + sum over w of A_uw A_wv / (k_u k_w k_v)``. Paths over vertices of more than
    `MANY` neighbours are left out: they say little, and there would be too many.
    """
    from scipy.sparse import csr_array, diags_array

    begin, others, counts = neighbours_of(graph)
    size = graph.n_vertices
    adjacency: Any = csr_array((counts.astype(np.float64), others, begin), shape=(size, size))
    shares = diags_array(1.0 / np.maximum(graph.degrees, 1))
    scaled: Any = (shares @ adjacency).tocsr()
    over = diags_array((np.diff(begin) <= MANY).astype(np.float64))
    is_candidate = diags_array(np.isin(np.arange(size), candidates).astype(np.float64))
    found = np.full((len(points), width), -1, dtype=np.int32)
    for first in range(0, len(points), AT_ONCE):
        some = points[first : first + AT_ONCE]
        near = ((scaled[some] + scaled[some] @ over @ scaled) @ shares @ is_candidate).tocsr()
        for line, vertex in enumerate(some):
            names = near.indices[near.indptr[line] : near.indptr[line + 1]]
            values = near.data[near.indptr[line] : near.indptr[line + 1]]
            fits = (values > 0) & (names != vertex)
            names, values = names[fits], values[fits]
            best = names[np.lexsort((names, -values))[:width]]
            found[first + line, : len(best)] = best
    return found


def of_vertices(name: str, values: Any, graph: Any, default: Any = None) -> Any:
    """Return what is said of every vertex as a list in their order, whichever way it is said.

    Parameters
    ----------
    name : str
        Of the argument.
    values : str, mapping or array
        The name of an attribute of networkx' nodes, a mapping from nodes, or one entry for each vertex.
    graph : networkx.Graph or other
    default : object, optional
        For nodes of which nothing is said; left out, that is an error.
    """
    if not isinstance(values, str | Mapping):
        return values
    if not hasattr(graph, "nodes"):
        raise TypeError(f"{name} must have one entry for each vertex where graph has no nodes, got {shorten(values)}.")
    said = dict(graph.nodes(data=values)) if isinstance(values, str) else values
    strangers = [node for node in said if node not in graph]
    if strangers:
        raise ValueError(f"{name} must be about nodes of the graph, got {strangers[0]!r}.")
    found = [said.get(node) for node in graph.nodes]
    missing = [node for node, one in zip(graph.nodes, found, strict=True) if one is None]
    if missing and (default is None or len(missing) == len(found)):
        raise ValueError(f"{name} must say something of every node, got nothing of {missing[0]!r}.")
    return [default if one is None else one for one in found]


def _of_networkx(graph: Any, n_vertices: int | None, weight: Any) -> tuple[np.ndarray, np.ndarray, int]:
    if graph.is_directed():
        raise ValueError(
            f"graph must be undirected, got {shorten(graph)}; graph.to_undirected() forgets the directions."
        )
    number = {node: i for i, node in enumerate(graph.nodes)}
    _check_count(n_vertices, len(number))
    edges = np.array([(number[a], number[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2)
    if weight is None or weight is False:
        return edges, np.ones(len(edges), dtype=np.int64), len(number)
    if not isinstance(weight, str):
        raise TypeError(f"weight must be the name of an attribute of the graph's edges, got {shorten(weight)}.")
    given = [count for _, _, count in graph.edges(data=weight)]
    if None in given:
        raise ValueError(f"weight must be an attribute of every edge, and {weight!r} is not.")
    return edges, _whole("weight", given), len(number)


def _of_matrix(graph: Any, n_vertices: int | None, weight: Any) -> tuple[np.ndarray, np.ndarray, int]:
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph must be a square adjacency matrix, got shape {graph.shape}.")
    if not (weight is None or isinstance(weight, bool)):
        raise TypeError(f"weight must be True or False for a matrix, got {shorten(weight)}.")
    _check_count(n_vertices, graph.shape[0])
    entries = graph.tocsr().tocoo()  # so that entries of one place are added up
    present = entries.data != 0
    edges = np.column_stack([entries.row[present], entries.col[present]]).astype(np.int64)
    values = entries.data[present]
    if weight is None and np.any(values != 1):
        raise ValueError(
            "weight must be True where the entries of the matrix are numbers of edges, False where every entry is one "
            f"edge, got none and an entry of {values[values != 1][0]}."
        )
    counts = _whole("weight", values) if weight else np.ones(len(edges), dtype=np.int64)
    return *_one_triangle(edges, counts, graph.shape[0]), graph.shape[0]


def _of_list(graph: Any, n_vertices: int | None, weight: Any) -> tuple[np.ndarray, np.ndarray, int]:
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
    if weight is None or weight is False:
        return edges.astype(np.int64), np.ones(len(edges), dtype=np.int64), count
    counts = _whole("weight", weight)
    if len(counts) != len(edges):
        raise ValueError(f"weight must have a number for each of the {len(edges)} edges, got {len(counts)}.")
    return edges.astype(np.int64), counts, count


def _whole(name: str, values: Any) -> np.ndarray:
    """Return whole numbers, which may be given as floats, and are not so large that sums of them overflow."""
    array = np.asarray(values)
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and np.all(np.isfinite(array) & (array == np.floor(array)))):
        array = array.astype(np.int64) if np.all(np.abs(array) <= MOST_EDGES) else array
    counts = integer_array(name, array)
    if np.any(counts > MOST_EDGES):
        raise ValueError(f"{name} must be at most {MOST_EDGES:,} for every edge, got {counts.max()}.")
    return counts


def _check_count(n_vertices: int | None, count: int) -> None:
    if n_vertices is not None and n_vertices != count:
        raise ValueError(f"n_vertices goes with a list of edges; the graph has {count}, got {shorten(n_vertices)}.")


def _one_triangle(edges: np.ndarray, counts: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each edge of a matrix once; refuse one that is neither symmetric nor a triangle."""
    up, down = edges[:, 0] < edges[:, 1], edges[:, 0] > edges[:, 1]
    if not (up.any() and down.any()):
        return edges, counts
    keys = edges.min(axis=1) * n_vertices + edges.max(axis=1)
    by_key = {}
    for side in (up, down):
        order = np.argsort(keys[side], kind="stable")
        by_key[side is up] = keys[side][order], counts[side][order]
    if not all(np.array_equal(one, other) for one, other in zip(by_key[True], by_key[False], strict=True)):
        entries = dict(zip(zip(*edges.T.tolist(), strict=True), counts.tolist(), strict=True))
        a, b = next((a, b) for (a, b), count in entries.items() if entries.get((b, a)) != count)
        back = entries.get((b, a), "none")
        raise ValueError(
            f"graph must be a symmetric adjacency matrix, or a triangle of it, got an edge from {a} to {b} and "
            f"{'none' if back == 'none' else 'another number'} back; graph + graph.T forgets the directions."
        )
    return edges[~down], counts[~down]


def _each_once(edges: np.ndarray, counts: np.ndarray, n_vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every pair of vertices once, in order, and how many edges join it."""
    keys, place = np.unique(edges.min(axis=1) * n_vertices + edges.max(axis=1), return_inverse=True)
    totals = np.bincount(place, counts, minlength=len(keys)).astype(np.int64)
    return np.column_stack(np.divmod(keys, n_vertices)).reshape(-1, 2), totals
