"""A step of one chain, and of two together, is a list of moves; and the kernels that make many steps.

The moves arrive as functions, in a `copartition.core.state.Stepper`: a run compiles those that it makes and no others.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from copartition.core.clusters import choices, put_in, rebuild_if_due, take_out, weigh
from copartition.core.compiling import inner, kernel
from copartition.core.hyperparameters import renew_all
from copartition.core.overlaps import have_met, recount_pair
from copartition.core.split_merge import grow
from copartition.core.starts import begin_at, begin_signature
from copartition.core.state import (
    MOVE,
    PLACE,
    STEPS,
    UPDATES_A_CALL,
    Chain,
    Coupled,
    Hooks,
    Model,
    Pair,
    Stepper,
    functional_signature,
)
from copartition.core.types import (
    DONE,
    PAUSED,
    Float1,
    Float2,
    Function,
    State,
    float1,
    float2,
    float64,
    int1,
    int64,
    uint1,
    void,
)

# --- one chain -------------------------------------------------------------------------------------------------------


@inner
def last_step(n_points, progress, steps):
    """Return the step up to which to go on before the next pause."""
    return min(steps, progress[STEPS] + max(1, UPDATES_A_CALL // n_points))


@inner
def step_alone(model, hooks, chain, stepper, random, progress):
    """Go on with a step of one chain; return a status."""
    while progress[MOVE] < stepper.count:
        i = progress[MOVE]
        status = stepper.moves[i](model, hooks, chain, stepper.rooms[i], random, progress)
        if status != DONE:
            return status
        progress[PLACE] = 0
        progress[MOVE] += 1
        if progress[MOVE] == stepper.rebuilt_after:
            rebuild_if_due(model, hooks, chain)
    progress[MOVE] = 0
    progress[STEPS] += 1
    return DONE


@kernel(int64(Model, Hooks, Chain, Stepper, uint1, int1, int64))
def make_steps(model, hooks, chain, stepper, random, progress, steps):
    """Go on with one chain until it has finished `steps` steps; return a status.

    Changed in place: `chain`, the state of the random numbers `random`, `progress`.
    """
    end = last_step(len(chain.labels), progress, steps)
    while progress[STEPS] < end:
        status = step_alone(model, hooks, chain, stepper, random, progress)
        if status != DONE:
            return status
    return DONE if end == steps else PAUSED


class Recorder(State):
    """What is written down of a chain: a functional, its parameters, and rows, one a step."""

    evaluate: Annotated[Any, Function(functional_signature)]
    parameters: Float1
    rows: Float2


@kernel(int64(Model, Hooks, Chain, Stepper, uint1, int1, Recorder))
def make_recorded_steps(model, hooks, chain, stepper, random, progress, recorder):
    """Go on with one chain for as many steps as there are rows to be filled; return a status.

    Changed in place: `chain`, `random`, `progress`, and the rows, the t-th of which gets the functional after step
    t + 1.
    """
    rows = recorder.rows
    end = last_step(len(chain.labels), progress, len(rows))
    while progress[STEPS] < end:
        status = step_alone(model, hooks, chain, stepper, random, progress)
        if status != DONE:
            return status
        recorder.evaluate(model, chain, hooks, recorder.parameters, rows[progress[STEPS] - 1])
    return DONE if end == len(rows) else PAUSED


@kernel(int64(Function(begin_signature), Model, Hooks, Chain, uint1, int1, int1))
def begin_chain(begin, model, hooks, chain, random, start, order):
    """Put a chain at its start, by one of the functions of `copartition.core.starts`; return a status."""
    return begin(model, hooks, chain, random, start, order)


@kernel(float64(Model, Hooks, Chain, int64))
def conditional_distribution(model, hooks, chain, n):
    """Take point n out and leave its conditional distribution in ``chain.weights``; return the sum of the weights."""
    take_out(model, chain, n)
    return weigh(model, hooks, chain, choices(model, chain), n)


@kernel(int64(Model, Hooks, Chain, float2))
def conditional_probabilities(model, hooks, chain, table):
    """Write the conditional distribution of every point given all others; return the first that has none, or -1.

    Entry (n, s) of the table is the probability that point n joins the cluster in slot s. For a point that is alone its
    own slot stands for staying alone; for others the slot of the new cluster for being alone.

    Changed in place: the table, of as many columns as the chain has rows. The partition stays; its clusters may change
    their rows, not their slots.
    """
    for n in range(len(chain.labels)):
        take_out(model, chain, n)
        n_choices = choices(model, chain)
        total = weigh(model, hooks, chain, n_choices, n)
        if not total > 0.0:
            return n
        for s in range(table.shape[1]):
            table[n, s] = 0.0
        for k in range(n_choices):
            table[n, chain.slots[k]] = chain.weights[k] / total
        put_in(model, hooks, chain, n, chain.holder[0])
    return -1


@kernel(void(Model, Hooks, Chain, int64, int64))
def log_weights(model, hooks, chain, n_choices, n):
    """Leave in ``chain.weights`` what the target says of point n, prior aside."""
    hooks.log_predictive(model, chain, n_choices, n)


@kernel(float64(Model, Hooks, Chain, int64, int64, int64))
def merge_and_odds(model, hooks, chain, a, b, n):
    """Return the `log_odds` of point n in clusters a and b; for no point (-1), the `log_merge` of the two."""
    if n < 0:
        return hooks.log_merge(model, chain, a, b)
    return hooks.log_odds(model, chain, a, b, n)


def reset_chain(model: Model, hooks: Hooks, chain: Chain, labels: np.ndarray) -> None:
    """Put a chain at a partition; negative labels for points in no cluster."""
    begin_chain(begin_at, model, hooks, chain, np.zeros(4, dtype=np.uint64), labels, labels)


@kernel(void(Model, Hooks, Chain))
def renew_model(model, hooks, chain):
    """Bring what depends on the numbers of a model up to date; the chain is in no partition."""
    renew_all(model, hooks, chain)


@kernel(void(Model, Hooks, Chain, int64, int64))
def grow_row(model, hooks, chain, n, k):
    """Add point n to a row of growing clusters, see `copartition.core.split_merge`."""
    grow(model, hooks, chain, n, k, hooks.keeps)


@kernel(void(Model, Hooks, Chain, Function(functional_signature), float1, float1))
def evaluate_chain(model, hooks, chain, evaluate, parameters, out):
    """Write the value of one functional of one chain to `out`."""
    evaluate(model, chain, hooks, parameters, out)


# --- two chains ------------------------------------------------------------------------------------------------------


@inner
def step_together(hooks, pair, stepper, coupled, random, progress):
    """Go on with a step of both chains; return a status."""
    while progress[MOVE] < stepper.count:
        i = progress[MOVE]
        status = coupled.moves[i](hooks, pair, stepper.rooms[i], coupled.rule, random, progress)
        if status != DONE:
            return status
        progress[PLACE] = 0
        progress[MOVE] += 1
        if progress[MOVE] == stepper.rebuilt_after:
            rebuild_if_due(pair.model_x, hooks, pair.x)
            rebuild_if_due(pair.model_y, hooks, pair.y)
    progress[MOVE] = 0
    progress[STEPS] += 1
    return DONE


@kernel(int64(Hooks, Pair, Stepper, Coupled, uint1, int1, int64))
def make_coupled_steps(hooks, pair, stepper, coupled, random, progress, steps):
    """Go on with two chains together until they meet or have finished `steps` steps; return a status.

    Changed in place: `pair`, `random`, `progress`.
    """
    end = last_step(len(pair.x.labels), progress, steps)
    while not have_met(pair) or progress[MOVE] + progress[PLACE] > 0:
        if progress[STEPS] == end:
            return DONE if end == steps else PAUSED
        status = step_together(hooks, pair, stepper, coupled, random, progress)
        if status != DONE:
            return status
    return DONE


@kernel(void(Pair))
def count_pair(pair):
    """Count the overlaps of two chains and their distance from the labels."""
    recount_pair(pair)
