"""Settings shared by all tests."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path

import hypothesis
import numba
import numpy as np
import pytest

JIT_DISABLED = bool(numba.config.DISABLE_JIT)

# Derandomised, so that a test that passes here passes everywhere; a search for new cases is a person's decision.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("fixed")

# Files whose tests share something that takes long to make: a cluster, runs of every kind, the whole of the paper.
TOGETHER = {"test_anndata.py", "test_bits.py", "test_paper.py", "test_workers.py"}

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "zeisel_200x50.csv"


def hear_interrupts():
    """Let a process that is started here hear Ctrl-C, also where the tests run in the background and do not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def pytest_configure(config):
    if JIT_DISABLED:
        # Compiled 64-bit arithmetic wraps silently, which is what the generator of random numbers relies on.
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered in scalar:RuntimeWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep these files in one process each, and let every other test go where there is room.

    That is what marks of groups are for, but with pytest 9.2 and pytest-xdist 3.8 those are not heard of.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFileOrTest(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return file if file.rpartition("/")[2] in TOGETHER else nodeid

    return ByFileOrTest(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_runtest_setup(item):
    if os.name == "nt" and item.get_closest_marker("posix"):
        pytest.skip("needs signals, permissions or terminals as Unix has them")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Where tests are compiled, let coverage rest during those that it sees as plain Python: watching takes long."""
    coverage = sys.modules.get("coverage")
    watching = coverage.Coverage.current() if coverage and item.get_closest_marker("plain") else None
    if watching is None or JIT_DISABLED:
        return (yield)
    watching.stop()
    try:
        return (yield)
    finally:
        watching.start()


@pytest.fixture(scope="session")
def rna_seq():
    """The RNA-seq data of the paper, 200 cells x 50 genes."""
    if not DATA.exists():
        pytest.skip(f"needs the RNA-seq data at {DATA.parent.name}/{DATA.name} in the folder beside the project's")
    with DATA.open() as file:
        rows = [line.strip().replace('"', "").split(",")[1:] for line in file.readlines()[1:]]
    return np.array(rows, dtype=float)


@pytest.fixture
def rng():
    return np.random.default_rng(20201)


def once_each(first, second):
    """All cases of two lists, of which `make test` takes some: one list is gone through, and the other takes turns."""
    longest = max(len(first), len(second))
    taken = {(first[turn % len(first)], second[turn % len(second)]) for turn in range(longest)}
    return [
        pytest.param(*case, marks=() if case in taken else pytest.mark.long)
        for case in itertools.product(first, second)
    ]
