"""PyTorch tensors as NumPy arrays, without requiring PyTorch to be installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from relax_mlir.dialects import dtypes


def is_torch(item: Any) -> bool:  # noqa: ANN401 - any Python object
    """True if `item` is a PyTorch tensor."""
    return type(item).__module__.partition(".")[0] == "torch" and hasattr(item, "detach")


def from_torch(item: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - a tensor of PyTorch
    """A PyTorch tensor as an array."""
    host = item.detach().cpu().contiguous().resolve_conj().resolve_neg()
    if str(host.dtype) != "torch.bfloat16":
        return np.asarray(host.numpy())
    bits = host.view(sys.modules["torch"].int16).numpy()
    return np.asarray(bits.view(dtypes.dtype("bfloat16").numpy))
