"""Which component suits columns of numbers: the one that predicts rows best that it has not seen.

Full, shared ("tied") and diagonal covariances compete. Chains on nine tenths of the rows score the other tenth by the
log of their predictive density, and again with another tenth, as often as a fifth of the work allows. The score is the
mean over rows; the best one wins. That says which predicts best and nothing of somebody's classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from copartition.chains.start import check_start
from copartition.clustering.chains import Stretch
from copartition.clustering.model import NAMED, complete_numbers, component_for, table_of
from copartition.clustering.predicting import density_of_rows
from copartition.clustering.work import Budget, Cost
from copartition.datasets.kinds import CATEGORY, Column
from copartition.runs.defaults import bind, read_step_alone
from copartition.runs.everything import run_all
from copartition.runs.pacing import Pause
from copartition.runs.workers import Where
from copartition.targets.mixture import Mixture

SHARE = 0.2  # of all work
FOLDS, MOST_FOLDS = 10, 5  # into how many parts rows are cut; how many of them are left out in turn, at most
STEPS, LEAST_STEPS, DRAWS = 300, 60, 30  # of a chain; clusterings of its second half that score
CHAINS = 2
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


@dataclass(frozen=True)
class _Trial:
    """Chains of some components on rows of the table; a piece of work is a component and the rows left out."""

    columns: tuple[Column, ...]
    names: tuple[str, ...]
    prior: Any
    folds: tuple[tuple[np.ndarray, np.ndarray], ...]  # rows that are known, and those left out
    steps: int
    seed: int

    def run(self, numbers: Sequence[int], pause: Pause) -> tuple[_Scored, None]:
        """Score some pieces in this thread."""
        scores = [self._score(i, pause) for i in numbers]
        return _Scored(np.array(numbers), np.zeros(len(numbers)), scores), None

    def _score(self, i: int, pause: Pause) -> np.ndarray | None:
        """Return the log predictive density of each row left out; None where the component cannot be had."""
        name, (known, out) = self.names[i % len(self.names)], self.folds[i // len(self.names)]
        try:
            posterior = Mixture(table_of(self.columns, known), component_for(self.columns, name), self.prior)
        except ValueError:  # a covariance that is singular, for instance
            return None
        step = bind(posterior, read_step_alone(posterior, None, None))
        begins = (check_start(posterior, "sequential"),) * CHAINS
        half = self.steps // 2 // DRAWS * DRAWS
        first = Stretch(posterior, step, begins, half, DRAWS, self.seed, PART + 2 * i)
        batch, _ = first.run(range(CHAINS), pause)
        goes_on = tuple(_end(one) for one in batch.followed)
        second = Stretch(posterior, step, goes_on, half, DRAWS, self.seed, PART + 2 * i + 1)
        batch, _ = second.run(range(CHAINS), pause)
        labels = np.concatenate([one[0] for one in batch.followed])
        values = np.concatenate([one[1] for one in batch.followed])
        rows = table_of(self.columns, out)
        each = density_of_rows(posterior, labels, values, rows)
        top = each.max(axis=0)
        return np.asarray(top + np.log(np.mean(np.exp(each - top), axis=0)))


class _Scored(NamedTuple):
    indices: np.ndarray
    seconds: np.ndarray
    scores: list[np.ndarray | None]


def _end(one: tuple[np.ndarray, np.ndarray]) -> Any:
    from copartition.clustering.chains import State

    return State(one[0][-1].astype(np.int64), one[1][-1])


def choose_component(columns: list[Column], prior: Any, budget: Budget, where: Where) -> tuple[str, list[Score]]:
    """Return the name of the component that predicts best, and the scores of all, best first; none without a choice."""
    complete = complete_numbers(columns)
    names = NAMED if len(complete) > 1 else ("full", "tied") if complete else ("diagonal",)
    if len(names) == 1:
        return names[0], []
    random = np.random.default_rng([where.seed, PART])
    parts, rows = _parts_of(columns, random)
    count = len(rows)
    if count < FOLDS:
        return names[0], []
    a_step, trial = {}, np.sort(rows)
    for name in names:
        try:
            a_step[name] = Cost(Mixture(table_of(columns, trial), component_for(columns, name), prior)).of_step(
                CLUSTERS
            )
        except ValueError:
            continue
    if len(a_step) < 2:
        return next(iter(a_step), "diagonal"), []
    of_fold = CHAINS * STEPS * sum(a_step.values())
    many = int(np.clip(SHARE * budget.total // of_fold, 1, MOST_FOLDS))
    steps = int(np.clip(STEPS * SHARE * budget.total / (many * of_fold), LEAST_STEPS, STEPS))
    folds = tuple((np.sort(np.setdiff1d(rows, parts[i])), np.sort(parts[i])) for i in range(many))
    task = _Trial(tuple(columns), tuple(a_step), prior, folds, steps, where.seed)
    scores: dict[str, list[np.ndarray | None]] = {name: [] for name in a_step}
    batches = run_all(task, many * len(a_step), where.executor, False, "trials")
    for batch in batches:
        for i, one in zip(batch.indices.tolist(), batch.scores, strict=True):
            scores[list(a_step)[i % len(a_step)]].append(one)
    budget.spend(of_fold * many * steps / STEPS, "choosing the model")
    known = {name: [one for one in every if one is not None] for name, every in scores.items()}
    return _best({name: np.concatenate(every) for name, every in known.items() if len(every) == many})


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
