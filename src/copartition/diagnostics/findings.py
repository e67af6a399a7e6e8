"""The one list of what is to be known of an estimate: what speaks for it, what against it, and what to change.

The warnings of an `Estimate`, the verdict of its page and the command line all speak from this list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from copartition.diagnostics.agreement import MODES, agreement_of
from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.missing import missing_of
from copartition.diagnostics.robust import heavy_tail
from copartition.diagnostics.tuning import HORIZON, QUANTILE
from copartition.results import Replicates
from copartition.results.meeting import MANY_AT_START, at_start_sentence, share_at_start

if TYPE_CHECKING:
    from copartition.diagnostics.consensus import Consensus

FEW = 30  # replicates below which Student's t may not save an interval
CLOSE = 0.1  # total variation after the burn-in that is good enough
SCALARS = 20  # components up to which a functional is told in words, not only in pictures
AVERAGED = 0.5  # share of its sweeps that a replicate should average over, at least

GOOD, NOTE, CAUTION, MISFIT, DOUBT, BAD = LEVELS = ("good", "note", "caution", "misfit", "doubt", "bad")

HEADLINES = {
    GOOD: "Monte Carlo error is under control for this model.",
    NOTE: "Monte Carlo error is under control for this model, but no single clustering stands for its posterior.",
    CAUTION: "These numbers are unbiased for this model, but they could be more certain for the same work.",
    MISFIT: "The model does not suit these data: clusters may tell of the model, not of the data.",
    DOUBT: "These numbers may tell of one mode, or of where the chains started: compare with another start.",
    BAD: "These numbers are biased: do not rely on them.",
}
NO_ANSWER = "There is no answer yet: the figures of this clustering contradict themselves."


@dataclass(frozen=True)
class Finding:
    """One thing to know about an estimate.

    Attributes
    ----------
    level : str
        ``"good"``, ``"note"``, ``"caution"``, ``"misfit"`` (of the model), ``"doubt"`` or ``"bad"``.
    title : str
        What it is about, in two or three words.
    text : str
        A sentence or two.
    advice : str
        What to change; empty if nothing.
    """

    level: str
    title: str
    text: str
    advice: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether it speaks against the estimate."""
        return self.level in (CAUTION, MISFIT, DOUBT, BAD)

    def __str__(self) -> str:
        biased = ", BIASED" if self.level == BAD else ""
        return f"{self.title.upper()}{biased}: {self.text} {self.advice}".rstrip()


@dataclass(frozen=True)
class Verdict:
    """All findings, and what they come to.

    Attributes
    ----------
    headline : str
    answers : list of str
        The estimates themselves, a sentence each, of the first component of each functional.
    findings : list of Finding
    """

    headline: str
    answers: list[str]
    findings: list[Finding]

    @property
    def level(self) -> str:
        """The worst level of all findings."""
        return _worst(self.findings)

    @property
    def advice(self) -> list[str]:
        """What to change, each thing once."""
        return list(dict.fromkeys(finding.advice for finding in self.findings if finding.advice))


def verdict_of(e: Replicates, clusters: Sequence[Consensus] = ()) -> Verdict:
    """Return the verdict on an estimate, and on the consensus clusterings made from it."""
    findings = findings_of(e, clusters)
    answers = [_answer(part) for part in e.parts() if len(part.components) <= SCALARS]
    headline = HEADLINES[_worst(findings)] if all(c.has_answer for c in clusters) else NO_ANSWER
    return Verdict(headline, answers, findings)


def findings_of(e: Replicates, clusters: Sequence[Consensus] = ()) -> list[Finding]:
    """Return all findings on an estimate, and on the consensus clusterings made from it."""
    if len(e.values) == 0:
        return [Finding(CAUTION, "No replicates", "There is no replicate yet.", "Run more replicates.")]
    if e.made_by.get("ordinary"):
        return [Finding(BAD, "Ordinary MCMC", "chains still remember their start.", "Use it for comparison only.")]
    late = e.sweeps_to_meet > e.made_by["settings"]["burn_in"]
    found = [*_meetings(e), *_modes(e), *_model(e), *_chains(e, late), *_tails(e, late), *_number(e)]
    for c in clusters:
        if c.chosen_by is not None:  # what only the runs found by which it was chosen
            found += [one for one in findings_of(c.chosen_by) if one.title not in {other.title for other in found}]
    return [*_no_answer(clusters), *found, *_spread(clusters)]


def _modes(e: Replicates) -> list[Finding]:
    """Return what a look for hidden modes found, if there was one before the run."""
    found = e.made_by.get("modes")
    return [] if found is None else [Finding(**found)]


def _model(e: Replicates) -> list[Finding]:
    """Return where clusters are not as the model has them, if that was looked at (`model_check`)."""
    return [Finding(**found) for found in e.made_by.get("model", [])]


def _worst(findings: Sequence[Finding]) -> str:
    return max((finding.level for finding in findings), key=LEVELS.index)


def _answer(part: Replicates) -> str:
    low, high = part.interval()
    is_law = part.components[0].startswith("P(")  # of which the likeliest is told
    i = int(np.argmax(part.mean)) if is_law else 0
    what = f"probability of {part.components[i][2:-1]}" if is_law else f"mean of {part.components[i]}"
    if part.censored:
        return f"Truncated, and so biased, the estimate of the posterior {what} is {part.mean[i]:.6g}."
    return f"The posterior {what} is {part.mean[i]:.6g}, with 95 % interval {low[i]:.6g} to {high[i]:.6g}."


def _meetings(e: Replicates) -> list[Finding]:
    """Return whether all pairs met and all replicates ended: what makes an estimate unbiased."""
    count, found = len(e.met), []
    if e.censored:
        cap = e.made_by["settings"]["max_sweeps"]
        text = (
            f"{e.censored} of {count} pairs of chains did not meet and were cut short, so the estimate carries an "
            f"unknown bias (a pair does not meet with a probability below {e.censored_bound():.2g}, with 95 % "
            "confidence)."
        )
        if missing := missing_of(e):
            text += f" {missing.sentence}."
        seen = _unmet(e)
        advice = "" if seen else "Run again with a larger max_sweeps, or without one."
        found += [Finding(BAD, f"Truncated at {cap} sweeps", text, advice), *seen]
    if e.unfinished:
        text = (
            f"the run was interrupted while {e.unfinished} replicates were under way. These are slow ones, so what is "
            "there is biased."
        )
        advice = "Run the same command or call on the store again: it goes on where it stopped."
        found.append(Finding(BAD, "Unfinished", text, advice))
    if found:
        return found
    coupled = e.sweeps_to_meet
    text = (
        f"All {count} pairs of chains met, after {coupled.mean():.3g} coupled sweeps on average and {coupled.max()} at "
        f"most, so the estimate is unbiased{_stopped(e)}."
    )
    return [Finding(GOOD, "Meetings", text), *_at_start(e)]


def _unmet(e: Replicates) -> list[Finding]:
    """Return why pairs did not meet: different modes, or a slow coupling."""
    agreement = agreement_of(e)
    if agreement is None:
        return []
    text = f"{agreement.sentence}."
    if agreement.verdict == MODES:
        text += " Neither kind of average can be trusted, and a larger max_sweeps alone will not help."
        advice = (
            "Look for modes with find_modes(posterior), which tempers chains from several starts; try more split_merge "
            "moves or another init."
        )
        return [Finding(BAD, "Chains are in different modes", text, advice)]
    text += (
        " Both chains visit the same partitions, so it is the coupling that is slow; the ordinary averages are likely "
        "to be near the truth."
    )
    advice = "Take a larger max_sweeps, or let settings='auto' (copartition tune) choose lag and step."
    return [Finding(CAUTION, "Chains agree, the coupling is slow", text, advice)]


def _at_start(e: Replicates) -> list[Finding]:
    """Return whether so many chains were still at their start that their meetings mean little."""
    share = share_at_start(e.meeting_times, e.lag) if e.made_by.get("same_start") else 0.0
    if share <= MANY_AT_START:
        return []
    text = at_start_sentence(share, e.lag)
    advice = (
        f"Start elsewhere (init='sequential') and compare the answers, or take a larger lag than {e.lag} and more "
        "split_merge moves."
    )
    return [Finding(DOUBT, "Chains at their start", text, advice)]


def _stopped(e: Replicates) -> str:
    """Return what is to be said of a run that stopped at a given precision."""
    if "precision" not in e.made_by:
        return ""
    return ", but for the little that stopping at a given precision leaves: less than a tenth of a standard error"


def _chains(e: Replicates, late: np.ndarray) -> list[Finding]:
    """Return whether chains are long enough; one thing at a time, because a longer burn-in changes the rest."""
    if e.censored:
        return []
    found = _burn_in(e, late)
    return [found] if found.is_warning else [found, *_horizon(e)]


def _burn_in(e: Replicates, late: np.ndarray) -> Finding:
    burn_in = e.made_by["settings"]["burn_in"]
    text = (
        f"After the burn-in of {burn_in} sweeps {100 * late.mean():.3g} % of the replicates still needed a correction"
    )
    distance = late.mean()
    if e.completed is None:  # under a deadline not every pair is known
        bound = tv_bound(e, burn_in)
        distance = bound.value[0]
        if distance < 1.0:
            text += f", and a chain is {_within(distance, bound.high[0])}"
    if distance <= CLOSE:
        return Finding(GOOD, "Burn-in", f"The chains are long enough. {text}.")
    return Finding(
        CAUTION,
        "Short burn-in",
        f"The chains are short: corrections are frequent and make the estimate less certain. {text}.",
        _longer(e),
    )


def _within(value: float, high: float) -> str:
    """Return how far off a chain is: no pair met late is no proof that none ever does."""
    where = "of the posterior in total variation"
    if value < 5e-4:
        return f"within {high:.2g} {where} with 95 % confidence, where 0 is perfect and more replicates can show less"
    return f"within {value:.2g} {where} ({min(high, 1.0):.2g} with 95 % confidence, where 0 is perfect)"


def _longer(e: Replicates) -> str:
    """Return advice that is never less than what there is."""
    s = e.made_by["settings"]
    needed = max(1, int(np.ceil(np.quantile(e.sweeps_to_meet, QUANTILE))))
    if s["burn_in"] >= needed:
        return f"Take a larger lag, such as {max(s['burn_in'], 2 * s['lag'])}; or let copartition tune choose."
    horizon = max(HORIZON * needed, s["min_sweeps"])
    return f"Take a burn_in and a lag of about {needed}, and a min_sweeps of {horizon}; or let copartition tune choose."


def _horizon(e: Replicates) -> list[Finding]:
    s = e.made_by["settings"]
    share = (s["min_sweeps"] - s["burn_in"] + 1) * len(e.values) / e.sweeps.sum()
    if share >= AVERAGED or e.completed is not None:
        return []
    return [
        Finding(
            CAUTION,
            "Short average",
            f"Only {100 * share:.0f} % of the sweeps went into the averages; the rest was burn-in and waiting for "
            "chains to meet.",
            f"Take a larger min_sweeps, such as {max(HORIZON * max(s['burn_in'], s['lag']), 2 * s['min_sweeps'])}.",
        )
    ]


def _tails(e: Replicates, late: np.ndarray) -> list[Finding]:
    """Return where few replicates make up most of the variance."""
    found = []
    for part in e.parts():
        heavy = heavy_tail(part.values, late)
        if heavy is not None:
            advice = (
                "They met late: take a larger burn_in and lag (copartition.tune chooses them)."
                if heavy.met_late
                else "They met in time: it is a rare event; take more replicates or a larger min_sweeps."
            )
            text = (
                f"1 % of the replicates have {100 * heavy.share:.0f} % of the variance of "
                f"{part.made_by['functional']}, so its standard error is itself uncertain."
            )
            found.append(Finding(CAUTION, "Heavy tail", text, advice))
    return found


def _number(e: Replicates) -> list[Finding]:
    found = []
    if len(e.values) < FEW:
        text = f"There are only {len(e.values)} replicates, too few for the interval to be relied on."
        found.append(Finding(CAUTION, "Few replicates", text, "Run more replicates."))
    if not e.made_by.get("precision", {}).get("reached", True):
        text = "The precision that was asked for was not reached with as many replicates as there may be."
        found.append(Finding(CAUTION, "Precision not reached", text, "Raise replicates."))
    return found


def _no_answer(clusters: Sequence[Consensus]) -> list[Finding]:
    return [
        Finding(
            DOUBT,
            "No answer yet",
            "How far clusterings from the posterior disagree with this one is not known: the share of pairs comes out "
            f"as {c.disagreement:.2g} +- {c.disagreement_stderr:.1g}, and of those that either joins as "
            f"{c.spread:.2g}, where shares are between 0 and 1. How surely points belong to clusters is not known "
            "either.",
            "Run longer chains (burn_in, min_sweeps, lag, or no max_sweeps) or more replicates, and compare several "
            "seeds.",
        )
        for c in clusters
        if not c.has_answer
    ]


def _spread(clusters: Sequence[Consensus]) -> list[Finding]:
    return [
        Finding(
            NOTE,
            "Many clusterings",
            "The posterior is spread over several clusterings: one drawn from it disagrees with the consensus on "
            f"{100 * c.spread:.2g} % of the pairs that either joins.",
        )
        for c in clusters
        if c.is_spread and c.has_answer
    ]
