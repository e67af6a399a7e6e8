"""Partitions that replicates keep, on their way from kernels to results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from copartition.core.batch import Batch
from copartition.core.random import stream
from copartition.core.records import Atoms, number
from copartition.results.kept import Partitions, kept_of, narrow

CORRECTIONS = 4  # times as many corrections as states of the average are kept of a replicate, at most
PART = int.from_bytes(b"keepsome", "big")  # of the key of random streams


class Keeper:
    """Keeps partitions of the replicates of one batch.

    Parameters
    ----------
    per_replicate : int
        How many of the average of each, at most.
    states : int
        How many states a replicate averages over.
    shape : tuple of int
        Numbers of points and of unknown hyperparameters.
    seed : int
    keys : sequence of tuples of int
        Of the random streams of the replicates; what is kept is drawn from one beside each of them.
    at : int64 array (1)
        Which replicate is at hand.
    """

    def __init__(
        self,
        per_replicate: int,
        states: int,
        shape: tuple[int, int],
        seed: int,
        keys: Sequence[tuple[int, ...]],
        at: np.ndarray,
    ) -> None:
        count, (averaged, self._unit) = len(keys), kept_of(per_replicate, states)
        self.atoms = Atoms(
            averaged=averaged,
            states=states,
            most=CORRECTIONS * per_replicate,
            labels=np.zeros((averaged, shape[0]), dtype=np.int32),
            hyperparameters=np.zeros((averaged, shape[1])),
            weights=np.zeros(averaged, dtype=np.int64),
            first=np.zeros(count, dtype=np.int64),
            corrections=np.zeros(count, dtype=np.int64),
            strides=np.zeros(count, dtype=np.int64),
            at=at,
            passed=number(),
            offset=number(),
            random=np.array([stream(seed, *key, PART) for key in keys]).reshape(count, 4),
            shift=number(),
            renumbered=np.zeros(shape[0], dtype=np.int64),
        )

    def make_room(self, batch: Batch) -> Batch:
        """Return a batch with twice the room for atoms."""
        before = self.atoms
        lines = len(before.weights)
        more = {"labels": before.labels, "hyperparameters": before.hyperparameters, "weights": before.weights}
        for name, array in more.items():
            more[name] = np.zeros((2 * lines, *array.shape[1:]), dtype=array.dtype)
            more[name][:lines] = array
        self.atoms = before._replace(**more)
        return batch._replace(atoms=self.atoms)

    def partitions(self, begin: int, indices: np.ndarray) -> Partitions:
        """Return the partitions of ended replicates from the place `begin` in the batch on, with these numbers."""
        a = self.atoms
        here = slice(begin, begin + len(indices))
        sizes = a.averaged + 2 * a.corrections[here]
        end = begin + len(indices) - 1
        lines = slice(int(a.first[begin]), int(a.first[end] + sizes[-1])) if len(indices) else slice(0, 0)
        counts = a.weights[lines] * np.repeat(a.strides[here], sizes) * (self._unit // a.states)
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
        counts[np.arange(len(counts)) - starts < a.averaged] = self._unit // a.averaged
        labels = narrow(a.labels[lines])
        return Partitions(
            labels, counts, np.repeat(indices, sizes), a.hyperparameters[lines].copy(), a.averaged, self._unit
        )
