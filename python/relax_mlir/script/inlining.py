"""Select the ops of a block that are printed inside their user, such that parsing emits the ops in the same order."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.traits import IsConditional, IsLoop, IsStatement, WrittenInside, ops_with
from relax_mlir.ir_queries import defining_op, has_one_use
from relax_mlir.mlir import ir
from relax_mlir.script.constants import literal

INLINE = ops_with(WrittenInside)
NEVER = ops_with(IsConditional, IsLoop, IsStatement)


def inlined_ops(ops: Sequence[ir.Operation], *, as_expression: bool = False) -> set[ir.Operation]:
    """Return the ops of a block that are printed inside their user.

    Expressions are parsed innermost first, left to right. An op may be nested in its user if that is its only use and
    if parsing emits it at its position in the block. With `as_expression`, the block must become one expression, so any
    op may be nested.
    """
    found: set[ir.Operation] = set()
    position = len(ops) - 1
    while position >= 0:
        position = _claim(ops, position, found, as_expression) - 1
    return found


def _claim(ops: Sequence[ir.Operation], position: int, found: set[ir.Operation], anything: bool) -> int:
    """Nest ops in the op at `position`; return the position of the first op of its expression."""
    first = position
    for operand in reversed(_expression_operands(ops[position])):
        defining = defining_op(operand)
        if (
            first == 0
            or defining is None
            or defining != ops[first - 1]
            or not _may_stand_inside(defining, operand, ops[position], anything)
        ):
            continue
        found.add(defining)
        first = _claim(ops, first - 1, found, anything)
    return first


def _expression_operands(op: ir.Operation) -> list[ir.Value]:
    """Operands that are printed with the op; values that a loop carries are bound to names before it."""
    operands = list(op.operands)
    if op.name == "scf.while":
        return []
    return operands[:3] if op.name == "scf.for" else operands


def _may_stand_inside(op: ir.Operation, value: ir.Value, user: ir.Operation, anything: bool) -> bool:
    if not has_one_use(value) or op.name in NEVER or (not anything and op.name not in INLINE):
        return False
    if op.name == TUPLE and user.name == "relax.tuple_get_item":
        return False  # Python would take the field from the tuple literal
    if op.name == "relax.tuple_get_item" and _says_less(op):
        return False  # its type is annotated at its name
    return op.name != "relax.constant" or literal(op.attributes["value"]) is not None


def _says_less(get: ir.Operation) -> bool:
    """True if a field's type differs from that in the tuple type, being less precise."""
    fields = ir.TupleType(get.operands[0].type)
    number = ir.IntegerAttr(get.attributes["index"]).value
    return bool(fields.get_type(number) != get.results[0].type)
