"""Legalisation of print: a call of a function of the runtime."""

from __future__ import annotations

from relax_mlir.dialects.calls import CallPackedOp
from relax_mlir.dialects.effects import PRINT
from relax_mlir.mlir import ir


def legalize_print(op: ir.Operation) -> None:
    """Replace a `relax.print` by a `relax.call_packed`, whose side effects later passes keep in order."""
    spec = ir.ArrayAttr.get([op.attributes["format"], *ir.ArrayAttr(op.attributes["arg_spec"])])
    with ir.InsertionPoint(op), op.location:
        ir.Operation.create(
            CallPackedOp.OPERATION_NAME,
            results=[ir.TupleType.get_tuple([])],
            operands=list(op.operands),
            attributes={"func": ir.StringAttr.get(PRINT), "arg_spec": spec},
        )
    op.erase()
