"""A planted network of ten thousand vertices
==========================================

Its blocks, how sure each vertex is, and what that takes.

Ten groups of a thousand vertices, sixteen edges at each vertex, four of five of them inside of the group. The model
knows neither the groups nor how many there are. Chains that begin with one block sometimes cut a group in two, and take
hundreds of sweeps to notice. So a few short chains are run first, and all others begin where the best of them ended.
Prints the seconds that every part takes, and draws the edges in the order of the blocks.

Run it with ``python examples/planted.py [vertices]``; it writes ``out/planted.png``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import copartition as cp

GROUPS, DEGREE, INSIDE = 10, 16, 0.8  # groups, mean degree, share of edges inside of groups


def planted(vertices: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of a network with planted groups, and the group of each vertex."""
    random = np.random.default_rng(seed)
    groups = np.arange(vertices) % GROUPS
    begin = random.integers(vertices, size=vertices * DEGREE // 2)
    shift = np.where(random.random(len(begin)) < INSIDE, 0, random.integers(1, GROUPS, len(begin)))
    end = random.integers(vertices // GROUPS, size=len(begin)) * GROUPS + (groups[begin] + shift) % GROUPS
    return np.column_stack([begin, end])[begin != end], groups


def best_of_short_chains(posterior: cp.BlockModel, chains: int = 6, sweeps: int = 200) -> np.ndarray:
    """Return the partition with the highest density among those at which short chains end."""
    labels_themselves = cp.functional(lambda labels: labels, size=posterior.n_points)
    how = {"sweeps": 1, "burn_in": sweeps, "chains": chains, "split_merge": "auto", "seed": 1}
    ends = cp.sample(posterior, labels_themselves, **how).draws[:, -1].astype(int)
    densities = [cp.kernels.log_density(posterior, labels) for labels in ends]
    print("log densities of short chains:", *np.round(densities, 1))
    return ends[int(np.argmax(densities))]


def draw(edges: np.ndarray, labels: np.ndarray, certainty: np.ndarray, file: Path) -> None:
    """Draw how many edges there are, vertices as they came and in the order of their blocks, and how sure these are."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    order = np.argsort(labels, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    for ax, ends, title in zip(axes, (edges, place[edges]), ("As they came", "By block"), strict=False):
        both = np.concatenate([ends, ends[:, ::-1]])
        counts, *_ = np.histogram2d(*both.T, bins=100, range=[[0, len(labels)]] * 2)
        ax.imshow(counts, cmap="Greys", extent=(0, len(labels), len(labels), 0))
        ax.set(title=title, xlabel="vertices", ylabel="vertices")
    axes[2].plot(np.sort(certainty), color="#1f5f99", lw=2)
    axes[2].set(title="How sure is each vertex of its block?", xlabel="vertices, the least sure first", ylim=(0, 1.02))
    axes[2].set_ylabel("probability of being with its block")
    axes[2].spines[["top", "right"]].set_visible(False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=90)
    print(f"Wrote {file}.")


def main(vertices: int = 10_000, replicates: int = 20, folder: Path = Path("out")) -> cp.Estimate:
    """Find the blocks, compare them with the planted groups, and tell how surely vertices belong to them."""
    edges, groups = planted(vertices)
    posterior = cp.BlockModel(edges, n_vertices=vertices)
    print(posterior)
    begin = time.perf_counter()
    start = best_of_short_chains(posterior)
    print(f"short chains: {time.perf_counter() - begin:.0f} seconds\n")

    begin = time.perf_counter()
    how = {"replicates": replicates, "burn_in": 10, "min_sweeps": 40, "lag": 10, "init": start, "seed": 1}
    e = cp.estimate(posterior, [cp.n_clusters(), cp.memberships(start)], **how)
    print(e.select("n_clusters"))
    print(f"estimates: {time.perf_counter() - begin:.0f} seconds\n")
    certainty = e.select("memberships").mean.reshape(vertices, -1)[np.arange(vertices), cp.partition.canonical(start)]
    right = cp.partition.overlaps(start, groups).max(axis=1).sum() / vertices
    print(f"{right:.2%} of the vertices are in the block of their group;", end=" ")
    print(f"{np.mean(certainty < 0.9):.2%} belong to their block with a probability below 0.9.")
    draw(edges, cp.partition.canonical(start), certainty, folder / "planted.png")
    return e


if __name__ == "__main__":
    main(*[int(text) for text in sys.argv[1:2]])
