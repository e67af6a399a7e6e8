"""The posterior that a command is about: which file, what its columns are, which component, which prior.

For a file that holds a network it is that of a block model, see `copartition.cli.network`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition import datasets
from copartition.cli.network import ENDINGS, OPTIONS, block_model_of, network_line, network_options
from copartition.datasets.tables import is_missing, is_number, position_of, read_raw, row_labels, source_of
from copartition.targets.cells import Cells, kept_names

EXAMPLES: dict[str, dict[str, Any]] = {
    # Velocities in 1,000 km/s; clusters are a thousand km/s wide, and may be anywhere among the data.
    "galaxies": {"data": datasets.galaxies, "noise_sd": 1.0, "mean_sd": 5.0, "mean": 21.0},
    # Minutes; nothing is known of the clusters.
    "faithful": {"data": datasets.faithful, "component": "normal"},
}

COMPONENTS = ("normal", "nig", "tied", "tied-diagonal", "tied-spherical", "known")
DISTRIBUTIONS: dict[str, Any] = {"gamma": cp.Gamma, "inversegamma": cp.InverseGamma, "loguniform": cp.LogUniform}
PRIORS = ("dp", "py", "mfm", "finite")
MOST_COMPONENTS = 1_000_000
OF_TABLES = {  # what goes with tables only, as people write it
    key: f"--{key.replace('_', '-')}"
    for key in ("columns", "standardize", "component", "mean_weight", "scale", "noise_sd", "mean_sd", "mean")
} | {"kinds": "--as", "missing": "--missing"}
OF_CELLS = {"rep": "--rep", "n_pcs": "--n-pcs"}  # with AnnData files only
NOT_OF_CELLS = {"columns": "--columns", "kinds": "--as", "missing": "--missing"}


def posterior_options() -> list[Callable[..., Any]]:
    """Return the options that say what the posterior is."""
    return [
        click.option("--rep", help="Of an .h5ad file: what is clustered, a name in obsm, or X.  [default: X_pca]"),
        click.option("--n-pcs", type=int, help="Of an .h5ad file: the first so many columns of it.  [default: all]"),
        click.option("--standardize", is_flag=True, help="Shift and scale every column of numbers to mean 0 and sd 1."),
        click.option(
            "--as",
            "kinds",
            multiple=True,
            metavar="COLUMN=KIND",
            help=f"What a column is, where that is not recognised: {', '.join(datasets.KINDS)}. Repeat for more.",
        ),
        click.option(
            "--missing",
            metavar="TEXT,...",
            help="What stands in cells that were not observed, besides nothing, NA, NaN, null and none: '?,-999'.",
        ),
        click.option(
            "--component",
            help="Of columns of numbers: normal (each cluster has an unknown mean and covariance), nig (an unknown "
            "mean and variance in each column; cells may be missing), tied, tied-diagonal, tied-spherical (all share "
            "an unknown covariance), known (needs --noise-sd and --mean-sd).  "
            "[default: normal; nig where cells are missing; known if --noise-sd is given]",
        ),
        click.option(
            "--mean-weight",
            help="Of all but known: points the prior mean is worth. A number, or gamma:SHAPE,RATE, "
            "inversegamma:SHAPE,SCALE or loguniform:LOW,HIGH for an unknown one, which is learnt.",
        ),
        click.option("--scale", help="Of all but known: scale of the prior of the covariances; likewise."),
        click.option("--noise-sd", help="Of known: standard deviation of points around a cluster's mean; likewise."),
        click.option("--mean-sd", help="Of known: standard deviation of cluster means; likewise."),
        click.option(
            "--mean",
            help="Prior mean of cluster means: a number, or normal:MEAN,SD for an unknown one.  [default: column "
            "means; 0 for known]",
        ),
        click.option(
            "--prior",
            help="Of the clustering: dp (Dirichlet process), py (Pitman-Yor), mfm (mixture of finite mixtures), finite "
            "(a finite mixture).  [default: dp]",
        ),
        click.option(
            "--alpha",
            help="Concentration of dp and py: a number, or gamma:SHAPE,RATE for an unknown one.  [default: gamma:2,4; "
            "1 for known and for networks]",
        ),
        click.option("--discount", help="Of py: a number, or beta:A,B for an unknown one.  [default: 0.25]"),
        click.option("--components", type=int, help="Of finite: how many; of mfm: at most.  [default of mfm: 30]"),
        click.option("--gamma", type=float, help="Of mfm and finite: weight of each component.  [default: 1]"),
        *network_options(),
    ]


def posterior_in(options: dict[str, Any]) -> dict[str, Any]:
    """Return those of the options that say what the posterior is, for a file: `posterior_of` makes it again."""
    known = {"data", "example", *OF_TABLES, *OF_CELLS, *OPTIONS, "prior", "alpha", "discount", "components", "gamma"}
    return {name: value for name, value in options["given"].items() if name in known}


def posterior_of(options: dict[str, Any]) -> cp.Mixture | cp.BlockModel:
    """Return the posterior that the options describe; what was taken for what is left in the options."""
    options["given"] = dict(options)  # before columns that were found stand in the place of those that were asked for
    options["notes"] = []
    if options["example"] and options["data"]:
        raise click.UsageError("Give either DATA or --example, not both.")
    if options["data"] and datasets.is_network(options["data"]):
        refuse(options, OF_TABLES | OF_CELLS, f"tables, and {options['data']!r} is a network")
        return block_model_of(options, _prior_of(options, is_known=True))
    if not (options["data"] or options["example"]):
        raise click.UsageError("Give a file DATA, or --example galaxies or faithful.")
    source = options["data"] or options["example"]
    refuse(options, OPTIONS, f"networks ({ENDINGS}), and {source!r} is a table")
    if datasets.is_annotated(source):
        refuse(options, NOT_OF_CELLS, f"tables, and {source!r} is an AnnData file; --rep says what is clustered")
    else:
        refuse(options, OF_CELLS, f"AnnData files (.h5ad), and {source!r} is not one")
    return _mixture_of(options)


def refuse(options: dict[str, Any], others: dict[str, str], reason: str) -> None:
    """Refuse options that are given and mean nothing for these data."""
    for key, written in others.items():
        given = options.get(key)
        is_flag = key in ("standardize", "undirected")  # which say nothing where they are False
        if not (given is None or given == () or (is_flag and not given)):
            raise click.UsageError(f"{written} goes with {reason}.")


def _mixture_of(options: dict[str, Any]) -> cp.Mixture:
    """Return the posterior of a table."""
    name = _component_name(options)
    if options["example"]:
        refuse(options, NOT_OF_CELLS, "a file DATA")
        preset = EXAMPLES[options["example"]]
        name = name or preset.get("component", "known")
        data, component = preset["data"](), _of_numbers(name, options, preset)
        data = _standardized([data], [options["example"]])[0] if options["standardize"] else data
    elif datasets.is_annotated(options["data"]):
        data, name = _cells_of(options), name or "normal"
        _refuse_missing(name, {str(j): int(count) for j, count in enumerate(np.isnan(data).sum(axis=0))})
        component = _of_numbers(name, options)
    else:
        data, component, name = _from_file(options, name)
    target = cp.Mixture(data, component, _prior_of(options, is_known=name == "known"))
    if options["data"]:
        target.names = kept_names(options["row_names"] or range(target.n_points))
        is_file = not datasets.is_annotated(options["data"])
        target.source = source_of(options["data"]) if is_file else None
        if target.names is None and (reason := _why_no_names(options["index"])):
            note = f"{reason}: points go by row number from 0"
            options["notes"] += [] if note in options["notes"] else [note]
            target.source = target.source or {"index": options["index"]}
    return target


def _why_no_names(index: list[Any] | None) -> str:
    """Return why what looks like names of rows cannot name points; nothing where there is none, or it counts rows."""
    seen = [str(cell).strip() for cell in index or [] if not is_missing(cell)]
    if len(set(seen)) < len(seen):
        return "row names are not all different"
    return "row names are missing in some rows" if len(seen) < len(index or []) else ""


def data_line(options: dict[str, Any], target: cp.Mixture | cp.BlockModel) -> str:
    """Return a line that says what was clustered."""
    if isinstance(target, cp.BlockModel):
        return network_line(options, target)
    count, width = target.shape
    source = options["data"] or options["example"]
    columns = f" ({options['columns']})" if options["columns"] else ""
    scaled = ", standardized" if options["standardize"] else ""
    notes = "".join(f"; {note}" for note in options["notes"])
    return f"data: {source}, {count} points x {width} column(s){columns}{scaled}{notes}"


def _component_name(options: dict[str, Any]) -> str | None:
    name, is_known = options["component"], options["noise_sd"] is not None or options["mean_sd"] is not None
    if name is not None and name not in COMPONENTS:
        raise click.UsageError(f"--component must be {', '.join(COMPONENTS)}, got {name!r}.")
    if is_known and name not in (None, "known"):
        raise click.UsageError(f"--noise-sd and --mean-sd go with --component known, not with {name}.")
    return "known" if is_known else name


def _cells_of(options: dict[str, Any]) -> np.ndarray:
    """Return what is clustered of the cells of an AnnData file."""
    rep = "X_pca" if options["rep"] is None else options["rep"]
    adata = datasets.read_annotated(options["data"])
    data, options["row_names"] = datasets.representation_of(adata, rep, options["n_pcs"]), adata.obs_names.tolist()
    options["index"] = options["row_names"]
    options["notes"] = [rep if options["n_pcs"] is None else f"the first {options['n_pcs']} columns of {rep}"]
    columns = list(data.T)
    if options["standardize"]:
        columns = _standardized(columns, [f"{rep}[{j}]" for j in range(len(columns))])
    return np.column_stack(columns)


def _from_file(options: dict[str, Any], name: str | None) -> tuple[Cells, cp.kernels.Component, str | None]:
    """Return the data of a file, a component for its columns, and the name of that for numbers."""
    wanted, missing = list_of("--columns", options["columns"]), list_of("--missing", options.get("missing")) or ()
    options["row_names"] = row_labels(options["data"], wanted)
    options["index"] = _index_of(options["data"], wanted)
    if name == "known" and not options["kinds"]:  # numbers only
        table = datasets.read_columns(options["data"], wanted, missing=missing)
        options["columns"], options["notes"] = ", ".join(table.names), table.notes
        columns = list(table.data.T)
        columns = _standardized(columns, table.names) if options["standardize"] else columns
        return Cells(columns, table.names, rows=table.titles), _of_numbers(name, options), name
    found = datasets.read_kinds(options["data"], wanted, kinds_of(options["kinds"]), missing=missing)
    options["columns"] = ", ".join(column.describe() for column in found.columns)
    options["notes"] = list(found.notes)
    if name is None:
        name = "normal"
        if any(column.n_missing for column in found.columns if column.kind == "number"):
            name = "nig"
            options["notes"].append("numbers by nig, because cells are missing")
    _refuse_missing(name, {column.name: column.n_missing for column in found.columns if column.kind == "number"})
    return _table_of(found, options["standardize"]), _component_of(found.columns, name, options), name


def _index_of(path: str, used: list[str] | None) -> list[Any] | None:
    """Return a first column that was meant for names of rows: without a name, or of words that all differ."""
    raw = read_raw(path)
    cells = [row[0] for row in raw.rows]
    if used is not None and 0 in {position_of(name, raw.names, Path(path)) for name in used}:
        return None
    seen = [str(cell).strip() for cell in cells if not is_missing(cell)]
    are_words = len(set(seen)) == len(seen) > len(cells) / 2 and not any(map(is_number, seen))
    return cells if not raw.names[0] or are_words else None


def _refuse_missing(name: str, missing: dict[str, int]) -> None:
    """Refuse a component that needs every cell where columns lack some."""
    other = {"normal": "nig", "tied": "tied-diagonal"}.get(name)
    lacking = next((column for column, count in missing.items() if count), None)
    if other and lacking is not None:
        raise click.UsageError(
            f"--component {name} needs every cell, and column {lacking!r} lacks {missing[lacking]}: take --component "
            f"{other}, which does not, or leave these rows out."
        )


def list_of(option: str, text: str | None) -> list[str] | None:
    """Return what stands between the commas of an option."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise click.UsageError(f"{option} must be one or more, with commas between, got {text!r}.")
    return words


def _table_of(found: datasets.Kinds, standardize: bool) -> Cells:
    """Return columns of any kind as a table that knows their names."""
    cells = []
    for column in found.columns:
        values = np.array(column.cells, dtype=object if column.kind == "category" else np.float64)
        scaled = standardize and column.kind == "number"
        cells.append(_standardized([values], [column.name])[0] if scaled else values)
    return Cells(cells, [column.name for column in found.columns], sure=True, rows=found.titles)


def _component_of(columns: list[datasets.Column], name: str, options: dict[str, Any]) -> cp.kernels.Component:
    """Return the component of columns of any kind."""
    components = {
        "number": _of_numbers(name, options),
        "count": cp.Poisson(),
        "binary": cp.Bernoulli(),
        "category": cp.Categorical(),
    }
    of_kind = {kind: [j for j, column in enumerate(columns) if column.kind == kind] for kind in components}
    if len(of_kind["number"]) == len(columns):
        return components["number"]
    return cp.Columns([(of_kind[kind], component) for kind, component in components.items() if of_kind[kind]])


def kinds_of(given: tuple[str, ...]) -> dict[str, str]:
    """Return what columns are, as the option says it."""
    kinds = {}
    for text in given:
        column, _, kind = text.rpartition("=")
        if not column or kind not in datasets.KINDS:
            raise click.UsageError(f"--as must be COLUMN=KIND, KIND one of {', '.join(datasets.KINDS)}, got {text!r}.")
        if column in kinds:
            raise click.UsageError(f"--as must say once what a column is, got {column!r} twice.")
        kinds[column] = kind
    return kinds


def _standardized(columns: list[np.ndarray], names: list[str]) -> list[np.ndarray]:
    scaled = []
    for column, name in zip(columns, names, strict=True):
        if np.isnan(column).all():
            raise click.UsageError(f"--standardize: column {name!r} has no observed cell.")
        with np.errstate(all="ignore"):
            spread = np.nanstd(column, axis=0)
        if not np.all((spread > 0) & (spread < np.inf)):
            is_constant = np.any(np.nanmin(column, axis=0) == np.nanmax(column, axis=0))
            reason = "is constant" if is_constant else "has values that are too large or too small for it"
            raise click.UsageError(f"--standardize: column {name!r} {reason}.")
        scaled.append((column - np.nanmean(column, axis=0)) / spread)
    return scaled


def _of_numbers(name: str, options: dict[str, Any], preset: dict[str, Any] | None = None) -> Any:
    """Return the component of columns of numbers."""
    if name == "known":
        for key in ("mean_weight", "scale"):
            if options[key] is not None:
                raise click.UsageError(f"--{key.replace('_', '-')} does not go with --component known.")
        chosen = {"noise_sd": None, "mean_sd": None, "mean": 0.0} | (preset or {})
        chosen = {
            key: chosen[key] if options[key] is None else _number_of(key, options[key])
            for key in ("noise_sd", "mean_sd", "mean")
        }
        for key in ("noise_sd", "mean_sd"):
            if chosen[key] is None:
                raise click.UsageError(f"Give --{key.replace('_', '-')}.")
        return cp.Gaussian(**chosen)
    given = {key: _number_of(key, options[key]) for key in ("mean", "mean_weight", "scale") if options[key] is not None}
    if name.startswith("tied"):
        return cp.TiedGaussian(name.partition("-")[2] or "full", **given)
    return cp.NormalInverseGamma(**given) if name == "nig" else cp.NormalInverseWishart(**given)


def _number_of(key: str, text: str, distributions: dict[str, Any] | None = None) -> Any:
    """Return a number, or the distribution of an unknown one, that an option gives."""
    known = distributions or ({"normal": cp.Normal} if key == "mean" else DISTRIBUTIONS)
    name, colon, rest = text.partition(":")
    try:
        if not colon:
            return float(text)
        if name in known and rest.count(",") == 1:
            return known[name](*[float(one) for one in rest.split(",")])
    except (TypeError, ValueError) as error:
        if "could not convert" not in str(error):
            raise click.UsageError(f"--{key.replace('_', '-')} {text}: {error}") from None
    forms = " or ".join(
        f"{one}:{','.join(field.upper() for field in distribution.__annotations__)}"
        for one, distribution in known.items()
    )
    raise click.UsageError(f"--{key.replace('_', '-')} must be a number or {forms}, got {text!r}.")


def _prior_of(options: dict[str, Any], is_known: bool) -> Any:
    """Return the prior of the clustering; options of other priors are refused."""
    name = "dp" if options["prior"] is None else options["prior"]
    if name not in PRIORS:
        raise click.UsageError(f"--prior must be {', '.join(PRIORS)}, got {name!r}.")
    belongs = {"alpha": ("dp", "py"), "discount": ("py",), "components": ("mfm", "finite"), "gamma": ("mfm", "finite")}
    for option, priors in belongs.items():
        if options[option] is not None and name not in priors:
            raise click.UsageError(f"--{option} goes with --prior {' or '.join(priors)}, not with {name}.")
    if options["components"] is not None and not 1 <= options["components"] <= MOST_COMPONENTS:
        raise click.UsageError(f"--components must be 1 to {MOST_COMPONENTS:,}, got {options['components']}.")
    gamma = 1.0 if options["gamma"] is None else options["gamma"]
    if name == "finite":
        if options["components"] is None:
            raise click.UsageError("Give --components, the number of components of --prior finite.")
        return cp.FiniteMixture(options["components"], gamma)
    if name == "mfm":
        from scipy.stats import randint

        most = 30 if options["components"] is None else options["components"]
        return cp.MixtureOfFiniteMixtures(gamma, randint(1, most + 1))
    usual = {"alpha": "1" if is_known else "gamma:2,4", "discount": "0.25"}
    given = {key: usual[key] if options[key] is None else options[key] for key in usual}
    alpha = _number_of("alpha", given["alpha"], {"gamma": cp.Gamma})
    if name == "py":
        return cp.PitmanYor(alpha, _number_of("discount", given["discount"], {"beta": cp.Beta}))
    return cp.DirichletProcess(alpha)
