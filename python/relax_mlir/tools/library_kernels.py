"""The functions that ``--elide-kernels`` prints on one line: those written by the compiler's generators."""

from __future__ import annotations

from relax_mlir.dialects.attributes import AS_GENERATED, KERNEL
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.base.module_parts import is_support, shared_group
from relax_mlir.mlir import ir


def is_library_kernel(function: ir.Operation) -> bool:
    """True if a function is a kernel or a support function, not code of the module itself.

    These are the functions that are the same in all modules, functions that generators write for one module
    (epilogues), and prim funcs whose bodies a kernel generator has replaced: while the body is still the linalg
    reference, it is shown.
    """
    if shared_group(function) is not None or is_support(function) or AS_GENERATED in function.attributes:
        return True
    if KERNEL not in function.attributes:
        return False
    return not any(op.name.startswith("linalg.") for op in ops_of(function))
