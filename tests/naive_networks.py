"""Slow, obvious versions of everything that is compiled for block models of networks."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import combinations_with_replacement, permutations

import numpy as np

import copartition as cp
import naive


class Network:
    """A block model: edges are a mapping from pairs of vertices (a <= b) to how many there are.

    `kind` is "corrected", "plain" or "bernoulli". Labels may be -1 for vertices that are not there: they and their
    edges do not count, but degrees are always those of the whole network.
    """

    def __init__(self, n_vertices, edges, kind, rate=None, beta=(1.0, 1.0), log_prior=None, alpha=1.0):
        self.n_vertices, self.edges, self.kind, self.rate, self.beta = n_vertices, dict(edges), kind, rate, beta
        self.log_prior = log_prior or (lambda labels: math.log(naive.process(labels, alpha)))
        self.degrees = [
            sum(count * ((a == n) + (b == n)) for (a, b), count in self.edges.items()) for n in range(n_vertices)
        ]
        self.log_of_edges = lru_cache(maxsize=None)(self._log_of_edges)

    def count(self, labels, r, s):
        """The number of edges between two blocks, or inside one."""
        return sum(count for (a, b), count in self.edges.items() if {labels[a], labels[b]} == {r, s})

    def _log_of_edges(self, labels):
        blocks = sorted(set(labels) - {-1})
        members = {r: [n for n in range(self.n_vertices) if labels[n] == r] for r in blocks}
        total = 0.0
        for r, s in combinations_with_replacement(blocks, 2):
            e = self.count(labels, r, s)
            if self.kind == "bernoulli":
                size = len(members[r])
                pairs = size * (size - 1) // 2 if r == s else size * len(members[s])
                a, b = self.beta
                total += naive_log_beta(a + e, b + pairs - e) - naive_log_beta(a, b)
            else:
                # The mean number of edges is exponential with mean `rate`: the integral of w^e exp(-w) over its
                # distribution, with twice w inside a block.
                total += math.lgamma(e + 1) - math.log(self.rate) - (e + 1) * math.log(1 + 1 / self.rate)
                total += e * math.log(2.0) if r == s else 0.0
        for r in blocks if self.kind != "bernoulli" else []:
            degrees, size = sum(self.degrees[n] for n in members[r]), len(members[r])
            if self.kind == "corrected":
                total += math.lgamma(size) - math.lgamma(degrees + size)
            else:
                total -= degrees * math.log(size)
        return total

    def log_density(self, labels):
        return self.log_of_edges(tuple(labels)) + self.log_prior(labels)


def naive_log_beta(a, b):
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


# --- split-merge moves in the chain itself ---------------------------------------------------------------------------


def lead(network, log_size, labels, i, j, n):
    """Log of the weight of vertex n at the side of i over that at the side of j, with the prior weights by size."""
    values = []
    for point in (i, j):
        others = list(labels)
        others[n] = -1
        size = others.count(labels[point])
        others[n] = labels[point]
        values.append(network.log_of_edges(naive_names(others)) + log_size(size))
    return values[0] - values[1]


def naive_names(labels):
    """Labels numbered in the order of their first points, -1 staying -1, so that equal partitions look equal."""
    names = {-1: -1}
    return tuple(names.setdefault(label, len(names) - 1) for label in labels)


def to_i(difference):
    """The probability of the side of i."""
    return 1.0 / (1.0 + math.exp(min(700.0, -difference)))


def launched(labels, i, j, order, pinned=()):
    """The partition in which i and j are alone and the points that are dealt out are nowhere; these, in their order.

    Points whose block is known are not dealt out: they are with that one of i and j whose block is known too, else i.
    """
    own = {labels[i], labels[j]}
    members = [n for n in order if labels[n] in own and n not in (i, j, *pinned)]
    begun = [-1 if n in members else label for n, label in enumerate(labels)]
    begun[j] = labels[j] if labels[i] != labels[j] else max(labels) + 1
    for n in pinned:
        if labels[n] in own and n not in (i, j):
            begun[n] = begun[j if j in pinned else i]
    return begun, members


def move(network, log_size, labels, i, j, u, order, uniforms, scans, pinned=()):
    """The partition after the move that these numbers stand for; ``uniforms(n, scan)`` is the number of a point."""
    begun, members = launched(labels, i, j, order, pinned)
    is_split = labels[i] == labels[j]
    if not is_split and any(begun[n] != labels[n] for n in pinned):
        return naive.canonical(labels)  # no split would lead back
    side_i, side_j = begun[i], begun[j]
    log_q = 0.0
    for scan in range(scans + 2):
        log_q = 0.0
        for n in members:
            p = to_i(lead(network, log_size, begun, i, j, n))
            if scan == scans + 1 and not is_split:
                goes_to_i = labels[n] == labels[i]
            else:
                goes_to_i = uniforms(n, scan) < p
            log_q += math.log(p if goes_to_i else 1.0 - p)
            begun[n] = side_i if goes_to_i else side_j
    if is_split:
        proposed, log_level, sign = begun, math.log(1.0 - u), -1.0
    else:
        proposed = [side_i if label == side_j else label for label in labels]
        log_level, sign = math.log(u), 1.0
    log_ratio = network.log_density(naive.canonical(proposed)) - network.log_density(naive.canonical(labels))
    return naive.canonical(proposed if log_level <= log_ratio + sign * log_q else labels)


def scan_matrix(network, log_size, begun, members, i, j):
    """Transition matrix of a scan between all ways of dealing members out, and the distribution of the first one."""
    ways = 2 ** len(members)
    matrix, first = np.zeros((ways, ways)), np.zeros(ways)

    def labels_of(way, placed):
        labels = list(begun)
        for position, n in enumerate(members[:placed]):
            labels[n] = begun[j] if way >> position & 1 else begun[i]
        return labels

    def go(way, position, probability, row):
        if position == len(members):
            row[way] += probability
            return
        n = members[position]
        labels = labels_of(way, len(members) if row is not first else position)
        p = to_i(lead(network, log_size, labels, i, j, n))
        go(way & ~(1 << position), position + 1, probability * p, row)
        go(way | 1 << position, position + 1, probability * (1.0 - p), row)

    for way in range(ways):
        go(way, 0, 1.0, matrix[way])
    go(0, 0, 1.0, first)
    return matrix, first, [labels_of(way, len(members)) for way in range(ways)]


def move_matrix(network, log_size, states, order, scans, log_error=0.0):
    """Exact transition matrix of a move with this order, over all i != j; an error in log q breaks it."""
    number = {state: s for s, state in enumerate(states)}
    logs = [network.log_density(state) for state in states]
    count = len(states[0])
    matrix = np.zeros((len(states), len(states)))

    @cache
    def dealt(begun, members, i, j):
        return scan_matrix(network, log_size, list(begun), list(members), i, j)

    for state, s in number.items():
        for i, j in permutations(range(count), 2):
            begun, members = launched(state, i, j, order)
            last, first, ways = dealt(naive_names(begun), tuple(members), i, j)
            launches = first @ np.linalg.matrix_power(last, scans)
            names = [naive.canonical(way) for way in ways]
            if state[i] == state[j]:
                for way, name in enumerate(names):
                    ratio = math.exp(logs[number[name]] - logs[s] + log_error)
                    # Accepted with probability min(1, ratio / q): q times that is the least of the two.
                    flow = float(launches @ np.minimum(last[:, way], ratio))
                    matrix[s, number[name]] += flow
                    matrix[s, s] += float(launches @ last[:, way]) - flow
            else:
                merged = naive.canonical([state[i] if label == state[j] else label for label in state])
                back = names.index(state)
                ratio = math.exp(logs[number[merged]] - logs[s] + log_error)
                flow = float(launches @ np.minimum(1.0, ratio * last[:, back]))
                matrix[s, number[merged]] += flow
                matrix[s, s] += 1.0 - flow
    return matrix / (count * (count - 1))


def log_evidence(target):
    """The log of the probability of a network under a Dirichlet process: a sum over all partitions of its vertices."""
    count, alpha = target.n_points, target.prior.alpha
    logs = np.array([cp.kernels.log_density(target, state) for state in naive.all_partitions(count)])
    # The log prior in these is not normalised: alpha once, over alpha (alpha + 1) ... is missing.
    constant = math.log(alpha) - math.lgamma(alpha + count) + math.lgamma(alpha)
    return math.log(np.sum(np.exp(logs - logs.max()))) + logs.max() + constant


# --- what is estimated -----------------------------------------------------------------------------------------------


def expected_edges(network, labels, u, v):
    """The expected number of edges between two vertices of a new network with the same blocks, given all edges."""
    r, s = labels[u], labels[v]
    sizes = {r: labels.count(r), s: labels.count(s)}
    e = network.count(labels, r, s)
    if network.kind == "bernoulli":
        a, b = network.beta
        pairs = sizes[r] * (sizes[r] - 1) // 2 if r == s else sizes[r] * sizes[s]
        return (a + e) / (a + b + pairs) if u != v else 0.0
    edges = (e + 1) / (1 + 1 / network.rate)
    if network.kind == "plain":
        share = 1 / (sizes[r] * sizes[s])
    else:
        own = {t: sum(network.degrees[n] + 1 for n in range(network.n_vertices) if labels[n] == t) for t in (r, s)}
        of_u, of_v = network.degrees[u] + 1, network.degrees[v] + 1
        if r != s:
            share = of_u / own[r] * of_v / own[s]
        else:  # moments of a Dirichlet distribution
            share = of_u * (of_v + (u == v)) / (own[r] * (own[r] + 1))
    return edges * share * (2 if r == s else 1) * (0.5 if u == v else 1.0)


def block_matrix(network, labels, groups):
    """Expected edges between the groups of a given partition, and inside them."""
    count = max(groups) + 1
    table = np.zeros((count, count))
    for u in range(network.n_vertices):
        for v in range(u, network.n_vertices):
            a, b = sorted((groups[u], groups[v]))
            table[a, b] += expected_edges(network, labels, u, v)
    return table
