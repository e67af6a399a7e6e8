"""What ordinary chains came to, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Draws:
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
    components: Sequence[str] = field(default_factory=list, repr=False)
    split_merge: int = 0

    @property
    def mean(self) -> np.ndarray:
        """Average of each component over all chains and kept sweeps."""
        return self.draws.mean(axis=(0, 1))
