"""The page itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from copartition.diagnostics.agreement import MODES, agreement_of
from copartition.diagnostics.consensus import UNSURE, Consensus, consensus_of, is_about_one
from copartition.diagnostics.findings import BAD, CAUTION, verdict_of
from copartition.diagnostics.missing import missing_of
from copartition.extras import needed
from copartition.results import Replicates
from copartition.validation import shorten
from copartition.view import plots
from copartition.view.report.pictures import Picture, svg_of

ROWS = 20  # of a functional, in the table; of one with more components the first SHOWN
SHOWN = 3
ALL_LISTED = 2000  # points up to which each is named in its cluster
UNSURE_LISTED = 50  # of a cluster, where there are more
CLUSTERS = 200  # that are listed


def write_report(e: Replicates, path: str | Path, title: str = "Posterior expectations") -> None:
    """Write a page about an estimate: one HTML file that needs nothing else and asks for nothing from anywhere.

    Parameters
    ----------
    e : Replicates
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
    if not isinstance(e, Replicates):
        raise TypeError(f"e must be an estimate, got {shorten(e)}.")
    if e.made_by.get("ordinary") or e.completed is not None:
        raise ValueError("A report is about an estimate from single replicates, got one made under a deadline.")
    needed("matplotlib", by="A report")  # before anything is computed
    Path(path).write_text(render("report.html", **_content(e, title)), encoding="utf-8")


def render(template: str, **content: Any) -> str:
    """Return a page from a template; all text in `content` is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("copartition.view.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(template).render(**content)


def _content(e: Replicates, title: str) -> dict[str, Any]:
    clusters = [consensus_of(e)] if _has_clusters(e) else []
    return {
        "title": title,
        "unmet": _unmet(e) if e.censored else None,
        "verdict": verdict_of(e, clusters),
        "rows": [row for part in e.parts() for row in _rows(part)],
        "consensus": [str(c).splitlines() for c in clusters],
        "clusters": [_members(e, c) for c in clusters],
        "pictures": _pictures(e, clusters),
        "assumptions": e.made_by.get("assumptions", []),
        "making": _making(e),
    }


def _unmet(e: Replicates) -> dict[str, Any]:
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
            {
                "number": f"{number}",
                "log_density": " and ".join(f"{value:.1f}" for value in agreement.log_density[i]),
                "clusters": " and ".join(f"{value:.1f}" for value in agreement.n_clusters[i]),
                "rand": f"{agreement.rand_between[i]:.2f}",
                "within": f"{agreement.rand_within[i]:.2f}",
                "modes": "different modes" if agreement.differs[i].any() else "the same",
            }
            for i, number in enumerate(agreement.numbers)
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


def _both_averages(e: Replicates, steps: np.ndarray, bounds: np.ndarray) -> list[dict[str, str]]:
    """Return the rows of the table of truncated and ordinary averages."""
    rows, begin = [], 0
    for part in e.parts():
        count = len(part.components)
        shown = count if count <= ROWS else SHOWN
        plain = part.ordinary
        for c in range(shown):
            step = steps[begin + c]
            known = plain is not None and np.isfinite(plain.mean[c])
            rows.append(
                {
                    "name": part.components[c],
                    "truncated": f"{part.mean[c]:.6g} ± {part.stderr[c]:.2g}",
                    "ordinary": f"{plain.mean[c]:.6g} ± {plain.stderr[c]:.2g}" if plain and known else "not kept",
                    "step": "not known" if np.isnan(step) else f"{step:.2g}" + ("" if bounds[begin + c] else " *"),
                }
            )
        begin += count
    return rows


def _rows(part: Replicates) -> list[dict[str, str]]:
    """Return the rows of the table for one functional; of a long one the first, and how many more there are."""
    count = len(part.components)
    shown = count if count <= ROWS else SHOWN
    means, errors = part.mean[:shown], part.stderr[:shown]
    rows = [
        {"name": name, "mean": f"{mean:.6g}", "stderr": f"{error:.2g}", "interval": f"{mean - m:.6g} to {mean + m:.6g}"}
        for name, mean, error, m in zip(part.components[:shown], means, errors, part.margin() * errors, strict=True)
    ]
    more = {"name": f"… and {count - shown:,} more", "mean": "", "stderr": "", "interval": ""}
    return [*rows, more] if count > shown else rows


def _has(e: Replicates, name: str) -> bool:
    return any(about["name"] == name for about in e.functionals)


def _has_clusters(e: Replicates) -> bool:
    """Tell whether there is a clustering to be shown: from all pairs of some points, or the one that this is about."""
    return is_about_one(e) or any(about["name"] == "co_clustering" and "points" in about for about in e.functionals)


def _members(e: Replicates, c: Consensus) -> list[dict[str, str]]:
    """Return the clusters, largest first, with their points and how surely these belong there; of many the unsure."""
    names = next((about["names"] for about in e.functionals if "names" in about), None)
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


def _pictures(e: Replicates, clusters: list[Consensus]) -> list[Picture]:
    drawn: list[tuple[str, str, Callable[[Any], Any], tuple[float, float]]] = []
    wide, square = (5.0, 3.3), (5.0, 4.2)
    if _has(e, "predictive_density") and np.ndim(e.select("predictive_density").functionals[0]["grid"]) == 1:
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
        first = kept.components[0]
        text = (
            f"The estimate of {first} as replicates come in, with its 95 % interval. The band should narrow steadily."
        )
        drawn.append(("Running estimate", text, lambda ax: plots.running(kept, 0, ax=ax), wide))
        kind = "value, cut short where chains did not meet," if e.is_biased else "unbiased value"
        text = f"Each replicate gives one {kind} of {first}. A few far from the rest are a sign of a short burn-in."
        drawn.append(("Replicates", text, lambda ax: plots.values(kept, 0, ax=ax), wide))
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


def _blocks(blocks: Any) -> str:
    return f"{blocks['number']}, of {blocks['points']:,} points" if blocks else "0"


def _making(e: Replicates) -> list[tuple[str, str]]:
    made_by, s = e.made_by, e.made_by["settings"]
    return [
        ("Target", made_by["target"]),
        ("Fingerprint of the target", made_by["fingerprint"]),
        ("Estimated", made_by["functional"]),
        ("Replicates", f"{len(e.values)}"),
        ("Coupling", made_by["coupling"]),
        ("Split-merge moves after a sweep", str(s.get("split_merge", 0))),
        ("Updates of blocks after these", _blocks(s.get("blocks", 0))),
        ("Start", made_by["init"]),
        ("Lag, burn-in, min_sweeps", f"{s['lag']}, {s['burn_in']}, {s['min_sweeps']}"),
        ("Seed", str(made_by["seed"])),
        ("Cost", f"{e.sweeps.sum():,} sweeps, {e.seconds.sum():.3g} CPU seconds"),
        ("Version", f"copartition {made_by['version']}"),
    ]
