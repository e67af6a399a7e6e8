"""What a search has found, in order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def distinct(rows: Iterable[np.ndarray]) -> np.ndarray:
    """Return the different ones of some canonical clusterings, in the order in which they come first."""
    return np.array(list({row.tobytes(): row for row in rows}.values()))


def best_first(candidates: np.ndarray, losses: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the candidates of least loss, at most so many, and their losses."""
    order = np.argsort(losses, kind="stable")[:most]
    return candidates[order], losses[order]
