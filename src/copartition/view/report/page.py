"""The page of an estimate, and its tables: means, both kinds of averages, clusters, how it was made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from copartition.diagnostics.agreement import MODES, agreement_of, missing_of
from copartition.diagnostics.consensus import UNSURE, Consensus, consensus_of, is_about_one
from copartition.diagnostics.findings import BAD, CAUTION, verdict_of
from copartition.display import NO_SPREAD, error_text, interval_text, is_constant, no_spread_sentence, rounded
from copartition.extras import needed
from copartition.results import Replicates
from copartition.validation import shorten
from copartition.view import plots
from copartition.view.report.pictures import Picture, render, svg_of

ROWS = 20  # of a functional, in the table; of one with more components the first SHOWN
SHOWN = 3
ALL_LISTED = 2000  # points up to which each is named in its cluster
UNSURE_LISTED = 50  # of a cluster, where there are more
CLUSTERS = 200  # that are listed


def unmet_of(e: Replicates) -> dict[str, Any]:
    """Return what the page says first of pairs that did not meet: why, and both kinds of averages."""
    agreement, missing = agreement_of(e), missing_of(e)
    assert missing is not None
    title = f"{e.censored} of {len(e.met)} pairs did not meet"
    sentences = [f"{missing.sentence}."]
    pairs = []
    if agreement is not None:
        title = f"{title}: {agreement.verdict}"
        halves = f"the consensus of one half of the chains and that of the other, {agreement.rand_of_halves:.2f}"
        sentences.insert(0, f"{agreement.sentence}; that of {halves}.")
        pairs = [
            [
                f"{number}",
                " and ".join(f"{value:.1f}" for value in agreement.log_density[i]),
                " and ".join(f"{value:.1f}" for value in agreement.n_clusters[i]),
                f"{agreement.rand_between[i]:.2f}",
                f"{agreement.rand_within[i]:.2f}",
                "different modes" if agreement.differs[i].any() else "the same",
            ]
            for i, number in enumerate(agreement.indices)
        ]
    is_slow = agreement is not None and agreement.verdict != MODES
    return {
        "level": CAUTION if is_slow else BAD,
        "title": f"{title}.",
        "sentences": sentences,
        "rows": _both_averages(e, missing.step, missing.is_bound),
        "lag": missing.lag,
        "pairs": pairs,
    }


def _both_averages(e: Replicates, steps: np.ndarray, bounds: np.ndarray) -> list[list[str]]:
    """Return the rows of the table of truncated and ordinary averages."""
    rows, begin = [], 0
    for part in e.parts():
        count = len(part.components)
        shown = count if count <= ROWS else SHOWN
        plain = part.ordinary
        for c in range(shown):
            step = steps[begin + c]
            ordinary = "not kept"
            if plain is not None and np.isfinite(plain.mean[c]):
                ordinary = f"{rounded(plain.mean[c], plain.stderr[c])} ± {plain.stderr[c]:.2g}"
            rows.append(
                [
                    part.components[c],
                    f"{rounded(part.mean[c], part.stderr[c])} ± {error_text(part.mean[c], part.stderr[c])}",
                    ordinary,
                    "not known" if np.isnan(step) else f"{step:.2g}" + ("" if bounds[begin + c] else " *"),
                ]
            )
        begin += count
    return rows


def rows_of(part: Replicates) -> list[list[str]]:
    """Return the rows of the table for one functional; of a long one the first, and how many more there are."""
    count = len(part.components)
    shown = count if count <= ROWS else SHOWN
    means, errors = part.mean[:shown], part.stderr[:shown]
    margin = part.margin()
    rows = [
        [name, rounded(mean, error), interval_text(mean, error, margin), error_text(mean, error)]
        for name, mean, error in zip(part.components[:shown], means, errors, strict=True)
    ]
    if np.any(is_constant(means, errors)):
        rows.append([f"{NO_SPREAD} {no_spread_sentence(len(part.values))}", "", "", ""])
    more = [f"… and {count - shown:,} more", "", "", ""]
    return [*rows, more] if count > shown else rows


def members_of(c: Consensus, names: Any = None) -> list[dict[str, str]]:
    """Return the clusters, largest first, with their points and how surely these belong there; of many the unsure."""
    labels = c.labels[c.order]
    places = [c.order[labels == k] for k in dict.fromkeys(labels.tolist())][:CLUSTERS]
    return [
        {
            "size": f"{len(place):,}",
            "belongs": f"{c.cohesion[c.labels[place[0]]]:.2f}\u00a0±\u00a0{c.cohesion_stderr[c.labels[place[0]]]:.1g}",
            "points": _listed(c, place, names),
        }
        for place in places
    ]


def _listed(c: Consensus, place: np.ndarray, names: Any) -> str:
    """Return the points of a cluster, surest first; of a large one those that are least sure."""
    shown = place if len(c.labels) <= ALL_LISTED else place[c.belongs[place] < UNSURE][::-1][:UNSURE_LISTED]
    points = c.points[shown]
    called = points if names is None else [names[point] for point in points]
    text = ", ".join(f"{name}\u00a0({c.belongs[i]:.2f})" for name, i in zip(called, shown, strict=True))
    if len(shown) == len(place):
        return text
    rest = f"{len(place) - len(shown):,} others"
    return f"least sure: {text}; {rest}" if len(shown) else rest


def _updates(updates: Any) -> str:
    if not updates:
        return "0"
    points = updates["points"]  # of former stores their number
    count = "all" if points is None else f"{points if isinstance(points, int) else len(points):,}"
    return f"{updates['number']}, of {count} points"


def making_of(e: Replicates) -> list[tuple[str, str]]:
    """Return how an estimate was made, name and value; made-up ones may lack some of it."""
    made_by, s, step = e.made_by, e.made_by["settings"], e.made_by.get("step", {})
    given = {
        "Target": made_by.get("target"),
        "Fingerprint of the target": made_by.get("fingerprint"),
        "Estimated": made_by.get("functional"),
        "Replicates": f"{len(e.values)}" + (f" of {e.wanted} that were asked for" if e.unfinished else ""),
        "Coupling": step.get("coupling"),
        "Split-merge moves after a sweep": f"{step.get('split_merge', 0)}" + (", guided" if step.get("guided") else ""),
        "Joint updates after these": _updates(step.get("joint_updates")),
        "Start": made_by.get("init"),
        "Lag, burn-in, min_sweeps": f"{s['lag']}, {s['burn_in']}, {s['min_sweeps']}",
        "Seed": made_by.get("seed"),
        "Cost": f"{e.sweeps.sum():,} sweeps, {e.seconds.sum():.3g} CPU seconds",
        "Version": f"copartition {made_by['version']}" if "version" in made_by else None,
    }
    return [(name, str(value)) for name, value in given.items() if value is not None]


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
