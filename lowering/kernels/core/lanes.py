"""Arithmetic on a scalar or vector of floats, with constants of the matching type.

Expansions of math functions are written with `Lanes`: the same code emits scalar and vector operations, because every
`arith` and `math` operation used here works lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import avx512
from relax_mlir.lowering.kernels.core.emit import Type, Value, constant, element_of
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
    if values are f32 registers for `relax_mlir.lowering.kernels.core.avx512`, `avx512_double` if they are f64
    registers.
    """

    type: Type
    avx512: bool = False
    avx512_double: bool = False

    @staticmethod
    def of(type_: Type, target: Target) -> Lanes:
        """Operations on a target."""
        return Lanes(type_, avx512.fits(type_, target, 32), avx512.fits(type_, target, 64))

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
