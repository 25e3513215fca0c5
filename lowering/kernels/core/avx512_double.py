"""What AVX-512 has for math functions on 8 numbers of f64: as `avx512` for f32; mantissas and exponents.

Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VGETMANTPD, VGETEXPPD, VPERMI2PD,
VSCALEFPD and VRANGEPD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from relax_mlir.lowering.kernels.core.emit import Type, Value, constant
from relax_mlir.lowering.kernels.core.simd import joined, lanes_of
from relax_mlir.mlir import arith, ir, llvm
from relax_mlir.target import Target

SIZE = 8
"""Lanes of a register; a table has twice as many numbers."""

_ALL_LANES, _CURRENT_ROUNDING = -1, 4

_FROM_THREE_QUARTERS, _NAN_BELOW_ZERO = 0b00_11, 0b10_00
"""Where VGETMANTPD has the mantissa begin, and what it makes of numbers below zero."""


_SMALLER_SIZE, _SIGN_OF_FIRST = 0b10, 0b00_00
"""What VRANGEPD chooses, and which sign it gives it; of NaN and a number it chooses the number."""


def fits(type_: Type, target: Target) -> bool:
    """Whether values of this type are 1, 2, 4, ... vectors of 8 f64 side by side, where there are AVX-512 F and DQ."""
    if not (target.has("avx512dq") and isinstance(type_, ir.VectorType) and type_.rank == 1):
        return False
    return bool(type_.element_type == ir.F64Type.get() and _are_registers(type_.shape[0]))


def mantissa(x: Value) -> Value:
    """m in [3/4, 3/2) with x = 2ⁿ·m, also for denormal x; 1 for 0 and ∞, NaN below 0 and for NaN."""
    how = _i32(_FROM_THREE_QUARTERS | _NAN_BELOW_ZERO)
    mask, rounding = _every_lane(), _i32(_CURRENT_ROUNDING)
    return _by_registers(lambda x: _intrinsic("mask.getmant.pd.512", [x, how, x, mask, rounding]), x)


def exponent(x: Value) -> Value:
    """⌊log₂ |x|⌋ as a number, also for denormal x; -∞ for 0, ∞ for ∞, NaN for NaN."""
    mask, rounding = _every_lane(), _i32(_CURRENT_ROUNDING)
    return _by_registers(lambda x: _intrinsic("mask.getexp.pd.512", [x, x, mask, rounding]), x)


def times_power(x: Value, n: Value) -> Value:
    """x·2^⌊n⌋, rounded once, for any n; NaN for NaN."""
    mask, rounding = _every_lane(), _i32(_CURRENT_ROUNDING)
    return _by_registers(lambda x, n: _intrinsic("mask.scalef.pd.512", [x, n, x, mask, rounding]), x, n)


def within(x: Value, bound: float) -> Value:
    """x, but no further from 0 than `bound`, which it is also for NaN, with either sign."""
    mask, rounding, choice = _every_lane(), _i32(_CURRENT_ROUNDING), _i32(_SMALLER_SIZE | _SIGN_OF_FIRST)

    def smaller(x: Value) -> Value:
        top = constant(_register(), bound)
        return _intrinsic("mask.range.pd.512", [x, top, choice, top, mask, rounding])

    return _by_registers(smaller, x)


def look_up(table: Sequence[float], index: Value) -> Value:
    """The elements of a table of 16 at the places that the lowest four bits of each integer say."""
    halves = [
        ir.DenseElementsAttr.get(np.array(half), type=_register()) for half in (table[:SIZE], table[SIZE:])
    ]
    low, high = (arith.ConstantOp(_register(), half).result for half in halves)
    return _by_registers(lambda index: _intrinsic("vpermi2var.pd.512", [low, index, high]), index)


def _are_registers(lanes: int) -> bool:
    """Whether so many lanes are a power of two of registers, which can be joined."""
    return lanes % SIZE == 0 and (lanes // SIZE).bit_count() == 1


def _every_lane() -> Value:
    return constant(ir.IntegerType.get_signless(SIZE), _ALL_LANES)


def _i32(value: int) -> Value:
    return constant(ir.IntegerType.get_signless(32), value)


def _register() -> Type:
    return ir.VectorType.get([SIZE], ir.F64Type.get())


def _intrinsic(name: str, operands: list[Value]) -> Value:
    return llvm.CallIntrinsicOp(_register(), f"llvm.x86.avx512.{name}", operands, [], []).result


def _by_registers(function: Callable[..., Value], *values: Value) -> Value:
    """A function of registers, on vectors of several."""
    size = values[0].type.shape[0]
    if size == SIZE:
        return function(*values)
    return joined(
        [function(*(lanes_of(value, start, SIZE) for value in values)) for start in range(0, size, SIZE)]
    )
