"""Which functions ``--elide-kernels`` prints on one line: those that the compiler's generators have written."""

from __future__ import annotations

from relax_mlir.dialects.attributes import AS_GENERATED, KERNEL
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.parts.shared_code import is_support, shared_group
from relax_mlir.mlir import ir


def is_library_kernel(function: ir.Operation) -> bool:
    """Whether a function is a kernel or a support function, and no code of the module itself.

    Those are the functions that are the same in all modules, what generators write for one (epilogues), and prim
    funcs whose bodies a kernel generator has replaced: as long as the body is the reference in linalg, it is shown.
    """
    if shared_group(function) is not None or is_support(function) or AS_GENERATED in function.attributes:
        return True
    if KERNEL not in function.attributes:
        return False
    return not any(op.name.startswith("linalg.") for op in ops_of(function))
