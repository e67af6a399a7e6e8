"""Networks in files: GraphML, GML, and lists of edges.

All become a graph of networkx, which has names for vertices and attributes for vertices and edges, and which
`copartition.BlockModel` takes as it is.

A list of edges has an edge a line: two names, and perhaps a number, its weight. Tabs stand between them if the first
edge has a tab, else commas if it has one, else white space; so names may have spaces in them where tabs or commas are
used. Lines that begin with # or % are comments. A line that is there twice is two parallel edges.
"""

from __future__ import annotations

import gzip
import io
import math
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from copartition.extras import needed

EDGE_LISTS = (".edges", ".edgelist", ".el")
NETWORKS = (".graphml", ".gml", *EDGE_LISTS)  # how files end that hold networks; each may have .gz after it
HEADERS = ({"source", "target"}, {"from", "to"}, {"src", "dst"})  # first lines that are no edge, whatever their case


class Network(NamedTuple):
    """A network from a file.

    Attributes
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Undirected; vertices in the order of the file. The third column of a list of edges is the attribute ``weight``.
    notes : list of str
        How the file was read, where that is not a matter of course.
    """

    graph: Any
    notes: list[str]


def is_network(path: str | Path) -> bool:
    """Tell by the ending of a file's name whether it holds a network.

    Examples
    --------
    >>> from copartition import datasets
    >>> datasets.is_network("karate.graphml"), datasets.is_network("friends.edges.gz"), datasets.is_network("table.csv")
    (True, True, False)
    """
    return _kind(Path(path)) in NETWORKS


def read_network(path: str | Path, undirected: bool = False) -> Network:
    r"""Read a network from a GraphML file, a GML file, or a list of edges.

    Needs networkx: ``pip install "copartition[networkx]"``.

    Parameters
    ----------
    path : path
        Ends in .graphml, .gml, .edges, .edgelist or .el, or in one of these with .gz.
    undirected : bool, default False
        Forget the directions of a directed network, which is refused without: every arrow becomes an edge, so that
        arrows there and back become two.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import copartition as cp
    >>> from copartition import datasets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.edges")
    ...     _ = file.write_text("Ann Bob\nBob Eve\nEve Ann\nEve Tom\n")
    ...     network = datasets.read_network(file)
    >>> cp.BlockModel(network.graph, rate=2.0).nodes
    ['Ann', 'Bob', 'Eve', 'Tom']
    """
    file = Path(path)
    if not is_network(file):
        raise ValueError(f"{str(path)!r} must end in {', '.join(NETWORKS)}, or in one of these with .gz.")
    content = _content(file)
    networkx = needed("networkx", by=repr(str(path)))
    kind = _kind(file)
    notes: list[str] = []
    if kind in EDGE_LISTS:
        graph = _read_edges(content, str(path), networkx)
    else:
        graph, notes = _read_marked_up(content, str(path), kind, networkx)
    if not len(graph):
        raise ValueError(f"{str(path)!r} has no vertices.")
    if graph.is_directed():
        if not undirected:
            raise ValueError(
                f"{str(path)!r} must be undirected, got a directed network; undirected=True (--undirected) forgets the "
                "directions."
            )
        graph, notes = _without_directions(graph, networkx), [*notes, "directions forgotten"]
    return Network(graph, notes)


def _kind(file: Path) -> str:
    """Return the ending of a file's name, that of what is compressed where it is."""
    return Path(file.stem if file.suffix.lower() == ".gz" else file.name).suffix.lower()


def _content(file: Path) -> bytes:
    """Return the bytes of a file, or say in a sentence why they cannot be had."""
    if not file.exists():
        raise ValueError(f"There is no file {str(file)!r}.")
    try:
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix.lower() == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if not content.strip():
        raise ValueError(f"{str(file)!r} is empty.")
    return content


def _read_marked_up(content: bytes, name: str, kind: str, networkx: Any) -> tuple[Any, list[str]]:
    """Return the graph of a GraphML or GML file, and how it was read."""
    try:
        if kind == ".graphml":
            return _with_defaults(networkx.read_graphml(io.BytesIO(content))), []
        text = content.decode("utf-8-sig").splitlines()
        try:
            return networkx.parse_gml(text), []
        except networkx.NetworkXError as error:
            if "has no 'label' attribute" not in str(error):
                raise
        return networkx.parse_gml(text, label="id"), ["vertices named by their ids, because labels are missing"]
    # What these two raise is no part of what they document: besides networkx' own, errors of XML, of numbers, of keys.
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".")
        form = "GraphML" if kind == ".graphml" else "GML"
        raise ValueError(f"{name!r} cannot be read as {form}: {reason}.") from None


def _with_defaults(graph: Any) -> Any:
    """Give nodes and edges the attributes that a GraphML file states once for all, which networkx leaves out."""
    for name, elements in (("node_default", graph.nodes(data=True)), ("edge_default", graph.edges(data=True))):
        for *_, attributes in elements:
            for attribute, value in graph.graph.get(name, {}).items():
                attributes.setdefault(attribute, value)
    return graph


def _without_directions(graph: Any, networkx: Any) -> Any:
    """Return the undirected graph of all edges of a directed one."""
    # networkx' own to_undirected makes one edge of two arrows there and back, with the attributes of one of them.
    forgotten = networkx.MultiGraph()
    forgotten.add_nodes_from(graph.nodes(data=True))
    forgotten.add_edges_from(graph.edges(data=True))
    return forgotten


def _read_edges(content: bytes, name: str, networkx: Any) -> Any:
    """Return the graph of a list of edges."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name!r} cannot be read as text in UTF-8: {error.reason}.") from None
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    rows = [(number, line) for number, line in numbered if line and line[0] not in "#%"]
    if not rows:
        raise ValueError(f"{name!r} has no edges, only comments.")
    graph = networkx.MultiGraph()
    graph.add_edges_from(_edges_of(rows, name))
    return graph


def _edges_of(rows: list[tuple[int, str]], name: str) -> Iterable[tuple[str, str, dict[str, float]]]:
    """Yield the ends and the attributes of each edge."""
    first = rows[0][1]
    separator = next((mark for mark in "\t," if mark in first), None)
    width = len(first.split(separator))
    for number, line in rows:
        fields = [field.strip() for field in line.split(separator)]
        where = f"{name!r}, line {number}"
        if len(fields) not in (2, 3):
            raise ValueError(f"{where}: expected two names and perhaps a number, got {line!r}.")
        if not (fields[0] and fields[1]):
            raise ValueError(f"{where}: expected two names, got nothing for one of them.")
        if len(fields) != width:
            found, before = ("a weight", "none") if len(fields) == 3 else ("no weight", "one")
            raise ValueError(
                f"{where}: expected the same for all edges, got {found} where the first edge has {before}."
            )
        if number == rows[0][0] and {field.lower() for field in fields[:2]} in HEADERS:
            raise ValueError(f"{where}: expected an edge, got the head of a table; put a # before it.")
        yield fields[0], fields[1], {"weight": _weight(fields[2], where)} if width == 3 else {}


def _weight(text: str, where: str) -> float:
    try:
        return int(text)  # not by way of a float, which has 53 bits
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{where}: expected a number as the weight of an edge, got {text!r}.")
    return number
