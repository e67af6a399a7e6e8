"""One clustering to stand for a posterior, and how much it leaves out.

A loss says how bad it is to report clustering C where A is the truth; the consensus minimises the posterior expectation
of it. Both losses here need only the probabilities P[i, j] that points are together, which `co_clustering` estimates
without bias:

- Binder: the number of pairs on which A and C disagree, sum over i < j of |1[i, j together in C] - P[i, j]|.
- VI: the variation of information. Its expectation is not a function of P; as usual (Wade and Ghahramani 2018) the
  lower bound that Jensen's inequality gives is minimised instead, with n(i) the size of the cluster of i in C:
  1/N * sum over i of [ log n(i) - 2 log(sum over j with i in C of P[i, j]) + log(sum over j of P[i, j]) ].
  The expectation itself is what `distance_to` estimates, for the candidates that the search has found: a second run
  with it tells which of them is best.

The search is that of Dahl, Johnson and Mueller (2022): place points one by one, in a random order, each where the loss
grows least, then move single points as long as that helps; from many random orders, and from the cuts of an average
linkage tree as well. It finds the minimum of every posterior that is small enough to try all partitions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from copartition.partition import canonical
from copartition.results import Replicates
from copartition.validation import integer, shorten

UNSURE = 0.7  # a point that is with the others of its cluster less often than this is worth a look
ALL_OF = 6  # points up to which all partitions are tried
MOST = 203  # candidates that are kept: so many partitions have six points
SPREAD = 0.2  # share of joined pairs in dispute from which on one clustering does not stand for the posterior


@dataclass(frozen=True)
class Consensus:
    """A clustering that stands for a posterior.

    Attributes
    ----------
    labels : int64 array (points)
        The clustering, numbered in the order of first points.
    points : int64 array (points)
        Which points of the data these are.
    loss : str
        ``"vi"`` or ``"binder"``.
    expected_loss : float
        What was minimised: the lower bound on the expected variation of information, or the expected number of pairs
        in dispute. Being the least of many estimates, it is a little too small.
    belongs : float64 array (points)
        Probability that a point is together with another one of its cluster, on average over these. For a point that
        is alone: one minus the probability of being with the cluster that it is most often with.
    belongs_stderr : float64 array (points)
        Its Monte Carlo standard error.
    disagreement, disagreement_stderr : float
        Expected share of all pairs that a clustering from the posterior joins and this one does not, or the other way
        round.
    spread : float
        The same as a share of the pairs that either joins: 0 if the posterior is all on this clustering.
    similarity : float64 array (points, points)
        The estimated probabilities of being together.
    candidates : int64 array (partitions, points)
        Other clusterings that the search came across, best first; all there are, of up to six points.
    """

    labels: np.ndarray
    points: np.ndarray = field(repr=False)
    loss: str
    expected_loss: float
    belongs: np.ndarray = field(repr=False)
    belongs_stderr: np.ndarray = field(repr=False)
    disagreement: float
    disagreement_stderr: float
    spread: float
    similarity: np.ndarray = field(repr=False)
    candidates: np.ndarray = field(repr=False)

    @property
    def is_spread(self) -> bool:
        """Whether the posterior is spread over several clusterings, so that no single one stands for it."""
        return self.spread > SPREAD

    @property
    def order(self) -> np.ndarray:
        """Positions of the points, cluster by cluster, largest first, and within a cluster by `belongs`."""
        sizes = np.bincount(self.labels)
        return np.lexsort((-self.belongs, self.labels, -sizes[self.labels]))

    def summary(self) -> str:
        """Return a few lines for a person to read."""
        sizes = np.sort(np.bincount(self.labels))[::-1]
        shown = ", ".join(str(size) for size in sizes[:12]) + (", ..." if len(sizes) > 12 else "")
        unsure = self.points[np.flatnonzero(self.belongs < UNSURE)].tolist()
        named = ", ".join(map(str, unsure[:10])) + (f" and {len(unsure) - 10} more" if len(unsure) > 10 else "")
        lines = [
            f"{len(sizes)} cluster(s) of {shown} points, by {self.loss} loss.",
            f"A clustering from the posterior disagrees with this one on {100 * self.disagreement:.3g} % "
            f"(+- {100 * self.disagreement_stderr:.1g} %) of all pairs, {100 * self.spread:.2g} % of those that either "
            "joins.",
            f"{len(unsure)} of {len(self.points)} points are with the others of their cluster with probability below "
            f"{UNSURE:g}" + (f": {named}." if unsure else "."),
        ]
        if self.is_spread:
            lines.append("The posterior is spread over several clusterings: no single one stands for it.")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()


def consensus(e: Replicates, loss: str = "vi", *, starts: int = 16, seed: int = 0) -> Consensus:
    """Return the clustering with the least posterior expected loss.

    Parameters
    ----------
    e : Replicates
        Of `co_clustering`, alone or among others. If `distance_to` some partitions was estimated too, with the metric
        of the loss, the best of these is taken: that is how to minimise the expected variation of information itself
        and not its bound, ``estimate(target, [co_clustering(), distance_to(first.candidates)])`` with the consensus
        of a first run.
    loss : str
        ``"vi"``, the variation of information, or ``"binder"``, the number of pairs in dispute, which tends to give
        more and smaller clusters.
    starts : int
        Number of random orders in which the search places points.
    seed : int
        Of these orders.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> import copartition as cp
    >>> data = [-3.1, -3.0, -2.9, 2.9, 3.0, 3.1]
    >>> posterior = cp.Mixture(data, cp.Gaussian(noise_sd=0.5, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.co_clustering(), replicates=200, burn_in=10, min_sweeps=100, lag=10, seed=1)
    >>> cp.consensus(e, loss="vi").labels
    array([0, 0, 0, 1, 1, 1])
    """
    from scipy.spatial.distance import squareform

    if not isinstance(e, Replicates):
        raise TypeError(f"e must be an estimate of co_clustering, got {shorten(e)}.")
    if loss not in LOSSES:
        raise ValueError(f"loss must be 'vi' or 'binder', got {loss!r}.")
    part = e.select("co_clustering")
    points = np.array(part.functionals[0]["points"])
    similarity = squareform(part.mean) + np.eye(len(points))
    starts, seed = integer("starts", starts, 1), integer("seed", seed, 0)
    given = _given(e, loss, points)
    if given is None:
        candidates, labels, expected = minimise(similarity, loss, starts, seed)
    else:
        candidates, labels, expected = given
    together = squareform(labels[:, None] == labels[None, :], checks=False)
    disputed = np.where(together, 1.0 - part.values, part.values).sum(axis=1)
    either = part.mean.sum() + together.sum()
    belongs, stderr = _belongs(part, labels)
    return Consensus(
        labels=labels,
        points=points,
        loss=loss,
        expected_loss=expected,
        belongs=belongs,
        belongs_stderr=stderr,
        disagreement=float(disputed.mean() / len(together)),
        disagreement_stderr=float(_stderr(disputed[:, None])[0] / len(together)),
        # A pair that both join is counted in both sums of `either`, a disputed one in one.
        spread=float(2.0 * disputed.mean() / (either + disputed.mean())) if either > 0 else 0.0,
        similarity=similarity,
        candidates=candidates,
    )


def _given(e: Replicates, loss: str, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return the partitions whose expected loss was estimated, best first, the best, and its loss; None if none was."""
    metric, pairs = ("vi", 1.0) if loss == "vi" else ("hamming", 2.0)
    for part in e.parts():
        about = part.functionals[0]
        if about["name"] == "distance_to" and about["metric"] == metric:
            order = np.argsort(part.mean, kind="stable")
            candidates = np.array(about["partitions"])[order]
            if not np.array_equal(points, np.arange(candidates.shape[1])):
                raise ValueError(
                    "e must have co_clustering() of all points where it has distance_to, got some of them."
                )
            return candidates, candidates[0], float(part.mean[order[0]] / pairs)
    return None


def _stderr(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full(values.shape[1], np.nan)


def _belongs(part: Replicates, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each point the mean probability of being with others of its cluster, and its standard error."""
    from scipy.spatial.distance import squareform

    count = len(labels)
    place = squareform(np.arange(part.values.shape[1]))
    value, stderr = np.zeros(count), np.zeros(count)
    means = part.mean
    for i in range(count):
        own = np.flatnonzero((labels == labels[i]) & (np.arange(count) != i))
        alone = len(own) == 0
        if alone and count > 1:
            others = [np.flatnonzero(labels == k) for k in np.unique(labels) if k != labels[i]]
            own = max(others, key=lambda members: means[place[i, members]].mean())
        average = part.values[:, place[i, own]].mean(axis=1)
        value[i] = 1.0 - average.mean() if alone else average.mean()
        stderr[i] = _stderr(average[:, None])[0]
    return value, stderr


# --- the search ------------------------------------------------------------------------------------------------------


def minimise(similarity: np.ndarray, loss: str, starts: int, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return partitions that the search finds, best first, the best of them, and its loss."""
    # Unbiased estimates of probabilities may be a little below 0 or above 1; losses are meant for probabilities.
    p = np.clip((similarity + similarity.T) / 2, 0.0, 1.0)
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(p)) for _ in range(starts)]
    found = {}
    # What is best for one loss is a good candidate for the other too, and for the expected VI itself.
    for kind in LOSSES.values():
        improved = [_improve(kind(p), order, None) for order in orders]
        improved += [_improve(kind(p), np.arange(len(p)), cut) for cut in _cuts(p)]
        found.update({tuple(labels.tolist()): labels for labels in improved})
    if len(p) <= ALL_OF:
        found.update({tuple(labels): np.array(labels) for labels in _all_partitions(len(p))})
    candidates = np.array(sorted(found.values(), key=lambda labels: LOSSES[loss].total(p, labels)))
    return candidates[:MOST], candidates[0], LOSSES[loss].total(p, candidates[0])


def _all_partitions(count: int) -> list[list[int]]:
    if count == 0:
        return [[]]
    return [[*head, k] for head in _all_partitions(count - 1) for k in range(max(head, default=-1) + 2)]


def _cuts(p: np.ndarray, most: int = 30) -> Iterable[np.ndarray]:
    """Yield the cuts of an average linkage tree into 1, 2, ... clusters."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    if len(p) < 2:
        return
    tree = linkage(squareform(1.0 - p, checks=False), "average")
    yield from cut_tree(tree, np.arange(1, min(len(p), most) + 1)).T


def _improve(placed: Any, order: np.ndarray, labels: np.ndarray | None) -> np.ndarray:
    """Place the points, then move single points as long as that makes the loss smaller; return the labels."""
    for i in order:
        placed.put_in(i, placed.best(i) if labels is None else labels[i])
    while True:
        moved = False
        for i in order:
            before = placed.labels[i]
            placed.take_out(i)
            after = placed.best(i, before)
            placed.put_in(i, after)
            moved |= after != before
        if not moved:
            return canonical(placed.labels)


class _Placed(ABC):
    """Points in clusters, with the sums of P over clusters kept up to date.

    Attributes
    ----------
    labels : int64 array
        -1 for a point that is in no cluster.
    sizes : int64 array (clusters)
    sums : float64 array (points, clusters)
        Sum of P[i, j] over the points j of a cluster.
    """

    def __init__(self, p: np.ndarray) -> None:
        self.p = p
        self.labels = np.full(len(p), -1)
        self.sizes = np.zeros(len(p), dtype=np.int64)
        self.sums = np.zeros((len(p), len(p)))

    def put_in(self, i: int, k: int) -> None:
        self.labels[i] = k
        self.sizes[k] += 1
        self.sums[:, k] += self.p[:, i]

    def take_out(self, i: int) -> None:
        k = self.labels[i]
        self.labels[i] = -1
        self.sizes[k] -= 1
        self.sums[:, k] = self.sums[:, k] - self.p[:, i] if self.sizes[k] else 0.0

    def best(self, i: int, now: int = -1) -> int:
        """Return the cluster where point i costs least: `now` unless another is really better."""
        open_clusters = np.flatnonzero(self.sizes)
        empty = np.flatnonzero(self.sizes == 0)[:1]
        choices = np.concatenate([open_clusters, empty])
        costs = self.costs(i, choices)
        if now >= 0 and self.sizes[now] == 0:
            now = int(empty[0])  # it was alone: any empty cluster is the same
        k = int(choices[np.argmin(costs)])
        if now >= 0 and costs.min() > costs[choices == now][0] - 1e-12:
            return now
        return k

    @abstractmethod
    def costs(self, i: int, choices: np.ndarray) -> np.ndarray:
        """Return by how much the loss grows if point i, which is in no cluster, joins each of `choices`."""


class _Binder(_Placed):
    def costs(self, i: int, choices: np.ndarray) -> np.ndarray:
        return self.sizes[choices] - 2.0 * self.sums[i, choices]

    @staticmethod
    def total(p: np.ndarray, labels: np.ndarray) -> float:
        together = labels[:, None] == labels[None, :]
        return float(np.triu(np.abs(together - p), 1).sum())


class _VI(_Placed):
    def costs(self, i: int, choices: np.ndarray) -> np.ndarray:
        placed = np.flatnonzero(self.labels >= 0)
        own = self.sums[placed, self.labels[placed]]
        grown = np.log1p(self.p[placed, i] / own)
        by_cluster = np.bincount(self.labels[placed], weights=grown, minlength=len(self.sizes))[choices]
        sizes = self.sizes[choices].astype(float)
        entropy = (sizes + 1) * np.log(sizes + 1) - sizes * np.log(np.maximum(sizes, 1))
        return entropy - 2.0 * (by_cluster + np.log(self.sums[i, choices] + self.p[i, i]))

    @staticmethod
    def total(p: np.ndarray, labels: np.ndarray) -> float:
        together = labels[:, None] == labels[None, :]
        terms = np.log(together.sum(axis=1)) - 2.0 * np.log((p * together).sum(axis=1)) + np.log(p.sum(axis=1))
        return float(terms.mean())


LOSSES: dict[str, Any] = {"binder": _Binder, "vi": _VI}
