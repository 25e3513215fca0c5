"""Builders of explicit memory: ``R.memory.alloc_storage((4 * n,))``."""

from relax_mlir.dialects.builders import builders as _builders

globals().update(_builders("memory"))

__all__ = [*_builders("memory")]
