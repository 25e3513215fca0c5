"""PyTorch, an optional dependency: its import, type names, dtypes and tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import numpy as np

from relax_mlir.dialects.constants import from_torch
from relax_mlir.error import ArgumentError, DTypeError, UnsupportedError

# Type names for PyTorch, which need not be installed and is not visible to type checkers.


Argument: TypeAlias = Any
"""An argument of an op: a value, a dimension, a number, a list of them, a string, None."""
ExportedProgram: TypeAlias = Any
"""``torch.export.ExportedProgram``."""
FakeTensor: TypeAlias = Any
"""A tensor of torch with a shape and a dtype but no elements; or the metadata of an integer, or a list of these."""
Graph: TypeAlias = Any
"""``torch.fx.Graph``."""
GraphModule: TypeAlias = Any
"""``torch.fx.GraphModule``."""
Node: TypeAlias = Any
"""``torch.fx.Node``."""
Size: TypeAlias = Any
"""An int, a ``torch.SymInt``, or a SymPy expression."""
SymPy: TypeAlias = Any
"""An expression of SymPy."""
TorchTensor: TypeAlias = Any
"""``torch.Tensor``."""
TreeSpec: TypeAlias = Any
"""``torch.utils._pytree.TreeSpec``."""


# Import PyTorch, an optional dependency, when the importer is first used.


def require_torch() -> Any:  # noqa: ANN401 - a module that has no types
    """Return the module ``torch``. Raises `ArgumentError` if it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise ArgumentError(
            f"relax_mlir.frontend.torch needs PyTorch, which cannot be imported ({error}); "
            "install it with: pip install 'relax-mlir[torch]'"
        ) from error
    return torch


def exact_sizes() -> AbstractContextManager[Any]:
    """Within the context, torch does not assume sizes of two or more when it traces, if its version supports this."""
    from torch.fx.experimental import _config

    known = hasattr(_config, "backed_size_oblivious")
    return _config.patch(backed_size_oblivious=True) if known else nullcontext()


# Convert PyTorch's dtypes and tensors.


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
