"""The present version against an earlier one: the same work by both, taking turns, through the public names.

``python benchmarks/run.py versions`` compares with the last revision before the kernels moved to ``core/``, or with the
one that the environment variable ``BASE`` names. Each version runs in a process of its own; a round is one piece of
work by either.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from report import Report

ROOT = Path(__file__).resolve().parents[1]
BASE = os.environ.get("BASE", "fccb941")
ROUNDS = 25

WORKER = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import cases
import copartition as cp

TARGETS = {"RNA-seq": cases.rna_seq, "Figure 1A": lambda: cases.figure1a(1), "1,000 points": cases.overlapping,
           "colouring": lambda: cases.random_graph(200, 6.0)}
here = ThreadPoolExecutor(1)

def work(name, what, count):
    target = TARGETS[name]() if name not in made else made[name]
    made[name] = target
    before = time.process_time()
    coupling, _, moves = what.partition("+")
    if coupling == "single":
        cp.sample(target, cp.n_clusters(), sweeps=count, burn_in=0, chains=1, split_merge=int(moves or 0),
                  executor=here)
        return time.process_time() - before
    cp.estimate(target, cp.n_clusters(), replicates=count, burn_in=0, min_sweeps=0, lag=20, coupling=coupling,
                split_merge=int(moves or 0), max_sweeps=420, seed=1, executor=here)
    return time.process_time() - before

made = {}
for line in sys.stdin:
    print(json.dumps(work(*json.loads(line))), flush=True)
"""

WORK = [
    ("RNA-seq", "single", 4000),
    ("Figure 1A", "single", 10_000),
    ("1,000 points", "single", 800),
    ("colouring", "single", 8000),
    ("Figure 1A", "single+4", 5000),
    ("RNA-seq", "transport", 20),
    ("Figure 1A", "transport", 60),
    ("1,000 points", "transport", 1),
    ("colouring", "transport", 20),
    ("RNA-seq", "matched", 20),
    ("RNA-seq", "path+7", 60),
    ("Figure 1A", "path+4", 120),
    ("1,000 points", "path+10", 2),
]


def worker(source: Path, cache: str) -> subprocess.Popen[str]:
    """Start a process that does what it is told with the package at `source`."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(source), str(ROOT / "benchmarks")]),
        "NUMBA_CACHE_DIR": cache,
    }
    return subprocess.Popen(
        [sys.executable, "-c", WORKER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def told(process: subprocess.Popen[str], work: tuple[Any, ...]) -> float:
    """Let a process do a piece of work; return its CPU seconds."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(work) + "\n")
    process.stdin.flush()
    return float(json.loads(process.stdout.readline()))


def measure(report: Report) -> None:
    """Compare this version with the one at `BASE`."""
    section = f"This version against {BASE}, CPU time for the same work (start and lag included)"
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BASE, "src"], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode != 0:
            report.add(section, "all", f"not measured: there is no revision {BASE} here")
            return
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        before = worker(Path(folder) / "src", str(Path(folder) / "cache"))
        after = worker(ROOT / "src", os.environ.get("NUMBA_CACHE_DIR", str(Path(folder) / "cache")))
        try:
            for work in WORK:
                for process in (before, after):  # compiles, and warms up
                    told(process, work)
                seconds = np.array([[told(before, work), told(after, work)] for _ in range(ROUNDS)])
                ratios = seconds[:, 1] / seconds[:, 0]
                low, ratio, high = np.quantile(ratios, [0.25, 0.5, 0.75])
                detail = f"{low:.2f} to {high:.2f} in half of {ROUNDS} rounds"
                report.add(section, f"{work[0]}, {work[1]}", f"{ratio:.2f}x ({detail})", "<= 1.03x")
        finally:
            for process in (before, after):
                process.kill()
                process.wait()
