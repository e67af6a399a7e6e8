"""Two runs on one store: one of them is told to wait, nothing is lost, and a process that was killed blocks nobody."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import copartition as cp

RUN = """
import sys
import copartition as cp
posterior = cp.Mixture([-3.0, -2.9, 0.1, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
e = cp.estimate(posterior, cp.n_clusters(), replicates=int(sys.argv[2]), burn_in=50, min_sweeps=4000, lag=20, seed=1,
                store=sys.argv[1], executor=1)
"""
POSTERIOR = cp.Mixture([-3.0, -2.9, 0.1, 3.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))


def started(path, replicates):
    """A process that has begun to write a store."""
    process = subprocess.Popen([sys.executable, "-c", RUN, str(path), str(replicates)], stderr=subprocess.PIPE)
    for _ in range(1200):
        time.sleep(0.05)
        if path.exists() and len(cp.Estimate.load(path).values) > 0:
            return process
        assert process.poll() is None, process.stderr.read().decode()
    raise AssertionError("it did not begin")


def here(path, replicates):
    return cp.estimate(
        POSTERIOR, cp.n_clusters(), replicates=replicates, burn_in=50, min_sweeps=4000, lag=20, seed=1, store=path
    )


def test_a_second_run_on_a_store_is_told_to_wait_and_the_first_loses_nothing(tmp_path):
    path = tmp_path / "run.db"
    process = started(path, 200_000)
    try:
        with pytest.raises(cp.errors.StoreError, match="is being written by another run; wait until that has ended"):
            here(path, 5)  # few, so that a lock that is not there is found out soon
        assert process.poll() is None
        before = len(cp.Estimate.load(path).values)  # reading is always possible
        process.kill()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    count = len(cp.Estimate.load(path).values)
    assert count >= before
    e = here(path, count + 50)  # who was killed blocks nobody
    assert len(e.values) == count + 50
    assert np.array_equal(e.values, here(tmp_path / "other.db", count + 50).values)
    assert not (tmp_path / "run.db-lock").exists()


def test_replicates_that_are_there_already_are_not_written_twice(tmp_path):
    from copartition.results.store import Store

    short = {"burn_in": 1, "min_sweeps": 2, "lag": 1, "seed": 1}
    e = cp.estimate(POSTERIOR, cp.n_clusters(), replicates=5, store=tmp_path / "run.db", **short)
    store = Store(tmp_path / "run.db", e.made_by)
    store.append(store.read())
    assert store.read().indices.tolist() == [0, 1, 2, 3, 4]
    store.close()
    with pytest.raises(cp.errors.StoreError, match="is closed"):
        store.read()


def test_a_store_that_is_refused_is_closed(tmp_path):
    short = {"burn_in": 1, "min_sweeps": 2, "lag": 1, "replicates": 5}
    cp.estimate(POSTERIOR, cp.n_clusters(), store=tmp_path / "run.db", **short)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        for _ in range(3):
            with pytest.raises(cp.errors.StoreError, match="seed is 0 there and 7 here"):
                cp.estimate(POSTERIOR, cp.n_clusters(), store=tmp_path / "run.db", seed=7, **short)
    assert {file.name for file in tmp_path.iterdir()} <= {"run.db", "run.db-wal", "run.db-shm"}
    assert len(cp.estimate(POSTERIOR, cp.n_clusters(), store=tmp_path / "run.db", **short).values) == 5


def test_a_lock_is_let_go_of_where_open_files_cannot_be_removed(tmp_path, monkeypatch):
    """As on Windows: the first try, while the file is open, is refused."""
    from copartition.results.store import _Lock

    lock = _Lock(tmp_path / "run.db")
    refused, unlink = [], Path.unlink

    def unlink_later(path, missing_ok=False):
        if not refused:
            refused.append(path)
            raise PermissionError(f"{path} is open")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_later)
    lock.release()
    assert [path.name for path in refused] == ["run.db-lock"]
    assert not list(tmp_path.iterdir())
    _Lock(tmp_path / "run.db").release()  # nobody holds it
