"""A step of one chain, and of two together: a sweep, split-merge moves, updates of blocks, unknown numbers.

Kernels that make many.

A step is compiled once, and handed to the kernels that make many of them as an argument, in a
`copartition.core.state.Stepper`.
"""

from __future__ import annotations

from numba import types

from copartition.core.blocks import update_blocks, update_pair_of_blocks
from copartition.core.books import have_met, recount_pair
from copartition.core.clusters import choices, rebuild_if_due, reset, take_out
from copartition.core.compiling import kernel, member, reference
from copartition.core.conditional import weigh
from copartition.core.numbers import draw_numbers, draw_numbers_of_both, has_numbers, renew_all
from copartition.core.split_merge import grow, move_chain, move_pair
from copartition.core.starts import place_start
from copartition.core.state import (
    MODEL_X,
    MODEL_Y,
    PLACE,
    STEPS,
    Chain,
    Coupled,
    Law,
    Model,
    Moves,
    Pair,
    Stepper,
    X,
    Y,
    functional_signature,
    step_chain_signature,
    step_pair_signature,
)
from copartition.core.status import DONE
from copartition.core.sweeps import sweep_chain, sweep_pair
from copartition.core.types import float1, float2, int1, type_of, uint1
from copartition.core.whole_sweeps import POINT_BY_POINT, choose_phase, sweep_whole

model_type, law_type, chain_type, pair_type = (type_of(one) for one in (Model, Law, Chain, Pair))
moves_type, stepper_type, coupled_type = (type_of(one) for one in (Moves, Stepper, Coupled))
functional_type = types.FunctionType(functional_signature)

# --- one chain -------------------------------------------------------------------------------------------------------


@kernel(step_chain_signature)
def step_chain(model, law, chain, moves, random, progress):
    """Go on with a step of one chain; return a status."""
    if progress[PLACE] < len(chain[0].labels):
        status = sweep_chain(model, law, chain, random, progress)
        if status != DONE:
            return status
    if moves[0].number > 0:
        status = move_chain(model, law, chain, moves, random, progress)
        if status != DONE:
            return status
    if moves[0].blocks.number > 0:
        status = update_blocks(model, law, chain, moves, random, progress)
        if status != DONE:
            return status
    rebuild_if_due(model, law, chain)
    if has_numbers(model):
        status = draw_numbers(model, law, chain, random)
        if status != DONE:
            return status
    progress[STEPS] += 1
    progress[PLACE] = 0
    return DONE


@kernel(types.int64(model_type, law_type, chain_type, stepper_type, uint1, int1, types.int64))
def make_steps(model, law, chain, stepper, random, progress, steps):
    """Go on with one chain until it has finished `steps` steps; return a status.

    Changed in place: `chain`, the state of the random numbers `random`, `progress`.
    """
    m, functions, c, moves = reference(model), reference(law), reference(chain), reference(stepper.moves)
    while progress[STEPS] < steps:
        status = stepper.alone(m, functions, c, moves, random, progress)
        if status != DONE:
            return status
    return DONE


@kernel(
    types.int64(
        model_type, law_type, chain_type, stepper_type, uint1, int1, functional_type, types.Tuple((float1, float2))
    )
)
def make_recorded_steps(model, law, chain, stepper, random, progress, evaluate, record):
    """Go on with one chain for as many steps as there are rows to be filled; return a status.

    `record` is the parameters of the functional, and the rows. Changed in place: `chain`, `random`, `progress`, and the
    rows, the t-th of which gets the functional after step t + 1.
    """
    m, functions, c, moves = reference(model), reference(law), reference(chain), reference(stepper.moves)
    parameters, rows = record
    while progress[STEPS] < len(rows):
        status = stepper.alone(m, functions, c, moves, random, progress)
        if status != DONE:
            return status
        evaluate(m, c, functions, parameters, rows[progress[STEPS] - 1])
    return DONE


@kernel(types.int64(model_type, law_type, chain_type, uint1, int1, int1))
def begin_chain(model, law, chain, random, start, order):
    """Put a chain at its start, see `copartition.core.starts.place_start`; return a status."""
    return place_start(reference(model), reference(law), reference(chain), random, start, order)


@kernel(types.float64(model_type, law_type, chain_type, types.int64))
def conditional_law(model, law, chain, n):
    """Take point n out and leave its conditional law in ``chain.weights``; return the sum of the weights."""
    m, functions, c = reference(model), reference(law), reference(chain)
    take_out(m, c, n)
    return weigh(m, functions, c, choices(m, c), n)


@kernel(types.void(model_type, law_type, chain_type, types.int64, types.int64))
def log_weights(model, law, chain, n_choices, n):
    """Leave in ``chain.weights`` what the target says of point n, prior aside."""
    law.log_predictive(reference(model), reference(chain), n_choices, n)


@kernel(types.float64(model_type, law_type, chain_type, types.int64, types.int64, types.int64))
def merge_and_odds(model, law, chain, a, b, n):
    """Return the `log_odds` of point n in clusters a and b; for no point (-1), the `log_merge` of the two."""
    if n < 0:
        return law.log_merge(reference(model), reference(chain), a, b)
    return law.log_odds(reference(model), reference(chain), a, b, n)


@kernel(types.void(model_type, law_type, chain_type, int1))
def reset_chain(model, law, chain, labels):
    """Put a chain at a partition; negative labels for points in no cluster."""
    reset(reference(model), reference(law), reference(chain), labels)


@kernel(types.void(model_type, law_type, chain_type))
def renew_model(model, law, chain):
    """Bring what depends on the numbers of a model up to date; the chain is in no partition."""
    renew_all(reference(model), reference(law), reference(chain))


@kernel(types.void(model_type, law_type, chain_type, types.int64, types.int64))
def grow_row(model, law, chain, n, k):
    """Add point n to a row of growing clusters, see `copartition.core.split_merge`."""
    grow(reference(model), reference(law), reference(chain), n, k, law.keeps)


@kernel(types.void(model_type, law_type, chain_type, functional_type, float1, float1))
def evaluate_chain(model, law, chain, evaluate, parameters, out):
    """Write the value of one functional of one chain to `out`."""
    evaluate(reference(model), reference(chain), reference(law), parameters, out)


# --- two chains ------------------------------------------------------------------------------------------------------


@kernel(step_pair_signature)
def step_pair(model, law, pair, moves, rule, random, progress):
    """Go on with a step of both chains; return a status."""
    x, y = member(pair, X), member(pair, Y)
    if progress[PLACE] == 0:
        choose_phase(model, pair, rule)
    if progress[PLACE] < len(x[0].labels):
        if pair[0].phase[0] == POINT_BY_POINT:
            status = sweep_pair(model, law, pair, x, y, rule, random, progress)
        else:
            status = sweep_whole(model, law, pair, x, y, rule, random, progress)
        if status != DONE:
            return status
    if moves[0].number > 0:
        status = move_pair(model, law, pair, x, y, moves, random, progress)
        if status != DONE:
            return status
    if moves[0].blocks.number > 0:
        status = update_pair_of_blocks(model, law, pair, x, y, moves, random, progress)
        if status != DONE:
            return status
    rebuild_if_due(member(pair, MODEL_X), law, x)
    rebuild_if_due(member(pair, MODEL_Y), law, y)
    if has_numbers(model):
        status = draw_numbers_of_both(pair, law, random)
        if status != DONE:
            return status
    progress[STEPS] += 1
    progress[PLACE] = 0
    return DONE


@kernel(types.int64(model_type, law_type, pair_type, moves_type, coupled_type, uint1, int1, types.int64))
def make_coupled_steps(model, law, pair, moves, coupled, random, progress, steps):
    """Go on with two chains together until they meet or have finished `steps` steps; return a status.

    Changed in place: `pair`, `random`, `progress`.
    """
    m, functions, p = reference(model), reference(law), reference(pair)
    s, r = reference(moves), reference(coupled.rule)
    while progress[STEPS] < steps and (not have_met(p) or progress[PLACE] > 0):
        status = coupled.together(m, functions, p, s, r, random, progress)
        if status != DONE:
            return status
    return DONE


@kernel(types.void(pair_type))
def count_pair(pair):
    """Count the overlaps of two chains and their distance from the labels."""
    recount_pair(reference(pair))
