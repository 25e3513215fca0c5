"""Adaptive pooling by topi, or as a reduction."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from relax_mlir import topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.convolution import SPATIAL
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.reduce import pooled
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.strategy.implementation import DEFAULT_PLEVEL, PLAIN, Compute, OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.strategy.registry import Strategy
from relax_mlir.target import Target
from relax_mlir.te import Tensor
from relax_mlir.topi.manipulate import reordered


def _pooled(attrs: Attrs, data: Tensor, out_type: StructInfo, kind: str) -> Tensor:
    """Adaptive pooling of any layout; means of 16-bit floats are computed in float32."""
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
    letters = SPATIAL[len(attrs.layout) - 2]
    sizes = dict(zip(attrs.out_layout, out_type.known_shape, strict=True))
    wide = compute_dtype(dtypes.dtype(data.dtype)).name if kind == "avg" else data.dtype
    given = data if wide == data.dtype else topi.cast(data, wide)
    function = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}[
        len(letters)
    ]
    found = function(given, [sizes[letter] for letter in letters], kind, attrs.layout)
    return reordered(
        "adaptive_pool",
        found if wide == data.dtype else topi.cast(found, data.dtype),
        attrs.layout,
        attrs.out_layout,
    )


def _averaged(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The mean of each window."""
    return _pooled(attrs, inputs[0], out_type, "avg")


def _greatest(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The maximum of each window."""
    return _pooled(attrs, inputs[0], out_type, "max")


def _strategy(compute: Compute, is_mean: bool) -> Strategy:
    """A reduction if one window covers the whole input, else a tensor expression."""

    def strategy(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo, target: Target) -> OpStrategy:
        assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
        found = OpStrategy()
        found.add_implementation(compute, name=PLAIN)
        spatial = SPATIAL[len(attrs.layout) - 2]
        axes = [attrs.layout.index(letter) for letter in spatial]
        is_one = all(out_type.known_shape[attrs.out_layout.index(letter)] == 1 for letter in spatial)
        if is_one and attrs.out_layout == attrs.layout:
            rule = partial(pooled, axes=axes, is_mean=is_mean)
            found.add(OpImplementation("reduction", plevel=DEFAULT_PLEVEL + 1, rule=rule))
        return found

    return strategy


avg_pool = _strategy(_averaged, is_mean=True)
max_pool = _strategy(_greatest, is_mean=False)
