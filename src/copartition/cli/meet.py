"""``copartition meet``: how long chains take to meet."""

from __future__ import annotations

import json
from typing import Any

import click

import copartition as cp
from copartition.cli.model import model_options, moving_of, one_sentence_errors
from copartition.cli.posterior import data_line, posterior_of


@click.command()
@model_options
@click.option("--lag", default=100, show_default=True, help="Sweeps between the two chains of a pair.")
@click.option("--replicates", default=500, show_default=True, help="Number of pairs of chains.")
@click.option(
    "--max-sweeps", default=20_000, show_default=True, help="A cap on the sweeps of a pair, the lag included."
)
def meet(lag: int, replicates: int, max_sweeps: int, **options: Any) -> None:
    """Run pairs of coupled chains until they meet, and say how long that took.

    DATA is a table, a row a point: a CSV or TSV file, gzipped or not, or an NPY, Parquet or Excel file (.xlsx); an
    AnnData file (.h5ad); or a network: a GraphML or GML file, or a list of edges (.edges, .edgelist, .el).
    First try: copartition meet --example galaxies
    """
    with one_sentence_errors():
        target = posterior_of(options)
        click.echo(data_line(options, target), err=options["as_json"])
        m = cp.meeting_times(
            target,
            replicates=replicates,
            lag=lag,
            max_sweeps=max_sweeps,
            seed=options["seed"],
            progress=True,
            **moving_of(options),
        )
        needed = None if m.censored else cp.sweeps_needed(m, 0.01)
    if options["as_json"]:
        click.echo(json.dumps(_as_json(m, needed)))
        return
    click.echo(str(m))
    if needed is not None:
        click.echo(f"ordinary chain   {needed}")


def _as_json(m: cp.answers.MeetingTimes, needed: Any) -> dict[str, Any]:
    return {
        "meeting_times": m.meeting_times.tolist(),
        "met": m.met.tolist(),
        "seconds": m.seconds.tolist(),
        "lag": m.lag,
        "max_sweeps": m.max_sweeps,
        "coupling": m.coupling,
        "split_merge": m.split_merge,
        "joint_updates": m.joint_updates,
        "seed": m.seed,
        "sweeps_to_tv_0.01": None if needed is None else {"value": needed.value, "high": needed.high},
    }
