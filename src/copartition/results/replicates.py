"""Replicates: what a run of the unbiased estimator came to, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from copartition.validation import confidence


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
    """

    indices: np.ndarray
    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray


@dataclass(frozen=True, repr=False)
class Replicates:
    """Independent replicates of an unbiased estimate, and how they were made.

    Attributes
    ----------
    values : float64 array (replicates, components)
        One unbiased estimate a replicate.
    meeting_times : int64 array (replicates)
        tau of each pair, the cap where it did not meet.
    met : bool array (replicates)
    sweeps : int64 array (replicates)
        Cost in single-chain sweeps; a coupled sweep counts as two.
    seconds : float64 array (replicates)
        CPU time.
    components : list of str
        What each column of `values` estimates.
    made_by : dict
        How the replicates were made: version, settings, seed, fingerprint of the target.
    completed : int64 array, or None
        With a deadline: replicates that each worker completed in time.
    numbers : int64 array, or None
        The numbers of the replicates, from 0 on.
    """

    values: np.ndarray
    meeting_times: np.ndarray
    met: np.ndarray
    sweeps: np.ndarray
    seconds: np.ndarray
    components: list[str]
    made_by: dict[str, Any]
    completed: np.ndarray | None = None
    numbers: np.ndarray | None = None

    def __repr__(self) -> str:
        about = ", ".join(f"{f['name']} of size {f['size']}" for f in self.functionals)
        return f"<{type(self).__name__} of {about} from {len(self.values)} replicates>"

    @property
    def mean(self) -> np.ndarray:
        """The estimate of each component."""
        return self.values.mean(axis=0)

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of each component; NaN for a single replicate."""
        count = len(self.values)
        if count < 2:
            return np.full(self.values.shape[1], np.nan)
        return self.values.std(axis=0, ddof=1) / np.sqrt(count)

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of a confidence interval for each component, by Student's t.

        Parameters
        ----------
        level : float
            Probability of covering the true value.
        """
        from scipy.special import stdtrit

        half = stdtrit(max(len(self.values) - 1, 1), 0.5 + confidence(level) / 2) * self.stderr
        return self.mean - half, self.mean + half

    @property
    def lag(self) -> int:
        """Sweeps that the first chain of a pair is ahead of the second."""
        return int(self.made_by["settings"]["lag"])

    @property
    def censored(self) -> int:
        """Number of pairs that did not meet before the cap. If there are any, the estimate is biased."""
        return int(np.sum(~self.met))

    @property
    def unfinished(self) -> int:
        """Number of replicates that were under way when a run was interrupted: slow ones, so this is a bias."""
        if self.numbers is None or len(self.numbers) == 0:
            return 0
        return int(self.numbers.max()) + 1 - len(self.numbers)

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
        raise ValueError(f"There is no functional {name!r} in this estimate; it has {names}.")

    def parts(self) -> list[Self]:
        """Return the parts of the estimate that belong to each functional."""
        parts, begin = [], 0
        for about in self.functionals:
            end = begin + about["size"]
            made_by = self.made_by | {"functional": about["name"], "functionals": [about]}
            values, components = self.values[:, begin:end], self.components[begin:end]
            parts.append(replace(self, values=values, components=components, made_by=made_by))
            begin = end
        return parts

    @property
    def sweeps_to_meet(self) -> np.ndarray:
        """Coupled sweeps of each pair until it met: the meeting time without the lag."""
        return self.meeting_times - self.lag

    @classmethod
    def of(cls, outcomes: Outcomes, description: dict[str, Any], **more: Any) -> Self:
        """Return what outcomes, made as described, amount to."""
        return cls(
            numbers=outcomes.indices,
            values=outcomes.values,
            meeting_times=outcomes.meeting_times,
            met=outcomes.met,
            sweeps=outcomes.sweeps,
            seconds=outcomes.seconds,
            components=list(description["components"]),
            made_by={key: value for key, value in description.items() if key != "components" and value is not None},
            **more,
        )
