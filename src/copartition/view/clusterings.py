# ruff: noqa: D102 - what the attributes of a clustering are is said where it is made
"""What pictures, pages and displays ask of a clustering, and what they say of it in words.

The class itself is made above the view, which knows it by its public attributes only: `ClusteringLike`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard
from weakref import WeakKeyDictionary

import numpy as np

from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.findings import BAD, CAUTION, GOOD, Finding
from copartition.display import MOST_DIGITS, rounded
from copartition.extras import MissingPackageError
from copartition.targets.base import Target
from copartition.targets.cells import Cells
from copartition.validation import shorten

if TYPE_CHECKING:
    import pandas

SAID = 3  # columns that are named of a cluster
WEAK = 0.3  # of what its best column separates a cluster, below which a column is not named
NEAR, NEAR_OF_ALL = 0.5, 0.2  # of the spread within a cluster, or of all rows, by which a mean near that of all is off
NARROW, BROAD = 0.6, 1.3  # of the spread of all rows: that within a cluster, from where on it is worth a word
PLENTY = 1.5  # a share is told as what is there, not as what is lacking, if the latter is not so much clearer
ENOUGH = 3  # observed cells of a cluster, with fewer of which nothing is said of it in a column
DOUBTED = 0.95  # certainty from which on a row is not listed as uncertain


class ClusteringLike(Protocol):
    """What is asked of a clustering: the public attributes of `copartition.Clustering`, which has their meaning."""

    @property
    def labels(self) -> np.ndarray: ...
    @property
    def certainty(self) -> np.ndarray: ...
    @property
    def probabilities(self) -> np.ndarray: ...
    @property
    def undecided(self) -> np.ndarray: ...
    @property
    def sizes(self) -> np.ndarray: ...
    @property
    def n_clusters(self) -> Mapping[int, float]: ...
    @property
    def n_clusters_stderr(self) -> Mapping[int, float]: ...
    @property
    def grade(self) -> str: ...
    @property
    def headline(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def names(self) -> Sequence[Hashable]: ...
    @property
    def assumptions(self) -> Sequence[str]: ...
    @property
    def kinds(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def scores(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def consensus(self) -> Consensus: ...
    @property
    def posterior(self) -> Target: ...
    @property
    def effort(self) -> float: ...
    @property
    def seed(self) -> Any: ...
    @property
    def work(self) -> Mapping[str, Any]: ...
    def profile(self) -> pandas.DataFrame: ...
    def separation(self) -> pandas.DataFrame: ...


class Grade(NamedTuple):
    """A grade in words: how pages colour it, what it is called, and what it means."""

    level: str
    word: str
    meaning: str


GRADES = {
    "unbiased": Grade(
        GOOD,
        "Unbiased",
        "The computation ran for long enough, and this was checked: only random error is left, which is given and "
        "shrinks with more effort.",
    ),
    "approximate": Grade(
        CAUTION,
        "Approximate",
        "Runs from different starting points agree, but it could not be shown that they ran for long enough: "
        "probabilities may be off by a little more than their errors say.",
    ),
    "unsettled": Grade(
        BAD,
        "Unsettled",
        "Runs from different starting points disagree: this is one of several possible answers, and its probabilities "
        "may be far off.",
    ),
}


def is_clustering(thing: Any) -> TypeGuard[ClusteringLike]:
    """Tell whether something is a clustering, by what it can be asked; nothing is computed for that."""
    return all(callable(getattr(thing, name, None)) for name in ("profile", "separation", "report"))


def check_clustering(c: Any) -> ClusteringLike:
    """Return a clustering if it is one."""
    if not is_clustering(c):
        raise TypeError(f"c must be what cluster returns, got {shorten(c)}.")
    return c


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What the rows of all clusters look like in one column of the table.

    Attributes
    ----------
    name : hashable
    levels : list
        Categories; none of a column of numbers or counts.
    mean : float64 array (clusters, levels or 1)
        Means, rates, or shares of the levels.
    of_all : float64 array (levels or 1)
        The same of all rows.
    observed : int64 array (clusters)
        Number of rows of each cluster whose cell was observed.
    sd : float64 array (clusters)
        Standard deviation of the observed cells of each cluster; NaN of categories, and where there are none.
    spread : float
        Standard deviation of all observed cells; NaN of categories.
    separates, separates_stderr : float64 array (clusters)
        How much the column tells each cluster from the rest.
    """

    name: Hashable
    levels: list[Any]
    mean: np.ndarray
    of_all: np.ndarray
    observed: np.ndarray
    sd: np.ndarray
    spread: float
    separates: np.ndarray
    separates_stderr: np.ndarray

    def is_known(self, sizes: np.ndarray) -> np.ndarray:
        """Tell of which clusters enough cells were observed: three, or all of one or two rows."""
        return np.asarray(self.observed >= np.minimum(ENOUGH, sizes))


# What pages, pictures and words share, as long as the clustering is there, which does not change.
_profiles: WeakKeyDictionary[Any, list[ColumnProfile]] = WeakKeyDictionary()


def profile_of(c: ClusteringLike) -> list[ColumnProfile]:
    """Return the profiles of all columns, the most separating first; none where there are no columns, or no pandas."""
    if c not in _profiles:
        try:
            profile, separation = c.profile(), c.separation()
        except (TypeError, MissingPackageError):  # a network has no columns; without pandas there are no frames
            return []
        _profiles[c] = [_column(c, name, profile.xs(name, level="column"), separation) for name in separation.index]
    return _profiles[c]


def values_of(c: ClusteringLike, column: ColumnProfile) -> np.ndarray:
    """Return a column of numbers or counts of the table itself, NaN where a cell was not observed."""
    return np.asarray(_cells_of(c, column.name).numbers()[:, 0])


def categories_of(c: ClusteringLike, column: ColumnProfile) -> np.ndarray:
    """Return the places of the cells of a column among its categories, NaN where a cell was not observed."""
    places = {str(level): float(place) for place, level in enumerate(column.levels)}
    cells = _cells_of(c, column.name).values(0)
    return np.array([np.nan if cell is None else places[str(cell)] for cell in cells])


def _cells_of(c: ClusteringLike, name: Hashable) -> Cells:
    posterior: Any = c.posterior  # a mixture, as there is a profile
    cells: Cells = posterior.cells
    return cells.subset([[cells.label(j) for j in range(cells.shape[1])].index(str(name))])


def _column(c: ClusteringLike, name: Hashable, rows: pandas.DataFrame, separation: pandas.DataFrame) -> ColumnProfile:
    levels = list(dict.fromkeys(rows.index.get_level_values("category")))
    count = len(c.sizes)
    mean, of_all = (rows[kind].to_numpy(dtype=float).reshape(count, len(levels)) for kind in ("estimate", "all_rows"))
    is_number = levels == [""]
    cells = _cells_of(c, name)
    there = ~cells.missing()[:, 0]
    observed = np.bincount(c.labels[there], minlength=count)
    sd, spread = np.full(count, np.nan), np.nan
    if is_number and there.any():
        own, values = c.labels[there], cells.numbers()[there, 0]
        spread = float(values.std())
        with np.errstate(invalid="ignore"):  # nothing is known of clusters without an observed cell
            away = values - (np.bincount(own, values, count) / observed)[own]
            sd = np.sqrt(np.bincount(own, away**2, count) / observed)
    separates, errors = (
        np.array([separation.loc[name, f"cluster {r}{more}"] for r in range(count)], dtype=float)
        for more in ("", " stderr")
    )
    return ColumnProfile(name, [] if is_number else levels, mean, of_all[0], observed, sd, spread, separates, errors)


def distinguishing(c: ClusteringLike) -> list[str]:
    """Return what distinguishes each cluster from the rest, in words.

    The two or three columns that separate it most: its mean, with the standard error of the mean, against that of all
    rows; or which category is more, or less, frequent than among all rows. A column of which fewer than three cells of
    the cluster were observed says nothing of it; clusters of one or two rows need all of theirs, and have no standard
    error. Empty where there is one cluster only, or where there are no columns, as of a network, or no pandas to make
    tables with.

    Parameters
    ----------
    c : Clustering

    Returns
    -------
    list of str, one a cluster

    Examples
    --------
    >>> import copartition as cp
    >>> data = [[0, 9], [1, 8], [2, 9], [3, 7], [50, 8], [51, 9], [52, 8], [53, 7]]
    >>> distinguishing(cp.cluster(data, cp.Gaussian(noise_sd=2, mean_sd=30), seed=1))
    ['column 0 is low: 1 ± 1 against 26 in all rows', 'column 0 is high: 51 ± 1 against 26 in all rows']
    """
    count = len(c.sizes)
    columns = profile_of(c) if count > 1 else []
    return [_sentence([_in_words(column, r) for column in _telling(c, columns, r)]) for r in range(count)]


def _sentence(parts: list[str]) -> str:
    """Join what is said of columns; what the numbers are compared with is said once."""
    return "; ".join([*(f"{part} in all rows" for part in parts[:1]), *parts[1:]])


def _telling(c: ClusteringLike, columns: list[ColumnProfile], r: int) -> list[ColumnProfile]:
    """Return the columns that separate a cluster most, by more than chance, and of which enough was observed."""
    sure = [
        column
        for column in columns
        if column.is_known(c.sizes)[r] and column.separates[r] > 2.0 * np.nan_to_num(column.separates_stderr[r])
    ]
    best = sorted(sure, key=lambda column: -column.separates[r])[:SAID]
    return [column for column in best if column.separates[r] >= WEAK * best[0].separates[r]]


def _in_words(column: ColumnProfile, r: int) -> str:
    """Return what is said of a cluster in a column, up to the number of all rows."""
    name = called(column)
    if column.levels:
        level = _telling_level(column.mean[r] - column.of_all)
        here, of_all = percent(column.mean[r, level]), percent(column.of_all[level])
        seldom = "never " if here == "0 %" else "rarely " if column.mean[r, level] < column.of_all[level] else ""
        return f"{name} is {seldom}{column.levels[level]}: {here} against {of_all}"
    mean, of_all, sd = column.mean[r, 0], column.of_all[0], column.sd[r]
    numbers = f"{_with_error(mean, column, r)} against {in_digits(of_all, column)}"
    off = abs(mean - of_all)
    few = column.observed[r] < ENOUGH  # of whose standard deviation nothing is known
    if not (off < (0.0 if few else NEAR * sd) or off < NEAR_OF_ALL * column.spread):
        return f"{name} is {'high' if mean > of_all else 'low'}: {numbers}"
    if few or NARROW * column.spread < sd < BROAD * column.spread:
        return f"{name} is near the average: {numbers}"
    kind = "varies much" if sd > column.spread else "varies little"
    return f"{name} {kind}: standard deviation {rounded(sd, sd)} against {rounded(column.spread, column.spread)}"


def _with_error(mean: float, column: ColumnProfile, r: int) -> str:
    """Return a mean and its standard error, by the observed cells of a cluster."""
    text, count = in_digits(mean, column), int(column.observed[r])
    if count < ENOUGH or not column.sd[r] > 0.0:
        return text
    error = float(column.sd[r] / np.sqrt(count - 1.0))
    if "e" in text:
        return f"{text} ± {error:.1g}"
    digits = len(text.partition(".")[2])
    if float(f"{error:.{digits}f}") == 0.0:
        digits = -int(np.floor(np.log10(error)))
        if digits > MOST_DIGITS:
            return text
    return f"{mean:z.{digits}f} ± {error:.{digits}f}"


def called(column: ColumnProfile) -> str:
    """Return what to call a column: those without names have numbers."""
    name = str(column.name)
    return f"column {name}" if name.isdigit() else name


def in_digits(value: float, column: ColumnProfile) -> str:
    """Return a mean with as many digits as matter beside the spread of the column, and no minus before a zero."""
    text = rounded(value, column.spread)
    return text.removeprefix("-") if float(text) == 0.0 else text


def _telling_level(difference: np.ndarray) -> int:
    """Return the level to speak of: one that is more frequent than among all rows, rather than one that is less so."""
    return int(np.argmax(np.maximum(difference, -difference / PLENTY)))


def percent(share: float) -> str:
    """Return a share in words.

    Examples
    --------
    >>> percent(0.987), percent(0.0004), percent(0.9996)
    ('99 %', '< 1 %', '> 99 %')
    """
    if 0.0 < share < 0.005 or 0.995 <= share < 1.0:
        return "< 1 %" if share < 0.5 else "> 99 %"
    return f"{100.0 * share:.0f} %"


class Doubtful(NamedTuple):
    """A row of which it is not certain where it belongs: its name, and the next most probable cluster, if any."""

    name: Hashable
    cluster: int
    certainty: float
    undecided: bool
    other: int | None
    probability: float


def doubtful(c: ClusteringLike, most: int = 20) -> list[Doubtful]:
    """Return the least certain rows, the least certain first, as far as there is doubt of them."""
    found = []
    for n in np.argsort(c.certainty, kind="stable")[:most]:
        if not c.certainty[n] < DOUBTED:
            break
        others = np.nan_to_num(np.array(c.probabilities[n], dtype=float), nan=-1.0)
        others[c.labels[n]] = -1.0
        other = int(np.argmax(others))
        found.append(
            Doubtful(
                c.names[n],
                int(c.labels[n]),
                float(c.certainty[n]),
                bool(c.undecided[n]),
                other if others[other] >= 0.0 else None,
                float(others[other]),
            )
        )
    return found
