"""``copartition paper`` and ``copartition cells``: the paper's figures, and the data for one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from copartition import datasets
from copartition.cli.model import one_sentence_errors, writing
from copartition.datasets.cells import write_cells

WHAT = ("all", "figure1", "figure2", "figure3", "complexity", "fetch")


@click.command()
@click.argument("what", type=click.Choice(WHAT))
@click.option("--full", is_flag=True, help="As many replicates as the paper has; up to an hour.")
@click.option("--tiny", is_flag=True, help="Too few replicates for results, to see that everything works; a minute.")
@click.option("--seed", default=0, show_default=True, help="Seed of data and chains.")
@click.option("--out", type=click.Path(), default="out/paper", show_default=True, help="Folder for all results.")
@click.option("--cells", type=click.Path(), help="The RNA-seq data of Figure 2B; without it and without a fetched copy "
              "cells are simulated.")  # fmt: skip
@click.option("--as-in-text", is_flag=True, help="Settings of the paper's text where its code has others (Figure 1).")
@click.option("--seconds", type=float, help="Time limit of a process of Figure 2B, in place of 1,800 sweeps.")
def paper(
    what: str, full: bool, tiny: bool, seed: int, out: str, cells: str | None, as_in_text: bool, seconds: float | None
) -> None:
    """Reproduce the paper: WHAT is all, one of its figures, complexity (Theorem 1), or fetch.

    Pictures, numbers and a page go to --out; the same command goes on where it was interrupted. fetch downloads the
    RNA-seq data of Figure 2B.
    """
    from copartition.paper import FIGURES, SCALES, Reproduction, reproduce
    from copartition.paper.fetch import fetch, fetched

    with one_sentence_errors():
        if what == "fetch":
            click.echo(f"The RNA-seq data are in {fetch()}.")
            return
        if full and tiny:
            raise click.UsageError("Give --full or --tiny, not both.")
        if seconds is not None and seconds <= 0:
            raise click.UsageError(f"--seconds must be positive, got {seconds:g}.")
        found = Path(cells) if cells else fetched()
        if found is not None and what in {"all", "figure2"}:
            datasets.read_cells(found)  # mistakes in it are told before anything is computed
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
                sections = reproduce(reproduction, list(FIGURES) if what == "all" else [what])
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


@click.command()
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
    with one_sentence_errors():
        made = datasets.cells_from_counts(datasets.read_counts(counts, transpose), n_cells, n_genes, seed)
        with writing(output):
            write_cells(made, output)
    click.echo(f"Wrote {len(made.cells)} cells x {len(made.genes)} genes to {output}.")
