"""Slow, obviously right versions of everything that is compiled, straight from the definitions."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product

import numpy as np
import ot
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.integrate import quad
from scipy.linalg import block_diag
from scipy.spatial.distance import squareform
from scipy.special import betaln, multigammaln

# --- partitions ------------------------------------------------------------------------------------------------------


def all_partitions(n):
    """All partitions of n points as tuples of canonical labels."""
    if n == 0:
        return [()]
    return [(*head, label) for head in all_partitions(n - 1) for label in range(max(head, default=-1) + 2)]


def canonical(labels):
    hyperparameters = {}
    return tuple(hyperparameters.setdefault(label, len(hyperparameters)) for label in labels)


def clusters(labels):
    """The clusters as lists of points, in the order of their first points."""
    found = {}
    for n, label in enumerate(labels):
        found.setdefault(label, []).append(n)
    return list(found.values())


def sizes(labels):
    """The sizes of the clusters, the smallest first."""
    return tuple(sorted(len(members) for members in clusters(labels)))


def adjacency(labels):
    labels = np.asarray(labels)
    return (labels[:, None] == labels[None, :]).astype(int)


def hamming(a, b):
    return int(np.abs(adjacency(a) - adjacency(b)).sum())


def overlaps(a, b):
    """The numbers of points that clusters have in common, by their labels; those that have none are left out."""
    return dict(Counter(zip(a, b, strict=True)))


def entropy(labels):
    shares = np.array([len(c) for c in clusters(labels)]) / len(labels)
    return -float(np.sum(shares * np.log(shares)))


def variation_of_information(a, b):
    """2 H(A, B) - H(A) - H(B)."""
    joint = list(zip(a, b, strict=True))
    return 2 * entropy(joint) - entropy(a) - entropy(b)


def together(labels, pairs):
    """For each pair of points whether they are in one cluster: 1.0 or 0.0."""
    return [float(labels[a] == labels[b]) for a, b in pairs]


def count_pairs(rows, weights, first, last):
    """For each pair (i, j) with i < j and i from `first` on, below `last`: the weights of the rows that join it."""
    found = {}
    for i in range(first, last):
        for j in range(i + 1, len(rows[0])):
            found[i, j] = sum(w for row, w in zip(rows, weights, strict=True) if row[i] == row[j])
    return found


def memberships(labels, partition):
    """For each point and each cluster of a partition: the share of the others in that cluster that are with it."""
    values = []
    for n in range(len(labels)):
        for members in clusters(partition):
            others = [m for m in members if m != n]
            values.append(sum(labels[m] == labels[n] for m in others) / len(others) if others else 0.0)
    return values


def cluster_similarity(labels, partition):
    """For each pair of clusters of a partition, also twice the same: the share of pairs of points, one of each."""
    values, found = [], clusters(partition)
    for a in range(len(found)):
        for b in range(a, len(found)):
            pairs = [(i, j) for i in found[a] for j in found[b] if a != b or i < j]
            values.append(sum(labels[i] == labels[j] for i, j in pairs) / len(pairs) if pairs else 0.0)
    return values


# --- random numbers --------------------------------------------------------------------------------------------------

MASK = (1 << 64) - 1


def rotate(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


class Xoshiro:
    """The generator xoshiro256++ in Python integers."""

    def __init__(self, state):
        self.s = [int(word) for word in state]

    def integer(self):
        s = self.s
        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def uniform(self):
        return (self.integer() >> 11) / 2**53


def bits_of(key, n):
    """The n-th 64 bits of the family of `key`, by SplitMix64."""
    word = (int(key) + (n + 1) * 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def uniform_of(key, n):
    """The n-th number of the family of `key`."""
    return (bits_of(key, n) >> 11) / 2**53


def draw(weights, level):
    """The first choice at which the running sum of the weights passes the level."""
    running = 0.0
    for k, weight in enumerate(weights):
        running += weight
        if level < running:
            return k
    return int(np.flatnonzero(weights)[-1])


# --- distributions ---------------------------------------------------------------------------------------------------


def log_normal_density(x, mean, cov):
    difference = x - mean
    return -0.5 * (
        difference @ np.linalg.solve(cov, difference) + np.linalg.slogdet(cov)[1] + len(x) * math.log(2 * math.pi)
    )


class GaussianMixture:
    """Dirichlet process mixture of Gaussians with full covariances: the density of a partition from its definition."""

    def __init__(self, data, noise_cov, mean_cov, mean, alpha):
        self.data, self.noise_cov, self.mean_cov, self.mean, self.alpha = data, noise_cov, mean_cov, mean, alpha

    def log_cluster(self, members):
        """The log density of some points as one cluster."""
        members, size = sorted(members), len(members)
        cov = block_diag(*[self.noise_cov] * size) + np.kron(np.ones((size, size)), self.mean_cov)
        return log_normal_density(self.data[members].ravel(), np.tile(self.mean, size), cov)

    def log_density(self, labels):
        return sum(
            self.log_cluster(members) + math.log(self.alpha) + math.lgamma(len(members)) for members in clusters(labels)
        )


class Mixture:
    """A mixture, from the log density of the cells of a cluster and the probability of a partition.

    `less` is what the prior takes off the size of a cluster that a point joins.
    """

    def __init__(self, log_cluster, prior, less=0.0):
        self.log_cluster, self.prior, self.less = log_cluster, prior, less

    def log_density(self, labels):
        probability = self.prior(labels)
        if probability == 0.0:
            return -math.inf
        return math.log(probability) + sum(self.log_cluster(members) for members in clusters(labels))


class Tempered:
    """The density of a partition with that of the data raised to a power, and the prior left as it is."""

    def __init__(self, density, beta):
        self.density, self.beta, self.less = density, beta, getattr(density, "less", 0.0)

    def log_cluster(self, members):
        return self.beta * self.density.log_cluster(members)

    def log_density(self, labels):
        of_data = sum(self.density.log_cluster(members) for members in clusters(labels))
        return self.density.log_density(labels) - (1.0 - self.beta) * of_data


def student(x, degrees, mean, scale):
    """Log density of a t distribution with this square of its scale."""
    z = (x - mean) ** 2 / scale
    constant = math.lgamma(0.5 * (degrees + 1)) - math.lgamma(0.5 * degrees) - 0.5 * math.log(degrees * math.pi * scale)
    return constant - 0.5 * (degrees + 1) * math.log1p(z / degrees)


def wishart_cluster(data, mean, weight, degrees, scale):
    """Log density of rows with unknown mean and covariance: the ratio of normalising constants, from the rows."""

    def log_cluster(members):
        x = data[sorted(members)]
        n, d = x.shape
        centre = x.mean(axis=0)
        scatter = (x - centre).T @ (x - centre)
        psi = scale + scatter + weight * n / (weight + n) * np.outer(centre - mean, centre - mean)
        result = multigammaln(0.5 * (degrees + n), d) - multigammaln(0.5 * degrees, d)
        result += 0.5 * degrees * np.linalg.slogdet(scale)[1] - 0.5 * (degrees + n) * np.linalg.slogdet(psi)[1]
        return result + 0.5 * d * math.log(weight / (weight + n)) - 0.5 * n * d * math.log(math.pi)

    return log_cluster


def gamma_column(cells, mean, weight, shape, scale):
    """Log density of cells with unknown mean and variance.

    One after another, each a t distribution given those before.
    """
    total, m, kappa, a, b = 0.0, mean, weight, shape, scale
    for x in cells:
        total += student(x, 2 * a, m, b * (kappa + 1) / (a * kappa))
        b += 0.5 * kappa / (kappa + 1) * (x - m) ** 2
        m = (kappa * m + x) / (kappa + 1)
        kappa, a = kappa + 1, a + 0.5
    return total


def known_column(cells, noise_sd, mean_sd, mean):
    cells, size = np.asarray(cells), len(cells)
    return log_normal_density(cells, np.full(size, mean), noise_sd**2 * np.eye(size) + mean_sd**2) if size else 0.0


def bernoulli_column(cells, a, b):
    yes, no = sum(cells), len(cells) - sum(cells)
    return betaln(a + yes, b + no) - betaln(a, b)


def categorical_column(cells, concentration, categories):
    result = math.lgamma(concentration * categories) - math.lgamma(concentration * categories + len(cells))
    for category in set(cells):
        result += math.lgamma(concentration + list(cells).count(category)) - math.lgamma(concentration)
    return result


def poisson_column(cells, shape, rate):
    total, m = sum(cells), len(cells)
    result = math.lgamma(shape + total) - math.lgamma(shape) + shape * math.log(rate)
    return result - (shape + total) * math.log(rate + m) - sum(math.lgamma(x + 1) for x in cells)


def independent_columns(data, columns):
    """Log density of rows whose columns are independent; cells that are None or NaN are not there."""

    def log_cluster(members):
        total = 0.0
        for j, of_column in enumerate(columns):
            cells = [data[n][j] for n in sorted(members)]
            total += of_column([cell for cell in cells if cell is not None and cell == cell])
        return total

    return log_cluster


def independent_parts(*parts):
    """Log density of rows of which some columns follow each part, all independent of each other."""
    return lambda members: sum(part(members) for part in parts)


class Coloring:
    """Uniform over proper colourings: q! / (q - number of clusters)! for partitions with no edge inside a cluster."""

    def __init__(self, edges, colors):
        self.edges, self.colors = edges, colors

    def log_density(self, labels):
        n_clusters = len(set(labels))
        if n_clusters > self.colors or any(labels[a] == labels[b] for a, b in self.edges):
            return -math.inf
        return math.lgamma(self.colors + 1) - math.lgamma(self.colors - n_clusters + 1)


class Bernoulli:
    """Dirichlet process mixture of vectors of coins, each with a Beta prior."""

    def __init__(self, data, a, b, alpha):
        self.data, self.a, self.b, self.alpha = data, a, b, alpha

    def log_cluster(self, members):
        """The log probability of some points as one cluster."""

        def log_beta(x, y):
            return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

        heads = self.data[sorted(members)].sum(axis=0)
        return sum(log_beta(self.a + h, self.b + len(members) - h) - log_beta(self.a, self.b) for h in heads)

    def log_density(self, labels):
        return sum(
            self.log_cluster(members) + math.log(self.alpha) + math.lgamma(len(members)) for members in clusters(labels)
        )


def count_colorings(n_vertices, edges, colors):
    """The chromatic polynomial at `colors`, by deletion and contraction of one edge after another."""
    if not edges:
        return colors**n_vertices
    (a, b), rest = edges[0], edges[1:]
    contracted = {tuple(sorted((a if v == b else v, a if w == b else w))) for v, w in rest}
    return count_colorings(n_vertices, rest, colors) - count_colorings(n_vertices - 1, sorted(contracted), colors)


def distribution(density, n):
    """All partitions of n points and their probabilities."""
    states = all_partitions(n)
    logs = np.array([density.log_density(state) for state in states])
    weights = np.exp(logs - logs.max())
    return states, weights / weights.sum()


def placements(labels, n):
    """The partitions that can be made by taking point n out and putting it back: each cluster, then a new one."""
    others = [m for m in range(len(labels)) if m != n]
    hyperparameters = canonical([labels[m] for m in others])
    result = []
    for k in range(max(hyperparameters, default=-1) + 2):
        moved = list(labels)
        for m, number in zip(others, hyperparameters, strict=True):
            moved[m] = number
        moved[n] = k
        result.append(canonical(moved))
    return result


def conditional(density, labels, n):
    """The conditional distribution of point n, from ratios of densities."""
    logs = np.array([density.log_density(state) for state in placements(labels, n)])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def redrawn(density, labels, value, share, points):
    """The value of a partition plus a share of what is expected to change if each of some points is drawn anew."""
    here = np.asarray(value(labels), dtype=float)
    total = here.copy()
    for n in points:
        for probability, state in zip(conditional(density, labels, n), placements(labels, n), strict=True):
            total += share * probability * (np.asarray(value(state)) - here)
    return total


# --- couplings as tables of joint probabilities ----------------------------------------------------------------------


def independent(p, q):
    return np.outer(p, q)


def common(p, q):
    """Lengths of the intersections of the intervals of the two distribution functions."""
    joint = np.zeros((len(p), len(q)))
    ends_p, ends_q = np.r_[0, np.cumsum(p)], np.r_[0, np.cumsum(q)]
    for i, (a, b) in enumerate(pairwise(ends_p)):
        for j, (c, d) in enumerate(pairwise(ends_q)):
            joint[i, j] = max(0.0, min(b, d) - max(a, c))
    return joint


def maximal(p, q):
    joint = np.zeros((len(p), len(q)))
    size = max(len(p), len(q))
    p, q = np.pad(p, (0, size - len(p))), np.pad(q, (0, size - len(q)))
    shared = np.minimum(p, q)
    rest = 1.0 - shared.sum()
    full = np.diag(shared)
    if rest > 1e-15:
        full = full + np.outer(p - shared, q - shared) / rest
    return full[: joint.shape[0], : joint.shape[1]]


def transport_cost(p, q, cost):
    """The optimal mean cost, by the network simplex of POT.

    POT calls problems infeasible that have masses below the rounding error of the total (left out here) or negative
    costs (shifted here).
    """
    keep_p, keep_q = p > 1e-17 * p.sum(), q > 1e-17 * q.sum()
    p, q = p[keep_p] / p[keep_p].sum(), q[keep_q] / q[keep_q].sum()
    cost = cost[np.ix_(keep_p, keep_q)]
    return float(ot.emd2(p, q, np.ascontiguousarray(cost - cost.min())) + cost.min())


# --- sweeps ----------------------------------------------------------------------------------------------------------


class Labels:
    """A partition as a list of clusters in order of creation, each a set of points."""

    def __init__(self, labels):
        self.clusters = [set(members) for members in clusters(labels)]

    def take_out(self, n):
        for k, members in enumerate(self.clusters):
            if n in members:
                members.remove(n)
                if not members:
                    del self.clusters[k]
                return

    def put_in(self, n, k):
        if k == len(self.clusters):
            self.clusters.append(set())
        self.clusters[k].add(n)

    def labels(self):
        found = {n: k for k, members in enumerate(self.clusters) for n in members}
        return [found[n] for n in sorted(found)]


class IsotropicMixture:
    """The Gaussian mixture with scalar standard deviations, its weights by the textbook formula."""

    def __init__(self, data, noise_sd, mean_sd, alpha):
        self.data, self.noise, self.prior, self.alpha = data, noise_sd**2, mean_sd**2, alpha

    def weights(self, partition, n):
        logs = []
        for members in [*partition.clusters, set()]:
            size = len(members)
            total = self.data[sorted(members)].sum(axis=0)
            variance = 1.0 / (1.0 / self.prior + size / self.noise)
            mean = variance * total / self.noise
            spread = variance + self.noise
            squares = np.sum((self.data[n] - mean) ** 2)
            logs.append(-0.5 * squares / spread - 0.5 * len(mean) * math.log(spread))
            logs[-1] += math.log(size) if size else math.log(self.alpha)
        logs = np.array(logs)
        return np.exp(logs - logs.max())


def sweep(model, partition, random):
    """One sweep of one chain."""
    for n in range(len(model.data)):
        partition.take_out(n)
        weights = model.weights(partition, n)
        partition.put_in(n, draw(weights, random.uniform() * weights.sum()))


def transport_sweep(model, x, y, random):
    """One sweep of two chains, coupled by the optimal transport plan of POT, as the paper writes it down."""
    for n in range(len(model.data)):
        x.take_out(n)
        y.take_out(n)
        p, q = model.weights(x, n), model.weights(y, n)
        p, q = p / p.sum(), q / q.sum()
        size_x = np.array([len(a) for a in x.clusters] + [0])
        size_y = np.array([len(b) for b in y.clusters] + [0])
        overlap = np.array([[len(a & b) for b in [*y.clusters, set()]] for a in [*x.clusters, set()]])
        cost = 2.0 * (size_x[:, None] + size_y[None, :] - 2 * overlap)
        plan = ot.emd(p, q, cost)
        i, j = np.unravel_index(draw(plan.ravel(), random.uniform() * plan.sum()), plan.shape)
        x.put_in(n, int(i))
        y.put_in(n, int(j))


# --- split-merge moves -----------------------------------------------------------------------------------------------


class Remembered:
    """A density that remembers what it has computed."""

    def __init__(self, density):
        self.log_density = cache(density.log_density)
        self._log_cluster = cache(density.log_cluster)
        self.less = getattr(density, "less", 0.0)

    def log_cluster(self, members):
        return self._log_cluster(tuple(sorted(members)))


def guidance(guides, n, sides):
    """What guides add to the log odds of the first side: 10 times how often n is with its points, less with others."""
    often = [np.mean([[guide[n] == guide[m] for m in side] for guide in guides]) for side in sides]
    return 10.0 * (often[0] - often[1])


def deal(density, labels, i, j, order, guides=()):
    """All ways of dealing out the other points of the clusters of i and j, in this order.

    `guides` are clusterings, which say who should go together. Yields, for each, the two sides, the log probability of
    it, and for each point dealt out its probability of i's side.
    """
    own = {labels[i], labels[j]}
    members = [n for n in order if labels[n] in own and n not in (i, j)]
    less = getattr(density, "less", 0.0)

    def go(rest, sides, log_q, path):
        if not rest:
            yield sides, log_q, path
            return
        n = rest[0]
        logs = [
            math.log(len(side) - less) + density.log_cluster([*side, n]) - density.log_cluster(side) for side in sides
        ]
        lead = logs[0] - logs[1] + (guidance(guides, n, sides) if len(guides) else 0.0)
        p = 1.0 / (1.0 + math.exp(min(700.0, -lead)))
        for side, probability in ((0, p), (1, 1.0 - p)):
            if probability > 0.0:
                larger = tuple((*s, n) if k == side else s for k, s in enumerate(sides))
                yield from go(rest[1:], larger, log_q + math.log(probability), {**path, n: p})

    return go(members, ((i,), (j,)), 0.0, {})


def with_label(labels, points, label):
    return [label if n in points else old for n, old in enumerate(labels)]


def split_merge(density, labels, i, j, u, order, uniforms, guides=()):
    """The partition after the move that these random numbers stand for (Dahl 2003)."""
    is_split = labels[i] == labels[j]

    def is_chosen(sides, path):
        if is_split:
            return all((uniforms[n] < p) == (n in sides[0]) for n, p in path.items())
        return all(labels[n] == labels[i] for n in sides[0]) and all(labels[n] == labels[j] for n in sides[1])

    sides, log_q, _ = next(way for way in deal(density, labels, i, j, order, guides) if is_chosen(way[0], way[2]))
    if is_split:
        proposed = with_label(labels, sides[1], max(labels) + 1)
        log_level, log_accepted = math.log(1.0 - u), -log_q
    else:
        proposed = with_label(labels, {*sides[0], *sides[1]}, labels[i])
        log_level, log_accepted = math.log(u), log_q
    log_accepted += density.log_density(proposed) - density.log_density(labels)
    return canonical(proposed if log_level <= log_accepted else labels)


def split_merge_matrix(density, states, order, log_error=0.0, guides=()):
    """Exact transition matrix of a move with this order, over uniform i != j; an error in log q breaks it."""
    density = Remembered(density)
    number = {state: s for s, state in enumerate(states)}
    count = len(states[0])
    matrix = np.zeros((len(states), len(states)))
    logs = {state: density.log_density(state) for state in states}
    for state, s in number.items():
        for i, j in permutations(range(count), 2):
            for sides, log_q, _ in deal(density, state, i, j, order, guides):
                if state[i] == state[j]:
                    proposed, probability = canonical(with_label(state, sides[1], max(state) + 1)), math.exp(log_q)
                    log_accepted = logs[proposed] - logs[state] - log_q + log_error
                elif all(state[n] == state[i] for n in sides[0]) and all(state[n] == state[j] for n in sides[1]):
                    proposed, probability = canonical(with_label(state, {*sides[0], *sides[1]}, state[i])), 1.0
                    log_accepted = logs[proposed] - logs[state] + log_q + log_error
                else:
                    continue
                accepted = math.exp(min(0.0, log_accepted))
                matrix[s, number[proposed]] += probability * accepted
                matrix[s, s] += probability * (1.0 - accepted)
    return matrix / (count * (count - 1))


# --- whole sweeps of two chains --------------------------------------------------------------------------------------


def greedy_names(x, y):
    """Give clusters of x and y that are matched greedily by common points the same names, all others new ones."""
    rows, columns = clusters(x), clusters(y)
    pairs = [
        (-len(set(a) & set(b)), k, m) for k, a in enumerate(rows) for m, b in enumerate(columns) if set(a) & set(b)
    ]
    names_x, names_y = {}, {}
    for _, k, m in sorted(pairs):
        if k not in names_x and m not in names_y:
            names_x[k] = names_y[m] = ("both", k)
    for k in range(len(rows)):
        names_x.setdefault(k, ("x", k))
    for m in range(len(columns)):
        names_y.setdefault(m, ("y", m))
    return (
        {names_x[k]: frozenset(a) for k, a in enumerate(rows)},
        {names_y[m]: frozenset(b) for m, b in enumerate(columns)},
    )


def without(named, n):
    return {name: members - {n} for name, members in named.items() if members - {n}}


def named_distribution(density, named, n):
    """The conditional distribution of point n, which is in no cluster, over names.

    A new cluster has the name ("new", n).
    """
    logs = {
        name: math.log(len(members)) + density.log_cluster([*members, n]) - density.log_cluster(members)
        for name, members in named.items()
    }
    logs["new", n] = math.log(density.alpha) + density.log_cluster([n])
    top = max(logs.values())
    weights = {name: math.exp(value - top) for name, value in logs.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def placed(named, n, name):
    return {**named, name: named.get(name, frozenset()) | {n}}


def partition_of(named, count):
    label = {n: name for name, members in named.items() for n in members}
    return canonical([label[n] for n in range(count)])


def path_coupling_distribution(density, x, y):
    """Exact distribution of x after a sweep coupled with y as a whole, and the probability that the chains have met.

    Follows the construction point by point: together with mass min(P, Q), parted by (P p - Q q)+.
    """
    count = len(x)
    distribution = {}
    met = 0.0

    def add(named, mass):
        state = partition_of(named, count)
        distribution[state] = distribution.get(state, 0.0) + mass

    def together(n, a, b, p_path, q_path):
        nonlocal met
        if n == count:
            assert partition_of(a, count) == partition_of(b, count)
            met += min(p_path, q_path)
            add(a, min(p_path, q_path))
            return
        a, b = without(a, n), without(b, n)
        p, q = named_distribution(density, a, n), named_distribution(density, b, n)
        stay = {name: min(p_path * p[name], q_path * q[name]) for name in p.keys() & q.keys()}
        for name in stay:
            together(n + 1, placed(a, n, name), placed(b, n, name), p_path * p[name], q_path * q[name])
        part(n, a, b, p, q, p_path, q_path, min(p_path, q_path) - sum(stay.values()))

    def part(n, a, b, p, q, p_path, q_path, mass):
        """Mass of x that goes to each name by what is left of its distribution; b is the shadow of y."""
        left = {name: max(0.0, p_path * p[name] - q_path * q.get(name, 0.0)) for name in p}
        total = sum(left.values())
        for name, weight in left.items():
            if weight > 0.0 and mass > 0.0:
                shadow = placed(b, n, name) if name in q else None
                parted(
                    n + 1,
                    placed(a, n, name),
                    shadow,
                    p_path * p[name],
                    q_path * q.get(name, 0.0),
                    mass * weight / total,
                )

    def parted(n, a, b, p_path, q_path, mass):
        if n == count:
            add(a, mass)
            return
        a = without(a, n)
        p = named_distribution(density, a, n)
        if b is None:
            for name in p:
                parted(n + 1, placed(a, n, name), None, p_path * p[name], 0.0, mass * p[name])
            return
        b = without(b, n)
        part(n, a, b, p, named_distribution(density, b, n), p_path, q_path, mass)

    together(0, *greedy_names(x, y), 1.0, 1.0)
    return distribution, met


# --- the estimator ---------------------------------------------------------------------------------------------------


def unbiased(h_x, h_y, tau, k, m, lag, weights="right", too_early=0):
    """The estimator H from whole trajectories: ``h_x[t]`` for t = 0.., ``h_y[t]``, and the meeting time."""

    def weight(t):
        if weights == "old":  # as in public code before 2022
            return min(m - k + 1, math.ceil((t - k) / lag))
        return (t - k) // lag - math.ceil(max(lag, t - m) / lag) + 1

    total = sum(h_x[t] for t in range(k, m + 1))
    total += sum(weight(t) * (h_x[t] - h_y[t - lag]) for t in range(k + lag, tau - too_early))
    return total / (m - k + 1)


def weight_by_counting(t, k, m, lag):
    """How often the difference at time t is counted: for each start l in k..m, all t = l + j lag with j >= 1."""
    return sum(1 for start in range(k, m + 1) if t > start and (t - start) % lag == 0)


def kept_atoms(x, y, tau, times, per_replicate, most, uniform):
    """The states of a replicate that are kept, and their weights: those of the average, then corrections two by two.

    ``x[t]`` and ``y[t]`` are the states at time t, ``times`` burn-in, horizon and lag; every correction that is kept is
    one of a list, of which a random half is dropped whenever it is too long.
    """
    k, m, lag = times
    states = m - k + 1
    count = min(per_replicate, states)
    shift = int(uniform() * states)
    atoms = [(x[k + (shift + j * states) // count], Fraction(1, count)) for j in range(count)]
    corrections = [(t, weight_by_counting(t, k, m, lag)) for t in range(k + lag, tau)]
    corrections = [(t, weight) for t, weight in corrections if weight]
    stride, offset = 1, 0
    for seen in range(1, len(corrections) + 1):
        if len(range(offset, seen, stride)) > most:
            offset += stride if uniform() < 0.5 else 0
            stride *= 2
    for t, weight in corrections[offset::stride]:
        part = Fraction(stride * weight, states)
        atoms += [(x[t], part), (y[t - lag], -part)]
    return atoms


# --- what meeting times tell -----------------------------------------------------------------------------------------


def tv_bound(meeting_times, lag, t):
    """Mean over pairs of max(0, ceil((tau - lag - t) / lag))."""
    return float(np.mean([max(0, math.ceil((tau - lag - t) / lag)) for tau in meeting_times]))


def wasserstein_bound(traces, lag, t):
    """Mean over pairs of the sum over j >= 1 of d(X_(t + j lag), Y_(t + (j - 1) lag)); traces begin at time lag."""
    total = 0.0
    for trace in traces:
        j = 1
        while t + j * lag - lag < len(trace):
            total += trace[t + j * lag - lag]
            j += 1
    return total / len(traces)


def expected_binder(states, distribution, labels):
    """Posterior expected number of pairs on which a partition disagrees with `labels`."""
    return sum(p * hamming(state, labels) / 2 for state, p in zip(states, distribution, strict=True))


def vi_lower_bound(similarity, labels):
    """The lower bound of Wade and Ghahramani on the expected variation of information, term by term."""
    count = len(labels)
    total = 0.0
    for i in range(count):
        own = [j for j in range(count) if labels[j] == labels[i]]
        total += math.log(len(own)) - 2 * math.log(sum(similarity[i, j] for j in own))
        total += math.log(sum(similarity[i, j] for j in range(count)))
    return total / count


def similarity(states, distribution):
    """Probabilities that points are together."""
    return sum(p * adjacency(state) for state, p in zip(states, distribution, strict=True))


def binder_loss(similarity, labels):
    """Expected number of pairs in dispute."""
    pairs = np.triu_indices(len(labels), 1)
    return float(np.abs(adjacency(labels)[pairs] - similarity[pairs]).sum())


def similarity_loss(loss, similarity, labels):
    return binder_loss(similarity, labels) if loss == "binder" else vi_lower_bound(similarity, labels)


def mean_loss(loss, draws, weights, labels):
    """Mean distance to draws: the variation of information, or the number of pairs in dispute."""
    distance = variation_of_information if loss == "vi" else lambda a, b: hamming(a, b) / 2
    return float(np.average([distance(draw, labels) for draw in draws], weights=weights))


def improve_points(total, order, labels):
    """Place points that have the label -1 where `total`, a function of the points placed and their labels, is least.

    Then move single points as long as that helps.
    """
    labels = list(labels)

    def best(i):
        found = {}
        for k in sorted({*labels, max(labels) + 1} - {-1}):
            trial = [*labels[:i], k, *labels[i + 1 :]]
            placed = [j for j in range(len(trial)) if trial[j] >= 0]
            found[k] = total(placed, [trial[j] for j in placed])
        now = found.get(labels[i], math.inf)
        k = min(found, key=found.get)
        return labels[i] if labels[i] >= 0 and found[k] > now - 1e-12 else k

    for i in order:
        if labels[i] < 0:
            labels[i] = best(i)
    moved = True
    while moved:
        moved = False
        for i in order:
            k = best(i)
            moved |= k != labels[i]
            labels[i] = k
    return canonical(labels)


def point_search(loss, similarity, starts, seed):
    """The least loss that single points lead to, from random orders and the cuts of an average linkage tree."""
    count = len(similarity)

    def total(kind):
        # Not divided by the number of points, which grows as they are placed.
        def of_placed(placed, labels):
            part = similarity[np.ix_(placed, placed)]
            together = np.equal.outer(labels, labels)
            if kind == "binder":
                return float(np.where(together, 1 - 2 * part, 0).sum())
            return float(np.sum(np.log(together.sum(1)) - 2 * np.log((part * together).sum(1))))

        return of_placed

    random = np.random.default_rng(seed)
    orders = [random.permutation(count) for _ in range(starts)]
    tree = linkage(squareform(1 - similarity, checks=False), "average")
    cuts = cut_tree(tree, np.arange(1, min(count, 30) + 1)).T
    found = set()
    for kind in ("binder", "vi"):
        found |= {improve_points(total(kind), order, [-1] * count) for order in orders}
        found |= {improve_points(total(kind), range(count), cut.tolist()) for cut in cuts}
    return min(similarity_loss(loss, similarity, labels) for labels in found)


# --- priors ----------------------------------------------------------------------------------------------------------


def process(labels, alpha, discount=0.0):
    """Probability of a partition under a Pitman-Yor process: one point after another."""
    sizes, probability = {}, 1.0
    for n, label in enumerate(labels):
        if n > 0:
            weight = sizes[label] - discount if label in sizes else alpha + discount * len(sizes)
            probability *= weight / (n + alpha)
        sizes[label] = sizes.get(label, 0) + 1
    return probability


def gamma_mean(f, shape, rate):
    """Mean of f(alpha) where alpha is Gamma distributed, by adaptive quadrature."""
    constant = shape * math.log(rate) - math.lgamma(shape)
    power = min(shape, 1.0)  # of alpha, in which the density near 0 is bounded

    def integrand(v):
        alpha = v ** (1 / power)
        log_power = (shape - power) * math.log(alpha) if shape > power else 0.0
        return f(alpha) * math.exp(constant + log_power - rate * alpha) / power

    options = {"epsabs": 0.0, "epsrel": 1e-13, "limit": 500}
    mean = shape / rate
    spread = math.sqrt(shape) / rate
    ends = sorted({0.0, max(0.0, mean - 12 * spread), mean, mean + 2 * spread, mean + 12 * spread + 40 / rate})
    return sum(quad(integrand, a**power, b**power, **options)[0] for a, b in pairwise(ends))


def finite_mixture(labels, components, gamma):
    """Probability of a partition where each point is of a component, with symmetric Dirichlet weights."""
    sizes = [len(c) for c in clusters(labels)]
    if len(sizes) > components:
        return 0.0
    result = math.perm(components, len(sizes))
    result *= math.exp(math.lgamma(gamma * components) - math.lgamma(gamma * components + len(labels)))
    return result * math.prod(math.exp(math.lgamma(gamma + s) - math.lgamma(gamma)) for s in sizes)


def mixture_of_finite_mixtures(labels, gamma, distribution, most=2000):
    last = int(min(most, distribution.support()[1]))
    return sum(float(distribution.pmf(k)) * finite_mixture(labels, k, gamma) for k in range(1, last + 1))


def mixed(labels, log_size, rows):
    """Probability of a partition under a mixture of priors whose weights hold for any number of points."""
    total = 0.0
    for weight, a, b in rows:
        sizes, probability = {}, weight
        for n, label in enumerate(labels):
            if n > 0:
                weights = {other: math.exp(log_size[size]) for other, size in sizes.items()}
                opening = max(0.0, a + b * len(sizes))
                probability *= weights.get(label, opening) / (sum(weights.values()) + opening)
            sizes[label] = sizes.get(label, 0) + 1
        total += probability
    return total


# --- joint updates ---------------------------------------------------------------------------------------------------


class Growing:
    """Log weights of points in clusters that grow: the density of a cluster, and the two tables of a prior."""

    def __init__(self, density, log_size, log_new):
        self.log_cluster = Remembered(density).log_cluster
        self.log_size, self.log_new = log_size, log_new

    def join(self, cluster, n):
        return self.log_size[len(cluster)] + self.log_cluster([*cluster, n]) - self.log_cluster(cluster)

    def open(self, n_clusters, n):
        return self.log_new[min(n_clusters, len(self.log_new) - 1)] + self.log_cluster([n])


def joint_gains(growing, outside, order, near, ahead):
    """What a new cluster that begins with each point of a block can gain from the points that come later."""
    best = {n: max((growing.join(cluster, n) for cluster in outside), default=-math.inf) for n in order}
    gains = []
    for t, p in enumerate(order):
        later = [n for n in near[p] if n in order[t + 1 :]][:ahead]
        cluster, total, sums = [p], 0.0, [0.0]
        for n in later:
            gain = growing.join(cluster, n) - best[n]
            total += gain if math.isfinite(gain) else 0.0
            sums.append(total)
            cluster = [*cluster, n]
        gains.append(max(sums))
    return gains


def joint_choice(growing, clusters, n, gain, is_last):
    """The probabilities of the choices of a point, the log of the sum that they are of, and b."""
    if not clusters:
        return [1.0], 0.0, 0.0
    logs = [growing.join(cluster, n) for cluster in clusters]
    new = growing.open(len(clusters), n)
    existing = np.logaddexp.reduce(logs)
    boost = max(0.0, min(gain, existing - new))
    if not is_last:
        boost = max(boost, existing - new + math.log(0.02))
    total = np.logaddexp(existing, new + boost)
    return [math.exp(one - total) for one in [*logs, new + boost]], total, boost


def put(clusters, k, n):
    return [[*c, n] if i == k else c for i, c in enumerate(clusters)] + ([[n]] if k == len(clusters) else [])


def joint_ways(growing, labels, order, near, ahead=8, log_error=0.0):
    """All ways of dealing out the points of a block: the partition, its probability, and its weight.

    An error in the weight of ways that open clusters breaks the update.
    """
    outside = [[n for n in cluster if n not in order] for cluster in clusters(labels)]
    outside = [cluster for cluster in outside if cluster]
    gains = joint_gains(growing, outside, order, near, ahead)

    def go(t, now, q, log_w):
        if t == len(order):
            found = {n: k for k, cluster in enumerate(now) for n in cluster}
            yield canonical([found[n] for n in range(len(labels))]), q, math.exp(log_w)
            return
        p, total, boost = joint_choice(growing, now, order[t], gains[t], t == len(order) - 1)
        for k in range(len(p)):
            opened = boost + log_error if k == len(now) and now else 0.0
            yield from go(t + 1, put(now, k, order[t]), q * p[k], log_w + total - opened)

    return list(go(0, outside, 1.0, 0.0))


def block_matrix(growing, states, order, near, tries, **how):
    """Exact transition matrix of the update of a block in this order, by going through all ways of all tries."""
    number = {state: s for s, state in enumerate(states)}
    matrix = np.zeros((len(states), len(states)))
    for state, s in number.items():
        ways = joint_ways(growing, state, order, near, **how)
        present = next(w for partition, _, w in ways if partition == state)
        for chosen in product(ways, repeat=tries):
            probability = math.prod(q for _, q, _ in chosen)
            total = sum(w for _, _, w in chosen)
            for partition, _, w in chosen:
                accepted = min(1.0, total / (total - w + present))
                matrix[s, number[partition]] += probability * w / total * accepted
                matrix[s, s] += probability * w / total * (1.0 - accepted)
    return matrix


def joint_deal(growing, labels, order, near, key, names=None, ahead=8):
    """The way of dealing that these bits stand for, as clusters outside of the block and then opened ones; log w.

    Without names, choices are drawn one after another; with a name for each cluster of points outside of the block, by
    the least exponential number over the probability.
    """
    outside = [[n for n in cluster if n not in order] for cluster in clusters(labels)]
    now = [cluster for cluster in outside if cluster]
    count, opened, log_w = len(now), [], 0.0
    gains = joint_gains(growing, now, order, near, ahead)
    for t, n in enumerate(order):
        p, total, boost = joint_choice(growing, now, n, gains[t], t == len(order) - 1)
        bits = bits_of(key, t)
        if names is None:
            k = draw(p, uniform_of(bits, 0) * sum(p))
        else:
            known = [names[k] if k < count else 3 * [*opened, t][k - count] + 2 for k in range(len(p))]
            k = min(range(len(p)), key=lambda k: -math.log(uniform_of(bits, known[k])) / p[k] if p[k] else math.inf)
        if now:
            log_w += total - (boost if k == len(now) else 0.0)
        if k == len(now):
            opened.append(t)
        now = put(now, k, n)
    return now, log_w
