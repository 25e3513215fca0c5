"""Vector operations for kernel generators: masks, loads and stores, lanes, widening and narrowing.

As in :mod:`~relax_mlir.lowering.kernels.core.emit`, all functions emit at the current insertion point and location.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from relax_mlir.lowering.kernels.core.emit import (
    Index,
    Type,
    Value,
    constant,
    element_of,
    index,
    is_vector,
    result_of,
    vector_type,
)
from relax_mlir.mlir import arith, ir, vector


def mask(count: Index, lanes: int) -> Value:
    """A mask of the first `count` lanes (all of them if count is larger)."""
    i32 = ir.IntegerType.get_signless(32)
    type_ = vector_type(lanes, i32)
    numbers = ir.DenseElementsAttr.get(np.arange(lanes, dtype=np.int32), type=type_)
    given = splat(arith.index_cast(i32, index(count)), lanes)
    return arith.cmpi(arith.CmpIPredicate.sgt, given, arith.ConstantOp(type_, numbers).result)


def load(lanes: int, buffer: Value, *position: Index, where: Value | None = None) -> Value:
    """Load `lanes` consecutive elements from a position; lanes outside the mask `where` are 0 and not accessed."""
    type_ = vector_type(lanes, element_of(buffer.type))
    place = [index(p) for p in position]
    if where is None:
        return vector.load(type_, buffer, place)
    return vector.maskedload(type_, buffer, place, where, constant(type_, 0))


def store(value: Value, buffer: Value, *position: Index, where: Value | None = None) -> None:
    """Store consecutive elements from a position; lanes outside the mask `where` are not written."""
    place = [index(p) for p in position]
    if where is None:
        vector.store(value, buffer, place)
    else:
        vector.maskedstore(buffer, place, where, value)


def splat(value: Value, lanes: int) -> Value:
    """Broadcast a scalar to all lanes. bf16 is broadcast as bits: LLVM would call a conversion routine."""
    if isinstance(value.type, ir.BF16Type):
        bits = arith.bitcast(ir.IntegerType.get_signless(16), value)
        return arith.bitcast(vector_type(lanes, value.type), splat(bits, lanes))
    return result_of("vector.broadcast", vector_type(lanes, value.type), [value])


def fma(a: Value, b: Value, c: Value, fused: bool = True) -> Value:
    """a * b + c on float vectors, rounded once if `fused` (a library call on CPUs without FMA)."""
    return result_of("vector.fma", a.type, [a, b, c]) if fused else arith.addf(arith.mulf(a, b), c)


def reduce(kind: str, value: Value, initial: Value | None = None, fastmath: str | None = None) -> Value:
    """Reduce a vector to a scalar; kind as in ``vector.reduction``: add, mul, maximumf, minimumf, ..."""
    attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
    flags = None if fastmath is None else ir.Attribute.parse(f"#arith.fastmath<{fastmath}>")
    return vector.reduction(element_of(value.type), attribute, value, acc=initial, fastmath=flags)


def steps(lanes: int) -> Value:
    """0, 1, 2, … as a vector of ``index``."""
    return vector.StepOp(vector_type(lanes, ir.IndexType.get())).result


def lane(value: Value, position: int) -> Value:
    """Extract one lane of a vector."""
    return vector.extract(value, [], [position])


def lanes_of(value: Value, start: int, count: int) -> Value:
    """Extract `count` consecutive lanes of a vector."""
    return vector.shuffle(value, value, range(start, start + count))


def every(step: int, parts: Sequence[Value]) -> Value:
    """Every `step`-th lane of the concatenation of `step` vectors (1 or 2), as one vector."""
    if step == 1:
        return parts[0]
    low, high = parts
    return vector.shuffle(low, high, range(0, 2 * low.type.shape[0], 2))


def joined(parts: Sequence[Value]) -> Value:
    """Concatenate vectors of one type; their number is a power of two."""
    while len(parts) > 1:
        lanes = range(2 * parts[0].type.shape[0])
        parts = [vector.shuffle(low, high, lanes) for low, high in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def widen(value: Value, element: Type) -> Value:
    """Extend a float scalar or vector to a float type that is as wide or wider."""
    return (
        value if element_of(value.type) == element else arith.extf(_with_element(value.type, element), value)
    )


def narrow(value: Value, element: Type) -> Value:
    """Round a float scalar or vector (to nearest, ties to even) to a float type that is as wide or narrower.

    f32 is rounded to bf16 by integer arithmetic, because LLVM calls a runtime library for it on CPUs without BF16.
    """
    type_ = value.type
    if element_of(type_) == element:
        return value
    if not isinstance(element, ir.BF16Type) or not isinstance(element_of(type_), ir.F32Type):
        return arith.truncf(_with_element(type_, element), value)
    wide = _with_element(type_, ir.IntegerType.get_signless(32))
    half = ir.IntegerType.get_signless(16)
    bits = arith.bitcast(wide, value)
    odd = arith.andi(arith.shrui(bits, constant(wide, 16)), constant(wide, 1))
    rounded = arith.addi(arith.addi(bits, constant(wide, 0x7FFF)), odd)
    quiet = arith.ori(bits, constant(wide, 0x400000))
    is_nan = arith.cmpf(arith.CmpFPredicate.UNO, value, value)
    chosen = arith.shrui(arith.select(is_nan, quiet, rounded), constant(wide, 16))
    return arith.bitcast(_with_element(type_, element), arith.trunci(_with_element(type_, half), chosen))


def _with_element(type_: Type, element: Type) -> Type:
    return vector_type(type_.shape[0], element) if is_vector(type_) else element
