"""A clusterer for scikit-learn, which says how sure it is. Needs ``pip install "copartition[sklearn]"``."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from copartition.chains.step import Step
from copartition.extras import needed
from copartition.front import Asked, cluster_rows, component_of
from copartition.functionals import predictive_density
from copartition.runs.estimating import estimate
from copartition.runs.workers import Where
from copartition.targets.cells import cells_of, component_in_words
from copartition.targets.mixture import Component, Mixture
from copartition.validation import shorten

DOOR = "copartition.sklearn"
base: Any = needed("sklearn.base", by=DOOR)
exceptions: Any = needed("sklearn.exceptions", by=DOOR)
utils: Any = needed("sklearn.utils", by=DOOR)
joblib: Any = needed("joblib", by=DOOR)
validation: Any = needed("sklearn.utils.validation", by=DOOR)

ClusterMixin: Any = base.ClusterMixin
BaseEstimator: Any = base.BaseEstimator


class MixtureClusterer(ClusterMixin, BaseEstimator):
    """Bayesian clustering with an unknown number of clusters, and how surely each point belongs where it is.

    The clustering is the one with the least posterior expected loss, from unbiased estimates by coupled Markov chains.
    Time is bounded: pairs of chains that have not met after `max_sweeps` are given up. A ``ConvergenceWarning`` then
    says how many, and `converged_` is False.

    Parameters
    ----------
    component : str or Component, default "full"
        The law of a cluster: ``"full"``, a mean and a covariance of its own, unknown; ``"diagonal"``, a mean and a
        variance in each column, unknown, where cells may be missing (NaN); ``"tied"``, an unknown covariance that all
        clusters share; ``"known"``, a known standard deviation, `noise_sd`; or a component of copartition, for instance
        ``Columns`` for tables with categories and counts.
    prior : Prior, optional
        The law of the clustering before any data; left out, a Dirichlet process with an unknown concentration.
    noise_sd : float, optional
        With ``component="known"``: standard deviation of points around the mean of their cluster.
    loss : str, default "vi"
        ``"vi"``, the variation of information, or ``"binder"``.
    target_stderr : float or None, default 0.05
        Run until standard errors of `probabilities_` are at most this; None: run `max_replicates` pairs of chains.
    max_replicates : int, default 1000
        The most pairs of chains in each of two rounds, 200 at most in the first if a precision is asked for.
    max_sweeps : int, optional
        A cap on the sweeps of each; left out, as many as make half a million updates of points, 200 at least and 5,000
        at most.
    step : Step, optional
        What chains do in a step, see `copartition.Step`.
    n_jobs : int, optional
        Threads, as everywhere in scikit-learn: None is one, -1 all processors. Results do not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 array (points)
        The cluster of each point, from 0 on, in the order of their first points.
    n_clusters_ : int
        How many clusters these are.
    probabilities_, probabilities_stderr_ : float64 arrays (points)
        Probability that a point is together with another one of its cluster, clipped to 0..1, and its standard error.
    co_clustering_ : float64 array (points, points), sparse array, or None
        Probability that two points are together. Of more than 2,000 points a sparse array with the 15 nearest points of
        each; None if there are so many and cells are missing.
    n_clusters_mean_ : float
        Posterior mean of the number of clusters.
    n_clusters_interval_ : tuple of float
        Its 95 % confidence interval; NaN from fewer than 100 replicates.
    converged_ : bool
        Whether all pairs of chains met, and the precision asked for was reached.
    n_iter_ : int
        The most sweeps that a pair of chains made.
    consensus_ : Consensus
        The clustering with all that is known of it: see `copartition.consensus`.
    estimate_ : Estimate
        Of the number of clusters, with meeting times, findings and warnings.
    posterior_ : Mixture
        The posterior; printed, it says in words what was assumed.
    component_, prior_ : Component, Prior
        Both with all numbers that were left out set from the data.
    n_features_in_ : int
    feature_names_in_ : array of str
        If the data had names.

    Examples
    --------
    >>> import numpy as np
    >>> from copartition.sklearn import MixtureClusterer
    >>> data = np.random.default_rng(1).normal([[-4.0], [4.0]] * 20, 1.0)
    >>> clusterer = MixtureClusterer("diagonal", random_state=1).fit(data)
    >>> clusterer.n_clusters_, clusterer.converged_
    (2, True)
    >>> bool(clusterer.probabilities_.min() > 0.7)
    True
    """

    def __init__(
        self,
        component: str | Component = "full",
        prior: Any = None,
        *,
        noise_sd: float | None = None,
        loss: str = "vi",
        target_stderr: float | None = 0.05,
        max_replicates: int = 1000,
        max_sweeps: int | None = None,
        step: Step | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.component = component
        self.prior = prior
        self.noise_sd = noise_sd
        self.loss = loss
        self.target_stderr = target_stderr
        self.max_replicates = max_replicates
        self.max_sweeps = max_sweeps
        self.step = step
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clustering.

        Parameters
        ----------
        X : array (points, columns) or data frame
        y : ignored
        """
        data = self._checked(X, reset=True)
        self._seed = _seed_of(self.random_state)
        is_frame = data is not X and hasattr(X, "iloc") and hasattr(X, "columns")
        named = type(X)(data, X.index, X.columns) if is_frame else data  # numbers, with the names of rows and columns
        posterior = Mixture(named, component_of(self.component, data, self.noise_sd), self.prior)
        asked = Asked(self.loss, self.target_stderr, self.max_replicates, self.max_sweeps, self.step)
        if self.n_jobs is not None and not isinstance(self.n_jobs, int | np.integer):
            raise TypeError(f"n_jobs must be a whole number or None, got {shorten(self.n_jobs)}.")
        where = Where(joblib.effective_n_jobs(self.n_jobs), False, self._seed)
        found = cluster_rows(posterior, data, asked, where)
        self.posterior_, self.consensus_, self.estimate_ = found.posterior, found.consensus, found.number
        self.component_, self.prior_ = found.posterior.component, found.posterior.prior
        self.labels_ = found.consensus.labels
        self.n_clusters_ = len(found.consensus.sizes)
        self.probabilities_ = np.clip(found.consensus.belongs, 0.0, 1.0)
        self.probabilities_stderr_ = found.consensus.belongs_stderr
        self.co_clustering_ = found.similarity
        self.n_clusters_mean_ = float(found.number.mean[0])
        low, high = found.number.interval()
        self.n_clusters_interval_ = float(low[0]), float(high[0])
        self.n_iter_ = found.n_sweeps
        self.converged_ = not found.shortfalls
        for sentence in found.shortfalls:
            warnings.warn(f"{type(self).__name__}: {sentence}", exceptions.ConvergenceWarning, stacklevel=2)
        for sentence in found.misfits:
            warnings.warn(f"{type(self).__name__}: {sentence}", UserWarning, stacklevel=2)
        return self

    def predictive_density(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the posterior predictive density at new points, and its standard error.

        Chains are run anew, with the settings and as many pairs as `fit` had, so that the means are unbiased: a few of
        them may be negative where the density is very small.

        Parameters
        ----------
        X : array (points, columns) or data frame
        """
        validation.check_is_fitted(self)
        run: Any = self.consensus_.estimate
        e = estimate(
            self.posterior_,
            predictive_density(self._checked(X, reset=False)),
            replicates=len(run.met),
            step=self.step,
            seed=self._seed,
            executor=joblib.effective_n_jobs(self.n_jobs),
            **{name: run.made_by["settings"][name] for name in ("burn_in", "min_sweeps", "lag", "max_sweeps")},
        )
        return e.mean, e.stderr

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the logarithm of the posterior predictive density at new points.

        Parameters
        ----------
        X : array (points, columns) or data frame
        """
        density, _ = self.predictive_density(X)
        return np.log(np.maximum(density, np.finfo(np.float64).tiny))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`.

        Parameters
        ----------
        X : array (points, columns) or data frame
        y : ignored
        """
        return float(np.mean(self.score_samples(X)))

    @property
    def _takes_cells(self) -> bool:
        """Whether cells may be missing: what the component makes of them is for itself to say."""
        return self.component == "diagonal" if isinstance(self.component, str) else _takes_cells(self.component)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return the data as an array of numbers, or, where the component takes tables of any cells, as they are."""
        if not isinstance(self.component, str) and self._takes_cells and hasattr(X, "iloc"):
            validation.validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        try:
            return validation.validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                ensure_min_samples=2 if reset else 1,
                ensure_all_finite="allow-nan" if self._takes_cells else True,
            )
        except ValueError as error:
            if isinstance(self.component, str) and (sentence := _what_to_write(X, self.component, str(error))):
                raise ValueError(sentence) from None
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_cells
        return tags


def _takes_cells(component: Any) -> bool:
    return bool(getattr(component, "takes_cells", False))


def _what_to_write(X: Any, component: str, reason: str) -> str:
    """Return what to write for data that scikit-learn refuses, where a component is made for them; else nothing."""
    if "could not convert string" in reason:
        cells = cells_of(X, "X")
        if not any(cells.is_text(j) for j in range(cells.shape[1])):  # numbers, and cells that are none
            try:
                cells.numbers()
            except TypeError as error:
                return str(error)
        return (
            f"X must hold numbers for component={component!r}, got text ({reason}); give each kind of column a "
            f"component of its own, such as component={component_in_words(X)}, all of which are in copartition."
        )
    if "contains NaN" in reason:
        cells = cells_of(X, "X")
        row, j = np.argwhere(cells.missing())[0]
        return (
            f"X contains NaN in {cells.title(int(j))}, row {row}, and component={component!r} needs every cell; give "
            "component='diagonal', where cells may be missing, or leave such rows out."
        )
    return ""


def _seed_of(random_state: Any) -> int:
    """Return a seed; a number is taken as it is."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(utils.check_random_state(random_state).randint(2**31 - 1))
