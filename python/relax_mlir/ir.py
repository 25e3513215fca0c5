"""The counterpart of ``tvm.ir``: the module, structural equality, ops by name.

>>> from relax_mlir.ir import assert_structural_equal
"""

from __future__ import annotations

from relax_mlir.analysis.structural import assert_structural_equal, structural_equal, structural_hash
from relax_mlir.ir_module import IRModule
from relax_mlir.op.op_registry import Op, register_op_attr

__all__ = [
    "IRModule",
    "Op",
    "assert_structural_equal",
    "register_op_attr",
    "structural_equal",
    "structural_hash",
]
