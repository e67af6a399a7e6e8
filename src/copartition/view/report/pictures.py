"""The pieces that pages and displays in notebooks are made of: templates, and plots as SVG.

Plots take their colours from the page around them, so that they follow it into the dark.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from copartition.view.palette import DARK_PAGE, INK, LIGHT_PAGE, MUTED, PAPER, SERIES

THEME = {
    MUTED: "var(--muted)",
    PAPER: "var(--card)",
    **{color: f"var(--series{number})" for number, color in enumerate(SERIES)},
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    **dict.fromkeys(["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"], INK),
    **dict.fromkeys(["figure.facecolor", "axes.facecolor", "savefig.facecolor"], "none"),
}


@dataclass(frozen=True)
class Picture:
    """A picture of a page, with its title and what it says; a wide one is not shrunk to narrow screens, but scrolls."""

    name: str
    title: str
    text: str
    svg: str
    is_wide: bool = False


def svg_of(draw: Callable[[Any], Any], name: str, size: tuple[float, float] = (5.0, 3.3)) -> str:
    """Return what `draw` draws into the axes it is given.

    Parameters
    ----------
    draw : callable
        Gets matplotlib axes.
    name : str
        Different for each picture of a page, so that references inside one do not lead into another.
    size : tuple of float
        In inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = {**STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Groups are numbered in every picture, and nothing refers to them. Width and height are the page's business.
    svg = re.sub(r' id="[A-Za-z0-9]+[_ ]\d+"', "", svg)
    svg = re.sub(r'(<svg\b[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg\b[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for color, variable in THEME.items():
        svg = svg.replace(color, variable)
    return svg


@cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("copartition.view.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.globals.update(light=LIGHT_PAGE, dark=DARK_PAGE)
    return environment


def render(template: str, **content: Any) -> str:
    """Return a page or a display from a template; all text in `content` is escaped."""
    return str(_environment().get_template(template).render(**content))
