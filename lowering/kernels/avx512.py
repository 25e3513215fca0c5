"""What AVX-512 has for math functions on 16 numbers: scaling by powers of two, and tables in a register.

Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VSCALEFPS and VPERMPS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from relax_mlir.lowering.kernels.emit import Type, Value, constant, lanes_of
from relax_mlir.mlir import arith, ir, llvm, vector
from relax_mlir.target import Target

SIZE = 16
"""Lanes of a register, and numbers of a table."""

_ALL_LANES, _CURRENT_ROUNDING = -1, 4


def fits(type_: Type, target: Target) -> bool:
    """Whether values of this type are some vectors of 16 f32 side by side, and the target has AVX-512."""
    if not (target.has("avx512f") and isinstance(type_, ir.VectorType) and type_.rank == 1):
        return False
    return bool(type_.element_type == ir.F32Type.get() and type_.shape[0] % SIZE == 0)


def times_power(x: Value, n: Value) -> Value:
    """x·2^⌊n⌋, rounded once, for any n in f32; NaN for NaN."""
    i16, i32 = (ir.IntegerType.get_signless(bits) for bits in (16, 32))
    mask, rounding = constant(i16, _ALL_LANES), constant(i32, _CURRENT_ROUNDING)

    def scaled(x: Value, n: Value) -> Value:
        return _intrinsic("mask.scalef.ps.512", [x, n, x, mask, rounding])

    return _by_registers(scaled, x, n)


def look_up(table: Sequence[float], index: Value) -> Value:
    """The elements of a table of 16 at the places that the lowest four bits of each integer say."""
    elements = ir.DenseElementsAttr.get(np.array(table, np.float32), type=_register())
    numbers = arith.ConstantOp(_register(), elements).result

    def found(index: Value) -> Value:
        return _intrinsic("permvar.sf.512", [numbers, index])

    return _by_registers(found, index)


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
    whole = constant(ir.VectorType.get([size], ir.F32Type.get()), 0)
    for start in range(0, size, SIZE):
        part = function(*(lanes_of(value, start, SIZE) for value in values))
        whole = vector.insert_strided_slice(part, whole, [start], [1])
    return whole
