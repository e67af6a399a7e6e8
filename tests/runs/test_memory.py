"""How much memory there is: that of the machine, and no more than its container allows."""

from __future__ import annotations

import os

import numpy as np
import pytest
from click.testing import CliRunner

import copartition as cp
from copartition.cli import main
from copartition.runs import recording, workers

MEMINFO = (
    "MemTotal:       16000000 kB\nMemFree:          100000 kB\nMemAvailable:    8000000 kB\nHugePages_Total:   0\n"
)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GB to be had, without a limit."""
    (tmp_path / "meminfo").write_text(MEMINFO)
    monkeypatch.setattr(recording, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(workers, "CGROUP", tmp_path)
    monkeypatch.setattr(workers, "MEMBERSHIP", tmp_path / "membership")
    return tmp_path


def limit(folder, most, used, droppable=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    statistics = "anon 500\nfile 70\n" + ("" if droppable is None else f"inactive_file {droppable}\n")
    (folder / "memory.stat").write_text(statistics)


def test_what_the_machine_has_to_give(machine):
    assert recording.available_memory() == 8_000_000 * 1024


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
    assert recording.available_memory() == expected


def test_the_smallest_of_the_groups_that_a_process_belongs_to(machine):
    (machine / "membership").write_text("0::/job/step\n")
    limit(machine / "job", 3000, 1000)
    limit(machine / "job" / "step", 9000, 1000)
    assert recording.available_memory() == 2000
    limit(machine / "job" / "step", 1500, 1000)
    assert recording.available_memory() == 500


@pytest.mark.parametrize("content", [None, "", "MemTotal: 5 kB\n", "no colon here\n", "MemAvailable: many kB\n"])
def test_systems_that_do_not_say_what_is_available(machine, monkeypatch, content):
    (machine / "meminfo").unlink()
    if content is not None:
        (machine / "meminfo").write_text(content)
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__, raising=False)
    assert recording.available_memory() == 4_096_000
    monkeypatch.delattr(os, "sysconf")
    assert recording.available_memory() is None
    limit(machine, 5000, 1000)
    assert recording.available_memory() == 4000


def test_this_machine_has_some():
    assert recording.available_memory() is None or recording.available_memory() > 0


# --- what is checked before names and arrays are made ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: cp.n_clusters(10**9), "most must be at most 1,000,000, got 1,000,000,000, whose values .* 8,000 GB"),
        (lambda: cp.functionals.n_components(10**9), "most must be at most 1,000,000, got 1,000,000,000"),
        (lambda: cp.largest_clusters(10**8), "k must be at most 1,000,000, got 100,000,000, .* take 800 GB: ask for f"),
        (
            lambda: cp.predictive_density(np.broadcast_to(0.5, 10**7)),
            "grid must be at most 1,000,000 points, got 10,000,000, .* 80 GB",
        ),
    ],
)
def test_functionals_of_too_many_components_are_refused_at_once(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("command", ["estimate", "tune"])
@pytest.mark.parametrize(
    "functional",
    ["largest:1000000000", "n_clusters:1000000000", "n_components:1000000000", "density:0:1:1000000000000"],
)
def test_the_command_line_says_so(command, functional):
    told = CliRunner().invoke(main, [command, "--example", "galaxies", "--functional", functional])
    assert told.exit_code == 2
    assert f"--functional {functional}: " in told.stderr
    assert "must be at most 1,000,000, got 1,000,000,000" in told.stderr


def test_draws_that_do_not_fit_into_memory_are_refused(monkeypatch):
    target = cp.Mixture(np.arange(20.0), cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    monkeypatch.setattr(recording, "available_memory", lambda: 1_000_000)
    with pytest.raises(
        ValueError, match=r"co_clustering with its 190 components needs 0\.0122 GB for 1,000 sweeps of 4 ch"
    ):
        cp.sample(target, cp.co_clustering(), sweeps=1000)


def test_what_workers_hold_counts(monkeypatch):
    """Two replicates of many components: each worker holds the functionals of both chains, and sums."""
    target = cp.Mixture(np.arange(20.0), cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    monkeypatch.setattr(recording, "available_memory", lambda: 5_000_000)
    with pytest.raises(
        ValueError, match=r"largest_clusters\(100000\) with its 100,000 components needs 0.00\d+ GB for 2 repl"
    ):
        cp.estimate(target, cp.largest_clusters(100_000), replicates=2, executor=1)
