"""What may be claimed of a clustering, and why.

**The rule.** Chains from different starts are compared with each other, and with pairs if there are any, in how often
points are together (`copartition.diagnostics.checks`).

- *unbiased*: all pairs of coupled chains met, 16 replicates at least, and chains from other starts agree with them;
- *approximate*: not so, but chains from different starts agree;
- *unsettled*: chains, or chains and pairs, disagree; or two pairs or more of a dozen have not met and stay as far apart
  as no chain gets from itself: by twice the mean distance of clusterings of one chain, and 2 % of all pairs of rows.

A chain that is still on its way is left out if three others are there: its log density is lower by more than 30, and
five standard deviations along a chain. The answer then says so.
"""

from __future__ import annotations

from typing import NamedTuple

GRADES = ("unbiased", "approximate", "unsettled")


class Grade(NamedTuple):
    """What may be claimed of an answer.

    Attributes
    ----------
    name : str
        One of `GRADES`.
    reason : str
        A sentence or two: why, what it means, and what would help.
    """

    name: str
    reason: str


def grade_of(n_chains: int, steps: int, disagreement: str, n_pairs: int, why_not: str) -> Grade:
    """Return the grade of an answer.

    Parameters
    ----------
    n_chains, steps : int
        Ordinary chains, and how long they are.
    disagreement : str
        What chains disagree on, a sentence; empty if they agree.
    n_pairs : int
        Replicates from pairs; 0 if these are no part of the answer.
    why_not : str
        Why there are none.
    """
    if disagreement:
        return Grade(
            "unsettled",
            f"{disagreement} Take these clusters as one of several possible answers, and look at alternatives(). More "
            "effort, a simpler component or fewer columns may settle it.",
        )
    if n_pairs:
        return Grade(
            "unbiased",
            f"All {n_pairs} pairs of coupled chains met, so no bias is left from stopping chains too soon, and the "
            "standard errors are the whole Monte Carlo error. Chains from other starts agree.",
        )
    return Grade(
        "approximate",
        f"{n_chains} chains of {steps:,} steps from different starts agree. But {why_not}, so that a bias that all "
        "chains share cannot be excluded. Standard errors are the differences between chains. Raise effort for more.",
    )
