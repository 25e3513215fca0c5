"""Scalar arithmetic by dtype, for the bodies of ``linalg.generic``.

From level T on integers are signless, so the dtype chooses the op (``divsi`` or ``divui``). float16 and bfloat16 are
computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.mlir import arith, ir, math

Scalar: TypeAlias = ir.Value
ScalarRule = Callable[..., Scalar]
"""``rule(dtype, *operands)``: one scalar from scalars of `dtype`."""

Relation = Literal["eq", "ne", "lt", "le", "gt", "ge"]

_F = arith.CmpFPredicate
_FLOAT_PREDICATES = {"eq": _F.OEQ, "ne": _F.UNE, "lt": _F.OLT, "le": _F.OLE, "gt": _F.OGT, "ge": _F.OGE}


def const(dtype: DType, value: float | int) -> Scalar:
    """The constant `value` of `dtype`; integers wrap to the width (255 is the int8 -1)."""
    storage = dtype.storage_type()
    if dtype.is_float:
        return arith.constant(storage, float(value))
    wrapped = int(value) & ((1 << dtype.bits) - 1)
    signed = wrapped - (1 << dtype.bits) if wrapped >> (dtype.bits - 1) else wrapped
    return arith.constant(storage, signed)


def bounds(dtype: DType) -> tuple[int, int]:
    """Minimum and maximum value of an integer dtype."""
    return dtype.bounds


def compute_dtype(dtype: DType) -> DType:
    """The dtype in which scalars of `dtype` are computed: float32 for float16 and bfloat16, else itself."""
    return dtypes.dtype("float32") if dtype.is_float and dtype.bits < 32 else dtype


def widen(dtype: DType, value: Scalar) -> Scalar:
    """`value` of `dtype` in its `compute_dtype`."""
    wide = compute_dtype(dtype)
    return value if wide == dtype else arith.extf(wide.storage_type(), value)


def narrow(dtype: DType, value: Scalar) -> Scalar:
    """`value` of the `compute_dtype` of `dtype`, back in `dtype`."""
    return value if compute_dtype(dtype) == dtype else arith.truncf(dtype.storage_type(), value)


def widened(rule: ScalarRule) -> ScalarRule:
    """Extend `rule` to float16 and bfloat16: compute in `compute_dtype`, then convert the result back."""

    def apply(dtype: DType, *operands: Scalar) -> Scalar:
        wide = [widen(dtype, operand) for operand in operands]
        return narrow(dtype, rule(compute_dtype(dtype), *wide))

    return apply


def widened_test(rule: ScalarRule) -> ScalarRule:
    """Like `widened`, for a rule with a bool result."""

    def apply(dtype: DType, *operands: Scalar) -> Scalar:
        return rule(compute_dtype(dtype), *(widen(dtype, operand) for operand in operands))

    return apply


def compare(dtype: DType, relation: Relation, a: Scalar, b: Scalar) -> Scalar:
    """The i1 ``a relation b``; with NaN only "ne" is true. Unsigned integers and bool compare unsigned."""
    if dtype.is_float:
        return arith.cmpf(_FLOAT_PREDICATES[relation], a, b)
    prefix = "" if relation in ("eq", "ne") else "s" if dtype.kind == "int" else "u"
    return arith.cmpi(getattr(arith.CmpIPredicate, prefix + relation), a, b)


def is_nan(value: Scalar) -> Scalar:
    """True if a float is NaN."""
    return arith.cmpf(_F.UNO, value, value)


def is_true(dtype: DType, value: Scalar) -> Scalar:
    """True if a scalar is not zero; NaN is true."""
    if dtype.kind == "bool":
        return value
    return compare(dtype, "ne", value, const(dtype, 0))


def select(dtype: DType, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """`a` if `condition` holds, else `b`; bfloat16 is selected as bits, since LLVM would call a conversion routine."""
    if dtype.name != "bfloat16":
        return arith.select(condition, a, b)
    bits = ir.IntegerType.get_signless(16)
    chosen = arith.select(condition, arith.bitcast(bits, a), arith.bitcast(bits, b))
    return arith.bitcast(dtype.storage_type(), chosen)


def negate(condition: Scalar) -> Scalar:
    """The negation of an i1."""
    return arith.xori(condition, const(dtypes.dtype("bool"), 1))


def add(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    if dtype.kind == "bool":
        return arith.ori(a, b)
    return arith.addf(a, b) if dtype.is_float else arith.addi(a, b)


def subtract(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    return arith.subf(a, b) if dtype.is_float else arith.subi(a, b)


def multiply(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    if dtype.kind == "bool":
        return arith.andi(a, b)
    return arith.mulf(a, b) if dtype.is_float else arith.muli(a, b)


def maximum(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """The larger value; NaN if either is NaN."""
    if dtype.is_float:
        return arith.maximumf(a, b)
    return arith.maxsi(a, b) if dtype.kind == "int" else arith.maxui(a, b)


def minimum(dtype: DType, a: Scalar, b: Scalar) -> Scalar:
    """The smaller value; NaN if either is NaN."""
    if dtype.is_float:
        return arith.minimumf(a, b)
    return arith.minsi(a, b) if dtype.kind == "int" else arith.minui(a, b)


def convert(source: DType, target: DType, value: Scalar) -> Scalar:
    """Convert `value` from dtype `source` to `target`, by the rules of `relax.astype`."""
    if source == target:
        return value
    if target.kind == "bool":
        return is_true(compute_dtype(source), widen(source, value))
    if source.is_float:
        return _float_to_float(source, target, value) if target.is_float else _float_to_int(source, target, value)
    return _int_to_float(source, target, value) if target.is_float else _int_to_int(source, target, value)


def _float_to_float(source: DType, target: DType, value: Scalar) -> Scalar:
    if source.bits > target.bits:
        return arith.truncf(target.storage_type(), value)
    if source.bits < target.bits:
        return arith.extf(target.storage_type(), value)
    return narrow(target, widen(source, value))


def _float_to_int(source: DType, target: DType, value: Scalar) -> Scalar:
    """Convert with saturation; NaN gives 0. The conversion op only sees values in range, so it is never poison."""
    value = math.trunc(widen(source, value))
    source = compute_dtype(source)
    least, greatest = bounds(target)
    low, high = const(source, least), const(source, float(greatest + 1))
    below = compare(source, "lt", value, low)
    above = compare(source, "ge", value, high)
    inside = arith.andi(compare(source, "ge", value, low), compare(source, "lt", value, high))
    safe = arith.select(inside, value, const(source, 0))
    storage = target.storage_type()
    result = arith.fptosi(storage, safe) if target.kind == "int" else arith.fptoui(storage, safe)
    result = arith.select(below, const(target, least), result)
    return arith.select(above, const(target, greatest), result)


def _int_to_float(source: DType, target: DType, value: Scalar) -> Scalar:
    wide = compute_dtype(target)
    storage = wide.storage_type()
    converted = arith.sitofp(storage, value) if source.kind == "int" else arith.uitofp(storage, value)
    return narrow(target, converted)


def _int_to_int(source: DType, target: DType, value: Scalar) -> Scalar:
    storage = target.storage_type()
    if target.bits < source.bits:
        return arith.trunci(storage, value)
    if target.bits == source.bits:
        return value
    return arith.extsi(storage, value) if source.kind == "int" else arith.extui(storage, value)
