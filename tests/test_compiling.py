"""Kernels: compiled when first used, filed under all they depend on, never stale, and particular about arrays."""

from __future__ import annotations

import enum
import importlib
import json
import os
import pickle
import pkgutil
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
from numba.core.dispatcher import Dispatcher

import copartition as cp
import small
from copartition.chains.chain import chain_at
from copartition.core import cache, estimator, steps
from copartition.core.cache import cache_folder, folder_for
from copartition.core.compiling import Kernel
from copartition.core.room import moves_of

FACTOR = 2.0
VALUES = np.arange(2000.0)


def test_kernels_are_pickled_by_name():
    target, _ = small.scalar()
    assert pickle.loads(pickle.dumps(target.law.log_predictive)) is target.law.log_predictive
    again = pickle.loads(pickle.dumps(target))
    assert np.array_equal(cp.conditional(again, [0] * 5, 2), cp.conditional(target, [0] * 5, 2))
    assert repr(target.law.log_predictive) == "<kernel copartition.targets.gaussian.isotropic>"


def test_importing_compiles_nothing():
    code = """
        import gc, copartition
        from copartition.core.compiling import Kernel
        kernels = [thing for thing in gc.get_objects() if isinstance(thing, Kernel)]
        assert len(kernels) > 10
        assert not any(kernel._compiled for kernel in kernels), kernels
    """
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, env=environment)


def test_one_compiled_sweep_serves_every_target_and_coupling():
    for name in small.TARGETS:
        for coupling in small.COUPLINGS.values():
            cp.meeting_times(small.TARGETS[name]()[0], replicates=1, coupling=coupling, max_sweeps=5)
    for one in (steps.step_chain, steps.step_pair, estimator.run_batch):
        assert len(one.compiled.signatures) == 1


def test_no_compiled_function_takes_more_than_eight_arguments():
    """What is passed around is bundled in the named tuples of `copartition.core.state`."""
    arguments = {}
    for module in pkgutil.walk_packages(cp.__path__, "copartition."):
        if not module.name.endswith("__main__"):
            for thing in vars(importlib.import_module(module.name)).values():
                function = getattr(thing, "function" if isinstance(thing, Kernel) else "py_func", None)
                if isinstance(thing, Kernel | Dispatcher):
                    arguments[f"{function.__module__}.{function.__qualname__}"] = function.__code__.co_argcount
                if isinstance(thing, Kernel):
                    assert len(thing.signature.args) == function.__code__.co_argcount
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
    before = folder_for(uses_helper)
    assert folder_for(uses_helper) == before
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    after_constant = folder_for(uses_helper)
    assert after_constant != before
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    changed = VALUES.copy()
    changed[1000] += 1.0  # in the part that a printed array leaves out
    unchanged = VALUES
    monkeypatch.setitem(globals(), "VALUES", changed)
    assert folder_for(uses_helper) != before
    monkeypatch.setitem(globals(), "VALUES", unchanged)
    assert folder_for(uses_helper) == before

    def other(x):
        return FACTOR * x + 1.0

    monkeypatch.setitem(globals(), "helper", other)
    assert folder_for(uses_helper) not in (before, after_constant)


def make(value):
    def function(x):
        return x + value

    return function


@pytest.mark.usefixtures("folder")
def test_folders_tell_closures_apart():
    assert folder_for(make(1)) != folder_for(make(2))
    assert folder_for(make(1)) == folder_for(make(1))


def test_machine_code_is_filed_by_edition_and_function(folder):
    found = folder_for(steps.make_steps.function)
    assert found.is_dir()
    assert found.parent.parent == folder
    assert found.name.startswith("copartition.core.steps.make_steps-")
    assert folder_for(steps.make_coupled_steps.function).parent == found.parent
    assert folder_for(make(1)).parent == found.parent
    assert folder_for(make(1)).name.startswith(f"{make.__module__}.make..function-")


# --- what is kept ----------------------------------------------------------------------------------------------------


def used_hours_ago(path, hours):
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))


def test_the_latest_versions_of_a_function_are_kept(folder):
    other = folder_for(uses_helper)
    used_hours_ago(other, 100)
    for value in range(cache.VERSIONS + 3):
        used_hours_ago(folder_for(make(value)), 50 - value)
    edition = other.parent
    kept = {folder_for(make(value)) for value in range(3, cache.VERSIONS + 3)}
    assert len(kept) == cache.VERSIONS == 4
    assert {*edition.iterdir()} == kept | {other}


@pytest.mark.usefixtures("folder")
def test_a_version_that_is_used_again_counts_as_late():
    folders = [folder_for(make(value)) for value in range(cache.VERSIONS)]
    for hours, path in zip(range(50, 10, -10), folders, strict=True):
        used_hours_ago(path, hours)
    folder_for(make(0))
    newest = folder_for(make(99))
    assert [path.exists() for path in folders] == [True, False, True, True]
    assert newest.exists()


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
        (folder_for(uses_helper) / "code.nbc").write_text("machine code")
        used_hours_ago(folder / name, hours)
    assert {path.name for path in folder.iterdir()} == {"data", "README", *names[3:]}
    assert (data / "cells.csv").read_text() == "1\n"
    monkeypatch.setattr(cache, "_edition", lambda: names[3])  # the oldest is used again, by a function it knows
    folder_for(uses_helper)
    monkeypatch.setattr(cache, "_edition", lambda: "f" * 20)
    folder_for(uses_helper)
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


def not_watched():
    """The variables of this process without those by which coverage finds others: a copy of the package is not it."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


LOOK = """
    import gc, json
    import copartition as cp
    from copartition.core.cache import folder_for
    from copartition.core.compiling import Kernel, prepare
    from copartition.couplings.common import common
    from copartition.couplings.matched import matched
    from copartition.functionals.distance import distances

    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    law = cp.conditional(target, [0, 0, 1], 1)
    prepare(common, distances)
    used = [one for one in gc.get_objects() if isinstance(one, Kernel) and one._compiled]
    print(json.dumps({
        "file": cp.__file__,
        "law": law.tolist(),
        "used": [repr(one) for one in used],
        "compiled": [repr(one) for one in used if one.compiled.stats.cache_misses],
        "matched": str(folder_for(matched.function)),
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
        for name in ("targets.gaussian.isotropic", "couplings.common.common", "functionals.distance.distances")
    )
    first = look()
    assert {isotropic, common, distances, "<kernel copartition.core.steps.conditional_law>"} <= {*first["used"]}
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
    np.testing.assert_allclose(edited["law"], [1 / 3, 1 / 3, 1 / 3])
    assert edited["matched"] == first["matched"]
    back = look()  # Numba itself takes other kernels of an edited file for new ones
    assert isotropic not in back["compiled"]
    assert back["law"] == first["law"]

    # A function that a functional calls, and one of a coupling.
    assert look(("functionals/distance.py", "return size * size", "return size + size"))["compiled"] == [distances]
    assert look(("couplings/common.py", "u * weights[i]", "u + weights[i]"))["compiled"] == [common]

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
    assert edited["law"] == first["law"]


WAIT = """
    import sys
    from pathlib import Path
    import copartition as cp

    target = cp.Mixture([0.0, 0.1, 5.0], cp.Gaussian(noise_sd=1, mean_sd=3), cp.DirichletProcess(1.0))
    source = Path(cp.__file__).parent / "core" / "exponential.py"
    if len(sys.argv) > 1:
        text = source.read_text()
        assert text.count("low + r4") == 1
        source.write_text(text.replace("low + r4", "1.0 + r4"))
    print(cp.conditional(target, [0, 0, 1], 1).tolist())
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

        @cp.log_predictive
        def flat(model, chain, n_choices, n):
            for k in range(n_choices):
                chain[0].weights[k] = 0.0

        target = cp.Target(np.zeros((3, 0)), flat, cp.DirichletProcess(1.0))
        print(cp.conditional(target, [0, 0, 0], 1).tolist())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True)
    assert [float(p) for p in done.stdout.strip()[1:-1].split(",")] == pytest.approx([2 / 3, 1 / 3])


def test_compiled_kernels_are_kept_on_disk():
    _ = steps.make_steps.compiled
    folder = folder_for(steps.make_steps.function)
    assert cache_folder() in folder.parents
    assert list(folder.rglob("*make_steps*.nbi"))


def test_what_is_decorated_is_a_kernel():
    assert isinstance(small.scalar()[0].law.log_predictive, Kernel)
    assert "prior precision" in small.scalar()[0].law.log_predictive.__doc__


# --- what is handed over ---------------------------------------------------------------------------------------------

LABELS = np.array([0, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS.astype(np.int32), r"A kernel takes array\(int64, 1d, C\), got an array of 1 dimensions of int32"),
        (LABELS.astype(float), "got an array of 1 dimensions of float64"),
        (LABELS.astype(np.uint64), "got an array of 1 dimensions of uint64"),
        (LABELS.astype(">i8"), "got an array of 1 dimensions of >i8"),
        (LABELS[:, None], "got an array of 2 dimensions"),
        (np.repeat(LABELS, 2)[::2], "A kernel takes array"),  # every other number of another array
    ],
)
def test_arrays_of_another_type_are_refused(labels, message):
    """Machine code would read their memory as if they were of its own."""
    target, _ = small.scalar()
    chain = chain_at(target, np.zeros(5, dtype=np.int64))
    steps.reset_chain(target.model, target.law, chain, LABELS)
    with pytest.raises(TypeError, match=message):
        steps.reset_chain(target.model, target.law, chain, labels)
    assert chain.labels.tolist() == LABELS.tolist()


def test_arrays_inside_tuples_are_checked_too():
    target, _ = small.diagonal()
    chain = chain_at(target, LABELS)
    model, law, random, progress = target.model, target.law, np.zeros(4, dtype=np.uint64), np.zeros(2, dtype=np.int64)
    moves = moves_of(model, 1)
    dealing = moves.room._replace(sides=moves.room.sides._replace(sums=moves.room.sides.sums.astype(np.float32)))

    def call(model=model, chain=chain, moves=moves, law=law):
        stepper = steps.Stepper(steps.step_chain, moves)
        return steps.make_steps(model, law, chain, stepper, random, progress, 0)

    assert call() == 0
    for wrong in (
        {"model": model._replace(points=model.points.astype(np.float32))},
        {"model": model._replace(points=np.asfortranarray(model.points))},
        {"chain": chain._replace(labels=chain.labels.astype(np.int32))},
        {"moves": moves._replace(room=dealing)},
    ):
        with pytest.raises(TypeError, match="A kernel takes array"):
            call(**wrong)
    with pytest.raises(TypeError, match=r"A kernel takes .*got 2 fields"):
        call(law=law[:2])
    with pytest.raises(TypeError, match=r"<kernel copartition.core.steps.reset_chain> takes 4 arguments, got 2"):
        steps.reset_chain(model, chain)


def test_sources_name_no_machine():
    """No path of a machine, no host of a package registry: the repository speaks of the project alone."""
    root = Path(__file__).resolve().parents[1]
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
    from copartition.core.cache import folder_for
    from copartition.targets.blocks import wishart_predictive

    two, three = wishart_predictive(2), wishart_predictive(3)
    assert wishart_predictive(2) is two
    assert pickle.loads(pickle.dumps(two)) is two
    names = {folder_for(one.function).name.rpartition("-")[0] for one in (two, three)}
    assert len(names) == 2  # so that more widths than the cache keeps versions of a name do not push each other out
