"""From a table to a posterior: what its columns are, and a component for each kind of them.

The component for columns of numbers is the one that predicts rows best that it has not seen. Full, shared ("tied") and
diagonal covariances compete. Chains on nine tenths of the rows score the other tenth by the log of their predictive
density, and again with another tenth, as often as a fifth of the work allows. The score is the mean over rows; the best
one wins. That says which predicts best and nothing of somebody's classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import check_start
from copartition.clustering.chains import State, Stretch
from copartition.clustering.predicting import density_of_rows
from copartition.clustering.work import Budget, Cost
from copartition.datasets.kinds import BINARY, CATEGORY, COUNT, NUMBER, Column, Kinds
from copartition.runs.defaults import bind, read_step_alone
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.progress import Pause
from copartition.runs.workers import Where
from copartition.targets.cells import Cells
from copartition.targets.columns import Columns
from copartition.targets.data_prior import means_of, variances_of
from copartition.targets.data_prior import why_singular as of_correlation
from copartition.targets.discrete import Bernoulli, Categorical, Poisson
from copartition.targets.distributions import LogUniform
from copartition.targets.mixture import Component, Mixture
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.tied import TiedGaussian
from copartition.validation import BY_NUMBER, RowTitles

NAMED = ("full", "tied", "diagonal")  # what clusters of numbers may be like
SCALES = (0.01, 10.0)  # of the covariances of clusters, in covariances of the data


def component_called(name: str) -> Any:
    """Return the component of columns of numbers by its name.

    A full covariance has a scale that is learnt: it predicts as well as a fixed one or better (`docs/models.md`), with
    fewer clusters of one or two rows.

    Examples
    --------
    >>> component_called("full")
    NormalInverseWishart(scale=LogUniform(0.01, 10))
    """
    if name == "full":
        return NormalInverseWishart(scale=LogUniform(*SCALES))
    return TiedGaussian("full") if name == "tied" else NormalInverseGamma()


def table_of(columns: Sequence[Column], rows: np.ndarray | None = None, titles: RowTitles = BY_NUMBER) -> Cells:
    """Return recognised columns as a table that knows their names; of some rows only, if these are given."""
    arrays = []
    for column in columns:
        array = np.array(column.cells, dtype=object if column.kind == CATEGORY else np.float64)
        arrays.append(array if rows is None else array[rows])
    return Cells(arrays, [column.name for column in columns], sure=True, rows=titles)


def is_complete(column: Column) -> bool:
    """Tell whether every cell was observed."""
    return column.n_missing == 0


def complete_numbers(columns: Sequence[Column]) -> list[int]:
    """Return the places of the columns of numbers that lack no cell: those whose covariances can be told."""
    return [j for j, column in enumerate(columns) if column.kind == NUMBER and is_complete(column)]


def why_singular(columns: Sequence[Column]) -> str:
    """Return that the covariance of columns of numbers is singular, in words; nothing where it is not."""
    places = complete_numbers(columns)
    if len(places) < 2:
        return ""
    cells = table_of([columns[j] for j in places])
    data = cells.numbers()
    standard = (data - means_of(data, cells)) / np.sqrt(variances_of(data, cells))
    return of_correlation(standard.T @ standard / (len(data) - 1), len(data))


def component_for(columns: Sequence[Column], name: str) -> Component:
    """Return the component of recognised columns.

    Parameters
    ----------
    columns : sequence of Column
    name : str
        Of the component of columns of numbers that lack no cell; those that do are taken for independent.
    """
    complete = complete_numbers(columns)
    incomplete = [j for j, column in enumerate(columns) if column.kind == NUMBER and j not in complete]
    if name == "diagonal":
        complete, incomplete = [], sorted([*complete, *incomplete])
    places = {
        kind: [j for j, column in enumerate(columns) if column.kind == kind] for kind in (COUNT, BINARY, CATEGORY)
    }
    parts: list[tuple[list[int], Component]] = [
        (complete, component_called(name)),
        (incomplete, NormalInverseGamma()),
        (places[COUNT], Poisson()),
        (places[BINARY], Bernoulli()),
        (places[CATEGORY], Categorical()),
    ]
    used = [(some, component) for some, component in parts if some]
    return used[0][1] if len(used) == 1 else Columns(used)


def posterior_of(kinds: Kinds, component: Component, prior: Any, known: Any) -> Mixture:
    """Return the posterior of a recognised table."""
    posterior = Mixture(table_of(kinds.columns, titles=kinds.titles), component, prior, known=known)
    posterior.names = kinds.names
    return posterior


SHARE = 0.2  # of all work
TIED = 2.0  # standard errors by which a score must be lower to be told from the best
FOLDS, MOST_FOLDS = 10, 5  # into how many parts rows are cut; how many of them are left out in turn, at most
STEPS, LEAST_STEPS, DRAWS = 300, 60, 30  # of a chain; clusterings of its second half that score
CHAINS_OF_TRIAL = 2
ROWS = 2_000  # that are looked at: of more, so many drawn at random
CLUSTERS = 8.0  # a guess of their number, for what chains cost
PART = int.from_bytes(b"heldout", "big")


class Score(NamedTuple):
    """How well a component predicts rows that it has not seen.

    Attributes
    ----------
    component : str
    score : float
        Mean log predictive density of a row.
    stderr : float
        Standard error, between rows, of its difference from the best; 0 for the best.
    chosen : bool
    """

    component: str
    score: float
    stderr: float
    chosen: bool


class _Scored(NamedTuple):
    """Log predictive densities of the rows left out, and the number of clusters that chains had."""

    each: np.ndarray
    n_clusters: float


@dataclass(frozen=True)
class _Trial(OneByOne):
    """Chains on rows of the table that score the rows left out; a piece of work is a component."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    prior: Any
    rows: tuple[np.ndarray, np.ndarray]  # those that are known, and those left out
    steps: int
    seed: int
    fold: int

    def one(self, index: int, pause: Pause) -> _Scored | None:
        """Score a component; None where it cannot be had."""
        known, out = self.rows
        try:
            posterior = Mixture(
                table_of(self.columns, known), component_for(self.columns, self.names[index]), self.prior
            )
        except ValueError:  # a covariance that is singular without the rows left out
            return None
        step = bind(posterior, read_step_alone(posterior, None, None))
        begins: tuple[Any, ...] = (check_start(posterior, "sequential"),) * CHAINS_OF_TRIAL
        half, part = max(1, self.steps // 2 // DRAWS) * DRAWS, PART + 2 * (self.fold * len(self.names) + index)
        for second in (0, 1):
            stretch = Stretch(posterior, step, begins, half, DRAWS, self.seed, part + second)
            followed = stretch.run(range(CHAINS_OF_TRIAL), pause)[0].results
            begins = tuple(State(labels[-1].astype(np.int64), values[-1]) for labels, values in followed)
        labels, values = (np.concatenate([one[k] for one in followed]) for k in (0, 1))
        each = density_of_rows(posterior, labels, values, table_of(self.columns, out))
        top = each.max(axis=0)
        mean = top + np.log(np.mean(np.exp(each - top), axis=0))
        return _Scored(np.asarray(mean), float(np.mean([row.max() + 1 for row in labels])))


def choose_component(columns: list[Column], prior: Any, budget: Budget, where: Where) -> tuple[str, list[Score]]:
    """Return the name of the component that predicts best, and the scores of all, best first; none without a choice."""
    complete = complete_numbers(columns)
    names = NAMED if len(complete) > 1 else ("full", "tied") if complete else ("diagonal",)
    if len(names) == 1:
        return names[0], []
    random = np.random.default_rng([where.seed, PART])
    parts, rows = _parts_of(columns, random)
    if min(len(part) for part in parts) == 0:  # too few rows to compare anything
        return "diagonal", []
    costs = {}
    for name in names:
        try:
            costs[name] = Cost(Mixture(table_of(columns, rows), component_for(columns, name), prior))
        except ValueError:  # a covariance that is singular, for instance
            continue
    if len(costs) < 2:
        return next(iter(costs), "diagonal"), []
    most, begin = SHARE * budget.total, budget.spent
    of_step = CHAINS_OF_TRIAL * sum(one.of_step(CLUSTERS) for one in costs.values())
    steps = int(np.clip(most / of_step, LEAST_STEPS, STEPS))
    scores: dict[str, list[np.ndarray]] = {name: [] for name in costs}
    for fold in range(MOST_FOLDS):
        rows_of = np.sort(np.setdiff1d(rows, parts[fold])), np.sort(parts[fold])
        task = _Trial(tuple(columns), tuple(costs), prior, rows_of, steps, where.seed, fold)
        work = 0.0
        for name, one in zip(costs, run_all(task, len(costs), where.executor, False, "trials").results, strict=True):
            if one is not None:
                scores[name].append(one.each)
                work += CHAINS_OF_TRIAL * steps * costs[name].of_step(one.n_clusters)
        budget.spend(work, "choosing the model")
        if budget.spent + work > begin + most:
            break
    folds = max(len(every) for every in scores.values())
    return _best({name: np.concatenate(every) for name, every in scores.items() if folds and len(every) == folds})


def _best(scores: dict[str, np.ndarray]) -> tuple[str, list[Score]]:
    """Return the name with the largest mean, and all scores."""
    if not scores:
        return "diagonal", []
    ranked = sorted(scores, key=lambda name: -float(scores[name].mean()))
    best = scores[ranked[0]]
    return ranked[0], [
        Score(name, float(scores[name].mean()), _stderr(scores[name] - best), name == ranked[0]) for name in ranked
    ]


def _stderr(differences: np.ndarray) -> float:
    return float(differences.std(ddof=1) / np.sqrt(len(differences))) if len(differences) > 1 else float("nan")


def _parts_of(columns: list[Column], random: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """Return rows in ten parts, and all rows that are looked at; a row with a category of its own is never left out."""
    count = len(columns[0].cells)
    rows = np.arange(count) if count <= ROWS else np.sort(random.choice(count, ROWS, replace=False))
    first = {i for column in columns if column.kind == CATEGORY for i in _firsts(column.cells, rows)}
    may_go = random.permutation([i for i in rows.tolist() if i not in first]).astype(np.int64)
    return np.array_split(may_go, FOLDS), rows


def _firsts(cells: list[Any], rows: np.ndarray) -> list[int]:
    seen: dict[Any, int] = {}
    for i in rows.tolist():
        seen.setdefault(cells[i], i)
    return list(seen.values())
