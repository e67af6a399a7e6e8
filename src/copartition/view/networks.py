"""Pictures of networks and their blocks, which have the same colours in all, and shapes that differ in grey too.

Vertices are drawn where forces between them put them, or block by block.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.consensus import Consensus
from copartition.targets.network import BlockModel
from copartition.validation import finite_array, integer, shorten
from copartition.view import palette
from copartition.view.palette import ACCENT, INK, MUTED, SHAPES, axes_for, color_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORCES = 2_000  # vertices, up to which positions are found by forces between them
CROWDED = 300  # vertices, up to which those that are too close are moved apart
INSIDE = 2.0  # how much more an edge pulls if both ends are in one block
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def places_of(posterior: BlockModel, consensus: Consensus, positions: Any, seed: int) -> np.ndarray:
    """Return positions as given, or such that blocks have room."""
    if positions is None:
        return _forced(posterior, consensus, seed)
    if isinstance(positions, Mapping):
        missing = [node for node in posterior.nodes if node not in positions]
        if missing:
            raise ValueError(f"positions must have every node of posterior, got none for {shorten(missing[0])}.")
        positions = [positions[node] for node in posterior.nodes]
    places = finite_array("positions", positions, (2,))
    if places.shape != (posterior.graph.n_vertices, 2):
        raise ValueError(f"positions must have shape {(posterior.graph.n_vertices, 2)}, got {places.shape}.")
    return places


def _forced(posterior: BlockModel, consensus: Consensus, seed: int) -> np.ndarray:
    """Return positions by forces, the longest way across the graph from left to right; by blocks where that fails."""
    graph, labels, start = posterior.graph, consensus.labels, _discs(consensus)
    if not 1 < graph.n_vertices <= FORCES or importlib.util.find_spec("networkx") is None:
        return start
    import networkx

    drawn = networkx.Graph()
    drawn.add_nodes_from(range(graph.n_vertices))
    weights = np.where(labels[graph.edges[:, 0]] == labels[graph.edges[:, 1]], INSIDE, 1.0)
    drawn.add_weighted_edges_from(zip(*graph.edges.T.tolist(), weights.tolist(), strict=True))
    # From the discs, so that blocks need not find together first; a little off them, so that seeds differ.
    begin = dict(enumerate(start + np.random.default_rng(seed).normal(0.0, 0.05, start.shape)))
    rounds = int(np.clip(30_000 // graph.n_vertices, 15, 100))
    found = networkx.spring_layout(drawn, pos=begin, k=3.0 / np.sqrt(graph.n_vertices), iterations=rounds, seed=seed)
    places = np.array([found[vertex] for vertex in range(graph.n_vertices)])
    places -= places.mean(axis=0)
    places = places @ np.linalg.svd(places, full_matrices=False)[2].T
    spread = np.maximum(places.std(axis=0), 1e-9)
    places = places * (1.0, np.clip(spread[0] / spread[1], 1.0, 1.5))  # nearer to the shape of a page
    return _apart(places) if graph.n_vertices <= CROWDED else places


def _apart(places: np.ndarray) -> np.ndarray:
    """Return positions of which none are close to each other: forces put the vertices of cliques on one heap."""
    least = 0.7 * np.sqrt(np.prod(np.ptp(places, axis=0)) / len(places))
    for _ in range(100):
        ways = places[:, None] - places
        lengths = np.linalg.norm(ways, axis=2) + 1e-9
        places = places + 0.25 * np.sum(ways * (np.maximum(0.0, least - lengths) / lengths)[:, :, None], axis=1)
    return places


def _discs(consensus: Consensus) -> np.ndarray:
    """Return positions in discs on a circle, one a block, the surest vertices in their middles.

    The shares of discs in the circle are as their radii. Two of radii r and s, of t in all, are then pi (r + s) / t
    apart in angle at least, and do not overlap if the circle's radius is (r + s) / (2 sin(pi (r + s) / 2 t)) or more,
    which is largest for the largest two.
    """
    sizes = np.sort(consensus.sizes)[::-1]  # in the order of `consensus.order`
    radii = np.sqrt(sizes)
    share = radii[:2].sum() / radii.sum()
    circle = 0.0 if len(sizes) == 1 else 1.1 * radii[:2].sum() / (2.0 * np.sin(np.pi * share / 2.0))
    angles = np.repeat(2.0 * np.pi * (np.cumsum(radii) - radii / 2.0) / radii.sum(), sizes)
    rank = np.arange(len(angles)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turns = 2.0 * np.pi * GOLDEN * rank  # with radii like square roots: dense everywhere, as in a sunflower
    waves = [circle * wave(angles) + 0.9 * np.sqrt(rank + 0.5) * wave(turns) for wave in (np.cos, np.sin)]
    return np.column_stack(waves)[np.argsort(consensus.order)] / max(circle, radii[0])


NAMED, TICKS = 80, 60  # vertices, up to which their names are written into the graph, and beside the matrix
MOST_EDGES = 20_000  # that are drawn; more are a grey cloud, and slow
LISTED = 12  # blocks in the legend
FAINTEST = 0.25  # opacity of a vertex that surely does not belong to its block: it must still be seen
SINGLE, MOST_ENTRIES = 1_500, 60_000  # vertices and entries of a matrix, up to which each entry is drawn by itself
FIRST_COLOUR = 1  # colour of the largest block: not ink, which is that of names and of the matrix


def network(
    posterior: BlockModel, consensus: Consensus, *, ax: Axes | None = None, positions: Any = None, seed: int = 0
) -> Axes:
    """Draw a network with the blocks of a consensus as colours, and how surely vertices belong to them as opacity.

    Edges are the wider the more of them join two vertices. Of more than 20,000 some are drawn, and the caption says so.

    Parameters
    ----------
    posterior : BlockModel
    consensus : Consensus
        Of this posterior, all vertices.
    ax : matplotlib axes, optional
    positions : mapping or array (vertices, 2), optional
        Where vertices are: from nodes to pairs of numbers, as layouts of networkx give them, or in the order of
        ``posterior.nodes``. Left out: by forces, edges inside blocks pulling more than others, of up to 2,000 vertices
        and if networkx is there; else blocks on a circle, the surest vertices of each in its middle.
    seed : int
        Of the layout by forces, and of the choice of edges if there are too many.

    Examples
    --------
    >>> import copartition as cp
    >>> triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    >>> posterior = cp.BlockModel(triangles, rate=2.0)
    >>> blocks = cp.consensus(posterior, replicates=4, seed=1)
    >>> ax = cp.plots.network(posterior, blocks, positions=[(0, 0), (0, 2), (1, 1), (2, 1), (3, 0), (3, 2)])
    >>> ax.get_xlabel()
    'The fainter a vertex, the less surely it belongs to its block.'
    """
    _check(posterior, consensus)
    seed = integer("seed", seed, 0)
    places = places_of(posterior, consensus, positions, seed)
    ax = axes_for(ax, (7.0, 5.6))
    notes = _draw_edges(ax, posterior, places, seed)
    _draw_vertices(ax, consensus, places)
    if len(places) <= NAMED:
        _draw_names(ax, posterior.nodes, places)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    _make_legend(ax, _blocks(consensus), places)
    caption = "The fainter a vertex, the less surely it belongs to its block."
    ax.set_xlabel("\n".join([caption, *notes]), fontsize="small", color=MUTED)
    return ax


def adjacency(posterior: BlockModel, consensus: Consensus, *, ax: Axes | None = None) -> Axes:
    """Draw the adjacency matrix of a network block by block, largest first, and the surest vertices of a block first.

    Of more than 1,500 vertices, or very many edges, neighbours in this order are averaged.

    Parameters
    ----------
    posterior : BlockModel
    consensus : Consensus
        Of this posterior, all vertices.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import copartition as cp
    >>> triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    >>> posterior = cp.BlockModel(triangles, rate=2.0)
    >>> ax = cp.plots.adjacency(posterior, cp.consensus(posterior, replicates=4, seed=1))
    >>> ax.get_xlabel()
    'vertices, in the order of the consensus'
    """
    _check(posterior, consensus)
    ax = axes_for(ax, (6.4, 6.0))
    count = len(consensus.labels)
    edges, counts = np.argsort(consensus.order)[posterior.graph.edges], posterior.graph.multiplicities
    apart = edges[:, 0] != edges[:, 1]
    entries, counts = np.concatenate([edges, edges[apart, ::-1]]), np.concatenate([counts, counts[apart]])
    if count <= SINGLE and len(entries) <= MOST_ENTRIES:
        _draw_entries(ax, entries, counts)
    else:
        _draw_averages(ax, entries, counts, count)
    ax.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    _mark_blocks(ax, consensus)
    if count <= TICKS:
        names = [str(posterior.nodes[vertex]) for vertex in consensus.order]
        size = 8.0 if count <= 40 else 6.0
        for axis, turn in ((ax.xaxis, 90), (ax.yaxis, 0)):
            axis.set_ticks(range(count), names, rotation=turn, fontsize=size, parse_math=False)
        ax.tick_params(length=0)
    ax.set(xlabel="vertices, in the order of the consensus", ylabel="vertices, in the same order")
    return ax


def _draw_edges(ax: Axes, posterior: BlockModel, places: np.ndarray, seed: int) -> list[str]:
    """Draw edges; return what must be said of those that are not drawn."""
    from matplotlib.collections import LineCollection

    edges, counts, notes = posterior.graph.edges, posterior.graph.multiplicities, []
    apart = np.flatnonzero(edges[:, 0] != edges[:, 1])
    if len(apart) < len(edges):
        notes.append(f"Self-loops, {posterior.graph.loops.sum():,}, are not drawn.")
    shown = np.random.default_rng(seed).permutation(apart)[:MOST_EDGES]
    if len(shown) < len(apart):
        notes.append(f"Of {len(apart):,} edges {MOST_EDGES:,} are drawn, chosen at random.")
    light = 16.0 / np.sqrt(max(len(shown), 1))
    widths = np.clip(light, 0.3, 0.9) * np.minimum(np.sqrt(counts[shown]), 5.0)
    lines = LineCollection(list(places[edges[shown]]), linewidths=widths, colors=MUTED, zorder=1)
    lines.set_alpha(float(np.clip(light, 0.12, 0.6)))
    ax.add_collection(lines)
    return notes


def _draw_vertices(ax: Axes, consensus: Consensus, places: np.ndarray) -> None:
    """Draw vertices, over something opaque, so that edges do not shine through faint ones."""
    size, line = np.clip(5_000.0 / len(places), 6.0, 130.0), 0.8 if len(places) <= 500 else 0.0
    for block, vertices, color, shape in _blocks(consensus):
        style: dict[str, Any] = {"marker": shape, "s": size, "linewidths": line}
        certain = np.clip(consensus.belongs[vertices], 0.0, 1.0)  # estimates may be a little outside
        faces = [(*color, opacity) for opacity in FAINTEST + (1.0 - FAINTEST) * certain]
        ax.scatter(*places[vertices].T, color=ax.get_facecolor(), zorder=2, **style)
        style |= {"facecolors": faces, "edgecolors": [color], "gid": f"block {block}"}
        ax.scatter(*places[vertices].T, zorder=3, **style)


def _draw_names(ax: Axes, nodes: Sequence[Any], places: np.ndarray) -> None:
    """Write short names into vertices, others above them, with a halo, so that they can be read over edges."""
    from matplotlib.patheffects import withStroke

    names = [str(node) for node in nodes]
    font = 6.5 if len(names) <= 40 else 5.5
    style: dict[str, Any] = {"ha": "center", "fontsize": font, "color": INK, "parse_math": False, "zorder": 4}
    if max(map(len, names)) <= 2:
        style |= {"xytext": (0, 0), "va": "center_baseline"}
    else:
        style |= {"xytext": (0, 5), "va": "bottom", "path_effects": [withStroke(linewidth=2, foreground="white")]}
    for name, place in zip(names, places, strict=True):
        ax.annotate(name, tuple(place), textcoords="offset points", **style)


def _make_legend(ax: Axes, blocks: list[Any], places: np.ndarray) -> None:
    """Say which block is which and what opacity means, and let the graph fill what this leaves of the axes.

    Beside the axes, a legend would be cut off in figures without a layout that makes room for it.
    """
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D

    rows = [(f"{block} ({len(vertices):,})", shape, color, 1.0) for block, vertices, color, shape in blocks[:LISTED]]
    rows += [(f"{len(blocks) - LISTED:,} more", "", MUTED, 1.0)] if len(blocks) > LISTED else []
    rows += [("\nbelongs with\nprobability", "", MUTED, 1.0)]
    rows += [(f"{belongs:g}", "o", MUTED, FAINTEST + (1.0 - FAINTEST) * belongs) for belongs in (1.0, 0.5, 0.0)]
    dots = [
        Line2D([], [], linestyle="", marker=shape, color=color, markerfacecolor=to_rgba(color, opacity), label=label)
        for label, shape, color, opacity in rows
    ]
    style: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "handletextpad": 0.2, "frameon": False}
    legend = ax.legend(handles=dots, title="block (vertices)", loc="upper right", borderaxespad=0.0, **style)
    box = ax.get_window_extent()
    room = np.array([max(0.4 * box.width, box.width - legend.get_window_extent().width), box.height])
    low, high = places.min(axis=0), places.max(axis=0)
    unit = float(np.max(1.12 * (high - low) / room)) or 1.0  # of data, to a dot; a single vertex has no size
    left, bottom = (low + high - unit * room) / 2.0
    ax.set(xlim=(left, left + unit * box.width), ylim=(bottom, bottom + unit * box.height), aspect="equal")


def _draw_entries(ax: Axes, entries: np.ndarray, counts: np.ndarray) -> None:
    """Draw each entry as a square with an edge, which is never too small to be seen, as a dot of an image may be.

    The scale begins below 1, so that single edges are not white.
    """
    from matplotlib.collections import PolyCollection

    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    squares = PolyCollection(list(entries[:, None, ::-1] + corners), linewidths=0.4, color=INK, snap=False)
    if len(counts) and counts.max() > 1:
        squares.set(array=counts, cmap="Greys", norm="log", clim=(0.3, counts.max()), edgecolor="face")
        ax.figure.colorbar(squares, ax=ax, label="edges between two vertices", shrink=0.7, pad=0.06, format="{x:g}")
    ax.add_collection(squares)


def _draw_averages(ax: Axes, entries: np.ndarray, counts: np.ndarray, n_vertices: int) -> None:
    """Draw the mean number of edges over dots of several vertices; roots of it, so that few edges are seen too."""
    from matplotlib.colors import PowerNorm

    dots = min(n_vertices, palette.DOTS)
    place = np.arange(n_vertices) * dots // n_vertices
    width = np.bincount(place, minlength=dots).astype(float)
    at = place[entries[:, 0]] * dots + place[entries[:, 1]]
    means = np.bincount(at, counts, minlength=dots * dots).reshape(dots, dots) / np.outer(width, width)
    extent = (-0.5, n_vertices - 0.5, n_vertices - 0.5, -0.5)
    image = ax.imshow(
        means, cmap="Greys", norm=PowerNorm(0.5, 0.0, means.max()), interpolation="nearest", extent=extent
    )
    ax.figure.colorbar(image, ax=ax, label="edges for each pair of vertices", shrink=0.7, pad=0.06)


def _mark_blocks(ax: Axes, consensus: Consensus) -> None:
    """Draw lines between blocks, and a bar in the colour of each beside the matrix."""
    bar: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "clip_on": False, "linewidth": 0}
    begin = -0.5
    for _, vertices, color, _ in _blocks(consensus):
        if begin > 0:
            ax.axhline(begin, color=ACCENT, linewidth=0.5)
            ax.axvline(begin, color=ACCENT, linewidth=0.5)
        ax.fill_between([1.01, 1.03], begin, begin + len(vertices), color=color, **bar)
        begin += len(vertices)


def _blocks(consensus: Consensus) -> list[tuple[int, np.ndarray, tuple[float, ...], str]]:
    """Return number, vertices, colour and shape of each block in the order of `consensus.order`; no colour is twice."""
    from matplotlib.colors import to_rgb

    ends = np.cumsum(np.sort(consensus.sizes)[::-1])
    return [
        (
            int(consensus.labels[vertices[0]]),
            vertices,
            to_rgb(color_of(FIRST_COLOUR + rank)),
            SHAPES[rank % len(SHAPES)],
        )
        for rank, vertices in enumerate(np.split(consensus.order, ends[:-1]))
    ]


def _check(posterior: Any, consensus: Any) -> None:
    if not isinstance(posterior, BlockModel):
        raise TypeError(f"posterior must be a BlockModel, got {shorten(posterior)}.")
    if not isinstance(consensus, Consensus):
        raise TypeError(f"consensus must be what consensus returns, got {shorten(consensus)}.")
    count = posterior.graph.n_vertices
    if not np.array_equal(consensus.points, np.arange(count)):
        points = f"{len(consensus.points)}: {shorten(consensus.points.tolist())}"
        raise ValueError(f"consensus must be of the {count} vertices of posterior, in their order, got {points}.")
