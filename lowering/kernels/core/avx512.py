"""What AVX-512 has for math functions on 16 numbers: scaling by powers of two, tables in a register, bounds.

Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VSCALEFPS, VPERMPS,
VRANGEPS and VFIXUPIMMPS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from relax_mlir.lowering.kernels.core.emit import Type, Value, constant
from relax_mlir.lowering.kernels.core.simd import joined, lanes_of
from relax_mlir.mlir import arith, ir, llvm
from relax_mlir.target import Target

SIZE = 16
"""Lanes of a register, and numbers of a table."""

_ALL_LANES, _CURRENT_ROUNDING = -1, 4

_ITSELF, _AS_QUIET_NAN, _NAN, _NEGATIVE_ZERO = 1, 2, 3, 7
"""What VFIXUPIMMPS puts in place of numbers of a class."""

_SMALLER_SIZE, _SIGN_OF_FIRST, _WITHOUT_SIGN = 0b10, 0b00_00, 0b10_00
"""What VRANGEPS chooses, and which sign it gives it; of NaN and a number it chooses the number."""

_POSITIVE_PART = sum(
    response << 4 * number
    for number, response in enumerate(
        # quiet NaN, signalling NaN, zero, 1, -∞, ∞, below zero, above zero
        (_AS_QUIET_NAN, _AS_QUIET_NAN, _ITSELF, _ITSELF, _NAN, _ITSELF, _NEGATIVE_ZERO, _ITSELF)
    )
)


def fits(type_: Type, target: Target) -> bool:
    """Whether values of this type are 1, 2, 4, ... vectors of 16 f32 side by side, where there are AVX-512 F and DQ."""
    if not (target.has("avx512dq") and isinstance(type_, ir.VectorType) and type_.rank == 1):
        return False
    return bool(type_.element_type == ir.F32Type.get() and _are_registers(type_.shape[0]))


def times_power(x: Value, n: Value) -> Value:
    """x·2^⌊n⌋, rounded once, for any n in f32; NaN for NaN."""
    mask, rounding = _every_lane(), _i32(_CURRENT_ROUNDING)

    def scaled(x: Value, n: Value) -> Value:
        return _intrinsic("mask.scalef.ps.512", [x, n, x, mask, rounding])

    return _by_registers(scaled, x, n)


def size_up_to(x: Value, high: float) -> Value:
    """|x|, but no more than `high`, which it also is for NaN."""
    return _smaller_size(x, high, _WITHOUT_SIGN)


def within(x: Value, bound: float) -> Value:
    """x, but no further from 0 than `bound`, which it is also for NaN, with either sign."""
    return _smaller_size(x, bound, _SIGN_OF_FIRST)


def positive_part(x: Value) -> Value:
    """x, but -0.0 where it is below 0; NaN for NaN and -∞."""
    table = constant(ir.VectorType.get([SIZE], ir.IntegerType.get_signless(32)), _POSITIVE_PART)
    mask, rounding, no_flags = _every_lane(), _i32(_CURRENT_ROUNDING), _i32(0)

    def part(x: Value) -> Value:
        return _intrinsic("mask.fixupimm.ps.512", [x, x, table, no_flags, mask, rounding])

    return _by_registers(part, x)


def look_up(table: Sequence[float], index: Value) -> Value:
    """The elements of a table of 16 at the places that the lowest four bits of each integer say."""
    elements = ir.DenseElementsAttr.get(np.array(table, np.float32), type=_register())
    numbers = arith.ConstantOp(_register(), elements).result

    def found(index: Value) -> Value:
        return _intrinsic("permvar.sf.512", [numbers, index])

    return _by_registers(found, index)


def _smaller_size(x: Value, bound: float, sign: int) -> Value:
    mask, rounding, choice = _every_lane(), _i32(_CURRENT_ROUNDING), _i32(_SMALLER_SIZE | sign)

    def smaller(x: Value) -> Value:
        top = constant(_register(), bound)
        return _intrinsic("mask.range.ps.512", [x, top, choice, top, mask, rounding])

    return _by_registers(smaller, x)


def _are_registers(lanes: int) -> bool:
    """Whether so many lanes are a power of two of registers, which can be joined."""
    return lanes % SIZE == 0 and (lanes // SIZE).bit_count() == 1


def _every_lane() -> Value:
    return constant(ir.IntegerType.get_signless(16), _ALL_LANES)


def _i32(value: int) -> Value:
    return constant(ir.IntegerType.get_signless(32), value)


def _register() -> Type:
    return ir.VectorType.get([SIZE], ir.F32Type.get())


def _intrinsic(name: str, operands: list[Value]) -> Value:
    """An intrinsic of LLVM: the same op for all, of a dialect that is there anyway."""
    return llvm.CallIntrinsicOp(_register(), f"llvm.x86.avx512.{name}", operands, [], []).result


def _by_registers(function: Callable[..., Value], *values: Value) -> Value:
    """A function of registers, on vectors of several."""
    size = values[0].type.shape[0]
    if size == SIZE:
        return function(*values)
    return joined(
        [function(*(lanes_of(value, start, SIZE) for value in values)) for start in range(0, size, SIZE)]
    )
