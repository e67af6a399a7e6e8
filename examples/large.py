"""Ten thousand points
===================

One clustering, and how sure each point and each cluster is, without a table of all pairs.

Run it with ``python examples/large.py [points] [picture.png]``.
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np

import copartition as cp

matplotlib.use("Agg")
from matplotlib import pyplot


def points_of(count: int) -> np.ndarray:
    """Twelve clusters in four dimensions, some of which overlap."""
    random = np.random.default_rng(0)
    centres, kinds = random.normal(0, 4, (12, 4)), random.integers(0, 12, count)
    return centres[kinds] + random.normal(size=(count, 4))


def main(count: int = 10_000, picture: str = "large.png") -> None:
    """Find the clustering, say how sure it is, and draw it."""
    posterior = cp.Mixture(points_of(count), cp.Gaussian(noise_sd=1, mean_sd=4), cp.DirichletProcess(1.0))
    clusters = cp.consensus(posterior, replicates=40, seed=1, progress=True)
    print(clusters)
    print(f"expected variation of information: {clusters.expected_loss:.5f} +- {clusters.expected_loss_stderr:.1g}")
    _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    cp.plots.co_clustering(clusters, ax=left)
    cp.plots.certainty(clusters, ax=right)
    pyplot.savefig(picture, dpi=110)
    print(f"Wrote {picture}.")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 10_000, given[1] if len(given) > 1 else "large.png")
