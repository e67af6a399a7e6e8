"""``copartition ask``: questions to the partitions that a run has kept, and how other commands ask them."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

import copartition as cp
from copartition.cli.model import functional_of, functional_option, one_sentence_errors
from copartition.cli.posterior import posterior_of
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
            "Without the data, which are gone or have changed: questions about clusters can be asked, others cannot.",
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
