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

from copartition.core.batch import AFTER, AHEAD, AT_EVERY_END, AT_UNMET, CENSORED, FINISHED, TOGETHER, Batch
from copartition.core.compiling import inner, kernel, outline
from copartition.core.overlaps import have_met, recount_pair
from copartition.core.state import MOVE, PLACE, STEPS, Coupled, Functionals, Hooks, Pair, Stepper
from copartition.core.steps import last_step, step_alone, step_together
from copartition.core.types import ASKING, DIARY_FULL, DONE, JOINED, PAUSED, int64

# --- looking at the states -------------------------------------------------------------------------------------------


@inner
def correction_weight(t, burn_in, horizon, lag):
    """Return w_t, the number of times that the difference at time t is counted."""
    return (t - burn_in) // lag - (max(lag, t - horizon) + lag - 1) // lag + 1


@inner
def evaluate_all(model, hooks, chain, functionals, out):
    """Write the components of all functionals to `out`."""
    f = functionals
    for k in range(f.used):
        own_parameters = f.parameters[f.first_parameter[k] : f.first_parameter[k + 1]]
        own_out = out[f.first_component[k] : f.first_component[k + 1]]
        f.functions[k](model, chain, hooks, own_parameters, own_out)


@outline
def look(hooks, pair, functionals, batch):
    """Look at the states at time t: add what they contribute to the two sums, write the diary; return a status.

    Where functionals are written in Python this is called twice: it asks for their values, and then uses them.
    """
    b = batch
    tally, times, diary, about = b.tally, b.times, b.diary, b.question.about
    t, total, h_x, h_y = tally.time[0], tally.total, tally.h_x, tally.h_y
    # After the meeting only x goes on, and its numbers with it.
    apart = t >= times.lag and tally.stage[0] <= TOGETHER and not have_met(pair)
    averaged = times.burn_in <= t <= times.horizon
    corrected = apart and t >= times.burn_in + times.lag
    noted = t >= times.lag and tally.stage[0] <= TOGETHER and len(diary.distances) > 0
    compared = noted and apart and diary.differences.shape[1] > 0
    if noted and diary.written[0] == len(diary.distances):
        return DIARY_FULL
    if averaged or corrected or compared:
        both = corrected or compared
        if b.question.is_asked:
            if about[0] == 0:
                about[0] = 2 if both else 1
                return ASKING
            about[0] = 0
        else:
            evaluate_all(pair.model_x, hooks, pair.x, functionals, h_x)
            if both:
                evaluate_all(pair.model_y, hooks, pair.y, functionals, h_y)
    weight = correction_weight(t, times.burn_in, times.horizon, times.lag) if corrected else 0
    if b.notes and (averaged or corrected):
        status = b.note(pair, b.record, b.atoms, t - times.burn_in, weight, averaged)
        if status != DONE:
            return status
    if averaged:
        for c in range(len(total)):
            total[c] += h_x[c]
        for c in range(len(tally.plain)):
            tally.plain[c] += h_x[c]
    if corrected:
        for c in range(len(total)):
            total[c] += weight * (h_x[c] - h_y[c])
    if noted:
        line = diary.written[0]
        diary.distances[line] = pair.distance[0]
        for c in range(diary.differences.shape[1]):
            diary.differences[line, c] = h_x[c] - h_y[c] if compared else 0.0
        diary.written[0] += 1
    return DONE


# --- a replicate -----------------------------------------------------------------------------------------------------


@inner
def next_stage(pair, batch):
    """Move on to the next stage where the time for it has come."""
    times, tally = batch.times, batch.tally
    t, stage = tally.time[0], tally.stage
    if stage[0] == AHEAD and t == times.lag:
        stage[0] = TOGETHER
    if stage[0] == TOGETHER:
        if have_met(pair):
            stage[0] = AFTER
            tally.meeting_time[0] = t
        elif t >= times.cap:
            stage[0] = CENSORED
            tally.meeting_time[0] = times.cap
    if stage[0] == AFTER and t >= times.horizon:
        stage[0] = FINISHED


@outline
def begin_one(model, hooks, chain, batch, random, first):
    """Put a chain at its start; return a status, and leave where it stopped in the place of the progress.

    It is x, of which `first` is 0, or y, of which it is 2: see ``Batch.started``.
    """
    b = batch
    progress, is_annealed = b.tally.progress, len(b.ladder) > 0
    if b.started[0] == first:
        if is_annealed:
            model.power[0] = b.ladder[0]
        progress[STEPS] = progress[MOVE] = progress[PLACE] = 0
        status = b.begin(model, hooks, chain, random, b.start, b.order)
        if status != DONE:
            progress[PLACE] = b.order[0]
            return status
        b.started[0] = first + 1
    end = last_step(len(chain.labels), progress, b.start_steps)
    while progress[STEPS] < end:
        if is_annealed:
            model.power[0] = b.ladder[progress[STEPS]]
        status = step_alone(model, hooks, chain, b.start_stepper, random, progress)
        if status != DONE:
            return status
    if end < b.start_steps:
        return PAUSED
    if is_annealed:
        model.power[0] = b.ladder[b.start_steps]
    progress[STEPS] = 0
    b.started[0] = first + 2
    return DONE


@outline
def begin_replicate(hooks, pair, batch, random):
    """Go on with putting both chains at their starts, and set the tally to nothing; return a status."""
    x, y = pair.x, pair.y
    tally = batch.tally
    tally.time[0] = tally.meeting_time[0] = 0
    tally.is_new[0] = 1
    tally.is_joined[0] = 0
    tally.stage[0] = AHEAD
    tally.cost[0] = 2 * batch.start_steps
    pair.distance[0] = 0
    batch.question.about[0] = 0
    batch.record.written[0] = 0
    for c in range(len(tally.total)):
        tally.total[c] = 0.0
    for c in range(len(tally.plain)):
        tally.plain[c] = 0.0
    if batch.started[0] < 2:
        status = begin_one(pair.model_x, hooks, x, batch, random, 0)
        if status != DONE:
            return status
    return begin_one(pair.model_y, hooks, y, batch, random, 2)


@outline
def join_chains(pair, batch):
    """Count the overlaps of the pair when y joins; return a status."""
    tally = batch.tally
    if tally.is_joined[0]:
        return DONE
    recount_pair(pair)
    tally.is_joined[0] = 1
    return JOINED if batch.stops == AT_EVERY_END else DONE


@outline
def advance_replicate(hooks, pair, stepper, coupled, functionals, batch, limit):
    """Go on with a replicate until it ends or x has made `limit` steps in all; return a status."""
    tally, lag = batch.tally, batch.times.lag
    random = batch.seeds[batch.ended[0]]
    while True:
        if tally.is_new[0]:
            status = join_chains(pair, batch) if tally.time[0] == lag else DONE
            if status == DONE:
                status = look(hooks, pair, functionals, batch)
            if status != DONE:
                return status
            tally.is_new[0] = 0
            next_stage(pair, batch)
        if tally.stage[0] >= FINISHED or tally.progress[STEPS] >= limit:
            return DONE
        together = tally.stage[0] == TOGETHER
        if together:
            status = step_together(hooks, pair, stepper, coupled, random, tally.progress)
        else:
            status = step_alone(pair.model_x, hooks, pair.x, stepper, random, tally.progress)
        if status != DONE:
            return status
        tally.time[0] += 1
        tally.is_new[0] = 1
        tally.cost[0] += 2 if together else 1


@outline
def end_replicate(batch):
    """Write down the result of the replicate, and move on to the next."""
    b = batch
    i = b.ended[0]
    kept = b.times.horizon - b.times.burn_in + 1
    for c in range(b.values.shape[1]):
        b.values[i, c] = b.tally.total[c] / kept
    for c in range(b.ordinary.shape[1]):
        b.ordinary[i, c] = b.tally.plain[c] / kept
    b.meeting_times[i] = b.tally.meeting_time[0]
    b.met[i] = b.tally.stage[0] == FINISHED
    b.costs[i] = b.tally.cost[0]
    b.ended[0] += 1
    b.has_begun[0] = 0


@kernel(int64(Hooks, Pair, Stepper, Coupled, Functionals, Batch, int64))
def run_batch(hooks, pair, stepper, coupled, functionals, batch, sweeps):
    """Run the replicates of a batch until all have ended or about `sweeps` sweeps have been made; return a status.

    Changed in place: `pair` and `batch`. If there is no room for more clusters it goes on in a larger pair; a replicate
    that had not begun yet begins again, with its seed restored.
    """
    progress = batch.tally.progress
    while batch.ended[0] < len(batch.seeds) and sweeps > 0:
        if batch.has_begun[0] == 0:
            status = begin_replicate(hooks, pair, batch, batch.seeds[batch.ended[0]])
            if status != DONE:
                batch.stopped_at[0] = progress[PLACE]
                return status
            batch.has_begun[0] = 1
            batch.started[0] = 0
        before = progress[STEPS]
        status = advance_replicate(hooks, pair, stepper, coupled, functionals, batch, before + sweeps)
        if status != DONE:
            batch.stopped_at[0] = progress[PLACE]
            return status
        sweeps -= progress[STEPS] - before
        if batch.tally.stage[0] >= FINISHED:
            is_unmet = batch.tally.stage[0] == CENSORED
            end_replicate(batch)
            if batch.stops == AT_EVERY_END or (batch.stops == AT_UNMET and is_unmet):
                return DONE
    return DONE
