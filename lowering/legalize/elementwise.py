"""Lowering of elementwise ops: scalar rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.dialects.base import OpArgs, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import AstypeOp, ClipOp, PreluOp, WhereOp, clip_bound
from relax_mlir.lowering.legalize.prim_bodies import dtype_of, elementwise_prim, register, reshaped
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, lower
from relax_mlir.mlir import arith, math
from relax_mlir.scalars.arithmetic import (
    Scalar,
    add,
    compare,
    const,
    convert,
    maximum,
    minimum,
    multiply,
    select,
    widened,
    widened_test,
)
from relax_mlir.scalars.rules import (
    BINARY_RULES,
    BITWISE_RULES,
    COMPARISON_RULES,
    FLOAT_TESTS,
    ROUNDING,
    UNARY_RULES,
    plain,
)

# Lowering of elementwise ops of one operand.


register(UNARY_RULES)


@lower(*(f"relax.{name}" for name in ROUNDING))
def legalize_rounding(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Round floats; return integers unchanged."""
    dtype = dtype_of(op.operands[0])
    if not dtype.is_float:
        return op.operands
    rule = plain(ROUNDING[op.args.op])
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@lower(*(f"relax.{name}" for name in FLOAT_TESTS))
def legalize_float_test(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Test floats; the answer for integers and bool is constant."""
    dtype = dtype_of(op.operands[0])
    test, answer = FLOAT_TESTS[op.args.op]
    if not dtype.is_float:
        result = op.results[0].element
        return elementwise_prim(lz, op, lambda x: const(result, answer))
    rule = widened_test(test)
    return elementwise_prim(lz, op, lambda x: rule(dtype, x))


@lower(AstypeOp)
def legalize_astype(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Convert the dtype; return the tensor itself if it already has it."""
    source, target = dtype_of(op.operands[0]), op.results[0].element
    if source == target:
        return op.operands
    return elementwise_prim(lz, op, lambda x: convert(source, target, x))


# Lowering of elementwise ops of several operands.


register(BINARY_RULES)
register(BITWISE_RULES)
register(COMPARISON_RULES)


@lower(WhereOp)
def legalize_where(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = dtype_of(op.operands[1])
    return elementwise_prim(lz, op, lambda condition, a, b: select(dtype, condition, a, b))


@lower(ClipOp)
def legalize_clip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Clip the tensor; return it unchanged if there are no bounds."""
    low, high = clip_bound(op.args, "min"), clip_bound(op.args, "max")
    if low is None and high is None:
        return op.operands

    def rule(dtype: DType, x: Scalar) -> Scalar:
        if low is not None:
            x = maximum(dtype, x, const(dtype, low))
        return x if high is None else minimum(dtype, x, const(dtype, high))

    dtype = dtype_of(op.operands[0])
    return elementwise_prim(lz, op, lambda x: widened(rule)(dtype, x), key=(str(low), str(high)))


# Lowering of activations: one scalar rule each.


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""Klambauer et al., Self-Normalizing Neural Networks, 2017."""


def _positive(dtype: DType, x: Scalar, otherwise: Scalar) -> Scalar:
    """`x` where it is above 0."""
    return select(dtype, compare(dtype, "gt", x, const(dtype, 0)), x, otherwise)


def _elu(dtype: DType, x: Scalar, alpha: float) -> Scalar:
    return _positive(dtype, x, multiply(dtype, math.expm1(x), const(dtype, alpha)))


def _selu(dtype: DType, x: Scalar) -> Scalar:
    return multiply(dtype, _elu(dtype, x, SELU_ALPHA), const(dtype, SELU_SCALE))


def _held(dtype: DType, x: Scalar, low: float, high: float) -> Scalar:
    return minimum(dtype, maximum(dtype, x, const(dtype, low)), const(dtype, high))


def _hardswish(dtype: DType, x: Scalar) -> Scalar:
    gate = _held(dtype, add(dtype, x, const(dtype, 3)), 0, 6)
    return arith.divf(multiply(dtype, x, gate), const(dtype, 6))


def _mish(dtype: DType, x: Scalar) -> Scalar:
    """``tanh(log(1 + e))`` is ``n / (n + 2)`` with ``n = e * (e + 2)``; it rounds to 1 long before x is 30."""
    e = math.exp(minimum(dtype, x, const(dtype, 30)))
    n = multiply(dtype, e, add(dtype, e, const(dtype, 2)))
    return multiply(dtype, x, arith.divf(n, add(dtype, n, const(dtype, 2))))


def _relu6(dtype: DType, x: Scalar) -> Scalar:
    return _held(dtype, x, 0, 6)


register(
    {
        "nn_hardswish": widened(_hardswish),
        "nn_mish": widened(_mish),
        "nn_relu6": widened(_relu6),
        "nn_selu": widened(_selu),
    }
)


def _leakyrelu(args: OpArgs, dtype: DType, x: Scalar) -> Scalar:
    return _positive(dtype, x, multiply(dtype, x, const(dtype, args.float_attr("alpha"))))


def _hardsigmoid(args: OpArgs, dtype: DType, x: Scalar) -> Scalar:
    alpha, beta = (const(dtype, args.float_attr(name)) for name in ("alpha", "beta"))
    return _held(dtype, add(dtype, multiply(dtype, x, alpha), beta), 0, 1)


def _softplus(args: OpArgs, dtype: DType, x: Scalar) -> Scalar:
    """Clamp the argument of the exponential to the threshold, above which it may overflow and is not needed."""
    beta, threshold = (const(dtype, args.float_attr(name)) for name in ("beta", "threshold"))
    scaled = multiply(dtype, x, beta)
    small = arith.divf(math.log1p(math.exp(minimum(dtype, scaled, threshold))), beta)
    return select(dtype, compare(dtype, "gt", scaled, threshold), x, small)


WITH_NUMBERS: dict[str, Callable[[OpArgs, DType, Scalar], Scalar]] = {
    "nn_elu": lambda args, dtype, x: _elu(dtype, x, args.float_attr("alpha")),
    "nn_hardsigmoid": _hardsigmoid,
    "nn_leakyrelu": _leakyrelu,
    "nn_softplus": _softplus,
}
"""The scalar rules of activations with float attributes."""
NUMBERS = ("alpha", "beta", "threshold")
"""The names of these attributes."""


@lower(*(f"relax.{name}" for name in WITH_NUMBERS))
def legalize_with_numbers(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    rule, dtype = WITH_NUMBERS[op.args.op], dtype_of(op.operands[0])
    apply = widened(lambda wide, x: rule(op.args, wide, x))
    key = tuple(op.args.float_attr(name) for name in NUMBERS if name in op.args.attrs)
    return elementwise_prim(lz, op, lambda x: apply(dtype, x), key)


@lower(PreluOp)
def legalize_prelu(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Reshape the slopes so that they broadcast to the data."""
    data, alpha = op.operands
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(data.shape))
    slopes = reshaped(alpha, [*alpha.shape, *(1 for _ in data.shape[axis + 1 :])])
    dtype = dtype_of(data)
    apply = widened(lambda wide, x, slope: _positive(wide, x, multiply(wide, x, slope)))
    call = OpCall(op.args, (data, slopes), op.results)
    return elementwise_prim(lz, call, lambda x, slope: apply(dtype, x, slope))
