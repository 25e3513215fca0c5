"""Losses, gradients of pooling ops, losses and take, and marks for automatic differentiation, which are identities."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis, require_same
from relax_mlir.dialects.builders import build
from relax_mlir.dialects.create import OnesOp
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.fields import Int, Operand, OptionalOperand, Text
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.pooling import Pooling, WindowOp
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import as_value
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext
from relax_mlir.symbolic import Dim

REDUCTIONS = ("none", "sum", "mean")


class CrossEntropyWithLogitsOp(RelaxOp, name="nn_cross_entropy_with_logits", traits=[ext.Pure]):
    """``-sum(predictions * labels)``, divided by the size of the first dimension if the rank is two or more.

    `predictions` are log probabilities, as from `nn.log_softmax`, and `labels` probabilities of the same shape. 16-bit
    floats are computed in float32.

    Example: shapes ``(n, c)`` and ``(n, c)`` give a scalar.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    predictions: Operand
    labels: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        predictions, labels = float_tensor(args, 0), float_tensor(args, 1)
        if predictions.dtype is not None and labels.dtype is not None:
            promote(predictions.dtype, labels.dtype, args.op)
        require_same(args, 1, predictions.shape, "'predictions'")
        return Tensor((), predictions.dtype or labels.dtype)


class NllLossOp(RelaxOp, name="nn_nll_loss", traits=[ext.Pure]):
    """``-predictions[n, targets[n, …], …] * weights[targets[n, …]]``, and 0 where the target is `ignore_index`.

    `predictions` are log probabilities of shape ``(batch, classes, …)`` or ``(classes,)``; `targets` are integers of
    the same shape without the classes; `weights` has one element per class. `reduction` ``none`` returns all losses,
    ``sum`` their sum, and ``mean`` the sum divided by the sum of the weights used (NaN if there are none). A target out
    of range is a `BoundsError` of the call. 16-bit floats are computed in float32.

    Example: shapes ``(n, c, h)``, ``(n, h)`` and ``(c,)`` give a scalar, with reduction ``none`` ``(n, h)``.
    """

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
        check_nll_loss(args, 0)
        predictions, targets = args.tensor(0), args.tensor(1)
        if args.str_attr("reduction") != "none":
            return Tensor((), predictions.dtype)
        if predictions.shape is None:
            return targets.with_dtype(predictions.dtype) if predictions.dtype else Tensor(targets.shape, None)
        shape = targets_shape(predictions.shape)
        return Tensor(shape, predictions.dtype)


def targets_shape(predictions: tuple[Dim | None, ...]) -> tuple[Dim | None, ...]:
    """The shape of predictions without the classes."""
    return () if len(predictions) == 1 else (predictions[0], *predictions[2:])


def check_nll_loss(args: OpArgs, first: int) -> None:
    """Raise an error unless operands `first` to ``first + 2`` are matching predictions, targets and weights."""
    reduction = args.str_attr("reduction")
    if reduction not in REDUCTIONS:
        raise ArgumentError(f"{args.op}: reduction is '{reduction}', expected one of {', '.join(REDUCTIONS)}")
    args.int_attr("ignore_index")
    predictions, weights = float_tensor(args, first), float_tensor(args, first + 2)
    args.require_dtype(first + 1, lambda d: d.is_integer, "integers")
    if predictions.dtype is not None and weights.dtype is not None:
        promote(predictions.dtype, weights.dtype, f"{args.op}: 'predictions' and 'weights'")
    if weights.ndim is not None and weights.ndim != 1:
        raise ShapeError(f"{args.op}: operand 'weights' is {weights}, expected one dimension")
    shape = predictions.shape
    if predictions.ndim == 0:
        raise ShapeError(f"{args.op}: operand 'predictions' is {predictions}, expected the classes as a dimension")
    if shape is None:
        return
    require_same(args, first + 2, (shape[0 if len(shape) == 1 else 1],), "the classes of 'predictions'")
    require_same(args, first + 1, targets_shape(shape), "'predictions' without the classes")


def set_class_weights(op: str, given: dict[str, Any]) -> None:
    """Set absent weights to 1 for each class."""
    given["predictions"] = predictions = as_value(given["predictions"])
    if given["weights"] is not None:
        return
    info = predictions.tensor_info
    classes = None if not info.shape else info.shape[0 if len(info.shape) == 1 else 1]
    if classes is None or info.dtype is None:
        raise ShapeError(f"{op}: the classes of 'predictions', {info}, are not known; give 'weights'")
    given["weights"] = build(OnesOp, [classes], info.dtype)


# Gradients of pooling ops, a loss and take; and marks for automatic differentiation, which are identities.


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
