"""What AVX-512 has for math functions on vectors of f32 and f64: tables in registers, scaling, bounds, mantissas.

Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VSCALEFPS, VPERMPS, VPERMI2PD,
VRANGEPS, VFIXUPIMMPS, VGETMANTPD and VGETEXPPD. A register holds 16 f32 or 8 f64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from relax_mlir.lowering.kernels.core.emit import Type, Value, constant, element_of
from relax_mlir.lowering.kernels.core.simd import joined, lanes_of
from relax_mlir.mlir import arith, ir, llvm
from relax_mlir.target import Target

BITS = 512
TABLE_SIZE = 16
"""Numbers of a table: a register of f32, two of f64."""

_ALL_LANES, _CURRENT_ROUNDING = -1, 4

_ITSELF, _AS_QUIET_NAN, _NAN, _NEGATIVE_ZERO = 1, 2, 3, 7
"""What VFIXUPIMMPS puts in place of numbers of a class."""

_SMALLER_SIZE, _SIGN_OF_FIRST, _WITHOUT_SIGN = 0b10, 0b00_00, 0b10_00
"""What VRANGEPS chooses, and which sign it gives it; of NaN and a number it chooses the number."""

_FROM_THREE_QUARTERS, _NAN_BELOW_ZERO = 0b00_11, 0b10_00
"""Where VGETMANTPD has the mantissa begin, and what it makes of numbers below zero."""

_POSITIVE_PART = sum(
    response << 4 * number
    for number, response in enumerate(
        # quiet NaN, signalling NaN, zero, 1, -∞, ∞, below zero, above zero
        (_AS_QUIET_NAN, _AS_QUIET_NAN, _ITSELF, _ITSELF, _NAN, _ITSELF, _NEGATIVE_ZERO, _ITSELF)
    )
)


def fits(type_: Type, target: Target, bits: int) -> bool:
    """Whether values of a type are 1, 2, 4, ... registers of floats of so many bits, and the target has F and DQ."""
    if not (target.has("avx512dq") and isinstance(type_, ir.VectorType) and type_.rank == 1):
        return False
    element, (whole, rest) = type_.element_type, divmod(type_.shape[0] * bits, BITS)
    is_float = element == (ir.F32Type.get() if bits == 32 else ir.F64Type.get())
    return bool(is_float and rest == 0 and whole.bit_count() == 1)


def times_power(x: Value, n: Value) -> Value:
    """x·2^⌊n⌋, rounded once, for any n; NaN for NaN."""
    return _masked("scalef", lambda x, n: [x, n, x], x, n)


def size_up_to(x: Value, high: float) -> Value:
    """|x|, but no more than `high`, which it also is for NaN."""
    return _smaller_size(x, high, _WITHOUT_SIGN)


def within(x: Value, bound: float) -> Value:
    """x, but no further from 0 than `bound`, which it is also for NaN, with either sign."""
    return _smaller_size(x, bound, _SIGN_OF_FIRST)


def positive_part(x: Value) -> Value:
    """x of f32, but -0.0 where it is below 0; NaN for NaN and -∞."""
    table = constant(ir.VectorType.get([BITS // 32], ir.IntegerType.get_signless(32)), _POSITIVE_PART)
    no_flags = _i32(0)
    return _masked("fixupimm", lambda x: [x, x, table, no_flags], x)


def mantissa(x: Value) -> Value:
    """m in [3/4, 3/2) with x = 2ⁿ·m, also for denormal x; 1 for 0 and ∞, NaN below 0 and for NaN."""
    how = _i32(_FROM_THREE_QUARTERS | _NAN_BELOW_ZERO)
    return _masked("getmant", lambda x: [x, how, x], x)


def exponent(x: Value) -> Value:
    """⌊log₂ |x|⌋ as a number, also for denormal x; -∞ for 0, ∞ for ∞, NaN for NaN."""
    return _masked("getexp", lambda x: [x, x], x)


def look_up(table: Sequence[float], index: Value) -> Value:
    """The elements of a table of 16 at the places that the lowest four bits of each integer say; as wide as these."""
    wide = element_of(index.type).width == 64
    register, dtype = (_f64(), np.float64) if wide else (_f32(), np.float32)
    lanes = register.shape[0]
    parts = [
        arith.ConstantOp(
            register, ir.DenseElementsAttr.get(np.array(table[n : n + lanes], dtype), type=register)
        ).result
        for n in range(0, TABLE_SIZE, lanes)
    ]
    if wide:
        low, high = parts
        return _by_registers(
            lambda index: _intrinsic("vpermi2var.pd.512", register, [low, index, high]), index
        )
    return _by_registers(lambda index: _intrinsic("permvar.sf.512", register, [*parts, index]), index)


def _smaller_size(x: Value, bound: float, sign: int) -> Value:
    choice = _i32(_SMALLER_SIZE | sign)

    def operands(x: Value) -> list[Value]:
        top = constant(x.type, bound)
        return [x, top, choice, top]

    return _masked("range", operands, x)


def _masked(name: str, operands: Callable[..., list[Value]], *values: Value) -> Value:
    """An instruction on all lanes of each register, with the rounding that is set."""
    width = element_of(values[0].type).width
    intrinsic = f"mask.{name}.{'pd' if width == 64 else 'ps'}.512"
    mask = constant(ir.IntegerType.get_signless(BITS // width), _ALL_LANES)
    rounding = _i32(_CURRENT_ROUNDING)

    def apply(*registers: Value) -> Value:
        return _intrinsic(intrinsic, registers[0].type, [*operands(*registers), mask, rounding])

    return _by_registers(apply, *values)


def _i32(value: int) -> Value:
    return constant(ir.IntegerType.get_signless(32), value)


def _f32() -> ir.VectorType:
    return ir.VectorType.get([BITS // 32], ir.F32Type.get())


def _f64() -> ir.VectorType:
    return ir.VectorType.get([BITS // 64], ir.F64Type.get())


def _intrinsic(name: str, result: Type, operands: list[Value]) -> Value:
    """An intrinsic of LLVM: the same op for all, of a dialect that is there anyway."""
    return llvm.CallIntrinsicOp(result, f"llvm.x86.avx512.{name}", operands, [], []).result


def _by_registers(function: Callable[..., Value], *values: Value) -> Value:
    """A function of registers, on vectors of several."""
    size, lanes = values[0].type.shape[0], BITS // element_of(values[0].type).width
    if size == lanes:
        return function(*values)
    return joined(
        [function(*(lanes_of(value, start, lanes) for value in values)) for start in range(0, size, lanes)]
    )
