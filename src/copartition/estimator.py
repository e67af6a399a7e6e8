"""The unbiased estimator: a time average of one chain, plus a correction from the chain that follows it.

With X ahead of Y by a lag L, burn-in k and horizon m, and tau the first t >= L with X_t = Y_(t - L),

    H = 1 / (m - k + 1) * [ sum over t = k..m of h(X_t)  +  sum over t = k+L..tau-1 of w_t (h(X_t) - h(Y_(t-L))) ],
    w_t = floor((t - k) / L) - ceil(max(L, t - m) / L) + 1,

has the expectation of h under the target (Jacob, O'Leary and Atchade 2020, Section 2; Biswas, Jacob and Vanetti 2019
for lags). With L = 1 it is Eq. (1) of the paper. Both sums are accumulated as the chains run, so that a replicate needs
the memory of two partitions however long it takes.

A replicate has three stages: x alone until time L, both together until they meet, x alone until time m. A cap on t ends
pairs that do not meet; their sum is then truncated, and they are marked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from copartition.compiled.kernel import inner, kernel, outline, reference
from copartition.compiled.state import (
    float1,
    float2,
    functional_type,
    int1,
    int2,
    log_merge_type,
    log_predictive_type,
    model_type,
    moves_type,
    pair_type,
    partner_type,
    step_chain_type,
    step_pair_type,
)
from copartition.functionals.base import SLOTS
from copartition.gibbs import DONE, place_start, recount_pair

AHEAD, TOGETHER, AFTER, FINISHED, CENSORED = range(5)


class Tally(NamedTuple):
    """What one replicate is and what it has come to.

    Attributes
    ----------
    settings : int64 array (4)
        Burn-in k, horizon m, lag L, cap on t.
    clock : int64 array (4)
        The time t of x, -1 before the start; the stage; the meeting time (0 before); sweeps so far, a coupled one
        counting as two.
    progress : int64 array (2)
        What sweeps keep: their number, and the point at hand.
    layout : int64 array (1 + 2 * (SLOTS + 1))
        Number of functionals; where the parameters of each begin; where its components begin.
    parameters : float64 array
        The parameters of all functionals, one after another.
    total : float64 array (components)
        The two sums of the estimator, not yet divided.
    h_x, h_y : float64 array (components)
        The functionals of both chains, scratch.
    """

    settings: Any
    clock: Any
    progress: Any
    layout: Any
    parameters: Any
    total: Any
    h_x: Any
    h_y: Any


class Batch(NamedTuple):
    """Replicates that a kernel runs one after another, and what they came to.

    Attributes
    ----------
    seeds : uint64 array (replicates, 4)
        Random streams; each is used up by its replicate.
    start : int64 array (points)
        Where chains start, as `copartition.gibbs.place_start` takes it.
    start_sweeps : int
        Sweeps of each chain from there that are part of its start.
    start_moves : Moves
        What chains do in these.
    order : int64 array (points)
        Scratch for random starts.
    cursor : int64 array (3)
        The replicate at hand; whether it has begun; where it stopped if there was no law to go on by.
    values : float64 array (replicates, components)
        The estimates H.
    outcomes : int64 array (replicates, 3)
        Meeting time, whether the pair met, cost in sweeps.
    """

    seeds: Any
    start: Any
    start_sweeps: Any
    start_moves: Any
    order: Any
    cursor: Any
    values: Any
    outcomes: Any


uint2 = types.Array(types.uint64, 2, "C")
tally_type = types.NamedTuple((int1, int1, int1, int1, float1, float1, float1, float1), Tally)
batch_type = types.NamedTuple((uint2, int1, types.int64, moves_type, int1, int1, float2, int2), Batch)


@inner
def correction_weight(t, burn_in, horizon, lag):
    """Return w_t, the number of times that the difference at time t is counted."""
    return (t - burn_in) // lag - (max(lag, t - horizon) + lag - 1) // lag + 1


@inner
def evaluate_all(model, chain, log_predictive, functionals, tally, out):
    """Write the components of all functionals to `out`."""
    layout, parameters = tally[0].layout, tally[0].parameters
    components = 2 + SLOTS
    for f in range(layout[0]):
        own_parameters = parameters[layout[1 + f] : layout[2 + f]]
        own_out = out[layout[components + f] : layout[components + f + 1]]
        functionals[f](model, chain, log_predictive, own_parameters, own_out)


@inner
def record(model, pair, x, y, log_predictive, functionals, tally):
    """Add what the states at time t contribute to the two sums."""
    s, clock, total, h_x, h_y = tally[0].settings, tally[0].clock, tally[0].total, tally[0].h_x, tally[0].h_y
    burn_in, horizon, lag, t = s[0], s[1], s[2], clock[0]
    averaged = burn_in <= t <= horizon
    corrected = t >= burn_in + lag and pair[0].distance[0] > 0
    if averaged or corrected:
        evaluate_all(model, x, log_predictive, functionals, tally, h_x)
    if averaged:
        for c in range(len(total)):
            total[c] += h_x[c]
    if corrected:
        evaluate_all(model, y, log_predictive, functionals, tally, h_y)
        weight = correction_weight(t, burn_in, horizon, lag)
        for c in range(len(total)):
            total[c] += weight * (h_x[c] - h_y[c])


@inner
def next_stage(pair, tally):
    """Move on to the next stage where the time for it has come."""
    s, clock = tally[0].settings, tally[0].clock
    horizon, lag, cap, t = s[1], s[2], s[3], clock[0]
    if clock[1] == AHEAD and t == lag:
        clock[1] = TOGETHER
    if clock[1] == TOGETHER:
        if pair[0].distance[0] == 0:
            clock[1] = AFTER
            clock[2] = t
        elif t >= cap:
            clock[1] = CENSORED
            clock[2] = cap
    if clock[1] == AFTER and t >= horizon:
        clock[1] = FINISHED


@inner
def begin_chain(step_chain, model, chain, log_predictive, log_merge, batch, random, progress):
    """Put a chain at its start; return a status, and leave in ``progress[1]`` the point at which it stopped."""
    b = batch[0]
    progress[0] = progress[1] = 0
    status = place_start(model, chain, log_predictive, random, b.start, b.order)
    if status != DONE:
        progress[1] = b.order[0]
        return status
    moves = reference(b.start_moves)
    while progress[0] < b.start_sweeps:
        status = step_chain(model, chain, moves, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
    progress[0] = 0
    return DONE


@outline
def begin_replicate(step_chain, model, pair, log_predictive, log_merge, tally, batch, random):
    """Put both chains at their starts and set the books to nothing; return a status."""
    x, y = reference(pair[0].x), reference(pair[0].y)
    clock, progress, total = tally[0].clock, tally[0].progress, tally[0].total
    clock[0], clock[1], clock[2], clock[3] = -1, AHEAD, 0, 2 * batch[0].start_sweeps
    pair[0].distance[0] = 0
    for c in range(len(total)):
        total[c] = 0.0
    status = begin_chain(step_chain, model, x, log_predictive, log_merge, batch, random, progress)
    if status != DONE:
        return status
    return begin_chain(step_chain, model, y, log_predictive, log_merge, batch, random, progress)


@inner
def advance_replicate(
    step_chain, step_pair, model, pair, moves, log_predictive, log_merge, partner, functionals, tally, random, sweeps
):
    """Go on with a replicate until it ends or x has made `sweeps` sweeps in all; return a status."""
    x, y = reference(pair[0].x), reference(pair[0].y)
    clock, progress, lag = tally[0].clock, tally[0].progress, tally[0].settings[2]
    if clock[0] < 0:
        clock[0] = 0
        record(model, pair, x, y, log_predictive, functionals, tally)
    while clock[1] < FINISHED and progress[0] < sweeps:
        together = clock[1] == TOGETHER
        if together:
            status = step_pair(model, pair, moves, log_predictive, log_merge, partner, random, progress)
        else:
            status = step_chain(model, x, moves, log_predictive, log_merge, random, progress)
        if status != DONE:
            return status
        clock[0] += 1
        clock[3] += 2 if together else 1
        if clock[0] == lag:
            recount_pair(pair)  # y joins
        record(model, pair, x, y, log_predictive, functionals, tally)
        next_stage(pair, tally)
    return DONE


@inner
def end_replicate(tally, batch):
    """Write down what the replicate came to, and move on to the next."""
    t, b = tally[0], batch[0]
    i = b.cursor[0]
    kept = t.settings[1] - t.settings[0] + 1
    for c in range(len(t.total)):
        b.values[i, c] = t.total[c] / kept
    b.outcomes[i, 0] = t.clock[2]
    b.outcomes[i, 1] = t.clock[1] == FINISHED
    b.outcomes[i, 2] = t.clock[3]
    b.cursor[0] += 1
    b.cursor[1] = 0


@kernel(
    types.int64(
        step_chain_type,
        step_pair_type,
        model_type,
        pair_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        partner_type,
        *[functional_type] * SLOTS,
        tally_type,
        batch_type,
        types.int64,
    )
)
def run_batch(
    step_chain, step_pair, model, pair, moves, log_predictive, log_merge, partner, f0, f1, f2, f3, tally, batch, sweeps
):
    """Run the replicates of a batch until all have ended or about `sweeps` sweeps have been made; return a status.

    Changed in place: `pair`, `tally` and `batch`, where ``batch.cursor[0]`` counts the replicates that have ended. If
    there is no room for more clusters the replicate at hand has to begin again, with its seed restored, in a larger
    pair.
    """
    m, p, s = reference(model), reference(pair), reference(moves)
    t, b = reference(tally), reference(batch)
    functionals = (f0, f1, f2, f3)
    cursor, progress = batch.cursor, tally.progress
    while cursor[0] < len(batch.seeds) and sweeps > 0:
        random = batch.seeds[cursor[0]]
        if cursor[1] == 0:
            status = begin_replicate(step_chain, m, p, log_predictive, log_merge, t, b, random)
            if status != DONE:
                cursor[2] = progress[1]
                return status
            cursor[1] = 1
        before = progress[0]
        end = before + sweeps
        status = advance_replicate(
            step_chain, step_pair, m, p, s, log_predictive, log_merge, partner, functionals, t, random, end
        )
        if status != DONE:
            cursor[2] = progress[1]
            return status
        sweeps -= progress[0] - before
        if tally.clock[1] >= FINISHED:
            end_replicate(t, b)
    return DONE


def new_tally(settings: tuple[int, int, int, int], sizes: list[int], parameters: list[np.ndarray]) -> Tally:
    """Return the tally of a replicate that has not begun.

    Parameters
    ----------
    settings : tuple of int
        Burn-in, horizon, lag and cap.
    sizes : list of int
        Number of components of each functional.
    parameters : list of arrays
        Parameters of each functional.
    """
    layout = np.zeros(1 + 2 * (SLOTS + 1), dtype=np.int64)
    layout[0] = len(sizes)
    layout[2 : 2 + len(sizes)] = np.cumsum([len(p) for p in parameters])
    layout[3 + SLOTS : 3 + SLOTS + len(sizes)] = np.cumsum(sizes)
    components = sum(sizes)
    return Tally(
        settings=np.array(settings, dtype=np.int64),
        clock=np.array([-1, AHEAD, 0, 0]),
        progress=np.zeros(2, dtype=np.int64),
        layout=layout,
        parameters=np.concatenate([np.zeros(0), *parameters]),
        total=np.zeros(components),
        h_x=np.zeros(components),
        h_y=np.zeros(components),
    )
