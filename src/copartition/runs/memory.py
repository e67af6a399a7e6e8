"""How much memory there really is, and how much the results of a run take."""

from __future__ import annotations

import os
from pathlib import Path

from copartition.functionals import Functional
from copartition.runs.replicates import Job
from copartition.runs.streaming import MOST_POINTS
from copartition.runs.workers import cpu_count, groups

MEMINFO = Path("/proc/meminfo")
FEW_COMPONENTS = 1000  # components that are not worth counting
BATCH = 8  # replicates that a worker begins with
INSTEAD = (
    "use memberships(partition), co_clustering(pairs=nearest_pairs(data, k)) or co_clustering(indices) with fewer "
    "points, which take no memory for all pairs"
)


def available_memory() -> int | None:
    """Return the bytes that this process may still take: of the machine, and of its container; None if not known."""
    found = [_of_machine(), *[_of_group(folder) for folder in groups()]]
    return min((size for size in found if size is not None), default=None)


def _of_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        return 1024 * int(lines["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        pass
    try:  # where there is no such file: all that is installed
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_group(folder: Path) -> int | None:
    """Return what the limit of a group of processes (cgroup version 2) leaves, without what can be dropped at once."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return max(0, limit - used + int(statistics.get("inactive_file", 0)))


def kept_memory(job: Job, replicates: int) -> int:
    """Return the bytes that kept partitions take: a byte a label, once more while they are put together."""
    return 2 * replicates * job.keeps * job.target.n_points


def memory_needed(job: Job, replicates: int) -> int:
    """Return the bytes that the values of a run take on this machine."""
    a = job.arranged
    # Two arrays of sums, half of one for long replicates; what is evaluated as it is stands in three arrays more.
    streamed = 20 * a.n_streamed + 24 * sum(f.size for f in a.summed)
    averages = 1 if job.settings.cap is None else 2  # with a cap, the ordinary ones too
    if a.n_kept <= FEW_COMPONENTS:
        return streamed + 8 * averages * a.n_kept
    # Every worker has sums, functionals of both chains, and the first few replicates before it gives them away.
    numbers_of_workers = min(cpu_count(), replicates) * (3 + min(BATCH, replicates))
    return streamed + 8 * a.n_kept * max(averages * replicates, numbers_of_workers)


def check_draws(functional: Functional, sweeps: int, chains: int) -> None:
    """Refuse chains whose draws this machine cannot hold."""
    available, needed = available_memory(), 16 * functional.size * sweeps * chains  # together, and one by one
    if available is not None and needed > available:
        raise ValueError(
            f"{functional.name} with its {functional.size:,} components needs {needed / 1e9:,.3g} GB for {sweeps:,} "
            f"sweeps of {chains:,} chains, and this machine has {available / 1e9:,.3g} GB: keep fewer components or "
            "sweeps; estimate keeps only means and standard errors of pairs."
        )


def check_memory(job: Job, replicates: int) -> None:
    """Refuse a run whose results this machine cannot hold."""
    available, needed, kept = available_memory(), memory_needed(job, replicates), kept_memory(job, replicates)
    gathered = job.arranged.gathered
    largest = max(job.functionals, key=lambda f: f.size)
    hint = INSTEAD if largest.name == "co_clustering" else "keep fewer components or replicates"
    if gathered is not None and len(gathered.parameters) > MOST_POINTS:
        raise ValueError(
            f"co_clustering of all pairs takes at most {MOST_POINTS:,} points, got {len(gathered.parameters):,}, whose "
            f"{gathered.size:,} pairs need {needed / 1e9:,.3g} GB: {INSTEAD}."
        )
    if available is not None and needed > available:
        raise ValueError(
            f"{largest.name} with its {largest.size:,} components needs {needed / 1e9:,.3g} GB for {replicates:,} "
            f"replicates, and this machine has {available / 1e9:,.3g} GB: {hint}."
        )
    if available is not None and kept > available:
        raise ValueError(
            f"per_replicate must be at most {available * job.keeps // kept:,} partitions of {job.target.n_points:,} "
            f"points, got {job.keeps:,}, which need {kept / 1e9:,.3g} GB for {replicates:,} replicates, and this "
            f"machine has {available / 1e9:,.3g} GB."
        )
