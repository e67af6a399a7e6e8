"""Cells of an AnnData object: what is written into it, and that files and scanpy can use it."""

from __future__ import annotations

import anndata
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix, issparse

import copartition as cp
from copartition import front
from copartition.anndata import cluster
from copartition.cli import main
from copartition.display import rounded
from copartition.runs.workers import Where

FEW = {"max_replicates": 20, "target_stderr": None}


def cells(n_columns=3):
    """Eight cells of one kind, twelve of another, and one between, with columns in obsm."""
    rng = np.random.default_rng(7)
    table = np.concatenate([rng.normal(-3, 0.7, (8, n_columns)), rng.normal(3, 0.7, (12, n_columns))])
    table = np.concatenate([table, np.zeros((1, n_columns))])
    adata = anndata.AnnData(csr_matrix(np.maximum(rng.poisson(2.0, (21, 5)), 0).astype(np.float32)))
    adata.obsm["X_pca"] = table.astype(np.float32)
    return adata


@pytest.fixture(scope="module")
def clustered():
    adata = cells()
    assert cluster(adata, **FEW) is None
    return adata


def test_what_is_added(clustered):
    obs = clustered.obs
    assert obs["copartition"].cat.categories.tolist()[:2] == ["0", "1"]
    assert obs["copartition"].tolist()[:20] == ["1"] * 8 + ["0"] * 12  # the largest first
    counts = obs["copartition"].value_counts()
    assert counts.tolist() == sorted(counts, reverse=True)
    assert obs["copartition_certainty"].between(0, 1).all()
    assert obs["copartition_certainty"].iloc[20] < obs["copartition_certainty"].iloc[:20].min()
    assert (obs["copartition_certainty_stderr"] >= 0).all()
    similarity = clustered.obsp["copartition_similarity"]
    assert issparse(similarity)
    assert similarity.dtype == np.float32
    assert abs(similarity - similarity.T).max() == 0
    assert similarity.data.min() >= 0.01
    about = clustered.uns["copartition"]
    assert about["params"]["use_rep"] == "X_pca"
    assert "NormalInverseGamma" in about["params"]["component"]
    assert np.isnan(about["n_clusters"]["interval"]).all()  # of 40 replicates there is none
    assert about["pairs"] == {"run": 40, "not_met": 0, "most_sweeps": about["pairs"]["most_sweeps"]}
    assert about["converged"]
    assert about["versions"]["copartition"] == cp.__version__
    assert any("concentration" in sentence for sentence in about["assumptions"])


def test_it_survives_a_file(clustered, tmp_path):
    clustered.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert back.obs["copartition"].tolist() == clustered.obs["copartition"].tolist()
    assert back.uns["copartition"]["n_clusters"]["mean"] == clustered.uns["copartition"]["n_clusters"]["mean"]
    assert back.uns["copartition"]["assumptions"].tolist() == clustered.uns["copartition"]["assumptions"].tolist()
    assert bool(back.uns["copartition"]["converged"])
    assert abs(back.obsp["copartition_similarity"] - clustered.obsp["copartition_similarity"]).max() == 0


def test_a_copy_leaves_the_original_alone():
    adata = cells()
    found = cluster(adata, key_added="mine", n_pcs=2, n_jobs=-1, copy=True, **FEW)
    assert "mine" in found.obs
    assert list(adata.obs) == []
    assert found.uns["mine"]["params"]["n_pcs"] == 2
    data = cells().obsm["X_pca"][:, :2].astype(float)
    posterior = cp.Mixture(data, front.component_of("diagonal", data))
    again = front.cluster_rows(posterior, data, front.Asked(**FEW), Where(None, False, 0))
    assert np.array_equal(found.obs["mine_certainty"], np.clip(again.consensus.belongs, 0, 1))


def test_where_pairs_do_not_meet_it_says_so(tmp_path):
    adata = anndata.AnnData(np.random.default_rng(2).normal(0, 1, (60, 2)))
    with pytest.warns(UserWarning, match="pairs of chains did not meet within 6 sweeps"):
        cluster(adata, use_rep="X", component="known", noise_sd=0.2, max_sweeps=6, **FEW)
    about = adata.uns["copartition"]
    assert not about["converged"]
    assert about["pairs"]["not_met"] > 0
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert "did not meet" in anndata.read_h5ad(tmp_path / "cells.h5ad").uns["copartition"]["shortfalls"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_umap"}, "use_rep must be one of 'X', 'X_pca', got 'X_umap'"),
        ({"n_pcs": 4}, "n_pcs must be at most the number of columns of 'X_pca', 3, got 4"),
        ({"n_pcs": 0}, "n_pcs must be"),
        ({"key_added": ""}, "key_added must be a name, got ''"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1, got 0"),
    ],
)
def test_mistakes_are_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        cluster(cells(), **options)


def test_mistakes_of_objects():
    with pytest.raises(TypeError, match="adata must be an AnnData object, got"):
        cluster(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"use_rep must be one of 'X', got 'X_pca' \(scanpy.pp.pca makes 'X_pca'\)"):
        cluster(anndata.AnnData(np.zeros((3, 2))))
    with pytest.raises(ValueError, match="got 'X', and adata has no X"):
        cluster(anndata.AnnData(obs={"a": [1, 2]}), use_rep="X")


# --- the command line ------------------------------------------------------------------------------------------------


def call(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


SHORT = ("--replicates", "5", "--burn-in", "5", "--min-sweeps", "10", "--lag", "5")


def test_the_command_clusters_what_it_is_told_to(tmp_path):
    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path)
    result = call("estimate", path, "--rep", "X_pca", "--n-pcs", "2", "--component", "nig", *SHORT)
    assert result.exit_code == 0, result.output
    assert "21 points x 2 column(s); the first 2 columns of X_pca" in result.output
    posterior = cp.Mixture(cells().obsm["X_pca"][:, :2].astype(float), cp.NormalInverseGamma())
    e = cp.estimate(posterior, cp.n_clusters(), replicates=5, burn_in=5, min_sweeps=10, lag=5)
    by_hand = call("estimate", path, "--n-pcs", "2", "--component", "nig", "--functional", "n_clusters", *SHORT)
    assert rounded(e.mean[0], e.stderr[0]) in by_hand.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rep", "X_umap"], "--rep must be one of 'X', 'X_pca', got 'X_umap'"),
        (["--columns", "a"], "--columns goes with tables, and"),
        (["--as", "a=count"], "--as goes with tables, and"),
    ],
)
def test_mistakes_on_the_command_line(tmp_path, arguments, message):
    path = tmp_path / "cells.h5ad"
    cells().write_h5ad(path)
    result = call("estimate", path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_options_of_cells_go_with_cells(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n2,3\n")
    result = call("estimate", table, "--rep", "X_pca")
    assert result.exit_code == 2
    assert "--rep goes with AnnData files (.h5ad), and" in result.output
    broken = tmp_path / "broken.h5ad"
    broken.write_bytes(b"nothing")
    result = call("estimate", broken)
    assert result.exit_code == 2
    assert "cannot be read as an AnnData file: " in result.output
    assert "There is no file" in call("estimate", tmp_path / "nowhere.h5ad").output


# --- scanpy ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")  # scanpy's own are not ours to mend
def test_scanpy_can_use_what_was_added(clustered, tmp_path):
    """The functions that follow a clustering in scanpy: genes that mark clusters, and a picture coloured by them."""
    scanpy = pytest.importorskip("scanpy", reason="scanpy, which only this test uses, is not installed")
    from matplotlib import pyplot

    adata = clustered.copy()
    adata.obs["copartition"] = adata.obs["copartition"].cat.set_categories(["0", "1"])
    adata = adata[adata.obs["copartition"].notna()].copy()
    scanpy.pp.log1p(adata)
    scanpy.tl.rank_genes_groups(adata, "copartition")
    assert set(adata.uns["rank_genes_groups"]["names"].dtype.names) == {"0", "1"}
    adata.obsm["X_umap"] = adata.obsm["X_pca"][:, :2]
    axes = scanpy.pl.umap(adata, color=["copartition", "copartition_certainty"], show=False)
    assert len(axes) == 2
    pyplot.close("all")
