"""What all pictures share: colours, axes to draw into, labels, plain numbers, intervals.

Series of a picture take the first colours of one list, each its own. The first six differ in lightness by 10 at least
(of 100, CIELAB), so that they differ in grey, and by 24 in colour (CIE 1976), for people who see all colours and for
those who do not see red or green; `tests/view/test_palette.py` computes it. Lines have dashes of their own besides,
dots shapes. On dark pages each has a light counterpart.

More than six series are told apart by dashes and shapes too. Five more colours are as far from the others as could be
found, but no longer differ in lightness. From the twelfth on, which happens to blocks of networks only, hues go round
by the golden section, so that none comes twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from copartition.extras import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, ACCENT = "#1b1e23", "#80868f", "#1f5f99"
PAPER = "#fefefe"  # of halos and of what hides something: pages put their own background in its place
SERIES = [INK, ACCENT, "#e67d02", "#a76679", "#6f2000", "#9cbf7d"]
MORE = ["#9b6afb", "#36c9fd", "#797843", "#f0a3ba", "#3b1fe0"]
DASHES: list[Any] = ["-", "--", "-.", ":", (0, (7, 2, 1, 2, 1, 2)), (0, (3, 1)), (0, (9, 4))]
SHAPES = "osD^vphX<>P"

LIGHT_PAGE = {
    "paper": "#ffffff", "card": "#f5f6f8", "ink": INK, "muted": "#6a7079", "accent": ACCENT,
    "good": "#1d6b3a", "caution": "#8a5a00", "bad": "#a11f1f", "line": "#d9dce1",
    **{f"series{k}": color for k, color in enumerate(SERIES)},
}  # fmt: skip
DARK_SERIES = ["#e7eaee", "#7fb6e8", "#d87e0c", "#9d6384", "#a5300f", "#a6e07e"]
DARK_PAGE = {
    "paper": "#14171b", "card": "#1d2127", "ink": "#e7eaee", "muted": "#9aa2ad", "accent": "#7fb6e8",
    "good": "#7fcf9a", "caution": "#e6b35c", "bad": "#f08a8a", "line": "#353b44",
    **{f"series{k}": color for k, color in enumerate(DARK_SERIES)},
}  # fmt: skip

_GOLDEN = (5.0**0.5 - 1.0) / 2.0


def shades(ax: Any) -> Any:
    """Return a colour map from nothing to ink, so that a table of numbers has the background of what it is drawn on.

    On dark axes ink is light. Pages, whose axes have no colour of their own, see to that themselves.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ink = to_rgb(PAPER if is_dark(ax) else INK)
    return LinearSegmentedColormap.from_list("shades", [(*ink, 0.0), (*ink, 1.0)])


def is_dark(ax: Any) -> bool:
    """Tell whether axes have a dark colour."""
    from matplotlib.colors import to_rgba

    red, green, blue, opacity = to_rgba(ax.get_facecolor())
    return bool(opacity > 0.5 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5)


def color_of(number: int) -> str:
    """Return the colour of a series: no two have the same.

    Examples
    --------
    >>> [color_of(k) for k in (0, 1, 2)]
    ['#1b1e23', '#1f5f99', '#e67d02']
    """
    listed = [*SERIES, *MORE]
    if number < len(listed):
        return listed[number]
    from colorsys import hsv_to_rgb

    shade = 0.2 * (number % 3)
    rgb = hsv_to_rgb(number * _GOLDEN % 1.0, 0.45 + shade, 0.85 - shade)
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)


def line_of(number: int) -> dict[str, Any]:
    """Return how the line of a series is drawn: its colour, and dashes that tell it in grey.

    Examples
    --------
    >>> line_of(1)
    {'color': '#1f5f99', 'linestyle': '--'}
    """
    return {"color": color_of(number), "linestyle": DASHES[number % len(DASHES)]}


def dots_of(number: int) -> dict[str, Any]:
    """Return how the dots of a series are drawn: colour and shape.

    Examples
    --------
    >>> dots_of(1)
    {'color': '#1f5f99', 'marker': 's'}
    """
    return {"color": color_of(number), "marker": SHAPES[number % len(SHAPES)]}


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
