"""Pictures of a clustering of a table: its rows, and what the rows of each cluster are like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.targets.network.model import BlockModel
from copartition.validation import integer
from copartition.view.axes import axes_for, labelled
from copartition.view.clusterings import (
    ClusteringLike,
    ColumnProfile,
    called,
    check_clustering,
    in_digits,
    percent,
    profile_of,
    values_of,
)
from copartition.view.networks import FIRST_COLOUR, network
from copartition.view.palette import ACCENT, INK, MUTED, PAPER, SERIES, SHAPES, color_of
from copartition.view.plots.of_clusters import co_clustering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORED = 9  # clusters with a colour, more of which could not be told apart; the others, which are smaller, are grey
LISTED = 8  # clusters up to which there is a legend; more have their number where they are
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
    numbers: a strip a cluster; with none: the shares of categories in the column that separates most. A network is
    drawn as `network` does.

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
    ('column 0', 'column 1')
    """
    c = check_clustering(c)
    columns = profile_of(c)
    if not columns:
        posterior = c.posterior
        if isinstance(posterior, BlockModel):
            return network(posterior, c.consensus, ax=ax)
        return co_clustering(c.consensus, ax=ax)
    numbers = [column for column in columns if not column.levels]
    ax = axes_for(ax, (5.6, 4.4))
    if not numbers:
        return _stacked(ax, c, columns[0])
    across = values_of(c, numbers[0])
    if len(numbers) > 1:
        up, name = values_of(c, numbers[1]), called(numbers[1])
    else:
        up = c.labels + np.random.default_rng(0).uniform(-0.3, 0.3, len(c.labels))
        up[c.labels >= MOST_CLUSTERS] = np.nan
        name = _cluster_axis(ax, c)
    _draw_rows(ax, c, across, up, is_strip=len(numbers) == 1)
    return labelled(ax, called(numbers[0]), name)


def color_of_cluster(r: int) -> str:
    """Return the colour of a cluster; grey but of the largest.

    Examples
    --------
    >>> color_of_cluster(0), color_of_cluster(20)
    ('#1f5f99', '#80868f')
    """
    return color_of(FIRST_COLOUR + r) if r < COLORED else MUTED


def _draw_rows(ax: Axes, c: ClusteringLike, across: np.ndarray, up: np.ndarray, is_strip: bool) -> None:
    from matplotlib.colors import to_rgb

    there = np.flatnonzero(np.isfinite(across) & np.isfinite(up))
    shown = np.sort(np.random.default_rng(0).permutation(there)[:MOST_DOTS])
    count = len(c.sizes)
    size = float(np.clip(6_000.0 / max(len(shown), 1), 7.0, 26.0))
    for r in range(count - 1, -1, -1):  # large ones, which have colours, over small ones
        rows = shown[c.labels[shown] == r]
        color = to_rgb(color_of_cluster(r))
        opacity = np.clip(c.certainty[rows], FAINTEST, 1.0)
        is_open = c.undecided[rows]
        faces = [(*color, 0.0 if none else o) for o, none in zip(opacity, is_open, strict=True)]
        edges = [(*color, 1.0 if none else 0.0) for none in is_open]
        style: dict[str, Any] = {"marker": SHAPES[r % len(SHAPES)], "s": size, "linewidths": 0.9}
        ax.scatter(across[rows], up[rows], facecolors=faces, edgecolors=edges, gid=f"cluster {r}", **style)
    if not is_strip and count > LISTED:
        _number(ax, c, across, up, there)
    notes = [f"{MOST_DOTS:,} of {len(there):,} rows, at random"] if len(shown) < len(there) else []
    missing = int((~np.isfinite(across)).sum() if is_strip else len(c.labels) - len(there))
    notes += [f"without {missing:,} with a missing cell"] if missing else []
    ax.set_title("; ".join(notes), fontsize="small", color=MUTED, loc="right")
    _legend(ax, c, is_strip or count > LISTED, bool(notes))


def _number(ax: Axes, c: ClusteringLike, across: np.ndarray, up: np.ndarray, there: np.ndarray) -> None:
    """Write numbers of clusters where they are, with a halo of the colour of the page."""
    from matplotlib.patheffects import withStroke

    for r in range(min(len(c.sizes), MOST_CLUSTERS)):
        rows = there[c.labels[there] == r]
        if len(rows):
            halo = [withStroke(linewidth=2.2, foreground=PAPER)]
            font = 9.0 if r < COLORED else 6.5
            place = float(np.median(across[rows])), float(np.median(up[rows]))
            ax.annotate(str(r), place, ha="center", va="center", fontsize=font, color=INK, path_effects=halo, zorder=5)


def _legend(ax: Axes, c: ClusteringLike, is_short: bool, has_title: bool) -> None:
    """Say which cluster is which, unless they are numbered, and what open marks are, if there are any."""
    from matplotlib.lines import Line2D

    style: dict[str, Any] = {"linestyle": "", "markersize": 5}
    dots = []
    for r, size in enumerate([] if is_short else c.sizes):
        color, label = color_of_cluster(r), f"{r} ({size:,})"
        dots.append(Line2D([], [], marker=SHAPES[r], color=color, markeredgewidth=0, label=label, **style))
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
    percent points.

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
    lines = _all_lines(columns, integer("most", most, 1))
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
    width = 1.6 + 0.45 * len(_all_lines(columns, most))
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


def _all_lines(columns: list[ColumnProfile], most: int) -> list[_Line]:
    return [line for column in columns for line in _lines(column)][:most]


def _lines(column: ColumnProfile) -> list[_Line]:
    """Return what is drawn of a column: its means, or the shares of those categories that differ most."""
    difference = column.mean - column.of_all
    if not column.levels:
        scale = FULL_SD * column.spread if column.spread > 0 else 1.0
        texts = [in_digits(mean, column) for mean in column.mean[:, 0]]
        of_all = in_digits(column.of_all[0], column)
        return [_Line(_short(called(column)), np.clip(difference[:, 0] / scale, -1, 1), texts, of_all)]
    most = np.abs(difference).max(axis=0)
    # Of two categories the one says what the other does.
    shown = [len(most) - 1] if len(most) <= 2 else sorted(np.argsort(-most, kind="stable")[:LEVELS].tolist())
    return [
        _Line(
            f"{_short(called(column))}: {_short(str(column.levels[j]))}",
            np.clip(difference[:, j] / FULL_SHARE, -1, 1),
            [percent(share) for share in column.mean[:, j]],
            percent(column.of_all[j]),
        )
        for j in shown
    ]


def _short(name: str, most: int = 20) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
