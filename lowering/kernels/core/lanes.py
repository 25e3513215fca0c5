"""Arithmetic on a scalar or vector of floats, with constants of the matching type.

Expansions of math functions are written with `Lanes`: the same code emits scalar and vector operations, because every
`arith` and `math` operation used here works lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core.emit import Type, Value, constant, element_of
from relax_mlir.lowering.kernels.core.simd import fits_avx512
from relax_mlir.mlir import arith, ir, math
from relax_mlir.target import Target


def same_shape(like: Type, element: Type) -> Type:
    """`element` if `like` is a scalar type, else the vector of `element` with the shape of `like`."""
    return ir.VectorType.get(like.shape, element) if isinstance(like, ir.VectorType) else element


def side_by_side(target: Target, bits: int, carries: bool = False) -> int:
    """The number of vectors to interleave in long computations, as one vector that is that many times as long.

    An out-of-order CPU looks only some hundred operations ahead, so interleaving independent vectors hides latency.
    With 16 registers, loops with accumulators fill them with accumulators and constants, and two vectors are enough (on
    Zen 3, softmax of 64 x 1024 takes a twentieth longer with four). Other loops then read constants from memory, and
    more vectors share each read: on Zen 3, exp(2x + 1) / (1 + |y|) takes 7 % less time with six than with four or
    eight, and gelu of a layer norm 11 % less than with four. For f64 with two vectors, exp takes a fifth less than with
    one, but softmax a third more.
    """
    if bits > 32 and carries:
        return 1
    if target.num_vector_registers >= 32:
        return 4
    return 2 if carries else 6


BOUNDED = "relax.bounded"
"""Marks an f64 fused multiply-add in a math function whose finite operands are far from overflow."""


@dataclass(frozen=True)
class Lanes:
    """Operations on values of one float type: a scalar, or a vector of any shape.

    `type` is the float type, `ints` the integer type of the same width and shape (for bit patterns). `avx512` is true
    if values are f32 registers for `relax_mlir.lowering.kernels.core.simd`, `avx512_double` if they are f64
    registers.
    """

    type: Type
    avx512: bool = False
    avx512_double: bool = False

    @staticmethod
    def of(type_: Type, target: Target) -> Lanes:
        """Operations on a target."""
        return Lanes(type_, fits_avx512(type_, target, 32), fits_avx512(type_, target, 64))

    @property
    def width(self) -> int:
        return int(element_of(self.type).width)

    @property
    def ints(self) -> Type:
        return same_shape(self.type, ir.IntegerType.get_signless(self.width))

    def const(self, value: float) -> Value:
        return constant(self.type, value)

    def int_const(self, value: int) -> Value:
        return constant(self.ints, value)

    def add(self, a: Value, b: Value) -> Value:
        return arith.AddFOp(a, b).result

    def sub(self, a: Value, b: Value) -> Value:
        return arith.SubFOp(a, b).result

    def mul(self, a: Value, b: Value) -> Value:
        return arith.MulFOp(a, b).result

    def scale(self, a: Value, factor: float) -> Value:
        return arith.MulFOp(a, self.const(factor)).result

    def div(self, a: Value, b: Value) -> Value:
        return arith.DivFOp(a, b).result

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a·b + c, rounded once; finite operands must be far from overflow."""
        op = math.FmaOp(a, b, c)
        if self.width == 64:
            op.attributes[BOUNDED] = ir.UnitAttr.get()
        return op.result

    def negate(self, a: Value) -> Value:
        return arith.NegFOp(a).result

    def abs(self, a: Value) -> Value:
        return math.AbsFOp(a).result

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        return math.CopySignOp(magnitude, sign).result

    def floor(self, a: Value) -> Value:
        return math.FloorOp(a).result

    def round_even(self, a: Value) -> Value:
        return math.RoundEvenOp(a).result

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """Compare by the name of an `arith.cmpf` predicate: ``"olt"``, ``"oeq"``, ``"ult"``, …"""
        return arith.CmpFOp(getattr(arith.CmpFPredicate, predicate.upper()), a, b).result

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return arith.SelectOp(condition, a, b).result

    def clamp(self, a: Value, low: float, high: float) -> Value:
        """`a` limited to [low, high]; NaN stays NaN (one min and one max instruction on x86)."""
        return self.at_least(self.at_most(a, high), low)

    def at_least(self, a: Value, low: float) -> Value:
        """max(`a`, `low`); NaN stays NaN."""
        bottom = self.const(low)
        return self.select(self.compare("olt", a, bottom), bottom, a)

    def at_most_by_bits(self, a: Value, high: float) -> Value:
        """min(`a`, `high`) of the bits as signed integers, for `high` ≥ 0; a NaN without sign bit gives `high`."""
        return self.from_bits(arith.MinSIOp(self.bits(a), self.bits(self.const(high))).result)

    def at_least_minus_zero(self, a: Value) -> Value:
        """`a` if its sign bit is clear, else -0.0 (one unsigned minimum: -0.0 has the smallest such bit pattern)."""
        return self.from_bits(arith.MinUIOp(self.bits(a), self.int_const(-1 << (self.width - 1))).result)

    def at_most(self, a: Value, high: float) -> Value:
        """min(`a`, `high`); NaN stays NaN."""
        top = self.const(high)
        return self.select(self.compare("olt", top, a), top, a)

    def widen(self, a: Value, wide: Lanes) -> Value:
        """`a` in the wider float type of `wide`."""
        return arith.ExtFOp(wide.type, a).result

    def narrow(self, a: Value) -> Value:
        """A wider `a` rounded to this type."""
        return arith.TruncFOp(self.type, a).result

    def bits(self, a: Value) -> Value:
        return arith.BitcastOp(self.ints, a).result

    def from_bits(self, a: Value) -> Value:
        return arith.BitcastOp(self.type, a).result

    def int_add(self, a: Value, b: Value | int) -> Value:
        return arith.AddIOp(a, self.int_const(b) if isinstance(b, int) else b).result

    def int_sub(self, a: Value, b: Value | int) -> Value:
        return arith.SubIOp(a, self.int_const(b) if isinstance(b, int) else b).result

    def shift_left(self, a: Value, count: int) -> Value:
        return arith.ShLIOp(a, self.int_const(count)).result

    def shift_right(self, a: Value, count: int) -> Value:
        """Arithmetic shift: the sign is kept."""
        return arith.ShRSIOp(a, self.int_const(count)).result

    def shift_right_logical(self, a: Value, count: int) -> Value:
        """Logical shift right: AVX2 has no arithmetic shift of 64-bit integers."""
        return arith.ShRUIOp(a, self.int_const(count)).result

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """The polynomial in `x`; coefficients are ordered from the highest power to the lowest."""
        result = self.const(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, self.const(coefficient))
        return result


# Conversions between f16, bf16, f32 and f64 by integer arithmetic, scalar or vector, without branches.
#
# LLVM lowers most of these conversions to calls of its runtime library (``__truncsfbf2``, ``__truncdfhf2``
# and others), which a compiled module does not link. All conversions round to nearest, ties to even; NaN
# stays NaN.


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
