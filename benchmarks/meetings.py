"""How soon chains meet with each coupling and each remedy, what that costs, and what it makes of an estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import cases
import copartition as cp
from report import Report
from sweeps import coupled_seconds, single_seconds

PAIRS = 500
GRAPHS = 3_000  # pairs on so small a graph take half a millisecond
START = cp.Start("one_cluster", sweeps=20, split_merge=20)


class Arm(NamedTuple):
    """A way of running pairs; nothing chosen is what the package does by itself."""

    coupling: Any = None
    split_merge: Any = None
    init: Any = None

    def __str__(self) -> str:
        if self.coupling is None:
            name = "**nothing chosen**" if self.init is None else "nothing chosen, from Start(20, 20)"
            return name if self.split_merge is None else f"path + {self.split_merge} split-merge"
        return str(self.coupling) + (f" + {self.split_merge} split-merge" if self.split_merge else "")


PAPER = Arm("transport")
OURS = Arm()
MIXTURE_ARMS = (
    PAPER,
    Arm("matched"),
    Arm("path"),
    Arm("transport", 10),
    Arm("matched", 10),
    Arm("path", 2),
    Arm("path", 10),
    Arm("path", 20),
    OURS,
    Arm(init=START),
)
HARD_ARMS = (PAPER, Arm("matched"), Arm("path"), Arm("path", 10), Arm("path", 20), OURS)
COLORING_ARMS = (PAPER, Arm("matched"), Arm("path"))


def one_pair(target: cp.Target, arm: Arm, lag: int, seed: int) -> tuple[int, float]:
    """Return the coupled sweeps of one pair until it met, and their CPU seconds."""
    with ThreadPoolExecutor(1) as here:
        m = cp.meeting_times(
            target,
            replicates=1,
            coupling=arm.coupling,
            split_merge=arm.split_merge,
            init=arm.init,
            lag=lag,
            seed=seed,
            executor=here,
        )
    assert m.met.all()
    return int(m.meeting_times[0] - lag), float(m.seconds[0])


def meet(
    report: Report, name: str, targets: Sequence[cp.Target], lag: int, arms: Sequence[Arm], goals: dict[Arm, str]
) -> None:
    """Run pairs of each arm, the data sets taking turns."""
    for arm in arms:
        work = partial(_numbered, targets, arm, lag)
        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(work, range(max(PAIRS, len(targets)))))
        sweeps, seconds = (np.array(column) for column in zip(*outcomes, strict=True))
        found = (
            f"{sweeps.mean():.1f} +- {sweeps.std(ddof=1) / np.sqrt(len(sweeps)):.1f} / {np.quantile(sweeps, 0.99):.0f}"
        )
        cost = f"{1e6 * seconds.sum() / sweeps.sum():.0f} us a sweep, {1e3 * seconds.mean():.2f} ms a pair"
        report.add(f"Sweeps to meet, mean / 99 %: {name}", str(arm), f"{found} ({cost})", goals.get(arm, ""))


def _numbered(targets: Sequence[cp.Target], arm: Arm, lag: int, number: int) -> tuple[int, float]:
    return one_pair(targets[number % len(targets)], arm, lag, number)


def sweeps_against_two(
    report: Report, name: str, targets: Callable[[int], cp.Target], goal: str, **settings: Any
) -> None:
    """Measure a coupled sweep against two single sweeps of our own, from the same states."""

    def alone(target: cp.Target, chain: Any, random: np.ndarray, sweeps: int) -> float:
        return single_seconds(target, chain, random, sweeps)[0]

    for coupling in (cp.Transport(), cp.couplings.Matched(), cp.couplings.Path()):
        coupled, single = coupled_seconds(targets, alone, init=None, coupling=coupling, **settings)
        found = f"{coupled / 2 / single:.2f}x ({1e6 * coupled:.0f} / 2 x {1e6 * single:.1f} microseconds)"
        section = "One coupled sweep against two single sweeps of our own"
        report.add(section, f"{name}, {coupling.name}", found, goal if coupling.name == "matched" else "")


def estimates(report: Report, posterior: cp.Mixture) -> None:
    """Measure CPU time times variance of tuned estimates against that of an ordinary chain whose burn-in is free."""
    h = cp.largest_clusters(1)
    plain = cp.sample(posterior, h, split_merge=0, sweeps=100_000, burn_in=3_000, chains=4, seed=9)
    section = "CPU time x variance of a tuned estimate against ordinary MCMC (RNA-seq, largest cluster)"
    for arm in (PAPER, Arm(None, 2), OURS, Arm(None, 10), Arm(init=START)):
        how = {"coupling": arm.coupling, "split_merge": arm.split_merge, "init": arm.init}
        t = cp.tune(posterior, h, seed=1, **how)
        e = cp.estimate(posterior, h, settings=t, replicates=1000, seed=1)
        work = e.inefficiency(plain)
        detail = f"k = L = {t.burn_in}, m = {t.min_sweeps}, {1e3 * e.seconds.mean():.1f} ms a replicate"
        found = f"{work.seconds[0]:.2f}x (in sweeps {work.sweeps[0]:.2f} +- {work.stderr[0]:.2f}; {detail})"
        report.add(section, str(arm), found, "<= 1.1x" if arm == OURS else "")


def measure(report: Report) -> None:
    """Measure all of it."""
    hard = cases.overlapping()
    figure1a = [cases.figure1a(number) for number in range(PAIRS)]
    if cases.cells_available():
        rna_seq = cases.rna_seq()
        goals = {Arm("path", 10): "<= 13 / 50", Arm("path", 20): "<= 13 / 50"}
        meet(report, "RNA-seq, lag 50", [rna_seq], 50, MIXTURE_ARMS, goals)
    goals = {Arm("path", 10): "<= 10.5 / 45", Arm("path", 20): "<= 10.5 / 45"}
    meet(report, f"Figure 1A, lag 250, {PAIRS} data sets", figure1a, 250, MIXTURE_ARMS, goals)
    goals = {Arm("path", 10): "<= 120 / 900", Arm("path", 20): "<= 120 / 900"}
    meet(report, "N = 1000, 8 overlapping components, lag 100", [hard], 100, HARD_ARMS, goals)
    ten = [cases.overlapping(seed) for seed in range(10)]
    meet(report, "the same on ten data sets, 50 pairs each", ten, 100, (PAPER, Arm("path", 10), OURS), {})
    graphs = [cases.random_graph(25, 4.8, seed=number) for number in range(GRAPHS)]
    goals = {Arm("matched"): "fewer, at less cost", Arm("path"): "fewer, at less cost"}
    meet(report, f"colouring, greedy + 1, lag 40, {GRAPHS:,} graphs of 25", graphs, 40, COLORING_ARMS, goals)
    if cases.cells_available():
        sweeps_against_two(report, "RNA-seq", lambda index: rna_seq, "<= 1.25x", lag=50, pairs=100, cap=10_000)
    sweeps_against_two(report, "Figure 1A", cases.figure1a, "<= 1.3x", lag=250, pairs=100, cap=10_000)
    sweeps_against_two(report, "N = 1000", lambda index: hard, "<= 1.4x", lag=100, pairs=20, cap=300)
    if cases.cells_available():
        estimates(report, rna_seq)
