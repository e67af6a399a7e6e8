"""Two chains, seen from Python: x ahead of y by a lag, run together until they meet.

Both start independently from the same initial distribution. Chain x makes `lag` sweeps on its own; from then on x at
time t is coupled with y at time t - lag. They meet at ``tau``, the first t >= lag with ``X_t = Y_(t - lag)`` (Jacob,
O'Leary and Atchade 2020; Biswas, Jacob and Vanetti 2019 for lags). Many pairs are run by `copartition.runs.pairs`; what
is here is for a look into one.
"""

from __future__ import annotations

import numpy as np

from copartition.chains.chain import advance_chain, give_way, refusal
from copartition.chains.start import Beginning, start_chain
from copartition.chains.step import BoundStep
from copartition.core.batch import new_progress
from copartition.core.room import grown_pair, pair_of
from copartition.core.state import PLACE, STEPS, Chain, Model, Pair
from copartition.core.status import DONE, FULL, PAUSED
from copartition.core.steps import count_pair, make_coupled_steps
from copartition.couplings.base import Coupling
from copartition.targets.base import Target


def couple(target: Target, coupling: Coupling, x: Chain, y: Chain, models: tuple[Model, Model] | None = None) -> Pair:
    """Return the pair of two chains, its overlaps still to be counted.

    Where hyperparameters are unknown `models` are those of the chains; left out, they get new ones.
    """
    own = (target.of_chain().model, target.of_chain().model) if models is None else models
    return pair_of(x, y, own, coupling.gains(target.n_points), coupling.whole_sweeps)


def start_pair(target: Target, step: BoundStep, start: Beginning, lag: int, random: np.ndarray) -> Pair:
    """Return x after `lag` steps and y at its start, all chance from `random`."""
    of_x, of_y = target.of_chain(), target.of_chain()
    x, y = (start_chain(own, start, random) for own in (of_x, of_y))
    x = advance_chain(of_x, step, x, random, lag)
    pair = couple(target, step.coupling, x, y, (of_x.model, of_y.model))
    count_pair(pair)
    return pair


def advance_pair(target: Target, step: BoundStep, pair: Pair, random: np.ndarray, steps: int) -> tuple[Pair, int]:
    """Run a pair until it meets, for at most `steps` steps; return it and the number of steps."""
    stepper, coupled = step.stepper(target), step.coupled(target)
    progress = new_progress()
    while True:
        status = make_coupled_steps(target.hooks, pair, stepper, coupled, random, progress, steps)
        if status == DONE:
            return pair, int(progress[STEPS])
        if status == PAUSED:
            give_way()
        elif status != FULL:
            raise refusal(status, int(progress[PLACE]))
        else:
            pair = grown_pair(pair)
