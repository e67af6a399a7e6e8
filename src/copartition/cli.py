"""The command line: ``copartition estimate`` and ``copartition meet``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition import datasets

EXAMPLES: dict[str, dict[str, Any]] = {
    # Velocities in 1,000 km/s; clusters are a thousand km/s wide, and may be anywhere among the data.
    "galaxies": {"data": datasets.galaxies, "noise_sd": 1.0, "mean_sd": 5.0, "mean": 21.0, "alpha": 1.0},
}


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that say what the posterior is and how pairs are run."""
    options = [
        click.argument("data", required=False, type=click.Path()),
        click.option("--example", type=click.Choice(sorted(EXAMPLES)), help="A bundled data set, in place of DATA."),
        click.option("--columns", help="Columns to use, by name or number, with commas between them."),
        click.option("--standardize", is_flag=True, help="Shift and scale every column to mean 0 and sd 1."),
        click.option("--noise-sd", type=float, help="Standard deviation of points around their cluster's mean."),
        click.option("--mean-sd", type=float, help="Standard deviation of cluster means."),
        click.option("--mean", type=float, help="Prior mean of cluster means.  [default: 0]"),
        click.option("--alpha", type=float, help="Concentration of the Dirichlet process.  [default: 1]"),
        click.option(
            "--coupling", default="transport", show_default=True, help="transport, maximal, common, independent."
        ),
        click.option("--metric", default="hamming", show_default=True, help="Of transport: hamming or vi."),
        click.option("--nugget", default=0.0, show_default=True, help="Probability of an independent update."),
        click.option(
            "--init", default="one_cluster", show_default=True, help="one_cluster, singletons, prior, sequential."
        ),
        click.option("--lag", default=100, show_default=True, help="Sweeps between the two chains of a pair."),
        click.option("--seed", default=0, show_default=True, help="Seed of the random numbers."),
        click.option("--json", "as_json", is_flag=True, help="Write the result as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def posterior_of(options: dict[str, Any]) -> cp.Mixture:
    """Return the posterior that the options describe."""
    preset: dict[str, Any] = {}
    if options["example"]:
        if options["data"]:
            raise click.UsageError("Give either DATA or --example, not both.")
        preset = EXAMPLES[options["example"]]
        data = preset["data"]()
    elif options["data"]:
        columns = options["columns"].split(",") if options["columns"] else None
        data = datasets.read_table(options["data"], columns)
    else:
        raise click.UsageError("Give a file DATA, or --example galaxies.")
    if options["standardize"]:
        spread = np.std(data, axis=0)
        if np.any(spread == 0):
            raise click.UsageError(f"--standardize: column {int(np.argmin(spread))} is constant.")
        data = (data - np.mean(data, axis=0)) / spread
    chosen: dict[str, Any] = {}
    for name, default in (("noise_sd", None), ("mean_sd", None), ("mean", 0.0), ("alpha", 1.0)):
        given = options[name]
        chosen[name] = given if given is not None else preset.get(name, default)
        if chosen[name] is None:
            raise click.UsageError(f"Give --{name.replace('_', '-')}.")
    component = cp.Gaussian(noise_sd=chosen["noise_sd"], mean_sd=chosen["mean_sd"], mean=chosen["mean"])
    return cp.Mixture(data, component, cp.DirichletProcess(chosen["alpha"]))


def coupling_of(options: dict[str, Any]) -> cp.Coupling:
    """Return the coupling that the options describe."""
    kinds = {"maximal": cp.Maximal, "common": cp.Common, "independent": cp.Independent}
    if options["coupling"] == "transport":
        return cp.Transport(metric=options["metric"], nugget=options["nugget"])
    if options["coupling"] not in kinds:
        raise click.UsageError(f"--coupling must be transport, {', '.join(kinds)}, got {options['coupling']!r}.")
    return kinds[options["coupling"]](nugget=options["nugget"])


def functional_of(text: str) -> cp.Functional:
    """Return the functional that an option such as ``largest:3`` describes."""
    name, _, rest = text.partition(":")
    try:
        if name == "n_clusters" and not rest:
            return cp.n_clusters()
        if name == "largest":
            return cp.largest_clusters(int(rest))
        if name == "together":
            return cp.co_clustering([int(point) for point in rest.split(",")])
        if name == "density":
            low, high, count = rest.split(":")
            return cp.predictive_density(np.linspace(float(low), float(high), int(count)))
    except ValueError as error:
        raise click.UsageError(f"--functional {text}: {error}") from None
    raise click.UsageError(
        f"--functional must be n_clusters, largest:K, together:I,J,... or density:LOW:HIGH:POINTS, got {text!r}."
    )


@contextmanager
def one_sentence_errors():
    """Turn a user's mistake into one line and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, cp.ReplicateError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cp.__version__, prog_name="copartition")
def main() -> None:
    """Unbiased posterior expectations over clusterings."""


@main.command()
@model_options
@click.option(
    "--functional", "functionals", multiple=True, default=("largest:3",), show_default=True,
    help="What to estimate: n_clusters, largest:K, together:I,J,..., density:LOW:HIGH:POINTS. May be repeated.",
)  # fmt: skip
@click.option("--replicates", default=1000, show_default=True, help="Number of independent pairs of chains.")
@click.option("--burn-in", default=100, show_default=True, help="Sweeps before averaging begins.")
@click.option("--min-sweeps", default=500, show_default=True, help="Sweep at which averaging ends.")
@click.option("--max-sweeps", type=int, help="A cap; pairs that reach it make the result biased.")
@click.option("--store", type=click.Path(), help="A file that keeps every replicate; the same command goes on with it.")
@click.option("--dask", help="Address of a running Dask cluster, for instance tcp://host:8786.")
@click.option("--processes", is_flag=True, help="Run on processes instead of threads.")
def estimate(
    functionals: tuple[str, ...],
    replicates: int,
    burn_in: int,
    min_sweeps: int,
    max_sweeps: int | None,
    store: str | None,
    dask: str | None,
    processes: bool,
    **options: Any,
) -> None:
    """Estimate expectations under the posterior of a clustering, without bias.

    DATA is a CSV, TSV, NPY or Parquet file, a row a point. First try: copartition estimate --example galaxies
    """
    with one_sentence_errors():
        target = posterior_of(options)
        try:
            e = cp.estimate(
                target,
                [functional_of(text) for text in functionals],
                replicates=replicates,
                burn_in=burn_in,
                min_sweeps=min_sweeps,
                lag=options["lag"],
                coupling=coupling_of(options),
                init=options["init"],
                seed=options["seed"],
                max_sweeps=max_sweeps,
                executor=_executor(dask, processes),
                store=store,
                progress=sys.stderr.isatty(),
            )
        except KeyboardInterrupt:
            kept = (
                f"{len(cp.Estimate.load(store).values)} replicates are kept in {store}" if store else "nothing is kept"
            )
            advice = "the same command goes on with them" if store else "give --store FILE to keep what is done"
            click.echo(f"Interrupted: {kept}; {advice}.", err=True)
            sys.exit(130)
    click.echo(json.dumps(_as_json(e)) if options["as_json"] else str(e))


def _executor(dask: str | None, processes: bool) -> Any:
    if dask is None:
        return "processes" if processes else None
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--dask needs the package distributed: pip install 'copartition[dask]'.") from None
    try:
        return Client(dask, timeout=10)
    except (OSError, TimeoutError) as error:
        raise ValueError(f"--dask: no scheduler answers at {dask!r} ({error}).") from None


def _as_json(e: cp.Estimate) -> dict[str, Any]:
    low, high = e.interval()
    return {
        "components": e.components,
        "mean": e.mean.tolist(),
        "stderr": e.stderr.tolist(),
        "interval": {"level": 0.95, "low": low.tolist(), "high": high.tolist()},
        "replicates": len(e.values),
        "censored": e.censored,
        "biased": e.censored > 0,
        "sweeps": int(e.sweeps.sum()),
        "seconds": float(e.seconds.sum()),
        "made_by": e.made_by,
    }


@main.command()
@model_options
@click.option("--replicates", default=250, show_default=True, help="Number of pairs of chains.")
@click.option("--max-sweeps", default=100_000, show_default=True, help="The latest meeting time waited for.")
def meet(replicates: int, max_sweeps: int, **options: Any) -> None:
    """Run pairs of coupled chains until they meet, and say how long that took.

    DATA is a CSV, TSV, NPY or Parquet file, a row a point. First try: copartition meet --example galaxies
    """
    with one_sentence_errors():
        m = cp.meeting_times(
            posterior_of(options),
            replicates=replicates,
            coupling=coupling_of(options),
            lag=options["lag"],
            init=options["init"],
            max_sweeps=max_sweeps,
            seed=options["seed"],
            progress=sys.stderr.isatty(),
        )
    if options["as_json"]:
        click.echo(
            json.dumps(
                {
                    "meeting_times": m.meeting_times.tolist(),
                    "met": m.met.tolist(),
                    "seconds": m.seconds.tolist(),
                    "lag": m.lag,
                    "max_sweeps": m.max_sweeps,
                    "coupling": m.coupling,
                    "seed": m.seed,
                }
            )
        )
    else:
        click.echo(str(m))


if __name__ == "__main__":
    main()
