"""Machine code without a compiler: objects are kept in files, and linked into this process when they are used.

A kernel takes addresses and numbers only and calls nothing of Python, so its object file is all there is to it. To run
one that is there already takes no Numba, whose import alone would take longer than all the rest of a start.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite import binding

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
