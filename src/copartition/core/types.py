"""What kernels work on: kinds of arguments, signatures, and states, which are groups of arrays passed by reference.

A `State` is a class whose fields are annotated with what is defined here, with ``int``, ``float`` or another state. To
machine code it is the address of a *frame* of 64-bit words, laid out here and read by `copartition.core.references`:

    a whole number or a float      one word
    an array                       its address, then its shape
    a function                     its address; 0 if there is none
    another state                  the address of its frame
    a table of functions or states the address of a list of such addresses, then its length

A frame is written once, when a kernel first needs it, and never changes: what changes is inside arrays. A number that
changes is an array of length one. So a kernel is handed a few addresses, however large its states are.

A kernel returns a status: that it is done, or which help of Python it needs. One that stops has left everything in a
state from which it goes on when it is called again.

Nothing here needs Numba, which is imported only if something has to be compiled.
"""

from __future__ import annotations

import dataclasses
import inspect
import struct
import types as python_types
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple, Self, dataclass_transform, get_args, get_type_hints

import numpy as np

DONE = 0
FULL = 1  # there are more clusters than rows
INVALID = 2  # log weights are NaN or plus infinity
IMPOSSIBLE = 3  # all log weights are minus infinity
WRONG_PARTNER = 4  # a coupling chose what is no choice
ASKING = 5  # functionals written in Python are to be evaluated
DIARY_FULL = 6  # what was written down is to be taken out
JOINED = 7  # two chains are about to run together, and it was asked to be told
RECORD_FULL = 8  # there is no room for more clusterings that are to be recorded
NO_HYPERPARAMETER = 9  # there is no distribution for a number that is to be drawn
PAUSED = 10  # nothing is needed: it has worked for a while, and whoever wants to interrupt it can
ATOMS_FULL = 11  # there is no room for more clusterings that are to be kept


class Scalar(NamedTuple):
    """A number that is passed by value; called with kinds of arguments, the signature of a function that returns it."""

    name: str

    def __call__(self, *arguments: Any) -> Signature:
        """Return the signature of a function of these arguments."""
        return Signature(self, arguments)


class Array(NamedTuple):
    """A C-contiguous array."""

    dtype: str
    n_dimensions: int


class Signature(NamedTuple):
    """The kinds of the result and of the arguments of a compiled function."""

    result: Scalar
    arguments: tuple[Any, ...]


class Function(NamedTuple):
    """A compiled function that others call by its address."""

    signature: Signature


class Table(NamedTuple):
    """Any number of functions or states, found by their place."""

    of: Any


int64, uint64, float64, void = Scalar("int64"), Scalar("uint64"), Scalar("float64"), Scalar("void")
float1, float2, int1, int2 = Array("float64", 1), Array("float64", 2), Array("int64", 1), Array("int64", 2)
uint1, uint2, short1, ushort2 = Array("uint64", 1), Array("uint64", 2), Array("int16", 1), Array("uint16", 2)
narrow1, narrow2 = Array("int32", 1), Array("int32", 2)

Float1 = Annotated[np.ndarray, float1]
Float2 = Annotated[np.ndarray, float2]
Int1 = Annotated[np.ndarray, int1]
Int2 = Annotated[np.ndarray, int2]
UInt2 = Annotated[np.ndarray, uint2]
UShort2 = Annotated[np.ndarray, ushort2]
Narrow2 = Annotated[np.ndarray, narrow2]


@dataclass_transform(frozen_default=True, eq_default=False)
class State:
    """A group of arrays, numbers and functions that kernels take by reference.

    Inside a compiled function ``state[0]`` and ``state`` are the same; the first is how functions of users are written.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *inspect.get_annotations(cls))
        dataclasses.dataclass(frozen=True, eq=False)(cls)

    def __getitem__(self, index: int) -> Self:
        return self

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._fields)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}  # addresses hold in one process only

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Self:
        """Return a state of these values, in the order of its fields."""
        return cls(*values)

    def _replace(self, **changes: Any) -> Self:
        """Return another state with some fields changed."""
        return type(self)(**{**dict(zip(self._fields, self, strict=True)), **changes})

    @property
    def address(self) -> int:
        """Where the frame is that machine code reads."""
        packed = self.__dict__.get("_packed")
        if packed is None:
            # The first one stays, for good, if several threads are at it: others may have its address by then.
            packed = self.__dict__.setdefault("_packed", _pack(self))
        return packed[0]


def _pack(state: State) -> tuple[int, Any]:
    """Return the address of a frame, and what must be kept as long as it is used."""
    words: list[int | float] = []
    form: list[str] = []
    kept: list[Any] = []
    own: Any = type(state)
    for name, kind in fields_of(own).items():
        words += words_of(kind, getattr(state, name), kept)
        form.append(FORMS.get(kind, "q" * width_of(kind)))
    frame = np.frombuffer(bytearray(struct.pack("=" + "".join(form), *words) or bytes(8)), dtype=np.int64)
    return frame.ctypes.data, (frame, kept)


FORMS = {float64: "d", uint64: "Q"}


@cache
def fields_of(state: Any) -> dict[str, Any]:
    """Return the kinds of the fields of a state, by name."""
    hints = get_type_hints(state, include_extras=True)
    return {name: kind_of(hints[name]) for name in state._fields}


def kind_of(annotation: Any) -> Any:
    """Return the kind that an annotation stands for."""
    if hasattr(annotation, "__metadata__"):
        return annotation.__metadata__[0]
    if isinstance(annotation, python_types.UnionType):  # a state that may be missing
        annotation = next(one for one in get_args(annotation) if one is not type(None))
    return {int: int64, float: float64}.get(annotation, annotation)


def width_of(kind: Any) -> int:
    """Return how many words a field or an argument takes."""
    return 1 + kind.n_dimensions if isinstance(kind, Array) else 2 if isinstance(kind, Table) else 1


@cache
def places_of(state: Any) -> dict[str, tuple[int, Any]]:
    """Return where the fields of a state are in its frame, and their kinds."""
    places, place = {}, 0
    for name, kind in fields_of(state).items():
        places[name] = (place, kind)
        place += width_of(kind)
    return places


@cache
def layout_of(kind: Any, within: Any = None) -> str:
    """Return all that machine code knows of a kind, a signature or a state."""
    if kind is within:
        return str(kind.__name__)
    if isinstance(kind, type):
        fields = [f"{name}: {layout_of(one, kind)}" for name, one in fields_of(kind).items()]
        return f"{kind.__name__}({', '.join(fields)})"
    if isinstance(kind, Signature):
        return f"{kind.result.name}({', '.join(layout_of(one) for one in kind.arguments)})"
    inside = getattr(kind, "signature", getattr(kind, "of", None))
    return repr(kind) if inside is None else f"{type(kind).__name__}({layout_of(inside)})"


def words_of(kind: Any, value: Any, kept: list[Any]) -> Iterable[int | float]:
    """Return the words that machine code gets for a value; what has to live as long as they do is added to `kept`.

    Types are checked: machine code would read anything else as if it were of this kind.
    """
    if isinstance(kind, Array):
        if value.dtype != kind.dtype or value.ndim != kind.n_dimensions or not value.flags.c_contiguous:
            raise TypeError(
                f"A kernel takes {kind.n_dimensions} dimension(s) of {kind.dtype}, got an array of {value.ndim} "
                f"dimensions of {value.dtype}."
            )
        kept.append(value)
        return (value.__array_interface__["data"][0], *value.shape)
    if isinstance(kind, Scalar):
        return (value,)
    if isinstance(kind, Function):
        return (0 if value is None else checked(value, kind.signature).address,)
    if isinstance(kind, Table):
        addresses = np.array([next(iter(words_of(kind.of, one, kept))) for one in value], dtype=np.int64)
        kept.append(addresses)
        return (addresses.ctypes.data, len(addresses))
    if value is None:
        return (0,)
    if not isinstance(value, kind):
        raise TypeError(f"A kernel takes a {kind.__name__}, got {type(value).__name__}.")
    kept.append(value)
    return (value.address,)


def checked(function: Any, signature: Signature) -> Any:
    """Return a compiled function if it may be called with this signature, or one of states that its own derive from."""
    own = function.signature
    if function.from_python:
        raise TypeError(f"{function!r} is called by Python, and cannot be passed to kernels.")
    fits = own.result == signature.result and len(own.arguments) == len(signature.arguments)
    for mine, given in zip(own.arguments, signature.arguments, strict=False):
        same = mine == given or (isinstance(mine, type) and isinstance(given, type) and issubclass(mine, given))
        fits = fits and same
    if not fits:
        raise TypeError(f"{function!r} has another signature than what calls it.")
    return function


def packer_of(signature: Signature) -> Callable[..., bytes]:
    """Return the function that packs the arguments of a function into one frame, as bytes."""
    kinds = signature.arguments
    pack = struct.Struct("=" + "".join(FORMS.get(kind, "q" * width_of(kind)) for kind in kinds)).pack

    def packed(arguments: tuple[Any, ...]) -> bytes:
        kept: list[Any] = []  # the arguments themselves live as long as the call
        words: list[int | float] = []
        for kind, argument in zip(kinds, arguments, strict=True):
            words += words_of(kind, argument, kept)
        return pack(*words)

    return packed
