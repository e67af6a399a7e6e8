"""Pictures of results. Each function draws into the axes that it is given, or into new ones, and returns them.

Lines differ in dashes and bands in shade as well as in colour, so that all can be read in grey.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.bounds import tv_bound as bound_of
from copartition.diagnostics.consensus import Consensus, consensus_of
from copartition.diagnostics.evidence import Comparison
from copartition.extras import needed
from copartition.results import MeetingTimes, Replicates
from copartition.targets.base import Target
from copartition.targets.priors import prior_n_clusters
from copartition.validation import confidence, finite_array, integer, shorten
from copartition.view.networks import adjacency as adjacency
from copartition.view.networks import network as network

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1b1e23"
MUTED = "#80868f"
ACCENT = "#1f5f99"
DOTS = 500  # of a picture of all pairs, to a side
DASHES = ["-", "--", ":", "-."]


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
    ax = _axes(ax)
    several = m if isinstance(m, Mapping) else {"": m}
    for number, (name, pairs) in enumerate(several.items()):
        _check_pairs(pairs)
        coupled, counts = np.unique((pairs.meeting_times - pairs.lag)[pairs.met], return_counts=True)
        apart = 1.0 - np.cumsum(counts) / len(pairs.met)
        steps, shares = np.concatenate([[0], coupled]), np.concatenate([[1.0], apart])
        color = INK if number % 2 == 0 else ACCENT
        if pairs.censored:
            cap = int((pairs.meeting_times - pairs.lag).max())
            steps, shares = np.append(steps, cap), np.append(shares, shares[-1])
            note = f"{pairs.censored} of {len(pairs.met)} not met"
            ax.plot(cap, shares[-1], "x", color=color, markersize=8, clip_on=False)
            ax.annotate(note, (cap, shares[-1]), (-6, 6), textcoords="offset points", ha="right", color=color)
        shares = np.where(shares > 1e-12, shares, np.nan)
        ax.step(steps, shares, where="post", color=color, linestyle=DASHES[number % 4], label=name or None)
    ax.set_yscale("log")
    plain_numbers(ax.yaxis)
    ax.locator_params(axis="x", integer=True)
    ax.set_ylim(top=1.05)
    ax.set_xlim(left=0)
    if len(several) > 1:
        ax.legend(frameon=False)
    return _labelled(ax, "coupled sweeps", "share of pairs still apart")


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
    ax = _axes(ax)
    _check_pairs(m)
    end = max(4, int(1.1 * (m.meeting_times - m.lag).max()))
    bound = bound_of(m, np.unique(np.linspace(0, end, 200).astype(np.int64)), level=level)
    shown = np.minimum(bound.value, 1.0)
    ax.fill_between(bound.sweeps, np.minimum(bound.low, 1), np.minimum(bound.high, 1), color=MUTED, alpha=0.35, lw=0)
    ax.plot(bound.sweeps, shown, color=INK)
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0, end)
    return _labelled(ax, "sweeps of an ordinary chain", "total variation distance, at most")


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
    ax = _axes(ax)
    for trace in m.traces[: integer("most", most, 1)]:
        ax.plot(np.arange(len(trace)), trace, color=MUTED, lw=0.6, alpha=0.6)
    longest = max(len(trace) for trace in m.traces)
    stacked = np.zeros((len(m.traces), longest))
    for row, trace in zip(stacked, m.traces, strict=True):
        row[: len(trace)] = trace
        row[len(trace) :] = trace[-1]
    ax.plot(np.median(stacked, axis=0), color=INK, lw=1.8, label="median of all pairs")
    ax.plot([], [], color=MUTED, lw=0.6, label="single pairs")
    ax.legend(frameon=False)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    return _labelled(ax, "coupled sweeps", "Hamming distance (ordered pairs of points)")


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

    ax = _axes(ax)
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
        ax.set_xscale("log")
        plain_numbers(ax.xaxis)
        ax.set_xlim(counts[0], counts[-1])
    return _labelled(ax, "replicates", e.components[component])


def values(e: Replicates, component: int = 0, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the values of the replicates, with their mean.

    Parameters
    ----------
    e : Replicates
    component : int
    ax : matplotlib axes, optional
    """
    ax = _axes(ax)
    shown = _values(e, component)
    constant = np.ptp(shown) <= 1e-12 * np.abs(shown).max()  # but for rounding, which no histogram should show
    bins = 1 if constant else int(np.clip(np.sqrt(len(shown)), 5, 60))
    ax.hist(np.full(len(shown), shown[0]) if constant else shown, bins=bins, color=MUTED, alpha=0.6)
    ax.axvline(shown.mean(), color=INK, linestyle="--", label="mean")
    ax.legend(frameon=False)
    return _labelled(ax, f"{e.components[component]}, one value a replicate", "replicates")


def density(e: Replicates, *, ax: Axes | None = None, data: Any = None, truth: Any = None, level: float = 0.95) -> Axes:
    """Draw a predictive density with its pointwise band, over a histogram of the data.

    Parameters
    ----------
    e : Replicates
        Of `predictive_density` on a one-dimensional grid, alone or among others.
    ax : matplotlib axes, optional
    data : array, optional
        For the histogram; left out, the one that the estimate itself remembers.
    truth : array, optional
        True density at the points of the grid, dashed.
    level : float
        Of the band.
    """
    part = e.select("predictive_density")
    grid = np.array(part.functionals[0]["grid"], dtype=float)
    grid = grid.reshape(len(grid), -1)
    if grid.shape[1] != 1:
        raise ValueError(f"e must be of a density in one dimension to be drawn, got {grid.shape[1]}.")
    ax = _axes(ax)
    order = np.argsort(grid[:, 0])
    histogram = part.made_by.get("histogram")
    if data is not None:
        points = finite_array("data", data, (1, 2)).ravel()
        counts, edges = np.histogram(points, bins=int(np.clip(2 * np.sqrt(len(points)), 5, 60)))
    elif histogram:
        counts, edges = np.array(histogram["counts"]), np.array(histogram["edges"])
    if data is not None or histogram:
        ax.stairs(counts / counts.sum() / np.diff(edges), edges, fill=True, color=MUTED, alpha=0.3, label="data")
    low, high = part.interval(level)
    x = grid[order, 0]
    ax.fill_between(x, low[order], high[order], color=ACCENT, alpha=0.35, lw=0, label=f"{100 * level:g} % interval")
    ax.plot(x, part.mean[order], color=INK, label="posterior mean")
    if truth is not None:
        if np.shape(truth) != x.shape:
            raise ValueError(f"truth must have {len(x)} values, one a point of the grid, got {shorten(truth)}.")
        ax.plot(x, np.asarray(truth)[order], color=INK, linestyle="--", label="truth")
    ax.legend(frameon=False)
    ax.set_ylim(bottom=0)
    return _labelled(ax, "value of the next point", "density")


def n_clusters(e: Replicates, *, posterior: Target | None = None, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw the posterior probabilities of the number of clusters with their intervals, and those of the prior.

    Parameters
    ----------
    e : Replicates
        Of ``n_clusters(most)``, alone or among others.
    posterior : Target, optional
        The target, whose prior is drawn too.
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    """
    laws = [part for part in e.parts() if part.functionals[0]["name"].startswith("n_clusters(")]
    if len(laws) != 1:
        raise ValueError(f"e must have probabilities of numbers of clusters, as n_clusters(most=10), got {len(laws)}.")
    ax = _axes(ax)
    part = laws[0]
    counts = np.arange(1, len(part.mean) + 1)
    low, high = (np.clip(end, 0.0, 1.0) for end in part.interval(level))
    ax.bar(counts, np.clip(part.mean, 0, 1), color=MUTED, alpha=0.6, width=0.7, label="posterior")
    ax.vlines(counts, low, high, color=INK, lw=1.4, label=f"{100 * level:g} % interval")
    if posterior is not None:
        if posterior.prior is None:
            raise ValueError(f"posterior must have a prior to be drawn, got {shorten(posterior)}.")
        law = prior_n_clusters(posterior.prior, posterior.n_points)
        before = np.append(law[1 : len(counts)], law[len(counts) :].sum())
        before = np.pad(before, (0, len(counts) - len(before)))
        ax.plot(counts, before, "o--", color=ACCENT, markersize=4, label="prior")
    ax.set_xticks(counts, [*[str(k) for k in counts[:-1]], f"> {counts[-2]}"])
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return _labelled(ax, "number of clusters", "probability")


def hyperparameters(
    e: Replicates, *, posterior: Target | None = None, ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Draw the posterior law of an unknown number, its probabilities in cells with their intervals, and its prior.

    Parameters
    ----------
    e : Replicates
        Of ``hyperparameters(name, edges)``, alone or among others.
    posterior : Target, optional
        The target, of which the prior law of the number is drawn too, where it has one that does not depend on others.
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    """
    laws = [part for part in e.parts() if part.functionals[0]["name"].startswith("hyperparameters(")]
    if len(laws) != 1:
        raise ValueError(f"e must have the law of one number, as hyperparameters(name, edges), got {len(laws)}.")
    ax = _axes(ax)
    part = laws[0]
    about = part.functionals[0]
    edges, number = np.array(about["edges"]), about["number"]
    widths, middles = np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    low, high = (np.clip(end, 0.0, 1.0) / widths for end in part.interval(level))
    heights = np.clip(part.mean, 0.0, 1.0) / widths
    ax.bar(edges[:-1], heights, widths, align="edge", color=MUTED, alpha=0.6, edgecolor="white", label="posterior")
    ax.vlines(middles, low, high, color=INK, lw=1.4, label=f"{100 * level:g} % interval")
    law = None if posterior is None else _law_of(posterior, number)
    if law is not None:
        grid = np.linspace(edges[0], edges[-1], 400)[1:-1]
        ax.plot(grid, np.exp(law.log_density(grid)), "--", color=ACCENT, label="prior")
    ax.set_ylim(0, 1.1 * max(heights.max(), high.max()))
    ax.set_xlim(edges[0], edges[-1])
    ax.legend(frameon=False)
    return _labelled(ax, number, "density")


def _law_of(posterior: Target, number: str) -> Any:
    """Return the prior law of an unknown number; None where it has none by itself."""
    groups = [group for group in posterior.groups if number in group.names]
    if not groups:
        raise ValueError(f"posterior must have the unknown number {number!r}, got {shorten(posterior)}.")
    law = groups[0].law
    return law if len(groups[0].names) == 1 else None


def co_clustering(e: Replicates | Consensus, *, ax: Axes | None = None, consensus: Consensus | None = None) -> Axes:
    """Draw the probabilities that points are together, in the order of the consensus clustering.

    Of many points neighbours are averaged. Of a consensus that knows nothing of single pairs, averages over pairs of
    clusters are drawn.

    Parameters
    ----------
    e : Replicates or Consensus
        Of `co_clustering`, alone or among others; or what `consensus` returns.
    ax : matplotlib axes, optional
    consensus : Consensus, optional
        Left out, it is found here.
    """
    found = e if isinstance(e, Consensus) else consensus_of(e) if consensus is None else consensus
    ax = _axes(ax)
    order = found.order
    sorted_labels = found.labels[order]
    ends = [*(np.flatnonzero(np.diff(sorted_labels)) + 1), len(order)]
    image = ax.imshow(
        np.clip(_ordered(found), 0, 1),
        cmap="Greys",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(-0.5, len(order) - 0.5, len(order) - 0.5, -0.5),
    )
    ax.figure.colorbar(image, ax=ax, label="probability of being together", shrink=0.8)
    # Clusters of the consensus as outlined blocks along the diagonal.
    begin = 0
    for end in ends:
        corner, size = begin - 0.5, end - begin
        ax.plot(
            [corner, corner + size, corner + size, corner, corner],
            [corner, corner, corner + size, corner + size, corner],
            color=ACCENT,
            lw=1.2,
        )
        begin = end
    return _labelled(ax, "points, in the order of the consensus", "points, in the same order")


def _ordered(c: Consensus) -> np.ndarray:
    """Return probabilities of being together in the order of a consensus, as a picture of not too many dots."""
    order = c.order
    count = len(order)
    if c.pairs is None:
        shown = c.labels[order[np.linspace(0, count - 1, min(count, DOTS)).astype(np.int64)]]
        return c.between[np.ix_(shown, shown)]
    if count <= DOTS:
        return c.similarity[np.ix_(order, order)]
    # Row by row, so that there is never a table of all points.
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count) * DOTS // count
    sums, counts = np.zeros((DOTS, DOTS)), np.bincount(place, minlength=DOTS).astype(float)
    begin = 0
    for i in range(count - 1):
        row = c.pairs[begin : begin + count - i - 1]
        sums[place[i]] += np.bincount(place[i + 1 :], weights=row, minlength=DOTS)
        begin += count - i - 1
    sums = sums + sums.T + np.diag(counts)
    return sums / np.outer(counts, counts)


def certainty(c: Consensus, *, ax: Axes | None = None, most: int = 30) -> Axes:
    """Draw how surely clusters hold together and points belong to them, largest cluster first.

    For each cluster a dot with its 95 % interval, the probability that two of its points are together; and bars for how
    surely its points belong: nine tenths of them thin, half of them thick.

    Parameters
    ----------
    c : Consensus
    ax : matplotlib axes, optional
    most : int
        Number of clusters shown.
    """
    if not isinstance(c, Consensus):
        raise TypeError(f"c must be what consensus returns, got {shorten(c)}.")
    ax = _axes(ax)
    largest = np.argsort(-c.sizes, kind="stable")[: integer("most", most, 1)]
    for place, k in enumerate(largest):
        spread = np.clip(np.quantile(c.belongs[c.labels == k], [0.05, 0.25, 0.75, 0.95]), 0, 1)
        ax.plot(spread[[0, 3]], [place, place], color=MUTED, lw=1.5, alpha=0.7, label="" if place else "90 % of points")
        ax.plot(spread[[1, 2]], [place, place], color=MUTED, lw=5, alpha=0.7, label="" if place else "half of them")
    half = 1.96 * c.cohesion_stderr[largest]
    ax.errorbar(
        np.clip(c.cohesion[largest], 0, 1),
        np.arange(len(largest)),
        xerr=half,
        fmt="o",
        color=INK,
        markersize=4,
        lw=1.2,
        label="two of its points",
    )
    ax.set_yticks(np.arange(len(largest)), [f"{k} ({c.sizes[k]:,})" for k in largest])
    ax.invert_yaxis()
    ax.set_xlim(min(0.5, ax.get_xlim()[0]), 1.02)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize="small")
    more = f", {len(c.sizes) - len(largest)} more not shown" if len(c.sizes) > len(largest) else ""
    return _labelled(ax, "probability of being together", f"cluster (points){more}")


def evidence(c: Comparison, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw the log evidences of models against that of the best, with their intervals, the best on top.

    Parameters
    ----------
    c : Comparison
        What `compare` returns.
    ax : matplotlib axes, optional
    level : float
        Of the intervals, those of each log evidence by itself.
    """
    if not isinstance(c, Comparison):
        raise TypeError(f"c must be what compare returns, got {shorten(c)}.")
    level = confidence(level)
    ax = _axes(ax)
    best = c.mean[0]
    ends = np.array([one.interval(level) for one in c.evidences.values()]) - best
    places = np.arange(len(c.names))
    half = np.abs(ends - c.difference[:, None]).T
    ax.axvline(0.0, color=MUTED, lw=0.8, ls="--")
    ax.errorbar(c.difference, places, xerr=half, fmt="o", color=INK, ecolor=ACCENT, markersize=4, lw=1.5, capsize=3)
    for place, (difference, probability) in enumerate(zip(c.difference, c.probability, strict=True)):
        text = f"{probability:.2g}" if probability >= 1e-4 else "below 0.0001"
        ax.annotate(text, (difference, place), (0, 6), textcoords="offset points", ha="center", fontsize="small")
    ax.set_yticks(places, c.names, parse_math=False)
    ax.set_ylim(len(places) - 0.5, -0.7)
    ax.margins(x=0.12)
    return _labelled(ax, f"log evidence, less {best:.1f}, and probability", "")


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    return needed("matplotlib.pyplot", by="A picture").subplots(figsize=(5.0, 3.4), layout="constrained")[1]


def _labelled(ax: Axes, x: str, y: str) -> Axes:
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


def _check_pairs(pairs: Any) -> None:
    if not isinstance(pairs, MeetingTimes | Replicates):
        raise TypeError(f"m must be the result of meeting_times or estimate, got {shorten(pairs)}.")


def _values(e: Replicates, component: int) -> np.ndarray:
    component = integer("component", component, 0)
    if component >= len(e.components):
        raise ValueError(f"component must be below {len(e.components)}, got {component}.")
    return e.all_values("This picture")[:, component]
