"""Block models: conditionals, sweeps and moves against the joint distribution of all partitions of six vertices."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from scipy.integrate import quad
from scipy.special import gammaln

import copartition as cp
import distributions
import naive
import naive_networks as nn
from conftest import JIT_DISABLED
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep, objection_to_moves
from copartition.core import in_place
from copartition.core.random import stream
from copartition.runs.defaults import bind, resolve
from plausible import chi_square_is_plausible, move_kernel, room_for
from small_networks import MULTIGRAPH, SIMPLE, SMALL

ORDER = [3, 1, 5, 0, 2, 4]


@pytest.fixture(params=SMALL, scope="module")
def case(request):
    target, network, log_size = SMALL[request.param]()
    states, distribution = naive.distribution(network, target.n_points)
    return target, network, log_size, states, distribution


# --- the distribution ------------------------------------------------------------------------------------------------


@pytest.mark.plain
def test_conditional_distributions_are_those_of_the_joint(case):
    target, network, _, states, _ = case
    for state in states:
        for n in range(target.n_points):
            np.testing.assert_allclose(
                cp.kernels.conditional(target, state, n), naive.conditional(network, state, n), atol=1e-13
            )


@pytest.mark.plain
def test_bernoulli_edges_beyond_the_table_have_the_same_distribution(monkeypatch):
    """Of large networks not all logs of Gamma are looked up; here those of more than four pairs are computed."""
    monkeypatch.setattr("copartition.targets.edges.TABLE", 5)
    target, network, _ = SMALL["bernoulli"]()
    assert target.model.table.shape == (3, 5)
    for state in ([0] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]):
        for n in range(6):
            np.testing.assert_allclose(
                cp.kernels.conditional(target, state, n), naive.conditional(network, state, n), atol=1e-13
            )


@pytest.mark.plain
def test_the_joint_is_invariant_under_a_sweep(case):
    target, _, _, states, distribution = case
    matrix = distributions.sweep_matrix(target, states)
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(distribution @ matrix - distribution).max() < 1e-12


@pytest.mark.plain
def test_log_density_and_log_likelihood_are_those_of_the_joint(case):
    target, network, _, states, _ = case
    ours = np.array([cp.kernels.log_density(target, state) for state in states])
    theirs = np.array([network.log_density(state) for state in states])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-10)


def integrated(labels, edges, rate, corrected):
    """The density of a network of three vertices by quadrature: shares of vertices, and means of edge counts."""
    blocks = sorted(set(labels))
    members = {r: [n for n in range(3) if labels[n] == r] for r in blocks}

    def shares(r, t):
        """Shares of the vertices of a block, by a point of the unit interval or square."""
        size = len(members[r])
        if not corrected or size == 1:
            return dict.fromkeys(members[r], 1.0 / size)
        cuts = [0.0, *sorted(t[: size - 1]), 1.0]
        return dict(zip(members[r], np.diff(cuts), strict=True))

    def given(theta):
        """The density given the shares, means integrated one pair of blocks after another."""
        total = 1.0
        for i, r in enumerate(blocks):
            for s in blocks[i:]:
                inside = {pair: n for pair, n in edges.items() if {labels[pair[0]], labels[pair[1]]} == {r, s}}

                def integrand(mean, r=r, s=s, inside=inside):
                    value = math.exp(-mean / rate) / rate
                    for a in members[r]:
                        for b in members[s]:
                            if r == s and b < a:
                                continue
                            each = theta[a] * theta[b] * mean * (2.0 if r == s and a != b else 1.0)
                            n = inside.get((min(a, b), max(a, b)), 0)
                            value *= math.exp(-each) * each**n / math.factorial(n)
                    return value

                total *= quad(integrand, 0.0, np.inf, epsabs=0.0, epsrel=1e-10)[0]
        return total

    sizes = {r: len(members[r]) for r in blocks}
    if not corrected or max(sizes.values()) == 1:
        return given({n: share for r in blocks for n, share in shares(r, ()).items()})
    nodes, weights = np.polynomial.legendre.leggauss(12)  # exact: polynomials in the shares times smooth factors
    nodes, weights = (nodes + 1.0) / 2.0, weights / 2.0
    largest = max(sizes.values())
    total = 0.0
    for places in itertools.product(range(12), repeat=largest - 1):
        if largest == 3:  # the unit square folded onto the triangle of two cuts
            u, v = nodes[places[0]], nodes[places[1]]
            cuts, jacobian = (u * v, v), 2.0 * v
        else:
            cuts, jacobian = (nodes[places[0]],), 1.0
        theta = {n: share for r in blocks for n, share in shares(r, cuts).items()}
        total += jacobian * np.prod(weights[list(places)]) * given(theta)
    return total


@pytest.mark.plain
@pytest.mark.parametrize("corrected", [True, False])
def test_the_log_likelihood_is_the_integral_over_all_parameters(corrected):
    """Means of edge counts are integrated by quadrature, shares of vertices by Gauss and Legendre: to 1e-8."""
    edges = {(0, 1): 2, (1, 2): 1, (0, 0): 1}
    listed = [pair for pair, count in edges.items() for _ in range(count)]
    target = cp.BlockModel(listed, rate=1.7, degree_corrected=corrected)
    prior = np.array([math.log(naive.process(state, 1.0)) for state in naive.all_partitions(3)])
    for state, log_prior in zip(naive.all_partitions(3), prior, strict=True):
        # log_density leaves out the normalising constant of the process, that of three points with alpha = 1.
        ours = cp.kernels.log_density(target, state) - (log_prior + math.log(6.0))
        assert ours == pytest.approx(math.log(integrated(state, edges, 1.7, corrected)), abs=1e-8)


def test_log_likelihood_is_estimated_like_any_functional():
    """Four standard errors: false alarm 6e-5."""
    target, network, _ = SMALL["corrected"]()
    states, distribution = naive.distribution(network, 6)
    # The log density of a partition has the log prior in it, up to the constant of a process of six points.
    constant = math.lgamma(6 + 0.8) - math.lgamma(0.8) - math.log(0.8)
    values = [cp.kernels.log_density(target, state) - network.log_prior(state) - constant for state in states]
    e = cp.estimate(target, cp.functionals.log_likelihood(), replicates=300, burn_in=10, min_sweeps=60, lag=5, seed=5)
    assert abs(float(e.mean[0]) - distribution @ values) < 4 * float(e.stderr[0])


@pytest.mark.parametrize("kind", ["corrected", "plain"])
def test_log_evidence_is_the_sum_over_all_partitions(kind):
    """Four standard errors: false alarm 6e-5."""
    target, _, _ = SMALL[kind]()
    found = cp.log_evidence(target, target_stderr=0.1, seed=2)
    assert found.stderr < 0.15
    assert abs(found.mean - nn.log_evidence(target)) < 4 * found.stderr


PRIORS = {
    "concentration unknown": cp.DirichletProcess(cp.Gamma(2.0, 4.0)),
    "Pitman-Yor": cp.PitmanYor(0.5, 0.3),
    "finite mixtures": cp.MixtureOfFiniteMixtures(0.8, scipy.stats.geom(0.3)),
    "finite": cp.FiniteMixture(3, 0.7),
}


@pytest.mark.plain
@pytest.mark.parametrize("name", PRIORS)
def test_any_prior_will_do(name):
    """Conditional distributions are ratios of densities, which come from other functions.

    Those of the likelihood and priors.
    """
    prior = PRIORS[name]
    target = cp.BlockModel(list(MULTIGRAPH), weight=list(MULTIGRAPH.values()), prior=prior, rate=1.7)
    most = 3 if name == "finite" else 6
    for state in naive.all_partitions(6)[::5]:
        if max(state) + 1 > most:
            continue
        for n in (0, 3, 4):
            logs = [
                cp.kernels.log_density(target, after) if max(after) + 1 <= most else -np.inf
                for after in naive.placements(state, n)
            ]
            weights = np.exp(np.array(logs) - max(logs))
            np.testing.assert_allclose(cp.kernels.conditional(target, state, n), weights / weights.sum(), atol=1e-12)


def test_a_number_of_the_prior_that_is_unknown_is_drawn_along():
    """Against the mean over its values, each enumerated: four standard errors, false alarm 6e-5 a component."""
    discount = cp.PitmanYor(0.8, cp.Beta(2.0, 3.0))
    target = cp.BlockModel(list(SIMPLE), edges="bernoulli", beta=(0.7, 1.4), prior=discount)
    grid = target.prior.unknown
    chance = np.zeros(7)
    for value, log_prior in zip(grid.values, grid.log_prior, strict=True):
        for state in naive.all_partitions(6):
            network = SMALL["bernoulli"]()[1]
            weight = naive.process(state, 0.8, value) * math.exp(network.log_of_edges(state) + log_prior)
            chance[max(state) + 1] += weight
    chance /= chance.sum()
    e = cp.estimate(target, cp.n_clusters(6), replicates=1500, burn_in=5, min_sweeps=40, lag=5, seed=3)
    assert np.abs((e.mean[:5] - chance[1:6]) / e.stderr[:5]).max() < 4.5


# --- moves -----------------------------------------------------------------------------------------------------------


def test_moves_are_reversible(case):
    """Exact: the flow from each partition to each other is the flow back, with all launches and all i and j."""
    _, network, log_size, states, distribution = case
    matrix = nn.move_matrix(network, log_size, states, ORDER, in_place.SCANS)
    flow = distribution[:, None] * matrix
    assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(flow - flow.T).max() < 1e-12


def test_a_wrong_acceptance_ratio_is_not_reversible():
    _, network, log_size = SMALL["corrected"]()
    states, distribution = naive.distribution(network, 6)
    flow = distribution[:, None] * nn.move_matrix(network, log_size, states, ORDER, in_place.SCANS, log_error=0.05)
    assert np.abs(flow - flow.T).max() > 1e-5


class Tempered:
    """A block model whose density of the edges is taken to a power."""

    def __init__(self, network, power):
        self.network, self.power = network, power

    def log_of_edges(self, labels):
        return self.power * self.network.log_of_edges(labels)

    def log_density(self, labels):
        return self.log_of_edges(tuple(labels)) + self.network.log_prior(labels)


@pytest.mark.plain
@pytest.mark.parametrize("power", [1.0, 0.4])
def test_the_compiled_move_is_its_twin(case, power, rng):
    target, network, log_size, states, distribution = case
    model, network = target.tempered(power).model, Tempered(network, power)
    room = room_for(target)
    possible = [state for state, p in zip(states, distribution, strict=True) if p > 0]
    outcomes = set()
    for _ in range(150):
        state = possible[rng.integers(len(possible))]
        order = rng.permutation(6).tolist()
        room.order[:] = order
        i, j = (int(n) for n in rng.choice(6, 2, replace=False))
        u, key = float(rng.uniform()), int(rng.integers(2**63))
        chain = chain_at(target, np.array(state))
        outcome = move_kernel(model, target.hooks, chain, room, i, j, u, key)
        expected = nn.move(
            network, log_size, state, i, j, u, order, lambda n, scan, key=key: naive.uniform_of(key, n + 6 * scan),
            in_place.SCANS,
        )  # fmt: skip
        assert naive.canonical(chain.labels.tolist()) == expected
        check_counts(target, chain)
        outcomes.add((outcome, state[i] == state[j]))
    assert {(0, True), (1, True), (0, False), (1, False)} <= outcomes


@pytest.mark.plain
def test_moves_are_those_of_the_twin_where_blocks_are_known(rng):
    known = [0, -1, -1, 0, 1, -1]
    pinned = [n for n, label in enumerate(known) if label >= 0]
    network = SMALL["corrected"]()[1]
    how = {"weight": list(MULTIGRAPH.values()), "rate": 1.7, "prior": cp.DirichletProcess(0.8)}
    target = cp.BlockModel(list(MULTIGRAPH), known=known, **how)
    possible = [state for state in naive.all_partitions(6) if state[0] == state[3] != state[4]]
    room = room_for(target)
    outcomes = set()
    for _ in range(250):
        state = possible[rng.integers(len(possible))]
        room.order[:] = rng.permutation(6)
        i, j = (int(n) for n in rng.choice(6, 2, replace=False))
        if i in pinned and j in pinned:
            continue
        u, key = float(rng.uniform()) ** 3, int(rng.integers(2**63))  # small ones: merges are rarely accepted
        chain = chain_at(target, np.array(state))
        outcome = move_kernel(target.model, target.hooks, chain, room, i, j, u, key)
        expected = nn.move(
            network, math.log, state, i, j, u, room.order.tolist(),
            lambda n, scan, key=key: naive.uniform_of(key, n + 6 * scan), in_place.SCANS, pinned,
        )  # fmt: skip
        assert naive.canonical(chain.labels.tolist()) == expected
        check_counts(target, chain)
        outcomes.add((outcome, state[i] == state[j], j in pinned))
    assert outcomes == set(itertools.product((0, 1), (True, False), (True, False)))


def check_counts(target, chain):
    """What a chain has counted is what can be counted from its labels."""
    count = int(chain.n_clusters[0])
    fresh = chain_at(target, cp.partition.canonical(chain.labels))
    order = cp.partition.canonical(chain.labels)
    rows = [int(chain.labels[np.flatnonzero(order == k)[0]]) for k in range(count)]
    assert chain.sizes[rows].tolist() == fresh.sizes[:count].tolist()
    assert chain.sums[rows, 0].tolist() == fresh.sums[:count, 0].tolist()
    slots, expected = chain.slots[rows], fresh.slots[:count]
    assert np.array_equal(chain.between[np.ix_(slots, slots)], fresh.between[np.ix_(expected, expected)])
    assert chain.between.sum() == fresh.between.sum()
    assert not chain.tally[0].any()


@pytest.mark.plain
@pytest.mark.parametrize("step", [BoundStep(), BoundStep(cp.Step(cp.couplings.Independent(), 3)), "default"])
def test_counts_are_right_after_steps(step):
    graph = nx.gnm_random_graph(40, 90, seed=2)
    target = cp.BlockModel(graph, rate=1.0)
    chosen = bind(target, resolve(target, cp.Step())) if step == "default" else step
    random = stream(4)
    chain = chain_at(target, np.zeros(40, dtype=np.int64))
    for _ in range(2 if JIT_DISABLED else 20):
        chain = advance_chain(target, chosen, chain, random, 7)
        check_counts(target, chain)


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("what", ["moves", "joint updates"])
def test_steps_lead_to_the_joint_distribution(kind, what):
    """From draws of the joint, a step with moves or updates leads to draws of the joint: chi-square, false alarm 1e-5.

    Every partition is stepped from as often as its probability says, so that the counts after the step have that
    distribution too.
    """
    target, network, _ = SMALL[kind]()
    states, distribution = naive.distribution(network, 6)
    step = cp.Step("path", 4) if what == "moves" else cp.Step("path", 0, cp.JointUpdates(3, least=2, most=4))
    step = bind(target, step)
    total = np.zeros(6**6, dtype=np.int64)
    draws = 200_000
    for s, (state, p) in enumerate(zip(states, distribution, strict=True)):
        count = round(draws * p)
        if count:
            total += distributions.counted_steps(target, state, step, stream(9, s), count)
    counts = total[distributions.codes(states)]
    assert counts.sum() == total.sum()
    started = np.array([round(draws * p) for p in distribution], dtype=float)
    assert chi_square_is_plausible(counts, started, 1e-5)


def test_two_chains_together_do_what_each_does_alone():
    """Coupled steps from two partitions against single steps from each: chi-square of two samples, false alarm 1e-5."""
    from scipy.stats import chi2_contingency

    target, network, _ = SMALL["corrected"]()
    states, _ = naive.distribution(network, 6)
    step = bind(target, cp.Step("path", 2, cp.JointUpdates(2, least=2, most=4)))
    x, y = (0, 0, 0, 1, 2, 2), (0, 0, 0, 0, 0, 0)
    draws = 60_000
    of_x, of_y, met = distributions.counted_pair_steps(target, step, x, y, stream(1), draws)
    assert 0 < met < draws
    for state, counts, seed in ((x, of_x, 2), (y, of_y, 3)):
        alone = distributions.counted_steps(target, state, step, stream(seed), draws)
        table = np.array([counts, alone])[:, distributions.codes(states)]
        often = table.sum(axis=0) >= 20
        table = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
        assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-5


@pytest.mark.parametrize("kind", SMALL)
def test_estimates_are_unbiased(kind):
    """Against enumeration: 40 components in all, four and a half standard errors, false alarm below 3e-4.

    One kind with starts that are annealed.
    """
    target, network, _ = SMALL[kind]()
    states, distribution = naive.distribution(network, 6)
    pairs = [(0, 1), (2, 3), (4, 4)] if kind != "bernoulli" else [(0, 1), (2, 3), (4, 5)]
    groups = (0, 0, 1, 1, 1, 0)
    functionals = [
        cp.n_clusters(),
        cp.co_clustering([0, 2, 5]),
        cp.functionals.edge_probability(pairs),
        cp.functionals.block_matrix(groups),
    ]
    init = cp.Start("annealed", levels=5) if kind == "corrected" else None
    e = cp.estimate(target, functionals, replicates=1500, burn_in=3, min_sweeps=20, lag=3, init=init, seed=11)
    exact = np.zeros(len(e.mean))
    for state, p in zip(states, distribution, strict=True):
        table = nn.block_matrix(network, state, groups)
        table += np.triu(table, 1).T
        values = [max(state) + 1, *naive.together(state, [(0, 2), (0, 5), (2, 5)])]
        values += [nn.expected_edges(network, state, u, v) for u, v in pairs]
        exact += p * np.array([*values, *table.ravel()])
    assert np.abs((e.mean - exact) / e.stderr).max() < 4.5


# --- functionals -----------------------------------------------------------------------------------------------------


def value_of(target, functional, state):
    """The value of a functional at a partition."""
    from copartition.functionals.base import bind_all, evaluate_at

    target, functionals = bind_all(target, [functional])
    return evaluate_at(target.model, target.hooks, functionals, chain_at(target, np.array(state)))


@pytest.mark.plain
def test_expected_edges_are_those_of_the_naive_formula(case):
    target, network, _, states, _ = case
    pairs = list(itertools.combinations_with_replacement(range(6), 2))
    groups = (0, 1, 1, 2, 0, 2)
    for state in states[::7]:
        expected = [nn.expected_edges(network, state, u, v) for u, v in pairs]
        np.testing.assert_allclose(
            value_of(target, cp.functionals.edge_probability(pairs), state), expected, rtol=1e-12
        )
        table = nn.block_matrix(network, state, groups)
        table += np.triu(table, 1).T
        np.testing.assert_allclose(
            value_of(target, cp.functionals.block_matrix(groups), state), table.ravel(), rtol=1e-12
        )


@pytest.mark.plain
def test_expected_edges_of_blocks_add_up_to_their_posterior_means():
    target, network, _ = SMALL["corrected"]()
    state = (0, 0, 1, 1, 1, 2)
    matrix = value_of(target, cp.functionals.block_matrix(state), state).reshape(3, 3)
    for r, s in itertools.combinations_with_replacement(range(3), 2):
        assert matrix[r, s] == pytest.approx((network.count(state, r, s) + 1) * 1.7 / 2.7)


def test_edges_that_were_hidden_are_expected_more_than_those_that_are_not_there():
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1], 15)
    pairs = list(itertools.combinations(range(30), 2))
    edges = [p for p in pairs if rng.uniform() < (0.5 if groups[p[0]] == groups[p[1]] else 0.05)]
    hidden = edges[::8]
    absent = [p for p in pairs if p not in edges][:: len(pairs) // 40]
    target = cp.BlockModel([p for p in edges if p not in hidden], n_vertices=30)
    e = cp.estimate(
        target, cp.functionals.edge_probability([*hidden, *absent]), replicates=60, burn_in=30, min_sweeps=150, lag=30
    )
    score = e.mean
    assert np.mean([a > b for a in score[: len(hidden)] for b in score[len(hidden) :]]) > 0.7


# --- graphs as people have them --------------------------------------------------------------------------------------


def test_forms_of_a_multigraph_agree():
    edges = [pair for pair, count in MULTIGRAPH.items() for _ in range(count)]
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(edges)
    weighted = nx.Graph()
    weighted.add_nodes_from(range(6))
    weighted.add_weighted_edges_from([(a, b, count) for (a, b), count in MULTIGRAPH.items()])
    matrix = nx.to_scipy_sparse_array(weighted)
    targets = [
        cp.BlockModel(edges),
        cp.BlockModel([(b, a) for a, b in edges][::-1], n_vertices=6),
        cp.BlockModel(list(MULTIGRAPH), weight=list(MULTIGRAPH.values())),
        cp.BlockModel(graph),
        cp.BlockModel(weighted, weight="weight"),
        cp.BlockModel(matrix, weight=True),
        cp.BlockModel(scipy.sparse.triu(matrix), weight=True),
        cp.BlockModel(matrix.astype(float), weight=True),
    ]
    assert len({target.fingerprint for target in targets}) == 1
    assert targets[0].n_edges == sum(MULTIGRAPH.values())
    assert targets[0].graph.degrees.tolist() == nn.Network(6, MULTIGRAPH, "corrected").degrees


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cp.BlockModel(nx.DiGraph([(0, 1)])), "graph must be undirected, got .*to_undirected"),
        (lambda: cp.BlockModel([(0, 1)], rate=0.0), "rate must be positive and finite, got 0.0"),
        (lambda: cp.BlockModel([(0, 1)], edges="binomial"), "edges must be 'poisson' or 'bernoulli', got 'binomial'"),
        (lambda: cp.BlockModel([(0, 0)], edges="bernoulli"), "no self-loops for edges='bernoulli', .* at vertex 0"),
        (lambda: cp.BlockModel([(0, 1), (1, 0)], edges="bernoulli"), "at most one edge .* got 2 between 0 and 1"),
        (lambda: cp.BlockModel([(0, 1)], edges="bernoulli", rate=1.0), "rate goes with edges='poisson', got 1.0"),
        (lambda: cp.BlockModel([(0, 1)], True), "n_vertices must be a whole number"),
        (
            lambda: cp.BlockModel([(0, 1)], degree_corrected=True, edges="bernoulli"),
            "degree_corrected goes with edges='poisson'",
        ),
        (lambda: cp.BlockModel([(0, 1)], beta=2.0), "beta must be two positive numbers, got 2.0"),
        (lambda: cp.BlockModel([(0, 1)], beta=(2.0, 1.0)), "beta goes with edges='bernoulli'"),
        (lambda: cp.BlockModel([(0, 1)], weight=[1.5]), "weight must be a one-dimensional array of whole numbers"),
        (lambda: cp.BlockModel([(0, 1)], weight=[1, 2]), "weight must have a number for each of the 1 edges, got 2"),
        (lambda: cp.BlockModel([(0, 1)], weight=[-1]), "weight must be 0, 1, 2, ... for every edge, got -1"),
        (lambda: cp.BlockModel([(0, 1)], weight=[2**62]), "weight must be at most"),
        (lambda: cp.BlockModel([(0, 1), (1, 2)], weight=[2**27 + 1, 2**27]), "graph must have at most .* edges"),
        (lambda: cp.BlockModel(scipy.sparse.csr_array([[0, 3], [3, 0]])), "weight must be True where .* an entry of 3"),
        (lambda: cp.BlockModel(scipy.sparse.csr_array([[0, 2], [3, 0]]), weight=True), "symmetric .* another number"),
        (lambda: cp.BlockModel(nx.path_graph(3), weight="length"), "weight must be an attribute of every edge"),
        (lambda: cp.BlockModel(nx.path_graph(3), kinds="side"), "kinds must say something of every node, .* of 0"),
        (lambda: cp.BlockModel(nx.path_graph(3), known={7: 1}), "known must be about nodes of the graph, got 7"),
        (lambda: cp.BlockModel([(0, 1)], known={0: 1}), "known must have one entry for each vertex where graph has no"),
        (lambda: cp.functionals.edge_probability([]), "pairs must be one or more pairs of nodes"),
        (lambda: cp.functionals.edge_probability([3]), "pairs must be one or more pairs of nodes"),
        (lambda: cp.functionals.block_matrix([[0, 1]]), "reference must be an array of labels"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_sentence(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("functional", "message"),
    [
        (cp.functionals.edge_probability([("a", 9)]), "pairs must be of nodes of the network, got 9"),
        (cp.functionals.block_matrix([0, 1]), "reference must have 3 labels, one a vertex, got 2"),
    ],
)
def test_functionals_of_other_networks_are_refused(functional, message):
    with pytest.raises(ValueError, match=message):
        functional.bind(cp.BlockModel(nx.Graph([("a", "b"), ("b", "c")])))
    with pytest.raises(TypeError, match="needs a target with edges, such as BlockModel"):
        functional.bind(cp.GraphColoring([(0, 1)], 2))


def test_the_rate_that_is_left_out_expects_the_edges_of_as_many_blocks_as_the_prior():
    graph = nx.karate_club_graph()
    prior = cp.DirichletProcess(1.0)
    blocks = prior.expected_clusters(34)
    assert cp.BlockModel(graph).rate == pytest.approx(78 / (blocks * (blocks + 1) / 2))
    assert cp.BlockModel(graph, prior=cp.FiniteMixture(1, 1.0)).rate == pytest.approx(78)

    class Uniform:
        """Every partition is as likely as any other: no method tells how many clusters it expects."""

        def log_size(self, n_points):
            return np.zeros(n_points + 1)

        def log_new(self, n_points):
            return np.zeros(1)

    # The expected number of blocks of a uniform partition of n points is B(n + 1) / B(n) - 1, B the Bell numbers.
    bell = [1, 1, 2, 5, 15, 52, 203]
    blocks = bell[6] / bell[5] - 1
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert cp.BlockModel(edges, prior=Uniform()).rate == pytest.approx(4 / (blocks * (blocks + 1) / 2))


@pytest.mark.plain
def test_vertices_without_edges_and_graphs_without_any_are_no_problem():
    lonely = cp.BlockModel([(0, 1)], n_vertices=4)
    assert cp.kernels.conditional(lonely, [0, 0, 1, 1], 3).sum() == pytest.approx(1.0)
    empty = cp.BlockModel(np.zeros((0, 2), dtype=int), n_vertices=3)
    assert np.isfinite(cp.kernels.log_density(empty, [0, 1, 1]))


# --- hooks -----------------------------------------------------------------------------------------------------------


def test_near_vertices_are_those_that_paths_lead_to():
    # Two triangles that are joined, and a vertex on its own.
    target = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)], n_vertices=7)
    everyone = np.arange(7)
    near = target.nearest(everyone, everyone, 4)
    matrix = nx.to_numpy_array(nx.Graph(target.graph.edges.tolist()), nodelist=range(6))
    degrees = matrix.sum(axis=0)
    score = matrix / np.outer(degrees, degrees) + matrix / degrees @ matrix / np.outer(degrees, degrees)
    for n in range(6):
        listed = [m for m in near[n].tolist() if m >= 0]
        others = [m for m in range(6) if m != n and score[n, m] > 0]
        assert listed == sorted(others, key=lambda m, n=n: (-score[n, m], m))[:4]
    assert near[6].tolist() == [-1] * 4


@cp.kernels.log_odds
def crooked_odds(model, chain, a, b, n):
    """Not what the conditional distribution says."""
    return 0.1


@cp.kernels.log_merge
def crooked_merge(model, chain, a, b):
    """Not what the conditional distribution says."""
    return 0.1


@pytest.mark.plain
def test_promises_of_targets_are_tried_before_the_first_move():
    target = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)])
    assert objection_to_moves(target) == ""
    for distribution, message in (
        (target.hooks._replace(log_odds=crooked_odds), "log_odds are not the differences"),
        (target.hooks._replace(log_merge=crooked_merge), "log_merge is not what"),
    ):
        broken = cp.BlockModel([(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)])
        broken.hooks = distribution
        assert message in objection_to_moves(broken)
        with pytest.raises(ValueError, match=f"split_merge must be 0 .*{message}"):
            cp.meeting_times(broken, split_merge=1)


def test_what_network_people_get_of_a_consensus():
    graph = nx.Graph([("a", "b"), ("a", "c"), ("b", "c"), ("d", "e"), ("d", "f"), ("e", "f"), ("g", "d"), ("g", "e")])
    posterior = cp.BlockModel(graph, rate=1.0)
    c = cp.consensus(posterior, replicates=30, seed=2)
    communities = c.communities()
    assert sorted(map(sorted, communities)) == [["a", "b", "c"], ["d", "e", "f", "g"]]
    assert [len(one) for one in communities] == [4, 3]
    found = c.to_dict()
    assert list(found) == list(graph.nodes)
    assert found["a"] == (int(c.labels[0]), float(c.belongs[0]))
    e = cp.estimate(posterior, cp.co_clustering(), replicates=50, burn_in=5, min_sweeps=40, lag=5, seed=1)
    frame = cp.consensus(e).similarity_frame()
    assert frame.loc["a", "b"] == e.mean[0]
    assert e.components[0] == "together[a, b]"
    assert list(frame.index) == list(graph.nodes)


def test_the_same_bits_in_other_processes_and_after_an_interruption(tmp_path):
    posterior = cp.BlockModel(nx.karate_club_graph(), known={0: "Mr. Hi", 33: "Officer"})
    functionals = [cp.n_clusters(), cp.functionals.edge_probability([(0, 33)])]
    how = {"burn_in": 5, "min_sweeps": 20, "lag": 5, "seed": 2}
    here = cp.estimate(posterior, functionals, replicates=12, **how)
    elsewhere = cp.estimate(posterior, functionals, replicates=12, executor="processes", **how)
    store = tmp_path / "karate.sqlite"
    cp.estimate(posterior, functionals, replicates=5, store=store, **how)
    resumed = cp.estimate(posterior, functionals, replicates=12, store=store, **how)
    assert np.array_equal(here.values, elsewhere.values)
    assert np.array_equal(here.values, resumed.values)
    other = cp.BlockModel(nx.karate_club_graph(), known={0: "Mr. Hi", 32: "Officer"})
    with pytest.raises(cp.errors.StoreError, match="belongs to another run: fingerprint is"):
        cp.estimate(other, functionals, replicates=12, store=store, **how)


@pytest.mark.plain
def test_nodes_that_are_numbers_stay_numbers():
    graph = nx.Graph([(10, 20), (20, 30), (10, 30)])
    posterior = cp.BlockModel(graph)
    e = cp.estimate(posterior, cp.co_clustering(), replicates=10, burn_in=2, min_sweeps=10, lag=2)
    assert set().union(*cp.consensus(e).communities()) == {10, 20, 30}
    assert cp.functionals.edge_probability([(10, 30)]).bind(posterior)[1].components == ["edge[10, 30]"]


def test_starts_with_too_many_blocks_are_refused(monkeypatch):
    from copartition.core import room

    monkeypatch.setattr(room, "MOST_COUNTED", 40)
    target = cp.BlockModel(nx.path_graph(50))
    with pytest.raises(ValueError, match="must have fewer than 40 of them, got room for 64; start from fewer clusters"):
        cp.meeting_times(target, init="singletons", replicates=1, coupling="path")


def test_logs_of_factorials_reach_as_far_as_they_are_looked_up():
    target = cp.BlockModel([(0, 1)] * 5 + [(1, 1)] * 3)
    table = target.model.table[0]
    # All degrees and vertices in one block, and one more: degrees + vertices - 1 and all edges.
    assert len(table) >= 2 * 8 + 2
    np.testing.assert_allclose(table, gammaln(np.arange(len(table)) + 1.0))
