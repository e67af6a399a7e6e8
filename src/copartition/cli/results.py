"""``copartition report`` and ``copartition export``: what is in the store of a run."""

from __future__ import annotations

from pathlib import Path

import click

import copartition as cp
from copartition.cli.estimate import load_partitions, with_more
from copartition.cli.model import one_sentence_errors, writing
from copartition.datasets.tables import columns_of
from copartition.view import export as files

FEWEST = 4  # replicates for a consensus of partitions


@click.command()
@click.argument("run", type=click.Path())
@click.option("-o", "--output", type=click.Path(), default="report.html", show_default=True, help="The page.")
@click.option("--title", help="Head of the page.  [default: the name of the run]")
@click.option("--functional", "functionals", multiple=True, help="Of a run with --keep: what the page shows besides.")
def report(run: str, output: str, title: str | None, functionals: tuple[str, ...]) -> None:
    """Write a page about a run: can it be trusted, what does it say, how was it made.

    RUN is the file that was given to copartition estimate as --store, finished or not. The page is one file that works
    offline. Of a run that kept partitions (--keep) it shows the clusters, whatever was estimated at first.
    """
    with one_sentence_errors():
        e = _load(run)
        shown: cp.Estimate | cp.answers.Consensus = e
        if functionals and e.partitions is None:
            raise ValueError(f"--functional goes with a run that kept partitions (--keep), and {run!r} holds none.")
        if functionals or (e.partitions is not None and not _has_pairs(e) and len(e.values) >= FEWEST):
            shown = with_more(load_partitions(run, bool(functionals)), functionals)
        with writing(output, e.made_by.get("source")):
            cp.write_report(shown, output, Path(run).name if title is None else title)
    click.echo(f"Wrote {output}.")


@click.command()
@click.argument("run", type=click.Path())
@click.option(
    "-o", "--output", required=True, type=click.Path(), help="Ends in .csv, .parquet, .nc (netCDF) or .npz (pairs)."
)
@click.option("--summary", "what", flag_value="summary", help="A row a component, with mean and interval.")
@click.option("--clusters", "what", flag_value="clusters", help="A row a point, with its cluster in the consensus.")
@click.option("--pairs", "what", flag_value="pairs", help="A row a pair of points, how often they are together.")
@click.option("--partitions", "what", flag_value="partitions", help="A row a partition that was kept, with its weight.")
def export(run: str, output: str, what: str | None) -> None:
    """Write the replicates of a run, or its estimates, to a file for other programs.

    RUN is the file that was given to copartition estimate as --store, finished or not. Points go by their names, or
    by the numbers of their rows from 0 on where two names are the same. Clusters of a table have all columns of its
    file beside them, if it is where it was and has not changed.
    """
    with one_sentence_errors():
        e = _load(run)
        beside, source = None, e.made_by.get("source")
        if what == "clusters" and source and "file" in source:
            names = next((about["names"] for about in e.functionals if about.get("names") is not None), None)
            names = e.made_by.get("names", names)
            beside = columns_of(source, Path(run).parent, names)
            if beside is None:
                click.echo(f"Without the columns of {source['file']!r}: it is gone, or has changed.", err=True)
        e = _about(e, run, what)
        with writing(output, source):
            files.write(e, output, what or "replicates", beside)
    click.echo(f"Wrote {output}.")
    for warning in e.warnings:
        click.echo(warning, err=True)


def _about(e: cp.Estimate, run: str, what: str | None) -> cp.Estimate:
    """Return an estimate of what is wanted: that of the run or, if it was not asked for that, from its partitions."""
    if e.partitions is None or _has_pairs(e):
        return e
    if what == "clusters":
        found = cp.consensus(load_partitions(run, says=False)).estimate
        return e if found is None else cp.Estimate(**{name: getattr(found, name) for name in e.__dataclass_fields__})
    return load_partitions(run, says=False).expect(cp.co_clustering()) if what == "pairs" else e


def _has_pairs(e: cp.Estimate) -> bool:
    """Tell whether a run that kept partitions was asked about all pairs of its points."""
    count = 0 if e.partitions is None else e.partitions.labels.shape[1]
    return any(len(about.get("points", ())) == count for about in e.functionals if about["name"] == "co_clustering")


def _load(run: str) -> cp.Estimate:
    e = cp.Estimate.load(run)
    if len(e.values) < 2:
        raise ValueError(f"The store {run!r} must hold at least two replicates, got {len(e.values)}.")
    return e
