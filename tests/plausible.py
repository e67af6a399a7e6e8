"""What tests of chains and pairs share: counts that are plausible, overlaps that are right, targets to move in."""

from __future__ import annotations

import numpy as np

import copartition as cp
import naive
import small
from copartition.core import in_place, split_merge
from copartition.core.batch import new_progress
from copartition.core.compiling import kernel
from copartition.core.room import grown_pair, room_for_moves
from copartition.core.state import Chain, Coupled, Hooks, Model, Pair, SplitMerge, Stepper
from copartition.core.steps import step_together
from copartition.core.types import DONE, float64, int1, int64, uint1, uint64


def chi_square(counts, expected):
    """The statistic, infinite if what cannot be was drawn, and its degrees of freedom; rare cells are pooled."""
    rare = expected < 10
    pooled = np.r_[expected[~rare], expected[rare].sum()]
    observed = np.r_[counts[~rare], counts[rare].sum()]
    keep = pooled > 0
    statistic = np.sum((observed[keep] - pooled[keep]) ** 2 / pooled[keep])
    return statistic if observed[~keep].sum() == 0 else np.inf, keep.sum() - 1


def chi_square_is_plausible(counts, expected, false_alarm):
    """Test a distribution."""
    from scipy.stats import chi2

    return chi2.sf(*chi_square(counts, expected)) > false_alarm


def all_are_plausible(counts, expected, false_alarm):
    """Test many distributions at once.

    Statistics are added up, so that a small mistake is seen which all of them share.
    """
    from scipy.stats import chi2

    statistics, degrees = zip(*(chi_square(*one) for one in zip(counts, expected, strict=True)), strict=True)
    return chi2.sf(sum(statistics), sum(degrees)) > false_alarm


def mixture(rng, n_points, alpha=1.0):
    data = rng.normal(0, 2, (n_points, 2))
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=2.0), cp.DirichletProcess(alpha))
    return target, naive.IsotropicMixture(data, 1.0, 2.0, alpha)


def assert_overlap_counts_are_right(target, pair):
    """Everything that is kept up to date move by move equals what counting from the labels gives."""
    for chain in (pair.x, pair.y):
        count = chain.n_clusters[0]
        sizes = np.bincount(chain.labels, minlength=len(chain.sizes))
        assert chain.sizes.tolist() == sizes.tolist()
        if not target.model.palette:
            assert np.all(sizes[:count] > 0)
        sums = np.zeros_like(chain.sums)
        np.add.at(sums, chain.labels, target.model.points[:, : target.model.n_summed])
        np.testing.assert_allclose(chain.sums, sums, atol=1e-9)
        assert sorted(chain.slots) == list(range(len(chain.slots)))
        assert chain.rows[chain.slots].tolist() == list(range(len(chain.slots)))
    assert_overlaps_are_right(pair)
    assert pair.distance[0] == naive.hamming(pair.x.labels, pair.y.labels)


def assert_overlaps_are_right(pair):
    """The lists of rows and those of columns both hold the cells of a recount, and every point knows its own."""
    o = pair.overlaps
    expected = naive.overlaps(pair.x.labels.tolist(), pair.y.labels.tolist())
    of_cell = {}
    for first, following, before, own in (
        (o.first_in_row, o.next_in_row, o.before_in_row, o.row),
        (o.first_in_column, o.next_in_column, o.before_in_column, o.column),
    ):
        found = {}
        for slot, cell in enumerate(first.tolist()):
            last = -1
            while cell >= 0:
                assert own[cell] == slot
                assert before[cell] == last
                place = (int(pair.x.rows[o.row[cell]]), int(pair.y.rows[o.column[cell]]))
                assert place not in found
                found[place] = int(o.shared[cell])
                of_cell[cell] = place
                last, cell = cell, int(following[cell])
        assert found == expected
    assert [of_cell[cell] for cell in o.cell_of.tolist()] == [*zip(pair.x.labels, pair.y.labels, strict=True)]
    free = []
    cell = int(o.free[0])
    while cell >= 0:
        free.append(cell)
        cell = int(o.next_in_row[cell])
    assert sorted([*free, *of_cell]) == list(range(o.used[0]))  # no cell is lost


@kernel(int64(Hooks, Pair, Stepper, Coupled, uint1, int1))
def step_once(hooks, pair, stepper, coupled, random, progress):
    return step_together(hooks, pair, stepper, coupled, random, progress)


def one_more(target, step, pair, random):
    """One coupled step, also of a pair that has met."""
    arguments = (step.stepper(target), step.coupled(target), random, new_progress())
    while step_once(target.hooks, pair, *arguments) != DONE:
        pair = grown_pair(pair)
    return pair


WITH_LOG_MERGE = ["scalar", "diagonal", "full", "proportional", "wishart", "gaps", "mixed"]


MIXTURES = [*WITH_LOG_MERGE, "bernoulli"]


@kernel(int64(Model, Hooks, Chain, SplitMerge, int64, int64, float64, uint64))
def move_kernel(model, hooks, chain, room, i, j, u, key):
    return room.move(model, hooks, chain, room, i, j, u, key)


def room_for(target, guides=()):
    """Room for one split-merge move; guides are clusterings."""
    move = in_place.move_in_place if target.hooks.in_place else split_merge.move_beside
    if not len(guides):
        return room_for_moves(target.model, move, 1)
    apart = np.array(guides) + np.arange(len(guides))[:, None] * target.n_points  # numbers of their own
    return room_for_moves(target.model, move, 1, guides=np.ascontiguousarray(apart.T, dtype=np.int32))


def four_points(name):
    if name == "scalar":
        data = small.DATA_1D[:4]
        target = cp.Mixture(data, cp.Gaussian(noise_sd=0.8, mean_sd=1.7, mean=0.3), cp.DirichletProcess(0.9))
        density = naive.GaussianMixture(data[:, None], np.eye(1) * 0.64, np.eye(1) * 1.7**2, np.array([0.3]), 0.9)
        return target, density
    if name == "wishart":
        _, density = small.wishart()
        density.alpha = 0.9
        component = cp.NormalInverseWishart([0.3, -0.2], 0.4, 3.7, small.SPREAD)
        return cp.Mixture(small.DATA_2D[:4], component, cp.DirichletProcess(0.9)), density
    from bernoulli import Bernoulli

    target = cp.Mixture(small.YES_NO[:4], Bernoulli(0.5, 1.5), cp.DirichletProcess(1.1))
    return target, naive.Bernoulli(small.YES_NO[:4], 0.5, 1.5, 1.1)


def assert_chain_is_right(target, chain):
    """Sizes, number and sums of clusters equal what counting from the labels gives."""
    sizes = np.bincount(chain.labels, minlength=len(chain.sizes))
    assert chain.sizes.tolist() == sizes.tolist()
    assert chain.n_clusters[0] == chain.labels.max() + 1
    sums = np.zeros_like(chain.sums)
    np.add.at(sums, chain.labels, target.model.points[:, : target.model.n_summed])
    np.testing.assert_allclose(chain.sums, sums, atol=1e-9)
