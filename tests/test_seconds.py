"""CPU seconds are those of the chains: what is compiled on the way is not among them."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import every_run
from copartition.core import compiling
from copartition.core.compiling import Kernel

FIRST_RUN = """
    import json, time
    import copartition as cp

    def own(shift):
        @cp.evaluation
        def evaluation(model, chain, law, parameters, out):
            for k in range(chain[0].n_clusters[0]):
                out[0] += chain[0].sizes[k] ** 1.5 + shift

        return cp.Functional(f"own {shift}", evaluation, 1)

    target = cp.Mixture([-1.3, -0.4, 0.2, 1.1, 2.6], cp.Gaussian(noise_sd=0.8, mean_sd=1.7), cp.DirichletProcess(0.9))
    settings = {"replicates": 4, "burn_in": 10, "min_sweeps": 300, "lag": 10, "seed": 1, "executor": 1}
    begin = time.process_time()
    e = cp.estimate(target, [own(UNIQUE + k) for k in range(4)], **settings)
    print(json.dumps({"replicate": e.seconds.mean(), "call": time.process_time() - begin}))
"""


@pytest.mark.compiled
def test_a_first_run_with_functionals_of_ones_own_costs_a_replicate_no_more_than_a_second(tmp_path):
    """Ratios of CPU time: compiling takes far longer than a replicate, which must not take 5 times as long."""
    every_run.estimate(1)  # what the package itself has to compile
    script = tmp_path / "first_run.py"
    script.write_text(textwrap.dedent(FIRST_RUN).replace("UNIQUE", str(time.time())))  # never seen by the cache
    first, second = (
        json.loads(subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout)
        for _ in range(2)
    )
    compiling_time = first["call"] - second["call"]
    assert compiling_time / 4 > 10 * second["replicate"]  # it would show
    assert first["replicate"] < 5 * second["replicate"]


@pytest.fixture
def forgetful(monkeypatch):
    """All kernels are compiled again when they are next used, each for ten seconds by its thread's clock."""
    known = [one for one in gc.get_objects() if type(one) is Kernel and one._compiled is not None]
    code = {one.function: one._compiled for one in known}
    clock, spent, made = time.thread_time, threading.local(), []

    def compile_again(function, signature):
        spent.seconds = getattr(spent, "seconds", 0.0) + 10.0
        made.append(function.__name__)
        return code[function]

    monkeypatch.setattr(time, "thread_time", lambda: clock() + getattr(spent, "seconds", 0.0))
    monkeypatch.setattr(compiling, "_compile", compile_again)
    for one in known:
        one._compiled = None
    yield made
    for one in known:
        one._compiled = code[one.function]


@pytest.fixture
def warm(request):
    """Have everything compiled that a run takes."""
    return every_run.RUNS[request.param](1)


@pytest.mark.compiled
@pytest.mark.parametrize("warm", every_run.RUNS, indirect=True, ids=list(every_run.RUNS))
def test_no_run_counts_what_it_compiles(warm, forgetful, request):
    name = request.node.callspec.id
    again = every_run.RUNS[name](1)
    assert len(forgetful) >= 4
    assert again["seconds"].sum() < warm["seconds"].sum() + 5.0
