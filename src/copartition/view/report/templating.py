"""Templates: pages and displays in notebooks are made of the same pieces."""

from __future__ import annotations

from functools import cache
from typing import Any

from copartition.view.palette import DARK_PAGE, LIGHT_PAGE


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
