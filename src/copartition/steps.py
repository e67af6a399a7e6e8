"""Steps of one chain, and of two together: a sweep over all points, then split-merge moves. The kernels that run them.

``progress`` holds the number of finished steps, and what has been done of the one under way: points first, then moves.
A kernel that stops for more room (`copartition.gibbs.FULL`) goes on from there when it is called again.

A step is compiled once, and handed to the kernels that make many of them as an argument.
"""

from __future__ import annotations

from numba import types

from copartition.compiled.clusters import choices, rebuild_if_due, reset, take_out
from copartition.compiled.kernel import kernel, reference
from copartition.compiled.state import (
    chain_type,
    float1,
    float2,
    functional_type,
    int1,
    log_merge_type,
    log_predictive_type,
    model_type,
    moves_type,
    pair_type,
    partner_type,
    step_chain_signature,
    step_chain_type,
    step_pair_signature,
    step_pair_type,
    uint1,
)
from copartition.gibbs import DONE, place_start, recount_pair, sweep_chain, sweep_pair, weigh
from copartition.path import POINT_BY_POINT, choose_phase, sweep_whole
from copartition.split_merge import move_chain, move_pair

# --- one chain -------------------------------------------------------------------------------------------------------


@kernel(step_chain_signature)
def step_chain(model, chain, moves, log_predictive, log_merge, random, progress):
    """Go on with a step of one chain; return a status."""
    n_points = len(chain[0].labels)
    if progress[1] < n_points:
        status = sweep_chain(model, chain, log_predictive, random, progress)
        if status != DONE:
            return status
    if moves[0].split_merge > 0:
        status = move_chain(model, chain, moves, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
    rebuild_if_due(model, chain)
    progress[0] += 1
    progress[1] = 0
    return DONE


@kernel(
    types.int64(
        step_chain_type,
        model_type,
        chain_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        uint1,
        int1,
        types.int64,
    )
)
def run_chain(step, model, chain, moves, log_predictive, log_merge, random, progress, sweeps):
    """Run one chain until it has finished `sweeps` steps; return a status.

    Changed in place: `chain`, the state of the random numbers `random`, `progress`.
    """
    m, c, s = reference(model), reference(chain), reference(moves)
    while progress[0] < sweeps:
        status = step(m, c, s, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
    return DONE


@kernel(
    types.int64(
        step_chain_type,
        model_type,
        chain_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        uint1,
        int1,
        functional_type,
        float1,
        float2,
    )
)
def record_chain(step, model, chain, moves, log_predictive, log_merge, random, progress, evaluate, parameters, draws):
    """Run one chain for as many steps as `draws` has rows; return a status.

    Changed in place: `chain`, `random`, `progress`, and `draws`, whose t-th row gets the functional after step t + 1.
    """
    m, c, s = reference(model), reference(chain), reference(moves)
    while progress[0] < len(draws):
        status = step(m, c, s, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
        evaluate(m, c, log_predictive, parameters, draws[progress[0] - 1])
    return DONE


@kernel(types.int64(model_type, chain_type, log_predictive_type, uint1, int1, int1))
def start_kernel(model, chain, log_predictive, random, start, order):
    """Put a chain at its start, see `copartition.gibbs.place_start`; return a status."""
    return place_start(reference(model), reference(chain), log_predictive, random, start, order)


@kernel(types.float64(model_type, chain_type, log_predictive_type, types.int64))
def conditional_law(model, chain, log_predictive, n):
    """Take point n out and leave its conditional law in ``chain.weights``; return the sum of the weights."""
    model_pointer = reference(model)
    chain_pointer = reference(chain)
    take_out(model_pointer, chain_pointer, n)
    return weigh(model_pointer, chain_pointer, log_predictive, choices(model_pointer, chain_pointer), n)


@kernel(types.void(model_type, chain_type, log_predictive_type, types.int64, types.int64))
def log_weights(model, chain, log_predictive, n_choices, n):
    """Leave in ``chain.weights`` what the target says of point n, prior aside."""
    log_predictive(reference(model), reference(chain), n_choices, n)


@kernel(types.void(model_type, chain_type, int1))
def reset_chain(model, chain, labels):
    """Put a chain at a partition; negative labels for points in no cluster."""
    reset(reference(model), reference(chain), labels)


# --- two chains ------------------------------------------------------------------------------------------------------


@kernel(step_pair_signature)
def step_pair(model, pair, moves, log_predictive, log_merge, partner, random, progress):
    """Go on with a step of both chains; return a status."""
    x, y = reference(pair[0].x), reference(pair[0].y)
    if progress[1] == 0:
        choose_phase(model, pair, moves)
    if progress[1] < len(x[0].labels):
        if pair[0].phase[0] == POINT_BY_POINT:
            status = sweep_pair(model, pair, x, y, moves, log_predictive, partner, random, progress)
        else:
            status = sweep_whole(model, pair, x, y, moves, log_predictive, partner, random, progress)
        if status != DONE:
            return status
    if moves[0].split_merge > 0:
        status = move_pair(model, pair, x, y, moves, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
    rebuild_if_due(model, x)
    rebuild_if_due(model, y)
    progress[0] += 1
    progress[1] = 0
    return DONE


@kernel(
    types.int64(
        step_pair_type,
        model_type,
        pair_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        partner_type,
        uint1,
        int1,
        types.int64,
        int1,
    )
)
def run_pair(step, model, pair, moves, log_predictive, log_merge, partner, random, progress, sweeps, trace):
    """Run two chains together until they meet or have finished `sweeps` steps; return a status.

    Changed in place: `pair`, `random`, `progress`, and `trace`, where the distance after step t is written to
    ``trace[t]`` as far as it reaches.
    """
    m, p, s = reference(model), reference(pair), reference(moves)
    while progress[0] < sweeps and (pair.distance[0] > 0 or progress[1] > 0):
        status = step(m, p, s, log_predictive, log_merge, partner, random, progress)
        if status != DONE:
            return status
        if progress[0] < len(trace):
            trace[progress[0]] = pair.distance[0]
    return DONE


@kernel(types.void(pair_type))
def count_pair(pair):
    """Count the overlaps of two chains and their distance from the labels."""
    recount_pair(reference(pair))
