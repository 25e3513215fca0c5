"""Activations, softmax, and losses."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.dialects.number_attributes import real
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr, as_expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.common import (
    axis_of,
    computed,
    index_tensor_of,
    require,
    require_equal,
    require_float,
    size,
)
from relax_mlir.topi.elementwise import divide, multiply, negative
from relax_mlir.topi.tag import BROADCAST, ELEMWISE, INJECTIVE

SOFTMAX = "softmax_output"
"""The tag of results of softmax."""


def relu(x: Tensor) -> Tensor:
    """Every element, or 0 if it is negative; NaN stays NaN."""
    tensor = require("topi.nn.relu: 'x'", x)
    return computed(tensor.shape, lambda *i: functions.maximum(tensor(*i), 0), "T_relu", ELEMWISE)


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """Every element, times `alpha` if it is not positive."""
    tensor = require("topi.nn.leaky_relu: 'x'", x)
    require_float("topi.nn.leaky_relu", tensor)
    factor = real(alpha, "topi.nn.leaky_relu: 'alpha'")

    def value(*i: Expr) -> Expr:
        item = tensor(*i)
        return functions.select(item > 0, item, item * factor)

    return computed(tensor.shape, value, "T_leaky_relu", ELEMWISE)


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """Every element, times the slope for its index along `axis` if it is not positive."""
    tensor, factors = require("topi.nn.prelu: 'x'", x), require("topi.nn.prelu: 'slope'", slope)
    place = axis_of("topi.nn.prelu", axis, tensor.ndim)
    require_equal("topi.nn.prelu", factors.shape, (tensor.shape[place],))

    def value(*i: Expr) -> Expr:
        item = tensor(*i)
        return functions.select(item > 0, item, item * factors(i[place]))

    return computed(tensor.shape, value, "T_prelu", BROADCAST)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, computed with ``x - max(x)``."""
    tensor, place = _checked("topi.nn.softmax", x, axis)
    greatest = reduce.max(tensor, place)

    def raised(*i: Expr) -> Expr:
        return functions.exp(tensor(*i) - greatest(*_others(i, place)))

    powers = computed(tensor.shape, raised, "T_softmax_exp", ELEMWISE)
    total = reduce.sum(powers, place)

    def value(*i: Expr) -> Expr:
        return powers(*i) / total(*_others(i, place))

    return computed(tensor.shape, value, "T_softmax_norm", SOFTMAX)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """``log(softmax(x))``, also accurate where softmax is near 0."""
    tensor, place = _checked("topi.nn.log_softmax", x, axis)
    greatest = reduce.max(tensor, place)

    def shifted(*i: Expr) -> Expr:
        return tensor(*i) - greatest(*_others(i, place))

    powers = computed(tensor.shape, lambda *i: functions.exp(shifted(*i)), "T_softmax_exp", ELEMWISE)
    total = reduce.sum(powers, place)

    def value(*i: Expr) -> object:
        return shifted(*i) - functions.log(total(*_others(i, place)))

    return computed(tensor.shape, value, "T_log_softmax", SOFTMAX)


def _others(indices: tuple[Expr, ...], place: int) -> tuple[Expr, ...]:
    """The indices without that of an axis."""
    return (*indices[:place], *indices[place + 1 :])


def _checked(what: str, x: Tensor, axis: int) -> tuple[Tensor, int]:
    tensor = require(f"{what}: 'x'", x)
    require_float(what, tensor)
    if tensor.ndim == 0:
        raise ShapeError(f"{what}: {tensor} has no axis")
    return tensor, axis_of(what, axis, tensor.ndim)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Klambauer et al., Self-Normalizing Neural Networks, 2017."""


def _mapped(name: str, x: Tensor, rule: Callable[[Expr], Expr]) -> Tensor:
    """Apply `rule` to every element, in float32 or wider."""
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'x'", x)
    require_float(what, tensor)
    kind = "float64" if tensor.dtype == "float64" else "float32"
    return computed(tensor.shape, lambda *i: rule(tensor(*i).astype(kind)).astype(tensor.dtype), f"T_{name}", ELEMWISE)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Every element, or ``alpha * (exp(x) - 1)`` if it is not positive."""
    factor = real(alpha, "topi.nn.elu: 'alpha'")
    return _mapped("elu", x, lambda v: functions.select(v > 0, v, functions.expm1(v) * factor))


def selu(x: Tensor) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that preserve mean and variance."""
    return _mapped("selu", x, lambda v: functions.select(v > 0, v, functions.expm1(v) * SELU_ALPHA) * SELU_SCALE)


def silu(x: Tensor) -> Tensor:
    """``x * sigmoid(x)``."""
    return _mapped("silu", x, lambda v: v * functions.sigmoid(v))


def gelu(x: Tensor) -> Tensor:
    """``x * (1 + erf(x / sqrt(2))) / 2``."""
    return _mapped("gelu", x, lambda v: v * (functions.erf(v * math.sqrt(0.5)) + 1.0) * 0.5)


def gelu_tanh(x: Tensor) -> Tensor:
    """``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2``."""
    factor = math.sqrt(2 / math.pi)
    return _mapped("gelu_tanh", x, lambda v: v * (functions.tanh((v + v * v * v * 0.044715) * factor) + 1.0) * 0.5)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``; `x` itself if ``beta * x`` is above the threshold."""
    factor, limit = real(beta, "topi.nn.softplus: 'beta'"), real(threshold, "topi.nn.softplus: 'threshold'")

    def rule(v: Expr) -> Expr:
        scaled = v * factor
        small = functions.log1p(functions.exp(functions.minimum(scaled, limit)))
        return functions.select(scaled > limit, v, small / factor)

    return _mapped("softplus", x, rule)


def hardsigmoid(x: Tensor, alpha: float = 1 / 6, beta: float = 0.5) -> Tensor:
    """``alpha * x + beta``, clamped to [0, 1]."""
    factor, shift = real(alpha, "topi.nn.hardsigmoid: 'alpha'"), real(beta, "topi.nn.hardsigmoid: 'beta'")
    return _mapped("hardsigmoid", x, lambda v: functions.maximum(functions.minimum(v * factor + shift, 1.0), 0.0))


def hardswish(x: Tensor) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return _mapped("hardswish", x, lambda v: v * functions.maximum(functions.minimum(v + 3.0, 6.0), 0.0) / 6.0)


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

    Raises:
        ArgumentError: an unknown reduction. DTypeError: predictions and weights have different dtypes.
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
