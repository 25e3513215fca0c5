"""Lowering of ops that rearrange elements: layouts, channels and pixels."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir import topi
from relax_mlir.dialects.rearrange import (
    BatchFlattenOp,
    LayoutTransformOp,
    PixelShuffleOp,
    PixelUnshuffleOp,
    parse_index_map,
)
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.types import Tensor as TensorInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.prim_bodies import reshaped
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, expression, lower
from relax_mlir.te import Tensor, functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.topi.common import computed, size
from relax_mlir.topi.tag import INJECTIVE


@lower(BatchFlattenOp)
def legalize_batch_flatten(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return [reshaped(op.operands[0], op.results[0].dims)]


@expression(LayoutTransformOp)
def layout_transform(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Compute the source index of each element of the result; indices out of range are padding."""
    (x,) = inputs
    mapping = parse_index_map("layout_transform", attrs.index_map)
    assert isinstance(out_type, TensorInfo)

    def value(*i: Expr) -> Expr:
        places: list[Expr] = []
        tests: list[Expr] = []
        for axis, dim in enumerate(x.shape):
            place: Expr = as_expr(0)
            for result, digits in enumerate(mapping.results):
                for digit in digits:
                    if digit.axis != axis:
                        continue
                    part = i[result] if digit.scale == 1 else i[result] // digit.scale
                    if digit is not digits[0]:
                        part = part % (digit.extent or 1)
                    place = place + part * digit.lower if digit.lower > 1 else place + part
            places.append(place)
            if not mapping.is_full(axis, dim):
                tests.append(place < size(dim))
        if not tests:
            return x(*places)
        return functions.if_then_else(functions.all(*tests), x(*places), functions.const(attrs.pad_value, x.dtype))

    return computed(out_type.dims, value, "T_layout_transform", INJECTIVE)


@expression(PixelShuffleOp)
def pixel_shuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Groups of channels become squares of pixels."""
    return topi.nn.pixel_shuffle(inputs[0], attrs.upscale_factor)


@expression(PixelUnshuffleOp)
def pixel_unshuffle(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Tensor:
    """Squares of pixels become groups of channels."""
    assert isinstance(out_type, TensorInfo)
    data, side = inputs[0], attrs.downscale_factor

    def value(*i: Expr) -> Expr:
        *outer, channel, row, column = i
        inside = channel % (side * side)
        return data(*outer, channel // (side * side), row * side + inside // side, column * side + inside % side)

    return computed(out_type.dims, value, "T_pixel_unshuffle", INJECTIVE)
