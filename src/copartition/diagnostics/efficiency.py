"""What unbiasedness costs: the work for a given precision, against that of ordinary Markov chain Monte Carlo.

The mean of many replicates has variance Var(H) / (number of replicates), so Var(H) times the mean cost of a replicate
is the variance that one unit of work leaves. An ordinary chain's is its asymptotic variance. Their ratio is 1 at best:
it tends to 1 as the burn-in grows beyond the meeting times and the horizon beyond the burn-in (Jacob, O'Leary and
Atchade 2020, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


def variance_name(functional: str) -> str:
    """Return the name of the asymptotic variance of a functional, as `copartition.asymptotic_variance` gives it."""
    return f"asymptotic_variance({functional})"


class Ordinary(NamedTuple):
    """What ordinary chains do.

    Attributes
    ----------
    variance : float64 array (components)
        Their asymptotic variance.
    relative_error : float64 array (components)
        Of it.
    seconds_a_sweep : float
        CPU time.
    """

    variance: np.ndarray
    relative_error: np.ndarray
    seconds_a_sweep: float


def inefficiency(e: Replicates, reference: Draws | Replicates) -> Inefficiency:
    """Compare the work of an estimate with that of ordinary chains; see `Estimate.inefficiency`."""
    if not hasattr(reference, "draws") and not is_variance(reference):
        raise TypeError(f"reference must be what sample or asymptotic_variance returns, got {shorten(reference)}.")
    check_spread(e)
    if isinstance(reference, Replicates):
        parts, ordinary = _from_variances(e, reference)
    else:
        parts, ordinary = _from_draws(e, reference)
    values = np.concatenate([part.all_values("inefficiency") for part in parts], axis=1)
    deviation = (values - values.mean(axis=0)) ** 2
    variance = values.var(axis=0, ddof=1)
    cost, seconds = e.sweeps.mean(), e.seconds.mean()
    by_chain = np.where(ordinary.variance > 0, ordinary.variance, np.nan)
    in_sweeps = cost * variance / by_chain
    # The influence of one replicate on (mean cost) x (variance), and the error of the ordinary chains' variance.
    influence = (e.sweeps[:, None] - cost) * variance + cost * (deviation - variance)
    error = influence.std(axis=0, ddof=1) / np.sqrt(len(influence)) / by_chain
    return Inefficiency(
        sweeps=in_sweeps,
        seconds=seconds * variance / (by_chain * ordinary.seconds_a_sweep),
        stderr=np.hypot(error, in_sweeps * ordinary.relative_error),
        components=parts[0].components if len(parts) == 1 else [name for part in parts for name in part.components],
    )


def check_spread(e: Replicates) -> None:
    """Refuse an estimate whose variance cannot be told."""
    if len(e.values) < 2:
        raise ValueError("inefficiency needs at least two replicates, got one.")


def is_variance(reference: Any) -> bool:
    """Tell whether it is what `copartition.asymptotic_variance` returns."""
    return isinstance(reference, Replicates) and "seconds_a_sweep" in reference.made_by


def _from_draws(e: Replicates, reference: Draws) -> tuple[list[Replicates], Ordinary]:
    same = [part for part in e.parts() if list(part.components) == list(reference.components)]
    part = same[0] if same else e.select(reference.functional)
    components = len(part.components)
    if components != reference.draws.shape[2]:
        raise ValueError(
            f"reference must have {components} components as the estimate has, got {reference.draws.shape[2]}."
        )
    chains, kept, _ = reference.draws.shape
    seconds_a_sweep = reference.seconds.sum() / (chains * (kept + reference.burn_in))
    error = np.full(components, relative_error(reference.draws))
    return [part], Ordinary(asymptotic_variance(reference.draws), error, float(seconds_a_sweep))


def _from_variances(e: Replicates, reference: Replicates) -> tuple[list[Replicates], Ordinary]:
    if reference.made_by["fingerprint"] != e.made_by["fingerprint"]:
        raise ValueError(
            "reference must be of the same target as the estimate, got the variance of another one's chains."
        )
    of = {part.functionals[0]["name"]: part for part in reference.parts()}
    parts = [part for part in e.parts() if variance_name(part.functionals[0]["name"]) in of]
    if not parts:
        names = ", ".join(about["name"] for about in e.functionals)
        raise ValueError(f"reference must be of a functional of the estimate, {names}, got {', '.join(of)}.")
    matching = [of[variance_name(part.functionals[0]["name"])] for part in parts]
    mean, stderr = (np.concatenate([getattr(one, name) for one in matching]) for name in ("mean", "stderr"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return parts, Ordinary(mean, stderr / mean, reference.made_by["seconds_a_sweep"])
