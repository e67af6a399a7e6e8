"""Do chains from different starts agree with each other, and with the answer of a run?

Pairs of chains that all begin at one place, and do not leave it, meet at once and say nothing about the posterior. So a
few ordinary chains begin elsewhere, and their second halves are compared.

**The rule.** The second half of every chain is cut into four batches. Batches of one chain differ by chance alone if
the chain mixes; from that follows by how much the means of chains should differ. Two things are looked at: the answer
itself (every functional whose values are kept) and which points are together (all pairs of up to a hundred points).
Starts *disagree* if, in either of these, the means of chains

- differ from each other, or in the answer from the estimate, by more than chance makes of it once in 1 /
  `FALSE_ALARM` runs, by the distribution of F; chance is never taken to be less than what the spread of the replicates
  makes of it; and
- by enough to matter: `MATTERS` standard deviations along a chain or between replicates, each component by itself;
  of probabilities and shares, which are taken together, a root mean square of `SHARE_MATTERS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copartition.diagnostics.findings import DOUBT, GOOD, Finding

BATCHES = 4  # of the second half of a chain
FALSE_ALARM = 1e-4
MATTERS = 0.5
SHARE_MATTERS = 0.035
NEGLIGIBLE = 1e-9  # relative to a mean, which matters never


@dataclass(frozen=True)
class Answer:
    """What a run says of one functional.

    Attributes
    ----------
    components : list of str
    mean, stderr : float64 arrays
    sd : float64 array
        Between replicates.
    chance : float64 array
        The variance that the mean of one of the chains should have, by the spread of the replicates.
    are_shares : bool
        Whether these are probabilities or shares.
    """

    components: list[str]
    mean: np.ndarray
    stderr: np.ndarray
    sd: np.ndarray
    chance: np.ndarray
    are_shares: bool = False


def finding_on_starts(
    starts: list[str], sweeps: int, answers: list[Answer], draws: list[np.ndarray], together: np.ndarray
) -> Finding:
    """Return whether chains from different starts agree, and what to do if not.

    Parameters
    ----------
    starts : list of str
        Where each chain began.
    sweeps : int
        Their length.
    answers : list of Answer
    draws : list of arrays (chains, batches, draws, components)
        Of each answer, its values along every chain.
    together : array (chains, batches, pairs)
        How often points are together.
    """
    for answer, values in zip(answers, draws, strict=True):
        if _disagree(values.mean(axis=2), _matters(answer, values), answer):
            return _disagreement(starts, sweeps, _worst(answer, values.mean(axis=2)))
    if _disagree(together, SHARE_MATTERS):
        means = together.mean(axis=1)
        gap = float(np.abs(means - means.mean(axis=0)).max())
        return _disagreement(starts, sweeps, f"they differ by up to {gap:.2g} on how often two points are together")
    names = ", ".join(dict.fromkeys(starts))
    text = f"{len(starts)} chains of {sweeps:,} sweeps from other starts ({names}) and other seeds agree with this run."
    return Finding(GOOD, "Other starts", text)


def gap_between(together: np.ndarray) -> float:
    """Return how far chains are apart in how often points are together; 0 where they agree, by the rule above.

    Parameters
    ----------
    together : array (chains, batches, pairs)
    """
    if not _disagree(together, SHARE_MATTERS):
        return 0.0
    return float(np.sqrt(together.mean(axis=1).var(axis=0, ddof=1).mean()))


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


def _matters(answer: Answer, values: np.ndarray) -> np.ndarray | float:
    """Return from what difference on it matters: in every component, or of shares for all together."""
    if answer.are_shares:
        return SHARE_MATTERS
    along = np.sqrt(values.var(axis=(1, 2)).mean(axis=0))
    return np.maximum(MATTERS * np.maximum(along, answer.sd), NEGLIGIBLE * (1.0 + np.abs(answer.mean)))


def _disagree(batches: np.ndarray, matters: np.ndarray | float, answer: Answer | None = None) -> bool:
    """Tell whether chains disagree with each other, or with an answer."""
    from scipy.special import fdtri

    count, n_batches, width = batches.shape
    if width == 0:
        return False
    means = batches.mean(axis=1)
    chance = batches.var(axis=1, ddof=1).mean(axis=0) / n_batches  # the variance that the mean of a chain should have
    if answer is not None:
        chance = np.maximum(chance, answer.chance)
    each = np.ndim(matters) > 0
    sure = 1.0 - FALSE_ALARM / (width if each else 1)

    def is_beyond(squares: np.ndarray, allowed: np.ndarray, freedom: int) -> bool:
        squares, allowed = (squares, allowed) if each else (squares.mean(), allowed.mean())
        limit = fdtri(freedom, count * (n_batches - 1), sure)
        return bool(np.any((squares > np.square(matters)) & (squares > limit * allowed)))

    if is_beyond(means.var(axis=0, ddof=1), chance, count - 1):
        return True
    if answer is None:
        return False
    return is_beyond((means.mean(axis=0) - answer.mean) ** 2, chance / count + answer.stderr**2, 1)


def _worst(answer: Answer, batches: np.ndarray) -> str:
    """Return what chains say of the component on which they differ most."""
    means = batches.mean(axis=1)
    gaps = np.abs(means - answer.mean).max(axis=0)
    worst = int(np.argmax(gaps if answer.are_shares else gaps / np.maximum(answer.sd, NEGLIGIBLE * (1.0 + gaps))))
    told = ", ".join(f"{value:.3g}" for value in means[:, worst])
    return f"{answer.components[worst]} is {answer.mean[worst]:.3g} in this run and {told} in theirs"
