"""Losses: cross entropy and negative log likelihood."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, require_same
from relax_mlir.dialects.create import ones
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import int_attr, text_attr
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

REDUCTIONS = ("none", "sum", "mean")


class CrossEntropyWithLogitsOp(RelaxOp, name="nn_cross_entropy_with_logits", traits=[ext.Pure]):
    """``-sum(predictions * labels)``, divided by the size of the first dimension if the rank is two or more.

    `predictions` are log probabilities, as from `nn.log_softmax`, and `labels` probabilities of the same shape. 16-bit
    floats are computed in float32.

    Example: shapes ``(n, c)`` and ``(n, c)`` give a scalar.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    predictions: ext.Operand[Any]
    labels: ext.Operand[Any]
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

    predictions: ext.Operand[Any]
    targets: ext.Operand[Any]
    weights: ext.Operand[Any]
    reduction: ir.StringAttr
    ignore_index: ir.IntegerAttr
    result: ext.Result[Any]

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
        raise ShapeError(
            f"{args.op}: operand 'predictions' is {predictions}, expected the classes as a dimension"
        )
    if shape is None:
        return
    require_same(args, first + 2, (shape[0 if len(shape) == 1 else 1],), "the classes of 'predictions'")
    require_same(args, first + 1, targets_shape(shape), "'predictions' without the classes")


def cross_entropy_with_logits(predictions: ValueLike, labels: ValueLike) -> Value:
    """The cross entropy of log probabilities (see `CrossEntropyWithLogitsOp`)."""
    return create_one(CrossEntropyWithLogitsOp, [as_value(predictions), as_value(labels)])


def nll_loss(
    predictions: ValueLike,
    targets: ValueLike,
    weights: ValueLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Value:
    """The negative log likelihood of the targets (see `NllLossOp`); `weights` default to 1."""
    require_insertion_point("nn.nll_loss")
    value = as_value(predictions)
    factors = class_weights("nll_loss", value) if weights is None else as_value(weights)
    return create_one(
        NllLossOp, [value, as_value(targets), factors], loss_attributes("nll_loss", reduction, ignore_index)
    )


def loss_attributes(op: str, reduction: str, ignore_index: int) -> dict[str, ir.Attribute]:
    """The attributes of `nll_loss` and of its gradient."""
    return {
        "reduction": text_attr(reduction, f"{op}: 'reduction'"),
        "ignore_index": int_attr(ignore_index, f"{op}: 'ignore_index'"),
    }


def class_weights(op: str, predictions: Value) -> Value:
    """Weights of 1 for each class."""
    info = predictions.tensor_info
    classes = None if not info.shape else info.shape[0 if len(info.shape) == 1 else 1]
    if classes is None or info.dtype is None:
        raise ShapeError(f"{op}: the classes of 'predictions', {info}, are not known; give 'weights'")
    return ones([classes], info.dtype)
