"""Legalisation of elementwise ops: unary, binary, bitwise, comparison, astype, where, clip, and quantization."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.binary import clip_bound
from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, register, reshaped
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.mlir import arith, math
from relax_mlir.scalars.arithmetic import (
    Scalar,
    const,
    convert,
    is_nan,
    maximum,
    minimum,
    select,
    widened,
    widened_test,
)
from relax_mlir.scalars.rules import (
    BINARY_RULES,
    BITWISE_RULES,
    COMPARISON_RULES,
    FLOAT_TESTS,
    ROUNDING,
    UNARY_RULES,
    plain,
)

register(BINARY_RULES)
register(BITWISE_RULES)
register(COMPARISON_RULES)
register(UNARY_RULES)


@legalization(*(f"relax.{name}" for name in ROUNDING))
def legalize_rounding(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Round floats; return integers unchanged."""
    dtype = dtype_of(op.operands[0])
    if not dtype.is_float:
        return op.operands
    rule = plain(ROUNDING[op.args.op])
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@legalization(*(f"relax.{name}" for name in FLOAT_TESTS))
def legalize_float_test(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Test floats; the answer for integers and bool is constant."""
    dtype = dtype_of(op.operands[0])
    test, answer = FLOAT_TESTS[op.args.op]
    if not dtype.is_float:
        result = op.results[0].dtype
        assert result is not None
        return elementwise_prim(lz, op, lambda x: const(result, answer))
    rule = widened_test(test)
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


# Legalisation of astype.


@legalization("relax.astype")
def legalize_astype(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Convert the dtype; return the tensor itself if it already has it."""
    source, target = dtype_of(op.operands[0]), op.results[0].dtype
    assert target is not None
    if source == target:
        return op.operands
    return elementwise_prim(lz, op, lambda x: convert(source, target, x))


# Legalisation of where and clip.


@legalization("relax.where")
def legalize_where(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = dtype_of(op.operands[1])
    return elementwise_prim(lz, op, lambda condition, a, b: select(dtype, condition, a, b))


@legalization("relax.clip")
def legalize_clip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Clip the tensor; return it unchanged if there are no bounds."""
    low, high = clip_bound(op.args, "min"), clip_bound(op.args, "max")
    if low is None and high is None:
        return op.operands

    def rule(dtype: DType, x: Scalar) -> Scalar:
        if low is not None:
            x = maximum(dtype, x, const(dtype, low))
        return x if high is None else minimum(dtype, x, const(dtype, high))

    dtype = dtype_of(op.operands[0])
    return elementwise_prim(lz, op, lambda x: widened(rule)(dtype, x), key=(str(low), str(high)))


# Legalisation of quantize and dequantize: element by element, so that they fuse.


@legalization("relax.quantize")
def legalize_quantize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Quantise element by element; the conversion to an integer saturates."""
    call, (data, scale, zero), target = _call(op), _dtypes(op), _target(op)
    wide = _wide(data, scale, target)

    def element(x: Scalar, factor: Scalar, offset: Scalar) -> Scalar:
        number = math.roundeven(arith.divf(convert(data, wide, x), convert(scale, wide, factor)))
        known = arith.select(is_nan(number), const(wide, 0), number)
        return convert(wide, target, arith.addf(known, convert(zero, wide, offset)))

    return elementwise_prim(lz, call, element, (str(scale), str(zero)))


@legalization("relax.dequantize")
def legalize_dequantize(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    call, (data, scale, zero), target = _call(op), _dtypes(op), _target(op)
    wide = _wide(target, scale, data)

    def element(x: Scalar, factor: Scalar, offset: Scalar) -> Scalar:
        number = arith.subf(convert(data, wide, x), convert(zero, wide, offset))
        return convert(wide, target, arith.mulf(number, convert(scale, wide, factor)))

    return elementwise_prim(lz, call, element, (str(scale), str(zero)))


def _dtypes(op: OpCall) -> tuple[DType, DType, DType]:
    data, scale, zero = op.operands
    return dtype_of(data), dtype_of(scale), dtype_of(zero)


def _target(op: OpCall) -> DType:
    dtype = op.results[0].dtype
    assert dtype is not None
    return dtype


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
        reshaped(arg, [*arg.shape, *(1 for _ in range(behind))] if arg.shape and rank else [])
        for arg in parameters
    ]
    return OpCall(op.args, (data, *spread), op.results)
