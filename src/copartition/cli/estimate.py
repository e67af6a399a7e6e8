"""``copartition estimate``: unbiased expectations."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition.cli.asking import as_dict
from copartition.cli.model import functional_of, functional_option, model_options, moving_of, one_sentence_errors
from copartition.cli.posterior import data_line, posterior_in, posterior_of
from copartition.extras import needed


@click.command()
@model_options
@functional_option
@click.option(
    "--replicates",
    type=int,
    help="Number of pairs of chains; with a target, the most there may be.  [default: 100 to 1000, as many as it takes "
    "for standard errors of 0.01 for probabilities and shares, and of 1 % for all else]",
)
@click.option("--target-stderr", type=float, help="Run until all standard errors are this small.")
@click.option("--target-relative", type=float, help="The same, in multiples of the largest mean of each functional.")
@click.option(
    "--tune",
    "tuned",
    is_flag=True,
    help="Let a pilot choose lag, burn-in and min-sweeps; those that are given as well win.",
)
@click.option("--lag", type=int, help="Sweeps between the two chains of a pair.  [default: 100]")
@click.option("--burn-in", type=int, help="Sweeps before averaging begins.  [default: 100]")
@click.option("--min-sweeps", type=int, help="Sweep up to which a replicate averages, met or not.  [default: 500]")
@click.option("--max-sweeps", type=int, help="A cap; pairs that reach it make the result biased.")
@click.option("--store", type=click.Path(), help="A file that keeps every replicate; the same command goes on with it.")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="Keep N partitions of every replicate in the store, 16 are enough: then copartition ask, export --clusters "
    "and report answer whatever is asked later.",
)
@click.option("--dask", help="Address of a running Dask cluster, for instance tcp://host:8786.")
@click.option("--processes", is_flag=True, help="Run on processes instead of threads.")
@click.option("--threads", type=click.IntRange(min=1), help="Number of threads.  [default: as many as processors]")
def estimate(
    functionals: tuple[str, ...],
    replicates: int | None,
    target_stderr: float | None,
    target_relative: float | None,
    tuned: bool,
    store: str | None,
    keep: int | None,
    **options: Any,
) -> None:
    """Estimate expectations under the posterior of a clustering, without bias.

    DATA is a table, a row a point: a CSV or TSV file, gzipped or not, or an NPY, Parquet or Excel file (.xlsx); an
    AnnData file (.h5ad); or a network: a GraphML or GML file, or a list of edges (.edges, .edgelist, .el).
    First try: copartition estimate --example galaxies
    """
    with one_sentence_errors():
        if store is not None and not store.strip():
            raise click.UsageError(f"--store must be the name of a file, got {store!r}.")
        if keep is not None and store is None:
            raise click.UsageError("--keep goes with --store, the file in which partitions are kept.")
        target = posterior_of(options)
        moving, wanted = moving_of(options), [functional_of(text, target.names) for text in functionals]
        click.echo(data_line(options, target), err=options["as_json"])
        if keep is not None:
            target.source = (target.source or {}) | {"options": posterior_in(options)}
        elif store is not None and not any(text.startswith("together") for text in functionals):
            click.echo("The store will hold no labels: export --clusters needs --keep 16.", err=True)
        try:
            with _executor(options) as executor, _warnings_as_lines():
                t: Any = None
                if tuned and store is not None and Path(store).exists():
                    t = "auto"  # what the run in the file was made with: a pilot would not choose the same twice
                elif tuned:
                    t = cp.tune(target, wanted, seed=options["seed"], executor=executor, progress=True, **moving)
                how = {name: options[name] for name in ("burn_in", "min_sweeps", "lag", "max_sweeps")}
                how |= {"target_stderr": target_stderr, "target_relative": target_relative, "settings": t, **moving}
                how |= {"replicates": replicates, "seed": options["seed"], "executor": executor, "store": store}
                if keep is None:
                    e = cp.estimate(target, wanted, progress=True, **how)
                else:
                    e = cp.draw(target, wanted, per_replicate=keep, progress=True, **how).run
        except KeyboardInterrupt:
            click.echo(f"Interrupted: {_what_is_kept(store)}.", err=True)
            sys.exit(130)
    if options["as_json"]:
        found = as_dict(e) | ({"tuned": {"reasons": t.reasons}} if isinstance(t, cp.answers.Tuned) else {})
        click.echo(json.dumps(found, default=np.ndarray.tolist))
        return
    if isinstance(t, cp.answers.Tuned):
        click.echo(f"{t}\n")
    click.echo(str(e))


def _what_is_kept(store: str | None) -> str:
    if store is None:
        return "nothing is kept; give --store FILE to keep what is done"
    if not Path(store).exists():
        return "nothing was done yet"
    return f"{len(cp.Estimate.load(store).values)} replicates are kept in {store}; the same command goes on with them"


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Say what a run warns of in a line, without the place in the source that it comes from."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", cp.errors.SlowPairsWarning)
        show = warnings.showwarning

        def say(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, cp.errors.SlowPairsWarning):
                click.echo(f"Warning: {message}", err=True)
            else:
                show(message, category, *where, **more)

        warnings.showwarning = say
        yield


@contextmanager
def _executor(options: dict[str, Any]) -> Iterator[Any]:
    """Open what the options say that the run is to run on."""
    dask, processes, threads = options["dask"], options["processes"], options["threads"]
    if sum([dask is not None, processes, threads is not None]) > 1:
        raise ValueError("Give one of --dask, --processes and --threads, not several.")
    if dask is None:
        yield "processes" if processes else threads
        return
    distributed = needed("distributed", by="--dask")
    try:
        client = distributed.Client(dask, timeout=10)
    except (OSError, TimeoutError) as error:
        raise ValueError(f"--dask: no scheduler answers at {dask!r} ({error}).") from None
    with client:
        yield client
