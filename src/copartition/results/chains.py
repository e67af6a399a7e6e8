"""What chains did, as plain data: draws of ordinary ones, when pairs met, and what those did that did not meet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, overload

import numpy as np

from copartition.display import Displayed, draw, frame_of
from copartition.partition import hamming_distance

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
    guided : bool
        Whether split-merge moves are guided.
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
    guided: bool = False
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
        guided = "guided " if self.guided else ""
        moves = f", {self.split_merge} {guided}split-merge moves a sweep" if self.split_merge else ""
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


MOST_KEPT = 20  # pairs of a run that are kept, those with the smallest numbers


class Course(NamedTuple):
    """What the two chains of a pair did when each was run on alone, with random numbers of its own.

    Attributes
    ----------
    log_density : float64 array (2, records)
        Of the partitions, up to a constant; NaN where the target has no density that can be computed.
    n_clusters : int64 array (2, records)
    labels : int32 array (2, records, points)
        The partitions, of evenly spaced points where there are many.
    """

    log_density: np.ndarray
    n_clusters: np.ndarray
    labels: np.ndarray


class Unmet(NamedTuple):
    """A pair that did not meet.

    Attributes
    ----------
    number : int
        Of its replicate.
    labels : int32 array (2, points)
        The partitions of both chains at the cap.
    course : Course or None
        What they did afterwards; None where they have not been followed yet.
    """

    number: int
    labels: np.ndarray
    course: Course | None = None

    @property
    def distance(self) -> int:
        """Hamming distance of the two partitions at the cap."""
        return hamming_distance(*self.labels)


def packed_arrays(**arrays: np.ndarray) -> bytes:
    """Return arrays as few bytes."""
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # its stubs take every name for the flag allow_pickle
    return file.getvalue()


def unpacked_arrays(packed: bytes) -> dict[str, np.ndarray]:
    """Return the arrays again."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        return dict(file)
