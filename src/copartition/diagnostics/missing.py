"""What a cap leaves out of an estimate.

With lag L and a cap of T sweeps, the correction has the differences h(X_t) - h(Y_(t - L)) up to t = T. The two chains
have the same distribution, so in expectation these telescope: the truncated estimate has the expectation of h after T -
L + 1 to T sweeps of an ordinary chain. That is what it is an unbiased estimate of, and its bias is that of a chain so
long.

How far that is from the target nobody knows from pairs that did not meet. But how fast it still changes is known: L
sweeps more would add differences that are 0 unless the pair is apart at time T, so they would move the expectation by
at most P(tau > T) times the range of h. This is a bound on the next step, not on all steps to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from copartition.diagnostics.efficiency import is_variance
from copartition.results import Replicates

SHARES = ("co_clustering", "largest_clusters", "memberships", "cluster_similarity")  # of which values are in 0..1


@dataclass(frozen=True)
class Missing:
    """What a cap leaves out.

    Attributes
    ----------
    first, last : int
        The truncated estimate has the expectation of an ordinary chain after so many sweeps.
    lag : int
    probability : float
        Upper 95 % confidence bound for the probability that a pair does not meet before the cap.
    step : float64 array (components)
        `lag` sweeps more would change the expectation by at most this: the probability times the range of the
        functional. **Not a bound on the whole bias**: there is none where pairs do not meet.
    is_bound : bool array (components)
        Whether the range is known. Elsewhere it is the range of the ordinary averages that were seen, and `step` is
        no bound but an indication.
    components : sequence of str
    """

    first: int
    last: int
    lag: int
    probability: float
    step: np.ndarray
    is_bound: np.ndarray
    components: Sequence[str] = field(repr=False)

    @property
    def sentence(self) -> str:
        """What is missing, in words."""
        of_what = f"The truncated estimate is what ordinary chains give after {self.first} to {self.last} sweeps"
        if self.probability >= 1.0:
            return f"{of_what}; as no pair met, nothing is known of how it would change with more"
        return (
            f"{of_what}; {self.lag} sweeps more would change a probability by at most {self.probability:.2g} (with "
            "95 % confidence), and how much all further ones would change it cannot be known from these pairs"
        )

    def __str__(self) -> str:
        width = max(len(name) for name in self.components)
        lines = [f"{self.sentence}.", f"{'':{width}}  {self.lag} sweeps more change it by at most"]
        lines += [
            f"{name:{width}}  {step:.3g}{'' if is_bound else ' (from the range that was seen: no bound)'}"
            for name, step, is_bound in zip(self.components, self.step, self.is_bound, strict=True)
        ]
        return "\n".join(lines)


def missing_of(e: Replicates) -> Missing | None:
    """Return what the cap of an estimate leaves out; None if all pairs met, and of an asymptotic variance."""
    if not e.censored or is_variance(e):
        return None
    cap, p = int(e.meeting_times[~e.met].max()), e.censored_bound()
    steps, bounds = [], []
    for part in e.parts():
        size = len(part.components)
        name = part.functionals[0]["name"].partition("(")[0]
        is_share = name in SHARES or part.components[0].startswith("P(")
        seen = np.full(size, np.nan)
        if part.ordinary_values is not None and not part.streamed:
            seen = np.ptp(part.ordinary_values, axis=0)
        steps.append(p * (np.ones(size) if is_share else seen))
        bounds.append(np.full(size, is_share))
    return Missing(cap - e.lag + 1, cap, e.lag, p, np.concatenate(steps), np.concatenate(bounds), e.components)
