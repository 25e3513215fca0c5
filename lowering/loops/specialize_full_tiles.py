"""Pass `specialize-full-tiles`: full tiles of split loops get a copy with constant trip counts (level V)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.ir_queries import defining_op, enclosing_op_in, entry_block, ops_of
from relax_mlir.lowering.analysis.loop_annotations import (
    UNROLL,
    VECTORIZED,
    annotated_functions,
    clone_ops,
    constant_of,
    index,
    kind_of,
)
from relax_mlir.mlir import arith, func, ir, scf
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native

MAX_OPS = 2000
"""The maximum number of operations that a function grows to."""


@dataclass(frozen=True)
class SpecializeFullTiles(ModulePass):
    """Specialise full tiles where `e = min(c, x)`, c constant, ends loops annotated as ``vectorized`` or ``unroll``.

    The ops from the first use of e in a block to the last dependent one become ``if x >= c`` a copy with c instead of
    e, ``else`` the original. Loop-invariant code is hoisted before, so the test is where x is available, around the
    inner loops. Buffers that only these ops use are moved along. Functions do not grow beyond 2,000 operations: outer
    tests come first, and code that would exceed the limit is unchanged.
    """

    name: ClassVar[str] = "specialize-full-tiles"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in annotated_functions(module, VECTORIZED, UNROLL):
            run_native("func.func(loop-invariant-code-motion,cse)", function.operation)
            _Growth(len(ops_of(function.operation))).specialize(function)


@dataclass
class _Growth:
    """The number of operations of a function."""

    ops: int

    def specialize(self, function: func.FuncOp) -> None:
        self._block(entry_block(function))

    def _block(self, block: ir.Block) -> None:
        """Specialise the ops of a block, outer ends before inner ones."""
        done: list[ir.Value] = []
        while (end := next(_ends(block, done), None)) is not None:
            done.append(end)
            self._split(block, end)
        for view in list(block.operations):
            for region in view.operation.regions:
                for inner in region.blocks:
                    self._block(inner)

    def _split(self, block: ir.Block, end: ir.Value) -> None:
        """Specialise the ops of a block that depend on `end`, if the limit allows it."""
        ops = _dependent(block, end)
        size = sum(len(ops_of(op)) for op in ops)
        if self.ops + size > MAX_OPS:
            return
        self.ops += size
        number, other = _arguments(end)
        with ir.InsertionPoint(ops[0]), ops[0].location:
            whole = index(number)
            branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.sge, other, whole), has_else=True)
        with ir.InsertionPoint(branch.else_block):
            clone_ops(ops, {})
            scf.yield_([])
        with ir.InsertionPoint(branch.then_block):
            last = scf.YieldOp([]).operation
        for op in ops:
            op.move_before(last)
        for op in ops:
            for inner in ops_of(op):
                for position, operand in enumerate(inner.operands):
                    if operand == end:
                        inner.operands[position] = whole


def _arguments(end: ir.Value) -> tuple[int, ir.Value]:
    """The constant of a minimum, and its other operand."""
    op = defining_op(end)
    assert op is not None
    first, second = op.operands
    number = constant_of(first)
    if number is not None:
        return number, second
    number = constant_of(second)
    assert number is not None
    return number, first


def _ends(block: ir.Block, done: Sequence[ir.Value]) -> Iterator[ir.Value]:
    """The minima of a constant and a value that are defined in a block and end annotated loops."""
    for view in block.operations:
        op = view.operation
        if op.name != "arith.minsi" or op.results[0] in done:
            continue
        constants = [constant_of(operand) is not None for operand in op.operands]
        if constants.count(True) == 1 and any(_is_end(use) for use in op.results[0].uses):
            yield op.results[0]


def _is_end(use: ir.OpOperand) -> bool:
    loop = use.owner.operation
    return use.operand_number == 1 and kind_of(loop) in (VECTORIZED, UNROLL)


def _dependent(block: ir.Block, end: ir.Value) -> list[ir.Operation]:
    """The ops of a block from the first to the last user of `end`, extended to users of their results.

    Buffers that are allocated before for these ops alone are moved after `end`, and come first.
    """
    ops = [view.operation for view in block.operations]
    places = {op: number for number, op in enumerate(ops)}
    users = {places[_at(block, use)] for use in end.uses}
    first, last = min(users), max(users)
    number = first
    while number <= last:
        used = [places[_at(block, use)] for result in ops[number].results for use in result.uses]
        last = max(last, *used) if used else last
        number += 1
    chosen = ops[first : last + 1]
    own = [op for op in ops[:first] if op.name == "memref.alloc" and _is_for(op, block, first, last, places)]
    for op in own:
        op.move_before(chosen[0])
    return [*own, *chosen]


def _at(block: ir.Block, use: ir.OpOperand) -> ir.Operation:
    found = enclosing_op_in(block, use.owner.operation)
    assert found is not None
    return found


def _is_for(
    op: ir.Operation, block: ir.Block, first: int, last: int, places: dict[ir.Operation, int]
) -> bool:
    """True if all uses of a buffer are in a range of a block."""
    return all(first <= places[_at(block, use)] <= last for use in op.results[0].uses)
