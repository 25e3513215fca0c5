"""Transposed convolutions by topi."""

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
from relax_mlir.topi.layouts import kernel_in, reordered


@by_expression
def transposed_convolution(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Sums in the layout with channels in front; 16-bit floats in float32."""
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
    what, letters = "conv_transpose", SPATIAL[len(attrs.strides)]
    sizes = dict(zip(attrs.out_layout, out_type.known_shape, strict=True))
    data = reordered(what, inputs[0], attrs.data_layout, f"NC{letters}")
    weight = kernel_in(what, inputs[1], attrs.kernel_layout, f"IO{letters}")
    target = str(out_type.dtype)
    sums = topi.nn.conv_transpose(
        data,
        weight,
        attrs.strides,
        attrs.padding,
        attrs.output_padding,
        attrs.dilation,
        attrs.groups,
        compute_dtype(dtypes.dtype(target)).name,
        counts=[sizes[letter] for letter in letters],
    )
    found = sums if sums.dtype == target else topi.cast(sums, target)
    return reordered(what, found, f"NC{letters}", attrs.out_layout)
