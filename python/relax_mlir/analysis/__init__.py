"""Analyses of Relax modules."""

from relax_mlir.analysis.call_graph import call_graph, is_pure, recursion
from relax_mlir.analysis.module_summary import (
    FunctionSummary,
    MemoryEstimate,
    ModuleSummary,
    OpCount,
    estimate_memory,
    summarize,
)
from relax_mlir.analysis.structural import (
    assert_structural_equal,
    find_difference,
    structural_equal,
    structural_hash,
)
from relax_mlir.analysis.variables import (
    Use,
    UseDef,
    bound_symbols,
    compile_time_computable,
    defined_symbols,
    free_symbols,
    name_to_binding,
    use_def,
)

__all__ = [
    "FunctionSummary", "MemoryEstimate", "ModuleSummary", "OpCount", "Use", "UseDef",
    "assert_structural_equal", "bound_symbols", "call_graph", "compile_time_computable", "defined_symbols",
    "estimate_memory", "find_difference", "free_symbols", "is_pure", "name_to_binding", "recursion",
    "structural_equal", "structural_hash", "summarize", "use_def",
]  # fmt: skip
