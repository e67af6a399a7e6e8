"""Pairs that did not meet before the cap, as plain data: where their chains were, and what they did afterwards."""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np

from copartition.partition import hamming_distance

MOST_KEPT = 20  # pairs of a run that are kept, those with the smallest numbers


class Course(NamedTuple):
    """What the two chains of a pair did when each was run on alone, with random numbers of its own.

    Attributes
    ----------
    log_density : float64 array (2, records)
        Of the partitions, up to a constant; NaN where the target has no density that can be computed.
    n_clusters : int64 array (2, records)
    labels : int32 array (2, records, points)
        The partitions, of evenly spaced points where there are many.
    """

    log_density: np.ndarray
    n_clusters: np.ndarray
    labels: np.ndarray


class Unmet(NamedTuple):
    """A pair that did not meet.

    Attributes
    ----------
    number : int
        Of its replicate.
    labels : int32 array (2, points)
        The partitions of both chains at the cap.
    course : Course or None
        What they did afterwards; None where they have not been followed yet.
    """

    number: int
    labels: np.ndarray
    course: Course | None = None

    @property
    def distance(self) -> int:
        """Hamming distance of the two partitions at the cap."""
        return hamming_distance(*self.labels)


def packed_arrays(**arrays: np.ndarray) -> bytes:
    """Return arrays as few bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stubs take every name for the flag allow_pickle
    return file.getvalue()


def unpacked_arrays(packed: bytes) -> dict[str, np.ndarray]:
    """Return the arrays again."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        return dict(file)
