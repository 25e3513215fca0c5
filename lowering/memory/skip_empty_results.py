"""Pass `skip-empty-results`: prim funcs whose results have no elements return at once (level V).

Otherwise their loops might run over a dimension of billions around one of length 0.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

from relax_mlir.dialects.attributes import CHECK, DESTINATIONS, SHARED_GROUP
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.abi.lower_checks import LEAVE
from relax_mlir.lowering.kernels.nest.loop_nest import LONG
from relax_mlir.mlir import arith, func, ir, memref
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

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
    if is_declaration(callee) or SHARED_GROUP in callee.attributes:  # kernels have no checks
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
