"""Analyses of Relax modules."""

from relax_mlir.analysis.purity import is_pure
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal
from relax_mlir.analysis.use_def import Use, UseDef, compile_time_computable, name_to_binding, use_def

__all__ = [
    "Use",
    "UseDef",
    "assert_structural_equal",
    "compile_time_computable",
    "find_difference",
    "is_pure",
    "name_to_binding",
    "structural_equal",
    "use_def",
]
