"""Batches: they grow while the client is busy, only where there are many workers, and nothing is done twice."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from copartition.runs import pieces
from copartition.runs.pieces import LONGEST_BATCH, MANY, Clock, Schedule
from copartition.runs.workers import Workers


class Watch:
    """A clock that goes on when it is told to."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(pieces, "time", SimpleNamespace(monotonic=lambda: self.now))


def at_once(seconds):
    """Work that is done as soon as it is handed over, and says that a piece takes so long."""

    def submit(indices):
        future = Future()
        result = SimpleNamespace(indices=np.array(indices), seconds=np.full(len(indices), seconds))
        future.set_result((result, None))
        return future

    return submit


def run(monkeypatch, count, work):
    """Run 3,000 pieces on so many workers; taking in a batch takes `work` seconds of a clock of our own."""
    watch, done = Watch(monkeypatch), []

    def keep(results):
        watch.now += work
        done.extend(results.indices.tolist())

    tried = Schedule(range(3000), keep, seconds=0.01)
    tried.run(Workers(count, at_once(0.01)))
    assert sorted(done) == list(range(3000))
    return tried.seconds_a_batch


def test_batches_grow_while_taking_them_in_is_all_there_is_to_do(monkeypatch):
    assert 0.01 < run(monkeypatch, MANY, work=0.4) <= LONGEST_BATCH


def test_batches_stay_as_they_are_with_few_workers_or_an_idle_client(monkeypatch):
    assert run(monkeypatch, MANY - 1, work=0.4) == 0.01
    assert run(monkeypatch, MANY, work=0.0) == 0.01


def test_clock_tells_work_from_rest(monkeypatch):
    watch = Watch(monkeypatch)
    clock = Clock()
    watch.now = 0.5
    clock.rest()
    watch.now = 0.9
    assert clock.busy_share() == 0.0  # a second has not passed
    watch.now = 1.0
    clock.rest()
    watch.now = 2.0
    assert clock.busy_share() == pytest.approx(0.6 / 2.0)
    clock.rest()
    watch.now = 4.0
    assert clock.busy_share() == 0.0
