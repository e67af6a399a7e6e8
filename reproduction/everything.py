"""All figures and the page that shows them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jinja2

import copartition as cp
from reproduction.complexity import complexity
from reproduction.experiments import Reproduction
from reproduction.figure1 import figure1
from reproduction.figure2 import figure2
from reproduction.figure3 import figure3
from reproduction.section import Section

FIGURES: dict[str, Callable[[Reproduction], Section]] = {
    "figure1": figure1,
    "figure2": figure2,
    "figure3": figure3,
    "complexity": complexity,
}


def reproduce(reproduction: Reproduction, names: Sequence[str] = tuple(FIGURES)) -> list[Section]:
    """Reproduce some figures, write the page ``index.html``, and return what it shows.

    Parameters
    ----------
    reproduction : Reproduction
    names : sequence of str
        Of `FIGURES`.
    """
    reproduction.prepare()
    begin = time.perf_counter()
    sections = []
    for name in names:
        sections.append(FIGURES[name](reproduction))
        write_page(reproduction, sections, time.perf_counter() - begin)
    return sections


def write_page(reproduction: Reproduction, sections: list[Section], seconds: float) -> Path:
    """Write the page."""
    claims = [claim for section in sections for claim in section.claims]
    page = reproduction.out / "index.html"
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    template = environment.from_string(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    text = template.render(
        title="Optimal transport couplings of Gibbs samplers on partitions, reproduced",
        warnings=[section.warning for section in sections if section.warning],
        claims=claims,
        holding=sum(claim.holds for claim in claims),
        sections=sections,
        minutes=f"{seconds / 60:.1f}",
        making=[("version", f"copartition {cp.__version__}"), *reproduction.describe().items()],
    )
    page.write_text(text, encoding="utf-8")
    return page
