"""Lowering of quantize and dequantize: element by element, so that they fuse."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.quantization import DequantizeOp, QuantizeOp
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, reshaped
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, lower
from relax_mlir.mlir import arith, math
from relax_mlir.scalars.arithmetic import (
    Scalar,
    const,
    convert,
    is_nan,
)


@lower(QuantizeOp)
def legalize_quantize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Quantise element by element; the conversion to an integer saturates."""
    call, (data, scale, zero), target = _call(op), _dtypes(op), op.results[0].element
    wide = _wide(data, scale, target)

    def element(x: Scalar, factor: Scalar, offset: Scalar) -> Scalar:
        number = math.roundeven(arith.divf(convert(data, wide, x), convert(scale, wide, factor)))
        known = arith.select(is_nan(number), const(wide, 0), number)
        return convert(wide, target, arith.addf(known, convert(zero, wide, offset)))

    return elementwise_prim(lz, call, element, (str(scale), str(zero)))


@lower(DequantizeOp)
def legalize_dequantize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    call, (data, scale, zero), target = _call(op), _dtypes(op), op.results[0].element
    wide = _wide(target, scale, data)

    def element(x: Scalar, factor: Scalar, offset: Scalar) -> Scalar:
        number = arith.subf(convert(data, wide, x), convert(zero, wide, offset))
        return convert(wide, target, arith.mulf(number, convert(scale, wide, factor)))

    return elementwise_prim(lz, call, element, (str(scale), str(zero)))


def _dtypes(op: OpCall) -> tuple[DType, DType, DType]:
    data, scale, zero = op.operands
    return dtype_of(data), dtype_of(scale), dtype_of(zero)


def _wide(number: DType, scale: DType, quantized: DType) -> DType:
    """The compute dtype: float64 if an operand has it, or if float32 cannot represent all integers."""
    exact = quantized.bits < 32 and "float64" not in (number.name, scale.name)
    return dtypes.dtype("float32" if exact else "float64")


def _call(op: OpCall) -> OpCall:
    """Reshape scale and zero point so that they broadcast to the data."""
    data, *parameters = op.operands
    rank = len(data.shape)
    behind = 0
    if any(arg.shape and arg.shape[0] != 1 for arg in parameters):
        behind = rank - 1 - normalize_axis(op.args.op, op.args.int_attr("axis"), rank)
    spread = [
        reshaped(arg, [*arg.shape, *(1 for _ in range(behind))] if arg.shape and rank else []) for arg in parameters
    ]
    return OpCall(op.args, (data, *spread), op.results)
