"""Uses of the ops of neural networks and images, as `every_op.specs` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from relax_mlir import op as R
from torch.nn import functional as F

Array = np.ndarray[Any, Any]
Spec = tuple[Callable[..., Any], Callable[..., Any], Sequence[Sequence[Array]]]
RNG = np.random.default_rng(5)


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    return np.asarray(RNG.uniform(0.1, 0.9, shape)).astype(dtype)


def by_torch(function: Callable[..., Any], *more: Any, **options: Any) -> Callable[..., Array]:
    """A function of torch on arrays."""

    def compute(*arrays: Array) -> Array:
        tensors = [torch.from_numpy(np.array(array)) for array in arrays]
        return np.asarray(function(*tensors, *more, **options).numpy())

    return compute


def activations() -> dict[str, Spec]:
    """Element by element."""
    signed = [[floats(2, 3) - np.float32(0.5)], [floats(4, dtype=np.float16)], [floats(dtype=np.float64)]]
    return {
        "nn.leakyrelu": (R.nn.leakyrelu, by_torch(F.leaky_relu), signed),
        "nn.elu": (lambda x: R.nn.elu(x, 0.5), by_torch(F.elu, 0.5), signed[:1]),
        "nn.selu": (R.nn.selu, by_torch(F.selu), signed[:1]),
        "nn.softplus": (R.nn.softplus, by_torch(F.softplus), signed[:1]),
        "nn.hardswish": (R.nn.hardswish, by_torch(F.hardswish), signed[:1]),
        "nn.hardsigmoid": (R.nn.hardsigmoid, by_torch(F.hardsigmoid), signed[:1]),
        "nn.mish": (R.nn.mish, by_torch(F.mish), signed[:1]),
        "nn.relu6": (R.nn.relu6, by_torch(F.relu6), signed[:1]),
        "nn.prelu": (
            R.nn.prelu,
            by_torch(F.prelu),
            [[floats(2, 3, 2) - np.float32(0.5), floats(3)], [floats(2, 4), floats(1)]],
        ),
    }


def networks() -> dict[str, Spec]:
    return activations()
