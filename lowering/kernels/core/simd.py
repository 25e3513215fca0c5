"""Vector operations for kernel generators: masks, loads and stores, widening and narrowing, shuffles, AVX-512.

As in :mod:`~relax_mlir.lowering.kernels.core.emit`, all functions emit at the current insertion point and location.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from relax_mlir.mlir import arith, ir, llvm, vector
from relax_mlir.target import Target


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
    return value if element_of(value.type) == element else arith.extf(_with_element(value.type, element), value)


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


# Transposes and horizontal sums of N vectors of N lanes (a power of two) by rounds of shuffles.


def transpose(rows: Sequence[Value]) -> list[Value]:
    """Transpose the square of vectors in log2(lanes) rounds."""
    lanes = len(rows)
    current = list(rows)
    half = lanes // 2
    while half:
        for i in range(lanes):
            if i & half == 0:
                current[i], current[i + half] = _exchange(current[i], current[i + half], half)
        half //= 2
    return current


def sum_each(vectors: Sequence[Value]) -> Value:
    """The horizontal sum of each vector: lane i holds the sum of vector i."""
    current = list(vectors)
    half = len(vectors) // 2
    while half:
        pairs = zip(current[:half], current[half:], strict=True)
        current = [arith.addf(*_exchange(a, b, half)) for a, b in pairs]
        half //= 2
    return current[0]


def _exchange(a: Value, b: Value, half: int) -> tuple[Value, Value]:
    """Exchange the off-diagonal parts of two vectors in each square block of size 2 * half."""
    lanes = a.type.shape[0]
    low = [i if i & half == 0 else lanes + i - half for i in range(lanes)]
    high = [i + half if i & half == 0 else lanes + i for i in range(lanes)]
    return vector.shuffle(a, b, low), vector.shuffle(a, b, high)


# AVX-512 instructions for math functions on f32 and f64 vectors: table lookup, scaling, clamping, mantissas.
#
# Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2, VSCALEFPS, VPERMPS,
# VPERMI2PD, VRANGEPS, VFIXUPIMMPS, VGETMANTPD and VGETEXPPD. A register holds 16 f32 or 8 f64.


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


def fits_avx512(type_: Type, target: Target, bits: int) -> bool:
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
        return _by_registers(lambda index: _intrinsic("vpermi2var.pd.512", register, [low, index, high]), index)
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
    return joined([function(*(lanes_of(value, start, lanes) for value in values)) for start in range(0, size, lanes)])
