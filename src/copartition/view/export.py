"""Estimates for other programs: pandas, ArviZ, CSV, Parquet and netCDF."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from copartition.datasets.tables import is_missing, is_number
from copartition.diagnostics.consensus import consensus_of, is_about_one
from copartition.extras import needed

if TYPE_CHECKING:
    import pandas
    import xarray

    from copartition.results import Draws, Replicates
    from copartition.results.kept import Partitions

COLUMNS = ("replicate", "meeting_time", "sweeps_to_meet", "met", "sweeps", "seconds")
FORMATS = (".csv", ".parquet", ".nc", ".npz")
ROWS = 100_000  # of a CSV file that are written at a time


def replicate_columns(e: Replicates) -> dict[str, np.ndarray]:
    """Return the table of replicates: a column a component that is kept, and what is known of each replicate."""
    names = _different((name for part in e.parts() if not part.streamed for name in part.components), COLUMNS)
    return {
        "replicate": _numbers(e),
        **{name: e.values[:, c] for c, name in enumerate(names)},
        "meeting_time": e.meeting_times,
        "sweeps_to_meet": e.sweeps_to_meet,
        "met": e.met,
        "sweeps": e.sweeps,
        "seconds": e.seconds,
    }


def _numbers(e: Replicates) -> np.ndarray:
    """Return the numbers of the replicates, which have gaps where a run was interrupted."""
    return np.arange(len(e.values)) if e.indices is None else e.indices


def _different(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return names of which no two are the same and none is taken: later ones get a number."""
    seen, result = set(taken), []
    for number, name in enumerate(names):
        unique = f"{name} [{number}]" if name in seen else name
        while unique in seen:  # also what a later one would be called can be a name
            unique += "'"
        seen.add(unique)
        result.append(unique)
    return result


def summary_columns(e: Replicates) -> dict[str, np.ndarray]:
    """Return the table of components: what `Estimate.summary` shows, in full."""
    low, high = e.interval()
    return {
        "component": np.array(e.components),
        "mean": e.mean,
        "stderr": e.stderr,
        "low": low,
        "high": high,
        "biased": np.full(len(e.components), e.is_biased),
        **_ordinary_columns(e),
    }


def _ordinary_columns(e: Replicates) -> dict[str, np.ndarray]:
    """Return the ordinary averages, where pairs did not meet and the mean is truncated."""
    if not e.censored or e.ordinary is None:
        return {}
    return {"ordinary_mean": e.ordinary.mean, "ordinary_stderr": e.ordinary.stderr}


def pair_columns(e: Replicates) -> dict[str, np.ndarray]:
    """Return the table of pairs of points: how often they are together."""
    part = e.select("co_clustering")
    first, second = (_called(part, points) for points in _pairs_of(part))
    return {"i": first, "j": second, "mean": part.mean, "stderr": part.stderr}


def _pairs_of(part: Replicates) -> tuple[np.ndarray, np.ndarray]:
    """Return the two points of each pair of an estimate of co_clustering."""
    about = part.functionals[0]
    if "pairs" in about:
        first, second = np.array(about["pairs"]).T
        return first, second
    points = np.array(about["points"])
    a, b = np.triu_indices(len(points), 1)
    return points[a], points[b]


def _called(part: Replicates, points: np.ndarray) -> np.ndarray:
    """Return what points are called, where they have names; their numbers otherwise."""
    names = part.functionals[0].get("names")
    return points if names is None else name_array(names)[points]


def name_array(names: Sequence[Any]) -> np.ndarray:
    """Return names as one column of a table: whole numbers if all are, else words."""
    if all(isinstance(name, int) and abs(name) < 2**63 for name in names):
        return np.array(names, dtype=np.int64)
    return np.array([str(name) for name in names], dtype=object)


def dataframe(e: Replicates) -> pandas.DataFrame:
    """Return the table of replicates as a pandas DataFrame; see `Estimate.to_dataframe`."""
    return needed("pandas", by="to_dataframe").DataFrame(replicate_columns(e)).set_index("replicate")


def datatree(e: Replicates) -> xarray.DataTree:
    """Return the replicates as a DataTree; see `Estimate.to_datatree`."""
    arviz_base = needed("arviz_base", by="to_datatree")
    values, dims, coords = {}, {}, {"replicate": _numbers(e)}
    for number, part in enumerate(e.parts()):
        name = part.functionals[0]["name"].partition("(")[0]
        if name in values:
            name = f"{name}_{number}"
        if part.streamed:
            continue
        if len(part.components) == 1:
            values[name] = part.values[:, 0]
            continue
        dimension = f"{name}_component"
        values[name] = part.values
        dims[name] = [dimension]
        coords[dimension] = np.array(part.components)
    stats = {"meeting_time": e.meeting_times, "met": e.met, "sweeps": e.sweeps, "seconds": e.seconds}
    # The replicates are independent estimates of an expectation, not draws from the posterior, so they are in a group
    # of their own, which no summary or plot of ArviZ takes for draws.
    tree = arviz_base.from_dict(
        {"replicates": values, "replicate_stats": stats},
        sample_dims=["replicate"],
        coords=coords,
        dims=dims,
        check_conventions=False,
        attrs={"/": {"made_by": _as_json(e.made_by), "biased": int(e.is_biased), "creation_library": "copartition"}},
    )
    for number, part in enumerate(e.parts()):
        if part.streamed:
            name = part.streamed[0]
            tree[f"{name}_{number}" if name in tree.children else name] = _streamed_tree(part)
    return tree


def _streamed_tree(part: Replicates) -> xarray.DataTree:
    """Return mean and standard error of a functional whose values were not kept."""
    import xarray

    name = part.streamed[0]
    dimension = f"{name}_component"
    coords = {}
    if name == "co_clustering":
        coords = {key: (dimension, _called(part, at)) for key, at in zip("ij", _pairs_of(part), strict=True)}
    data = {"mean": (dimension, part.mean), "stderr": (dimension, part.stderr)}
    return xarray.DataTree(xarray.Dataset(data, coords=coords))


def partition_columns(e: Replicates) -> dict[str, np.ndarray]:
    """Return the table of partitions that were kept: replicate, weight, hyperparameters, and a column a point."""
    kept = _partitions_of(e)
    first = {"replicate": kept.replicate, "weight": kept.weights}
    known = zip(e.made_by.get("hyperparameters", []), kept.hyperparameters.T, strict=True)
    own = first | {_different([name], first)[0]: column for name, column in known}
    names = _different([str(name) for name in _point_names(e, kept)], own)
    return own | dict(zip(names, kept.labels.T, strict=True))


def partitions_frame(e: Replicates) -> pandas.DataFrame:
    """Return the partitions as a pandas DataFrame; see `WeightedPartitions.to_dataframe`."""
    return needed("pandas", by="to_dataframe").DataFrame(partition_columns(e))


def partitions_datatree(e: Replicates) -> xarray.DataTree:
    """Return the partitions as a DataTree, as one chain; see `WeightedPartitions.to_datatree`."""
    kept = _partitions_of(e)
    values = {"labels": kept.labels[None], "weight": kept.weights[None], "replicate": kept.replicate[None]}
    names = e.made_by.get("hyperparameters", [])
    values |= {name: column[None] for name, column in zip(names, kept.hyperparameters.T, strict=True)}
    return needed("arviz_base", by="to_datatree").from_dict(
        {"posterior": values},
        coords={"point": name_array(_point_names(e, kept))},
        dims={"labels": ["point"]},
        attrs={"/": {"made_by": _as_json(e.made_by), "biased": int(e.is_biased), "creation_library": "copartition"}},
    )


def _partitions_of(e: Replicates) -> Partitions:
    if e.partitions is None:
        raise ValueError("This run kept no partitions: make it with draw, or with --keep on the command line.")
    return e.partitions


def _point_names(e: Replicates, kept: Partitions) -> list[Any]:
    return list(e.made_by.get("names") or range(kept.labels.shape[1]))


def _as_json(made_by: Mapping[str, Any]) -> str:
    return json.dumps(made_by, default=np.ndarray.tolist)


def sample_datatree(s: Draws) -> xarray.DataTree:
    """Return the draws of ordinary chains as a DataTree; see `Sample.to_datatree`."""
    name = s.functional.partition("(")[0]
    dimension = f"{name}_component"
    one = s.draws.shape[2] == 1
    return needed("arviz_base", by="to_datatree").from_dict(
        {"posterior": {name: s.draws[:, :, 0] if one else s.draws}},
        coords={} if one else {dimension: np.array(s.components)},
        dims={} if one else {name: [dimension]},
        attrs={"/": {"burn_in": s.burn_in, "seed": s.seed}},
    )


def cluster_columns(
    e: Replicates, loss: str = "vi", beside: Mapping[str, Sequence[Any]] | None = None
) -> dict[str, np.ndarray]:
    """Return the table of points: name, cluster in the consensus, how surely each belongs there, and other columns.

    Parameters
    ----------
    e : Replicates
    loss : str
    beside : mapping, optional
        Columns of the user's own, with a cell for every point of the data.
    """
    c = consensus_of(e, loss)
    own = {"cluster": c.labels, "belongs": c.belongs, "belongs_stderr": c.belongs_stderr}
    index = (e.made_by.get("source") or {}).get("index")  # of a data frame, where it has one name twice
    columns = ({} if index is None else {"index": index}) | dict(beside or {})
    names = _different(columns, ("point", *own))
    more = {
        name: np.array([cells[point] for point in c.points], dtype=object)
        for name, cells in zip(names, columns.values(), strict=True)
    }
    return {"point": name_array(c.names), **own, **more}


def _check_has(e: Replicates, what: str) -> None:
    """Refuse clusters or pairs of a run that was not about them."""
    if what in ("replicates", "summary", "partitions") or is_about_one(e):
        return
    if not any(about["name"] == "co_clustering" for about in e.functionals):
        raise ValueError(
            f"This run does not hold {what}: it was not asked which points are together, and kept no partitions. "
            "Run it with --keep 16 (in Python draw), or with --functional together (co_clustering())."
        )


def write(
    e: Replicates,
    path: str | Path,
    what: str = "replicates",
    beside: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Write an estimate to a file, in the format that the ending of its name stands for.

    Parameters
    ----------
    e : Replicates
    path : path
        Ends in ``.csv``, ``.parquet``, ``.nc`` (netCDF) or ``.npz`` (pairs only: a SciPy sparse matrix of the means).
    what : str
        ``"replicates"``: a row a replicate, of what is kept. ``"summary"``: a row a component, mean, standard error
        and interval. ``"clusters"``: a row a point, with its cluster in the consensus. ``"pairs"``: a row a pair of
        points, with the probability that they are together. ``"partitions"``: a row a partition that was kept, with its
        weight and a column a point. NetCDF has replicates, and what is streamed; or partitions. Points go by
        their names, where they have any; where two are the same, by their numbers, and clusters have the names beside
        them as ``index``.
    beside : mapping, optional
        With ``"clusters"``: columns of the user's own, with a cell for every point of the data.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in FORMATS:
        raise ValueError(f"{str(path)!r} must end in {', '.join(FORMATS)}.")
    if kind == ".npz":
        if what != "pairs":
            raise ValueError(f"{str(path)!r}: .npz holds pairs; write the {what} as CSV or Parquet.")
        _check_has(e, what)
        _write_sparse(e, file)
        return
    if kind == ".nc":
        if what not in ("replicates", "partitions"):
            raise ValueError(f"{str(path)!r}: netCDF holds replicates and partitions; write {what} as CSV or Parquet.")
        _write_netcdf(e, file, datatree if what == "replicates" else partitions_datatree)
        return
    _check_has(e, what)
    tables: dict[str, Callable[..., dict[str, np.ndarray]]] = {
        "replicates": replicate_columns,
        "summary": summary_columns,
        "clusters": partial(cluster_columns, beside=beside),
        "pairs": pair_columns,
        "partitions": partition_columns,
    }
    columns = tables[what](e)
    words = {"clusters": ("point",), "pairs": ("i", "j")}.get(what, ())
    write_columns(columns, file, e.made_by, words)


def write_columns(
    columns: Mapping[str, np.ndarray], file: Path, made_by: Mapping[str, Any], words: Sequence[str] = ()
) -> None:
    """Write a table to a CSV or Parquet file.

    Parameters
    ----------
    columns : mapping
        Name and cells of each; cells of any kind are arrays of objects.
    file : path
        Ends in ``.csv`` or ``.parquet``.
    made_by : mapping
        What a Parquet file says of it.
    words : sequence of str
        Columns of which a Parquet file has the cells as they are; others of any kind become numbers where they can.
    """
    if file.suffix.lower() == ".csv":
        with file.open("w", newline="", encoding="utf-8") as text:
            writer = csv.writer(text)
            writer.writerow(columns)
            arrays = list(columns.values())
            for begin in range(0, len(arrays[0]), ROWS):
                rows = [array[begin : begin + ROWS].tolist() for array in arrays]
                writer.writerows(zip(*rows, strict=True))
    else:
        own = {name: column for name, column in columns.items() if column.dtype.kind != "O" or name in words}
        typed = {name: own[name] if name in own else _typed(column) for name, column in columns.items()}
        _write_parquet(typed, made_by, file)


def _write_sparse(e: Replicates, file: Path) -> None:
    """Write the probabilities that points are together as a symmetric sparse matrix, 1 on its diagonal.

    Names of points, where they have any, are one array more, ``names``, in the order of its rows.
    """
    from scipy.sparse import coo_array, eye_array, save_npz

    part = e.select("co_clustering")
    first, second = _pairs_of(part)
    count = int(max(first.max(), second.max())) + 1
    found = part.mean != 0.0
    upper = coo_array((part.mean[found], (first[found], second[found])), shape=(count, count))
    save_npz(file, (upper + upper.T + eye_array(count)).tocsr())
    called = _called(part, np.arange(count))
    if part.functionals[0].get("names") is not None:
        with np.load(file) as stored:
            arrays = dict(stored)
        np.savez_compressed(file, names=called.astype(str) if called.dtype.kind == "O" else called, **arrays)


def _write_parquet(columns: dict[str, Any], made_by: Mapping[str, Any], file: Path) -> None:
    pyarrow, parquet = (needed(module, by=repr(str(file))) for module in ("pyarrow", "pyarrow.parquet"))
    table = pyarrow.table(columns).replace_schema_metadata({"made_by": _as_json(made_by)})
    parquet.write_table(table, file)


def _typed(column: np.ndarray) -> Any:
    """Return a column of a user's cells as numbers where these stand for the same text, else as words; gaps as None."""
    cells = [None if is_missing(cell) else cell for cell in column]
    seen = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, bool) for cell in seen):
        return cells
    texts = [str(cell).strip() for cell in seen]
    kinds: tuple[tuple[Callable[[str], bool], type], ...] = ((_is_whole, int), (_is_exact, float))
    kind = next((kind for fits, kind in kinds if all(map(fits, texts))), str)
    return [None if cell is None else kind(str(cell)) for cell in cells]


def _is_whole(text: str) -> bool:
    """Tell whether a text is a whole number, written as Python writes it, of 64 bits: 01234 is a name."""
    return len(text) <= 20 and text.lstrip("-").isdecimal() and str(int(text)) == text and -(2**63) <= int(text) < 2**63


def _is_exact(text: str) -> bool:
    """Tell whether a text is a number of which a float keeps all digits: 12345678901234567 is none."""
    if not is_number(text) or not text.isascii() or text.startswith("+") or re.match(r"-?0\d", text):
        return False
    wanted, number = Decimal(text), float(text)
    if not wanted.is_finite() or not np.isfinite(number):
        return not wanted.is_finite()
    return Decimal(f"{number:.{len(wanted.as_tuple().digits) - 1}e}") == wanted


def _write_netcdf(e: Replicates, file: Path, tree_of: Callable[[Replicates], xarray.DataTree]) -> None:
    for module in ("h5netcdf", "arviz_base"):
        needed(module, by=repr(str(file)))
    tree_of(e).to_netcdf(file, engine="h5netcdf")
