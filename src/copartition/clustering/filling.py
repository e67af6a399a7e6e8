"""Rows that belong nowhere, and cells that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from copartition.clustering.averages import by_replicate, each_partition, moments_about, stderr_of
from copartition.clustering.describing import centres_of, columns_of
from copartition.clustering.predicting import Predicting
from copartition.extras import needed
from copartition.runs.drawing import WeightedPartitions

CATEGORY = "category"


def outliers(draws: WeightedPartitions, names: list[Any], labels: np.ndarray, most: int, least: float) -> Any:
    """Return the rows that are probably in a cluster of very few; see `Clustering.outliers`."""
    pandas = needed("pandas", by="outliers")

    def is_small(partition: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(partition)[partition] <= most, dtype=np.float64)

    each = by_replicate(draws, is_small)
    mean, error = each.mean(axis=0), stderr_of(each)
    order = np.argsort(-mean, kind="stable")
    shown = order[mean[order] >= least]
    columns: dict[str, Any] = {"cluster": labels[shown], "probability": mean[shown], "stderr": error[shown]}
    columns["log_density"] = _left_out(draws, shown) if len(shown) else np.zeros(0)
    return pandas.DataFrame(columns, pandas.Index([names[i] for i in shown], name="row"))


def _left_out(draws: WeightedPartitions, rows: np.ndarray) -> np.ndarray:
    """Return how well all others predict each row: 1 / E[1 / density given the others of its cluster], as a log."""
    predicting, logs, weights = Predicting(draws.target), [], []
    for _, weight, labels, values in each_partition(draws):
        logs.append(-predicting.members(labels, values).left_out()[rows])
        weights.append(weight)
    table = np.array(logs)
    top = table.max(axis=0)
    mean = np.array(weights) @ np.exp(table - top) / np.sum(weights)
    return np.asarray(-(top + np.log(np.maximum(mean, np.finfo(np.float64).tiny))))


def impute(draws: WeightedPartitions, names: list[Any]) -> Any:
    """Return what missing cells are likely to be; see `Clustering.impute`."""
    pandas = needed("pandas", by="impute")
    predicting, cells = Predicting(draws.target), columns_of(draws)
    centres = centres_of(draws)
    missing = [np.flatnonzero(one.values < 0 if one.kind == CATEGORY else np.isnan(one.values)) for one in cells]

    def expected(partition: np.ndarray, values: np.ndarray) -> np.ndarray:
        found = []
        for one, centre, rows in zip(predicting.members(partition, values).columns(), centres, missing, strict=True):
            table = np.column_stack(moments_about(one, centre)) if one.shares is None else one.shares
            found.append(table[partition[rows]].ravel())
        return np.concatenate(found)

    each = by_replicate(draws, expected)
    mean, at, index, lines = each.mean(axis=0), 0, [], []
    error = stderr_of(each)
    first = predicting.members(draws.labels[0].astype(np.int64), draws.hyperparameters[0]).columns()
    for one, centre, rows in zip(first, centres, missing, strict=True):
        width = 2 if one.shares is None else len(one.levels)
        for row in rows.tolist():
            here, of_here = mean[at : at + width], error[at : at + width]
            index.append((names[row], one.name))
            if one.shares is None:
                lines.append((centre + here[0], np.sqrt(max(here[1] - here[0] ** 2, 0.0)), np.nan, of_here[0]))
            else:
                best = int(np.argmax(here))
                lines.append((one.levels[best], np.nan, here[best], of_here[best]))
            at += width
    called = pandas.MultiIndex.from_tuples(index, names=["row", "column"]) if index else None
    columns = ["value", "sd", "probability", "stderr"]
    return pandas.DataFrame(lines, called, columns) if index else pandas.DataFrame(columns=columns)
