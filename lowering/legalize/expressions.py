"""Conversions of tensors in tensor expressions: 16-bit floats are computed in float32."""

from __future__ import annotations

from relax_mlir import topi
from relax_mlir.dialects import dtypes
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.te import Tensor


def widened(tensor: Tensor) -> Tensor:
    """Convert 16-bit floats to float32."""
    wide = compute_dtype(dtypes.dtype(tensor.dtype)).name
    return tensor if wide == tensor.dtype else topi.cast(tensor, wide)


def narrowed(tensor: Tensor, dtype: str) -> Tensor:
    """Convert a tensor to `dtype`."""
    return tensor if tensor.dtype == dtype else topi.cast(tensor, dtype)
