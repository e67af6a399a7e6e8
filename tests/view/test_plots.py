"""Plots: what is drawn, where, and with which labels."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot

import copartition as cp
import naive
from copartition import plots
from copartition.view import palette
from made_up import estimate_from, of_draws, pairs, random_pairs


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()  # what cannot be drawn fails here
    pyplot.close(figure)


def density_estimate():
    grid = np.linspace(-1, 1, 11)
    values = np.random.default_rng(1).normal(0.5, 0.1, (50, 11))
    about = {"name": "predictive_density", "size": 11, "grid": grid.tolist()}
    return estimate_from(values, functionals=[about])


ALL = {
    "meeting_times": lambda ax: plots.meeting_times(random_pairs(np.random.default_rng(1), 5), ax=ax),
    "tv_bound": lambda ax: plots.tv_bound(random_pairs(np.random.default_rng(1), 5), ax=ax),
    "traces": lambda ax: plots.traces(random_pairs(np.random.default_rng(1), 5), ax=ax),
    "running": lambda ax: plots.running(estimate_from(np.random.default_rng(1).normal(size=(90, 2))), 1, ax=ax),
    "values": lambda ax: plots.values(estimate_from(np.random.default_rng(1).normal(size=(90, 2))), 1, ax=ax),
    "density": lambda ax: plots.density(density_estimate(), ax=ax),
    "co_clustering": lambda ax: plots.co_clustering(of_draws([[0, 0, 1, 1, 0]] * 5), ax=ax),
    "certainty": lambda ax: plots.certainty(cp.consensus(of_draws([[0, 0, 1, 1, 0], [0, 0, 1, 1, 1]] * 5)), ax=ax),
}


@pytest.mark.parametrize("name", ALL)
def test_draws_into_the_axes_given_and_returns_them(name, ax):
    assert ALL[name](ax) is ax
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert ax.has_data()


@pytest.mark.parametrize("name", ALL)
def test_makes_axes_if_none_are_given(name):
    made = ALL[name](None)
    assert made.get_xlabel()
    pyplot.close(made.figure)


@pytest.mark.parametrize("name", ALL)
def test_can_be_read_in_grey(name, ax):
    """No two lines that differ by colour only."""
    ALL[name](ax)
    named = [line for line in ax.get_lines() if not line.get_label().startswith("_")]
    assert len({(line.get_linestyle(), line.get_linewidth()) for line in named}) == len(named)


def test_survival_curve_counts_pairs_still_apart(ax):
    times = np.array([5, 5, 7, 9, 20])
    plots.meeting_times(pairs(times, 5, met=[True, True, True, True, False]), ax=ax)
    x, y = ax.get_lines()[-1].get_data()
    for sweeps, share in zip(x, y, strict=True):
        assert share == pytest.approx(np.mean(times - 5 > sweeps) if sweeps < 15 else 0.2) or sweeps == 0
    assert [text.get_text() for text in ax.texts] == ["1 of 5 not met"]
    assert ax.get_yscale() == "log"


def test_several_survival_curves_have_names(ax):
    one = random_pairs(np.random.default_rng(1), 5)
    plots.meeting_times({"transport": one, "maximal": one}, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["transport", "maximal"]


def test_bound_is_that_of_the_definition(ax):
    m = random_pairs(np.random.default_rng(1), 5)
    plots.tv_bound(m, ax=ax)
    t, value = ax.get_lines()[0].get_data()
    for s, v in zip(t, value, strict=True):
        assert v == pytest.approx(min(1.0, naive.tv_bound(m.meeting_times, 5, s)))


def test_traces_show_the_median_of_all_pairs(ax):
    m = pairs([8, 6, 7], 5, traces=[np.array([9, 8, 4, 0]), np.array([4, 0]), np.array([6, 2, 0])])
    plots.traces(m, ax=ax, most=2)
    assert len(ax.get_lines()) == 4
    assert ax.get_lines()[-2].get_ydata().tolist() == [6, 2, 0, 0]


def test_running_estimate_ends_at_the_estimate(ax):
    e = estimate_from(np.random.default_rng(1).normal(1e6, 1.0, (200, 1)))
    plots.running(e, 0, ax=ax)
    x, y = ax.get_lines()[0].get_data()
    assert (x[-1], y[-1]) == (200, pytest.approx(e.mean[0]))
    band = ax.collections[0].get_paths()[0].vertices
    low, high = e.interval()
    last = band[band[:, 0] == 200][:, 1]
    assert (last.min(), last.max()) == (pytest.approx(low[0]), pytest.approx(high[0]))


def test_density_is_drawn_over_the_data_and_beside_the_truth(ax):
    e = density_estimate()
    plots.density(e, ax=ax, data=[-0.5, 0.0, 0.1, 0.5], truth=np.full(11, 0.5))
    assert np.array_equal(ax.get_lines()[0].get_ydata(), e.mean)
    assert ax.get_lines()[1].get_linestyle() == "--"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["data", "95 % interval", "posterior mean", "truth"]
    counts, edges, _ = ax.patches[0].get_data()
    assert np.sum(counts * np.diff(edges)) == pytest.approx(1.0)


def test_density_of_a_run_remembers_the_histogram_of_its_data(ax):
    target = cp.Mixture([0.0, 0.1, 0.2, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    e = cp.estimate(target, cp.predictive_density([0.0, 1.0, 5.0]), replicates=4, burn_in=1, min_sweeps=2, lag=1)
    plots.density(e, ax=ax)
    counts, edges, _ = ax.patches[0].get_data()
    assert (counts * np.diff(edges) * 4).round().tolist() == [3, 0, 0, 0, 1]


def test_heat_map_is_in_the_order_of_the_consensus(ax):
    plots.co_clustering(of_draws([[0, 1, 0, 1, 1]] * 5), ax=ax)
    shown = ax.get_images()[0].get_array()
    assert np.array_equal(shown, naive.adjacency([0, 0, 0, 1, 1]))
    assert len(ax.get_lines()) == 2  # outlines of two clusters


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plots.traces(pairs([5], 1)), "must have traces"),
        (lambda: plots.meeting_times([1, 2]), "m must be the result of"),
        (lambda: plots.running(estimate_from([[1.0], [2.0]]), 1), "component must be below 1, got 1"),
        (lambda: plots.tv_bound(pairs([5], 1, met=[False])), "got 1 of 1 that did not"),
        (lambda: plots.density(estimate_from([[1.0], [2.0]])), "no functional 'predictive_density'"),
        (lambda: plots.density(in_two_dimensions()), "density in one dimension to be drawn, got 2"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
    pyplot.close("all")


def in_two_dimensions():
    about = {"name": "predictive_density", "size": 1, "grid": [[0.0, 1.0]]}
    return estimate_from([[1.0], [2.0]], functionals=[about])


def distribution_of_clusters(means):
    values = np.random.default_rng(1).normal(means, 0.01, (100, len(means)))
    about = {"name": f"n_clusters({len(means) - 1})", "size": len(means), "range": [0, 1]}
    return estimate_from(values, functionals=[about])


def test_numbers_of_clusters_with_intervals_and_the_prior(ax):
    posterior = cp.Mixture([0.0, 1.0, 2.0, 5.0], cp.NormalInverseWishart(), cp.DirichletProcess(1.0))
    e = distribution_of_clusters([0.5, 0.3, 0.2])
    plots.n_clusters(e, posterior=posterior, ax=ax)
    heights = [patch.get_height() for patch in ax.patches]
    np.testing.assert_allclose(heights, e.mean)
    distribution = cp.prior_n_clusters(cp.DirichletProcess(1.0), 4)
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), [distribution[1], distribution[2], distribution[3] + distribution[4]]
    )
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "> 2"]
    low, high = e.interval()
    for (x, segment), a, b in zip(enumerate(ax.collections[0].get_segments(), 1), low, high, strict=True):
        np.testing.assert_allclose(segment, [[x, a], [x, b]])
    with pytest.raises(ValueError, match=r"e must have probabilities of numbers of clusters, as n_clusters\(most=10\)"):
        plots.n_clusters(density_estimate())


def test_impossible_probabilities_are_drawn_as_they_are(ax):
    e = distribution_of_clusters([-0.2, 1.6, -0.4])
    plots.n_clusters(e, ax=ax)
    np.testing.assert_allclose([patch.get_height() for patch in ax.patches], e.mean)
    assert ax.get_ylim()[0] < -0.4
    assert ax.get_ylim()[1] > 1.6
    assert ax.lines[0].get_ydata()[0] == 1.0  # where probabilities end


# --- clusterings -----------------------------------------------------------------------------------------------------


def averaged(table, order, dots):
    """A picture of a table in an order, dot by dot the mean over the block that it stands for."""
    count = len(order)
    place = [k * dots // count for k in range(count)]
    blocks = [[order[k] for k in range(count) if place[k] == dot] for dot in range(dots)]
    return np.array([[np.mean(table[np.ix_(a, b)]) for b in blocks] for a in blocks])


@pytest.mark.parametrize(("points", "dots"), [(12, 5), (12, 11), (50, 10)])
def test_heat_map_of_many_points_averages_neighbours(ax, monkeypatch, points, dots):
    monkeypatch.setattr(palette, "DOTS", dots)
    rng = np.random.default_rng(points)
    truth = np.arange(points) % 3
    draws = np.where(rng.random((6, points)) < 0.2, rng.integers(0, 3, (6, points)), truth)
    c = cp.consensus(of_draws(draws))
    plots.co_clustering(c, ax=ax)
    shown = ax.get_images()[0].get_array()
    np.testing.assert_allclose(shown, averaged(c.similarity, c.order, dots), atol=1e-12)
    assert ax.get_images()[0].get_extent() == [-0.5, points - 0.5, points - 0.5, -0.5]


def test_heat_map_of_more_points_than_dots(ax):
    truth = np.arange(520) % 4
    c = cp.consensus(of_draws([truth, truth, np.minimum(truth, 2)]))
    plots.co_clustering(c, ax=ax)
    shown = ax.get_images()[0].get_array()
    assert shown.shape == (500, 500)
    np.testing.assert_allclose(shown, averaged(c.similarity, c.order, 500), atol=1e-12)


def test_heat_map_of_a_consensus_that_knows_no_pairs_shows_clusters(ax):
    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    c = cp.consensus(target, replicates=4, seed=1)
    plots.co_clustering(c, ax=ax)
    labels = c.labels[c.order]
    np.testing.assert_array_equal(ax.get_images()[0].get_array(), np.clip(c.between[np.ix_(labels, labels)], 0, 1))


def test_certainty_shows_the_largest_clusters_first(ax):
    draws = [[0, 1, 1, 1, 2, 2], [0, 1, 1, 2, 2, 2], [0, 1, 1, 1, 2, 2]]
    c = cp.consensus(of_draws(draws), "binder")
    assert c.sizes.tolist() == [1, 3, 2]
    plots.certainty(c, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1 (3)", "2 (2)", "0 (1)"]
    dots = next(line for line in ax.get_lines() if line.get_marker() == "o")
    np.testing.assert_allclose(dots.get_xdata(), c.cohesion[[1, 2, 0]])
    half = next(line for line in ax.get_lines() if line.get_label() == "half of them")
    np.testing.assert_allclose(half.get_xdata(), np.quantile(c.belongs[1:4], [0.25, 0.75]))
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # from the top
    pyplot.close("all")
    few = plots.certainty(c, most=2)
    assert few.get_ylabel() == "cluster (points), 1 more not shown"
    pyplot.close("all")
    with pytest.raises(TypeError, match="c must be what consensus returns"):
        plots.certainty(of_draws(draws))


def test_pictures_of_single_replicates_refuse_what_was_not_kept(ax):
    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    wanted = [cp.co_clustering(keep_values=False), cp.n_clusters()]
    e = cp.estimate(target, wanted, replicates=4, burn_in=1, min_sweeps=2, lag=1)
    with pytest.raises(ValueError, match="This picture needs the value of every replicate, and those of co_clustering"):
        plots.running(e, 0, ax=ax)
    plots.running(e.select("n_clusters"), 0, ax=ax)
