"""Kernels: compiled when first used, filed under all they depend on, never stale."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numba
import numpy as np
import pytest

import copartition as cp
import small
from copartition import steps
from copartition.compiled import kernel as kernels
from copartition.compiled.kernel import Kernel, cache_folder, fingerprint

FACTOR = 2.0
VALUES = np.arange(2000.0)


def test_kernels_are_pickled_by_name():
    target, _ = small.scalar()
    assert pickle.loads(pickle.dumps(target.log_predictive)) is target.log_predictive
    again = pickle.loads(pickle.dumps(target))
    assert np.array_equal(cp.conditional(again, [0] * 5, 2), cp.conditional(target, [0] * 5, 2))
    assert repr(target.log_predictive) == "<kernel copartition.targets.gaussian.isotropic>"


def test_importing_compiles_nothing():
    code = """
        import gc, copartition
        from copartition.compiled.kernel import Kernel
        kernels = [thing for thing in gc.get_objects() if isinstance(thing, Kernel)]
        assert len(kernels) > 10
        assert not any(kernel._compiled for kernel in kernels), kernels
    """
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)


@pytest.mark.compiled
def test_one_compiled_sweep_serves_every_target_and_coupling():
    for name in small.TARGETS:
        for coupling in small.COUPLINGS.values():
            cp.meeting_times(small.TARGETS[name]()[0], replicates=1, coupling=coupling, max_sweeps=5)
    assert len(steps.run_pair.compiled.signatures) == 1
    assert len(steps.run_chain.compiled.signatures) == 1


@numba.njit
def helper(x):
    return FACTOR * x


def uses_helper(x):
    return helper(x) + VALUES[0]


def test_fingerprint_sees_functions_constants_and_arrays(monkeypatch):
    before = fingerprint(uses_helper)
    assert fingerprint(uses_helper) == before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    after_constant = fingerprint(uses_helper)
    assert after_constant != before
    monkeypatch.undo()
    changed = VALUES.copy()
    changed[1000] += 1.0  # in the part that a printed array leaves out
    monkeypatch.setitem(globals(), "VALUES", changed)
    assert fingerprint(uses_helper) != before
    monkeypatch.undo()

    def other(x):
        return FACTOR * x + 1.0

    monkeypatch.setitem(globals(), "helper", other)
    assert fingerprint(uses_helper) not in (before, after_constant)


def test_fingerprint_sees_closures():
    def make(value):
        def function(x):
            return x + value

        return function

    assert fingerprint(make(1)) != fingerprint(make(2))
    assert fingerprint(make(1)) == fingerprint(make(1))


def test_fingerprint_sees_the_package():
    kernels._package_hash.cache_clear()
    before = fingerprint(uses_helper)
    digest = kernels._package_hash()
    assert before == fingerprint(uses_helper)
    assert digest == kernels._package_hash()
    assert fingerprint(steps.run_chain.function) != fingerprint(steps.run_pair.function)


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    try:
        cache_folder.cache_clear()
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
        assert cache_folder() == tmp_path / "numba" / "copartition"
        cache_folder.cache_clear()
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert cache_folder() == tmp_path / "cache" / "copartition"
        cache_folder.cache_clear()
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        assert cache_folder().is_dir()
        assert tmp_path not in cache_folder().parents
    finally:
        cache_folder.cache_clear()


TARGET_FILE = """
    import numpy as np
    import copartition as cp
    from weights import weight_of_second

    @cp.log_predictive
    def prefer(model, chain, n_choices, n):
        for k in range(n_choices):
            chain[0].weights[k] = np.log(weight_of_second()) if k == 1 else np.log({first})

    target = cp.Target(np.zeros((3, 0)), prefer, cp.DirichletProcess(1.0))
    print(cp.conditional(target, [0, 1, 1], 0)[0])  # with the other two: weight 2 * first, alone: weight_of_second
"""
WEIGHTS_FILE = """
    import numba

    @numba.njit
    def weight_of_second():
        return {second}
"""


@pytest.mark.compiled
def test_an_edited_target_is_never_stale(tmp_path):
    """Edits of the target's own file and of a function in another file both take effect in the next process."""

    def run(first, second):
        (tmp_path / "own_target.py").write_text(textwrap.dedent(TARGET_FILE.format(first=first)))
        (tmp_path / "weights.py").write_text(textwrap.dedent(WEIGHTS_FILE.format(second=second)))
        # A modification time that never changes: nothing may depend on clocks.
        for name in ("own_target.py", "weights.py"):
            os.utime(tmp_path / name, (1_600_000_000, 1_600_000_000))
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "own_target.py"], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    for first, second in ((1.0, 1.0), (1.0, 6.0), (3.0, 6.0), (1.0, 1.0)):
        assert run(first, second) == pytest.approx(2 * first / (2 * first + second))


@pytest.mark.compiled
def test_a_target_typed_in_at_a_prompt_works():
    code = """
        import numpy as np
        import copartition as cp

        @cp.log_predictive
        def flat(model, chain, n_choices, n):
            for k in range(n_choices):
                chain[0].weights[k] = 0.0

        target = cp.Target(np.zeros((3, 0)), flat, cp.DirichletProcess(1.0))
        print(cp.conditional(target, [0, 0, 0], 1).tolist())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert [float(p) for p in done.stdout.strip()[1:-1].split(",")] == pytest.approx([2 / 3, 1 / 3])


@pytest.mark.compiled
def test_compiled_kernels_are_kept_on_disk():
    _ = steps.run_chain.compiled
    folder = cache_folder() / fingerprint(steps.run_chain.function)
    assert list(folder.rglob("*run_chain*.nbi"))


def test_what_is_decorated_is_a_kernel():
    assert isinstance(small.scalar()[0].log_predictive, Kernel)
    assert "prior precision" in small.scalar()[0].log_predictive.__doc__


def test_sources_name_no_machine():
    """No path of a machine, no host of a package registry: the repository speaks of the project alone."""
    root = Path(__file__).resolve().parents[1]
    forbidden = ["/ho" + "me/", "/ro" + "ot/", "pypi" + ".org", "files.python" + "hosted"]
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if path.suffix in {".py", ".md", ".toml", ".txt", ".cff", ".c"} and not parts[0].startswith((".", "out")):
            text = path.read_text()
            assert not any(word in text for word in forbidden), path
