"""How time and memory grow with the number of points, and how long the first call in a process takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

import cases
from copartition.chains.chain import advance_chain, chain_at
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.partition import canonical
from report import Report

MEMORY_PROGRAM = """
    import sys
    import numpy as np
    sys.path.insert(0, {folder!r})
    import cases
    from copartition.chains.chain import advance_chain, chain_at
    from copartition.chains.step import BoundStep
    from copartition.core.random import stream
    from copartition.partition import canonical
    def peak():  # of this process alone, in bytes; Linux
        lines = open("/proc/self/status").read().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    small, kinds = cases.large(100)
    advance_chain(small, BoundStep(), chain_at(small, canonical(kinds)), stream(0, 0), 1)
    before = peak()
    data = np.random.default_rng(1).normal(size=(1_000_000, 10))
    import copartition as cp
    target = cp.Mixture(data, cp.Gaussian(noise_sd=1.0, mean_sd=3.0), cp.DirichletProcess(1.0))
    labels = np.arange(1_000_000) % 10
    advance_chain(target, BoundStep(), chain_at(target, labels), stream(0, 0), 1)
    print((peak() - before) / data.nbytes)
"""

FIRST_CALL_PROGRAM = """
    import copartition as cp
    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    cp.meeting_times(target, replicates=1)
"""


def seconds_of(program: str, environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env=os.environ | environment)
    return time.perf_counter() - begin


def measure(report: Report) -> None:
    """Measure growth, memory and the first call."""
    section = "Growth with the number of points (D = 10, 10 clusters)"
    times = []
    sizes = (10**3, 10**4, 10**5, 10**6)
    for n_points in sizes:
        target, kinds = cases.large(n_points)
        chain = chain_at(target, canonical(kinds))
        random = stream(1, 1)
        sweeps = max(1, 10**6 // n_points)
        chain = advance_chain(target, BoundStep(), chain, random, 1)
        begin = time.perf_counter()
        advance_chain(target, BoundStep(), chain, random, sweeps)
        times.append((time.perf_counter() - begin) / sweeps / n_points)
        report.add(section, f"N = {n_points:,}", f"{times[-1] * 1e9:.0f} nanoseconds a point and sweep")
    exponent = np.polyfit(np.log(sizes), np.log(np.array(times) * sizes), 1)[0]
    report.add(section, "time of a sweep", f"N^{exponent:.2f}", "linear")
    program = textwrap.dedent(MEMORY_PROGRAM.format(folder=str(Path(__file__).parent)))
    peak = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    report.add(section, "peak memory at N = 1,000,000, data included", f"{float(peak.stdout):.2f}x the data", "< 3x")

    section = "First call of meeting_times in a fresh process, imports included"
    with tempfile.TemporaryDirectory() as folder:
        environment = {"NUMBA_CACHE_DIR": folder}
        report.add(section, "nothing cached", f"{seconds_of(FIRST_CALL_PROGRAM, environment):.1f} s", "< 30 s")
        cached = min(seconds_of(FIRST_CALL_PROGRAM, environment) for _ in range(3))
        report.add(section, "kernels cached", f"{cached:.2f} s", "< 1 s")
