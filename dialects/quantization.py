"""Quantization to integers with a scale and a zero point: quantize and dequantize."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import DTypeName, Float32Operand, Int, Int32Operand, Operand
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.error import DTypeError, ShapeError
from relax_mlir.mlir import ext

QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")
"""The dtypes of quantized values."""


class QuantizationOp(RelaxOp):
    """Base of quantize and dequantize: `scale` and `zero_point` are one number, or one per index along `axis`."""

    op_pattern = OpPatternKind.BROADCAST

    data: Operand
    scale: Float32Operand
    zero_point: Int32Operand
    axis: Int = -1
    out_dtype: DTypeName = "int8"
    result: ext.Result[Any]


class QuantizeOp(QuantizationOp, name="quantize", traits=[ext.Pure]):
    """``round(data / scale) + zero_point``, clamped to the range of `out_dtype`, with ties rounded to even.

    `scale` (floats) and `zero_point` (any numeric dtype) are scalars, vectors of one element, or vectors with the size
    of dimension `axis`. `out_dtype` is int8, uint8, int16, uint16 or int32. NaN becomes the zero point.

    Example: ``[0.2, -1.0]`` with scale 0.5 and zero point 3 gives ``[3, 1]``.
    """

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.is_float, "a float")
        return _checked(args, _quantized(args, dtype_of(args, "out_dtype"), "out_dtype"))


class DequantizeOp(QuantizationOp, name="dequantize", traits=[ext.Pure]):
    """``(data - zero_point) * scale`` in the float `out_dtype`: the inverse of `QuantizeOp`, with the same parameters.

    Example: int8 ``[3, 1]`` with scale 0.5 and zero point 3 gives ``[0.0, -1.0]``.
    """

    out_dtype = "float32"

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        given, target = args.tensor(0).dtype, dtype_of(args, "out_dtype")
        if given is not None:
            _quantized(args, given, "operand 'data'")
        if not target.is_float:
            raise DTypeError(f"{args.op}: out_dtype is {target}, expected a float")
        return _checked(args, target)


def _quantized(args: OpArgs, dtype: DType, what: str) -> DType:
    if dtype.name not in QUANTIZED:
        raise DTypeError(f"{args.op}: {what} has dtype {dtype}, expected one of {', '.join(QUANTIZED)}")
    return dtype


def _checked(args: OpArgs, dtype: DType) -> Tensor:
    """The struct info of the data with `dtype`, after checking the parameters against it."""
    args.require_dtype(1, lambda d: d.is_float, "a float")
    args.require_dtype(2, lambda d: d.kind != "bool", "a number")
    data, axis = args.tensor(0), args.int_attr("axis")
    for index in (1, 2):
        given = args.tensor(index)
        if given.ndim is not None and given.ndim > 1:
            raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected a scalar or a vector")
        size = given.shape[0] if given.shape else 1
        if size == 1 or size is None or data.shape is None:
            continue
        wanted = data.shape[normalize_axis(args.op, axis, len(data.shape))]
        if wanted is not None and not symbolic.prove_equal(size, wanted):
            raise ShapeError(
                f"{args.op}: operand '{args.name_of(index)}' has {dim_text(size)} elements, expected "
                f"{dim_text(wanted)}, dimension {axis} of 'data', {data}, or 1"
            )
    return data.with_dtype(dtype)
