"""Speed of whole runs: replicates against bare kernels, threads, Dask, the store."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import cases
import copartition as cp
from copartition.chains.chain import advance_chain
from copartition.chains.start import advance_pair, check_start, start_pair
from copartition.chains.step import BoundStep
from copartition.core.random import stream
from copartition.results import Outcomes
from copartition.results.store import Store
from report import Report

SECTION = "Runs"
SETTINGS = {"burn_in": 100, "min_sweeps": 500, "lag": 100, "coupling": "transport", "seed": 1}
STEP = BoundStep(cp.Step(cp.Transport(), 0))


def target() -> cp.Mixture:
    return cases.rna_seq() if cases.cells_available() else cases.figure1a(1, 10)


def bare_seconds(posterior: cp.Mixture, count: int) -> float:
    """Seconds of the same sweeps by the kernels of single chains and pairs, no functional, no estimator."""
    start = check_start(posterior, None)
    begin = time.thread_time()
    for index in range(count):
        random = stream(1, index)
        pair = start_pair(posterior, STEP, start, 100, random)
        pair, made = advance_pair(posterior, STEP, pair, random, 1 << 40)
        advance_chain(posterior, STEP, pair.x, random, max(0, 400 - made))
    return time.thread_time() - begin


def replicates_against_kernels(report: Report, posterior: cp.Mixture) -> None:
    ratios = []
    for _ in range(5):
        with ThreadPoolExecutor(1) as one:
            e = cp.estimate(posterior, cp.largest_clusters(10), replicates=100, executor=one, **SETTINGS)
        ratios.append(e.seconds.sum() / bare_seconds(posterior, 100))
    detail = f"{e.seconds.mean() * 1e3:.1f} milliseconds a replicate"
    report.add(SECTION, "a replicate against the bare kernels", f"{np.median(ratios):.2f}x ({detail})", "<= 1.1x")


def threads(report: Report, posterior: cp.Mixture) -> float:
    """Compare two threads with one, by wall clock, taking turns."""
    ratios = []
    for _ in range(3):
        seconds = []
        for count in (1, 2):
            with ThreadPoolExecutor(count) as pool:
                begin = time.perf_counter()
                cp.estimate(posterior, cp.largest_clusters(10), replicates=300, executor=pool, **SETTINGS)
                seconds.append(time.perf_counter() - begin)
        ratios.append(seconds[0] / seconds[1])
    report.add(SECTION, f"2 threads against 1 ({os.cpu_count()} cores)", f"{np.median(ratios):.2f}x", ">= 1.9x")
    return seconds[1] / 300


def dask(report: Report, posterior: cp.Mixture) -> None:
    """Compare two single-thread Dask workers with two threads, 2,000 replicates."""
    try:
        from distributed import Client
    except ImportError:
        report.add(SECTION, "Dask", "not measured: distributed is not installed")
        return
    folder = Path(tempfile.mkdtemp(prefix="copartition-dask-"))
    program, file = Path(sys.executable).parent / "dask", folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    local = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [subprocess.Popen([program, "scheduler", *local, "--scheduler-file", file], **quiet)]
    while not file.exists():
        time.sleep(0.1)
    single = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    processes += [subprocess.Popen([program, "worker", "--scheduler-file", file, *single], **quiet) for _ in range(2)]
    client = Client(scheduler_file=str(file))
    client.wait_for_workers(2)
    seconds = []
    cp.estimate(posterior, cp.largest_clusters(10), replicates=10, executor=client, **SETTINGS)
    with ThreadPoolExecutor(2) as pool:
        for executor in (client, pool):
            begin = time.perf_counter()
            cp.estimate(posterior, cp.largest_clusters(10), replicates=2000, executor=executor, **SETTINGS)
            seconds.append(time.perf_counter() - begin)
    client.close()
    for process in processes:
        process.terminate()
    report.add(SECTION, "Dask, 2 workers, against 2 threads", f"{seconds[1] / seconds[0]:.2f}x the speed", ">= 0.9x")


def store(report: Report) -> None:
    """Append a million replicates of a 10-vector, then load and summarise them."""
    count, batch = 1_000_000, 20_000
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        settings = {"burn_in": 0, "min_sweeps": 0, "lag": 1, "max_sweeps": 1}
        components = [f"h[{i}]" for i in range(10)]
        about = {"components": components, "functionals": [{"name": "h", "size": 10}]}
        file = Store(path, about | {"settings": settings, "step": {}})
        begin = time.perf_counter()
        for first in range(0, count, batch):
            numbers = np.arange(first, first + batch)
            ones = np.ones(batch, dtype=np.int64)
            file.append(Outcomes(numbers, rng.random((batch, 10)), ones, ones == 1, ones, rng.random(batch)))
        rate = count / (time.perf_counter() - begin)
        file.close()
        size = path.stat().st_size / 1e6
        # In a process of its own, as a person would: the objects of this one slow Python's garbage collector down.
        code = (
            "import sys, time, copartition as cp\n"
            "begin = time.perf_counter()\n"
            "cp.Estimate.load(sys.argv[1]).summary()\n"
            "print(time.perf_counter() - begin)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
        seconds = float(done.stdout)
    report.add(SECTION, "store of 1,000,000 replicates: append", f"{rate:,.0f} rows a second", ">= 50,000")
    report.add(SECTION, "the same: size of the file", f"{size:.0f} MB", "< 200 MB")
    report.add(SECTION, "the same: load and summarise", f"{seconds:.1f} s", "< 3 s")


def memory(report: Report) -> None:
    """Measure the peak of a process that makes a million replicates of a 10-vector."""
    code = (
        "import copartition as cp, resource\n"
        "t = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))\n"
        "e = cp.estimate(t, cp.largest_clusters(10), replicates=1_000_000, burn_in=0, min_sweeps=2, lag=1)\n"
        "e.summary()\n"
        "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    report.add(SECTION, "peak memory of 1,000,000 replicates", f"{int(done.stdout) / 1e6:.2f} GB", "< 1.5 GB")


def functional(report: Report, posterior: cp.Mixture) -> None:
    """Measure what evaluating ``largest_clusters(10)`` after every sweep adds to a sweep."""
    plain, with_h = [], []
    for _ in range(7):
        random = stream(1, 0)
        pair = start_pair(posterior, STEP, check_start(posterior, None), 300, random)
        begin = time.thread_time()
        advance_chain(posterior, STEP, pair.x, random, 2000)
        plain.append(time.thread_time() - begin)
        with ThreadPoolExecutor(1) as one:
            s = cp.sample(
                posterior, cp.largest_clusters(10), sweeps=2000, burn_in=0, chains=1, split_merge=0, executor=one
            )
        with_h.append(s.seconds[0])
    added = 100 * (np.median(with_h) / np.median(plain) - 1)
    report.add(SECTION, "largest_clusters(10) adds to a sweep", f"{added:.0f} %", "< 10 %")


def measure(report: Report) -> None:
    """Measure runs."""
    posterior = target()
    cp.estimate(posterior, cp.largest_clusters(10), replicates=4, **SETTINGS)
    functional(report, posterior)
    replicates_against_kernels(report, posterior)
    threads(report, posterior)
    dask(report, posterior)
    store(report)
    memory(report)
