"""Analyses of Relax modules."""

from relax_mlir.analysis.call_graph import call_graph, recursion
from relax_mlir.analysis.memory_estimate import MemoryEstimate, estimate_memory
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal
from relax_mlir.analysis.symbols import bound_symbols, defined_symbols, free_symbols

__all__ = [
    "MemoryEstimate",
    "assert_structural_equal",
    "bound_symbols",
    "call_graph",
    "defined_symbols",
    "estimate_memory",
    "find_difference",
    "free_symbols",
    "recursion",
    "structural_equal",
]
