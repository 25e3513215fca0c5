"""Losses."""

from __future__ import annotations

from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.binary import divide, multiply
from relax_mlir.topi.common import computed, index_tensor_of, require, require_equal, require_float, size
from relax_mlir.topi.elementwise import negative
from relax_mlir.topi.tag import INJECTIVE


def nll_loss(
    predictions: Tensor, targets: Tensor, weights: Tensor, reduction: str = "mean", ignore_index: int = -100
) -> Tensor:
    """``-predictions[n, targets[n, …], …] * weights[targets[n, …]]``, 0 where the target is `ignore_index`.

    Args:
        predictions: log probabilities, ``(batch, classes, …)``, or ``(classes,)``.
        targets: classes, ``(batch, …)``; an invalid class raises `BoundsError` at run time.
        weights: one for each class.
        reduction: "none", "sum", or "mean": the sum divided by the sum of the weights.
        ignore_index: the target that is ignored.
    """
    what = "topi.nn.nll_loss"
    tensor, target = (
        require(f"{what}: 'predictions'", predictions),
        index_tensor_of(f"{what}: 'targets'", targets),
    )
    weight = require(f"{what}: 'weights'", weights)
    require_float(what, tensor)
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"{what}: 'reduction' is {reduction!r}, expected 'mean', 'sum' or 'none'")
    if weight.dtype != tensor.dtype:
        raise DTypeError(f"{what}: the weights have dtype {weight.dtype}, and the predictions {tensor.dtype}")
    place = 0 if tensor.ndim == 1 else 1
    require_equal(f"{what}: 'weights'", weight.shape, tensor.shape[place : place + 1])
    require_equal(f"{what}: 'targets'", target.shape, [*tensor.shape[:place], *tensor.shape[place + 1 :]])
    zero = functions.const(0, tensor.dtype)

    def weighed(*i: Expr) -> Expr:
        own = target(*i).astype("int64")
        return functions.if_then_else(own != ignore_index, weight(own), zero)

    factors = computed(target.shape, weighed, "T_nll_weights", INJECTIVE)

    def value(*i: Expr) -> Expr:
        own = target(*i).astype("int64")
        item = tensor(*i[:place], own, *i[place:])
        return functions.if_then_else(own != ignore_index, -item * factors(*i), zero)

    losses = computed(target.shape, value, "T_nll_loss", INJECTIVE)
    if reduction == "none":
        return losses
    total = reduce.sum(losses)
    return total if reduction == "sum" else divide(total, reduce.sum(factors))


def cross_entropy_with_logits(predictions: Tensor, labels: Tensor) -> Tensor:
    """``-sum(predictions * labels)``; for two or more dimensions divided by the size of the first one."""
    what = "topi.nn.cross_entropy_with_logits"
    tensor, wanted = require(f"{what}: 'predictions'", predictions), require(f"{what}: 'labels'", labels)
    require_float(what, tensor)
    require_equal(what, tensor.shape, wanted.shape)
    total = negative(reduce.sum(multiply(tensor, wanted)))
    if tensor.ndim < 2:
        return total
    return computed(
        (),
        lambda: total() / as_expr(size(tensor.shape[0])).astype(tensor.dtype),
        "T_cross_entropy",
        INJECTIVE,
    )
