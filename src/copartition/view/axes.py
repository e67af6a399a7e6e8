"""What all pictures share: axes to draw into, labels, plain numbers, intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from copartition.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.0, 3.4)  # inches
DOTS = 500  # of a picture of all pairs, to a side


def axes_for(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """Return the axes that were given, or new ones."""
    if ax is not None:
        return ax
    return needed("matplotlib.pyplot", by="A picture").subplots(figsize=size, layout="constrained")[1]


def labelled(ax: Axes, x: str, y: str) -> Axes:
    """Return axes with labels, and without lines where nothing is."""
    # Names may be those of a user's functions, in which a dollar sign is no mathematics.
    ax.set_xlabel(x, parse_math=False)
    ax.set_ylabel(y, parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plain_numbers(axis: Any) -> None:
    """Let a logarithmic axis say 0.01, not a power of ten, and no more than that."""
    from matplotlib.ticker import NullFormatter

    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())
