"""What clusters look like, which columns tell them apart, which rows belong nowhere, and what missing cells may be.

`profile` is what a new member of a cluster would look like, by the model; `separation` looks at the data alone: the
share of the variance of a column (of the logs of counts; of the entropy of categories) that is between clusters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from copartition.clustering.predicting import (
    Predicting,
    by_replicate,
    each_partition,
    moments_about,
    overlaps_with,
    stderr_of,
)
from copartition.extras import needed
from copartition.runs.drawing import WeightedPartitions

CATEGORY, COUNT = "category", "count"


class Shown(NamedTuple):
    """A line of a profile for every cluster.

    Attributes
    ----------
    column, category : str
        No category for numbers and counts.
    all_rows : float
        The same of all rows: their mean, or their share of the category.
    """

    column: str
    category: str
    all_rows: float


def profile(draws: WeightedPartitions, labels: np.ndarray) -> Any:
    """Return what a member of each reference cluster looks like, as a data frame; see `Clustering.profile`.

    A random member of cluster C is in cluster A of a partition with probability |A and C| / |C|, and looks like members
    of A do.
    """
    pandas = needed("pandas", by="profile")
    predicting, sizes = Predicting(draws.target), np.bincount(labels)

    def moments(partition: np.ndarray, values: np.ndarray) -> np.ndarray:
        columns = predicting.members(partition, values).columns()
        first, second = [], []
        for one, centre in zip(columns, centres, strict=True):
            if one.shares is None:
                about = moments_about(one, centre)
            else:
                about = one.shares, np.zeros_like(one.shares)
            first.append(about[0].reshape(len(one.mean), -1)[:-1])
            second.append(about[1].reshape(len(one.mean), -1)[:-1])
        tables = np.stack([np.hstack(first), np.hstack(second)])
        return np.asarray((overlaps_with(partition, labels) / sizes).T @ tables)

    shown = _lines(draws, predicting)
    centres = centres_of(draws)
    shift = np.array([0.0 if one.category else one.all_rows for one in shown])
    each = by_replicate(draws, moments).reshape(-1, 2, len(sizes), len(shown))
    mean = each.mean(axis=0)
    variance = np.maximum(mean[1] - mean[0] ** 2, 0.0)
    sd = np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):  # the standard deviation, to first order
        of_sd = np.where(sd > 0.0, (each[:, 1] - 2.0 * mean[0] * each[:, 0]) / (2.0 * sd), 0.0)
    error, sd_error = (stderr_of(one.reshape(len(each), -1)).reshape(sd.shape) for one in (each[:, 0], of_sd))
    is_share = np.array([one.category != "" for one in shown])
    clusters, lines = np.indices(sd.shape)
    index = pandas.MultiIndex.from_arrays(
        [clusters.ravel(), *([getattr(shown[i], key) for i in lines.ravel()] for key in ("column", "category"))],
        names=["cluster", "column", "category"],
    )
    return pandas.DataFrame(
        {
            "estimate": (mean[0] + shift).ravel(),
            "stderr": error.ravel(),
            "sd": np.where(is_share, np.nan, sd).ravel(),
            "sd_stderr": np.where(is_share, np.nan, sd_error).ravel(),
            "all_rows": np.array([one.all_rows for one in shown])[lines.ravel()],
        },
        index,
    )


def _lines(draws: WeightedPartitions, predicting: Predicting) -> list[Shown]:
    first = draws.labels[0].astype(np.int64)
    found = []
    for one, cells in zip(
        predicting.members(first, draws.hyperparameters[0]).columns(), columns_of(draws), strict=True
    ):
        if one.shares is None:
            found.append(Shown(one.name, "", float(np.nanmean(cells.values))))
            continue
        seen = cells.values[cells.values >= 0]
        shares = np.bincount(seen.astype(np.int64), minlength=len(one.levels)) / len(seen)
        found += [Shown(one.name, str(level), float(share)) for level, share in zip(one.levels, shares, strict=True)]
    return found


class Cells(NamedTuple):
    """A column of the data as numbers.

    Attributes
    ----------
    name, kind : str
    values : float64 array (points)
        Numbers and counts, NaN where not observed; the places of categories among the levels, -1 where not observed.
    """

    name: str
    kind: str
    values: np.ndarray


def columns_of(draws: WeightedPartitions) -> list[Cells]:
    """Return the columns of the data that the model looks at, in their order."""
    target: Any = draws.target
    first = draws.labels[0].astype(np.int64)
    found = []
    for one in Predicting(target).members(first, draws.hyperparameters[0]).columns():
        column = target.cells.subset([one.position])
        if one.kind == CATEGORY:
            places = {level: i for i, level in enumerate(one.levels)}
            values = np.array([-1 if cell is None else places[cell] for cell in column.values(0)], dtype=np.float64)
        else:
            values = column.numbers()[:, 0]
        found.append(Cells(one.name, one.kind, values))
    return found


def centres_of(draws: WeightedPartitions) -> list[float]:
    """Return the mean of all rows in each column, 0 for categories."""
    return [0.0 if one.kind == CATEGORY else float(np.nanmean(one.values)) for one in columns_of(draws)]


def separation(draws: WeightedPartitions, labels: np.ndarray) -> Any:
    """Return how much each column separates the clusters, as a data frame; see `Clustering.separation`."""
    pandas = needed("pandas", by="separation")
    columns, clusters = columns_of(draws), int(labels.max()) + 1
    tables = [_table_of(one) for one in columns]

    def shares(partition: np.ndarray, values: np.ndarray) -> np.ndarray:
        both = overlaps_with(partition, labels)
        within = both / both.sum(axis=1, keepdims=True)  # of each cluster: how much of it is in each reference cluster
        return np.array([_separated(table, partition, within) for table in tables])

    each = by_replicate(draws, shares)
    mean, error = (one.reshape(len(columns), clusters + 1) for one in (each.mean(axis=0), stderr_of(each)))
    named = {"separation": mean[:, 0], "stderr": error[:, 0]}
    for r in range(clusters):
        named |= {f"cluster {r}": mean[:, r + 1], f"cluster {r} stderr": error[:, r + 1]}
    frame = pandas.DataFrame(named, pandas.Index([one.name for one in columns], name="column"))
    return frame.sort_values("separation", ascending=False, kind="stable")


def _table_of(column: Cells) -> tuple[np.ndarray, bool]:
    """Return what is summed over clusters: 1, x and x squared of observed cells, or one column a category."""
    if column.kind == CATEGORY:
        levels = int(column.values.max(initial=0)) + 1
        return (column.values[:, None] == np.arange(levels)).astype(np.float64), True
    there = ~np.isnan(column.values)
    values = np.log1p(column.values) if column.kind == COUNT else column.values
    values = np.where(there, values - np.nanmean(values), 0.0)
    return np.column_stack([there, values, values**2]), False


def _separated(table: tuple[np.ndarray, bool], partition: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return by how much a column separates all clusters, then each reference cluster from the rest."""
    cells, is_category = table
    sums = np.column_stack([np.bincount(partition, weights=column) for column in cells.T])
    ratio = _information if is_category else _explained
    of_reference = within.T @ sums
    rest = sums.sum(axis=0) - of_reference
    each = [ratio(np.stack([one, other])) for one, other in zip(of_reference, rest, strict=True)]
    return np.array([ratio(sums), *each])


def _explained(sums: np.ndarray) -> float:
    """Return the share of the variance that is between groups, given count, sum and sum of squares of each."""
    count, total, squares = sums.T
    means = np.divide(total, count, out=np.zeros_like(total), where=count > 0.0)
    mean = total.sum() / count.sum()
    whole = squares.sum() - count.sum() * mean**2
    return float(np.sum(count * (means - mean) ** 2) / whole) if whole > 0.0 else 0.0


def _information(counts: np.ndarray) -> float:
    """Return the share of the entropy of categories that groups tell, given how often each is in each group."""
    joint = counts / counts.sum()
    both = _entropy(joint.sum(axis=0)) + _entropy(joint.sum(axis=1)) - _entropy(joint)
    whole = _entropy(joint.sum(axis=0))
    return both / whole if whole > 0.0 else 0.0


def _entropy(shares: np.ndarray) -> float:
    seen = shares[shares > 0.0]
    return float(-np.sum(seen * np.log(seen)))


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
    return np.asarray(-(top + np.log(np.where(mean > 0.0, mean, np.nan))))


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
