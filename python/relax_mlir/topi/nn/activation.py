"""Activations and softmax."""

from __future__ import annotations

from relax_mlir.dialects.number_attributes import real
from relax_mlir.error import ShapeError
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi import reduce
from relax_mlir.topi.common import axis_of, computed, require, require_equal, require_float
from relax_mlir.topi.tag import BROADCAST, ELEMWISE

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
