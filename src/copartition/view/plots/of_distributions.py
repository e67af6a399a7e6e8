"""Pictures of distributions: of the next point, the number of clusters, unknown hyperparameters, and models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics.evidence import Comparison
from copartition.results import Replicates
from copartition.targets.base import Target
from copartition.targets.priors import prior_n_clusters
from copartition.validation import confidence, finite_array, shorten
from copartition.view.clusterings import ClusteringLike, check_clustering
from copartition.view.palette import ACCENT, INK, MUTED, axes_for, labelled
from copartition.view.plots.of_replicates import bars, draw_bars, range_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERS = 12  # of clusters, the most probable, that are drawn of a clustering
UNLIKELY = 0.001  # probability below which a number of clusters is not among these


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
    ax = axes_for(ax)
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
    return labelled(ax, "value of the next point", "density")


def density_in_the_plane(e: Replicates, *, ax: Axes | None = None) -> Axes:
    """Draw a predictive density in two dimensions, as shades; where the grid is a line, as dots.

    Parameters
    ----------
    e : Replicates
        Of `predictive_density` on a grid of two columns, alone or among others.
    ax : matplotlib axes, optional
    """
    part = e.select("predictive_density")
    grid = np.array(part.functionals[0]["grid"], dtype=float)
    if grid.ndim != 2 or grid.shape[1] != 2:
        raise ValueError(f"e must be of a density in two dimensions to be drawn, got a grid of shape {grid.shape}.")
    ax = axes_for(ax)
    mean = np.maximum(part.mean, 0.0)
    if np.linalg.matrix_rank(grid - grid.mean(axis=0)) < 2:
        shades: Any = ax.scatter(grid[:, 0], grid[:, 1], c=mean, cmap="Greys", edgecolors=MUTED, linewidths=0.4)
    else:
        shades = ax.tricontourf(grid[:, 0], grid[:, 1], mean, levels=12, cmap="Greys")
    ax.figure.colorbar(shades, ax=ax, label="density", shrink=0.9)
    return labelled(ax, "first column of the next point", "second column")


def n_clusters(
    e: Replicates | ClusteringLike, *, posterior: Target | None = None, ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Draw the posterior probabilities of the number of clusters with their intervals, and those of the prior.

    Numbers lie where they are: between 4 and 40 there is a gap.

    Parameters
    ----------
    e : Replicates or Clustering
        Of ``n_clusters(most)``, alone or among others; or what `cluster` returns.
    posterior : Target, optional
        The target, whose prior is drawn too.
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    """
    distribution = None
    if posterior is not None:
        if posterior.prior is None:
            raise ValueError(f"posterior must have a prior to be drawn, got {shorten(posterior)}.")
        distribution = prior_n_clusters(posterior.prior, posterior.n_points)
    if not isinstance(e, Replicates):
        numbers, mean, ends = _numbers_of(check_clustering(e), level)
        ax = draw_bars(axes_for(ax), [str(k) for k in numbers], mean, ends, level, shares=True, numbers=numbers)
        places = np.arange(numbers[0], numbers[-1] + 1)
        before = None if distribution is None else np.array([distribution[k] for k in places if k < len(distribution)])
    else:
        distributions = [part for part in e.parts() if part.functionals[0]["name"].startswith("n_clusters(")]
        if len(distributions) != 1:
            raise ValueError(
                f"e must have probabilities of numbers of clusters, as n_clusters(most=10), got {len(distributions)}."
            )
        most = len(distributions[0].mean) - 1
        ax = bars(distributions[0], ax=ax, level=level, names=[*[str(k) for k in range(1, most + 1)], f"> {most}"])
        before = None if distribution is None else np.append(distribution[1 : most + 1], distribution[most + 1 :].sum())
        before = None if before is None else np.pad(before, (0, most + 1 - len(before)))
        places = np.arange(1, most + 2)
    if before is not None:
        ax.plot(places[: len(before)], before, "o--", color=ACCENT, markersize=4, label="prior")
        ax.legend(frameon=False)
    return labelled(ax, "number of clusters", "probability")


def _numbers_of(c: ClusteringLike, level: float) -> tuple[list[int], np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return the most probable numbers of clusters, their probabilities, and the ends of intervals within 0 to 1."""
    from scipy.special import ndtri

    likely = sorted(c.n_clusters, key=lambda k: -c.n_clusters[k])[:NUMBERS]
    numbers = sorted(k for k in likely if c.n_clusters[k] >= UNLIKELY or k == likely[0])
    if len(numbers) < 3:  # beside a single bar it is to be seen that there are no others
        numbers = list(range(max(numbers[0] - 1, 1), numbers[-1] + 2))
    mean = np.array([c.n_clusters.get(k, 0.0) for k in numbers])
    half = ndtri(0.5 + 0.5 * confidence(level)) * np.array([c.n_clusters_stderr.get(k, 0.0) for k in numbers])
    return numbers, mean, (np.clip(mean - half, 0.0, 1.0), np.clip(mean + half, 0.0, 1.0))


def hyperparameters(
    e: Replicates, *, posterior: Target | None = None, ax: Axes | None = None, level: float = 0.95
) -> Axes:
    """Draw the posterior of an unknown hyperparameter, its probabilities in cells with intervals, and its prior.

    Parameters
    ----------
    e : Replicates
        Of ``hyperparameters(name, edges)``, alone or among others.
    posterior : Target, optional
        The target, of which the prior distribution of the number is drawn too, where it has one that does not depend on
        others.
    ax : matplotlib axes, optional
    level : float
        Of the intervals.
    """
    distributions = [part for part in e.parts() if part.functionals[0]["name"].startswith("hyperparameters(")]
    if len(distributions) != 1:
        raise ValueError(
            f"e must have the distribution of one number, as hyperparameters(name, edges), got {len(distributions)}."
        )
    ax = axes_for(ax)
    part = distributions[0]
    about = part.functionals[0]
    edges, number = np.array(about["edges"]), about["number"]
    widths, middles = np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    low, high = (end / widths for end in part.interval(level))
    heights = part.mean / widths
    ax.bar(edges[:-1], heights, widths, align="edge", color=MUTED, alpha=0.6, edgecolor="white", label="posterior")
    ax.vlines(middles, low, high, color=INK, lw=1.4, label=f"{100 * level:g} % interval")
    distribution = None if posterior is None else _distribution_of(posterior, number)
    if distribution is not None:
        grid = np.linspace(edges[0], edges[-1], 400)[1:-1]
        ax.plot(grid, np.exp(distribution.log_density(grid)), "--", color=ACCENT, label="prior")
    ax.set_ylim(*range_of(heights, low, high))
    ax.set_xlim(edges[0], edges[-1])
    ax.legend(frameon=False)
    return labelled(ax, number, "density")


def _distribution_of(posterior: Target, number: str) -> Any:
    """Return the prior distribution of an unknown hyperparameter; None where it has none by itself."""
    groups = [group for group in posterior.groups if number in group.names]
    if not groups:
        raise ValueError(f"posterior must have the unknown hyperparameter {number!r}, got {shorten(posterior)}.")
    return groups[0].distribution if len(groups[0].names) == 1 else None


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
    ax = axes_for(ax)
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
    return labelled(ax, f"log evidence, less {best:.1f}, and probability", "")
