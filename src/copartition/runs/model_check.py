"""A look at the model before a run that tells which points are together: a few clusterings from short chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copartition.chains.start import check_start
from copartition.diagnostics.findings import Finding
from copartition.diagnostics.model_check import check_model
from copartition.functionals import Functional, as_list
from copartition.functionals.pairs import CoClustering
from copartition.runs.choice import Choice
from copartition.runs.defaults import bind
from copartition.runs.sampling import DrawJob, run_chains
from copartition.runs.workers import Where
from copartition.targets.base import Target

CHAINS, DRAWS = 3, 3
LEAST_BURN_IN = 20
LOOKED_AT = 10  # clusterings of a longer list
PART = int.from_bytes(b"modelchk", "big")  # of the key of random streams


def look_at_model(
    target: Target, functional: Functional | Sequence[Functional], choice: Choice, where: Where
) -> list[Finding] | None:
    """Return where clusters are not as the model has them; None if nothing can be said, or clusters are not asked for.

    It takes three chains of a burn-in and a half, with random numbers of their own.

    Parameters
    ----------
    target : Target
    functional : Functional or sequence of Functional
        What the run is about: all pairs of points, or this is not looked at.
    choice : Choice
    where : Where
    """
    columns: Any = getattr(target, "normal", None)
    if columns is None or not any(_is_of_all(f, target) for f in as_list(functional)):
        return None
    burn_in = max(LEAST_BURN_IN, choice.settings.burn_in)
    words = np.random.SeedSequence(where.seed, spawn_key=(PART,)).generate_state(4)
    job = DrawJob(
        target,
        bind(target, choice.step),
        check_start(target, choice.init),
        burn_in,
        max(1, burn_in // 6),
        DRAWS,
        int.from_bytes(words.tobytes(), "little"),
    )
    draws, _ = run_chains(job, CHAINS, where.executor, False, "chains")
    return check_model(columns, draws.reshape(-1, target.n_points))


def some_of(draws: np.ndarray) -> np.ndarray:
    """Return clusterings that lie evenly in a list of them."""
    return draws[np.unique(np.linspace(0, len(draws) - 1, LOOKED_AT).astype(np.int64))]


def _is_of_all(functional: Any, target: Target) -> bool:
    if not isinstance(functional, CoClustering):
        return False
    return functional.points is None or len(functional.points) == target.n_points
