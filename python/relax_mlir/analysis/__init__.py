"""Analyses of Relax modules."""

from relax_mlir.analysis.memory_estimate import MemoryEstimate, estimate_memory
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal

__all__ = [
    "MemoryEstimate",
    "assert_structural_equal",
    "estimate_memory",
    "find_difference",
    "structural_equal",
]
