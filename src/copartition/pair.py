"""Two chains, seen from Python: x ahead of y by a lag, run together until they meet.

Both start independently from the same initial law. Chain x makes `lag` sweeps on its own; from then on x at time t is
coupled with y at time t - lag. They meet at ``tau``, the first t >= lag with ``X_t = Y_(t - lag)`` (METHODS: Jacob,
O'Leary and Atchade 2020; Biswas, Jacob and Vanetti 2019 for lags).
"""

from __future__ import annotations

import numpy as np

from copartition import gibbs, steps
from copartition.chain import advance_chain, refusal
from copartition.compiled.state import Chain, Pair, fitted, grown_pair, pair_of
from copartition.couplings.base import Coupling
from copartition.moves import moves_for
from copartition.pacing import Chunks, Pause, no_pause
from copartition.start import Beginning, start_chain
from copartition.targets.base import Target

NO_TRACE = np.zeros(0, dtype=np.int64)


def couple(target: Target, coupling: Coupling, x: Chain, y: Chain) -> Pair:
    """Return the pair of two chains, its books still to be counted."""
    return pair_of(x, y, coupling.gains(target.n_points), whole_sweeps=coupling.whole_sweeps)


def start_pair(
    target: Target,
    coupling: Coupling,
    start: Beginning,
    lag: int,
    random: np.ndarray,
    pause: Pause = no_pause,
    split_merge: int = 0,
) -> Pair:
    """Return x after `lag` sweeps and y at its start, all chance from `random`."""
    x = start_chain(target, start, random)
    y = start_chain(target, start, random)
    chunks = Chunks(target.n_points)
    while lag > 0:
        pause()
        sweeps = chunks.next(lag)
        x = advance_chain(target, x, random, sweeps, split_merge)
        lag -= sweeps
    pair = couple(target, coupling, fitted(x), y)
    steps.count_pair(pair)
    return pair


def advance_pair(
    target: Target,
    coupling: Coupling,
    pair: Pair,
    random: np.ndarray,
    sweeps: int,
    trace: np.ndarray,
    split_merge: int = 0,
) -> tuple[Pair, int]:
    """Run a pair until it meets, for at most `sweeps` sweeps; return it and the number of sweeps.

    The distance after sweep t is written to ``trace[t]`` as far as it reaches.
    """
    moves = moves_for(target, split_merge, coupling)
    progress = np.zeros(2, dtype=np.int64)
    while True:
        status = steps.run_pair(
            steps.step_pair,
            target.model,
            pair,
            moves,
            target.log_predictive,
            target.log_merge,
            coupling.partner,
            random,
            progress,
            sweeps,
            trace,
        )
        if status == gibbs.DONE:
            return pair, int(progress[0])
        if status != gibbs.FULL:
            raise refusal(status, int(progress[1]))
        pair = grown_pair(pair)
