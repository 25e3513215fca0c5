"""What TVM has in ``tvm.ir``: the module, and structural equality.

>>> from relax_mlir.ir import assert_structural_equal
"""

from __future__ import annotations

from relax_mlir.analysis.structural_equal import assert_structural_equal, structural_equal
from relax_mlir.analysis.structural_hash import structural_hash
from relax_mlir.ir_module import IRModule

__all__ = ["IRModule", "assert_structural_equal", "structural_equal", "structural_hash"]
