"""What unbiasedness costs: the work for a given precision, against that of ordinary Markov chain Monte Carlo.

The mean of many replicates has variance Var(H) / (number of replicates), so Var(H) times the mean cost of a replicate
is the variance that one unit of work leaves. An ordinary chain's is its asymptotic variance. Their ratio is 1 at best:
it tends to 1 as the burn-in grows beyond the meeting times and the horizon beyond the burn-in (Jacob, O'Leary and
Atchade 2020, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from copartition.diagnostics.variance import asymptotic_variance, relative_error
from copartition.results import Draws, Replicates
from copartition.validation import shorten


@dataclass(frozen=True)
class Inefficiency:
    """How many times the work of ordinary Markov chain Monte Carlo the same precision takes.

    The burn-in of the ordinary chains is free in this comparison, and so is not knowing how long it should be.

    Attributes
    ----------
    sweeps : float64 array
        Ratio for each component, work counted in single-chain sweeps (a coupled one is two). NaN for a component that
        never changes.
    seconds : float64 array
        The same, work counted in CPU seconds.
    stderr : float64 array
        Standard error of ``sweeps``.
    components : list of str
    """

    sweeps: np.ndarray
    seconds: np.ndarray
    stderr: np.ndarray
    components: Sequence[str] = field(repr=False)

    def __str__(self) -> str:
        width = max(len(name) for name in self.components)
        lines = [f"{'':{width}}  {'in sweeps':>16}  {'in seconds':>10}"]
        rows = zip(self.components, self.sweeps, self.stderr, self.seconds, strict=True)
        lines += [f"{name:{width}}  {a:7.3g} +- {error:5.1g}  {b:10.3g}" for name, a, error, b in rows]
        return "\n".join(lines)


def inefficiency(e: Replicates, reference: Draws) -> Inefficiency:
    """Compare the work of an estimate with that of ordinary chains; see `Estimate.inefficiency`."""
    if not hasattr(reference, "draws"):
        raise TypeError(f"reference must be what sample returns, got {shorten(reference)}.")
    if len(e.values) < 2:
        raise ValueError("inefficiency needs at least two replicates, got one.")
    same = [part for part in e.parts() if list(part.components) == list(reference.components)]
    part = same[0] if same else e.select(reference.functional)
    components = len(part.components)
    if components != reference.draws.shape[2]:
        raise ValueError(
            f"reference must have {components} components as the estimate has, got {reference.draws.shape[2]}."
        )
    values = part.all_values("inefficiency")
    deviation = (values - part.mean) ** 2
    variance = values.var(axis=0, ddof=1)
    cost, seconds = part.sweeps.mean(), part.seconds.mean()
    chains, kept, _ = reference.draws.shape
    seconds_a_sweep = reference.seconds.sum() / (chains * (kept + reference.burn_in))
    ordinary = asymptotic_variance(reference.draws)
    ordinary = np.where(ordinary > 0, ordinary, np.nan)
    in_sweeps = cost * variance / ordinary
    # The influence of one replicate on (mean cost) x (variance), and the error of the ordinary chains' variance.
    influence = (part.sweeps[:, None] - cost) * variance + cost * (deviation - variance)
    error = influence.std(axis=0, ddof=1) / np.sqrt(len(influence)) / ordinary
    return Inefficiency(
        sweeps=in_sweeps,
        seconds=seconds * variance / (ordinary * seconds_a_sweep),
        stderr=np.hypot(error, in_sweeps * relative_error(reference.draws)),
        components=part.components,
    )
