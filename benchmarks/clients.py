"""How many workers one client can feed: batches that cost next to nothing, so that all there is is handing them out."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import copartition as cp
from copartition.runs import pieces
from report import Report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from dask_clusters import dask_cluster

WORKERS = 16
BATCHES = 1_000
POSTERIOR = cp.Mixture([-3.0, -2.9, 0.1, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
CHEAP = {"burn_in": 1, "min_sweeps": 2, "lag": 1, "seed": 1}
SECTION = f"One client and many workers (Dask, {WORKERS} single-threaded workers on this machine)"

MEMORY_PROGRAM = """
    import json
    import copartition as cp
    def peak():
        lines = open("/proc/self/status").read().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024
    posterior = cp.Mixture([-3.0, -2.9, 0.1, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    cheap = dict(burn_in=1, min_sweeps=2, lag=1, seed=1)
    wanted = {functional}
    seen = []
    def look(done, total, mean, stderr):
        if done >= (len(seen) + 1) * total // 10:
            seen.append(peak())
    cp.estimate(posterior, wanted, replicates=1_000_000, progress=look, **cheap)
    print(json.dumps(seen))
"""


def measure(report: Report) -> None:
    """Measure how many batches a second one client can hand out and take in, and what a million replicates take."""
    with tempfile.TemporaryDirectory() as folder, dask_cluster(Path(folder), WORKERS) as (client, _):
        for name, functional in (("kept", cp.n_clusters()), ("streamed", cp.co_clustering(keep_values=False))):
            cp.estimate(POSTERIOR, functional, replicates=100, executor=client, **CHEAP)
            for store in (None, Path(folder) / f"{name}.db"):
                wall, own = _single_replicates(client, functional, store)
                where = "with a store" if store else "no store"
                report.add(
                    SECTION,
                    f"batches of one replicate, {name}, {where}",
                    f"{BATCHES / wall:,.0f} a second; the client's own work {1e6 * own / BATCHES:,.0f} microseconds a "
                    f"batch, {BATCHES / own:,.0f} a second",
                    "2,000 a second, or growing batches",
                )
        busy, seconds = _growing(client)
        report.add(
            SECTION,
            "batches that grow, from 5 milliseconds on",
            f"{seconds:.2g} s a batch in the end, client {100 * busy:.0f} % busy",
            "< 10 % busy",
        )
    for name, functional in (("kept", "cp.n_clusters()"), ("streamed", "cp.co_clustering(keep_values=False)")):
        program = textwrap.dedent(MEMORY_PROGRAM.format(functional=functional))
        ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        seen = json.loads(ran.stdout)
        grown = seen[-1] - seen[0]
        report.add(
            SECTION, f"memory over a million replicates, {name}", f"{grown:.0f} MB more than over 100,000", "flat"
        )


def _single_replicates(client, functional, store):
    """Run batches of one replicate each; return the seconds, and those that this process worked."""
    usual, pieces.LARGEST_BATCH = pieces.LARGEST_BATCH, 1
    try:
        begin, own = time.perf_counter(), time.process_time()
        cp.estimate(POSTERIOR, functional, replicates=BATCHES, executor=client, store=store, **CHEAP)
        return time.perf_counter() - begin, time.process_time() - own
    finally:
        pieces.LARGEST_BATCH = usual


def _growing(client):
    """Run with batches that begin much too short; return how busy the client was at last, and how long batches were."""
    found = {}

    class Watched(pieces.Schedule):
        def run(self, workers):
            super().run(workers)
            found["seconds"] = self.seconds_a_batch

    class WatchedClock(pieces.Clock):
        def busy_share(self):
            share = super().busy_share()
            if share > 0:
                found["busy"] = share
            return share

    from copartition.runs import estimating

    usual = estimating.Schedule, pieces.Clock, estimating.seconds_a_batch
    estimating.Schedule, pieces.Clock, estimating.seconds_a_batch = Watched, WatchedClock, lambda job: 0.005
    try:
        cp.estimate(
            POSTERIOR, cp.n_clusters(), replicates=20_000, executor=client, burn_in=100, min_sweeps=4_000, seed=1
        )
    finally:
        estimating.Schedule, pieces.Clock, estimating.seconds_a_batch = usual
    return found["busy"], found["seconds"]
