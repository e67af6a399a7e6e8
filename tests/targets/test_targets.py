"""Targets: their conditional distributions against densities written down independently, and what they refuse."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import copartition as cp
import naive
import small


@pytest.mark.plain
@pytest.mark.parametrize("name", small.TARGETS)
def test_conditional_distribution_is_that_of_the_density(name):
    target, density = small.TARGETS[name]()
    states, distribution = naive.distribution(density, target.n_points)
    for state, probability in zip(states, distribution, strict=True):
        if probability > 0:
            for n in range(target.n_points):
                expected = naive.conditional(density, state, n)
                np.testing.assert_allclose(cp.kernels.conditional(target, state, n), expected, atol=1e-13)


@pytest.mark.plain
def test_conditional_does_not_depend_on_how_clusters_are_named():
    target, _ = small.scalar()
    assert np.array_equal(
        cp.kernels.conditional(target, [4, 4, 9, 9, 2], 1), cp.kernels.conditional(target, [0, 7, 1, 1, 2], 1)
    )


@pytest.mark.plain
def test_data_far_from_the_prior_get_correct_probabilities():
    # Log weights of about -1e5: computed with the naive density in units that do not overflow.
    data = np.array([500.0, 500.3, 501.0, -450.0])
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=1.0), cp.DirichletProcess(1.0))
    density = naive.GaussianMixture(data[:, None], np.eye(1), np.eye(1), np.zeros(1), 1.0)
    for state in naive.all_partitions(4):
        for n in range(4):
            expected = naive.conditional(density, state, n)
            np.testing.assert_allclose(cp.kernels.conditional(target, state, n), expected, rtol=1e-9, atol=1e-17)


@pytest.mark.plain
def test_a_large_offset_costs_no_digits():
    # The same data moved by 1e8 with a wide prior: cluster means are known to 1e-8 relative, probabilities too.
    data = np.array([0.0, 0.5, 3.0, 3.5])
    near = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=5.0), cp.DirichletProcess(1.0))
    far = cp.Mixture(data + 1e8, cp.Gaussian(noise_sd=1.0, mean_sd=5.0, mean=1e8), cp.DirichletProcess(1.0))
    for n in range(4):
        np.testing.assert_allclose(
            cp.kernels.conditional(far, [0, 0, 1, 1], n), cp.kernels.conditional(near, [0, 0, 1, 1], n), atol=1e-7
        )


@pytest.mark.plain
def test_duplicated_points_are_no_problem():
    data = np.zeros((6, 3))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=0.01, mean_sd=10.0), cp.DirichletProcess(1.0))
    distribution = cp.kernels.conditional(target, np.zeros(6, dtype=int), 0)
    assert np.all(np.isfinite(distribution))
    assert distribution.sum() == pytest.approx(1.0)
    assert distribution[0] > 0.99


def test_graph_forms_agree():
    graph = nx.petersen_graph()
    edges = np.array(graph.edges)
    matrix = nx.to_scipy_sparse_array(graph)
    targets = [cp.GraphColoring(g, 4) for g in (graph, edges, matrix, scipy.sparse.csr_matrix(matrix))]
    assert {target.n_points for target in targets} == {10}
    assert all(np.array_equal(target.edges, targets[0].edges) for target in targets)


def test_networkx_vertices_may_have_names_and_edge_lists_lonely_vertices():
    assert cp.GraphColoring(nx.Graph([("a", "b"), ("b", "c")]), 2).edges.tolist() == [[0, 1], [1, 2]]
    assert cp.GraphColoring([(0, 1)], 2, n_vertices=5).n_points == 5
    assert cp.GraphColoring(np.zeros((0, 2), dtype=int), 1, n_vertices=2).n_points == 2


def test_greedy_start_is_proper_and_a_given_start_may_use_fewer_colors():
    # A crown graph, numbered so that greedy colouring takes 4 colours where 2 are enough.
    edges = [(2 * i, 2 * j + 1) for i in range(4) for j in range(4) if i != j]
    sides = [n % 2 for n in range(8)]
    target = cp.GraphColoring(edges, colors=2, start=sides)
    assert target.start_labels("greedy").tolist() == sides
    with pytest.raises(ValueError, match="colors must be at least 4, which a greedy"):
        cp.GraphColoring(edges, colors=2)
    greedy = cp.GraphColoring(edges, colors=4).start_labels("greedy")
    assert greedy.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_greedy_start_goes_by_degree_where_the_order_of_vertices_takes_too_many_colors():
    path = [(0, 2), (2, 3), (3, 1)]  # its ends come first and get the same colour: three colours in all
    assert cp.GraphColoring(path, colors=3).start_labels("greedy").tolist() == [0, 0, 1, 2]
    assert cp.GraphColoring(path, colors=2).start_labels("greedy").tolist() == [0, 1, 1, 0]


GAUSSIAN = cp.Gaussian(noise_sd=1.0, mean_sd=1.0)
DP = cp.DirichletProcess(1.0)
NAN = math.nan


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cp.Mixture([1.0, NAN], GAUSSIAN, DP),
            "data must have an observed cell in every row, got none in row 1",
        ),
        (
            lambda: cp.Mixture([[1.0, 2.0], [3.0, np.inf]], GAUSSIAN, DP),
            "data must be finite, or NaN where not observed, got inf in row 1, column 1",
        ),
        (lambda: cp.Mixture([], GAUSSIAN, DP), "data must have at least one point and one column"),
        (lambda: cp.Mixture(np.zeros((3, 0)), GAUSSIAN, DP), "data must have at least one point and one column"),
        (lambda: cp.Mixture(np.zeros((2, 2, 2)), GAUSSIAN, DP), r"data must have 1 or 2 dimension\(s\)"),
        (lambda: cp.Mixture(3.0, GAUSSIAN, DP), r"data must have 1 or 2 dimension\(s\)"),
        (lambda: cp.Mixture(["a", "b"], GAUSSIAN, DP), "data must be an array of numbers"),
        (lambda: cp.Mixture([1.0], "gaussian", DP), "component must be a Component"),
        (lambda: cp.Mixture([1.0], GAUSSIAN, 1.0), "prior must be a prior"),
        (lambda: cp.Gaussian(noise_sd=0.0, mean_sd=1.0), "noise_sd must be positive, got 0.0"),
        (lambda: cp.Gaussian(noise_sd=1.0, mean_sd=-1.0), "mean_sd must be positive, got -1.0"),
        (lambda: cp.Gaussian(noise_sd=NAN, mean_sd=1.0), "noise_sd must be finite"),
        (lambda: cp.Gaussian(noise_sd=np.inf, mean_sd=1.0), "noise_sd must be finite"),
        (lambda: cp.Gaussian(noise_sd=1.0), "needs either mean_sd or mean_cov, got neither"),
        (lambda: cp.Gaussian(1.0, 1.0, noise_cov=[[1.0]]), "needs either noise_sd or noise_cov, got both"),
        (lambda: cp.Gaussian(1.0, 1.0, mean=NAN), "mean must be finite"),
        (lambda: cp.Mixture([[0.0, 1.0]], cp.Gaussian([1.0] * 3, 1.0), DP), "noise_sd must be a number or 2 numbers"),
        (lambda: cp.Mixture([[0.0, 1.0]], cp.Gaussian(1.0, 1.0, [1.0] * 3), DP), "mean must be a number or 2 numbers"),
        (
            lambda: cp.Mixture([[0.0, 1.0]], cp.Gaussian(noise_cov=[[1.0, 2.0], [0.0, 1.0]], mean_sd=1.0), DP),
            "noise_cov must be symmetric",
        ),
        (
            lambda: cp.Mixture([[0.0, 1.0]], cp.Gaussian(noise_cov=[[1.0, 2.0], [2.0, 1.0]], mean_sd=1.0), DP),
            "noise_cov must be positive definite",
        ),
        (
            lambda: cp.Mixture([[0.0, 1.0]], cp.Gaussian(noise_sd=1.0, mean_cov=np.eye(3)), DP),
            "mean_cov must be a 2 x 2 matrix",
        ),
        (lambda: cp.DirichletProcess(0.0), "alpha must be positive and finite, got 0.0"),
        (lambda: cp.DirichletProcess(-1), "alpha must be positive and finite, got -1"),
        (lambda: cp.DirichletProcess("one"), "alpha must be a positive number, got 'one'"),
        (lambda: cp.GraphColoring([(0, 1), (2, 2)], 3), "graph must have no self-loops, got one at vertex 2"),
        (lambda: cp.GraphColoring([(0, -1)], 3), "graph must name vertices 0, 1, ..., got vertex -1"),
        (lambda: cp.GraphColoring([(0.5, 1.0)], 3), "graph must be a networkx graph"),
        (lambda: cp.GraphColoring([], 3), "graph must have at least one vertex"),
        (lambda: cp.GraphColoring(scipy.sparse.csr_matrix((2, 3)), 3), "graph must be a square adjacency matrix"),
        (lambda: cp.GraphColoring([(0, 5)], 3, n_vertices=3), "n_vertices must be a whole number of at least 6"),
        (lambda: cp.GraphColoring([(0, 1)], 0), "colors must be a whole number of at least 1"),
        (lambda: cp.GraphColoring([(0, 1)], 1.5), "colors must be a whole number"),
        (lambda: cp.GraphColoring(nx.complete_graph(4), 3), "colors must be at least 4"),
        (lambda: cp.GraphColoring([(0, 1)], 3, start=[0, 0]), "start must be a proper colouring, but vertices 0 and 1"),
        (lambda: cp.GraphColoring([(0, 1)], 3, start=[0, 1, 2]), "start must hold 2 labels"),
        (lambda: cp.GraphColoring([(0, 1)], 3, start=[0.0, 1.0]), "start must hold whole numbers"),
        (
            lambda: cp.Target(np.zeros((0, 1)), small.scalar()[0].hooks.log_predictive),
            "points must have at least one row",
        ),
        (lambda: cp.Target(np.zeros((2, 1)), print), "log_predictive must be a function decorated"),
        (
            lambda: cp.kernels.conditional(small.scalar()[0], [0] * 5, 5),
            "n must be below the number of points, 5, got 5",
        ),
        (lambda: cp.kernels.conditional(small.scalar()[0], [0] * 4, 1), "labels must hold 5 labels"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_representations_say_what_was_asked_for():
    assert repr(small.coloring()[0]) == "GraphColoring(5 vertices, 4 edges, colors=4)"
    component = cp.Gaussian(noise_sd=np.array([1.0, 2.0]), mean_cov=np.eye(2), mean=np.float64(3))
    assert repr(component) == "Gaussian(noise_sd=[1.0, 2.0], mean_cov=[[1.0, 0.0], [0.0, 1.0]], mean=3.0)"


@pytest.mark.plain
@pytest.mark.parametrize("n_columns", [24, 30, 50])
def test_columns_of_zeros_change_nothing(monkeypatch, n_columns):
    """Padded loops are faster; the distribution, merges and densities are those of the columns that are there."""
    rng = np.random.default_rng(n_columns)
    data = rng.normal(0, 1, (9, n_columns))
    component, prior = cp.Gaussian(noise_sd=1.1, mean_sd=0.7, mean=0.2), cp.DirichletProcess(0.8)
    labels = [0, 0, 1, 1, 1, 2, 0, 2, 3]
    padded = cp.Mixture(data, component, prior)
    monkeypatch.setattr("copartition.targets.gaussian._padded", lambda columns: columns)
    plain = cp.Mixture(data, component, prior)
    assert padded.model.points.shape[1] % 32 == 0
    assert plain.model.points.shape[1] == n_columns
    for n in range(9):
        np.testing.assert_allclose(
            cp.kernels.conditional(padded, labels, n), cp.kernels.conditional(plain, labels, n), rtol=1e-11
        )
    full = cp.Mixture(data, cp.Gaussian(noise_cov=1.21 * np.eye(n_columns), mean_sd=0.7, mean=0.2), prior)
    np.testing.assert_allclose(
        cp.kernels.conditional(padded, labels, 4), cp.kernels.conditional(full, labels, 4), rtol=1e-9
    )


def test_columns_of_zeros_change_no_run(monkeypatch):
    rng = np.random.default_rng(5)
    data = rng.normal(0, 1, (40, 50)) + rng.normal(0, 0.5, (3, 50))[rng.integers(3, size=40)]
    component, prior = cp.Gaussian(noise_sd=1.0, mean_sd=0.5), cp.DirichletProcess(1.0)
    run = {"replicates": 20, "burn_in": 3, "min_sweeps": 20, "lag": 3, "seed": 2, "split_merge": 6}
    functionals = [cp.largest_clusters(3), cp.predictive_density(data[:2] + 0.1)]
    padded = cp.estimate(cp.Mixture(data, component, prior), functionals, **run)
    monkeypatch.setattr("copartition.targets.gaussian._padded", lambda columns: columns)
    plain = cp.estimate(cp.Mixture(data, component, prior), functionals, **run)
    assert np.array_equal(padded.meeting_times, plain.meeting_times)
    np.testing.assert_allclose(padded.values, plain.values, rtol=1e-9)


def test_only_columns_that_gain_are_padded():
    from copartition.targets.gaussian import _padded

    assert [_padded(n) for n in (1, 2, 10, 16, 23, 24, 31, 32, 33, 48, 49, 64, 100)] == (
        [1, 2, 10, 16, 23, 32, 32, 32, 33, 48, 64, 64, 100]
    )
