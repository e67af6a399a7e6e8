"""Galaxies, from data to a verdict
================================

82 velocities of galaxies: tune, estimate, find the clusters, draw, write a page.

Run it with ``python examples/galaxies.py``; it writes ``out/galaxies.png`` and ``out/galaxies.html``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import copartition as cp
from copartition import datasets, plots


def main(folder: Path = Path("out"), replicates: int = 300) -> None:
    """Write the pictures and the page into a folder."""
    posterior = cp.Mixture(
        datasets.galaxies(), cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=21.0), cp.DirichletProcess(alpha=1.0)
    )
    tuned = cp.tune(posterior, cp.n_clusters(), seed=1)
    print(tuned)
    wanted = [cp.n_clusters(), cp.predictive_density(np.linspace(5, 40, 120)), cp.co_clustering()]
    e = cp.estimate(posterior, wanted, settings=tuned, replicates=replicates, seed=1)
    print(e.select("n_clusters"))
    clusters = cp.consensus(e)
    print(clusters)

    figure, axes = plt.subplots(2, 2, figsize=(10, 7.4), layout="constrained")
    pairs = {
        coupling: cp.meeting_times(posterior, replicates=replicates, lag=tuned.lag, coupling=coupling, seed=1)
        for coupling in ("transport", "maximal")
    }
    plots.meeting_times(pairs, ax=axes[0, 0])
    plots.tv_bound(pairs["transport"], ax=axes[0, 1])
    plots.density(e, ax=axes[1, 0])
    axes[1, 0].set_xlabel("velocity of the next galaxy, 1,000 km/s")
    plots.co_clustering(e, ax=axes[1, 1], consensus=clusters)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "galaxies.png", dpi=110)
    cp.write_report(e, folder / "galaxies.html", "82 galaxies")
    print(f"Wrote {folder / 'galaxies.png'} and {folder / 'galaxies.html'}.")


if __name__ == "__main__":
    main()
