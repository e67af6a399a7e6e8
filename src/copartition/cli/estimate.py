"""``copartition estimate``: unbiased expectations; ``copartition ask``: questions to partitions that a run has kept."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition.cli.model import functional_of, functional_option, model_options, moving_of, one_sentence_errors
from copartition.cli.posterior import data_line, posterior_in, posterior_of
from copartition.extras import needed
from copartition.runs.asking import with_answers

ALL_PAIRS = 2_000  # points up to which a page shows all pairs of them


@click.command()
@click.argument("run", type=click.Path())
@functional_option
@click.option("--threads", type=click.IntRange(min=1), help="Number of threads.  [default: as many as processors]")
@click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
def ask(run: str, functionals: tuple[str, ...], threads: int | None, as_json: bool) -> None:
    """Estimate other expectations from a run that kept partitions: nothing is run again.

    RUN is the file that was given to copartition estimate as --store, with --keep; finished or not.
    """
    with one_sentence_errors():
        d = load_partitions(run, says=True)
        wanted = [functional_of(text, d.run.made_by.get("names")) for text in functionals]
        e = d.expect(wanted, threads=threads, progress=True)
        click.echo(json.dumps(as_dict(e), default=np.ndarray.tolist) if as_json else str(e))


def load_partitions(run: str, says: bool) -> cp.WeightedPartitions:
    """Return the partitions of a run, with its posterior if that can be had again; a line says if not, if it `says`."""
    d = cp.WeightedPartitions.load(run)
    target = _posterior(d.run, Path(run).parent)
    if target is None and says:
        click.echo(
            "Without the data, which are gone, have changed, or were not noted (estimate --keep does that): questions "
            "about clusters can be asked, others cannot.",
            err=True,
        )
    return replace(d, target=target)


def _posterior(run: cp.Estimate, beside: Path) -> Any:
    """Return the posterior of a run, made again from its data; None if it is another one now, or cannot be had."""
    options = (run.made_by.get("source") or {}).get("options")
    if options is None:
        return None
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    data = options["data"]
    for file in (data, str(beside / Path(data).name)) if data else (None,):
        with suppress(OSError, ValueError, TypeError, EOFError, click.ClickException):
            target = posterior_of(options | {"data": file})
            if target.fingerprint == run.made_by["fingerprint"]:
                return target
    return None


def with_more(d: cp.WeightedPartitions, functionals: tuple[str, ...]) -> cp.answers.Consensus:
    """Return the consensus of partitions, with all that a page shows: what the run estimated, and what is asked now."""
    names = d.run.made_by.get("names")
    asked = [functional_of(text, names) for text in dict.fromkeys(functionals)]
    wanted = [f for f in asked if not _is_there(d, f)]
    most = int(np.quantile(d.labels.max(axis=1), 0.999)) + 1
    usual = [cp.n_clusters(most)] + ([cp.co_clustering()] if 2 <= d.labels.shape[1] <= ALL_PAIRS else [])
    there = {about["name"] for about in d.run.functionals} | {f.name for f in asked}
    wanted += [f for f in usual if f.name not in there]
    e = with_answers(d.run, d.expect(wanted)) if wanted else d.run
    return replace(cp.consensus(d), estimate=e)


def _is_there(d: cp.WeightedPartitions, f: cp.kernels.Functional) -> bool:
    """Tell whether the run estimated the same: of the same points, or at the same places."""
    own: dict[str, Any] = f.about or ({"points": range(d.labels.shape[1])} if f.name == "co_clustering" else {})

    def are_same(about: dict[str, Any], key: str) -> bool:
        return np.array_equal(np.asarray(about.get(key)), np.asarray(own.get(key)))

    keys = ("points", "pairs", "grid")
    same_name = [about for about in d.run.functionals if about["name"] == f.name]
    return any(all(are_same(about, key) for key in keys) for about in same_name)


def numbers(values: np.ndarray) -> list[float | None]:
    """Return numbers as JSON has them: it knows no NaN."""
    return [value if np.isfinite(value) else None for value in values.tolist()]


def as_dict(e: cp.Estimate) -> dict[str, Any]:
    """Return all of an estimate but what is streamed, of which only the names are told: `export` writes it."""
    kept = [part for part in e.parts() if not part.streamed]
    ends = [part.interval() for part in kept]
    low, high = (np.concatenate([np.zeros(0), *[pair[i] for pair in ends]]) for i in (0, 1))
    return {
        "components": [name for part in kept for name in part.components],
        "mean": [value for part in kept for value in part.mean.tolist()],
        "stderr": [value for part in kept for value in numbers(part.stderr)],
        "interval": {"level": 0.95, "low": numbers(low), "high": numbers(high)},
        "streamed": e.streamed,
        "replicates": len(e.values),
        "censored": e.censored,
        "biased": e.is_biased,
        **_unmet(e),
        "warnings": e.warnings,
        "sweeps": int(e.sweeps.sum()),
        "seconds": float(e.seconds.sum()),
        "made_by": e.made_by,
    }


def _unmet(e: cp.Estimate) -> dict[str, Any]:
    """Return what is told of pairs that did not meet."""
    if not e.censored:
        return {}
    found: dict[str, Any] = {}
    if e.ordinary is not None:
        kept = [part.ordinary for part in e.parts() if not part.streamed and part.ordinary is not None]
        found["ordinary"] = {
            name: [value for one in kept for value in numbers(getattr(one, name))] for name in ("mean", "stderr")
        }
    if (agreement := e.agreement) is not None:
        found["agreement"] = {
            "verdict": agreement.verdict,
            "pairs": len(agreement.indices),
            "in_different_modes": agreement.apart,
            "rand_between": numbers(agreement.rand_between),
            "rand_within": numbers(agreement.rand_within),
            "rand_of_halves": agreement.rand_of_halves,
            "log_density": [numbers(row) for row in agreement.log_density],
            "n_clusters": [numbers(row) for row in agreement.n_clusters],
        }
    return found


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
