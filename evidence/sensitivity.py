"""How much answers depend on the numbers of the prior: writes the table of docs/models.md.

``python evidence/sensitivity.py`` changes one number at a time from the defaults, on three tables.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import copartition as cp
from copartition.datasets import faithful

PAGE = Path(__file__).resolve().parents[1] / "docs" / "models.md"
MARK, END = "<!-- sensitivity -->", "<!-- end -->"
REPLICATES = 200
SHARE = 0.02  # of the points, from which a cluster is counted as one of size

Change = Callable[[np.ndarray], tuple[dict[str, Any], Any]]


def covariance(data: np.ndarray) -> np.ndarray:
    """Return the covariance of the columns, as a matrix."""
    return np.atleast_2d(np.cov(data.T))


CHANGES: dict[str, Change] = {
    "defaults": lambda data: ({}, None),
    "mean_weight 0.001": lambda data: ({"mean_weight": 0.001}, None),
    "mean_weight 0.1": lambda data: ({"mean_weight": 0.1}, None),
    "mean_weight 1": lambda data: ({"mean_weight": 1.0}, None),
    "degrees_of_freedom D + 10": lambda data: ({"degrees_of_freedom": data.shape[1] + 10.0}, None),
    "scale / 4": lambda data: ({"scale": covariance(data) / 4}, None),
    "scale x 4": lambda data: ({"scale": covariance(data) * 4}, None),
    "alpha = 1": lambda data: ({}, cp.DirichletProcess(1.0)),
    "alpha ~ Gamma(1, 1)": lambda data: ({}, cp.DirichletProcess(cp.Gamma(1, 1))),
    "MixtureOfFiniteMixtures()": lambda data: ({}, cp.MixtureOfFiniteMixtures()),
}


def tables() -> dict[str, np.ndarray]:
    """Return the three tables."""
    from palmerpenguins import load_penguins
    from sklearn.datasets import load_iris

    measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return {
        "Old Faithful": faithful(),
        "iris": load_iris().data,
        "penguins": load_penguins()[measured].dropna().to_numpy(float),
    }


def cell(data: np.ndarray, change: Change) -> str:
    """Return what one model says of one table."""
    given, prior = change(data)
    posterior = cp.Mixture(data, cp.NormalInverseWishart(**given), prior)
    many = cp.functionals.cluster_sizes_histogram([SHARE * len(data), len(data) + 1])
    wanted = [cp.n_clusters(), many, cp.largest_clusters(1)]
    e = cp.estimate(posterior, wanted, replicates=REPLICATES, seed=1, max_sweeps=5_000, executor=1)
    numbers = f"{e.mean[0]:.2f}, {e.mean[1]:.2f}, {e.mean[2]:.2f}"
    return numbers if not e.censored else f"{numbers} ({e.censored} of {REPLICATES} pairs did not meet)"


def main() -> None:
    """Write the table."""
    data = tables()
    lines = ["", "| | " + " | ".join(data) + " |", "| --- " * (len(data) + 1) + "|"]
    for name, change in CHANGES.items():
        lines.append(f"| {name} | " + " | ".join(cell(one, change) for one in data.values()) + " |")
        print(lines[-1], flush=True)
    before, _, rest = PAGE.read_text().partition(MARK)
    after = rest.partition(END)[2] if END in rest else rest
    PAGE.write_text(before + MARK + "\n".join(["", *lines, "", END]) + after)


if __name__ == "__main__":
    main()
