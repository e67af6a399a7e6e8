"""Clusterings that guide split-merge moves: found by a pilot, once for a target, and fixed before any chain starts.

Guides need not be right. They propose splits that may be, which are accepted by the density of the target alone. What
helps is that they differ, so ordinary chains of the pilot begin at all kinds of starts. (With guides from annealed
starts pairs meet sooner, but chains find the best mode less often.)
"""

from __future__ import annotations

import numpy as np

from copartition.chains.chain import advance_chain
from copartition.chains.start import check_start, start_chain
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.partition import canonical
from copartition.targets.base import Target, can_be_drawn

STARTS = ("sequential",) * 3 + ("one_cluster",) * 2 + ("prior",) * 3
SWEEPS, DRAWS, SWEEPS_A_DRAW = 100, 4, 75  # of each chain: before the draws that are kept, and between these
IN_ALL = len(STARTS) * (SWEEPS + DRAWS * SWEEPS_A_DRAW)  # sweeps of the pilot
GUIDES = int.from_bytes(b"guides", "big")  # of the key of random streams


def find_guides(target: Target, step: BoundStep) -> np.ndarray:
    """Return the clusters of each point in a few clusterings (points, clusterings), by random numbers of its own.

    Parameters
    ----------
    target : Target
    step : BoundStep
        What chains of the pilot do; it has no guides.

    Returns
    -------
    int32 array
        Each cluster of each clustering has a number of its own.
    """
    found, count = [], 0
    for number, name in enumerate(STARTS):
        start = check_start(target, "sequential" if name == "prior" and not can_be_drawn(target) else name)
        own, random = target.of_chain(), stream(0, GUIDES, number)
        chain = advance_chain(own, step, start_chain(own, start, random), random, SWEEPS)
        for _ in range(DRAWS):
            chain = advance_chain(own, step, chain, random, SWEEPS_A_DRAW)
            labels = canonical(chain.labels)
            found.append(count + labels)
            count += int(labels.max()) + 1
    return np.ascontiguousarray(np.stack(found, axis=1), dtype=np.int32)
