"""Made-up clusterings with the public attributes of real ones: for pages that no quick run would give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist

import copartition as cp
from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.findings import CAUTION, NOTE, Finding
from copartition.display import Displayed, draw
from copartition.targets.base import Target
from copartition.targets.cells import cells_of
from copartition.view.report import write_clustering

ALL_PAIRS = 2_000


@dataclass(frozen=True, eq=False)
class MadeUp(Displayed):
    """A clustering whose probabilities are given: those of each row to be with a row of each cluster."""

    table: Any  # data frame, or None: of a network
    labels: np.ndarray
    probabilities: np.ndarray
    posterior: Any = None
    grade: str = "unbiased"
    reason: str = "All 32 pairs of runs met, after 41 steps on average."
    names: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    n_clusters: dict = field(default_factory=lambda: {3: 0.07, 4: 0.9, 5: 0.03})
    findings: list = field(default_factory=lambda: [
        Finding(NOTE, "Clusters of one", "2 rows are nearly always on their own."),
        Finding(CAUTION, "Heavy tails", "Rows lie farther out than the model has it.", "Try component='full'."),
    ])  # fmt: skip
    effort: float = 1.0
    seed: int = 0

    @property
    def certainty(self):
        return self.probabilities[np.arange(len(self.labels)), self.labels]

    @property
    def undecided(self):
        return self.certainty < 0.5

    @property
    def sizes(self):
        return np.bincount(self.labels)

    @property
    def n_clusters_stderr(self):
        return dict.fromkeys(self.n_clusters, 0.01)

    @property
    def headline(self):
        return f"{len(self.sizes)} clusters (P = 0.90); {self.undecided.sum()} rows undecided."

    @property
    def assumptions(self):
        return ["Rows of a cluster scatter normally, with a mean and a covariance of its own."]

    @property
    def kinds(self):
        return [
            f"{name}: numbers, {self.table[name].isna().sum()} missing"
            for name in (() if self.table is None else self.table)
        ]

    @property
    def work(self):
        return {"steps": 12_345, "starts": ["one_cluster", "singletons"], "pairs": 32, "pairs_met": 32,
                "meeting_mean": 41.25, "interrupted": False, "something_else": None}  # fmt: skip

    @property
    def consensus(self):
        count = len(self.labels)
        member = np.eye(len(self.sizes))[self.labels]
        between = (member.T @ self.probabilities) / self.sizes[:, None]
        pairs = None
        if count <= ALL_PAIRS:
            pairs = 1.0 - pdist(self.probabilities, "cityblock") / 2.0
        return Consensus(
            self.labels, np.arange(count), "vi", 0.0, 0.0, self.certainty, np.zeros(count), np.diagonal(between),
            np.zeros(len(between)), 0.5 * (between + between.T), 0.01, 0.001, 0.02, self.labels[None], pairs,
        )  # fmt: skip

    def columns(self):
        """Each column with its kind, levels, and a table of indicators or numbers."""
        for name in self.table:
            column = self.table[name]
            if column.dtype.kind in "if":
                yield name, [""], column.to_numpy(dtype=float)[:, None]
            else:
                levels = sorted(column.dropna().unique())
                yield name, levels, np.array([[x == level for level in levels] for x in column], dtype=float)

    def profile(self):
        if self.table is None:
            raise TypeError("posterior must be a Mixture, got a network.")
        rows, keys = [], []
        for name, levels, values in self.columns():
            for r in range(len(self.sizes)):
                own = values[self.labels == r]
                for j, level in enumerate(levels):
                    sd = np.nanstd(own[:, j]) if level == "" else np.nan
                    rows.append([np.nanmean(own[:, j]), 0.01, sd, 0.01, np.nanmean(values[:, j])])
                    keys.append((r, name, level))
        index = pd.MultiIndex.from_tuples(keys, names=["cluster", "column", "category"])
        frame = pd.DataFrame(rows, index, ["estimate", "stderr", "sd", "sd_stderr", "all_rows"])
        return frame.sort_index(level="cluster", sort_remaining=False, kind="stable")

    def separation(self):
        """How far clusters are from the rest: for numbers in standard deviations, for categories by shares, below 1."""
        rows = {}
        for name, levels, values in self.columns():
            each = []
            for r in range(len(self.sizes)):
                own, rest = values[self.labels == r], values[self.labels != r]
                if not len(rest):
                    each.append(0.0)
                elif levels == [""]:
                    apart = abs(np.nanmean(own) - np.nanmean(rest)) / np.nanstd(values)
                    each.append(apart / (1.0 + apart))
                else:
                    each.append(0.5 * np.abs(own.mean(axis=0) - rest.mean(axis=0)).sum())
            mean = float(np.average(each, weights=self.sizes))
            rows[name] = [mean, 0.01, *[number for one in each for number in (one, 0.01)]]
        clusters = [f"cluster {r}{more}" for r in range(len(self.sizes)) for more in ("", " stderr")]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=["separation", "stderr", *clusters])
        return frame.sort_values("separation", ascending=False, kind="stable")

    def plot(self, ax=None):
        return draw(self, ax=ax)

    def report(self, path, title=None):
        write_clustering(self, path, title)


def made_up(table, labels, certainty, **more) -> Any:
    """A clustering of a table, the rest of the probability of each row spread over other clusters, the next most."""
    labels, certainty = np.asarray(labels), np.asarray(certainty, dtype=float)
    order = np.argsort(-np.bincount(labels), kind="stable")
    labels = np.argsort(order)[labels]
    count = len(order)
    share = np.zeros((len(labels), count))
    for r in range(count):
        share[np.arange(len(labels)), (labels + r) % count] += 0.5**r
    share /= share.sum(axis=1, keepdims=True)
    own = share[0].max()
    rest = share * ((1.0 - certainty) / (1.0 - own) if count > 1 else np.zeros(len(labels)))[:, None]
    rest[np.arange(len(labels)), labels] = certainty
    more["posterior"] = more.get("posterior") or stand_in(table)
    if not more.get("names"):
        more["names"] = list(range(len(labels))) if table is None else table.index.tolist()
    return MadeUp(table, labels, rest, **more)


def stand_in(table) -> Target:
    """Any posterior of so many points that knows their columns."""
    posterior = cp.Mixture(np.zeros((len(table), 1)), cp.Gaussian(noise_sd=1.0, mean_sd=1.0))
    posterior.cells = cells_of(table)
    return posterior


def penguins(**more):
    """Three clusters, of numbers, categories and missing cells: species, some rows in doubt."""
    from palmerpenguins import load_penguins

    table = load_penguins()
    labels = table["species"].map({"Adelie": 0, "Gentoo": 1, "Chinstrap": 2}).to_numpy()
    rng = np.random.default_rng(1)
    certainty = 1.0 - rng.beta(0.15, 2.0, len(table))
    certainty[rng.permutation(len(table))[:6]] = 0.4
    table.index = [f"bird {n}" for n in range(len(table))]
    scores = [
        {"component": "full", "score": -4.12, "stderr": 0.05, "chosen": True},
        {"component": "diagonal", "score": -4.87, "stderr": 0.06, "chosen": False},
    ]
    return made_up(
        table, labels, certainty, scores=scores, notes=["rowid: left out, it is different in every row"], **more
    )


def forty(**more):
    """Forty clusters of very different sizes, in six columns."""
    rng = np.random.default_rng(3)
    sizes = np.round(2500 * 0.88 ** np.arange(40) / 8.3).astype(int) + 1
    labels = np.repeat(np.arange(40), sizes)
    table = pd.DataFrame(
        rng.normal(0, 6, (40, 5))[labels] + rng.normal(size=(len(labels), 5)), columns=[f"gene {k}" for k in range(5)]
    )
    table["batch"] = np.where(rng.random(len(labels)) < 0.2 + 0.6 * (labels % 2), "A", "B")
    numbers = {k: float(p) for k, p in zip(range(37, 46), np.array([1, 3, 9, 20, 30, 20, 12, 4, 1]) / 100, strict=True)}
    certainty = 1.0 - rng.beta(0.2, 2.0, len(labels))
    return made_up(table, labels, certainty, n_clusters=numbers, **more)


def categories(**more):
    """A table without numbers."""
    rng = np.random.default_rng(4)
    labels = np.repeat([0, 1, 2], [40, 30, 10])
    pick = np.array([[0.9, 0.05, 0.05], [0.1, 0.2, 0.7], [0.1, 0.8, 0.1]])
    answers = [["yes", "no", "don't know"][rng.choice(3, p=pick[k])] for k in labels]
    table = pd.DataFrame({"answer": answers, "sex": rng.choice(["f", "m"], len(labels))})
    return made_up(table, labels, np.full(len(labels), 0.9), **more)


def one_number(**more):
    """A single column of numbers, and one of categories."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [60, 30])
    table = pd.DataFrame({"waiting": rng.normal([80.0, 54.0], 5.0, (90, 2))[np.arange(90), labels], "place": "here"})
    table["place"] = np.where(rng.random(90) < 0.5, "here", "there")
    return made_up(table, labels, np.clip(rng.normal(0.9, 0.2, 90), 0.3, 1.0), **more)


def network(**more):
    """Two blocks of a small network."""
    edges = [(a, b) for s in (0, 6) for a in range(s, s + 6) for b in range(a + 1, s + 6)] + [(0, 6), (1, 7)]
    labels = np.repeat([0, 1], 6)
    posterior = cp.BlockModel(edges, rate=2.0)
    return made_up(None, labels, np.linspace(0.45, 1.0, 12), posterior=posterior, **more)


ALL = {
    "penguins": penguins, "forty": forty, "categories": categories, "one_number": one_number, "network": network,
}  # fmt: skip
