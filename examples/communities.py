"""Communities of a network
========================

Two small networks: who belongs together, how sure that is, and two pictures of it.

Run it with ``python examples/communities.py [karate | miserables] [picture.png]``.
"""

from __future__ import annotations

import sys

import matplotlib
import networkx as nx

import copartition as cp

matplotlib.use("Agg")
from matplotlib import pyplot

NETWORKS = {
    "karate": lambda: cp.BlockModel(nx.karate_club_graph()),
    "miserables": lambda: cp.BlockModel(nx.les_miserables_graph(), weight="weight"),
}
SETTINGS = {"burn_in": 500, "min_sweeps": 1500, "lag": 500, "seed": 1}


def main(name: str = "miserables", picture: str = "networks.png", replicates: int = 100) -> cp.answers.Consensus:
    """Find the blocks of a network, print them, and draw them."""
    posterior = NETWORKS[name]()
    e = cp.estimate(posterior, [cp.n_clusters(most=12), cp.co_clustering()], replicates=replicates, **SETTINGS)
    print(e.select("n_clusters"))
    blocks = cp.consensus(e)
    print(blocks)
    for community in blocks.communities():
        print(*sorted(community, key=str))
    _, (left, right) = pyplot.subplots(1, 2, figsize=(16, 7.5), layout="constrained", width_ratios=[1.1, 1.0])
    cp.plots.network(posterior, blocks, ax=left)
    cp.plots.adjacency(posterior, blocks, ax=right)
    pyplot.savefig(picture, dpi=75)
    print(f"Wrote {picture}.")
    return blocks


if __name__ == "__main__":
    main(*sys.argv[1:3])
