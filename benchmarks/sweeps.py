"""Speed of sweeps: single against plain C, coupled against two single ones and against plain Python."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cases
import copartition as cp
import plain_c
from copartition.chains.chain import advance_chain
from copartition.chains.start import advance_pair, check_start, start_chain, start_pair
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.room import copied
from copartition.core.state import Chain
from copartition.targets.base import Target
from report import Report


def seconds_of(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def single_seconds(target: Target, chain: Chain, random: np.ndarray, sweeps: int) -> tuple[float, Chain]:
    """Seconds of sweeps from a copy of `chain`, less those of a call that makes none (handing over the arrays)."""
    chain, random = copied(chain), random.copy()
    call = seconds_of(lambda: advance_chain(target, BoundStep(), chain, random, 0))
    begin = time.perf_counter()
    after = advance_chain(target, BoundStep(), chain, random, sweeps)
    return time.perf_counter() - begin - call, after


def single_against_c(report: Report, name: str, target: cp.Mixture) -> None:
    random = stream(1, 0)
    chain = advance_chain(target, BoundStep(), start_chain(target, check_start(target, None), random), random, 500)
    ours, theirs = [], []
    for _ in range(15):
        seconds, after = single_seconds(target, chain, random, 1000)
        ours.append(seconds)
        seconds, labels = plain_c.run(target, chain, random, 1000)
        theirs.append(seconds)
        assert labels.tolist() == after.labels.tolist(), "the two programs walk different ways"
    ratio = np.median(np.array(ours) / np.array(theirs))
    detail = f"{np.median(ours) * 1e3:.1f} / {np.median(theirs) * 1e3:.1f} microseconds"
    report.add("One single sweep against plain C", name, f"{ratio:.2f}x ({detail})", "<= 1.3x")


def sample_against_c(report: Report, name: str, target: cp.Mixture) -> None:
    """The same through `cp.sample`, all included, from labels where chains have burnt in."""
    random = stream(1, 0)
    chain = advance_chain(target, BoundStep(), start_chain(target, check_start(target, None), random), random, 500)
    ratios, sweeps = [], 4000
    for _ in range(15):
        begin = time.perf_counter()
        cp.sample(
            target, cp.n_clusters(), sweeps=sweeps, burn_in=0, chains=1, split_merge=0, init=chain.labels, executor=1
        )
        ours = time.perf_counter() - begin
        ratios.append(ours / plain_c.run(target, chain, random, sweeps)[0])
    section = f"One single sweep against plain C, {sweeps:,} of them through cp.sample"
    report.add(section, name, f"{np.median(ratios):.2f}x", "<= 1.3x")


def coupled_seconds(
    targets: Callable[[int], Target],
    single: Callable,
    init: object,
    lag: int,
    pairs: int,
    cap: int,
    coupling: cp.couplings.Coupling | None = None,
) -> tuple[float, float]:
    """Seconds of a coupled sweep (transport), over pairs until they meet, and of a single sweep by `single`."""
    step = BoundStep(cp.Step(coupling or cp.Transport(), 0))
    coupled = alone = 0.0
    sweeps = 0
    for index in range(-1, pairs):  # the first one warms up
        target = targets(max(index, 0))
        random = stream(1, max(index, 0))
        pair = start_pair(target, step, check_start(target, init), lag, random)
        steps = 20 if target.n_points > 400 else 100
        seconds_alone = single(target, pair.x, random, steps) / steps
        call = seconds_of(lambda t=target, p=pair, r=random: advance_pair(t, step, p, r, 0))
        begin = time.perf_counter()
        pair, made = advance_pair(target, step, pair, random, cap)
        if index >= 0:
            coupled += time.perf_counter() - begin - call
            alone += seconds_alone
            sweeps += made
    return coupled / sweeps, alone / pairs


def coupled_against_c(
    report: Report, name: str, targets: Callable[[int], Target], goal: str, **settings: object
) -> float:
    def by_c(target: Target, chain: Chain, random: np.ndarray, sweeps: int) -> float:
        return plain_c.run(target, chain, random, sweeps)[0]

    coupled, alone = coupled_seconds(targets, by_c, **settings)
    detail = f"{coupled * 1e6:.0f} / 2 x {alone * 1e6:.1f} microseconds"
    section = "One transport-coupled sweep against two plain C single sweeps"
    report.add(section, name, f"{coupled / 2 / alone:.2f}x ({detail})", goal)
    return coupled


def coupled_coloring(report: Report, n_vertices: int, mean_degree: float) -> None:
    target = cases.random_graph(n_vertices, mean_degree)

    def by_us(target: Target, chain: Chain, random: np.ndarray, sweeps: int) -> float:
        return min(single_seconds(target, chain, random, sweeps)[0] for _ in range(3))

    small = n_vertices < 100
    coupled, alone = coupled_seconds(
        lambda index: target, by_us, init="greedy", lag=100, pairs=300 if small else 10, cap=10_000 if small else 200
    )
    name = f"{n_vertices} vertices, {target.colors} colours"
    detail = f"{coupled * 1e6:.1f} / 2 x {alone * 1e6:.1f} microseconds"
    section = "Colouring: one transport-coupled sweep against two single sweeps"
    report.add(section, name, f"{coupled / 2 / alone:.2f}x ({detail})", "<= 3x")


def coupled_against_python(
    report: Report, name: str, target: cp.Mixture, model: tuple[float, float, float], lag: int
) -> None:
    """The same sweeps by `tests/naive.py` (sets of points, `ot.emd`), from the same pairs of states."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    import naive

    noise_sd, mean_sd, alpha = model
    points = target.model.points[:, : target.shape[1]]
    twin = naive.IsotropicMixture(points * noise_sd, noise_sd, mean_sd, alpha)
    step = BoundStep(cp.Step(cp.Transport(), 0))
    slow = fast = 0.0
    made = 0
    for index in range(-1, 40):  # Python is timed on the first few only
        random = stream(2, max(index, 0))
        pair = start_pair(target, step, check_start(target, "sequential"), lag, random)
        x, y = naive.Labels(pair.x.labels.tolist()), naive.Labels(pair.y.labels.tolist())
        begin = time.perf_counter()
        for _ in range(5 if index < 4 else 0):
            naive.transport_sweep(twin, x, y, naive.Xoshiro(random))
        python = time.perf_counter() - begin
        call = seconds_of(lambda p=pair, r=random: advance_pair(target, step, p, r, 0))
        begin = time.perf_counter()
        pair, sweeps = advance_pair(target, step, pair, random, 100)
        if 0 <= index < 4:
            slow += python / 5 / 4
        if index >= 0:
            fast += time.perf_counter() - begin - call
            made += sweeps
    detail = f"{slow * 1e3:.1f} milliseconds / {fast / made * 1e6:.0f} microseconds"
    section = "One transport-coupled sweep against plain Python with ot.emd"
    report.add(section, name, f"{slow / (fast / made):,.0f}x faster ({detail})", ">= 1,500x")


def measure(report: Report) -> None:
    """Measure all sweeps."""
    have_cells = cases.cells_available()
    rna_seq = cases.rna_seq() if have_cells else None
    if not plain_c.has_compiler():
        report.add("One single sweep against plain C", "all", "not measured: no C compiler")
    else:
        if rna_seq is not None:
            single_against_c(report, "RNA-seq (N = 200, D = 50)", rna_seq)
            sample_against_c(report, "RNA-seq (N = 200, D = 50)", rna_seq)
        single_against_c(report, "Figure 1A (N = 150, D = 2)", cases.figure1a(1))
        sample_against_c(report, "Figure 1A (N = 150, D = 2)", cases.figure1a(1))
        single_against_c(report, "the same with D = 10", cases.figure1a(1, 10))
        settings = {"init": None, "pairs": 100, "cap": 10_000}
        if rna_seq is not None:
            coupled_against_c(report, "RNA-seq, lag 50", lambda index: rna_seq, "<= 2.0x", lag=50, **settings)
        coupled_against_c(report, "Figure 1A, lag 250", cases.figure1a, "<= 2.5x", lag=250, **settings)
        for spread, goal in ((10.0, "<= 4x"), (4.0, "")):
            times = []
            for n_clusters in (20, 50, 100):
                target, kinds = cases.many_clusters(n_clusters, spread)
                name = f"{n_clusters} clusters in the plane, {spread:.0f} noise sd apart"
                seconds = coupled_against_c(
                    report, name, lambda index, t=target: t, goal, init=kinds, lag=20, pairs=4, cap=40
                )
                times.append(seconds / target.n_points)
            growth = np.polyfit(np.log([20, 50, 100]), np.log(times), 1)[0]
            section = "One transport-coupled sweep against two plain C single sweeps"
            report.add(section, f"growth with K, {spread:.0f} noise sd apart", f"K^{growth:.2f}", "<= K^2")
    if rna_seq is not None:
        coupled_against_python(report, "RNA-seq", rna_seq, (1.3, 0.5, 1.0), lag=250)
    coupled_against_python(report, "Figure 1A", cases.figure1a(1), (2.0, 2.5, 0.2), lag=250)
    coupled_coloring(report, 25, 4.8)
    coupled_coloring(report, 1000, 8.0)
