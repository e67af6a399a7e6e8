"""Do chains from different starts agree with each other, and with the answer of a run?

Pairs of chains that all begin at one place, and do not leave it, meet at once and say nothing about the posterior. So a
few ordinary chains begin elsewhere, and their second halves are compared.

**The rule.** The second half of every chain is cut into four batches. Batches of one chain differ by chance alone if
the chain mixes; from that follows by how much the means of chains should differ. Two things are looked at: the answer
itself (every functional whose values are kept) and which points are together (all pairs of up to a hundred points).
Starts *disagree* if, in either of these, the means of chains

- differ from each other, or in the answer from the estimate, by more than chance makes of it once in 1 /
  `FALSE_ALARM` runs: variances, averaged over components, are compared by the distribution of F; chance is never taken
  to be less than what the spread of the replicates makes of it; and
- by enough to matter: `MATTERS` times the size of the answer, or `MATTERS_TOGETHER` in how often points are together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copartition.diagnostics.findings import DOUBT, GOOD, Finding

BATCHES = 4  # of the second half of a chain
FALSE_ALARM = 1e-4
MATTERS = 0.05
MATTERS_TOGETHER = 0.035


@dataclass(frozen=True)
class Answer:
    """What a run says of one functional.

    Attributes
    ----------
    components : list of str
    mean, stderr : float64 arrays
    chance : float64 array
        The variance that the mean of one of the chains should have, by the spread of the replicates.
    """

    components: list[str]
    mean: np.ndarray
    stderr: np.ndarray
    chance: np.ndarray


def finding_on_starts(
    starts: list[str], sweeps: int, answers: list[Answer], seen: list[np.ndarray], together: np.ndarray
) -> Finding:
    """Return whether chains from different starts agree, and what to do if not.

    Parameters
    ----------
    starts : list of str
        Where each chain began.
    sweeps : int
        Their length.
    answers : list of Answer
    seen : list of arrays (chains, batches, components)
        Of each answer, what the batches of every chain say.
    together : array (chains, batches, pairs)
        How often points are together.
    """
    for answer, batches in zip(answers, seen, strict=True):
        if _disagree(batches, MATTERS * _size(answer.mean), answer):
            return _disagreement(starts, sweeps, _worst(answer, batches))
    if _disagree(together, MATTERS_TOGETHER):
        means = together.mean(axis=1)
        gap = float(np.abs(means - means.mean(axis=0)).max())
        return _disagreement(starts, sweeps, f"they differ by up to {gap:.2g} on how often two points are together")
    names = ", ".join(dict.fromkeys(starts))
    text = f"{len(starts)} chains of {sweeps:,} sweeps from other starts ({names}) and other seeds agree with this run."
    return Finding(GOOD, "Other starts", text)


def _disagreement(starts: list[str], sweeps: int, what: str) -> Finding:
    text = (
        f"{len(starts)} chains of {sweeps:,} sweeps, from other starts and with other seeds, do not agree: {what}. So "
        "this answer may depend on where its chains started."
    )
    advice = (
        "Let copartition choose the settings (settings='auto', --tune), or take more split_merge moves and a larger "
        "burn_in, lag and min_sweeps; then compare with another init and another seed."
    )
    return Finding(DOUBT, "Starts disagree", text, advice)


def _size(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _chance(batches: np.ndarray) -> np.ndarray:
    """Return the variance that the mean of a chain should have, by the differences between its batches."""
    return batches.var(axis=1, ddof=1).mean(axis=0) / batches.shape[1]


def _disagree(batches: np.ndarray, matters: float, answer: Answer | None = None) -> bool:
    """Tell whether chains disagree with each other, or with an answer."""
    from scipy.special import fdtri

    if batches.shape[2] == 0:
        return False
    means, chance = batches.mean(axis=1), _chance(batches)
    if answer is not None:
        chance = np.maximum(chance, answer.chance)
    count, freedom = len(means), len(means) * (batches.shape[1] - 1)
    between = means.var(axis=0, ddof=1).mean()
    if between > matters**2 and between > fdtri(count - 1, freedom, 1.0 - FALSE_ALARM) * chance.mean():
        return True
    if answer is None:
        return False
    across = np.mean((means.mean(axis=0) - answer.mean) ** 2)
    allowed = np.mean(chance / count + answer.stderr**2)
    return bool(across > matters**2 and across > fdtri(1, freedom, 1.0 - FALSE_ALARM) * allowed)


def _worst(answer: Answer, batches: np.ndarray) -> str:
    """Return what chains say of the component on which they differ most."""
    means = batches.mean(axis=1)
    worst = int(np.argmax(np.abs(means - answer.mean).max(axis=0)))
    told = ", ".join(f"{value:.3g}" for value in means[:, worst])
    return f"{answer.components[worst]} is {answer.mean[worst]:.3g} in this run and {told} in theirs"
