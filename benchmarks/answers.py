"""How long answers take, and how much memory, as the number of points grows: co-clustering, consensus, certainty."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

from report import Report

SECTION = "Answers as the number of points grows (12 clusters in 4 dimensions, known noise)"

# A process each, because memory is that of a process at its peak.
PROGRAM = """
    import json, os, sys, tempfile, time
    import numpy as np
    import copartition as cp

    def peak():  # of this process alone, in bytes; Linux
        lines = open("/proc/self/status").read().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

    def posterior_of(count):
        random = np.random.default_rng(0)
        centres, kinds = random.normal(0, 6, (12, 4)), random.integers(0, 12, count)
        data = centres[kinds] + random.normal(size=(count, 4))
        return cp.Mixture(data, cp.Gaussian(noise_sd=1, mean_sd=6), cp.DirichletProcess(1.0))

    count, all_pairs = {count}, {all_pairs}
    settings = dict(burn_in=70, min_sweeps=350, lag=70, seed=1)
    small = cp.estimate(posterior_of(300), [cp.n_clusters(), cp.co_clustering()], replicates=4, **settings)
    cp.consensus(small)
    cp.consensus(posterior_of(300), replicates=4)
    before, posterior, found = peak(), posterior_of(count), dict()
    if all_pairs:
        array = 8 * count * (count - 1) // 2
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            e = cp.estimate(
                posterior, [cp.n_clusters(), cp.co_clustering()], replicates=8, store=folder + "/run.db", **settings
            )
            found["estimate"] = time.perf_counter() - begin
            found["arrays"] = (peak() - before) / array
            found["store"] = os.path.getsize(folder + "/run.db") / (2 * array)
            begin = time.perf_counter()
            cp.consensus(e)
            found["search"] = time.perf_counter() - begin
            cp.write_report(e, folder + "/page.html")
            found["page"] = os.path.getsize(folder + "/page.html") / 1e6
    begin = time.perf_counter()
    cp.consensus(posterior, replicates={replicates}, seed=1)
    found["straight"] = time.perf_counter() - begin
    found["peak"] = peak() / 1e9
    print(json.dumps(found))
"""

GOALS = {1_000: "search within 2 s", 5_000: "search within 20 s", 10_000: "search within 90 s"}


def measure(report: Report) -> None:
    """Measure answers for one hundred to one hundred thousand points."""
    for count in (100, 1_000, 5_000, 10_000, 100_000):
        all_pairs, replicates = count <= 10_000, 100 if count < 100_000 else 10
        program = PROGRAM.format(count=count, all_pairs=all_pairs, replicates=replicates)
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], check=True, capture_output=True, text=True
        )
        found = json.loads(ran.stdout)
        straight = (
            f"consensus(posterior), {replicates} replicates a round: {found['straight']:.3g} s, "
            f"{found['peak']:.2g} GB at the peak"
        )
        if all_pairs:
            what = (
                f"8 replicates of co_clustering(): {found['estimate']:.3g} s, {found['arrays']:.2f} arrays of pairs; "
                f"store {found['store']:.2f}x the moments; consensus(e): {found['search']:.2f} s; page "
                f"{found['page']:.2f} MB; {straight}"
            )
            goal = GOALS.get(count, "") + (", 2.5 arrays, page < 3 MB" if count >= 5_000 else "")
        else:
            what, goal = straight, "within 5 minutes, no array of pairs"
        report.add(SECTION, f"N = {count:,}", what, goal)
