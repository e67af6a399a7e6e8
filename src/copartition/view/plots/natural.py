"""The natural picture of an estimate, by what it is of: what ``e.plot()`` draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.evidence import Comparison
from copartition.diagnostics.tuning import Tuned
from copartition.extras import needed
from copartition.results import MeetingTimes, Replicates
from copartition.validation import shorten
from copartition.view.clusterings import is_clustering
from copartition.view.palette import SIZE, labelled
from copartition.view.plots import of_clusterings, of_clusters, of_distributions, of_pairs
from copartition.view.plots.of_replicates import bars, means, running

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawing = Callable[..., Axes]

COLUMNS = 3  # pictures beside each other; of four, two and two


def natural(e: Replicates, *, ax: Axes | None = None, **more: Any) -> Any:
    """Draw the picture that suits what was estimated; of several functionals, one beside the other.

    Parameters
    ----------
    e : Replicates
    ax : matplotlib axes, optional
        For an estimate of one functional.
    **more
        Passed on to the function of `copartition.plots` that draws it.

    Returns
    -------
    matplotlib axes, or an array of them, one a functional
    """
    if not isinstance(e, Replicates):
        raise TypeError(f"e must be an estimate, got {shorten(e)}.")
    parts = e.parts()
    if len(parts) == 1:
        return _drawing_of(parts[0])(parts[0], ax=ax, **more)
    if ax is not None or more:
        names = ", ".join(about["name"] for about in e.functionals)
        given = "ax" if ax is not None else next(iter(more))
        raise ValueError(f"{given} goes with the picture of one functional, as e.plot(name), got several: {names}.")
    pyplot = needed("matplotlib.pyplot", by="A picture")
    columns = len(parts) if len(parts) <= COLUMNS else COLUMNS - 1
    rows = -(-len(parts) // columns)
    _, axes = pyplot.subplots(
        rows, columns, figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained", squeeze=False
    )
    for one, part in zip(axes.flat, parts, strict=False):
        _drawing_of(part)(part, ax=one)
    for empty in axes.flat[len(parts) :]:
        empty.remove()
    return axes.ravel()[: len(parts)]


@singledispatch
def drawn(thing: Any, *, ax: Axes | None = None, **more: Any) -> Axes:
    """Draw the natural picture of a result; return the axes."""
    if is_clustering(thing):
        return of_clusterings.clusters(thing, ax=ax, **more)
    raise TypeError(f"There is no picture of {shorten(thing)}.")


drawn.register(Replicates, natural)
drawn.register(MeetingTimes, of_pairs.meeting_times)
drawn.register(Consensus, of_clusters.co_clustering)
drawn.register(Tuned, of_pairs.tuned)
drawn.register(Comparison, of_distributions.evidence)


def _drawing_of(part: Replicates) -> Drawing:
    """Return the function that draws an estimate of one functional."""
    picture = part.functionals[0].get("picture")
    if picture in PICTURES:
        return PICTURES[picture]
    # Of one number the picture is how it settled, which ends in the mean with its interval.
    return running_of_one if len(part.components) == 1 and not part.streamed else means


def running_of_one(part: Replicates, *, ax: Axes | None = None, **more: Any) -> Axes:
    """Draw the only component as replicates come in."""
    return running(part, 0, ax=ax, **more)


def _matrix(part: Replicates, *, ax: Axes | None = None) -> Axes:
    return of_clusters.cluster_matrix(part, part.functionals[0]["name"], ax=ax)


def _n_components(part: Replicates, *, ax: Axes | None = None, **more: Any) -> Axes:
    most = len(part.components) - 1
    names = [*[str(k) for k in range(1, most + 1)], f"> {most}"]
    return labelled(bars(part, ax=ax, names=names, **more), "number of components", "probability")


def _shares(part: Replicates, *, ax: Axes | None = None, **more: Any) -> Axes:
    names = [str(k) for k in range(1, len(part.components) + 1)]
    return labelled(bars(part, ax=ax, names=names, **more), "cluster, by size", "share of all points")


def _sizes(part: Replicates, *, ax: Axes | None = None, **more: Any) -> Axes:
    names = [name.removeprefix("clusters of ") for name in part.components]
    return labelled(bars(part, ax=ax, names=names, **more), "points in a cluster, from ... to below", "clusters")


PICTURES: dict[str, Drawing] = {
    "n_clusters": of_distributions.n_clusters,
    "n_components": _n_components,
    "hyperparameters": of_distributions.hyperparameters,
    "largest_clusters": _shares,
    "sizes": _sizes,
    "co_clustering": of_clusters.co_clustering,
    "memberships": of_clusters.memberships,
    "matrix": _matrix,
    "density": of_distributions.density,
    "density_in_the_plane": of_distributions.density_in_the_plane,
}
