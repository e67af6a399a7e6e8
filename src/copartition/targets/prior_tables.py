"""The numbers behind priors: what is integrated or summed out exactly, for all numbers of clusters.

Let alpha have density proportional to ``alpha**(a - 1) exp(-b alpha)``. Given K clusters of n points, its density is
also proportional to

    prod_{i=1}^{K-1} (alpha + i discount)  Gamma(1 + alpha) / Gamma(n + alpha).

In t = log alpha this is smooth and falls off fast on both sides, so that the trapezoid rule is exact to rounding. Logs
of Gamma functions are taken in differences: at n = 1e6 they are of the order of 1e7, and would lose nine digits.

Last comes how many clusters a prior expects among n points, before any data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

DROP = 45.0  # what is smaller than the largest term by exp(-45) is left out
WIDEST = 0.2  # step in log alpha: the error is of the order of exp(-pi**2 / step)
NODES = 24
DIRECT = 256  # tables shorter than this are not interpolated
LONGEST = 1 << 22


def stirling(z: np.ndarray) -> np.ndarray:
    """Return log Gamma(z) less (z - 1/2) log z - z + log(2 pi) / 2, for z from 10 on, to 1e-15."""
    y = 1.0 / (z * z)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))) / z


def log_gamma_rise(y: Any, d: Any) -> np.ndarray:
    """Return log Gamma(y + d) - log Gamma(y) for positive y and y + d, as exact for large y as for small ones."""
    far = y + 10.0
    rise = (far + d - 0.5) * np.log1p(d / far) + d * (np.log(far) - 1.0) + stirling(far + d) - stirling(far)
    for i in range(10):
        rise = rise - np.log1p(d / (y + i))
    return rise


def log_product(x: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the sum over i = 1, ..., m of log(1 + i / x); no digits are lost where x is much larger than m."""
    far = x + 11.0
    total = (far + m - 0.5) * np.log1p(m / far) - m + m * np.log1p(11.0 / x) + stirling(far + m) - stirling(far)
    for i in range(1, 11):
        total = total - np.log1p(m / (x + i))
    return total


def _log_rise_of_product(x: np.ndarray, u: np.ndarray, m: Any) -> np.ndarray:
    """Return the log of the product over i = 1, ..., m of (y + i) / (x + i), where y is x exp(u)."""
    d = x * np.expm1(u)
    by_ends = log_gamma_rise(x + m + 1.0, d) - log_gamma_rise(x + 1.0, d)
    by_factors = m * u + log_product(x * np.exp(u), m) - log_product(x, m)
    return np.where(x < m, by_ends, by_factors)  # sums of fewer terms each


def _sum_of_shares(x: np.ndarray, m: Any) -> np.ndarray:
    """Return the sum over i = 1, ..., m - 1 of x / (x + i), to a few digits."""
    from scipy.special import psi

    large = np.log1p((m - 1.0) / (x + 1.0)) + 0.5 / (x + 1.0) - 0.5 / (x + m)
    return x * np.where(x > 100.0, large, psi(x + m) - psi(x + 1.0))


def log_mean_alpha(shape: float, rate: float, discount: float, n_points: int, clusters: np.ndarray) -> np.ndarray:
    """Return log E[alpha given K clusters] for each K >= 1 of `clusters`, by the trapezoid rule in t = log alpha."""
    parts = [clusters[i : i + 64].astype(np.float64)[:, None] for i in range(0, len(clusters), 64)]
    return np.concatenate([_log_mean_alpha(shape, rate, discount, n_points, part) for part in parts])


def _log_mean_alpha(shape: float, rate: float, discount: float, n_points: int, k: np.ndarray) -> np.ndarray:
    def slope(t: np.ndarray) -> np.ndarray:
        alpha = np.exp(t)
        opened = _sum_of_shares(alpha / discount, k) if discount > 0.0 else k - 1.0
        return shape - rate * alpha - _sum_of_shares(alpha, n_points) + opened

    # The density of t has one mode. Any point near it will do, for differences are taken from there.
    low = np.full(k.shape, np.log(shape / (rate + 1.0 + np.log(n_points))))
    high = np.log((shape + k - 1.0) / rate) + 1e-9
    for _ in range(50):
        middle = 0.5 * (low + high)
        rises = slope(middle) > 0.0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    mode = 0.5 * (low + high)
    alpha = np.exp(mode)
    curvature = (slope(mode - 1e-4) - slope(mode + 1e-4)) / 2e-4
    step = np.minimum(WIDEST, 0.4 / np.sqrt(np.maximum(curvature, 1.0)))

    def log_weight(u: np.ndarray) -> np.ndarray:
        """Return the log density of t at mode + u, less that at the mode."""
        total = shape * u - rate * alpha * np.expm1(u) - _log_rise_of_product(alpha, u, n_points - 1.0)
        return total + (_log_rise_of_product(alpha / discount, u, k - 1.0) if discount > 0.0 else (k - 1.0) * u)

    right = 10.0 * step
    while np.any(falls_short := log_weight(right) > -DROP):
        right = np.where(falls_short, 1.5 * right, right)
    # Below `flat` the density of t is exp(slower t) to all digits, and the rest of the sum a geometric series. Small
    # shapes need it: with shape 0.01 the terms fall by exp(-45) over 4500 units of t only.
    opened_rate = (1.0 + np.log(k)) / discount if discount > 0.0 else 0.0
    flat = np.minimum(-1.0, np.log(1e-18 / (rate + 2.0 + np.log(n_points) + opened_rate)) - mode)
    left = np.maximum(-10.0 * step, flat)
    while np.any(falls_short := (log_weight(left) > -DROP) & (left > flat)):
        left = np.where(falls_short, np.maximum(1.5 * left, flat), left)
    u = left + step * np.arange(int(np.ceil(((right - left) / step).max())) + 1)
    below = np.exp(log_weight(u))
    above = below * np.exp(u)
    slower = shape + (k[:, 0] - 1.0 if discount == 0.0 else 0.0)
    below[:, 0] /= -np.expm1(-slower * step[:, 0])
    above[:, 0] /= -np.expm1(-(slower + 1.0) * step[:, 0])
    return mode[:, 0] + np.log(above.sum(axis=1) / below.sum(axis=1))


@lru_cache(maxsize=16)
def mean_alpha_table(shape: float, rate: float, discount: float, n_points: int) -> np.ndarray:
    """Return E[alpha given K clusters of n points] for K = 0, ..., `n_points`.

    Where there is none, that of the distribution.
    """
    table = np.empty(n_points + 1)
    table[0] = shape / rate
    table[1:] = np.exp(
        tabulated(lambda k: log_mean_alpha(shape, rate, discount, n_points, k), n_points, lambda k: 2e-13)
    )
    table.flags.writeable = False
    return table


def tabulated(
    f: Callable[[np.ndarray], np.ndarray], last: int, tolerance: Callable[[np.ndarray], float | np.ndarray]
) -> np.ndarray:
    """Return f(1), ..., f(last) for a smooth f that is slow to compute.

    Long intervals are interpolated through 24 whole numbers near the Chebyshev nodes; where the polynomial is off by
    more than the tolerance at eight numbers between them, the interval is halved, down to 256 numbers.
    """
    values = np.empty(last + 1)
    pending = [(1, last)]
    while pending:
        nodes = []
        for first, end in pending:
            angles = np.cos(np.linspace(np.pi, 0.0, NODES))
            chebyshev = np.rint(0.5 * (first + end) + 0.5 * (end - first) * angles).astype(np.int64)
            nodes.append(np.arange(first, end + 1) if end - first < DIRECT else chebyshev)
        tests = [(x[1:-1:3] + x[2::3]) // 2 if len(x) == NODES else x[:0] for x in nodes]
        asked = [np.concatenate([x, y]) for x, y in zip(nodes, tests, strict=True)]
        answers = np.split(f(np.concatenate(asked)), np.cumsum([len(x) for x in asked])[:-1])
        halved = []
        for (first, end), x, y, answer in zip(pending, nodes, tests, answers, strict=True):
            if len(x) == end - first + 1:
                values[first : end + 1] = answer[: len(x)]  # as many as nodes may have been tested too
                continue
            at_nodes, at_tests = answer[: len(x)], answer[len(x) :]
            if np.all(np.abs(interpolated(x, at_nodes, y) - at_tests) <= tolerance(y)):
                values[first : end + 1] = interpolated(x, at_nodes, np.arange(first, end + 1))
            else:
                middle = (first + end) // 2
                halved += [(first, middle), (middle + 1, end)]
        pending = halved
    return values[1:]


def interpolated(nodes: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the polynomial through the values at the nodes, by the barycentric formula."""
    scaled = 4.0 * nodes / (nodes[-1] - nodes[0])  # on an interval of length 4 the products neither grow nor vanish
    differences = scaled[:, None] - scaled
    np.fill_diagonal(differences, 1.0)
    weights = 1.0 / differences.prod(axis=1)
    above, below = np.zeros((2, len(x)))
    result = np.empty(len(x))
    with np.errstate(divide="ignore", invalid="ignore"):
        for node, weight, value in zip(nodes, weights, values, strict=True):
            share = weight / (x - node)
            above += share * (value - values[0])
            below += share
        result[:] = values[0] + above / below
    hit = np.searchsorted(nodes, x).clip(max=len(nodes) - 1)
    return np.where(nodes[hit] == x, values[hit], result)


def alpha_nodes(shape: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return weights and places of a discrete distribution in place of the Gamma one, for partitions drawn from it.

    The step in log alpha is a third of the spread that is left of it where there are a thousand clusters. All mass
    below 1e-14 of what matters is at the lowest place, where no second cluster opens.
    """
    step = min(0.02, 0.3 / np.sqrt(shape))
    mode = np.log(shape / rate)
    right = 10.0 * step
    while shape * (right - np.expm1(right)) > -60.0:
        right *= 1.5
    left = max(-60.0 / shape - 2.0, min(-40.0, np.log(1e-16 * rate / shape)))
    if shape > 1.0:  # Gaussian on this side too: where shape u^2 / 2 is 60, and a little more
        left = max(left, -12.0 / np.sqrt(shape) - 60.0 / shape)
    u = np.arange(left, right + step, step)
    weights = np.exp(shape * (u - np.expm1(u)))
    weights[0] /= -np.expm1(-shape * step)
    return weights / weights.sum(), np.exp(mode + u)


def log_pmf(distribution: Any, k: np.ndarray) -> np.ndarray:
    """Return the logs of the probabilities of a scipy distribution."""
    with np.errstate(all="ignore"):
        return np.asarray(distribution.logpmf(k), dtype=np.float64)


class ComponentDistributions:
    """The distribution of the number of components k of a mixture of finite mixtures, given K clusters of n points.

    It is proportional to ``p(k) k! / (k - K)! Gamma(gamma k) / Gamma(gamma k + n)`` for k >= K.
    """

    def __init__(self, distribution: Any, gamma: float, n_points: int) -> None:
        from scipy.special import gammaln

        last = float(distribution.support()[1])
        length = int(min(last, max(64, 2 * n_points)))
        while True:
            k = np.arange(1, length + 1)
            self.log_p = log_pmf(distribution, k)
            # Good to a few digits where n is large: enough to see which terms count.
            self.log_rough = gammaln(k + 1.0) + gammaln(gamma * k) - gammaln(gamma * k + n_points) + self.log_p
            self.log_factorial = gammaln(k + 0.0)  # of k - 1
            if length == last or self._is_complete(distribution, gamma, n_points):
                break
            if length >= LONGEST:
                raise ValueError(
                    f"n_components must be a distribution of which the numbers up to {LONGEST} are enough for "
                    f"{n_points} "
                    f"points, got one with heavier tails."
                )
            length = int(min(2 * length, last, LONGEST))
        self.log_p = self.log_p[: np.flatnonzero(self.log_p > -np.inf)[-1] + 1]
        self.length = len(self.log_p)
        self.last = self.length if length == last else np.inf  # where the distribution ends
        self.k = np.arange(1.0, self.length + 1.0)
        self.log_k = np.log(self.k)
        self.log_ratio = log_gamma_rise(gamma * self.k, gamma) - log_gamma_rise(gamma * self.k + n_points, gamma)

    def _is_complete(self, distribution: Any, gamma: float, n_points: int) -> bool:
        """Return whether what lies beyond the table is negligible given n clusters, and so given fewer."""
        length = len(self.log_p)
        if length < n_points:
            return False
        terms = self.log_rough[n_points - 1 :] - self.log_factorial[: length - n_points + 1]
        top = terms.max()
        # Given n clusters the factor beside p(k) grows to gamma**-n: the rest is at most that times P(more).
        with np.errstate(divide="ignore"):
            log_more = float(np.log(distribution.sf(length)))
        if max(log_more, -700.0) - n_points * np.log(gamma) < top - DROP:
            return True
        # P(more) may be too small for a number: then see whether terms that fall off have fallen off.
        fallen = terms[-max(1, length // 10) :].max() < top - DROP
        return bool(log_more == -np.inf and np.isinf(distribution.support()[1]) and np.isfinite(top) and fallen)

    def given(self, clusters: int) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers of components and logs of their weights, given a number of clusters of at least 1.

        All numbers are there that count for the sum of the weights, or of the weights times ``k - clusters``.
        """
        rough = self.log_rough[clusters - 1 : self.length] - self.log_factorial[: self.length - clusters + 1]
        kept = rough > rough.max() - DROP - 15.0
        empty = rough[1:] + self.log_k[: len(rough) - 1]
        kept[1:] |= empty > empty.max(initial=-np.inf) - DROP - 15.0
        first, last = np.flatnonzero(kept)[[0, -1]]
        start, stop = clusters - 1 + first, clusters + last
        # The same from ratios of successive terms, which are small numbers and lose no digits.
        k = self.k[start:stop]
        log_term = self.log_p[start:stop].copy()
        log_term[1:] += np.cumsum(self.log_ratio[start : stop - 1] - np.log1p(-clusters / k[1:]))
        return k, log_term

    def log_mean_empty(self, n_points: int) -> np.ndarray:
        """Return log E[k - K given K clusters] for K = 0, 1, ..., to `n_points` or the last k, with -inf."""
        tabled = int(min(n_points, self.last - 1))
        first = [np.log(np.sum(np.exp(self.log_p) * self.k))]
        logs = tabulated(self._log_mean_empty, tabled, self._tolerance) if tabled else np.zeros(0)
        return np.concatenate([first, logs, [-np.inf] if self.last <= n_points else []])

    def _log_mean_empty(self, clusters: np.ndarray) -> np.ndarray:
        result = np.empty(len(clusters))
        for i, number in enumerate(clusters):
            k, log_term = self.given(int(number))
            # The two sums may have nothing in common: all weight can be on k = K, which has no empty component.
            empty = log_term[k > number] + np.log(k[k > number] - number)
            top, top_empty = log_term.max(), empty.max()
            result[i] = top_empty - top + np.log(np.exp(empty - top_empty).sum() / np.exp(log_term - top).sum())
        return result

    def _tolerance(self, clusters: np.ndarray) -> np.ndarray:
        """Return how exact the logs of p are: the table cannot be more."""
        log_p = self.log_p[clusters - 1]
        return 1e-12 + 1e-14 * np.where(np.isfinite(log_p), np.abs(log_p), 0.0)


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
