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
import pickle
import tempfile
import threading
import types as python_types
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError, NumbaRuntimeError
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

outline = numba.njit(**OPTIONS)
"""The same for long functions, of which kernels keep one copy that they call."""

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
        if "<locals>" in self.function.__qualname__:
            raise pickle.PicklingError(
                f"{self.function.__qualname__} must be defined at the top of a module to be sent to other processes."
            )
        return _find_kernel, (self.__module__, self.function.__qualname__)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.function.__qualname__}>"


def prepare(*kernels: Kernel) -> None:
    """Compile kernels or read them from the cache now, so that their first use is not slower than the others."""
    for one in kernels:
        _ = one.compiled


def kernel(signature: Any, arguments: str = "") -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function to be compiled with `signature` when it is first used.

    Parameters
    ----------
    signature : numba signature
    arguments : str, optional
        The names of the arguments, for functions that users write: their number is checked at once.
    """

    def decorate(function: Callable[..., Any] | None = None) -> Kernel:
        """Make a kernel of a function; see `copartition.compiled.kernel.Kernel`."""
        if not isinstance(function, python_types.FunctionType):
            raise TypeError(f"The decorator is written without parentheses, above a function, got {function!r}.")
        if arguments and function.__code__.co_argcount != arguments.count(",") + 1:
            given = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
            raise TypeError(f"{function.__name__} must take the arguments ({arguments}), got ({given}).")
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
        return _translate(function, signature, cache=False)  # typed in at a prompt: nothing to file it under
    folder = cache_folder() / fingerprint(function)
    # Numba asks for the folder once, when the dispatcher is made; other people's functions must not land in ours.
    before = numba_settings.CACHE_DIR
    numba_settings.CACHE_DIR = str(folder)
    try:
        return _translate(function, signature, cache=True)
    finally:
        numba_settings.CACHE_DIR = before


def _translate(function: Callable[..., Any], signature: Any, cache: bool) -> Callable[..., Any]:
    from copartition.compiled.complaints import complaint

    try:
        compiled = numba.njit(signature, cache=cache, **OPTIONS)(function)
    except (NumbaError, NumbaRuntimeError, NameError) as error:
        raise complaint(function, error) from error
    # Whenever a kernel is passed to another one, Numba looks up which of its versions fits, for longer than a small
    # run takes (50 microseconds, twice). There is one version.
    only = compiled.get_compile_result(signature)
    compiled.get_compile_result = lambda _: only
    return compiled


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
    versions = repr((numba.__version__, np.__version__, numba_settings.BOUNDSCHECK)).encode()
    return hashlib.sha256(versions + _package_hash() + code_hash(function)).hexdigest()[:20]


def code_hash(function: Callable[..., Any]) -> bytes:
    """Return a hash of a function and of what it refers to outside this package."""
    digest = hashlib.sha256(f"{function.__module__}.{function.__qualname__}".encode())
    for part in _dependencies(function, set()):
        digest.update(part)
    return digest.digest()


@lru_cache(maxsize=1)
def _package_hash() -> bytes:
    package = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.digest()


def _dependencies(thing: Any, seen: set[int]) -> Iterator[bytes]:
    """Yield what tells `thing`, and all that it refers to, from another one."""
    if isinstance(thing, Kernel):
        thing = thing.function
    if isinstance(thing, Dispatcher):
        thing = thing.py_func
    if isinstance(thing, tuple | list):
        yield f"{type(thing).__name__} {len(thing)}".encode()
        for item in thing:
            yield from _dependencies(item, seen)
    elif hasattr(thing, "tobytes") and hasattr(thing, "dtype"):
        yield repr((thing.shape, thing.dtype.str)).encode() + thing.tobytes()
    elif not isinstance(thing, python_types.FunctionType):
        yield repr(thing).encode()
    elif id(thing) not in seen and not _is_library(thing.__module__):
        seen.add(id(thing))
        yield from _function_parts(thing, seen)


def _function_parts(function: python_types.FunctionType, seen: set[int]) -> Iterator[bytes]:
    codes = [function.__code__]
    for code in codes:  # grows: functions and comprehensions inside the function
        codes.extend(constant for constant in code.co_consts if isinstance(constant, python_types.CodeType))
    names = sorted({name for code in codes for name in code.co_names})
    for code in codes:
        yield code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode()
        for constant in code.co_consts:
            if not isinstance(constant, python_types.CodeType):
                yield repr(constant).encode()
    yield from _dependencies((function.__defaults__ or (), sorted((function.__kwdefaults__ or {}).items())), seen)
    for cell in function.__closure__ or ():
        yield from _dependencies(cell.cell_contents, seen)
    for name in names:
        if name not in function.__globals__:
            continue
        yield name.encode()
        value = function.__globals__[name]
        if isinstance(value, python_types.ModuleType):
            yield from _module_parts(value, names, seen)
        else:
            yield from _dependencies(value, seen)


def _module_parts(module: python_types.ModuleType, names: list[str], seen: set[int]) -> Iterator[bytes]:
    """Yield what a function may look up in a module; which of its names it does is not known, so all are taken."""
    if _is_library(module.__name__):
        return
    for name in names:
        if name in vars(module) and vars(module)[name] is not module:
            yield f"{module.__name__}.{name}".encode()
            value = vars(module)[name]
            if isinstance(value, python_types.ModuleType):
                yield from _module_parts(value, names, seen)
            else:
                yield from _dependencies(value, seen)


def _is_library(module: str | None) -> bool:
    """Whether a module is this package, whose sources are hashed as a whole, or a library that it depends on."""
    return (module or "").split(".")[0] in {__name__.split(".")[0], "numpy", "numba", "math", "scipy"}
