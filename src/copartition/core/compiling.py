"""How a Python function becomes a kernel: compiled when first used, kept on disk, never stale.

Three decorators make compiled functions:

- ``kernel(signature)``: Python calls it;
- ``hook(signature)``: kernels call it, by its address. That is how one sweep, compiled once, serves every target and
  every coupling: their functions are fields of the states that it gets;
- `inner`, `outline`, `inlined`: parts of kernels and hooks, which nobody calls from outside.

Arguments are numbers, arrays and states, which go by reference (`copartition.core.types`). A function that is in the
cache is linked from there, without Numba (`copartition.core.cache`); else it is compiled (`copartition.core.parts`).
That something is compiled is said on standard error.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
import threading
import time
import types as python_types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any

from copartition.core import cache
from copartition.core.cache import PACKAGE, digest_of, file_for, setting, shipped_file
from copartition.core.types import Signature, layout_of, packer_of

SECONDS_BETWEEN_LINES = 5.0  # where lines stay, in a file or a notebook


class Compiling:
    """What a process has compiled so far.

    Runs that wait for pairs do not count the time that it takes.
    """

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None
        self._last_line = 0.0

    @contextmanager
    def one(self, place: int = 1, of: int = 1) -> Iterator[None]:
        """Say that a function is compiled, and which of how many that are to be."""
        begin = self._since = time.monotonic()
        self._say(f"compiling {place} of {of} kernels, once for this version", begin, place == of)
        try:
            yield
        finally:
            self._seconds += time.monotonic() - begin
            self._since = None

    @property
    def seconds_so_far(self) -> float:
        """What it took, that of the function at hand included."""
        since = self._since
        return self._seconds + (0.0 if since is None else time.monotonic() - since)

    def _say(self, message: str, now: float, is_last: bool) -> None:
        stream = sys.stderr
        if stream is None:
            return
        if stream.isatty() and not in_notebook():
            print(f"\r\x1b[Kcopartition: {message}", end="\n" if is_last else "", file=stream, flush=True)
        elif now - self._last_line > SECONDS_BETWEEN_LINES or self._last_line == 0.0:
            self._last_line = now
            print(f"copartition: {message}", file=stream, flush=True)


compiling = Compiling()


def in_notebook() -> bool:
    """Tell whether this runs in a notebook: in IPython with a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


JIT_DISABLED = setting("DISABLE_JIT") not in ("", "0")

RESULTS = {"int64": ctypes.c_int64, "float64": ctypes.c_double, "void": None}


class Part:
    """A function that is called by kernels only, with options of Numba."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function = function
        self.options = options
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__wrapped__ = function

    @property
    def _numba_type_(self) -> Any:
        """By which Numba knows it where it is looked up in a module."""
        return import_module("copartition.core.parts").type_of(self)

    def __repr__(self) -> str:
        return f"<part {self.__module__}.{self.function.__qualname__}>"


def part(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a function that is called by kernels only, with options of Numba."""
    return lambda function: function if JIT_DISABLED else Part(function, options)


inner = part(forceinline=True)
"""Decorator of a function that is called by kernels only, for every point: compiled as a part of each of them."""

inlined = part(inline="always")
"""The same, but put into its caller before that is optimised, so that what is known there shortens its loops."""

outline = part(forceinline=False)  # said, because Numba would take it over from the function that calls
"""The same for long functions, or such as are called once a sweep: kernels keep one copy of them that they call."""


class Kernel:
    """A function with a declared signature, compiled at its first use.

    Parameters
    ----------
    function : callable
        The Python source of the kernel.
    signature : Signature
        The kinds of its arguments and of its result.
    from_python : bool
        Whether Python calls it; kernels, if not.
    is_users : bool
        Whether a user wrote it, who may use all that Numba's arrays can do.
    """

    _lock = threading.RLock()

    def __init__(
        self, function: Callable[..., Any], signature: Signature, from_python: bool = False, is_users: bool = False
    ) -> None:
        self.function = function
        self.signature = signature
        self.from_python = from_python
        self.is_users = is_users
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.made_by: tuple[Callable[..., Kernel], tuple[Any, ...]] | None = None
        self._address = 0
        self._call: Any = function
        self._packed: Any = None

    @property
    def address(self) -> int:
        """Where the machine code is, compiled or read from the cache when first asked for."""
        return self._address or self.find()

    @property
    def is_there(self) -> bool:
        """Whether it need not be compiled."""
        return self._address != 0 or any(file is not None and file.exists() for file in (self.file, shipped_file(self)))

    @property
    def file(self) -> Path | None:
        """Where its machine code is kept, if anywhere."""
        return file_for(self.function, f"{layout_of(self.signature)} {self.from_python} {self.is_users}")

    def find(self, place: int = 1, of: int = 1) -> int:
        """Return the address; if it has to be compiled for that, say which of how many such functions it is."""
        with self._lock:
            if self._address == 0:
                address = _machine_code(self, place, of)
                if self.from_python:
                    self._call = ctypes.CFUNCTYPE(RESULTS[self.signature.result.name], ctypes.c_char_p)(address)
                    self._packed = packer_of(self.signature)
                self._address = address
        return self._address

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code, if it may be called from Python; the function itself where nothing is compiled."""
        if JIT_DISABLED:
            return self.function(*arguments)
        if not self.from_python:
            raise TypeError(f"{self!r} is called by kernels only; NUMBA_DISABLE_JIT=1 runs it as plain Python.")
        if len(arguments) != len(self.signature.arguments):
            raise TypeError(f"{self!r} takes {len(self.signature.arguments)} arguments, got {len(arguments)}.")
        _ = self.address
        return self._call(self._packed(arguments))

    def __reduce__(self) -> tuple[Any, ...]:
        if self.made_by is not None:
            return self.made_by
        if "<locals>" in self.function.__qualname__:
            raise pickle.PicklingError(
                f"{self.function.__qualname__} must be defined at the top of a module to be sent to other processes."
            )
        return _find_kernel, (self.__module__, self.function.__qualname__)

    def __repr__(self) -> str:
        return f"<kernel {self.__module__}.{self.function.__qualname__}>"


def prepare(*kernels: Kernel) -> None:
    """Compile kernels or read them from the cache now, so that their first use is not slower than the others."""
    if JIT_DISABLED:
        return
    missing = [one for one in kernels if not one.is_there]
    for place, one in enumerate(missing):
        one.find(place + 1, len(missing))
    for one in kernels:
        one.find()


def kernel(signature: Signature) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function that Python calls, to be compiled with `signature` when it is first used."""
    return lambda function: Kernel(function, signature, from_python=True)


def hook(signature: Signature, arguments: str = "") -> Callable[[Callable[..., Any]], Kernel]:
    """Decorate a function that kernels call, to be compiled with `signature` when it is first used.

    Parameters
    ----------
    signature : Signature
    arguments : str, optional
        The names of the arguments, for functions that users write: their number is checked at once.
    """

    def decorate(function: Callable[..., Any] | None = None) -> Kernel:
        """Make a kernel of a function; see `copartition.core.compiling.Kernel`."""
        if not isinstance(function, python_types.FunctionType):
            raise TypeError(f"The decorator is written without parentheses, above a function, got {function!r}.")
        if arguments and function.__code__.co_argcount != arguments.count(",") + 1:
            given = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
            raise TypeError(f"{function.__name__} must take the arguments ({arguments}), got ({given}).")
        is_users = bool(arguments) and not (function.__module__ or "").startswith(f"{PACKAGE}.")
        return Kernel(function, signature, is_users=is_users)

    return decorate


def made_anew(make: Callable[..., Kernel]) -> Callable[..., Kernel]:
    """Decorate a function that makes kernels, one for each of its arguments: other processes make them anew.

    What its arguments are is known when the kernel is compiled: loops may be of a known length.
    """

    @wraps(make)
    @lru_cache
    def made(*arguments: Any) -> Kernel:
        """Make a kernel, or return the one that was made for the same arguments."""
        one = make(*arguments)
        one.made_by = (made, arguments)
        # A name of its own: the cache keeps a few versions of each name.
        one.function.__qualname__ = f"{make.__qualname__}-{digest_of(repr(arguments).encode())}"
        return one

    return made


def _find_kernel(module: str, qualified_name: str) -> Any:
    found: Any = import_module(module)
    for name in qualified_name.split("."):
        found = getattr(found, name)
    return found


def _machine_code(one: Kernel, place: int, of: int) -> int:
    """Return the address of the machine code of a function: from the cache, or compiled and kept there."""
    file, address = one.file, None
    for known in (file, shipped_file(one)):
        kept = None if known is None or address is not None else cache.read(known)
        address = cache.link(kept) if kept is not None else address
    if address is None:
        with compiling.one(place, of):
            parts: Any = import_module("copartition.core.parts")  # and Numba with it
            address, machine = parts.translate(one)
        if file is not None and machine is not None:
            cache.write(file, machine)
    return address
