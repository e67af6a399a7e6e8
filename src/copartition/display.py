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

import numpy as np

from copartition.extras import needed

if TYPE_CHECKING:
    import pandas

NO_SPREAD = "*"  # beside a number that was the same in all replicates
MOST_DIGITS = 10  # behind the point
ROUNDING = 1e-13  # relative to a number, by which replicates differ from rounding alone
LARGEST_PLAIN = 1e7  # from which on numbers are written with an exponent

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


def is_constant(value: Any, error: Any) -> Any:
    """Tell whether a number was the same in all replicates, but for rounding."""
    return error <= ROUNDING * np.abs(value)


def rounded(value: float, error: float) -> str:
    """Return a number with as many digits as its standard error calls for: two of the error's own.

    Examples
    --------
    >>> rounded(0.306219, 0.0017), rounded(2.2041, 0.087), rounded(1234.5, 21.0), rounded(0.25, 0.0)
    ('0.3062', '2.204', '1234', '0.25')
    """
    if not np.isfinite(error) or is_constant(value, error) or not np.isfinite(value):
        return f"{value:.6g}"
    digits = 1 - int(np.floor(np.log10(error)))
    if digits > MOST_DIGITS or max(abs(value), error) >= LARGEST_PLAIN:
        return f"{value:.6g}"
    return f"{value:.{max(digits, 0)}f}"


def interval_text(value: float, error: float, margin: float) -> str:
    """Return the ends of an interval, `margin` standard errors to either side; a dash where there is none.

    Examples
    --------
    >>> interval_text(0.306219, 0.0017, 1.96), interval_text(1.0, 0.0, 1.96)
    ('0.3029 to 0.3096', '-')
    """
    half = margin * error
    if not np.isfinite(half) or is_constant(value, error):
        return "-"
    return f"{rounded(value - half, error)} to {rounded(value + half, error)}"


def error_text(value: float, error: float) -> str:
    """Return the standard error of a number; 0, which shows no error but not that there is none, with a mark.

    Examples
    --------
    >>> error_text(0.3062, 0.0017), error_text(1.0, 0.0)
    ('0.0017', '0 *')
    """
    return f"0 {NO_SPREAD}" if is_constant(value, error) else f"{error:.2g}"


def no_spread_sentence(count: int) -> str:
    """Return what it means that a number was the same in so many replicates.

    Examples
    --------
    >>> no_spread_sentence(1000)
    'the same in all 1,000 replicates: fewer than 0.3 % of replicates differ (95 % confidence), by an unknown amount'
    """
    bound = 100 * (1.0 - 0.05 ** (1.0 / count))
    return (
        f"the same in all {count:,} replicates: fewer than {bound:.2g} % of replicates differ (95 % confidence), by an "
        "unknown amount"
    )
