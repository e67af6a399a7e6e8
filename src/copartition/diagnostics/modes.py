"""The result of a look for hidden modes: where ordinary chains live, where tempered ones do, and whether that differs.

**The rule.** Of every chain the second half counts. Two chains differ by a *gap*: of their mean log densities, and of
their co-clustering (the mean absolute difference of how often two points are together). The two halves of what counts
of one chain differ too, by chance alone if it mixes. Chains are *apart*, in either of the two, if the mean gap between
them

- is more than `BEYOND_CHANCE` times the mean gap between halves of a chain (chains that mix: 0.7 times, because halves
  are shorter), and
- is large enough to matter: more than `MATTERS` standard deviations of the log density along a chain; more than
  `MATTERS_TOGETHER` in co-clustering.

Where hyperparameters are unknown, the log density of a partition given these goes up and down with them, slowly, and
only co-clustering counts.

From this, in this order:

1. Tempered chains agree with each other, from four different starts, so they have found where the probability is; and
   ordinary chains are apart from them: ``"hidden"``.
2. Ordinary chains are apart from each other: ``"apart"``. At most some of them can be right.
3. Tempered chains are apart from each other, and the best of them has a mean log density that matters above that of
   every ordinary chain: ``"hidden"``.
4. Tempered chains are apart from each other, and that is all: ``"unsettled"``. The look was too short to tell.
5. Otherwise ``"none"``: nothing is hidden, as far as tempering can see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from copartition.diagnostics.findings import CAUTION, DOUBT, GOOD, Finding
from copartition.display import Displayed

BEYOND_CHANCE = 1.1
MATTERS = 0.7
MATTERS_TOGETHER = 0.035

HIDDEN, APART, UNSETTLED, NONE = "hidden", "apart", "unsettled", "none"


class Seen(NamedTuple):
    """What was seen of some chains, at evenly spaced times, burn-in left out.

    Attributes
    ----------
    log_density, n_clusters : float64 arrays (chains, times)
    members : int array (chains, times, points)
        Labels of some points.
    """

    log_density: np.ndarray
    n_clusters: np.ndarray
    members: np.ndarray


@dataclass(frozen=True)
class Gaps:
    """How far chains are from each other in something, on average over pairs of chains.

    Attributes
    ----------
    ordinary, tempered : float
        Chains of a kind.
    across : float
        An ordinary chain and a tempered one.
    halves_of_ordinary, halves_of_tempered : float
        The two halves of a chain: what chance alone does.
    matters : float
        A gap below this does not matter.
    """

    ordinary: float
    tempered: float
    across: float
    halves_of_ordinary: float
    halves_of_tempered: float
    matters: float

    @property
    def ordinary_apart(self) -> bool:
        """Whether ordinary chains are apart from each other."""
        return self._is_apart(self.ordinary, self.halves_of_ordinary)

    @property
    def tempered_apart(self) -> bool:
        """Whether tempered chains are apart from each other."""
        return self._is_apart(self.tempered, self.halves_of_tempered)

    @property
    def groups_apart(self) -> bool:
        """Whether ordinary chains are apart from tempered ones."""
        return self._is_apart(self.across, max(self.halves_of_ordinary, self.halves_of_tempered))

    def _is_apart(self, gap: float, halves: float) -> bool:
        return gap > self.matters and gap > BEYOND_CHANCE * halves


@dataclass(frozen=True, repr=False)
class Modes(Displayed):
    """The result of a look for hidden modes; see `copartition.find_modes`.

    Attributes
    ----------
    verdict : str
        ``"hidden"``: tempered chains live where ordinary ones do not get to. ``"apart"``: ordinary chains are in
        different modes. ``"unsettled"``: tempered chains do not agree, so it is not known. ``"none"``: nothing found.
    ordinary_log_densities, tempered_log_densities : float64 arrays (chains, times)
        The log posterior density along the second half of every chain, up to a constant: see
        `copartition.kernels.log_density`.
    ordinary_n_clusters, tempered_n_clusters : float64 arrays (chains, times)
    starts : list of str
        Where the tempered chains started.
    log_density_gaps, co_clustering_gaps : Gaps
        How far chains are apart.
    best : int64 array
        The partition of the largest density that any chain saw, for ``init=modes.best``.
    best_log_density : float
    ordinary_best_log_density : float
        The largest density that an ordinary chain saw.
    ladder : float64 array
        The powers of tempering, from 1 down.
    swap_rates : float64 array
        How often neighbours on the ladder exchanged their partitions.
    sweeps : int
        Sweeps of all chains together: the cost.
    seconds : float
        CPU seconds.
    seed : int

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> modes = cp.find_modes(posterior, seed=1)
    >>> modes.verdict
    'none'
    >>> modes.best
    array([0, 0, 1])
    """

    verdict: str
    ordinary_log_densities: np.ndarray
    tempered_log_densities: np.ndarray
    ordinary_n_clusters: np.ndarray
    tempered_n_clusters: np.ndarray
    starts: list[str]
    log_density_gaps: Gaps
    co_clustering_gaps: Gaps
    best: np.ndarray
    best_log_density: float
    ordinary_best_log_density: float
    ladder: np.ndarray
    swap_rates: np.ndarray
    sweeps: int
    seconds: float
    seed: int

    @property
    def is_hidden(self) -> bool:
        """Whether chains of a run like this one live in a mode that is not the main one, all of them or some."""
        return self.verdict in (HIDDEN, APART)

    @property
    def is_settled(self) -> bool:
        """Whether tempered chains agree with each other, and so are likely to know where the probability is."""
        return not (self.log_density_gaps.tempered_apart or self.co_clustering_gaps.tempered_apart)

    @property
    def finding(self) -> Finding:
        """The verdict in words, with what to change."""
        ordinary, tempered = (_describe(*one) for one in self._groups().values())
        gap = f"their co-clustering differs by {self.co_clustering_gaps.across:.3f}"
        chance = f"chance makes {self._by_chance():.3f}"
        if self.verdict == HIDDEN:
            which = "that holds most of the probability" if self.is_settled else "of higher density that others found"
            text = (
                f"Chains like those of this run never saw a mode {which}, or seldom: they have {ordinary}, tempered "
                f"chains {tempered}; {gap}, of which {chance}."
            )
            return Finding(DOUBT, "Hidden mode", text, self._advice())
        if self.verdict == APART:
            text = (
                "Chains like those of this run sit in different modes: their mean log densities are from "
                f"{self.ordinary_log_densities.mean(axis=1).min():.1f} to "
                f"{self.ordinary_log_densities.mean(axis=1).max():.1f}, and their co-clustering differs by "
                f"{self.co_clustering_gaps.ordinary:.3f} from chain to chain, of which {chance}."
            )
            return Finding(DOUBT, "Different modes", text, self._advice())
        if self.verdict == UNSETTLED:
            text = (
                "Even tempered chains from different starts do not agree, so that it is not known where most of the "
                f"probability is: their co-clustering differs by {self.co_clustering_gaps.tempered:.3f} from chain to "
                f"chain, of which {chance}."
            )
            return Finding(CAUTION, "Modes unsettled", text, "Look longer: find_modes with more sweeps.")
        text = (
            "Tempered chains from different starts live where chains like those of this run do: "
            f"{tempered} against {ordinary}."
        )
        return Finding(GOOD, "Modes", text)

    def _advice(self) -> str:
        better = self.best_log_density - self.ordinary_best_log_density
        start = f" (log density {better:.1f} above the best of ordinary chains)" if better > 0.05 else ""
        return (
            f"Start chains from the best partition found, init=modes.best{start}, with another seed and more "
            "split-merge moves (split_merge), and compare; or change the prior: fewer columns, or a stronger prior, "
            "have fewer modes."
        )

    def _by_chance(self) -> float:
        return max(self.co_clustering_gaps.halves_of_ordinary, self.co_clustering_gaps.halves_of_tempered)

    def _groups(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return {
            "ordinary": (self.ordinary_log_densities, self.ordinary_n_clusters),
            "tempered": (self.tempered_log_densities, self.tempered_n_clusters),
        }

    def summary(self) -> str:
        """Return what was found, and what it was found from."""
        lines = [str(self.finding), ""]
        for name, (densities, counts) in self._groups().items():
            means = " ".join(f"{mean:.1f}" for mean in densities.mean(axis=1))
            lines.append(f"{name} chains: {_describe(densities, counts)}; mean log density of each: {means}")
        d, c = self.log_density_gaps, self.co_clustering_gaps
        lines += [
            "",
            "gaps between chains           log density  co-clustering",
            f"ordinary and ordinary         {d.ordinary:11.2f}  {c.ordinary:13.4f}",
            f"tempered and tempered         {d.tempered:11.2f}  {c.tempered:13.4f}",
            f"ordinary and tempered         {d.across:11.2f}  {c.across:13.4f}",
            f"halves of an ordinary chain   {d.halves_of_ordinary:11.2f}  {c.halves_of_ordinary:13.4f}",
            f"halves of a tempered chain    {d.halves_of_tempered:11.2f}  {c.halves_of_tempered:13.4f}",
            f"a gap matters from            {d.matters:11.2f}  {c.matters:13.4f}",
            "",
            f"best partition: {self.best.max() + 1} clusters, log density {self.best_log_density:.1f} "
            f"(ordinary chains: {self.ordinary_best_log_density:.1f})",
            f"powers: {' '.join(f'{beta:.2f}' for beta in self.ladder)}; "
            f"swaps: {' '.join(f'{rate:.2f}' for rate in self.swap_rates)}",
            f"cost: {self.sweeps} sweeps, {self.seconds:.2f} CPU seconds",
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        ordinary, tempered = len(self.ordinary_log_densities), len(self.starts)
        return f"<Modes: {self.verdict}, by {ordinary} ordinary and {tempered} tempered chains>"

    def __str__(self) -> str:
        return self.summary()


def _describe(densities: np.ndarray, counts: np.ndarray) -> str:
    return f"log density {densities.mean():.1f} and {counts.mean():.1f} clusters on average"


# --- the rule --------------------------------------------------------------------------------------------------------


def log_density_gaps(ordinary: Seen, tempered: Seen) -> Gaps:
    """Return how far chains are apart in their mean log density."""
    sd = float(np.sqrt(np.mean([seen.log_density.var(axis=1).mean() for seen in (ordinary, tempered)])))
    return _gaps(ordinary, tempered, lambda seen: seen.log_density.mean(axis=1)[:, None], MATTERS * sd)


FAR, FAR_SDS = 30.0, 5.0  # by which a chain that has not arrived is lower, and in standard deviations along a chain


def not_arrived(log_densities: np.ndarray, others: np.ndarray | None = None) -> np.ndarray:
    """Tell which chains are at log densities that are lower by far than those of others, so that they are on their way.

    Parameters
    ----------
    log_densities : array (chains, times)
    others : array (chains, times), optional
        Of the others, whose median counts; left out, the highest of all chains does.
    """
    mean = log_densities.mean(axis=1)
    spread = np.median(np.concatenate([x.std(axis=1, ddof=1) for x in (log_densities, others) if x is not None]))
    level = mean.max() if others is None else np.median(others.mean(axis=1))
    return np.asarray(mean <= level - FAR - FAR_SDS * spread)


def co_clustering_gaps(ordinary: Seen, tempered: Seen) -> Gaps:
    """Return how far chains are apart in how often two points are together, on average over pairs of points."""
    return _gaps(ordinary, tempered, lambda seen: shares_together(seen.members), MATTERS_TOGETHER)


def shares_together(members: np.ndarray) -> np.ndarray:
    """Return how often two points are together, a row of all pairs for each chain (chains, times, points)."""
    n_chains, times, n_points = members.shape
    pairs = np.triu_indices(n_points, 1)
    shares = np.zeros((n_chains, len(pairs[0])))
    clusters = np.arange(members.max() + 1)
    for row, of_chain in zip(shares, members, strict=True):
        belongs = (of_chain.T[:, :, None] == clusters).reshape(n_points, -1).astype(np.float32)
        row[:] = (belongs @ belongs.T)[pairs]  # whole numbers, far below those that are rounded
    return shares / times


def _gaps(ordinary: Seen, tempered: Seen, average: Callable[[Seen], np.ndarray], matters: float) -> Gaps:
    """Return the gaps in an average over the times of a chain, which has a row for each chain."""
    here, there = average(ordinary), average(tempered)
    return Gaps(
        ordinary=_between(here),
        tempered=_between(there),
        across=float(np.mean([_gap(a, b) for a in here for b in there])),
        halves_of_ordinary=_within(ordinary, average),
        halves_of_tempered=_within(tempered, average),
        matters=matters,
    )


def _between(averages: np.ndarray) -> float:
    return float(np.mean([_gap(a, b) for a, b in combinations(averages, 2)]))


def _within(seen: Seen, average: Callable[[Seen], np.ndarray]) -> float:
    middle = seen.log_density.shape[1] // 2
    first, second = (average(Seen(*[one[:, part] for one in seen])) for part in (slice(middle), slice(middle, None)))
    return float(np.mean([_gap(a, b) for a, b in zip(first, second, strict=True)]))


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).mean()) if len(a) else 0.0


def verdict_on(ordinary: Seen, tempered: Seen, in_density: Gaps, in_pairs: Gaps, by_density: bool = True) -> str:
    """Return the verdict, by the rule at the top of this file; `by_density`: whether log densities count."""
    counted = (in_density, in_pairs) if by_density else (in_pairs,)
    settled = not any(gaps.tempered_apart for gaps in counted)
    if settled and any(gaps.groups_apart for gaps in counted):
        return HIDDEN
    if any(gaps.ordinary_apart for gaps in counted):
        return APART
    if settled:
        return NONE
    above = tempered.log_density.mean(axis=1).max() - ordinary.log_density.mean(axis=1).max()
    return HIDDEN if above > in_density.matters else UNSETTLED
