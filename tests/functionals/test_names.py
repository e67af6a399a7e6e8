"""Names of components that are made when they are asked for: as if there were a list of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import copartition as cp
import small
from copartition.names import Names, pair_at


@pytest.mark.parametrize("count", [2, 3, 4, 7, 60])
def test_pairs_are_in_the_order_of_numpy(count):
    expected = list(zip(*np.triu_indices(count, 1), strict=True))
    assert [pair_at(place, count) for place in range(len(expected))] == expected


@pytest.mark.parametrize("count", [10**9 + 7, 94_906_267, 100_000])
def test_pairs_of_very_many_points(count):
    """Far beyond what a square root in floating point can tell apart."""
    place = 0
    for row in (0, 1, count // 3, count - 3, count - 2):
        place = row * count - row * (row + 1) // 2  # where the row begins
        assert pair_at(place, count) == (row, row + 1)
        assert pair_at(place + count - row - 2, count) == (row, count - 1)
        if row:
            assert pair_at(place - 1, count) == (row - 1, count - 1)


def every_kind():
    return Names(
        [
            {"name": "n_clusters", "size": 1},
            {"name": "largest", "size": 2},
            {"name": "co_clustering", "size": 3, "points": np.array([7, 5, 6])},
            {"name": "co_clustering", "size": 2, "pairs": np.array([[0, 4], [2, 1]])},
            {"name": "memberships", "size": 4, "partition": np.array([0, 1])},
            {"name": "density", "size": 2, "components": ["at 0", "at 1"]},
            {"name": "co_clustering", "size": 1, "points": [1, 0], "names": ["Ann", "Bob"]},
        ]
    )


EXPECTED = [
    "n_clusters",
    "largest[0]",
    "largest[1]",
    "together[7, 5]",
    "together[7, 6]",
    "together[5, 6]",
    "together[0, 4]",
    "together[2, 1]",
    "with[0, cluster 0]",
    "with[0, cluster 1]",
    "with[1, cluster 0]",
    "with[1, cluster 1]",
    "at 0",
    "at 1",
    "together[Bob, Ann]",
]


def test_they_are_as_good_as_a_list():
    names = every_kind()
    assert list(names) == EXPECTED
    assert [names[i] for i in range(len(EXPECTED))] == EXPECTED
    assert [names[i] for i in range(-len(EXPECTED), 0)] == EXPECTED
    for part in (slice(None), slice(2, 5), slice(-3, None), slice(None, None, -2), slice(5, 5), slice(90, 99)):
        assert names[part] == EXPECTED[part]
    for beyond in (len(EXPECTED), -len(EXPECTED) - 1):
        with pytest.raises(IndexError):
            names[beyond]
    assert names == EXPECTED
    assert names == tuple(EXPECTED)
    assert names == every_kind()
    assert names == EXPECTED
    assert names != EXPECTED[:-1]
    assert names != [*EXPECTED[:-1], "other"]
    assert names != "n_clusters"
    assert names.index("at 1") == 13
    assert "together[7, 6]" in names
    assert pickle.loads(pickle.dumps(names)) == EXPECTED
    with pytest.raises(TypeError, match="unhashable"):
        hash(names)
    assert repr(names) == "['n_clusters', 'largest[0]', 'largest[1]', ... 15 in all]"
    assert repr(Names([{"name": "h", "size": 1}])) == "['h']"


def test_names_of_points_are_those_of_the_graph(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("a", "b"), ("b", "c")])
    wanted = [cp.co_clustering(keep_values=False), cp.co_clustering(pairs=[[2, 0]])]
    target = cp.GraphColoring(graph, colors=4)
    e = cp.estimate(target, wanted, replicates=2, burn_in=0, min_sweeps=1, lag=1, store=tmp_path / "run.db")
    names = ["together[a, b]", "together[a, c]", "together[b, c]", "together[c, a]"]
    assert e.components == names
    assert cp.Estimate.load(tmp_path / "run.db").components == names


def test_components_of_a_run_are_such_names():
    e = cp.estimate(small.scalar()[0], [cp.n_clusters(), cp.co_clustering([4, 2])], replicates=2, min_sweeps=101)
    assert isinstance(e.components, Names)
    assert e.components == ["n_clusters", "together[4, 2]"]
