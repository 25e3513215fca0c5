"""Batch norm: channels normalised by batch statistics (training) or moving averages (inference)."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.dim_orders import Order, Reordered, moved_axis
from relax_mlir.dialects.nn import check_parameter, float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, int_attr
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.mlir import ext, ir


class BatchNormOp(RelaxOp, name="nn_batch_norm", traits=[ext.Pure]):
    """``(x - mean) / sqrt(variance + epsilon) * gamma + beta`` for each channel along `axis`, and two moving averages.

    The result is a tuple of the normalised data, the moving mean and the moving variance. With `training`, the mean and
    the (biased) variance are those of all elements of a channel, and the moving averages become
    ``(1 - momentum) * moving + momentum * batch``. Otherwise the moving averages are used and returned unchanged. If
    `scale` or `center` is false, `gamma` or `beta` is ignored. 16-bit floats are computed in float32.

    Example: shapes ``(n, c, h, w)`` and four times ``(c,)`` with axis 1 give ``(n, c, h, w)``, ``(c,)`` and ``(c,)``.
    """

    data: ext.Operand[Any]
    gamma: ext.Operand[Any]
    beta: ext.Operand[Any]
    moving_mean: ext.Operand[Any]
    moving_var: ext.Operand[Any]
    axis: ir.IntegerAttr
    epsilon: ir.FloatAttr
    center: ir.IntegerAttr
    scale: ir.IntegerAttr
    momentum: ir.FloatAttr
    training: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = float_tensor(args)
        for flag in ("center", "scale", "training"):
            args.bool_attr(flag)
        for number in ("epsilon", "momentum"):
            args.float_attr(number)
        axis = args.int_attr("axis")
        if data.shape is not None:
            axis = normalize_axis(args.op, axis, len(data.shape))
            for index in (1, 2, 3, 4):
                check_parameter(args, index, [axis])
        return Tuple([data, *(_average(args, index, data, axis) for index in (3, 4))])

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        attributes = {"axis": moved_axis(args.attrs["axis"], order)}
        return Reordered((0,), (order, None, None), attributes)


def _average(args: OpArgs, index: int, data: Tensor, axis: int) -> Tensor:
    """Struct info of a moving average: the dtype of the data, one element per channel."""
    given = args.tensor(index)
    shape = given.shape
    if shape is None:
        shape = (None,) if data.shape is None else (data.shape[axis],)
    return Tensor(shape, given.dtype or data.dtype)


def batch_norm(
    data: ValueLike,
    gamma: ValueLike,
    beta: ValueLike,
    moving_mean: ValueLike,
    moving_var: ValueLike,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Value:
    """The normalised data and the moving averages, as a tuple (see `BatchNormOp`)."""
    require_insertion_point("batch_norm")
    attributes = {
        "axis": int_attr(axis, "batch_norm: 'axis'"),
        "epsilon": double_attr(epsilon, "batch_norm: 'epsilon'"),
        "center": bool_attr(center, "batch_norm: 'center'"),
        "scale": bool_attr(scale, "batch_norm: 'scale'"),
        "momentum": double_attr(momentum, "batch_norm: 'momentum'"),
        "training": bool_attr(training, "batch_norm: 'training'"),
    }
    operands = [as_value(value) for value in (data, gamma, beta, moving_mean, moving_var)]
    return create_one(BatchNormOp, operands, attributes)
