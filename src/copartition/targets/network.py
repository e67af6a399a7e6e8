"""The posterior of a block model: which vertices of a network belong together, parameters integrated out.

What it expects of edges: given the blocks, the expected number w_rs of edges between blocks r and s (inside one, if
they are the same) has a Gamma distribution with mean ``(e_rs + 1) rate / (1 + rate)``. The shares theta of the vertices
of a block are independent of it. Without degree correction they are 1 / n_r. With it they have a Dirichlet distribution
with parameters ``k_v + 1``, so that with ``K_r = D_r + n_r``, for vertices u and v of different blocks and of the same
one,

    E theta_u theta_v = (k_u + 1) (k_v + 1) / (K_r K_s)     and     (k_u + 1) (k_v + 1) / (K_r (K_r + 1)),

and sums of shares behave like single ones. Two vertices of one block have ``2 theta_u theta_v w_rr`` expected edges, a
vertex has ``theta_u^2 w_rr`` expected self-loops. The probability of a Bernoulli edge has mean
``(a + e_rs) / (a + b + pairs)``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from copartition.core.clusters import set_all
from copartition.core.compiling import Kernel, inner, made_anew
from copartition.targets.base import Target
from copartition.targets.edges import (
    begin_block,
    bernoulli_likelihood,
    bernoulli_merge,
    bernoulli_odds,
    bernoulli_predictive,
    enter_block,
    leave_block,
    likelihood_of,
    merge_of,
    odds_of,
    of_blocks,
    pairs_inside,
    predictive_of,
    table_of,
)
from copartition.targets.graphs import Graph, graph_of, names_of, nearest_vertices, neighbours_of, of_vertices
from copartition.targets.hooks import Keeping
from copartition.targets.priors import DirichletProcess, Prior, check_prior, prior_n_clusters
from copartition.validation import positive_number, shorten

PLAIN, CORRECTED, BERNOULLI = range(3)


@inner
def parameter_of(model, n, kind):
    """Return what a vertex counts for among those of its block: its parameter of the Dirichlet distribution, or 1."""
    return int(model.points[n, 0]) + 1 if kind == CORRECTED else 1


@inner
def between_blocks(model, chain, r, s, kind, factor):
    """Return the expected edges between two vertices of different blocks that count for 1; for one block, of two.

    `factor` is rate / (1 + rate).
    """
    c, of_prior = chain, model.parameters
    edges = c.between[c.slots[r], c.slots[s]]
    if kind == BERNOULLI:
        pairs = pairs_inside(c.sizes[r]) if r == s else c.sizes[r] * c.sizes[s]
        return (of_prior[0] + edges) / (of_prior[0] + of_prior[1] + pairs)
    mean = (edges + 1.0) * factor
    own_r, own_s = float(c.sizes[r]), float(c.sizes[s])
    if kind == CORRECTED:
        own_r += c.sums[r, 0]
        own_s += c.sums[s, 0] + (1.0 if r == s else 0.0)
    return (2.0 * mean if r == s else mean) / (own_r * own_s)


@inner
def inside_group(own, each, kind):
    """Return the expected edges inside a group of vertices of one block that count for `own` in all.

    `each` is what two vertices that count for 1 expect.
    """
    if kind == BERNOULLI:
        return 0.5 * own * (own - 1.0) * each
    return 0.5 * own * (own + 1.0 if kind == CORRECTED else own) * each


@made_anew
def edges_of(kind: int) -> Kernel:
    """Return the function that computes expected edges between given pairs of vertices."""

    @of_blocks
    def expected_edges(model, chain, hooks, parameters, out):
        """Expected edges between pairs: `parameters` are rate / (1 + rate), all first vertices, all second ones."""
        count = len(out)
        for pair in range(count):
            u, v = int(parameters[1 + pair]), int(parameters[1 + count + pair])
            r, s = chain.labels[u], chain.labels[v]
            each = between_blocks(model, chain, r, s, kind, parameters[0])
            if u == v:
                out[pair] = inside_group(parameter_of(model, u, kind), each, kind)
            else:
                out[pair] = each * parameter_of(model, u, kind) * parameter_of(model, v, kind)

    return expected_edges


@made_anew
def matrix_of(kind: int) -> Kernel:
    """Return the function that computes expected edges between given groups of vertices."""

    @of_blocks
    def expected_matrix(model, chain, hooks, parameters, out):
        """Expected edges between groups: `parameters` are rate / (1 + rate), then the group of each vertex.

        The distribution of the point at hand is not needed between sweeps: its room holds what a vertex of each block
        expects.
        """
        c = chain
        labels, tally, expects, factor = c.labels, c.tally[0], c.weights, parameters[0]
        groups, n_blocks = parameters[1:], c.n_clusters[0]
        n_groups = 0
        for n in range(len(groups)):
            n_groups = max(n_groups, int(groups[n]) + 1)
        set_all(out, len(out), 0.0)
        for group in range(n_groups):
            for n in range(len(labels)):
                if groups[n] == group:
                    tally[labels[n]] += parameter_of(model, n, kind)
            inside = 0.0
            for s in range(n_blocks):
                expects[s] = 0.0
                for r in range(n_blocks):
                    if tally[r] > 0:
                        each = between_blocks(model, chain, r, s, kind, factor)
                        expects[s] += tally[r] * each
                        if r == s:
                            inside += inside_group(float(tally[r]), each, kind)
                        elif r < s:
                            inside += tally[r] * tally[s] * each
            for n in range(len(labels)):
                if groups[n] != group:
                    out[group * n_groups + int(groups[n])] += expects[labels[n]] * parameter_of(model, n, kind)
            out[group * n_groups + group] = inside
            for k in range(n_blocks):
                tally[k] = 0

    return expected_matrix


class BlockModel(Target):
    """The posterior distribution of the communities of a network.

    Vertices of one block have the same distribution of edges to all other blocks. The rates of edges between blocks,
    and how active each vertex is, are integrated out, so that what is left is a distribution on partitions.

    Parameters
    ----------
    graph : networkx.Graph, SciPy sparse matrix or array (n_edges, 2)
        An undirected graph: as a graph (vertices are numbered in the order of ``graph.nodes``, and keep their names),
        as a symmetric adjacency matrix or a triangle of it, or as a list of edges between vertices 0, 1, ... Parallel
        edges and self-loops are allowed, but where `edges` is ``"bernoulli"``.
    n_vertices : int, optional
        With a list of edges: the number of vertices, if some beyond the last one named have no edge.
    degree_corrected : bool, optional
        Whether vertices of a block may have any degrees (Karrer and Newman 2011); if not, degrees are part of what a
        block is. Left out: True for Poisson edges; Bernoulli edges know no correction.
    rate : float, optional
        Prior mean of the number of edges between two blocks, and inside one. Left out: such that the observed number of
        edges is what is expected of as many blocks as `prior` expects.
    prior : Prior, default DirichletProcess(1.0)
        The distribution of the partition before any edge is seen.
    edges : str, default "poisson"
        ``"poisson"``, any number of edges between two vertices; or ``"bernoulli"``, at most one, with a probability for
        each pair of blocks, and no degree correction.
    beta : pair of float, default (1.0, 1.0)
        With ``edges="bernoulli"``: the parameters a and b of the Beta distribution of these probabilities.
    weight : str, bool or array of int, optional
        How many parallel edges an edge stands for: the name of an attribute of the edges of a networkx graph, a number
        for each edge of a list, or ``True`` for a matrix whose entries say so.
    known : array, mapping or str, optional
        Blocks that are known: a label for each vertex, a number or a word, negative or None where it is not; a mapping
        from nodes to labels; or the name of an attribute of networkx' nodes. Vertices with the same label are together,
        those with different ones are not, and all others may join them.
    kinds : array, mapping or str, optional
        The kind of each vertex, said in one of these ways: vertices of different kinds never share a block, as in a
        bipartite network (``kinds="bipartite"`` for networkx' bipartite graphs).

    Attributes
    ----------
    graph : Graph
        The edges, each once, and how many there are of each.
    nodes : sequence
        What vertices are called: the nodes of a networkx graph, else 0, 1, ...
    n_edges : int
    rate : float or None
        The prior mean that is used; None for Bernoulli edges.

    Examples
    --------
    >>> import copartition as cp
    >>> triangles = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    >>> posterior = cp.BlockModel(triangles, rate=2.0)
    >>> posterior
    BlockModel(6 vertices, 7 edges, degree_corrected=True, rate=2.0, DirichletProcess(alpha=1.0))
    >>> cp.kernels.conditional(posterior, [0, 0, 0, 1, 1, 1], n=0).round(3)  # with 1 and 2; with 3, 4 and 5; on its own
    array([0.71 , 0.152, 0.138])
    """

    def __init__(
        self,
        graph: Any,
        n_vertices: int | None = None,
        degree_corrected: bool | None = None,
        rate: float | None = None,
        prior: Prior | None = None,
        *,
        edges: str = "poisson",
        beta: tuple[float, float] = (1.0, 1.0),
        weight: Any = None,
        known: Any = None,
        kinds: Any = None,
    ) -> None:
        if edges not in ("poisson", "bernoulli"):
            raise ValueError(f"edges must be 'poisson' or 'bernoulli', got {shorten(edges)}.")
        if degree_corrected is not None and not isinstance(degree_corrected, bool | np.bool_):
            raise TypeError(f"degree_corrected must be True or False, got {shorten(degree_corrected)}.")
        if degree_corrected and edges == "bernoulli":
            raise ValueError("degree_corrected goes with edges='poisson', got True for bernoulli edges.")
        self.graph = graph_of(graph, n_vertices, weight)
        self.is_poisson = edges == "poisson"
        self.degree_corrected = self.is_poisson and (degree_corrected is None or bool(degree_corrected))
        self.nodes = range(self.graph.n_vertices) if self.graph.nodes is None else self.graph.nodes
        self.names = names_of(self.graph)
        self.n_edges = int(self.graph.multiplicities.sum())
        prior = DirichletProcess(1.0) if prior is None else check_prior(prior)
        self.rate = _rate(rate, prior, self.graph) if self.is_poisson else None
        self.beta = self._beta(rate, beta)
        super().__init__(
            self.graph.degrees[:, None].astype(np.float64),
            prior=prior,
            integers=_integers_of(self.graph),
            keeping=Keeping(begin_block, enter_block, leave_block, width=0, between=True),
            known=of_vertices("known", known, graph, -1),
            kinds=of_vertices("kinds", kinds, graph),
            copy=False,
            **(self._bernoulli() if self.rate is None else self._poisson(self.rate)),
        )

    def _poisson(self, rate: float) -> dict[str, Any]:
        """Return the compiled functions of Poisson edges, and what they look up."""
        # Of sums of degrees and vertices, and of edges.
        from scipy.special import gammaln

        log_factorials = gammaln(np.arange(2.0 * self.n_edges + self.graph.n_vertices + 2) + 1.0)
        corrected = self.degree_corrected
        return {
            "log_predictive": predictive_of(corrected),
            "log_merge": merge_of(corrected),
            "log_odds": odds_of(corrected),
            "log_likelihood": likelihood_of(corrected),
            "table": log_factorials[None],
            "parameters": [np.log1p(rate)],
            "log_total": self._log_total(rate, log_factorials),
        }

    def _log_total(self, rate: float, log_factorials: np.ndarray) -> float:
        """Return what the functions of Poisson edges leave out of the log density of the network."""
        total = -self.n_edges * np.log1p(1.0 / rate) - log_factorials[self.graph.multiplicities].sum()
        total -= self.graph.loops.sum() * np.log(2.0)
        return float(total + log_factorials[self.graph.degrees].sum() if self.degree_corrected else total)

    def _bernoulli(self) -> dict[str, Any]:
        """Return the compiled functions of Bernoulli edges, and what they look up."""
        if self.graph.loops.any():
            vertex = self.nodes[int(np.flatnonzero(self.graph.loops)[0])]
            raise ValueError(f"graph must have no self-loops for edges='bernoulli', got one at vertex {vertex!r}.")
        several = np.flatnonzero(self.graph.multiplicities > 1)
        if len(several):
            a, b = (self.nodes[end] for end in self.graph.edges[several[0]])
            raise ValueError(
                f"graph must have at most one edge between two vertices for edges='bernoulli', got "
                f"{self.graph.multiplicities[several[0]]} between {a!r} and {b!r}."
            )
        return {
            "log_predictive": bernoulli_predictive,
            "log_merge": bernoulli_merge,
            "log_odds": bernoulli_odds,
            "log_likelihood": bernoulli_likelihood,
            "parameters": [*self.beta, _log_beta(*self.beta)],
            "table": table_of(self.beta, self.graph.n_vertices),
        }

    def _beta(self, rate: Any, beta: Any) -> tuple[float, float]:
        if not (isinstance(beta, tuple | list) and len(beta) == 2):
            raise TypeError(f"beta must be two positive numbers, got {shorten(beta)}.")
        if self.is_poisson and tuple(beta) != (1.0, 1.0):
            raise ValueError(f"beta goes with edges='bernoulli', got {shorten(beta)}.")
        if not self.is_poisson and rate is not None:
            raise ValueError(f"rate goes with edges='poisson', got {shorten(rate)}; beta is what bernoulli edges have.")
        return positive_number("beta", beta[0]), positive_number("beta", beta[1])

    def nearest(self, points: np.ndarray, candidates: np.ndarray, width: int) -> np.ndarray:
        """Return the vertices that are nearest to each vertex: see `copartition.targets.graphs.nearest_vertices`."""
        return nearest_vertices(self.graph, points, candidates, width)

    @property
    def edge_kernels(self) -> tuple[Kernel, Kernel]:
        """The functions of expected edges, between vertices and between groups; see `edge_factor`."""
        kind = CORRECTED if self.degree_corrected else PLAIN if self.is_poisson else BERNOULLI
        return edges_of(kind), matrix_of(kind)

    @property
    def edge_factor(self) -> float:
        """What these functions want to know first: rate / (1 + rate)."""
        return 1.0 if self.rate is None else self.rate / (1.0 + self.rate)

    def assumptions(self) -> list[str]:
        """Return what the model assumes, in words: of edges, and of the partition."""
        size = f"{self.graph.n_vertices} vertices and {self.n_edges} edges"
        if self.is_poisson:
            degrees = (
                "vertices of a block may have any degrees (degree_corrected)"
                if self.degree_corrected
                else "vertices of a block have the same expected degree"
            )
            distribution = (
                f"Edges of the network, {size}, are Poisson numbers whose means depend on the blocks of both ends; "
                f"{degrees}; the number of edges between two blocks has prior mean {self.rate:.3g} (rate)."
            )
        else:
            distribution = (
                f"Edges of the network, {size}, are there with a probability that depends on the blocks of both ends, "
                f"which has a Beta({self.beta[0]:g}, {self.beta[1]:g}) distribution (beta)."
            )
        of_prior = getattr(self.prior, "assumptions", None)
        prior = [f"Before any edge, partitions follow {self.prior!r}."] if of_prior is None else of_prior(self.n_points)
        return [distribution, *prior, *self.constraint.assumptions()]

    def __str__(self) -> str:
        sentences = "".join(f"\n- {sentence}" for sentence in self.assumptions())
        return f"Block model of {self.graph.n_vertices} vertices and {self.n_edges} edges{sentences}"

    def __repr__(self) -> str:
        distribution = (
            f"degree_corrected={self.degree_corrected}, rate={self.rate!r}"
            if self.is_poisson
            else f"edges='bernoulli', beta={self.beta}"
        )
        return f"BlockModel({self.graph.n_vertices} vertices, {self.n_edges} edges, {distribution}, {self.prior!r})"


def _integers_of(graph: Graph) -> np.ndarray:
    """Return what `copartition.targets.edges` looks up."""
    begin, others, counts = neighbours_of(graph)
    parts = [begin + 2 * graph.n_vertices + 1, graph.loops, others]
    return np.concatenate([*parts, counts] if np.any(counts != 1) else parts)


def _rate(rate: Any, prior: Prior, graph: Graph) -> float:
    """Return the prior mean of edges between two blocks; left out, for as many blocks as the prior expects."""
    if rate is not None:
        return positive_number("rate", rate)
    n_blocks = _expected_clusters(prior, graph.n_vertices)
    return max(int(graph.multiplicities.sum()), 1) / (n_blocks * (n_blocks + 1.0) / 2.0)


def _expected_clusters(prior: Any, n_points: int) -> float:
    """Return how many clusters a prior expects."""
    if hasattr(prior, "expected_clusters"):
        return float(prior.expected_clusters(n_points))
    return float(prior_n_clusters(prior, n_points) @ np.arange(n_points + 1))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
