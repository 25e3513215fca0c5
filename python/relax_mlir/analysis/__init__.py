"""Analyses of Relax modules."""

from relax_mlir.analysis.call_graph import call_graph, recursion
from relax_mlir.analysis.memory_estimate import MemoryEstimate, estimate_memory
from relax_mlir.analysis.module_summary import FunctionSummary, ModuleSummary, OpCount, summarize
from relax_mlir.analysis.purity import is_pure
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal
from relax_mlir.analysis.structural_hash import structural_hash
from relax_mlir.analysis.symbols import bound_symbols, defined_symbols, free_symbols
from relax_mlir.analysis.use_def import Use, UseDef, compile_time_computable, name_to_binding, use_def

__all__ = [
    "FunctionSummary",
    "MemoryEstimate",
    "ModuleSummary",
    "OpCount",
    "Use",
    "UseDef",
    "assert_structural_equal",
    "bound_symbols",
    "call_graph",
    "compile_time_computable",
    "defined_symbols",
    "estimate_memory",
    "find_difference",
    "free_symbols",
    "is_pure",
    "name_to_binding",
    "recursion",
    "structural_equal",
    "structural_hash",
    "summarize",
    "use_def",
]
