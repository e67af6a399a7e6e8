"""Partitions with signed weights: run once, ask later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np

from copartition.answers import Estimate
from copartition.chains.step import Step
from copartition.diagnostics.findings import Finding
from copartition.diagnostics.tuning import Tuned
from copartition.display import Displayed
from copartition.functionals import Functional, largest_clusters, n_clusters
from copartition.names import Names
from copartition.results.kept import Partitions
from copartition.results.replicates import FEWEST_FOR_INTERVAL
from copartition.runs.asking import expectations
from copartition.runs.choice import How, check_how, choose, make_job
from copartition.runs.estimating import run_until
from copartition.runs.stopping import stopping_rule
from copartition.runs.workers import Where
from copartition.targets.base import Target, check_target
from copartition.validation import flag, integer, shorten
from copartition.view import export

if TYPE_CHECKING:
    import pandas
    import xarray

PER_REPLICATE = 16


@dataclass(frozen=True, eq=False, repr=False)
class WeightedPartitions(Displayed):
    """Partitions from a run, with signed weights, from which any posterior expectation can be estimated.

    `draw` makes them. A replicate of the unbiased estimator is a weighted average over partitions: most of them have
    the weight 1 / 16, those that correct for the start of the chains may have other, also negative weights. The weights
    of every replicate sum to 1, and the weighted average of any function of a partition over one replicate is an
    unbiased estimate of its posterior expectation.

    Attributes
    ----------
    run : Estimate
        What was averaged over all sweeps while the partitions were kept, with meeting times and findings.
    target : Target or None
        The posterior; None if the partitions were read from a file without it.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> d = cp.draw(posterior, replicates=100, burn_in=10, min_sweeps=100, lag=10, settings=None, seed=1)
    >>> d.labels.shape, d.labels.dtype
    ((1600, 3), dtype('uint8'))
    >>> e = d.expect([cp.n_clusters(), cp.predictive_density([0.0, 3.0])])
    >>> e.values.shape
    (100, 3)
    """

    run: Estimate
    target: Target | None = None

    @property
    def _kept(self) -> Partitions:
        assert self.run.partitions is not None
        return self.run.partitions

    @property
    def labels(self) -> np.ndarray:
        """The partitions (partitions, points), in the smallest unsigned integer type; clusters count from 0."""
        return self._kept.labels

    @property
    def weights(self) -> np.ndarray:
        """The signed weight of each partition; those of a replicate sum to 1."""
        return self._kept.weights

    @property
    def replicate(self) -> np.ndarray:
        """The number of the replicate that each partition belongs to."""
        return self._kept.replicate

    @property
    def averaged(self) -> np.ndarray:
        """Which partitions are of the average of their replicate, and not of its correction."""
        return self._kept.is_averaged

    @property
    def hyperparameters(self) -> np.ndarray:
        """Values of the unknown hyperparameters at each partition (partitions, hyperparameters)."""
        return self._kept.hyperparameters

    @property
    def hyperparameter_names(self) -> list[str]:
        """What the columns of `hyperparameters` are."""
        return list(self.run.made_by.get("hyperparameters", []))

    @property
    def meeting_times(self) -> np.ndarray:
        """The sweep at which the two chains of each replicate met."""
        return self.run.meeting_times

    @property
    def findings(self) -> list[Finding]:
        """All that is to be known of how far the run can be trusted: see `Estimate.findings`."""
        return self.run.findings

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting it, a sentence or two each."""
        return self.run.warnings

    @property
    def names(self) -> list[Any]:
        """What the points are called: their names, or their numbers from 0 on."""
        return list(self.run.made_by.get("names") or range(self.labels.shape[1]))

    def expect(self, functional: Any, *, threads: int | None = None, progress: bool = False) -> Estimate:
        """Return unbiased estimates of posterior expectations, without another run.

        Parameters
        ----------
        functional : Functional, callable, or sequence of them
            Any functional of the package, of any number; or a Python function of the labels of one partition, which
            returns a number or several.
        threads : int, optional
            Number of threads; left out, as many as there are processors.
        progress : bool
            Show a progress bar.

        Returns
        -------
        Estimate
            Its standard errors are those between replicates.

        Notes
        -----
        `co_clustering`, `memberships`, `cluster_similarity` and `n_clusters` are not just looked up in the partitions:
        each point's conditional distribution given all others is used as well, which makes standard errors smaller at
        the same expectation. So the values of one replicate need not be between 0 and 1.

        Examples
        --------
        >>> import copartition as cp
        >>> import numpy as np
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> d = cp.draw(posterior, replicates=200, burn_in=10, min_sweeps=100, lag=10, settings=None, seed=1)
        >>> e = d.expect(lambda labels: labels[0] == labels[1])
        >>> bool(0.5 < e.mean[0] < 1.0)
        True
        """
        several = isinstance(functional, Sequence) and not isinstance(functional, str)
        wanted = list(functional) if several else [functional]
        if not wanted:
            raise ValueError("functional must be one functional or more, got none.")
        if threads is not None:
            integer("threads", threads, 1)
        return expectations(self.run, self.target, wanted, threads, flag("progress", progress))

    # --- to other programs -------------------------------------------------------------------------------------------

    def to_dataframe(self) -> pandas.DataFrame:
        """Return a pandas table with a row a partition: replicate, weight, hyperparameters, labels. Needs pandas."""
        return export.partitions_frame(self.run)

    def to_datatree(self) -> xarray.DataTree:
        """Return the partitions in the form that ArviZ uses: weights and replicates are variables beside the labels.

        Needs ``pip install "copartition[arviz]"``. ArviZ itself gives every draw the same weight: multiply by
        ``weight`` times their number.
        """
        return export.partitions_datatree(self.run)

    def to_matrix(self) -> np.ndarray:
        """Return a matrix of labels, a row a partition, clusters counted from 1: what R's salso and mcclust take.

        These packages know no weights. So the corrections are left out, and all others count the same: what an ordinary
        chain after the same burn-in gives. A run in which few replicates are corrected loses little by it.

        Examples
        --------
        >>> import copartition as cp
        >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        >>> d = cp.draw(posterior, replicates=10, burn_in=10, min_sweeps=100, lag=10, settings=None, seed=1)
        >>> d.to_matrix().shape
        (160, 3)
        """
        return self.labels[self.averaged].astype(np.int64) + 1

    @classmethod
    def load(cls, path: str | Path, target: Target | None = None) -> Self:
        """Read partitions from the store of a run, finished or not.

        Parameters
        ----------
        path : path
            The file that was given as `store`.
        target : Target, optional
            The posterior, where it is going to be asked: the same as that of the run, which is checked.
        """
        run = Estimate.load(path)
        if run.partitions is None and run.made_by.get("per_replicate"):
            raise ValueError(f"The store {str(path)!r} holds no replicate yet.")
        if run.partitions is None:
            raise ValueError(
                f"The store {str(path)!r} holds no partitions: make the run with draw, or with --keep on the command "
                "line."
            )
        if target is not None:
            check_target(target)
            if target.fingerprint != run.made_by["fingerprint"]:
                raise ValueError(
                    f"target must be the one that the run in {str(path)!r} was made with, "
                    f"{shorten(run.made_by['target'])}, got {shorten(target)}."
                )
        return cls(run, target)

    # --- for people --------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self):,} partitions of {self.labels.shape[1]:,} points from "
            f"{len(self.run.values):,} replicates>"
        )

    def _repr_html_(self) -> str | None:
        """Return what notebooks show: the run."""
        return self.run._repr_html_()

    def summary(self) -> str:
        """Return a few lines for a person to read."""
        corrected = len(np.unique(self.replicate[~self.averaged]))
        count = len(self.run.values)
        lines = [
            f"{len(self):,} partitions of {self.labels.shape[1]:,} points from {count:,} replicates: "
            f"{self._kept.averaged:,} of each"
            + (f", and more that correct {corrected:,} of them." if corrected else "; none needed a correction."),
            "expect(functional) estimates any posterior expectation from them. Meanwhile estimated:",
        ]
        return "\n".join([*lines, str(self.run)])

    def __str__(self) -> str:
        return self.summary()


def part_of(d: WeightedPartitions, chosen: np.ndarray) -> WeightedPartitions:
    """Return the partitions of some replicates, for which `chosen` is True, numbered anew from 0 on.

    Of what was estimated meanwhile only what is kept replicate by replicate is left.
    """
    r, partitions = d.run, d.run.partitions
    assert partitions is not None
    before = np.flatnonzero(chosen) if r.indices is None else r.indices[chosen]
    count = len(before)
    arrays = ("values", "meeting_times", "met", "sweeps", "seconds")
    own: dict[str, Any] = {name: getattr(r, name)[chosen] for name in arrays}
    own["ordinary_values"] = None if r.ordinary_values is None else r.ordinary_values[chosen]
    places = {int(number): place for place, number in enumerate(before)}
    own["unmet"] = tuple(one._replace(number=places[one.number]) for one in r.unmet if one.number in places)
    functionals = [about for about in r.functionals if not about.get("streamed")]
    made_by = r.made_by | {"functionals": functionals, "wanted": count + r.unfinished}
    kept = partitions.where(np.isin(partitions.replicate, before))
    kept = kept._replace(replicate=np.searchsorted(before, kept.replicate))
    run = Estimate(components=Names(functionals), made_by=made_by, indices=np.arange(count), partitions=kept, **own)
    return replace(d, run=run)


def draw(
    target: Target,
    functional: Functional | Sequence[Functional] | None = None,
    *,
    replicates: int | None = None,
    per_replicate: int = PER_REPLICATE,
    target_stderr: float | None = None,
    target_relative: float | None = None,
    settings: Tuned | str | None = "auto",
    step: Step | None = None,
    seed: int = 0,
    executor: Any = None,
    store: str | Path | None = None,
    progress: bool | Callable[[int, int, np.ndarray, np.ndarray], None] = False,
    **how: Unpack[How],
) -> WeightedPartitions:
    """Draw partitions with signed weights, from which any posterior expectation can be estimated without bias.

    Parameters
    ----------
    target : Target
        The posterior.
    functional : Functional or sequence of Functional, optional
        What is estimated from all sweeps meanwhile, up to four. Left out, the number of clusters and the shares of the
        three largest. It also guides the pilot, and is what chains from other starts are compared by.
    replicates : int, optional
        Number of independent pairs of chains; the most there may be if a precision is asked for. Left out, as many as
        ordinary precision of `functional` takes (see `estimate`), at least 200, so that `consensus` has 100 to choose
        by and 100 to judge by, and at most 1000.
    per_replicate : int
        Partitions that are kept of each replicate, evenly spaced; besides, those that correct it, if any do.
    target_stderr : float, optional
        Run until the standard errors of all components of `functional` are this small.
    target_relative : float, optional
        The same, in multiples of the largest mean of each functional.
    settings : Tuned, "auto" or None
        How replicates are run, see `estimate`: ``"auto"`` lets a pilot choose. If the store of an earlier call is gone
        on with, its settings are taken.
    step : Step, optional
        What chains do in a step; left out, what suits the target best.
    seed : int
        The same seed gives the same partitions on any executor.
    executor, store, progress
        See `estimate`. Partitions in a store are compressed.
    **how
        How chains run, see `How`.

    Returns
    -------
    WeightedPartitions

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> d = cp.draw(posterior, replicates=200, burn_in=10, min_sweeps=100, lag=10, settings=None, seed=1)
    >>> d.expect(cp.co_clustering()).components
    ['together[0, 1]', 'together[0, 2]', 'together[1, 2]']
    >>> cp.consensus(d).labels
    array([0, 0, 1])
    """
    check_how(draw, how)
    rule = stopping_rule(replicates, target_stderr, target_relative, fewest=2 * FEWEST_FOR_INTERVAL)
    if not callable(progress):
        flag("progress", progress)
    wanted = [n_clusters(), largest_clusters(3)] if functional is None else functional
    per_replicate = integer("per_replicate", per_replicate, 1)
    where = Where(executor, progress is True, seed)
    choice = choose(target, wanted, how, step, settings, where, store)
    job = replace(make_job(target, wanted, choice, seed), keeps=per_replicate)
    run = run_until(rule, job, choice, executor=executor, store=store, progress=progress)
    return WeightedPartitions(run, target)
