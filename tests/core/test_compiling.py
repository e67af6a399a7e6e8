"""Kernels: compiled when first used, filed under all they depend on, never stale, and particular about arrays."""

from __future__ import annotations

import enum
import importlib
import json
import os
import pickle
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import copartition as cp
import small
from copartition.chains.chain import chain_at
from copartition.core import cache, estimator, steps
from copartition.core.batch import new_progress
from copartition.core.cache import cache_folder, file_for
from copartition.core.compiling import Kernel, Part
from copartition.core.proposals import split_merge_alone
from copartition.core.state import Room, Stepper
from copartition.core.sweeps import sweep_alone, sweep_together
from plausible import room_for

FACTOR = 2.0
VALUES = np.arange(2000.0)


def test_kernels_are_pickled_by_name():
    target, _ = small.scalar()
    assert pickle.loads(pickle.dumps(target.hooks.log_predictive)) is target.hooks.log_predictive
    again = pickle.loads(pickle.dumps(target))
    assert np.array_equal(cp.kernels.conditional(again, [0] * 5, 2), cp.kernels.conditional(target, [0] * 5, 2))
    assert repr(target.hooks.log_predictive) == "<kernel copartition.targets.gaussian.isotropic>"


def test_importing_compiles_nothing_and_needs_no_numba():
    code = """
        import gc, sys, copartition
        from copartition.core.compiling import Kernel
        kernels = [thing for thing in gc.get_objects() if isinstance(thing, Kernel)]
        assert len(kernels) > 10
        assert not any(kernel._address for kernel in kernels), kernels
        assert "numba" not in sys.modules
    """
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)


def test_one_compiled_sweep_serves_every_target_and_coupling():
    kernels = (sweep_alone, sweep_together, estimator.run_batch)
    addresses = set()
    for name in small.TARGETS:
        for coupling in ("transport", "maximal", "common"):
            cp.meeting_times(small.TARGETS[name]()[0], replicates=1, coupling=coupling, lag=1, max_sweeps=5)
            addresses.add(tuple(one.address for one in kernels))
    assert len(addresses) == 1


def not_watched():
    """The variables of this process without those by which coverage finds others: a copy of the package is not it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def run_alone(code, **environment):
    """What a process of its own prints, which may be one of a copy of the package."""
    mine = not_watched() if "PYTHONPATH" in environment else os.environ
    here = mine | {"NUMBA_DISABLE_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=here, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


FIRST_ESTIMATE = """
    import sys
    import numpy as np
    import copartition as cp

    if {count}:
        import copartition.core.parts as parts
        parts.counted = []
    data = np.concatenate([np.random.default_rng(1).normal(m, 1, (20, 2)) for m in (-4, 0, 4)])
    target = cp.Mixture(data, {component})
    e = cp.estimate(target, cp.n_clusters(), replicates=20, burn_in=5, min_sweeps=20, lag=5, seed=1)
    print(repr(e.mean[0]), sum(n for _, n in parts.counted) if {count} else "numba" in sys.modules)
"""


@pytest.mark.parametrize("component", ["cp.Gaussian(noise_sd=1.0, mean_sd=4.0)", "cp.NormalInverseWishart()"])
def test_a_first_estimate_compiles_little_and_a_second_one_nothing(component, tmp_path):
    """LLVM instructions before they are optimised, of all kernels: what compiling costs, the same on every machine."""
    cold = run_alone(FIRST_ESTIMATE.format(component=component, count=True), NUMBA_CACHE_DIR=str(tmp_path))
    mean, instructions = cold.stdout.split()
    assert 10_000 < int(instructions) < 51_000
    assert re.search(r"compiling \d+ of \d+ kernels, once for this version", cold.stderr)
    warm = run_alone(FIRST_ESTIMATE.format(component=component, count=False), NUMBA_CACHE_DIR=str(tmp_path))
    assert warm.stdout.split() == [mean, "False"]  # the same number, and no compiler
    assert "compiling" not in warm.stderr


def test_machine_code_that_was_damaged_is_compiled_again(tmp_path):
    code = FIRST_ESTIMATE.format(component="cp.Gaussian(noise_sd=1.0, mean_sd=4.0)", count=False)
    mean = run_alone(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout.split()[0]
    files = [*tmp_path.rglob("*.o")]
    assert len(files) > 10
    for number, file in enumerate(files):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1 + number % 7
        file.write_bytes(content if number % 3 else content[: len(content) // 3])
    again = run_alone(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert again.stdout.split() == [mean, "True"]
    assert "compiling" in again.stderr


# --- machine code that comes with the package ------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]


def test_shipped_machine_code_is_used_by_its_own_sources_on_a_processor_that_can_run_it(tmp_path):
    """And by no others: a source that was edited, however little, is compiled."""
    package = tmp_path / "copartition"
    shutil.copytree(Path(cp.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "machine_code"))
    first = """
        import sys
        import copartition as cp

        target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
        print(repr(cp.kernels.conditional(target, [0, 0, 1], 1)[0].item()), "numba" in sys.modules)
    """
    caches = iter(range(9))

    def run(code):
        return run_alone(code, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / f"cache {next(caches)}"))

    made = f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(ROOT / "tools")!r})
        import machine_code
        from copartition.core.cache import features
        machine_code.ship(Path({str(package)!r}), [*features()])
    """
    mean, has_numba = run(textwrap.dedent(first) + textwrap.dedent(made)).stdout.split()[:2]
    assert has_numba == "True"
    shipped = run(first)
    assert shipped.stdout.split() == [mean, "False"]
    assert "compiling" not in shipped.stderr

    about = package / "machine_code" / "about.json"
    fitting = json.loads(about.read_text())
    for wrong in ({"features": [*fitting["features"], "what no processor can do"]}, {"platform": "another system"}):
        about.write_text(json.dumps(fitting | wrong))
        assert run(first).stdout.split() == [mean, "True"]
    about.write_text(json.dumps(fitting))
    changed = "cp.targets.gaussian.isotropic.function.__defaults__ = (7,)"  # something else that it refers to
    assert run(first.replace("target =", f"{changed}\n        target =", 1)).stdout.split() == [mean, "True"]
    edited = package / "cli" / "__init__.py"
    edited.write_text(edited.read_text() + "\n")
    assert run(first).stdout.split() == [mean, "True"]


# --- Numba as it may become ------------------------------------------------------------------------------------------

WITHOUT_HOOK = """
    import sys
    import copartition.core.parts as parts

    owner, name = [hook for hook in parts.HOOKS if hook[1] == "{name}"][0]
    if {missing}:
        parts.HOOKS[owner, "no such method"] = parts.HOOKS.pop((owner, name))
    else:
        parts.HOOKS[owner, name] = ("self", "something", "else")
    assert not parts.has_hooks()
    import copartition as cp

    target = cp.Mixture([0.0, 0.1, 5.0, 5.2], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    e = cp.estimate(target, cp.n_clusters(), coupling="common", replicates=20, burn_in=2, min_sweeps=9, lag=2, seed=1)
    print(e.values.tolist())
"""


def test_where_a_method_of_numba_has_changed_its_own_pipeline_gives_the_same_numbers(tmp_path):
    from copartition.core.parts import HOOKS, has_hooks

    assert has_hooks()
    target = cp.Mixture([0.0, 0.1, 5.0, 5.2], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    how = {"coupling": "common", "replicates": 20, "burn_in": 2, "min_sweeps": 9, "lag": 2, "seed": 1}
    expected = cp.estimate(target, cp.n_clusters(), **how).values.tolist()
    done = run_alone(WITHOUT_HOOK.format(name="finalize", missing=True), NUMBA_CACHE_DIR=str(tmp_path))
    assert json.loads(done.stdout) == expected
    assert "compiling takes longer, numbers are the same" in done.stderr
    assert len(HOOKS) > 10


@pytest.mark.parametrize("missing", [True, False])
def test_every_method_of_numba_that_is_used_is_looked_at(missing, monkeypatch):
    from copartition.core import parts

    for (owner, name), arguments in parts.HOOKS.items():
        changed = dict(parts.HOOKS)
        del changed[owner, name]
        changed[owner, f"{name}_renamed" if missing else name] = arguments if missing else (*arguments, "more")
        monkeypatch.setattr(parts, "HOOKS", changed)
        assert not parts.has_hooks(), name
        monkeypatch.undo()
    assert parts.has_hooks()


def test_no_compiled_function_takes_more_than_eight_arguments():
    """What is passed around is bundled in the states of `copartition.core.state`."""
    arguments = {}
    for module in pkgutil.walk_packages(cp.__path__, "copartition."):
        if not module.name.endswith("__main__"):
            for thing in vars(importlib.import_module(module.name)).values():
                if isinstance(thing, Kernel | Part):
                    function = thing.function
                    arguments[f"{function.__module__}.{function.__qualname__}"] = function.__code__.co_argcount
                if isinstance(thing, Kernel):
                    assert len(thing.signature.arguments) == function.__code__.co_argcount
    assert len(arguments) > 100
    assert {"copartition.core.estimator.run_batch", "copartition.core.sweeps.update_pair"} < arguments.keys()
    assert not [name for name, count in arguments.items() if count > 8]


# --- what machine code is filed under --------------------------------------------------------------------------------


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache of the test's own."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    return tmp_path


@numba.njit
def helper(x):
    return FACTOR * x


def uses_helper(x):
    return helper(x) + VALUES[0]


@pytest.mark.usefixtures("folder")
def test_folders_tell_functions_constants_and_arrays_apart(monkeypatch):
    before = file_for(uses_helper)
    assert file_for(uses_helper) == before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    after_constant = file_for(uses_helper)
    assert after_constant != before
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    changed = VALUES.copy()
    changed[1000] += 1.0  # in the part that a printed array leaves out
    unchanged = VALUES
    monkeypatch.setitem(globals(), "VALUES", changed)
    assert file_for(uses_helper) != before
    monkeypatch.setitem(globals(), "VALUES", unchanged)
    assert file_for(uses_helper) == before

    def other(x):
        return FACTOR * x + 1.0

    monkeypatch.setitem(globals(), "helper", other)
    assert file_for(uses_helper) not in (before, after_constant)


def make(value):
    def function(x):
        return x + value

    return function


@pytest.mark.usefixtures("folder")
def test_folders_tell_closures_apart():
    assert file_for(make(1)) != file_for(make(2))
    assert file_for(make(1)) == file_for(make(1))


def test_machine_code_is_filed_by_edition_and_function(folder):
    found = file_for(steps.make_steps.function)
    assert found.parent.is_dir()
    assert found.parent.parent == folder
    assert found.name.startswith("copartition.core.steps.make_steps-")
    assert file_for(steps.make_coupled_steps.function).parent == found.parent
    assert file_for(make(1)).parent == found.parent
    assert file_for(make(1)).name.startswith(f"{make.__module__}.make..function-")


# --- what is kept ----------------------------------------------------------------------------------------------------


def used_hours_ago(path, hours):
    path.touch()
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))


def test_the_latest_versions_of_a_function_are_kept(folder):
    other = file_for(uses_helper)
    used_hours_ago(other, 100)
    for value in range(cache.VERSIONS + 3):
        used_hours_ago(file_for(make(value)), 50 - value)
    edition = other.parent
    kept = {file_for(make(value)) for value in range(4, cache.VERSIONS + 3)}
    # Of those that were there when the last one was looked for.
    assert len(kept) == cache.VERSIONS - 1 == 3
    assert kept | {other} <= {*edition.iterdir()}
    assert len([*edition.iterdir()]) == cache.VERSIONS + 2


@pytest.mark.usefixtures("folder")
def test_a_version_that_is_used_again_counts_as_late():
    folders = [file_for(make(value)) for value in range(cache.VERSIONS)]
    for hours, path in zip(range(50, 10, -10), folders, strict=True):
        used_hours_ago(path, hours)
    file_for(make(0))
    file_for(make(98)).touch()
    file_for(make(99))
    assert [path.exists() for path in folders] == [True, False, True, True]


def test_the_latest_editions_are_kept_and_nothing_else_is_touched(folder, monkeypatch):
    """What else lies in the folder, such as data that were fetched, is none of the cache's business."""
    data = folder / "data"
    data.mkdir()
    (data / "cells.csv").write_text("1\n")
    (folder / "README").write_text("not a folder")
    for path in (data, folder / "README"):
        used_hours_ago(path, 1000)
    names = [f"{number:020x}" for number in range(cache.EDITIONS + 3)]
    for hours, name in zip(range(50, 0, -1), names, strict=False):
        monkeypatch.setattr(cache, "_edition", lambda name=name: name)
        file_for(uses_helper).write_text("machine code")
        used_hours_ago(folder / name, hours)
    assert {path.name for path in folder.iterdir()} == {"data", "README", *names[3:]}
    assert (data / "cells.csv").read_text() == "1\n"
    monkeypatch.setattr(cache, "_edition", lambda: names[3])  # the oldest is used again, by a function it knows
    file_for(uses_helper)
    monkeypatch.setattr(cache, "_edition", lambda: "f" * 20)
    file_for(uses_helper)
    assert {path.name for path in folder.iterdir()} == {"data", "README", names[3], *names[5:], "f" * 20}


# --- where it is kept ------------------------------------------------------------------------------------------------


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    try:
        cache_folder.cache_clear()
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
        assert cache_folder() == tmp_path / "numba" / "copartition"
        cache_folder.cache_clear()
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        monkeypatch.setattr(cache, "user_cache_path", lambda name: tmp_path / "cache" / name)
        assert cache_folder() == tmp_path / "cache" / "copartition"
        cache_folder.cache_clear()
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setattr(cache, "user_cache_path", lambda name: tmp_path / "file" / name)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        assert cache_folder().is_dir()
        assert cache_folder().parent == tmp_path / "temporary"
    finally:
        cache_folder.cache_clear()


def folder_in_another_process(**environment):
    code = "from copartition.core.cache import cache_folder; print(cache_folder())"
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"} | environment
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    return Path(done.stdout.strip())


@pytest.mark.posix
def test_where_the_home_cannot_be_written_all_processes_share_a_temporary_folder(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "temporary").mkdir()
    # HOME where the user's cache is below it and the other variable means nothing (macOS).
    home = dict.fromkeys(("HOME", "XDG_CACHE_HOME"), str(tmp_path / "file"))
    where = {**home, "TMPDIR": str(tmp_path / "temporary")}
    found = [folder_in_another_process(**where) for _ in range(2)]
    assert found[0] == found[1]
    assert found[0].parent == tmp_path / "temporary"
    assert found[0].stat().st_mode & 0o777 == 0o700  # machine code is run from there: nobody else may write it


def open_to_all(path):
    path.mkdir()
    path.chmod(0o777)


@pytest.mark.parametrize("left_by_another", [open_to_all, lambda path: path.write_text(""), lambda path: link(path)])
@pytest.mark.posix
def test_a_temporary_folder_that_others_can_write_is_not_used(monkeypatch, tmp_path, left_by_another):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    good = cache._temporary_folder()
    assert good == cache._temporary_folder()
    good.rmdir()
    left_by_another(good)
    other = cache._temporary_folder()
    assert other != good
    assert other.is_dir()
    assert other.stat().st_mode & 0o777 == 0o700


def test_where_there_are_no_users_the_temporary_folder_is_ones_own(monkeypatch, tmp_path):
    """Windows: the folder for temporary files is the user's, and says of all files that everybody may write them."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "getuid", raising=False)
    (tmp_path / "copartition-user").mkdir()
    (tmp_path / "copartition-user").chmod(0o777)
    assert cache._temporary_folder() == tmp_path / "copartition-user"


def link(path):
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


# --- what is compiled again ------------------------------------------------------------------------------------------


LOOK = """
    import gc, json
    import copartition as cp
    from copartition.core import parts
    from copartition.core.compiling import Kernel, prepare
    from copartition.couplings.base import common
    from copartition.couplings.matched import matched
    from copartition.functionals.reference import distances

    compiled, translate = [], parts.translate
    parts.translate = lambda one: (compiled.append(repr(one)), translate(one))[1]
    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    distribution = cp.kernels.conditional(target, [0, 0, 1], 1)
    prepare(common, distances)
    used = [one for one in gc.get_objects() if isinstance(one, Kernel) and one._address]
    print(json.dumps({
        "file": cp.__file__,
        "distribution": distribution.tolist(),
        "used": [repr(one) for one in used],
        "compiled": [repr(one) for one in used if repr(one) in compiled],
        "matched": str(matched.file),
    }))
"""


def test_an_edit_recompiles_what_depends_on_it_and_nothing_else(tmp_path):
    """A copy of the package, edited; each look at it is a process of its own. Times of files never change."""
    source, package = tmp_path / "source", tmp_path / "copartition"
    shutil.copytree(Path(cp.__file__).parent, source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(source, package)
    environment = not_watched() | {
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def look(*edits):
        for path in package.rglob("*.py"):
            shutil.copy(source / path.relative_to(package), path)
        for name, old, new in edits:
            text = (package / name).read_text()
            assert text.count(old) == 1
            (package / name).write_text(text.replace(old, new.ljust(len(old))))  # as long as it was
        for path in package.rglob("*.py"):
            os.utime(path, (1_600_000_000, 1_600_000_000))
        command = [sys.executable, "-c", textwrap.dedent(LOOK)]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        assert Path(found["file"]).parent == package
        return found

    isotropic, common, distances = (
        f"<kernel copartition.{name}>"
        for name in ("targets.gaussian.isotropic", "couplings.base.common", "functionals.reference.distances")
    )
    first = look()
    assert {isotropic, common, distances, "<kernel copartition.core.steps.conditional_distribution>"} <= {
        *first["used"]
    }
    assert {*first["compiled"]} == {*first["used"]}
    again = look()
    assert again == first | {"compiled": []}

    # Elsewhere in the package, in modules that those with kernels import too.
    for name in ("cli/__init__.py", "cli/estimate.py", "view/export.py", "runs/replicates.py", "validation.py"):
        line = "from __future__ import annotations\n"
        assert look((name, line, f"{line}EDITED = 1\n")) == again

    # A function of a target: its number is another one, and no kernel of another file is touched.
    edited = look(("targets/gaussian.py", "weights[k] = table[size, 0] - table[size, 2] * squares", "weights[k] = 0.0"))
    assert isotropic in edited["compiled"]
    assert all(name.startswith("<kernel copartition.targets.gaussian.") for name in edited["compiled"])
    np.testing.assert_allclose(edited["distribution"], [1 / 3, 1 / 3, 1 / 3])
    assert edited["matched"] == first["matched"]
    back = look()  # Numba itself takes other kernels of an edited file for new ones
    assert isotropic not in back["compiled"]
    assert back["distribution"] == first["distribution"]

    # A function that a functional calls, and one of a coupling.
    assert look(("functionals/reference.py", "return size * size", "return size + size"))["compiled"] == [distances]
    assert look(("couplings/base.py", "u * weights[i]", "u + weights[i]"))["compiled"] == [common]

    # A function in another file than the kernel that calls it, and a constant there.
    for edit in (
        ("couplings/transport.py", "left_x[a] -= moved", "left_x[a] += moved"),
        ("couplings/simplex.py", "TOTAL_BITS = 62", "TOTAL_BITS = 61"),
    ):
        found = look(edit)
        assert found["compiled"] == []
        assert found["matched"] != first["matched"]

    # All versions are still there; in the core an edit is one of every kernel.
    assert look() == again
    (edition,) = (tmp_path / "cache" / "copartition").iterdir()
    edited = look(("core/clusters.py", "SWEEPS_BETWEEN_REBUILDS = 64", "SWEEPS_BETWEEN_REBUILDS = 65"))
    assert {*edited["compiled"]} == {*first["used"]}
    assert len([*edition.parent.iterdir()]) == 2
    assert edited["distribution"] == first["distribution"]


WAIT = """
    import sys
    from pathlib import Path
    import copartition as cp

    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    source = Path(cp.__file__).parent / "core" / "numerics.py"
    if len(sys.argv) > 1:
        text = source.read_text()
        assert text.count("low + r4") == 1
        source.write_text(text.replace("low + r4", "1.0 + r4"))
    print(cp.kernels.conditional(target, [0, 0, 1], 1).tolist())
"""


def test_an_edit_of_what_a_process_has_already_read_is_no_edit_of_what_it_compiles(tmp_path):
    """A source is saved while a process that has imported it has compiled nothing yet: the next one starts from it."""
    shutil.copytree(Path(cp.__file__).parent, tmp_path / "copartition", ignore=shutil.ignore_patterns("__pycache__"))
    environment = not_watched() | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(cache, *arguments):
        command = [sys.executable, "-c", textwrap.dedent(WAIT), *arguments]
        here = environment | {"NUMBA_CACHE_DIR": str(tmp_path / cache)}
        return subprocess.run(command, env=here, check=True, capture_output=True, text=True).stdout

    before = run("cache", "edit")
    after = run("cache")
    assert after != before
    assert after == run("another cache")


TARGET_FILE = """
    import numpy as np
    import copartition as cp
    from weights import weight_of_second

    @cp.kernels.log_predictive
    def prefer(model, chain, n_choices, n):
        for k in range(n_choices):
            chain[0].weights[k] = np.log(weight_of_second()) if k == 1 else np.log({first})

    target = cp.Target(np.zeros((3, 0)), prefer, cp.DirichletProcess(1.0))
    print(cp.kernels.conditional(target, [0, 1, 1], 0)[0])  # with the other two: weight 2 * first, alone:
    weight_of_second
"""
WEIGHTS_FILE = """
    import numba

    @numba.njit
    def weight_of_second():
        return {second}
"""


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


def test_a_target_typed_in_at_a_prompt_works():
    code = """
        import numpy as np
        import copartition as cp

        @cp.kernels.log_predictive
        def flat(model, chain, n_choices, n):
            for k in range(n_choices):
                chain[0].weights[k] = 0.0

        target = cp.Target(np.zeros((3, 0)), flat, cp.DirichletProcess(1.0))
        print(cp.kernels.conditional(target, [0, 0, 0], 1).tolist())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert [float(p) for p in done.stdout.strip()[1:-1].split(",")] == pytest.approx([2 / 3, 1 / 3])


def test_compiled_kernels_are_kept_on_disk():
    _ = steps.make_steps.address
    assert cache_folder() in steps.make_steps.file.parents
    assert steps.make_steps.file.stat().st_size > 1000


def test_what_is_decorated_is_a_kernel():
    assert isinstance(small.scalar()[0].hooks.log_predictive, Kernel)
    assert "prior precision" in small.scalar()[0].hooks.log_predictive.__doc__


# --- what is handed over ---------------------------------------------------------------------------------------------

LABELS = np.array([0, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS.astype(np.int32), r"A kernel takes 1 dimension\(s\) of int64, got an array of 1 dimensions of int32"),
        (LABELS.astype(float), "got an array of 1 dimensions of float64"),
        (LABELS.astype(np.uint64), "got an array of 1 dimensions of uint64"),
        (LABELS.astype(">i8"), "got an array of 1 dimensions of >i8"),
        (LABELS[:, None], "got an array of 2 dimensions"),
        (np.repeat(LABELS, 2)[::2], "A kernel takes 1 dimension"),  # every other number of another array
    ],
)
def test_arrays_of_another_type_are_refused(labels, message):
    """Machine code would read their memory as if they were of its own."""
    target, _ = small.scalar()
    chain = chain_at(target, np.zeros(5, dtype=np.int64))
    steps.reset_chain(target.model, target.hooks, chain, LABELS)
    with pytest.raises(TypeError, match=message):
        steps.reset_chain(target.model, target.hooks, chain, labels)
    assert chain.labels.tolist() == LABELS.tolist()


def test_arrays_inside_states_are_checked_too():
    target, _ = small.diagonal()
    chain = chain_at(target, LABELS)
    model, hooks, random, progress = target.model, target.hooks, np.zeros(4, dtype=np.uint64), new_progress()
    room = room_for(target)
    narrow = room._replace(sides=room.sides._replace(sums=room.sides.sums.astype(np.float32)))

    def call(model=model, chain=chain, room=room, hooks=hooks):
        stepper = Stepper((sweep_alone, split_merge_alone), (Room(), room), 2, 2)
        return steps.make_steps(model, hooks, chain, stepper, random, progress, 0)

    assert call() == 0
    for wrong in (
        {"model": model._replace(points=model.points.astype(np.float32))},
        {"model": model._replace(points=np.asfortranarray(model.points))},
        {"chain": chain._replace(labels=chain.labels.astype(np.int32))},
        {"room": narrow},
    ):
        with pytest.raises(TypeError, match=r"A kernel takes \d dimension"):
            call(**wrong)
    with pytest.raises(TypeError, match="A kernel takes a Hooks, got Model"):
        call(hooks=model)
    with pytest.raises(TypeError, match="has another signature than what calls it"):
        call(hooks=hooks._replace(log_predictive=hooks.log_merge))
    with pytest.raises(TypeError, match="is called by Python, and cannot be passed to kernels"):
        call(hooks=hooks._replace(log_predictive=steps.make_steps))
    with pytest.raises(TypeError, match=r"<kernel copartition.core.steps.make_steps> takes 7 arguments, got 2"):
        steps.make_steps(model, chain)
    with pytest.raises(TypeError, match="is called by kernels only"):
        hooks.log_predictive(model, chain, 1, 0)


def test_states_are_pickled_without_the_addresses_of_this_process():
    target, _ = small.scalar()
    chain = chain_at(target, LABELS)
    again = pickle.loads(pickle.dumps(chain))
    assert chain.address != 0
    assert "_packed" not in vars(again)
    assert again.labels.tolist() == chain.labels.tolist()


def test_sources_name_no_machine():
    """No path of a machine, no host of a package registry: the repository speaks of the project alone."""
    root = Path(__file__).resolve().parents[2]
    forbidden = ["/ho" + "me/", "/ro" + "ot/", "pypi" + ".org", "files.python" + "hosted"]
    for path in root.rglob("*"):
        parts = path.relative_to(root).parts
        if path.suffix in {".py", ".md", ".toml", ".txt", ".cff", ".c"} and not parts[0].startswith((".", "out")):
            text = path.read_text()
            assert not any(word in text for word in forbidden), path


def referring(value, factor):
    """A function that refers to a member of an enumeration and to a vectorised function, made anew."""
    scope = {"numba": numba, "enum": enum}
    source = f"""
class Weight(enum.IntEnum):
    A = {value}

@numba.vectorize(["float64(float64)"])
def scaled(x):
    return {factor} * x

def uses(x):
    return scaled(x) * Weight.A.value
"""
    exec(compile(source, "scope.py", "exec"), scope)
    return scope["uses"]


def test_enumerations_and_vectorised_functions_are_part_of_the_hash():
    assert cache.code_hash(referring(1, 2.0)) == cache.code_hash(referring(1, 2.0))
    assert cache.code_hash(referring(1, 2.0)) != cache.code_hash(referring(6, 2.0))
    assert cache.code_hash(referring(1, 2.0)) != cache.code_hash(referring(1, 7.0))


# --- kernels that are made for their arguments -----------------------------------------------------------------------


def test_made_kernels_are_made_once_pickled_by_their_arguments_and_cached_under_names_of_their_own():
    from copartition.targets.column_groups import wishart_predictive

    two, three = wishart_predictive(2), wishart_predictive(3)
    assert wishart_predictive(2) is two
    assert pickle.loads(pickle.dumps(two)) is two
    names = {one.file.name.rpartition("-")[0] for one in (two, three)}
    assert len(names) == 2  # so that more widths than the cache keeps versions of a name do not push each other out
