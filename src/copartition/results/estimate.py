"""Unbiased estimates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.diagnostics import efficiency, robust
from copartition.results.sample import Sample
from copartition.validation import confidence

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate from independent replicates, with a confidence interval.

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

    values: np.ndarray = field(repr=False)
    meeting_times: np.ndarray = field(repr=False)
    met: np.ndarray = field(repr=False)
    sweeps: np.ndarray = field(repr=False)
    seconds: np.ndarray = field(repr=False)
    components: list[str]
    made_by: dict[str, Any]
    completed: np.ndarray | None = field(default=None, repr=False)
    numbers: np.ndarray | None = field(default=None, repr=False)

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

    def select(self, name: str) -> Estimate:
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

    def parts(self) -> list[Estimate]:
        """Return the parts of the estimate that belong to each functional."""
        parts, begin = [], 0
        for about in self.functionals:
            end = begin + about["size"]
            made_by = self.made_by | {"functional": about["name"], "functionals": [about]}
            values, components = self.values[:, begin:end], self.components[begin:end]
            parts.append(replace(self, values=values, components=components, made_by=made_by))
            begin = end
        return parts

    def inefficiency(self, reference: Sample) -> efficiency.Inefficiency:
        """Return how many times the work of ordinary chains the same precision takes with this estimate's settings.

        Parameters
        ----------
        reference : Sample
            Ordinary chains with the same functional, long enough for their variance to be known.

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=500, burn_in=10, min_sweeps=100, lag=10, seed=1)
        >>> s = cp.sample(posterior, cp.n_clusters(), sweeps=5000, seed=1)
        >>> bool(0.5 < e.inefficiency(s).sweeps[0] < 2.0)
        True
        """
        return efficiency.inefficiency(self, reference)

    def trimmed_mean(self, proportion: float = 0.01, level: float = 0.95) -> robust.RobustSummary:
        """Return the mean without the smallest and largest replicates. **Not unbiased.**

        Parameters
        ----------
        proportion : float
            Share of the replicates that is left out at either end.
        level : float
            Of the bootstrap interval.
        """
        return robust.trimmed_mean(self.values, self.components, proportion, level)

    def median_of_means(self, groups: int = 20, level: float = 0.95) -> robust.RobustSummary:
        """Return the median of the means of groups of replicates. **Not unbiased.**

        Parameters
        ----------
        groups : int
            Number of groups of about equal size, in the order of the replicates.
        level : float
            Of the bootstrap interval.
        """
        return robust.median_of_means(self.values, self.components, groups, level)

    @property
    def heaviest_share(self) -> np.ndarray:
        """The share of the variance of each component that the heaviest 1 % of the replicates have (normal: 8 %)."""
        return robust.heaviest_share(self.values)

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting the estimate, one sentence each."""
        cap = self.made_by["settings"]["max_sweeps"]
        found = []
        if self.censored:
            found.append(
                f"TRUNCATED AT {cap} SWEEPS, BIASED: {self.censored} of {len(self.met)} pairs did not meet "
                f"(probability below {self.censored_bound():.2g} with 95 % confidence). Raise max_sweeps."
            )
        if self.unfinished:
            found.append(
                f"UNFINISHED, BIASED: {self.unfinished} replicates were under way when the run was interrupted, and "
                "these are slow ones. Run the same call on the store again."
            )
        if self.made_by.get("ordinary"):
            found.append("ORDINARY MCMC, BIASED: chains still remember their start; for comparison only.")
        if not self.made_by.get("precision", {}).get("reached", True):
            found.append("PRECISION NOT REACHED with as many replicates as there may be. Raise replicates.")
        corrected = self.meeting_times - self.lag > self.made_by["settings"]["burn_in"]
        if len(self.met) >= 30 and not self.made_by.get("ordinary") and corrected.mean() > 0.25:
            found.append(
                f"SHORT BURN-IN: {100 * corrected.mean():.0f} % of the replicates needed a correction, which costs "
                "precision. Take a larger burn_in and lag (copartition.tune chooses them)."
            )
        for part in self.parts():
            heavy = robust.warning(part.values, corrected, part.made_by["functional"])
            found += [heavy] if heavy else []
        return found

    @property
    def sweeps_to_meet(self) -> np.ndarray:
        """Coupled sweeps of each pair until it met: the meeting time without the lag."""
        return self.meeting_times - self.lag

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a pandas table with a row a replicate: its values, meeting time and cost. Needs pandas.

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=10, burn_in=5, min_sweeps=50, lag=5, seed=1)
        >>> list(e.to_dataframe().columns)
        ['n_clusters', 'meeting_time', 'sweeps_to_meet', 'met', 'sweeps', 'seconds']
        """
        from copartition import export

        return export.dataframe(self)

    def to_datatree(self) -> xarray.DataTree:
        """Return the replicates in the form that ArviZ uses. Needs ``pip install copartition[arviz]``."""
        from copartition import export

        return export.datatree(self)

    def summary(self, rows: int = 20) -> str:
        """Return a table for a person to read, of at most so many components."""
        low, high = self.interval()
        width = max(len(name) for name in self.components)
        lines = [f"{'':{width}}  {'mean':>12}  {'stderr':>9}  95 % interval"]
        lines += [
            f"{name:{width}}  {mean:12.6g}  {error:9.2g}  {a:.6g} to {b:.6g}"
            for name, mean, error, a, b in zip(self.components, self.mean, self.stderr, low, high, strict=True)
        ][:rows]
        if len(self.components) > rows:
            lines.append(f"... and {len(self.components) - rows} more components")
        settings = self.made_by["settings"]
        coupled = self.meeting_times - self.lag
        lines.append(
            f"{len(self.values)} replicates, {self.made_by['coupling']}, "
            + ", ".join(f"{key} {value}" for key, value in settings.items() if key != "max_sweeps")
        )
        lines.append(
            f"sweeps to meet: mean {coupled.mean():.1f}, largest {coupled.max()}; "
            f"cost: {self.sweeps.mean():.0f} sweeps and {self.seconds.mean():.3g} CPU seconds a replicate"
        )
        if self.made_by.get("ordinary"):
            # One chain a worker: no pairs, so nothing to say of meetings.
            lines[-2:] = [f"{len(self.values)} chains, {self.made_by['deadline']} each"]
        return "\n".join([*self.warnings, *lines])

    def __str__(self) -> str:
        return self.summary()

    @classmethod
    def load(cls, path: str | Path) -> Estimate:
        """Read an estimate from the store of a run, finished or not.

        Parameters
        ----------
        path : path
            The file that was given as `store`.
        """
        from copartition.runs.store import Store

        store = Store(path)
        try:
            return estimate_of(store.read(), store.description)
        finally:
            store.close()


def estimate_of(results: Any, description: dict[str, Any]) -> Estimate:
    """Return the estimate that replicates amount to."""
    return Estimate(
        numbers=results.indices,
        values=results.values,
        meeting_times=results.meeting_times,
        met=results.met,
        sweeps=results.sweeps,
        seconds=results.seconds,
        components=list(description["components"]),
        made_by={key: value for key, value in description.items() if key != "components" and value is not None},
    )
