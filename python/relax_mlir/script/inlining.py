"""Which ops of a block are written inside the expression that uses them, so that reading it makes the same ops."""

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
    """The ops of a block to be written inside the op that uses them.

    An expression is read from its innermost part outwards, left to right. An op may stand inside the one that uses
    it if that is its only use and reading makes it at the very place that it has in the block. `as_expression`: the
    block is to be one expression, so that any op may.
    """
    found: set[ir.Operation] = set()
    position = len(ops) - 1
    while position >= 0:
        position = _claim(ops, position, found, as_expression) - 1
    return found


def _claim(ops: Sequence[ir.Operation], position: int, found: set[ir.Operation], anything: bool) -> int:
    """Put ops inside the op at `position`; returns the position of the first op that its expression makes."""
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
    """Operands that are written where the op stands: what a loop carries is bound to names before."""
    operands = list(op.operands)
    if op.name == "scf.while":
        return []
    return operands[:3] if op.name == "scf.for" else operands


def _may_stand_inside(op: ir.Operation, value: ir.Value, user: ir.Operation, anything: bool) -> bool:
    if not has_one_use(value) or op.name in NEVER or (not anything and op.name not in INLINE):
        return False
    if op.name == TUPLE and user.name == "relax.tuple_get_item":
        return False  # Python takes the field of a written tuple itself
    if op.name == "relax.tuple_get_item" and _says_less(op):
        return False  # its type is written beside its name
    return op.name != "relax.constant" or literal(op.attributes["value"]) is not None


def _says_less(get: ir.Operation) -> bool:
    """Whether a field has another type than the tuple says: a vaguer one."""
    fields = ir.TupleType(get.operands[0].type)
    number = ir.IntegerAttr(get.attributes["index"]).value
    return bool(fields.get_type(number) != get.results[0].type)
