"""How compiled functions see states: by address, each field loaded where it is used.

The type of a state is its name. Numba compares and prints types thousands of times while it compiles, and one that
listed all arrays of all states within a state made up most of the compile time. The layout of frames is that of
`copartition.core.types`. They never change while a kernel runs, and LLVM is told so: it need not load an address again
after every number that is written somewhere.

Functions of this package see arrays as views (`copartition.core.views`). Functions of users see Numba's own arrays,
with all that these can do.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import (
    lower_builtin,
    lower_cast,
    lower_getattr_generic,
)
from numba.core.typeconv import Conversion
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import intrinsic, models, register_model

from copartition.core.types import Array, Function, Scalar, Signature, State, Table, places_of, width_of
from copartition.core.views import HALF, WORD, InFrame, View, array_of, constant, struct, word

# Whoever calls whom, arrays go as views; but as Numba has them if its own pipeline compiles everything.
GO_AS_VIEWS = True


class Reference(types.Type):
    """The address of the frame of a state; `as_numpy` if its arrays are to be Numba's own."""

    def __init__(self, state: type[State], as_numpy: bool) -> None:
        self.state, self.as_numpy = state, as_numpy
        super().__init__(name=state.__name__)

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.state, self.as_numpy

    def can_convert_to(self, _typing: Any, other: Any) -> Any:
        """Tell that it is also a state of the kind that its own derives from."""
        is_kind = isinstance(other, Reference) and issubclass(self.state, other.state)
        return Conversion.safe if is_kind and self.as_numpy == other.as_numpy else None


class Places(types.Type):
    """A table of functions or states: the address of a list of addresses, and its length."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"Places({of})")


class Frame(types.Type):
    """The address of the packed arguments of a kernel that Python calls."""

    def __init__(self, own: Signature, as_numpy: bool) -> None:
        self.signature, self.as_numpy = own, as_numpy
        super().__init__(name=f"Frame({len(own.arguments)})")

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.signature, self.as_numpy


@register_model(Reference)
@register_model(Frame)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@register_model(Places)
class _PlacesModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("first", types.CPointer(types.int64)), ("count", types.int64)])


SCALARS = {"int64": types.int64, "uint64": types.uint64, "float64": types.float64, "void": types.void}


@cache
def field_type(kind: Any, as_numpy: bool) -> Any:
    """Return the Numba type of a field of a state."""
    if isinstance(kind, Array) and not as_numpy:
        return InFrame(getattr(types, kind.dtype), kind.n_dimensions)
    return numba_type(kind, as_numpy)


@cache
def numba_type(kind: Any, as_numpy: bool) -> Any:
    """Return the Numba type of an argument."""
    if isinstance(kind, Scalar):
        return SCALARS[kind.name]
    if isinstance(kind, Array):
        dtype = getattr(types, kind.dtype)
        return types.Array(dtype, kind.n_dimensions, "C") if as_numpy else View(dtype, kind.n_dimensions)
    if isinstance(kind, Function):
        own = kind.signature
        arguments = [
            numba_type(one, as_numpy and not (GO_AS_VIEWS and isinstance(one, Array))) for one in own.arguments
        ]
        called = numba_type(own.result, as_numpy)(*arguments)
        return types.ExternalFunctionPointer(called, get_pointer=_no_pointer)
    return Places(numba_type(kind.of, as_numpy)) if isinstance(kind, Table) else Reference(kind, as_numpy)


def numba_signature(own: Signature, as_numpy: bool) -> Any:
    """Return a signature as Numba has them."""
    return numba_type(own.result, as_numpy)(*[numba_type(kind, as_numpy) for kind in own.arguments])


def _no_pointer(_value: Any) -> int:
    raise TypeError("Functions of a state are not passed from Python.")


# --- fields ----------------------------------------------------------------------------------------------------------


def _load(context: Any, builder: Any, frame: Any, place: int, kind: Any, as_numpy: bool) -> Any:
    """Load what is at a place of a frame."""
    own = numba_type(kind, as_numpy)
    of_value = context.get_value_type(own)
    if isinstance(kind, Array) and as_numpy:
        view = _load(context, builder, frame, place, kind, False)
        return array_of(context, builder, own, view)
    if isinstance(kind, Array | Table):
        words = [word(builder, frame, place + i, element) for i, element in enumerate(of_value.elements)]
        return struct(builder, of_value, words)
    return word(builder, frame, place, of_value)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        """Return the type of a field."""
        place = places_of(kind.state).get(name)
        return None if place is None else field_type(place[1], kind.as_numpy)


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    place, field = places_of(kind.state)[name]
    if isinstance(field, Array) and not kind.as_numpy:
        return builder.gep(value, [ir.Constant(HALF, place)], inbounds=True) if place else value
    return _load(context, builder, value, place, field, kind.as_numpy)


@infer
class _Itself(AbstractTemplate):
    key = "static_getitem"

    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of ``state[0]``: its own."""
        state, index = arguments
        return signature(state, *arguments) if isinstance(state, Reference) and index == 0 else None


@lower_builtin("static_getitem", Reference, types.Any)
def _itself(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
    return arguments[0]


@lower_cast(Reference, Reference)
def _same_address(_context: Any, _builder: Any, _from: Any, _to: Any, value: Any) -> Any:
    return value


# --- tables ----------------------------------------------------------------------------------------------------------


@infer_global(operator.getitem)
class _Entry(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of an entry of a table."""
        of, index = arguments
        known = isinstance(of, Places) and isinstance(index, types.Integer)
        return signature(of.of, of, types.int64) if known else None


@lower_builtin(operator.getitem, Places, types.int64)
def _entry(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    pointer = builder.gep(builder.extract_value(arguments[0], 0), [arguments[1]], inbounds=True)
    value = context.get_value_type(called.return_type)
    return constant(builder, builder.load(builder.bitcast(pointer, value.as_pointer())))


# --- arguments from Python -------------------------------------------------------------------------------------------


@intrinsic
def unpacked(_typing: Any, frame: Any) -> Any:
    """Return the arguments that Python packed."""
    kinds = frame.signature.arguments
    result = types.Tuple([numba_type(kind, frame.as_numpy) for kind in kinds])

    def load(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values, place = [], 0
        for kind in kinds:
            values.append(_load(context, builder, arguments[0], place, kind, frame.as_numpy))
            place += width_of(kind)
        return context.make_tuple(builder, result, values)

    return result(frame), load
