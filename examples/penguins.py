"""Penguins
========

Clusters of a data frame with numbers, words and missing cells, against the species.

344 penguins of three species, with four measurements, their island and their sex; 19 cells are missing. The data frame
is taken as it is. The clustering does not know the species: they are what it is held against.

Run it with ``python examples/penguins.py``; it writes ``out/penguins.png`` and a page, ``out/penguins.html``. The data
come with ``pip install palmerpenguins``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from palmerpenguins import load_penguins

import copartition as cp
from copartition import plots
from copartition.view.palette import MUTED, color_of

MEASURED = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
MARKERS = {"Adelie": "o", "Chinstrap": "^", "Gentoo": "s"}


def main(folder: Path = Path("out"), replicates: int = 100) -> None:
    """Write the picture into a folder."""
    penguins = load_penguins()
    columns = cp.Columns([(MEASURED, cp.NormalInverseGamma()), (["island", "sex"], cp.Categorical())])
    posterior = cp.Mixture(penguins, columns)
    print(posterior)
    tuned = cp.tune(posterior, cp.n_clusters(), seed=1)
    e = cp.estimate(posterior, [cp.n_clusters(), cp.co_clustering()], settings=tuned, replicates=replicates, seed=1)
    print(e.select("n_clusters"))
    clusters = cp.consensus(e)
    print(clusters)
    by = [penguins["species"], penguins["sex"].fillna("unknown")]
    table = pd.crosstab(by, pd.Series(clusters.labels + 1, name="cluster"))
    print(table)

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.8), layout="constrained", width_ratios=[1.1, 1.1, 0.9])
    plots.co_clustering(e, ax=axes[0], consensus=clusters)
    axes[0].set_title("Which penguins are together?")

    for species, marker in MARKERS.items():
        for k in range(clusters.labels.max() + 1):
            some = penguins[(penguins["species"] == species) & (clusters.labels == k)]
            axes[1].scatter(
                some["flipper_length_mm"], some["bill_length_mm"], s=24, marker=marker, color=color_of(k + 1)
            )
        axes[1].scatter([], [], marker=marker, color=MUTED, label=species)
    axes[1].legend(frameon=False, loc="lower right")
    axes[1].set(xlabel="length of the flipper, mm", ylabel="length of the bill, mm")
    axes[1].set_title("Consensus clusters (colours), species (shapes)")

    left = np.zeros(len(table))
    names = [f"{species}, {sex}" for species, sex in table.index]
    for k in table:
        bars = axes[2].barh(names, table[k], left=left, color=color_of(k), edgecolor="white")
        inside = [f"cluster {k}" if count > 20 else "" for count in table[k]]
        axes[2].bar_label(bars, inside, label_type="center", color="white", fontweight="bold")
        left += table[k]
    axes[2].invert_yaxis()
    axes[2].set(xlabel="number of penguins")
    axes[2].set_title("Consensus clusters by species and sex")
    for ax in axes[1:]:
        ax.spines[["top", "right"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "penguins.png", dpi=110, bbox_inches="tight")
    cp.write_report(e, folder / "penguins.html", "344 penguins")
    print(f"Wrote {folder / 'penguins.png'} and {folder / 'penguins.html'}.")


if __name__ == "__main__":
    main()
