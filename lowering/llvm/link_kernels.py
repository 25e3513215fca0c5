"""Kernels of the library below level V: their compilation units, and their functions in a module."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.error import CompileError
from relax_mlir.lowering.base.module_parts import Part, split_kernel
from relax_mlir.lowering.kernels.library import KEPT, Kernel, kernels_of
from relax_mlir.lowering.llvm.to_llvm import expanded_kernel, kernel_to_flat
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import splice
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, Pass, PassContext, Sequential
from relax_mlir.transform.context import REPRODUCERS, VERIFY_EACH


def units_of(kernels: Iterable[Kernel]) -> Iterator[Part]:
    """The compilation units of kernels without object files, which are lowered in the current context."""
    for kernel in kernels:
        if not kernel.objects:
            yield from _units(kernel)


@functools.lru_cache(KEPT)
def _units(kernel: Kernel) -> tuple[Part, ...]:
    is_simple = not kernel.failing | kernel.parallel
    module = _lowered(kernel, kernel_to_flat(str(kernel.target), _has_low_precision(kernel), is_simple))
    return tuple(split_kernel(module, list(kernel.exported)))


def _has_low_precision(kernel: Kernel) -> bool:
    """True if a kernel computes with f16 or bf16: names of kernels contain their element types."""
    return "f16" in kernel.name


def _lowered(kernel: Kernel, passes: list[Pass]) -> ir.Module:
    module = ir.Module.parse(kernel.source)
    # The code of a kernel is the same whatever the context of the module that uses it.
    with PassContext(config={VERIFY_EACH: False, REPRODUCERS: False}) as context:
        Sequential(passes, name="kernel").apply_(module, context)
    return module


@dataclass(frozen=True)
class LinkKernels(ModulePass):
    """Replace the declarations of kernels of the library by their functions, at level V.

    It shows the code of kernels, and serves compilers that take one module. `build` links object files instead.

    Args:
        target: the target that the kernels are for.
        kernel: the name of a kernel: its module, as emitted, replaces this one; it declares the kernels that it calls.

    Raises CompileError if the passes before it have not declared the kernels, for the target.
    """

    name: ClassVar[str] = "link-kernels"
    target: str = "cpu"
    kernel: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        kernels = kernels_of(module, Target.parse(self.target))
        if self.kernel:
            kernels = [kernel for kernel in kernels if kernel.name == self.kernel]
            if not kernels:
                raise CompileError(f"link-kernels: the module needs no kernel @{self.kernel}")
            for op in list(module.body.operations):
                op.operation.erase()
        for kernel in kernels:
            whole = [] if self.kernel else expanded_kernel(self.target, _has_low_precision(kernel))
            splice(_lowered(kernel, whole), module)
