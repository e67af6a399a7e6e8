"""What commands share: how pairs are run, what is estimated, and errors in one sentence."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition import datasets
from copartition.cli.posterior import EXAMPLES, posterior_options
from copartition.couplings import COUPLINGS
from copartition.datasets.tables import source_of
from copartition.extras import MissingPackageError
from copartition.functionals.base import check_count

MOST_POINTS = 10_000_000  # of a run of points such as 0-9


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments that say what the posterior is and how pairs are run."""
    options = [
        click.argument("data", required=False, type=click.Path()),
        click.option("--example", type=click.Choice(sorted(EXAMPLES)), help="A bundled data set, in place of DATA."),
        click.option(
            "--columns", help="Columns to use, by name or by number from 0 on, with commas between; all if left out."
        ),
        *posterior_options(),
        click.option(
            "--coupling",
            help="path, matched, or one of the paper's: transport, maximal, common, independent.  [default: path]",
        ),
        click.option(
            "--split-merge",
            help="Split-merge moves after every sweep, or auto.  [default: auto; 0 if a coupling is named]",
        ),
        click.option(
            "--joint-updates",
            metavar="NUMBER[:points=I,J-K,...][:tries=N][:least=N][:most=N]",
            help="Joint updates of near points after every sweep, and which points, in how many ways, how many at a "
            "time.  [default: 0; some for networks if no coupling is named]",
        ),
        click.option(
            "--guided", is_flag=True, help="Let a pilot guide split-merge moves; helps where chains get stuck."
        ),
        click.option("--metric", default="hamming", show_default=True, help="Of transport: hamming or vi."),
        click.option("--nugget", default=0.0, show_default=True, help="Probability of an independent update."),
        click.option(
            "--init",
            help="one_cluster, singletons, prior, sequential, annealed.  [default: one_cluster]",
        ),
        click.option("--seed", default=0, show_default=True, help="Seed of the random numbers."),
        click.option("--json", "as_json", is_flag=True, help="Write the result as JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def moving_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that say how chains move and where they start."""
    return {"step": step_of(options), "init": options["init"]}


def step_of(options: dict[str, Any]) -> cp.Step:
    """Return the step that options give, as it is written; `step_options` writes them."""
    return cp.Step(
        _coupling_of(options),
        _split_merge_of(options["split_merge"]),
        _joint_updates_of(options["joint_updates"]),
        options["guided"] or None,
    )


def step_options(step: cp.Step, init: Any) -> str:
    """Return the options that give a resolved step and a start, of those that a command can be given.

    Examples
    --------
    >>> step_options(cp.Step("path", 4, cp.JointUpdates(20, points=[0, 1, 2, 7], most=8)), "one_cluster")
    '--coupling path --split-merge 4 --joint-updates 20:points=0-2,7:most=8 --init one_cluster'
    """
    coupling: Any = step.coupling
    words = ["--coupling", coupling.name]
    words += ["--metric", coupling.metric] if getattr(coupling, "metric", "hamming") != "hamming" else []
    words += ["--nugget", f"{coupling.nugget:.17g}"] if coupling.nugget else []
    words += ["--split-merge", str(step.split_merge)]
    words += ["--joint-updates", _joint_updates_in_words(step.joint_updates)] if step.joint_updates else []
    words += ["--guided"] if step.guided else []
    words += ["--init", init_option(init)]
    return " ".join(words)


def init_option(init: Any) -> str:
    """Return a start as the option takes it."""
    return str(init.init if isinstance(init, cp.Start) and init.is_annealed else init)


def _joint_updates_in_words(updates: Any) -> str:
    """Return joint updates as the option takes them: what differs from the default is said."""
    words = [str(updates.number)]
    if updates.points is not None:
        points = np.array(updates.points)
        runs = np.split(points, np.flatnonzero(np.diff(points) > 1) + 1)
        words.append("points=" + ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs))
    usual = cp.JointUpdates(updates.number)
    details = {name: getattr(updates, name) for name in ("tries", "least", "most")}
    words += [f"{name}={value}" for name, value in details.items() if value != getattr(usual, name)]
    return ":".join(words)


def _joint_updates_of(text: str | None) -> cp.JointUpdates | None:
    if text is None:
        return None
    number, *parts = text.split(":")
    try:
        details: dict[str, Any] = {}
        for part in parts:
            name, _, value = part.partition("=")
            if name not in ("points", "tries", "least", "most") or name in details:
                raise ValueError
            details[name] = _points_of(value) if name == "points" else int(value)
        count = int(number)
    except ValueError:
        raise click.UsageError(
            "--joint-updates must be a number, with details such as 20:points=0-9,14:tries=4:least=4:most=12 if need "
            f"be, got {text!r}."
        ) from None
    try:
        return cp.JointUpdates(count, **details)
    except (TypeError, ValueError) as error:
        raise click.UsageError(f"--joint-updates {text}: {error}") from None


def _points_of(text: str) -> list[int]:
    """Return the points that words such as ``0-9,14`` stand for."""
    ends = [[int(end) for end in run.split("-")] for run in text.split(",")]
    if any(len(run) > 2 or run[0] > run[-1] or run[-1] - run[0] > MOST_POINTS for run in ends):
        raise ValueError
    return [point for run in ends for point in range(run[0], run[-1] + 1)]


def _coupling_of(options: dict[str, Any]) -> cp.couplings.Coupling | None:
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


def functional_of(text: str, names: list[Any] | None = None) -> cp.kernels.Functional:
    """Return the functional that an option such as ``largest:3`` describes.

    Parameters
    ----------
    text : str
    names : list, optional
        What points are called, where they have names: then these are used, because numbers may be names too.
    """
    name, colon, rest = text.partition(":")
    try:
        if colon and not rest:
            raise ValueError("expected something after the colon")
        if name in ("n_clusters", "n_components"):
            functional = cp.n_clusters if name == "n_clusters" else cp.functionals.n_components
            return functional(int(rest) if rest else None)
        if name == "concentration" and not rest:
            return cp.concentration()
        if name == "hyperparameters" and not rest:
            return cp.hyperparameters()
        if name == "largest":
            return cp.largest_clusters(int(rest))
        if name == "together":
            return cp.co_clustering([_point_of(point, names) for point in rest.split(",")] if rest else None)
        if name == "density":
            low, high, count = rest.split(":") if rest.count(":") == 2 else ("", "", "")
            check_count("POINTS", int(count), "")
            return cp.predictive_density(np.linspace(float(low), float(high), int(count)))
    except (ValueError, OverflowError, MemoryError) as error:
        is_plain = any(words in str(error) for words in ("invalid literal", "could not convert"))
        reason = "expected numbers" if is_plain else str(error).rstrip(".")
        raise click.UsageError(f"--functional {text}: {reason}.") from None
    raise click.UsageError(
        "--functional must be n_clusters, n_clusters:MOST, largest:K, together, together:I,J,..., concentration, "
        f"hyperparameters, n_components, n_components:MOST or density:LOW:HIGH:POINTS, got {text!r}."
    )


def _point_of(text: str, names: list[Any] | None) -> int:
    """Return the number of a point that is given by its name, or by its number where points have no names."""
    if names is None:
        return int(text)
    found = [i for i, name in enumerate(names) if str(name) == text]
    if len(found) != 1:
        called = f"{', '.join(map(str, names[:5]))}{', ...' if len(names) > 5 else ''}"
        how_many = "none is" if not found else f"{len(found)} are"
        raise ValueError(f"expected the name of a point, such as {called}, and {how_many} called {text!r}")
    return found[0]


# Arguments whose options have other names, where a command has no option of theirs.
OTHER_NAMES = {"use_rep": "--rep", "target_stderr": "--stderr", "n_components": "--components"}
# What a user can mend: the message is enough, the place in the source is not wanted.
MISTAKES = (
    ValueError,
    TypeError,
    OSError,
    MemoryError,
    MissingPackageError,
    cp.errors.EvidenceError,
    cp.errors.ReplicateError,
    cp.errors.TuningError,
)


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Turn a user's mistake into one line and exit code 2."""
    try:
        yield
    except BrokenPipeError:  # whoever reads what is printed, such as head, has seen enough: click ends the program
        raise
    except MISTAKES as error:
        click.echo(f"Error: {_with_options(str(error))}", err=True)
        sys.exit(2)


def _with_options(message: str) -> str:
    """Return a sentence about arguments of functions with the options in their place: a person wrote these."""
    context = click.get_current_context(silent=True)
    options = [] if context is None else [one for one in context.command.params if isinstance(one, click.Option)]
    names = OTHER_NAMES | {str(one.name): max(one.opts, key=len) for one in options}
    if "kinds" in names and datasets.is_network(str(context and context.params.get("data"))):
        names["kinds"] = "--kinds"  # of vertices, not of columns
    for name, option in names.items():
        if "_" in name:  # wherever it stands, but for what is quoted or written as Python
            message = re.sub(rf"(?<![\w'\"./=-]){name}(?![\w'\"=(.]\w?)", option, message)
        else:
            message = re.sub(rf"^{name}(?= (must|needs|goes)\b)", option, message)
    return message


@contextmanager
def writing(output: str, source: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Refuse to write over a store or the data; turn what the system says of a file into one sentence that names it.

    Parameters
    ----------
    output : str
    source : mapping, optional
        What `copartition.datasets.tables.source_of` said of the file of the data.
    """
    if Path(output).is_file():
        with Path(output).open("rb") as file:
            if file.read(15) == b"SQLite format 3":
                raise ValueError(f"{output!r} is the store of a run, which would be lost; choose another name.")
        if source and "file" in source:
            data = Path(source["file"])
            is_named = data.is_file() and data.samefile(output)
            if is_named or source_of(output)["digest"] == source["digest"]:
                raise ValueError(f"{output!r} holds the data of the run, which would be lost; choose another name.")
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
    help="n_clusters, n_clusters:MOST (probabilities of 1 to MOST clusters), largest:K, together (all pairs), "
    "together:I,J,... (points by name where they have one, else by number), concentration, hyperparameters (unknown "
    "numbers), n_components, density:LOW:HIGH:N (1-D). Repeat for more.",
)
