"""Galaxies with everything unknown
================================

Means, variances, concentration. How many clusters are there, and how sure is that?

Run it with ``python examples/galaxies_unknown.py``; it writes ``out/galaxies-clusters.png`` and a page,
``out/galaxies-unknown.html``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import copartition as cp
from copartition import datasets, plots


def main(folder: Path = Path("out"), replicates: int = 400) -> None:
    """Write the picture and the page into a folder."""
    posterior = cp.Mixture(datasets.galaxies(), cp.NormalInverseWishart())
    print(posterior)
    tuned = cp.tune(posterior, cp.n_clusters(), seed=1)
    wanted = [cp.n_clusters(most=8), cp.concentration(), cp.predictive_density(np.linspace(5, 40, 120))]
    e = cp.estimate(posterior, wanted, settings=tuned, replicates=replicates, seed=1)
    print(e.select("n_clusters"))
    print(e.select("concentration"))

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
    plots.n_clusters(e, posterior=posterior, ax=left)
    left.set_title("How many clusters?")
    plots.density(e, ax=right)
    right.set_xlabel("velocity of the next galaxy, 1,000 km/s")
    right.set_title("Where will the next galaxy be?")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "galaxies-clusters.png", dpi=110)
    cp.write_report(e, folder / "galaxies-unknown.html", "82 galaxies, everything unknown")
    print(f"Wrote {folder / 'galaxies-clusters.png'} and {folder / 'galaxies-unknown.html'}.")


if __name__ == "__main__":
    main()
