"""A clustering of the rows of a table, with all that one may ask of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.clustering import around, describing, predicting
from copartition.clustering.model import table_of
from copartition.datasets.kinds import Kinds, recognise
from copartition.diagnostics.consensus import Consensus, consensus_of
from copartition.diagnostics.findings import Finding
from copartition.display import Displayed
from copartition.extras import needed
from copartition.functionals import co_clustering
from copartition.runs.asking import expectations
from copartition.runs.consensus import about_one
from copartition.runs.drawing import WeightedPartitions
from copartition.targets.base import Target
from copartition.targets.cells import Cells, cells_of
from copartition.targets.mixture import Mixture
from copartition.validation import confidence, integer, probability, shorten
from copartition.view import plots
from copartition.view.clusterings import distinguishing
from copartition.view.report import write_clustering

if TYPE_CHECKING:
    import pandas

UNDECIDED = 0.5  # certainty below which a row is
ALL_PAIRS = 2_000  # rows of which all pairs are looked at
LISTED = 10  # rows, and numbers of clusters, that a summary names
WIDTH = 110  # of a line
LIKELY = 0.005  # probability of a number of clusters from which on it is worth a word


@dataclass(frozen=True, eq=False, repr=False)
class Clustering(Displayed):
    """Which clusters, how sure, what distinguishes them, and where a new row goes. `cluster` returns it.

    Attributes
    ----------
    labels : int64 array (rows)
        The cluster of each row, 0 for the largest.
    certainty, certainty_stderr : float64 arrays (rows)
        Probability that a row is together with another one of its cluster, drawn at random, and its standard error.
    probabilities : float64 array (rows, clusters)
        The same for every cluster.
    n_clusters, n_clusters_stderr : dict
        Probability of each number of clusters, and its standard error.
    grade : {"unbiased", "approximate", "unsettled"}
        What may be claimed; `reason` says why.
    reason : str
    findings : list of Finding
        What else there is to know: of the model, the precision, the columns.
    draws : WeightedPartitions
        The partitions from which everything is estimated; any other question is one ``draws.expect``.
    posterior : Target
    loss : str
    names : list
        What the rows are called.
    recognised : Kinds or None
        What the columns were taken for.
    scores : list of dict
        How well components predicted rows that they had not seen, if several competed.
    given : object
        The data as they were given.
    effort : float
    seed : int
    work : dict
        What was run: chains, steps, pairs, how many of these met.

    Examples
    --------
    >>> import copartition as cp
    >>> import numpy as np
    >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
    >>> c = cp.cluster(data, component="diagonal", seed=1)
    >>> c.sizes
    array([15, 15])
    >>> c.predict([[4.8, 5.0]])
    array([1])
    """

    labels: np.ndarray
    certainty: np.ndarray
    certainty_stderr: np.ndarray
    probabilities: np.ndarray
    n_clusters: dict[int, float]
    n_clusters_stderr: dict[int, float]
    grade: str
    reason: str
    findings: list[Finding]
    draws: WeightedPartitions
    posterior: Target
    loss: str
    names: list[Any]
    recognised: Kinds | None
    scores: list[dict[str, Any]]
    given: Any
    effort: float
    seed: int
    work: dict[str, Any]

    # --- at a glance -------------------------------------------------------------------------------------------------

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each cluster."""
        return np.bincount(self.labels)

    @property
    def undecided(self) -> np.ndarray:
        """Which rows are with the others of their cluster with a probability below a half."""
        return self.certainty < UNDECIDED

    @property
    def warnings(self) -> list[str]:
        """What speaks against the answer, a sentence or two each."""
        return [str(finding) for finding in self.findings if finding.is_warning]

    @property
    def assumptions(self) -> list[str]:
        """The model in words."""
        return self.posterior.assumptions()

    @property
    def kinds(self) -> list[str]:
        """What the columns were taken for, a line each."""
        return [] if self.recognised is None else [column.describe() for column in self.recognised.columns]

    @property
    def notes(self) -> list[str]:
        """What is to be said of the columns: which were left out, and why, and what `to_frame` calls its own."""
        found = [] if self.recognised is None else list(self.recognised.notes)
        other = said_of_names(free_names(columns_about(self), self._own_columns()))
        return [*found, other] if other else found

    @property
    def headline(self) -> str:
        """How many clusters, with which probability, and how many rows are undecided."""
        count, undecided = len(self.sizes), int(self.undecided.sum())
        likely = max(self.n_clusters, key=lambda k: self.n_clusters[k])
        text = f"{count:,} cluster{'' if count == 1 else 's'}"
        of_count = _probability(self.n_clusters.get(count, 0.0))
        if likely == count:
            text += f" (P = {of_count})"
        else:
            more = _probability(self.n_clusters[likely])
            text += f"; the most probable number is {likely:,} (P = {more}; {count:,} has {of_count})"
        if undecided:
            text += f"; {undecided:,} row{'' if undecided == 1 else 's'} undecided"
        return f"{text}."

    @cached_property
    def consensus(self) -> Consensus:
        """The same clustering as a `Consensus`: how clusters hold together, and all pairs of up to 2,000 rows."""
        found = consensus_of(self._expect(about_one(self.labels)), self.loss)
        back = found.labels[np.unique(self.labels, return_index=True)[1]]  # its number of each cluster of ours
        similarity = self._expect([co_clustering()]).mean if 1 < len(self.labels) <= ALL_PAIRS else None
        changes = {
            "labels": self.labels,
            "belongs": self.certainty,
            "belongs_stderr": self.certainty_stderr,
            "cohesion": found.cohesion[back],
            "cohesion_stderr": found.cohesion_stderr[back],
            "between": found.between[np.ix_(back, back)],
            "pairs": similarity,
            "nodes": getattr(self.posterior, "nodes", None) or self.posterior.names,
        }
        return Consensus(**{name: getattr(found, name) for name in found.__dataclass_fields__} | changes)

    def _expect(self, functionals: list[Any]) -> Any:
        return expectations(self.draws.run, None, functionals, None, False)

    # --- what clusters are -------------------------------------------------------------------------------------------

    def profile(self) -> pandas.DataFrame:
        """Return what a member of each cluster looks like: means, rates and shares of categories.

        Returns
        -------
        pandas.DataFrame
            A row a cluster and column (of categories a row each): `estimate` is the mean, rate or share of a new
            member, `sd` its standard deviation, both with standard errors; `all_rows` is the same of the whole table.

        Examples
        --------
        >>> import copartition as cp
        >>> import numpy as np
        >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
        >>> c = cp.cluster(data, component="diagonal", seed=1)
        >>> c.profile().loc[(0, "0", ""), "estimate"].round()
        np.float64(-5.0)
        """
        self._check_mixture("profile")
        return describing.profile(self.draws, self.labels)

    def separation(self) -> pandas.DataFrame:
        """Return how much each column separates the clusters, the most separating first: which variables matter.

        Returns
        -------
        pandas.DataFrame
            A row a column. `separation` is the expected share of its variance that lies between clusters (counts: of
            the variance of log(1 + count); categories: of their entropy), from 0 to 1; then the same for each cluster
            against all other rows. Each with a standard error.

        Examples
        --------
        >>> import copartition as cp
        >>> import numpy as np
        >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
        >>> c = cp.cluster(data, component="diagonal", seed=1)
        >>> c.separation()["separation"].round(1).tolist()
        [1.0, 1.0]
        """
        self._check_mixture("separation")
        return describing.separation(self.draws, self.labels)

    # --- new rows ----------------------------------------------------------------------------------------------------

    def predict(self, rows: Any) -> np.ndarray:
        """Return the most probable cluster of new rows; -1 where that is none of these clusters.

        Parameters
        ----------
        rows : data frame or array
            With the columns of the data: in a data frame by their names, in any order. Cells may be missing, but not
            all of a row.
        """
        best = np.argmax(self.predict_proba(rows), axis=1)
        return np.where(best == len(self.sizes), -1, best)

    def predict_proba(self, rows: Any) -> np.ndarray:
        """Return the probability of each cluster for new rows, and, in the last column, of none of them.

        A new row joins a cluster of a partition from the posterior, or begins one of its own; it then belongs where a
        random member of that cluster belongs.

        Parameters
        ----------
        rows : data frame or array

        Examples
        --------
        >>> import copartition as cp
        >>> import numpy as np
        >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
        >>> c = cp.cluster(data, component="diagonal", seed=1)
        >>> c.predict_proba([[5.0, 5.0], [1e3, 0.0]]).round(1)
        array([[0., 1., 0.],
               [0., 0., 1.]])
        """
        self._check_mixture("predict_proba")
        with _about_rows():
            return predicting.probabilities(self.draws, self.labels, self._rows(rows))

    def score_samples(self, rows: Any) -> np.ndarray:
        """Return the log of the posterior predictive density of new rows.

        It is NaN where the estimate of a density is not above 0, as happens where it is tiny and replicates are few:
        raise `effort`.

        Parameters
        ----------
        rows : data frame or array
        """
        self._check_mixture("score_samples")
        with _about_rows():
            return predicting.log_densities(self.draws, self._rows(rows))

    def _rows(self, rows: Any) -> Cells:
        """Return new rows with the columns of the data, found by their names; of arrays by their places."""
        cells = self._columns_of(rows)
        for row in np.flatnonzero(cells.missing().all(axis=1)):
            raise ValueError(
                f"rows must have an observed cell in every row, got none in {cells.row_title(int(row))}; leave it out: "
                "nothing is known of where it belongs."
            )
        return cells

    def _columns_of(self, rows: Any) -> Cells:
        if self.recognised is not None:
            found = recognise(rows, known=self.recognised, column_names=self._titles(rows))
            return table_of(found.columns, titles=found.titles)
        mixture: Any = self.posterior
        cells, known = cells_of(rows, "rows"), mixture.cells
        if cells.keys is not None and known.keys is not None:
            for name in known.keys:
                if str(name) not in (cells.names or []):
                    raise ValueError(
                        f"rows must have one column {name!r}; it has {', '.join((cells.names or [])[:10])}."
                    )
            return cells.subset([cells.position(name) for name in known.keys])
        if cells.shape[1] != known.shape[1]:
            raise ValueError(f"rows must have the {known.shape[1]} column(s) of the data, got shape {np.shape(rows)}.")
        return cells

    def _titles(self, rows: Any) -> list[str] | None:
        """Return what the columns of new rows are called, where these are an array: as those of the data by place."""
        if hasattr(rows, "columns") or self.recognised is None:
            return None
        used = [column.name for column in self.recognised.columns]
        if np.ndim(rows) == 1 and len(used) > 1 and not isinstance(rows, str | Mapping):
            raise ValueError(
                f"rows must be a table with the {len(used)} columns of the data, a row a point, got shape "
                f"{np.shape(rows)}; [rows] makes a table of one row."
            )
        if np.ndim(rows) != 2:
            return None
        columns, width = getattr(self.given, "columns", None), np.shape(rows)[1]
        every = None if columns is None or isinstance(self.given, Kinds) else [str(name) for name in columns]
        if every is None and not isinstance(self.given, Kinds):
            every = [str(j) for j in range(np.shape(self.given)[1] if np.ndim(self.given) == 2 else 1)]
        for names in (every, used):
            if names is not None and len(names) == width:
                return names
        raise ValueError(f"rows must have the {len(every or used)} column(s) of the data, got shape {np.shape(rows)}.")

    # --- single rows and cells ---------------------------------------------------------------------------------------

    def outliers(self, most: int = 1, least: float = 0.5) -> pandas.DataFrame:
        """Return the rows that belong nowhere: those that are probably in a cluster of very few.

        Parameters
        ----------
        most : int
            Rows of such a cluster.
        least : float
            Probability from which on a row is told; 0 tells all.

        Returns
        -------
        pandas.DataFrame
            `probability` of being in a cluster of at most `most` rows, with its standard error, and `log_density`: how
            well the others of its cluster predict a row, on the scale of `score_samples`. The most probable first.
        """
        self._check_mixture("outliers")
        return describing.outliers(
            self.draws, self.names, self.labels, integer("most", most, 1), probability("least", least)
        )

    def impute(self) -> pandas.DataFrame:
        """Return what missing cells are likely to be.

        Returns
        -------
        pandas.DataFrame
            A row a missing cell, called by row and column: `value`, the expected number or the most probable category;
            `sd`, of a number; `probability`, of a category; and the standard error of number or probability.
        """
        self._check_mixture("impute")
        return describing.impute(self.draws, self.names)

    # --- other clusterings -------------------------------------------------------------------------------------------

    def credible_ball(self, level: float = 0.95) -> around.Ball:
        """Return how far clusterings of the posterior are from this one (Wade and Ghahramani 2018).

        Parameters
        ----------
        level : float
            The ball has at least this probability.

        Examples
        --------
        >>> import copartition as cp
        >>> import numpy as np
        >>> data = np.random.default_rng(1).normal(np.repeat([[-5.0], [5.0]], 15, axis=0), 1.0, (30, 2))
        >>> c = cp.cluster(data, component="diagonal", seed=1)
        >>> c.credible_ball(0.95).probability >= 0.95
        True
        """
        return around.credible_ball(self.draws, self.labels, self.loss, confidence(level))

    def alternatives(self, count: int = 3) -> list[around.Alternative]:
        """Return several clusterings that stand for the posterior together, with the probability of each part.

        Parameters
        ----------
        count : int
            How many, at most.
        """
        return around.alternatives(self.draws, self.labels, integer("count", count, 1), self.loss, self.seed)

    # --- for people, and for other programs --------------------------------------------------------------------------

    def to_frame(self) -> pandas.DataFrame:
        """Return the columns and the index of the data, with cluster, certainty and probabilities beside them.

        Columns of the data keep their names: where they have one called ``cluster``, ours is ``copartition_cluster``,
        and so on; `notes` says so.
        """
        pandas = needed("pandas", by="to_frame")
        added, own = columns_about(self), self._own_columns()
        names = free_names(added, own)
        fresh = {names[name]: value for name, value in added.items()}
        if _is_frame(self.given):
            return pandas.concat([self.given, pandas.DataFrame(fresh, self.given.index)], axis=1)
        return pandas.DataFrame(own | fresh, pandas.Index(self.names))

    def _own_columns(self) -> dict[str, Any]:
        """Return the columns of the data by their names; of a data frame of pandas the names alone."""
        given = self.given
        if _is_frame(given):
            return dict.fromkeys(map(str, given.columns))
        if self.recognised is not None:
            return {column.name: column.cells for column in self.recognised.columns}
        if np.ndim(given) in (1, 2) and not isinstance(given, Target):
            table = np.asarray(given)
            return {str(j): column for j, column in enumerate(table.reshape(len(table), -1).T)}
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain lists and numbers, the grade first."""
        return {
            "grade": self.grade,
            "reason": self.reason,
            "headline": self.headline,
            "n_clusters": {str(k): p for k, p in self.n_clusters.items() if p > LIKELY},
            "sizes": self.sizes.tolist(),
            "names": list(self.names),
            "labels": self.labels.tolist(),
            "certainty": self.certainty.tolist(),
            "certainty_stderr": self.certainty_stderr.tolist(),
            "probabilities": self.probabilities.tolist(),
            "undecided": self.undecided.tolist(),
            "findings": [
                {"level": f.level, "title": f.title, "text": f.text, "advice": f.advice} for f in self.findings
            ],
            "columns": self.kinds,
            "notes": self.notes,
            "assumptions": self.assumptions,
            "scores": self.scores,
            "work": self.work,
            "effort": self.effort,
            "seed": self.seed,
        }

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the rows by the columns that separate clusters most; see ``copartition.plots``.

        Parameters
        ----------
        ax : matplotlib axes, optional
        """
        return plots.clusters(self, ax=ax)

    def report(self, path: str | Path, title: str | None = None) -> None:
        """Write a page about the answer: one HTML file that works offline.

        Parameters
        ----------
        path : path
        title : str, optional
        """
        write_clustering(self, path, title)

    def summary(self) -> str:
        """Return what a person wants to know first."""
        words = distinguishing(self) if isinstance(self.posterior, Mixture) else [""] * len(self.sizes)
        sure = [float(self.certainty[self.labels == r].mean()) for r in range(len(self.sizes))]
        rows = [f"{r:>7}  {size:>6,}  {sure[r]:>9.2f}  {words[r]}" for r, size in enumerate(self.sizes.tolist())]
        likely = sorted((k for k, p in self.n_clusters.items() if p > LIKELY), key=lambda k: -self.n_clusters[k])[
            :LISTED
        ]
        numbers = [f"{k} ({_probability(self.n_clusters[k])})" for k in sorted(likely)]
        if (rest := 1.0 - sum(self.n_clusters[k] for k in likely)) > 0.05:
            numbers.append(f"others ({_probability(rest)})")
        lines = [f"{self.grade.upper()}: {self.headline}", *_wrapped([self.reason]), ""]
        lines += [f"{'cluster':>7}  {'rows':>6}  {'certainty':>9}", *[row.rstrip() for row in rows], ""]
        told = [f"Number of clusters, with probabilities: {', '.join(numbers)}.", self._unsure()]
        told += [*self.warnings, *(str(one) for one in self.findings if not one.is_warning)]
        return "\n".join([*lines, *_wrapped([*told, *self._about_model()])])

    def _unsure(self) -> str:
        order = np.argsort(self.certainty, kind="stable")[: min(LISTED, len(self.labels))]
        shown = [f"{self.names[i]} ({self.certainty[i]:.2f})" for i in order if self.certainty[i] < 0.9]
        if shown and self.names == list(range(len(self.labels))):
            return f"Least certain: {', '.join(shown)}; rows are counted from 0."
        return f"Least certain: {', '.join(shown)}." if shown else "All rows are in their cluster with 0.9 or more."

    def _about_model(self) -> list[str]:
        lines = []
        if self.recognised is not None:
            lines += [f"Columns: {'; '.join(self.kinds)}.", *[f"{note}." for note in self.notes]]
        if self.scores:
            best, *others = self.scores
            told = [f"{best['component']} {best['score']:.2f}"]
            told += [f"{one['component']} {one['score']:.2f} (+- {one['stderr']:.2f} against it)" for one in others]
            lines.append(f"Mean log density of rows left out, the chosen model first: {', '.join(told)}.")
        of_clusters = [one for one in self.assumptions if " of a cluster " in one]
        if not of_clusters:
            return [*lines, "Model:", *[f"- {sentence}" for sentence in self.assumptions]]
        return [
            *lines,
            "Model:",
            *[f"- {one}" for one in of_clusters],
            "- Priors are listed on the page and in assumptions.",
        ]

    def _check_mixture(self, what: str) -> None:
        if not isinstance(self.posterior, Mixture):
            raise TypeError(f"{what} is about the columns of a table, and {shorten(self.posterior)} has none.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self.grade}: {self.headline[:-1]}>"

    def __str__(self) -> str:
        return self.summary()


def columns_about(c: Any) -> dict[str, np.ndarray]:
    """Return what is written beside the columns of a table, by the names that it has if these are free."""
    added = {"cluster": c.labels, "certainty": c.certainty, "undecided": c.undecided}
    return added | {f"probability_{r}": c.probabilities[:, r] for r in range(len(c.sizes))}


def free_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return what new columns are called in a table that has columns of its own.

    Examples
    --------
    >>> free_names(["cluster", "certainty"], ["cluster", "copartition_cluster"])
    {'cluster': 'copartition_cluster_2', 'certainty': 'certainty'}
    """
    found, used = {}, set(taken)
    for name in names:
        more = itertools.chain([""], (f"_{i}" for i in itertools.count(2)))
        others = (f"copartition_{name}{end}" for end in more)
        found[name] = name if name not in used else next(other for other in others if other not in used)
        used.add(found[name])
    return found


def said_of_names(names: dict[str, str]) -> str:
    """Return which new columns have other names, in words."""
    other = [f"{free} for {name}" for name, free in names.items() if free != name]
    return f"columns beside the data are called {', '.join(other)}, because these names are taken" if other else ""


def _is_frame(given: Any) -> bool:
    return hasattr(given, "iloc") and hasattr(given, "columns")


@contextmanager
def _about_rows() -> Iterator[None]:
    """Let errors speak of rows where new rows are what is wrong."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(re.sub(r"^data( and grid)?\b", "rows", str(error))) from None


def _wrapped(sentences: list[str]) -> list[str]:
    """Return sentences in lines that a terminal holds; those of a list are set in."""
    inset = {True: "  ", False: ""}
    return [
        fill(one, WIDTH, subsequent_indent=inset[one.startswith("- ")], break_long_words=False) for one in sentences
    ]


def _probability(p: float) -> str:
    """Return a probability in few digits, never as certainty that it is not."""
    shown = min(max(p, 0.0), 1.0)
    return "0.99+" if 0.995 <= shown < 1.0 else f"{shown:.2f}"
