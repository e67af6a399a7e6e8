"""How a Python function becomes a kernel: compiled when first used, kept on disk, never stale.

Numba can hand one compiled function to another as an ordinary argument if its signature is declared (a
``FunctionType``). That is how one step, compiled once, serves every target and every coupling. Two things have to be
got right for it to be fast and safe.

*Arguments go by reference.* A tuple of ten arrays passed by value is eighty words copied onto the stack, about 18 ns
a call, more than the arithmetic of a small model. `reference` stores the tuple once and passes its address (4 ns);
the callee reads the tuple back with ``pointer[0]``, and only the fields it uses are ever loaded.

*The cache knows what a kernel depends on*: see `copartition.core.cache`.

From Python, kernels are called past Numba's dispatcher, which cannot convert tuples that hold functions. What it would
have checked, the types of all arrays, is checked here (`copartition.core.types.check_of`).
"""

from __future__ import annotations

import pickle
import sys
import threading
import types as python_types
from collections.abc import Callable
from functools import lru_cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError, NumbaRuntimeError
from numba.extending import intrinsic

from copartition.core.announcing import announce_once
from copartition.core.cache import CORE, digest_of, folder_for, numba_settings
from copartition.core.complaints import complaint
from copartition.core.parts import KernelCompiler, PartCompiler
from copartition.core.types import check_of

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

PART: dict[str, Any] = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}


def part(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return the decorator of a function that is called by kernels only, with options of Numba."""

    def decorate(function: Callable[..., Any]) -> Any:
        """Make a part of kernels of a function."""
        compiled: Any = numba.njit(**(PART | options))(function)
        if JIT_DISABLED:
            return compiled
        # One version for all numbers. Numba would compile another one for each number that is written in a call, and
        # for each number that a variable begins with, which it finds out too late is not the only one.
        fold = compiled._compiler.fold_argument_types

        def fold_argument_types(arguments: Any, keywords: Any) -> tuple[Any, tuple[Any, ...]]:
            signature, folded = fold(arguments, keywords)
            return signature, tuple(types.unliteral(one) for one in folded)

        compiled._compiler.fold_argument_types = fold_argument_types
        return compiled

    return decorate


inner = part(forceinline=True)
"""Decorator of a function that is called by kernels only, for every point: compiled as a part of each of them."""

inlined = part(inline="always")
"""The same, but put into its caller before that is optimised, so that what is known there shortens its loops."""

outline = part(forceinline=False)  # said, because Numba would take it over from the function that calls
"""The same for long functions, or such as are called once a sweep: kernels keep one copy of them that they call."""

if JIT_DISABLED:

    def reference(value: Any) -> tuple[Any]:
        """Return what kernels read back with ``[0]``, as the compiled version does with an address."""
        return (value,)

    def member(pointer: Any, index: int) -> tuple[Any]:
        """Return what kernels read back with ``[0]`` for a tuple within a tuple."""
        return (pointer[0][index],)

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

    @intrinsic(prefer_literal=True)
    def member(typing_context: Any, pointer: Any, index: Any) -> Any:
        """Return the address of a tuple within the tuple at an address: nothing is copied.

        Which one must be a number that is known when the kernel is compiled.
        """
        place = index.literal_value

        def find(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return cgutils.gep_inbounds(builder, arguments[0], 0, place)

        return types.CPointer(pointer.dtype.types[place])(pointer, index), find


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
        self.made_by: tuple[Callable[..., Kernel], tuple[Any, ...]] | None = None
        self._compiled: Any = function if JIT_DISABLED else None
        self._entry: Callable[..., Any] = function
        self._checks: list[Callable[[Any], Any]] = []

    @property
    def compiled(self) -> Any:
        """The machine code, compiled or read from the cache when first asked for."""
        if self._compiled is None:
            with self._lock:
                if self._compiled is None:
                    compiled = _compile(self.function, self.signature)
                    self._entry = compiled.overloads[tuple(self.signature.args)].entry_point
                    self._checks = [check_of(kind) for kind in self.signature.args]
                    self._compiled = compiled
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code; kernels among the arguments, and in tuples, are passed as machine code too."""
        if JIT_DISABLED:
            return self.function(*arguments)
        _ = self.compiled
        if len(arguments) != len(self._checks):
            raise TypeError(f"{self!r} takes {len(self._checks)} arguments, got {len(arguments)}.")
        return self._entry(*[check(one) for check, one in zip(self._checks, arguments, strict=True)])

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
        """Make a kernel of a function; see `copartition.core.compiling.Kernel`."""
        if not isinstance(function, python_types.FunctionType):
            raise TypeError(f"The decorator is written without parentheses, above a function, got {function!r}.")
        if arguments and function.__code__.co_argcount != arguments.count(",") + 1:
            given = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
            raise TypeError(f"{function.__name__} must take the arguments ({arguments}), got ({given}).")
        return Kernel(function, signature)

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


@lru_cache(maxsize=1)
def _load_numba() -> None:
    """Load the parts of Numba that know NumPy, but not SciPy with them, which takes longer than all the rest.

    Numba tries whether SciPy's linear algebra can be imported. It is enough to know that SciPy is there: what needs it
    tries again.
    """
    linalg: Any = import_module("numba.np.linalg")
    if "numba.np.arraymath" in sys.modules or not hasattr(linalg, "ensure_blas") or find_spec("scipy") is None:
        return
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        arraymath: Any = import_module("numba.np.arraymath")
        arraymath.ensure_blas = ensure_blas
    finally:
        linalg.ensure_blas = ensure_blas


def _compile(function: Callable[..., Any], signature: Any) -> Any:
    _load_numba()
    if not Path(function.__code__.co_filename).exists():
        return _translate(function, signature, cache=False)  # typed in at a prompt: nothing to file it under
    folder = folder_for(function)
    if (function.__module__ or "").startswith(f"{CORE}.") and not any(folder.rglob("*.nbi")):
        announce_once("compiling, once: about 20 s")
    # Numba asks for the folder once, when the dispatcher is made; other people's functions must not land in ours.
    before = numba_settings.CACHE_DIR
    numba_settings.CACHE_DIR = str(folder)
    try:
        return _translate(function, signature, cache=True)
    finally:
        numba_settings.CACHE_DIR = before


def _translate(function: Callable[..., Any], signature: Any, cache: bool) -> Any:
    # A function that takes references is called by other kernels, the others by Python.
    takes_references = any(isinstance(one, types.CPointer) for one in signature.args)
    wrapper = "no_cpython_wrapper" if takes_references else "no_cfunc_wrapper"
    options = OPTIONS | {"pipeline_class": KernelCompiler, wrapper: True}
    try:
        compiled = numba.njit(signature, cache=cache, **options)(function)
    except (NumbaError, NumbaRuntimeError, NameError) as error:
        raise complaint(function, error) from error
    # Whenever a kernel is passed to another one, Numba looks up which of its versions fits and where it is, for longer
    # than a small run takes. There is one version, and it stays where it is.
    only = compiled.get_compile_result(signature)
    only.library.get_pointer_to_function = lru_cache(only.library.get_pointer_to_function)
    compiled.get_compile_result = lambda _: only
    return compiled
