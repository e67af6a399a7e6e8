"""Estimates in the formats of other programs: nothing lost on the way."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import copartition as cp
import small
from copartition.view import export


@pytest.fixture(scope="module")
def e():
    target, _ = small.scalar()
    wanted = [cp.n_clusters(), cp.largest_clusters(2), cp.largest_clusters(1)]
    return cp.estimate(target, wanted, replicates=20, burn_in=1, min_sweeps=3, lag=1, seed=1)


def test_dataframe_has_a_row_a_replicate(e):
    table = e.to_dataframe()
    assert len(table) == 20
    np.testing.assert_array_equal(table[e.components].to_numpy(), e.values)
    np.testing.assert_array_equal(table["meeting_time"], e.meeting_times)
    assert table["met"].all()


def test_datatree_has_a_variable_a_functional(e):
    tree = e.to_datatree()
    np.testing.assert_array_equal(tree["replicates/n_clusters"].to_numpy(), e.values[:, 0])
    np.testing.assert_array_equal(tree["replicates/largest_clusters"].to_numpy(), e.values[:, 1:3])
    np.testing.assert_array_equal(tree["replicates/largest_clusters_2"].to_numpy(), e.values[:, 3])
    assert tree["replicates/largest_clusters"].dims == ("replicate", "largest_clusters_component")
    assert json.loads(tree.attrs["made_by"])["settings"]["lag"] == 1
    assert "posterior" not in tree.children  # replicates are no draws from the posterior


def test_csv_gives_the_same_bits_back(e, tmp_path):
    export.write(e, tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [[float(row[name]) for name in e.components] for row in rows] == e.values.tolist()
    assert [int(row["sweeps"]) for row in rows] == e.sweeps.tolist()


def test_summary_has_a_row_a_component(e, tmp_path):
    export.write(e, tmp_path / "run.csv", "summary")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["component"] for row in rows] == e.components
    np.testing.assert_array_equal([float(row["high"]) for row in rows], e.interval()[1])
    assert {row["biased"] for row in rows} == {"False"}


def test_parquet_gives_the_same_bits_back(e, tmp_path):
    import pyarrow.parquet

    export.write(e, tmp_path / "run.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "run.parquet")
    np.testing.assert_array_equal(np.column_stack([table[name].to_numpy() for name in e.components]), e.values)
    assert json.loads(table.schema.metadata[b"made_by"])["seed"] == 1


def test_netcdf_gives_the_same_bits_back(e, tmp_path):
    import xarray

    export.write(e, tmp_path / "run.nc")
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        np.testing.assert_array_equal(tree["replicates/largest_clusters"].to_numpy(), e.values[:, 1:3])
        np.testing.assert_array_equal(tree["replicate_stats/meeting_time"].to_numpy(), e.meeting_times)


@pytest.mark.parametrize(
    ("name", "what", "message"),
    [
        ("run.xls", "replicates", "must end in .csv, .parquet, .nc"),
        ("run.nc", "summary", "write summary as CSV or Parquet"),
        (
            "run.csv",
            "clusters",
            "which points are together, and kept no partitions. Run it with --keep 16",
        ),
    ],
)
def test_bad_input_is_refused(e, tmp_path, name, what, message):
    with pytest.raises(ValueError, match=message):
        export.write(e, tmp_path / name, what)
    assert list(tmp_path.iterdir()) == []


def test_clusters_have_a_row_a_point(tmp_path):
    target, _ = small.scalar()
    e = cp.estimate(target, cp.co_clustering([4, 0, 2]), replicates=50, burn_in=2, min_sweeps=10, lag=2)
    export.write(e, tmp_path / "points.csv", "clusters")
    with (tmp_path / "points.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = cp.consensus(e)
    assert [int(row["point"]) for row in rows] == [4, 0, 2]
    assert [int(row["cluster"]) for row in rows] == found.labels.tolist()
    assert [float(row["belongs"]) for row in rows] == found.belongs.tolist()


def test_draws_of_ordinary_chains_go_to_arviz():
    target, _ = small.scalar()
    s = cp.sample(target, cp.largest_clusters(2), sweeps=10, burn_in=1, chains=3)
    assert s.to_datatree()["posterior/largest_clusters"].shape == (3, 10, 2)
    s = cp.sample(target, cp.n_clusters(), sweeps=10, burn_in=1, chains=3)
    np.testing.assert_array_equal(s.to_datatree()["posterior/n_clusters"].to_numpy(), s.draws[:, :, 0])


def test_numbers_of_replicates_are_the_same_everywhere_where_there_are_gaps(e):
    gaps = replace(e, indices=np.r_[0, 2 : len(e.values), 7 + len(e.values)])
    assert gaps.to_dataframe().index.tolist() == gaps.indices.tolist()
    assert gaps.to_datatree()["replicates"].coords["replicate"].to_numpy().tolist() == gaps.indices.tolist()


def test_components_of_ordinary_chains_keep_their_names():
    s = cp.sample(small.scalar()[0], cp.co_clustering([0, 3, 4]), sweeps=5, burn_in=0, chains=2)
    names = s.to_datatree()["posterior"].coords["co_clustering_component"].to_numpy().tolist()
    assert names == s.components == ["together[0, 3]", "together[0, 4]", "together[3, 4]"]


def test_repr_of_a_long_estimate_is_short():
    density = cp.predictive_density(np.linspace(-3, 3, 400))
    e = cp.estimate(small.scalar()[0], density, replicates=3, burn_in=1, min_sweeps=2, lag=1)
    assert repr(e) == "<Estimate of predictive_density of size 400 from 3 replicates>"


# --- pairs -----------------------------------------------------------------------------------------------------------


def of_pairs(**more):
    return cp.estimate(
        small.scalar()[0], more.pop("wanted"), replicates=20, burn_in=1, min_sweeps=5, lag=1, seed=1, **more
    )


PAIRS = {
    "kept": (cp.co_clustering([4, 0, 2]), [4, 4, 0], [0, 2, 2]),
    "streamed": (cp.co_clustering([4, 0, 2], keep_values=False), [4, 4, 0], [0, 2, 2]),
    "listed": (cp.co_clustering(pairs=[[3, 1], [0, 2]], keep_values=False), [3, 0], [1, 2]),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs_have_a_row_each(kind, tmp_path, monkeypatch):
    """Also where a file is written in several pieces."""
    import pyarrow.parquet

    monkeypatch.setattr(export, "ROWS", 2)
    functional, first, second = PAIRS[kind]
    e = of_pairs(wanted=[cp.n_clusters(), functional])
    part = e.select("co_clustering")
    export.write(e, tmp_path / "pairs.csv", "pairs")
    with (tmp_path / "pairs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["i"]) for row in rows] == first
    assert [int(row["j"]) for row in rows] == second
    assert [float(row["mean"]) for row in rows] == part.mean.tolist()
    assert [float(row["stderr"]) for row in rows] == part.stderr.tolist()
    export.write(e, tmp_path / "pairs.parquet", "pairs")
    table = pyarrow.parquet.read_table(tmp_path / "pairs.parquet")
    assert table["i"].to_pylist() == first
    assert table["mean"].to_pylist() == part.mean.tolist()


@pytest.mark.parametrize("kind", PAIRS)
def test_pairs_as_a_sparse_matrix(kind, tmp_path):
    from scipy.sparse import load_npz

    functional, first, second = PAIRS[kind]
    e = of_pairs(wanted=functional)
    export.write(e, tmp_path / "pairs.npz", "pairs")
    table = load_npz(tmp_path / "pairs.npz").toarray()
    size = max(*first, *second) + 1
    expected = np.eye(size)
    for i, j, mean in zip(first, second, e.mean, strict=True):
        expected[i, j] = expected[j, i] = mean
    assert np.array_equal(table, expected)


@pytest.mark.parametrize(
    ("name", "what", "message"),
    [
        ("run.npz", "replicates", ".npz holds pairs; write the replicates as CSV or Parquet"),
        ("run.npz", "summary", ".npz holds pairs; write the summary as CSV or Parquet"),
        ("run.nc", "pairs", "netCDF holds replicates and partitions; write pairs as CSV or Parquet"),
        ("run.npz", "pairs", "it was not asked which points are together"),
        ("run.csv", "pairs", "it was not asked which points are together"),
        ("run.csv", "partitions", "This run kept no partitions"),
    ],
)
def test_pairs_that_cannot_be_written_are_refused(e, tmp_path, name, what, message):
    with pytest.raises(ValueError, match=message):
        export.write(e, tmp_path / name, what)
    assert list(tmp_path.iterdir()) == []


def test_what_is_streamed_is_in_summaries_and_trees_and_not_among_replicates(tmp_path):
    import xarray

    e = of_pairs(
        wanted=[cp.co_clustering(keep_values=False), cp.n_clusters(), cp.memberships([0] * 5, keep_values=False)]
    )
    assert list(e.to_dataframe().columns)[:2] == ["n_clusters", "meeting_time"]
    np.testing.assert_array_equal(e.to_dataframe()["n_clusters"], e.select("n_clusters").values[:, 0])
    columns = export.summary_columns(e)
    assert columns["component"].tolist() == list(e.components)
    np.testing.assert_array_equal(columns["mean"], e.mean)
    export.write(e, tmp_path / "run.nc")
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        np.testing.assert_array_equal(tree["replicates/n_clusters"].to_numpy(), e.values[:, 0])
        np.testing.assert_array_equal(tree["co_clustering/mean"].to_numpy(), e.select("co_clustering").mean)
        np.testing.assert_array_equal(tree["co_clustering/j"].to_numpy()[:4], [1, 2, 3, 4])
        np.testing.assert_array_equal(tree["memberships/stderr"].to_numpy(), e.select("memberships").stderr)


def test_two_streamed_functionals_of_one_name_do_not_hide_each_other():
    wanted = [cp.co_clustering([0, 1, 2], keep_values=False), cp.co_clustering(pairs=[[3, 4]], keep_values=False)]
    e = of_pairs(wanted=wanted)
    tree = e.to_datatree()
    found = sorted(len(node["mean"]) for name, node in tree.children.items() if name.startswith("co_clustering"))
    assert found == [1, 3]


# --- names of points -------------------------------------------------------------------------------------------------


def named(index):
    table = pd.DataFrame({"x": [-3.0, 3.0, -2.9, 3.1]}, index=index)
    return cp.Mixture(table, cp.Gaussian(noise_sd=0.5, mean_sd=3.0), cp.DirichletProcess(1.0))


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (["a", "b", "c", "d"], ["a", "b", "c", "d"]),
        ([3, 1, 2, 0], [3, 1, 2, 0]),
        (pd.date_range("2020-01-01", periods=4), [f"2020-01-0{day} 00:00:00" for day in range(1, 5)]),
        ([0, 1, 2, 3], [0, 1, 2, 3]),
        (["a", "a", "b", "c"], [0, 1, 2, 3]),
    ],
)
def test_data_frames_keep_their_index(index, names, tmp_path):
    e = cp.estimate(named(index), cp.co_clustering(), replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1)
    export.write(e, tmp_path / "points.csv", "clusters")
    assert pd.read_csv(tmp_path / "points.csv")["point"].tolist() == names
    export.write(e, tmp_path / "pairs.parquet", "pairs")
    assert pd.read_parquet(tmp_path / "pairs.parquet")["j"].tolist() == [*names[1:], *names[2:], names[3]]
    assert e.components[0] == f"together[{names[0]}, {names[1]}]"
    c = cp.consensus(named(index), replicates=20, seed=1)
    assert list(c.to_dict()) == c.names == cp.consensus(e).names == names
    assert c.estimate.components[0] == f"with[{names[0]}, cluster 0]"


def test_names_of_streamed_pairs_go_to_arviz():
    wanted = cp.co_clustering(keep_values=False)
    e = cp.estimate(named(list("abcd")), wanted, replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1)
    assert e.to_datatree()["co_clustering"].coords["j"].to_numpy().tolist() == list("bcdcdd")


@pytest.mark.parametrize("index", [["a", "a", "b", "b"], [0, 0, 1, 1]])
def test_an_index_with_one_name_twice_is_beside_the_points(index, tmp_path):
    store = tmp_path / "run.db"
    wanted = cp.co_clustering([3, 0, 2])
    cp.estimate(named(index), wanted, replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1, store=store)
    export.write(cp.Estimate.load(store), tmp_path / "points.csv", "clusters", {"index": list("stuv")})
    found = pd.read_csv(tmp_path / "points.csv")
    assert found["point"].tolist() == [3, 0, 2]
    assert found["index"].tolist() == list("vsu")  # a column of this name goes first
    export.write(cp.Estimate.load(store), tmp_path / "points.csv", "clusters")
    found = pd.read_csv(tmp_path / "points.csv")
    assert found["point"].tolist() == [3, 0, 2]
    assert found["index"].tolist() == [index[3], index[0], index[2]]


@pytest.fixture(scope="module")
def four():
    return cp.estimate(named(range(4)), cp.co_clustering(), replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["7", "-12", "NA", "3"], [7, -12, None, 3]),
        (["12345678901234567", "12345678901234568", "1", "2"], [12345678901234567, 12345678901234568, 1, 2]),
        (["1.10", "2", "", "1e-3"], [1.1, 2.0, None, 0.001]),
        (["1.100000000000000089e+00", "0.30000000000000004", "inf", "5."], [1.1, 0.1 + 0.2, np.inf, 5.0]),
        (["01234", "0", "1", "2"], ["01234", "0", "1", "2"]),
        (["1.5", "-007.5", "1", "2"], ["1.5", "-007.5", "1", "2"]),
        (["+49301234", "1", "2", "3"], ["+49301234", "1", "2", "3"]),
        (["12345678901234567", "1.5", "1", "2"], ["12345678901234567", "1.5", "1", "2"]),
        (["99999999999999999999", "1", "2", "3"], ["99999999999999999999", "1", "2", "3"]),
        (["1e400", "1", "2", "3"], ["1e400", "1", "2", "3"]),
        (["a", "1", "2", None], ["a", "1", "2", None]),
        ([1, 2, None, 2**60 + 1], [1, 2, None, 2**60 + 1]),
        ([1, 2.5, float("nan"), 4], [1.0, 2.5, None, 4.0]),
        ([True, False, None, True], [True, False, None, True]),
        ([None, None, None, None], [None, None, None, None]),
    ],
)
def test_parquet_keeps_cells_of_the_user_as_they_are(four, cells, expected, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export.write(four, tmp_path / "points.parquet", "clusters", {"own": cells})
    found = parquet.read_table(tmp_path / "points.parquet")["own"].to_pylist()
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


def test_parquet_keeps_names_as_words(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ["01", "2", "NA", "1.0"]
    e = cp.estimate(named(names), cp.co_clustering(), replicates=20, burn_in=2, min_sweeps=10, lag=2, seed=1)
    export.write(e, tmp_path / "points.parquet", "clusters")
    assert parquet.read_table(tmp_path / "points.parquet")["point"].to_pylist() == names
    export.write(e, tmp_path / "pairs.parquet", "pairs")
    assert parquet.read_table(tmp_path / "pairs.parquet")["i"].to_pylist() == ["01", "01", "01", "2", "2", "NA"]
