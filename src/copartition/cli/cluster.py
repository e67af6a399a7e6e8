"""``copartition cluster``: from a file to clusters, and how sure they are."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import copartition as cp
from copartition import datasets
from copartition.cli.model import one_sentence_errors, writing
from copartition.cli.network import ENDINGS, OPTIONS, block_model_of, network_options
from copartition.cli.posterior import EXAMPLES, kinds_of, list_of, refuse
from copartition.clustering.answer import columns_about, free_names, said_of_names
from copartition.clustering.call import check_arguments
from copartition.datasets.kinds import kinds_in
from copartition.datasets.tables import is_missing, position_of, positions_of, read_raw, source_of, without
from copartition.targets.cells import kept_names
from copartition.validation import RowTitles
from copartition.view.export import write_columns

COLUMNS = {"faithful": ["eruptions", "waiting"], "galaxies": ["velocity"]}  # of the examples
FORMATS = (".csv", ".parquet")
OF_FILES = {"columns": "--columns", "drop": "--drop", "kinds": "--as", "missing": "--missing", "id_column": "--id"}
OF_CELLS = {"rep": "--rep", "n_pcs": "--n-pcs"}
COMPONENT = {"component": "--component"}
ELSEWHERE = {"normal": "full", "nig": "diagonal"}  # what other commands, and findings, call components
LOSSES = ("vi", "binder")


class Asked(NamedTuple):
    """What is clustered, and what belongs to it.

    Attributes
    ----------
    data : Kinds or BlockModel
    about : str
        What was read, in a line.
    beside : list of pairs
        Name and cells of every column that stands beside the clusters in a file.
    source : dict or None
        The file, and its digest.
    """

    data: Any
    about: str
    beside: list[tuple[str, Sequence[Any]]]
    source: dict[str, str] | None


@click.command()
@click.argument("data", required=False, type=click.Path())
@click.option("--example", type=click.Choice(sorted(EXAMPLES)), help="A bundled data set, in place of DATA.")
@click.option(
    "-o", "--output", type=click.Path(), help="Write the table with its clusters beside it: a .csv or .parquet file."
)
@click.option("--report", type=click.Path(), help="Write a page about the answer, one HTML file.")
@click.option(
    "--effort",
    type=float,
    default=1.0,
    show_default=True,
    help="How much work: 1 is at most a minute of one processor for most tables; 10 is ten times that.",
)
@click.option(
    "--component",
    help="What clusters of columns of numbers are like: full (each has a covariance of its own), tied (all share one), "
    "diagonal (columns are independent), or auto, the one that predicts rows best that it has not seen.  "
    "[default: auto]",
)
@click.option("--drop", metavar="COLUMN,...", help="Columns to leave out, such as a class that was assigned before.")
@click.option(
    "--columns", metavar="COLUMN,...", help="Columns to use, by name or by number from 0 on; all if left out."
)
@click.option("--id", "id_column", metavar="COLUMN", help="The column with the names of the rows; not clustered by.")
@click.option(
    "--as",
    "kinds",
    multiple=True,
    metavar="COLUMN=KIND",
    help=f"What a column is, where that is not recognised: {', '.join(datasets.KINDS)}. Repeat for more.",
)
@click.option(
    "--missing",
    metavar="TEXT,...",
    help="What stands in cells that were not observed, besides nothing, NA, NaN, null and none: '?,-999'.",
)
@click.option(
    "--loss",
    default="vi",
    show_default=True,
    help="What the clusters are best in: vi (variation of information) or binder (pairs in dispute).",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--threads", type=click.IntRange(min=1), help="Number of threads.  [default: as many as processors]")
@click.option("--processes", is_flag=True, help="Run on processes instead of threads.")
@click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON.")
@click.option("--rep", help="Of an .h5ad file: what is clustered, a name in obsm, or X.  [default: X_pca]")
@click.option("--n-pcs", type=int, help="Of an .h5ad file: the first so many columns of it.  [default: all]")
def cluster(output: str | None, report: str | None, effort: float, as_json: bool, **options: Any) -> None:
    """Find the clusters of a table, how many there are, and how sure each row is of its own.

    DATA is a table as it is, a row a point: a CSV or TSV file, gzipped or not, or an NPY, Parquet or Excel file
    (.xlsx), of numbers, counts, yes and no, and categories, with missing cells; an AnnData file (.h5ad); or a network:
    a GraphML or GML file, or a list of edges (.edges, .edgelist, .el). Ctrl-C gives the answer so far.

    First try: copartition cluster --example faithful
    """
    with one_sentence_errors(), _one_sentence_of_click():
        executor = _executor(options)
        _check(output, report, options)
        component = "auto" if options["component"] is None else options["component"]
        component = ELSEWHERE.get(component, component)
        check_arguments(component, effort, options["loss"], options["seed"])
        asked = _read(options)
        for path in (output, report):
            if path is not None:
                with writing(path, asked.source):
                    pass
        click.echo(asked.about, err=as_json)
        if isinstance(asked.data, datasets.Kinds):
            for line in [column.describe() for column in asked.data.columns] + asked.data.notes:
                click.echo(f"  {line}", err=as_json)
        click.echo("", err=as_json)
        how = {"effort": effort, "loss": options["loss"], "seed": options["seed"], "executor": executor}
        try:
            c = cp.cluster(asked.data, component, progress=True, **how)
        except KeyboardInterrupt:
            click.echo("Interrupted: there was no answer yet.", err=True)
            sys.exit(130)
        try:  # files first: who reads what is printed may have heard enough, as head does
            _write(c, asked, output, report, Path(options["data"] or options["example"]).name)
        finally:
            click.echo(json.dumps(_plain(c.to_dict()), allow_nan=False) if as_json else str(c))
        for path in (output, report):
            if path is not None:
                click.echo(f"Wrote {path}.{_renamed(asked, c) if path == output else ''}", err=as_json)
        if c.work.get("interrupted"):
            sys.exit(130)


for of_networks in network_options():
    of_networks(cluster)


def _write(c: cp.Clustering, asked: Asked, output: str | None, report: str | None, title: str) -> None:
    """Write the table with its clusters, and the page."""
    if output is not None:
        about = {"grade": c.grade, "effort": c.effort, "seed": c.seed, "version": cp.__version__}
        with writing(output, asked.source):
            write_columns(beside(asked.beside, c), Path(output), about)
    if report is not None:
        with writing(report, asked.source):
            c.report(report, title)


@contextmanager
def _one_sentence_of_click() -> Iterator[None]:
    """Let errors of options be one sentence, too, without a line on usage."""
    try:
        yield
    except click.UsageError as error:
        raise ValueError(error.message) from None


def beside(columns: Sequence[tuple[str, Sequence[Any]]], c: Any) -> dict[str, np.ndarray]:
    """Return columns with cluster, certainty and probabilities beside them, all by different names.

    Parameters
    ----------
    columns : sequence of pairs
        Names and cells; they keep their names, but for the later ones of two that are the same.
    c : Clustering
    """
    found: dict[str, np.ndarray] = {}
    for j, (name, cells) in enumerate(columns):
        array = np.empty(len(cells), dtype=object)
        array[:] = list(cells)
        found[name if name not in found else f"{name} [{j}]"] = array
    added = columns_about(c)
    names = free_names(added, found)
    return found | {names[name]: cells for name, cells in added.items()}


def _renamed(asked: Asked, c: cp.Clustering) -> str:
    """Return what columns of the output are called, in a sentence, where the table has columns of their names."""
    other = said_of_names(free_names(columns_about(c), [name for name, _ in asked.beside]))
    return f" {other[0].upper()}{other[1:]}." if other else ""


def _executor(options: dict[str, Any]) -> Any:
    if options["processes"] and options["threads"] is not None:
        raise ValueError("Give one of --processes and --threads, not both.")
    return "processes" if options["processes"] else options["threads"]


def _check(output: str | None, report: str | None, options: dict[str, Any]) -> None:
    """Refuse what cannot be written, and what is not known, before anything is run."""
    if output is not None and Path(output).suffix.lower() not in FORMATS:
        raise ValueError(f"--output must end in {' or '.join(FORMATS)}, got {output!r}.")
    for option, path in (("--output", output), ("--report", report)):
        if path is not None and (not path.strip() or Path(path).is_dir() or not Path(path).parent.is_dir()):
            raise ValueError(f"{option} must be the name of a file in a folder that is there, got {path!r}.")
        if path is not None and not os.access(path if Path(path).exists() else Path(path).parent, os.W_OK):
            raise ValueError(f"{option} must be the name of a file that may be written, got {path!r}.")
    if output is not None and report is not None and Path(output).resolve() == Path(report).resolve():
        raise ValueError(f"--output and --report must be two files, got {output!r} twice.")
    if options["loss"] not in LOSSES:
        raise ValueError(f"--loss must be {' or '.join(LOSSES)}, got {options['loss']!r}.")


def _read(options: dict[str, Any]) -> Asked:
    """Return what the options say that is clustered."""
    if bool(options["data"]) == bool(options["example"]):
        raise ValueError("Give a file DATA, or --example galaxies or faithful.")
    source = options["data"] or options["example"]
    if options["data"] and datasets.is_network(source):
        refuse(options, OF_FILES | OF_CELLS | COMPONENT, f"tables, and {source!r} is a network")
        return _read_network(options)
    refuse(options, OPTIONS, f"networks ({ENDINGS}), and {source!r} is a table")
    if options["example"]:
        refuse(options, OF_FILES | OF_CELLS, "a file DATA")
        table = EXAMPLES[source]["data"]()
        return _of_numbers(table, COLUMNS[source], source, [], None)
    if datasets.is_annotated(source):
        refuse(options, OF_FILES, f"tables, and {source!r} is an AnnData file; --rep says what is clustered")
        return _read_cells(options)
    refuse(options, OF_CELLS, f"AnnData files (.h5ad), and {source!r} is not one")
    return _read_table(options)


def _read_network(options: dict[str, Any]) -> Asked:
    path = options["data"]
    target = block_model_of(options, None)
    about = "; ".join([f"{path}: {target.n_points:,} vertices, {target.n_edges:,} edges", *options["notes"]])
    names = target.names if target.names is not None else range(target.n_points)
    return Asked(target, about, [("vertex", list(names))], source_of(path))


def _read_cells(options: dict[str, Any]) -> Asked:
    path, rep = options["data"], "X_pca" if options["rep"] is None else options["rep"]
    adata = datasets.read_annotated(path)
    table, cells = datasets.representation_of(adata, rep, options["n_pcs"]), adata.obs_names.tolist()
    if rep == "X":
        names = adata.var_names.astype(str).tolist()[: table.shape[1]]
    else:
        names = [f"PC{j + 1}" if rep == "X_pca" else f"{rep}[{j}]" for j in range(table.shape[1])]
    asked = _of_numbers(table, names, f"{path}, {rep}", cells, source_of(path))
    return asked._replace(beside=[("cell", cells)])


def _of_numbers(
    table: np.ndarray, names: list[str], called: str, rows: list[Any], source: dict[str, str] | None
) -> Asked:
    """Return an array of numbers, its columns recognised and by their names."""
    columns = list(np.atleast_2d(table.T))
    found = datasets.recognise(table, column_names=names)
    if rows:
        found = found._replace(names=kept_names(rows))
    shown = list(zip(names, [column.tolist() for column in columns], strict=True))
    return Asked(found, _about(called, len(columns[0]), found), shown, source)


def _read_table(options: dict[str, Any]) -> Asked:
    path, file = options["data"], Path(options["data"])
    wanted, dropped = list_of("--columns", options["columns"]), list_of("--drop", options["drop"]) or []
    missing = list_of("--missing", options["missing"]) or []
    as_it_stands = read_raw(path)
    names, raw = as_it_stands.names, without(as_it_stands, missing)
    kinds = kinds_of(options["kinds"])
    out = {position_of(name, names, file): "--drop" for name in dropped}
    rows = None
    if options["id_column"] is not None:
        place = position_of(options["id_column"], names, file)
        if place in out:
            raise ValueError(f"--id and --drop must name different columns, got {options['id_column']!r} twice.")
        rows = _names_in([row[place] for row in raw.rows], options["id_column"], raw.titles)
        out[place] = "--id"
    if wanted is not None:
        both = set(positions_of(wanted, names, file)) & set(out)
        if both:
            place = min(both)
            raise ValueError(f"--columns must have none of {out[place]}, got {names[place] or str(place)!r} in both.")
    clash = next((name for name in kinds if position_of(name, names, file) in out), None)
    if clash is not None:
        option = out[position_of(clash, names, file)]
        raise ValueError(f"--as must be of columns that are clustered by, got {clash!r}, which {option} leaves out.")
    skipped = {} if wanted is not None else {_key(place, names): "skip" for place in out}
    found = kinds_in(raw, path, wanted, kinds | skipped)
    if rows is not None:
        found = found._replace(names=rows)
        notes = [_said_of_id(note, names[place] or str(place)) for note in found.notes]
        found = found._replace(notes=notes)
    columns = zip(*as_it_stands.rows, strict=True)
    return Asked(
        found,
        _about(path, len(raw.rows), found),
        list(zip(names, columns, strict=True)),
        source_of(path),
    )


def _key(place: int, names: Sequence[str]) -> str:
    """Return what the recogniser knows a column by: its name, or its number where that is no name of another."""
    return names[place] if names[place] and list(names).count(names[place]) == 1 else str(place)


def _said_of_id(note: str, name: str) -> str:
    return f"left out: {name} (names of the rows)" if note == f"left out: {name} (as asked)" else note


def _names_in(cells: Sequence[Any], column: str, titles: RowTitles) -> list[Any]:
    """Return the names of rows; refuse two that are the same, and none."""
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    if "" in texts:
        place = titles.title(texts.index(""))
        raise ValueError(f"--id must be a column with a name in every row, got none in {column!r}, {place}.")
    first: dict[str, int] = {}
    for row, name in enumerate(texts):
        if first.setdefault(name, row) != row:
            raise ValueError(
                f"--id must be a column with different names in all rows, got {name!r} in "
                f"{titles.title(first[name])} and {titles.title(row)} of {column!r}."
            )
    return texts


def _about(called: str, count: int, found: datasets.Kinds) -> str:
    return (
        f"{called}: {count:,} rows, {len(found.columns):,} column{'' if len(found.columns) == 1 else 's'} to cluster by"
    )


def _plain(value: Any) -> Any:
    """Return what JSON can hold: it knows no NaN, no arrays, and no numbers of NumPy."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
