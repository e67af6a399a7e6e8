"""The types of what kernels work on, derived from the annotations of its tuples.

A state is a `NamedTuple` whose fields are annotated with what is defined here, with ``int``, ``float`` or another such
tuple. `type_of` turns that into the type that Numba wants to be told, so that it is written once.
"""

from __future__ import annotations

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

Float1 = Annotated[np.ndarray, float1]
Float2 = Annotated[np.ndarray, float2]
Int1 = Annotated[np.ndarray, int1]
Int2 = Annotated[np.ndarray, int2]
UInt1 = Annotated[np.ndarray, uint1]
UInt2 = Annotated[np.ndarray, uint2]


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


def handed_over(value: Any, kind: Any) -> Any:
    """Return an argument as machine code takes it: kernels compiled, and every array checked to be of its type.

    Machine code would read an array of another type as if it were of this one.
    """
    if isinstance(kind, types.Array):
        if not (value.dtype == _dtype_of(kind) and value.ndim == kind.ndim and value.flags.c_contiguous):
            raise TypeError(f"A kernel takes {kind}, got an array of {value.ndim} dimensions of {value.dtype}.")
        return value
    if isinstance(kind, types.FunctionType):
        return value.compiled
    fields = getattr(kind, "types", None)  # of a tuple
    if fields is None:
        return value
    if len(value) != len(fields):
        raise TypeError(f"A kernel takes {kind}, got {len(value)} fields.")
    items = [handed_over(item, field) for item, field in zip(value, fields, strict=True)]
    if not _holds_functions(kind):
        return value
    return kind.instance_class(*items) if isinstance(kind, types.NamedTuple | types.NamedUniTuple) else tuple(items)


@cache
def _dtype_of(kind: Any) -> np.dtype[Any]:
    return np.dtype(str(kind.dtype))


@cache
def _holds_functions(kind: Any) -> bool:
    return any(isinstance(field, types.FunctionType | types.BaseTuple) for field in kind.types)
