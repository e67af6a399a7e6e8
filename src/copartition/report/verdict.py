"""Whether an estimate can be trusted, in plain words, and what to change if not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.tuning import HORIZON, QUANTILE
from copartition.results import Estimate

FEW = 30  # replicates below which Student's t may not save an interval
CLOSE = 0.1  # total variation after the burn-in that is good enough
SCALARS = 20  # components up to which a functional is told in words, not only in pictures
AVERAGED = 0.5  # share of its sweeps that a replicate should average over, at least

GOOD, CAUTION, BAD = "good", "caution", "bad"


@dataclass(frozen=True)
class Finding:
    """One thing to know about an estimate.

    Attributes
    ----------
    level : str
        ``"good"``, ``"caution"`` or ``"bad"``.
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
        return max((finding.level for finding in self.findings), key=[GOOD, CAUTION, BAD].index)

    @property
    def advice(self) -> list[str]:
        """What to change, each thing once."""
        return list(dict.fromkeys(finding.advice for finding in self.findings if finding.advice))


def verdict_of(e: Estimate) -> Verdict:
    """Return the verdict on an estimate."""
    findings = [_meetings(e), *_burn_in(e), *_horizon(e), *_tails(e), *_number(e)]
    worst = max((finding.level for finding in findings), key=[GOOD, CAUTION, BAD].index)
    headline = {
        GOOD: "These numbers can be trusted.",
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
    coupled = e.meeting_times - e.lag
    return Finding(
        GOOD,
        f"All {count} pairs of chains met, after {coupled.mean():.3g} coupled sweeps on average and {coupled.max()} at "
        "most, so the estimate is unbiased.",
    )


def _burn_in(e: Estimate) -> list[Finding]:
    if e.censored:
        return []
    burn_in = e.made_by["settings"]["burn_in"]
    bound = tv_bound(e, burn_in)
    coupled = e.meeting_times - e.lag
    late = float(np.mean(coupled > burn_in))
    needed = max(1, int(np.ceil(np.quantile(coupled, QUANTILE))))
    value, high = (f"{min(float(end[0]), 1.0):.2g}" for end in (bound.value, bound.high))
    text = (
        f"After the burn-in of {burn_in} sweeps a chain is at most {value} from the posterior in total variation "
        f"({high} with 95 % confidence), and {100 * late:.2g} % of the replicates needed a correction."
    )
    if bound.value[0] <= CLOSE:
        return [Finding(GOOD, "The chains are long enough. " + text)]
    return [
        Finding(
            CAUTION,
            "The chains are short: corrections are frequent and make the estimate less certain. " + text,
            f"Take a burn_in and a lag of about {needed}, and a min_sweeps of {HORIZON * needed}; or let "
            "copartition tune choose.",
        )
    ]


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
            f"Take a larger min_sweeps, such as {HORIZON * max(s['burn_in'], 1)}.",
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
