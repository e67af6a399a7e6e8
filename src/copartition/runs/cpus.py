"""How many processors there really are."""

from __future__ import annotations

import math
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def cpu_count() -> int:
    """Return how many processors this process may use: by its affinity, and by the quota of its container."""
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    else:
        count = os.cpu_count() or 1
    quota = _quota()
    return max(1, count if quota is None else min(count, math.ceil(quota)))


def _quota() -> float | None:
    """Return the processors that a container's quota comes to (cgroup version 2, then version 1), if it has one."""
    for quota_file, period_file in (("cpu.max", None), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = (CGROUP / quota_file).read_text().split()
            words += [] if period_file is None else (CGROUP / period_file).read_text().split()
            quota, period = words[0], float(words[1])
            if quota == "max" or float(quota) <= 0:
                return None
            return float(quota) / period
        except (OSError, ValueError, IndexError, ZeroDivisionError):
            continue
    return None
