"""How things are shown to people: what can be shown asks here, and the view room has left here how it is done.

Rooms know those below them only. Results, diagnostics and targets lie below the view, which knows how to write HTML and
to draw. So that ``_repr_html_`` and ``plot`` can be methods of theirs all the same, with docstrings and types, they ask
here for a function, and `copartition.view` puts it here when it is imported, as every ``import copartition`` does. An
import inside of the method, or by name, would be the same dependence, hidden; methods that the view sets on classes
from outside would be known neither to type checkers nor to readers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from copartition.extras import needed

if TYPE_CHECKING:
    import pandas

_shown: dict[str, Callable[..., Any]] = {}


class Displayed:
    """Something that notebooks show as a table with a verdict, by the templates of the page."""

    def _repr_html_(self) -> str | None:
        """Return it as HTML; None where jinja2 is not installed: notebooks then show what `repr` says."""
        html = _shown.get("html")
        return None if html is None else html(self)


def show_with(html: Callable[[Any], str | None], draw: Callable[..., Any]) -> None:
    """Take note of how things are shown.

    Parameters
    ----------
    html : callable
        Gets a thing; returns it as HTML, or None.
    draw : callable
        Gets a thing and ``ax``; draws it, and returns the axes.
    """
    _shown.update(html=html, draw=draw)


def draw(thing: Any, **how: Any) -> Any:
    """Draw a thing; return the axes."""
    return _shown["draw"](thing, **how)


def frame_of(columns: Mapping[str, Any], index: str, why: str) -> pandas.DataFrame:
    """Return columns as a data frame of pandas, one of them as its index; `why` says who asks.

    Examples
    --------
    >>> frame_of({"k": [1, 2], "size": [40, 30]}, "k", "summary(as_frame=True)").loc[2, "size"].item()
    30
    """
    return needed("pandas", by=why).DataFrame(dict(columns)).set_index(index)
