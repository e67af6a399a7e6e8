"""What pairs that did not meet tell: why they did not, and what a cap leaves out of an estimate.

Their chains are in different modes, or agree and are only slow to become equal. The two are different problems. Chains
in different modes do not mix: no average of theirs can be trusted, and waiting does not help. Chains that visit the
same partitions and do not meet are well, and so are their averages; it is the coupling that wants time.

The rule. Both chains of a pair that did not meet run on for 100 sweeps, each alone, and are looked at every 5. How a
chain varies by itself is the measure. A pair is *in different modes* if any of these holds:

- **log density**: the means of the two chains differ by more than 3 times their pooled standard deviation and by more
  than 1, and no value of one chain lies in the range of the other;
- **number of clusters**: the same;
- **co-clustering**: partitions of x and of y that are 50 sweeps apart or more have an adjusted Rand index that is lower
  by more than 0.1, on average, than that of partitions of one chain that are as far apart.

A run's chains are in different modes if a quarter of the pairs that were looked at are, and agree otherwise. The rule
was fixed before it was tried; docs/pairs-do-not-meet.md says where it fails.

What is missing. With lag L and a cap of T sweeps, the correction has the differences h(X_t) - h(Y_(t - L)) up to t = T.
The two chains have the same distribution, so in expectation these telescope: the truncated estimate has the expectation
of h after T - L + 1 to T sweeps of an ordinary chain. That is what it is an unbiased estimate of, and its bias is that
of a chain so long.

How far that is from the target nobody knows from pairs that did not meet. But how fast it still changes is known: L
sweeps more would add differences that are 0 unless the pair is apart at time T, so they would move the expectation by
at most P(tau > T) times the range of h. This is a bound on the next step, not on all steps to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from copartition.diagnostics.efficiency import is_variance
from copartition.diagnostics.search import from_draws
from copartition.results import Course, Replicates

SPREADS = 3.0  # pooled standard deviations between the means of two chains
LEAST = 1.0  # log units, or clusters, between them
GAP = 0.1  # in the adjusted Rand index
SHARE = 0.25  # of the pairs

MODES, SLOW = "chains are in different modes", "chains agree, the coupling is slow"


@dataclass(frozen=True)
class Agreement:
    """How far chains that did not meet agree.

    Attributes
    ----------
    indices : int64 array (pairs)
        The replicates that were looked at: the first twenty, at most, that did not meet.
    distances : int64 array (pairs)
        Hamming distance of the two chains at the cap.
    log_density, n_clusters : float64 arrays (pairs, 2)
        Means over the 100 sweeps after the cap of either chain. Log densities are up to a constant; NaN where the
        target has none that can be computed.
    log_density_sd, n_clusters_sd : float64 arrays (pairs)
        Pooled standard deviations within the two chains.
    rand_between, rand_within : float64 arrays (pairs)
        Adjusted Rand index of partitions of the two chains, and of partitions of one chain as far apart in time.
    differs : bool array (pairs, 3)
        Whether log density, number of clusters and co-clustering differ, by the rule above.
    """

    indices: np.ndarray
    distances: np.ndarray
    log_density: np.ndarray
    n_clusters: np.ndarray
    log_density_sd: np.ndarray
    n_clusters_sd: np.ndarray
    rand_between: np.ndarray
    rand_within: np.ndarray
    differs: np.ndarray
    _halves: tuple[np.ndarray, np.ndarray] = field(repr=False)

    @property
    def apart(self) -> int:
        """Number of pairs whose chains are in different modes."""
        return int(self.differs.any(axis=1).sum())

    @property
    def verdict(self) -> str:
        """``"chains are in different modes"`` or ``"chains agree, the coupling is slow"``."""
        return MODES if self.apart >= SHARE * len(self.indices) else SLOW

    @cached_property
    def rand_of_halves(self) -> float:
        """Adjusted Rand index of the consensus of one half of the chains and that of the other."""
        first, second = (from_draws(draws, "vi", starts=1, most=1)[0][0] for draws in self._halves)
        return adjusted_rand(first, second)

    @property
    def sentence(self) -> str:
        """What was seen, in words."""
        gap = np.abs(np.diff(self.log_density, axis=1)[:, 0])
        clusters = self.n_clusters.min(), self.n_clusters.max()
        parts = [
            f"the clusters of either chain number {clusters[0]:.1f} to {clusters[1]:.1f}",
            f"the adjusted Rand index is {self.rand_between.mean():.2f} between the chains of a pair and "
            f"{self.rand_within.mean():.2f} within a chain",
        ]
        if np.isfinite(gap).all():
            parts.insert(
                0,
                f"log densities differ by {np.median(gap):.1f} within a pair (median; a chain by itself varies by "
                f"{np.median(self.log_density_sd):.1f})",
            )
        return f"Of {len(self.indices)} pairs that were run on, {self.apart} are in different modes: " + ", ".join(
            parts
        )

    def __str__(self) -> str:
        lines = [f"{self.verdict}. {self.sentence}."]
        lines.append(f"Consensus of one half of the chains and of the other: adjusted Rand {self.rand_of_halves:.2f}.")
        lines.append(f"{'pair':>6}  {'log density':>21}  {'sd':>6}  {'clusters':>13}  {'Rand':>5}  within  differs in")
        names = ("log density", "clusters", "co-clustering")
        for i, number in enumerate(self.indices):
            (a, b), (c, d) = self.log_density[i], self.n_clusters[i]
            what = ", ".join(name for name, is_so in zip(names, self.differs[i], strict=True) if is_so)
            lines.append(
                f"{number:6d}  {a:10.1f} {b:10.1f}  {self.log_density_sd[i]:6.2g}  {c:6.1f} {d:6.1f}  "
                f"{self.rand_between[i]:5.2f}  {self.rand_within[i]:6.2f}  {what or '-'}"
            )
        return "\n".join(lines)


def agreement_of(e: Replicates) -> Agreement | None:
    """Return how far chains that did not meet agree; None where none were looked at."""
    pairs = [one for one in e.unmet if one.course is not None]
    if not pairs:
        return None
    courses = [one.course for one in pairs if one.course is not None]
    gaps = np.array([_rand(course) for course in courses])
    density, density_sd, density_differs = _compared([course.log_density for course in courses])
    clusters, clusters_sd, clusters_differ = _compared([course.n_clusters for course in courses])
    last = np.array([course.labels[:, -1] for course in courses])
    halves = (last[0, :1], last[0, 1:]) if len(last) == 1 else tuple(_flat(last[begin::2]) for begin in (0, 1))
    return Agreement(
        indices=np.array([one.number for one in pairs]),
        distances=np.array([one.distance for one in pairs]),
        log_density=density,
        n_clusters=clusters,
        log_density_sd=density_sd,
        n_clusters_sd=clusters_sd,
        rand_between=gaps[:, 0],
        rand_within=gaps[:, 1],
        differs=np.column_stack([density_differs, clusters_differ, gaps[:, 1] - gaps[:, 0] > GAP]),
        _halves=(halves[0], halves[1]),
    )


def _flat(labels: np.ndarray) -> np.ndarray:
    """Return the partitions of both chains of some pairs, one after another."""
    return labels.reshape(-1, labels.shape[-1])


def _compared(courses: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means of either chain, pooled standard deviations, and whether the chains differ by the rule."""
    values = np.array(courses, dtype=float)  # pairs, 2, records
    mean, sd = values.mean(axis=2), np.sqrt(values.var(axis=2, ddof=1).mean(axis=1))
    gap = np.abs(mean[:, 0] - mean[:, 1])
    low, high = values.min(axis=2), values.max(axis=2)
    is_clear = (high[:, 0] < low[:, 1]) | (high[:, 1] < low[:, 0])
    return mean, sd, is_clear & (gap > SPREADS * sd) & (gap > LEAST)


def _rand(course: Course) -> tuple[float, float]:
    """Return the mean adjusted Rand index between the two chains, and within a chain, half a course apart."""
    x, y = course.labels
    half = len(x) // 2
    between = [adjusted_rand(a[t], b[t + half]) for a, b in ((x, y), (y, x)) for t in range(half)]
    within = [adjusted_rand(a[t], a[t + half]) for a in (x, y) for t in range(half)]
    return float(np.mean(between)), float(np.mean(within))


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions: 1 if they are equal, about 0 if they have nothing in common.

    Examples
    --------
    >>> import numpy as np
    >>> from copartition.diagnostics.agreement import adjusted_rand
    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 2, 2]))
    1.0
    """
    _, first = np.unique(a, return_inverse=True)
    _, second = np.unique(b, return_inverse=True)
    width = int(second.max(initial=-1)) + 1
    cells, rows, columns = (
        _pairs(np.bincount(one)) for one in (first.astype(np.int64) * width + second, first, second)
    )
    expected = rows * columns / max(1.0, len(a) * (len(a) - 1) / 2)
    most = (rows + columns) / 2
    return 1.0 if most == expected else float((cells - expected) / (most - expected))


def _pairs(counts: np.ndarray) -> float:
    return float(np.sum(counts * (counts - 1.0)) / 2)


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
        known, wide = part.functionals[0].get("range"), np.full(size, np.nan)
        if known is not None:
            wide = np.full(size, known[1] - known[0])
        elif part.ordinary_values is not None and not part.streamed:
            wide = np.ptp(part.ordinary_values, axis=0)
        steps.append(p * wide)
        bounds.append(np.full(size, known is not None))
    return Missing(cap - e.lag + 1, cap, e.lag, p, np.concatenate(steps), np.concatenate(bounds), e.components)
