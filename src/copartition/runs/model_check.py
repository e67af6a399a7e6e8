"""A look at the model after a run that tells which points are together: at a few of the partitions that it kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copartition.diagnostics.findings import Finding
from copartition.diagnostics.model_check import check_model
from copartition.functionals import Functional
from copartition.functionals.base import as_list
from copartition.functionals.pairs import CoClustering
from copartition.results.partitions import Partitions
from copartition.targets.base import Target

LOOKED_AT = 10  # clusterings


def wants_look(target: Target, functional: Functional | Sequence[Functional]) -> bool:
    """Tell whether a run is about all pairs of points, and its model can be looked at."""
    return getattr(target, "normal", None) is not None and any(_is_of_all(f, target) for f in as_list(functional))


def look_at_model(target: Any, partitions: Partitions | None) -> list[Finding] | None:
    """Return where clusters are not as the model has them; None if nothing can be said.

    Parameters
    ----------
    target : Target
    partitions : Partitions, optional
        Of a run.
    """
    columns = getattr(target, "normal", None)
    if columns is None or partitions is None or not len(partitions.labels):
        return None
    return check_model(columns, partitions.labels[some_of(np.flatnonzero(partitions.is_averaged))])


def some_of(draws: np.ndarray) -> np.ndarray:
    """Return clusterings, or their places, that lie evenly in a list of them."""
    return draws[np.unique(np.linspace(0, len(draws) - 1, LOOKED_AT).astype(np.int64))]


def _is_of_all(functional: Any, target: Target) -> bool:
    if not isinstance(functional, CoClustering):
        return False
    return functional.points is None or len(functional.points) == target.n_points
