"""Convert PyTorch's dtypes and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_mlir.dialects.torch_tensors import from_torch
from relax_mlir.error import DTypeError, UnsupportedError
from relax_mlir.frontend.torch.torch_types import Argument, TorchTensor

DTYPES = (
    "bool",
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
)
"""The dtypes that PyTorch and this project share, with their names."""


def dtype_name(dtype: Argument) -> str:
    """Return the name of a PyTorch dtype. Raises `DTypeError` for one that this project does not have."""
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise DTypeError(f"dtype {dtype} is not supported; supported are {', '.join(DTYPES)}")
    return name


def require_dense(tensor: TorchTensor, name: str) -> None:
    """Raise `UnsupportedError` for a tensor whose elements are not all in memory."""
    if str(tensor.layout) != "torch.strided":
        raise UnsupportedError(
            f"tensor '{name}' has the layout {tensor.layout}; this project takes dense tensors: make it one with "
            "to_dense() before the module is exported"
        )


def array(tensor: TorchTensor, name: str, copy: bool) -> np.ndarray[Any, Any]:
    """Return the elements of a tensor as an array, without a copy if it is contiguous and `copy` is False.

    Raises:
        DTypeError: a dtype that this project does not have.
        UnsupportedError: a tensor that has no memory on the CPU.
    """
    dtype_name(tensor.dtype)
    require_dense(tensor, name)
    if tensor.device.type != "cpu":
        raise UnsupportedError(
            f"tensor '{name}' is on device {tensor.device}; this project takes tensors on the CPU: "
            "move the module there before it is exported"
        )
    found = from_torch(tensor)
    return found.copy() if copy else found
