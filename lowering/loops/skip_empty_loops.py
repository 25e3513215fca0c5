"""`skip-empty-loops` and `skip-empty-results`: prim funcs skip loops that compute nothing (level V)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import ClassVar

from relax_mlir.dialects.attributes import CHECK, DESTINATIONS, PARAMS
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.base.runtime_declarations import LEAVE
from relax_mlir.lowering.kernels.core.parallel import MARK
from relax_mlir.lowering.kernels.nest.loop_nest import LONG
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

# Pass `skip-empty-loops`: skip loops of prim funcs that contain nothing but empty loops (level V).


LOOPS = ("scf.for", "scf.parallel")
_FREE = (
    "arith.",
    "math.",
    "memref.dim",
    "memref.load",
    "memref.subview",
    "memref.cast",
    "vector.load",
    "ub.poison",
)
"""Name prefixes of ops without side effects."""


class SkipEmptyLoops(ModulePass):
    """Skip a long loop of a prim func if its body only runs loops, and all of them are empty.

    The loop might count to billions around a loop of length 0. The test is emitted before the loop, as far out as the
    bounds are available. Loops that are lowered from linalg ops have their own test, and `skip-empty-results` handles
    results without elements.
    """

    name: ClassVar[str] = "skip-empty-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        for function in module.body.operations:
            if isinstance(function, func.FuncOp) and PARAMS in function.attributes:
                for loop in ops_of(function.operation, *LOOPS, order=ir.WalkOrder.POST_ORDER):
                    _guard(loop)


def _guard(loop: ir.Operation) -> None:
    if not _is_plain(loop) or _is_short(loop):
        return
    runs = _reasons_to_run(loop)
    if not runs:
        return
    lower, upper = list(loop.operands)[:2]
    known = [lower, upper, *(value for reason in runs for value in reason)]
    with ir.InsertionPoint(_outermost(loop, known)), loop.location:
        loop.operands[1] = arith.select(functools.reduce(arith.ori, map(_runs, runs)), upper, lower)


def _is_plain(loop: ir.Operation) -> bool:
    """True if a loop has one variable and no results: its operands are lower bound, upper bound and step."""
    return len(loop.operands) == 3


def _reasons_to_run(loop: ir.Operation) -> list[Sequence[ir.Value]]:
    """The bounds of inner loops and the conditions that give a loop effects; empty if it may have others."""
    found: list[Sequence[ir.Value]] = []
    for view in entry_block(loop).operations:
        op = view.operation
        if op.name in LOOPS and _is_plain(op):
            found.append(list(op.operands)[:2])
        elif op.name == "scf.if" and not len(op.regions[1].blocks):
            found.append([op.operands[0]])
        elif not _is_free(op):
            return []
    return found if all(_comes_before(value, loop) for reason in found for value in reason) else []


def _is_free(op: ir.Operation) -> bool:
    """True if an op has no side effects, or only declares the cost of a loop."""
    if op.name == "func.call":
        return callee_of(op) == MARK
    return op.name in ("scf.yield", "scf.reduce") or op.name.startswith(_FREE)


def _runs(reason: Sequence[ir.Value]) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, *reason) if len(reason) == 2 else reason[0]


def _comes_before(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is available before a loop; arithmetic on available values is hoisted there."""
    if _is_outside(value, loop):
        return True
    op = value.owner
    if isinstance(op, ir.Block) or not _is_moved(op.operation):
        return False
    if not all(_comes_before(operand, loop) for operand in op.operands):
        return False
    op.operation.move_before(loop)
    return True


def _is_moved(op: ir.Operation) -> bool:
    """True if an op may be executed speculatively: divisors are constants."""
    divides = "div" in op.name or "rem" in op.name
    return op.name.startswith("arith.") and not (divides and not _constant(op.operands[1]))


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is defined outside of a loop."""
    owner = value.owner
    op = owner.owner if isinstance(owner, ir.Block) else owner
    while op is not None and op.operation.name != "func.func":
        if op.operation == loop:
            return False
        op = op.operation.parent
    return True


def _outermost(loop: ir.Operation, values: Sequence[ir.Value]) -> ir.Operation:
    """The outermost of the loops around a loop before which the values are available."""
    parent = loop.parent
    while parent is not None and parent.name in LOOPS:
        if not all(_is_outside(value, parent.operation) for value in values):
            break
        loop, parent = parent.operation, parent.operation.parent
    return loop


def _is_short(loop: ir.Operation) -> bool:
    lower, upper = (_constant(value) for value in list(loop.operands)[:2])
    return lower is not None and upper is not None and upper - lower < LONG


def _constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return int(ir.IntegerAttr(owner.operation.attributes["value"]).value)


# Pass `skip-empty-results`: prim funcs whose results have no elements return at once (level V).
#
# Otherwise their loops might run over a dimension of billions around one of length 0.


ASSERT = "cf.assert"


class SkipEmptyResults(ModulePass):
    """Make prim funcs return before they take memory or run a loop if all of their destinations are empty.

    Functions whose buffers all have at most one long or dynamic dimension are unchanged. Checks at the top level run
    first. A function that checks in nested code, or calls one that checks there, is unchanged: empty results do not
    suppress errors. `lower-checks` lowers the emitted calls of `@relax.leave_if` to branches.
    """

    name: ClassVar[str] = "skip-empty-results"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        table = functions(module)
        left = False
        for function in table.values():
            if DESTINATIONS in function.attributes and not is_declaration(function):
                left |= _leave_early(function, table)
        if left and LEAVE not in table:
            with ir.InsertionPoint.at_block_begin(module.body), ir.Location.unknown():
                bit = ir.IntegerType.get_signless(1)
                func.FuncOp(LEAVE, ir.FunctionType.get([bit], []), visibility="private")


def _leave_early(function: func.FuncOp, table: Mapping[str, func.FuncOp]) -> bool:
    """Emit the call of `@relax.leave_if`; return True if it is needed and possible."""
    results = [function.arguments[number] for number in function.attributes[DESTINATIONS]]
    if function.type.results or any(_never_empty(ir.MemRefType(result.type)) for result in results):
        return False
    if all(map(_is_in_memory, function.type.inputs)):
        return False
    block = entry_block(function)
    checks = _checks(function.operation, table)
    if any(check.block != block for check in checks):
        return False
    place = ir.InsertionPoint.after(checks[-1]) if checks else ir.InsertionPoint.at_block_begin(block)
    with place, function.location:
        func.CallOp([], LEAVE, [functools.reduce(_both, map(_is_empty, results))])
    return True


def _never_empty(type_: ir.MemRefType) -> bool:
    return 0 not in type_.shape and all(not type_.is_dynamic_dim(axis) for axis in range(type_.rank))


def _is_in_memory(type_: ir.Type) -> bool:
    """True if a parameter cannot be both long and empty, so that no loop along it exceeds the size of its memory."""
    if not isinstance(type_, ir.MemRefType):
        return False
    open_dims = [axis for axis, size in enumerate(type_.shape) if type_.is_dynamic_dim(axis) or size >= LONG]
    return len(open_dims) <= 1 and 0 not in type_.shape


def _checks(root: ir.Operation, table: Mapping[str, func.FuncOp]) -> list[ir.Operation]:
    """The ops in `root` that check something, directly or in their callee."""
    return [op for op in ops_of(root, ASSERT, "func.call") if op.name == ASSERT or _checks_in(op, table)]


def _checks_in(call: ir.Operation, table: Mapping[str, func.FuncOp]) -> bool:
    if callee_of(call) == LEAVE:
        return False
    callee = table[callee_of(call)]
    if is_declaration(callee):
        return CHECK in callee.attributes
    return bool(_checks(callee.operation, table))


def _is_empty(buffer: ir.Value) -> ir.Value:
    """True (i1) if a dimension is 0."""
    type_ = ir.MemRefType(buffer.type)
    if 0 in type_.shape:
        return arith.constant(ir.IntegerType.get_signless(1), 1)
    zero = arith.constant(ir.IndexType.get(), 0)
    dims = [
        memref.dim(buffer, arith.constant(ir.IndexType.get(), axis))
        for axis in range(type_.rank)
        if type_.is_dynamic_dim(axis)
    ]
    return functools.reduce(arith.ori, (arith.cmpi(arith.CmpIPredicate.eq, dim, zero) for dim in dims))


def _both(first: ir.Value, second: ir.Value) -> ir.Value:
    return arith.andi(first, second)
