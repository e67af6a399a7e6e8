"""Why pairs of chains fail to meet
================================

What goes wrong, and what each remedy does, in four pictures.

Run it with ``python examples/meeting.py``; it writes ``out/meeting.png``. Looking inside a pair takes functions from
inside the package; everything else is its public side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import itertools

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment

import copartition as cp
from copartition.chains.start import advance_pair, check_start, start_pair
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.view.palette import INK, SERIES, line_of, plain_numbers

BINS = [1, 2, 4, 8, 15, 30, 60]


def cells() -> cp.Mixture:
    """Return a posterior in which clusters are hard to split: 200 points in 50 dimensions, 4 components."""
    rng = np.random.default_rng(1)
    data = rng.normal(0, 0.8, (4, 50))[rng.integers(4, size=200)] + rng.normal(0, 1.3, (200, 50))
    return cp.Mixture(data, cp.Gaussian(noise_sd=1.3, mean_sd=0.8), cp.DirichletProcess(1.0))


def plane(number: int) -> cp.Mixture:
    """Return the posterior of Figure 1A of the paper on a data set of its own: overlapping clusters."""
    rng = np.random.default_rng(number)
    data = rng.normal(0, 2.5, (4, 2))[rng.integers(4, size=150)] + rng.normal(0, 2, (150, 2))
    return cp.Mixture(data, cp.Gaussian(noise_sd=2.0, mean_sd=2.5), cp.DirichletProcess(0.2))


def differing(x: np.ndarray, y: np.ndarray) -> int:
    """Return in how many points two partitions differ, clusters that go with each other taken as one."""
    shared = cp.partition.overlaps(x, y)
    return int(len(x) - shared[linear_sum_assignment(-shared)].sum())


def follow(target: cp.Target, coupling: cp.couplings.Coupling, split_merge: int, lag: int, seed: int) -> np.ndarray:
    """Return, for each coupled sweep of a pair until it meets: clusters of x, clusters of y, points that differ."""
    random, step = stream(seed, 0), BoundStep(cp.Step(coupling, split_merge))
    pair = start_pair(target, step, check_start(target, "one_cluster"), lag, random)
    rows = []
    while True:
        counts = (len(set(chain.labels.tolist())) for chain in (pair.x, pair.y))
        rows.append([*counts, differing(pair.x.labels, pair.y.labels)])
        if pair.distance[0] == 0:
            return np.array(rows)
        pair, _ = advance_pair(target, step, pair, random, 1)


def draw_pair(ax: Any, rows: np.ndarray, title: str, longest: int) -> None:
    """Draw the numbers of clusters of both chains."""
    ax.plot(rows[:, 0], lw=3, drawstyle="steps-post", label="x, 50 sweeps ahead", color=SERIES[2])
    ax.plot(rows[:, 1], lw=1, drawstyle="steps-post", label="y, from one cluster", color=INK)
    ax.axvline(len(rows) - 1, color=INK, lw=1, ls=":")
    ax.text(len(rows) - 1, 1.0, " met ", color=INK, ha="left" if len(rows) < 0.9 * longest else "right")
    ax.set(title=title, xlabel="coupled sweeps", ylabel="clusters", xlim=(0, longest), ylim=(0.7, None))


def meeting_by_distance(coupling: cp.couplings.Coupling, split_merge: int, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, by the number of points that differ before a sweep, how often it met and how many sweeps there were."""
    met, tried = np.zeros((2, len(BINS)))
    for number in range(pairs):
        distance = follow(plane(number), coupling, split_merge, 100, number)[:, 2]
        place = np.digitize(distance[:-1], BINS) - 1
        np.add.at(tried, place, 1)
        np.add.at(met, place, distance[1:] == 0)
    return met / np.maximum(tried, 1), tried


def main(folder: Path = Path("out"), pairs: int = 300) -> None:
    """Write the picture into a folder."""
    posterior = cells()
    figure, axes = plt.subplots(2, 2, figsize=(10, 7.2), layout="constrained")
    seeds = range(max(3, pairs // 10))
    slow = max((follow(posterior, cp.Transport(), 0, 50, seed) for seed in seeds), key=len)
    fast = max((follow(posterior, cp.couplings.Path(), 10, 50, seed) for seed in seeds), key=len)
    draw_pair(axes[0, 0], slow, f"slowest of {len(seeds)} pairs: transport, Gibbs alone", len(slow))
    draw_pair(axes[0, 1], fast, f"slowest of {len(seeds)} pairs: path, 10 split-merge moves", len(slow))
    axes[0, 1].legend(frameon=False, loc="upper right")

    ax = axes[1, 0]
    width = 0.38
    for offset, (label, coupling, color) in enumerate(
        [("transport", cp.Transport(), SERIES[0]), ("path", cp.couplings.Path(), SERIES[2])]
    ):
        share, _tried = meeting_by_distance(coupling, 0, max(5, pairs // 2))
        ax.bar(np.arange(len(BINS)) + (offset - 0.5) * width, share, width, color=color, label=label)
    names = [f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in itertools.pairwise(BINS)]
    ax.set_xticks(range(len(BINS)), [*names, f"{BINS[-1]}+"])
    ax.set(title="probability to meet in the next sweep", xlabel="points that differ", ylabel="", ylim=(0, 1))
    ax.legend(frameon=False)

    ax = axes[1, 1]
    arms = [
        ("transport (the paper)", "transport", 0, None),
        ("transport + 10 moves", "transport", 10, None),
        ("path + 10 moves", "path", 10, None),
        ("the same from Start(20, 20)", "path", 10, cp.Start(sweeps=20, split_merge=20)),
    ]
    for number, (label, coupling, moves, init) in enumerate(arms):
        m = cp.meeting_times(
            posterior, replicates=pairs, coupling=coupling, split_merge=moves, init=init, lag=50, seed=1
        )
        sweeps = np.sort(m.meeting_times - m.lag)
        left = 1.0 - np.arange(1, len(sweeps) + 1) / len(sweeps)
        ax.set_xscale("log")
        ax.step(
            np.r_[1, sweeps],
            np.r_[1.0, left],
            where="post",
            lw=2,
            label=label,
            **line_of(number),
        )
    ax.set(
        title="pairs that are still apart", xlabel="coupled sweeps", ylabel="share", yscale="log", ylim=(1 / pairs, 1)
    )
    plain_numbers(ax.xaxis)
    plain_numbers(ax.yaxis)
    ax.set_xlim(right=8_000)  # room for the legend
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "meeting.png", dpi=110)
    print(f"Wrote {folder / 'meeting.png'}.")


if __name__ == "__main__":
    main()
