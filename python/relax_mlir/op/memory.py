"""Builders of explicit memory: ``R.memory.alloc_storage((4 * n,))``."""

from relax_mlir.dialects.memory import (
    alloc_storage,
    alloc_tensor,
    copy,
    kill_storage,
    kill_tensor,
    view,
)

__all__ = [
    "alloc_storage",
    "alloc_tensor",
    "copy",
    "kill_storage",
    "kill_tensor",
    "view",
]
