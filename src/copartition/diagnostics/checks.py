"""Two checks of an answer: do chains from other starts agree with it, and does the model suit the data?

**Other starts.** Pairs of chains that all begin at one place, and do not leave it, meet at once and say nothing about
the posterior. So a few ordinary chains begin elsewhere, and their second halves are compared.

**The rule.** The second half of every chain is cut into four batches. Batches of one chain differ by chance alone if
the chain mixes; from that follows by how much the means of chains should differ. Two things are looked at: the answer
itself (every functional whose values are kept) and which points are together (all pairs of up to a hundred points).
Starts *disagree* if, in either of these, the means of chains

- differ from each other, or in the answer from the estimate, by more than chance makes of it once in 1 /
  `FALSE_ALARM` runs, by the distribution of F; chance is never taken to be less than what the spread of the replicates
  makes of it; and
- by enough to matter: `MATTERS` standard deviations along a chain or between replicates, each component by itself;
  of probabilities and shares, which are taken together, a root mean square of `SHARE_MATTERS`.

**The model.** What clusters look like inside, against what their component assumes. A model that is wrong in a simple
way gives confident nonsense: columns that move together, taken for independent, are described by many small clusters
along a line. No number of replicates shows it, so it is looked for here, in a few clusterings from the posterior:

- the correlation of two columns within clusters, where the component takes them for independent. With r(k) that of
  cluster k, of n(k) points, the sum of (n(k) - 1) r(k)^2 is at most chi-squared with a degree of freedom a cluster;
- the skewness, and too large a kurtosis, of a column within clusters: D'Agostino's and Anscombe and Glynn's normal
  scores, weighted by the square root of n(k).

Clusterings from the posterior, not the consensus: if the model made the data, the clusters of a draw are as likely as
the true ones, so that these statistics are distributed as they are for true clusters (Johnson 2004). In the consensus
every point is where it most likely belongs, which cuts clusters off where they overlap and makes correlations of its
own. Of several draws twice the median of the p-values is valid, whatever their dependence.

A finding is made if that is below `FALSE_ALARMS`, for all columns and statistics together, *and* what is found is large
enough to matter: with very many points everything is significant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from copartition.diagnostics.findings import DOUBT, GOOD, MISFIT, Finding
from copartition.targets.mixture import NormalColumns

BATCHES = 4  # of the second half of a chain
FALSE_ALARM = 1e-4
MATTERS = 0.5
SHARE_MATTERS = 0.035
NUMBER_MATTERS = 0.05  # of the number of clusters
NEGLIGIBLE = 1e-9  # relative to a mean, which matters never


@dataclass(frozen=True)
class Answer:
    """What a run says of one functional.

    Attributes
    ----------
    components : list of str
    mean, stderr : float64 arrays
    sd : float64 array
        Between replicates.
    chance : float64 array
        The variance that the mean of one of the chains should have, by the spread of the replicates.
    are_shares : bool
        Whether these are probabilities or shares.
    """

    components: list[str]
    mean: np.ndarray
    stderr: np.ndarray
    sd: np.ndarray
    chance: np.ndarray
    are_shares: bool = False


def finding_on_starts(
    starts: list[str], sweeps: int, answers: list[Answer], draws: list[np.ndarray], together: np.ndarray
) -> Finding:
    """Return whether chains from different starts agree, and what to do if not.

    Parameters
    ----------
    starts : list of str
        Where each chain began.
    sweeps : int
        Their length.
    answers : list of Answer
    draws : list of arrays (chains, batches, draws, components)
        Of each answer, its values along every chain.
    together : array (chains, batches, pairs)
        How often points are together.
    """
    for answer, values in zip(answers, draws, strict=True):
        if _disagree(values.mean(axis=2), _matters(answer, values), answer):
            return _disagreement(starts, sweeps, _worst(answer, values.mean(axis=2)))
    if _disagree(together, SHARE_MATTERS):
        means = together.mean(axis=1)
        gap = float(np.abs(means - means.mean(axis=0)).max())
        return _disagreement(starts, sweeps, f"they differ by up to {gap:.2g} on how often two points are together")
    names = ", ".join(dict.fromkeys(starts))
    text = f"{len(starts)} chains of {sweeps:,} sweeps from other starts ({names}) and other seeds agree with this run."
    return Finding(GOOD, "Other starts", text)


def gap_between(together: np.ndarray) -> float:
    """Return how far chains are apart in how often points are together; 0 where they agree, by the rule above.

    Parameters
    ----------
    together : array (chains, batches, pairs)
    """
    return spread_between(together) if _disagree(together, SHARE_MATTERS) else 0.0


def spread_between(together: np.ndarray) -> float:
    """Return the root mean square, over pairs of points, of the standard deviation between chains."""
    return float(np.sqrt(together.mean(axis=1).var(axis=0, ddof=1).mean()))


def numbers_differ(numbers: np.ndarray) -> bool:
    """Tell whether chains differ in how many clusters they have: by chance hardly ever, and by enough to matter.

    Where clusters are many, hardly any two points are together, and how often says little.

    Parameters
    ----------
    numbers : array (chains, batches)
    """
    return _disagree(numbers[:, :, None], NUMBER_MATTERS * numbers.mean())


def _disagreement(starts: list[str], sweeps: int, what: str) -> Finding:
    text = (
        f"{len(starts)} chains of {sweeps:,} sweeps, from other starts and with other seeds, do not agree: {what}. So "
        "this answer may depend on where its chains started."
    )
    advice = (
        "Let copartition choose the settings (settings='auto', --tune), or take more split_merge moves and a larger "
        "burn_in, lag and min_sweeps; then compare with another init and another seed."
    )
    return Finding(DOUBT, "Starts disagree", text, advice)


def _matters(answer: Answer, values: np.ndarray) -> np.ndarray | float:
    """Return from what difference on it matters: in every component, or of shares for all together."""
    if answer.are_shares:
        return SHARE_MATTERS
    along = np.sqrt(values.var(axis=(1, 2)).mean(axis=0))
    return np.maximum(MATTERS * np.maximum(along, answer.sd), NEGLIGIBLE * (1.0 + np.abs(answer.mean)))


def _disagree(batches: np.ndarray, matters: np.ndarray | float, answer: Answer | None = None) -> bool:
    """Tell whether chains disagree with each other, or with an answer."""
    from scipy.special import fdtri

    count, n_batches, width = batches.shape
    if width == 0:
        return False
    means = batches.mean(axis=1)
    chance = batches.var(axis=1, ddof=1).mean(axis=0) / n_batches  # the variance that the mean of a chain should have
    if answer is not None:
        chance = np.maximum(chance, answer.chance)
    each = np.ndim(matters) > 0
    sure = 1.0 - FALSE_ALARM / (width if each else 1)

    def is_beyond(squares: np.ndarray, allowed: np.ndarray, freedom: int) -> bool:
        squares, allowed = (squares, allowed) if each else (squares.mean(), allowed.mean())
        limit = fdtri(freedom, count * (n_batches - 1), sure)
        return bool(np.any((squares > np.square(matters)) & (squares > limit * allowed)))

    if is_beyond(means.var(axis=0, ddof=1), chance, count - 1):
        return True
    if answer is None:
        return False
    return is_beyond((means.mean(axis=0) - answer.mean) ** 2, chance / count + answer.stderr**2, 1)


def _worst(answer: Answer, batches: np.ndarray) -> str:
    """Return what chains say of the component on which they differ most."""
    means = batches.mean(axis=1)
    gaps = np.abs(means - answer.mean).max(axis=0)
    worst = int(np.argmax(gaps if answer.are_shares else gaps / np.maximum(answer.sd, NEGLIGIBLE * (1.0 + gaps))))
    told = ", ".join(f"{value:.3g}" for value in means[:, worst])
    return f"{answer.components[worst]} is {answer.mean[worst]:.3g} in this run and {told} in theirs"


FALSE_ALARMS = 1e-3  # that the model is said to be wrong where it is right, at most
CORRELATED = 0.3  # a tenth of the variance of one column is in the other: less hardly makes clusters of its own
SKEWED = 0.75  # an exponential has 2, a normal 0
HEAVY = 2.0  # excess kurtosis: Student's t has 1 with 10 degrees of freedom, 3 with 6
LEAST, LEAST_OF_TAILS = 5, 20  # points of a cluster that are looked at, and those that tell of skewness and tails
STATISTICS = 3
LISTED = 3  # columns, or pairs of them, that are named


class Seen(NamedTuple):
    """One statistic for columns or pairs of columns in one clustering: how large, and its p-value."""

    size: np.ndarray
    p_value: np.ndarray


def check_model(columns: NormalColumns | None, draws: np.ndarray) -> list[Finding]:
    """Return where clusters are not as the model has them.

    Parameters
    ----------
    columns : NormalColumns or None
        Those that the model takes for normal.
    draws : int array (draws, points)
        Clusterings from the posterior.
    """
    if columns is None:
        return []
    a, b = np.triu_indices(len(columns.names), 1)
    apart = columns.groups[a] != columns.groups[b]
    a, b = a[apart], b[apart]
    values = _scaled(columns.values)
    seen = [_look(values, labels, a, b) for labels in draws]
    correlated, skewed, heavy = (_together([one[i] for one in seen]) for i in range(STATISTICS))
    names, found = columns.names, []
    pairs = _large(correlated, CORRELATED)
    if len(pairs):
        called = [f"{names[a[i]]} and {names[b[i]]} ({correlated.size[i]:.2f})" for i in pairs]
        found.append(_correlated(called, bool(np.isnan(columns.values).any())))
    tails = [(skewed, SKEWED, "skewed", "skewness"), (heavy, HEAVY, "heavy-tailed", "excess kurtosis")]
    for statistic, least, word, measure in tails:
        places = _large(statistic, least)
        if len(places):
            found.append(_not_normal([f"{names[j]} ({measure} {statistic.size[j]:.1f})" for j in places], word))
    return found


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return columns in units, powers of two, in which products of squares of cells are numbers of the machine.

    Nothing that is looked at depends on the units of a column, and a power of two changes no digit.
    """
    lowest = np.min(values, axis=0, where=np.isfinite(values), initial=np.inf)
    highest = np.max(values, axis=0, where=np.isfinite(values), initial=-np.inf)
    half = np.where(highest > lowest, highest / 2.0 - lowest / 2.0, 1.0)
    return np.asarray(np.ldexp(values, -np.frexp(half)[1]))


def _look(values: np.ndarray, labels: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[Seen, Seen, Seen]:
    """Return correlations of pairs of columns, and skewness and kurtosis of columns, within clusters."""
    from scipy.special import chdtrc, ndtr

    width = values.shape[1]
    squares, signed, weights, clusters = (np.zeros(len(a)) for _ in range(4))
    scores, shapes, counts = np.zeros((2, width)), np.zeros((2, width)), np.zeros(width)
    order = np.argsort(labels, kind="stable")
    for rows in np.split(values[order], np.cumsum(np.bincount(labels))[:-1]):
        if len(a) and len(rows) >= LEAST:
            r, n = _correlations(rows)
            r, n = r[a, b], n[a, b]
            known = (n >= LEAST) & np.isfinite(r)
            weight = np.where(known, n - 1.0, 0.0)
            r = np.where(known, r, 0.0)
            squares, signed = squares + weight * r**2, signed + weight * r
            weights, clusters = weights + weight, clusters + known
        if len(rows) >= LEAST_OF_TAILS:
            score, shape, n = _shapes(rows)
            scores, shapes, counts = scores + np.sqrt(n) * score, shapes + n * shape, counts + n
    size = np.sqrt(np.maximum(squares - clusters, 0.0) / np.maximum(weights - clusters, 1.0))
    p_value = np.where(clusters > 0, chdtrc(np.maximum(clusters, 1.0), squares), 1.0)
    scores, shapes = scores / np.sqrt(np.maximum(counts, 1.0)), shapes / np.maximum(counts, 1.0)
    return (
        Seen(np.sign(signed) * np.minimum(size, 1.0), p_value),
        Seen(shapes[0], 2.0 * ndtr(-np.abs(scores[0]))),
        Seen(shapes[1], ndtr(-scores[1])),
    )


def _correlations(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations of the columns of a cluster, and of how many cells that are observed in both."""
    there = np.isfinite(rows)
    if there.all():
        centred = rows - rows.mean(axis=0)
        squares = np.sum(centred**2, axis=0)
        both = centred.T @ centred
        counts = np.full(both.shape, float(len(rows)))
        products = np.outer(squares, squares)
    else:
        # By pairs of columns: means and squares of the cells that are observed in both. Shifted first, so that no
        # digits are lost where a column lies far from 0.
        with np.errstate(invalid="ignore", divide="ignore"):
            total = np.where(there, rows, 0.0).sum(axis=0)
            shifted = np.where(there, rows - total / np.maximum(there.sum(axis=0), 1), 0.0)
            mask = there.astype(np.float64)
            counts = mask.T @ mask
            sums = shifted.T @ mask  # [j, k]: of column j, where k is observed
            both = shifted.T @ shifted - sums * sums.T / np.maximum(counts, 1.0)
            squares_of = (shifted**2).T @ mask - sums**2 / np.maximum(counts, 1.0)
            products = squares_of * squares_of.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(products > 0.0, both / np.sqrt(products), np.nan), counts


def _shapes(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores of skewness and kurtosis, these two without their bias, and of how many cells, column by column."""
    from scipy.stats import kurtosistest, skewtest

    width = rows.shape[1]
    score, shape, counts = np.zeros((2, width)), np.zeros((2, width)), np.zeros(width)
    there = np.isfinite(rows)
    whole = there.all(axis=0)
    for columns in [np.flatnonzero(whole), *np.flatnonzero(~whole)[:, None]]:
        cells = rows[there[:, columns].all(axis=1)][:, columns]
        varies = np.ptp(cells, axis=0) > 0.0 if len(cells) else np.zeros(len(columns), dtype=bool)
        n, columns, cells = len(cells), columns[varies], cells[:, varies]
        if n < LEAST_OF_TAILS or not len(columns):
            continue
        standard = (cells - cells.mean(axis=0)) / cells.std(axis=0)
        third, fourth = np.mean(standard**3, axis=0), np.mean(standard**4, axis=0) - 3.0
        score[:, columns] = skewtest(standard).statistic, kurtosistest(standard).statistic
        shape[0, columns] = third * np.sqrt(n * (n - 1.0)) / (n - 2.0)
        shape[1, columns] = (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * fourth + 6.0)
        counts[columns] = n
    return score, shape, counts


def _together(seen: list[Seen]) -> Seen:
    """Return the typical size over clusterings, and a p-value for all of them and all columns."""
    if not seen or not len(seen[0].size):
        return Seen(np.zeros(0), np.zeros(0))
    count = len(seen[0].size)
    p_value = np.minimum(1.0, 2.0 * STATISTICS * count * np.median([one.p_value for one in seen], axis=0))
    return Seen(np.median([one.size for one in seen], axis=0), p_value)


def _large(one: Seen, least: float) -> np.ndarray:
    """Return where a statistic is beyond chance and large enough to matter, the largest first."""
    size = np.abs(one.size)
    places = np.flatnonzero((one.p_value <= FALSE_ALARMS) & (size >= least))
    return places[np.argsort(-size[places], kind="stable")]


def _listed(called: list[str], what: str) -> str:
    left = len(called) - LISTED
    more = f", and {left} more {what}{'s' if left > 1 else ''}" if left > 0 else ""
    return ", ".join(called[:LISTED]) + more


def _correlated(called: list[str], has_missing: bool) -> Finding:
    text = (
        f"Columns {_listed(called, 'pair')} are correlated within clusters, and the model takes them for independent. "
        "It needs more clusters to describe them, so the number of clusters, and how certain they are, may come from "
        "this assumption and not from groups in the data."
    )
    full = "a full covariance ('full', or NormalInverseWishart()) or a shared one ('tied', or TiedGaussian())"
    if has_missing:
        advice = f"Leave out one of such columns, or leave out rows with missing cells and take {full}."
    else:
        advice = f"Take {full}, which may describe them with fewer clusters, and compare."
    return Finding(MISFIT, "Correlated columns", text, advice)


def _not_normal(called: list[str], word: str) -> Finding:
    text = (
        f"Within clusters, columns are {word}, and the model takes them for normal: {_listed(called, 'column')}. One "
        "group may then be described by several clusters."
    )
    advice = (
        "Transform these columns, for instance by logarithms if they are positive, and compare."
        if word == "skewed"
        else "Look for outliers in these columns, or transform them, and compare."
    )
    return Finding(MISFIT, "Not normal", text, advice)
