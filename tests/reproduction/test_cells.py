"""From counts of RNA molecules to the matrix that is clustered, and what can be wrong with the files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import mmwrite
from scipy.sparse import csr_matrix

from reproduction.cells import Counts, cells_from_counts, read_cells, read_counts, simulated_counts, write_cells
from reproduction.command import main


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def counts(values=((3, 0, 1, 7), (0, 0, 0, 0), (2, 9, 4, 1))):
    values = np.array(values, dtype=float)
    genes, cells = ([f"{what}{i}" for i in range(n)] for what, n in zip("gc", values.shape, strict=True))
    return Counts(values, genes, cells, "'counts.csv'")


def written(path, table, separator=","):
    lines = [separator.join(["", *table.cells])]
    for gene, row in zip(table.genes, table.values, strict=True):
        lines.append(separator.join([gene, *[f"{v:g}" for v in row]]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pipeline_step_by_step():
    made = cells_from_counts(counts(), n_cells=4, n_genes=2)
    logs = np.log([[4, 1, 2, 8], [3, 10, 5, 2]])
    assert made.genes == ["g0", "g2"]
    assert made.cells == ["c0", "c1", "c2", "c3"]
    expected = (logs - logs.mean(axis=1, keepdims=True)) / logs.std(axis=1, ddof=1, keepdims=True)
    np.testing.assert_allclose(made.values, expected.T)


def test_the_most_variable_genes_of_the_chosen_cells_are_kept():
    rng = np.random.default_rng(1)
    table = counts(rng.poisson(rng.gamma(1.0, 5.0, (30, 1)), (30, 20)))
    made = cells_from_counts(table, n_cells=12, n_genes=7, seed=3)
    chosen = [table.cells.index(name) for name in made.cells]
    assert len(set(chosen)) == 12
    spread = np.log1p(table.values[:, chosen]).std(axis=1)
    assert set(made.genes) == {table.genes[g] for g in np.argsort(-spread)[:7]}
    again = cells_from_counts(table, n_cells=12, n_genes=7, seed=3)
    assert np.array_equal(made.values, again.values)
    assert made.cells != cells_from_counts(table, n_cells=12, n_genes=7, seed=4).cells


def test_simulated_counts_have_the_moments_they_say():
    table = simulated_counts(n_genes=300, n_cells=4000, n_types=1, seed=1)
    means = table.values.mean(axis=1)
    sizes = np.exp(0.3**2)  # second moment of a log-normal size over its squared mean
    expected = means + means**2 * (1.5 * sizes - 1)
    ratio = table.values.var(axis=1)[means > 1] / expected[means > 1]
    assert np.median(ratio) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("kind", ["csv", "tsv", "transposed", "10x", "10x.gz", "h5ad"])
def test_counts_in_every_form(tmp_path, kind):
    table = counts()
    if kind in ("csv", "tsv"):
        found = read_counts(written(tmp_path / f"t.{kind}", table, "," if kind == "csv" else "\t"))
    elif kind == "transposed":
        turned = Counts(table.values.T, table.cells, table.genes, "")
        found = read_counts(written(tmp_path / "t.csv", turned), transpose=True)
    elif kind == "h5ad":
        import anndata
        import pandas

        cells, genes = (pandas.DataFrame(index=names) for names in (table.cells, table.genes))
        data = anndata.AnnData(csr_matrix(table.values.T), cells, genes)
        data.write_h5ad(tmp_path / "t.h5ad")
        found = read_counts(tmp_path / "t.h5ad")
    else:
        mmwrite(tmp_path / "matrix.mtx", csr_matrix(table.values))
        (tmp_path / "features.tsv").write_text("".join(f"{gene}\tname\n" for gene in table.genes))
        (tmp_path / "barcodes.tsv").write_text("".join(f"{cell}\n" for cell in table.cells))
        if kind == "10x.gz":
            for file in list(tmp_path.iterdir()):
                with gzip.open(f"{file}.gz", "wb") as packed:
                    packed.write(file.read_bytes())
                file.unlink()
        found = read_counts(tmp_path)
    np.testing.assert_array_equal(found.values, table.values)
    assert (found.genes, found.cells) == (table.genes, table.cells)


def test_cells_written_are_read_back(tmp_path):
    made = cells_from_counts(counts(), n_cells=4, n_genes=2)
    write_cells(made, tmp_path / "cells.csv")
    found = read_cells(tmp_path / "cells.csv")
    assert np.array_equal(found.values, made.values)
    assert (found.cells, found.genes) == (made.cells, made.genes)


GOOD = ",a,b\nx,1,2\ny,3,5\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("3", ""), "row 'y', column 'a': expected a number, got nothing"),
        (GOOD.replace("3", "NA"), "row 'y', column 'a': expected a number, got 'NA'"),
        (GOOD.replace("3", "nan"), "row 'y', column 'a': expected a finite number, got nan"),
        (GOOD.replace("3,", ""), "line 3: expected 3 columns, got 2"),
        (",a\nx,1\n", "must have a column of names and at least two of numbers"),
        (",a,a\nx,1,2\n", "names must be different, got column 'a' twice"),
        (GOOD.replace("y", "x"), "names must be different, got row 'x' twice"),
        (GOOD.replace("3", "1"), "column 'a': a gene must vary, got 1 always"),
        ("", "is empty"),
    ],
)
def test_mistakes_in_a_cells_file(tmp_path, text, message):
    path = tmp_path / "cells.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as raised:
        read_cells(path)
    assert str(path) in str(raised.value)
    result = call("figure2", "--tiny", "--cells", path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.output
    assert not (tmp_path / "out").exists()


def test_mistakes_in_counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(GOOD.replace("3", "-3"))
    with pytest.raises(ValueError, match="gene 'y', cell 'a': a count must be 0 or more, got -3"):
        read_counts(path)
    with pytest.raises(ValueError, match="must have 3 genes that vary over the cells, got 2"):
        cells_from_counts(counts(), n_cells=4, n_genes=3)
    with pytest.raises(ValueError, match="must have 5 cells, got 4"):
        cells_from_counts(counts(), n_cells=5, n_genes=2)
    with pytest.raises(ValueError, match="There is no file"):
        read_counts(tmp_path / "nowhere.csv")
    (tmp_path / "counts.xls").write_text("")
    with pytest.raises(ValueError, match=r"must be a .csv or .tsv file"):
        read_counts(tmp_path / "counts.xls")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"must hold matrix.mtx or matrix.mtx.gz"):
        read_counts(tmp_path / "empty")


def test_names_that_do_not_fit_the_matrix(tmp_path):
    mmwrite(tmp_path / "matrix.mtx", csr_matrix(counts().values))
    (tmp_path / "genes.tsv").write_text("a\nb\n")
    (tmp_path / "barcodes.tsv").write_text("1\n2\n3\n4\n")
    with pytest.raises(ValueError, match="must have 2 rows and 4 columns, as its names, got 3 and 4"):
        read_counts(tmp_path)


def test_the_command(tmp_path):
    path = written(tmp_path / "counts.csv", counts())
    result = call("cells", path, "-o", tmp_path / "cells.csv", "--cells", "4", "--genes", "2")
    assert result.exit_code == 0, result.output
    assert "4 cells x 2 genes" in result.output
    assert read_cells(tmp_path / "cells.csv").values.shape == (4, 2)
    result = call("cells", path, "-o", "/nowhere/cells.csv", "--cells", "4", "--genes", "2")
    assert result.exit_code == 2
    assert result.output == "Error: '/nowhere/cells.csv' cannot be written: No such file or directory.\n"
