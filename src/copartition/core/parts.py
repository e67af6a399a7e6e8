"""Functions that are only parts of kernels: translated to LLVM's language, and no further.

Numba treats every compiled function as one that Python may call. It optimises it together with all that it calls, makes
machine code of it and two wrappers around it, and does so again for each function that calls it: what lies five calls
deep is optimised and translated five times, and only the last of these is ever run. Here a part stays as it was written
until a kernel has gathered all its parts; then everything is optimised and translated once.

A part cannot be called from Python. A kernel can, or, where its arguments are references, other kernels can.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel and of all its parts, optimised once.

    Numba has two rounds before, which bring together the places where uses of arrays are counted. Kernels do not count.
    """

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        made = self._codegen._module_pass_manager()
        manager, *builder = made if isinstance(made, tuple) else (made,)  # older versions have no builder
        manager.run(self._final_module, *builder)

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Return what the cache keeps: the machine code and its names.

        Numba keeps LLVM's code as well, for functions that are inlined elsewhere. No kernel is, and reading it takes
        longer than all the rest.
        """
        self._ensure_finalized()
        code = self._final_module
        text = [f'target triple = "{code.triple}"']
        text += [f'define void @"{one.name}"() {{ unreachable }}' for one in code.functions if not one.is_declaration]
        text += [f'@"{one.name}" = global i8 0' for one in code.global_variables if not one.is_declaration]
        return self.name, "object", (self._get_compiled_object(), parse_assembly("\n".join(text)).as_bitcode())


class PartLibrary(KernelLibrary):
    """The code of a part and of all that it calls, neither optimised nor made into machine code."""

    is_called = False

    def add_ir_module(self, ir_module: Any) -> None:
        """Take the code of the part itself; one that is to be called stays one function."""
        if self.is_called:
            for function in ir_module.functions:
                if function.blocks:
                    function.attributes.add("noinline")
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(NativeLowering):
    """Numba's last step with a library of our own."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate a function to machine code."""
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Numba's last step, without the machine code."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Translate a function to LLVM's language."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.is_called = not state.flags.forceinline
        state.flags.no_compile = True
        super().run_pass(state)
        result = state["cr"]
        # What Numba knows the function by, where there is none that Python can call: anything of its own that is
        # written in C will do. Called from Python, this one says that nothing is found.
        handle: Any = [].index
        state.targetctx.insert_user_function(handle, result.fndesc, [state.library])
        state["cr"] = result._replace(cfunc=handle)
        return True


class KernelCompiler(CompilerBase):
    """Numba's pipeline with another last step."""

    last: Any = KernelLowering

    def define_pipelines(self) -> list[Any]:
        """Return the pipeline."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, self.last._name)
        manager.passes = [(self.last if one is NativeLowering else one, text) for one, text in manager.passes]
        manager.finalize()
        return [manager]


class PartCompiler(KernelCompiler):
    """The same for parts."""

    last = PartLowering
