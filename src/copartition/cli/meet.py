"""``copartition meet``: how long chains take to meet; ``copartition tune``: settings for an estimate, and why."""

from __future__ import annotations

import json
from typing import Any

import click

import copartition as cp
from copartition.cli.model import (
    functional_of,
    functional_option,
    init_option,
    model_options,
    moving_of,
    one_sentence_errors,
    step_options,
)
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
        click.echo(json.dumps(_meetings_as_json(m, needed)))
        return
    click.echo(str(m))
    if needed is not None:
        click.echo(f"ordinary chain   {needed}")


def _meetings_as_json(m: cp.answers.MeetingTimes, needed: Any) -> dict[str, Any]:
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


@click.command()
@model_options
@functional_option
@click.option("--pairs", default=400, show_default=True, help="Pairs of chains in the last part of the pilot.")
@click.option(
    "--max-sweeps", default=20_000, show_default=True, help="A cap on the sweeps of a pair, the lag included."
)
@click.option("--stderr", type=float, help="Also say how many replicates this standard error takes.")
def tune(functionals: tuple[str, ...], pairs: int, max_sweeps: int, stderr: float | None, **options: Any) -> None:
    """Run a pilot, and recommend lag, burn-in and min-sweeps for copartition estimate.

    DATA is a table, a row a point: a CSV or TSV file, gzipped or not, or an NPY, Parquet or Excel file (.xlsx); an
    AnnData file (.h5ad); or a network: a GraphML or GML file, or a list of edges (.edges, .edgelist, .el).
    First try: copartition tune --example galaxies
    """
    with one_sentence_errors():
        target = posterior_of(options)
        wanted = [functional_of(text, target.names) for text in functionals]
        click.echo(data_line(options, target), err=options["as_json"])
        t = cp.tune(
            target,
            wanted,
            pairs=pairs,
            seed=options["seed"],
            max_sweeps=max_sweeps,
            progress=True,
            **moving_of(options),
        )
        replicates = None if stderr is None else t.replicates_for(stderr)
    if options["as_json"]:
        click.echo(json.dumps(_settings_as_json(t, replicates)))
        return
    click.echo(str(t))
    if replicates is not None:
        click.echo(
            f"A standard error of {stderr:g} takes about {replicates} replicates, "
            f"{replicates * t.seconds:.2g} CPU seconds."
        )
    click.echo(
        f"Use them: copartition estimate ... --lag {t.lag} --burn-in {t.burn_in} --min-sweeps {t.min_sweeps} "
        + step_options(t.step, t.init)
        + ("" if replicates is None else f" --replicates {replicates}")
    )


def _settings_as_json(t: cp.answers.Tuned, replicates: int | None) -> dict[str, Any]:
    return {
        "lag": t.lag,
        "burn_in": t.burn_in,
        "min_sweeps": t.min_sweeps,
        **t.step.described(),
        "init": init_option(t.init),
        "inefficiency": t.inefficiency,
        "sweeps": t.sweeps,
        "seconds": t.seconds,
        "components": t.components,
        "variance": t.variance.tolist(),
        "replicates": replicates,
        "pilot": {"sweeps": t.pilot_sweeps, "seconds": t.pilot_seconds},
        "reasons": t.reasons,
    }
