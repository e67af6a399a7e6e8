"""Pictures of models against each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from copartition.diagnostics.evidence import Comparison
from copartition.validation import confidence, shorten
from copartition.view.axes import axes_for, labelled
from copartition.view.palette import ACCENT, INK, MUTED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def evidence(c: Comparison, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw the log evidences of models against that of the best, with their intervals, the best on top.

    Parameters
    ----------
    c : Comparison
        What `compare` returns.
    ax : matplotlib axes, optional
    level : float
        Of the intervals, those of each log evidence by itself.
    """
    if not isinstance(c, Comparison):
        raise TypeError(f"c must be what compare returns, got {shorten(c)}.")
    level = confidence(level)
    ax = axes_for(ax)
    best = c.mean[0]
    ends = np.array([one.interval(level) for one in c.evidences.values()]) - best
    places = np.arange(len(c.names))
    half = np.abs(ends - c.difference[:, None]).T
    ax.axvline(0.0, color=MUTED, lw=0.8, ls="--")
    ax.errorbar(c.difference, places, xerr=half, fmt="o", color=INK, ecolor=ACCENT, markersize=4, lw=1.5, capsize=3)
    for place, (difference, probability) in enumerate(zip(c.difference, c.probability, strict=True)):
        text = f"{probability:.2g}" if probability >= 1e-4 else "below 0.0001"
        ax.annotate(text, (difference, place), (0, 6), textcoords="offset points", ha="center", fontsize="small")
    ax.set_yticks(places, c.names, parse_math=False)
    ax.set_ylim(len(places) - 0.5, -0.7)
    ax.margins(x=0.12)
    return labelled(ax, f"log evidence, less {best:.1f}, and probability", "")
