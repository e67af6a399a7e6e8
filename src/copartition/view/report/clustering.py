"""The page about a clustering: how far it can be trusted, what the clusters are, and only then how it was made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from copartition._version import __version__
from copartition.diagnostics.consensus import Consensus
from copartition.extras import needed
from copartition.targets.network import BlockModel
from copartition.validation import shorten
from copartition.view import plots
from copartition.view.clusterings import (
    DOUBTED,
    GRADES,
    ClusteringLike,
    check_clustering,
    distinguishing,
    doubtful,
    profile_of,
)
from copartition.view.palette import labelled
from copartition.view.plots.of_clusterings import color_of_cluster, drawn_columns, profile_size, shape_of_cluster
from copartition.view.plots.scales import along
from copartition.view.report.pictures import THEME, Picture, render, svg_of

DOUBTS = ["cluster", "certainty", "next likely cluster", "its probability"]
SLIGHT = 0.01  # probability of the next likely cluster, below which there is none
SHOWN = 20  # clusters of the table that are seen at once
LISTED = 500  # clusters that are listed at all
WIDE = 5.6  # inches, from which on a picture has the whole width of the page
JITTERED = "Jittered means moved a little at random, so that rows of the same value can be told apart."
NETWORK = 300  # vertices, up to which a network is drawn
WORK = {
    "chains": "Chains",
    "steps": "Steps of each chain",
    "starts": "Where chains began",
    "pairs": "Pairs of chains, those that first told how long pairs take included",
    "pairs_met": "Pairs that met",
    "meeting_mean": "Steps until a pair met, on average",
    "share_of_budget": "Share of the allowed work that was done",
}


def write_clustering(c: ClusteringLike, path: str | Path, title: str | None = None) -> None:
    """Write a page about a clustering: one HTML file that needs nothing else and asks for nothing from anywhere.

    Parameters
    ----------
    c : Clustering
        What `cluster` returns.
    path : path
        The file to be written.
    title : str, optional
        Head of the page; left out, it says how many rows there are.
    """
    c = check_clustering(c)
    if title is None:
        title = f"Clusters of {len(c.labels):,} {members_called(c)[1]}"
    if not isinstance(title, str) or not title.strip():
        raise TypeError(f"title must be a text, got {shorten(title)}.")
    needed("matplotlib", by="A report")  # before anything is computed
    Path(path).write_text(render("clustering.html", **_content(c, title)), encoding="utf-8")


def members_called(c: ClusteringLike) -> tuple[str, str]:
    """Return what is clustered, one of them and several."""
    return ("vertex", "vertices") if isinstance(c.posterior, BlockModel) else ("row", "rows")


def _content(c: ClusteringLike, title: str) -> dict[str, Any]:
    doubts = doubtful_rows(c)
    one, many = members_called(c)
    return {
        "one": one,
        "many": many,
        "title": title,
        "grade": GRADES[c.grade],
        "headline": c.headline,
        "reason": c.reason,
        "clusters": _clusters(c),
        "alone": bool(np.any(c.sizes == 1)),
        "told": any(distinguishing(c)),
        "shown": SHOWN,
        "pictures": _pictures(c),
        "doubts": doubtful_head(c),
        "doubtful": doubts,
        "nowhere": len(c.sizes) > 1 and any(row[-1] == "" for row in doubts),
        "sure": DOUBTED,
        "assumptions": c.assumptions,
        "kinds": [*c.kinds, *c.notes],
        "scores": [
            [
                one["component"],
                f"{one['score']:.3f}",
                f"{one['stderr']:.2g}" if one["stderr"] else "",
                "chosen" if one["chosen"] else "",
            ]
            for one in c.scores
        ],
        "findings": c.findings,
        "making": _making(c),
    }


def _clusters(c: ClusteringLike) -> list[dict[str, Any]]:
    found = []
    for r, (number, size, certain, words) in enumerate(cluster_rows(c, LISTED)):
        color = color_of_cluster(r)
        mark = {"color": THEME.get(color, color), "shape": outline_of(shape_of_cluster(r))}
        found.append({"number": number, "size": size, "certainty": certain, "words": words, **mark})
    return found


def outline_of(shape: str) -> str:
    """Return the shape of marks as CSS has it.

    Examples
    --------
    >>> outline_of("o"), outline_of("s")
    ('circle()', 'polygon(0% 100%, 100% 100%, 100% 0%, 0% 0%)')
    """
    from matplotlib.markers import MarkerStyle

    if shape == "o":
        return "circle()"
    marker = MarkerStyle(shape)
    corners = np.asarray(marker.get_path().transformed(marker.get_transform()).to_polygons()[0])[:-1]
    places = 50.0 * (1.0 + corners / np.abs(corners).max())
    return f"polygon({', '.join(f'{x:.3g}% {100.0 - y:.3g}%' for x, y in places)})"


def cluster_rows(c: ClusteringLike, most: int) -> list[tuple[str, str, str, str | None]]:
    """Return number, size, certainty and what distinguishes it of the largest clusters; None where nothing is known."""
    words = distinguishing(c)
    found: list[tuple[str, str, str, str | None]] = []
    for r, size in enumerate(c.sizes[:most]):
        own = c.labels == r
        open_rows = int(c.undecided[own].sum())
        more = f" ({open_rows:,} undecided)" if open_rows else ""
        said = words[r] if any(words) else None
        found.append((f"{r}", f"{size:,}{more}", f"{c.certainty[own].mean():.2f}", said))
    return found


def doubtful_head(c: ClusteringLike) -> list[str]:
    """Return the head of the table of the least certain rows; where there is one cluster, there is no next one."""
    return [members_called(c)[0], *(DOUBTS if len(c.sizes) > 1 else DOUBTS[:2])]


def doubtful_rows(c: ClusteringLike, most: int = 20) -> list[list[str]]:
    """Return the table of the least certain rows."""
    columns = len(doubtful_head(c))
    return [
        [
            str(row.name),
            f"{row.cluster}" + (", undecided" if row.undecided else ""),
            f"{row.certainty:.2f}",
            "" if row.probability < SLIGHT else f"{row.other}",
            "" if row.probability < SLIGHT else f"{row.probability:.2f}",
        ][:columns]
        for row in doubtful(c, most)
    ]


def _making(c: ClusteringLike) -> list[tuple[str, str]]:
    work = [
        (WORK.get(name, name.replace("_", " ").capitalize()), _number(value))
        for name, value in c.work.items()
        if value is not None
    ]
    made = [("Effort", f"{c.effort:g}"), ("Seed", str(c.seed)), *work]
    return [
        *made,
        ("Fingerprint of the model and data", c.posterior.fingerprint),
        ("Version", f"copartition {__version__}"),
    ]


def _number(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(one).replace("_", " ") for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _together(consensus: Consensus, many: str, ax: Any) -> Any:
    ax = labelled(plots.co_clustering(consensus, ax=ax), f"{many}, cluster by cluster", f"{many}, in the same order")
    ax.locator_params(nbins=5)
    return ax


def _pictures(c: ClusteringLike) -> list[Picture]:
    drawn: list[tuple[str, str, Callable[..., Any], tuple[float, float]]] = []
    columns = profile_of(c)
    if columns:
        is_strip = len(drawn_columns(c, columns)) == 1
        size = 5.0, max(3.0, profile_size(c, columns)[1]) if is_strip else 4.2
        drawn.append(("The rows", _about_rows(c), partial(plots.clusters, c), size))
    elif isinstance(c.posterior, BlockModel) and len(c.labels) <= NETWORK:
        text = "Colours are clusters. A faint vertex is an uncertain one."
        drawn.append(("The network", text, partial(plots.network, c.posterior, c.consensus), (5.6, 4.6)))
    text = "The probability of each number of clusters. Thin lines show the random error of the computation."
    drawn.append(("How many clusters", text, partial(plots.n_clusters, c), (5.0, 3.3)))
    if columns:
        text = "One line for each cluster: means of numbers and shares of categories."
        text += " Columns that separate the clusters most come first." if len(c.sizes) > 1 else ""
        if any(not column.is_known(c.sizes).all() for column in columns):
            text += " A dash means that fewer than three cells were observed."
        drawn.append(("What the clusters are like", text, partial(plots.profile, c), profile_size(c, columns)))
    many = members_called(c)[1]
    text = f"How often two {many} are in the same cluster. A solid square is a cluster that holds together."
    text += " Shade outside of the squares shows clusters that might be one." if len(c.sizes) > 1 else ""
    drawn.append((f"Which {many} are together", text, partial(_together, c.consensus, many), (5.0, 4.2)))
    return [_picture(f"picture{i}", *one) for i, one in enumerate(drawn)]


def _about_rows(c: ClusteringLike) -> str:
    """Return what is to be said of the picture of the rows."""
    picked = drawn_columns(c, profile_of(c))
    kind = "categories" if picked[0].levels else "numbers"
    if len(picked) == 1 and picked[0].levels:
        return "The share of each category, in all rows and in each cluster."
    if len(picked) == 1:
        text = "Each mark is a row, and each cluster has a line."
    else:
        which = f"the two columns of {kind} that separate the clusters most" if len(c.sizes) > 1 else "two columns"
        text = f"Each mark is a row, in {which}."
    text += " Faint rows are uncertain, and open ones undecided."
    return f"{text} {JITTERED}" if any("jittered" in along(c, column).label for column in picked) else text


def _picture(name: str, title: str, text: str, draw: Callable[..., Any], size: tuple[float, float]) -> Picture:
    return Picture(name, title, text, svg_of(lambda ax: draw(ax=ax), name, size), is_wide=size[0] > WIDE)
