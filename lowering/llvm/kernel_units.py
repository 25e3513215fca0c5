"""The compilation units of the kernels of the library."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from relax_mlir.lowering.base.module_parts import Part, split_kernel
from relax_mlir.lowering.kernels.library import KEPT, Kernel
from relax_mlir.lowering.llvm.to_llvm import kernel_to_flat
from relax_mlir.mlir import ir
from relax_mlir.transform import PassContext, Sequential
from relax_mlir.transform.context import REPRODUCERS, VERIFY_EACH


def units_of(kernels: Iterable[Kernel]) -> Iterator[Part]:
    """The compilation units of kernels without object files, which are lowered in the current context."""
    for kernel in kernels:
        if not kernel.objects:
            yield from _units(kernel)


@functools.lru_cache(KEPT)
def _units(kernel: Kernel) -> tuple[Part, ...]:
    module = ir.Module.parse(kernel.source)
    low_precision = any("f16" in type_ for type_ in kernel.exported.values())
    passes = kernel_to_flat(str(kernel.target), low_precision, not kernel.failing | kernel.parallel)
    # The code of a kernel is the same whatever the context of the module that uses it.
    with PassContext(config={VERIFY_EACH: False, REPRODUCERS: False}) as context:
        Sequential(passes, name="kernel").apply_(module, context)
    return tuple(split_kernel(module, list(kernel.exported)))
