"""Old Faithful
============

How many kinds of eruptions are there, and what will the next one be like?

272 eruptions of the geyser: how long each took, and how long the wait for the next one was. The covariances of the
clusters are unknown, and nothing is chosen by hand.

Run it with ``python examples/faithful.py``; it writes ``out/faithful.png`` and a page, ``out/faithful.html``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import copartition as cp
from copartition.datasets import faithful
from copartition.view.palette import INK, MUTED, dots_of

SHADES = [0.95, 0.9, 0.84, 0.77, 0.68, 0.56]


def main(folder: Path = Path("out"), replicates: int = 100, cells: int = 40) -> None:
    """Write the picture into a folder."""
    eruptions = faithful()
    posterior = cp.Mixture(eruptions, cp.NormalInverseWishart())
    print(posterior)
    tuned = cp.tune(posterior, cp.n_clusters(), seed=1)

    minutes, wait = np.linspace(1, 6, cells), np.linspace(35, 105, cells)
    grid = np.stack(np.meshgrid(minutes, wait), axis=-1)  # wait x minutes x 2
    wanted = [cp.n_clusters(most=8), cp.predictive_density(grid.reshape(-1, 2)), cp.co_clustering()]
    e = cp.estimate(posterior, wanted, settings=tuned, replicates=replicates, seed=1)
    counts = e.select("n_clusters")
    print(counts)
    clusters = cp.consensus(e)
    print(clusters)

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", width_ratios=[1, 1.7])
    low, high = counts.interval(0.95)
    ks = np.arange(1, 10)
    left.bar(ks, counts.mean, color=MUTED, alpha=0.6)
    left.errorbar(ks, counts.mean, (counts.mean - low, high - counts.mean), fmt="none", color=INK, capsize=4)
    left.set_xticks(ks, [*map(str, ks[:-1]), "more"])
    left.set_ylim(bottom=0)
    left.set(xlabel="number of clusters", ylabel="posterior probability, with 95 % interval")
    left.set_title("How many kinds of eruptions?")

    density = e.select("predictive_density").mean.reshape(cells, cells)
    levels = [0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0]
    shades = right.contourf(minutes, wait, density / density.max(), levels, colors=[f"{g:g}" for g in SHADES])
    figure.colorbar(shades, ax=right, label="density of the next eruption, largest = 1", format="{x:g}", shrink=0.8)
    for k in range(clusters.labels.max() + 1):
        inside = clusters.labels == k
        style = dots_of(k + 1) | {"label": f"cluster {k + 1}, {inside.sum()} eruptions"}
        right.scatter(*eruptions[inside].T, s=22, linewidths=0.5, edgecolors="white", **style)
    right.set(xlabel="length of an eruption, minutes", ylabel="wait for the next one, minutes")
    right.set_title("Eruptions by consensus cluster, over the density of the next one")
    right.legend(frameon=False, loc="upper left")
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "faithful.png", dpi=110)
    cp.write_report(e, folder / "faithful.html", "Old Faithful, 272 eruptions")
    print(f"Wrote {folder / 'faithful.png'} and {folder / 'faithful.html'}.")


if __name__ == "__main__":
    main()
