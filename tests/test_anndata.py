"""Cells of an AnnData object: what is written into it, and that files and scanpy can use it."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix, issparse

import copartition as cp
from bernoulli import Bernoulli
from copartition import anndata as door
from copartition.anndata import cluster
from copartition.cli import main
from copartition.clustering import pairs
from copartition.display import rounded

pytestmark = pytest.mark.filterwarnings("ignore:copartition.anndata.cluster. the answer is:UserWarning")  # of so little

LITTLE = {"component": "diagonal", "effort": 0.001}


def cells(n_columns=3):
    """Eight cells of one kind, twelve of another, and one between, with columns in obsm."""
    rng = np.random.default_rng(7)
    table = np.concatenate([rng.normal(-3, 0.7, (8, n_columns)), rng.normal(3, 0.7, (12, n_columns))])
    table = np.concatenate([table, np.zeros((1, n_columns))])
    adata = anndata.AnnData(csr_matrix(np.maximum(rng.poisson(2.0, (21, 5)), 0).astype(np.float32)))
    adata.obs_names = [f"cell{i}" for i in range(21)]
    adata.obsm["X_pca"] = table.astype(np.float32)
    return adata


@pytest.fixture(scope="module")
def clustered():
    adata = cells()
    assert cluster(adata, effort=0.001) is None
    return adata


def test_what_is_added(clustered):
    obs = clustered.obs
    assert obs["copartition"].cat.categories.tolist()[:2] == ["0", "1"]
    assert obs["copartition"].tolist()[:20] == ["1"] * 8 + ["0"] * 12  # the largest first
    assert obs["copartition_certainty"].between(0, 1).all()
    assert obs["copartition_certainty"].iloc[20] < obs["copartition_certainty"].iloc[:20].min()
    assert (obs["copartition_certainty_stderr"] >= 0).all()
    assert obs["copartition_undecided"].tolist() == (obs["copartition_certainty"] < 0.5).tolist()
    assert clustered.obsm["copartition_probabilities"].shape == (21, obs["copartition"].nunique())
    similarity = clustered.obsp["copartition_similarity"]
    assert issparse(similarity)
    assert similarity.dtype == np.float32
    assert abs(similarity - similarity.T).max() == 0
    assert similarity.data.min() >= 0.01
    about = clustered.uns["copartition"]
    assert about["grade"] in ("unbiased", "approximate")
    assert "pairs of coupled chains" in about["reason"]
    assert about["headline"].startswith(f"{obs['copartition'].nunique()} clusters (P = ")
    assert about["n_clusters"]["probability"].sum() == pytest.approx(1.0, abs=0.01)
    assert about["params"]["use_rep"] == "X_pca"
    assert about["work"]["pairs"] >= about["work"]["pairs_met"]
    assert about["versions"]["copartition"] == cp.__version__
    assert any("concentration" in sentence for sentence in about["assumptions"])
    assert set(about["profile"]["column"]) == set(about["separation"].index) == {"PC1", "PC2", "PC3"}
    assert set(about["scores"]["component"]) == {"full", "tied", "diagonal"}


def test_it_survives_a_file(clustered, tmp_path):
    clustered.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(back.obs, clustered.obs)
    was, about = clustered.uns["copartition"], back.uns["copartition"]
    assert set(about) == set(was)
    assert (about["grade"], about["reason"]) == (was["grade"], was["reason"])
    assert about["n_clusters"]["probability"].tolist() == was["n_clusters"]["probability"].tolist()
    assert about["assumptions"].tolist() == was["assumptions"].tolist()
    for name in ("profile", "separation", "scores"):
        pd.testing.assert_frame_equal(about[name], was[name], check_index_type=False)
    assert abs(back.obsp["copartition_similarity"] - clustered.obsp["copartition_similarity"]).max() == 0


def test_it_is_the_one_call_and_a_copy_leaves_the_original_alone(monkeypatch):
    monkeypatch.setattr(door, "NEGLIGIBLE", 0.9)
    adata = cells()
    found = cluster(adata, key_added="mine", n_pcs=2, n_jobs=-1, copy=True, **LITTLE)
    assert list(adata.obs) == []
    assert found.uns["mine"]["params"]["n_pcs"] == 2
    c = cp.cluster(adata.obsm["X_pca"][:, :2].astype(float), **LITTLE)
    assert found.obs["mine"].tolist() == [str(k) for k in c.labels]
    assert np.array_equal(found.obs["mine_certainty"], c.certainty)
    assert np.array_equal(found.obsm["mine_probabilities"], c.probabilities)
    similarity = c.consensus.similarity.astype(np.float32)
    expected = np.where(similarity >= 0.9, similarity, 0.0)
    assert np.array_equal(found.obsp["mine_similarity"].toarray(), np.clip(expected, 0.0, 1.0))


def test_whole_numbers_are_numbers_and_genes_have_their_names(monkeypatch):
    """Of a matrix of counts, too; a gene that is the same in every cell is left out."""
    adata = cells()
    genes = np.round(adata.obsm["X_pca"]) + 5.0
    adata = anndata.AnnData(np.column_stack([genes, np.ones(21)]))
    adata.var_names = ["CD4", "CD8A", "MS4A1", "ACTB"]
    cluster(adata, use_rep="X", **LITTLE)
    about = adata.uns["copartition"]
    assert about["params"]["component"].startswith("NormalInverseGamma")
    assert about["profile"]["column"].unique().tolist() == ["CD4", "CD8A", "MS4A1"]
    assert about["notes"].tolist() == ["left out: ACTB (the same in every cell)"]
    assert "copartition_similarity" in adata.obsp
    monkeypatch.setattr(door, "ALL_PAIRS", 20)
    cluster(adata, use_rep="X", **LITTLE)
    assert "copartition_similarity" not in adata.obsp  # that of another answer would mislead


def test_a_component_of_ones_own_has_no_profile(tmp_path):
    adata = anndata.AnnData(np.repeat([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], 6, axis=0))
    cluster(adata, use_rep="X", component=Bernoulli(), effort=0.001)
    assert adata.obs["copartition"].nunique() == 2
    assert "profile" not in adata.uns["copartition"]
    adata.write_h5ad(tmp_path / "cells.h5ad")


def test_a_warning_for_any_grade_but_unbiased(tmp_path, monkeypatch):
    monkeypatch.setattr(pairs, "LEAST_COUPLED", 10**12)  # which nobody can afford
    adata = cells()
    with pytest.warns(UserWarning, match=r"the answer is approximate\. \d chains of .* effort") as said:
        cluster(adata, **LITTLE)
    assert said[0].filename == __file__
    adata.write_h5ad(tmp_path / "cells.h5ad")
    about = anndata.read_h5ad(tmp_path / "cells.h5ad").uns["copartition"]
    assert about["grade"] == "approximate"
    assert str(said[0].message).endswith(about["reason"])


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
    with pytest.raises(ValueError, match="'X' must have a column that is not the same in every cell, got 2"):
        cluster(anndata.AnnData(np.zeros((3, 2))), use_rep="X")


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
