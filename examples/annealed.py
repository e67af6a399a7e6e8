"""Starts that are annealed
========================

Thirteen measurements of wines, full covariances: chains from one cluster end in different modes, and some pairs do not
meet. Chains that begin with a draw from the prior, and let the data count a little more in each of a thousand sweeps,
meet soon.

Run it with ``python examples/annealed.py``; it writes ``out/annealed.png``. Looking at densities on the way takes
functions from inside the package; everything else is its public side.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_wine

import copartition as cp
from copartition.chains.annealing import powers_of
from copartition.chains.density import Density
from copartition.chains.start import check_start, start_chain, step_of
from copartition.core.random import stream
from copartition.view.palette import INK, SERIES, line_of, plain_numbers

CHAINS, PAIRS, CAP, EVERY = 12, 40, 2_000, 10


def densities(target: cp.Target, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the powers of an annealed start, every tenth, and the log density of the data at each of them."""
    start, random, own = check_start(target, "annealed"), stream(seed), target.of_chain()
    chain = start_chain(own, check_start(target, "prior"), random)
    ladder, density, stepper = start.ladder(1.0)[:-1], Density(own), step_of(start).stepper(own)
    logs = []
    for power in ladder:
        own.model.power[0] = power
        chain, log_density = density.advance(chain, stepper, random, 1)
        logs.append(log_density)
    return ladder[::EVERY], np.array(logs)[::EVERY]


def draw_densities(ax: Axes, target: cp.Target) -> None:
    """Draw how the data's density grows in a few annealed starts, and where the powers lie."""
    for seed in range(CHAINS):
        powers, logs = densities(target, seed)
        ax.plot(powers, logs, color=SERIES[0], linewidth=0.8, alpha=0.6)
    shown = logs[len(logs) // 10 :]
    bottom = shown.min() - 0.06 * np.ptp(shown)
    knots = powers_of(np.array(check_start(target, "annealed").knots), 100)
    ax.plot(knots, np.full(len(knots), bottom), ".", color=INK, markersize=3)
    ax.set_ylim(bottom - 0.04 * np.ptp(shown))
    ax.set_xlabel("power of the data's density")
    ax.set_ylabel("log density of the data")


def draw_pairs(ax: Axes, target: cp.Target) -> None:
    """Draw which share of pairs is still apart after so many sweeps."""
    for number, (init, lag) in enumerate((("one_cluster", 100), ("annealed", 300))):
        m = cp.meeting_times(target, replicates=PAIRS, lag=lag, init=init, max_sweeps=lag + CAP, seed=1)
        times = np.sort(np.where(m.met, m.meeting_times - m.lag, np.inf))
        apart = 1.0 - np.arange(1, PAIRS + 1) / PAIRS
        finite = np.isfinite(times)
        x = np.concatenate([[1.0], np.maximum(times[finite], 1.0), [CAP]])
        y = np.concatenate([[1.0], apart[finite], [apart[finite][-1]]])
        ax.step(x, y, where="post", label=init.replace("_", " "), **line_of(number))
    ax.set_xscale("log")
    plain_numbers(ax.xaxis)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("coupled sweeps")
    ax.set_ylabel("share of pairs still apart")
    ax.legend(frameon=False)


def main() -> None:
    """Draw both pictures."""
    target = cp.Mixture(load_wine().data, cp.NormalInverseWishart())
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), layout="constrained")
    draw_densities(axes[0], target)
    draw_pairs(axes[1], target)
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/annealed.png", dpi=150)


if __name__ == "__main__":
    main()
