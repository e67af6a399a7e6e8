"""The page itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from copartition.diagnostics.consensus import Consensus, consensus_of, is_about_one
from copartition.diagnostics.findings import verdict_of
from copartition.extras import needed
from copartition.results import Replicates
from copartition.validation import shorten
from copartition.view import plots
from copartition.view.report.pictures import Picture, svg_of
from copartition.view.report.tables import making_of, members_of, rows_of, unmet_of
from copartition.view.report.templating import render


def write_report(e: Replicates | Consensus, path: str | Path, title: str = "Posterior expectations") -> None:
    """Write a page about an estimate: one HTML file that needs nothing else and asks for nothing from anywhere.

    Parameters
    ----------
    e : Estimate or Consensus
        Of a consensus: the page of the estimate that its numbers are from, with all that its runs found.
    path : path
        The file to be written.
    title : str
        Head of the page.

    Examples
    --------
    >>> import copartition as cp, tempfile, pathlib
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=200, burn_in=5, min_sweeps=50, lag=5, seed=1)
    >>> page = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> cp.write_report(e, page)
    >>> page.read_text().startswith("<!doctype html>")
    True
    """
    given = e if isinstance(e, Consensus) else None
    e = e.estimate if isinstance(e, Consensus) and e.estimate is not None else e
    if not isinstance(e, Replicates):
        raise TypeError(f"e must be an estimate or a consensus, got {shorten(e)}.")
    if not isinstance(title, str) or not title.strip():
        raise TypeError(f"title must be a text, got {shorten(title)}.")
    if e.made_by.get("ordinary") or e.completed is not None:
        raise ValueError("A report is about an estimate from single replicates, got one made under a deadline.")
    needed("matplotlib", by="A report")  # before anything is computed
    Path(path).write_text(render("report.html", **_content(e, title, given)), encoding="utf-8")


def _content(e: Replicates, title: str, given: Consensus | None) -> dict[str, Any]:
    clusters = [given] if given is not None else [consensus_of(e)] if _has_clusters(e) else []
    return {
        "title": title,
        "unmet": unmet_of(e) if e.censored else None,
        "verdict": verdict_of(e, clusters),
        "rows": [row for part in e.parts() for row in rows_of(part)],
        "consensus": [c.sentences for c in clusters],
        "clusters": [members_of(c, c.nodes) for c in clusters],
        "pictures": _pictures(e, clusters),
        "assumptions": e.made_by.get("assumptions", []),
        "making": making_of(e),
    }


def _has_clusters(e: Replicates) -> bool:
    """Tell whether there is a clustering to be shown: from all pairs of some points, or the one that this is about."""
    return is_about_one(e) or any(about["name"] == "co_clustering" and "points" in about for about in e.functionals)


def _pictures(e: Replicates, clusters: list[Consensus]) -> list[Picture]:
    drawn: list[tuple[str, str, Callable[[Any], Any], tuple[float, float]]] = []
    wide, square = (5.0, 3.3), (5.0, 4.2)
    if [np.ndim(about["grid"]) for about in e.functionals if about["name"] == "predictive_density"] == [1]:
        text = "Where the next point is expected, with the uncertainty that the number of replicates leaves."
        drawn.append(("Predictive density", text, lambda ax: plots.density(e, ax=ax), wide))
    if sum(about["name"].startswith("n_clusters(") for about in e.functionals) == 1:
        text = "How likely each number of clusters is, with the uncertainty that the number of replicates leaves."
        drawn.append(("Number of clusters", text, lambda ax: plots.n_clusters(e, ax=ax), wide))
    for c in clusters:
        text = "How often points are in one cluster; outlined: the consensus clustering."
        drawn.append(("Which points are together", text, partial(_heat_map, c), square))
        text = "How surely clusters hold together (dots, with 95 % intervals) and points belong to them (bars)."
        drawn.append(("Certainty by cluster", text, partial(_certainty, c), square))
    kept = next((part for part in e.parts() if not part.streamed), None)
    if kept is not None:
        one = int(np.argmax(np.nan_to_num(kept.stderr)))  # the least certain, which moves
        name = kept.components[one]
        text = f"The estimate of {name} as replicates come in, with its 95 % interval. The band should narrow steadily."
        drawn.append(("Running estimate", text, lambda ax: plots.running(kept, one, ax=ax), wide))
        kind = "value, cut short where chains did not meet," if e.is_biased else "unbiased value"
        text = f"Each replicate gives one {kind} of {name}. A few far from the rest are a sign of a short burn-in."
        drawn.append(("Replicates", text, lambda ax: plots.values(kept, one, ax=ax), wide))
    text = "How long pairs of chains took to meet. A straight line is a geometric tail, as it should be."
    drawn.append(("Meeting times", text, lambda ax: plots.meeting_times(e, ax=ax), wide))
    if not e.censored:
        text = "How far an ordinary chain is from the posterior after so many sweeps, at most, with a 95 % band."
        drawn.append(("Convergence of an ordinary chain", text, lambda ax: plots.tv_bound(e, ax=ax), wide))
    return [
        Picture(f"picture{i}", title, text, svg_of(draw, f"picture{i}", size))
        for i, (title, text, draw, size) in enumerate(drawn)
    ]


def _heat_map(c: Consensus, ax: Any) -> Any:
    return plots.co_clustering(c, ax=ax)


def _certainty(c: Consensus, ax: Any) -> Any:
    return plots.certainty(c, ax=ax, most=15)
