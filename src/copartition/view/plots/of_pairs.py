"""Pictures of pairs of chains: when they met, how far apart they were, and what follows for ordinary chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.bounds import tv_bound as bound_of
from copartition.diagnostics.tuning import Tuned
from copartition.results import MeetingTimes, Replicates
from copartition.validation import integer, shorten
from copartition.view.palette import INK, MUTED, axes_for, color_of, labelled, line_of, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def meeting_times(
    m: MeetingTimes | Replicates | Mapping[str, MeetingTimes | Replicates], *, ax: Axes | None = None
) -> Axes:
    """Draw the share of pairs that are still apart, against the sweeps they were coupled for.

    The scale is logarithmic: a straight line is a geometric tail. Pairs that were given up end in a cross at the cap.

    Parameters
    ----------
    m : MeetingTimes, Replicates, or dict of these
        With a dict, a curve for each, named by its keys.
    ax : matplotlib axes, optional
    """
    ax = axes_for(ax)
    several = m if isinstance(m, Mapping) else {"": m}
    for number, (name, pairs) in enumerate(several.items()):
        _check_pairs(pairs)
        coupled, counts = np.unique((pairs.meeting_times - pairs.lag)[pairs.met], return_counts=True)
        apart = 1.0 - np.cumsum(counts) / len(pairs.met)
        steps, shares = np.concatenate([[0], coupled]), np.concatenate([[1.0], apart])
        color = color_of(number)
        if pairs.censored:
            cap = int((pairs.meeting_times - pairs.lag).max())
            steps, shares = np.append(steps, cap), np.append(shares, shares[-1])
            note = f"{pairs.censored} of {len(pairs.met)} not met"
            ax.plot(cap, shares[-1], "x", color=color, markersize=8, clip_on=False)
            ax.annotate(note, (cap, shares[-1]), (-6, 6), textcoords="offset points", ha="right", color=color)
        shares = np.where(shares > 1e-12, shares, np.nan)
        ax.step(steps, shares, where="post", label=name or None, **line_of(number))
    ax.set_yscale("log")
    plain_numbers(ax.yaxis)
    ax.locator_params(axis="x", integer=True)
    ax.set_ylim(top=1.05)
    ax.set_xlim(left=0)
    if len(several) > 1:
        ax.legend(frameon=False)
    return labelled(ax, "coupled sweeps", "share of pairs still apart")


def tv_bound(m: MeetingTimes | Replicates, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw the bound on the distance of a chain from its target, against sweeps, with its confidence band.

    Parameters
    ----------
    m : MeetingTimes or Replicates
        Of pairs that have all met.
    ax : matplotlib axes, optional
    level : float
        Of the band.
    """
    ax = axes_for(ax)
    _check_pairs(m)
    end = max(4, int(1.1 * (m.meeting_times - m.lag).max()))
    bound = bound_of(m, np.unique(np.linspace(0, end, 200).astype(np.int64)), level=level)
    shown = np.minimum(bound.value, 1.0)
    ax.fill_between(bound.sweeps, np.minimum(bound.low, 1), np.minimum(bound.high, 1), color=MUTED, alpha=0.35, lw=0)
    ax.plot(bound.sweeps, shown, color=INK)
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, end)
    return labelled(ax, "sweeps of an ordinary chain", "total variation distance, at most")


def traces(m: MeetingTimes, *, ax: Axes | None = None, most: int = 50) -> Axes:
    """Draw the distances of coupled chains over time.

    Parameters
    ----------
    m : MeetingTimes
        Made with ``trace=True``.
    ax : matplotlib axes, optional
    most : int
        Number of pairs shown, the first ones.
    """
    if getattr(m, "traces", None) is None:
        raise ValueError("m must have traces: make it with meeting_times(..., trace=True).")
    assert m.traces is not None
    ax = axes_for(ax)
    for trace in m.traces[: integer("most", most, 1)]:
        ax.plot(np.arange(len(trace)), trace, color=MUTED, lw=0.5, alpha=0.5)
    longest = max(len(trace) for trace in m.traces)
    stacked = np.zeros((len(m.traces), longest))
    for row, trace in zip(stacked, m.traces, strict=True):
        row[: len(trace)] = trace
        row[len(trace) :] = trace[-1]
    ax.plot(np.median(stacked, axis=0), color=INK, lw=2.0, label="median of all pairs")
    ax.plot([], [], color=MUTED, lw=0.5, label="single pairs")
    ax.legend(frameon=False)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    return labelled(ax, "coupled sweeps", "Hamming distance")


def tuned(t: Tuned, *, ax: Axes | None = None) -> Axes:
    """Draw what settings were chosen by: the share of pairs of the pilot still apart, and the burn-in.

    The burn-in is where nearly all pairs have met, so that few replicates need a correction.

    Parameters
    ----------
    t : Tuned
        What `tune` returns.
    ax : matplotlib axes, optional
    """
    if not isinstance(t, Tuned):
        raise TypeError(f"t must be what tune returns, got {shorten(t)}.")
    ax = meeting_times(t.pilot, ax=ax)
    ax.axvline(t.burn_in, label=f"burn_in and lag, {t.burn_in:,}" if t.burn_in == t.lag else f"burn_in, {t.burn_in:,}",
               **line_of(1))  # fmt: skip
    if t.lag != t.burn_in:
        ax.axvline(t.lag, label=f"lag, {t.lag:,}", **line_of(2))
    ax.set_xlim(right=1.06 * max(t.burn_in, t.lag, ax.get_xlim()[1] / 1.05))
    ax.legend(frameon=False)
    return ax


def _check_pairs(pairs: Any) -> None:
    if not isinstance(pairs, MeetingTimes | Replicates):
        raise TypeError(f"m must be the result of meeting_times or estimate, got {shorten(pairs)}.")
