"""What is known of a clustering for certain: the clusters of some points, and kinds of points that never mix.

A constraint restricts the distribution of a target to the partitions that keep to it: points with the same known label
are together, points with different ones are not, and points of different kinds are not either. That is a distribution
on partitions like any other, whose conditional distributions are those of the target with some choices left out. Points
whose cluster is known are not moved at all: all others may come to them and leave them, which leads everywhere.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from copartition.partition import canonical
from copartition.validation import shorten


class Constraint:
    """Which partitions are possible.

    Parameters
    ----------
    n_points : int
    known : array, optional
        A label for each point whose cluster is known, a number or a word; a negative number, NaN, None or NA for
        others.
    kinds : array, optional
        The kind of each point.

    Attributes
    ----------
    labels : int64 array (n_points)
        The labels of points whose cluster is known, 0, 1, ..., in the order of their first points; -1 for the others.
    kinds, pinned : int64 arrays (n_points)
        As kernels take them: kinds as numbers, and whether the cluster of a point is known; empty if nothing is asked
        for.
    """

    def __init__(self, n_points: int, known: Any = None, kinds: Any = None) -> None:
        self.labels = np.full(n_points, -1, dtype=np.int64)
        of_points = np.zeros(n_points, dtype=np.int64)
        if known is not None:
            values = _entries("known", known, n_points)
            if words := [one for one in values if isinstance(one, str) and one.startswith("-")]:
                raise ValueError(  # an array of words makes one of -1, which would pin all points that are free
                    f"known must have None, or a negative number in a list, for unknown clusters, got {words[0]!r}."
                )
            if odd := [one for one in values if isinstance(one, bool) or _is_between(one)]:
                raise ValueError(
                    f"known must hold whole numbers or words, and -1 where nothing is known, got {shorten(odd[0])}."
                )
            pinned = np.array([not _is_unknown(value) for value in values], dtype=bool)
            self.labels[pinned] = numbered(value for value in values if not _is_unknown(value))
        if kinds is not None:
            values = _entries("kinds", kinds, n_points)
            if any(_is_missing(one) for one in values):
                raise ValueError(f"kinds must have an entry for every point, got {shorten(kinds)}.")
            of_points = numbered(values)
        self.is_restricted = bool(self.labels.max(initial=-1) >= 0 or of_points.max(initial=0) > 0)
        self.kinds = of_points if self.is_restricted else np.zeros(0, dtype=np.int64)
        self.pinned = (self.labels >= 0).astype(np.int64) if self.is_restricted else np.zeros(0, dtype=np.int64)
        self._kinds = of_points
        self.check(self.finest(), "known")

    def __bool__(self) -> bool:
        return self.is_restricted

    def coarsest(self) -> np.ndarray:
        """Return labels of as few clusters as can be: all points of a kind that are free join one."""
        labels = self.labels.copy()
        count = int(labels.max(initial=-1)) + 1
        for kind in np.unique(self._kinds):
            of_kind = self._kinds == kind
            free = of_kind & (self.labels < 0)
            with_known = self.labels[of_kind & ~free]
            labels[free] = with_known[0] if len(with_known) else count
            count += 0 if len(with_known) else 1
        return canonical(labels)

    def finest(self) -> np.ndarray:
        """Return labels of as many clusters as can be: every point that is free is alone."""
        labels = self.labels.copy()
        free = labels < 0
        labels[free] = int(labels.max(initial=-1)) + 1 + np.arange(free.sum())
        return canonical(labels)

    def applied(self, labels: np.ndarray) -> np.ndarray:
        """Return labels that keep to the constraint and else differ little from these: clusters fall apart by kind."""
        if not self.is_restricted:
            return canonical(labels)
        free = np.where(self.labels >= 0, -1, labels)
        return numbered(zip(free.tolist(), self._kinds.tolist(), self.labels.tolist(), strict=True))

    def fixed(self, others: int) -> np.ndarray:
        """Return the labels of points whose cluster is known, and a number for all others."""
        return np.where(self.labels >= 0, self.labels, others)

    def assumptions(self) -> list[str]:
        """Return what is known, in words; nothing where nothing is."""
        sentences = []
        if len(self.pinned) and self.pinned.any():
            sentences.append(f"The clusters of {int(self.pinned.sum())} points are known (known).")
        if len(self.kinds) and self.kinds.any():
            sentences.append(f"Points are of {int(self.kinds.max()) + 1} kinds, which never share a cluster (kinds).")
        return sentences

    def check(self, labels: np.ndarray, name: str, aside: int | None = None) -> np.ndarray:
        """Return labels if they keep to the constraint, or say where they do not; one point may be left aside."""
        if not self.is_restricted:
            return labels
        points = np.arange(len(labels)) if aside is None else np.delete(np.arange(len(labels)), aside)
        if pair := _first_mismatch(labels[points], self._kinds[points]):
            raise ValueError(
                f"{name} must not have points of different kinds in one cluster, got points {points[pair[0]]} and "
                f"{points[pair[1]]} together."
            )
        named = points[self.labels[points] >= 0]
        if pair := _first_mismatch(labels[named], self.labels[named]):
            raise ValueError(
                f"{name} must have points with different known labels in different clusters, got points "
                f"{named[pair[0]]} and {named[pair[1]]} together."
            )
        if pair := _first_mismatch(self.labels[named], labels[named]):
            raise ValueError(
                f"{name} must have points with the same known label in one cluster, got points {named[pair[0]]} and "
                f"{named[pair[1]]} apart."
            )
        return labels


def _is_unknown(value: Any) -> bool:
    """Tell whether the cluster of a point is not known: nothing is said, or a negative number."""
    return _is_missing(value) or (isinstance(value, int | float) and value < 0)


def _is_between(value: Any) -> bool:
    """Tell whether a number is not whole: a measurement, and no label."""
    return isinstance(value, float) and value == value and not value.is_integer()


def _is_missing(value: Any) -> bool:
    """Tell whether nothing is said: None, NaN, or pandas' NA, of which nobody knows whether it equals itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def numbered(values: Iterable[Hashable]) -> np.ndarray:
    """Return numbers 0, 1, ... for values of any kind, in the order in which they come first."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)


def _entries(name: str, given: Any, n_points: int) -> list[Any]:
    """Return one entry a point, each as it is: an array of numbers and words together would be one of words."""
    try:
        values = given.tolist() if hasattr(given, "tolist") else list(given)
    except TypeError:
        values = []
    is_nested = isinstance(given, str | dict) or any(isinstance(value, list) for value in values)
    if len(values) > 1 and len(values) != n_points and not is_nested:
        raise ValueError(f"{name} must have an entry for each of the {n_points} points, got {len(values)} entries.")
    if len(values) != n_points or is_nested:
        raise ValueError(f"{name} must have an entry for each of the {n_points} points, got {shorten(given)}.")
    return values


def _first_mismatch(groups: np.ndarray, values: np.ndarray) -> tuple[int, int] | None:
    """Return the places of two entries of one group whose values differ, None if there are none."""
    _, firsts, group = np.unique(groups, return_index=True, return_inverse=True)
    other = np.flatnonzero(values != values[firsts[group]])
    return (int(firsts[group[other[0]]]), int(other[0])) if len(other) else None
