"""Estimates and samples of ordinary chains, with all that one may ask of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from copartition.diagnostics import efficiency
from copartition.diagnostics.agreement import Agreement, Missing, agreement_of, missing_of
from copartition.diagnostics.efficiency import asymptotic_variance
from copartition.diagnostics.findings import Finding, findings_of
from copartition.display import NO_SPREAD, error_text, frame_of, interval_text, is_constant, no_spread_sentence, rounded
from copartition.results.chains import Draws
from copartition.results.replicates import Moments, Replicates
from copartition.results.store import Store
from copartition.view import export, plots

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class Sample(Draws):
    """Ordinary Markov chain Monte Carlo averages: biased whenever the chains were stopped too soon.

    Its data are those of `copartition.results.Draws`: ``draws``, ``mean``, ``seconds``, ``functional``, ``sweeps``,
    ``burn_in``, ``seed``, ``components``, ``split_merge``.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> chains = cp.sample(posterior, cp.n_clusters(), sweeps=100, burn_in=10, chains=4, seed=1)
    >>> chains.draws.shape  # chains x sweeps x components
    (4, 100, 1)
    """

    @property
    def variance(self) -> np.ndarray:
        """Asymptotic variance of each component: that of the mean of n sweeps is this divided by n."""
        return asymptotic_variance(self.draws)

    @property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean, autocorrelation accounted for."""
        return np.sqrt(self.variance / (self.draws.shape[0] * self.draws.shape[1]))

    def to_datatree(self) -> xarray.DataTree:
        """Return the draws in the form that ArviZ uses, chains x draws. Needs ``pip install "copartition[arviz]"``."""
        return export.sample_datatree(self)

    def plot(self, component: int = 0, *, ax: Axes | None = None) -> Axes:
        """Draw one component along the chains: see `copartition.plots.chains`."""
        return plots.chains(self, component, ax=ax)

    @overload
    def summary(self, as_frame: Literal[False] = False) -> str: ...

    @overload
    def summary(self, as_frame: Literal[True]) -> pandas.DataFrame: ...

    def summary(self, as_frame: bool = False) -> str | pandas.DataFrame:
        """Return a table of components, means and standard errors; as a data frame with ``as_frame=True``."""
        if as_frame:
            names = list(self.components) or [f"{self.functional}[{i}]" for i in range(len(self.mean))]
            columns = {"component": names, "mean": self.mean, "stderr": self.stderr}
            return frame_of(columns, "component", "as_frame=True")
        chains, kept, _ = self.draws.shape
        lines = [f"{self.functional}: {chains} chains x {kept} sweeps after {self.burn_in} of burn-in"]
        for i, (mean, stderr) in enumerate(zip(self.mean[:20], self.stderr[:20], strict=True)):
            error = ", the same in every sweep" if is_constant(mean, stderr) else f" +- {stderr:.2g}"
            lines.append(f"  [{i}]  {rounded(mean, stderr)}{error}")
        if len(self.mean) > 20:
            lines.append(f"  ... and {len(self.mean) - 20} more components")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


@dataclass(frozen=True, repr=False)
class Estimate(Replicates):
    """An unbiased estimate from independent replicates, with a confidence interval.

    Its data are those of `copartition.results.Replicates`: ``values``, ``mean``, ``stderr``, ``interval``,
    ``meeting_times``, ``met``, ``sweeps``, ``seconds``, ``components``, ``made_by``.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=200, burn_in=10, min_sweeps=100, lag=10, seed=1)
    >>> e.values.shape, e.censored
    ((200, 1), 0)
    >>> low, high = e.interval(0.95)
    >>> bool(low[0] < e.mean[0] < high[0])
    True
    """

    _variance_of_chain: Callable[[], Estimate] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_variance_of_chain": None}  # it knows the target, with all data

    def inefficiency(self, reference: Sample | Estimate | None = None) -> efficiency.Inefficiency:
        """Return how many times the work of ordinary chains the same precision takes with this estimate's settings.

        Parameters
        ----------
        reference : Sample or Estimate, optional
            Ordinary chains with the same functional, long enough for their variance to be known; or what
            `asymptotic_variance` returns. Left out, `asymptotic_variance` is run here, for chains that make the same
            step; an estimate that was read from a file has no target to run it for.

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=500, burn_in=10, min_sweeps=100, lag=10, seed=1)
        >>> s = cp.sample(posterior, cp.n_clusters(), sweeps=5000, seed=1)
        >>> bool(0.5 < e.inefficiency(s).sweeps[0] < 2.0)
        True
        >>> bool(0.5 < e.inefficiency().sweeps[0] < 2.0)
        True
        """
        if reference is None:
            efficiency.check_spread(self)
            self.all_values("inefficiency")
            if self._variance_of_chain is None:
                raise ValueError(
                    "inefficiency must be given a reference, what sample or asymptotic_variance returns, where an "
                    "estimate does not know its target: it was read from a file, or is not from estimate."
                )
            reference = self._variance_of_chain()
        return efficiency.inefficiency(self, reference)

    def trimmed_mean(self, proportion: float = 0.01, level: float = 0.95) -> efficiency.RobustSummary:
        """Return the mean without the smallest and largest replicates. **Not unbiased.**

        Parameters
        ----------
        proportion : float
            Share of the replicates that is left out at either end.
        level : float
            Of the bootstrap interval.
        """
        return efficiency.trimmed_mean(self.all_values("trimmed_mean"), self.components, proportion, level)

    @property
    def heaviest_share(self) -> np.ndarray:
        """The share of the variance of each component that the heaviest 1 % of the replicates have (normal: 8 %)."""
        return efficiency.heaviest_share(self.all_values("heaviest_share"))

    @property
    def agreement(self) -> Agreement | None:
        """How far chains that did not meet before the cap agree; None if all pairs met.

        Its `verdict` is ``"chains are in different modes"`` or ``"chains agree, the coupling is slow"``; the rule is in
        `copartition.diagnostics.agreement`.

        Examples
        --------
        >>> import copartition as cp
        >>> data = [-3.2, -3.0, -2.8, 2.8, 3.0, 3.2]
        >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> short = {"burn_in": 2, "min_sweeps": 10, "lag": 5, "max_sweeps": 10}
        >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=50, coupling="independent", seed=1, **short)
        >>> e.agreement.verdict
        'chains agree, the coupling is slow'
        >>> bool(abs(e.ordinary.mean[0] - e.mean[0]) < 0.5)  # both kinds of averages
        True
        """
        return agreement_of(self)

    @property
    def missing(self) -> Missing | None:
        """What the cap leaves out: of which chains the truncated estimate tells, and how fast it still changes.

        None if all pairs met.
        """
        return missing_of(self)

    @property
    def findings(self) -> list[Finding]:
        """All that is to be known of how far the estimate can be trusted, for its model."""
        return findings_of(self)

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting the estimate, a sentence or two each: the findings that are warnings."""
        return [str(finding) for finding in self.findings if finding.is_warning]

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
        return export.dataframe(self)

    def to_datatree(self) -> xarray.DataTree:
        """Return the replicates in the form that ArviZ uses. Needs ``pip install "copartition[arviz]"``."""
        return export.datatree(self)

    def plot(self, name: str | None = None, *, ax: Any = None, **more: Any) -> Any:
        """Draw the picture that suits what was estimated.

        Probabilities of numbers of clusters as bars with errors, who is with whom as a matrix in the order of the
        consensus, densities as curves with bands, shares as bars, tables of clusters as tables, one number as it
        settles, and anything else as means with intervals. It is drawn by a function of ``copartition.plots``.

        Parameters
        ----------
        name : str, optional
            Which functional, as in `select`. Left out, all of them, one beside the other.
        ax : matplotlib axes, optional
            To draw one functional into.
        **more
            For the function that draws it, such as ``level=0.9``, or ``posterior=`` for bars with the prior beside.

        Returns
        -------
        matplotlib axes, or an array of them, one a functional

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> how = {"replicates": 10, "burn_in": 5, "min_sweeps": 50, "lag": 5, "seed": 1}
        >>> e = cp.estimate(posterior, cp.n_clusters(most=2), **how)
        >>> ax = e.plot(posterior=posterior)
        >>> ax.get_xlabel()
        'number of clusters'
        """
        return plots.natural(self if name is None else self.select(name), ax=ax, **more)

    @overload
    def summary(self, rows: int = 20, *, as_frame: Literal[False] = False) -> str: ...

    @overload
    def summary(self, rows: int = 20, *, as_frame: Literal[True]) -> pandas.DataFrame: ...

    def summary(self, rows: int = 20, *, as_frame: bool = False) -> str | pandas.DataFrame:
        """Return a table for a person to read, of at most so many components.

        Parameters
        ----------
        rows : int
            Components in the text.
        as_frame : bool
            Return all components as a data frame instead: mean, standard error, ends of the 95 % interval, and whether
            the mean is known to be biased. Needs pandas. (`to_dataframe` has a row a replicate.)

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> e = cp.estimate(posterior, cp.n_clusters(), replicates=10, burn_in=5, min_sweeps=50, lag=5, seed=1)
        >>> list(e.summary(as_frame=True).columns)
        ['mean', 'stderr', 'low', 'high', 'biased']
        """
        if as_frame:
            return frame_of(export.summary_columns(self), "component", "as_frame=True")
        shown = self.components[:rows]
        mean, stderr = self.mean[:rows], self.stderr[:rows]
        width = max(len(name) for name in shown)
        head, beside = "", [""] * len(shown)
        if self.censored and self.ordinary is not None:
            # Both kinds of averages, side by side: neither is what was asked for.
            head = f"{'ordinary':>12}  {'stderr':>9}  "
            pairs = zip(self.ordinary.mean[:rows], self.ordinary.stderr[:rows], strict=True)
            beside = [f"{rounded(value, error):>12}  {error:9.2g}  " for value, error in pairs]
        name_of_mean = "truncated" if self.censored else "mean"
        lines = [
            f"{'':{width}}  {name_of_mean:>12}  {'stderr':>9}  {head}95 % interval{' (truncated)' if head else ''}"
        ]
        margin = self.margin()
        lines += [
            f"{name:{width}}  {rounded(value, error):>12}  {error_text(value, error):>9}  {plain}"
            f"{interval_text(value, error, margin)}"
            for name, value, error, plain in zip(shown, mean, stderr, beside, strict=True)
        ]
        if np.any(is_constant(mean, stderr)):
            lines.append(f"{NO_SPREAD} {no_spread_sentence(len(self.values))}")
        if len(self.components) > rows:
            lines.append(f"... and {len(self.components) - rows} more components")
        settings = {key: value for key, value in self.made_by["settings"].items() if key != "max_sweeps"}
        step = self.made_by["step"]
        for name, part in step.items():
            if name != "coupling" and part is not None:
                settings[name] = "yes" if part is True else part["number"] if isinstance(part, dict) else part
        coupled = self.meeting_times - self.lag
        asked = f" ({self.made_by['asked']} kept partitions of each)" if "asked" in self.made_by else ""
        lines.append(
            f"{len(self.values)} replicates{asked}, {step['coupling']}, "
            + ", ".join(f"{key} {value}" for key, value in settings.items())
        )
        lines.append(
            f"sweeps to meet: mean {coupled.mean():.1f}, largest {coupled.max()}; "
            f"cost: {self.sweeps.mean():.0f} sweeps and {self.seconds.mean():.3g} CPU seconds a replicate"
        )
        if self.made_by.get("ordinary"):
            # Single chains, as those behind the draws of a clustering: no pairs, so nothing to say of meetings.
            lines[-2:] = [f"{len(self.values)} chains{asked}"]
        return "\n".join([*self.warnings, *lines])

    def __str__(self) -> str:
        return self.summary()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimate from the store of a run, finished or not.

        Parameters
        ----------
        path : path
            The file that was given as `store`.
        """
        store = Store(path)
        try:
            with store.snapshot():
                outcomes, sums, unmet = store.read(), store.read_sums(), store.read_unmet()
                partitions = store.read_partitions()
            moments = None if sums is None else Moments.of(sums, len(outcomes.indices), store.description)
            return cls.of(outcomes, store.description, moments=moments, unmet=unmet, partitions=partitions)
        finally:
            store.close()
