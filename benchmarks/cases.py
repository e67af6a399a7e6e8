"""The data sets and models that are measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import copartition as cp

CELLS = Path(__file__).resolve().parents[2] / "shared" / "data" / "zeisel_200x50.csv"


def cells_available() -> bool:
    """Whether the RNA-seq data are there; they are not part of the project."""
    return CELLS.exists()


def rna_seq() -> cp.Mixture:
    """The posterior of the paper's Figure 2B: 200 cells x 50 genes."""
    with CELLS.open() as file:
        rows = [line.strip().replace('"', "").split(",")[1:] for line in file.readlines()[1:]]
    return cp.Mixture(np.array(rows, dtype=float), cp.Gaussian(noise_sd=1.3, mean_sd=0.5), cp.DirichletProcess(1.0))


def figure1a(seed: int, n_columns: int = 2) -> cp.Mixture:
    """The posterior of the paper's Figure 1A on data set `seed`: 150 points from 4 components."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, 2.5, (4, n_columns))
    kinds = rng.choice(4, 150, p=rng.dirichlet([10.0] * 4))
    data = means[kinds] + rng.normal(0, 2, (150, n_columns))
    return cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(0.2))


def many_clusters(n_clusters: int, spread: float) -> tuple[cp.Mixture, np.ndarray]:
    """20 points in the plane for each of many components, their means `spread` noise sd apart; the true labels."""
    rng = np.random.default_rng(n_clusters)
    kinds = rng.integers(n_clusters, size=20 * n_clusters)
    data = rng.normal(0, spread, (n_clusters, 2))[kinds] + rng.normal(0, 1, (len(kinds), 2))
    prior = cp.DirichletProcess(n_clusters / 8)
    return cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=spread), prior), kinds


def large(n_points: int) -> tuple[cp.Mixture, np.ndarray]:
    """Ten components in ten dimensions, and the true labels."""
    rng = np.random.default_rng(1)
    kinds = rng.integers(10, size=n_points)
    data = rng.normal(0, 3, (10, 10))[kinds]
    data += rng.normal(0, 1, data.shape)
    return cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0)), kinds


def random_graph(n_vertices: int, mean_degree: float, seed: int | None = None) -> cp.GraphColoring:
    """An Erdos-Renyi graph, with one colour more than its greedy colouring needs."""
    rng = np.random.default_rng(n_vertices if seed is None else [n_vertices, seed])
    edges = np.argwhere(np.triu(rng.random((n_vertices, n_vertices)) < mean_degree / (n_vertices - 1), 1))
    greedy = cp.GraphColoring(edges, n_vertices, n_vertices=n_vertices).start_labels("greedy")
    return cp.GraphColoring(edges, int(greedy.max()) + 2, n_vertices=n_vertices)


def overlapping(seed: int = 3) -> cp.Mixture:
    """A hard posterior: 1,000 points in the plane from 8 overlapping components, and the model to match.

    Such data sets differ: with the paper's coupling chains meet after 70 to 370 sweeps. Number 3 is in between.
    """
    rng = np.random.default_rng(seed)
    data = rng.normal(0, 3, (8, 2))[rng.integers(8, size=1000)] + rng.normal(0, 1, (1000, 2))
    return cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
