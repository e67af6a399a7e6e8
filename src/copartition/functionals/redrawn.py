"""Values with less noise and no bias, for partitions that are kept: every point is drawn anew, in expectation.

Write P_n h for the expectation of h after point n has been drawn anew given all others. Such a draw leaves the target
as it is, so the expectation of P_n h under the target is that of h, for every n. It follows that

    h + share * sum over points n of (P_n h - h)

has the expectation of h for any fixed share, and is an ordinary functional: a function of the partition alone, and of
the hyperparameters, where some are unknown (given these, the draws leave the target as it is). The sum takes away what
h owes to the last draw of each point. With share 1 that is all of it for terms that depend on one point, and with share
1/2 for terms that depend on two; in between both become smaller. Differences P_n h - h as control variates are those of
Dellaportas and Kontoyiannis (2012), "Control variates for estimation based on reversible Markov chain Monte Carlo
samplers", *JRSS B*.

For a pair of points only its own two draws count. Then I - P_i and I - P_j are orthogonal projections, the eigenvalues
of their sum lie between 0 and 2, and with a share of at most 1 the variance under the target is never larger than that
of h. For sums over many pairs, and for the number of clusters, there is no such promise; docs/ask-later.md has what was
measured. Functionals that jump, such as the probability of exactly five clusters, become noisier, and have no form
here.

Whether the form is used must not depend on the partition: that would be a bias.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from copartition.core.compiling import inner, kernel
from copartition.core.state import Chain, Hooks, Model
from copartition.core.steps import conditional_probabilities
from copartition.core.types import float1, float2, float64, int1, void
from copartition.functionals.base import Functional, evaluate_at
from copartition.functionals.clusters import count_clusters
from copartition.functionals.pairs import same_cluster, same_cluster_listed
from copartition.functionals.reference import share_of_companions, share_of_pairs

SHARE = 0.75  # the best of 1/2, 2/3, 3/4 and 1, on average over six data sets


class Redrawn(NamedTuple):
    """A partition, and what would become of each of its points if it were drawn anew.

    Attributes
    ----------
    labels : int64 array (n_points)
    sizes : int64 array (clusters)
        Of all clusters, and of those that a point may open: these are empty.
    probabilities : float64 array (n_points, clusters)
        That a point joins each cluster. For a point that is alone its own cluster means staying alone.
    """

    labels: np.ndarray
    sizes: np.ndarray
    probabilities: np.ndarray


def redraw(model: Model, hooks: Hooks, chain: Chain) -> Redrawn:
    """Return the partition of a chain with the conditional distributions of its points.

    Changed in place: clusters of the chain may change their rows, and sums their last digits.
    """
    rows = model.palette or int(chain.n_clusters[0]) + 1
    labels, sizes, columns = chain.labels.copy(), chain.sizes[:rows].copy(), chain.slots[:rows].copy()
    table = np.empty((len(labels), len(chain.sizes)))
    n = conditional_probabilities(model, hooks, chain, table)
    if n >= 0:
        raise ValueError(
            "log_predictive of the target must give each choice a number or minus infinity, and at least one a number; "
            f"for point {n} it did not."
        )
    return Redrawn(labels, sizes, np.take(table, columns, axis=1))


def evaluate_redrawn(model: Model, hooks: Hooks, functionals: Sequence[Functional], chain: Chain) -> np.ndarray:
    """Return values that have the expectations of functionals under the target, most of them with a smaller variance.

    Called like `copartition.functionals.evaluate_at`, whose values are those of functionals that have no form in
    `FORMS`. It costs about a sweep. Clusters of the chain may change their rows, and sums their last digits.
    """
    forms = [FORMS.get(f.evaluate) if f.is_compiled else None for f in functionals]
    as_they_are = [f for f, form in zip(functionals, forms, strict=True) if form is None]
    values = [evaluate_at(model, hooks, [f], chain) for f in as_they_are]
    if len(as_they_are) < len(forms):
        redrawn = redraw(model, hooks, chain)
        for place, (f, form) in enumerate(zip(functionals, forms, strict=True)):
            if form is not None:
                values.insert(place, form(f, redrawn))
    return np.concatenate(values)


# --- which points are together ---------------------------------------------------------------------------------------


@inner
def redraw_pair(labels, probabilities, i, j, share):
    """Return whether points i and j are together, each of them drawn anew."""
    a, b = labels[i], labels[j]
    plain = 1.0 if a == b else 0.0
    return plain + share * (probabilities[i, b] + probabilities[j, a] - 2.0 * plain)


@kernel(void(int1, float2, float64, float1, float1))
def redraw_all_pairs(labels, probabilities, share, points, out):
    """Write to `out` all pairs of the points, in the order of `same_cluster`."""
    place = 0
    for a in range(len(points)):
        for b in range(a + 1, len(points)):
            out[place] = redraw_pair(labels, probabilities, int(points[a]), int(points[b]), share)
            place += 1


@kernel(void(int1, float2, float64, float1, float1))
def redraw_listed_pairs(labels, probabilities, share, points, out):
    """Write to `out` the listed pairs, in the order of `same_cluster_listed`."""
    count = len(out)
    for pair in range(count):
        out[pair] = redraw_pair(labels, probabilities, int(points[pair]), int(points[count + pair]), share)


def _pairs(functional: Functional, redrawn: Redrawn) -> np.ndarray:
    out = np.empty(functional.size)
    write = redraw_all_pairs if functional.evaluate is same_cluster else redraw_listed_pairs
    write(redrawn.labels, redrawn.probabilities, SHARE, functional.parameters, out)
    return out


@kernel(void(int1, float2, int1, float64, float2, float2, float2))
def redraw_companions(labels, probabilities, partition, share, shared, drawn, out):
    """Write for each point and each cluster of a partition how many of that cluster are with it, itself left out.

    Changed in place: `out`, and two tables of zeros with a row a cluster and a column a cluster of the partition. They
    become how many points the two share, and how many of the latter join the former if each is drawn anew.
    """
    for n in range(len(labels)):
        r = partition[n]
        shared[labels[n], r] += 1.0
        for k in range(probabilities.shape[1]):
            drawn[k, r] += probabilities[n, k]
    for n in range(len(labels)):
        own = labels[n]
        for r in range(out.shape[1]):
            plain, moved = shared[own, r], drawn[own, r]
            for k in range(probabilities.shape[1]):
                moved += probabilities[n, k] * shared[k, r]
            if r == partition[n]:  # a point is not its own companion
                plain -= 1.0
                moved -= 2.0 * probabilities[n, own]
            out[n, r] = plain + share * (moved - 2.0 * plain)


def _companions(partition: np.ndarray, redrawn: Redrawn) -> np.ndarray:
    labels, probabilities = redrawn.labels, redrawn.probabilities
    n_clusters = int(partition.max()) + 1
    shared, drawn = np.zeros((2, probabilities.shape[1], n_clusters))
    out = np.empty((len(labels), n_clusters))
    redraw_companions(labels, probabilities, partition, SHARE, shared, drawn, out)
    return out


def _partition_of(functional: Functional) -> np.ndarray:
    """Return the clustering with which a functional compares, of its points cluster by cluster."""
    order, clusters = functional.parameters.astype(np.int64).reshape(2, -1)
    partition = np.empty(len(order), dtype=np.int64)
    partition[order] = clusters
    return partition


def _memberships(functional: Functional, redrawn: Redrawn) -> np.ndarray:
    return _companions(_partition_of(functional), redrawn).ravel() / functional.divisors


def _similarity(functional: Functional, redrawn: Redrawn) -> np.ndarray:
    partition = _partition_of(functional)
    companions = _companions(partition, redrawn)
    n_clusters = companions.shape[1]
    pairs = np.eye(n_clusters)[partition].T @ companions
    pairs[np.diag_indices(n_clusters)] /= 2.0  # each pair of one cluster was counted from both ends
    return pairs[np.triu_indices(n_clusters)] / functional.divisors


# --- how many clusters -----------------------------------------------------------------------------------------------


def _n_clusters(_functional: Functional, redrawn: Redrawn) -> np.ndarray:
    labels, sizes, probabilities = redrawn
    opens = probabilities[:, sizes == 0].sum(axis=1)
    # A point in company may open a cluster. One that is alone may join another, and then its own is no more.
    joins = 1.0 - opens - probabilities[np.arange(len(labels)), labels]
    more = np.where(sizes[labels] > 1, opens, -joins).sum()
    return np.array([np.sum(sizes > 0) + SHARE * more])


FORMS: dict[object, Callable[[Functional, Redrawn], np.ndarray]] = {
    same_cluster: _pairs,
    same_cluster_listed: _pairs,
    share_of_companions: _memberships,
    share_of_pairs: _similarity,
    count_clusters: _n_clusters,
}
REDRAWING = (conditional_probabilities, redraw_all_pairs, redraw_listed_pairs, redraw_companions)  # what is compiled
