"""Where machine code is kept, what tells it from that of another source, and how it is linked without a compiler.

Numba's own disk cache looks at one source file only: edit a function in another file, and it goes on serving the old
machine code, a silently wrong number. So every kernel is filed under a fingerprint of all that it depends on: the
sources of this package, which kernels use everywhere, and whatever else the function refers to, step by step. An edit
elsewhere in the package, of a page or of the command line, recompiles nothing.

The cache is a folder of *editions*, one for each version of it and of the libraries, and in each a folder for
every version of every kernel. Only the editions and versions that were used last are kept.

Objects are kept in files, and linked into this process when they are used. A kernel takes addresses and numbers only
and calls nothing of Python, so its object file is all there is to it. To run one that is there already takes no Numba,
whose import alone would take longer than all the rest of a start.
"""

from __future__ import annotations

import contextlib
import enum
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import time
import types as python_types
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding
from platformdirs import user_cache_path

EDITIONS = 6  # that are kept: several checkouts and versions of Python may share a cache
VERSIONS = 4  # of one function
LIBRARIES = ("numpy", "numba", "math", "scipy")
NO_NAME = str.maketrans("<>", "()")  # what names of files may not have everywhere; those of functions do: <lambda>
CORE = __name__.rpartition(".")[0]
PACKAGE = CORE.partition(".")[0]
SHIPPED = Path(__file__).resolve().parents[1] / "machine_code"


def shipped_file(one: Any) -> Path | None:
    """Return the file with machine code of one of this package's functions that came with the package, if it fits.

    It fits if not one source of the package has changed since it was made, no constant that the function refers to is
    another one, and the processor can run it.
    """
    if not (one.function.__module__ or "").startswith(f"{PACKAGE}."):
        return None
    name = shipped_name(one)
    return SHIPPED / f"{name}.o" if _shipped().get(name) == values_of(one) else None


def shipped_name(one: Any) -> str:
    """Return the name of a function of this package under which its machine code is shipped."""
    return f"{one.function.__module__}.{one.function.__qualname__}".translate(NO_NAME)


def values_of(one: Any) -> str:
    """Return a hash of the constants that a function refers to; its code is known by the sources."""
    return _hash_of(one.function, (*LIBRARIES, CORE), with_code=False).hex()[:20]


@lru_cache(maxsize=1)
def _shipped() -> dict[str, str]:
    """Return the names of functions whose machine code came with the package, and what their constants were.

    There are none if it was made for other sources, another system, or a processor that can do more than this one.
    """
    try:
        about = json.loads((SHIPPED / "about.json").read_text())
    except (OSError, ValueError):
        return {}
    is_set = any(setting(name) for name in ("CPU_NAME", "CPU_FEATURES", "BOUNDSCHECK"))
    fits = not is_set and about["platform"] == platform() and set(about["features"]) <= set(features())
    return about["functions"] if fits and about["sources"] == sources() else {}


def sources() -> str:
    """Return a hash of all sources of the package."""
    root, digest = SHIPPED.parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def setting(name: str) -> str:
    """Return a setting of Numba: as it is set there if it has been imported, else as it is going to be."""
    config: Any = getattr(sys.modules.get("numba"), "config", None)
    value = os.environ.get(f"NUMBA_{name}", "") if config is None else getattr(config, name, "")
    return "" if value is None else str(int(value) if isinstance(value, bool) else value)


def file_for(function: Callable[..., Any], compiled_as: str = "") -> Path | None:
    """Return the file for the machine code of a function, as it and all that it refers to are now.

    `compiled_as` says how it is compiled: for which signature, and the layout of its states.

    What was typed in at a prompt has none: nobody would find it again.
    """
    if not Path(function.__code__.co_filename).exists():
        return None
    edition = cache_folder() / _edition()
    name = f"{function.__module__}.{function.__qualname__}".replace("<locals>", "")[-80:].translate(NO_NAME)
    digest = digest_of(_hash_of(function, (*LIBRARIES, CORE)), compiled_as.encode())
    file = edition / f"{name}-{digest}.o"
    if _mark_used(edition, file):
        _keep_latest(edition.parent.glob("[0-9a-f]" * 20), EDITIONS)  # fetched data lie there too
        _keep_latest(edition.glob(f"{name}-*"), VERSIONS)
    return file


@lru_cache(maxsize=1)
def cache_folder() -> Path:
    """Return the first folder that can be written: ``NUMBA_CACHE_DIR``, the user's cache, the machine's temporary one.

    The last one has the same name for every process of a user, so that it is of use.
    """
    if chosen := setting("CACHE_DIR"):
        return Path(chosen) / PACKAGE
    try:
        folder = user_cache_path(PACKAGE)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # the latter where there is no home
        return _temporary_folder()


def _temporary_folder() -> Path:
    """Return a folder that only this user can write: machine code from it is going to be run."""
    has_users = hasattr(os, "getuid")  # Windows has a temporary folder for each user, and no such permissions
    user = os.getuid() if has_users else "user"
    folder = Path(tempfile.gettempdir()) / f"{PACKAGE}-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        ours = not has_users or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        if stat.S_ISDIR(found.st_mode) and ours:
            return folder
    return Path(tempfile.mkdtemp(prefix=f"{PACKAGE}-"))


def _mark_used(edition: Path, file: Path) -> bool:
    """Make the folder of a file, and note that both are in use; return whether the file is new."""
    with contextlib.suppress(OSError):
        edition.mkdir(parents=True, exist_ok=True)
        for one in (edition, file):
            if one.exists() and time.time() - one.stat().st_mtime > 3600:
                os.utime(one)
        return not file.exists()
    return False


def _keep_latest(paths: Iterator[Path], count: int) -> None:
    """Remove all but the folders and files that were used last. Who was about to read there compiles instead."""
    with contextlib.suppress(OSError):
        for old in sorted(paths, key=lambda path: -path.stat().st_mtime)[count:]:
            shutil.rmtree(old, ignore_errors=True) if old.is_dir() else old.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _edition() -> str:
    """Return a hash of the sources of this room, of what compiles them, and of the processor."""
    compilers = [metadata.version(name) for name in ("numba", "llvmlite")]
    digest = hashlib.sha256(repr((sys.version_info[:2], compilers, setting("BOUNDSCHECK"), processor())).encode())
    room = Path(__file__).resolve().parent
    for path in sorted(room.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:20]


def code_hash(function: Callable[..., Any]) -> bytes:
    """Return a hash of a function and of what it refers to outside this package: what tells models apart."""
    return _hash_of(function, (*LIBRARIES, PACKAGE))


def digest_of(*parts: bytes) -> str:
    """Return a short hash of some bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()[:16]


def _hash_of(function: Callable[..., Any], known: tuple[str, ...], with_code: bool = True) -> bytes:
    """Return a hash of a function and of all that it refers to outside the modules that are `known` otherwise."""
    digest = hashlib.sha256(f"{function.__module__}.{function.__qualname__}".encode())
    for part in _References(known, with_code).of(function):
        digest.update(part)
    return digest.digest()


class _References:
    """What a function refers to: other functions, constants, closures, in whichever file these are."""

    def __init__(self, known: tuple[str, ...], with_code: bool) -> None:
        self._known = known
        self._with_code = with_code
        self._seen: set[int] = set()

    def of(self, thing: Any) -> Iterator[bytes]:
        """Yield what tells `thing`, and all that it refers to, from another one."""
        if type(thing).__module__.startswith(f"{CORE}.") and hasattr(thing, "function"):  # a kernel, or a part of one
            thing = thing.function
        thing = getattr(thing, "_dispatcher", thing)  # of a function that numba.vectorize has made
        if hasattr(thing, "py_func"):
            thing = thing.py_func
        if isinstance(thing, enum.EnumMeta):
            members: dict[str, Any] = dict(thing.__members__)
            thing = [(name, member.value) for name, member in members.items()]
        if isinstance(thing, tuple | list):
            yield f"{type(thing).__name__} {len(thing)}".encode()
            for item in thing:
                yield from self.of(item)
        elif hasattr(thing, "tobytes") and hasattr(thing, "dtype") and not isinstance(thing, type):
            yield repr((thing.shape, thing.dtype.str)).encode() + thing.tobytes()
        elif not isinstance(thing, python_types.FunctionType):
            yield repr(thing).encode()
        elif id(thing) not in self._seen and not self._is_known(thing.__module__):
            self._seen.add(id(thing))
            yield from self._of_function(thing)

    def _of_function(self, function: python_types.FunctionType) -> Iterator[bytes]:
        codes = [function.__code__]
        for code in codes:  # grows: functions and comprehensions inside the function
            codes.extend(constant for constant in code.co_consts if isinstance(constant, python_types.CodeType))
        names = sorted({name for code in codes for name in code.co_names})
        for code in codes if self._with_code else ():  # which other versions of Python write otherwise
            yield code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
            for constant in code.co_consts:
                if not isinstance(constant, python_types.CodeType):
                    yield repr(constant).encode()
        yield from self.of((function.__defaults__ or (), sorted((function.__kwdefaults__ or {}).items())))
        for cell in function.__closure__ or ():
            yield from self.of(cell.cell_contents)
        for name in names:
            if name not in function.__globals__:
                continue
            yield name.encode()
            value = function.__globals__[name]
            if isinstance(value, python_types.ModuleType):
                yield from self._of_module(value, names)
            else:
                yield from self.of(value)

    def _of_module(self, module: python_types.ModuleType, names: list[str]) -> Iterator[bytes]:
        """Yield what a function may look up in a module; which of its names it does is not known, so all are taken."""
        if self._is_known(module.__name__):
            return
        for name in names:
            if name in vars(module) and vars(module)[name] is not module:
                yield f"{module.__name__}.{name}".encode()
                value = vars(module)[name]
                if isinstance(value, python_types.ModuleType):
                    yield from self._of_module(value, names)
                else:
                    yield from self.of(value)

    def _is_known(self, module: str | None) -> bool:
        name = module or ""
        return any(name == known or name.startswith(f"{known}.") for known in self._known)


MAGIC = b"copartition machine code 1\n"


class Machine(NamedTuple):
    """The machine code of one function: its name there, symbols that it needs from elsewhere, and the object file."""

    name: str
    needs: list[str]
    code: bytes


@lru_cache(maxsize=1)
def processor() -> str:
    """Return what machine code depends on: the processor and what it can do, and what the environment says of it."""
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")]
    return repr((platform(), binding.get_host_cpu_name(), features(), chosen))


def platform() -> str:
    """Return the kind of system that machine code is made for."""
    return f"{sys.platform} {binding.get_process_triple()}"


@lru_cache(maxsize=1)
def features() -> tuple[str, ...]:
    """Return what the processor can do."""
    return tuple(sorted(name for name, is_there in binding.get_host_cpu_features().items() if is_there))


def write(path: Path, machine: Machine) -> None:
    """Write machine code to a file; whoever reads it at the same time sees all of it or nothing."""
    about = {"name": machine.name, "needs": machine.needs, "digest": _digest(machine.code)}
    partial = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        partial.write_bytes(MAGIC + json.dumps(about).encode() + b"\n" + machine.code)
        partial.replace(path)
    except OSError:  # a full disk, or a folder that was removed: then it is compiled once more next time
        partial.unlink(missing_ok=True)


def read(path: Path) -> Machine | None:
    """Return the machine code in a file; None if there is none, or if it is not what was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head, _, code = content.removeprefix(MAGIC).partition(b"\n")
    try:
        about = json.loads(head)
        return Machine(about["name"], about["needs"], code) if about["digest"] == _digest(code) else None
    except (ValueError, KeyError, TypeError):
        return None


def _digest(code: bytes) -> str:
    return hashlib.sha256(code).hexdigest()


_engines: list[Any] = []  # one a function, for good: names in different objects need not differ


def link(machine: Machine) -> int | None:
    """Link machine code into this process; return its address, None if a symbol that it needs is nowhere."""
    _start()
    if missing := _missing(machine.needs):
        if not any(name.startswith("numba_") for name in missing):
            return None
        import_module("numba.core.registry").cpu_target.target_context  # noqa: B018  it brings functions of its own
        if _missing(machine.needs):
            return None
    triple = binding.get_process_triple()
    empty = binding.parse_assembly(f'target triple = "{triple}"')
    engine = binding.create_mcjit_compiler(empty, binding.Target.from_triple(triple).create_target_machine())
    engine.add_object_file(binding.ObjectFileRef.from_data(machine.code))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(machine.name)) or None


@lru_cache(maxsize=1)
def _start() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _missing(names: Iterable[str]) -> list[str]:
    return [name for name in names if binding.address_of_symbol(name) is None]


_edition()  # now: when the first kernel is compiled, a source may have been edited that was read already
