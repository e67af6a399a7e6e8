"""What a block model expects of edges: of those between two vertices, and of those between groups of vertices.

Given the blocks, the expected number w_rs of edges between blocks r and s (inside one, if they are the same) has a
Gamma distribution with mean ``(e_rs + 1) rate / (1 + rate)``. The shares theta of the vertices of a block are
independent of it. Without degree correction they are 1 / n_r. With it they have a Dirichlet distribution with
parameters ``k_v + 1``, so that with ``K_r = D_r + n_r``, for vertices u and v of different blocks and of the same one,

    E theta_u theta_v = (k_u + 1) (k_v + 1) / (K_r K_s)     and     (k_u + 1) (k_v + 1) / (K_r (K_r + 1)),

and sums of shares behave like single ones. Two vertices of one block have ``2 theta_u theta_v w_rr`` expected edges, a
vertex has ``theta_u^2 w_rr`` expected self-loops. The probability of a Bernoulli edge has mean
``(a + e_rs) / (a + b + pairs)``.
"""

from __future__ import annotations

from copartition.core.clusters import set_all
from copartition.core.compiling import Kernel, inner, made_anew
from copartition.targets.network.bernoulli import pairs_inside
from copartition.targets.network.counts import of_blocks

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
