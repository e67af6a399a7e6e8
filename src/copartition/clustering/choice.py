"""Which component suits columns of numbers: the one that predicts rows best that it has not seen.

Full, shared ("tied") and diagonal covariances compete. Chains on nine tenths of the rows score the other tenth by the
log of their predictive density, and again with another tenth, as often as a fifth of the work allows. The score is the
mean over rows; the best one wins. That says which predicts best and nothing of somebody's classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import check_start
from copartition.clustering.chains import State, Stretch
from copartition.clustering.model import NAMED, complete_numbers, component_for, table_of
from copartition.clustering.predicting import density_of_rows
from copartition.clustering.work import Budget, Cost
from copartition.datasets.kinds import CATEGORY, Column
from copartition.runs.defaults import bind, read_step_alone
from copartition.runs.pacing import Pause
from copartition.runs.pieces import OneByOne, run_all
from copartition.runs.workers import Where
from copartition.targets.mixture import Mixture

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
