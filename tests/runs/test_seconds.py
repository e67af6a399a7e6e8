"""CPU seconds are those of the chains: what is compiled on the way is not among them."""

from __future__ import annotations

import gc
import threading
import time

import pytest

import copartition as cp
import every_run
from copartition.core import compiling
from copartition.core.compiling import Kernel


@cp.kernels.evaluation
def own_evaluation(model, chain, hooks, parameters, out):
    """Something that nobody else has compiled."""
    for k in range(chain[0].n_clusters[0]):
        out[0] += chain[0].sizes[k] ** 1.5


def with_a_functional_of_ones_own(executor):
    own = cp.kernels.Functional("own", own_evaluation, 1)
    e = cp.estimate(every_run.target(), own, replicates=40, executor=executor, **every_run.SETTINGS)
    return {"seconds": e.seconds}


RUNS = every_run.RUNS | {"own": with_a_functional_of_ones_own}


@pytest.fixture
def forgetful(monkeypatch):
    """All kernels are compiled again when they are next used, each for ten seconds by its thread's clock."""
    known = [one for one in gc.get_objects() if type(one) is Kernel and one._address]
    code = {one.function: one._address for one in known}
    clock, spent, made = time.thread_time, threading.local(), []

    def compile_again(one, place, of):
        spent.seconds = getattr(spent, "seconds", 0.0) + 10.0
        made.append(one.__name__)
        return code[one.function]

    monkeypatch.setattr(time, "thread_time", lambda: clock() + getattr(spent, "seconds", 0.0))
    monkeypatch.setattr(compiling, "_machine_code", compile_again)
    for one in known:
        one._address = 0
    yield made
    for one in known:
        one._address = code[one.function]


@pytest.fixture
def warm(request):
    """Have everything compiled that a run takes."""
    return RUNS[request.param](1)


@pytest.mark.parametrize("warm", RUNS, indirect=True, ids=list(RUNS))
def test_no_run_counts_what_it_compiles(warm, forgetful, request):
    """One kernel among the seconds would make them ten more; those of the runs are a fraction of one."""
    name = request.node.callspec.id
    again = RUNS[name](1)
    assert len(forgetful) >= 4
    assert ("own_evaluation" in forgetful) == (name == "own")
    assert again["seconds"].sum() < warm["seconds"].sum() + 5.0
