"""Gradients of pooling ops, a loss and take; and marks for automatic differentiation, which are identities."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis, require_same
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.fields import Int, Operand, OptionalOperand, Text
from relax_mlir.dialects.losses import (
    REDUCTIONS,
    check_nll_loss,
    set_class_weights,
    targets_shape,
)
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.pooling import Pooling, WindowOp
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.mlir import ext


class MarkOp(RelaxOp):
    """Base of the ops that return their operand."""

    op_pattern = OpPatternKind.ELEMWISE

    input: Operand
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


class PoolingBackwardOp(WindowOp):
    """Base of the gradients of pooling ops over images."""

    output_grad: Operand
    data: Operand
    result: ext.Result[Any]
    pool_size, strides, padding, dilation = (1, 1), (1, 1), (0, 0), (1, 1)
    layout = "NCHW"
    count = 2

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


class AvgPool2dBackwardOp(PoolingBackwardOp, name="grad_avg_pool2d_backward", traits=[ext.Pure]):
    """The gradient of `AvgPool2dOp` with respect to its data: `output_grad` is shared by all elements of a window.

    16-bit floats are accumulated in float32.

    Example: ``[[1, 5], [2, 4]]`` with pool_size ``[2, 2]`` and output_grad ``[[8]]`` gives ``[[2, 2], [2, 2]]``.
    """


class NllLossBackwardOp(RelaxOp, name="grad_nll_loss_backward", traits=[ext.Pure]):
    """The gradient of `NllLossOp` with respect to its predictions.

    `output_grad` has the shape of the loss: a scalar, or for reduction ``none`` the shape of the targets.

    Example: shapes ``()``, ``(n, c)``, ``(n,)`` and ``(c,)`` give ``(n, c)``.
    """

    output_grad: Operand
    predictions: Operand
    targets: Operand
    weights: OptionalOperand = None
    reduction: Text = "mean"
    ignore_index: Int = -100
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        set_class_weights(what, given)

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

    output_grad: Operand
    x: Operand
    indices: Operand
    axis: Int | None = None
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
