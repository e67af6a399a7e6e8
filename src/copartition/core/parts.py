"""How functions are compiled: each part is translated to LLVM's language once, each kernel to machine code once.

Numba treats every compiled function as one that Python may call. It optimises it together with all that it calls, makes
machine code of it and two wrappers around it, and does so again for each function that calls it: what lies five calls
deep is optimised and translated five times, and only the last of these is ever run. Here a part stays as it was written
until a kernel has gathered all its parts; then everything is optimised and translated once, and nothing but the kernel
can be seen from outside.

That takes a few methods of Numba that are not documented. `hooks_of` looks whether all of them are there and look as
they should; if not, Numba's own pipeline does the work (`numba.cfunc` and `numba.njit`): it takes longer, and the
numbers are the same.

Where a function of a user cannot be compiled, `complaint` says so in one sentence.
"""

from __future__ import annotations

import dis
import gc
import inspect
import logging
import re
import sys
import types as python_types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.core import codegen, compiler, lowering, typed_passes
from numba.core.compiler_machinery import register_pass
from numba.core.errors import NumbaError, NumbaRuntimeError

from copartition.core import references, state
from copartition.core.cache import Machine
from copartition.core.compiling import Kernel, Part
from copartition.core.references import Frame, numba_signature, unpacked
from copartition.core.views import View, array_of, count_up

FIELDS = {name: ", ".join(getattr(state, name)._fields) for name in ("Model", "Chain", "Pair", "Workspace")}

HINTS: list[tuple[str, str]] = [
    (r"Unknown attribute '(\w+)' of type (Model|Chain|Pair|Workspace)\b", "a {1} has no field '{0}', it has {fields}"),
    (
        r"Untyped global name '(\w+)'.*<class 'function'>",
        "the function '{0}' that it calls must be decorated with numba.njit",
    ),
    (r"Untyped global name '(\w+)'", "'{0}' cannot be compiled by Numba; use functions of math and numpy"),
    (r"No conversion from none to int64", "it must return a whole number on every path"),
    (r"No conversion from \S+ to none", "it must return nothing, and write its result into an array"),
    (
        r"NRT required|Function\(<built-in function (?:zeros|empty|ones|full|array)|_ol_array_allocate|build_list",
        "it makes an array or a list, which is not possible inside; use loops and scalars",
    ),
    (r"Signature mismatch", "it takes the wrong number of arguments"),
]


def complaint(function: Callable[..., Any], error: Exception) -> TypeError:
    """Return the error to raise for a function that Numba refused."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    code = function.__code__
    where = f"{function.__name__} ({code.co_filename}, line {code.co_firstlineno})"
    line = re.search(r'File "[^"]*", line (\d+)', text)
    if line:
        where = f"{function.__name__} ({code.co_filename}, line {line.group(1)})"
    for pattern, hint in HINTS:
        found = re.search(pattern, text, flags=re.DOTALL)
        if found:
            groups = found.groups()
            fields = FIELDS.get(groups[1], "") if len(groups) > 1 else ""
            return TypeError(f"{where} cannot be compiled: {hint.format(*groups, fields=fields)}.")
    first = next((one.strip() for one in text.splitlines() if one.strip() and "nopython" not in one), text)
    return TypeError(
        f"{where} cannot be compiled: {first} (NUMBA_DISABLE_JIT=1 runs it as plain Python, for debugging)."
    )


logger = logging.getLogger(__name__.partition(".")[0])

# Sums may be reordered, which lets loops run on vector registers, and products fused; NaN and infinity stay legal.
# Without the runtime (_nrt) no array can be made inside a kernel, and none is counted: counting the uses of arrays,
# with atomic instructions, took as long as the arithmetic.
OPTIONS: dict[str, Any] = {
    "_nrt": False,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}


def translate(one: Kernel) -> tuple[int, Machine | None]:
    """Compile a function; return where its machine code is, and what is to be kept of it, if that is known."""
    _load_numba()
    compilers = {False: KernelCompiler, True: UsersCompiler}
    pipeline: dict[str, Any] = {"pipeline_class": compilers[one.is_users]} if has_hooks() else {}
    references.GO_AS_VIEWS = bool(pipeline)
    function: Any = _resolved(one.function, one.is_users)
    as_numpy = not pipeline or one.is_users
    signature = numba_signature(one.signature, as_numpy)
    if one.from_python:
        function, signature = _entry(function, one), signature.return_type(Frame(one.signature, as_numpy))
    with _without_collecting():
        try:
            compiled = numba.cfunc(signature, **pipeline, **OPTIONS)(function)
        except (NumbaError, NumbaRuntimeError, NameError) as error:
            raise complaint(one.function, error) from error
    _compiled.append(compiled)
    return compiled.address, machine_of(compiled) if pipeline else None


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Let Python not look for garbage meanwhile: Numba makes very many objects, and keeps most of them."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


_compiled: list[Any] = []  # for good: their addresses are known elsewhere


def _entry(function: Callable[..., Any], one: Kernel) -> Callable[..., Any]:
    """Return the function of one address that Python calls: that of the frame with all arguments."""
    inside = _dispatcher(function, {"forceinline": True})

    def entry(frame):
        return inside(*unpacked(frame))

    entry.__qualname__ = entry.__name__ = one.__name__
    return entry


@cache
def _dispatcher_of(one: Part) -> Any:
    return _dispatcher(_resolved(one.function), one.options)


def type_of(one: Part) -> Any:
    """Return the type of a part."""
    return types.Dispatcher(_dispatcher_of(one))


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a part as Numba calls it."""
    if not has_hooks():
        return numba.njit(**(OPTIONS | options))(function)
    wrappers = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    compiled: Any = numba.njit(**(OPTIONS | wrappers | options), pipeline_class=PartCompiler)(function)
    # One version for all numbers. Numba would compile another one for each number that is written in a call, and
    # for each number that a variable begins with, which it finds out too late is not the only one.
    fold = compiled._compiler.fold_argument_types

    def fold_argument_types(arguments: Any, keywords: Any) -> tuple[Any, tuple[Any, ...]]:
        own, folded = fold(arguments, keywords)
        return own, tuple(types.unliteral(argument) for argument in folded)

    compiled._compiler.fold_argument_types = fold_argument_types
    return compiled


def _resolved(function: Callable[..., Any], is_users: bool = False) -> Any:
    """Return the same function with parts that it calls as Numba knows them, and with loops of our own."""
    if not isinstance(function, python_types.FunctionType):
        return function

    def known(value: Any) -> Any:
        return _dispatcher_of(value) if isinstance(value, Part) else value

    called = {one.argval for one in dis.get_instructions(function) if one.opname == "LOAD_GLOBAL"}
    names = {name: known(function.__globals__[name]) for name in called if name in function.__globals__}
    code = function.__code__
    if "range" in called and has_hooks() and not is_users:
        code = code.replace(co_names=tuple("count_up" if name == "range" else name for name in code.co_names))
        names["count_up"] = count_up
    cells = tuple(python_types.CellType(known(cell.cell_contents)) for cell in function.__closure__ or ())
    other = python_types.FunctionType(
        code, function.__globals__ | names, function.__name__, function.__defaults__, cells
    )
    other.__kwdefaults__, other.__qualname__ = function.__kwdefaults__, function.__qualname__
    other.__module__ = function.__module__
    return other


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


# --- what is not documented ------------------------------------------------------------------------------------------

# What is overridden or called, and the names of its arguments.
HOOKS: dict[tuple[Any, str], tuple[str, ...]] = {
    (codegen.JITCodeLibrary, "__init__"): ("self", "codegen", "name"),
    (codegen.JITCodeLibrary, "finalize"): ("self",),
    (codegen.JITCodeLibrary, "_finalize_final_module"): ("self",),
    (codegen.JITCodeLibrary, "_get_compiled_object"): ("self",),
    (codegen.JITCodeLibrary, "_get_module_for_linking"): ("self",),
    (codegen.JITCodeLibrary, "add_ir_module"): ("self", "ir_module"),
    (codegen.JITCodeLibrary, "enable_object_caching"): ("self",),
    (lowering.Lower, "storevar"): ("self", "value", "name", "argidx"),
    (lowering.Lower, "delvar"): ("self", "name"),
    (lowering.Lower, "alloca_lltype"): ("self", "name", "lltype", "datamodel"),
    (lowering.Lower, "getvar"): ("self", "name"),
    (typed_passes.NativeLowering, "run_pass"): ("self", "state"),
    (compiler.DefaultPassBuilder, "define_nopython_pipeline"): ("state", "name"),
}


def has_hooks() -> bool:
    """Tell whether all methods of Numba that are used here are there, with the arguments that they should have."""
    for (owner, name), arguments in HOOKS.items():
        method = getattr(owner, name, None)
        if method is None or tuple(inspect.signature(method).parameters) != arguments:
            _tell(f"{owner.__name__}.{name}")
            return False
    return True


@cache
def _tell(what: str) -> None:
    logger.warning("Numba %s has another %s: compiling takes longer, numbers are the same.", numba.__version__, what)


class PartLibrary(codegen.JITCodeLibrary):
    """The code of a part, neither optimised nor made into machine code, and which other parts it calls."""

    def __init__(self, generator: Any, name: str, is_called: bool) -> None:
        super().__init__(generator, name)
        self.is_called = is_called
        self.modules: list[Any] = []

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the code of the part itself; one that is to be called stays one function."""
        if self.is_called:
            for function in ir_module.functions:
                if function.blocks:
                    function.attributes.add("noinline")
        self.modules.append(binding.parse_assembly(str(ir_module)))

    def finalize(self) -> None:
        """Leave everything to the kernel."""
        self._finalized = True


class KernelLibrary(codegen.JITCodeLibrary):
    """The code of a kernel and of all its parts, linked and optimised once.

    Numba has two rounds before, which bring together the places where uses of arrays are counted. Kernels do not count.
    """

    entry = ""

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the code of the kernel itself."""
        self._final_module.link_in(binding.parse_assembly(str(ir_module)))

    def finalize(self) -> None:
        """Link all parts, optimise, and make machine code."""
        for library in self._all_parts():
            if isinstance(library, PartLibrary):
                for module in library.modules:
                    self._final_module.link_in(module, preserve=True)
            else:
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        module = self._final_module
        module.data_layout = self._codegen._data_layout
        if counted is not None:
            instructions = [1 for function in module.functions for block in function.blocks for _ in block.instructions]
            counted.append((self.entry, len(instructions)))
        for one in (*module.functions, *module.global_variables):
            if not one.is_declaration and one.name != self.entry:
                one.linkage = "internal"
        made = self._codegen._module_pass_manager()
        manager, *builder = made if isinstance(made, tuple) else (made,)  # older versions have no builder
        manager.run(module, *builder)
        self._finalize_final_module()

    def _all_parts(self) -> list[Any]:
        """Return the libraries of all that the kernel calls, directly or not."""
        found: dict[int, Any] = {}
        waiting = [*self._linking_libraries]
        while waiting:
            one = waiting.pop()
            if id(one) not in found:
                found[id(one)] = one
                waiting += one._linking_libraries if isinstance(one, PartLibrary) else []
        return list(found.values())


counted: list[tuple[str, int]] | None = None
"""If it is a list: names of kernels that are compiled, and their LLVM instructions before they are optimised."""


class KernelLower(lowering.Lower):
    """Numba's translation of a function, without looking after arrays that nobody counts."""

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value; what the variable held before need not be given back."""
        if name in self._singly_assigned_vars:
            self._alloca_var(name, self.typeof(name))
            self._blk_local_varmap[name] = value
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Forget a variable."""
        if name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Make room for a variable."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(lltype, name=name)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.NativeLowering):
    """Numba's last step with a library of our own, and a way in that expects no errors: kernels raise none."""

    _name = "kernel_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """Translate a function to machine code."""
        context = state.targetctx
        state.library = KernelLibrary(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        about = state["cr"].fndesc
        state.library.entry = about.llvm_cfunc_wrapper_name
        module = context.create_module("entry")
        own = context.call_conv.get_function_type(about.restype, about.argtypes)
        callee = ir.Function(module, own, about.llvm_func_name)
        # Arrays come as views, whatever the function takes.
        given = [View(one.dtype, one.ndim) if isinstance(one, types.Array) else one for one in about.argtypes]
        result = context.get_value_type(about.restype)
        kind = ir.FunctionType(result, [context.get_value_type(one) for one in given])
        entry = ir.Function(module, kind, about.llvm_cfunc_wrapper_name)
        builder = ir.IRBuilder(entry.append_basic_block())
        values = [
            array_of(context, builder, taken, value) if isinstance(taken, types.Array) else value
            for taken, value in zip(about.argtypes, entry.args, strict=True)
        ]
        _, value = context.call_conv.call_function(builder, callee, about.restype, about.argtypes, values)
        builder.ret(value)
        state.library.add_ir_module(module)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(typed_passes.NativeLowering):
    """Numba's last step, without the machine code."""

    _name = "part_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """Translate a function to LLVM's language."""
        is_called = not state.flags.forceinline
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname, is_called)
        state.flags.no_compile = True
        super().run_pass(state)
        result = state["cr"]
        # What Numba knows the function by, where there is none that Python can call: anything of its own that is
        # written in C will do. Called from Python, this one says that nothing is found.
        handle: Any = [].index
        state.targetctx.insert_user_function(handle, result.fndesc, [state.library])
        state["cr"] = result._replace(cfunc=handle)
        return True


# Steps for what functions of this package do not have: functions inside functions, expressions of arrays, branches on
# types, other contexts. They find nothing to do, and look for it for long.
NOT_NEEDED = frozenset(
    {
        "dead_branch_prune",
        "dump_parfor_diagnostics",
        "find_literally",
        "inline_closure_likes",
        "inline_overloads",
        "literal_unroll",
        "make_function_op_code_to_jit_function",
        "nopython_rewrites",
        "nopython_supported_feature_validation",
        "rewrite_semantic_constants",
        "with_lifting",
    }
)


class KernelCompiler(compiler.CompilerBase):
    """Numba's pipeline with another last step."""

    last: Any = KernelLowering
    left_out: frozenset[str] = NOT_NEEDED

    def define_pipelines(self) -> list[Any]:
        """Return the pipeline."""
        manager = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state, self.last._name)
        usual = typed_passes.NativeLowering
        manager.passes = [
            (self.last if one is usual else one, text) for one, text in manager.passes if one._name not in self.left_out
        ]
        manager.finalize()
        return [manager]


class UsersCompiler(KernelCompiler):
    """The same for functions of users, which may have anything."""

    left_out = frozenset()


class PartCompiler(KernelCompiler):
    """The same for parts."""

    last = PartLowering


def machine_of(compiled: Any) -> Machine:
    """Return what the cache keeps of a compiled function."""
    library = compiled._library
    needs = [one.name for one in library._final_module.functions if one.is_declaration]
    return Machine(
        library.entry, [name for name in needs if not name.startswith("llvm.")], library._get_compiled_object()
    )
