"""Ordinary chains, for comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from copartition.variance import asymptotic_variance

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Sample:
    """Ordinary Markov chain Monte Carlo averages: biased whenever the chains were stopped too soon.

    Attributes
    ----------
    draws : float64 array (chains, kept sweeps, components)
    seconds : float64 array (chains)
        CPU time of each chain, burn-in included.
    functional : str
    sweeps, burn_in, seed : int
    components : list of str
        What each component is.
    split_merge : int
        Split-merge moves after every sweep.
    """

    draws: np.ndarray = field(repr=False)
    seconds: np.ndarray
    functional: str
    sweeps: int
    burn_in: int
    seed: int
    components: list[str] = field(default_factory=list, repr=False)
    split_merge: int = 0

    @property
    def mean(self) -> np.ndarray:
        """Average of each component over all chains and kept sweeps."""
        return self.draws.mean(axis=(0, 1))

    @property
    def variance(self) -> np.ndarray:
        """Asymptotic variance of each component: that of the mean of n sweeps is this divided by n."""
        return asymptotic_variance(self.draws)

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean, autocorrelation accounted for."""
        return np.sqrt(self.variance / (self.draws.shape[0] * self.draws.shape[1]))

    def to_datatree(self) -> xarray.DataTree:
        """Return the draws in the form that ArviZ uses, chains x draws. Needs ``pip install copartition[arviz]``."""
        from copartition import export

        return export.sample_datatree(self)

    def summary(self) -> str:
        """Return a table of components, means and standard errors."""
        chains, kept, _ = self.draws.shape
        lines = [f"{self.functional}: {chains} chains x {kept} sweeps after {self.burn_in} of burn-in"]
        for i, (mean, stderr) in enumerate(zip(self.mean[:20], self.stderr[:20], strict=True)):
            lines.append(f"  [{i}]  {mean:.6g} +- {stderr:.2g}")
        if len(self.mean) > 20:
            lines.append(f"  ... and {len(self.mean) - 20} more components")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()
