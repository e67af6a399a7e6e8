"""What a kernel that runs replicates works on: their settings, the one at hand, and the results of all."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from copartition.core.records import Atoms, Record, note_signature, number
from copartition.core.starts import begin_signature
from copartition.core.state import Stepper
from copartition.core.types import Float1, Float2, Function, Int1, State, UInt2

AHEAD, TOGETHER, AFTER, FINISHED, CENSORED = range(5)
NEVER, AT_EVERY_END, AT_UNMET = range(3)  # where a kernel stops on its way


class Times(State):
    """The settings of a replicate: burn-in k, horizon m, lag L, and a cap on t."""

    burn_in: int
    horizon: int
    lag: int
    cap: int


class Tally(State):
    """The state of one replicate so far.

    Attributes
    ----------
    time : int64 array (1)
        The time t of x.
    is_new : int64 array (1)
        Whether the states at time t have not been looked at yet.
    is_joined : int64 array (1)
        Whether y has joined.
    stage : int64 array (1)
        `AHEAD`, `TOGETHER`, `AFTER`, `FINISHED` or `CENSORED`.
    meeting_time : int64 array (1)
        tau, once there is one.
    cost : int64 array (1)
        Sweeps so far, a coupled one counting as two.
    progress : int64 array (3)
        Of the steps, see `copartition.core.state`.
    total : float64 array (components)
        The two sums of the estimator, not yet divided.
    plain : float64 array (components that are kept)
        The first of the two alone: the ordinary average, not yet divided. Of length 0: it is not wanted.
    h_x, h_y : float64 array (components)
        The functionals of both chains at time t.
    """

    time: Int1
    is_new: Int1
    is_joined: Int1
    stage: Int1
    meeting_time: Int1
    cost: Int1
    progress: Int1
    total: Float1
    plain: Float1
    h_x: Float1
    h_y: Float1


class Diary(State):
    """What is written down of chains that run together: a line for each t from L to tau.

    Attributes
    ----------
    distances : int64 array (lines)
        Of the partitions. Of length 0: there is no diary.
    differences : float64 array (lines, components)
        h(X_t) - h(Y_(t - L)); without components where that is not asked for.
    written : int64 array (1)
        Number of lines written.
    """

    distances: Int1
    differences: Float2
    written: Int1


class Question(State):
    """What the kernel asks of Python where functionals are written in Python.

    Attributes
    ----------
    is_asked : int
        Whether functionals are written in Python.
    about : int64 array (1)
        1: the functionals of x are wanted, 2: those of both chains, 0: they have been answered.
    """

    is_asked: int
    about: Int1


class Batch(State):
    """Replicates that a kernel runs one after another, and their results.

    Attributes
    ----------
    times : Times
    seeds : uint64 array (replicates, 4)
        Random streams; each is used up by its replicate.
    begin : function
        That puts a chain at its start: one of `copartition.core.starts`.
    start : int64 array (points)
        What it takes.
    start_steps : int
        Steps of each chain from there that are part of its start.
    start_stepper : Stepper
        What a chain does in these.
    ladder : float64 array (start_steps + 1)
        In a start that is annealed, the power of the data in each of these steps, and the one from then on. Of length
        0: it is always the same.
    order : int64 array (points)
        Scratch for random starts.
    stops : int
        `AT_EVERY_END`: stop where chains are joined and where a replicate ends, so that its parts can be timed;
        `AT_UNMET`: stop where one ends without having met, so that its chains can be looked at; or `NEVER`.
    ended : int64 array (1)
        How many replicates have ended: the number of the one at hand.
    has_begun : int64 array (1)
        Whether that one has begun: both chains are at their starts.
    started : int64 array (1)
        How far that is: 1, x is at its partition; 2, and has made the steps that are part of its start; 3, so is y.
    stopped_at : int64 array (1)
        The point at which it stopped if there was no distribution to go on by.
    values : float64 array (replicates, components)
        The estimates H, of the components that are kept: the first ones of those that are evaluated.
    ordinary : float64 array (replicates, components)
        The ordinary averages of these components, without any correction; no columns where they are not wanted.
    meeting_times, met, costs : int64 arrays (replicates)
    tally : Tally
    diary : Diary
    record : Record
    atoms : Atoms
    note : function
        That writes states down, into the record or to be kept: one of `copartition.core.records`; none if `notes` is 0.
    notes : int
        Whether states are written down.
    question : Question
    """

    times: Times
    seeds: UInt2
    begin: Annotated[Any, Function(begin_signature)]
    start: Int1
    start_steps: int
    start_stepper: Stepper
    ladder: Float1
    order: Int1
    stops: int
    ended: Int1
    has_begun: Int1
    started: Int1
    stopped_at: Int1
    values: Float2
    ordinary: Float2
    meeting_times: Int1
    met: Int1
    costs: Int1
    tally: Tally
    diary: Diary
    record: Record
    atoms: Atoms
    note: Annotated[Any, Function(note_signature)]
    notes: int
    question: Question


def new_progress() -> np.ndarray:
    """Return the progress of steps of which none has begun, see `copartition.core.state`."""
    return np.zeros(3, dtype=np.int64)


def new_tally(components: int, plain: int = 0) -> Tally:
    """Return the tally of a replicate that has not begun; the ordinary averages of so many components are wanted."""
    return Tally(
        time=number(),
        is_new=number(),
        is_joined=number(),
        stage=number(),
        meeting_time=number(),
        cost=number(),
        progress=new_progress(),
        total=np.zeros(components),
        plain=np.zeros(plain),
        h_x=np.zeros(components),
        h_y=np.zeros(components),
    )


def new_diary(lines: int = 0, components: int = 0) -> Diary:
    """Return an empty diary; of no lines where none is kept."""
    return Diary(np.zeros(lines, dtype=np.int64), np.zeros((lines, components)), number())
