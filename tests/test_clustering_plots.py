"""Pictures of clusterings: what is drawn, where, in which colours."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("agg")

from matplotlib import pyplot
from matplotlib.colors import to_hex

import clusterings
from copartition import plots
from copartition.view.palette import ACCENT, MUTED, SERIES, color_of
from copartition.view.plots import of_clusterings


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    figure.canvas.draw()  # what cannot be drawn fails here
    pyplot.close(figure)


def dots(ax):
    """Positions and colours of the rows of each cluster, as drawn."""
    drawn = {str(c.get_gid()): c for c in ax.collections if str(c.get_gid()).startswith("cluster")}
    return {int(name.split()[1]): c for name, c in drawn.items()}


@pytest.mark.parametrize("name", clusterings.ALL)
def test_every_clustering_has_a_picture_with_axes_given_or_made(name, ax):
    c = clusterings.ALL[name]()
    assert c.plot(ax=ax) is ax
    assert ax.has_data()
    new = c.plot()
    assert new is not ax
    pyplot.close(new.figure)


def test_rows_are_where_the_two_most_separating_columns_have_them(ax):
    """Numbers only: species separates most, and is text."""
    c = clusterings.penguins()
    plots.clusters(c, ax=ax)
    numbers = [name for name in c.separation().index if c.table[name].dtype.kind in "if"]
    assert [ax.get_xlabel(), ax.get_ylabel()] == numbers[:2]
    whole = c.table[numbers[:2]].notna().all(axis=1).to_numpy()
    for r, drawn in dots(ax).items():
        own = whole & (c.labels == r)
        np.testing.assert_array_equal(drawn.get_offsets(), c.table.loc[own, numbers[:2]].to_numpy())
        assert {to_hex(color) for color in drawn.get_facecolors()} == {color_of(1 + r)}
        opacity = np.where(c.undecided[own], 0.0, np.maximum(c.certainty[own], 0.2))
        np.testing.assert_allclose(drawn.get_facecolors()[:, 3], opacity)
        np.testing.assert_allclose(drawn.get_edgecolors()[:, 3], c.undecided[own])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["0 (152)", "1 (124)", "2 (68)", "undecided"]
    assert ax.get_title(loc="right") == "without 2 with a missing cell"


def test_forty_clusters_have_numbers_where_they_are_and_small_ones_are_grey(ax):
    c = clusterings.forty()
    plots.clusters(c, ax=ax)
    names = [ax.get_xlabel(), ax.get_ylabel()]
    assert [text.get_text() for text in ax.texts] == [str(r) for r in range(40)]
    for r, text in enumerate(ax.texts):
        np.testing.assert_allclose(text.xy, np.median(c.table.loc[c.labels == r, names], axis=0))
    colors = {r: to_hex(drawn.get_facecolors()[0]) for r, drawn in dots(ax).items() if len(drawn.get_offsets())}
    assert [colors[r] for r in range(9)] == [color_of(1 + r) for r in range(9)]
    assert {colors[r] for r in range(9, 40)} == {MUTED}


def test_of_many_rows_some_are_drawn_and_that_is_said(ax, monkeypatch):
    monkeypatch.setattr(of_clusterings, "MOST_DOTS", 50)
    plots.clusters(clusterings.penguins(), ax=ax)
    assert sum(len(drawn.get_offsets()) for drawn in dots(ax).values()) == 50
    assert ax.get_title(loc="right") == "50 of 342 rows, at random; without 2 with a missing cell"


def test_one_column_of_numbers_is_a_strip_a_cluster(ax):
    c = clusterings.one_number()
    plots.clusters(c, ax=ax)
    for r, drawn in dots(ax).items():
        across, up = np.array(drawn.get_offsets()).T
        np.testing.assert_array_equal(across, c.table["waiting"][c.labels == r])
        assert np.all(np.abs(up - r) <= 0.3)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0 (60)", "1 (30)"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the largest on top


def test_without_numbers_bars_are_shares_of_categories(ax):
    c = clusterings.categories()
    plots.clusters(c, ax=ax)
    order = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(order) == ["don't know", "no", "yes"]
    groups = [c.labels >= 0, *[c.labels == r for r in range(3)]]
    for name, bars in zip(order, ax.containers, strict=True):
        widths = [bar.get_width() for bar in bars]
        np.testing.assert_allclose(widths, [(c.table["answer"][rows] == name).mean() for rows in groups])
    many = pd.DataFrame({"letter": [*"abcdefghij"] * 4})
    ax.clear()
    plots.clusters(clusterings.made_up(many, np.arange(40) % 2, np.ones(40)), ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "5 others"
    np.testing.assert_allclose([bar.get_x() + bar.get_width() for bar in ax.containers[-1]], 1.0)


def test_profiles_are_means_and_shares_coloured_by_how_far_they_are_from_all_rows(ax):
    c = clusterings.penguins()
    plots.profile(c, ax=ax)
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert len(names) == 12
    assert names[:3] == ["species: Adelie", "species: Chinstrap", "species: Gentoo"]
    assert "sex: male" in names  # of two categories one
    assert "sex: female" not in names
    texts = np.array([text.get_text() for text in ax.texts]).reshape(12, 4)
    colors = ax.collections[0].get_facecolors().reshape(3, 12, 4)
    bill = c.table["bill_length_mm"]
    at = names.index("bill_length_mm")
    means = [bill[c.labels == r].mean() for r in range(3)]
    assert texts[at].tolist() == [f"{mean:.1f}" for mean in [bill.mean(), *means]]
    expected = np.abs(np.array(means) - bill.mean()) / (2 * bill.std(ddof=0))
    np.testing.assert_allclose(colors[:, at, 3], 0.6 * np.minimum(expected, 1.0), rtol=0.02)
    for r, mean in enumerate(means):
        assert to_hex(colors[r, at]) == (SERIES[2] if mean > bill.mean() else ACCENT)
    assert texts[0].tolist() == ["44 %", "100 %", "0 %", "0 %"]
    assert colors[0, 0, 3] == pytest.approx(0.6)


def test_profiles_of_many_clusters_say_how_many_are_not_shown(ax):
    labels = np.arange(100) % 50
    c = clusterings.made_up(pd.DataFrame({"x": labels * 1.0}), labels, np.ones(100))
    plots.profile(c, ax=ax, most=1)
    assert ax.get_ylabel() == "cluster (rows), 10 more not shown"
    assert len(ax.texts) == 41


def test_networks_have_no_profile():
    with pytest.raises(TypeError, match="posterior must be a Mixture"):
        plots.profile(clusterings.network())
    pyplot.close("all")


def test_numbers_of_clusters_are_bars_with_intervals_and_the_prior(ax):
    c = clusterings.one_number(n_clusters={5: 0.03, 3: 0.005, 4: 0.9})
    plots.n_clusters(c, ax=ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["3", "4", "5"]
    np.testing.assert_allclose([patch.get_height() for patch in ax.patches], [0.005, 0.9, 0.03])
    ends = np.array(ax.collections[0].get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, [[0.0, 0.0246], [0.8804, 0.9196], [0.0104, 0.0496]], atol=1e-4)
    ax.clear()
    plots.n_clusters(clusterings.one_number(n_clusters={4: 1.0, 5: 0.0, 9: 0.0}), ax=ax)
    assert [
        (label.get_text(), bar.get_height()) for label, bar in zip(ax.get_xticklabels(), ax.patches, strict=True)
    ] == [
        ("3", 0.0),
        ("4", 1.0),
        ("5", 0.0),
    ]
    ax.clear()
    plots.n_clusters(c, ax=ax, posterior=c.posterior)
    import copartition as cp

    distribution = cp.prior_n_clusters(c.posterior.prior, c.posterior.n_points)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), distribution[3:6])


@pytest.mark.parametrize("plot", [plots.clusters, plots.profile, plots.n_clusters])
def test_what_is_no_clustering_is_refused(plot):
    with pytest.raises(TypeError, match=r"must be what cluster returns, got \[1, 2\]"):
        plot([1, 2])
