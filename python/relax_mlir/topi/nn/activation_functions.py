"""Elementwise activations that are composed of other functions."""

from __future__ import annotations

import math
from collections.abc import Callable

from relax_mlir.dialects.number_attributes import real
from relax_mlir.te import functions
from relax_mlir.te.expressions import Expr
from relax_mlir.te.tensors import Tensor
from relax_mlir.topi.common import computed, require, require_float
from relax_mlir.topi.tag import ELEMWISE

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Klambauer et al., Self-Normalizing Neural Networks, 2017."""


def _mapped(name: str, x: Tensor, rule: Callable[[Expr], Expr]) -> Tensor:
    """Apply `rule` to every element, in float32 or wider."""
    what = f"topi.nn.{name}"
    tensor = require(f"{what}: 'x'", x)
    require_float(what, tensor)
    kind = "float64" if tensor.dtype == "float64" else "float32"
    return computed(
        tensor.shape, lambda *i: rule(tensor(*i).astype(kind)).astype(tensor.dtype), f"T_{name}", ELEMWISE
    )


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Every element, or ``alpha * (exp(x) - 1)`` if it is not positive."""
    factor = real(alpha, "topi.nn.elu: 'alpha'")
    return _mapped("elu", x, lambda v: functions.select(v > 0, v, functions.expm1(v) * factor))


def selu(x: Tensor) -> Tensor:
    """``scale * elu(x, alpha)`` with the constants that preserve mean and variance."""
    return _mapped(
        "selu", x, lambda v: functions.select(v > 0, v, functions.expm1(v) * SELU_ALPHA) * SELU_SCALE
    )


def silu(x: Tensor) -> Tensor:
    """``x * sigmoid(x)``."""
    return _mapped("silu", x, lambda v: v * functions.sigmoid(v))


def gelu(x: Tensor) -> Tensor:
    """``x * (1 + erf(x / sqrt(2))) / 2``."""
    return _mapped("gelu", x, lambda v: v * (functions.erf(v * math.sqrt(0.5)) + 1.0) * 0.5)


def gelu_tanh(x: Tensor) -> Tensor:
    """``x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2``."""
    factor = math.sqrt(2 / math.pi)
    return _mapped(
        "gelu_tanh", x, lambda v: v * (functions.tanh((v + v * v * v * 0.044715) * factor) + 1.0) * 0.5
    )


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
    return _mapped(
        "hardsigmoid", x, lambda v: functions.maximum(functions.minimum(v * factor + shift, 1.0), 0.0)
    )


def hardswish(x: Tensor) -> Tensor:
    """``x * hardsigmoid(x)``."""
    return _mapped(
        "hardswish", x, lambda v: v * functions.maximum(functions.minimum(v + 3.0, 6.0), 0.0) / 6.0
    )
