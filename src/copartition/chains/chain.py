"""One chain, seen from Python: how it is run, what the distribution of its next move is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from copartition.chains.step import BoundStep
from copartition.core.batch import new_progress
from copartition.core.room import empty_chain, grown, widths_of
from copartition.core.state import PLACE, Chain, Stepper
from copartition.core.steps import (
    Recorder,
    conditional_distribution,
    make_recorded_steps,
    make_steps,
    renew_model,
    reset_chain,
)
from copartition.core.types import DONE, FULL, IMPOSSIBLE, INVALID, NO_HYPERPARAMETER, PAUSED, WRONG_PARTNER
from copartition.functionals import Functional
from copartition.partition import canonical
from copartition.targets.base import Target, check_target
from copartition.validation import finite_array, integer, label_array, shorten


def chain_at(target: Target, labels: np.ndarray) -> Chain:
    """Return a chain at the partition `labels`, in canonical numbering, negative for points in no cluster."""
    n_clusters = max(target.model.palette, int(labels.max()) + 1)
    capacity = max(16, n_clusters + n_clusters // 4 + 2)
    chain = empty_chain(target.n_points, widths_of(target.model), capacity)
    reset_chain(target.model, target.hooks, chain, labels)
    return chain


def advance_chain(target: Target, step: BoundStep | Stepper, chain: Chain, random: np.ndarray, steps: int) -> Chain:
    """Run a chain for a number of steps; return it, or a larger copy if it had to grow."""
    check_own(target)
    stepper = step.stepper(target) if isinstance(step, BoundStep) else step
    progress = new_progress()
    while True:
        status = make_steps(target.model, target.hooks, chain, stepper, random, progress, steps)
        if status == DONE:
            return chain
        chain = grown_or_refused(chain, status, int(progress[PLACE]))


def record_chain(
    target: Target, step: BoundStep, chain: Chain, random: np.ndarray, functional: Functional, draws: np.ndarray
) -> Chain:
    """Run a chain for as many steps as `draws` has rows, and write the functional after each into its row."""
    check_own(target)
    stepper = step.stepper(target)
    if not functional.is_compiled:
        for row in draws:
            chain = advance_chain(target, stepper, chain, random, 1)
            row[:] = functional.of_labels(chain.labels)
        return chain
    progress = new_progress()
    recorder = Recorder(functional.evaluate, functional.parameters, draws)
    while True:
        status = make_recorded_steps(target.model, target.hooks, chain, stepper, random, progress, recorder)
        if status == DONE:
            return chain
        chain = grown_or_refused(chain, status, int(progress[PLACE]))


class _Listening(threading.local):
    """What each thread calls where a kernel has paused."""

    pauses: tuple[Callable[[], None], ...] = ()


_listening = _Listening()


@contextmanager
def listening(pause: Callable[[], None]) -> Iterator[None]:
    """Let chains that run in this thread call a function every now and then, which may raise an error to stop them."""
    before, _listening.pauses = _listening.pauses, (pause,)
    try:
        yield
    finally:
        _listening.pauses = before


def give_way() -> None:
    """Let who wants to stop the chains of this thread do so."""
    for pause in _listening.pauses:
        pause()


def check_own(target: Target, changes_power: bool = False) -> None:
    """Refuse to run a chain that changes what others see too."""
    if (target.hyperparameters or changes_power) and not target.belongs_to_chain:
        raise ValueError(
            "A chain with unknown hyperparameters, or an annealed start, must be run with a target of its own: see "
            "Target.of_chain."
        )


def grown_or_refused(chain: Chain, status: int, n: int) -> Chain:
    """Do what a kernel that stopped at point `n` needs.

    A larger chain, or an error where the target gave no distribution.
    """
    if status == PAUSED:
        give_way()
        return chain
    if status != FULL:
        raise refusal(status, n)
    return grown(chain)


def with_hyperparameters(target: Target, hyperparameters: Any) -> Target:
    """Return the target as a chain sees it whose unknown hyperparameters have these values.

    None where there are none.
    """
    if hyperparameters is None and not target.hyperparameters:
        return target
    if hyperparameters is None:
        raise ValueError(
            f"hyperparameters must be given for {shorten(target)}, in which {', '.join(target.hyperparameters[:6])} "
            f"{'is' if len(target.hyperparameters) == 1 else 'are'} unknown."
        )
    values = np.atleast_1d(finite_array("hyperparameters", hyperparameters, (0, 1)))
    if len(values) != len(target.hyperparameters):
        raise ValueError(f"hyperparameters must be {len(target.hyperparameters)} number(s), got {len(values)}.")
    of_prior = getattr(target.prior, "unknown", None)
    if of_prior is not None and values[-1] not in of_prior.values:
        raise ValueError(
            f"hyperparameters must have a value of its grid for {target.hyperparameters[-1]}, got {values[-1]:g}."
        )
    own = target.of_chain()
    own.model.hyperparameters[:] = values
    renew_model(own.model, own.hooks, empty_chain(0, widths_of(own.model), 2))
    return own


def conditional(target: Target, labels: Any, n: int, hyperparameters: Any = None) -> np.ndarray:
    """Compute the conditional distribution of one point given the clusters of all others.

    Parameters
    ----------
    target : Target
    labels : array of int
        A label for each point; the label of point `n` itself does not matter.
    n : int
        The point.
    hyperparameters : array of float, optional
        Values of the hyperparameters that are unknown, in the order of ``target.hyperparameters``, where there are any.

    Returns
    -------
    numpy.ndarray
        Probabilities of joining each cluster of the other points, in the order of their first points, and, last,
        of a new cluster. A point whose cluster is known (see `Target`) stays where it is.

    Examples
    --------
    >>> import copartition as cp
    >>> target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> cp.kernels.conditional(target, [0, 0, 1], n=1).round(3)  # with point 0, with point 2, on its own
    array([0.693, 0.004, 0.303])
    """
    check_target(target)
    target = with_hyperparameters(target, hyperparameters)
    n = integer("n", n, 0)
    if n >= target.n_points:
        raise ValueError(f"n must be below the number of points, {target.n_points}, got {n}.")
    # Point n comes last in the numbering, so that taking it out leaves the clusters of the others in their order.
    order = np.r_[np.delete(np.arange(target.n_points), n), n]
    arranged = np.empty(target.n_points, dtype=np.int64)
    given = label_array("labels", labels, target.n_points)
    target.constraint.check(given, "labels", None if target.constraint.labels[n] >= 0 else n)
    arranged[order] = canonical(given[order])
    others = int(np.delete(arranged, n).max(initial=-1)) + 1
    if 0 < target.model.palette < others:
        raise ValueError(f"labels must have at most {target.model.palette} clusters besides point {n}, got {others}.")
    chain = chain_at(target, arranged)
    total = conditional_distribution(target.model, target.hooks, chain, n)
    if not total > 0.0:
        raise refusal(IMPOSSIBLE if total == 0.0 else INVALID, n)
    weights = chain.weights[: target.model.palette or others + 1] / total
    return np.r_[weights[:others], weights[others:].sum()]


def refusal(status: int, n: int) -> ValueError:
    """Return the error for a kernel that stopped at point `n` because the target or the coupling is wrong."""
    if status == WRONG_PARTNER:
        return ValueError(
            "partner of the coupling must return a choice of positive weight, from 0 to n_y - 1; "
            f"for point {n} it returned something else."
        )
    if status == NO_HYPERPARAMETER:
        return ValueError(
            "weigh_hyperparameter and log_density_of_hyperparameters of the target must give numbers, and "
            "weigh_hyperparameter one that is not "
            "minus infinity; for a number that is unknown they did not."
        )
    found = "minus infinity for every choice" if status == IMPOSSIBLE else "NaN or plus infinity"
    return ValueError(
        f"log_predictive of the target must give each choice a number or minus infinity, and at least one a number; "
        f"for point {n} it gave {found}."
    )
