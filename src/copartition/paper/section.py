"""What a figure contributes to the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from copartition.paper.reproduction import Reproduction
from copartition.view.report.pictures import Picture, svg_of


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what was found.

    Attributes
    ----------
    where : str
        Figure or theorem.
    says : str
        What the paper says, or for additions of ours, what should be.
    measured : str
        What was measured, with standard errors.
    holds : bool
        Computed from the measurement, never written by hand.
    """

    where: str
    says: str
    measured: str
    holds: bool


@dataclass
class Section:
    """All about one figure; put together as its parts are done."""

    title: str
    notes: list[str]
    warning: str = ""
    pictures: list[Picture] = field(default_factory=list)
    tables: list[tuple[list[str], list[list[str]]]] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


def picture(
    reproduction: Reproduction,
    name: str,
    title: str,
    text: str,
    draw: Callable[[Any], Any],
    size: tuple[float, float] = (5.0, 3.5),
) -> Picture:
    """Draw into new axes; save as PNG and SVG, and return the piece for the page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    figure.savefig(reproduction.out / f"{name}.png", dpi=160)
    figure.savefig(reproduction.out / f"{name}.svg", metadata={"Date": None})
    return Picture(name, title, text, svg_of(draw, name, size))


def plus_minus(value: float, error: float) -> str:
    """Return a number with its standard error, to as many digits as that allows."""
    if not error > 0:
        return f"{value:.4g}"
    from math import floor, log10

    digits = max(0, 1 - floor(log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}" if digits < 8 else f"{value:.4g} ± {error:.1g}"
