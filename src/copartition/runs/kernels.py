"""Which kernel chains are run with, where it was not chosen: what the benchmarks found to be best."""

from __future__ import annotations

from typing import Any

from copartition.couplings import check_coupling
from copartition.couplings.base import Coupling
from copartition.moves import check_split_merge
from copartition.targets.base import Target
from copartition.validation import shorten

DEFAULT_COUPLING = "path"


def choose_moves(target: Target, coupling: Any, split_merge: Any) -> tuple[Coupling, int]:
    """Return a coupling and a number of split-merge moves, for what was given and what was left out (None).

    Who names a coupling gets that and nothing else: ``coupling="transport"`` alone is the method of the paper.
    """
    if split_merge is None:
        split_merge = "auto" if coupling is None else 0
    return check_coupling(DEFAULT_COUPLING if coupling is None else coupling), choose_split_merge(target, split_merge)


def choose_split_merge(target: Target, value: Any) -> int:
    """Return a number of split-merge moves, ``"auto"`` from their cost."""
    if not isinstance(value, str):
        return check_split_merge(target, value)
    if value != "auto":
        raise ValueError(f"split_merge must be a whole number or 'auto', got {shorten(value)}.")
    return 10 if target.is_exchangeable else 0
