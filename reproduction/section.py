"""What a figure contributes to the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

from matplotlib.figure import Figure

from reproduction.experiments import Reproduction


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


@dataclass(frozen=True)
class Picture:
    """A picture of the page with its title and what it says; SVG in base 64, so that the page is one file."""

    title: str
    text: str
    svg: str


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
    """Draw into new axes; save as PNG and SVG, and return what the page says of it."""
    figure = Figure(figsize=size, layout="constrained")
    draw(figure.subplots())
    figure.savefig(reproduction.out / f"{name}.png", dpi=160)
    file = reproduction.out / f"{name}.svg"
    figure.savefig(file, metadata={"Date": None})
    return Picture(title, text, b64encode(file.read_bytes()).decode("ascii"))


def plus_minus(value: float, error: float) -> str:
    """Return a number with its standard error, to as many digits as that allows."""
    if not error > 0:
        return f"{value:.4g}"
    digits = max(0, 1 - floor(log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}" if digits < 8 else f"{value:.4g} ± {error:.1g}"
