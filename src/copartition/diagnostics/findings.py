"""The one list of what is to be known of an estimate: what speaks for it, what against it, and what to change.

The warnings of an `Estimate`, the verdict of its page and the command line all speak from this list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from copartition.diagnostics.agreement import MODES, agreement_of, missing_of
from copartition.diagnostics.bounds import tv_bound
from copartition.diagnostics.efficiency import heavy_tail, is_variance
from copartition.diagnostics.tuning import HORIZON, QUANTILE
from copartition.display import interval_text, is_constant, rounded
from copartition.names import are_shares
from copartition.results import Replicates
from copartition.results.chains import quick_sentence
from copartition.results.replicates import FEWEST_FOR_INTERVAL

if TYPE_CHECKING:
    from copartition.diagnostics.consensus import Consensus

CLOSE = 0.1  # total variation after the burn-in that is good enough
SCALARS = 20  # components up to which a functional is told in words, not only in pictures
WIDE = 0.5  # an interval of a probability that is wider says nothing
OUTSIDE = 0.05  # by which an interval of a probability may reach below 0 or above 1
FEW_OF_MANY = 0.01  # share of many components that may be unknown
AVERAGED = 0.5  # share of its sweeps that a replicate should average over, at least

GOOD, NOTE, CAUTION, MISFIT, DOUBT, BAD, OPEN = LEVELS = ("good", "note", "caution", "misfit", "doubt", "bad", "open")

HEADLINES = {
    GOOD: "Monte Carlo error is under control for this model.",
    NOTE: "Monte Carlo error is under control for this model, but no single clustering stands for its posterior.",
    CAUTION: "The estimates are unbiased for this model, but standard errors are rough, or larger than they need be.",
    MISFIT: "The model does not fit these data: clusters may come from its assumptions, not from groups in the data.",
    DOUBT: "The estimates may describe only a part of the posterior, where the chains started: compare with another "
    "start and another seed.",
    BAD: "The estimates are biased: do not rely on them.",
    OPEN: "There is no answer yet: the estimates are far too uncertain to be used.",
}
NO_ANSWER = HEADLINES[OPEN]


@dataclass(frozen=True)
class Finding:
    """One thing to know about an estimate.

    Attributes
    ----------
    level : str
        ``"good"``, ``"note"``, ``"caution"``, ``"misfit"`` (of the model), ``"doubt"``, ``"bad"`` (biased) or
        ``"open"`` (no answer yet).
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
        return self.level in (CAUTION, MISFIT, DOUBT, BAD, OPEN)

    def __str__(self) -> str:
        biased = ", BIASED" if self.level == BAD else ""
        return f"{self.title.upper()}{biased}: {self.text} {self.advice}".rstrip()


@dataclass(frozen=True)
class Verdict:
    """All findings, and the verdict that follows from them.

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
    answers = [_answer(part) for part in e.parts() if len(part.components) <= SCALARS and not _is_open(part)]
    return Verdict(HEADLINES[_worst(findings)], answers, findings)


def findings_of(e: Replicates, clusters: Sequence[Consensus] = ()) -> list[Finding]:
    """Return all findings on an estimate, and on the consensus clusterings made from it."""
    if len(e.values) == 0:
        return [Finding(CAUTION, "No replicates", "There is no replicate yet.", "Run more replicates.")]
    if e.made_by.get("ordinary"):
        return [
            Finding(
                BAD,
                "Ordinary MCMC",
                "These averages are of ordinary chains, which still depend on where they started.",
                "Use it for comparison only.",
            )
        ]
    late = e.sweeps_to_meet > e.made_by["settings"]["burn_in"]
    look = _look(e)
    found = [*_open(e), *_meetings(e), *look, *_quick(e, look), *_model(e)]
    if not e.is_biased:  # or there was no look, and worse is said
        found += _constant(e, look)
    trusted = not any(finding.level == DOUBT for finding in found)
    found += [*_chains(e, late, trusted), *_tails(e, late), *_number(e)]
    for c in clusters:
        if c.chosen_by is not None:  # what only the runs found by which it was chosen
            found += [one for one in findings_of(c.chosen_by) if one.title not in {other.title for other in found}]
    return [*_no_answer(clusters), *found, *_spread(clusters)]


def _look(e: Replicates) -> list[Finding]:
    """Return what chains from other starts, or a look for hidden modes, found."""
    found = e.made_by.get("modes")
    return [] if found is None else [Finding(**found)]


def _is_backed(look: Sequence[Finding]) -> bool:
    """Tell whether chains from other starts agree with an estimate."""
    return any(finding.level == GOOD for finding in look)


def _open(e: Replicates) -> list[Finding]:
    """Return which probabilities are not known at all."""
    names = [part.made_by["functional"] for part in e.parts() if _is_open(part)]
    if not names:
        return []
    text = (
        f"The intervals of {', '.join(names)} are wider than {WIDE} or reach below 0 or above 1: {len(e.values)} "
        "replicates with these settings do not determine these probabilities."
    )
    return [Finding(OPEN, "No answer yet", text, "Run more replicates, or let copartition tune choose the settings.")]


def _is_open(part: Replicates) -> bool:
    """Tell whether the probabilities of a functional are unknown: of a few any, of many more than a few."""
    if len(part.values) < 2 or not are_shares(part.functionals[0]):
        return False
    mean, half = part.mean, part.margin(few=True) * part.stderr
    unknown = (2 * half > WIDE) | (mean - half < -OUTSIDE) | (mean + half > 1.0 + OUTSIDE)
    return bool(unknown.mean() > FEW_OF_MANY if len(unknown) > SCALARS else unknown.any())


def _model(e: Replicates) -> list[Finding]:
    """Return where clusters are not as the model has them, if that was looked at (`model_check`)."""
    return [Finding(**found) for found in e.made_by.get("model", [])]


def _worst(findings: Sequence[Finding]) -> str:
    return max((finding.level for finding in findings), key=LEVELS.index)


def _answer(part: Replicates) -> str:
    is_distribution = part.components[0].startswith("P(")  # of which the likeliest is told
    i = int(np.argmax(part.mean)) if is_distribution else 0
    what = (
        f"posterior probability of {part.components[i][2:-1]}"
        if is_distribution
        else f"posterior mean of {part.components[i]}"
    )
    if is_variance(part):
        what = f"asymptotic variance of {part.components[i].partition('(')[2][:-1]}"
    mean, error = float(part.mean[i]), float(part.stderr[i])
    value = rounded(mean, error)
    if part.is_biased:
        return f"The estimate of the {what} is {value}, and biased."
    if is_constant(mean, error):
        return f"The {what} was {value} in every replicate, so that its error is not known."
    interval = interval_text(mean, error, part.margin())
    known = f"with 95 % interval {interval}" if interval != "-" else f"with standard error {error:.2g}"
    return f"The {what} is {value}, {known}."


def _meetings(e: Replicates) -> list[Finding]:
    """Return whether all pairs met and all replicates ended: what makes an estimate unbiased."""
    count, found = len(e.met), []
    if e.censored:
        cap = e.made_by["settings"]["max_sweeps"]
        who, chance = "pairs of chains", "pair does not meet"
        if is_variance(e):
            who, chance = "replicates had pairs of chains that", "replicate has such a pair"
        text = (
            f"{e.censored} of {count} {who} did not meet and were cut short, so the estimate carries an unknown bias "
            f"(a {chance} with a probability below {e.censored_bound():.2g}, with 95 % confidence)."
        )
        if missing := missing_of(e):
            text += f" {missing.sentence}."
        seen = _unmet(e)
        advice = "" if seen else "Run again with a larger max_sweeps, or without one."
        found += [Finding(BAD, f"Truncated at {cap} sweeps", text, advice), *seen]
    if e.unfinished:
        found.append(_interrupted(e))
    if found:
        return found
    coupled = e.sweeps_to_meet
    whose = f"All pairs of chains of {count} replicates" if is_variance(e) else f"All {count} pairs of chains"
    text = (
        f"{whose} met, after {coupled.mean():.3g} coupled sweeps on average and {coupled.max()} at "
        f"most, so the estimate is unbiased{_stopped(e)}."
    )
    return [Finding(GOOD, "Meetings", text), *_annealed(e)]


def _annealed(e: Replicates) -> list[Finding]:
    """Return that the answer rests on starts that are annealed, if it does."""
    if not e.made_by.get("ladder"):
        return []
    text = (
        "Every chain began with a draw from the prior and let the data count a little more in each of many sweeps. The "
        "answer rests on such starts getting to every mode; how often they do is corrected."
    )
    return [Finding(GOOD, "Annealed starts", text)]


def _interrupted(e: Replicates) -> Finding:
    """Return what is missing of a run that was stopped before its end."""
    ended, under_way = len(e.values), e.under_way
    bound = ""
    if under_way is not None:
        bound = f", at most {under_way:,} or {100 * under_way / (ended + under_way):.2g} % of those begun,"
    text = (
        f"{e.wanted:,} replicates were asked for and {ended:,} ended. Those under way when the run stopped{bound} are "
        "left out. They are slower than the others, so what is there is biased"
    )
    advice = (
        "Run the same command or call on the store again: it goes on where it stopped, and is unbiased when all have "
        "ended. For an unbiased answer at a given time use estimate_within."
    )
    return Finding(BAD, "Interrupted", f"{text}.", advice)


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


def _quick(e: Replicates, look: Sequence[Finding]) -> list[Finding]:
    """Return that most pairs met at once, where nothing else shows that chains find the posterior."""
    sentence = quick_sentence(e.meeting_times, e.lag)
    if not sentence or any(finding.level == DOUBT for finding in look):
        return []
    if _is_backed(look):
        return [
            Finding(
                GOOD, "Quick meetings", f"{sentence} Chains from other starts agree, which is why it can be trusted."
            )
        ]
    other = "one_cluster" if "sequential" in str(e.made_by.get("init")) else "sequential"
    advice = (
        f"Start elsewhere (init={other!r}), with another seed, and compare the answers; or let copartition tune choose "
        "the settings."
    )
    return [Finding(DOUBT, "Quick meetings", sentence, advice)]


def _constant(e: Replicates, look: Sequence[Finding]) -> list[Finding]:
    """Return which components were the same in all replicates, where nothing else speaks for them."""
    if len(e.values) < 2 or _is_backed(look):
        return []
    names, count = [], 0
    for part in e.parts():
        same = np.flatnonzero(is_constant(part.mean, part.stderr))
        count += len(same)
        names += [part.components[i] for i in same[:1].tolist()]
    if not count:
        return []
    more = f" and {count - 1:,} more" if count > 1 else ""
    text = f"All replicates gave the same value of {names[0]}{more}: the error is unknown, not zero."
    return [Finding(DOUBT, "No spread", text, "Compare with another init and another seed.")]


def _stopped(e: Replicates) -> str:
    """Return what is to be said of a run that stopped at a given precision."""
    if "precision" not in e.made_by:
        return ""
    return ", but for the little that stopping at a given precision leaves: less than a tenth of a standard error"


def _chains(e: Replicates, late: np.ndarray, trusted: bool) -> list[Finding]:
    """Return whether chains are long enough; one thing at a time, because a longer burn-in changes the rest."""
    if e.censored:
        return []
    found = _burn_in(e, late, trusted)
    return [found] if found.is_warning else [found, *_horizon(e)]


def _burn_in(e: Replicates, late: np.ndarray, trusted: bool) -> Finding:
    burn_in = e.made_by["settings"]["burn_in"]
    text = (
        f"After the burn-in of {burn_in} sweeps {100 * late.mean():.3g} % of the replicates still needed a correction"
    )
    distance = late.mean()
    if e.completed is None:  # under a deadline not every pair is known
        bound = tv_bound(e, burn_in)
        distance = bound.value[0]
        if distance < 1.0 and trusted:
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
    if share >= AVERAGED or e.completed is not None or is_variance(e):
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
    if len(e.values) < FEWEST_FOR_INTERVAL:
        text = (
            f"There are only {len(e.values)} replicates. The standard error is rough, and there is no interval: from "
            "so few it may miss far more often than it says."
        )
        found.append(Finding(CAUTION, "Few replicates", text, f"Run at least {FEWEST_FOR_INTERVAL} replicates."))
    precision = e.made_by.get("precision", {"reached": True})
    if not precision["reached"] and precision.get("by_default"):
        text = (
            f"Where nothing else is asked for, a run stops at {len(e.values):,} replicates at the latest; not all "
            f"standard errors are at most {precision['target_stderr']:g} (of probabilities and shares) or "
            f"{100 * precision['target_relative']:g} % (of all else). Ask for replicates or target_stderr where they "
            "should be smaller."
        )
        found.append(Finding(GOOD, "Precision", text))
    elif not precision["reached"]:
        text = "The precision that was asked for was not reached with as many replicates as there may be."
        found.append(Finding(CAUTION, "Precision not reached", text, "Raise replicates."))
    return found


def _no_answer(clusters: Sequence[Consensus]) -> list[Finding]:
    return [
        Finding(
            OPEN,
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
