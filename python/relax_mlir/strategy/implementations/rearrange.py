"""Move elements between channels, rows and columns, by topi."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.strategy.implementations.expressions import by_expression
from relax_mlir.te import Tensor
from relax_mlir.te.expressions import Expr
from relax_mlir.topi.common import computed
from relax_mlir.topi.tag import INJECTIVE


@by_expression
def pixel_shuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Groups of channels become squares of pixels."""
    return topi.nn.pixel_shuffle(inputs[0], attrs.upscale_factor)


@by_expression
def pixel_unshuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Squares of pixels become groups of channels."""
    assert isinstance(out_type, TensorInfo) and out_type.known_shape is not None
    data, side = inputs[0], attrs.downscale_factor

    def value(*i: Expr) -> Expr:
        *outer, channel, row, column = i
        inside = channel % (side * side)
        return data(
            *outer, channel // (side * side), row * side + inside // side, column * side + inside % side
        )

    return computed(out_type.known_shape, value, "T_pixel_unshuffle", INJECTIVE)
