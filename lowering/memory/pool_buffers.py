"""Allocation of buffers: `stack-buffers` selects small ones for the stack, `pool-buffers` uses the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import (
    AS_GENERATED,
    DEFINED_BY,
    JOB,
    KERNEL,
    MAY_FAIL,
    ON_STACK,
    PRIM_FUNC,
)
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import callee_of, entry_block, function_of, ops_of
from relax_mlir.lowering.analysis.buffers import Liveness, is_nested, static_bytes
from relax_mlir.lowering.base.errors import RUN, guard_jobs, jobs_of, pointed
from relax_mlir.lowering.base.runtime_declarations import declare_release, frame_of
from relax_mlir.lowering.memory.plan_memory import allocate_in_frame, allocate_in_pool, declare_allocation
from relax_mlir.mlir import func, ir, llvm, memref
from relax_mlir.mlir_text import descriptor, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

# Pass `stack-buffers`: select small local buffers of prim funcs for the stack (level V).


MAX_BYTES = 32 * 1024
"""The maximum bytes of all stack buffers of a function together."""
_LOOPS = ("scf.for", "scf.while", "scf.parallel")


@dataclass(frozen=True)
class StackBuffers(ModulePass):
    """Mark each `memref.alloc` of static size in a prim func as memory on the stack, up to 32 kB per function.

    `pool-buffers` applies the marks after parallel loops are outlined, whose buffers are on the stacks of the threads.
    If all indices are constants, LLVM keeps the elements in registers. Buffers that a loop carries are excluded: an
    iteration reads the buffer of the previous one while it writes its own.
    """

    name: ClassVar[str] = "stack-buffers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in module.body.operations:
            marks = function.attributes
            if not isinstance(function, func.FuncOp) or PRIM_FUNC not in marks:
                continue
            if AS_GENERATED not in marks:
                _choose(function)


def _choose(function: func.FuncOp) -> None:
    left = MAX_BYTES
    for alloc in ops_of(function.operation, "memref.alloc"):
        type_ = ir.MemRefType(alloc.results[0].type)
        if not type_.has_static_shape or static_bytes(type_) > left or _outlives_round(alloc):
            continue
        left -= static_bytes(type_)
        with alloc.context:
            alloc.attributes[ON_STACK] = ir.UnitAttr.get()


def _outlives_round(alloc: ir.Operation) -> bool:
    """True if a buffer of one iteration of a loop may be used in later ones."""
    return _is_in_loop(alloc) and _is_handed_on(alloc.results[0])


def _is_in_loop(op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None and not isinstance(parent, func.FuncOp):
        if parent.operation.name.startswith(_LOOPS):
            return True
        parent = parent.operation.parent
    return False


def _is_handed_on(buffer: ir.Value) -> bool:
    """True if a buffer, or a view of it, is an operand of a terminator, of an op with regions, or of a select."""
    for use in buffer.uses:
        user = use.owner.operation
        if user.name.startswith(("scf.", "cf.", "arith.select", "func.return")):
            return True
        views = [result for result in user.results if isinstance(result.type, ir.MemRefType)]
        if any(map(_is_handed_on, views)):
            return True
    return False


# Stack buffers: those that `stack-buffers` has chosen, allocated at the entry of their function.


ALIGNMENT = 64


def is_on_stack(alloc: ir.Operation) -> bool:
    """True if a `memref.alloc` is chosen for the stack."""
    return ON_STACK in alloc.attributes


def place_on_stack(alloc: ir.Operation) -> None:
    """Allocate a buffer on the stack and zero it: LLVM may give two reads of undefined memory different values.

    A buffer in a loop is the same memory in each iteration.
    """
    type_ = ir.MemRefType(alloc.results[0].type)
    with ir.InsertionPoint.at_block_begin(entry_block(function_of(alloc))), alloc.location:
        memory = memref.alloca(type_, [], [], alignment=ALIGNMENT)
        struct, pointer = ir.Type.parse(descriptor(type_.rank)), ir.Type.parse("!llvm.ptr")
        cast = "builtin.unrealized_conversion_cast"
        parts = ir.Operation.create(cast, results=[struct], operands=[memory]).result
        address = llvm.ExtractValueOp(pointer, parts, [1]).result
        byte, word = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(64)
        zero = llvm.ConstantOp(byte, ir.IntegerAttr.get(byte, 0)).result
        size = llvm.ConstantOp(word, ir.IntegerAttr.get(word, static_bytes(type_))).result
        llvm.MemsetOp(address, zero, size, False)
    for use in list(alloc.results[0].uses):
        if use.owner.name == "memref.dealloc":
            use.owner.operation.erase()
    alloc.results[0].replace_all_uses_with(memory)
    alloc.erase()


# `pool-buffers`: allocate the buffers of kernels and prim funcs from the pool, and return them after their last use.
#
# Runs after loops have become jobs of threads (`outline-parallel-loops`). A buffer at a function's top level is a block
# of the pool that every exit returns. A nested buffer is on the function's frame until the end of its block, or until
# the function returns if the block may yield it. If memory runs out, the call fails with an error, from any thread (see
# `guard_jobs`).


_OWN_FRAME = (PRIM_FUNC, KERNEL, AS_GENERATED, JOB)
"""Attributes of functions whose frames hold only their buffers."""


class PoolBuffers(ModulePass):
    """Replace every `memref.alloc` whose buffer does not leave its function, and its `memref.dealloc`s.

    Buffers that `stack-buffers` has chosen are on the stack, allocated at function entry.

    Raises `CompileError` for a buffer in a function that is called by its address and is not a job of threads.
    """

    name: ClassVar[str] = "pool-buffers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        table = functions(module)
        uses = {name: _Uses.of(op) for name, op in table.items() if not is_declaration(op)}
        kernels = {name for name, op in table.items() if name not in uses and _takes_memory(op)}
        for alloc in [alloc for use in uses.values() for alloc in use.on_stack]:
            place_on_stack(alloc)
        taking = _taking(uses, kernels)
        own = [use.function for name, use in uses.items() if name in taking and use.allocates]
        if own:
            declare_allocation(module)
            declare_release(module)
        for function in own:
            _pool(function)
        guard_jobs(module, [uses[name].function for name in uses if RUN in uses[name].calls], taking)


@dataclass(frozen=True)
class _Uses:
    """The functions that a function calls or takes the address of, and whether it has buffers."""

    function: func.FuncOp
    calls: set[str]
    addresses: set[str]
    allocates: bool
    on_stack: Sequence[ir.Operation]
    """The buffers that are chosen for the stack."""

    @classmethod
    def of(cls, function: func.FuncOp) -> _Uses:
        ops = ops_of(function.operation, "func.call", "func.constant", "memref.alloc")
        calls = {callee_of(op) for op in ops if op.name == "func.call"}
        addresses = {pointed(op) for op in ops if op.name == "func.constant"}
        buffers = [op for op in ops if op.name == "memref.alloc"]
        on_stack = [op for op in buffers if is_on_stack(op)]
        return cls(function, calls, addresses, len(on_stack) < len(buffers), on_stack)


def _takes_memory(declared: func.FuncOp) -> bool:
    """True for the declaration of a kernel of the library that takes memory."""
    return DEFINED_BY in declared.attributes and MAY_FAIL in declared.attributes


def _taking(uses: dict[str, _Uses], kernels: set[str]) -> set[str]:
    """The functions that take memory: `kernels`, those with buffers, and all that call them or run them as jobs."""
    users: dict[str, set[str]] = {}
    for name, use in uses.items():
        for used in use.calls | use.addresses:
            users.setdefault(used, set()).add(name)
    taking = kernels | {name for name, use in uses.items() if use.allocates}
    left = list(taking)
    while left:
        more = users.get(left.pop(), set()) - taking
        taking |= more
        left += more
    for use in uses.values():
        pointed_at = use.addresses & taking
        if pointed_at and (wrong := sorted(pointed_at - {pointed(job.body) for job in jobs_of(use.function)})):
            raise CompileError(
                f"pool-buffers: @{wrong[0]}, which @{use.function.name.value} calls by its address, needs memory "
                "of the pool, but cannot say that there is none"
            )
    return taking


def _pool(function: func.FuncOp) -> None:
    """Allocate the buffers of a function from the pool."""
    nested = []
    for buffer in Liveness(function).buffers:
        if buffer.escapes:
            continue
        for op in buffer.freed:
            op.erase()
        if is_nested(buffer.alloc) or buffer.yielded:
            nested.append(buffer)
        else:
            allocate_in_pool(buffer)
    if not nested:
        return
    frame = frame_of(function)
    own = any(mark in function.attributes for mark in _OWN_FRAME)
    # The frame of a Relax function also holds objects that others may still use.
    if own and not any(buffer.yielded for buffer in nested):
        for block in dict.fromkeys(buffer.alloc.block for buffer in nested):
            _release_at_end(block, next(b.alloc for b in nested if b.alloc.block == block), frame)
    for buffer in nested:
        allocate_in_frame(buffer, frame)


def _release_at_end(block: ir.Block, first: ir.Operation, frame: ir.Value) -> None:
    """Release what the frame acquires from `first` on at the end of its block."""
    with ir.InsertionPoint(first), first.location:
        mark = llvm.LoadOp(ir.Type.parse("!llvm.ptr"), frame).result
    with ir.InsertionPoint.at_block_terminator(block), first.location:
        func.CallOp([], "relax.rt.release_to", [frame, mark])
