"""``plot()``: every result draws the picture that suits it, into the axes given or into new ones."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("agg")

from matplotlib import pyplot

import copartition as cp
from copartition import plots
from copartition.display import draw
from copartition.functionals.base import Functional
from copartition.names import Names
from made_up import estimate_from, of_draws, random_pairs

TARGET = cp.Mixture([0.0, 0.1, 3.0, 3.1], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()  # what cannot be drawn fails here
    pyplot.close("all")


def made_up(*functionals, replicates=100):
    """An estimate of functionals, whose values are about 1 / 4."""
    bound = [f.bind(TARGET)[1] if not f.name.startswith(("block", "edge")) else f for f in functionals]
    abouts = [{"name": f.name, "size": f.size, **f.about} for f in bound]
    values = np.random.default_rng(1).normal(0.25, 0.02, (replicates, sum(f.size for f in bound)))
    e = estimate_from(values, functionals=abouts)
    made_by = e.made_by | {"functional": ", ".join(f.name for f in bound)}
    return type(e)(**{**e.__dict__, "components": Names(abouts), "made_by": made_by})


def bars_of(ax, e):
    assert [patch.get_height() for patch in ax.patches] == pytest.approx(e.mean.tolist())
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends.T, e.interval())


def test_numbers_of_clusters_and_of_components_shares_and_sizes_are_bars_with_intervals(ax):
    for functional, label in (
        (cp.n_clusters(most=3), "number of clusters"),
        (cp.largest_clusters(3), "cluster, by size"),
        (cp.functionals.cluster_sizes_histogram([1, 2, 3]), "points in a cluster, from ... to below"),
    ):
        e = made_up(functional)
        ax.clear()
        assert e.plot(ax=ax) is ax
        bars_of(ax, e)
        assert ax.get_xlabel() == label
    distributions = Functional("n_components(2)", lambda labels: labels, 3, picture="n_components")
    ax.clear()
    e = made_up(distributions)
    e.plot(ax=ax)
    bars_of(ax, e)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "> 2"]


def test_who_is_with_whom_is_a_matrix_in_the_order_of_the_consensus(ax):
    e = of_draws([[0, 1, 0, 1, 1]] * 5)
    e.plot(ax=ax)
    c = cp.consensus(e)
    np.testing.assert_allclose(ax.get_images()[0].get_array(), c.similarity[np.ix_(c.order, c.order)])
    other = pyplot.subplots()[1]
    assert c.plot(ax=other) is other
    np.testing.assert_array_equal(other.get_images()[0].get_array(), ax.get_images()[0].get_array())


def test_densities_on_a_line_and_in_the_plane(ax):
    e = made_up(cp.predictive_density(np.linspace(0, 3, 7)))
    e.plot(ax=ax)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), e.mean)
    corners = np.stack(np.meshgrid([0.0, 1.0, 2.0], [0.0, 1.0]), axis=-1).reshape(-1, 2)
    for grid, kind in ((corners, "TriContourSet"), (np.column_stack([corners[:, 0], corners[:, 0]]), "PathCollection")):
        f = cp.predictive_density(grid)
        about = {"name": f.name, "size": f.size, **f.about}
        values = np.random.default_rng(1).random((20, len(grid)))
        made = estimate_from(values, functionals=[about]).plot()
        assert [type(c).__name__ for c in made.collections] == [kind]
    f = cp.predictive_density([["a", 1.0], ["b", 2.0]])
    about = {"name": f.name, "size": f.size, **f.about}
    words = estimate_from(np.random.default_rng(1).random((20, 2)), functionals=[about]).plot()
    assert words.get_xlabel().startswith("posterior mean")


def test_distributions_of_numbers_are_densities(ax):
    e = estimate_from(
        np.random.default_rng(1).normal(0.25, 0.01, (30, 4)),
        functionals=[
            {"name": "hyperparameters(v)", "size": 4, **cp.hyperparameters("v", [0.0, 1.0, 2.0, 4.0, 8.0]).about}
        ],
    )
    e.plot(ax=ax)
    np.testing.assert_allclose([p.get_height() for p in ax.patches], e.mean / [1, 1, 2, 4])


def test_tables_of_clusters_have_their_numbers(ax):
    e = made_up(cp.functionals.block_matrix([0, 0, 1, 1]))
    e.plot(ax=ax)
    np.testing.assert_array_equal(ax.get_images()[0].get_array(), e.mean.reshape(2, 2))
    assert len(ax.texts) == 4
    together = made_up(cp.functionals.cluster_similarity([0, 0, 1, 1]))
    table = together.plot().get_images()[0].get_array()
    assert (table[0, 0], table[0, 1], table[1, 0], table[1, 1]) == tuple(together.mean[[0, 1, 1, 2]])
    with pytest.raises(ValueError, match="name must be one of block_matrix, cluster_similarity, got 'h'"):
        plots.cluster_matrix(e, "h")


def test_memberships_are_in_the_order_of_clusters(ax):
    e = made_up(cp.memberships([0, 1, 0, 1]))
    e.plot(ax=ax)
    table = e.mean.reshape(4, 2)
    first, second = ([0, 2], [1, 3])
    order = [*sorted(first, key=lambda n: -table[n, 0]), *sorted(second, key=lambda n: -table[n, 1])]
    np.testing.assert_array_equal(ax.get_images()[0].get_array(), table[order])
    assert [line.get_ydata()[0] for line in ax.get_lines()] == [1.5]


def test_anything_else_is_means_with_intervals(ax):
    e = made_up(cp.functionals.edge_probability([(0, 1), (2, 3), ("a$", "b$")]))
    e.plot(ax=ax)
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), e.mean)
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends.T, e.interval())
    assert [text.get_text() for text in ax.get_yticklabels()] == list(e.components)
    many = made_up(cp.functional(lambda labels: labels, 50))
    x, y = many.plot().get_lines()[0].get_data()
    assert (len(x), y.tolist()) == (50, many.mean.tolist())


def test_one_number_is_drawn_as_it_settles(ax):
    e = made_up(cp.n_clusters())
    e.plot(ax=ax)
    assert ax.get_lines()[0].get_ydata()[-1] == pytest.approx(e.mean[0])
    assert ax.get_xlabel() == "replicates"


def test_several_functionals_are_drawn_beside_each_other():
    e = made_up(cp.n_clusters(most=3), cp.largest_clusters(2), cp.n_clusters(), cp.co_clustering())
    axes = e.plot()
    assert [ax.get_xlabel() for ax in axes[:3]] == ["number of clusters", "cluster, by size", "replicates"]
    assert len(axes) == 4
    assert len({ax.figure for ax in axes}) == 1
    axes[0].figure.canvas.draw()
    assert e.plot("largest_clusters", level=0.5).get_xlabel() == "cluster, by size"
    with pytest.raises(ValueError, match="ax goes with the picture of one functional"):
        e.plot(ax=axes[0])
    with pytest.raises(ValueError, match="level goes with the picture of one functional"):
        e.plot(level=0.5)
    pyplot.close("all")


def test_other_results_have_pictures_too(ax):
    m = random_pairs(np.random.default_rng(1), 5)
    assert m.plot(ax=ax) is ax
    assert ax.get_ylabel() == "share of pairs still apart"
    s = cp.answers.Sample(np.random.default_rng(1).random((3, 130, 2)), np.ones(3), "h", 130, 10, 0, ["a", "b"])
    made = s.plot(1)
    assert len(made.get_lines()) == 3
    np.testing.assert_allclose(made.get_lines()[0].get_ydata(), s.draws[0, :130, 1].reshape(65, 2).mean(axis=1))
    assert made.get_ylabel() == "b, averages of 2"
    with pytest.raises(ValueError, match="component must be below 2, got 2"):
        s.plot(2)
    with pytest.raises(TypeError, match="There is no picture of 1"):
        draw(1)
    with pytest.raises(TypeError, match="t must be what tune returns"):
        plots.tuned(m)


def test_settings_are_drawn_with_the_pairs_they_were_chosen_by(ax):
    t = cp.tune(TARGET, cp.n_clusters(), pairs=100, seed=1)
    t.plot(ax=ax)
    at = [line.get_xdata()[0] for line in ax.get_lines() if line.get_label().startswith("burn_in")]
    assert at == [t.burn_in]
