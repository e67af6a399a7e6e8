"""How compiled functions see states: by address, each field loaded where it is used.

The type of a state is its name. Numba compares and prints types thousands of times while it compiles, and one that
listed all arrays of all states within a state made up most of the compile time. The layout of blocks is that of
`copartition.core.types`. They never change while a kernel runs, and LLVM is told so: it need not load an address again
after every number that is written somewhere.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import lower_builtin, lower_getattr_generic
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

WORD = ir.IntType(64)


class Reference(types.Type):
    """The address of the block of a state."""

    def __init__(self, state: type[State]) -> None:
        self.state = state
        super().__init__(name=state.__name__)

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.state


class Places(types.Type):
    """A table of functions or states: the address of a list of addresses, and its length."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(name=f"Table({of})")


class Block(types.Type):
    """The address of the packed arguments of a kernel that Python calls."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        super().__init__(name=f"Block({len(signature.arguments)})")

    @property
    def key(self) -> Any:
        """What tells it from other types."""
        return self.signature


@register_model(Reference)
@register_model(Block)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@register_model(Places)
class _PlacesModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, [("first", types.CPointer(types.int64)), ("count", types.int64)])


SCALARS = {"int64": types.int64, "float64": types.float64, "void": types.void}


@cache
def numba_type(kind: Any) -> Any:
    """Return the Numba type of a field or an argument."""
    if isinstance(kind, Scalar):
        return SCALARS[kind.name]
    if isinstance(kind, Array):
        return types.Array(getattr(types, kind.dtype), kind.n_dimensions, "C")
    if isinstance(kind, Function):
        return types.ExternalFunctionPointer(numba_signature(kind.signature), get_pointer=_no_pointer)
    return Places(numba_type(kind.of)) if isinstance(kind, Table) else Reference(kind)


def numba_signature(own: Signature) -> Any:
    """Return a signature as Numba has them."""
    return numba_type(own.result)(*[numba_type(kind) for kind in own.arguments])


def _no_pointer(_value: Any) -> int:
    raise TypeError("Functions of a state are not passed from Python.")


# --- fields ----------------------------------------------------------------------------------------------------------


def _word(builder: Any, block: Any, place: int, kind: Any = WORD) -> Any:
    """Load a word of a block."""
    pointer = builder.gep(block, [ir.Constant(ir.IntType(32), place)], inbounds=True) if place else block
    return _constant(builder, builder.load(pointer if kind == WORD else builder.bitcast(pointer, kind.as_pointer())))


def _constant(builder: Any, load: Any) -> Any:
    """Tell LLVM that what is loaded never changes."""
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


def _load(context: Any, builder: Any, block: Any, place: int, kind: Any) -> Any:
    """Load what is at a place of a block."""
    as_numba = numba_type(kind)
    of_value = context.get_value_type(as_numba)
    if isinstance(kind, Array):
        return _array(context, builder, as_numba, of_value, block, place)
    if isinstance(kind, Table):
        first, count = _word(builder, block, place, of_value.elements[0]), _word(builder, block, place + 1)
        return builder.insert_value(builder.insert_value(ir.Constant(of_value, None), first, 0), count, 1)
    return _word(builder, block, place, of_value)


def _array(context: Any, builder: Any, kind: Any, of_value: Any, block: Any, place: int) -> Any:
    """Load an array; it belongs to nobody, and its strides are those of its shape."""
    members = context.data_model_manager[kind]._fields
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    at = {name: members.index(name) for name in members}
    value = ir.Constant(of_value, None)  # all zero
    data = _word(builder, block, place, of_value.elements[at["data"]])
    shape = [_word(builder, block, place + 1 + axis) for axis in range(kind.ndim)]
    stride = ir.Constant(WORD, itemsize)
    for axis in reversed(range(kind.ndim)):
        value = builder.insert_value(value, shape[axis], [at["shape"], axis])
        value = builder.insert_value(value, stride, [at["strides"], axis])
        stride = builder.mul(stride, shape[axis]) if axis else stride
    items = shape[0] if kind.ndim == 1 else builder.mul(shape[0], shape[1])
    value = builder.insert_value(value, items, at["nitems"])
    value = builder.insert_value(value, ir.Constant(WORD, itemsize), at["itemsize"])
    return builder.insert_value(value, data, at["data"])


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind: Any, name: str) -> Any:
        """Return the type of a field."""
        place = places_of(kind.state).get(name)
        return None if place is None else numba_type(place[1])


@lower_getattr_generic(Reference)
def _field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    place, field = places_of(kind.state)[name]
    return _load(context, builder, value, place, field)


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


@infer_global(operator.getitem)
class _Entry(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of an entry of a table."""
        table, index = arguments
        known = isinstance(table, Places) and isinstance(index, types.Integer)
        return signature(table.of, table, types.int64) if known else None


@lower_builtin(operator.getitem, Places, types.int64)
def _entry(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    pointer = builder.gep(builder.extract_value(arguments[0], 0), [arguments[1]], inbounds=True)
    value = context.get_value_type(called.return_type)
    return _constant(builder, builder.load(builder.bitcast(pointer, value.as_pointer())))


# --- arguments from Python -------------------------------------------------------------------------------------------


@intrinsic
def unpacked(_typing: Any, block: Any) -> Any:
    """Return the arguments that Python packed."""
    kinds = block.signature.arguments
    result = types.Tuple([numba_type(kind) for kind in kinds])

    def load(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values, place = [], 0
        for kind in kinds:
            values.append(_load(context, builder, arguments[0], place, kind))
            place += width_of(kind)
        return context.make_tuple(builder, result, values)

    return result(block), load
