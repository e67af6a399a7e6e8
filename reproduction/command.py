"""``python -m reproduction``: the paper's figures, and the data for one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import copartition as cp
from reproduction.cells import cells_from_counts, read_cells, read_counts, write_cells
from reproduction.everything import FIGURES, reproduce
from reproduction.experiments import SCALES, Reproduction
from reproduction.fetch import fetch, fetched

# What a user can mend: the message is enough, the place in the source is not wanted.
MISTAKES = (ValueError, TypeError, OSError, ImportError, cp.errors.ReplicateError, cp.errors.TuningError)


@contextmanager
def _one_sentence_errors() -> Iterator[None]:
    """Turn a user's mistake into one line and exit code 2."""
    try:
        yield
    except MISTAKES as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Reproduce Trippe, Nguyen and Broderick (2020): all of it, one of its figures, or complexity (Theorem 1).

    Pictures, numbers and a page go to --out; the same command goes on where it was interrupted.
    """


OPTIONS = (
    click.option("--full", is_flag=True, help="As many replicates as the paper has; up to an hour."),
    click.option("--tiny", is_flag=True, help="Too few replicates for results, to see that all works; a minute."),
    click.option("--seed", default=0, show_default=True, help="Seed of data and chains."),
    click.option("--out", type=click.Path(), default="out/paper", show_default=True, help="Folder for all results."),
    click.option("--cells", type=click.Path(), help="The RNA-seq data of Figure 2B; without it and without a fetched "
                 "copy cells are simulated."),
    click.option("--as-in-text", is_flag=True, help="Settings of the text where the code has others (Figure 1)."),
    click.option("--seconds", type=float, help="Time limit of a process of Figure 2B, in place of 1,800 sweeps."),
)  # fmt: skip


def _figures(
    names: list[str],
    full: bool,
    tiny: bool,
    seed: int,
    out: str,
    cells: str | None,
    as_in_text: bool,
    seconds: float | None,
) -> None:
    """Make some figures and the page, and say what holds."""
    with _one_sentence_errors():
        if full and tiny:
            raise click.UsageError("Give --full or --tiny, not both.")
        if seconds is not None and seconds <= 0:
            raise click.UsageError(f"--seconds must be positive, got {seconds:g}.")
        found = Path(cells) if cells else fetched()
        if found is not None and "figure2" in names:
            read_cells(found)  # mistakes in it are told before anything is computed
        with _telling() as tell:
            reproduction = Reproduction(
                out=Path(out),
                scale=SCALES["full" if full else "tiny" if tiny else "default"],
                seed=seed,
                as_in_text=as_in_text,
                cells=found,
                seconds=seconds,
                tell=tell,
            )
            try:
                sections = reproduce(reproduction, names)
            except KeyboardInterrupt:
                click.echo(f"Interrupted: what is done is kept in {out}; the same command goes on with it.", err=True)
                sys.exit(130)
    claims = [claim for section in sections for claim in section.claims]
    for claim in claims:
        click.echo(f"{'holds     ' if claim.holds else 'DOES NOT  '}{claim.where}: {claim.says}: {claim.measured}")
    for section in sections:
        if section.warning:
            click.echo(section.warning)
    click.echo(
        f"{sum(claim.holds for claim in claims)} of {len(claims)} statements hold. See {Path(out) / 'index.html'}."
    )


def _add(name: str, names: list[str], text: str) -> None:
    """Add the command that makes some figures."""

    def command(**options: Any) -> None:
        _figures(names, **options)

    for option in reversed(OPTIONS):
        command = option(command)
    main.command(name, help=text)(command)


_add("all", list(FIGURES), "Reproduce everything.")
for _figure, _text in (
    ("figure1", "Meeting times under three couplings."),
    ("figure2", "Unbiased estimates: a predictive density, and the largest cluster of cells."),
    ("figure3", "The predictive density with more data."),
    ("complexity", "Theorem 1: the time of a coupled sweep."),
):
    _add(_figure, [_figure], _text)


@main.command("fetch")
def fetch_data() -> None:
    """Download the RNA-seq data of Figure 2B."""
    with _one_sentence_errors():
        click.echo(f"The RNA-seq data are in {fetch()}.")


@main.command()
@click.argument("counts", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), help="The matrix of cells x genes, CSV.")
@click.option("--cells", "n_cells", default=200, show_default=True, help="Cells to draw.")
@click.option("--genes", "n_genes", default=50, show_default=True, help="Genes to keep: those that vary most.")
@click.option("--seed", default=0, show_default=True, help="Seed of the choice of cells.")
@click.option("--transpose", is_flag=True, help="The table has cells x genes.")
def cells(counts: str, output: str, n_cells: int, n_genes: int, seed: int, transpose: bool) -> None:
    """Make the matrix that is clustered from a table of RNA counts: some cells, logs, variable genes, scaled.

    COUNTS is a CSV or TSV file of genes x cells with names in its first row and column, an AnnData file (.h5ad), or a
    folder in the form of 10x Genomics.
    """
    with _one_sentence_errors():
        made = cells_from_counts(read_counts(counts, transpose), n_cells, n_genes, seed)
        try:
            write_cells(made, output)
        except OSError as error:
            raise ValueError(f"{output!r} cannot be written: {error.strerror}.") from None
    click.echo(f"Wrote {len(made.cells)} cells x {len(made.genes)} genes to {output}.")


@contextmanager
def _telling() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar for each part of the work, on a terminal; a line for each part elsewhere."""
    if not sys.stderr.isatty():
        said: set[str] = set()

        def say(what: str, done: int, total: int) -> None:
            if what not in said:
                said.add(what)
                click.echo(f"{what} ...", err=True)

        yield say
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, Any] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield tell
