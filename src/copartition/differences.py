"""By how much functionals of the two chains of a pair differ until they meet: what corrections are made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import types

from copartition import gibbs, steps
from copartition.chain import refusal
from copartition.compiled.kernel import Kernel, kernel, reference
from copartition.compiled.state import (
    Pair,
    float2,
    functional_type,
    grown_pair,
    int1,
    log_merge_type,
    log_predictive_type,
    model_type,
    moves_type,
    pair_type,
    partner_type,
    step_pair_type,
    uint1,
)
from copartition.couplings.base import Coupling
from copartition.estimator import evaluate_all, new_tally, tally_type
from copartition.functionals import SLOTS, Functional, count_clusters, evaluate_at
from copartition.moves import moves_for
from copartition.pair import NO_TRACE, advance_pair
from copartition.targets.base import Target


@kernel(
    types.int64(
        step_pair_type,
        model_type,
        pair_type,
        moves_type,
        log_predictive_type,
        log_merge_type,
        partner_type,
        *[functional_type] * SLOTS,
        tally_type,
        uint1,
        int1,
        float2,
    )
)
def compare_pair(
    step, model, pair, moves, log_predictive, log_merge, partner, f0, f1, f2, f3, tally, random, progress, differences
):
    """Run two chains together until they meet or have made as many sweeps as `differences` has rows; return a status.

    Changed in place: `pair`, `random`, `progress`, scratch of `tally`, and `differences`, whose s-th row gets the
    functionals of x minus those of y before sweep s + 1.
    """
    m, p, x, y = reference(model), reference(pair), reference(pair.x), reference(pair.y)
    s, t = reference(moves), reference(tally)
    functionals = (f0, f1, f2, f3)
    while progress[0] < len(differences) and (pair.distance[0] > 0 or progress[1] > 0):
        if progress[1] == 0:
            evaluate_all(m, x, log_predictive, functionals, t, tally.h_x)
            evaluate_all(m, y, log_predictive, functionals, t, tally.h_y)
            for c in range(len(tally.h_x)):
                differences[progress[0], c] = tally.h_x[c] - tally.h_y[c]
        status = step(m, p, s, log_predictive, log_merge, partner, random, progress)
        if status != gibbs.DONE:
            return status
    return gibbs.DONE


def advance_and_compare(
    target: Target,
    functionals: Sequence[Functional],
    coupling: Coupling,
    pair: Pair,
    random: np.ndarray,
    sweeps: int,
    split_merge: int = 0,
) -> tuple[Pair, np.ndarray]:
    """Run a pair until it meets, for at most `sweeps` sweeps; return it and h(X) - h(Y) before each sweep.

    Parameters
    ----------
    target, functionals
        As `copartition.functionals.bind_all` returns them.
    coupling : Coupling
    pair : Pair
    random : uint64 array (4)
        Changed in place.
    sweeps : int
    split_merge : int
        Moves after each sweep.
    """
    kernels = [f.evaluate for f in functionals if isinstance(f.evaluate, Kernel)]
    if len(kernels) < len(functionals):
        return _compare_in_python(target, functionals, coupling, pair, random, sweeps, split_merge)
    tally = new_tally((0, 0, 1, 0), [f.size for f in functionals], [f.parameters for f in functionals])
    moves = moves_for(target, split_merge, coupling)
    differences = np.zeros((sweeps, len(tally.h_x)))
    progress = np.zeros(2, dtype=np.int64)
    while True:
        status = compare_pair(
            steps.step_pair,
            target.model,
            pair,
            moves,
            target.log_predictive,
            target.log_merge,
            coupling.partner,
            *[*kernels, *[count_clusters] * (SLOTS - len(kernels))],
            tally,
            random,
            progress,
            differences,
        )
        if status == gibbs.DONE:
            return pair, differences[: progress[0]]
        if status != gibbs.FULL:
            raise refusal(status, int(progress[1]))
        pair = grown_pair(pair)


def _compare_in_python(
    target: Target,
    functionals: Sequence[Functional],
    coupling: Coupling,
    pair: Pair,
    random: np.ndarray,
    sweeps: int,
    split_merge: int = 0,
) -> tuple[Pair, np.ndarray]:
    rows: list[np.ndarray] = []
    while pair.distance[0] > 0 and len(rows) < sweeps:
        rows.append(evaluate_at(target, functionals, pair.x) - evaluate_at(target, functionals, pair.y))
        pair, _ = advance_pair(target, coupling, pair, random, 1, NO_TRACE, split_merge)
    return pair, np.array(rows).reshape(len(rows), sum(f.size for f in functionals))
