"""Pictures of networks: who is drawn where, in which colour, how opaque, and with how many edges."""

from __future__ import annotations

import importlib.util

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot
from matplotlib.collections import LineCollection, PolyCollection

import copartition as cp
from copartition.view import networks, palette
from made_up import consensus_with

TRIANGLES = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
SQUARE = [(0, 0), (0, 2), (1, 1), (2, 1), (3, 0), (3, 2)]


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()  # what cannot be drawn fails here
    pyplot.close("all")


def vertices(ax, count):
    """Positions and colours with opacities of the vertices, in their order, found by where they are drawn."""
    drawn = [c for c in ax.collections if str(c.get_gid()).startswith("block")]
    places = np.concatenate([c.get_offsets() for c in drawn])
    colors = np.concatenate([c.get_facecolors() for c in drawn])
    assert len(places) == len(colors) == count
    return places, colors


def colors_at(ax, positions):
    places, colors = vertices(ax, len(positions))
    rows = [np.flatnonzero(np.all(places == position, axis=1)) for position in np.asarray(positions, dtype=float)]
    assert all(len(row) == 1 for row in rows)
    return colors[np.concatenate(rows)]


def lines(ax):
    return next(c for c in ax.collections if isinstance(c, LineCollection))


def filled(ax, count):
    """The matrix that is drawn: how many squares have their middle at each place."""
    squares = next(c for c in ax.collections if type(c) is PolyCollection)
    table = np.zeros((count, count), dtype=int)
    for path in squares.get_paths():
        column, row = path.vertices[:4].mean(axis=0).round().astype(int)
        table[row, column] += 1
    return table


def random_graph(rng, count, blocks, edges):
    """Edges at random, each once, no self-loops, and blocks in turn."""
    pairs = np.column_stack(np.triu_indices(count, 1))
    return pairs[rng.choice(len(pairs), edges, replace=False)], np.arange(count) % blocks


def test_vertices_have_the_color_of_their_block_and_the_opacity_of_their_certainty(ax):
    belongs = [1.02, 0.9, 0.4, 0.7, -0.01, 0.5]
    c = consensus_with([0, 0, 1, 1, 2, 1], belongs)
    assert cp.plots.network(cp.BlockModel(TRIANGLES), c, ax=ax, positions=SQUARE) is ax
    colors = colors_at(ax, SQUARE)
    same = np.all(colors[:, None, :3] == colors[None, :, :3], axis=2)
    np.testing.assert_array_equal(same, c.labels[:, None] == c.labels)
    np.testing.assert_allclose(colors[:, 3], 0.25 + 0.75 * np.clip(belongs, 0, 1))
    assert "fainter" in ax.get_xlabel()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["1 (3)", "0 (2)", "2 (1)", "\nbelongs with\nprobability", "1", "0.5", "0"]
    assert [text.get_text() for text in ax.texts] == list("012345")


def test_edges_join_their_ends_and_are_the_wider_the_more_there_are(ax):
    posterior = cp.BlockModel([*TRIANGLES, (5, 5)], weight=[1, 4, 1, 9, 1, 1, 1, 2])
    cp.plots.network(posterior, consensus_with([0, 0, 0, 1, 1, 1]), ax=ax, positions=SQUARE)
    drawn = {
        tuple(map(tuple, line)): width
        for line, width in zip(lines(ax).get_segments(), lines(ax).get_linewidths(), strict=True)
    }
    assert len(drawn) == 7
    widths = [drawn[SQUARE[a], SQUARE[b]] for a, b in TRIANGLES]
    np.testing.assert_allclose(np.array(widths) / widths[0], [1, 2, 1, 3, 1, 1, 1])
    assert ax.get_xlabel().endswith("Self-loops, 2, are not drawn.")


def test_of_many_edges_some_are_drawn_and_the_caption_says_so(ax, rng, monkeypatch):
    monkeypatch.setattr(networks, "MOST_EDGES", 50)
    edges, labels = random_graph(rng, 40, 4, 120)
    posterior, places = cp.BlockModel(edges, 40), rng.normal(size=(40, 2))
    seen = []
    for seed in (1, 1, 2):
        ax.clear()
        cp.plots.network(posterior, consensus_with(labels), ax=ax, positions=places, seed=seed)
        seen.append({line.tobytes() for line in lines(ax).get_segments()})
    assert {len(drawn) for drawn in seen} == {50}
    assert seen[0] == seen[1] != seen[2]
    assert seen[2] <= {places[edge].tobytes() for edge in posterior.graph.edges}
    assert "Of 120 edges 50 are drawn" in ax.get_xlabel()


def test_many_blocks_all_have_colors_of_their_own(ax):
    labels = np.repeat(np.arange(40), np.arange(1, 41))
    places = np.random.default_rng(1).normal(size=(len(labels), 2))
    cp.plots.network(cp.BlockModel([(0, 1)], len(labels)), consensus_with(labels), ax=ax, positions=places)
    colors = colors_at(ax, places)[:, :3]
    assert len(np.unique(colors, axis=0)) == 40
    largest = np.unique(colors[labels >= 30], axis=0)
    gaps = np.linalg.norm(largest[:, None] - largest, axis=2)[np.triu_indices(10, 1)]
    assert gaps.min() > 0.25  # of 1.7 from black to white
    assert "28 more" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert not ax.texts  # too many names


@pytest.mark.parametrize("has_networkx", [True, False])
def test_layouts_give_blocks_room(ax, rng, monkeypatch, has_networkx):
    """Vertices are nearer to the middle of their block than to that of another one, all but a few."""
    if not has_networkx:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    labels = np.repeat(np.arange(3), [30, 20, 10])
    a, b = np.triu_indices(60, 1)
    chosen = rng.random(len(a)) < np.where(labels[a] == labels[b], 0.4, 0.02)
    posterior = cp.BlockModel(np.column_stack([a, b])[chosen], 60)
    c = consensus_with(labels, rng.random(60))
    found = [networks.places_of(posterior, c, None, seed) for seed in (0, 0, 1)]
    middles = np.array([found[0][labels == block].mean(axis=0) for block in range(3)])
    nearest = np.linalg.norm(found[0][:, None] - middles, axis=2).argmin(axis=1)
    assert np.mean(nearest == labels) > 0.95
    np.testing.assert_array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2]) == (not has_networkx)  # without, chance has no part in it
    cp.plots.network(posterior, c, ax=ax)
    np.testing.assert_allclose(np.sort(vertices(ax, 60)[0], axis=0), np.sort(found[0], axis=0))


def test_vertices_of_a_clique_are_not_on_one_heap():
    clique = np.column_stack(np.triu_indices(15, 1))
    edges = [*clique.tolist(), *[[vertex, vertex + 1] for vertex in range(14, 29)]]
    places = networks.places_of(cp.BlockModel(edges), consensus_with([0] * 15 + [1] * 15), None, 0)
    gaps = np.linalg.norm(places[:, None] - places, axis=2)[np.triu_indices(30, 1)]
    assert gaps.min() > 0.3 * np.sqrt(np.prod(np.ptp(places, axis=0)) / 30)  # of what each had on a grid


@pytest.mark.parametrize("sizes", [[1], [7], [5, 5], [40, 1], [100, 100, 1, 1, 1], [9, 3, 90, 80, 1, 20], [1] * 30])
def test_discs_of_blocks_do_not_overlap(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    places = networks._discs(consensus_with(labels))
    middles = np.array([places[labels == block].mean(axis=0) for block in range(len(sizes))])
    radii = [np.linalg.norm(places[labels == block] - middles[block], axis=1).max() for block in range(len(sizes))]
    for i in range(len(sizes)):
        for j in range(i):
            assert np.linalg.norm(middles[i] - middles[j]) > radii[i] + radii[j]
    assert len(np.unique(places.round(6), axis=0)) == len(places)


def test_the_graph_keeps_clear_of_the_legend(ax, rng):
    edges, labels = random_graph(rng, 50, 5, 100)
    places = rng.random((50, 2)) * (3.0, 1.0)
    cp.plots.network(cp.BlockModel(edges, 50), consensus_with(labels), ax=ax, positions=places)
    ax.figure.canvas.draw()
    box, frame = ax.get_legend().get_window_extent(), ax.get_window_extent()
    dots = ax.transData.transform(places)
    assert dots[:, 0].max() < box.x0
    assert frame.x0 < dots[:, 0].min()
    assert frame.y0 < dots[:, 1].min() < dots[:, 1].max() < frame.y1
    assert box.x1 <= frame.x1 + 1
    scale = np.ptp(dots, axis=0) / np.ptp(places, axis=0)
    assert scale[0] == pytest.approx(scale[1])


def test_nodes_of_networkx_have_names_and_positions(ax):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("b", "cost in $"), ("cost in $", "a$"), ("a$", "b"), ("a$", "x")])
    places = {"x": (0.0, 1.0), "a$": (1.0, 1.0), "b": (2.0, 2.0), "cost in $": (3.0, 0.0), "elsewhere": (9.0, 9.0)}
    cp.plots.network(cp.BlockModel(graph), consensus_with([0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4]), ax=ax, positions=places)
    assert {text.get_text(): tuple(text.xy) for text in ax.texts} == {node: places[node] for node in graph}
    opacities = colors_at(ax, [places[node] for node in graph])[:, 3]
    assert np.all(np.diff(opacities) > 0)


def test_a_single_vertex_and_no_edges(ax):
    posterior = cp.BlockModel(np.zeros((0, 2), dtype=int), 1)
    cp.plots.network(posterior, consensus_with([0]), ax=ax)
    assert len(lines(ax).get_segments()) == 0
    cp.plots.adjacency(posterior, consensus_with([0]), ax=pyplot.subplots()[1]).figure.canvas.draw()


def test_matrix_is_in_the_order_of_the_consensus(ax, rng):
    edges, _ = random_graph(rng, 12, 3, 25)
    posterior = cp.BlockModel([*edges.tolist(), [4, 4]], 12)
    c = consensus_with([0, 1, 1, 0, 2, 1, 1, 0, 2, 1, 0, 1], rng.random(12))
    assert cp.plots.adjacency(posterior, c, ax=ax) is ax
    table = np.zeros((12, 12), dtype=int)
    for a, b in posterior.graph.edges:
        table[a, b] = table[b, a] = 1
    np.testing.assert_array_equal(filled(ax, 12), table[np.ix_(c.order, c.order)])
    names = [str(vertex) for vertex in c.order]
    assert [text.get_text() for text in ax.get_xticklabels()] == names
    assert [text.get_text() for text in ax.get_yticklabels()] == names
    ends = {(*line.get_xdata(), *line.get_ydata()) for line in ax.get_lines()}
    assert ends == {(0, 1, 5.5, 5.5), (5.5, 5.5, 0, 1), (0, 1, 9.5, 9.5), (9.5, 9.5, 0, 1)}
    assert ax.get_ylim() == (11.5, -0.5)  # from the top


def test_matrix_shows_how_many_edges_there_are(ax):
    posterior = cp.BlockModel(TRIANGLES, weight=[1, 2, 3, 4, 5, 6, 7])
    cp.plots.adjacency(posterior, consensus_with([0, 0, 0, 1, 1, 1]), ax=ax)
    squares = next(c for c in ax.collections if type(c) is PolyCollection)
    drawn = {}
    for path, count in zip(squares.get_paths(), squares.get_array(), strict=True):
        drawn[tuple(path.vertices[:4].mean(axis=0).round().astype(int).tolist())] = int(count)
    expected = {(a, b): k for k, (a, b) in enumerate(TRIANGLES, 1)}
    assert drawn == expected | {(b, a): k for (a, b), k in expected.items()}


def test_matrix_of_many_vertices_averages_neighbours(ax, rng, monkeypatch):
    monkeypatch.setattr(networks, "SINGLE", 20)
    monkeypatch.setattr(palette, "DOTS", 6)
    edges, labels = random_graph(rng, 25, 3, 90)
    weight = rng.integers(1, 4, len(edges))
    posterior, c = cp.BlockModel(edges, 25, weight=weight), consensus_with(labels, rng.random(25))
    cp.plots.adjacency(posterior, c, ax=ax)
    table = np.zeros((25, 25))
    for (a, b), count in zip(posterior.graph.edges, posterior.graph.multiplicities, strict=True):
        table[a, b] = table[b, a] = count
    place = np.arange(25) * 6 // 25
    parts = [c.order[place == dot] for dot in range(6)]
    means = [[table[np.ix_(rows, columns)].mean() for columns in parts] for rows in parts]
    np.testing.assert_allclose(ax.get_images()[0].get_array(), means)
    assert ax.get_images()[0].get_extent() == [-0.5, 24.5, 24.5, -0.5]


def test_axes_are_made_if_none_are_given():
    posterior, c = cp.BlockModel(TRIANGLES), consensus_with([0, 0, 0, 1, 1, 1])
    for draw in (cp.plots.network, cp.plots.adjacency):
        made = draw(posterior, c)
        assert made.get_xlabel()
        made.figure.canvas.draw()
        pyplot.close(made.figure)


def test_a_consensus_that_was_found_is_drawn(ax):
    posterior = cp.BlockModel(TRIANGLES, rate=2.0)
    c = cp.consensus(posterior, replicates=4, seed=1)
    cp.plots.network(posterior, c, ax=ax, positions=SQUARE)
    colors = colors_at(ax, SQUARE)
    np.testing.assert_allclose(colors[:, 3], 0.25 + 0.75 * np.clip(c.belongs, 0, 1))
    same = np.all(colors[:, None, :3] == colors[None, :, :3], axis=2)
    np.testing.assert_array_equal(same, c.labels[:, None] == c.labels)


@pytest.mark.parametrize("draw", [cp.plots.network, cp.plots.adjacency])
@pytest.mark.parametrize(
    ("posterior", "consensus", "error", "message"),
    [
        ([(0, 1)], consensus_with([0, 0]), TypeError, r"posterior must be a BlockModel, got \[\(0, 1\)\]\."),
        (cp.BlockModel(TRIANGLES), [0] * 6, TypeError, "consensus must be what consensus returns, got "),
        (cp.BlockModel(TRIANGLES), consensus_with([0] * 5), ValueError, "of the 6 vertices of posterior.* got 5: "),
        (
            cp.BlockModel(TRIANGLES),
            consensus_with([0] * 6, points=[1, 0, 2, 3, 4, 5]),
            ValueError,
            r"consensus must be of the 6 vertices of posterior, in their order, got 6: \[1, 0, 2, 3, 4, 5\]\.",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(draw, posterior, consensus, error, message):
    before = pyplot.get_fignums()
    with pytest.raises(error, match=message):
        draw(posterior, consensus)
    assert pyplot.get_fignums() == before  # no figure is made


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": np.zeros((5, 2))}, r"positions must have shape \(6, 2\), got \(5, 2\)"),
        ({"positions": dict(enumerate(SQUARE[:5]))}, "positions must have every node of posterior, got none for 5"),
        ({"positions": [(0, np.nan), *SQUARE[1:]]}, "positions must be finite, got nan"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    before = pyplot.get_fignums()
    with pytest.raises(ValueError, match=message):
        cp.plots.network(cp.BlockModel(TRIANGLES), consensus_with([0] * 6), **arguments)
    assert pyplot.get_fignums() == before
