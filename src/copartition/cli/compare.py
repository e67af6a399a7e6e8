"""``copartition compare``: which of several models suits the data best."""

from __future__ import annotations

import json
import shlex
from typing import Any

import click
from click.core import ParameterSource

import copartition as cp
from copartition.cli.model import one_sentence_errors
from copartition.cli.posterior import EXAMPLES, data_line, posterior_of, posterior_options

# What says what the data are is the same for all models.
COMMON = {
    "standardize": "--standardize",
    "kinds": "--as",
    "missing": "--missing",
    "weight": "--weight",
    "undirected": "--undirected",
}


def _with_posterior_options(command: Any) -> Any:
    for option in reversed(posterior_options()):
        command = option(command)
    return command


@click.command(add_help_option=False)
@_with_posterior_options
def _model(**options: Any) -> None:
    """Stand for the options of one model; never run."""


@click.command()
@click.argument("data", required=False, type=click.Path())
@click.option("--example", type=click.Choice(sorted(EXAMPLES)), help="A bundled data set, in place of DATA.")
@click.option("--columns", help="Columns to use, by name or by number from 0 on, with commas between; all if left out.")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME=OPTIONS",
    help="A model: its name, and those of the options below in which it differs. Repeat for each.",
)
@_with_posterior_options
@click.option("--stderr", default=0.1, show_default=True, help="Standard error of each log evidence.")
@click.option("--max-sweeps", default=20_000, show_default=True, help="The most coupled sweeps of a pair.")
@click.option("--max-seconds", type=float, help="The most CPU seconds for a model.  [default: no limit]")
@click.option("--seed", default=0, show_default=True, help="Seed of the random numbers.")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
def compare(
    models: tuple[str, ...],
    stderr: float,
    max_sweeps: int,
    max_seconds: float | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Compare models of the same data by their log evidences, each with its standard error.

    DATA is a table, a row a point: a CSV or TSV file, gzipped or not, or an NPY, Parquet or Excel file (.xlsx); an
    AnnData file (.h5ad); or a network: a GraphML or GML file, or a list of edges (.edges, .edgelist, .el). First try:

    copartition compare --example faithful --model "full=--component normal" --model "diagonal=--component nig"
    """
    with one_sentence_errors():
        posteriors = _posteriors_of(models, options)
        click.echo(data_line(options, next(iter(posteriors.values()))), err=as_json)
        found = cp.compare(posteriors, stderr, max_sweeps=max_sweeps, max_seconds=max_seconds, seed=seed, progress=True)
    if as_json:
        click.echo(json.dumps(_as_json(found, posteriors)))
        return
    click.echo(str(found))


def _posteriors_of(models: tuple[str, ...], options: dict[str, Any]) -> dict[str, cp.Mixture | cp.BlockModel]:
    """Return the posterior of each model by its name; what was taken for what is left in the options."""
    posteriors: dict[str, cp.Mixture | cp.BlockModel] = {}
    for text in models:
        name, equals, rest = text.partition("=")
        if not name or not equals or name in posteriors:
            raise click.UsageError(f"--model must be NAME=OPTIONS, each with a name of its own, got {text!r}.")
        own = dict(options) | _own_options(name, rest)
        try:
            posteriors[name] = posterior_of(own)
        except click.UsageError as error:
            raise click.UsageError(f"--model {name}: {error.message}") from None
    if len(posteriors) < 2:
        raise click.UsageError(f"Give --model at least twice, got {len(posteriors)} model(s).")
    options |= {key: own[key] for key in ("notes", "columns")}
    return posteriors


def _own_options(name: str, text: str) -> dict[str, Any]:
    """Return the options that are given for one model."""
    try:
        context = _model.make_context("--model", shlex.split(text))
    except (click.ClickException, ValueError) as error:
        reason = error.message if isinstance(error, click.ClickException) else str(error)
        raise click.UsageError(f"--model {name}: {reason}") from None
    given = {
        key: value
        for key, value in context.params.items()
        if context.get_parameter_source(key) == ParameterSource.COMMANDLINE
    }
    for key, written in COMMON.items():
        if key in given:
            raise click.UsageError(f"--model {name}: {written} must be the same for all.")
    return given


def _as_json(found: cp.answers.Comparison, posteriors: dict[str, cp.Mixture | cp.BlockModel]) -> dict[str, Any]:
    about = {name: (posteriors[name], one) for name, one in found.evidences.items()}
    return {
        "models": [
            row
            | {
                "posterior": repr(about[row["model"]][0]),
                "interval": dict(zip(("low", "high"), about[row["model"]][1].interval(), strict=True))
                | {"level": 0.95},
                "replicates": len(about[row["model"]][1].values),
                "sweeps": about[row["model"]][1].sweeps,
                "seconds": about[row["model"]][1].seconds,
                "warnings": about[row["model"]][1].warnings,
            }
            for row in found.rows()
        ],
        "best": found.best,
        "verdict": found.verdict(),
    }
