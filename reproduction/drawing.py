"""Colours, dashes and shapes of the figures: series differ in lightness too, so that they can be read in grey."""

from __future__ import annotations

from typing import Any

from copartition import plots

COLORS = (plots.INK, plots.ACCENT, "#e67d02", "#a76679", "#6f2000", "#9cbf7d")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (3, 1)))
SHAPES = "osD^vp"


def line_of(number: int) -> dict[str, Any]:
    """Return how the line of a series is drawn."""
    return {"color": COLORS[number], "linestyle": DASHES[number]}


def dots_of(number: int) -> dict[str, Any]:
    """Return how the dots of a series are drawn."""
    return {"color": COLORS[number], "marker": SHAPES[number]}
