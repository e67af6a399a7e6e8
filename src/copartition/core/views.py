"""How compiled functions of this package see arrays, and how they count.

An array is a `View`, an address and a shape, or, if it is a field of a state, an `InFrame`: the place in the frame
where these are, which are loaded when they are needed. An index is not negative, and not checked (but with
``NUMBA_BOUNDSCHECK=1``, where a wrong one is named and ends the process). That is a fifth of the code that Numba makes
of an array, and loops run on vector registers that did not before.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import RefType, iternext_impl, lower_builtin, lower_cast, lower_getattr
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import models, register_model

from copartition.core.cache import setting

WORD, HALF = ir.IntType(64), ir.IntType(32)
CHECKS_BOUNDS = setting("BOUNDSCHECK") not in ("", "0")


def word(builder: Any, frame: Any, place: int, kind: Any = WORD) -> Any:
    """Load a word of a frame."""
    pointer = builder.gep(frame, [ir.Constant(HALF, place)], inbounds=True) if place else frame
    return constant(builder, builder.load(pointer if kind == WORD else builder.bitcast(pointer, kind.as_pointer())))


def constant(builder: Any, load: Any) -> Any:
    """Tell LLVM that what is loaded never changes."""
    load.set_metadata("invariant.load", builder.module.add_metadata([]))
    return load


def struct(builder: Any, kind: Any, values: list[Any]) -> Any:
    """Put values together."""
    value = ir.Constant(kind, ir.Undefined)
    for place, one in enumerate(values):
        value = builder.insert_value(value, one, place)
    return value


class View(types.Type):
    """An array of this package's functions: an address and a shape."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(name=f"View({dtype}, {ndim})")

    def can_convert_from(self, _typing: Any, other: Any) -> Any:
        """Tell that an array of Numba can be passed as a view."""
        is_array = isinstance(other, types.Array) and other.layout == "C"
        same = is_array and (other.dtype, other.ndim) == (self.dtype, self.ndim)
        return Conversion.safe if same and type(self) is View else None


class InFrame(View):
    """An array that is a field of a state: the address of the words with its address and its shape."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        types.Type.__init__(self, name=f"InFrame({dtype}, {ndim})")

    def can_convert_to(self, _typing: Any, other: Any) -> Any:
        """Tell that it can be had as a view."""
        return Conversion.safe if type(other) is View and (other.dtype, other.ndim) == (self.dtype, self.ndim) else None


@register_model(InFrame)
class _InFrameModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@register_model(View)
class _ViewModel(models.StructModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        shape = [(f"n{axis}", types.int64) for axis in range(kind.ndim)]
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), *shape])


def array_of(context: Any, builder: Any, kind: Any, view: Any) -> Any:
    """Return a view as an array of Numba; it belongs to nobody, and its strides are those of its shape."""
    of_value = context.get_value_type(kind)
    members = list(context.data_model_manager[kind]._fields)
    itemsize = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [builder.extract_value(view, 1 + axis) for axis in range(kind.ndim)]
    value, stride = ir.Constant(of_value, None), itemsize
    for axis in reversed(range(kind.ndim)):
        value = builder.insert_value(value, shape[axis], [members.index("shape"), axis])
        value = builder.insert_value(value, stride, [members.index("strides"), axis])
        stride = builder.mul(stride, shape[axis])
    items = shape[0] if kind.ndim == 1 else builder.mul(shape[0], shape[1])
    for name, one in (("nitems", items), ("itemsize", itemsize), ("data", builder.extract_value(view, 0))):
        value = builder.insert_value(value, one, members.index(name))
    return value


@lower_cast(InFrame, View)
def _as_view(context: Any, builder: Any, _from: Any, to: Any, value: Any) -> Any:
    own = context.get_value_type(to)
    return struct(builder, own, [word(builder, value, i, element) for i, element in enumerate(own.elements)])


@lower_cast(types.Array, View)
def _view_of(context: Any, builder: Any, kind: Any, to: Any, value: Any) -> Any:
    array = context.make_array(kind)(context, builder, value)
    return struct(builder, context.get_value_type(to), [array.data, *cgutils.unpack_tuple(builder, array.shape)])


# --- arrays ----------------------------------------------------------------------------------------------------------

INDEX = types.int64
TWO = types.UniTuple(types.int64, 2)


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return where the numbers of an array are."""
    if isinstance(kind, InFrame):
        return word(builder, value, 0, context.get_data_type(kind.dtype).as_pointer())
    return builder.extract_value(value, 0)


def _count(builder: Any, kind: Any, value: Any, axis: int = 0) -> Any:
    """Return how many there are along an axis."""
    if isinstance(kind, InFrame):
        return word(builder, value, 1 + axis)
    return builder.extract_value(value, 1 + axis)


def _indexed(view: Any, index: Any) -> tuple[Any, Any] | None:
    """Return the type of what is at an index, and that of the index; None if it is no index of a view."""
    if not isinstance(view, View):
        return None
    if isinstance(index, types.Integer | types.Boolean):
        return (view.dtype if view.ndim == 1 else View(view.dtype, 1)), INDEX
    if isinstance(index, types.BaseTuple) and len(index) == view.ndim == 2:
        return view.dtype, TWO
    if index == types.slice2_type and view.ndim == 1:
        return View(view.dtype, 1), index
    return None


@infer_global(operator.getitem)
class _Entry(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of an entry of an array."""
        of, index = arguments
        found = _indexed(of, index)
        return None if found is None else signature(found[0], of, found[1])


@infer_global(operator.setitem)
class _Assignment(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the types of an entry of an array that is written."""
        of, index, value = arguments
        found = _indexed(of, index)
        if found is None or found[0] != of.dtype or not self.context.can_convert(value, of.dtype):
            return None
        return signature(types.none, of, found[1], of.dtype)


def _check(builder: Any, index: Any, count: Any) -> None:
    """End the process at an index that is out of bounds, if that was asked for."""
    if CHECKS_BOUNDS:
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", index, count)):
            text = f"copartition: index %lld of %lld in {builder.function.name}\n\0".encode()
            say = ir.FunctionType(HALF, (HALF, ir.IntType(8).as_pointer()), var_arg=True)
            said = cgutils.global_constant(builder, "index", cgutils.make_bytearray(text))
            where = builder.bitcast(said, ir.IntType(8).as_pointer())
            arguments = (ir.Constant(HALF, 2), where, index, count)
            builder.call(cgutils.get_or_insert_function(builder.module, say, "dprintf"), arguments)
            builder.call(builder.module.declare_intrinsic("llvm.trap", (), ir.FunctionType(ir.VoidType(), ())), ())


def _pointer(context: Any, builder: Any, kind: Any, view: Any, index: Any) -> Any:
    """Return the address of an entry, or of a row."""
    if kind.ndim == 2:
        width = _count(builder, kind, view, 1)
        row = index
        if isinstance(index.type, ir.ArrayType):
            row, column = (builder.extract_value(index, axis) for axis in range(2))
            _check(builder, column, width)
        if CHECKS_BOUNDS:
            _check(builder, row, _count(builder, kind, view))
        place = builder.mul(row, width, flags=("nsw",))
        index = place if row is index else builder.add(place, column, flags=("nsw",))
    elif CHECKS_BOUNDS:
        _check(builder, index, _count(builder, kind, view))
    return builder.gep(_data(context, builder, kind, view), [index], inbounds=True)


def _of_kind(builder: Any, kind: Any, instruction: Any) -> Any:
    """Tell LLVM that numbers of one kind are not where those of another are."""
    module = builder.module
    root = module.add_metadata(["copartition"])
    one = module.add_metadata([f"{kind.dtype.bitwidth} {isinstance(kind.dtype, types.Float)}", root])
    zero = ir.Constant(WORD, 0)
    instruction.set_metadata("tbaa", module.add_metadata([one, one, zero]))
    return instruction


@lower_builtin(operator.getitem, View, types.int64)
@lower_builtin(operator.getitem, View, TWO)
def _get(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    view, index = arguments
    pointer = _pointer(context, builder, called.args[0], view, index)
    if isinstance(called.return_type, View):  # a row
        width = _count(builder, called.args[0], view, 1)
        return struct(builder, context.get_value_type(called.return_type), [pointer, width])
    return _of_kind(builder, called.args[0], builder.load(pointer))


@lower_builtin(operator.getitem, View, types.slice2_type)
def _stretch(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    view, stretch = arguments
    part = context.make_helper(builder, types.slice2_type, stretch)
    count = _count(builder, called.args[0], view)
    start, stop = (builder.select(builder.icmp_signed("<", end, count), end, count) for end in (part.start, part.stop))
    first = builder.gep(_data(context, builder, called.args[0], view), [start], inbounds=True)
    return struct(builder, context.get_value_type(called.return_type), [first, builder.sub(stop, start)])


@lower_builtin(operator.setitem, View, types.int64, types.Any)
@lower_builtin(operator.setitem, View, TWO, types.Any)
def _set(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    view, index, value = arguments
    store = builder.store(value, _pointer(context, builder, called.args[0], view, index))
    _of_kind(builder, called.args[0], store)
    return None


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of a length."""
        return signature(types.int64, arguments[0]) if isinstance(arguments[0], View) else None


@lower_builtin(len, View)
def _length(_context: Any, builder: Any, called: Any, arguments: Any) -> Any:
    return _count(builder, called.args[0], arguments[0])


@infer_getattr
class _Shape(AttributeTemplate):
    key = View

    def resolve_shape(self, kind: Any) -> Any:
        """Return the type of a shape."""
        return types.UniTuple(types.int64, kind.ndim)


@lower_getattr(View, "shape")
def _shape(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    counts = [_count(builder, kind, value, axis) for axis in range(kind.ndim)]
    return context.make_tuple(builder, types.UniTuple(types.int64, kind.ndim), counts)


# --- loops -----------------------------------------------------------------------------------------------------------


def count_up(*_limits: int) -> Any:
    """Stand for ``range`` in functions of this package: a sixth of the code that Numba makes of it."""
    raise TypeError("Only compiled functions call this.")


class Counter(types.SimpleIteratorType):
    """The address of the next number, the one to stop at, and the step."""

    def __init__(self) -> None:
        super().__init__("Counter", types.int64)


COUNTER = Counter()


@register_model(Counter)
class _CounterModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_global(count_up)
class _CountUp(AbstractTemplate):
    def generic(self, arguments: Any, _keywords: Any) -> Any:
        """Return the type of a loop."""
        return signature(COUNTER, *[types.int64] * len(arguments))


@lower_builtin(count_up, types.VarArg(types.int64))
def _begin_loop(_context: Any, builder: Any, _called: Any, arguments: Any) -> Any:
    first, stop = (ir.Constant(WORD, 0), arguments[0]) if len(arguments) == 1 else arguments[:2]
    step = arguments[2] if len(arguments) == 3 else ir.Constant(WORD, 1)
    with builder.goto_entry_block():
        counter = builder.alloca(WORD, 3)
    for place, value in enumerate((first, stop, step)):
        builder.store(value, builder.gep(counter, [ir.Constant(HALF, place)], inbounds=True))
    return counter


@lower_builtin("getiter", Counter)
def _loop(_context: Any, _builder: Any, _called: Any, arguments: Any) -> Any:
    return arguments[0]


@lower_builtin("iternext", Counter)
@iternext_impl(RefType.UNTRACKED)
def _next(_context: Any, builder: Any, _called: Any, arguments: Any, result: Any) -> None:
    (counter,) = arguments
    stop_at, step_at = (builder.gep(counter, [ir.Constant(HALF, place)], inbounds=True) for place in (1, 2))
    number, stop, step = builder.load(counter), builder.load(stop_at), builder.load(step_at)
    ahead = builder.select(
        builder.icmp_signed(">", step, ir.Constant(WORD, 0)),
        builder.icmp_signed("<", number, stop),
        builder.icmp_signed(">", number, stop),
    )
    builder.store(builder.add(number, step, flags=("nsw",)), counter)
    result.set_valid(ahead)
    result.yield_(number)
