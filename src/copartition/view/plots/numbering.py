"""Numbers of clusters beside their rows: no number hides the middle of a row or another number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.view.palette import INK, MUTED, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
