"""Tags: how elements of a result depend on those of the inputs, as TVM calls it."""

from __future__ import annotations

from relax_mlir.te.broadcasting import BROADCAST, ELEMENTWISE

ELEMWISE = ELEMENTWISE
"""An element of the element at the same place."""
INJECTIVE = "injective"
"""Every element of elements at places that the indices tell."""
COMM_REDUCE = "comm_reduce"
"""Elements combined."""
COMM_REDUCE_IDX = "comm_reduce_idx"
"""The place of an element that is found by combining."""

__all__ = ["BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE"]
