"""When pairs of chains met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from copartition.display import Displayed, draw, frame_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

MANY_AT_START = 0.5  # share of pairs from which on quick meetings, or chains at their start, are worth a word
QUICK = 2  # coupled sweeps within which a meeting says nothing about the posterior


def share_at_start(meeting_times: np.ndarray, lag: int) -> float:
    """Return the share of pairs that met at distance 0 after the lag."""
    return float(np.mean(meeting_times == lag)) if len(meeting_times) else 0.0


def quick_sentence(meeting_times: np.ndarray, lag: int) -> str:
    """Return what it means that most pairs met at once, in words; nothing if they did not."""
    share = float(np.mean(meeting_times <= lag + QUICK)) if len(meeting_times) else 0.0
    if share <= MANY_AT_START:
        return ""
    return (
        f"{100 * share:.3g} % of the pairs met within {QUICK} sweeps of being coupled. That alone shows nothing: "
        "chains that have not left their start meet at once too."
    )


@dataclass(frozen=True, repr=False)
class MeetingTimes(Displayed):
    """When pairs of chains met.

    Attributes
    ----------
    meeting_times : int64 array (replicates)
        The meeting time tau of each pair, so ``tau - lag`` coupled sweeps; the cap where it did not meet.
    met : bool array (replicates)
    seconds : float64 array (replicates)
        CPU time of the coupled sweeps of each pair; where the lead of the first chain is short (a millisecond), their
        share of the time of the pair by number.
    traces : list of int64 arrays, or None
        For each pair the Hamming distance at times lag, lag + 1, ..., tau, if traces were asked for.
    lag, max_sweeps, seed : int
    coupling : str
    split_merge : int
        Split-merge moves after every sweep.
    joint_updates : int
        Joint updates after these.
    same_start : bool
        Whether all chains start at one partition, without chance.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> m = cp.meeting_times(posterior, replicates=100, lag=10, seed=1)
    >>> coupled = m.meeting_times - m.lag  # sweeps that each pair took to meet
    >>> bool((coupled >= 0).all()), m.met.all().item()
    (True, True)
    """

    meeting_times: np.ndarray
    met: np.ndarray
    seconds: np.ndarray
    traces: list[np.ndarray] | None
    lag: int
    max_sweeps: int
    seed: int
    coupling: str
    split_merge: int = 0
    joint_updates: int = 0
    same_start: bool = False

    @property
    def at_start(self) -> float:
        """Share of the pairs whose first chain was still where all chains start when the second one joined it.

        These have met without a coupled sweep, at distance 0. If they are many, the chains have hardly moved, and
        meeting times say nothing of how far they are from the target.
        """
        return share_at_start(self.meeting_times, self.lag) if self.same_start else 0.0

    @property
    def censored(self) -> int:
        """Number of pairs that did not meet before the cap."""
        return int(np.sum(~self.met))

    @overload
    def summary(self, as_frame: Literal[False] = False) -> str: ...

    @overload
    def summary(self, as_frame: Literal[True]) -> pandas.DataFrame: ...

    def summary(self, as_frame: bool = False) -> str | pandas.DataFrame:
        """Return a few lines for a person to read, or the numbers in them as a data frame, a row (needs pandas)."""
        if as_frame:
            return frame_of({name: [value] for name, value in self.numbers().items()}, "coupling", "as_frame=True")
        coupled = self.meeting_times - self.lag
        mean, median, q95 = coupled.mean(), np.median(coupled), np.quantile(coupled, 0.95)
        moves = f", {self.split_merge} split-merge moves a sweep" if self.split_merge else ""
        moves += f", {self.joint_updates} joint updates" if self.joint_updates else ""
        lines = [
            f"{len(coupled)} pairs, coupling {self.coupling}{moves}, lag {self.lag}",
            f"sweeps to meet   mean {mean:.1f}   median {median:.0f}   95 % {q95:.0f}   largest {coupled.max()}",
            f"CPU seconds      mean {self.seconds.mean():.3g}   median {np.median(self.seconds):.3g}",
        ]
        if self.censored:
            lines.append(
                f"NOT MET: {self.censored} of {len(coupled)} pairs within {self.max_sweeps} sweeps; "
                "they count with the cap, so the true values are larger."
            )
        if quick := quick_sentence(self.meeting_times, self.lag):
            lines.append(f"QUICK: {quick}")
        return "\n".join(lines)

    def numbers(self) -> dict[str, str | float]:
        """Return what `summary` says in numbers, by name."""
        coupled = self.meeting_times - self.lag
        return {
            "coupling": self.coupling,
            "pairs": len(coupled),
            "not_met": self.censored,
            "sweeps_mean": float(coupled.mean()),
            "sweeps_median": float(np.median(coupled)),
            "sweeps_95": float(np.quantile(coupled, 0.95)),
            "sweeps_largest": int(coupled.max()),
            "seconds_mean": float(self.seconds.mean()),
            "seconds_median": float(np.median(self.seconds)),
        }

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the share of pairs that are still apart against sweeps, see `copartition.plots.meeting_times`."""
        return draw(self, ax=ax)

    def __repr__(self) -> str:
        met = "all met" if not self.censored else f"{self.censored} not met"
        mean = (self.meeting_times - self.lag).mean()
        return f"<MeetingTimes of {len(self.met)} pairs, {self.coupling}, {met}: {mean:.1f} sweeps on average>"

    def __str__(self) -> str:
        return self.summary()
