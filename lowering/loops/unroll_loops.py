"""Loops of schedules (level V): `join-fused-indices`, `specialize-full-tiles`, `unroll-loops`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.ir_queries import defining_op, enclosing_op_in, entry_block, ops_of
from relax_mlir.lowering.analysis.dependence import Access, digit_of, joined
from relax_mlir.lowering.analysis.index_ranges import Ranges, quotient_of
from relax_mlir.lowering.analysis.loop_annotations import (
    UNROLL,
    VECTORIZED,
    annotated_functions,
    body_of,
    clone_ops,
    constant_of,
    honoured,
    index,
    kind_of,
    loops_of_kind,
    most_bound,
    serial,
    trip_count,
    variable_of,
)
from relax_mlir.lowering.kernels.core import emit
from relax_mlir.mlir import arith, func, ir, memref, scf
from relax_mlir.symbolic import prove_equal
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native

# Pass `join-fused-indices`: replace delinearised indices of a fused loop by its induction variable (level V).


@dataclass(frozen=True)
class JoinFusedIndices(ModulePass):
    """Access `A[f // n, f % n]`, where the last dimension of A has length n, as element f of a flattened A.

    This applies to any number of adjacent dimensions. Loops that have been fused and split then access contiguous
    elements, as other loops do. Only prim funcs with annotated loops are rewritten.
    """

    name: ClassVar[str] = "join-fused-indices"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in annotated_functions(module):
            if not any(quotient_of(op.results[0]) for op in ops_of(function.operation, "arith.floordivsi")):
                continue
            run_native("func.func(cse)", function.operation)
            joiner = _Joiner(Ranges(function))
            for op in ops_of(function.operation, "memref.load", "memref.store"):
                joiner.join(op)


@dataclass
class _Joiner:
    ranges: Ranges
    views: dict[tuple[ir.Value, int, int], ir.Value] = field(default_factory=dict)

    def join(self, op: ir.Operation) -> None:
        """Merge the indices of an access that are delinearised from one value."""
        access = Access.of(op)
        assert access is not None
        buffer, indices = access.buffer, list(access.indices)
        found = self._stretch(buffer, indices)
        if found is None:
            return
        first, last, value = found
        view = self._view(buffer, first, last)
        operands = [*indices[:first], value, *indices[last + 1 :]]
        given = [op.operands[0], view] if access.stores else [view]
        with ir.InsertionPoint(op), op.location:
            types = [result.type for result in op.results]
            made = ir.Operation.create(op.name, results=types, operands=[*given, *operands])
        for old, new in zip(op.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()

    def _stretch(self, buffer: ir.Value, indices: Sequence[ir.Value]) -> tuple[int, int, ir.Value] | None:
        """The first and the last of the dimensions to merge, and their common index; None if there are none."""
        type_ = ir.MemRefType(buffer.type)
        owner = defining_op(buffer)
        if type_.affine_map != ir.AffineMap.get_identity(type_.rank):
            return None
        if owner is not None and owner.name != "memref.alloc":
            return None
        digits = [digit_of(index, self.ranges) for index in indices]
        for last in reversed(range(1, len(digits))):
            total, extent = digits[last], self.ranges.size(buffer, last)
            for first in reversed(range(last)):
                if total is None or total.below is None or extent is None or not prove_equal(total.below, extent):
                    break
                total = joined(digits[first], total)
                if total is None:
                    break
                if total.by == 1 and total.below is None:
                    return first, last, total.value
                size = self.ranges.size(buffer, first)
                extent = None if size is None else extent * size
        return None

    def _view(self, buffer: ir.Value, first: int, last: int) -> ir.Value:
        """A buffer with some of its dimensions collapsed; the view is created where the buffer is defined."""
        key = buffer, first, last
        if key in self.views:
            return self.views[key]
        type_ = ir.MemRefType(buffer.type)
        groups = [[axis] for axis in range(first)]
        groups += [list(range(first, last + 1))]
        groups += [[axis] for axis in range(last + 1, type_.rank)]
        shape = [_product([type_.shape[axis] for axis in group]) for group in groups]
        owner = buffer.owner
        place = (
            ir.InsertionPoint.at_block_begin(entry_block(self.ranges.function))
            if isinstance(owner, ir.Block)
            else ir.InsertionPoint.after(owner.operation)
        )
        with place, self.ranges.function.location:
            result = ir.MemRefType.get(shape, type_.element_type)
            self.views[key] = memref.collapse_shape(result, buffer, groups)
        return self.views[key]


def _product(sizes: Sequence[int]) -> int:
    dynamic = int(ir.ShapedType.get_dynamic_size())
    total = 1
    for size in sizes:
        if size == dynamic:
            return dynamic
        total *= size
    return total


# Pass `specialize-full-tiles`: full tiles of split loops get a copy with constant trip counts (level V).


MAX_TILE_OPS = 2000
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
        if self.ops + size > MAX_TILE_OPS:
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


def _is_for(op: ir.Operation, block: ir.Block, first: int, last: int, places: dict[ir.Operation, int]) -> bool:
    """True if all uses of a buffer are in a range of a block."""
    return all(first <= places[_at(block, use)] <= last for use in op.results[0].uses)


# Pass `unroll-loops`: unroll loops written as `T.unroll` (level V).


# Contraction of sums of products in memory to fused multiply-adds, as in the other generated reduction loops.


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


MAX_ITERATIONS = 64
"""Longer loops are not unrolled."""
MAX_OPS = 4096
"""Loops that would become more operations are not unrolled either."""


@dataclass(frozen=True)
class UnrollLoops(ModulePass):
    """Replace `scf.for` annotated as ``unroll`` by its iterations in sequence, innermost loops first.

    If the trip count only has a constant bound, like that of the last tile, each iteration is under a condition. Loops
    stay, with a note, if they have more than 64 iterations or no such bound, would become more than 4,096 operations,
    or carry values.
    """

    name: ClassVar[str] = "unroll-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in annotated_functions(module, UNROLL):
            for loop in loops_of_kind(function.operation, UNROLL):
                _unroll(loop)


def _unroll(loop: ir.Operation) -> None:
    count = _most_iterations(loop)
    reason = _obstacle(loop, count)
    if reason is not None or count is None:
        serial(loop, str(reason))
        return
    contract_sums(loop)
    is_exact = trip_count(loop) is not None
    how = "one iteration" if count == 1 else f"{count} iterations"
    honoured(loop, how if is_exact else f"{how} at most")
    begin, step = constant_of(loop.operands[0]), constant_of(loop.operands[2])
    assert begin is not None and step is not None
    with ir.InsertionPoint(loop), loop.location:
        for number in range(count):
            place = index(begin + number * step)
            condition = None if is_exact else arith.cmpi(arith.CmpIPredicate.sgt, loop.operands[1], place)
            with emit.when(condition) if condition is not None else nullcontext():
                clone_ops(body_of(loop), {variable_of(loop): place})
    loop.erase()


def _most_iterations(loop: ir.Operation) -> int | None:
    """The maximum trip count of a loop; None if it is unknown."""
    begin, step, most = (
        constant_of(loop.operands[0]),
        constant_of(loop.operands[2]),
        most_bound(loop.operands[1]),
    )
    if begin is None or step is None or step < 1 or most is None:
        return None
    return max(0, -(-(most - begin) // step))


def _obstacle(loop: ir.Operation, count: int | None) -> str | None:
    """The reason why a loop is not unrolled; None if it can be."""
    if loop.results:
        return "an iteration gives values to the next"
    if count is None:
        return "its length has no constant bound"
    if count > MAX_ITERATIONS:
        return f"it has {count} iterations, more than {MAX_ITERATIONS}"
    ops = count * (len(ops_of(loop)) - 2)
    if ops > MAX_OPS:
        return f"its iterations are {ops} operations, more than {MAX_OPS}"
    return None
