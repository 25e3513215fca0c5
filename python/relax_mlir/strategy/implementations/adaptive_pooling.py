"""Adaptive pooling by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.convolution import SPATIAL
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.scalars.arithmetic import compute_dtype
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.topi.layouts import reordered


def _pooled(attrs: Attrs, data: Tensor, out_type: StructInfo, kind: str) -> Tensor:
    """Means of 16-bit floats are taken in float32."""
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


@by_expression
def avg_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The mean of each window."""
    return _pooled(attrs, inputs[0], out_type, "avg")


@by_expression
def max_pool(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """The greatest element of each window."""
    return _pooled(attrs, inputs[0], out_type, "max")
