"""Whether an estimate can be trusted, in plain words, and what to change if not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.tuning import HORIZON, QUANTILE
from copartition.results import Estimate

FEW = 30  # replicates below which Student's t may not save an interval
CLOSE = 0.1  # total variation after the burn-in that is good enough
SCALARS = 20  # components up to which a functional is told in words, not only in pictures
AVERAGED = 0.5  # share of its sweeps that a replicate should average over, at least

GOOD, NOTE, CAUTION, BAD = LEVELS = ("good", "note", "caution", "bad")


@dataclass(frozen=True)
class Finding:
    """One thing to know about an estimate.

    Attributes
    ----------
    level : str
        ``"good"``, ``"note"``, ``"caution"`` or ``"bad"``.
    text : str
        A sentence or two.
    advice : str
        What to change; empty if nothing.
    """

    level: str
    text: str
    advice: str = ""


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
        return max((finding.level for finding in self.findings), key=LEVELS.index)

    @property
    def advice(self) -> list[str]:
        """What to change, each thing once."""
        return list(dict.fromkeys(finding.advice for finding in self.findings if finding.advice))


def verdict_of(e: Estimate, clusters: Sequence[Consensus] = ()) -> Verdict:
    """Return the verdict on an estimate, and on the consensus clusterings made from it."""
    findings = [_meetings(e), *_chains(e), *_tails(e), *_number(e), *_spread(clusters)]
    worst = max((finding.level for finding in findings), key=LEVELS.index)
    headline = {
        GOOD: "These numbers can be trusted.",
        NOTE: "These numbers can be trusted, but no single clustering stands for the posterior.",
        CAUTION: "These numbers are unbiased, but they could be more certain for the same work.",
        BAD: "These numbers are biased: do not rely on them.",
    }[worst]
    return Verdict(headline, [_answer(part) for part in e.parts() if len(part.components) <= SCALARS], findings)


def _answer(part: Estimate) -> str:
    low, high = part.interval()
    return (
        f"The posterior mean of {part.components[0]} is {part.mean[0]:.6g}, with 95 % interval "
        f"{low[0]:.6g} to {high[0]:.6g}."
    )


def _meetings(e: Estimate) -> Finding:
    count = len(e.met)
    if e.censored:
        return Finding(
            BAD,
            f"{e.censored} of {count} pairs of chains did not meet within {e.made_by['settings']['max_sweeps']} sweeps "
            "and were cut short, so the estimate carries an unknown bias.",
            "Run again with a larger max_sweeps, or without one.",
        )
    if e.unfinished:
        return Finding(
            BAD,
            f"The run was interrupted while {e.unfinished} replicates were under way. These are slow ones, so what is "
            "there is biased.",
            "Run the same command again: it goes on where it stopped.",
        )
    coupled = e.meeting_times - e.lag
    return Finding(
        GOOD,
        f"All {count} pairs of chains met, after {coupled.mean():.3g} coupled sweeps on average and {coupled.max()} at "
        f"most, so the estimate is unbiased{_stopped(e)}.",
    )


def _stopped(e: Estimate) -> str:
    """Return what is to be said of a run that stopped at a given precision."""
    if "precision" not in e.made_by:
        return ""
    return ", but for the little that stopping at a given precision leaves: less than a tenth of a standard error"


def _chains(e: Estimate) -> list[Finding]:
    """Return whether chains are long enough; one thing at a time, because a longer burn-in changes the rest."""
    found = _burn_in(e)
    if e.censored or any(finding.advice for finding in found):
        return found
    return [*found, *_horizon(e)]


def _spread(clusters: Sequence[Consensus]) -> list[Finding]:
    return [
        Finding(
            NOTE,
            "The posterior is spread over several clusterings: one drawn from it disagrees with the consensus on "
            f"{100 * c.spread:.2g} % of the pairs that either joins.",
        )
        for c in clusters
        if c.is_spread
    ]


def _burn_in(e: Estimate) -> list[Finding]:
    if e.censored:
        return []
    burn_in = e.made_by["settings"]["burn_in"]
    bound = tv_bound(e, burn_in)
    coupled = e.meeting_times - e.lag
    late = float(np.mean(coupled > burn_in))
    needed = max(1, int(np.ceil(np.quantile(coupled, QUANTILE))))
    value, high = (f"{min(float(end[0]), 1.0):.2g}" for end in (bound.value, bound.high))
    text = f"After the burn-in of {burn_in} sweeps {100 * late:.2g} % of the replicates still needed a correction"
    if bound.value[0] < 1.0:
        text += (
            f", and a chain is at most {value} from the posterior in total variation ({high} with 95 % confidence, "
            "where 0 is perfect)"
        )
    text += "."
    if bound.value[0] <= CLOSE:
        return [Finding(GOOD, "The chains are long enough. " + text)]
    return [
        Finding(
            CAUTION,
            "The chains are short: corrections are frequent and make the estimate less certain. " + text,
            _longer(e, needed),
        )
    ]


def _longer(e: Estimate, needed: int) -> str:
    """Return advice that is never less than what there is."""
    s = e.made_by["settings"]
    if s["burn_in"] >= needed:
        return f"Take a larger lag, such as {max(s['burn_in'], 2 * s['lag'])}; or let copartition tune choose."
    horizon = max(HORIZON * needed, s["min_sweeps"])
    return f"Take a burn_in and a lag of about {needed}, and a min_sweeps of {horizon}; or let copartition tune choose."


def _horizon(e: Estimate) -> list[Finding]:
    s = e.made_by["settings"]
    share = (s["min_sweeps"] - s["burn_in"] + 1) * len(e.values) / e.sweeps.sum()
    if share >= AVERAGED:
        return []
    return [
        Finding(
            CAUTION,
            f"Only {100 * share:.0f} % of the sweeps went into the averages; the rest was burn-in and waiting for "
            "chains to meet.",
            f"Take a larger min_sweeps, such as {max(HORIZON * max(s['burn_in'], s['lag']), 2 * s['min_sweeps'])}.",
        )
    ]


def _tails(e: Estimate) -> list[Finding]:
    heavy = [text for text in e.warnings if text.startswith("HEAVY TAIL: ")]
    return [Finding(CAUTION, *_split(text.removeprefix("HEAVY TAIL: "))) for text in heavy]


def _split(text: str) -> tuple[str, str]:
    """Return what is the case, and what to do about it, which follows the last colon or semicolon."""
    place = max(text.rfind(": "), text.rfind("; "))
    advice = text[place + 2 :]
    return text[:place] + ".", advice[0].upper() + advice[1:]


def _number(e: Estimate) -> list[Finding]:
    found = []
    if len(e.values) < FEW:
        found.append(
            Finding(
                CAUTION,
                f"There are only {len(e.values)} replicates, too few for the interval to be relied on.",
                "Run more replicates.",
            )
        )
    if not e.made_by.get("precision", {}).get("reached", True):
        found.append(Finding(CAUTION, "The precision that was asked for was not reached.", "Run more replicates."))
    return found
