"""Conversions between f16, bf16, f32 and f64 by integer arithmetic, scalar or vector, without branches.

LLVM lowers most of these conversions to calls of its runtime library (``__truncsfbf2``, ``__truncdfhf2`` and others),
which a compiled module does not link. All conversions round to nearest, ties to even; NaN stays NaN.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core.emit import Type, Value, constant
from relax_mlir.lowering.kernels.core.lanes import same_shape
from relax_mlir.mlir import arith, ir

SIGN = 0x8000


def _int(like: Value, bits: int) -> Type:
    return same_shape(like.type, ir.IntegerType.get_signless(bits))


def _single(like: Value) -> Type:
    return same_shape(like.type, ir.F32Type.get())


def _and(a: Value, mask: int) -> Value:
    return arith.AndIOp(a, constant(a.type, mask)).result


def _or(a: Value, b: Value | int) -> Value:
    return arith.OrIOp(a, constant(a.type, b) if isinstance(b, int) else b).result


def _add(a: Value, b: Value | int) -> Value:
    return arith.AddIOp(a, constant(a.type, b) if isinstance(b, int) else b).result


def _left(a: Value, count: int) -> Value:
    return arith.ShLIOp(a, constant(a.type, count)).result


def _right(a: Value, count: int) -> Value:
    return arith.ShRUIOp(a, constant(a.type, count)).result


def _unsigned(predicate: str, a: Value, bound: int) -> Value:
    return arith.CmpIOp(getattr(arith.CmpIPredicate, predicate), a, constant(a.type, bound)).result


def _select(condition: Value, a: Value, b: Value) -> Value:
    return arith.SelectOp(condition, a, b).result


def _cast(type_: Type, a: Value) -> Value:
    return arith.BitcastOp(type_, a).result


def _bits16(a: Value) -> Value:
    """The bits of a 16-bit float, as i32."""
    return arith.ExtUIOp(_int(a, 32), _cast(_int(a, 16), a)).result


def bf16_to_f32(x: Value) -> Value:
    """Convert exactly: a bf16 is the upper half of an f32."""
    return _cast(_single(x), _left(_bits16(x), 16))


def f32_to_bf16(x: Value) -> Value:
    """Round to the upper half of the bits: add 0x7FFF, plus 1 if the upper half is odd."""
    bits = _cast(_int(x, 32), x)
    rounded = _add(_add(bits, 0x7FFF), _and(_right(bits, 16), 1))
    quiet = _or(bits, 0x400000)
    is_nan = arith.CmpFOp(arith.CmpFPredicate.UNO, x, x).result
    upper = _right(_select(is_nan, quiet, rounded), 16)
    result = same_shape(x.type, ir.BF16Type.get())
    return _cast(result, arith.TruncIOp(_int(x, 16), upper).result)


def f16_to_f32(x: Value) -> Value:
    """Convert exactly: shift the bits to their f32 position, and scale by the difference of the exponent biases (2¹¹²).

    The multiplication also normalises denormals. Infinity and NaN get the exponent that they have in f32.
    """
    bits = _bits16(x)
    moved = _left(_and(bits, 0x7FFF), 13)
    scaled = arith.MulFOp(_cast(_single(x), moved), constant(_single(x), 2.0**112)).result
    special = _unsigned("uge", moved, 0x0F800000)
    magnitude = _select(special, _or(moved, 0x7F800000), _cast(_int(x, 32), scaled))
    return _cast(_single(x), _or(magnitude, _left(_and(bits, SIGN), 16)))


def f32_to_f16(x: Value) -> Value:
    """Round to f16 (F. Giesen's ``float_to_half_fast3_rtne``): normals as integers, denormals by an addition."""
    bits = _cast(_int(x, 32), x)
    magnitude = _and(bits, 0x7FFFFFFF)
    odd = _and(_right(magnitude, 13), 1)
    normal = _right(_add(_add(magnitude, ((15 - 127) << 23) + 0xFFF), odd), 13)
    shifted = arith.AddFOp(_cast(x.type, magnitude), constant(x.type, 0.5)).result
    denormal = _add(_cast(magnitude.type, shifted), -0x3F000000)
    special = _select(
        _unsigned("ugt", magnitude, 0x7F800000),
        constant(magnitude.type, 0x7E00),
        constant(magnitude.type, 0x7C00),
    )
    result = _select(_unsigned("ult", magnitude, 113 << 23), denormal, normal)
    result = _select(_unsigned("uge", magnitude, 0x47800000), special, result)
    result = arith.TruncIOp(_int(x, 16), _or(result, _and(_right(bits, 16), SIGN))).result
    return _cast(same_shape(x.type, ir.F16Type.get()), result)


def f64_to_f32_odd(x: Value) -> Value:
    """Round to odd: an inexact result gets an odd last bit, so that a second rounding is correct at ties.

    Round to the nearest f32. If it is inexact and even, take its odd neighbour on the other side of x.
    """
    nearest = arith.TruncFOp(_single(x), x).result
    back = arith.ExtFOp(x.type, nearest).result
    bits = _cast(_int(x, 32), nearest)
    magnitude, exact = _magnitude(back), _magnitude(x)
    too_large = arith.CmpIOp(arith.CmpIPredicate.ugt, magnitude, exact).result
    step = _select(too_large, constant(bits.type, -1), constant(bits.type, 1))
    inexact = arith.CmpFOp(arith.CmpFPredicate.ONE, back, x).result
    even = _unsigned("eq", _and(bits, 1), 0)
    adjust = arith.AndIOp(inexact, even).result
    return _cast(nearest.type, _select(adjust, _add(bits, step), bits))


def _magnitude(x: Value) -> Value:
    """The bits of an f64 without the sign; they are ordered like the magnitudes."""
    return _and(_cast(_int(x, 64), x), (1 << 63) - 1)
