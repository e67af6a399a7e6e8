"""Overlap counts of a pair: lists of cells against a recount, in memory that grows with points, not clusters."""

from __future__ import annotations

import numpy as np
import pytest

import copartition as cp
import small
from conftest import JIT_DISABLED
from copartition.chains.chain import chain_at
from copartition.chains.start import couple
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.room import grown_pair
from copartition.core.steps import count_pair
from plausible import assert_overlap_counts_are_right, assert_overlaps_are_right, mixture, one_more

COUPLINGS = {
    "independent": (0, cp.couplings.Independent()),
    "transport": (2, cp.Transport()),
    "matched": (2, cp.couplings.Matched()),
    "path": (4, cp.couplings.Path(reach=60)),
}


def ring(rng, n_points):
    """Colourings of a random graph: clusters keep their numbers, and may be empty."""
    edges = np.argwhere(np.triu(rng.random((n_points, n_points)) < 4 / n_points, 1))
    return cp.GraphColoring(edges, colors=9, n_vertices=n_points)


@pytest.mark.plain
@pytest.mark.parametrize("name", COUPLINGS)
@pytest.mark.parametrize("start", ["singletons", "one cluster", "coloring"])
def test_lists_agree_with_a_recount(name, start, rng):
    """Thousands of updates, births and deaths, split-merge moves and growth, none of which loses or doubles a cell."""
    n_points, sweeps = (9, 2) if JIT_DISABLED else (60, 60)
    split_merge, coupling = COUPLINGS[name]
    if start == "coloring":
        target, split_merge = ring(rng, n_points), 0
        labels = [target.start_labels("greedy")] * 2
    else:
        target, _ = mixture(rng, n_points, alpha=20.0)
        labels = [np.arange(n_points) * (start == "singletons"), np.zeros(n_points, dtype=np.int64)]
    pair = couple(target, coupling, *[chain_at(target, target.check_labels(one)) for one in labels])
    count_pair(pair)
    random = stream(5, 1)
    rows = len(pair.x.sizes)
    for _ in range(sweeps):
        pair = one_more(target, BoundStep(cp.Step(coupling, split_merge)), pair, random)
        assert_overlap_counts_are_right(target, pair)
    assert start != "one cluster" or JIT_DISABLED or len(pair.x.sizes) > rows  # more than the first arrays held


@pytest.mark.plain
def test_lists_go_on_in_larger_arrays(rng):
    """Cells of a pair that grows stay where they are, those given back too."""
    target, _ = mixture(rng, 30, alpha=5.0)
    pair = couple(target, cp.couplings.Matched(), *[chain_at(target, np.arange(30) % rows) for rows in (15, 4)])
    count_pair(pair)
    random = stream(5, 2)
    for _ in range(1 if JIT_DISABLED else 5):
        pair = one_more(target, BoundStep(cp.Step(cp.couplings.Matched(), 0)), pair, random)
    if pair.overlaps.free[0] < 0:
        pytest.fail("no cell was given back: another seed is needed")
    larger = grown_pair(pair)
    assert_overlaps_are_right(larger)
    for name in ("cell_of", "row", "column", "shared", "free", "used"):
        assert getattr(larger.overlaps, name).tolist() == getattr(pair.overlaps, name).tolist()


def hyperparameters_in(value):
    """How many numbers the arrays of a tuple hold, those of tuples in it included."""
    if isinstance(value, np.ndarray):
        return value.size
    return sum(hyperparameters_in(one) for one in value) if isinstance(value, tuple) else 1


@pytest.mark.plain
@pytest.mark.parametrize("coupling", ["transport", "path"])
def test_a_pair_from_singletons_takes_memory_in_proportion_to_its_points(coupling):
    per_point = []
    for n_points in (200, 20_000):
        target = cp.Mixture(np.arange(n_points) * 1.0, cp.Gaussian(noise_sd=1.0, mean_sd=9.0), cp.DirichletProcess(1.0))
        x, y = (chain_at(target, target.start_labels(start)) for start in ("singletons", "singletons"))
        pair = couple(target, small.COUPLINGS[coupling], x, y)
        per_point.append(hyperparameters_in(pair) / n_points)
    assert per_point[1] <= per_point[0] < 150
    count_pair(pair)
    assert pair.distance[0] == 0
    assert pair.overlaps.used[0] == n_points
