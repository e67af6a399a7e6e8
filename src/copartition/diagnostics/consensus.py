"""One clustering to stand for a posterior, and how much it leaves out.

A loss says how bad it is to report clustering C where A is the truth; the consensus minimises the posterior expectation
of it:

- Binder: the number of pairs on which A and C disagree. Its expectation needs only the probabilities P[i, j] that
  points are together: sum over i < j of |1[i, j together in C] - P[i, j]|.
- VI: the variation of information. Its expectation is not a function of P. Where no more than P is known, the lower
  bound that Jensen's inequality gives is minimised instead (Wade and Ghahramani 2018), with n(i) the size of the
  cluster of i in C: 1/N * sum over i of [ log n(i) - 2 log(sum over j with i in C of P[i, j]) + log(sum over j of
  P[i, j]) ]. The expectation itself is what `distance_to` estimates, for given candidates.

Here is what follows from an estimate that is there. `copartition.consensus` of a posterior runs what it takes
(`copartition.runs.consensus`). The search is in `copartition.diagnostics.search`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from copartition.diagnostics.averages import averages_at_most, averages_of_replicates, belonging, joined_pairs, square
from copartition.diagnostics.findings import WIDE, Finding, findings_of
from copartition.diagnostics.search import from_similarity
from copartition.display import Displayed, draw, frame_of
from copartition.extras import needed
from copartition.results import Replicates
from copartition.validation import integer, shorten

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

LOSSES = ("vi", "binder")
METRICS = {"vi": ("vi", 1.0), "binder": ("hamming", 2.0)}  # the distance whose mean, divided, is the expected loss
UNSURE = 0.7  # a point that is with the others of its cluster less often than this is worth a look
OUT_OF_RANGE = 0.01  # of 0 to 1, that the same share may lie by chance; of the share of joined pairs five times that
SPREAD = 0.2  # share of joined pairs in dispute from which on one clustering does not stand for the posterior


@dataclass(frozen=True, eq=False, repr=False)
class Consensus(Displayed):
    """A clustering that stands for a posterior.

    Standard errors are those of Monte Carlo. Where an estimate did not keep the values of every replicate (see
    `co_clustering`) those of averages over pairs are not known, and what is given is the most that they can be.

    Attributes
    ----------
    labels : int64 array (points)
        The clustering, numbered in the order of first points.
    points : int64 array (points)
        Which points of the data these are.
    loss : str
        ``"vi"`` or ``"binder"``.
    expected_loss, expected_loss_stderr : float
        Of a posterior: the expected loss of this clustering, unbiased, from replicates that had no part in choosing
        it. Of an estimate: what was minimised, which is the lower bound of the variation of information, or the number
        of pairs in dispute; being the least of many estimates, a little too small.
    belongs, belongs_stderr : float64 arrays (points)
        Probability that a point is together with another one of its cluster, on average over these. For a point that
        is alone: one minus the probability of being with the cluster that it is most often with.
    cohesion, cohesion_stderr : float64 arrays (clusters)
        Probability that two points of a cluster are together, on average; 1 for a cluster of one point.
    between : float64 array (clusters, clusters)
        Probability that a point of one cluster is together with one of another, on average; `cohesion` on the diagonal.
    disagreement, disagreement_stderr : float
        Expected share of all pairs that a clustering from the posterior joins and this one does not, or the other way
        round.
    spread : float
        The same as a share of the pairs that either joins: 0 if the posterior is all on this clustering.
    candidates : int64 array (partitions, points)
        Other clusterings that the search came across, best first.
    pairs : float64 array or None
        The estimated probabilities of being together, in the order of `co_clustering`, if there are any.
    estimate : Replicates or None
        Where the numbers are from.
    chosen_by : Replicates or None
        Of a posterior: the replicates by which this clustering was chosen among `candidates`, with what was estimated
        besides (``also``).
    nodes : sequence or None
        What points are called, where they have names: the nodes of a network.

    Examples
    --------
    >>> import copartition as cp
    >>> posterior = cp.Mixture([-3.0, -2.9, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    >>> e = cp.estimate(posterior, cp.co_clustering(), replicates=100, burn_in=10, min_sweeps=100, lag=10, seed=1)
    >>> clusters = cp.consensus(e)
    >>> clusters.labels
    array([0, 0, 1])
    >>> clusters.belongs.shape, clusters.sizes
    ((3,), array([2, 1]))
    """

    labels: np.ndarray
    points: np.ndarray
    loss: str
    expected_loss: float
    expected_loss_stderr: float
    belongs: np.ndarray
    belongs_stderr: np.ndarray
    cohesion: np.ndarray
    cohesion_stderr: np.ndarray
    between: np.ndarray
    disagreement: float
    disagreement_stderr: float
    spread: float
    candidates: np.ndarray
    pairs: np.ndarray | None = None
    estimate: Replicates | None = None
    nodes: Sequence[Hashable] | None = None
    chosen_by: Replicates | None = None

    @property
    def runs(self) -> list[Replicates]:
        """The replicates that it is from: those by which it was chosen, if any, and those that its numbers are from."""
        return [e for e in (self.chosen_by, self.estimate) if e is not None]

    @property
    def censored(self) -> int:
        """Number of pairs that did not meet before a cap. If there are any, all numbers are biased."""
        return sum(e.censored for e in self.runs)

    @property
    def has_answer(self) -> bool:
        """Whether its figures make sense: shares of pairs that are between 0 and 1, and known to better than 0.5."""
        is_share = -OUT_OF_RANGE <= self.disagreement <= 1.0 + OUT_OF_RANGE
        is_share &= abs(self.spread - 0.5) <= 0.5 + 5.0 * OUT_OF_RANGE
        return is_share and not 2.0 * 1.96 * self.disagreement_stderr > WIDE

    @property
    def findings(self) -> list[Finding]:
        """What its runs found, each thing once: as for an estimate."""
        return [] if self.estimate is None else findings_of(self.estimate, [self])

    @property
    def warnings(self) -> list[str]:
        """What speaks against trusting it, a sentence or two each: the findings that are warnings."""
        return [str(finding) for finding in self.findings if finding.is_warning]

    @property
    def is_spread(self) -> bool:
        """Whether the posterior is spread over several clusterings, so that no single one stands for it."""
        return self.spread > SPREAD

    @property
    def sizes(self) -> np.ndarray:
        """Number of points of each cluster."""
        return np.bincount(self.labels)

    @property
    def order(self) -> np.ndarray:
        """Positions of the points, cluster by cluster, largest first, and within a cluster by `belongs`."""
        return np.lexsort((-self.belongs, self.labels, -self.sizes[self.labels]))

    @property
    def similarity(self) -> np.ndarray:
        """The estimated probabilities of being together, as a table (points, points)."""
        from scipy.spatial.distance import squareform

        if self.pairs is None:
            raise ValueError("This consensus was found without probabilities of all pairs; estimate co_clustering().")
        table = squareform(self.pairs)
        np.fill_diagonal(table, 1.0)
        return table

    @property
    def names(self) -> list[Hashable]:
        """What the points are called: their nodes, or their numbers."""
        return self.points.tolist() if self.nodes is None else [self.nodes[point] for point in self.points]

    def communities(self) -> list[set[Hashable]]:
        """Return the clusters as sets of nodes, or of numbers of points; the largest first.

        Examples
        --------
        >>> import copartition as cp
        >>> two = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)], rate=1.0)
        >>> cp.consensus(two, replicates=50, seed=1).communities()
        [{0, 1, 2}, {3, 4, 5}]
        """
        names = self.names
        largest_first = np.argsort(-self.sizes, kind="stable")
        return [{names[n] for n in np.flatnonzero(self.labels == cluster)} for cluster in largest_first]

    def to_dict(self) -> dict[Hashable, tuple[int, float]]:
        """Return the cluster of each node, or number of a point, and how surely it belongs there (`belongs`)."""
        return dict(zip(self.names, zip(self.labels.tolist(), self.belongs.tolist(), strict=True), strict=True))

    def similarity_frame(self) -> Any:
        """Return `similarity` as a data frame of pandas, rows and columns called by nodes, or numbers of points."""
        names = self.names
        return needed("pandas", by="similarity_frame").DataFrame(self.similarity, index=names, columns=names)

    @overload
    def summary(self, as_frame: Literal[False] = False) -> str: ...

    @overload
    def summary(self, as_frame: Literal[True]) -> pandas.DataFrame: ...

    def summary(self, as_frame: bool = False) -> str | pandas.DataFrame:
        """Return a few lines for a person to read, or a data frame with a row a cluster, largest first (needs pandas).

        Examples
        --------
        >>> import copartition as cp
        >>> two = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)], rate=1.0)
        >>> cp.consensus(two, replicates=50, seed=1).summary(as_frame=True)["points"].tolist()
        [3, 3]
        """
        if as_frame:
            largest = np.argsort(-self.sizes, kind="stable")
            columns = {"points": self.sizes, "cohesion": self.cohesion, "cohesion_stderr": self.cohesion_stderr}
            ordered = {name: values[largest] for name, values in columns.items()}
            return frame_of({"cluster": largest, **ordered}, "cluster", "as_frame=True")
        return "\n".join([*self.warnings, *self.sentences])

    @property
    def sentences(self) -> list[str]:
        """What there is to be said of the clusters themselves; of shares of pairs nothing if they are none."""
        sizes = np.sort(self.sizes)[::-1]
        shown = ", ".join(str(size) for size in sizes[:12]) + (", ..." if len(sizes) > 12 else "")
        lines = [f"{len(sizes)} cluster(s) of {shown} points, by {self.loss} loss."]
        if self.has_answer:
            names = self.names
            unsure = [names[n] for n in np.flatnonzero(self.belongs < UNSURE)]
            named = ", ".join(map(str, unsure[:10])) + (f" and {len(unsure) - 10} more" if len(unsure) > 10 else "")
            # An unbiased estimate of a share near 0 may be a little below it.
            share, joined = (100.0 * max(value, 0.0) for value in (self.disagreement, self.spread))
            lines += [
                f"A clustering from the posterior disagrees with this one on {share:.3g} % "
                f"(+- {100 * self.disagreement_stderr:.1g} %) of all pairs, {joined:.2g} % of those that either joins.",
                f"{len(unsure)} of {len(self.points)} points are with the others of their cluster with probability "
                f"below {UNSURE:g}" + (f": {named}." if unsure else "."),
            ]
        if self.censored:
            count = sum(len(e.met) for e in self.runs)
            lines.append(f"NOT UNBIASED: {self.censored} of {count} pairs did not meet before the cap.")
        if self.is_spread and self.has_answer:
            lines.append("The posterior is spread over several clusterings: no single one stands for it.")
        return lines

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how often points are together, in the order of the clusters: see `copartition.plots.co_clustering`.

        How sure each cluster is: `copartition.plots.certainty`. A network: `copartition.plots.network`.
        """
        return draw(self, ax=ax)

    def __repr__(self) -> str:
        sizes = np.sort(self.sizes)[::-1]
        shown = ", ".join(f"{size:,}" for size in sizes[:6]) + (", ..." if len(sizes) > 6 else "")
        return f"<Consensus of {len(self.labels):,} points in {len(sizes)} clusters of {shown}, {self.loss} loss>"

    def __str__(self) -> str:
        return self.summary()


def check_loss(loss: Any) -> str:
    """Return the name of a loss if it is one."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be 'vi' or 'binder', got {shorten(loss)}.")
    return str(loss)


def consensus_of(e: Replicates, loss: str = "vi", *, starts: int | None = None, seed: int = 0) -> Consensus:
    """Return the clustering with the least expected loss by an estimate; see `copartition.consensus`."""
    check_loss(loss)
    if is_about_one(e):
        return _about_one(e, loss)
    all_pairs = [part for part in e.parts() if "points" in part.functionals[0]]
    part = all_pairs[0] if len(all_pairs) == 1 else e.select("co_clustering")
    if not all_pairs:
        raise ValueError("e must have co_clustering of all pairs of some points, got one of listed pairs.")
    points = np.array(part.functionals[0]["points"])
    starts, seed = None if starts is None else integer("starts", starts, 1), integer("seed", seed, 0)
    given = _given(e, loss, points)
    if given is None:
        candidates, losses = from_similarity(square(np.clip(part.mean, 0.0, 1.0), 1.0), loss, starts=starts, seed=seed)
        labels, expected, error = candidates[0], float(losses[0]), None
    else:
        candidates, expected, error = given
        labels = candidates[0]
    averages = averages_of_replicates(part, labels) if len(part.values[0]) else averages_at_most(part, labels)
    if error is None:
        error = averages.vi_stderr if loss == "vi" else averages.disputed_stderr
    pairs = len(part.mean)
    disputed = averages.disputed
    either = part.mean.sum() + joined_pairs(labels)
    return Consensus(
        labels=labels,
        points=points,
        loss=loss,
        expected_loss=expected,
        expected_loss_stderr=error,
        belongs=averages.belongs,
        belongs_stderr=averages.belongs_stderr,
        cohesion=averages.cohesion,
        cohesion_stderr=averages.cohesion_stderr,
        between=averages.between,
        disagreement=float(disputed / pairs),
        disagreement_stderr=float(averages.disputed_stderr / pairs),
        # A pair that both join is counted in both sums of `either`, a disputed one in one.
        spread=float(2.0 * disputed / (either + disputed)) if either > 0 else 0.0,
        candidates=candidates,
        pairs=part.mean,
        estimate=e,
        nodes=part.functionals[0].get("names"),
    )


def _given(e: Replicates, loss: str, points: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Return the partitions whose expected loss was estimated, best first, and the best loss; None if none was."""
    metric, unit = METRICS[loss]
    for part in e.parts():
        about = part.functionals[0]
        if about["name"] == "distance_to" and about["metric"] == metric:
            order = np.argsort(part.mean, kind="stable")
            candidates = np.array(about["partitions"])[order]
            if not np.array_equal(points, np.arange(candidates.shape[1])):
                raise ValueError(
                    "e must have co_clustering() of all points where it has distance_to, got some of them."
                )
            return candidates, float(part.mean[order[0]] / unit), float(part.stderr[order[0]] / unit)
    return None


def is_about_one(e: Replicates) -> bool:
    """Tell whether an estimate is about one given clustering, with all that there is to be said of it."""
    names = [about["name"] for about in e.functionals]
    return {"memberships", "cluster_similarity"} <= {*names} and names.count("distance_to") == 2


def _about_one(e: Replicates, loss: str) -> Consensus:
    """Return the consensus that an estimate is about: the last round of `copartition.consensus`."""
    companions, clusters = e.select("memberships"), e.select("cluster_similarity")
    distances = {part.functionals[0]["metric"]: part for part in e.parts() if "metric" in part.functionals[0]}
    metric, unit = METRICS[loss]
    labels = np.array(companions.functionals[0]["partition"])
    shape = len(labels), -1
    belongs, belongs_stderr = belonging(labels, companions.mean.reshape(shape), companions.stderr.reshape(shape))
    sizes = np.bincount(labels)
    a, b = np.triu_indices(len(sizes))
    pairs = np.where(a == b, sizes[a] * (sizes[a] - 1) / 2.0, sizes[a] * sizes[b])
    joined = float(np.sum(pairs[a == b]) + np.sum(pairs * clusters.mean))
    between = np.zeros((len(sizes), len(sizes)))
    between[a, b] = between[b, a] = clusters.mean
    between[sizes == 1, sizes == 1] = 1.0
    disputed, disputed_stderr = distances["hamming"].mean[0] / 2.0, distances["hamming"].stderr[0] / 2.0
    count = max(1.0, len(labels) * (len(labels) - 1) / 2.0)
    return Consensus(
        labels=labels,
        points=np.arange(len(labels)),
        loss=loss,
        expected_loss=float(distances[metric].mean[0] / unit),
        expected_loss_stderr=float(distances[metric].stderr[0] / unit),
        belongs=belongs,
        belongs_stderr=belongs_stderr,
        cohesion=np.diagonal(between).copy(),
        cohesion_stderr=clusters.stderr[a == b],
        between=between,
        disagreement=float(disputed / count),
        disagreement_stderr=float(disputed_stderr / count),
        spread=float(2.0 * disputed / (joined + disputed)) if joined > 0 else 0.0,
        candidates=labels[None],
        estimate=e,
        nodes=companions.functionals[0].get("names"),
    )


def check_estimate(e: Any) -> Replicates:
    """Return an estimate if it is one."""
    if not isinstance(e, Replicates):
        raise TypeError(
            f"target must be a posterior, what draw returns or an estimate of co_clustering, got {shorten(e)}."
        )
    return e
