"""Axes that suit a column: of numbers, of amounts with a long tail, of few whole numbers, of categories.

An axis is logarithmic (and linear next to 0, so that zeros have a place) where no number is negative, the largest is 30
times the median of those above 0 or more, and the middle half of the rows would take less than a tenth of a linear axis
and takes at least twice that share of a logarithmic one. Whole numbers of few different values, and categories, are
jittered: rows of the same value lie beside each other.

Numbers of clusters beside their rows: no number hides the middle of a row or another number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.view.clusterings import ClusteringLike, ColumnProfile, called, categories_of, values_of
from copartition.view.palette import INK, MUTED, PAPER, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CROWDED = 0.1  # of a linear axis, that the middle half of the rows takes if it is crowded
SPACIOUS = 2.0  # times that share, which a logarithmic axis must give them
TAIL = 30.0  # times the median of the positive numbers, that the largest is at least
FEW = 25  # different whole numbers that are jittered
TIED = 2.0  # rows to a number, on average, from which on they are
JITTER = 0.3  # of the distance to the next number or category, to either side
NAMED = 10  # categories with a place of their own, where there are more
LONGEST = 22  # characters of the name of a category


@dataclass(frozen=True, eq=False)
class Along:
    """The rows along an axis.

    Attributes
    ----------
    places : float64 array (rows)
        Where they are drawn; NaN where the cell was not observed.
    label : str
    threshold : float
        Below which a logarithmic axis is linear; 0 of an axis that is linear everywhere.
    names : list of str
        Of categories, which are at 0, 1, ...
    """

    places: np.ndarray
    label: str
    threshold: float
    names: list[str]

    def set(self, ax: Axes, which: str) -> None:
        """Make the axis ("x" or "y") one for these places; what is drawn is there already, so that it has its ends."""
        axis = ax.xaxis if which == "x" else ax.yaxis
        if self.threshold > 0.0:
            scale: dict[str, Any] = {"linthresh": self.threshold, "linscale": 0.5}
            (ax.set_xscale if which == "x" else ax.set_yscale)("symlog", **scale)
            plain_numbers(axis)
        if self.names:
            turned = which == "x" and sum(map(len, self.names)) > 40
            axis.set_ticks(range(len(self.names)), self.names, parse_math=False)
            if turned:
                ax.tick_params(axis="x", rotation=30)
            ax.tick_params(axis="x" if which == "x" else "y", length=0)
            ends = -0.5, len(self.names) - 0.5
            ax.set_xlim(*ends) if which == "x" else ax.set_ylim(*ends[::-1])  # the most frequent first


def along(c: ClusteringLike, column: ColumnProfile, seed: int = 0) -> Along:
    """Return where the rows are along an axis for a column of the table; `seed` is of the jitter."""
    rng = np.random.default_rng(seed)
    if column.levels:
        places, names = _of_categories(column, categories_of(c, column))
        places += rng.uniform(-JITTER, JITTER, len(places))
        return Along(places, f"{called(column)} (jittered)", 0.0, names)
    places, label = values_of(c, column), called(column)
    threshold = linear_below(places)
    notes = ["log scale"] if threshold > 0.0 else []
    distance = tied(places)
    if distance > 0.0:
        places = places + JITTER * distance * rng.uniform(-1.0, 1.0, len(places))
        notes.append("jittered")
    return Along(places, f"{label} ({', '.join(notes)})" if notes else label, threshold, [])


def linear_below(values: np.ndarray) -> float:
    """Return the number below which a logarithmic axis for a column should be linear; 0 where it should be linear.

    Examples
    --------
    >>> linear_below(np.array([0, 0, 1, 1, 2, 3, 5, 8, 40, 900])), linear_below(np.arange(100.0))
    (1.0, 0.0)
    """
    seen = values[np.isfinite(values)]
    if not len(seen) or seen.min() < 0.0 or not seen.max() > 0.0:
        return 0.0
    positive = seen[seen > 0.0]
    if positive.max() < TAIL * np.median(positive):
        return 0.0
    whole = bool(np.all(seen == np.floor(seen)))
    threshold = 1.0 if whole else float(10.0 ** np.floor(np.log10(np.quantile(positive, 0.05))))
    of_linear = _middle_half(seen)
    of_log = _middle_half(np.arcsinh(seen / threshold))
    return threshold if of_linear < CROWDED and of_log >= SPACIOUS * of_linear else 0.0


def _middle_half(values: np.ndarray) -> float:
    """Return the share of an axis that the middle half of some numbers takes."""
    low, high = np.quantile(values, [0.25, 0.75])
    span = values.max() - values.min()
    return float((high - low) / span) if span > 0.0 else 1.0


def tied(values: np.ndarray) -> float:
    """Return the distance between the numbers of a column of few whole ones, many rows to each; 0 of any other.

    Examples
    --------
    >>> tied(np.array([1, 1, 3, 5, 3, 5, np.nan])), tied(np.array([1.5, 1.5, 1.5, 2.5]))
    (2.0, 0.0)
    """
    seen = values[np.isfinite(values)]
    numbers = np.unique(seen)
    if (
        len(numbers) > FEW
        or len(numbers) < 2
        or len(seen) < TIED * len(numbers)
        or np.any(numbers != np.floor(numbers))
    ):
        return 0.0
    return float(np.diff(numbers).min())


def _of_categories(column: ColumnProfile, places: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return places by how frequent categories are, and their names; the rarest of many are one."""
    order = np.argsort(-column.of_all, kind="stable")
    kept = len(order) if len(order) <= NAMED + 1 else NAMED
    rank = np.empty(len(order))
    rank[order] = np.minimum(np.arange(len(order)), kept)
    names = [_short(str(column.levels[j])) for j in order[:kept]]
    if kept < len(order):
        names.append(f"{len(order) - kept} others")
    moved = np.full(len(places), np.nan)
    there = np.isfinite(places)
    moved[there] = rank[places[there].astype(np.int64)]
    return moved, names


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


WIDTH, HEIGHT = 0.62, 1.05  # of a digit, in its font size
ROOM = 1.3  # by which boxes are larger than the numbers: axes shrink when labels and legends get their place
RINGS = (0.0, 1.0, 1.5, 2.1, 2.8)  # how far from the middle of the cluster a number may go, in its own height
DIRECTIONS = 12
LINE: dict[str, Any] = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.7, "shrinkA": 0.0, "shrinkB": 0.0}


def number_clusters(
    ax: Axes, middles: dict[int, tuple[float, float]], rows: np.ndarray, fonts: dict[int, float]
) -> list[int]:
    """Write the numbers of clusters where there is room near their middles, those that come first first.

    Parameters
    ----------
    ax : matplotlib axes
        With everything drawn.
    middles : dict
        Where each cluster is.
    rows : float64 array (rows, 2)
        What is not to be hidden.
    fonts : dict
        The size of each number, in points.

    Returns
    -------
    list of int
        Those for which there was room. The others are left out.
    """
    from matplotlib.patheffects import withStroke

    scale = ax.figure.dpi / 72.0
    ends = ax.get_xlim(), ax.get_ylim()  # which now are what they will be
    box = ax.get_window_extent()
    there = ax.transData.transform(rows)
    taken: list[np.ndarray] = []
    written = []
    for r, middle in middles.items():
        font = fonts[r] * scale
        half = 0.5 * ROOM * np.array([WIDTH * font * len(str(r)), HEIGHT * font])
        centre = ax.transData.transform(middle)
        for place in _candidates(centre, 2.0 * half[1]):
            inside = np.all(place - half >= box.p0) and np.all(place + half <= box.p1)
            if not inside or np.any(np.all(np.abs(there - place) < half, axis=1)):
                continue
            if any(np.all(np.abs(place - other[:2]) < half + other[2:]) for other in taken):
                continue
            taken.append(np.concatenate([place, half]))
            at = ax.transData.inverted().transform(place)
            is_far = float(np.hypot(*(place - centre))) > 2.0 * half[1]
            style: dict[str, Any] = {"fontsize": fonts[r], "color": INK, "ha": "center", "va": "center", "zorder": 5}
            style["path_effects"] = [withStroke(linewidth=2.0, foreground=PAPER)]
            ax.annotate(str(r), middle, xytext=tuple(at), arrowprops=LINE if is_far else None, **style)
            written.append(r)
            break
    ax.set(xlim=ends[0], ylim=ends[1])
    return written


def _candidates(centre: np.ndarray, step: float) -> np.ndarray:
    """Return places for a number, the nearest first."""
    angles = 2.0 * np.pi * (np.arange(DIRECTIONS) / DIRECTIONS) + 0.5 * np.pi
    around = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate([centre + ring * step * (around if ring else np.zeros((1, 2))) for ring in RINGS])
