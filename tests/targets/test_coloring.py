"""Graphs as people have them: names of nodes, directions, adjacency matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse

import copartition as cp

SQUARE = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


def test_directed_graphs_are_refused():
    with pytest.raises(ValueError, match=r"graph must be undirected, got .*DiGraph.*to_undirected"):
        cp.GraphColoring(nx.DiGraph(SQUARE), colors=3)
    one_way = scipy.sparse.csr_array(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    with pytest.raises(ValueError, match="symmetric adjacency matrix, or a triangle of it, got an edge from 0 to 1"):
        cp.GraphColoring(one_way, colors=3)


def test_symmetric_matrices_and_triangles_are_the_same_graph():
    full = nx.to_scipy_sparse_array(nx.cycle_graph(5))
    expected = cp.GraphColoring(full, colors=3).edges
    for triangle in (scipy.sparse.triu(full), scipy.sparse.tril(full)):
        assert np.array_equal(cp.GraphColoring(triangle, colors=3).edges, expected)


@pytest.mark.plain
def test_names_of_nodes_are_kept():
    target = cp.GraphColoring(nx.Graph(SQUARE), colors=3)
    assert target.names == ["a", "b", "c", "d"]
    e = cp.estimate(target, cp.co_clustering(), replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1)
    assert e.components[0] == "together[a, b]"
    assert e.mean[0] == 0.0
    assert e.functionals[0]["names"] == ["a", "b", "c", "d"]
    assert cp.GraphColoring([(0, 1)], colors=2).names is None


@pytest.mark.plain
@pytest.mark.parametrize("target", [cp.Mixture([0.0, 1.0], cp.Gaussian(1.0, 3.0), cp.DirichletProcess(1.0))])
def test_a_start_that_a_target_does_not_have_is_refused_with_those_that_it_has(target):
    with pytest.raises(ValueError, match="got 'greedy'") as caught:
        cp.meeting_times(target, lag=1, init="greedy")
    assert str(caught.value).count("'greedy'") == 1
    for name in ("one_cluster", "singletons", "prior", "sequential"):
        assert repr(name) in str(caught.value)
    with pytest.raises(ValueError, match=r"'greedy'.*got 'nowhere'"):
        cp.meeting_times(cp.GraphColoring([(0, 1)], colors=3), init="nowhere")
