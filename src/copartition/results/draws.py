"""The draws of ordinary chains, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from copartition.display import Displayed


@dataclass(frozen=True, repr=False)
class Draws(Displayed):
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

    draws: np.ndarray
    seconds: np.ndarray
    functional: str
    sweeps: int
    burn_in: int
    seed: int
    components: Sequence[str] = field(default_factory=list)
    split_merge: int = 0

    def __repr__(self) -> str:
        chains, kept, size = self.draws.shape
        about = f"{self.functional} of size {size}, {chains} chains x {kept} sweeps after {self.burn_in}"
        return f"<{type(self).__name__} of {about}>"

    @property
    def mean(self) -> np.ndarray:
        """Average of each component over all chains and kept sweeps."""
        return self.draws.mean(axis=(0, 1))
