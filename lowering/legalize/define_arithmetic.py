"""Define ops of users' prim funcs for all operands, with the results of Relax ops (docs/numerics.md).

A division by zero gives 0, the lowest integer divided by -1 gives itself; a shift by the width or more gives 0, or the
sign; a float beyond the range of an integer gives its limit, NaN gives 0. Assumptions that MLIR allows on an op (no
overflow, no NaNs) are dropped, because nothing checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.ir_queries import defining_op, entry_block, ops_of
from relax_mlir.mlir import arith, func, ir, linalg, math
from relax_mlir.scalars import arithmetic

Value = ir.Value
PROMISES = ("isExact", "nonNeg", "isDisjoint", "roundingmode")
OVERFLOW, FASTMATH = "overflowFlags", "fastmath"
_UNSAFE_FASTMATH = {"nnan", "ninf", "fast"}
SAFE_FASTMATH = ["reassoc", "nsz", "arcp", "contract", "afn"]
EQ, ULT = arith.CmpIPredicate.eq, arith.CmpIPredicate.ult


def define_arithmetic(function: func.FuncOp) -> None:
    """Rewrite the ops of a prim func in place."""
    for op in ops_of(function.operation):
        if op.name.startswith(("arith.", "math.")):
            _drop_promises(op)
        rule = RULES.get(op.name)
        if rule is None or _is_defined(op):
            continue
        _name_nothing(op)
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(rule(op, *op.operands))
        op.erase()


def _drop_promises(op: ir.Operation) -> None:
    for name in PROMISES:
        if name in op.attributes:
            del op.attributes[name]
    if OVERFLOW in op.attributes:
        op.attributes[OVERFLOW] = ir.Attribute.parse("#arith.overflow<none>")
    if FASTMATH in op.attributes:
        flags = set(str(op.attributes[FASTMATH]).partition("<")[2].rstrip(">").split(","))
        if flags & _UNSAFE_FASTMATH:
            kept = SAFE_FASTMATH if "fast" in flags else sorted(flags - _UNSAFE_FASTMATH) or ["none"]
            op.attributes[FASTMATH] = ir.Attribute.parse(f"#arith.fastmath<{','.join(kept)}>")


def _name_nothing(op: ir.Operation) -> None:
    """Replace the ``linalg`` op around `op` by a ``linalg.generic``, if its name no longer describes its body."""
    around = op.parent.operation
    if not around.name.startswith("linalg.") or around.name == "linalg.generic":
        return
    with ir.InsertionPoint(around), around.location:
        maps = linalg.get_indexing_maps(around)
        rank = maps[0].value.n_dims
        parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
        inputs = len(around.operands) - 1
        new = ir.Operation.create(
            "linalg.generic",
            results=[result.type for result in around.results],
            operands=list(around.operands),
            attributes={
                "indexing_maps": ir.ArrayAttr.get(list(maps)),
                "iterator_types": ir.ArrayAttr.get([parallel] * rank),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([inputs, 1]),
            },
            regions=1,
        )
    entry_block(around).append_to(new.regions[0])
    for old, result in zip(around.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    around.erase()


# -- divisions


@dataclass(frozen=True)
class Integers:
    """Constants of an integer type or of ``index``."""

    type: ir.Type

    @property
    def bits(self) -> int:
        return ir.IntegerType(self.type).width if isinstance(self.type, ir.IntegerType) else 64

    @property
    def least(self) -> int:
        return -(1 << (self.bits - 1))

    def constant(self, value: int) -> Value:
        return arith.constant(self.type, value)


def _divide(
    emit: Callable[[Value, Value], Value], *, signed: bool, remainder: bool = False
) -> Callable[..., Value]:
    def rule(op: ir.Operation, a: Value, b: Value) -> Value:
        kind = Integers(a.type)
        zero = kind.constant(0)
        by_zero = arith.cmpi(EQ, b, zero)
        traps = by_zero
        if signed:
            least, minus_one = (arith.cmpi(EQ, x, kind.constant(n)) for x, n in ((a, kind.least), (b, -1)))
            traps = arith.ori(traps, arith.andi(least, minus_one))
        found = emit(a, arith.select(traps, kind.constant(1), b))
        return found if remainder else arith.select(by_zero, zero, found)

    return rule


def _shift(emit: Callable[[Value, Value], Value], *, signed: bool) -> Callable[..., Value]:
    def rule(op: ir.Operation, x: Value, count: Value) -> Value:
        kind = Integers(x.type)
        inside = arith.cmpi(ULT, count, kind.constant(kind.bits))
        if signed:
            return emit(x, arith.select(inside, count, kind.constant(kind.bits - 1)))
        zero = kind.constant(0)
        return arith.select(inside, emit(x, arith.select(inside, count, zero)), zero)

    return rule


def _to_integer(kind: str) -> Callable[..., Value]:
    def rule(op: ir.Operation, value: Value) -> Value:
        bits = ir.IntegerType(op.results[0].type).width
        return arithmetic.convert(dtypes.from_element_type(value.type), dtypes.dtype(f"{kind}{bits}"), value)

    return rule


# -- powers


def _float_power(op: ir.Operation, x: Value, exponent: Value) -> Value:
    """``x ** exponent`` through f64; an odd exponent keeps the sign."""
    double, i64 = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    exponent = arith.index_cast(i64, exponent) if isinstance(exponent.type, ir.IndexType) else exponent
    source = dtypes.from_element_type(x.type)
    wide = arithmetic.convert(source, dtypes.dtype("float64"), x)
    power = math.powf(math.absf(wide), arith.sitofp(double, exponent))
    kind = Integers(exponent.type)
    odd = arith.cmpi(EQ, arith.andi(exponent, kind.constant(1)), kind.constant(1))
    found = arith.select(odd, math.copysign(power, wide), power)
    return arithmetic.convert(dtypes.dtype("float64"), source, found)


def _integer_power(op: ir.Operation, base: Value, exponent: Value) -> Value:
    from relax_mlir.scalars.binary_rules import SCALAR_RULES

    return SCALAR_RULES["power"](_signed(base.type), base, exponent)


def _signed(type_: ir.Type) -> DType:
    return dtypes.dtype(f"int{ir.IntegerType(type_).width}")


def _is_normal(op: ir.Operation, x: Value) -> Value:
    """Emit the test that a float is neither zero, subnormal, infinite nor NaN."""
    kind = dtypes.from_element_type(x.type)
    wide = arithmetic.compute_dtype(kind)
    size = math.absf(arithmetic.widen(kind, x))
    least = arithmetic.compare(
        wide, "ge", size, arithmetic.const(wide, float(ml_dtypes.finfo(kind.numpy).tiny))
    )
    return arith.andi(least, arithmetic.compare(wide, "lt", size, arithmetic.const(wide, float("inf"))))


def _fma(op: ir.Operation, *operands: Value) -> Value:
    """Compute the fused multiply-add of bf16, which has none, in f32."""
    kind = dtypes.from_element_type(operands[0].type)
    return arithmetic.widened(lambda dtype, a, b, c: math.fma(a, b, c))(kind, *operands)


RULES: dict[str, Callable[..., Value]] = {
    "arith.divsi": _divide(arith.divsi, signed=True),
    "arith.divui": _divide(arith.divui, signed=False),
    "arith.floordivsi": _divide(arith.floordivsi, signed=True),
    "arith.ceildivsi": _divide(arith.ceildivsi, signed=True),
    "arith.ceildivui": _divide(arith.ceildivui, signed=False),
    "arith.remsi": _divide(arith.remsi, signed=True, remainder=True),
    "arith.remui": _divide(arith.remui, signed=False, remainder=True),
    "arith.shli": _shift(arith.shli, signed=False),
    "arith.shrui": _shift(arith.shrui, signed=False),
    "arith.shrsi": _shift(arith.shrsi, signed=True),
    "arith.fptosi": _to_integer("int"),
    "arith.fptoui": _to_integer("uint"),
    "math.fma": _fma,
    "math.fpowi": _float_power,
    "math.ipowi": _integer_power,
    "math.isnormal": _is_normal,
}
"""The replacement of each op."""


# -- ops that are defined for all operands that they can get


def _is_defined(op: ir.Operation) -> bool:
    if op.name == "math.fma":
        return not isinstance(op.operands[0].type, ir.BF16Type)
    if op.name.startswith("math."):
        return False
    if op.name.startswith("arith.fpto"):
        return _is_saturated(op)
    known = _constant(op.operands[1])
    if "sh" in op.name:
        bits = Integers(op.operands[0].type).bits
        return (0 <= known < bits) if known is not None else _is_limited(op.operands[1], bits)
    if known is not None:
        return known != 0 and (known != -1 or op.name.endswith("ui"))
    return _is_positive(op.operands[1]) or _is_guarded(*op.operands, signed=not op.name.endswith("ui"))


def _is_positive(divisor: Value) -> bool:
    """True if a divisor is the maximum of a value and a positive constant."""
    op = defining_op(divisor)
    if op is None or op.name != "arith.maxsi":
        return False
    return any((number := _constant(side)) is not None and number > 0 for side in op.operands)


def _constant(value: Value) -> int | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.IntegerAttr):
        return None
    return int(ir.IntegerAttr(op.attributes["value"]).value)


def _is_guarded(a: Value, divisor: Value, *, signed: bool) -> bool:
    """True if `divisor` is ``select(traps, 1, b)`` of `safe_divisor`."""
    choice = defining_op(divisor)
    if choice is None or choice.name != "arith.select" or _constant(choice.operands[1]) != 1:
        return False
    test, _, b = choice.operands
    if not signed:
        return _tests(test, b, 0)
    either = defining_op(test)
    if either is None or either.name != "arith.ori" or not _tests(either.operands[0], b, 0):
        return False
    both = defining_op(either.operands[1])
    return (
        both is not None
        and both.name == "arith.andi"
        and _tests(both.operands[0], a, Integers(a.type).least)
        and _tests(both.operands[1], b, -1)
    )


def _tests(test: Value, value: Value, number: int) -> bool:
    """True if `test` is ``value == number``."""
    op = defining_op(test)
    return (
        op is not None
        and op.name == "arith.cmpi"
        and int(ir.IntegerAttr(op.attributes["predicate"]).value) == int(EQ)
        and op.operands[0] == value
        and _constant(op.operands[1]) == number
    )


def _is_limited(count: Value, bits: int) -> bool:
    """True if `count` is ``select(count < bits, count, n)`` with a constant in range."""
    choice = defining_op(count)
    if choice is None or choice.name != "arith.select":
        return False
    other, test = _constant(choice.operands[2]), defining_op(choice.operands[0])
    return (
        other is not None
        and 0 <= other < bits
        and test is not None
        and test.name == "arith.cmpi"
        and int(ir.IntegerAttr(test.attributes["predicate"]).value) == int(ULT)
        and test.operands[0] == choice.operands[1]
        and _constant(test.operands[1]) == bits
    )


def _is_saturated(op: ir.Operation) -> bool:
    """True if the operand is ``select(low <= x and x < high, x, 0)``, as the rule of astype emits it."""
    choice = defining_op(op.operands[0])
    if choice is None or choice.name != "arith.select":
        return False
    both = defining_op(choice.operands[0])
    if both is None or both.name != "arith.andi":
        return False
    value, other = choice.operands[1], defining_op(choice.operands[2])
    kind = "int" if op.name == "arith.fptosi" else "uint"
    low, high = arithmetic.bounds(dtypes.dtype(f"{kind}{ir.IntegerType(op.results[0].type).width}"))
    wanted = ((arith.CmpFPredicate.OGE, float(low)), (arith.CmpFPredicate.OLT, float(high + 1)))
    tests = [defining_op(test) for test in both.operands]
    if other is None or other.name != "arith.constant" or ir.FloatAttr(other.attributes["value"]).value != 0:
        return False
    return all(
        test is not None
        and test.name == "arith.cmpf"
        and int(ir.IntegerAttr(test.attributes["predicate"]).value) == int(predicate)
        and test.operands[0] == value
        and _float(test.operands[1]) == number
        for test, (predicate, number) in zip(tests, wanted, strict=True)
    )


def _float(value: Value) -> float | None:
    op = defining_op(value)
    if op is None or op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.FloatAttr):
        return None
    return float(ir.FloatAttr(op.attributes["value"]).value)
