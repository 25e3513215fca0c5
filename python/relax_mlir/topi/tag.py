"""Tags: the dependence of result elements on input elements, with TVM's names."""

from __future__ import annotations

from relax_mlir.te.tensors import BROADCAST, ELEMENTWISE

ELEMWISE = ELEMENTWISE
"""An element depends on the element at the same index."""
INJECTIVE = "injective"
"""An element depends on elements at indices computed from its own."""
COMM_REDUCE = "comm_reduce"
"""Elements are reduced."""
COMM_REDUCE_IDX = "comm_reduce_idx"
"""The index of an element is found by a reduction."""

__all__ = ["BROADCAST", "COMM_REDUCE", "COMM_REDUCE_IDX", "ELEMWISE", "INJECTIVE"]
