"""Analyses of Relax modules."""

from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal
from relax_mlir.analysis.symbols import bound_symbols, defined_symbols, free_symbols

__all__ = [
    "assert_structural_equal",
    "bound_symbols",
    "defined_symbols",
    "find_difference",
    "free_symbols",
    "structural_equal",
]
