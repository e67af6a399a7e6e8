"""Cluster a table
===============

Which penguins belong together, how sure is that, and what distinguishes the clusters? One call answers.

342 penguins, four measurements each. Nothing is chosen by hand, and the species are held back: they are what the
clusters are compared with. On the left every bird in the two columns that separate the clusters most, faint where it is
not certain of its cluster; on the right what a bird of each cluster is like.

Run it with ``python examples/cluster.py``; it writes ``out/clusters.png`` and a page, ``out/clusters.html``. The data
come with ``pip install palmerpenguins``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from palmerpenguins import load_penguins

import copartition as cp

MEASURED = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


def main(folder: Path = Path("out"), effort: float = 1.0) -> None:
    """Write the picture into a folder."""
    penguins = load_penguins()
    birds = penguins[MEASURED].dropna()
    c = cp.cluster(birds, effort=effort)
    print(c)
    print(pd.crosstab(penguins.loc[birds.index, "species"], pd.Series(c.labels, birds.index, name="cluster")))

    figure, (left, right) = plt.subplots(1, 2, figsize=(12.5, 4.6), layout="constrained", width_ratios=[1.3, 1])
    c.plot(ax=left)
    cp.plots.profile(c, ax=right)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "clusters.png", dpi=110)
    c.report(folder / "clusters.html", "342 penguins")
    print(f"Wrote {folder / 'clusters.png'} and {folder / 'clusters.html'}.")


if __name__ == "__main__":
    main()
