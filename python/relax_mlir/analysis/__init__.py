"""Analyses of Relax modules."""

from relax_mlir.analysis.purity import is_pure
from relax_mlir.analysis.structural_equal import assert_structural_equal, find_difference, structural_equal

__all__ = ["assert_structural_equal", "find_difference", "is_pure", "structural_equal"]
