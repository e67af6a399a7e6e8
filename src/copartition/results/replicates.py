"""Replicates: the results of a run of the unbiased estimator, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from copartition.display import Displayed
from copartition.names import Names
from copartition.results.chains import Unmet
from copartition.results.kept import Packed, Partitions, Sums, chunks, mean_and_variance
from copartition.validation import confidence, shorten

FEWEST_FOR_INTERVAL = 100  # replicates; of fewer, intervals by Student's t often miss: see docs/evidence.md


class Outcomes(NamedTuple):
    """The outcomes of some replicates, as they come in.

    Attributes
    ----------
    indices : int64 array
        Which replicates.
    values : float64 array (replicates, components)
        The estimates H; truncated, and then biased, where a pair was censored.
    meeting_times : int64 array
        tau, or the cap where a pair did not meet before.
    met : bool array
    sweeps : int64 array
        Cost in single-chain sweeps, a coupled one counting as two.
    seconds : float64 array
        CPU time, shared out by sweeps among replicates that ran in one call of a kernel.
    sums : Packed, optional
        Of functionals whose values are not kept, where the sums are not shared.
    ordinary : float64 array (replicates, components), optional
        Under a cap: the averages of the first chain of each pair, without any correction.
    apart : tuple of Unmet
        Under a cap: pairs that did not meet, the first ones at least.
    partitions : Partitions, optional
        Those that were kept.
    """

    indices: np.ndarray
    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray
    sums: Packed | None = None
    ordinary: np.ndarray | None = None
    apart: tuple[Unmet, ...] = ()
    partitions: Partitions | None = None

    def first(self, count: int) -> Outcomes:
        """Return the first so many, without sums."""
        indices = set(self.indices[:count].tolist())
        ordinary = None if self.ordinary is None else self.ordinary[:count]
        apart = tuple(one for one in self.apart if one.number in indices)
        kept = self.partitions
        if kept is not None:
            kept = kept.where(np.isin(kept.replicate, self.indices[:count]))
        return Outcomes._make([*[array[:count] for array in self[:6]], None, ordinary, apart, kept])

    @classmethod
    def joined(cls, several: Sequence[Outcomes], below: int | None = None) -> Outcomes:
        """Return the outcomes of several, in the order of their numbers, those below a number; without the rest.

        Ordinary averages are there if all have them.
        """
        arrays = [np.concatenate(parts) for parts in zip(*[one[:6] for one in several], strict=True)]
        order = np.argsort(arrays[0])
        if below is not None:
            order = order[arrays[0][order] < below]
        plain = [one.ordinary for one in several if len(one.indices)]
        known = [one for one in plain if one is not None]
        ordinary = np.concatenate(known)[order] if known and len(known) == len(plain) else None
        return cls._make([*[array[order] for array in arrays], None, ordinary, (), None])

    @classmethod
    def none(cls, components: int) -> Outcomes:
        """Return the outcomes of no replicate."""
        whole, real = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(whole, np.zeros((0, components)), whole, np.zeros(0, dtype=bool), whole, real)


class Moments(NamedTuple):
    """Mean and standard error of components whose values are not kept.

    Attributes
    ----------
    mean, stderr : float64 arrays (components)
    """

    mean: np.ndarray
    stderr: np.ndarray

    @classmethod
    def of(cls, sums: Sums, count: int, description: dict[str, Any], unit: int | None = None) -> Moments:
        """Return means and standard errors from sums over so many replicates; uses up the sums, in the room they have.

        Parameters
        ----------
        sums : Sums
        count : int
        description : dict
            Of the run, or of its functionals.
        unit : int, optional
            By which sums are divided; left out, the number of sweeps that a replicate averages over.
        """
        mean, stderr = sums.totals.view(np.float64), sums.squares.view(np.float64)
        for _, here, average, variance in moments_by_chunk(sums, count, description, unit):
            mean[here] = average
            stderr[here] = np.sqrt(variance / max(count, 1))
        return cls(mean, stderr)

    def between(self, begin: int, end: int) -> Moments:
        """Return those of some components."""
        return Moments(self.mean[begin:end], self.stderr[begin:end])


def moments_by_chunk(
    sums: Sums, count: int, description: dict[str, Any], unit: int | None = None
) -> Iterator[tuple[int, slice, np.ndarray, np.ndarray]]:
    """Yield mean and variance of the values that replicates have, chunk by chunk, with which functional and where."""
    if unit is None:
        unit = description["settings"]["min_sweeps"] - description["settings"]["burn_in"] + 1
    begin = 0
    for number, about in enumerate(description["functionals"]):
        if not about.get("streamed"):
            continue
        divisors = about.get("divisors")
        for a, b in chunks(about["size"]):
            here = slice(begin + a, begin + b)
            scale = unit if divisors is None else unit * divisors[a:b]
            mean, variance = mean_and_variance(sums.totals[here], sums.squares[here], count)
            yield number, here, mean / scale, variance / (scale * scale)
        begin += about["size"]


def _stderr(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean of each column; NaN for a single row."""
    count = len(values)
    return np.full(values.shape[1], np.nan) if count < 2 else values.std(axis=0, ddof=1) / np.sqrt(count)


@dataclass(frozen=True, repr=False)
class Replicates(Displayed):
    """Independent replicates of an unbiased estimate, and how they were made.

    Attributes
    ----------
    values : float64 array (replicates, components)
        One unbiased estimate a replicate, of the functionals whose values are kept: see `streamed`.
    meeting_times : int64 array (replicates)
        tau of each pair, the cap where it did not meet.
    met : bool array (replicates)
    sweeps : int64 array (replicates)
        Cost in single-chain sweeps; a coupled sweep counts as two.
    seconds : float64 array (replicates)
        CPU time.
    components : sequence of str
        What each entry of `mean` estimates.
    made_by : dict
        How the replicates were made: version, settings, seed, fingerprint of the target.
    completed : int64 array, or None
        With a deadline: replicates that each worker completed in time.
    indices : int64 array, or None
        The numbers of the replicates, from 0 on.
    moments : Moments, or None
        Mean and standard error of functionals whose values are not kept, one after another.
    ordinary_values : float64 array (replicates, components), or None
        With a cap: the ordinary average of the first chain of each pair from burn-in to horizon, without a correction.
    unmet : tuple of Unmet
        With a cap: the chains of pairs that did not meet, of twenty pairs at most.
    partitions : Partitions, or None
        Those that were kept, see `copartition.draw`.
    """

    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray
    components: Sequence[str]
    made_by: dict[str, Any]
    completed: np.ndarray | None = None
    indices: np.ndarray | None = None
    moments: Moments | None = None
    ordinary_values: np.ndarray | None = None
    unmet: tuple[Unmet, ...] = ()
    partitions: Partitions | None = None

    def __repr__(self) -> str:
        about = ", ".join(f"{f['name']} of size {f['size']}" for f in self.functionals)
        return f"<{type(self).__name__} of {about} from {len(self.values)} replicates>"

    @property
    def mean(self) -> np.ndarray:
        """The estimate of each component."""
        return self._of_each(self.values.mean(axis=0), "mean")

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of each component; NaN for a single replicate."""
        return self._of_each(_stderr(self.values), "stderr")

    def _of_each(self, kept: np.ndarray, name: str) -> np.ndarray:
        """Return numbers of all components, in the order of the functionals, from those of the kept ones."""
        if self.moments is None:
            return kept
        return self._in_order(kept, getattr(self.moments, name))

    def _in_order(self, kept: np.ndarray, streamed: np.ndarray) -> np.ndarray:
        """Return numbers of all components in the order of the functionals."""
        if not len(kept):
            return streamed
        pieces, begins = [], {False: 0, True: 0}
        for about in self.functionals:
            kind = bool(about.get("streamed"))
            end = begins[kind] + about["size"]
            pieces.append((streamed if kind else kept)[begins[kind] : end])
            begins[kind] = end
        return np.concatenate(pieces)

    @property
    def ordinary(self) -> Moments | None:
        """Mean and standard error between chains of the ordinary averages; None for a run without a cap.

        What ordinary Markov chain Monte Carlo says, from the first chain of every pair, met or not: as biased as chains
        of ``min_sweeps`` sweeps are. NaN for functionals whose values are not kept.
        """
        if self.ordinary_values is None:
            return None
        mean, stderr = self.ordinary_values.mean(axis=0), _stderr(self.ordinary_values)
        if self.moments is None:
            return Moments(mean, stderr)
        unknown = np.full(len(self.moments.mean), np.nan)
        return Moments(self._in_order(mean, unknown), self._in_order(stderr, unknown))

    @property
    def streamed(self) -> list[str]:
        """Names of the functionals of which only sums over replicates were kept."""
        return [about["name"] for about in self.functionals if about.get("streamed")]

    def all_values(self, why: str) -> np.ndarray:
        """Return the values of all components, or refuse where they were not kept; `why` says what needs them."""
        if self.streamed:
            raise ValueError(
                f"{why} needs the value of every replicate, and those of {', '.join(self.streamed)} were not kept: "
                "take select(...) of another functional, or estimate it with keep_values=True."
            )
        return self.values

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of a confidence interval for each component, by Student's t; NaN below 100 replicates.

        Intervals from fewer replicates often miss, because the few that are far from the others may not be among them
        (measured in docs/evidence.md).

        Parameters
        ----------
        level : float
            Probability of covering the true value.
        """
        mean, half = self.mean, self.margin(level) * self.stderr
        return mean - half, mean + half

    def margin(self, level: float = 0.95, *, few: bool = False) -> float:
        """Return how many standard errors a confidence interval goes to either side; NaN below 100 replicates.

        Parameters
        ----------
        level : float
        few : bool
            Return it for any number of replicates.
        """
        from scipy.special import stdtrit

        level = confidence(level)
        if len(self.values) < FEWEST_FOR_INTERVAL and not few:
            return float("nan")
        return float(stdtrit(max(len(self.values) - 1, 1), 0.5 + level / 2))

    @property
    def lag(self) -> int:
        """Sweeps that the first chain of a pair is ahead of the second."""
        return int(self.made_by["settings"]["lag"])

    @property
    def censored(self) -> int:
        """Number of pairs that did not meet before the cap. If there are any, the estimate is biased."""
        return int(np.sum(~self.met))

    @property
    def wanted(self) -> int:
        """Number of replicates that were asked for; where it is not known, of those that were begun."""
        begun = 0 if self.indices is None or not len(self.indices) else int(self.indices.max()) + 1
        return max(len(self.values), begun, int(self.made_by.get("wanted", 0)))

    @property
    def unfinished(self) -> int:
        """Number of replicates that were asked for and have not ended: the run was interrupted, or goes on."""
        return self.wanted - len(self.values)

    @property
    def under_way(self) -> int | None:
        """Number of replicates that were under way at most when a run was interrupted; None if that is not known."""
        known = self.made_by.get("under_way")
        return None if known is None else min(self.unfinished, int(known))

    @property
    def is_biased(self) -> bool:
        """Whether the mean is known to be biased: pairs were given up or are unfinished, or there were none."""
        return self.censored > 0 or self.unfinished > 0 or bool(self.made_by.get("ordinary"))

    def censored_bound(self, level: float = 0.95) -> float:
        """Return an upper confidence bound for the probability that a pair does not meet (Clopper and Pearson)."""
        from scipy.special import betaincinv

        count, censored = len(self.met), self.censored
        return 1.0 if censored == count else float(betaincinv(censored + 1, count - censored, level))

    @property
    def functionals(self) -> list[dict[str, Any]]:
        """What was estimated: the ``name`` and ``size`` of each functional, and its ``grid`` or ``points``."""
        return list(self.made_by["functionals"])

    def select(self, name: str) -> Self:
        """Return the part of the estimate that belongs to one functional.

        Parameters
        ----------
        name : str
            For instance ``"co_clustering"`` or ``"largest_clusters"``.
        """
        matching = [
            part
            for part in self.parts()
            if name in (part.functionals[0]["name"], part.functionals[0]["name"].partition("(")[0])
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise ValueError(f"There are {len(matching)} functionals {name!r} in this estimate; take one of parts().")
        names = ", ".join(about["name"] for about in self.functionals)
        raise ValueError(f"There is no functional {shorten(name)} in this estimate; it has {names}.")

    def parts(self) -> list[Self]:
        """Return the parts of the estimate that belong to each functional."""
        parts, begin, begin_streamed = [], 0, 0
        for about in self.functionals:
            made_by = self.made_by | {"functional": about["name"], "functionals": [about]}
            if about.get("streamed") and self.moments is not None:
                end = begin_streamed + about["size"]
                values, moments = self.values[:, :0], self.moments.between(begin_streamed, end)
                here = slice(0, 0)
                begin_streamed = end
            else:
                end = begin + about["size"]
                here = slice(begin, end)
                values, moments = self.values[:, here], None
                begin = end
            ordinary = None if self.ordinary_values is None else self.ordinary_values[:, here]
            own: dict[str, Any] = {"values": values, "moments": moments, "ordinary_values": ordinary}
            parts.append(replace(self, components=Names([about]), made_by=made_by, **own))
        return parts

    @property
    def sweeps_to_meet(self) -> np.ndarray:
        """Coupled sweeps of each pair until it met: the meeting time without the lag."""
        return self.meeting_times - self.lag

    @classmethod
    def of(cls, outcomes: Outcomes, description: dict[str, Any], **more: Any) -> Self:
        """Return what outcomes, made as described, amount to."""
        return cls(
            indices=outcomes.indices,
            values=outcomes.values,
            meeting_times=outcomes.meeting_times,
            met=outcomes.met,
            sweeps=outcomes.sweeps,
            seconds=outcomes.seconds,
            ordinary_values=outcomes.ordinary,
            components=Names(description["functionals"]),
            made_by={key: value for key, value in description.items() if value is not None},
            **more,
        )
