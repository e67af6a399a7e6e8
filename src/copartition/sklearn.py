"""A clusterer for scikit-learn: `copartition.cluster` in its words. Needs ``pip install "copartition[sklearn]"``."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, Self

import numpy as np

from copartition.clustering.answer import ALL_PAIRS
from copartition.clustering.call import cluster
from copartition.diagnostics.findings import MISFIT
from copartition.extras import MissingPackageError, needed
from copartition.targets.mixture import Component
from copartition.validation import shorten

DOOR = "copartition.sklearn"
base: Any = needed("sklearn.base", by=DOOR)
exceptions: Any = needed("sklearn.exceptions", by=DOOR)
utils: Any = needed("sklearn.utils", by=DOOR)
joblib: Any = needed("joblib", by=DOOR)
validation: Any = needed("sklearn.utils.validation", by=DOOR)

ClusterMixin: Any = base.ClusterMixin
BaseEstimator: Any = base.BaseEstimator
LAZY = ("profile_", "separation_", "co_clustering_")


class MixtureClusterer(ClusterMixin, BaseEstimator):
    """Bayesian clustering with an unknown number of clusters, and how surely each row belongs where it is.

    This is `copartition.cluster`: there is always an answer, within counted work, and it has a grade. For any grade but
    "unbiased" `fit` gives a ``ConvergenceWarning`` with the reason.

    Parameters
    ----------
    component : str or Component, default "auto"
        What clusters of columns of numbers are like: ``"full"``, each with a covariance of its own; ``"tied"``, with
        one that all share; ``"diagonal"``, columns independent. ``"auto"`` takes the one that predicts rows best that
        it has not seen. With a component of the package, or one of your own, the table is taken as it is.
    prior : Prior, optional
        The distribution of clusterings before any data; left out, a Dirichlet process with an unknown concentration.
    effort : float, default 1.0
        How much work: 1 is at most a minute of one processor, for tables of up to 20,000 rows; 10 is ten times that.
    loss : str, default "vi"
        ``"vi"``, the variation of information, or ``"binder"``.
    n_jobs : int, optional
        Threads, as everywhere in scikit-learn: None is one, -1 all processors. Results do not depend on it.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : int64 array (rows)
        The cluster of each row, 0 for the largest.
    n_clusters_ : int
        How many clusters these are.
    probabilities_, probabilities_stderr_ : float64 arrays (rows)
        Probability that a row is together with another one of its cluster, drawn at random, and its standard error.
    grade_ : {"unbiased", "approximate", "unsettled"}
        What may be claimed; ``clustering_.reason`` says why.
    profile_ : pandas.DataFrame
        What a member of each cluster looks like, see `Clustering.profile`.
    separation_ : pandas.DataFrame
        How much each column separates the clusters, see `Clustering.separation`.
    co_clustering_ : float64 array (rows, rows), or None
        Probability that two rows are together. None of more than 2,000 rows.
    clustering_ : Clustering
        The whole answer: printed, it says what a person wants to know first.
    posterior_ : Mixture
        Printed, it says in words what was assumed.
    n_features_in_ : int
    feature_names_in_ : array of str
        If the data had names.

    Notes
    -----
    Data frames of pandas and polars are taken as they are, with categories, counts and cells that are missing; columns
    of arrays are recognised in the same way (`copartition.cluster`), and NaN is a missing cell. `profile_`,
    `separation_` and `co_clustering_` are found when they are first asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from copartition.sklearn import MixtureClusterer
    >>> data = np.random.default_rng(1).normal([[-4.0], [4.0]] * 20, 1.0)
    >>> clusterer = MixtureClusterer("diagonal", random_state=1).fit(data)
    >>> clusterer.n_clusters_, clusterer.grade_
    (2, 'unbiased')
    >>> clusterer.predict([[4.2], [-3.9], [100.0]])
    array([ 1,  0, -1])
    """

    def __init__(
        self,
        component: str | Component = "auto",
        prior: Any = None,
        *,
        effort: float = 1.0,
        loss: str = "vi",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.component = component
        self.prior = prior
        self.effort = effort
        self.loss = loss
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clustering.

        Parameters
        ----------
        X : data frame or array (rows, columns)
        y : ignored
        """
        table = self._checked(X, reset=True)
        if self.n_jobs is not None and not isinstance(self.n_jobs, int | np.integer):
            raise TypeError(f"n_jobs must be a whole number or None, got {shorten(self.n_jobs)}.")
        found = cluster(
            table,
            self.component,
            self.prior,
            effort=self.effort,
            loss=self.loss,
            seed=_seed_of(self.random_state),
            executor=joblib.effective_n_jobs(self.n_jobs),
        )
        for name in LAZY:
            self.__dict__.pop(name, None)  # of an earlier fit
        self._titles = [str(name).strip() for name in table.columns] if _is_frame(table) else None
        self.clustering_, self.posterior_ = found, found.posterior
        self.labels_, self.n_clusters_ = found.labels, len(found.sizes)
        self.probabilities_, self.probabilities_stderr_ = found.certainty, found.certainty_stderr
        self.grade_ = found.grade
        if found.grade != "unbiased":
            text = f"{type(self).__name__}: the answer is {found.grade}. {found.reason}"
            warnings.warn(text, exceptions.ConvergenceWarning, stacklevel=2)
        for finding in found.findings:
            if finding.level == MISFIT:
                warnings.warn(f"{type(self).__name__}: {finding.text} {finding.advice}", UserWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable cluster of new rows, as `labels_` has them; -1 where that is none of them.

        Parameters
        ----------
        X : data frame or array (rows, columns)
        """
        return self._clustering.predict(self._rows(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each cluster for new rows, and, in the last column, of none of them.

        Parameters
        ----------
        X : data frame or array (rows, columns)
        """
        return self._clustering.predict_proba(self._rows(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the logarithm of the posterior predictive density of new rows.

        Parameters
        ----------
        X : data frame or array (rows, columns)
        """
        return self._clustering.score_samples(self._rows(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`.

        Parameters
        ----------
        X : data frame or array (rows, columns)
        y : ignored
        """
        return float(np.mean(self.score_samples(X)))

    @cached_property
    def profile_(self) -> Any:
        """What a member of each cluster looks like."""
        return _or_nothing(self._clustering.profile)

    @cached_property
    def separation_(self) -> Any:
        """How much each column separates the clusters."""
        return _or_nothing(self._clustering.separation)

    @cached_property
    def co_clustering_(self) -> np.ndarray | None:
        """Probability that two rows are together; None of more than 2,000 rows."""
        if len(self._clustering.labels) > ALL_PAIRS:
            return None
        return np.clip(self._clustering.consensus.similarity, 0.0, 1.0)

    @property
    def _clustering(self) -> Any:
        validation.check_is_fitted(self)
        return self.clustering_

    def _rows(self, X: Any) -> Any:
        """Return new rows so that their columns are found: by name in a frame after a frame, else by place."""
        found, rows = self._clustering, self._checked(X, reset=False)
        if _is_frame(rows) == (self._titles is not None) or found.recognised is None:
            return rows
        if self._titles is None:
            return np.asarray(rows, dtype=object)
        return needed("pandas", by="An array of new rows after a data frame").DataFrame(rows, columns=self._titles)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return a data frame as it is, and anything else as an array, NaN where a cell was not observed."""
        if _is_frame(X):
            validation.validate_data(self, X, reset=reset, skip_check_array=True)
            if reset and len(X) < 2:
                raise ValueError(f"X must have at least two rows, got {len(X)}.")
            return X
        if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
            X = np.array(X, dtype=object)  # and not numbers as text where one cell is text
        least = 2 if reset else 1
        table = validation.validate_data(
            self, X, reset=reset, dtype=None, ensure_min_samples=least, ensure_all_finite="allow-nan"
        )
        if table.dtype.kind == "O":
            _check_cells(table)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        is_recognised = isinstance(self.component, str)
        tags.input_tags.allow_nan = is_recognised or bool(getattr(self.component, "takes_cells", False))
        tags.input_tags.categorical = is_recognised
        return tags


def _is_frame(X: Any) -> bool:
    return (hasattr(X, "iloc") and hasattr(X, "columns")) or hasattr(X, "get_columns")


def _check_cells(table: np.ndarray) -> None:
    for place, cell in np.ndenumerate(table):
        if isinstance(cell, dict | list | tuple | set | np.ndarray):
            raise TypeError(
                f"The X argument must be a table of strings and numbers, got {shorten(cell)} in row {place[0]}, "
                f"column {place[1]}."
            )


def _or_nothing(find: Any) -> Any:
    """Return what a function finds; where it cannot, as of some components, an object has no such attribute."""
    try:
        return find()
    except (TypeError, MissingPackageError) as error:
        raise AttributeError(str(error)) from error


def _seed_of(random_state: Any) -> int:
    """Return a seed; a number is taken as it is."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(utils.check_random_state(random_state).randint(2**31 - 1))
