"""Which ops of a block are written inside the expression that uses them, so that reading it makes the same ops."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.structure import TUPLE, maker_of
from relax_mlir.mlir import ir
from relax_mlir.script.constants import literal

INLINE = frozenset({TUPLE, "relax.tuple_get_item", "relax.shape_expr", "relax.constant", "tensor.extract"})
"""Ops that read better inside expressions: tuples, fields, shapes, small constants, conditions."""


def inlined_ops(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """The ops of a block to be written inside the op that uses them.

    An expression is read from its innermost part outwards, left to right. An op may stand inside the one that uses
    it if that is its only use and reading makes it at the very place that it has in the block.
    """
    found: set[ir.Operation] = set()
    position = len(ops) - 1
    while position >= 0:
        position = _claim(ops, position, found) - 1
    return found


def _claim(ops: Sequence[ir.Operation], position: int, found: set[ir.Operation]) -> int:
    """Put ops inside the op at `position`; returns the position of the first op that its expression makes."""
    first = position
    for operand in reversed(list(ops[position].operands)):
        maker = maker_of(operand)
        if (
            first == 0
            or maker is None
            or maker != ops[first - 1]
            or not _may_stand_inside(maker, operand, ops[position])
        ):
            continue
        found.add(maker)
        first = _claim(ops, first - 1, found)
    return first


def _may_stand_inside(op: ir.Operation, value: ir.Value, user: ir.Operation) -> bool:
    if op.name not in INLINE or len(list(value.uses)) != 1:
        return False
    if op.name == TUPLE and user.name == "relax.tuple_get_item":
        return False  # Python takes the field of a written tuple itself
    return op.name != "relax.constant" or literal(op.attributes["value"]) is not None
