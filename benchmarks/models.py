"""Speed of models with unknown parameters: sweeps against plain C, and coupled against single ones."""

from __future__ import annotations

import time

import numpy as np

import copartition as cp
import fused
import plain_models
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.start import advance_pair, couple
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.core.steps import count_pair
from copartition.partition import canonical
from copartition.targets.base import Target
from plain_c import has_compiler
from report import Report

REPEATS = 9


def our_seconds(target: Target, labels: np.ndarray, sweeps: int) -> tuple[float, int]:
    """Seconds of sweeps from these labels, and the number of clusters at the end."""
    chain, random, stepper = chain_at(target, canonical(labels)), stream(1, 0), BoundStep().stepper(target)
    begin = time.perf_counter()
    chain = advance_chain(target, stepper, chain, random, sweeps)
    return time.perf_counter() - begin, int(chain.n_clusters[0])


def wishart(points: np.ndarray) -> cp.Mixture:
    """The model of `plain_wishart.c`: points in coordinates where prior mean and scale are 0 and the identity."""
    width = points.shape[1]
    component = cp.NormalInverseWishart(0.0, 1.0, width + 2.0, np.eye(width))
    return cp.Mixture(points, component, cp.DirichletProcess(1.0))


def wishart_against_c(report: Report, name: str, goal: str) -> None:
    """Against the fastest of the layouts of W that the C program knows, and against rows, one cluster at a time."""
    points, labels, sweeps = plain_models.wishart_case(name)
    target, width = wishart(points), points.shape[1]
    layouts = [0, 1] if width <= 16 else [1]
    ours: list[float] = []
    theirs: dict[int, list[float]] = {layout: [] for layout in layouts}
    for _ in range(REPEATS):
        seconds, _ = our_seconds(target, labels, sweeps)
        ours.append(seconds)
        for layout in layouts:
            given = {"kappa": 1.0, "nu": width + 2.0, "alpha": 1.0, "layout": layout}
            theirs[layout].append(plain_models.run_wishart(points, labels, stream(1, 0), sweeps, **given)[0])
    section = "One sweep with unknown covariances against plain C"
    for layout, words in ((0, "eight clusters side by side"), (1, "clusters one by one")):
        if layout in theirs:
            ratio = np.median(np.array(ours) / np.array(theirs[layout]))
            both = [1e6 * np.median(one) / sweeps for one in (ours, theirs[layout])]
            report.add(section, f"{name}, {words}", f"{ratio:.2f}x ({both[0]:.0f} / {both[1]:.0f} microseconds)", goal)


def columns(shape: tuple[int, int, int, int]) -> tuple[cp.Mixture, plain_models.Columns, np.ndarray]:
    """So many columns of yes and no, of categories, counts and numbers, 1,000 points of 8 kinds."""
    data, labels = plain_models.columns_case(shape, 1000, 8)
    table = np.hstack([data.bernoulli, data.categorical, data.poisson, data.normal]).astype(float)
    components = [cp.Bernoulli(), cp.Categorical(), cp.Poisson(), cp.NormalInverseGamma(0.0, 1.0, 2.0, 1.0)]
    ends = np.cumsum((0, *shape))
    parts = [(list(range(ends[i], ends[i + 1])), one) for i, one in enumerate(components) if shape[i]]
    return cp.Mixture(table, cp.Columns(parts), cp.DirichletProcess(1.0)), data, labels


def columns_against_c(report: Report, name: str, shape: tuple[int, int, int, int], goal: str) -> None:
    """Nanoseconds a column and candidate, and against one loop that knows all columns when it is compiled."""
    target, data, labels = columns(shape)
    ours, theirs, count = [], [], 0
    for _ in range(REPEATS):
        seconds, count = our_seconds(target, labels, 100)
        ours.append(seconds)
        theirs.append(plain_models.run_columns(data, labels, stream(1, 0), 100, alpha=1.0)[0])
    each = np.median(ours) / 100 / len(labels) / sum(shape) / (count + 1) * 1e9
    ratio = np.median(np.array(ours) / np.array(theirs))
    report.add("Columns of many kinds, 1,000 points", name, f"{each:.2f} ns a column and candidate", goal)
    report.add("Columns of many kinds, 1,000 points", f"{name}, against plain C", f"{ratio:.2f}x", "")


def columns_against_fused(report: Report) -> None:
    """Against one compiled function that knows which columns are where, on the same arrays."""
    target, _, labels = columns((fused.YES_NO, fused.CATEGORIES, fused.COUNTS, fused.NUMBERS))
    other = fused.with_fused(target)
    times = np.array([[our_seconds(one, labels, 100)[0] for one in (target, other)] for _ in range(2 * REPEATS)])
    ratio = np.median(times[:, 0] / times[:, 1])
    detail = " / ".join(f"{1e6 * seconds / 100:.0f}" for seconds in np.median(times, axis=0))
    section = "Columns of many kinds, 1,000 points"
    report.add(section, "25 columns of four kinds, against one fused loop", f"{ratio:.2f}x ({detail})", "<= 1.15x")


def coupled_when_close(report: Report, name: str) -> None:
    """Pairs that differ in one point, over and over, against two single chains."""
    points, labels, _ = plain_models.wishart_case(name)
    target, step = wishart(points), BoundStep(cp.Step(cp.couplings.Path(), 0))
    x = canonical(labels)
    coupled = alone = 0.0
    sweeps = 0
    for index in range(-1, 60):
        y = x.copy()
        y[index % len(y)] = (y[index % len(y)] + 1) % (x.max() + 1)
        pair = couple(target, step.coupling, chain_at(target, x), chain_at(target, canonical(y)))
        count_pair(pair)
        random, chain, made = stream(3, max(index, 0)), chain_at(target, x), 0
        times = []
        for steps in (0, 20):  # a call that makes no step is what handing over the arrays takes
            begin = time.perf_counter()
            pair, made = advance_pair(target, step, pair, random, steps)
            middle = time.perf_counter()
            advance_chain(target, BoundStep(), chain, random, made)
            times.append((middle - begin, time.perf_counter() - middle))
        if index >= 0:
            coupled += times[1][0] - times[0][0]
            alone += times[1][1] - times[0][1]
            sweeps += made
    detail = f"{coupled / sweeps * 1e6:.0f} / 2 x {alone / sweeps * 1e6:.0f} microseconds"
    section = "Unknown covariances: one sweep of two chains that are close (path) against two single ones"
    report.add(section, name, f"{coupled / 2 / alone:.2f}x ({detail})", "<= 2.2x")


def measure(report: Report) -> None:
    """Measure models with unknown parameters."""
    if not has_compiler():
        report.add("One sweep with unknown covariances against plain C", "all", "not measured: no C compiler")
        return
    for name, goal in (
        ("272 x 2", "<= 1.3x"),
        ("1000 x 1", "<= 1.3x"),
        ("2000 x 10", "<= 1.3x"),
        ("700 x 50", "<= 2x"),
    ):
        wishart_against_c(report, name, goal)
    columns_against_c(report, "50 normal columns, variances unknown", (0, 0, 0, 50), "<= 4 ns")
    columns_against_c(report, "25 columns of four kinds", (7, 6, 6, 6), "")
    columns_against_fused(report)
    for name in ("272 x 2", "1000 x 1", "2000 x 10"):
        coupled_when_close(report, name)
