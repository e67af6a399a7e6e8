"""What `cp.cluster` takes and finds, on tables that need no download; and whether work is counted as it is spent."""

from __future__ import annotations

import time

import numpy as np
from palmerpenguins import load_penguins
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

import copartition as cp
from copartition import datasets
from copartition.clustering.work import FULL_EFFORT
from report import Report


def ten_groups(count: int):
    """Return points of ten normal groups in five columns, and the groups."""
    rng = np.random.default_rng(1)
    centres, groups = rng.normal(0.0, 4.0, (10, 5)), rng.integers(10, size=count)
    return centres[groups] + rng.normal(size=(count, 5)), groups


def penguins(mixed: bool):
    """Return four measurements of penguins without gaps, or all that is known of them but the species."""
    table = load_penguins()
    if not mixed:
        table = table.dropna(subset=["bill_length_mm"])
        return table.iloc[:, 2:6], table["species"]
    return table.drop(columns="species"), table["species"]


TABLES = {
    "Old Faithful 272 x 2": lambda: (datasets.faithful(), None),
    "iris 150 x 4": lambda: load_iris(return_X_y=True),
    "penguins 342 x 4": lambda: penguins(False),
    "penguins 344 x 7, mixed, cells missing": lambda: penguins(True),
    "wine 178 x 13": lambda: load_wine(return_X_y=True),
    "diabetes 442 x 10": lambda: (load_diabetes(scaled=False).data, None),
    "breast cancer 569 x 30": lambda: load_breast_cancer(return_X_y=True),
    "ten groups 20,000 x 5": lambda: ten_groups(20_000),
}
GOALS = {"Old Faithful 272 x 2": 15, "iris 150 x 4": 15, "penguins 342 x 4": 15}


def measure(report: Report) -> None:
    """Cluster every table twice, the first time to compile."""
    for name, load in TABLES.items():
        data, classes = load()
        cp.cluster(data, seed=1, executor=1, effort=0.01)
        begin = time.process_time()
        c = cp.cluster(data, seed=1, executor=1)
        seconds = time.process_time() - begin
        counted = c.work["share_of_budget"] * FULL_EFFORT * 1e-9
        found = "" if classes is None else f", adjusted Rand {adjusted_rand_score(classes, c.labels):.2f}"
        said = f"{seconds:.1f} CPU s, {seconds / counted:.1f} of what was counted; {c.grade}, {len(c.sizes)} clusters"
        report.add("Clusters of tables, one thread", name, said + found, f"{GOALS.get(name, 60)} s")
