"""Questions to the IR that every part of the compiler asks."""

from __future__ import annotations

from relax_mlir.mlir import ir


def ops_of(
    root: ir.Operation, *names: str, order: ir.WalkOrder = ir.WalkOrder.PRE_ORDER
) -> list[ir.Operation]:
    """`root` and all ops in it, in the order of the program; where `names` are given, the ops called so only.

    In post-order, ops come behind those that stand in their regions. The list is made before anything is done to its
    ops, so that the walk is not disturbed.
    """
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if not names or op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, order)
    return found


def callee_of(call: ir.Operation) -> str:
    """The function that an op with the attribute ``callee`` calls."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)
