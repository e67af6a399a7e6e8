"""Pictures of clusters: which points are together, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.consensus import Consensus, consensus_of
from copartition.results import Replicates
from copartition.validation import integer, shorten
from copartition.view import palette
from copartition.view.palette import ACCENT, INK, MUTED, PAPER, axes_for, is_dark, labelled, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERED = 12  # clusters, up to which a table of them has numbers
MATRICES = {"block_matrix": "expected edges", "cluster_similarity": "probability of being together"}


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
    ax = axes_for(ax)
    order = found.order
    sorted_labels = found.labels[order]
    ends = [*(np.flatnonzero(np.diff(sorted_labels)) + 1), len(order)]
    image = ax.imshow(
        np.clip(_ordered(found), 0, 1),
        cmap=shades(ax),
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(-0.5, len(order) - 0.5, len(order) - 0.5, -0.5),
    )
    ax.figure.colorbar(image, ax=ax, label="probability of being together", shrink=0.8)
    # Clusters of the consensus as outlined squares along the diagonal.
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
    return labelled(ax, "points, in the order of the consensus", "points, in the same order")


def _ordered(c: Consensus) -> np.ndarray:
    """Return probabilities of being together in the order of a consensus, as a picture of not too many dots."""
    order = c.order
    count = len(order)
    if c.pairs is None:
        shown = c.labels[order[np.linspace(0, count - 1, min(count, palette.DOTS)).astype(np.int64)]]
        return c.between[np.ix_(shown, shown)]
    if count <= palette.DOTS:
        return c.similarity[np.ix_(order, order)]
    # Row by row, so that there is never a table of all points.
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count) * palette.DOTS // count
    sums, counts = np.zeros((palette.DOTS, palette.DOTS)), np.bincount(place, minlength=palette.DOTS).astype(float)
    begin = 0
    for i in range(count - 1):
        row = c.pairs[begin : begin + count - i - 1]
        sums[place[i]] += np.bincount(place[i + 1 :], weights=row, minlength=palette.DOTS)
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
    ax = axes_for(ax)
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
    return labelled(ax, "probability of being together", f"cluster (points){more}")


def memberships(e: Replicates, *, ax: Axes | None = None) -> Axes:
    """Draw how surely points belong to each cluster of a given clustering, the points of a cluster one after another.

    Parameters
    ----------
    e : Replicates
        Of `memberships`, alone or among others.
    ax : matplotlib axes, optional
    """
    part = e.select("memberships")
    labels = np.array(part.functionals[0]["partition"])
    table = part.mean.reshape(len(labels), -1)
    own = table[np.arange(len(labels)), labels]
    order = np.lexsort((-own, labels))
    ax = axes_for(ax)
    style: dict[str, Any] = {"cmap": shades(ax), "vmin": 0, "vmax": 1, "aspect": "auto", "interpolation": "nearest"}
    image = ax.imshow(np.clip(table[order], 0, 1), **style)
    ax.figure.colorbar(image, ax=ax, label="share of the cluster that is with the point", shrink=0.9)
    for end in np.flatnonzero(np.diff(labels[order])):
        ax.axhline(end + 0.5, color=ACCENT, lw=0.8)
    ax.set_xticks(np.arange(table.shape[1]) if table.shape[1] <= NUMBERED else [])
    return labelled(ax, "cluster", "points, cluster by cluster")


def cluster_matrix(e: Replicates, name: str = "block_matrix", *, ax: Axes | None = None) -> Axes:
    """Draw a table of what is expected of pairs of clusters: edges between them, or how often points are together.

    Parameters
    ----------
    e : Replicates
        Of `block_matrix` or `cluster_similarity`, alone or among others.
    name : str
        Which of the two.
    ax : matplotlib axes, optional
    """
    if name not in MATRICES:
        raise ValueError(f"name must be one of {', '.join(MATRICES)}, got {name!r}.")
    part = e.select(name)
    count = part.functionals[0]["clusters"]
    if name == "block_matrix":
        table = part.mean.reshape(count, count)
    else:
        table = np.zeros((count, count))
        a, b = np.triu_indices(count)
        table[a, b] = table[b, a] = np.clip(part.mean, 0, 1)
    ax = axes_for(ax, (4.6, 3.8))
    top = 1.0 if name != "block_matrix" else float(table.max())
    image = ax.imshow(table, cmap=shades(ax), vmin=0, vmax=top, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label=MATRICES[name], shrink=0.9)
    if count <= NUMBERED:
        ax.set(xticks=range(count), yticks=range(count))
        on_shade, on_paper = (INK, PAPER) if is_dark(ax) else (PAPER, INK)
        for (i, j), value in np.ndenumerate(table):
            color = on_shade if value > 0.55 * top else on_paper
            ax.text(j, i, f"{value:.2g}" if value < 10 else f"{value:,.0f}", ha="center", va="center", color=color,
                    fontsize="small" if count <= 8 else "xx-small")  # fmt: skip
    return labelled(ax, "cluster", "cluster")
