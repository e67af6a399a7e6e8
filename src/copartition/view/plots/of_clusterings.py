"""Pictures of a clustering of a table: its rows, and what the rows of each cluster are like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.targets.network import BlockModel
from copartition.validation import integer
from copartition.view.clusterings import (
    ClusteringLike,
    ColumnProfile,
    called,
    check_clustering,
    in_digits,
    percent,
    profile_of,
)
from copartition.view.networks import FIRST_COLOUR, network
from copartition.view.palette import ACCENT, INK, MUTED, SERIES, SHAPES, axes_for, color_of, labelled
from copartition.view.plots.of_clusters import co_clustering
from copartition.view.plots.scales import JITTER, Along, along, number_clusters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORED = 9  # colours that clusters have, one after another; shapes go round beside them, so that no two look the same
TOLD = COLORED * len(SHAPES)  # clusters up to which that is so; of more the others, which are smaller, are grey
NUMBERED = 8  # clusters from which on they have their numbers where they are, too
LISTED = 12  # clusters in a legend
MOST_DOTS = 3_000  # rows that are drawn; of more some, at random
FAINTEST = 0.2  # opacity of a row that surely does not belong to its cluster: it must still be seen
MOST_CLUSTERS = 40  # that have a line of their own, the largest
MOST_LINES = 12  # means and shares of a table of profiles
LEVELS = 3  # categories of one column in a table of profiles
FULL_SD, FULL_SHARE = 2.0, 0.5  # differences from all rows that have the full colour
DARKEST = 0.6  # opacity of the full colour, on which text can be read
STACKED = 6  # categories of a bar, the last one all others


def clusters(c: ClusteringLike, *, ax: Axes | None = None) -> Axes:
    """Draw the rows of a table in the two columns of numbers that separate the clusters most.

    Colours and shapes are clusters, opacity is certainty, and rows that are undecided are open. With one column of
    numbers: a strip a cluster; with none: the two columns of categories that separate most, or the shares of
    categories where there is one column only. A network is drawn as `network` does.

    An axis is logarithmic where no number is negative, the largest is 30 times the median of those above 0 or more, and
    the middle half of the rows would take less than a tenth of a linear axis; next to 0 it is linear, so that zeros
    have a place. Few different whole numbers, and categories, are
    jittered, so that rows of the same value lie beside each other.

    Parameters
    ----------
    c : Clustering
        What `cluster` returns.
    ax : matplotlib axes, optional

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0, 9], [1, 8], [2, 9], [3, 7], [50, 8], [51, 9], [52, 8], [53, 7]]
    >>> ax = cp.plots.clusters(cp.cluster(data, cp.Gaussian(noise_sd=2, mean_sd=30), seed=1))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('column 0', 'column 1 (jittered)')
    """
    c = check_clustering(c)
    columns = profile_of(c)
    if not columns:
        posterior = c.posterior
        if isinstance(posterior, BlockModel):
            return network(posterior, c.consensus, ax=ax)
        return co_clustering(c.consensus, ax=ax)
    ax = axes_for(ax, (5.6, 4.4))
    picked = drawn_columns(c, columns)
    if picked[0].levels and len(picked) == 1:
        return _stacked(ax, c, columns[0])
    across = along(c, picked[0])
    if len(picked) == 2:
        up = along(c, picked[1], seed=1)
        _draw_rows(ax, c, across, up.places, up)
        return labelled(ax, across.label, up.label)
    places = c.labels + np.random.default_rng(0).uniform(-JITTER, JITTER, len(c.labels))
    places[c.labels >= MOST_CLUSTERS] = np.nan
    name = _cluster_axis(ax, c)
    _draw_rows(ax, c, across, places, None)
    return labelled(ax, across.label, name)


def drawn_columns(c: ClusteringLike, columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns in which rows are drawn: two of numbers, or one, or else two of categories, or one.

    Those of which too little was observed, in all rows or in some cluster, come last.
    """
    numbers = [column for column in columns if not column.levels] or columns
    return sorted(
        numbers,
        key=lambda column: 2 * column.observed.sum() < len(c.labels) or not column.is_known(c.sizes).all(),
    )[:2]


def color_of_cluster(r: int) -> str:
    """Return the colour of a cluster: those of `shape_of_cluster` go round with another period.

    Examples
    --------
    >>> color_of_cluster(0), color_of_cluster(9), color_of_cluster(200)
    ('#1f5f99', '#1f5f99', '#80868f')
    """
    return color_of(FIRST_COLOUR + r % COLORED) if r < TOLD else MUTED


def shape_of_cluster(r: int) -> str:
    """Return the shape of the rows of a cluster.

    Examples
    --------
    >>> shape_of_cluster(0), shape_of_cluster(9)
    ('o', '>')
    """
    return SHAPES[r % len(SHAPES)]


def _draw_rows(ax: Axes, c: ClusteringLike, across: Along, up: np.ndarray, upward: Along | None) -> None:
    """Draw the rows; `upward` is the axis of a second column, which a strip a cluster has not."""
    from matplotlib.colors import to_rgb

    there = np.flatnonzero(np.isfinite(across.places) & np.isfinite(up))
    shown = np.sort(np.random.default_rng(0).permutation(there)[:MOST_DOTS])
    count = len(c.sizes)
    size = float(np.clip(6_000.0 / max(len(shown), 1), 7.0, 26.0))
    for r in range(count - 1, -1, -1):  # large ones over small ones
        rows = shown[c.labels[shown] == r]
        color = to_rgb(color_of_cluster(r))
        opacity = np.clip(c.certainty[rows], FAINTEST, 1.0)
        is_open = c.undecided[rows]
        faces = [(*color, 0.0 if none else o) for o, none in zip(opacity, is_open, strict=True)]
        edges = [(*color, 1.0 if none else 0.0) for none in is_open]
        style: dict[str, Any] = {"marker": shape_of_cluster(r), "s": size, "linewidths": 0.9}
        ax.scatter(across.places[rows], up[rows], facecolors=faces, edgecolors=edges, gid=f"cluster {r}", **style)
    across.set(ax, "x")
    if upward is not None:
        upward.set(ax, "y")
        if count > NUMBERED:
            _number(ax, c, np.column_stack([across.places, up]), there, shown)
    notes = [f"{MOST_DOTS:,} of {len(there):,} rows, at random"] if len(shown) < len(there) else []
    missing = int((~np.isfinite(across.places)).sum() if upward is None else len(c.labels) - len(there))
    notes += [f"without {missing:,} with a missing cell"] if missing else []
    ax.set_title("; ".join(notes), fontsize="small", color=MUTED, loc="right")
    _legend(ax, c, upward is None, bool(notes))


def _number(ax: Axes, c: ClusteringLike, places: np.ndarray, there: np.ndarray, shown: np.ndarray) -> None:
    """Write numbers of clusters where they are, as far as there is room."""
    middles, fonts = {}, {}
    for r in range(min(len(c.sizes), MOST_CLUSTERS)):
        rows = there[c.labels[there] == r]
        if len(rows):
            across, up = np.median(places[rows], axis=0).tolist()
            middles[r], fonts[r] = (across, up), 9.0 if r < LISTED else 7.5
    number_clusters(ax, middles, places[shown], fonts)


def _legend(ax: Axes, c: ClusteringLike, is_short: bool, has_title: bool) -> None:
    """Say which cluster is which, the largest, unless each has a line of its own; and what open marks are."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linestyle": "", "markersize": 5}
    dots = []
    for r, size in enumerate([] if is_short else c.sizes[:LISTED]):
        color, label = color_of_cluster(r), f"{r} ({size:,})"
        dots.append(Line2D([], [], marker=shape_of_cluster(r), color=color, markeredgewidth=0, label=label, **style))
    if not is_short and len(c.sizes) > LISTED:
        dots.append(Line2D([], [], label=f"and {len(c.sizes) - LISTED:,} more", **style))
    if np.any(c.undecided):
        dots.append(Line2D([], [], marker="o", color=MUTED, markerfacecolor="none", label="undecided", **style))
    if dots:
        place: dict[str, Any] = {
            "loc": "lower center",
            "bbox_to_anchor": (0.5, 1.06 if has_title else 1.0),
            "ncols": min(len(dots), 5),
        }
        title = None if is_short else "cluster (rows)"
        ax.legend(handles=dots, title=title, frameon=False, fontsize="small", title_fontsize="small",
                  handletextpad=0.1, columnspacing=1.0, **place)  # fmt: skip


def _cluster_axis(ax: Axes, c: ClusteringLike, *more: str) -> str:
    """Give each of the largest clusters a line, the largest on top, below `more`; return a label."""
    shown = min(len(c.sizes), MOST_CLUSTERS)
    ticks = [*more, *[f"{r} ({c.sizes[r]:,})" for r in range(shown)]]
    size = None if len(ticks) <= 12 else "small" if len(ticks) <= 20 else "x-small"
    ax.set_yticks(np.arange(len(ticks)) - len(more), ticks, fontsize=size)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(shown - 0.5, -0.5 - len(more))
    rest = len(c.sizes) - shown
    return f"cluster (rows){f', {rest} more not shown' if rest else ''}"


def _stacked(ax: Axes, c: ClusteringLike, column: ColumnProfile) -> Axes:
    """Draw shares of categories, of all rows and of each cluster."""
    shares = np.vstack([column.of_all, column.mean[:MOST_CLUSTERS]])
    order = np.argsort(-column.of_all, kind="stable")
    names = [str(column.levels[j]) for j in order]
    shares = shares[:, order]
    if len(names) > STACKED:
        names = [*names[: STACKED - 1], f"{len(names) - STACKED + 1} others"]
        shares = np.column_stack([shares[:, : STACKED - 1], shares[:, STACKED - 1 :].sum(axis=1)])
    left = np.zeros(len(shares))
    for k in range(len(names)):
        ax.barh(np.arange(len(shares)) - 1, shares[:, k], left=left, color=SERIES[k], alpha=0.75, height=0.75)
        left += shares[:, k]
    label = _cluster_axis(ax, c, "all rows")
    ax.set_xlim(0, 1)
    legend = ax.legend(list(ax.containers), names, frameon=False, fontsize="small", loc="lower center",
                       bbox_to_anchor=(0.5, 1.0), ncols=3)  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
    return labelled(ax, f"{called(column)}: share of the rows", label)


class _Line(NamedTuple):
    """A number of each cluster: its name, colours from -1 to 1, texts, and the text of all rows."""

    name: str
    shade: np.ndarray
    texts: list[str]
    of_all: str


def profile(c: ClusteringLike, *, ax: Axes | None = None, most: int = MOST_LINES) -> Axes:
    """Draw what the rows of each cluster are like: means of numbers, shares of categories, the most separating first.

    Colours tell how far they are above or below all rows, and are full from two standard deviations on, or from 50
    percent points. A dash is where fewer than three cells of a cluster were observed.

    Parameters
    ----------
    c : Clustering
        What `cluster` returns, of a table.
    ax : matplotlib axes, optional
    most : int
        Number of means and shares shown.

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0, 9], [1, 8], [2, 9], [3, 7], [50, 8], [51, 9], [52, 8], [53, 7]]
    >>> ax = cp.plots.profile(cp.cluster(data, cp.Gaussian(noise_sd=2, mean_sd=30), seed=1))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all rows', '0 (4)', '1 (4)']
    """
    c = check_clustering(c)
    columns = profile_of(c)
    if not columns:
        c.profile()  # says why there is none
    lines = _all_lines(c, columns, integer("most", most, 1))
    count = min(len(c.sizes), MOST_CLUSTERS)
    ax = axes_for(ax, profile_size(c, columns, most))
    label = _cluster_axis(ax, c, "all rows")
    shade = np.array([line.shade[:count] for line in lines]).T
    _draw_cells(ax, shade)
    font = 8.0 if len(lines) <= 7 else 6.5
    for j, line in enumerate(lines):
        for i, text in enumerate([line.of_all, *line.texts[:count]]):
            ax.text(j, i - 1, text, ha="center", va="center", fontsize=font, color=INK)
    names = [line.name for line in lines]
    turn = 0 if max(map(len, names)) * len(names) < 60 else 35
    ax.set_xticks(range(len(names)), names, rotation=turn, ha="right" if turn else "center", rotation_mode="anchor",
                  parse_math=False, fontsize="small")  # fmt: skip
    ax.tick_params(length=0)
    ax.set_xlim(-0.5, len(names) - 0.5)
    labelled(ax, "", label).spines[:].set_visible(False)
    return ax


def profile_size(c: ClusteringLike, columns: list[ColumnProfile], most: int = MOST_LINES) -> tuple[float, float]:
    """Return the size of a picture of profiles, in inches."""
    width = 1.6 + 0.45 * len(_all_lines(c, columns, most))
    return float(np.clip(width, 4.2, 9.0)), 1.8 + 0.24 * min(len(c.sizes), MOST_CLUSTERS)


def _draw_cells(ax: Axes, shade: np.ndarray) -> None:
    """Draw a square for each number; what is above all rows has another colour than what is below."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    above, below = SERIES[2], ACCENT
    corners = np.array([(-0.47, -0.46), (0.47, -0.46), (0.47, 0.46), (-0.47, 0.46)])
    places = np.argwhere(np.ones_like(shade))[:, ::-1]
    faces = [(*to_rgb(above if value > 0 else below), DARKEST * abs(value)) for value in shade.ravel()]
    ax.add_collection(PolyCollection(list(places[:, None] + corners), facecolors=faces, linewidths=0))
    key = [Patch(facecolor=(*to_rgb(color), DARKEST), label=text) for color, text in
           ((below, "below all rows"), (above, "above all rows"))]  # fmt: skip
    ax.legend(handles=key, frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)


def _all_lines(c: ClusteringLike, columns: list[ColumnProfile], most: int) -> list[_Line]:
    return [line for column in columns for line in _lines(column, column.is_known(c.sizes))][:most]


def _lines(column: ColumnProfile, known: np.ndarray) -> list[_Line]:
    """Return what is drawn of a column: its means, or the shares of those categories that differ most."""
    difference = np.where(known[:, None], column.mean - column.of_all, 0.0)
    if not column.levels:
        scale = FULL_SD * column.spread if column.spread > 0 else 1.0
        texts = _texts(known, [in_digits(mean, column) for mean in column.mean[:, 0]])
        of_all = in_digits(column.of_all[0], column)
        return [_Line(_short(called(column)), np.clip(difference[:, 0] / scale, -1, 1), texts, of_all)]
    most = np.abs(difference).max(axis=0)
    # Of two categories the one says what the other does.
    shown = [len(most) - 1] if len(most) <= 2 else sorted(np.argsort(-most, kind="stable")[:LEVELS].tolist())
    return [
        _Line(
            f"{_short(called(column))}: {_short(str(column.levels[j]))}",
            np.clip(difference[:, j] / FULL_SHARE, -1, 1),
            _texts(known, [percent(share) for share in column.mean[:, j]]),
            percent(column.of_all[j]),
        )
        for j in shown
    ]


def _texts(known: np.ndarray, texts: list[str]) -> list[str]:
    """Return a dash where hardly any cell of a cluster was observed: what a model expects there is no finding."""
    return [text if is_known else "–" for text, is_known in zip(texts, known, strict=True)]  # noqa: RUF001


def _short(name: str, most: int = 20) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
