"""What notebooks show of results and of models: verdict, table, and details to be opened.

The pieces are those of the page (`copartition.view.report`); all names are escaped there. Nothing is computed that
takes long: no consensus is searched for, and no picture is drawn but that of a clustering, where matplotlib is there.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.efficiency import asymptotic_variance
from copartition.diagnostics.evidence import Comparison, Evidence
from copartition.diagnostics.findings import (
    BAD,
    CAUTION,
    DOUBT,
    GOOD,
    MISFIT,
    NO_ANSWER,
    NOTE,
    OPEN,
    Finding,
    verdict_of,
)
from copartition.diagnostics.findings import LEVELS as ORDER
from copartition.diagnostics.modes import Modes
from copartition.diagnostics.tuning import Tuned
from copartition.display import rounded
from copartition.results import Draws, MeetingTimes, Replicates
from copartition.results.chains import quick_sentence
from copartition.targets.base import Target
from copartition.view.clusterings import GRADES, ClusteringLike, is_clustering
from copartition.view.palette import SERIES
from copartition.view.plots.of_clusterings import clusters
from copartition.view.report.clustering import cluster_rows, doubtful_head, doubtful_rows, members_called
from copartition.view.report.page import ROWS, making_of, members_of, rows_of, unmet_of
from copartition.view.report.pictures import render, svg_of

LEVELS = {
    GOOD: "#2f8f57",
    **dict.fromkeys((NOTE, CAUTION, MISFIT, DOUBT), "#a8741a"),
    **dict.fromkeys((BAD, OPEN), "#c9453c"),
}
PLAIN = "plain"  # of what has no verdict


@dataclass(frozen=True)
class Fold:
    """Something to be opened: a table, sentences, points of clusters, or names with values."""

    title: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    clusters: list[dict[str, str]] = field(default_factory=list)
    facts: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Shown:
    """What a display consists of."""

    headline: str
    level: str = PLAIN
    sentences: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    unmet: dict[str, Any] | None = None
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)
    picture: str = ""
    kind: str = ""  # of the table


def html_of(thing: Any) -> str | None:
    """Return what a notebook shows of a thing; None where there is no jinja2, so that it shows the short text."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        return None
    shown = shown_of(thing)
    if shown is None:
        return None
    return render("display.html", shown=shown, levels=LEVELS, series=SERIES[1:])


@singledispatch
def shown_of(thing: Any) -> Shown | None:
    """Return what is shown of a thing; None if nothing but its name."""
    return _clustering(thing) if is_clustering(thing) else None


@shown_of.register
def _estimate(e: Replicates) -> Shown:
    verdict = verdict_of(e) if len(e.values) else None
    made = Fold("How it was made", facts=making_of(e))
    if verdict is None:
        return Shown("There is no replicate yet.", CAUTION, folds=[made])
    against = [finding for finding in verdict.findings if finding.is_warning]
    others = [finding.text for finding in verdict.findings if not finding.is_warning]
    folds = [Fold("What speaks for it", said=others)] if others else []
    if assumptions := e.made_by.get("assumptions"):
        folds.append(Fold("What was assumed", said=list(assumptions)))
    head = ["quantity", "mean", "95 % interval", "standard error"]
    rows = [row for part in e.parts() for row in rows_of(part)]
    unmet = unmet_of(e) if e.censored else None
    return Shown(
        verdict.headline,
        verdict.level,
        findings=against,
        advice=verdict.advice,
        unmet=unmet,
        head=head,
        rows=rows,
        folds=[*folds, made],
    )


@shown_of.register
def _draws(s: Draws) -> Shown:
    chains, kept, _ = s.draws.shape
    names = list(s.components[:ROWS]) or [f"{s.functional}[{i}]" for i in range(min(ROWS, len(s.mean)))]
    errors = np.sqrt(asymptotic_variance(s.draws[:, :, :ROWS]) / (chains * kept))
    rows = [
        [name, f"{rounded(m, error)}", f"{error:.2g}"] for name, m, error in zip(names, s.mean, errors, strict=False)
    ]
    if len(s.mean) > len(rows):
        rows.append([f"… and {len(s.mean) - len(rows):,} more", "", ""])
    return Shown(
        f"Averages of ordinary chains: {chains} of {kept:,} sweeps each, after {s.burn_in:,} of burn-in",
        sentences=["They are biased if the chains were stopped too soon, and nothing here tells whether they were."],
        head=["quantity", "mean", "standard error"],
        rows=rows,
        folds=[
            Fold(
                "How it was made",
                facts=[
                    ("Functional", s.functional),
                    ("Split-merge moves after a sweep", str(s.split_merge)),
                    ("Seed", str(s.seed)),
                    ("CPU seconds", f"{s.seconds.sum():.3g}"),
                ],
            )
        ],
    )


@shown_of.register
def _meeting_times(m: MeetingTimes) -> Shown:
    numbers = m.numbers()
    count, findings, level = len(m.met), [], GOOD
    headline = f"All {count:,} pairs met."
    if quick := quick_sentence(m.meeting_times, m.lag):
        level = CAUTION
        findings.append(Finding(CAUTION, "Quick meetings", quick))
    if m.censored:
        headline, level = f"{m.censored:,} of {count:,} pairs did not meet within {m.max_sweeps:,} sweeps.", BAD
        findings.append(Finding(BAD, "Not met", "They count with the cap, so the true values are larger."))
    return Shown(
        headline,
        level,
        findings=findings,
        head=["", "mean", "median", "95 %", "largest"],
        rows=[
            [
                "coupled sweeps until a pair met",
                f"{numbers['sweeps_mean']:.1f}",
                f"{numbers['sweeps_median']:.0f}",
                f"{numbers['sweeps_95']:.0f}",
                f"{numbers['sweeps_largest']:,}",
            ],
            ["CPU seconds of it", f"{numbers['seconds_mean']:.3g}", f"{numbers['seconds_median']:.3g}", "", ""],
        ],
        folds=[
            Fold(
                "How it was made",
                facts=[
                    ("Coupling", m.coupling),
                    ("Lag", f"{m.lag:,}"),
                    ("Split-merge moves after a sweep", f"{m.split_merge}" + (", guided" if m.guided else "")),
                    ("Joint updates after these", str(m.joint_updates)),
                    ("Seed", str(m.seed)),
                ],
            )
        ],
    )


@shown_of.register
def _consensus(c: Consensus) -> Shown:
    headline, *sentences = c.sentences if c.has_answer else [NO_ANSWER, *c.sentences]
    against = [finding for finding in c.findings if finding.is_warning]
    level = max([NOTE if c.is_spread else GOOD, *[finding.level for finding in against]], key=ORDER.index)
    members = members_of(c, c.nodes)
    labels = c.labels[c.order]
    largest = list(dict.fromkeys(labels.tolist()))[:ROWS]
    rows = [
        [str(k), f"{c.sizes[k]:,}", f"{c.cohesion[k]:.3f} ± {c.cohesion_stderr[k]:.1g}", f"{least:.3f}"]
        for k in largest
        for least in [c.belongs[c.labels == k].min()]
    ]
    if len(c.sizes) > len(rows):
        rows.append([f"… and {len(c.sizes) - len(rows):,} more", "", "", ""])
    return Shown(
        headline,
        level,
        sentences,
        against,
        list(dict.fromkeys(finding.advice for finding in against if finding.advice)),
        head=["cluster", "points", "two of its points are together with probability", "its least sure point belongs"],
        rows=rows,
        folds=[Fold("Points of each cluster, with the probability that each belongs there", clusters=members)],
    )


def _clustering(c: ClusteringLike) -> Shown:
    grade, against = GRADES[c.grade], [finding for finding in c.findings if finding.is_warning]
    rows = [[cell for cell in row if cell is not None] for row in cluster_rows(c, ROWS)]
    more = len(c.sizes) - len(rows)
    said = "what distinguishes it (means ± standard errors, shares)"
    head = ["cluster", members_called(c)[1], "certainty", said][: len(rows[0])]
    rows += [[f"… and {more:,} more", *[""] * (len(head) - 1)]] if more else []
    doubts = Fold(f"The least certain {members_called(c)[1]}", doubtful_head(c), doubtful_rows(c))
    return Shown(
        f"{grade.word}: {c.headline}",
        grade.level,
        [grade.meaning],
        against,
        list(dict.fromkeys(finding.advice for finding in against if finding.advice)),
        head=head,
        rows=rows,
        folds=[
            *([doubts] if doubts.rows else []),
            Fold("The model and the columns", said=[*c.assumptions, *c.kinds, *c.notes]),
            Fold("Why this grade", said=[c.reason]),
        ],
        picture=_picture(c),
        kind="clusters",
    )


def _picture(c: ClusteringLike) -> str:
    """Return the rows of a clustering, as SVG; nothing where there is no matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return ""
    # Several clusterings may be on one page, where parts of pictures must not have the same names.
    return svg_of(lambda ax: clusters(c, ax=ax), f"clusters{zlib.crc32(c.labels.tobytes()):x}", (5.0, 4.0))


@shown_of.register
def _tuned(t: Tuned) -> Shown:
    stages = [[f"{s.lag:,}", f"{s.mean:.1f} ± {s.stderr:.1g}", f"{min(s.tv, 1.0):.2g}"] for s in t.stages]
    errors = t.stderr(1000)
    rows = [[name, f"{error:.2g}"] for name, error in list(zip(t.components, errors, strict=True))[:ROWS]]
    if len(errors) > len(rows):
        rows.append([f"… and {len(errors) - len(rows):,} more", ""])
    cost = (
        f"A replicate costs about {t.sweeps:,.0f} sweeps and {t.seconds:.2g} CPU seconds; a given precision takes "
        f"{t.inefficiency:.2g} times the work of an ordinary chain after a free burn-in."
    )
    settings = f"lag = {t.lag:,}, burn_in = {t.burn_in:,}, min_sweeps = {t.min_sweeps:,}"
    updates = [] if t.step.joint_updates is None else [("Joint updates after these", str(t.step.joint_updates))]
    facts = [
        ("Coupling", repr(t.coupling)),
        ("Split-merge moves after a sweep", f"{t.split_merge}" + (", guided" if t.step.guided else "")),
        *updates,
        ("Start", str(t.init)),
        ("The pilot cost", f"{t.pilot_sweeps:,.0f} sweeps and {t.pilot_seconds:.2g} CPU seconds"),
    ]
    found = [] if t.modes is None else [t.modes.finding]
    return Shown(
        settings,
        found[0].level if found and found[0].is_warning else GOOD,
        [cost],
        [finding for finding in found if finding.is_warning],
        head=["quantity", "standard error from 1,000 replicates, about"],
        rows=rows,
        folds=[
            Fold("Why these settings", said=t.reasons),
            Fold(
                "Lags that were tried", ["lag", "coupled sweeps until a pair met", "distance after it, at most"], stages
            ),
            Fold("What it is for", facts=facts),
        ],
    )


@shown_of.register
def _target(target: Target) -> Shown:
    headline = str(target).splitlines()[0]
    facts = [
        ("Points", f"{target.n_points:,}"),
        ("Unknown hyperparameters", ", ".join(target.hyperparameters) or "none"),
        ("Fingerprint", target.fingerprint),
        ("In full", target.in_full),
    ]
    return Shown(headline, said=target.assumptions(), folds=[Fold("Details", facts=facts)])


@shown_of.register
def _evidence(one: Evidence) -> Shown:
    headline, *sentences = one.summary().splitlines()
    doubts = [Finding(CAUTION, "", text) for text in one.warnings]
    return Shown(headline, CAUTION if doubts else GOOD, sentences[:1], doubts)


@shown_of.register
def _comparison(c: Comparison) -> Shown:
    doubts = [Finding(CAUTION, "", f"{name}: {text}") for name, one in c.evidences.items() for text in one.warnings]
    rows = [
        [
            row["model"],
            f"{row['log_evidence']:.2f} ± {row['stderr']:.2g}",
            "" if row["model"] == c.best else f"{row['difference']:.2f} ± {row['difference_stderr']:.2f}",
            f"{row['probability']:.3g}",
        ]
        for row in c.rows()
    ]
    head = ["model", "log evidence", "against the best", "probability"]
    return Shown(c.verdict(), CAUTION if doubts else PLAIN, [], doubts, head=head, rows=rows)


@shown_of.register
def _modes(modes: Modes) -> Shown:
    finding = modes.finding
    facts = [
        (
            "Best log density",
            f"{modes.best_log_density:.2f}, of an ordinary chain {modes.ordinary_best_log_density:.2f}",
        ),
        ("Tempered chains from", ", ".join(modes.starts)),
        ("Cost", f"{modes.sweeps:,} sweeps, {modes.seconds:.3g} CPU seconds"),
    ]
    advice = [finding.advice] if finding.advice else []
    return Shown(f"{finding.title}: {finding.text}", finding.level, advice=advice, folds=[Fold("Details", facts=facts)])
