"""AVX-512 instructions for math functions on f32 and f64 vectors: table lookup, scaling, clamping, mantissas.

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
"""Elements of a table: one register of f32, two of f64."""

_ALL_LANES, _CURRENT_ROUNDING = -1, 4

_ITSELF, _AS_QUIET_NAN, _NAN, _NEGATIVE_ZERO = 1, 2, 3, 7
"""Responses of VFIXUPIMMPS to the class of an input."""

_SMALLER_SIZE, _SIGN_OF_FIRST, _WITHOUT_SIGN = 0b10, 0b00_00, 0b10_00
"""Immediate bits of VRANGEPS: the operand to select and the sign of the result. NaN loses against a number."""

_FROM_THREE_QUARTERS, _NAN_BELOW_ZERO = 0b00_11, 0b10_00
"""Immediate bits of VGETMANTPD: the interval of the mantissa, and NaN for negative inputs."""

_POSITIVE_PART = sum(
    response << 4 * number
    for number, response in enumerate(
        # quiet NaN, signalling NaN, zero, 1, -∞, ∞, below zero, above zero
        (_AS_QUIET_NAN, _AS_QUIET_NAN, _ITSELF, _ITSELF, _NAN, _ITSELF, _NEGATIVE_ZERO, _ITSELF)
    )
)


def fits(type_: Type, target: Target, bits: int) -> bool:
    """True if a type is a vector of 1, 2, 4, ... registers of `bits`-wide floats, and the target has F and DQ."""
    if not (target.has("avx512dq") and isinstance(type_, ir.VectorType) and type_.rank == 1):
        return False
    element, (whole, rest) = type_.element_type, divmod(type_.shape[0] * bits, BITS)
    is_float = element == (ir.F32Type.get() if bits == 32 else ir.F64Type.get())
    return bool(is_float and rest == 0 and whole.bit_count() == 1)


def times_power(x: Value, n: Value) -> Value:
    """x·2^⌊n⌋, rounded once, for any n; NaN for NaN."""
    return _masked("scalef", lambda x, n: [x, n, x], x, n)


def size_up_to(x: Value, high: float) -> Value:
    """min(|x|, `high`); NaN gives `high`."""
    return _smaller_size(x, high, _WITHOUT_SIGN)


def within(x: Value, bound: float) -> Value:
    """x clamped to [-`bound`, `bound`]; NaN gives `bound` with either sign."""
    return _smaller_size(x, bound, _SIGN_OF_FIRST)


def positive_part(x: Value) -> Value:
    """x of f32, or -0.0 for negative x; NaN for NaN and -∞."""
    table = constant(ir.VectorType.get([BITS // 32], ir.IntegerType.get_signless(32)), _POSITIVE_PART)
    no_flags = _i32(0)
    return _masked("fixupimm", lambda x: [x, x, table, no_flags], x)


def mantissa(x: Value) -> Value:
    """m in [3/4, 3/2) with x = 2ⁿ·m, also for denormal x; 1 for 0 and ∞; NaN for negative x and for NaN."""
    how = _i32(_FROM_THREE_QUARTERS | _NAN_BELOW_ZERO)
    return _masked("getmant", lambda x: [x, how, x], x)


def exponent(x: Value) -> Value:
    """⌊log₂ |x|⌋ as a float, also for denormal x; -∞ for 0, ∞ for ∞, NaN for NaN."""
    return _masked("getexp", lambda x: [x, x], x)


def look_up(table: Sequence[float], index: Value) -> Value:
    """Look up elements of a table of 16 by the low four bits of each integer; both have the same width."""
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
    """Apply an instruction to all lanes of each register, in the current rounding mode."""
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
    """Call an LLVM intrinsic through the generic op, which needs no further dialect."""
    return llvm.CallIntrinsicOp(result, f"llvm.x86.avx512.{name}", operands, [], []).result


def _by_registers(function: Callable[..., Value], *values: Value) -> Value:
    """Apply a function of one register to vectors of several registers."""
    size, lanes = values[0].type.shape[0], BITS // element_of(values[0].type).width
    if size == lanes:
        return function(*values)
    return joined(
        [function(*(lanes_of(value, start, lanes) for value in values)) for start in range(0, size, lanes)]
    )
