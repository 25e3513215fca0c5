"""Contraction of sums of products in memory to fused multiply-adds, as in the other generated reduction loops."""

from __future__ import annotations

from relax_mlir.ir_queries import defining_op, ops_of
from relax_mlir.mlir import ir

_CONTRACT = "#arith.fastmath<contract>"


def contract_sums(loop: ir.Operation) -> None:
    """Allow ``X[i] = X[i] + a * b`` in a loop to become a fused multiply-add."""
    for store in ops_of(loop, "memref.store"):
        value, buffer, *indices = store.operands
        total = defining_op(value)
        if total is None or total.name != "arith.addf":
            continue
        sides = [defining_op(side) for side in total.operands]
        for old, product in (sides, sides[::-1]):
            if old is None or product is None or product.name != "arith.mulf":
                continue
            if old.name == "memref.load" and list(old.operands) == [buffer, *indices]:
                for op in (total, product):
                    op.attributes["fastmath"] = ir.Attribute.parse(_CONTRACT, loop.context)
