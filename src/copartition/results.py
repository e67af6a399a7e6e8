"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class MeetingTimes:
    """When pairs of chains met.

    Attributes
    ----------
    meeting_times : int64 array (replicates)
        The meeting time tau of each pair, so ``tau - lag`` coupled sweeps; the cap where it did not meet.
    met : bool array (replicates)
    seconds : float64 array (replicates)
        CPU time of the coupled sweeps of each pair.
    traces : list of int64 arrays, or None
        For each pair the Hamming distance at times lag, lag + 1, ..., tau, if traces were asked for.
    lag, max_sweeps, seed : int
    coupling : str
    """

    meeting_times: np.ndarray
    met: np.ndarray
    seconds: np.ndarray
    traces: list[np.ndarray] | None = field(repr=False)
    lag: int
    max_sweeps: int
    seed: int
    coupling: str

    @property
    def censored(self) -> int:
        """Number of pairs that did not meet before the cap."""
        return int(np.sum(~self.met))

    def summary(self) -> str:
        """Return a few lines for a person to read."""
        coupled = self.meeting_times - self.lag
        mean, median, q95 = coupled.mean(), np.median(coupled), np.quantile(coupled, 0.95)
        lines = [
            f"{len(coupled)} pairs, coupling {self.coupling}, lag {self.lag}",
            f"sweeps to meet   mean {mean:.1f}   median {median:.0f}   95 % {q95:.0f}   largest {coupled.max()}",
            f"CPU seconds      mean {self.seconds.mean():.3g}   median {np.median(self.seconds):.3g}",
        ]
        if self.censored:
            lines.append(
                f"NOT MET: {self.censored} of {len(coupled)} pairs within {self.max_sweeps} sweeps; "
                "they count with the cap, so the true values are larger."
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


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
    """

    draws: np.ndarray = field(repr=False)
    seconds: np.ndarray
    functional: str
    sweeps: int
    burn_in: int
    seed: int

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

    def summary(self) -> str:
        """Return a table of components, means and standard errors."""
        chains, kept, _ = self.draws.shape
        lines = [f"{self.functional}: {chains} chains x {kept} sweeps after {self.burn_in} of burn-in"]
        for i, (mean, stderr) in enumerate(zip(self.mean, self.stderr, strict=True)):
            lines.append(f"  [{i}]  {mean:.6g} +- {stderr:.2g}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def asymptotic_variance(draws: np.ndarray) -> np.ndarray:
    """Estimate the asymptotic variance of ergodic averages by batch means.

    Batches of b sweeps (b about the square root of the length of a chain) are short of correlations beyond b, so the
    estimate is too small by about c / b. That of batches a third as long is too small by 3 c / b; the lugsail
    combination of Vats and Flegal (2022), 3/2 of the first minus 1/2 of the second, cancels the error.

    Parameters
    ----------
    draws : array (chains, sweeps, components)

    Returns
    -------
    numpy.ndarray
        One number a component.
    """
    chains, sweeps, _ = draws.shape
    centred = draws - draws.mean(axis=(0, 1))
    long = max(1, int(np.sqrt(sweeps)))
    short = max(1, long // 3)
    ratio = short / long
    by_long, by_short = (_batch_means_variance(centred, length) for length in (long, short))
    if long == short or chains * (sweeps // long) < 2:
        return by_long
    # Never below the plain estimate: the correction is a difference of noisy numbers.
    return np.maximum((by_long - ratio * by_short) / (1.0 - ratio), by_long)


def _batch_means_variance(centred: np.ndarray, length: int) -> np.ndarray:
    chains, sweeps, components = centred.shape
    batches = sweeps // length
    means = centred[:, : batches * length].reshape(chains * batches, length, components).mean(axis=1)
    return length * np.sum(means**2, axis=0) / max(1, chains * batches - 1)
