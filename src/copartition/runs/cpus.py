"""How many processors there really are."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def cpu_count() -> int:
    """Return how many processors this process may use: by its affinity, and by the quota of its container."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def _quota() -> float | None:
    """Return the processors that the quotas of this process allow (cgroup version 2, then version 1), if any."""
    quotas = [_read(folder / "cpu.max") for folder in groups()]
    quotas.append(_read(CGROUP / "cpu/cpu.cfs_quota_us", CGROUP / "cpu/cpu.cfs_period_us"))
    return min((quota for quota in quotas if quota is not None), default=None)


def groups() -> list[Path]:
    """Return the folders of the group that this process belongs to and of all groups above: each may have a quota."""
    try:
        lines = MEMBERSHIP.read_text().splitlines()
    except OSError:
        lines = []
    own = next((line.split("::", 1)[1].strip("/") for line in lines if line.startswith("0::")), "")
    folder = CGROUP / own
    return [folder, *[above for above in folder.parents if above.is_relative_to(CGROUP)]] if own else [CGROUP]


def _read(*files: Path) -> float | None:
    """Return the quotient of a quota and a period, in one file or in two; None where there is no limit."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()[:2]
        return float(quota) / float(period) if quota != "max" and float(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):
        return None
