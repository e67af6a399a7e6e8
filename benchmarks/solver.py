"""Speed of the transport solver, called in a compiled loop, against POT."""

from __future__ import annotations

import time

import numpy as np
import ot
from ot.lp.emd_wrap import emd_c

from copartition.core.compiling import kernel
from copartition.core.room import empty_workspace
from copartition.core.state import Workspace
from copartition.core.types import float2, int64
from copartition.couplings.simplex import load_masses, solve
from report import Report


@kernel(int64(Workspace, float2, float2, float2))
def solve_all(work, supplies, demands, gains):
    """Solve problem after problem from floating point masses and gains; return the number of pivots."""
    m, n = supplies.shape[1], demands.shape[1]
    steps = 0
    for t in range(len(supplies)):
        cells = 0
        for i in range(m):
            for j in range(n):
                gain = int(gains[t, i * n + j])
                if gain > 0:
                    work.cell_row[cells] = i
                    work.cell_column[cells] = j
                    work.cell_gain[cells] = gain
                    cells += 1
        load_masses(work, m, n, supplies[t], demands[t])
        steps += solve(work, m, n, cells)
    return steps


def problems(kind: str, size: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random marginals, with gains that are random numbers or the overlaps of two random partitions."""
    rng = np.random.default_rng(size)
    supplies, demands = rng.dirichlet(np.ones(size), count), rng.dirichlet(np.ones(size), count)
    if kind == "random":
        return supplies, demands, rng.integers(0, 1000, (count, size, size)).astype(float)
    gains = np.zeros((count, size, size))
    for t in range(count):
        x = rng.integers(size, size=10 * size)
        y = np.where(rng.random(10 * size) < 0.4, rng.integers(size, size=10 * size), x)
        np.add.at(gains[t], (x, y), 1.0)
    return supplies, demands, gains


def best_of(repeats: int, run) -> float:
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def measure(report: Report) -> None:
    """Measure problems of 3 to 100 rows and columns."""
    for kind in ("random", "overlap"):
        for size in (3, 5, 10, 20, 50, 100):
            count = 2000 if size <= 20 else 200
            supplies, demands, gains = problems(kind, size, count)
            costs = gains.max() - gains
            work = empty_workspace(size, size, size * size)
            rows = gains.reshape(len(gains), -1)
            steps = solve_all(work, supplies, demands, rows) / count
            ours = best_of(5, lambda w=work, s=supplies, d=demands, g=rows: solve_all(w, s, d, g)) / count
            few = min(count, 300)
            trio = list(zip(supplies[:few], demands[:few], costs[:few], strict=True))
            emd = best_of(3, lambda trio=trio: [ot.emd(a, b, c) for a, b, c in trio]) / few
            inner = best_of(3, lambda trio=trio: [emd_c(a, b, c, 100_000, 1) for a, b, c in trio]) / few
            goal = "50x / 5x" if size <= 10 else "not slower than emd_c"
            report.add(
                f"The solver against POT, {kind} gains",
                f"{size} x {size}",
                f"{emd / ours:.0f}x faster than ot.emd, {inner / ours:.1f}x than emd_c "
                f"({ours * 1e6:.2f} / {emd * 1e6:.0f} / {inner * 1e6:.1f} microseconds, {steps:.1f} pivots)",
                goal,
            )
