"""The types of what kernels work on, derived from the annotations of its tuples.

A state is a `NamedTuple` whose fields are annotated with what is defined here, with ``int``, ``float`` or another such
tuple. `type_of` turns that into the type that Numba wants to be told, so that it is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_type_hints

import numpy as np
from numba import types

float1 = types.Array(types.float64, 1, "C")
float2 = types.Array(types.float64, 2, "C")
int1 = types.Array(types.int64, 1, "C")
int2 = types.Array(types.int64, 2, "C")
uint1 = types.Array(types.uint64, 1, "C")
uint2 = types.Array(types.uint64, 2, "C")
short1 = types.Array(types.int16, 1, "C")
ushort2 = types.Array(types.uint16, 2, "C")
narrow1 = types.Array(types.int32, 1, "C")
narrow2 = types.Array(types.int32, 2, "C")

Float1 = Annotated[np.ndarray, float1]
Float2 = Annotated[np.ndarray, float2]
Int1 = Annotated[np.ndarray, int1]
Int2 = Annotated[np.ndarray, int2]
UInt2 = Annotated[np.ndarray, uint2]
UShort2 = Annotated[np.ndarray, ushort2]
Narrow2 = Annotated[np.ndarray, narrow2]


@cache
def type_of(annotation: Any) -> Any:
    """Return the Numba type that an annotation stands for."""
    if hasattr(annotation, "__metadata__"):
        return annotation.__metadata__[0]
    if annotation is int:
        return types.int64
    if annotation is float:
        return types.float64
    hints = get_type_hints(annotation, include_extras=True)
    fields = [type_of(hints[name]) for name in annotation._fields]
    if all(field == fields[0] for field in fields):
        return types.NamedUniTuple(fields[0], len(fields), annotation)
    return types.NamedTuple(fields, annotation)


def pointer(annotation: Any) -> Any:
    """Return the type of a reference to such a tuple."""
    return types.CPointer(type_of(annotation))


def check_of(kind: Any) -> Callable[[Any], Any]:
    """Return the function that takes an argument of this type and returns it as machine code takes it.

    Kernels are passed as machine code. Every array is checked to be of its type: machine code would read an array of
    another type as if it were of this one.
    """
    if isinstance(kind, types.Array):
        return _check_of_array(kind)
    if isinstance(kind, types.FunctionType):
        return lambda kernel: kernel.compiled
    if hasattr(kind, "types"):
        return _check_of_tuple(kind)
    return lambda number: number


def _check_of_array(kind: Any) -> Callable[[np.ndarray], np.ndarray]:
    dtype, n_dimensions = np.dtype(str(kind.dtype)), kind.ndim

    def check(array: np.ndarray) -> np.ndarray:
        if array.dtype != dtype or array.ndim != n_dimensions or not array.flags.c_contiguous:
            raise TypeError(f"A kernel takes {kind}, got an array of {array.ndim} dimensions of {array.dtype}.")
        return array

    return check


def _check_of_tuple(kind: Any) -> Callable[[Any], Any]:
    checks = [check_of(field) for field in kind.types]
    make = kind.instance_class._make if isinstance(kind, types.NamedTuple | types.NamedUniTuple) else tuple
    holds_functions = _holds_functions(kind)

    def check(value: Any) -> Any:
        if len(value) != len(checks):
            raise TypeError(f"A kernel takes {kind}, got {len(value)} fields.")
        items = [one(item) for one, item in zip(checks, value, strict=True)]
        return make(items) if holds_functions else value

    return check


def _holds_functions(kind: Any) -> bool:
    return isinstance(kind, types.FunctionType) or any(_holds_functions(one) for one in getattr(kind, "types", ()))
