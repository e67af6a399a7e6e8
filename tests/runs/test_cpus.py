"""How many processors there are: those that the process may run on, and no more than its container pays for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from copartition.runs import workers


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine of eight processors without a quota."""
    monkeypatch.setattr(workers, "CGROUP", tmp_path)
    monkeypatch.setattr(workers, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    return tmp_path


def test_affinity_counts_and_not_the_size_of_the_machine(machine):
    assert workers.cpu_count() == 8


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("max 100000\n", 8),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),  # one and a half: the half is used as well
        ("100001 100000\n", 2),
        ("20000 100000\n", 1),
        ("1600000 100000\n", 8),
        ("50000 10000\n", 5),
        ("", 8),
        ("much\n", 8),
        ("200000 0\n", 8),
    ],
)
def test_quota_of_control_groups_version_2(machine, quota, expected):
    (machine / "cpu.max").write_text(quota)
    assert workers.cpu_count() == expected


@pytest.mark.parametrize(
    ("quota", "period", "expected"),
    [("-1", "100000", 8), ("300000", "100000", 3), ("50000", "100000", 1), ("900000", "100000", 8), ("200000", "", 8)],
)
def test_quota_of_control_groups_version_1(machine, quota, period, expected):
    (machine / "cpu").mkdir()
    (machine / "cpu" / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (machine / "cpu" / "cpu.cfs_period_us").write_text(f"{period}\n")
    assert workers.cpu_count() == expected


def test_the_smaller_of_affinity_and_quota(machine, monkeypatch):
    (machine / "cpu.max").write_text("300000 100000")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5}, raising=False)
    assert workers.cpu_count() == 1


def test_systems_without_affinity(machine, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert workers.cpu_count() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert workers.cpu_count() == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_a_real_process_that_may_run_on_one_processor_only():
    code = (
        "import os\n"
        "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
        "from copartition.runs.workers import cpu_count\n"
        "print(cpu_count())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_the_smallest_quota_of_the_groups_that_a_process_belongs_to(machine):
    (machine / "membership").write_text("1:name=systemd:/other\n0::/job/step\n")
    (machine / "job" / "step").mkdir(parents=True)
    (machine / "job" / "step" / "cpu.max").write_text("max 100000")
    assert workers.cpu_count() == 8
    (machine / "job" / "cpu.max").write_text("300000 100000")
    assert workers.cpu_count() == 3
    (machine / "job" / "step" / "cpu.max").write_text("200000 100000")
    assert workers.cpu_count() == 2
