"""Match quotients and remainders of indices in the form that `relax_mlir.tir.expression_parts` emits."""

from __future__ import annotations

from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ir


def quotient_of(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """x and d of ``x // d``, or None. d is the divisor in the IR, which may be the maximum of 1 and a size."""
    op = defining_op(value)
    if op is not None and op.name == "arith.select":
        test, zero, quotient = op.operands
        inner, compared = defining_op(quotient), defining_op(test)
        if (
            inner is None
            or inner.name != "arith.floordivsi"
            or compared is None
            or compared.name != "arith.cmpi"
        ):
            return None
        size, none = compared.operands
        is_zero = (
            number_of(zero) == 0 and number_of(none) == 0 and compared.attributes["predicate"].value == 0
        )
        if not is_zero or size_of(inner.operands[1]) != size:
            return None
        return inner.operands[0], inner.operands[1]
    return (op.operands[0], op.operands[1]) if op is not None and op.name == "arith.floordivsi" else None


def remainder_of(value: ir.Value) -> tuple[ir.Value, ir.Value] | None:
    """x and d of ``x % d``, which is emitted as ``x - x // d * d``, or None."""
    op = defining_op(value)
    if op is None or op.name != "arith.subi":
        return None
    product = defining_op(op.operands[1])
    if product is None or product.name != "arith.muli":
        return None
    for quotient, factor in (product.operands, list(product.operands)[::-1]):
        found = defining_op(quotient)
        if found is None or found.name != "arith.floordivsi":
            continue
        dividend, divisor = found.operands
        if dividend == op.operands[0] and (divisor == factor or _same_number(divisor, factor)):
            return dividend, divisor
    return None


def size_of(divisor: ir.Value) -> ir.Value:
    """The size whose maximum with 1 is the divisor, or the divisor itself."""
    op = defining_op(divisor)
    if op is None or op.name != "arith.maxsi" or 1 not in map(number_of, op.operands):
        return divisor
    return next((side for side in op.operands if number_of(side) != 1), divisor)


def number_of(value: ir.Value) -> int | None:
    """The value of a constant index, or None."""
    op = defining_op(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def _same_number(left: ir.Value, right: ir.Value) -> bool:
    number = number_of(left)
    return number is not None and number == number_of(right)
