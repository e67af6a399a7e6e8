"""How much memory there really is."""

from __future__ import annotations

import os
from pathlib import Path

from copartition.runs.cpus import groups

MEMINFO = Path("/proc/meminfo")


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
