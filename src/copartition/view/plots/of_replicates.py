"""Pictures of replicates: the estimate as they come in, their values, and means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from copartition.diagnostics.findings import OUTSIDE
from copartition.names import are_shares
from copartition.results import Draws, Replicates
from copartition.validation import confidence, integer, shorten
from copartition.view.palette import INK, MUTED, axes_for, labelled, line_of, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRETCHES = 60  # dots of a line
DECADE = 10.0
TICKED = 15  # whole numbers that have a tick each
THIN = 60  # whole numbers on an axis from which on bars would be too thin


def running(e: Replicates, component: int = 0, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw the estimate and its confidence band against the number of replicates.

    Parameters
    ----------
    e : Replicates
    component : int
    ax : matplotlib axes, optional
    level : float
        Of the band.
    """
    from scipy.special import stdtrit

    ax = axes_for(ax)
    values = _values(e, component)
    counts = np.arange(1, len(values) + 1)
    centre = values.mean()  # so that sums of squares do not cancel
    means = np.cumsum(values - centre) / counts
    squares = np.cumsum((values - centre) ** 2) / counts
    shown = counts >= min(10, max(2, len(values) // 2))
    counts, means = counts[shown], means[shown] + centre
    variance = np.maximum(squares[shown] - (means - centre) ** 2, 0.0) * counts / np.maximum(counts - 1, 1)
    half = stdtrit(np.maximum(counts - 1, 1), 0.5 + confidence(level) / 2) * np.sqrt(variance / counts)
    ax.fill_between(counts, means - half, means + half, color=MUTED, alpha=0.35, lw=0)
    ax.plot(counts, means, color=INK)
    if len(counts) > 1:
        if counts[-1] > DECADE * counts[0]:  # of less a logarithmic scale would name one number
            ax.set_xscale("log")
            plain_numbers(ax.xaxis)
        ax.set_xlim(counts[0], counts[-1])
    return labelled(ax, "replicates", e.components[component])


def values(e: Replicates, component: int = 0, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the values of the replicates, with their mean.

    Parameters
    ----------
    e : Replicates
    component : int
    ax : matplotlib axes, optional
    """
    ax = axes_for(ax)
    shown = _values(e, component)
    constant = np.ptp(shown) <= 1e-12 * np.abs(shown).max()  # but for rounding, which no histogram should show
    bins = 1 if constant else int(np.clip(np.sqrt(len(shown)), 5, 60))
    ax.hist(np.full(len(shown), shown[0]) if constant else shown, bins=bins, color=MUTED, alpha=0.6)
    ax.axvline(shown.mean(), color=INK, linestyle="--", label="mean")
    ax.legend(frameon=False)
    return labelled(ax, f"{e.components[component]}, one value a replicate", "replicates")


def means(e: Replicates, *, ax: Axes | None = None, level: float = 0.95, most: int = 30) -> Axes:
    """Draw the mean of every component with its interval: named dots, or of many components a line with a band.

    Parameters
    ----------
    e : Replicates
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    most : int
        Number of components up to which they are named.
    """
    count, most = len(e.components), integer("most", most, 1)
    mean, (low, high) = e.mean, e.interval(level)
    if count > most:
        ax = axes_for(ax)
        places = np.arange(count)
        ax.fill_between(places, low, high, color=MUTED, alpha=0.5, lw=0, label=f"{100 * level:g} % interval")
        ax.plot(places, mean, color=INK, lw=0.8, label="posterior mean")
        ax.set_xlim(0, count - 1)
        ax.legend(frameon=False)
        return labelled(ax, "component", e.made_by.get("functional", ""))
    ax = axes_for(ax, (5.0, max(1.6, 0.8 + 0.26 * count)))
    places = np.arange(count)
    ax.hlines(places, low, high, color=MUTED, lw=3.0, alpha=0.7, label=f"{100 * level:g} % interval")
    ax.plot(mean, places, "o", color=INK, markersize=4, label="posterior mean")
    ax.set_yticks(places, list(e.components), parse_math=False)
    ax.set_ylim(count - 0.5, -0.5)
    ax.margins(x=0.1)
    return labelled(ax, f"posterior mean, with {100 * level:g} % interval", "")


def bars(e: Replicates, *, ax: Axes | None = None, level: float = 0.95, names: Sequence[str] = ()) -> Axes:
    """Draw the mean of every component as a bar, with its interval, as they are: a probability may lie outside 0 to 1.

    Parameters
    ----------
    e : Replicates
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    names : sequence of str, optional
        What is written below the bars; left out, the names of the components.
    """
    ax = axes_for(ax)
    names = list(names) or list(e.components)
    if len(names) != len(e.components):
        raise ValueError(f"names must be {len(e.components)}, one a component, got {len(names)}.")
    above = are_shares(e.functionals[0])
    return labelled(draw_bars(ax, names, e.mean, e.interval(level), level, above), "", "posterior mean")


def draw_bars(
    ax: Axes,
    names: Sequence[str],
    mean: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    level: float,
    shares: bool,
    numbers: Sequence[int] | None = None,
) -> Axes:
    """Draw bars at 1, 2, ... with intervals, or at given numbers; of shares above 1 a line where they should end."""
    low, high = ends
    places = np.arange(1, len(names) + 1) if numbers is None else np.asarray(numbers)
    ax.bar(places, mean, color=MUTED, alpha=0.6, width=0.7, label="posterior")
    label = f"{100 * level:g} % interval" if np.isfinite(low).all() else ""
    ax.vlines(places, low, high, color=INK, lw=1.4, label=label)
    if numbers is not None:
        whole_numbers(ax, places)
    else:
        turn = 30 if max(map(len, names)) > 40 / len(names) else 0
        ax.set_xticks(places, names, rotation=turn, ha="right" if turn else "center", parse_math=False)
    ax.set_ylim(*range_of(mean, low, high))
    if shares and max(mean.max(), np.nanmax(high, initial=0.0)) > 1.0 + OUTSIDE:
        ax.axhline(1.0, color=MUTED, lw=0.8, linestyle=":")
    ax.legend(frameon=False)
    return ax


def whole_numbers(ax: Axes, numbers: np.ndarray) -> None:
    """Make the axis one of whole numbers, with a place for those between: each has a tick, or some of many."""
    from matplotlib.ticker import MaxNLocator

    first, last = int(numbers.min()), int(numbers.max())
    if last - first < TICKED:
        ax.set_xticks(range(first, last + 1), [f"{k:,}" for k in range(first, last + 1)])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.xaxis.set_major_formatter("{x:,.0f}")
    for patch in ax.patches if last - first > THIN else []:  # a bar must still be seen
        patch.set(edgecolor=MUTED, linewidth=1.5)
    margin = max(0.7, 0.03 * (last - first))
    ax.set_xlim(max(first - margin, 0.3), last + margin)  # there are no fewer than one


def range_of(mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """Return the ends of an axis for bars with intervals, where there are any, and room for a legend."""
    ends = np.concatenate([[0.0, 1e-12], mean, low[np.isfinite(low)], high[np.isfinite(high)]])
    return float(ends.min()), 1.18 * float(ends.max())


def chains(s: Draws, component: int = 0, *, ax: Axes | None = None, most: int = 6) -> Axes:
    """Draw one component along ordinary chains, a line each, as averages over short stretches.

    Parameters
    ----------
    s : Draws
        What `sample` returns.
    component : int
    ax : matplotlib axes, optional
    most : int
        Number of chains shown, the first ones.
    """
    if not isinstance(s, Draws):
        raise TypeError(f"s must be what sample returns, got {shorten(s)}.")
    component = integer("component", component, 0)
    if component >= s.draws.shape[2]:
        raise ValueError(f"component must be below {s.draws.shape[2]}, got {component}.")
    ax = axes_for(ax)
    kept = s.draws.shape[1]
    stretch = max(1, kept // STRETCHES)
    ends = np.arange(stretch, kept + 1, stretch)
    for number, draws in enumerate(s.draws[: integer("most", most, 1), :, component]):
        shown = draws[: len(ends) * stretch].reshape(len(ends), stretch).mean(axis=1)
        ax.plot(s.burn_in + ends, shown, lw=1.3, label=f"chain {number + 1}", **line_of(number))
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize="small")
    name = s.components[component] if s.components else f"{s.functional}[{component}]"
    return labelled(ax, "sweeps", f"{name}, averages of {stretch:,}" if stretch > 1 else name)


def _values(e: Replicates, component: int) -> np.ndarray:
    component = integer("component", component, 0)
    if component >= len(e.components):
        raise ValueError(f"component must be below {len(e.components)}, got {component}.")
    return e.all_values("This picture")[:, component]
