"""Elementwise activations of neural networks: those with parameters, and those composed of other functions."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, ir_fields, normalize_axis
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.fields import Float, Int, Operand
from relax_mlir.dialects.nn import FloatUnaryOp
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, along_axis
from relax_mlir.dialects.types import dim_text, shape_text
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext


class ScaledUnaryOp(FloatUnaryOp):
    """Base of the activations on floats whose attributes are numbers."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for name in ir_fields(cls)[1]:
            args.float_attr(name)
        return super().infer(args)


class LeakyReluOp(ScaledUnaryOp, name="nn_leakyrelu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * x``. Example: ``[-2.0, 3.0]`` with alpha 0.5 gives ``[-1.0, 3.0]``."""

    data: Operand
    alpha: Float = 0.01
    result: ext.Result[Any]


class EluOp(ScaledUnaryOp, name="nn_elu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * (exp(x) - 1)``: the exponential linear unit.

    Example: ``[-1.0, 3.0]`` with alpha 1 gives ``[-0.63212056, 3.0]``.
    """

    data: Operand
    alpha: Float = 1.0
    result: ext.Result[Any]


class HardSigmoidOp(ScaledUnaryOp, name="nn_hardsigmoid", traits=[ext.Pure]):
    """``alpha * x + beta``, clamped to 0..1. Example: ``[-9.0, 0.0, 9.0]`` gives ``[0.0, 0.5, 1.0]``."""

    data: Operand
    alpha: Float = 1 / 6
    beta: Float = 0.5
    result: ext.Result[Any]


class SoftplusOp(ScaledUnaryOp, name="nn_softplus", traits=[ext.Pure]):
    """``log(1 + exp(beta * data)) / beta``, and `data` if ``beta * data > threshold``.

    Example: ``0.0`` with beta 1 gives ``0.6931472``.
    """

    data: Operand
    beta: Float = 1.0
    threshold: Float = 20.0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        if args.float_attr("beta") == 0:
            raise ArgumentError(f"{args.op}: beta is 0, expected another number")
        return super().infer(args)


class SeluOp(FloatUnaryOp, name="nn_selu", traits=[ext.Pure]):
    """``1.0507009873554805 * elu(x, alpha=1.6732632423543772)``: the scaled exponential linear unit.

    Example: ``[-1.0, 1.0]`` gives ``[-1.1113307, 1.050701]``.
    """

    data: Operand
    result: ext.Result[Any]


class HardSwishOp(FloatUnaryOp, name="nn_hardswish", traits=[ext.Pure]):
    """``x * min(max(x + 3, 0), 6) / 6``. Example: ``[-4.0, 0.0, 3.0]`` gives ``[0.0, 0.0, 3.0]``."""

    data: Operand
    result: ext.Result[Any]


class MishOp(FloatUnaryOp, name="nn_mish", traits=[ext.Pure]):
    """``x * tanh(log(1 + exp(x)))``. Example: ``1.0`` gives ``0.86509836``."""

    data: Operand
    result: ext.Result[Any]


class Relu6Op(RelaxOp, name="nn_relu6", traits=[ext.Pure]):
    """``min(max(x, 0), 6)``; NaN stays NaN. Example: ``[-1.0, 2.0, 7.0]`` gives ``[0.0, 2.0, 6.0]``."""

    op_pattern = OpPatternKind.ELEMWISE

    data: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        return args.tensor(0)


class PreluOp(RelaxOp, name="nn_prelu", traits=[ext.Pure]):
    """``x`` if ``x > 0``, else ``alpha * x``, with one `alpha` per index along `axis`, or one for all.

    `alpha` is a vector whose size is that of dimension `axis` of `data`, or 1.

    Example: shapes ``(n, c, h, w)`` and ``(c,)`` with axis 1 give ``(n, c, h, w)``.
    """

    op_pattern = OpPatternKind.BROADCAST

    data: Operand
    alpha: Operand
    axis: Int = 1
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number")
        data, alpha = args.tensor(0), args.tensor(1)
        if data.dtype is not None and alpha.dtype is not None:
            promote(data.dtype, alpha.dtype, args.op)
        if alpha.ndim is not None and alpha.ndim != 1:
            raise ShapeError(f"{args.op}: operand 'alpha' is {alpha}, expected one dimension")
        if data.shape is None:
            return data
        size = data.shape[normalize_axis(args.op, args.int_attr("axis"), len(data.shape))]
        given = None if alpha.shape is None else alpha.shape[0]
        if size is None or given is None or given == 1 or symbolic.prove_equal(given, size):
            return data
        raise ShapeError(
            f"{args.op}: operand 'alpha' has {dim_text(given)} elements, expected {dim_text(size)}, dimension "
            f"{args.int_attr('axis')} of 'data', {shape_text(data.shape)}, or 1"
        )

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return along_axis(args.attrs, order)


# -- builders --------------------------------------------------------------------------------------------------
