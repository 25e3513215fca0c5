"""Pass ``check-prim-calls``: check tensor sizes against the declarations of prim funcs (levels R0, R1)."""

from __future__ import annotations

from typing import ClassVar

from relax_mlir.analysis.invariants import PrimCall, Unproved
from relax_mlir.diagnostics import where
from relax_mlir.dialects.calls import inplace_indices
from relax_mlir.dialects.structure import TUPLE, match_shape, pack
from relax_mlir.dialects.types import Tensor, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.ir_queries import callee_of, defining_op
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim
from relax_mlir.transform import ModulePass, PassContext


class CheckPrimCalls(ModulePass):
    """Insert a `relax.match_shape` before calls of prim funcs whose argument sizes are not proved.

    A prim func that declares ``A: (n, m)`` and ``B: (n,)`` reads out of bounds if it gets other sizes. Proved sizes are
    not checked at run time. The size of a destination must be proved at compile time.
    """

    name: ClassVar[str] = "check-prim-calls"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `ShapeError` for a size that is wrong, and for a destination whose size is not proved."""
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in ("relax.call_tir", "relax.call_tir_inplace"):
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        for op in found:
            name = callee_of(op)
            call = PrimCall.of(op, functions[name]) if name in functions else None
            if call is not None:
                _check(op, name, call)


def _check(op: ir.Operation, name: str, call: PrimCall) -> None:
    defining = defining_op(op.operands[0])
    operands = list(defining.operands) if defining is not None and defining.name == TUPLE else []
    simple = all(isinstance(struct_info(v.type), Tensor) for v in operands)
    patterns: dict[int, list[Dim | None]] = {}
    for item in call.unproved():
        can_match = simple and item.argument < len(operands) and item.expected is not None
        can_match = can_match and item.argument not in inplace_indices(op)
        if item.is_wrong or not can_match:
            raise ShapeError(f"{where(op)}: {op.name.removeprefix('relax.')} of '{name}': {_sentence(item)}")
        info = struct_info(operands[item.argument].type)
        assert isinstance(info, Tensor) and info.shape is not None
        patterns.setdefault(item.argument, list(info.shape))[item.axis] = item.expected
    if not patterns:
        return
    with ir.InsertionPoint(op), op.location:
        for number, pattern in patterns.items():
            dims = ["?" if d is None else d for d in pattern]
            operands[number] = match_shape(Value(operands[number]), dims).ssa
        op.operands[0] = pack(operands, op.location)


def _sentence(item: Unproved) -> str:
    hint = "" if item.is_wrong else "; match_shape the arguments so that it can be proved"
    return item.message + hint
