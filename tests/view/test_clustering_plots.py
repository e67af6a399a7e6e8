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
from copartition.view.plots.scales import linear_below, number_clusters


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


def test_of_forty_clusters_no_two_look_the_same_and_the_legend_names_twelve(ax):
    c = clusterings.forty()
    plots.clusters(c, ax=ax)
    looks = {(of_clusterings.color_of_cluster(r), of_clusterings.shape_of_cluster(r)) for r in range(99)}
    assert len(looks) == 99
    assert of_clusterings.color_of_cluster(99) == MUTED
    colors = {r: to_hex(drawn.get_facecolors()[0]) for r, drawn in dots(ax).items() if len(drawn.get_offsets())}
    assert colors == {r: color_of(1 + r % 9) for r in range(40)}
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[:12] == [f"{r} ({size:,})" for r, size in enumerate(c.sizes[:12])]
    assert texts[12:] == ["and 28 more", "undecided"]


def test_numbers_of_clusters_hide_neither_rows_nor_each_other(ax):
    c = clusterings.forty()
    plots.clusters(c, ax=ax)
    names = [ax.get_xlabel(), ax.get_ylabel()]
    ax.figure.canvas.draw()
    rows = ax.transData.transform(c.table[names].to_numpy())
    boxes = [text.get_window_extent() for text in ax.texts]  # with their lines, if they have some
    written = {int(text.get_text()): text for text in ax.texts}
    assert 20 <= len(written) == len(ax.texts)  # where there is no room there is none
    for r, text in written.items():
        np.testing.assert_allclose(text.xy, np.median(c.table.loc[c.labels == r, names], axis=0))
    places = ax.transData.transform([text.get_position() for text in ax.texts])
    size = np.array([mpl.text.Text.get_window_extent(text).size for text in ax.texts])
    for i, (place, half) in enumerate(zip(places, 0.45 * size, strict=True)):
        assert not np.any(np.all(np.abs(rows - place) < half, axis=1))
        for other, its in zip(places[:i], 0.45 * size[:i], strict=True):
            assert np.any(np.abs(place - other) >= half + its)
        assert np.all(place >= ax.bbox.p0)
        assert np.all(place <= ax.bbox.p1)
    assert len(boxes) == len(places)


def test_numbers_without_room_are_left_out(ax):
    rng = np.random.default_rng(1)
    rows = rng.uniform(size=(20_000, 2))
    ax.scatter(*rows.T)
    assert number_clusters(ax, {0: (0.5, 0.5)}, rows, {0: 9.0}) == []
    assert number_clusters(ax, {0: (0.5, 0.5), 1: (0.5, 0.5)}, rows[:1], dict.fromkeys(range(2), 9.0)) == [0, 1]
    assert ax.texts[0].get_position() == pytest.approx((0.5, 0.5))


@pytest.mark.parametrize(
    ("values", "threshold"),
    [
        (np.arange(100.0), 0.0),
        (np.random.default_rng(0).normal(50.0, 5.0, 500), 0.0),
        (np.repeat([10.0, 60.0], [90, 10]) + np.linspace(0, 1, 100), 0.0),  # two groups are no tail
        (np.random.default_rng(0).poisson(np.random.default_rng(1).lognormal(2.0, 2.0, 500)), 1.0),
        (np.random.default_rng(0).lognormal(0.0, 2.5, 500), 0.01),
        (-np.random.default_rng(0).lognormal(0.0, 2.5, 500), 0.0),  # negative numbers have no logarithms
        (np.repeat([0.0, 1.0, 2.0, 900.0], [90, 5, 3, 2]), 1.0),
        (np.zeros(9), 0.0),
        (np.full(3, np.nan), 0.0),
    ],
)
def test_axes_are_logarithmic_where_rows_would_crowd(values, threshold):
    assert linear_below(np.asarray(values, dtype=float)) == threshold


def test_long_tails_few_numbers_and_categories_have_axes_of_their_own(ax):
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1], [150, 50])
    table = pd.DataFrame({"bytes": rng.poisson(rng.lognormal(3.0 + 3.0 * labels, 1.2)), "stars": 1 + 2 * labels})
    table.loc[0, "bytes"] = 0
    c = clusterings.made_up(table, labels, np.ones(200))
    plots.clusters(c, ax=ax)
    told = {ax.get_xlabel(): (ax.get_xscale(), 0), ax.get_ylabel(): (ax.get_yscale(), 1)}
    assert {name: scale for name, (scale, _) in told.items()} == {
        "bytes (log scale)": "symlog", "stars (jittered)": "linear",
    }  # fmt: skip
    stars = told["stars (jittered)"][1]
    for r, drawn in dots(ax).items():
        places = np.array(drawn.get_offsets())
        np.testing.assert_array_equal(places[:, 1 - stars], table["bytes"][labels == r])
        assert np.all(np.abs(places[:, stars] - 1 - 2 * r) <= 0.6)
        assert len(np.unique(places[:, stars])) == len(places)


def test_rows_of_categories_lie_beside_each_other_at_their_names(ax):
    c = clusterings.categories()
    plots.clusters(c, ax=ax)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"answer (jittered)", "sex (jittered)"}
    axes = {"x": (ax.get_xlabel(), ax.get_xticklabels(), 0), "y": (ax.get_ylabel(), ax.get_yticklabels(), 1)}
    for label, ticks, at in axes.values():
        names = [tick.get_text() for tick in ticks]
        column = c.table[label.removesuffix(" (jittered)")]
        assert names == column.value_counts().index.tolist()
        for r, drawn in dots(ax).items():
            places = np.array(drawn.get_offsets())[:, at]
            assert [names[k] for k in np.round(places).astype(int)] == column[c.labels == r].tolist()
            assert np.all(np.abs(places - np.round(places)) <= 0.3)


def test_of_many_categories_the_rarest_are_one(ax):
    rng = np.random.default_rng(3)
    letters = rng.choice([*"abcdefghijklmnop"], 400, p=np.arange(16, 0, -1) / 136)
    table = pd.DataFrame({"letter": letters, "kind": np.where(letters < "e", "x", None)})
    plots.clusters(clusterings.made_up(table, np.arange(400) % 2, np.ones(400)), ax=ax)
    ticks = ax.get_xticklabels() if ax.get_xlabel().startswith("letter") else ax.get_yticklabels()
    assert [tick.get_text() for tick in ticks][-1] == "6 others"
    assert len(ticks) == 11
    assert ax.get_title(loc="right").startswith("without ")


def test_columns_that_were_hardly_observed_are_not_drawn_nor_is_what_the_model_expects_of_them(ax):
    labels = np.repeat([0, 1], 30)
    rng = np.random.default_rng(4)
    table = pd.DataFrame({name: labels * 9.0 + rng.normal(size=60) for name in "abcd"})
    table.loc[labels == 1, "a"] = np.nan
    table.loc[40, "a"] = 99.0
    table.loc[rng.random(60) < 0.7, "b"] = np.nan
    c = clusterings.made_up(table, labels, np.ones(60))
    plots.clusters(c, ax=ax)
    assert {ax.get_xlabel(), ax.get_ylabel()} == {"c", "d"}
    ax.clear()
    plots.profile(c, ax=ax)
    at = [label.get_text() for label in ax.get_xticklabels()].index("a")
    assert [text.get_text() for text in ax.texts][3 * at + 2] == "–"  # noqa: RUF001
    assert ax.collections[0].get_facecolors().reshape(2, -1, 4)[1, at, 3] == 0.0


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
    several = clusterings.categories()
    c = clusterings.made_up(several.table[["answer"]], several.labels, several.certainty)
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


def test_numbers_of_clusters_that_are_far_apart_are_far_apart_in_the_picture(ax):
    c = clusterings.one_number(n_clusters={3: 0.5, 4: 0.3, 9: 0.2})
    plots.n_clusters(c, ax=ax, posterior=c.posterior)
    np.testing.assert_allclose([bar.get_x() + 0.5 * bar.get_width() for bar in ax.patches], [3, 4, 9])
    assert [label.get_text() for label in ax.get_xticklabels()] == [str(k) for k in range(3, 10)]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), range(3, 10))
    ax.clear()
    plots.n_clusters(clusterings.one_number(n_clusters={3: 0.5, 200: 0.5}), ax=ax)
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert 4 <= len(ticks) <= 10
    assert min(ticks) >= 1
    assert all(tick.is_integer() for tick in ticks)
    assert min(bar.get_linewidth() for bar in ax.patches) >= 1.0


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_matrices_have_the_background_of_the_axes_and_ink_that_is_seen_on_it(style):
    with pyplot.style.context(style):
        axes = plots.co_clustering(clusterings.penguins().consensus)
        figure = axes.figure
        figure.canvas.draw()
        colors = axes.images[0].cmap([0.0, 1.0])
        background = np.array(mpl.colors.to_rgb(axes.get_facecolor()))
        pyplot.close(figure)
    assert colors[0, 3] == 0.0
    assert colors[1, 3] == 1.0
    assert np.abs(colors[1, :3] - background).min() > 0.8


@pytest.mark.parametrize("plot", [plots.clusters, plots.profile, plots.n_clusters])
def test_what_is_no_clustering_is_refused(plot):
    with pytest.raises(TypeError, match=r"must be what cluster returns, got \[1, 2\]"):
        plot([1, 2])
