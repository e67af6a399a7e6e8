"""Block models of networks: estimates against enumeration, and the same distribution as graph-tool's.

A part of ``evidence/run.py``; see there.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import graph_tool_asked
import networkx as nx
import numpy as np
from scipy.special import gammaln

import copartition as cp
import naive
import naive_networks

MULTIGRAPH = {(0, 1): 2, (0, 2): 1, (0, 0): 2, (1, 2): 1, (2, 3): 1, (3, 4): 3, (3, 5): 1, (4, 5): 1, (5, 5): 1}
SIMPLE = {(0, 1): 1, (0, 2): 1, (1, 2): 1, (2, 3): 1, (3, 4): 1, (3, 5): 1, (4, 5): 1, (0, 5): 1}
PARTITIONS = naive.all_partitions(6)
REPLICATES = 20_000
LAGS = (1, 5)
LIMIT = 4.0
RARE = 0.002  # probabilities below: too few events for a normal distribution


def listed(edges: dict[tuple[int, int], int]) -> np.ndarray:
    """Return edges as a list, parallel ones as often as there are."""
    return np.array([pair for pair, count in edges.items() for _ in range(count)])


# --- estimates against enumeration -----------------------------------------------------------------------------------


class Case(NamedTuple):
    """A block model of six vertices: the package's, and the slow one, which may have its numbers changed a little."""

    edges: dict[tuple[int, int], int]
    kind: str
    rate: float | None
    alpha: float
    known: list[int] | None = None
    kinds: list[int] | None = None

    def target(self) -> cp.BlockModel:
        """Return the package's model."""
        distribution: dict[str, Any] = (
            {"edges": "bernoulli", "beta": (0.7, 1.4)}
            if self.rate is None
            else {"degree_corrected": self.kind == "corrected", "rate": self.rate}
        )
        prior = cp.DirichletProcess(self.alpha)
        return cp.BlockModel(listed(self.edges), prior=prior, known=self.known, kinds=self.kinds, **distribution)

    def allows(self, state: tuple[int, ...]) -> bool:
        """Tell whether a partition agrees with what is known."""
        pairs = [(a, b) for b in range(6) for a in range(b)]
        for a, b in pairs:
            together = state[a] == state[b]
            if self.kinds is not None and together and self.kinds[a] != self.kinds[b]:
                return False
            both_known = self.known is not None and min(self.known[a], self.known[b]) >= 0
            if both_known and together != (self.known[a] == self.known[b]):
                return False
        return True

    def exact(self, error: float = 0.0) -> np.ndarray:
        """Return the exact expectations; an error makes rate, or beta, larger by such a share."""
        rate = None if self.rate is None else self.rate * (1 + error)
        beta = (0.7 * (1 + error), 1.4)
        network = naive_networks.Network(6, self.edges, self.kind, rate, beta, alpha=self.alpha)
        states = [state for state in PARTITIONS if self.allows(state)]
        logs = np.array([network.log_density(state) for state in states])
        weights = np.exp(logs - logs.max())
        return weights / weights.sum() @ np.array([values_of(network, state) for state in states])


TOGETHER = [(0, 1), (0, 3), (2, 3), (2, 5), (4, 5)]
GROUPS = [0, 0, 0, 1, 1, 1]
CASES = {
    "Poisson, degree-corrected, multigraph with self-loops": Case(MULTIGRAPH, "corrected", 1.2, 1.0),
    "Poisson, not corrected, multigraph with self-loops": Case(MULTIGRAPH, "plain", 1.2, 1.0),
    "Bernoulli, Beta(0.7, 1.4), simple graph": Case(SIMPLE, "bernoulli", None, 1.3),
    "degree-corrected, three vertices known": Case(MULTIGRAPH, "corrected", 1.2, 1.0, known=[0, -1, 0, 1, -1, -1]),
    "not corrected, two kinds": Case(MULTIGRAPH, "plain", 1.2, 1.0, kinds=[0, 0, 0, 0, 1, 1]),
    "Bernoulli, two kinds, two vertices known": Case(
        SIMPLE, "bernoulli", None, 1.3, known=[-1, 0, -1, 1, -1, -1], kinds=[0, 0, 1, 0, 1, 1]
    ),
}
STEPS: dict[str, dict[str, Any]] = {
    "nothing chosen": {},
    "path, from everywhere": {"step": cp.Step(cp.couplings.Path(reach=6), 2, cp.JointUpdates(1, least=2))},
    "matched": {"coupling": "matched", "split_merge": 1},
    "transport": {"coupling": "transport"},
    "maximal": {"step": cp.Step("maximal", 1, cp.JointUpdates(1, least=2))},
}


def edge_pairs(kind: str) -> list[tuple[int, int]]:
    """Return pairs whose expected edges are compared, with one vertex alone where self-loops are possible."""
    return [(0, 1), (1, 4), (3, 4)] + ([] if kind == "bernoulli" else [(0, 0)])


def functionals(kind: str) -> list[cp.kernels.Functional]:
    """Return what is estimated."""
    partition = [cp.n_clusters(most=5), cp.co_clustering(pairs=TOGETHER)]
    return [*partition, cp.functionals.edge_probability(edge_pairs(kind)), cp.functionals.block_matrix(GROUPS)]


def values_of(network: naive_networks.Network, state: tuple[int, ...]) -> list[float]:
    """Return the values of these functionals, the slow way."""
    count = max(state) + 1
    edges = [naive_networks.expected_edges(network, state, u, v) for u, v in edge_pairs(network.kind)]
    upper = naive_networks.block_matrix(network, state, GROUPS)
    matrix = upper + upper.T - np.diag(np.diag(upper))
    counts = [float(count == k) for k in range(1, 7)]
    return [*counts, *naive.together(state, TOGETHER), *edges, *matrix.ravel()]


def deviations(e: cp.Estimate, exact: np.ndarray) -> np.ndarray:
    """Return deviations in standard errors; certain events must be so, and are left out, as are rare ones."""
    certain = np.isin(exact.round(12), (0.0, 1.0))
    if not np.allclose(e.mean[certain], exact[certain], rtol=0.0, atol=1e-9):
        raise AssertionError("what is certain is not estimated so")
    counted = ~certain & (exact >= RARE)
    return (e.mean[counted] - exact[counted]) / e.stderr[counted]


def against_enumeration() -> list[str]:
    """Six vertices, all 203 partitions enumerated: 20,000 replicates of every model, coupling and lag (1 and 5).

    Compared are the probabilities of 1 to 6 blocks and of five pairs of vertices being together, expected edges between
    vertices (self-loops included where there may be any) and between two groups of three. Cells: the largest of
    |estimate - exact| / standard error over both lags and all components. *Nothing chosen* is the step that a run has
    by itself: the path coupling, split-merge moves, joint updates. *Path, from everywhere* couples whole sweeps at
    any distance, with two moves and an update of a block, *maximal* has one of each, *matched* one move; *transport*
    has neither. Every run has a seed of its own. What is certain, such as known vertices being together, is so in all
    estimates and not counted; nor are numbers of blocks whose probability is below 0.002, too rare for a normal
    distribution. *A wrong distribution*: the largest deviation of the same estimates from an enumeration with a rate
    (or, of the Beta distribution, an a) that is 5 % too large, to show what an error of that size looks like.
    """
    head = ["model", *STEPS, "above 4", "a wrong distribution"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    scores: list[float] = []
    for c, (name, case) in enumerate(CASES.items()):
        target, exact, wrong = case.target(), case.exact(), case.exact(error=0.05)
        own, cells, of_wrong = [], [], 0.0
        for s, step in enumerate(STEPS.values()):
            here: list[float] = []
            for lag in LAGS:
                e = cp.estimate(
                    target,
                    functionals(case.kind),
                    replicates=REPLICATES,
                    burn_in=2,
                    min_sweeps=10,
                    lag=lag,
                    seed=1000 * c + 10 * s + lag,
                    executor=1,
                    **step,
                )
                here += np.abs(deviations(e, exact)).tolist()
                of_wrong = max(of_wrong, np.abs(deviations(e, wrong)).max())
            cells.append(f"{max(here):.2f}")
            own += here
        above = sum(score > LIMIT for score in own)
        lines.append(f"| {name} | {' | '.join(cells)} | {above} | {of_wrong:.1f} |")
        print(lines[-1], flush=True)
        scores += own
    count, found = len(scores), np.array(scores)
    shares = ", ".join(
        f"{np.sum(found > limit)} above {limit} (expected {count * math.erfc(limit / math.sqrt(2)):.2g})"
        for limit in (2, 3, 4)
    )
    return [
        *lines,
        "",
        f"Of {count:,} comparisons the largest deviation is {found.max():.2f} standard errors; {shares}. Those of one "
        "run are not independent of each other.",
    ]


# --- the distribution of graph-tool ----------------------------------------------------------------------------------

ENTROPY = {"degree_dl_kind": "uniform"}
RATE = 2.5  # any: the prior takes it out again


class MatchedPrior:
    """The prior with which a Poisson block model has the distribution of graph-tool's, exp(-entropy).

    A partition of N vertices into B blocks of sizes n_r has there 1 / (N binomial(N - 1, B - 1)) times the product of
    n_r! / N!, and all ways of distributing E edges over the B (B + 1) / 2 pairs of blocks are equally likely. The
    package's numbers of edges are geometric instead, each with a factor 1 / (1 + rate): taken out here.
    """

    def __init__(self, n_edges: int, rate: float) -> None:
        self.n_edges, self.rate = n_edges, rate

    def log_size(self, n_points: int) -> np.ndarray:
        """Return the log weights of sizes, whose products are the factorials of sizes."""
        return np.log(np.arange(n_points + 1.0) + 1.0)

    def log_new(self, n_points: int) -> np.ndarray:
        """Return the log weight of one more block: by how much the log weight of so many blocks grows."""
        blocks = np.arange(1.0, n_points + 1.0)
        pairs = blocks * (blocks + 1.0) / 2.0
        log_ways = gammaln(pairs + self.n_edges) - gammaln(pairs) - gammaln(self.n_edges + 1.0)
        log_choices = gammaln(n_points) - gammaln(blocks) - gammaln(n_points - blocks + 1.0)
        log_weight = -log_choices - log_ways + pairs * np.log1p(self.rate)
        return np.concatenate([[0.0], np.diff(log_weight), [-np.inf]])


def matched(edges: np.ndarray, corrected: bool, n_vertices: int) -> cp.BlockModel:
    """Return the block model that has the distribution of graph-tool's."""
    prior = MatchedPrior(len(edges), RATE)
    return cp.BlockModel(edges, n_vertices=n_vertices, degree_corrected=corrected, rate=RATE, prior=prior)


def log_ways_of_counts(labels: tuple[int, ...]) -> float:
    """Return the log of the number of ways in which numbers of edges between blocks can be, at most one for a pair."""
    sizes = list(Counter(labels).values())
    inside = [size * (size - 1) // 2 for size in sizes]
    across = [a * b for r, a in enumerate(sizes) for b in sizes[:r]]
    return float(np.sum(np.log(np.array(inside + across) + 1.0)))


def same_density() -> list[str]:
    """Return the rows of the table of densities."""
    rows = ["| graph | model | graph-tool's entropy | largest difference |", "| --- | --- | --- | --- |"]
    poisson = [
        (name, edges, corrected)
        for name, edges in (("multigraph with self-loops", MULTIGRAPH), ("simple graph", SIMPLE))
        for corrected in (True, False)
    ]
    for name, edges, corrected in poisson:
        target = matched(listed(edges), corrected, 6)
        ours = np.array([cp.kernels.log_density(target, state) for state in PARTITIONS])
        theirs = entropies(edges, corrected, ENTROPY)
        words = "degree-corrected" if corrected else "not corrected"
        rows.append(f"| {name} | Poisson, {words} | multigraph | {spread(ours + theirs):.1e} |")
    # Beta(1, 1): numbers of edges between blocks are uniform, then all graphs with these numbers.
    target = cp.BlockModel(listed(SIMPLE), edges="bernoulli", prior=cp.DirichletProcess(1.0))
    ours = np.array([cp.kernels.log_density(target, s) - math.log(naive.process(s, 1.0)) for s in PARTITIONS])
    theirs = entropies(SIMPLE, False, {"dense": True, "multigraph": False, "dl": False})
    uniform = np.array([log_ways_of_counts(state) for state in PARTITIONS])
    rows.append(f"| simple graph | Bernoulli, Beta(1, 1) | dense | {spread(ours + theirs + uniform):.1e} |")
    print("\n".join(rows), flush=True)
    return rows


def entropies(edges: dict[tuple[int, int], int], corrected: bool, arguments: dict[str, Any]) -> np.ndarray:
    """Return graph-tool's entropies of all partitions of six vertices."""
    question = {"edges": listed(edges).tolist(), "n_vertices": 6, "deg_corr": corrected, "arguments": arguments}
    return np.array(graph_tool_asked.ask("entropies", partitions=PARTITIONS, **question))


def spread(values: np.ndarray) -> float:
    """Return how far numbers that should all be the same are apart."""
    return float(values.max() - values.min())


CHAINS = 16


def chains_of(edges: np.ndarray, n_vertices: int, corrected: bool, *how: Any) -> np.ndarray:
    """Return what was seen of graph-tool's chains (chains, looks, columns), the first tenth left out.

    Columns are the number of blocks, and pairs being together. The arguments of `how` are the kind of sweep, sweeps
    from look to look, looks, and pairs.
    """
    model = {"edges": edges.tolist(), "n_vertices": n_vertices, "deg_corr": corrected, "arguments": ENTROPY}
    named = dict(zip(("sweep", "niter", "looks", "pairs"), how, strict=True))
    seen = np.array(graph_tool_asked.ask("chains", chains=CHAINS, seed=5, **model, **named), dtype=float)
    return seen[:, seen.shape[1] // 10 :]


def means_of(seen: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard errors, from those of independent chains.

    Blocks, the distribution of their number, the rest.
    """
    counts = seen[:, :, :1]
    distribution = np.concatenate([counts == np.arange(1.0, most + 1.0), counts > most], axis=2)
    means = np.concatenate([counts, distribution, seen[:, :, 1:]], axis=2).mean(axis=1)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / math.sqrt(len(means))


def weighed_once() -> list[str]:
    """Return the rows of the table that tells what graph-tool's chains weigh a partition with."""
    rows = [f"| number of blocks | {' | '.join(map(str, range(1, 7)))} |", "| --- " * 7 + "|"]
    logs, counts = -entropies(MULTIGRAPH, True, ENTROPY), np.array([max(state) + 1 for state in PARTITIONS])
    for words, log_weights in (("exp(-entropy)", logs), ("times B!", logs + gammaln(counts + 1.0))):
        distribution = np.exp(log_weights - log_weights.max())
        distribution = np.bincount(counts, distribution / distribution.sum(), 7)[1:]
        rows.append(f"| {words} | {' | '.join(f'{p:.4f}' for p in distribution)} |")
    for sweep in ("mcmc_sweep", "multiflip_mcmc_sweep"):
        mean, stderr = means_of(chains_of(listed(MULTIGRAPH), 6, True, sweep, 5, 1_000, []), 5)
        cells = [f"{m:.4f} +- {s:.4f}" for m, s in zip(mean[1:], stderr[1:], strict=True)]
        rows.append(f"| {sweep} | {' | '.join(cells)} |")
    print("\n".join(rows), flush=True)
    return rows


KARATE_PAIRS = [(0, 1), (0, 33), (32, 33), (2, 8), (9, 33), (16, 5), (0, 11), (4, 10)]
MOST = 4


def karate_club() -> list[str]:
    """Return the rows of the table of the karate club."""
    rows = [
        "| model | what | the package | graph-tool's chains | standard errors apart |",
        "| --- | --- | --- | --- | --- |",
    ]
    edges = np.array(nx.karate_club_graph().edges())
    largest: list[float] = []
    for corrected in (True, False):
        e = cp.estimate(
            matched(edges, corrected, 34),
            [cp.n_clusters(), cp.n_clusters(most=MOST), cp.co_clustering(pairs=KARATE_PAIRS)],
            replicates=2_000,
            burn_in=50,
            min_sweeps=400,
            lag=50,
            seed=3,
            executor=1,
        )
        names = [*e.components[: MOST + 2], *[f"P({u} and {v} together)" for u, v in KARATE_PAIRS]]
        for sweep, niter, looks in (("multiflip_mcmc_sweep", 10, 1_000), ("mcmc_sweep", 20, 4_000)):
            seen = chains_of(edges, 34, corrected, sweep, niter, looks, KARATE_PAIRS)
            mean, stderr = means_of(seen, MOST)
            common = e.mean >= RARE
            apart = np.full(len(mean), np.nan)
            apart[common] = (e.mean - mean)[common] / np.hypot(e.stderr, stderr)[common]
            largest += np.abs(apart[common]).tolist()
            words = f"{'degree-corrected' if corrected else 'not corrected'}, {sweep}"
            for i, name in enumerate(names):
                ours, theirs = (f"{m:.4f} +- {s:.4f}" for m, s in ((e.mean[i], e.stderr[i]), (mean[i], stderr[i])))
                away = "" if np.isnan(apart[i]) else f"{apart[i]:+.2f}"
                rows.append(f"| {words} | {name} | {ours} | {theirs} | {away} |")
                print(rows[-1], flush=True)
    said = f"Of {len(largest)} comparisons, many of which depend on each other, the largest is {max(largest):.2f}."
    return [*rows, "", said]


def distribution_of_graph_tool() -> list[str]:
    """The same distribution as graph-tool 2.45's, on all partitions of six vertices and on the karate club.

    Of the package's log density and graph-tool's entropy the sum must be the same for all 203 partitions: *largest
    difference* is between the largest and the smallest. Poisson models have a prior of their own here that is
    graph-tool's (uniform over the number of blocks, then over their sizes, then over partitions; all numbers of edges
    between blocks equally likely), graph-tool has ``degree_dl_kind="uniform"``. Its dense entropy has no prior; of
    Beta(1, 1) the one on numbers of edges is uniform for each pair of blocks, which is added by hand.

    The second table, the multigraph again, shows that chains of graph-tool weigh a partition with exp(-entropy) once,
    not once for each of the B! ways of naming its blocks; so does the prior here. Third table, the karate club:
    unbiased estimates from 2,000 replicates against 16 independent chains of graph-tool, each looked at 1,000 times,
    every 10 sweeps of multiflip_mcmc_sweep, and 4,000 times, every 20 sweeps of mcmc_sweep, the first tenth thrown
    away; standard errors from chain to chain, what is rarer than 0.002 not compared. (A version before this one took
    batches of a single chain of each kind; these move slowly, batches were too short, and the largest was 3.40.)
    """
    if graph_tool_asked.GraphTool.python() is None:
        return [graph_tool_asked.ABSENT]
    return [*same_density(), "", *weighed_once(), "", *karate_club()]


PARTS = {
    "Block models: estimates against enumeration": against_enumeration,
    "Block models: the joint distribution of graph-tool": distribution_of_graph_tool,
}
