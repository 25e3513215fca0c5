"""Parallel loops (level V): `parallelize-loops` marks `T.parallel`, `outline-parallel-loops` creates thread jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import (
    AS_GENERATED,
    DEFINED_BY,
    JOB,
    LOOP_KIND,
    MAY_FAIL,
    SEPARATE,
    SUPPORT,
)
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import (
    ancestors,
    callee_of,
    defining_op,
    entry_block,
    function_of,
    is_a,
    ops_of,
    owner_block,
)
from relax_mlir.lowering.analysis.dependence import Aliases, Independence
from relax_mlir.lowering.analysis.loop_annotations import (
    INDEPENDENT,
    PARALLEL,
    annotated_functions,
    body_of,
    enclosing_loops,
    honoured,
    is_inside,
    loops_of_kind,
    most_bound,
    serial,
    trip_count,
)
from relax_mlir.lowering.base.runtime_declarations import OWN_PREFIX
from relax_mlir.lowering.base.support import THREADS_TABLE
from relax_mlir.lowering.kernels.core import emit, parallel
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core.emit import Index
from relax_mlir.lowering.kernels.core.parallel import MARK, THRESHOLD
from relax_mlir.lowering.kernels.core.parallel import PARALLEL as PARALLEL_LOOP
from relax_mlir.mlir import arith, func, ir, llvm
from relax_mlir.mlir_text import Fragment, descriptor, functions, symbol_name
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

# The cost of a loop in cycles, as a formula that is computed before the loop (see `parallel_loop`).


FUNCTION_CYCLES = 16
"""The approximate cycles of a math function."""
UNKNOWN_LENGTH = 8
"""The assumed trip count of an inner loop whose bounds depend on the loop in question."""
FREE = ("arith.constant", "memref.dim", "memref.cast", "builtin.unrealized_conversion_cast", "scf.yield")


def cost_of(loop: ir.Operation) -> Index:
    """The approximate cycles of all iterations of a loop; emitted at the insertion point, before the loop."""
    return emit.mul(_length(loop, loop), _of_ops(body_of(loop), loop))


def _of_ops(ops: list[ir.Operation], loop: ir.Operation) -> Index:
    total: Index = 1
    for op in ops:
        total = emit.add(total, _of_op(op, loop))
    return total


def _of_op(op: ir.Operation, loop: ir.Operation) -> Index:
    if op.name in FREE:
        return 0
    if op.name == "scf.for":
        return emit.mul(_length(op, loop), _of_ops(body_of(op), loop))
    if len(op.regions):
        blocks = [block for region in op.regions for block in region.blocks]
        costs = [_of_ops([view.operation for view in block.operations], loop) for block in blocks]
        total: Index = 0
        for cost in costs:
            total = emit.maximum(total, cost)
        return total
    return FUNCTION_CYCLES if op.name.startswith("math.") and op.name != "math.fma" else 1


def _length(inner: ir.Operation, loop: ir.Operation) -> Index:
    """The trip count of a loop in another one: exact, an upper bound, or an estimate."""
    begin, end, step = list(inner.operands)[:3]
    count = trip_count(inner)
    if count is not None:
        return count
    if not any(is_inside(value, loop) for value in (begin, end, step)):
        count_ = arith.ceildivsi(arith.subi(end, begin), step)
        return arith.maxsi(count_, emit.index(0))
    most = most_bound(end)
    return UNKNOWN_LENGTH if most is None else max(most, 1)


# Pass `parallelize-loops`: run loops written as `T.parallel` on the thread pool (level V).


@dataclass(frozen=True)
class ParallelizeLoops(ModulePass):
    """Mark `scf.for` annotated as ``parallel`` to run on several threads, if its cost justifies it.

    `outline-parallel-loops` outlines marked loops as jobs. The cost of all iterations is a formula of the trip counts
    of inner loops. A loop whose iterations are not proved independent, or in which a check may fail, stays serial, with
    a note. A loop nested in a marked one is sequential within its job.
    """

    name: ClassVar[str] = "parallelize-loops"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        aliases = Aliases(module)
        for function in annotated_functions(module, PARALLEL):
            independence = Independence(function, aliases)
            for loop in reversed(loops_of_kind(function.operation, PARALLEL)):
                reason = _obstacle(loop, independence)
                if reason is not None:
                    serial(loop, reason)
                    continue
                with ir.InsertionPoint(loop), loop.location:
                    cost = cost_of(loop)
                honoured(loop, "jobs of threads")
                for mark in (LOOP_KIND, INDEPENDENT):
                    if mark in loop.attributes:
                        del loop.attributes[mark]
                parallel.mark(loop, cost)


def _obstacle(loop: ir.Operation, independence: Independence) -> str | None:
    if any(parallel.PARALLEL in around.attributes for around in enclosing_loops(loop)):
        return "a loop around it runs on several threads"
    if loop.results:
        return "an iteration gives values to the next"
    ops = ops_of(loop, "cf.assert", "func.call")
    if ops:
        return "a check in it may fail"
    return None if INDEPENDENT in loop.attributes else independence.obstacle(loop)


# Pass `outline-parallel-loops`: outline parallel loops into functions that run on the thread pool.


RUN = "relax.rt.parallel"


@dataclass(frozen=True)
class OutlineParallelLoops(ModulePass):
    """Outline every `scf.for` with `relax.parallel` that begins with a call of `@relax.parallel_cost(index)`.

    The loop becomes a function of a context (captured values, in a struct on the stack), a first and a last iteration.
    A call of `@relax.rt.parallel` replaces it, which runs it on the thread pool if the cost is worth it, otherwise on
    the calling thread. The marks are dropped for a `target` with one thread, for loops in which a check may fail (an
    error cannot leave another thread), and for loops that no longer exist.

    Raises `CompileError` for marked loops that carry values.
    """

    name: ClassVar[str] = "outline-parallel-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        threads = Target.parse(self.target).num_threads
        table = functions(module)
        contents = {name: _Contents.of(op.operation) for name, op in table.items() if not op.is_external}
        marks = [mark for each in contents.values() for mark in each.marks]
        numbers: Counter[str] = Counter()
        for mark in marks:
            loop, cost = _marked(mark), mark.operands[0]
            around = contents[symbol_name(function_of(mark))]
            mark.erase()
            around.calls[MARK] -= 1
            if loop is None:
                continue
            del loop.attributes[PARALLEL_LOOP]
            if threads > 1 and not _may_fail(loop, table, contents):
                prefix = _prefix(loop)
                with loop.location:
                    _outline(module, loop, cost, f"{prefix}.{numbers[prefix]}", threads)
                numbers[prefix] += 1
                around.calls[RUN] += 1
        if MARK in table:
            table[MARK].operation.erase()
        if threads > 1 and (marks or any(DEFINED_BY in op.attributes for op in table.values())):
            _runtime().splice(module)


def _marked(mark: ir.Operation) -> ir.Operation | None:
    """The loop of a mark; None if the loop no longer exists."""
    loop = mark.parent.operation
    if PARALLEL_LOOP not in loop.attributes or entry_block(loop).operations[0].operation != mark:
        return None
    if loop.results:
        raise CompileError("outline-parallel-loops: a loop that carries values cannot run on several threads")
    if not _is_outside(mark.operands[0], loop):
        raise CompileError("outline-parallel-loops: the cost of a loop must be computed outside of it")
    return loop


def _is_outside(value: ir.Value, loop: ir.Operation) -> bool:
    """True if a value is defined outside of a loop."""
    owner = owner_block(value).owner.operation
    return owner != loop and loop not in ancestors(owner)


@dataclass(frozen=True)
class _Contents:
    """Facts about a function or loop: if it has asserts, its callees with call counts, and its loop marks."""

    asserts: bool
    calls: Counter[str]
    marks: list[ir.Operation]

    @staticmethod
    def of(root: ir.Operation) -> _Contents:
        found = ops_of(root, "cf.assert", "func.call")
        calls = [(op, callee_of(op)) for op in found if op.name == "func.call"]
        marks = [op for op, name in calls if name == MARK]
        return _Contents(len(calls) < len(found), Counter(name for _, name in calls), marks)


def _may_fail(loop: ir.Operation, table: Mapping[str, func.FuncOp], contents: Mapping[str, _Contents]) -> bool:
    """True if a check may fail in a loop or its callees; `contents` describes the defined functions."""
    left, seen = [_Contents.of(loop)], set()
    while left:
        inside = left.pop()
        if inside.asserts:
            return True
        for name in +inside.calls:
            if name in seen:
                continue
            seen.add(name)
            called = table.get(name)
            if called is None:
                return True
            if not called.is_external:
                left.append(contents[name])
            elif DEFINED_BY in called.attributes:  # a kernel, which has no checks
                if PARALLEL_LOOP in called.attributes:
                    return True
            elif SEPARATE not in called.attributes or MAY_FAIL in called.attributes:
                return True
    return False


def _captured(loop: ir.Operation, inside: list[ir.Operation]) -> tuple[list[ir.Value], list[ir.Value]]:
    """The outside values that a loop and its ops use, bounds first: those to capture, and constants."""
    captured: list[ir.Value] = []
    constants: list[ir.Value] = []
    seen: set[ir.Value] = set()
    for op in inside:
        for value in op.operands:
            if value in seen:
                continue
            seen.add(value)
            if _is_outside(value, loop):
                (constants if _is_constant(value) else captured).append(value)
    return captured, constants


def _is_constant(value: ir.Value) -> bool:
    return is_a(defining_op(value), arith.ConstantOp, func.ConstantOp)


def _stored_type(type_: ir.Type) -> ir.Type:
    """The LLVM type in which a value of a type is captured."""
    if isinstance(type_, ir.MemRefType):
        return ir.Type.parse(descriptor(type_.rank))
    if isinstance(type_, ir.IndexType):
        return ir.IntegerType.get_signless(64)
    if isinstance(type_, ir.FunctionType):
        return ir.Type.parse("!llvm.ptr")
    plain = isinstance(type_, ir.VectorType) and type_.rank == 1 and not isinstance(type_.element_type, ir.IndexType)
    if plain or isinstance(type_, ir.IntegerType | ir.FloatType) or str(type_).startswith("!llvm."):
        return type_
    raise CompileError(f"outline-parallel-loops: a value of type {type_} cannot be given to another thread")


def _convert(value: ir.Value, type_: ir.Type) -> ir.Value:
    """Convert a value to the type in which it is captured, or back."""
    if value.type == type_:
        return value
    if isinstance(value.type, ir.IndexType) or isinstance(type_, ir.IndexType):
        return arith.index_cast(type_, value)
    return ir.Operation.create("builtin.unrealized_conversion_cast", results=[type_], operands=[value]).result


def _outline(module: ir.Module, loop: ir.Operation, cost: ir.Value, name: str, threads: int) -> None:
    lower, upper, step = loop.operands
    ops = ops_of(loop)
    captured, constants = _captured(loop, ops)
    stored = [_stored_type(value.type) for value in captured]
    struct = ir.Type.parse(f"!llvm.struct<({', '.join(_inside(t) for t in stored)})>")
    pointer, word = ir.Type.parse("!llvm.ptr"), ir.IntegerType.get_signless(64)
    signature = [pointer, ir.IndexType.get(), ir.IndexType.get()]
    function = function_of(loop)
    entry = entry_block(function)
    with ir.InsertionPoint.at_block_begin(entry):
        one = llvm.ConstantOp(word, ir.IntegerAttr.get(word, 1)).result
        context = llvm.AllocaOp(pointer, one, ir.TypeAttr.get(struct), alignment=64).result
    with ir.InsertionPoint(loop):
        for position, (value, type_) in enumerate(zip(captured, stored, strict=True)):
            llvm.StoreOp(_convert(value, type_), _field(context, struct, position))
        some = arith.cmpi(arith.CmpIPredicate.slt, lower, upper)
        count = e.select(some, e.ceildiv(e.sub(upper, lower), step), 0)
        type_ = ir.FunctionType.get(signature, [])
        body = func.ConstantOp(type_, ir.FlatSymbolRefAttr.get(name)).result
        sizes = [arith.index_cast(word, x) for x in (e.index(count), cost, e.index(threads))]
        func.call([], RUN, [_convert(body, pointer), context, *sizes])
    marks = [JOB, *(mark for mark in (AS_GENERATED,) if mark in function.attributes)]
    with e.function(module.body, name, signature, marks) as values:
        given, begin, end = values
        known = {}
        for position, (value, type_) in enumerate(zip(captured, stored, strict=True)):
            loaded = llvm.LoadOp(type_, _field(given, struct, position)).result
            known[value] = _convert(loaded, value.type)
        for value in constants:
            known[value] = value.owner.operation.clone().results[0]
        first = arith.addi(known[lower], arith.muli(begin, known[step]))
        last = arith.addi(known[lower], arith.muli(end, known[step]))
        bounds = [first, arith.minsi(last, known[upper]), known[step]]
        anchor = first.owner.operation
    terminator = anchor.block.operations[len(anchor.block.operations) - 1].operation
    loop.move_before(terminator)
    for op in ops:
        for position, value in enumerate(op.operands):
            if value in known:
                op.operands[position] = known[value]
    for position, bound in enumerate(bounds):
        loop.operands[position] = bound


def _prefix(loop: ir.Operation) -> str:
    """Prefix of the name of a loop's function; for a kernel it does not depend on the rest of the module."""
    function = function_of(loop)
    is_generated = AS_GENERATED in function.attributes
    return f"{symbol_name(function)}.parallel" if is_generated else f"{OWN_PREFIX}parallel"


def _inside(type_: ir.Type) -> str:
    """The text of a type inside an LLVM type."""
    return str(type_).removeprefix("!llvm.")


def _field(base: ir.Value, struct: ir.Type, position: int) -> ir.Value:
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([0, position]),
        "elem_type": ir.TypeAttr.get(struct),
    }
    return ir.Operation.create("llvm.getelementptr", results=[base.type], operands=[base], attributes=attributes).result


def _runtime() -> Fragment:
    """Declare `relax.rt.parallel(function, context, count, cost, threads)` and the pointer to the thread pool."""
    fragment = Fragment()
    fragment.define(
        f"llvm.mlir.global external @{THREADS_TABLE}() : !llvm.ptr {{\n"
        "  %0 = llvm.mlir.zero : !llvm.ptr\n  llvm.return %0 : !llvm.ptr\n}"
    )
    fragment.define(f"""
func.func private @{RUN}(%function: !llvm.ptr, %context: !llvm.ptr, %count: i64, %cost: i64, %threads: i64)
    attributes {{{SUPPORT}}} {{
  %threshold = arith.constant {THRESHOLD} : i64
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %table = llvm.mlir.addressof @{THREADS_TABLE} : !llvm.ptr
  %run = llvm.load %table : !llvm.ptr -> !llvm.ptr
  %there = llvm.icmp "ne" %run, %null : !llvm.ptr
  %worth = arith.cmpi sge, %cost, %threshold : i64
  %one = arith.constant 1 : i64
  %cut = arith.cmpi sgt, %count, %one : i64
  %both = arith.andi %worth, %cut : i1
  %several = arith.andi %there, %both : i1
  scf.if %several {{
    llvm.call %run(%function, %context, %count, %threads) : !llvm.ptr, (!llvm.ptr, !llvm.ptr, i64, i64) -> ()
  }} else {{
    llvm.call %function(%context, %zero, %count) : !llvm.ptr, (!llvm.ptr, i64, i64) -> ()
  }}
  return
}}""")
    return fragment
