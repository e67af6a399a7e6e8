"""How many clusters a prior expects: the distribution of their number among n points, before any data."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST_GENERAL = 500  # points up to which weights may depend on cluster sizes in any way


def distribution_of_n_clusters(
    log_size: np.ndarray, log_new: np.ndarray, n_points: int, expected: float | None
) -> np.ndarray:
    """Return P(k clusters) for k = 0, ..., `n_points`.

    A partition with K clusters has weight ``exp(sum of log_new[1 .. K-1])`` times, for every cluster of size s,
    ``exp(sum of log_size[1 .. s-1])``. If the expected number of clusters is known, numbers that are not needed for it
    are left out.
    """
    padded = np.full(n_points + 1, log_new[-1])
    padded[: min(len(log_new), n_points + 1)] = log_new[: n_points + 1]
    line = _line_through(np.exp(log_size[1:n_points]))
    if line is None:
        if n_points > MOST_GENERAL:
            raise ValueError(
                f"n_points must be at most {MOST_GENERAL} where exp(log_size) is no straight line in the size, "
                f"got {n_points}."
            )
        return _normalised(_by_sizes(log_size, padded, n_points), n_points)
    most = n_points if expected is None else min(n_points, 64)
    while True:
        distribution = _normalised(_by_points(*line, padded, n_points, most), n_points)
        if most == n_points or _is_complete(distribution, most, float(expected or 0.0)):
            return distribution
        most = min(n_points, 2 * most)


def _line_through(weights: np.ndarray) -> tuple[float, float] | None:
    """Return slope and offset if the weight of joining a cluster of size s is ``slope * s - offset``."""
    if len(weights) < 2:
        return (1.0, 0.0) if len(weights) == 0 else (0.0, -float(weights[0]))
    slope = float(weights[-1] - weights[0]) / (len(weights) - 1)
    offset = slope - float(weights[0])
    on_line = slope * np.arange(1.0, len(weights) + 1) - offset
    close = np.isfinite(weights).all() and np.allclose(weights, on_line, rtol=1e-12, atol=1e-13 * weights.max())
    return (slope, offset) if close else None


def _is_complete(distribution: np.ndarray, most: int, expected: float) -> bool:
    """Return whether there is nothing beyond `most` clusters: the mean would be too small."""
    fallen = distribution[most] < 1e-18 and distribution[most] <= distribution[most - 1]
    return bool(fallen and abs(np.arange(len(distribution)) @ distribution - expected) < 1e-9 * expected)


def _by_points(slope: float, offset: float, log_new: np.ndarray, n_points: int, most: int) -> np.ndarray:
    """Return log weights of 1, ..., `most` clusters: each point joins one of them, or opens the last.

    Among m points in K clusters, joining has total weight ``slope * m - offset * K``, whatever the sizes. In logs: the
    weights of few and of many clusters differ by more than numbers allow.
    """
    clusters = np.arange(1.0, most + 1)
    opening = np.concatenate([[-np.inf], log_new[1:most]])
    log_weights = np.full(most, -np.inf)
    log_weights[0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for m in range(1, n_points):
            used = min(m + 1, most)
            here = log_weights[:used]
            joined = here + np.log(np.maximum(slope * m - offset * clusters[:used], 0.0))
            opened = opening[:used].copy()
            opened[1:] += here[:-1]
            np.logaddexp(joined, opened, out=here)
            # Kept near 0, where sums are exact: only differences count.
            here -= here.max()
    return log_weights


def _by_sizes(log_size: np.ndarray, log_new: np.ndarray, n_points: int) -> np.ndarray:
    """Return log weights of 1, ..., n clusters: the last point's cluster has some size, the others are partitioned."""
    from scipy.special import gammaln, logsumexp

    log_cluster = np.concatenate([[-np.inf, 0.0], np.cumsum(log_size[1:n_points])])  # weight of a cluster by its size
    m = np.arange(n_points + 1)
    sizes = np.arange(1, n_points + 1)
    rest = m[:, None] - sizes
    with np.errstate(invalid="ignore"):
        choices = gammaln(m[:, None] + 0.0) - gammaln(sizes + 0.0) - gammaln(rest + 1.0)
        log_last = np.where(rest >= 0, choices + log_cluster[sizes], -np.inf)
    before = np.where(m == 0, 0.0, -np.inf)  # no clusters, no points
    log_weights = np.empty(n_points)
    total = 0.0
    for k in range(1, n_points + 1):
        with np.errstate(divide="ignore"):
            before = logsumexp(log_last + before[np.maximum(rest, 0)], axis=1)
        log_weights[k - 1] = before[n_points] + total
        total += log_new[k]
    return log_weights


def _normalised(log_weights: np.ndarray, n_points: int) -> np.ndarray:
    distribution = np.zeros(n_points + 1)
    distribution[1 : len(log_weights) + 1] = np.exp(log_weights - log_weights.max())
    return distribution / distribution.sum()


def expected_of_process(alpha: Any, discount: float, n_points: int) -> np.ndarray:
    """Return the expected number of clusters of a Dirichlet or Pitman-Yor process, for each alpha."""
    from scipy.special import gammaln, psi

    from copartition.targets.prior_tables import log_gamma_rise

    alpha = np.asarray(alpha, dtype=np.float64)
    if discount == 0.0:
        return 1.0 + alpha * (psi(alpha + n_points) - psi(alpha + 1.0))
    rise = log_gamma_rise(alpha + n_points, discount)
    # For small alpha in a form that is right at 0 and below, for large ones in one that loses no digits.
    near = np.exp(rise + gammaln(alpha + 1.0) - gammaln(alpha + discount)) / discount - alpha / discount
    positive = np.maximum(alpha, 1e-3)
    far = positive / discount * np.expm1(rise - log_gamma_rise(positive, discount))
    return np.where(alpha > 1e-3, far, near)


def expected_of_components(components: Any, gamma: float, n_points: int) -> np.ndarray:
    """Return the expected number of clusters where weights of components are symmetric Dirichlet, for each number."""
    from copartition.targets.prior_tables import log_gamma_rise

    number = np.asarray(components, dtype=np.float64)
    others = gamma * np.maximum(number - 1.0, 0.5)
    # Probability that none of n points is of a given component.
    log_none = log_gamma_rise(others, gamma) - log_gamma_rise(others + n_points, gamma)
    return np.where(number == 1.0, 1.0, -number * np.expm1(log_none))
