"""Kernels give way: Ctrl-C ends a run within a moment, whatever was asked for, and pauses change no number."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import copartition as cp
import small
from conftest import JIT_DISABLED, hear_interrupts
from copartition.chains.chain import advance_chain
from copartition.chains.start import check_start, start_chain
from copartition.chains.step import BoundStep
from copartition.core import joint_updates, proposals, steps, sweeps
from copartition.core.random import stream
from copartition.couplings import Independent
from made_up import assert_same

ENDLESS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import copartition as cp
target = cp.Mixture([-1.3, -0.4, 0.2, 1.1, 2.6], cp.Gaussian(noise_sd=0.8, mean_sd=1.7), cp.DirichletProcess(0.9))
short = dict(burn_in=1, min_sweeps=2, lag=1)
many = 10**9
with ThreadPoolExecutor(1) as pool:
    calls = {
        "moves": lambda: cp.estimate(target, cp.n_clusters(), split_merge=many, executor=1, **short),
        "updates": lambda: cp.estimate(target, cp.n_clusters(), step=cp.Step("path", 0, many), executor=1, **short),
        "start": lambda: cp.estimate(target, cp.n_clusters(), init=cp.Start(sweeps=many), executor=1, **short),
        "moves of a start": lambda: cp.estimate(
            target, cp.n_clusters(), init=cp.Start(sweeps=1, split_merge=many), executor=1, **short
        ),
        "burn-in": lambda: cp.estimate(target, cp.n_clusters(), burn_in=many, min_sweeps=2 * many, lag=1, executor=1),
        "lag": lambda: cp.meeting_times(target, lag=many, max_sweeps=2 * many, executor=1),
        "a pool": lambda: cp.meeting_times(target, split_merge=many, executor=pool),
        "sample": lambda: cp.sample(target, cp.n_clusters(), split_merge=many, executor=1),
        "start of a sample": lambda: cp.sample(target, cp.n_clusters(), init=cp.Start(sweeps=many), executor=1),
        "tune": lambda: cp.tune(target, cp.n_clusters(), split_merge=many, executor=1),
        "modes": lambda: cp.find_modes(target, step=cp.Step("path", many), executor=1),
        "deadline": lambda: cp.estimate_within(
            target, cp.n_clusters(), workers=1, deadline=cp.Sweeps(5), split_merge=many, executor=1, **short
        ),
    }
    for name, call in calls.items():
        print(name, flush=True)
        try:
            call()
            print("ended")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


@pytest.mark.posix
def test_ctrl_c_ends_a_run_whatever_was_asked_for():
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    )
    stuck = threading.Timer(120.0, process.kill)  # a generous limit: an endless kernel hears nothing at all
    stuck.start()
    heard = []
    try:
        for line in process.stdout:
            heard.append(line.strip())
            if heard[-1] != "interrupted":
                time.sleep(0.7)
                process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    finally:
        stuck.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    assert len(heard) == 24, (heard, errors)
    assert heard[1::2] == ["interrupted"] * 12


IN_PROCESSES = """
import copartition as cp
if __name__ == "__main__":
    target = cp.Mixture([-1.3, -0.4, 0.2], cp.Gaussian(noise_sd=0.8, mean_sd=1.7), cp.DirichletProcess(0.9))
    print("begun", flush=True)
    cp.estimate(target, cp.n_clusters(), split_merge=10**9, burn_in=1, min_sweeps=2, lag=1, executor="processes")
"""


@pytest.mark.posix
def test_processes_are_told_to_stop(tmp_path):
    """Also where only the process that asks hears Ctrl-C."""
    script = tmp_path / "run.py"
    script.write_text(IN_PROCESSES)
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=hear_interrupts
    )
    try:
        process.stdout.readline()
        time.sleep(4.0)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert b"KeyboardInterrupt" in errors


@pytest.mark.parametrize("moves", [0, 1])
def test_many_steps_in_one_call_are_those_of_many_calls(moves):
    """With five points a kernel pauses every 13,107 steps."""
    target, step = small.scalar()[0], BoundStep(cp.Step(Independent(), moves))
    labels = []
    for pieces in (1, 40):
        random = stream(3, 1)
        chain = start_chain(target, check_start(target, None), random)
        for _ in range(pieces):
            chain = advance_chain(target, step, chain, random, 40_000 // pieces)
        labels.append((chain.labels.copy(), random.copy()))
    for one, other in zip(*labels, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.plain
@pytest.mark.skipif(not JIT_DISABLED, reason="a compiled kernel has the number of updates between pauses as a constant")
@pytest.mark.parametrize("coupling", ["path", "common"])
def test_pauses_change_no_number(monkeypatch, coupling):
    target = small.scalar()[0]
    step = cp.Step(coupling, 3, cp.JointUpdates(3, least=2, most=3))
    how = {"step": step, "init": cp.Start(sweeps=3, split_merge=2), "burn_in": 1, "min_sweeps": 6, "lag": 2, "seed": 1}
    expected = cp.estimate(target, cp.n_clusters(), replicates=4, executor=1, **how)
    draws = cp.sample(target, cp.n_clusters(), sweeps=20, burn_in=3, chains=1, split_merge=3, seed=1)
    for module in (joint_updates, proposals, steps, sweeps):
        monkeypatch.setattr(module, "UPDATES_A_CALL", 2)
    assert_same(cp.estimate(target, cp.n_clusters(), replicates=4, executor=1, **how), expected)
    again = cp.sample(target, cp.n_clusters(), sweeps=20, burn_in=3, chains=1, split_merge=3, seed=1)
    np.testing.assert_array_equal(again.draws, draws.draws)


def test_what_one_update_may_take_is_bounded():
    """An update of several points is made as a whole: 1e9 ways would neither fit into memory nor be interrupted."""
    with pytest.raises(ValueError, match="tries of JointUpdates must be at most 1,000, got 1000000000"):
        cp.JointUpdates(1, tries=10**9)
