"""How much memory there is: that of the machine, and no more than its container allows."""

from __future__ import annotations

import os

import pytest

from copartition.runs import cpus, memory

MEMINFO = (
    "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\nHugePages_Total:   0\n"
)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GB to be had, without a limit."""
    (tmp_path / "meminfo").write_text(MEMINFO)
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(cpus, "CGROUP", tmp_path)
    monkeypatch.setattr(cpus, "MEMBERSHIP", tmp_path / "membership")
    return tmp_path


def limit(folder, most, used, droppable=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    statistics = "anon 500\nfile 70\n" + ("" if droppable is None else f"inactive_file {droppable}\n")
    (folder / "memory.stat").write_text(statistics)


def test_what_the_machine_has_to_give(machine):
    assert memory.available_memory() == 8_000_000 * 1024


@pytest.mark.parametrize(
    ("most", "used", "droppable", "expected"),
    [
        ("max", 5, 0, 8_000_000 * 1024),
        (10**9, 4 * 10**8, 0, 6 * 10**8),
        (10**9, 4 * 10**8, 10**8, 7 * 10**8),
        (10**9, 4 * 10**8, None, 6 * 10**8),
        (10**9, 2 * 10**9, 0, 0),
        (10**14, 5, 0, 8_000_000 * 1024),
        ("much", 5, 0, 8_000_000 * 1024),
    ],
)
def test_what_a_container_leaves(machine, most, used, droppable, expected):
    limit(machine, most, used, droppable)
    assert memory.available_memory() == expected


def test_the_smallest_of_the_groups_that_a_process_belongs_to(machine):
    (machine / "membership").write_text("0::/job/step\n")
    limit(machine / "job", 3000, 1000)
    limit(machine / "job" / "step", 9000, 1000)
    assert memory.available_memory() == 2000
    limit(machine / "job" / "step", 1500, 1000)
    assert memory.available_memory() == 500


@pytest.mark.parametrize("content", [None, "", "MemTotal: 5 kB\n", "no colon here\n", "MemAvailable: many kB\n"])
def test_systems_that_do_not_say_what_is_available(machine, monkeypatch, content):
    (machine / "meminfo").unlink()
    if content is not None:
        (machine / "meminfo").write_text(content)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    assert memory.available_memory() == 4_096_000
    monkeypatch.delattr(os, "sysconf")
    assert memory.available_memory() is None
    limit(machine, 5000, 1000)
    assert memory.available_memory() == 4000


def test_this_machine_has_some():
    assert memory.available_memory() is None or memory.available_memory() > 0
