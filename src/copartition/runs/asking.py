"""Expectations of any functional from partitions that a run has kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from copartition.answers import Estimate
from copartition.core.compiling import Kernel, prepare
from copartition.core.records import Weighted, count_pairs, new_record, sum_weighted
from copartition.core.room import empty_chain, widths_of
from copartition.core.starts import begin_at
from copartition.core.state import Chain
from copartition.core.steps import begin_chain, renew_model, reset_chain
from copartition.display import is_constant
from copartition.functionals import Functional, clusters, functional, pairs, reference
from copartition.functionals.base import bind_all
from copartition.functionals.redrawn import FORMS, REDRAWING, evaluate_redrawn
from copartition.names import Names
from copartition.partition import canonical
from copartition.results import Replicates
from copartition.results.kept import LARGEST, Partitions, Sums, whole_numbers
from copartition.results.replicates import Moments
from copartition.runs.defaults import describe_functionals
from copartition.runs.pieces import run_all
from copartition.runs.progress import Pause
from copartition.runs.recording import MOST_POINTS, Gatherer
from copartition.targets.base import Target
from copartition.targets.hooks import log_predictive
from copartition.validation import shorten

LABELS_AT_A_TIME = 400_000  # labels that are looked at in one call
OF_LABELS = {module.__name__ for module in (clusters, pairs, reference)}  # their functionals look at labels alone


@log_predictive
def unknown_predictive(model, chain, n_choices, n):
    """Stand for a posterior that is not known, and of which nothing is asked."""
    for k in range(n_choices):
        chain.weights[k] = np.nan


def labels_alone(n_points: int, names: list[Any] | None) -> Target:
    """Return a target of which nothing is known but its points, for functionals that look at labels alone."""
    target = Target(np.zeros((n_points, 0)), unknown_predictive)
    target.names = names
    return target


class Answers(NamedTuple):
    """Averages over the partitions of some replicates.

    Attributes
    ----------
    indices, seconds : arrays (replicates)
    values : float64 array (replicates, components)
    looked_up : float64 array (replicates, components)
        Values without drawing points anew; no rows where they are the same.
    ordinary : float64 array (replicates, components)
        Averages without corrections; no rows where they are not wanted.
    """

    indices: np.ndarray
    seconds: np.ndarray
    values: np.ndarray
    looked_up: np.ndarray
    ordinary: np.ndarray


@dataclass(frozen=True)
class Question:
    """A functional, and the partitions that it is averaged over; a piece of work is a replicate.

    Attributes
    ----------
    target : Target
    functional : Functional
        Bound to the target.
    partitions : Partitions
        With counts that have no common divisor.
    ordinary : bool
        Whether averages without corrections are wanted, too.
    redraws : bool
        Whether values are taken with every point drawn anew, see `copartition.functionals.redrawn`.
    sums : Sums or None
        Of functionals whose values are not kept: then values have no columns.
    """

    target: Target
    functional: Functional
    partitions: Partitions
    ordinary: bool = False
    redraws: bool = False
    sums: Sums | None = None

    def prepare(self) -> None:
        """Compile what is going to be used."""
        f = self.functional
        own = [f.evaluate] if isinstance(f.evaluate, Kernel) else []
        if self.sums is not None and f.gathers:
            prepare(count_pairs)
        elif own:
            redrawing = [*REDRAWING, begin_chain, begin_at] if self.redraws else []
            prepare(sum_weighted, *self.target.kernels, *own, *redrawing)

    def run(self, indices: Sequence[int], pause: Pause) -> tuple[Answers, None]:
        """Average over the partitions of some replicates, by their places, in this thread."""
        self.prepare()
        begin = time.thread_time()
        size = 0 if self.sums is not None else self.functional.size
        values = np.zeros((len(indices), size))
        looked_up = np.zeros((len(indices) if self.redraws else 0, size))
        ordinary = np.zeros((len(indices) if self.ordinary else 0, size))
        if self.sums is not None and self.functional.gathers:
            self._gather(indices, pause, self.sums)
        else:
            plainly = self._compiled() if self.functional.is_compiled else self._in_python
            total_of = self._redrawn() if self.redraws else plainly
            for here, lines, first in self._batches(indices, pause):
                counts = self.partitions.counts[lines].astype(np.float64)
                totals = total_of(lines, first, counts)
                if self.sums is not None:
                    self._add(totals, self.sums)
                    continue
                values[here] = totals / self.partitions.unit
                if self.redraws:
                    looked_up[here] = plainly(lines, first, counts) / self.partitions.unit
                if self.ordinary:
                    plain = np.arange(len(counts)) - np.repeat(first[:-1], np.diff(first)) < self.partitions.averaged
                    # Without corrections, chains are not yet at their target, where drawing anew changes nothing.
                    ordinary[here] = plainly(lines, first, plain.astype(np.float64)) / self.partitions.averaged
        seconds = np.full(len(indices), (time.thread_time() - begin) / max(1, len(indices)))
        return Answers(np.array(indices), seconds, values, looked_up, ordinary), None

    def _batches(self, indices: Sequence[int], pause: Pause) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield some replicates at a time: their places among these, their lines, and where each begins there."""
        begins = self.partitions.first
        sizes = np.diff(begins)[np.asarray(indices)]
        many = max(1, LABELS_AT_A_TIME // (int(sizes.max()) * self.partitions.labels.shape[1]))
        for a in range(0, len(indices), many):
            pause()
            some = indices[a : a + many]
            lines = np.concatenate([np.arange(begins[r], begins[r + 1]) for r in some])
            yield slice(a, a + len(some)), lines, np.concatenate([[0], np.cumsum(sizes[a : a + many])])

    def _chain(self) -> tuple[Target, Chain]:
        """Return the target as one chain sees it, and a chain with room for all partitions."""
        target = self.target.of_chain()
        most = max(target.model.palette, int(self.partitions.labels.max(initial=0)) + 1)
        return target, empty_chain(target.n_points, widths_of(target.model), most + 2)

    def _redrawn(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """Return the function that sums a functional with every point drawn anew, with a chain of its own."""
        (target, chain), f, partitions = self._chain(), self.functional, self.partitions

        def total_of(lines: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
            totals = np.zeros((len(first) - 1, f.size))
            replicate = np.repeat(np.arange(len(totals)), np.diff(first))
            for place, line, weight in zip(replicate, lines, weights, strict=True):
                if target.hyperparameters:
                    target.model.hyperparameters[:] = partitions.hyperparameters[line]
                    chain.n_clusters[0] = 0
                    renew_model(target.model, target.hooks, chain)
                reset_chain(target.model, target.hooks, chain, partitions.labels[line].astype(np.int64))
                totals[place] += weight * evaluate_redrawn(target.model, target.hooks, [f], chain)
            return totals

        return total_of

    def _compiled(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
        """Return the function that sums a compiled functional, with a chain of its own."""
        (target, chain), f, partitions = self._chain(), self.functional, self.partitions
        value = np.zeros(f.size)

        def total_of(lines: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
            values_of_lines = partitions.hyperparameters[lines][:, : len(target.hyperparameters)]
            weighted = Weighted(partitions.labels[lines].astype(np.int64), values_of_lines, weights, first)
            totals = np.zeros((len(first) - 1, f.size))
            sum_weighted(target.model, target.hooks, chain, f.evaluate, f.parameters, weighted, value, totals)
            return totals

        return total_of

    def _in_python(self, lines: np.ndarray, first: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the sums of a functional that is written in Python."""
        labels = self.partitions.labels[lines].astype(np.int64)
        values = np.array([self.functional.of_labels(row) for row in labels]).reshape(len(labels), -1)
        return np.add.reduceat(weights[:, None] * values, first[:-1], axis=0)

    def _add(self, totals: np.ndarray, sums: Sums) -> None:
        """Add the values of replicates to the sums."""
        divisors = self.functional.divisors
        for total in totals:
            whole = whole_numbers(total if divisors is None else total * divisors)
            with sums.adding():
                sums.add(whole, 0)

    def _gather(self, indices: Sequence[int], pause: Pause, sums: Sums) -> None:
        """Count the pairs of replicates into the sums."""
        points, begins = self.functional.parameters.astype(np.int64), self.partitions.first
        gatherer = Gatherer(len(points))
        for number in indices:
            pause()
            here = slice(begins[number], begins[number + 1])
            record = new_record(points, int(here.stop - here.start))
            record.labels[:] = self.partitions.labels[here][:, points]
            record.weights[:] = self.partitions.counts[here]
            record.written[0] = len(record.weights)
            with sums.adding():
                gatherer.add(record, sums, 0, int(number))


def expectations(
    run: Replicates, target: Target | None, wanted: Sequence[Any], executor: int | None, progress: bool
) -> Estimate:
    """Return the expectations of some functionals from the partitions of a run; see `WeightedPartitions.expect`.

    Parameters
    ----------
    run : Replicates
        With partitions.
    target : Target, optional
        That of the run; None if it is not known, and labels are all there is to look at.
    wanted : sequence of Functional or callable
        Any number.
    executor : int, optional
        Number of threads.
    progress : bool
    """
    assert run.partitions is not None
    partitions = _reduced(run.partitions)
    is_known = target is not None
    if target is None:
        target = labels_alone(partitions.labels.shape[1], run.made_by.get("names"))
        labels = np.empty_like(partitions.labels)
        for row, colours in zip(labels, partitions.labels, strict=True):
            row[:] = canonical(colours)
        partitions = partitions._replace(labels=labels)
    bound: list[Functional] = []
    values: list[np.ndarray] = []
    ordinary: list[np.ndarray] = []
    moments: list[Moments] = []
    for value in wanted:
        value = _as_functional(value, partitions)
        if not is_known:
            _check_of_labels(value)
        own, (f,) = bind_all(target, [value])
        _check_size(f, partitions)
        bound.append(f)
        sums = Sums(f.size, lists_rows=False) if f.is_streamed else None
        redraws = is_known and sums is None and f.evaluate in FORMS
        task = Question(own, f, partitions, run.ordinary_values is not None, redraws, sums)
        found: Answers = run_all(task, len(run.values), executor, progress, f.name)
        values.append(_without_rare(found.values, found.looked_up) if task.redraws else found.values)
        if task.ordinary:
            ordinary.append(found.ordinary)
        if sums is not None:
            moments.append(Moments.of(sums, len(run.values), describe_functionals([f]), partitions.unit))
        elif not np.isfinite(values[-1]).all():
            raise ValueError(f"{f.name} gave a value that is not finite, for {shorten(target)}.")
    about = describe_functionals(bound)
    left_out = {"precision", "functional", "functional_fingerprint", "functionals"}
    made_by = {key: value for key, value in run.made_by.items() if key not in left_out} | about
    made_by["asked"] = partitions.averaged
    joined = Moments(*[np.concatenate(parts) for parts in zip(*moments, strict=True)]) if moments else None
    return replace(
        Estimate(**{name: getattr(run, name) for name in run.__dataclass_fields__}),
        values=np.concatenate(values, axis=1),
        ordinary_values=np.concatenate(ordinary, axis=1) if ordinary else None,
        moments=joined,
        components=Names(about["functionals"]),
        made_by=made_by,
    )


def _without_rare(values: np.ndarray, looked_up: np.ndarray) -> np.ndarray:
    """Return values with the spread taken away from components that are the same wherever they are looked up.

    The conditional distribution of single points tells what such a component would be next to the partitions that are
    there, to many digits. What it would be in others, which no replicate has visited, it does not tell, and its spread
    between replicates would be taken for an error that it is not. The mean stays; that nothing is known of its error is
    then said as it is said of every component that is the same in all replicates.
    """
    is_same = is_constant(np.abs(looked_up).max(axis=0), np.ptp(looked_up, axis=0))
    return np.where(is_same, values.mean(axis=0), values)


def with_answers(run: Replicates, asked: Estimate) -> Estimate:
    """Return an estimate of all that a run estimated, and of what was asked of its partitions afterwards."""
    functionals = [*run.functionals, *asked.functionals]
    several = [one.moments for one in (run, asked) if one.moments is not None]
    moments = Moments(*[np.concatenate(parts) for parts in zip(*several, strict=True)]) if several else None
    ordinary = None
    if run.ordinary_values is not None and asked.ordinary_values is not None:
        ordinary = np.concatenate([run.ordinary_values, asked.ordinary_values], axis=1)
    about = {"functional": f"{run.made_by['functional']}, {asked.made_by['functional']}", "functionals": functionals}
    return replace(
        asked,
        values=np.concatenate([run.values, asked.values], axis=1),
        ordinary_values=ordinary,
        moments=moments,
        components=Names(functionals),
        made_by=run.made_by | about,
    )


def _reduced(partitions: Partitions) -> Partitions:
    """Return the same with counts as small as they can be: those of a replicate sum to the unit, which is divided."""
    common = max(1, int(np.gcd.reduce(partitions.counts)))
    return partitions._replace(counts=partitions.counts // common, unit=partitions.unit // common)


def _as_functional(value: Any, partitions: Partitions) -> Any:
    """Return a functional; of a function of labels how many numbers it returns is found by calling it."""
    if isinstance(value, Functional) or not callable(value):
        return value
    name = getattr(value, "__name__", "functional")
    if str(getattr(value, "__module__", "")).startswith("copartition.functionals"):
        raise TypeError(f"functional must be a functional such as n_clusters(), got the function {name}: call it.")
    size = np.size(value(canonical(partitions.labels[0])))
    if size == 0:
        raise ValueError(f"{name} must return one number or more for the labels of a partition, got none.")
    return functional(value, size)


def _check_size(f: Functional, partitions: Partitions) -> None:
    """Refuse what cannot be summed exactly."""
    if not f.is_streamed:
        return
    if f.gathers and len(f.parameters) > MOST_POINTS:
        raise ValueError(f"co_clustering of all pairs takes at most {MOST_POINTS:,} points, got {len(f.parameters):,}.")
    first = partitions.first
    if np.add.reduceat(np.abs(partitions.counts), first[:-1]).max() >= LARGEST:
        raise ValueError(f"{f.name}: weights are too different to be summed exactly; ask with keep_values=True.")


def _check_of_labels(value: Any) -> None:
    """Refuse a functional that asks a posterior which is not known."""
    evaluate = getattr(value, "evaluate", None)
    if isinstance(evaluate, Kernel) and evaluate.function.__module__ not in OF_LABELS:
        raise ValueError(
            f"{value.name} asks the posterior, which a file does not hold: give the target that the run was made with."
        )
