"""What commands share: options that say what the posterior is, and errors in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition import datasets

COUPLINGS: dict[str, Any] = {
    "path": cp.Path,
    "matched": cp.Matched,
    "transport": cp.Transport,
    "maximal": cp.Maximal,
    "common": cp.Common,
    "independent": cp.Independent,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    # Velocities in 1,000 km/s; clusters are a thousand km/s wide, and may be anywhere among the data.
    "galaxies": {"data": datasets.galaxies, "noise_sd": 1.0, "mean_sd": 5.0, "mean": 21.0, "alpha": 1.0},
}


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that say what the posterior is and how pairs are run."""
    options = [
        click.argument("data", required=False, type=click.Path()),
        click.option("--example", type=click.Choice(sorted(EXAMPLES)), help="A bundled data set, in place of DATA."),
        click.option(
            "--columns", help="Columns to use, by name or by number from 0 on, with commas between; all if left out."
        ),
        click.option("--standardize", is_flag=True, help="Shift and scale every column to mean 0 and sd 1."),
        click.option("--noise-sd", type=float, help="Standard deviation of points around their cluster's mean."),
        click.option("--mean-sd", type=float, help="Standard deviation of cluster means."),
        click.option("--mean", type=float, help="Prior mean of cluster means.  [default: 0]"),
        click.option("--alpha", type=float, help="Concentration of the Dirichlet process.  [default: 1]"),
        click.option(
            "--coupling",
            help="path, matched, or one of the paper's: transport, maximal, common, independent.  [default: path]",
        ),
        click.option(
            "--split-merge",
            help="Split-merge moves after every sweep, or auto.  [default: auto; 0 if a coupling is named]",
        ),
        click.option("--metric", default="hamming", show_default=True, help="Of transport: hamming or vi."),
        click.option("--nugget", default=0.0, show_default=True, help="Probability of an independent update."),
        click.option(
            "--init", default="one_cluster", show_default=True, help="one_cluster, singletons, prior, sequential."
        ),
        click.option(
            "--start-sweeps", default=0, show_default=True, help="Sweeps of every chain that belong to its start."
        ),
        click.option(
            "--start-split-merge", default=20, show_default=True, help="Split-merge moves after each of these."
        ),
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
        table = datasets.read_columns(options["data"], columns)
        data = table.data
        options["columns"] = ", ".join(table.names)
        options["notes"] = [*table.notes, *[f"left out: {name}, which holds no numbers" for name in table.left_out]]
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


def moving_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that say how chains move and where they start."""
    return {
        "coupling": _coupling_of(options),
        "split_merge": _split_merge_of(options["split_merge"]),
        "init": _init_of(options),
    }


def _coupling_of(options: dict[str, Any]) -> cp.Coupling | None:
    name, nugget = options["coupling"], options["nugget"]
    if name is None:
        if nugget or options["metric"] != "hamming":
            raise click.UsageError("--nugget and --metric go with a --coupling; give that too.")
        return None
    if name not in COUPLINGS:
        raise click.UsageError(f"--coupling must be {', '.join(COUPLINGS)}, got {name!r}.")
    if name == "transport":
        return cp.Transport(metric=options["metric"], nugget=nugget)
    return COUPLINGS[name](nugget=nugget)


def _split_merge_of(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise click.UsageError(f"--split-merge must be a whole number or auto, got {text!r}.") from None


def _init_of(options: dict[str, Any]) -> Any:
    if not options["start_sweeps"]:
        return options["init"]
    return cp.Start(options["init"], sweeps=options["start_sweeps"], split_merge=options["start_split_merge"])


def functional_of(text: str) -> cp.Functional:
    """Return the functional that an option such as ``largest:3`` describes."""
    name, _, rest = text.partition(":")
    try:
        if name == "n_clusters" and not rest:
            return cp.n_clusters()
        if name == "largest":
            return cp.largest_clusters(int(rest))
        if name == "together":
            return cp.co_clustering([int(point) for point in rest.split(",")] if rest else None)
        if name == "density":
            low, high, count = rest.split(":") if rest.count(":") == 2 else ("", "", "")
            return cp.predictive_density(np.linspace(float(low), float(high), int(count)))
    except ValueError as error:
        is_plain = any(words in str(error) for words in ("invalid literal", "could not convert"))
        reason = "expected numbers" if is_plain else str(error).rstrip(".")
        raise click.UsageError(f"--functional {text}: {reason}.") from None
    raise click.UsageError(
        "--functional must be n_clusters, largest:K, together, together:I,J,... or density:LOW:HIGH:POINTS, got "
        f"{text!r}."
    )


def data_line(options: dict[str, Any], target: cp.Mixture) -> str:
    """Return a line that says what was clustered."""
    count, width = target.shape
    source = options["data"] or options["example"]
    columns = f" ({options['columns']})" if options["columns"] else ""
    scaled = ", standardized" if options["standardize"] else ""
    notes = "".join(f"; {note}" for note in options.get("notes", []))
    return f"data: {source}, {count} points x {width} column(s){columns}{scaled}{notes}"


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn a user's mistake into one line and exit code 2."""
    try:
        yield
    except (ValueError, TypeError, cp.ReplicateError, cp.TuningError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)


@contextmanager
def writing(output: str) -> Iterator[None]:
    """Refuse to write over a store; turn what the operating system says of a file into one sentence that names it."""
    if Path(output).is_file():
        with Path(output).open("rb") as file:
            if file.read(15) == b"SQLite format 3":
                raise ValueError(f"{output!r} is the store of a run, which would be lost; choose another name.")
    try:
        yield
    except OSError as error:
        raise ValueError(f"{output!r} cannot be written: {error.strerror or error}.") from None


functional_option = click.option(
    "--functional",
    "functionals",
    multiple=True,
    default=("largest:3",),
    show_default=True,
    help="n_clusters, largest:K, together (all pairs), together:I,J,..., density:LOW:HIGH:N (1-D). Repeat for more.",
)
