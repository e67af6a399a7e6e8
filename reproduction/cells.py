"""Cells from counts of RNA molecules: from a table of genes x cells to the matrix that is clustered.

The pipeline is that of the paper: some cells, logarithms, the genes that vary most, each centred and scaled.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copartition import datasets


class Counts(NamedTuple):
    """Numbers of molecules.

    Attributes
    ----------
    values : float64 array (genes, cells)
    genes, cells : list of str
        Their names.
    source : str
        Where they are from, for messages.
    """

    values: np.ndarray
    genes: list[str]
    cells: list[str]
    source: str


class Cells(NamedTuple):
    """What is clustered.

    Attributes
    ----------
    values : float64 array (cells, genes)
        Every column with mean 0 and standard deviation 1, if it was made by `cells_from_counts`.
    cells, genes : list of str
        Their names.
    """

    values: np.ndarray
    cells: list[str]
    genes: list[str]


def cells_from_counts(counts: Counts, n_cells: int = 200, n_genes: int = 50, seed: int = 0) -> Cells:
    """Return the matrix of cells x genes that is clustered.

    Draw `n_cells` cells at random, take log(1 + count), keep the `n_genes` genes with the largest variance over these
    cells, and centre and scale each.

    Parameters
    ----------
    counts : Counts
        From `read_counts` or `simulated_counts`.
    n_cells, n_genes : int
        How many of each; all cells if there are no more.
    seed : int
        Of the choice of cells.

    Examples
    --------
    >>> cells_from_counts(simulated_counts(seed=1)).values.shape
    (200, 50)
    """
    if n_cells < 2 or n_genes < 1:
        raise ValueError(f"There must be at least 2 cells and 1 gene to keep, got {n_cells} and {n_genes}.")
    count = counts.values.shape[1]
    if n_cells > count:
        raise ValueError(f"{counts.source} must have {n_cells} cells, got {count}.")
    chosen = np.sort(np.random.default_rng(seed).permutation(count)[:n_cells])
    logs = np.log1p(counts.values[:, chosen])
    spread = logs.std(axis=1, ddof=1)
    varying = int(np.sum(spread > 0))
    if varying < n_genes:
        raise ValueError(f"{counts.source} must have {n_genes} genes that vary over the cells, got {varying}.")
    kept = np.sort(np.argsort(-spread, kind="stable")[:n_genes])
    scaled = (logs[kept] - logs[kept].mean(axis=1, keepdims=True)) / spread[kept, None]
    return Cells(np.ascontiguousarray(scaled.T), [counts.cells[c] for c in chosen], [counts.genes[g] for g in kept])


def simulated_counts(n_genes: int = 2000, n_cells: int = 400, n_types: int = 4, seed: int = 0) -> Counts:
    """Return made-up counts: cells of some types, negative binomial.

    Types have weights from a Dirichlet(5) distribution. A gene has a mean that is log-normal (median 2, log sd 1) and
    differs between types, for one gene in ten, by a log-normal factor (log sd 0.35). A cell has a log-normal size (log
    sd 0.3). Counts are negative binomial with that mean and dispersion 0.5, so with variance mean + mean^2 / 2.

    Parameters
    ----------
    n_genes, n_cells, n_types : int
    seed : int
    """
    rng = np.random.default_rng(seed)
    types = rng.choice(n_types, n_cells, p=rng.dirichlet(np.full(n_types, 5.0)))
    base = rng.lognormal(np.log(2.0), 1.0, n_genes)
    marks = rng.random(n_genes) < 0.1
    factors = np.where(marks[:, None], rng.lognormal(0.0, 0.35, (n_genes, n_types)), 1.0)
    means = base[:, None] * factors[:, types] * rng.lognormal(0.0, 0.3, n_cells)
    shape = 2.0  # 1 / dispersion
    values = rng.poisson(rng.gamma(shape, means / shape)).astype(float)
    genes, cells = [f"gene{g}" for g in range(n_genes)], [f"cell{c}" for c in range(n_cells)]
    return Counts(values, genes, cells, "the simulated table")


def read_counts(path: str | Path, transpose: bool = False) -> Counts:
    """Read a table of counts.

    Parameters
    ----------
    path : path
        A CSV or TSV file of genes x cells, names of cells in the first row and of genes in the first column; an
        AnnData file (``.h5ad``, needs the package anndata); or a folder in the form of 10x Genomics, with
        ``matrix.mtx``, ``features.tsv`` (or ``genes.tsv``) and ``barcodes.tsv``, or these with ``.gz``.
    transpose : bool
        The CSV or TSV file has cells x genes.
    """
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    if file.is_dir():
        counts = _read_10x(file)
    elif datasets.is_annotated(file):
        counts = _read_anndata(file)
    else:
        values, rows, columns = _read_named(file)
        named = (values.T, columns, rows) if transpose else (values, rows, columns)
        counts = Counts(*named, source=repr(str(path)))
    _check_counts(counts)
    return counts


def read_cells(path: str | Path) -> Cells:
    """Read a matrix of cells x genes that has been through the pipeline, from a CSV or TSV file.

    Parameters
    ----------
    path : path
        Names of genes in the first row, of cells in the first column.
    """
    file = Path(path)
    if not file.exists():
        raise ValueError(f"There is no file {str(path)!r}.")
    values, cells, genes = _read_named(file)
    constant = np.flatnonzero(np.ptp(values, axis=0) == 0)
    if constant.size:
        name, value = genes[constant[0]], values[0, constant[0]]
        raise ValueError(f"{str(path)!r}, column {name!r}: a gene must vary, got {value:g} always.")
    return Cells(values, cells, genes)


def write_cells(cells: Cells, path: str | Path) -> None:
    """Write a matrix of cells x genes as CSV, for `read_cells`."""
    with Path(path).open("w", newline="", encoding="utf-8") as text:
        writer = csv.writer(text)
        writer.writerow(["", *cells.genes])
        writer.writerows([name, *row] for name, row in zip(cells.cells, cells.values.tolist(), strict=True))


def _read_named(file: Path) -> tuple[np.ndarray, list[str], list[str]]:
    """Return the numbers of a table, the names of its rows and those of its columns."""
    if file.suffix.lower() not in {".csv", ".tsv", ".txt"}:
        raise ValueError(f"{str(file)!r} must be a .csv or .tsv file.")
    names, body = _read_text(file, "," if file.suffix.lower() == ".csv" else "\t")
    columns, rows = names[1:], [row[0] for row in body]
    if len(columns) < 2:
        raise ValueError(f"{str(file)!r} must have a column of names and at least two of numbers, got {len(names)}.")
    for what, found in (("column", columns), ("row", rows)):
        seen: set[str] = set()
        for name in found:
            if name in seen:
                raise ValueError(f"{str(file)!r}: names must be different, got {what} {name!r} twice.")
            seen.add(name)
    values = np.zeros((len(rows), len(columns)))
    for r, row in enumerate(body):
        for c, cell in enumerate(row[1:]):
            values[r, c] = _number(cell, file, rows[r], columns[c])
    return values, rows, columns


def _read_text(file: Path, separator: str) -> tuple[list[str], list[list[str]]]:
    """Return the first row of a file and the others, all of the same length."""
    with file.open(newline="", encoding="utf-8-sig") as text:
        reader = csv.reader(text, delimiter=separator)
        rows = [(reader.line_num, row) for row in reader if row]
    if len(rows) < 2:
        raise ValueError(f"{str(file)!r} {'has a header and no rows' if rows else 'is empty'}.")
    (_, names), *body = rows
    for line, row in body:
        if len(row) != len(names):
            raise ValueError(f"{str(file)!r}, line {line}: expected {len(names)} columns, got {len(row)}.")
    return names, [row for _, row in body]


def _number(cell: str, file: Path, row: str, column: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        got = "nothing" if not cell.strip() else repr(cell)
        raise ValueError(f"{str(file)!r}, row {row!r}, column {column!r}: expected a number, got {got}.") from None
    if not np.isfinite(number):
        raise ValueError(f"{str(file)!r}, row {row!r}, column {column!r}: expected a finite number, got {cell}.")
    return number


def _check_counts(counts: Counts) -> None:
    bad = np.argwhere(~(counts.values >= 0) | ~np.isfinite(counts.values))
    if len(bad):
        g, c = bad[0]
        raise ValueError(
            f"{counts.source}, gene {counts.genes[g]!r}, cell {counts.cells[c]!r}: a count must be 0 or more, got "
            f"{counts.values[g, c]:g}."
        )


def _read_anndata(file: Path) -> Counts:
    table = datasets.read_annotated(file)
    values = datasets.representation_of(table, "X").T
    return Counts(values, list(table.var_names), list(table.obs_names), repr(str(file)))


def _read_10x(folder: Path) -> Counts:
    from scipy.io import mmread

    found = {}
    for what, names in (
        ("matrix", ["matrix.mtx"]),
        ("genes", ["features.tsv", "genes.tsv"]),
        ("cells", ["barcodes.tsv"]),
    ):
        files = [folder / f"{name}{end}" for name in names for end in ("", ".gz")]
        existing = [file for file in files if file.exists()]
        if not existing:
            raise ValueError(f"{str(folder)!r} must hold {names[0]} or {names[0]}.gz.")
        found[what] = existing[0]
    read: Any = mmread
    try:
        matrix = read(str(found["matrix"]), spmatrix=False)
    except TypeError:  # before SciPy 1.17 there was nothing to choose
        matrix = read(str(found["matrix"]))
    genes, cells = (_first_column(found[what]) for what in ("genes", "cells"))
    if matrix.shape != (len(genes), len(cells)):
        raise ValueError(
            f"{str(found['matrix'])!r} must have {len(genes)} rows and {len(cells)} columns, as its names, got "
            f"{matrix.shape[0]} and {matrix.shape[1]}."
        )
    return Counts(matrix.toarray().astype(float), genes, cells, repr(str(folder)))


def _first_column(file: Path) -> list[str]:
    import gzip

    opener: Any = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as text:
        return [line.rstrip("\n").split("\t")[0] for line in text if line.strip()]
