"""The yardstick for block models: `plain_network.c`, from plain arrays.

Run it to check its distribution against the joint.
"""

from __future__ import annotations

import ctypes
import itertools
import time

import numpy as np
from scipy.special import gammaln

from copartition.partition import canonical
from plain_models import address, program_for


class PlainNetwork:
    """A graph and a model, as the C program takes them.

    Parameters
    ----------
    edges
        Two vertices a row; no loops, and no edge twice.
    n_vertices
        How many vertices there are.
    rate_mean
        The prior mean of the number of edges between two blocks.
    alpha
        The concentration of the Dirichlet process.
    """

    def __init__(self, edges: np.ndarray, n_vertices: int, rate_mean: float, alpha: float = 1.0) -> None:
        ends = np.concatenate([edges, edges[:, ::-1]])
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        self.n_vertices = n_vertices
        self.starts = np.searchsorted(ends[:, 0], np.arange(n_vertices + 1)).astype(np.int64)
        self.neighbours = ends[:, 1].astype(np.int32)
        self.log_factorials = gammaln(np.arange(2 * len(edges) + n_vertices + 2) + 1.0)
        self.log_squares = 2 * np.log(np.maximum(np.arange(n_vertices + 1), 1))
        self.log_alpha, self.log_rate = float(np.log(alpha)), float(np.log1p(rate_mean))

    def run(
        self, labels: np.ndarray, random: np.ndarray, sweeps: int, capacity: int | None = None, trace: bool = False
    ) -> tuple[float, np.ndarray, int, np.ndarray | None]:
        """Run sweeps from these labels (0, 1, ...), which stay as they are, with room for `capacity` blocks.

        Return the seconds, less those of a call that makes no sweep (counting edges between blocks), the labels at the
        end, how many candidates were looked at, and the trace if asked for: the log weights in the last sweep.
        """
        capacity = capacity or min(self.n_vertices + 1, 2 * int(labels.max()) + 64)
        labels, random = labels.astype(np.int32), random.copy()
        candidates = np.zeros(1, dtype=np.int64)
        weights = np.full((self.n_vertices, capacity), np.nan) if trace else None
        empty = self._seconds(0, capacity, labels, random, candidates, weights)
        seconds = self._seconds(sweeps, capacity, labels, random, candidates, weights) - empty
        return seconds, labels.astype(np.int64), int(candidates[0]), weights

    def _seconds(self, sweeps: int, capacity: int, *arrays: np.ndarray | None) -> float:
        program = program_for("plain_network")
        graph = (self.starts, self.neighbours, self.log_factorials, self.log_squares)
        begin = time.perf_counter()
        count = program.sweeps(
            ctypes.c_int64(sweeps),
            ctypes.c_int64(self.n_vertices),
            *[address(array) for array in graph],
            ctypes.c_double(self.log_alpha),
            ctypes.c_double(self.log_rate),
            ctypes.c_int64(capacity),
            *[address(array) for array in arrays],
        )
        if count < 0:
            raise RuntimeError(f"capacity = {capacity} is too small: there are more blocks.")
        return time.perf_counter() - begin


def log_joint(edges: np.ndarray, labels: np.ndarray, rate_mean: float, alpha: float) -> float:
    """Return the log density of graph and partition, up to a constant, by an obvious formula."""
    labels = np.unique(labels, return_inverse=True)[1]
    sizes = np.bincount(labels)
    counts = np.zeros((len(sizes), len(sizes)))
    for first, second in np.sort(labels[edges], axis=1):
        counts[first, second] += 1
    degrees = counts.sum(0) + counts.sum(1)
    inside = np.diag(counts)
    pairs = len(sizes) * (len(sizes) + 1) / 2
    prior = len(sizes) * np.log(alpha) + gammaln(sizes).sum()
    rates = gammaln(counts + 1).sum() + inside.sum() * np.log(2) - pairs * np.log1p(rate_mean)
    return prior + rates + (gammaln(sizes) - gammaln(degrees + sizes)).sum()


def check_weights(n_vertices: int, density: float, rate_mean: float, alpha: float, seed: int) -> tuple[float, int]:
    """Return the largest error of log weights over 20 single sweeps, and how often a block appeared."""
    generator = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n_vertices), 2)))
    edges = pairs[generator.random(len(pairs)) < density]
    network = PlainNetwork(edges, n_vertices, rate_mean, alpha)
    labels = generator.integers(3, size=n_vertices)
    worst, births = 0.0, 0
    for _ in range(20):
        random = generator.integers(1, 2**60, size=4).astype(np.uint64)
        labels = canonical(labels)
        after, _, weights = network.run(labels, random, 1, n_vertices + 2, trace=True)[1:]
        order = list(dict.fromkeys(labels.tolist()))
        now = labels.copy()
        for vertex in range(n_vertices):
            if np.count_nonzero(now == now[vertex]) == 1:
                order.remove(now[vertex])
            direct = []
            for choice in [*order, n_vertices + 2]:
                now[vertex] = choice
                direct.append(log_joint(edges, now, rate_mean, alpha))
            given = weights[vertex, : len(direct)]
            worst = max(worst, float(np.abs(given - given.max() - np.array(direct) + max(direct)).max()))
            now[vertex] = after[vertex]
            if after[vertex] not in order:
                order.append(after[vertex])
                births += 1
        labels = after
    return worst, births


def check_long_run(rate_mean: float, alpha: float, sweeps: int) -> float:
    """Return the total variation distance of a long run from its target distribution, on a graph of five vertices."""
    edges = np.array([[0, 1], [0, 2], [1, 2], [2, 3], [3, 4]])
    labellings = sorted({tuple(canonical(labels).tolist()) for labels in itertools.product(range(5), repeat=5)})
    distribution = np.exp([log_joint(edges, np.array(labels), rate_mean, alpha) for labels in labellings])
    places = {labels: place for place, labels in enumerate(labellings)}
    network = PlainNetwork(edges, 5, rate_mean, alpha)
    labels, seen = np.zeros(5, dtype=np.int64), np.zeros(len(places))
    generator = np.random.default_rng(1)
    for _ in range(sweeps):
        random = generator.integers(1, 2**60, size=4).astype(np.uint64)
        labels = canonical(network.run(labels, random, 1, 7)[1])
        seen[places[tuple(labels.tolist())]] += 1
    return float(np.abs(seen / seen.sum() - distribution / distribution.sum()).sum() / 2)


def main() -> None:
    """Check the program against the joint."""
    for case in (
        (12, 0.3, 1.0, 1.0),
        (20, 0.2, 0.3, 5.0),
        (30, 0.2, 4.0, 0.5),
        (15, 0.05, 0.1, 20.0),
        (25, 0.5, 20.0, 3.0),
    ):
        print(f"{case}: largest error {{:.1e}}, {{}} blocks appeared".format(*check_weights(*case, seed=1)))
    for rate_mean, alpha in ((1.0, 1.0), (0.2, 5.0), (5.0, 0.5)):
        print(f"long run, {rate_mean}, {alpha}: distance {check_long_run(rate_mean, alpha, 100_000):.4f}")


if __name__ == "__main__":
    main()
