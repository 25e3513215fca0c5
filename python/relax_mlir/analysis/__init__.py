"""Analyses of Relax modules."""

from relax_mlir.analysis.call_graph import call_graph, recursion
from relax_mlir.analysis.memory_estimate import MemoryEstimate, estimate_memory
from relax_mlir.analysis.purity import is_pure
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal

__all__ = [
    "MemoryEstimate",
    "assert_structural_equal",
    "call_graph",
    "estimate_memory",
    "find_difference",
    "is_pure",
    "recursion",
    "structural_equal",
]
