"""The data of Figures 2A and 3: points on a line from ten components, and their true density."""

from __future__ import annotations

import numpy as np

import copartition as cp

GRID = np.linspace(-20.0, 30.0, 150)
NOISE_SD = 2.0


class Line:
    """Ten components with Dirichlet(1) proportions, means N(0, 10^2) and standard deviation 2.

    Parameters
    ----------
    seed : int
    count : int
        Number of points; those of a smaller one are the first of a larger one.
    """

    def __init__(self, seed: int, count: int) -> None:
        rng = np.random.default_rng([seed, 2])
        self.proportions = rng.dirichlet(np.ones(10))
        self.means = rng.normal(0.0, 10.0, 10)
        kinds = rng.random(count)
        noise = np.random.default_rng([seed, 3]).normal(0.0, NOISE_SD, count)
        self.points = self.means[np.searchsorted(np.cumsum(self.proportions)[:-1], kinds)] + noise

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the true density."""
        deviation = (x[:, None] - self.means) / NOISE_SD
        bells = np.exp(-0.5 * deviation**2) / (NOISE_SD * np.sqrt(2 * np.pi))
        return bells @ self.proportions

    def posterior(self, count: int) -> cp.Mixture:
        """Return the posterior given the first points."""
        component = cp.Gaussian(noise_sd=NOISE_SD, mean_sd=3.0)
        return cp.Mixture(self.points[:count], component, cp.DirichletProcess(alpha=1.0))
