"""Gradients of pooling ops, a loss and take; and marks for automatic differentiation, which are identities."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis, require_same
from relax_mlir.dialects.convolution import Ints
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.losses import (
    REDUCTIONS,
    check_nll_loss,
    class_weights,
    loss_attributes,
    targets_shape,
)
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import maybe_int_attr
from relax_mlir.dialects.pooling import Pooling, pooling_attributes
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.mlir import ext, ir


class MarkOp(RelaxOp):
    """Base of the ops that return their operand."""

    op_pattern = OpPatternKind.ELEMWISE

    input: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return args.tensor(0)


class NoGradOp(MarkOp, name="grad_no_grad", traits=[ext.Pure]):
    """`input`, excluded from differentiation. Example: ``[1.0, 2.0]`` gives ``[1.0, 2.0]``."""


class StartCheckpointOp(MarkOp, name="grad_start_checkpoint", traits=[ext.Pure]):
    """`input`; values computed from it up to `EndCheckpointOp` may be recomputed for gradients.

    Example: ``[1.0, 2.0]`` gives ``[1.0, 2.0]``.
    """


class EndCheckpointOp(MarkOp, name="grad_end_checkpoint", traits=[ext.Pure]):
    """`input`, the end of a region that `StartCheckpointOp` begins. Example: ``[1.0, 2.0]`` gives ``[1.0, 2.0]``."""


class PoolingBackwardOp(RelaxOp):
    """Base of the gradients of pooling ops."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        grad, data = float_tensor(args, 0), float_tensor(args, 1)
        if grad.dtype is not None and data.dtype is not None:
            promote(grad.dtype, data.dtype, args.op)
        forward = Pooling.of(OpArgs(args.op, args.operand_names[1:], args.infos[1:], args.attrs))
        require_same(args, 0, forward.result.shape, "the pooling of 'data'")
        return data


class MaxPool2dBackwardOp(PoolingBackwardOp, name="grad_max_pool2d_backward", traits=[ext.Pure]):
    """The gradient of `MaxPool2dOp` with respect to its data: `output_grad` is added to the maximum of each window.

    Of equal maxima in a window the first is used; NaN counts as the maximum. 16-bit floats are accumulated in float32.

    Example: ``[[1, 5], [2, 4]]`` with pool_size ``[2, 2]`` and output_grad ``[[3]]`` gives ``[[0, 3], [0, 0]]``.
    """

    output_grad: ext.Operand[Any]
    data: ext.Operand[Any]
    pool_size: ir.ArrayAttr
    strides: ir.ArrayAttr
    padding: ir.ArrayAttr
    dilation: ir.ArrayAttr
    ceil_mode: ir.IntegerAttr
    count_include_pad: ir.IntegerAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]


class AvgPool2dBackwardOp(PoolingBackwardOp, name="grad_avg_pool2d_backward", traits=[ext.Pure]):
    """The gradient of `AvgPool2dOp` with respect to its data: `output_grad` is shared by all elements of a window.

    16-bit floats are accumulated in float32.

    Example: ``[[1, 5], [2, 4]]`` with pool_size ``[2, 2]`` and output_grad ``[[8]]`` gives ``[[2, 2], [2, 2]]``.
    """

    output_grad: ext.Operand[Any]
    data: ext.Operand[Any]
    pool_size: ir.ArrayAttr
    strides: ir.ArrayAttr
    padding: ir.ArrayAttr
    dilation: ir.ArrayAttr
    ceil_mode: ir.IntegerAttr
    count_include_pad: ir.IntegerAttr
    layout: ir.StringAttr
    out_layout: ir.StringAttr
    result: ext.Result[Any]


class NllLossBackwardOp(RelaxOp, name="grad_nll_loss_backward", traits=[ext.Pure]):
    """The gradient of `NllLossOp` with respect to its predictions.

    `output_grad` has the shape of the loss: a scalar, or for reduction ``none`` the shape of the targets.

    Example: shapes ``()``, ``(n, c)``, ``(n,)`` and ``(c,)`` give ``(n, c)``.
    """

    output_grad: ext.Operand[Any]
    predictions: ext.Operand[Any]
    targets: ext.Operand[Any]
    weights: ext.Operand[Any]
    reduction: ir.StringAttr
    ignore_index: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        grad = float_tensor(args, 0)
        check_nll_loss(args, 1)
        predictions = args.tensor(1)
        if grad.dtype is not None and predictions.dtype is not None:
            promote(grad.dtype, predictions.dtype, f"{args.op}: 'output_grad' and 'predictions'")
        if args.str_attr("reduction") != REDUCTIONS[0]:
            require_same(args, 0, (), "the loss")
        elif predictions.shape is not None:
            require_same(args, 0, targets_shape(predictions.shape), "'targets'")
        return predictions


class TakeBackwardOp(RelaxOp, name="grad_take_backward", traits=[ext.Pure]):
    """The gradient of `take` with respect to `x`: sums of `output_grad` per element of `x`.

    `axis` is that of `take`; ``unit`` means that `x` is a vector. Indices are clamped, as in `take`. 16-bit floats are
    accumulated in float32.

    Example: x of shape ``(3,)``, indices ``[0, 2, 0]`` and output_grad ``[1, 5, 2]`` give ``[3, 0, 5]``.
    """

    output_grad: ext.Operand[Any]
    x: ext.Operand[Any]
    indices: ext.Operand[Any]
    axis: ir.IntegerAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        grad, x, indices = float_tensor(args, 0), float_tensor(args, 1), args.tensor(2)
        args.require_dtype(2, lambda d: d.is_integer, "integers")
        if grad.dtype is not None and x.dtype is not None:
            promote(grad.dtype, x.dtype, f"{args.op}: 'output_grad' and 'x'")
        if x.shape is None or indices.shape is None:
            return x
        around: tuple[Any, Any] = ((), ())
        if not args.is_unit("axis"):
            axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
            around = x.shape[:axis], x.shape[axis + 1 :]
        require_same(args, 0, (*around[0], *indices.shape, *around[1]), "what take gives")
        return x


# -- builders --------------------------------------------------------------------------------------------------


def no_grad(input: ValueLike) -> Value:
    """`input`, excluded from differentiation (see `NoGradOp`)."""
    return create_one(NoGradOp, [as_value(input)])


def start_checkpoint(input: ValueLike) -> Value:
    """`input`, the start of a checkpoint (see `StartCheckpointOp`)."""
    return create_one(StartCheckpointOp, [as_value(input)])


def end_checkpoint(input: ValueLike) -> Value:
    """`input`, the end of a checkpoint (see `EndCheckpointOp`)."""
    return create_one(EndCheckpointOp, [as_value(input)])


def max_pool2d_backward(
    output_grad: ValueLike,
    data: ValueLike,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Value:
    """The gradient of `nn.max_pool2d` (see `MaxPool2dBackwardOp`)."""
    what = "max_pool2d_backward"
    require_insertion_point(f"grad.{what}")
    numbers, flags = (pool_size, strides, padding, dilation), (ceil_mode, count_include_pad)
    attributes = pooling_attributes(what, 2, numbers, flags, (layout, out_layout))
    return create_one(MaxPool2dBackwardOp, [as_value(output_grad), as_value(data)], attributes)


def avg_pool2d_backward(
    output_grad: ValueLike,
    data: ValueLike,
    pool_size: Ints = (1, 1),
    strides: Ints = (1, 1),
    padding: Ints = (0, 0),
    dilation: Ints = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> Value:
    """The gradient of `nn.avg_pool2d` (see `AvgPool2dBackwardOp`)."""
    what = "avg_pool2d_backward"
    require_insertion_point(f"grad.{what}")
    numbers, flags = (pool_size, strides, padding, dilation), (ceil_mode, count_include_pad)
    attributes = pooling_attributes(what, 2, numbers, flags, (layout, out_layout))
    return create_one(AvgPool2dBackwardOp, [as_value(output_grad), as_value(data)], attributes)


def nll_loss_backward(
    output_grad: ValueLike,
    predictions: ValueLike,
    targets: ValueLike,
    weights: ValueLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Value:
    """The gradient of `nn.nll_loss` (see `NllLossBackwardOp`); `weights` default to 1."""
    require_insertion_point("grad.nll_loss_backward")
    value = as_value(predictions)
    factors = class_weights("nll_loss_backward", value) if weights is None else as_value(weights)
    operands = [as_value(output_grad), value, as_value(targets), factors]
    return create_one(
        NllLossBackwardOp, operands, loss_attributes("nll_loss_backward", reduction, ignore_index)
    )


def take_backward(output_grad: ValueLike, x: ValueLike, indices: ValueLike, axis: int | None = None) -> Value:
    """The gradient of `take` (see `TakeBackwardOp`)."""
    require_insertion_point("grad.take_backward")
    attributes = {"axis": maybe_int_attr(axis, "take_backward: 'axis'")}
    return create_one(TakeBackwardOp, [as_value(v) for v in (output_grad, x, indices)], attributes)
