"""How a Python function becomes a kernel: compiled when first used, kept on disk, never stale.

Numba can hand one compiled function to another as an ordinary argument if its signature is declared (a
``FunctionType``). That is how one sweep kernel, compiled once, serves every target and every coupling. Two things
have to be got right for it to be fast and safe, and both live in this file.

*Arguments go by reference.* A tuple of ten arrays passed by value is eighty words copied onto the stack, about 18 ns
a call, more than the arithmetic of a small model. `reference` stores the tuple once and passes its address (4 ns);
the callee reads the tuple back with ``pointer[0]``, and only the fields it uses are ever loaded.

*The cache knows what a kernel depends on.* Numba's own disk cache looks at one source file only: edit a function in
another file, and it goes on serving the old machine code, a silently wrong number. So every kernel is filed under
a fingerprint of all of this package's sources and of everything the function refers to (`fingerprint`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import types as python_types
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

numba_settings: Any = numba.config
JIT_DISABLED = bool(numba_settings.DISABLE_JIT)

# Sums may be reordered, which lets loops run on vector registers, and products fused; NaN and infinity stay legal.
# Without the runtime (_nrt) no array can be made inside a kernel, and none is counted: counting the uses of arrays,
# with atomic instructions, took as long as the arithmetic.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "_nrt": False,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}

inner = numba.njit(forceinline=True, **OPTIONS)
"""Decorator of a function that is called by kernels only: compiled as a part of each of them."""

if JIT_DISABLED:

    def reference(value: Any) -> tuple[Any]:
        """Return what kernels read back with ``[0]``, as the compiled version does with an address."""
        return (value,)

else:

    @intrinsic
    def reference(typing_context: Any, value: Any) -> Any:
        """Return the address of a copy of `value` on the stack of the calling kernel.

        The arrays are not counted as used by that copy, so the tuple itself must outlive the address: kernels take
        the references of their own arguments, which do.
        """

        def store(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return cgutils.alloca_once_value(builder, arguments[0])

        return types.CPointer(value)(value), store


class Kernel:
    """A function with a declared signature, compiled at its first use.

    Parameters
    ----------
    function : callable
        The Python source of the kernel.
    signature : numba signature
        The types of its arguments and of its result.
    """

    _lock = threading.RLock()

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        self.function = function
        self.signature = signature
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self._compiled: Callable[..., Any] | None = function if JIT_DISABLED else None

    @property
    def compiled(self) -> Callable[..., Any]:
        """The machine code, compiled or read from the cache when first asked for."""
        if self._compiled is None:
            with self._lock:
                if self._compiled is None:
                    self._compiled = _compile(self.function, self.signature)
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code; kernels among the arguments are passed as machine code too."""
        return self.compiled(*[a.compiled if isinstance(a, Kernel) else a for a in arguments])

    def __reduce__(self) -> tuple[Any, ...]:
        return _find_kernel, (self.__module__, self.function.__qualname__)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.function.__qualname__}>"


def prepare(*kernels: Kernel) -> None:
    """Compile kernels or read them from the cache now, so that their first use is not slower than the others."""
    for one in kernels:
        _ = one.compiled


def kernel(signature: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function to be compiled with `signature` when it is first used."""

    def decorate(function: Callable[..., Any]) -> Kernel:
        return Kernel(function, signature)

    return decorate


def _find_kernel(module: str, qualified_name: str) -> Any:
    import importlib

    found: Any = importlib.import_module(module)
    for name in qualified_name.split("."):
        found = getattr(found, name)
    return found


def _compile(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    if not Path(function.__code__.co_filename).exists():
        return numba.njit(signature, **OPTIONS)(function)  # typed in at a prompt: there is nothing to file it under
    folder = cache_folder() / fingerprint(function)
    # Numba asks for the folder once, when the dispatcher is made; other people's functions must not land in ours.
    before = numba_settings.CACHE_DIR
    numba_settings.CACHE_DIR = str(folder)
    try:
        return numba.njit(signature, cache=True, **OPTIONS)(function)
    finally:
        numba_settings.CACHE_DIR = before


@lru_cache(maxsize=1)
def cache_folder() -> Path:
    """Return the first folder for machine code that can be written.

    ``NUMBA_CACHE_DIR`` if set, else a folder of this package's own in the user's cache, else a temporary one.
    """
    if numba_settings.CACHE_DIR:
        return Path(numba_settings.CACHE_DIR) / "copartition"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(home) / "copartition"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="copartition-"))


def fingerprint(function: Callable[..., Any]) -> str:
    """Return a hash of all that the machine code of `function` depends on.

    That is this package's sources, the function's own code, and, step by step, every function, constant and closure
    that it refers to, in whichever file these are.
    """
    digest = hashlib.sha256(_package_hash())
    for part in _dependencies(function, set()):
        digest.update(part)
    return digest.hexdigest()[:20]


@lru_cache(maxsize=1)
def _package_hash() -> bytes:
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _dependencies(thing: Any, seen: set[int]) -> Iterator[bytes]:
    if isinstance(thing, Kernel):
        thing = thing.function
    if isinstance(thing, Dispatcher):
        thing = thing.py_func
    if not isinstance(thing, python_types.FunctionType):
        yield _bytes_of(thing)
        return
    if id(thing) in seen or (thing.__module__ or "").split(".")[0] == __name__.split(".")[0]:
        return  # met before, or part of the package, whose sources are in the fingerprint already
    seen.add(id(thing))
    code = thing.__code__
    yield code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
    for constant in code.co_consts:
        yield getattr(constant, "co_code", repr(constant).encode())
    for name in code.co_names:
        if name in thing.__globals__:
            yield name.encode()
            yield from _dependencies(thing.__globals__[name], seen)
    for cell in thing.__closure__ or ():
        yield from _dependencies(cell.cell_contents, seen)


def _bytes_of(constant: Any) -> bytes:
    """Return what tells one constant from another; arrays by all their values, not by their shortened text."""
    if hasattr(constant, "tobytes"):
        return repr((constant.shape, constant.dtype.str)).encode() + constant.tobytes()
    if isinstance(constant, python_types.ModuleType):
        return constant.__name__.encode()
    return repr(constant).encode()
