"""Tables that nothing here was tuned to, with all defaults: writes docs/real-tables.md.

``python evidence/tables.py`` runs everything, about half an hour on one core; ``python evidence/tables.py wine`` only
the rows whose names contain one of the words, and keeps the rest of the page. Figures that are not on the page go to
real-tables.json in the machine's folder for temporary files, after every row.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import copartition as cp
from copartition.datasets import faithful, galaxies

PAGE = Path(__file__).resolve().parents[1] / "docs" / "real-tables.md"
FIGURES = Path(tempfile.gettempdir()) / "real-tables.json"

PAIRS, LAG, COUPLED = 100, 100, 2_000
SECONDS = 150  # of CPU time that the pairs of a row may take, judged by the first three
CHAINS, CHAIN_SWEEPS = 4, 2_000
CHAIN_SECONDS = 40  # for the chains from one start

COMPONENTS = {"NormalInverseWishart": cp.NormalInverseWishart, "NormalInverseGamma": cp.NormalInverseGamma}

HEAD = f"""# Tables that nothing was tuned to

Written by `python evidence/tables.py`. Public tables, each with both normal components whose covariances are unknown,
and everything left at its defaults: the prior of the components, the Dirichlet process with an unknown concentration,
the coupling, the split-merge moves, the start (one cluster). Fixed before anything was run: {PAIRS} pairs, lag {LAG},
at most {COUPLED:,} coupled sweeps, seed 1, one core. Set after short single chains had shown how long a sweep takes:
where {PAIRS} pairs would take more than {SECONDS} CPU seconds, judged by the first three, fewer are run, and the table
says how many.

Principal components are those of standardised columns; of the digits, whose 64 columns share a unit, those of the
columns as they are. None of them is rescaled. Penguins: the four measurements, rows that have all of them. Diabetes:
without the column sex, which has two values.
"""

MEETING = """## Do pairs meet?

CPU seconds are those of a whole pair, the sweeps that the first chain is ahead included. Pairs that did not meet count
with {coupled:,} in the mean and the 99 % quantile, so both are at least what is shown. *At once*: pairs that were equal
before any coupled sweep, so that the first chain was in one cluster, where the second one starts, after its {lag}
sweeps. *Never left*: first chains, run alone, that were in one cluster after every one of these sweeps. A meeting of
this kind says nothing about convergence: both chains are where they began.
"""

COUNTS = """## How many clusters?

*Estimate*: unbiased, from as many replicates as there are pairs above (100 sweeps of burn-in, 500 sweeps, the
defaults), where all pairs met; otherwise there is none. The other columns are averages of ordinary chains, biased
where these have not converged: {chains} chains from each start, {sweeps:,} sweeps after as many of burn-in, fewer where
they would take more than {seconds} CPU seconds. *Their range*: smallest and largest mean of one chain. Where the two
starts disagree, or the ranges are wide, chains do not reach all of the posterior in that time, and their standard
errors, which only know what the chains have seen, are too small.
"""

MEETING_COLUMNS = [
    "data", "component", "points x columns", "pairs", "met", "coupled sweeps: mean", "99 %", "CPU seconds a pair",
    "at once", "never left",
]  # fmt: skip
COUNT_COLUMNS = [
    "data", "component", "estimate", "chains from one cluster", "their range", "chains from a sequential start",
    "their range", "sweeps of a chain",
]  # fmt: skip


def principal(data: np.ndarray, count: int, standardise: bool = True) -> np.ndarray:
    """Return the first principal components of a table."""
    centred = data - data.mean(axis=0)
    if standardise:
        centred = centred / centred.std(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    return (left * sizes)[:, :count]


def tables() -> dict[str, Callable[[], np.ndarray]]:
    """Return all tables by name, each made when it is called for."""
    from palmerpenguins import load_penguins
    from sklearn import datasets

    measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return {
        "galaxies": galaxies,
        "Old Faithful": faithful,
        "iris": lambda: datasets.load_iris().data,
        "penguins": lambda: load_penguins()[measured].dropna().to_numpy(float),
        "wine, 5 components": lambda: principal(datasets.load_wine().data, 5),
        "wine": lambda: datasets.load_wine().data,
        "breast cancer, 5 components": lambda: principal(datasets.load_breast_cancer().data, 5),
        "breast cancer": lambda: datasets.load_breast_cancer().data,
        "diabetes": lambda: np.delete(datasets.load_diabetes().data, 1, axis=1),
        "digits, 10 components": lambda: principal(datasets.load_digits().data, 10, standardise=False),
    }


def pairs_of(target: cp.Mixture) -> tuple[cp.answers.MeetingTimes, float]:
    """Return meeting times of as many pairs as there is time for, and CPU seconds of a pair."""

    def run(count: int) -> tuple[cp.answers.MeetingTimes, float]:
        begin = time.process_time()
        times = cp.meeting_times(target, replicates=count, lag=LAG, max_sweeps=LAG + COUPLED, seed=1, executor=1)
        return times, (time.process_time() - begin) / count

    run(1)  # which compiles
    _, seconds = run(3)
    return run(int(np.clip(SECONDS / seconds, 3, PAIRS)))


def chains_of(target: cp.Mixture, init: str, seed: int) -> dict[str, Any]:
    """Return what ordinary chains say of the number of clusters, from one start; other starts need another seed."""

    def run(sweeps: int, chains: int) -> cp.answers.Sample:
        return cp.sample(
            target, cp.n_clusters(), sweeps=sweeps, burn_in=sweeps, chains=chains, init=init, seed=seed, executor=1
        )

    trial = run(50, 1)
    affordable = CHAIN_SECONDS / CHAINS / (trial.seconds[0] / 100)
    s = run(int(np.clip(affordable / 2, 100, CHAIN_SWEEPS)), CHAINS)
    means = s.draws[:, :, 0].mean(axis=1)
    return {
        "mean": float(s.mean[0]),
        "stderr": float(s.stderr[0]),
        "smallest": float(means.min()),
        "largest": float(means.max()),
        "sweeps": s.sweeps,
    }


def study(data: np.ndarray, component: cp.kernels.Component) -> dict[str, Any]:
    """Return all figures of one table and one component."""
    target = cp.Mixture(data, component)
    times, seconds = pairs_of(target)
    coupled = times.meeting_times - LAG
    count = len(coupled)
    alone = cp.sample(target, cp.n_clusters(), sweeps=LAG, burn_in=0, chains=count, seed=1, executor=1)
    figures: dict[str, Any] = {
        "shape": list(target.shape),
        "split_merge": times.split_merge,
        "pairs": count,
        "met": int(times.met.sum()),
        "coupled": coupled.tolist(),
        "seconds": seconds,
        "at_once": times.at_start,
        "never_left": float(np.mean((alone.draws[:, :, 0] == 1).all(axis=1))),
        "chains": {init: chains_of(target, init, 2 + i) for i, init in enumerate(("one_cluster", "sequential"))},
    }
    if times.met.all():
        e = cp.estimate(target, cp.n_clusters(), replicates=count, seed=1, executor=1)
        figures["estimate"] = {
            "mean": float(e.mean[0]),
            "stderr": float(e.stderr[0]),
            "largest": int((e.meeting_times - e.lag).max()),
            "warnings": e.warnings,
        }
    return figures


def meeting_row(f: dict[str, Any]) -> list[str]:
    """Return the cells of the first table after the names."""
    coupled = np.array(f["coupled"])
    least = "" if f["met"] == f["pairs"] else "at least "
    return [
        f"{f['shape'][0]:,} x {f['shape'][1]}",
        str(f["pairs"]),
        f"{f['met']} of {f['pairs']}",
        f"{least}{coupled.mean():.1f}",
        f"{least if np.sum(coupled == COUPLED) > 0.01 * len(coupled) else ''}{np.quantile(coupled, 0.99):.0f}",
        f"{f['seconds']:.2g}",
        f"{100 * f['at_once']:.0f} %",
        f"{100 * f['never_left']:.0f} %",
    ]


def count_row(f: dict[str, Any]) -> list[str]:
    """Return the cells of the second table after the names."""
    e = f.get("estimate")
    cells = [f"{e['mean']:.3f} +- {e['stderr']:.3f}" if e else f"none: {f['pairs'] - f['met']} pairs did not meet"]
    for c in f["chains"].values():
        cells += [f"{c['mean']:.3f} +- {c['stderr']:.3f}", f"{c['smallest']:.2f} to {c['largest']:.2f}"]
    return [*cells, f"{min(c['sweeps'] for c in f['chains'].values()):,}"]


def written() -> dict[str, dict[tuple[str, str], str]]:
    """Return the rows that the page has now, by the names of their columns and of the rows."""
    rows: dict[str, dict[tuple[str, str], str]] = {line_of(MEETING_COLUMNS): {}, line_of(COUNT_COLUMNS): {}}
    current: dict[tuple[str, str], str] = {}
    for line in PAGE.read_text().splitlines() if PAGE.exists() else []:
        if line in rows:
            current = rows[line]
        elif line.startswith("| ") and not line.startswith("| ---"):
            data, component = line[2:].split(" | ")[:2]
            current[data, component] = line
    return rows


def line_of(cells: list[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def main(words: list[str]) -> None:
    """Run the rows asked for, and write the page after each."""
    names = [(data, component) for data in tables() for component in COMPONENTS]
    rows = written()
    kept = json.loads(FIGURES.read_text()) if words and FIGURES.exists() else {}
    for name in names:
        if words and not any(word.lower() in " ".join(name).lower() for word in words):
            continue
        begin = time.perf_counter()
        figures = study(tables()[name[0]](), COMPONENTS[name[1]]())
        kept[" | ".join(name)] = figures | {"elapsed": time.perf_counter() - begin}
        FIGURES.write_text(json.dumps(kept, indent=1))
        parts = [HEAD]
        for text, columns, row in ((MEETING, MEETING_COLUMNS, meeting_row), (COUNTS, COUNT_COLUMNS, count_row)):
            lines = rows[line_of(columns)]
            lines[name] = line_of([*name, *row(figures)])
            print(lines[name], flush=True)
            about = text.format(coupled=COUPLED, lag=LAG, chains=CHAINS, sweeps=CHAIN_SWEEPS, seconds=CHAIN_SECONDS)
            table = [line_of(columns), line_of(["---"] * len(columns)), *[lines[n] for n in names if n in lines]]
            parts.append("\n".join([about, *table]) + "\n")
        PAGE.write_text("\n".join(parts))
        print(f"{time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
