"""Sums of differences between two chains that run together from two given states until they meet.

Let X and Y be chains from states x and y, run together without a lag, and tau the first t with X_t = Y_t. Then

    G(x, y) = sum over t < tau of h(X_t) - h(Y_t)

has the expectation g(x) - g(y), where g solves the Poisson equation g - Pg = h - E[h] of the step P of the chains: each
of the two sums, made to go on for ever, has the expectation of g at its start, up to the same constant, and after the
meeting all differences are 0 (Douc, Jacob, Lee and Vats 2022).
"""

from __future__ import annotations

from copartition.core.batch import Question
from copartition.core.clusters import copy_array, reset
from copartition.core.compiling import inner, kernel, outline
from copartition.core.estimator import evaluate_all
from copartition.core.hyperparameters import has_hyperparameters, renew_all
from copartition.core.overlaps import have_met, recount_pair
from copartition.core.state import MOVE, PLACE, STEPS, Coupled, Functionals, Hooks, Pair, Stepper
from copartition.core.steps import step_together
from copartition.core.types import ASKING, DONE, Float1, Float2, Int1, Int2, State, UInt2, int64


class Differences(State):
    """Pairs of chains that begin at given states, and the sums of their differences.

    Attributes
    ----------
    labels : int64 array (states, points)
        Partitions, in canonical numbering.
    hyperparameters : float64 array (states, numbers)
        The hyperparameters of each state; of no columns where there are none.
    begins : int64 array (pairs, 2)
        The states at which the two chains of each pair begin.
    seeds : uint64 array (pairs, 4)
        Random streams; each is used up by its pair.
    cap : int
        Steps of a pair, at most.
    at_x, at_y : float64 arrays (pairs, components)
        The functionals at the two states.
    totals : float64 array (pairs, components)
        The sums.
    steps : int64 array (pairs)
        Coupled steps that each pair made.
    met : int64 array (pairs)
        Whether it met.
    ended : int64 array (1)
        How many pairs have ended: the index of the one at hand.
    has_begun : int64 array (1)
        Whether that one has begun.
    is_new : int64 array (1)
        Whether its present states have not been looked at yet.
    progress : int64 array (3)
        Of its steps, see `copartition.core.state`.
    h_x, h_y : float64 arrays (components)
        The functionals of its chains.
    question : Question
        What is asked of Python where functionals are written in Python.
    """

    labels: Int2
    hyperparameters: Float2
    begins: Int2
    seeds: UInt2
    cap: int
    at_x: Float2
    at_y: Float2
    totals: Float2
    steps: Int1
    met: Int1
    ended: Int1
    has_begun: Int1
    is_new: Int1
    progress: Int1
    h_x: Float1
    h_y: Float1
    question: Question


@outline
def place_chain(model, hooks, chain, labels, hyperparameters):
    """Put a chain at a state: a partition and the values of its hyperparameters."""
    if has_hyperparameters(model):
        copy_array(hyperparameters, model.hyperparameters)
        chain.n_clusters[0] = 0
        renew_all(model, hooks, chain)
    reset(model, hooks, chain, labels)


@outline
def begin_pair(hooks, pair, differences):
    """Put the two chains of the pair at hand at their states."""
    d = differences
    i = d.ended[0]
    a, b = d.begins[i, 0], d.begins[i, 1]
    place_chain(pair.model_x, hooks, pair.x, d.labels[a], d.hyperparameters[a])
    place_chain(pair.model_y, hooks, pair.y, d.labels[b], d.hyperparameters[b])
    recount_pair(pair)
    d.progress[STEPS] = d.progress[MOVE] = d.progress[PLACE] = 0
    d.question.about[0] = 0
    d.is_new[0] = 1
    d.has_begun[0] = 1


@outline
def look_at_pair(hooks, pair, functionals, differences):
    """Add the difference between the present states; return a status.

    Where functionals are written in Python this is called twice: it asks for their values, and then uses them.
    """
    d = differences
    i, about, first = d.ended[0], d.question.about, d.progress[STEPS] == 0
    if have_met(pair) and not first:  # at the first states the functionals themselves are wanted
        return DONE
    if d.question.is_asked:
        if about[0] == 0:
            about[0] = 2
            return ASKING
        about[0] = 0
    else:
        evaluate_all(pair.model_x, hooks, pair.x, functionals, d.h_x)
        evaluate_all(pair.model_y, hooks, pair.y, functionals, d.h_y)
    for c in range(len(d.h_x)):
        if first:
            d.at_x[i, c] = d.h_x[c]
            d.at_y[i, c] = d.h_y[c]
            d.totals[i, c] = 0.0
        if not have_met(pair):
            d.totals[i, c] += d.h_x[c] - d.h_y[c]
    return DONE


@inner
def end_pair(pair, differences):
    """Write down how the pair at hand ended, and move on to the next."""
    d = differences
    i = d.ended[0]
    d.steps[i] = d.progress[STEPS]
    d.met[i] = have_met(pair)
    d.ended[0] += 1
    d.has_begun[0] = 0


@kernel(int64(Hooks, Pair, Stepper, Coupled, Functionals, Differences, int64))
def add_differences(hooks, pair, stepper, coupled, functionals, differences, sweeps):
    """Run pairs until all have ended or about `sweeps` coupled steps have been made; return a status.

    Changed in place: `pair` and `differences`. If there is no room for more clusters it goes on in a larger pair; there
    must be room for the states at which pairs begin.
    """
    d = differences
    while d.ended[0] < len(d.begins) and sweeps > 0:
        if d.has_begun[0] == 0:
            begin_pair(hooks, pair, differences)
        if d.is_new[0]:
            status = look_at_pair(hooks, pair, functionals, differences)
            if status != DONE:
                return status
            d.is_new[0] = 0
        under_way = d.progress[MOVE] + d.progress[PLACE] > 0
        if not under_way and (have_met(pair) or d.progress[STEPS] >= d.cap):
            end_pair(pair, differences)
            sweeps -= 1  # a pair that was equal from the beginning takes time, too
            continue
        status = step_together(hooks, pair, stepper, coupled, d.seeds[d.ended[0]], d.progress)
        if status != DONE:
            return status
        d.is_new[0] = 1
        sweeps -= 1
    return DONE
