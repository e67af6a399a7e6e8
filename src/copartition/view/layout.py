"""Where the vertices of a network are drawn: by forces between them, or block by block."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import numpy as np

from copartition.diagnostics.consensus import Consensus
from copartition.targets.network.model import BlockModel
from copartition.validation import finite_array, shorten

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
